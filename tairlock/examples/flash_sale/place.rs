//! Where the sale is held: inside this process, or on a server that several processes share.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Context as _;
use redis::{AsyncCommands as _, aio::MultiplexedConnection};
use tairlock::{Client, Versioned, memory::SharedStore};

use crate::{
    args::Args,
    buyers::Shop,
    count::Counts,
    report::{Row, grouped},
    warehouse::{Shelf, Warehouse},
    ways::{Way, optimistic_retry},
};

/// Where the sale is held.
pub(crate) enum Place {
    /// In this process, on the embedded server.
    Here { client: Client, store: Arc<SharedStore>, shelf: Arc<Shelf>, shop: Arc<Shop> },
    /// On a server.
    Server { url: String, client: Client, connection: MultiplexedConnection, sku: String },
}

impl Place {
    /// Connects, where there is somewhere to connect to.
    pub(crate) async fn open(args: &Args) -> anyhow::Result<Self> {
        // No two sales on one server are about the same article.
        let sku = format!("lamp-{:x}", SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros());
        let Some(url) = &args.url else {
            let store = Arc::new(SharedStore::default());
            let client = Client::builder().store(Arc::clone(&store)).build().await?;
            tairlock::set_default(client.clone())?;
            let shelf = Arc::new(Shelf::default());
            let shop = Arc::new(Shop::new(Warehouse::Here(Arc::clone(&shelf)), sku));
            return Ok(Self::Here { client, store, shelf, shop });
        };
        // The buyers' processes have clients of their own: this one fills the shelves.
        let (client, connection) = (Client::connect(url).await?, connect(url).await?);
        Ok(Self::Server { url: url.clone(), client, connection, sku })
    }

    /// The first line of the output.
    pub(crate) fn describe(&self, args: &Args) -> String {
        let (buyers, items) = (grouped(args.buyers.into()), grouped(args.items));
        let place = match self {
            Self::Here { .. } => "on the embedded server, in one process".to_owned(),
            Self::Server { .. } => format!("on a server, in {} processes", args.shares().len()),
        };
        format!("{buyers} buyers, {items} items, {place}")
    }

    pub(crate) async fn stock_up(&self, way: &dyn Way, items: u64) -> anyhow::Result<()> {
        if way.is_versioned() {
            self.versioned().create(&items).await?;
            return Ok(());
        }
        self.warehouse().write(items).await
    }

    /// Clears the stock away, and says how much was left.
    pub(crate) async fn clear(&self, way: &dyn Way) -> anyhow::Result<u64> {
        if way.is_versioned() {
            let stock = self.versioned();
            let left = stock.update_option(|stock| anyhow::Ok(stock.take())).await?;
            return left.context("the stock is gone");
        }
        let warehouse = self.warehouse();
        let left = warehouse.read().await?;
        warehouse.clear().await?;
        Ok(left)
    }

    /// What has been carried out so far; `None` if the server does not tell us.
    pub(crate) async fn counts(&self) -> Option<Counts> {
        match self {
            Self::Here { store, shelf, .. } => Some(Counts::from([
                ("read", shelf.reads.load(Ordering::Relaxed)),
                ("write", shelf.writes.load(Ordering::Relaxed)),
                ("operation", store.with(|store| store.applied())),
            ])),
            Self::Server { connection, .. } => {
                let mut info = redis::cmd("INFO");
                info.arg("commandstats");
                let text: String = info.query_async(&mut connection.clone()).await.ok()?;
                Some(Counts::of_server(&text))
            }
        }
    }

    /// The words under the table.
    pub(crate) fn what_is_counted(&self, rows: &[Row]) -> String {
        let source = match self {
            Self::Here { .. } => {
                "the stock's reads and writes, and operations on locks and versions"
            }
            Self::Server { .. } => {
                "as the server counts them (INFO commandstats), scripts' own too"
            }
        };
        let mut lines = vec![format!("commands: {source}")];
        for row in rows {
            if let Some(commands) = &row.commands {
                lines.push(format!("  {}: {}", row.name, commands.per_sale(row.sold())));
            }
        }
        lines.join("\n")
    }

    /// Whether nobody holds the lock of the sale any more.
    pub(crate) async fn lock_is_free(&self) -> anyhow::Result<bool> {
        match self {
            Self::Here { store, .. } => {
                Ok(store.with(|store| store.is_empty(tairlock::time::now())))
            }
            Self::Server { connection, sku, .. } => {
                let taken: bool = connection.clone().exists(format!("sale:{sku}")).await?;
                Ok(!taken)
            }
        }
    }

    /// Gives back what this process still holds; says whether every release was answered.
    pub(crate) async fn close(&self) -> bool {
        match self {
            Self::Here { client, .. } | Self::Server { client, .. } => client.close().await,
        }
    }

    fn warehouse(&self) -> Warehouse {
        match self {
            Self::Here { shop, .. } => shop.warehouse.clone(),
            Self::Server { connection, sku, .. } => Warehouse::on_server(connection.clone(), sku),
        }
    }

    fn versioned(&self) -> Versioned<u64> {
        match self {
            Self::Here { client, shop, .. } => optimistic_retry::stock(client, &shop.sku),
            Self::Server { client, sku, .. } => optimistic_retry::stock(client, sku),
        }
    }
}

/// A connection of one's own to the server at `url`.
pub(crate) async fn connect(url: &str) -> anyhow::Result<MultiplexedConnection> {
    Ok(redis::Client::open(url)?.get_multiplexed_async_connection().await?)
}
