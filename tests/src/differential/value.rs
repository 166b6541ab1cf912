//! What can be asked about versioned values, and where forms of them may differ.

use std::time::Duration;

use proptest::{prelude::*, sample::select};
use tairlock::{
    Expiry, Fault, FaultKind, Key,
    memory::{Condition, Store},
    proto::{Op, Verdict},
    time::Timestamp,
    value::{Action, Draft, First, LAST_VERSION, Mark, Stored, ValueOp},
};

use super::{asked::quiet, spec::Answer};

/// From here on a script's numbers round.
const FAR: u64 = 1 << 53;

/// Near the last version. Nearer to it, where numbers round to it, TairStrings count as at their end.
const NEAR: u64 = LAST_VERSION - 4_096;

/// Any question about a value under `key`. Versions of the server's clock are not among them: the
/// store's clock is another.
pub(super) fn about(key: impl Strategy<Value = Key>) -> impl Strategy<Value = ValueOp> {
    // All of them text: redis-rs gives a connection up when an error quotes bytes that are none.
    let texts = ["", "OK", "1", "none", "é\0\r\n"].map(str::as_bytes);
    let expiries = [
        Expiry::Persist,
        Expiry::Keep,
        Expiry::After(Duration::from_millis(600_000)),
        Expiry::After(Duration::from_millis(777_777)),
    ];
    let draft = (select(texts.to_vec()), 1..5_u64, select(expiries.to_vec()));
    let draft = draft.prop_map(|(text, mark, expiry)| Draft {
        value: text.into(),
        mark: Mark(mark),
        expiry,
    });
    let first = select(vec![1, 2, FAR - 2, FAR - 1, NEAR]).prop_map(First::At);
    let expected = select(vec![1, 1, 1, 2, 2, 3, FAR - 2, FAR - 1, FAR, NEAR, LAST_VERSION]);
    let action = prop_oneof![
        2 => Just(Action::Read),
        5 => (expected.clone(), draft.clone())
            .prop_map(|(expected, draft)| Action::Swap { expected, draft }),
        3 => (draft.clone(), first.clone())
            .prop_map(|(draft, first)| Action::Create { draft, first }),
        2 => (draft, first).prop_map(|(draft, first)| Action::Overwrite { draft, first }),
        2 => expected.prop_map(|expected| Action::Remove { expected }),
    ];
    (key, action).prop_map(|(key, action)| ValueOp { key, action })
}

/// Whether the server's value is the store's. Not every form has room for a mark.
pub(super) fn same(store: &Stored, server: &Stored) -> bool {
    let content = |stored: &Stored| (stored.value.clone(), stored.version);
    content(store) == content(server) && (server.mark.is_none() || store.mark == server.mark)
}

/// What a server may answer as well, with the store that it leaves.
///
/// A script looks before it writes, so that a full server answers what needs no memory. And where a
/// number would round, a script rather deletes nothing.
pub(super) fn also(
    op: &Op,
    before: &Store,
    condition: Condition,
    now: Timestamp,
) -> Vec<(Answer, Store)> {
    let (Op::Value(ValueOp { key, action }), Condition::Full) = (op, condition) else {
        return Vec::new();
    };
    let mut also = Vec::new();
    let answer = before.clone().apply(op, now);
    if quiet(&answer) {
        also.push((answer, before.clone()));
    }
    let far = matches!(before.stored(key, now), Ok(Some(held)) if held.version >= FAR);
    if far && matches!(action, Action::Remove { .. }) {
        let refused = Fault::new(FaultKind::OutOfMemory, "the store is full");
        also.push((Err(refused), before.clone()));
    }
    also
}

/// A value that another program put there, in the form of which a server's other values are.
pub(super) fn foreign() -> Stored {
    Stored { value: b"1"[..].into(), version: 1, mark: None }
}

/// Whether this verdict is about a value and comes with a change of its key.
pub(super) const fn changes(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Written(_) | Verdict::Removed)
}
