//! The listeners of a client of a cluster: one per node, and one that is lost takes no other with it.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use tairlock::{
    Fault, FaultKind,
    proto::{Address, Hear, News, Op, Verdict},
};

use super::{
    super::{Line, SharedLine},
    cluster::{Cluster, Role},
    listening::Asking,
};
use crate::drive::lock;

/// They are opened when something is first asked about on their node, by a thread: who asks does not
/// wait.
pub(super) struct Ears(Arc<Shared>);

struct Shared {
    cluster: Arc<Cluster>,
    hear: Hear,
    ears: Mutex<HashMap<Address, Ear>>,
}

#[derive(Clone)]
enum Ear {
    Opening,
    Open(Arc<Asking>),
}

impl Ears {
    /// With one of them open: whether that can be had at all shows at any.
    pub(super) fn open(cluster: Arc<Cluster>, hear: Hear) -> Result<SharedLine, Fault> {
        let shared = Arc::new(Shared { cluster, hear, ears: Mutex::default() });
        if let Some(first) = shared.cluster.some_primary() {
            lock(&shared.ears).insert(first.clone(), Ear::Opening);
            shared.open(&first)?;
        }
        Ok(Arc::new(Self(shared)))
    }

    fn at(&self, to: &Address) -> Result<Arc<Asking>, Fault> {
        let not_yet = || Fault::new(FaultKind::NotReady, format!("{to}: there is no listener yet"));
        let mut ears = lock(&self.0.ears);
        match ears.get(to) {
            Some(Ear::Open(ear)) => return Ok(Arc::clone(ear)),
            Some(Ear::Opening) => return Err(not_yet()),
            None => {}
        }
        ears.insert(to.clone(), Ear::Opening);
        drop(ears);
        let (shared, at) = (Arc::clone(&self.0), to.clone());
        let open = move || match shared.open(&at) {
            // Who was told that there is none asks now.
            Ok(()) => (shared.hear)(News::Everything),
            Err(_) => drop(lock(&shared.ears).remove(&at)),
        };
        let thread = std::thread::Builder::new().name("tairlock-listener".into());
        if thread.spawn(open).is_err() {
            lock(&self.0.ears).remove(to);
        }
        Err(not_yet())
    }
}

impl Shared {
    fn open(self: &Arc<Self>, at: &Address) -> Result<(), Fault> {
        let (shared, of) = (Arc::downgrade(self), at.clone());
        let (hear, told) = (Arc::clone(&self.hear), Weak::clone(&shared));
        let hear: Hear = Arc::new(move |news| match (news, told.upgrade()) {
            (News::Lost, Some(shared)) => shared.lost(&of),
            (News::Lost, None) => {}
            (news, _) => hear(news),
        });
        let member = self.cluster.member(at)?;
        let ear = Arc::new(Asking::open(&member.connector, hear)?);
        match lock(&self.ears).get_mut(at) {
            Some(place) => *place = Ear::Open(ear),
            None => {
                return Err(Fault::new(FaultKind::Unreachable, "the listener was lost at once"));
            }
        }
        Ok(())
    }

    /// What it would have told is missed.
    fn lost(&self, at: &Address) {
        if lock(&self.ears).remove(at).is_some() {
            (self.hear)(News::Everything);
        }
    }
}

impl Line for Ears {
    fn call(&self, op: &Op, within: Duration) -> Result<Verdict, Fault> {
        let answer = self.0.cluster.travel(op, Role::Keeper, within, |leg, manner, left| {
            let reply = self.at(&leg.to)?.ask(&leg.op, manner, left);
            if reply.as_ref().err().is_some_and(Fault::is_of_the_line) {
                self.0.lost(&leg.to);
            }
            reply
        });
        answer.map_err(Fault::of_one_node)
    }

    fn call_if_free(&self, op: &Op, within: Duration) -> Option<Result<Verdict, Fault>> {
        Some(self.call(op, within))
    }

    fn ready(&self) -> Result<(), Fault> {
        Err(Fault::new(FaultKind::Unreachable, "a listener is not opened again"))
    }
}

impl fmt::Debug for Ears {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ears")
    }
}
