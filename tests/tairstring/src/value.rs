//! The data type `exstrtype`: a value with a version and flags, and how it is saved.

use std::ffi::{c_int, c_void};
use std::ptr;

use redis_module::native_types::RedisType;
use redis_module::{TYPE_METHOD_VERSION, raw};

#[derive(Debug)]
pub(crate) struct ExString {
    pub(crate) value: Vec<u8>,
    pub(crate) version: i64,
    pub(crate) flags: u32,
}

/// The layout in an RDB. TairString's own is 0; ours differs, and neither is to read the other's.
const ENCODING: i32 = 1;

/// A type's name has 9 characters, from `A-Z a-z 0-9 - _`.
pub(crate) static EXSTRTYPE: RedisType = RedisType::new(
    "exstrtype",
    ENCODING,
    raw::RedisModuleTypeMethods {
        version: TYPE_METHOD_VERSION,
        rdb_load: Some(load),
        rdb_save: Some(save),
        aof_rewrite: Some(rewrite),
        mem_usage: Some(memory),
        digest: Some(digest),
        free: Some(free),
        aux_load: None,
        aux_save: None,
        aux_save_triggers: 0,
        free_effort: None,
        unlink: None,
        copy: None,
        defrag: None,
        mem_usage2: None,
        free_effort2: None,
        unlink2: None,
        copy2: None,
        aux_save2: None,
    },
);

unsafe extern "C" fn save(rdb: *mut raw::RedisModuleIO, value: *mut c_void) {
    // SAFETY: the server passes a value of this type.
    let this = unsafe { &*value.cast::<ExString>() };
    raw::save_signed(rdb, this.version);
    raw::save_unsigned(rdb, this.flags.into());
    raw::save_slice(rdb, &this.value);
}

/// Null makes the server refuse the RDB or the RESTORE.
unsafe extern "C" fn load(rdb: *mut raw::RedisModuleIO, encoding: c_int) -> *mut c_void {
    let read = || {
        Some(ExString {
            version: raw::load_signed(rdb).ok()?,
            flags: raw::load_unsigned(rdb).ok()?.try_into().ok()?,
            value: raw::load_string_buffer(rdb).ok()?.as_ref().to_vec(),
        })
    };
    match (encoding == ENCODING).then(read).flatten() {
        Some(this) => Box::into_raw(Box::new(this)).cast(),
        None => ptr::null_mut(),
    }
}

/// The server adds the TTL itself, as a PEXPIREAT.
unsafe extern "C" fn rewrite(
    aof: *mut raw::RedisModuleIO,
    key: *mut raw::RedisModuleString,
    value: *mut c_void,
) {
    // SAFETY: the server passes a value of this type.
    let this = unsafe { &*value.cast::<ExString>() };
    // SAFETY: the arguments are what the format says: string, buffer with length, C string,
    // integer, C string, integer.
    unsafe {
        raw::RedisModule_EmitAOF.unwrap()(
            aof,
            c"EXSET".as_ptr(),
            c"sbclcl".as_ptr(),
            key,
            this.value.as_ptr(),
            this.value.len(),
            c"ABS".as_ptr(),
            this.version,
            c"FLAGS".as_ptr(),
            i64::from(this.flags),
        );
    }
}

unsafe extern "C" fn memory(value: *const c_void) -> usize {
    // SAFETY: the server passes a value of this type.
    let this = unsafe { &*value.cast::<ExString>() };
    size_of::<ExString>() + this.value.capacity()
}

/// What `DEBUG DIGEST` compares a replica by.
unsafe extern "C" fn digest(digest: *mut raw::RedisModuleDigest, value: *mut c_void) {
    // SAFETY: the server passes a value of this type, and its bytes outlive the calls.
    unsafe {
        let this = &*value.cast::<ExString>();
        raw::RedisModule_DigestAddStringBuffer.unwrap()(
            digest,
            this.value.as_ptr().cast(),
            this.value.len(),
        );
        raw::RedisModule_DigestAddLongLong.unwrap()(digest, this.version);
        raw::RedisModule_DigestAddLongLong.unwrap()(digest, this.flags.into());
        raw::RedisModule_DigestEndSequence.unwrap()(digest);
    }
}

unsafe extern "C" fn free(value: *mut c_void) {
    // SAFETY: the value came from `Box::into_raw`, and the server forgets it now.
    drop(unsafe { Box::from_raw(value.cast::<ExString>()) });
}
