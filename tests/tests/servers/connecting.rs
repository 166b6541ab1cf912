//! The ways to a server: addresses, users, databases, sockets, and servers that refuse to say much.

use tairlock::{Error, Release};
use tairlock_tests::{
    Proxy, Server,
    world::{Ask, World},
};

use crate::{client_at, for_each_driver, take, try_client_at};

for_each_driver!(
    an_address_that_cannot_be_used_is_refused_and_not_shown,
    databases_are_told_apart,
    unix_sockets_work,
    users_and_passwords_work,
    hello_may_be_refused,
    command_may_be_refused,
    resp3_says_the_same,
);

const CANARY: &str = "c4n4ryp4ssw0rd";

fn an_address_that_cannot_be_used_is_refused_and_not_shown(world: &dyn World) {
    for (url, says) in [
        (format!("http://user:{CANARY}@localhost/"), "`http://`"),
        (format!("user:{CANARY}@localhost"), "redis://"),
        (CANARY.to_owned(), "redis://"),
        (String::new(), "redis://"),
        (format!("redis://user:{CANARY}@localhost:port/"), "address"),
        (format!("redis://user:{CANARY}@localhost/database"), "address"),
    ] {
        let Err(error) = try_client_at(world, url.clone()) else { panic!("connected to {url}") };
        assert!(matches!(error, Error::Config(_)), "{error:?}");
        let shown = format!("{error} {error:?}");
        assert!(shown.contains(says), "{url}: {shown}");
        assert!(!shown.contains(CANARY), "{shown}");
    }
}

fn databases_are_told_apart(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let zero = client_at(world, server.url());
    let three = client_at(world, format!("redis://127.0.0.1:{}/3", server.port()));
    let guards = [take(&*zero, &Ask::new("k")), take(&*three, &Ask::new("k"))];
    for guard in guards {
        assert_eq!(guard.release().expect("release"), Release::Released);
    }
}

fn unix_sockets_work(world: &dyn World) {
    let server = Server::redis7().unix_socket().start().expect("a server");
    let client = client_at(world, server.unix_url());
    let guard = take(&*client, &Ask::new("k"));
    assert_eq!(guard.release().expect("release"), Release::Released);
}

fn users_and_passwords_work(world: &dyn World) {
    let server = Server::redis7().password("s3cret").user("alice on >w0nder ~* +@all");
    let server = server.start().expect("a server");
    for who in [":s3cret", "default:s3cret", "alice:w0nder"] {
        let client = client_at(world, format!("redis://{who}@127.0.0.1:{}/", server.port()));
        let guard = take(&*client, &Ask::new("k"));
        assert_eq!(guard.release().expect("release"), Release::Released, "{who}");
    }
}

fn hello_may_be_refused(world: &dyn World) {
    let server = Server::redis7().start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    proxy.deny("HELLO");
    let client = client_at(world, format!("{}?protocol=resp3", proxy.url()));
    let guard = take(&*client, &Ask::new("k").ttl(300));
    assert_eq!(guard.lease().wait_lost(std::time::Duration::from_millis(600)), None);
    assert_eq!(guard.release().expect("release"), Release::Released);
}

fn command_may_be_refused(world: &dyn World) {
    for server in [Server::redis7(), Server::valkey9()] {
        let server = server.start().expect("a server");
        let proxy = Proxy::start(server.addr()).expect("a proxy");
        proxy
            .answer("COMMAND", b"-NOPERM User has no permissions to run the 'command' command\r\n");
        let client = client_at(world, proxy.url());
        let guard = take(&*client, &Ask::new("k").ttl(300));
        assert_eq!(guard.lease().wait_lost(std::time::Duration::from_millis(600)), None);
        assert_eq!(guard.release().expect("release"), Release::Released);
    }
}

/// O59: the newer protocol's replies have other shapes.
fn resp3_says_the_same(world: &dyn World) {
    for server in [Server::redis7(), Server::valkey9()] {
        let server = server.start().expect("a server");
        let client = client_at(world, format!("{}?protocol=resp3", server.url()));
        let guard = take(&*client, &Ask::new("k").ttl(300));
        assert!(client.try_acquire(&Ask::new("k")).expect("no fault").is_none());
        assert_eq!(guard.lease().wait_lost(std::time::Duration::from_millis(600)), None);
        assert_eq!(guard.release().expect("release"), Release::Released);
    }
}
