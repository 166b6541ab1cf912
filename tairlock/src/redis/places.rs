//! Where the servers of one deployment are: as the caller says it, and as they say it themselves.

use redis::{Client, ConnectionAddr, RedisResult};

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
