//! EXINCRBY: an ex-string counted up and down.

use redis_module::{Context, RedisError, RedisResult, RedisString, RedisValue};

use crate::grammar::{self, Options, Takes};
use crate::key::Key;
use crate::reply;
use crate::store::{self, Write};
use crate::version;

/// `EXINCRBY key num [DEF d] [EX|PX|EXAT|PXAT t | KEEPTTL] [NX|XX] [VER v | ABS v] [MIN m] [MAX m]
/// [NONEGATIVE] [WITHVERSION]`
pub(crate) fn increment(ctx: &Context, args: Vec<RedisString>) -> RedisResult {
    let [_, name, step, options @ ..] = args.as_slice() else {
        return Err(RedisError::WrongArity);
    };
    let options = options.iter().map(RedisString::as_slice);
    let options = grammar::parse(options, Takes::Count, false)?;
    let step = grammar::integer(step.as_slice()).ok_or(reply::NOT_AN_INTEGER)?;

    let mut key = Key::write(ctx, name);
    let current = key.exstring()?;
    let version = match version::next(current.map(|current| current.version), &options) {
        Ok(version) => version,
        Err(refusal) => return reply::refused(refusal),
    };
    let number = match (current, options.default) {
        (None, Some(default)) => default,
        (None, None) => sum(0, step, &options)?,
        (Some(current), _) => {
            let number = grammar::integer(&current.value).ok_or(reply::NOT_AN_INTEGER)?;
            sum(number, step, &options)?
        }
    };
    let value = number.to_string();
    let write = Write { value: value.as_bytes(), version, flags: None, ttl: options.ttl };
    store::write(ctx, name, &mut key, &write)?;
    let number = RedisValue::Integer(number);
    Ok(if options.with_version {
        RedisValue::Array(vec![number, RedisValue::Integer(version)])
    } else {
        number
    })
}

fn sum(number: i64, step: i64, options: &Options) -> Result<i64, RedisError> {
    let sum = number.checked_add(step).ok_or(reply::OVERFLOW)?;
    if options.min.is_some_and(|min| sum < min) || options.max.is_some_and(|max| sum > max) {
        return Err(reply::OVERFLOW);
    }
    Ok(if options.non_negative { sum.max(0) } else { sum })
}
