//! What a write does to the key's TTL, and what replicas are told about it.

use redis_module::raw;

use crate::grammar::Ttl;
use crate::key::Key;

/// The TTL as replicas and AOF must hear it: relative times would start anew there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Remove,
    Keep,
    At(i64),
}

/// Applies `ttl` to a key just written. `before` is the deadline read before the write, because
/// some ways of writing drop it.
pub(crate) fn apply(key: &mut Key, before: Option<i64>, ttl: Ttl) -> Told {
    let (deadline, told) = match ttl {
        Ttl::Remove => (None, Told::Remove),
        Ttl::Keep => (before, Told::Keep),
        Ttl::After(millis) => {
            let at = now().saturating_add(millis);
            (Some(at), Told::At(at))
        }
        Ttl::At(at) => (Some(at), Told::At(at)),
    };
    key.set_deadline(deadline);
    told
}

fn now() -> i64 {
    // SAFETY: takes nothing and has no precondition.
    unsafe { raw::RedisModule_Milliseconds.unwrap()() }
}
