//! CAS and CAD: compare-and-set and compare-and-delete of plain strings.

use redis_module::{Context, RedisError, RedisResult, RedisString};

use crate::expiry::{self, Told};
use crate::grammar::{self, Takes};
use crate::key::Key;
use crate::reply::{DIFFERS, DONE, MISSING};

/// `CAS key old new [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]`
pub(crate) fn cas(ctx: &Context, args: Vec<RedisString>) -> RedisResult {
    let [_, name, old, new, options @ ..] = args.as_slice() else {
        return Err(RedisError::WrongArity);
    };
    let options = options.iter().map(RedisString::as_slice);
    let ttl = grammar::parse(options, Takes::Expiry, false)?.ttl;

    let mut key = Key::write(ctx, name);
    match key.plain()? {
        None => return Ok(MISSING),
        Some(current) if current != old.as_slice() => return Ok(DIFFERS),
        Some(_) => {}
    }
    let before = key.deadline();
    key.set_plain(new);
    match expiry::apply(&mut key, before, ttl) {
        Told::Remove => ctx.replicate("SET", &[name, new]),
        // TairString says plain SET here, and the lease is gone on replicas.
        Told::Keep => {
            ctx.replicate("SET", &[name.as_slice(), new.as_slice(), b"KEEPTTL"][..]);
        }
        // The server wraps the two in MULTI and EXEC.
        Told::At(at) => {
            ctx.replicate("SET", &[name, new]);
            ctx.replicate("PEXPIREAT", &[name.as_slice(), at.to_string().as_bytes()][..]);
        }
    }
    Ok(DONE)
}

/// `CAD key value`
pub(crate) fn cad(ctx: &Context, args: Vec<RedisString>) -> RedisResult {
    let [_, name, value] = args.as_slice() else {
        return Err(RedisError::WrongArity);
    };
    let mut key = Key::write(ctx, name);
    match key.plain()? {
        None => return Ok(MISSING),
        Some(current) if current != value.as_slice() => return Ok(DIFFERS),
        Some(_) => {}
    }
    key.delete();
    ctx.replicate("DEL", &[name]);
    Ok(DONE)
}
