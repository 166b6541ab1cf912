//! All buyers of a sale, wherever they are: in this process, or spread over several.

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::{
    args::Args,
    buyers::{self, Bought, Shop},
    place::Place,
    process::{Job, Peer},
    progress::Live,
    stop::Stop,
    ways::Way,
};

/// Buyers who wait for the doors to open.
pub(crate) enum Crowd<'a> {
    /// In this process.
    Here { way: &'static dyn Way, shop: &'a Arc<Shop>, buyers: u32, place: &'a Place },
    /// In processes of their own.
    Peers(Vec<Peer>),
}

/// How a sale ended.
pub(crate) enum Ended {
    /// Nothing is left; each order took so many microseconds.
    SoldOut(Vec<u32>),
    /// Everybody was stopped. So many locks were held, and whether every release was answered.
    Stopped { held: u64, answered: bool },
}

impl<'a> Crowd<'a> {
    /// Gets everybody together, connected and ready to go.
    pub(crate) async fn gather(
        way: &'static dyn Way,
        args: &Args,
        place: &'a Place,
    ) -> anyhow::Result<Self> {
        let (url, sku) = match place {
            Place::Here { shop, .. } => {
                return Ok(Self::Here { way, shop, buyers: args.buyers, place });
            }
            Place::Server { url, sku, .. } => (url, sku),
        };
        let job =
            |buyers| Job { way: way.name().into(), url: url.clone(), sku: sku.clone(), buyers };
        let start = |share| Peer::start(job(share));
        let mut peers = args.shares().into_iter().map(start).collect::<Result<Vec<_>, _>>()?;
        if let Err(error) = all_ready(&mut peers).await {
            for peer in peers {
                peer.dismiss().await?;
            }
            return Err(error);
        }
        Ok(Self::Peers(peers))
    }

    /// Opens the doors, and waits until nothing is left or somebody says stop.
    pub(crate) async fn rush(self, live: &Arc<Live>, stop: &Stop) -> anyhow::Result<Ended> {
        match self {
            Self::Here { way, shop, buyers, place } => {
                Ok(match buyers::rush(way, shop, buyers, live, stop).await? {
                    Bought::All(micros) => Ended::SoldOut(micros),
                    Bought::Stopped { held } => {
                        Ended::Stopped { held, answered: place.close().await }
                    }
                })
            }
            Self::Peers(peers) => {
                let mut followed = JoinSet::new();
                for peer in peers {
                    followed.spawn(peer.go(Arc::clone(live), stop.clone()));
                }
                let mut ended = Vec::new();
                while let Some(peer) = followed.join_next().await {
                    let peer = peer?;
                    if !matches!(peer, Ok(Ended::SoldOut(_))) {
                        stop.ask(); // The others must not go on for a sale that came to nothing.
                    }
                    ended.push(peer);
                }
                ended.into_iter().try_fold(Ended::SoldOut(Vec::new()), |all, one| Ok(all.and(one?)))
            }
        }
    }
}

async fn all_ready(peers: &mut [Peer]) -> anyhow::Result<()> {
    for peer in peers {
        peer.ready().await?;
    }
    Ok(())
}

impl Ended {
    /// How a sale ended that ended like this for some buyers and like `other` for the rest.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::SoldOut(mut micros), Self::SoldOut(more)) => {
                micros.extend(more);
                Self::SoldOut(micros)
            }
            (Self::Stopped { held: a, answered: x }, Self::Stopped { held: b, answered: y }) => {
                Self::Stopped { held: a + b, answered: x && y }
            }
            (stopped @ Self::Stopped { .. }, Self::SoldOut(_))
            | (Self::SoldOut(_), stopped @ Self::Stopped { .. }) => stopped,
        }
    }
}
