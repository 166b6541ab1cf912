//! How a sale is getting on: numbers that buyers keep, and a bar or a plain line that shows them.

use std::{
    io::IsTerminal as _,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::task::JoinHandle;

use crate::report::grouped;

/// How often a person, or the parent process, is told.
const TICK: Duration = Duration::from_millis(50);

/// The numbers of a sale that is going on.
pub(crate) struct Live {
    items: u64,
    confirmed: AtomicU64,
    left: AtomicU64,
    told: AtomicU64,
}

impl Live {
    pub(crate) fn new(items: u64) -> Self {
        let [confirmed, left, told] = [0, items, 0].map(AtomicU64::new);
        Self { items, confirmed, left, told }
    }

    /// So many orders more were confirmed, and so many items are left.
    pub(crate) fn confirmed(&self, orders: u64, left: u64) {
        self.confirmed.fetch_add(orders, Ordering::Relaxed);
        self.left.store(left, Ordering::Relaxed);
    }

    /// How many orders were confirmed since this was last asked, and how many items are left.
    pub(crate) fn news(&self) -> (u64, u64) {
        let confirmed = self.confirmed.load(Ordering::Relaxed);
        let told = self.told.swap(confirmed, Ordering::Relaxed);
        (confirmed - told, self.left.load(Ordering::Relaxed))
    }
}

/// Says the news of `live` over and over.
pub(crate) async fn follow(live: Arc<Live>, say: impl Fn(u64, u64)) {
    loop {
        tokio::time::sleep(TICK).await;
        let (confirmed, left) = live.news();
        say(confirmed, left);
    }
}

/// What a person sees of one sale while it goes on.
pub(crate) struct Bar {
    name: &'static str,
    live: Arc<Live>,
    bar: ProgressBar,
    moving: JoinHandle<()>,
}

impl Bar {
    pub(crate) fn begin(name: &'static str, live: &Arc<Live>) -> Self {
        let bar = if std::io::stdout().is_terminal() {
            ProgressBar::new(live.items).with_style(style()).with_prefix(name)
        } else {
            ProgressBar::hidden()
        };
        bar.tick();
        let (shown, numbers) = (bar.clone(), Arc::clone(live));
        let moving = tokio::spawn(follow(Arc::clone(live), move |_, _| show(&shown, &numbers)));
        Self { name, live: Arc::clone(live), bar, moving }
    }

    /// The sale is over; `took` says how long it took if it was not interrupted.
    pub(crate) async fn end(self, took: Option<Duration>) {
        self.moving.abort();
        _ = self.moving.await;
        if self.bar.is_hidden() {
            let confirmed = grouped(self.live.confirmed.load(Ordering::Relaxed));
            let ended = took.map_or_else(
                || "before they were stopped".to_owned(),
                |took| format!("in {:.1} s", took.as_secs_f64()),
            );
            println!("{}: {confirmed} orders {ended}", self.name);
            return;
        }
        match took {
            Some(_) => show(&self.bar, &self.live),
            // The terminal's own "^C" stands in the line now: drawing it again would make it two.
            None => self.bar.set_draw_target(ProgressDrawTarget::hidden()),
        }
        self.bar.abandon();
        eprintln!();
    }
}

fn show(bar: &ProgressBar, live: &Live) {
    let confirmed = live.confirmed.load(Ordering::Relaxed);
    bar.set_message(format!("{} orders", grouped(confirmed)));
    bar.set_position(live.items.saturating_sub(live.left.load(Ordering::Relaxed)));
}

fn style() -> ProgressStyle {
    let template = "{prefix:>16} [{wide_bar:.cyan/blue}] {human_pos} of {human_len} items, {msg}";
    // A template that is wrong shows as indicatif's own, and is no reason to sell nothing.
    let style = ProgressStyle::with_template(template);
    style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸─")
}
