//! An open key: every call of the server's key API is made here.

use std::ffi::c_void;

use redis_module::raw::{self, KeyMode, KeyType};
use redis_module::{Context, RedisError, RedisString};

use crate::value::{EXSTRTYPE, ExString};

/// The crate's own key types cannot read or set an absolute expiry, hence this one.
///
/// Closing a key that was opened for writing invalidates what other clients WATCH or track,
/// whether anything was written or not; TairString behaves so too.
pub(crate) struct Key {
    /// Null for a missing key opened for reading.
    inner: *mut raw::RedisModuleKey,
}

impl Key {
    pub(crate) fn read(ctx: &Context, name: &RedisString) -> Self {
        Self { inner: raw::open_key(ctx.ctx, name.inner, KeyMode::READ) }
    }

    pub(crate) fn write(ctx: &Context, name: &RedisString) -> Self {
        Self { inner: raw::open_key(ctx.ctx, name.inner, KeyMode::READ | KeyMode::WRITE) }
    }

    fn kind(&self) -> KeyType {
        // SAFETY: the API takes null too, and says it is empty.
        unsafe { raw::RedisModule_KeyType.unwrap()(self.inner) }.into()
    }

    /// The bytes of a plain string; `None` for a missing key.
    pub(crate) fn plain(&self) -> Result<Option<&[u8]>, RedisError> {
        match self.kind() {
            KeyType::Empty => Ok(None),
            KeyType::String => {
                let mut length = 0;
                let bytes = raw::string_dma(self.inner, &mut length, KeyMode::READ);
                // SAFETY: the key holds a string, whose bytes stay put until the key is written
                // to, which needs `&mut self`.
                Ok(Some(unsafe { std::slice::from_raw_parts(bytes.cast(), length) }))
            }
            _ => Err(RedisError::WrongType),
        }
    }

    /// Replaces whatever is there; the TTL goes.
    pub(crate) fn set_plain(&mut self, value: &RedisString) {
        raw::string_set(self.inner, value.inner);
    }

    pub(crate) fn exstring(&self) -> Result<Option<&ExString>, RedisError> {
        // SAFETY: the pointer is valid while the key is open and not written to.
        self.pointer().map(|pointer| unsafe { pointer.as_ref() })
    }

    pub(crate) fn exstring_mut(&mut self) -> Result<Option<&mut ExString>, RedisError> {
        // SAFETY: as above, and `&mut self` makes the reference unique.
        self.pointer().map(|pointer| unsafe { pointer.as_mut() })
    }

    /// Null for a missing key.
    fn pointer(&self) -> Result<*mut ExString, RedisError> {
        match self.kind() {
            KeyType::Empty => Ok(std::ptr::null_mut()),
            // SAFETY: the key is open and holds a module's value; the type tells whether it is
            // ours, and ours are always `ExString`s.
            KeyType::Module => unsafe {
                if raw::RedisModule_ModuleTypeGetType.unwrap()(self.inner)
                    == *EXSTRTYPE.raw_type.borrow()
                {
                    Ok(raw::RedisModule_ModuleTypeGetValue.unwrap()(self.inner).cast())
                } else {
                    Err(RedisError::WrongType)
                }
            },
            _ => Err(RedisError::WrongType),
        }
    }

    pub(crate) fn insert(&mut self, value: ExString) {
        let value = Box::into_raw(Box::new(value)).cast::<c_void>();
        // SAFETY: the server takes the value over and gives it back to the type's `free`.
        unsafe {
            raw::RedisModule_ModuleTypeSetValue.unwrap()(
                self.inner,
                *EXSTRTYPE.raw_type.borrow(),
                value,
            );
        }
    }

    pub(crate) fn delete(&mut self) {
        // SAFETY: the key is open for writing.
        unsafe { raw::RedisModule_DeleteKey.unwrap()(self.inner) };
    }

    /// Milliseconds since the epoch; `None` for a key that does not expire, or is missing.
    pub(crate) fn deadline(&self) -> Option<i64> {
        // Redis 8 reads through a null pointer when asked about a missing key.
        if self.kind() == KeyType::Empty {
            return None;
        }
        // SAFETY: the key is open and there.
        let deadline = unsafe { raw::RedisModule_GetAbsExpire.unwrap()(self.inner) };
        (deadline != NO_EXPIRE).then_some(deadline)
    }

    pub(crate) fn set_deadline(&mut self, deadline: Option<i64>) {
        // SAFETY: the key is open for writing.
        unsafe {
            raw::RedisModule_SetAbsExpire.unwrap()(self.inner, deadline.unwrap_or(NO_EXPIRE));
        }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        if !self.inner.is_null() {
            raw::close_key(self.inner);
        }
    }
}

const NO_EXPIRE: i64 = raw::REDISMODULE_NO_EXPIRE as i64;
