//! What the example can be told on its command line.

use std::path::PathBuf;

use clap::{Parser, value_parser};

/// A flash sale: many buyers take from one stock, with no care, under a lock, and by versions.
#[derive(Debug, Parser)]
#[command(name = "flash_sale")]
pub(crate) struct Args {
    /// The server to sell on, such as redis://127.0.0.1/; without it, one inside this process
    #[arg(long)]
    pub(crate) url: Option<String>,

    /// How many buyers there are at a time
    #[arg(long, default_value_t = 64, value_parser = value_parser!(u32).range(1..=10_000))]
    pub(crate) buyers: u32,

    /// How many items are on sale
    #[arg(long, default_value_t = 1_000, value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub(crate) items: u64,

    /// Over how many processes the buyers are spread; only with --url
    #[arg(long, default_value_t = 4, requires = "url", value_parser = value_parser!(u32).range(1..=64))]
    pub(crate) processes: u32,

    /// Draws the result into this SVG file
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) plot: Option<PathBuf>,

    /// Buy what the parent process says on standard input
    #[arg(long, hide = true)]
    pub(crate) buyer_process: bool,
}

impl Args {
    /// How many buyers every process has: as many as any other, give or take one.
    pub(crate) fn shares(&self) -> Vec<u32> {
        let processes = self.processes.min(self.buyers);
        (0..processes).map(|n| (self.buyers + n) / processes).collect()
    }
}
