//! What the shop is told, on the command line and by signals, and what it says.

use std::{io::Write as _, time::Duration};

use clap::Parser;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use tairlock::Client;
use tokio::signal::unix::{SignalKind, signal};

/// A shop: checkouts under a lock, a stock that is never oversold, a job that one machine runs.
#[derive(Clone, Debug, Parser)]
pub(crate) struct Args {
    /// A server to share with other processes, as redis://127.0.0.1/. Without it, the shop is alone.
    #[arg(long)]
    url: Option<String>,
    /// Where to listen; port 0 is any that is free.
    #[arg(long, default_value = "127.0.0.1:8080")]
    pub(crate) listen: String,
    /// How long the bank takes for a payment, in milliseconds.
    #[arg(long, default_value_t = 50)]
    payment_ms: u64,
    /// How often the report is made, in seconds.
    #[arg(long, default_value_t = 60)]
    report_every: u64,
}

impl Args {
    pub(crate) async fn client(&self) -> Result<Client, tairlock::Error> {
        match &self.url {
            Some(url) => Client::connect(url).await,
            None => Ok(Client::in_memory()),
        }
    }

    pub(crate) const fn payment(&self) -> Duration {
        Duration::from_millis(self.payment_ms)
    }

    pub(crate) fn report_every(&self) -> Duration {
        Duration::from_secs(self.report_every.max(1))
    }
}

/// Logs to standard error, and counts for Prometheus. Before the first client, which tells what it counts.
pub(crate) fn watch() -> Result<PrometheusHandle, BuildError> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let times = Matcher::Suffix("_seconds".into());
    let updates = Matcher::Prefix("tairlock_update_".into());
    let metrics = PrometheusBuilder::new()
        .set_buckets_for_metric(times, &[0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0])?
        .set_buckets_for_metric(updates, &[0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0])?
        .install_recorder()?;
    let upkeep = metrics.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(5)).await;
            upkeep.run_upkeep();
        }
    });
    Ok(metrics)
}

/// What resolves when Ctrl-C or SIGTERM comes.
pub(crate) fn told_to_stop() -> std::io::Result<impl Future<Output = ()>> {
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Says a line on standard output.
pub(crate) fn say(line: &str) {
    // Nobody listens any more: that is no reason to stop.
    _ = writeln!(std::io::stdout(), "{line}");
}
