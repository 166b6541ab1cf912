//! What the store holds, and what a server shows of the same: to be compared.

use std::time::Duration;

use tairlock::{
    Fault, FaultKind, Key,
    dialect::{Command, Reply},
    memory::Store,
    proto::Verdict,
    time::Timestamp,
};

use super::{
    asked::{Asked, changes, mortal},
    deed::on,
    fence::timeless,
};

/// What an operation came to.
pub(super) type Answer = Result<Verdict, Fault>;

/// What stands under a key, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    what: What,
    left: Left,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Nothing,
    Text(String),
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Gone,
    For(Duration),
    ForEver,
}

impl Standing {
    /// As the store has it.
    pub(super) fn in_store(store: &Store, key: &Key, now: Timestamp) -> Self {
        let what = match store.token(key, now) {
            Ok(None) => What::Nothing,
            Ok(Some(token)) => What::Text(timeless(token.as_bytes())),
            Err(_) => What::Other,
        };
        let left = match store.expires(key, now) {
            None => Left::Gone,
            Some(Timestamp::NEVER) => Left::ForEver,
            Some(at) => Left::For(at.since(now)),
        };
        Self { what, left }
    }

    /// What to ask the server.
    pub(super) fn say(key: &Key) -> [Command; 2] {
        [on("GET", key), on("PTTL", key)]
    }

    /// As the server tells it.
    pub(super) fn hear(value: Reply, left: &Reply) -> Result<Self, String> {
        let what = match value {
            Reply::Nil => What::Nothing,
            Reply::Bytes(bytes) => What::Text(timeless(&bytes)),
            Reply::Error(fault) if fault.kind() == FaultKind::WrongType => What::Other,
            other => return Err(format!("GET was answered {other:?}")),
        };
        let left = match left {
            Reply::Int(-2) => Left::Gone,
            Reply::Int(-1) => Left::ForEver,
            Reply::Int(ms) => Left::For(Duration::from_millis(ms.unsigned_abs())),
            other => return Err(format!("PTTL was answered {other:?}")),
        };
        Ok(Self { what, left })
    }

    /// Whether the server's is the store's, whose time stood still while `late` of the server's ran.
    pub(super) fn agrees(&self, server: &Self, late: Duration) -> bool {
        self.what == server.what
            && match (self.left, server.left) {
                (Left::For(ours), Left::For(theirs)) => theirs <= ours && ours <= theirs + late,
                (ours, theirs) => ours == theirs,
            }
    }

    /// For how long it will stand there, unless for ever.
    pub(super) const fn mortal(&self) -> Option<Duration> {
        match self.left {
            Left::For(left) => Some(left),
            Left::Gone | Left::ForEver => None,
        }
    }
}

/// What must hold of the store itself: no key of ours without a TTL, and no change by a failure.
pub(super) fn invariants(
    asked: &Asked,
    spec: &Answer,
    before: &Store,
    after: &Store,
    now: Timestamp,
) -> Result<(), String> {
    let answers: Vec<&Answer> = match spec {
        Ok(Verdict::Many(answers)) => answers.iter().collect(),
        one => vec![one],
    };
    for key in &asked.keys {
        let about = asked.keys.iter().zip(&answers).filter(|(of, _)| *of == key);
        let verdicts: Vec<_> = about.filter_map(|(_, answer)| answer.as_ref().ok()).collect();
        let stands = |store| Standing::in_store(store, key, now);
        if verdicts.iter().any(|verdict| mortal(verdict)) && stands(after).mortal().is_none() {
            return Err(format!("{key:?} is ours and never expires"));
        }
        if !verdicts.iter().any(|verdict| changes(verdict)) && stands(before) != stands(after) {
            return Err(format!("{spec:?} changed {key:?}"));
        }
    }
    Ok(())
}
