//! A flash sale: many buyers take from one stock, with no care, under a lock, and by versions.
//!
//! ```text
//! cargo run --release --example flash_sale                                  # no server needed
//! cargo run --release --example flash_sale -- --url redis://127.0.0.1/      # four processes
//! cargo run --release --example flash_sale -- --plot sale.svg               # and a chart
//! ```
//!
//! What is on sale is sold once in every way of `ways/`; begin reading there.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that talks to a person")]

mod args;
mod buyers;
mod chart;
mod count;
mod crowd;
mod place;
mod process;
mod progress;
mod report;
mod stop;
mod warehouse;
mod ways;

use std::{process::ExitCode, sync::Arc, time::Instant};

use clap::Parser as _;

use crate::{
    args::Args,
    crowd::{Crowd, Ended},
    place::Place,
    progress::{Bar, Live},
    report::Row,
    stop::Stop,
    ways::Way,
};

/// Something was lost in a way that promises it is not, or the sale could not go on.
const FAILED: u8 = 1;
/// The server cannot be used: as for any other flag that makes no sense.
const BAD_USAGE: u8 = 2;
/// What a shell says of a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let stop = Stop::on_signals();
    if args.buyer_process {
        return process::buy_for_parent(stop).await;
    }
    let place = match Place::open(&args).await {
        Ok(place) => place,
        Err(error) => return failed(&error, BAD_USAGE),
    };
    match hold_sales(&args, &place, &stop).await {
        Ok(code) => code,
        Err(error) => failed(&error, FAILED),
    }
}

fn failed(error: &anyhow::Error, code: u8) -> ExitCode {
    eprintln!("flash_sale: {error:#}");
    code.into()
}

async fn hold_sales(args: &Args, place: &Place, stop: &Stop) -> anyhow::Result<ExitCode> {
    println!("{}\n", place.describe(args));
    let mut rows = Vec::new();
    for &way in ways::ALL {
        place.stock_up(way, args.items).await?;
        let sold = hold_sale(way, args, place, stop).await;
        let left = place.clear(way).await;
        match sold? {
            Sold::Out(mut row) => {
                row.left = left?;
                rows.push(row);
            }
            Sold::Interrupted { held, answered } => {
                let free = place.lock_is_free().await;
                println!("{}", report::interruption(way.name(), held, answered, free?));
                return Ok(INTERRUPTED.into());
            }
        }
    }
    place.close().await;

    println!("\n{}", report::table(&rows, args.items));
    println!("{}", place.what_is_counted(&rows));
    let drawn = args.plot.as_deref().map(|file| chart::draw(file, &rows, args));
    println!("\n{}", report::last_line(&rows, args.items));
    drawn.transpose()?;
    let safe = rows.iter().filter(|row| row.safe).all(|row| row.lost(args.items) == 0);
    Ok(if safe { ExitCode::SUCCESS } else { FAILED.into() })
}

/// How the sale in one way went.
enum Sold {
    Out(Row),
    Interrupted { held: u64, answered: bool },
}

async fn hold_sale(
    way: &'static dyn Way,
    args: &Args,
    place: &Place,
    stop: &Stop,
) -> anyhow::Result<Sold> {
    let live = Arc::new(Live::new(args.items));
    let crowd = match Crowd::gather(way, args, place).await {
        // A Ctrl-C at a terminal reaches every process of this program.
        Err(_) if stop.is_asked() => return Ok(Sold::Interrupted { held: 0, answered: true }),
        crowd => crowd?,
    };
    let before = place.counts().await;
    let bar = Bar::begin(way.name(), &live);
    let began = Instant::now();
    let ended = crowd.rush(&live, stop).await;
    let took = began.elapsed();
    bar.end(matches!(ended, Ok(Ended::SoldOut(_))).then_some(took)).await;
    Ok(match ended? {
        Ended::Stopped { held, answered } => Sold::Interrupted { held, answered },
        Ended::SoldOut(micros) => {
            let commands = before.zip(place.counts().await).map(|(a, b)| b.since(&a));
            Sold::Out(Row::new(way, micros, took, commands))
        }
    })
}
