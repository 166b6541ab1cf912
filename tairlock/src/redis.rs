//! Between our commands, replies and faults and those of redis-rs. For both drivers.

mod ear;
mod places;

pub use ear::Ear;
pub use places::{cluster, elsewhere, name, place, sentinels, several, watched};
use redis::{ErrorKind, Pipeline, ProtocolVersion, PushKind, RedisError, ServerError, Value};

use crate::{
    Fault, FaultKind, Key,
    dialect::{Batch, Reply},
    proto::News,
};

/// The commands of `batch`, ready to be sent together. Errors come back in place of replies.
#[must_use]
pub fn pipeline(batch: &Batch) -> Pipeline {
    let mut pipeline = Pipeline::with_capacity(batch.len());
    pipeline.ignore_errors();
    for command in batch {
        let mut cmd = redis::Cmd::new();
        for arg in command.args() {
            cmd.arg(arg);
        }
        pipeline.add_command(cmd);
    }
    pipeline
}

/// One reply.
#[must_use]
pub fn reply(value: Value) -> Reply {
    match value {
        Value::Nil => Reply::Nil,
        Value::Okay => Reply::Okay,
        Value::Int(number) => Reply::Int(number),
        Value::Boolean(truth) => Reply::Int(truth.into()),
        Value::BulkString(bytes) => Reply::Bytes(bytes),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Reply::Bytes(text.into()),
        Value::Double(number) => Reply::Bytes(number.to_string().into_bytes()),
        Value::Array(values) | Value::Set(values) => {
            Reply::Array(values.into_iter().map(reply).collect())
        }
        Value::Map(pairs) => {
            Reply::Array(pairs.into_iter().flat_map(|(a, b)| [reply(a), reply(b)]).collect())
        }
        Value::Attribute { data, .. } => reply(*data),
        Value::ServerError(error) => Reply::Error(server_fault(&error)),
        other => Reply::Error(Fault::ambiguous(
            FaultKind::Protocol,
            format!("a reply of an unknown kind: {:?}", std::mem::discriminant(&other)),
        )),
    }
}

fn server_fault(error: &ServerError) -> Fault {
    Fault::from_server(error.code(), error.details().unwrap_or_default())
}

/// What an error of a command that was sent means.
#[must_use]
pub fn sent_fault(error: &RedisError) -> Fault {
    match error.kind() {
        ErrorKind::Io if error.is_timeout() => Fault::ambiguous(FaultKind::NoReply, text(error)),
        ErrorKind::Io | ErrorKind::ClusterConnectionNotFound => {
            Fault::ambiguous(FaultKind::Unreachable, text(error))
        }
        ErrorKind::Server(_) | ErrorKind::Extension => answered(error),
        _ => Fault::ambiguous(FaultKind::Protocol, text(error)),
    }
}

/// What an error while connecting to `address` means. Nothing was sent that could matter.
#[must_use]
pub fn connect_fault(error: &RedisError, address: &str) -> Fault {
    let fault = match error.kind() {
        ErrorKind::AuthenticationFailed => {
            Fault::new(FaultKind::Auth, "the server refused the user name or the password")
        }
        ErrorKind::InvalidClientConfig => Fault::new(FaultKind::Config, text(error)),
        ErrorKind::Server(_) | ErrorKind::Extension => answered(error),
        _ => Fault::new(FaultKind::Unreachable, text(error)),
    };
    Fault::new(fault.kind(), format!("{address}: {fault}"))
}

fn answered(error: &RedisError) -> Fault {
    Fault::from_server(error.code().unwrap_or("ERR"), error.detail().unwrap_or_default())
}

fn text(error: &RedisError) -> String {
    // The text of redis-rs names neither user nor password; an URL never gets this far. What does not
    // speak the protocol can make it run over several lines.
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether connections of `client` begin with HELLO.
#[must_use]
pub fn speaks_resp3(client: &redis::Client) -> bool {
    client.get_connection_info().redis_settings().protocol() == ProtocolVersion::RESP3
}

/// Whether a connection failed because the server has no HELLO, or refuses it: old servers and Tair's
/// proxies. Everything works without.
#[must_use]
pub fn refuses_hello(error: &RedisError) -> bool {
    !matches!(error.kind(), ErrorKind::Io | ErrorKind::AuthenticationFailed)
}

/// Hands on what a server says unasked.
pub fn news(kind: &PushKind, data: &[Value], hear: &dyn Fn(News<'_>)) {
    match (kind, data) {
        (PushKind::Invalidate, [keys]) => changed(keys, hear),
        (PushKind::Disconnection, _) => hear(News::Lost),
        _ => {}
    }
}

/// Hands on which keys have changed, as a server lists them.
fn changed(keys: &Value, hear: &dyn Fn(News<'_>)) {
    match keys {
        Value::Array(keys) => {
            for key in keys {
                if let Value::BulkString(key) = key {
                    hear(News::Changed(key));
                }
            }
        }
        Value::BulkString(key) => hear(News::Changed(key)),
        // The whole database was emptied.
        _ => hear(News::Everything),
    }
}

/// `client` with HELLO.
///
/// # Errors
/// As [`redis::Client::open`].
pub fn resp3(client: &redis::Client) -> redis::RedisResult<redis::Client> {
    let info = client.get_connection_info().clone();
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    redis::Client::open(info.set_redis_settings(settings))
}

/// `client` without HELLO.
///
/// # Errors
/// As [`redis::Client::open`].
pub fn resp2(client: &redis::Client) -> redis::RedisResult<redis::Client> {
    let info = client.get_connection_info().clone();
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP2);
    redis::Client::open(info.set_redis_settings(settings))
}

/// A key that nothing stands under, for detection to ask about; under the client's prefix, so that a
/// user confined to it may ask. `None` where a prefix leaves no room for it.
#[must_use]
pub fn unused_key(prefix: &[u8]) -> Option<Key> {
    let unused = format!("tairlock:probe:{}", uuid::Uuid::new_v4().simple());
    Key::with_prefix(prefix, unused.as_bytes()).ok()
}

/// Where a server is, without user and password.
#[must_use]
pub fn address(info: &redis::ConnectionInfo) -> String {
    info.addr().to_string()
}

/// Whether no two of `clients` go to the same place, whatever the database there.
///
/// # Errors
/// [`crate::ConfigError::SameServer`].
pub fn all_different(clients: &[redis::Client]) -> Result<(), crate::ConfigError> {
    let mut places: Vec<String> =
        clients.iter().map(|client| address(client.get_connection_info())).collect();
    places.sort_unstable();
    match places.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(crate::ConfigError::SameServer { place: pair[0].clone() }),
        None => Ok(()),
    }
}

/// Reads a URL, and says what is wrong with it without repeating it: it may hold a password.
///
/// `TCP_NODELAY` is on: between two hosts a command must not wait for the acknowledgement of the one
/// before it, which is another round trip. On loopback, 64 tasks on one connection make about an eighth
/// more pairs with it off, as small writes then travel together; one task alone makes as many with as
/// without (`cargo bench -p tairlock --bench pairs`).
///
/// # Errors
/// [`crate::ConfigError::Address`].
pub fn open(url: &str) -> Result<redis::Client, crate::ConfigError> {
    const SCHEMES: &str = "redis://, rediss://, valkey://, valkeys://, unix:// or redis+unix://";
    let refuse = |reason: String| Err(crate::ConfigError::Address(reason));
    let Some((scheme, _)) = url.split_once(':') else {
        return refuse(format!("a server's address is a URL that begins with {SCHEMES}"));
    };
    if !["redis", "rediss", "valkey", "valkeys", "unix", "redis+unix"].contains(&scheme) {
        // What stands in front of the first colon may be a user name; show only what looks like a scheme.
        let shown = scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        let shown =
            if shown && url.contains("://") { format!("`{scheme}://`") } else { "this".into() };
        return refuse(format!("{shown} is no scheme that tairlock knows; use {SCHEMES}"));
    }
    let opened = redis::Client::open(url).and_then(|client| {
        let info = client.get_connection_info().clone();
        let settings = info.tcp_settings().clone().set_nodelay(true);
        redis::Client::open(info.set_tcp_settings(settings))
    });
    match opened {
        Ok(client) => Ok(client),
        Err(error) if error.to_string().contains("TLS") => {
            refuse(format!("`{scheme}://` needs the feature `rustls` or `native-tls`"))
        }
        Err(error) => refuse(format!("the server's address cannot be used: {}", error.category())),
    }
}
