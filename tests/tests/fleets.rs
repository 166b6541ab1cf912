//! The fixtures of several servers, of TLS and of users: each deployment is what it claims to be.

use std::time::{Duration, Instant};

use anyhow::Result;
use redis::{Connection, RedisResult, cmd};
use tairlock_tests::{
    Server,
    fleet::{Cluster, Five, Replicated, Sentinels},
    server::Builder,
};

const SOON: Duration = Duration::from_secs(10);

fn set(server: &Server, key: &str, value: &str) -> RedisResult<()> {
    cmd("SET").arg(key).arg(value).exec(&mut server.cli())
}

fn get(server: &Server, key: &str) -> RedisResult<Option<String>> {
    cmd("GET").arg(key).query(&mut server.cli())
}

fn acks(link: &mut Connection, replicas: u8, within: Duration) -> RedisResult<u8> {
    let within = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
    cmd("WAIT").arg(replicas).arg(within).query(link)
}

/// On a server of either family.
fn each_server(check: impl Fn(fn() -> Builder) -> Result<()>) -> Result<()> {
    check(Server::redis7)?;
    check(Server::valkey9)
}

#[test]
fn replicas_follow_until_their_link_is_cut_or_stalls() -> Result<()> {
    each_server(|server| {
        let fleet = Replicated::start(server, 2)?;
        let mut link = fleet.primary().cli();
        cmd("SET").arg("k").arg("1").exec(&mut link)?;
        assert_eq!(acks(&mut link, 2, SOON)?, 2);
        assert_eq!(get(fleet.replica(1), "k")?.as_deref(), Some("1"));

        fleet.link(0).cut();
        fleet.link(1).stall();
        cmd("SET").arg("k").arg("2").exec(&mut link)?;
        assert_eq!(acks(&mut link, 1, Duration::from_millis(100))?, 0);
        for replica in fleet.replicas() {
            assert_eq!(get(replica, "k")?.as_deref(), Some("1"));
        }

        fleet.link(1).mend();
        assert_eq!(acks(&mut link, 1, SOON)?, 1);
        fleet.link(0).mend();
        fleet.await_sync()?;
        assert_eq!(get(fleet.replica(0), "k")?.as_deref(), Some("2"));

        fleet.promote(0)?;
        set(fleet.replica(0), "k", "3")?;
        assert_eq!(get(fleet.primary(), "k")?.as_deref(), Some("2"));
        Ok(())
    })
}

#[test]
fn sentinels_replace_a_primary_on_request_and_when_it_is_killed() -> Result<()> {
    each_server(|server| {
        let mut fleet = Sentinels::start(server, 2)?;
        assert_eq!((fleet.urls().len(), fleet.primary()?), (3, 0));
        set(&fleet.servers()[0], "k", "v")?;
        let second = fleet.failover()?;
        assert_ne!(second, 0);
        set(&fleet.servers()[second], "k", "w")?;
        let third = fleet.kill_primary()?;
        assert_ne!(third, second);
        set(&fleet.servers()[third], "k", "x")?;
        fleet.restart(second)?;
        Ok(())
    })
}

#[test]
fn a_cluster_of_six_replaces_a_killed_primary() -> Result<()> {
    each_server(|server| {
        let mut cluster = Cluster::start(server)?;
        let owners = ["a", "b", "c"].map(|key| cluster.owner(key.as_bytes()));
        let mut owners = owners.into_iter().collect::<Result<Vec<_>, _>>()?;
        owners.sort_unstable();
        assert_eq!(owners, [0, 1, 2]);
        let () = cluster.ask(b"a", cmd("SET").arg("a").arg("v"))?;
        let (old, new) = cluster.kill_owner(b"a")?;
        assert_eq!(new, old + 3);
        let () = cluster.ask(b"a", cmd("SET").arg("a").arg("w"))?;
        cluster.nodes_mut()[old].restart()?;
        cluster.await_whole()?;
        assert_eq!(cluster.owner(b"a")?, new);
        Ok(())
    })
}

#[test]
fn a_cluster_sends_clients_to_its_proxies_and_moves_slots() -> Result<()> {
    each_server(|server| {
        let cluster = Cluster::proxied(server)?;
        let owner = cluster.owner(b"a")?;
        let other = (owner + 1) % 3;
        let moved = |at: usize| {
            let refused = cmd("GET").arg("a").exec(&mut cluster.nodes()[at].cli()).unwrap_err();
            refused.to_string()
        };
        let owners = cluster.proxies()[owner].addr();
        assert!(moved(other).contains(&owners.to_string()), "{} or {owners}", moved(other));

        let () = cluster.ask(b"a", cmd("SET").arg("a").arg("v"))?;
        let slot: u16 =
            cmd("CLUSTER").arg("KEYSLOT").arg("a").query(&mut cluster.nodes()[0].cli())?;
        cluster.move_slot(slot, other)?;
        assert_eq!(cluster.owner(b"a")?, other);
        assert_eq!(get(&cluster.nodes()[other], "a")?.as_deref(), Some("v"));
        cluster.begin_move(slot, owner)?;
        let key = format!("{{a}}{}", "absent");
        let asked = cmd("GET").arg(key).exec(&mut cluster.nodes()[other].cli()).unwrap_err();
        assert_eq!(asked.code(), Some("ASK"), "{asked}");
        Ok(())
    })
}

#[test]
fn five_servers_know_nothing_of_each_other() -> Result<()> {
    let mut five = Five::start(Server::redis7)?;
    set(&five.servers()[0], "k", "v")?;
    assert!(five.servers()[1..].iter().all(|server| get(server, "k") == Ok(None)));
    for (url, proxy) in five.urls().iter().zip(five.proxies()) {
        let mut link = redis::Client::open(url.as_str())?.get_connection_with_timeout(SOON)?;
        cmd("PING").exec(&mut link)?;
        assert!(proxy.wait_for("PING", 1, SOON));
    }
    five.servers_mut()[4].kill();
    assert!(
        redis::Client::open(five.urls()[4].as_str())?.get_connection_with_timeout(SOON).is_err()
    );
    Ok(())
}

#[test]
fn users_may_do_what_they_may() -> Result<()> {
    let users =
        || Server::redis7().user("locker on >pw ~lock:* resetchannels -@all +set +get +hello");
    let fleet = Replicated::start(users, 1)?;
    for server in [fleet.primary(), fleet.replica(0)] {
        let url = format!("redis://locker:pw@{}/", server.addr());
        let mut locker = redis::Client::open(url)?.get_connection_with_timeout(SOON)?;
        assert_eq!(cmd("GET").arg("lock:a").query::<Option<String>>(&mut locker)?, None);
        for refused in [cmd("GET").arg("other"), cmd("DEL").arg("lock:a")] {
            let error = refused.exec(&mut locker).unwrap_err();
            assert_eq!(error.code(), Some("NOPERM"), "{error}");
        }
    }
    Ok(())
}

#[test]
fn a_fleet_is_gone_soon_after_it_was_dropped() -> Result<()> {
    let fleet = Replicated::start(Server::redis7, 2)?;
    let addrs = [fleet.primary().addr(), fleet.replica(0).addr(), fleet.link(0).addr()];
    let begin = Instant::now();
    drop(fleet);
    assert!(begin.elapsed() < SOON);
    assert!(addrs.iter().all(|addr| std::net::TcpStream::connect(addr).is_err()));
    Ok(())
}

#[cfg(feature = "tls")]
#[test]
fn tls_is_spoken_with_who_trusts_the_authority() -> Result<()> {
    use redis::{Client, ClientTlsConfig, TlsCertificates};
    use tairlock_tests::server::Certificates;

    tairlock::tls::choose_cryptography();
    let certificates = Certificates::create()?;
    let mut server = Server::redis7().tls(&certificates).start()?;
    let open = |server: &Server, client_tls: Option<ClientTlsConfig>| {
        let trust = TlsCertificates { client_tls, root_cert: Some(certificates.authority()) };
        Client::build_with_tls(server.tls_url(), trust)?.get_connection_with_timeout(SOON)
    };
    cmd("PING").exec(&mut open(&server, None)?)?;
    assert!(Client::open(server.tls_url())?.get_connection_with_timeout(SOON).is_err());

    server.restart()?;
    cmd("PING").exec(&mut open(&server, None)?)?;

    // Where a client must show who it is.
    cmd("CONFIG").arg("SET").arg("tls-auth-clients").arg("yes").exec(&mut server.cli())?;
    let (client_cert, client_key) = certificates.client();
    let shown = open(&server, Some(ClientTlsConfig { client_cert, client_key }))?;
    cmd("PING").exec(&mut { shown })?;
    assert!(open(&server, None).and_then(|mut link| cmd("PING").exec(&mut link)).is_err());
    Ok(())
}
