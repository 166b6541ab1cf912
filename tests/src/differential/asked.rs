//! What can be asked, and on which keys: the one place to change for a new operation.

use std::time::Duration;

use proptest::{collection::vec, prelude::*, sample::select};
use tairlock::{
    Confirm, FaultKind, Key, Token, Ttl,
    memory::Condition,
    proto::{Op, Renewal, Seen, Verdict},
};

use super::{fence, spec::Answer, value};

/// An operation and the keys that it is about, in the order of its verdicts.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) op: Op,
    pub(super) keys: Vec<Key>,
}

/// Any operation on any of `keys`.
pub(super) fn asked(keys: &[Key]) -> impl Strategy<Value = Asked> + use<> {
    let key = select(keys.to_vec());
    let one = (key.clone(), select(tokens()), select(ttls()));
    let one = one.prop_map(|(key, token, ttl)| Renewal { key, token, ttl, of: None });
    prop_oneof![
        4 => one.clone().prop_map(|Renewal { key, token, ttl, .. }| Asked {
            keys: vec![key.clone()],
            op: Op::Acquire { key, token, ttl },
        }),
        3 => one.clone().prop_map(|Renewal { key, token, ttl, .. }| Asked {
            keys: vec![key.clone()],
            op: Op::AcquireFenced { key, token, ttl },
        }),
        3 => vec(one, 1..=4).prop_map(|renewals| Asked {
            keys: renewals.iter().map(|renewal| renewal.key.clone()).collect(),
            op: Op::RenewMany(renewals),
        }),
        3 => (key.clone(), select(tokens())).prop_map(|(key, token)| Asked {
            keys: vec![key.clone()],
            op: Op::Release { key, token },
        }),
        2 => (key.clone(), select(tokens()), select(ttls())).prop_map(|(key, token, ttl)| Asked {
            keys: vec![key.clone()],
            op: Op::Retain(Renewal { key, token, ttl, of: None }),
        }),
        1 => key.clone().prop_map(|key| Asked { keys: vec![key.clone()], op: Op::Inspect(key) }),
        2 => key.clone().prop_map(|key| Asked {
            keys: vec![key.clone()],
            op: Op::ForceRelease(key),
        }),
        2 => (key.clone(), fence::about()).prop_map(|(key, action)| Asked {
            keys: vec![key.clone()],
            op: Op::Fenced(key, action),
        }),
        2 => key.clone().prop_map(|key| Asked {
            keys: vec![key.clone()],
            op: Op::Remaining { key },
        }),
        1 => key.clone().prop_map(|key| Asked {
            keys: vec![key.clone()],
            // Of none, as others are waited for.
            op: Op::Copies { key, confirm: Confirm::none() },
        }),
        6 => value::about(key).prop_map(|op| Asked {
            keys: vec![op.key.clone()],
            op: Op::Value(op),
        }),
    ]
}

/// Whether this verdict may come with a change of the key: all others must leave it as it was.
pub(super) const fn changes(verdict: &Verdict) -> bool {
    matches!(
        verdict,
        Verdict::Granted
            | Verdict::Issued { .. }
            | Verdict::Renewed
            | Verdict::Retained
            | Verdict::Released
            | Verdict::Evicted(_)
            | Verdict::Accepted
    ) || value::changes(verdict)
}

/// Whether the key must have a time to live after this verdict.
pub(super) const fn mortal(verdict: &Verdict) -> bool {
    matches!(
        verdict,
        Verdict::Granted
            | Verdict::Issued { again: false, .. }
            | Verdict::Renewed
            | Verdict::Retained
    )
}

/// Whether the server's answer is the store's, or as good.
///
/// Where writes are refused, some ways look first and change then, others are refused before they
/// look: both are right, as long as nothing that would have changed a key is claimed done. And where
/// somebody else came `between` two looks, the second tells of another moment than the first.
pub(super) fn agree(spec: &Answer, server: &Answer, condition: Condition, between: bool) -> bool {
    match (spec, server) {
        (Ok(Verdict::Many(spec)), Ok(Verdict::Many(server))) => {
            let mut both = spec.iter().zip(server);
            spec.len() == server.len() && both.all(|(a, b)| agree(a, b, condition, between))
        }
        (_, Err(fault)) if fault.kind() == FaultKind::ReadOnly => condition == Condition::ReadOnly,
        (spec, server) if between && quiet(spec) && quiet(server) => true,
        // The store's time stands still while the server's runs.
        (Ok(Verdict::Remaining(Some(spec))), Ok(Verdict::Remaining(Some(server)))) => {
            server <= spec && *spec <= *server + Duration::from_secs(60)
        }
        (Ok(Verdict::Stored(spec)), Ok(Verdict::Stored(server))) => value::same(spec, server),
        (
            Ok(Verdict::Issued { fence: spec, again }),
            Ok(Verdict::Issued { fence: server, again: as_well }),
        ) => again == as_well && fence::alike(*spec, *server),
        (Ok(Verdict::Seen(spec)), Ok(Verdict::Seen(server)))
        | (Ok(Verdict::Evicted(spec)), Ok(Verdict::Evicted(server))) => same_holder(spec, server),
        (spec, server) => spec == server,
    }
}

/// Whether the server's is the store's, whose time stands still while some of the server's runs.
fn same_holder(spec: &Seen, server: &Seen) -> bool {
    let late = |(spec, server): (Duration, Duration)| {
        server <= spec && spec - server < Duration::from_secs(60)
    };
    fence::timeless(spec.token.as_bytes()) == fence::timeless(server.token.as_bytes())
        && spec.left.is_some() == server.left.is_some()
        && spec.left.zip(server.left).is_none_or(late)
}

/// Whether this answer tells what stands there, and nothing was changed or refused for another reason.
pub(super) fn quiet(answer: &Answer) -> bool {
    match answer {
        Ok(verdict) => !changes(verdict) && !matches!(verdict, Verdict::Many(_)),
        Err(fault) => fault.kind() == FaultKind::WrongType,
    }
}

/// Alike enough to be mixed up by who compares beginnings, lengths or numbers.
pub(super) fn tokens() -> Vec<Token> {
    // Shown up to the last slash.
    let long = format!("long/{}", "0".repeat(Token::MAX_LEN - 5));
    ["w@1/5f0c/", "w@1/5f0c/5/", "w@2/5f0c/", long.as_str()].map(Token::from_bytes).into()
}

/// So long that none runs out on the server while its sequence is played: time is virtual.
fn ttls() -> Vec<Ttl> {
    let ttl = |ms| Ttl::new(Duration::from_millis(ms)).expect("a TTL in its limits");
    [600_000, 750_007, 3_600_000, 24 * 24 * 3_600_000].map(ttl).into()
}
