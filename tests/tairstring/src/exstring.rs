//! EXSET, EXGET, EXCAS, EXCAD and EXSETVER: strings with a version.

use redis_module::{Context, RedisError, RedisResult, RedisString, RedisValue};

use crate::grammar::{self, Takes};
use crate::key::Key;
use crate::reply::{self, DIFFERS, DONE, MISSING};
use crate::store::{self, Write};
use crate::version;

/// `EXSET key value [EX|PX|EXAT|PXAT t | KEEPTTL] [NX|XX] [VER v | ABS v] [FLAGS f] [WITHVERSION]`
pub(crate) fn set(ctx: &Context, args: Vec<RedisString>) -> RedisResult {
    let [_, name, value, options @ ..] = args.as_slice() else {
        return Err(RedisError::WrongArity);
    };
    let options = options.iter().map(RedisString::as_slice);
    let options = grammar::parse(options, Takes::Write, store::trusted(ctx))?;

    let mut key = Key::write(ctx, name);
    let current = key.exstring()?.map(|current| current.version);
    let version = match version::next(current, &options) {
        Ok(version) => version,
        Err(refusal) => return reply::refused(refusal),
    };
    let write = Write { value: value.as_slice(), version, flags: options.flags, ttl: options.ttl };
    store::write(ctx, name, &mut key, &write)?;
    Ok(if options.with_version {
        RedisValue::Integer(version)
    } else {
        RedisValue::SimpleStringStatic("OK")
    })
}

/// `EXGET key [WITHFLAGS]`
pub(crate) fn get(ctx: &Context, args: Vec<RedisString>) -> RedisResult {
    let (name, with_flags) = match args.as_slice() {
        [_, name] => (name, false),
        [_, name, word] if word.as_slice().eq_ignore_ascii_case(b"WITHFLAGS") => (name, true),
        [_, _, _] => return Err(reply::SYNTAX),
        _ => return Err(RedisError::WrongArity),
    };
    let key = Key::read(ctx, name);
    let Some(current) = key.exstring()? else {
        return Ok(RedisValue::Null);
    };
    let mut reply =
        vec![RedisValue::StringBuffer(current.value.clone()), RedisValue::Integer(current.version)];
    if with_flags {
        reply.push(RedisValue::Integer(current.flags.into()));
    }
    Ok(RedisValue::Array(reply))
}

/// `EXCAS key new version [EX|PX|EXAT|PXAT t | KEEPTTL]`
pub(crate) fn cas(ctx: &Context, args: Vec<RedisString>) -> RedisResult {
    let [_, name, value, expected, options @ ..] = args.as_slice() else {
        return Err(RedisError::WrongArity);
    };
    let options = options.iter().map(RedisString::as_slice);
    let ttl = grammar::parse(options, Takes::Expiry, false)?.ttl;
    let expected = grammar::integer(expected.as_slice()).ok_or(reply::VERSION_NOT_AN_INTEGER)?;
    if expected < 0 {
        return Err(reply::SYNTAX);
    }

    let mut key = Key::write(ctx, name);
    let version = match key.exstring()? {
        None => return Ok(MISSING),
        // 0 is a version like any other here, unlike in VER.
        Some(current) if current.version != expected => {
            return Ok(reply::not_swapped(&current.value, current.version));
        }
        Some(current) => version::after(current.version),
    };
    let write = Write { value: value.as_slice(), version, flags: None, ttl };
    store::write(ctx, name, &mut key, &write)?;
    Ok(reply::swapped(version))
}

/// `EXCAD key version`
pub(crate) fn cad(ctx: &Context, args: Vec<RedisString>) -> RedisResult {
    let [_, name, expected] = args.as_slice() else {
        return Err(RedisError::WrongArity);
    };
    let expected = grammar::integer(expected.as_slice()).ok_or(reply::SYNTAX)?;

    let mut key = Key::write(ctx, name);
    match key.exstring()? {
        None => return Ok(MISSING),
        Some(current) if current.version != expected => return Ok(DIFFERS),
        Some(_) => {}
    }
    key.delete();
    ctx.replicate("DEL", &[name]);
    Ok(DONE)
}

/// `EXSETVER key version`. The key is looked at first: nothing is wrong with a missing one.
pub(crate) fn set_version(ctx: &Context, args: Vec<RedisString>) -> RedisResult {
    let [_, name, version] = args.as_slice() else {
        return Err(RedisError::WrongArity);
    };
    let mut key = Key::write(ctx, name);
    let Some(current) = key.exstring_mut()? else {
        return Ok(RedisValue::Integer(0));
    };
    current.version =
        grammar::integer(version.as_slice()).filter(|version| *version > 0).ok_or(reply::SYNTAX)?;
    ctx.replicate_verbatim();
    Ok(DONE)
}
