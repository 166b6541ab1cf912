//! Writes an ex-string and tells replicas and AOF what became of it.

use redis_module::{Context, ContextFlags, RedisError, RedisString};

use crate::expiry::{self, Told};
use crate::grammar::Ttl;
use crate::key::Key;
use crate::value::ExString;

pub(crate) struct Write<'a> {
    pub(crate) value: &'a [u8],
    pub(crate) version: i64,
    /// `None` leaves the flags as they are.
    pub(crate) flags: Option<u32>,
    pub(crate) ttl: Ttl,
}

/// Fails on a key of another type, before anything is written.
pub(crate) fn write(
    ctx: &Context,
    name: &RedisString,
    key: &mut Key,
    write: &Write<'_>,
) -> Result<(), RedisError> {
    let before = key.deadline();
    match key.exstring_mut()? {
        Some(current) => {
            current.value = write.value.to_vec();
            current.version = write.version;
            current.flags = write.flags.unwrap_or(current.flags);
        }
        None => key.insert(ExString {
            value: write.value.to_vec(),
            version: write.version,
            flags: write.flags.unwrap_or(0),
        }),
    }
    let told = expiry::apply(key, before, write.ttl);
    propagate(ctx, name, write, told);
    Ok(())
}

/// Replicas get the resulting version and an absolute deadline, whatever the command was.
fn propagate(ctx: &Context, name: &RedisString, write: &Write<'_>, told: Told) {
    let version = write.version.to_string();
    let mut args =
        vec![name.as_slice().to_vec(), write.value.to_vec(), b"ABS".to_vec(), version.into_bytes()];
    match told {
        Told::Remove => {}
        Told::Keep => args.push(b"KEEPTTL".to_vec()),
        Told::At(at) => args.extend([b"PXAT".to_vec(), at.to_string().into_bytes()]),
    }
    if let Some(flags) = write.flags {
        args.extend([b"FLAGS".to_vec(), flags.to_string().into_bytes()]);
    }
    let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
    ctx.replicate("EXSET", args.as_slice());
}

/// Whether the command comes from a primary or from the AOF.
pub(crate) fn trusted(ctx: &Context) -> bool {
    ctx.get_flags().intersects(ContextFlags::REPLICATED | ContextFlags::LOADING)
}
