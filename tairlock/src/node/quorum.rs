//! Several servers as one node: every operation is a round of questions to all of them.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use event_listener::{Event, EventListener};
use futures_util::future::join_all;

use super::{Line, Node, Role, SharedLine};
use crate::{
    Confirm, Fault, FaultKind,
    doctor::Report,
    drive::{self, Port},
    proto::{self, Hear, Op, Quorum, Roll, Round, Unheard, Verdict},
    runtime::{BoxFuture, Runtime},
    time,
};

/// Servers that know nothing of each other, of which enough must agree.
pub(crate) struct QuorumNode(Arc<Members>);

#[derive(Debug)]
struct Members {
    all: Vec<Member>,
    quorum: Quorum,
    roll: Mutex<Roll>,
}

#[derive(Debug)]
struct Member {
    node: Arc<dyn Node>,
    place: String,
}

impl QuorumNode {
    pub(crate) fn new(nodes: Vec<Arc<dyn Node>>, quorum: Quorum) -> Self {
        let named = |node: Arc<dyn Node>| Member { place: node.place(), node };
        let all = nodes.into_iter().map(named).collect();
        Self(Arc::new(Members { all, quorum, roll: Mutex::new(Roll::new(quorum)) }))
    }
}

impl Members {
    /// A connection to one of them, which is none of the others.
    async fn line(&self, node: usize, role: Role) -> Result<SharedLine, Fault> {
        let line = self.all[node].node.line(role).await?;
        let entered = drive::lock(&self.roll).enter(node, line.server());
        entered.map_err(|other| {
            let text = format!("it is the same server as {}", self.all[other].place);
            Fault::new(FaultKind::Config, text)
        })?;
        Ok(line)
    }
}

impl Node for QuorumNode {
    /// A line for one caller: it connects to each server when something is to be said to it.
    fn line(&self, role: Role) -> BoxFuture<'_, Result<SharedLine, Fault>> {
        let line = QuorumLine {
            members: Arc::clone(&self.0),
            role,
            carried: Mutex::new(vec![None; self.0.all.len()]),
            unheard: Mutex::new(Unheard::none(self.0.quorum)),
        };
        Box::pin(std::future::ready(Ok(Arc::new(line) as SharedLine)))
    }

    fn listen(&self, _hear: Hear) -> BoxFuture<'_, Result<SharedLine, Fault>> {
        let text = "no one server of a quorum knows when a lock is free";
        Box::pin(std::future::ready(Err(Fault::new(FaultKind::Unsupported, text))))
    }

    fn ready(&self) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(async move {
            let members = &self.0;
            let asked =
                members.all.iter().enumerate().map(|(node, Member { place, .. })| async move {
                    members.line(node, Role::Commands).await.map_err(|fault| fault.at(place))
                });
            let faults: Vec<Fault> =
                join_all(asked).await.into_iter().filter_map(Result::err).collect();
            // What is said wrongly does not get right by itself; who is away may come back.
            match faults.iter().find(|fault| fault.kind() == FaultKind::Config) {
                Some(wrong) => Err(wrong.clone()),
                None => members.quorum.bears(&faults),
            }
        })
    }

    fn examine(
        &self,
        within: Duration,
        confirm: Option<Confirm>,
    ) -> BoxFuture<'_, Result<Report, Fault>> {
        Box::pin(async move {
            let asked = self.0.all.iter().map(|member| member.node.examine(within, confirm));
            let told = join_all(asked).await;
            let each = self.0.all.iter().map(|member| member.place.as_str()).zip(told);
            Ok(Report::of_quorum(self.place(), self.0.quorum, each))
        })
    }

    fn place(&self) -> String {
        let places: Vec<&str> = self.0.all.iter().map(|member| member.place.as_str()).collect();
        format!("{} of {}", self.0.quorum.needed(), places.join(", "))
    }
}

impl fmt::Debug for QuorumNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QuorumNode({})", self.place())
    }
}

/// What one caller says to the servers, and down which connections it has said it.
struct QuorumLine {
    members: Arc<Members>,
    role: Role,
    carried: Mutex<Vec<Option<SharedLine>>>,
    unheard: Mutex<Unheard>,
}

impl QuorumLine {
    fn carried(&self, node: usize) -> Option<SharedLine> {
        drive::lock(&self.carried)[node].clone()
    }

    async fn connection(
        &self,
        node: usize,
        op: &Op,
        within: Duration,
    ) -> Result<SharedLine, Fault> {
        // On another connection it might overtake what it gives back.
        let gives_back = matches!(op, Op::Release { .. } | Op::Retain(_));
        if let Some(line) = self.carried(node).filter(|_| gives_back) {
            return Ok(line);
        }
        let connecting = self.members.line(node, self.role);
        let late =
            || Fault::new(FaultKind::Unreachable, format!("no connection within {within:?}"));
        let line =
            Runtime::here()?.limit(within, connecting).await.unwrap_or_else(|| Err(late()))?;
        drive::lock(&self.carried)[node] = Some(Arc::clone(&line));
        Ok(line)
    }
}

impl Line for QuorumLine {
    fn call<'a>(&'a self, op: &'a Op, within: Duration) -> BoxFuture<'a, Result<Verdict, Fault>> {
        Box::pin(async move {
            let runtime = Runtime::here()?;
            let unheard = drive::lock(&self.unheard).clone();
            let round = Mutex::new(Round::new(op, self.members.quorum, within, unheard));
            let output = drive::drive(&round, self, Event::new().listen(), runtime).await;
            let round = round.into_inner().unwrap_or_else(PoisonError::into_inner);
            *drive::lock(&self.unheard) = round.unheard();
            output
        })
    }

    fn is_callers_own(&self) -> bool {
        true
    }
}

impl Port<usize> for QuorumLine {
    fn call(&self, node: usize, op: Op, within: Duration) -> BoxFuture<'_, Result<Verdict, Fault>> {
        Box::pin(async move {
            let began = time::now();
            let asked = async {
                let line = self.connection(node, &op, within).await?;
                line.call(&op, within.saturating_sub(time::now().since(began))).await
            };
            asked.await.map_err(|fault| {
                if fault.kind() == FaultKind::Unreachable {
                    drive::lock(&self.carried)[node] = None;
                }
                fault.at(&self.members.all[node].place)
            })
        })
    }

    fn listen(&self) -> EventListener {
        Event::new().listen()
    }

    fn rung(&self) -> Option<proto::Event> {
        None
    }
}

impl fmt::Debug for QuorumLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuorumLine").field("members", &self.members).finish_non_exhaustive()
    }
}
