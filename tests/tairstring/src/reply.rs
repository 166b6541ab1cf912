//! The replies and errors, word for word.

use redis_module::{RedisError, RedisValue};

use crate::grammar::Invalid;
use crate::version::Refusal;

pub(crate) const NOT_AN_INTEGER: RedisError = RedisError::Str("ERR value is not an integer");
pub(crate) const OVERFLOW: RedisError =
    RedisError::Str("ERR increment or decrement would overflow");
pub(crate) const SYNTAX: RedisError = RedisError::Str("ERR syntax error");
pub(crate) const VERSION_NOT_AN_INTEGER: RedisError =
    RedisError::Str("ERR version should be integer");

const BOUNDS: RedisError = RedisError::Str("ERR min or max is specified, but not valid");
const STALE: RedisError = RedisError::Str("ERR update version is stale");

pub(crate) const DONE: RedisValue = RedisValue::Integer(1);
pub(crate) const DIFFERS: RedisValue = RedisValue::Integer(0);
pub(crate) const MISSING: RedisValue = RedisValue::Integer(-1);

impl From<Invalid> for RedisError {
    fn from(invalid: Invalid) -> Self {
        match invalid {
            Invalid::Syntax => SYNTAX,
            Invalid::Bounds => BOUNDS,
        }
    }
}

/// A refused NX or XX is nil, a stale VER an error.
pub(crate) fn refused(refusal: Refusal) -> Result<RedisValue, RedisError> {
    match refusal {
        Refusal::Existence => Ok(RedisValue::Null),
        Refusal::Stale => Err(STALE),
    }
}

/// EXCAS that swapped. The second element is an empty simple string, as Tair has it.
pub(crate) fn swapped(version: i64) -> RedisValue {
    RedisValue::Array(vec![
        RedisValue::SimpleStringStatic("OK"),
        RedisValue::SimpleStringStatic(""),
        RedisValue::Integer(version),
    ])
}

/// EXCAS that met another version; a simple string, no error.
pub(crate) fn not_swapped(value: &[u8], version: i64) -> RedisValue {
    RedisValue::Array(vec![
        RedisValue::SimpleStringStatic("CAS_FAILED"),
        RedisValue::StringBuffer(value.to_vec()),
        RedisValue::Integer(version),
    ])
}
