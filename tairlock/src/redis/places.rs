//! Where the servers of one deployment are: as the caller says it, and as they say it themselves.

use redis::{Client, ConnectionAddr, IntoConnectionInfo as _, RedisResult};

use super::open;
use crate::{ConfigError, proto::Address};

/// The nodes that a client of a cluster begins with.
///
/// # Errors
/// [`ConfigError::Address`].
pub fn cluster(
    urls: impl IntoIterator<Item = impl AsRef<str>>,
) -> Result<Vec<Client>, ConfigError> {
    opened(urls, "a cluster")
}

/// The sentinels that a client begins with.
///
/// # Errors
/// [`ConfigError::Address`].
pub fn sentinels(
    urls: impl IntoIterator<Item = impl AsRef<str>>,
) -> Result<Vec<Client>, ConfigError> {
    opened(urls, "sentinels")
}

fn opened(
    urls: impl IntoIterator<Item = impl AsRef<str>>,
    what: &str,
) -> Result<Vec<Client>, ConfigError> {
    let clients = urls.into_iter().map(|url| open(url.as_ref())).collect::<Result<Vec<_>, _>>()?;
    several(clients, what)
}

/// Checks that `clients` lead to servers that can be the first of `what`.
///
/// # Errors
/// [`ConfigError::Address`].
pub fn several(clients: Vec<Client>, what: &str) -> Result<Vec<Client>, ConfigError> {
    let refuse = |reason: String| Err(ConfigError::Address(reason));
    if clients.is_empty() {
        return refuse(format!("{what} without any address"));
    }
    for client in &clients {
        let info = client.get_connection_info();
        if let ConnectionAddr::Unix(_) = info.addr() {
            return refuse(format!("{what} cannot be reached by a unix socket"));
        }
        if info.redis_settings().db() != 0 {
            return refuse(format!("{what} has database 0 and no other"));
        }
    }
    Ok(clients)
}

/// As `template` in everything but where it leads to.
///
/// # Errors
/// Whatever redis-rs finds wrong with that.
pub fn elsewhere(template: &Client, to: &Address) -> RedisResult<Client> {
    let info = template.get_connection_info().clone();
    let (host, port) = (to.host.to_string(), to.port);
    let addr = match info.addr() {
        ConnectionAddr::TcpTls { insecure, tls_params, .. } => ConnectionAddr::TcpTls {
            host,
            port,
            insecure: *insecure,
            tls_params: tls_params.clone(),
        },
        _ => ConnectionAddr::Tcp(host, port),
    };
    Client::open(info.set_addr(addr))
}

/// How to reach a primary that sentinels know: by its bare name, or by a URL with the name as its host.
///
/// # Errors
/// [`ConfigError::Address`].
pub fn watched(primary: &str) -> Result<Client, ConfigError> {
    if primary.contains("://") {
        return open(primary);
    }
    let bare = ConnectionAddr::Tcp(primary.to_owned(), 0).into_connection_info();
    let opened = bare.and_then(|info| {
        let settings = info.tcp_settings().clone().set_nodelay(true);
        Client::open(info.set_tcp_settings(settings))
    });
    opened.map_err(|error| ConfigError::Address(error.category().to_owned()))
}

/// The name of the primary that `client` is to lead to.
///
/// # Errors
/// [`ConfigError::Address`], if there is none.
pub fn name(client: &Client) -> Result<String, ConfigError> {
    let name = place(client).map(|place| place.host.to_string()).filter(|name| !name.is_empty());
    let help = "which primary? say the name that the sentinels know it by";
    name.ok_or_else(|| ConfigError::Address(help.to_owned()))
}

/// Where `client` leads to; a unix socket is no place among others.
#[must_use]
pub fn place(client: &Client) -> Option<Address> {
    match client.get_connection_info().addr() {
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
            Some(Address::new(host.as_str(), *port))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_a_deployment_is_refused_before_anything_is_sent() {
        for (urls, why) in [
            (vec![], "without any address"),
            (vec!["redis://a", "unix:///x"], "unix socket"),
            (vec!["redis://a/3"], "database 0"),
            (vec!["http://a"], "scheme"),
        ] {
            let refused = cluster(&urls).unwrap_err().to_string();
            assert!(refused.contains(why), "{urls:?}: {refused}");
        }
    }

    #[test]
    fn a_primary_is_named_barely_or_by_a_url() {
        let named = |primary: &str| watched(primary).and_then(|client| name(&client));
        assert_eq!(named("main_Db.1").unwrap(), "main_Db.1");
        assert_eq!(named("redis://user:secret@main_Db.1/3").unwrap(), "main_Db.1");
        assert!(named("").is_err() && named("unix:///x").is_err());
    }

    #[test]
    fn another_node_is_reached_as_the_first_one_is() {
        let seeds = cluster(["redis://user:secret@a:7000?protocol=resp3"]).unwrap();
        let other = elsewhere(&seeds[0], &Address::new("::1", 7001)).unwrap();
        assert_eq!(place(&other), Some(Address::new("::1", 7001)));
        let settings = other.get_connection_info().redis_settings();
        assert_eq!((settings.username(), settings.password()), (Some("user"), Some("secret")));
        assert_eq!(settings.protocol(), redis::ProtocolVersion::RESP3);
        assert!(other.get_connection_info().tcp_settings().nodelay());
    }
}
