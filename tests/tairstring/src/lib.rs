//! A server module that gives Redis and Valkey the commands of Alibaba Tair's TairString.
//!
//! | file | idea |
//! |---|---|
//! | `grammar` | options of a command, parsed; pure |
//! | `version` | may this write happen, and which version results; pure |
//! | `key` | an open key; all calls of the server's key API |
//! | `value` | the data type `exstrtype` and how it is saved |
//! | `expiry` | what a write does to the key's TTL |
//! | `store` | writes an ex-string and tells replicas and AOF |
//! | `strings`, `exstring`, `counter` | the commands |
//! | `reply` | replies and errors, word for word |

mod counter;
mod expiry;
mod exstring;
mod grammar;
mod key;
mod reply;
mod store;
mod strings;
mod value;
mod version;

use redis_module::raw::ModuleOptions;
use redis_module::{Context, RedisString, Status};

use crate::value::EXSTRTYPE;

#[cfg(not(test))]
use redis_module::alloc::RedisAlloc as Allocator;
/// The server's allocator exists only inside a server; unit tests run outside.
#[cfg(test)]
use std::alloc::System as Allocator;

/// Lets a truncated RDB or DUMP payload fail the load; without it the server aborts.
fn init(ctx: &Context, _args: &[RedisString]) -> Status {
    ctx.set_module_options(ModuleOptions::HANDLE_IO_ERRORS);
    Status::Ok
}

redis_module::redis_module! {
    name: "exstrtype",
    version: 1,
    allocator: (Allocator, Allocator),
    data_types: [EXSTRTYPE],
    init: init,
    commands: [
        ["cas", strings::cas, "write deny-oom", 1, 1, 1, ""],
        ["cad", strings::cad, "write deny-oom", 1, 1, 1, ""],
        ["exset", exstring::set, "write deny-oom", 1, 1, 1, ""],
        ["exget", exstring::get, "readonly fast", 1, 1, 1, ""],
        ["excas", exstring::cas, "write deny-oom", 1, 1, 1, ""],
        ["excad", exstring::cad, "write deny-oom", 1, 1, 1, ""],
        ["exsetver", exstring::set_version, "write deny-oom", 1, 1, 1, ""],
        ["exincrby", counter::increment, "write deny-oom", 1, 1, 1, ""],
    ],
}
