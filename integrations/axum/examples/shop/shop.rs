//! The shop itself, which knows nothing of HTTP frameworks: stock, checkouts, and a report.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use metrics_exporter_prometheus::PrometheusHandle;
use serde::{Deserialize, Serialize};
use tairlock::{Client, Error, Snapshot, Versioned, distributed_lock, optimistic_retry};

/// What there is of an article, and who took how many. Both in one value, so that they change in one
/// step: a process that dies leaves an account that adds up.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Stock {
    left: u32,
    #[serde(default)]
    sold: BTreeMap<u64, Sale>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sale {
    quantity: u32,
    paid: bool,
}

/// What a customer orders.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Order {
    pub(crate) sku: String,
    pub(crate) quantity: u32,
}

/// What a customer is told after a checkout.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Receipt {
    pub(crate) order: u64,
    pub(crate) sku: String,
    pub(crate) quantity: u32,
    pub(crate) left: u32,
}

/// Why there is no receipt.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    Paid,
    SoldOut,
    Lock(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Lock(error)
    }
}

/// What the scheduled job found out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) runs: u64,
    pub(crate) payments: i64,
    period: u64,
}

/// A shop. Clones are one; the other machines' are too, if they are on the same server.
#[derive(Clone)]
pub(crate) struct Shop {
    pub(crate) locks: Client,
    payment: Duration,
    metrics: PrometheusHandle,
}

impl Shop {
    /// A shop whose bank takes `payment` for every payment.
    pub(crate) const fn new(locks: Client, payment: Duration, metrics: PrometheusHandle) -> Self {
        Self { locks, payment, metrics }
    }

    fn stock(&self, sku: &str) -> Versioned<Stock> {
        self.locks.versioned(format!("stock:{sku}")).name("stock")
    }

    pub(crate) async fn left(&self, sku: &str) -> Result<u32, Error> {
        let stock = self.stock(sku);
        match stock.read().await? {
            Some(Snapshot { value, .. }) => Ok(value.left),
            None => Err(Error::Absent { key: stock.key()?.clone() }),
        }
    }

    /// The same value as [`Shop::stock`]'s, through the attribute: callers don't see `stock`.
    #[optimistic_retry(key = "stock:{sku}", name = "stock", default = Stock::default(), using = self.locks)]
    pub(crate) async fn fill(
        &self,
        sku: &str,
        #[value] stock: &mut Stock,
        left: u32,
    ) -> Result<u32, Error> {
        stock.left = left;
        Ok(left)
    }

    /// Sets goods aside, takes the money, and says so. The caller holds the order's lock, so that no order
    /// is paid twice; the stock is nobody's, and is changed as the version that was seen. Where a process
    /// died in the middle, the next checkout of the order goes on from there.
    pub(crate) async fn check_out(&self, id: u64, order: Order) -> Result<Receipt, Failure> {
        let Order { sku, quantity } = order;
        let stock = self.stock(&sku);
        let set_aside = |stock: &mut Stock| match stock.sold.get(&id) {
            Some(sale) if sale.paid => Err(Failure::Paid),
            Some(sale) => Ok(sale.quantity),
            None => {
                stock.left = stock.left.checked_sub(quantity).ok_or(Failure::SoldOut)?;
                stock.sold.insert(id, Sale { quantity, paid: false });
                Ok(quantity)
            }
        };
        let quantity = stock.update(set_aside).await?;
        self.pay().await?;
        let settle = |stock: &mut Stock| {
            stock.sold.insert(id, Sale { quantity, paid: true });
            Ok::<_, Failure>(stock.left)
        };
        let left = stock.update(settle).await?;
        metrics::counter!("shop_checkouts_total").increment(1);
        Ok(Receipt { order: id, sku, quantity, left })
    }

    /// The bank: slow, and it counts.
    async fn pay(&self) -> Result<(), Error> {
        tokio::time::sleep(self.payment).await;
        let count = |payments: &mut i64| {
            *payments += 1;
            Ok(())
        };
        self.payments().update_or(0, count).await
    }

    fn payments(&self) -> Versioned<i64> {
        self.locks.versioned::<i64>("payments").integer().name("payments")
    }

    async fn paid(&self) -> Result<i64, Error> {
        Ok(self.payments().read().await?.map(|paid| paid.value).unwrap_or_default())
    }

    /// The scheduled job: every machine wakes up for it, and one of them does it.
    pub(crate) async fn report_every(self, period: Duration) {
        let mut ticks = tokio::time::interval(period);
        loop {
            ticks.tick().await;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let period = u64::try_from(now.as_millis() / period.as_millis().max(1)).unwrap_or(0);
            match self.report(period).await {
                Ok(()) => {}
                // It is tried again in the next period.
                Err(error) => crate::say(&format!("the report was not made: {error}")),
            }
        }
    }

    /// Skipped where another machine is at it.
    #[distributed_lock(key = "report", using = self.locks, on_busy = skip, ttl = 30)]
    async fn report(&self, period: u64) -> Result<(), Error> {
        let payments = self.paid().await?;
        let report = |report: &mut Report| {
            // The lock lets one machine in at a time; the period, one for each.
            if report.period < period {
                *report = Report { runs: report.runs + 1, payments, period };
            }
            Ok(())
        };
        self.reports().update_or(Report::default(), report).await
    }

    fn reports(&self) -> Versioned<Report> {
        self.locks.versioned("last-report").name("last-report")
    }

    pub(crate) async fn last_report(&self) -> Result<Report, Error> {
        let seen = self.reports().read().await?;
        Ok(seen.map(|seen| seen.value).unwrap_or_default())
    }

    /// For Prometheus: what the shop counts, and what tairlock does.
    pub(crate) fn metrics(&self) -> String {
        self.metrics.render()
    }
}
