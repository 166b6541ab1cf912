//! What a client finds out about a server whatever the server refuses to say, and what it then sends.

use tairlock::Release;
use tairlock_tests::{
    Proxy, Server,
    binaries::Binary,
    proxy::Fault,
    server::Builder,
    world::{Ask, Locks, World},
};

use crate::{BOUND, client_at, for_each_driver, take};

for_each_driver!(
    finding_out_changes_nothing,
    command_denied_by_acl,
    command_answered_in_another_way,
    hello_refused_in_any_way,
    a_proxy_that_knows_little,
    a_proxy_like_tairs,
    a_probe_refused_for_another_reason_says_nothing,
    a_server_replaced_by_an_older_one_and_back,
    an_option_that_goes_away_is_replaced,
    a_refusal_that_quotes_what_is_no_text,
);

/// The commands of a renewal and a release, beside `SET` for the acquire.
type Ways = &'static [&'static str];

const VALKEY: Ways = &["DELIFEQ"];
const REDIS8: Ways = &["DELEX"];
const TAIR: Ways = &["CAD", "CAS"];
const SCRIPTS: Ways = &["EVALSHA"];

fn tair(server: Builder) -> Builder {
    server.module(Binary::TairString.find().unwrap_or_else(|missing| panic!("{missing}")))
}

fn behind_proxy(server: Builder) -> (Server, Proxy) {
    let server = server.start().expect("a server");
    let proxy = Proxy::start(server.addr()).expect("a proxy");
    (server, proxy)
}

/// Takes, renews and releases a lock, and looks at what was sent for that.
#[track_caller]
fn assert_speaks(client: &dyn Locks, proxy: &Proxy, ways: Ways) {
    assert_all_speak(&[client], proxy, ways);
}

/// Takes, renews and releases a lock of each client, side by side, and looks at what was sent for that.
#[track_caller]
fn assert_all_speak(clients: &[&dyn Locks], proxy: &Proxy, ways: Ways) {
    proxy.clear();
    let key = |nth| format!("k{nth}");
    // Short, so that they are renewed soon; and then not sure to be answered in time.
    let short = |(nth, client): (usize, &&dyn Locks)| {
        take(*client, &Ask::new(key(nth)).ttl(1_500).wait(5_000))
    };
    let guards: Vec<_> = clients.iter().enumerate().map(short).collect();
    for nth in 0..clients.len() {
        let (renew, count) = match ways {
            TAIR => (format!("CAS {}", key(nth)), 1),
            SCRIPTS => ("EVALSHA".to_owned(), clients.len()),
            // `SET … IFEQ`, after the acquire's.
            _ => (format!("SET {}", key(nth)), 2),
        };
        assert!(proxy.wait_for(&renew, count, BOUND), "no {renew}: {:?}", proxy.texts());
    }
    drop(guards);
    for (nth, client) in clients.iter().enumerate() {
        let guard = take(*client, &Ask::new(key(nth)).wait(5_000));
        assert_eq!(guard.release().expect("release"), Release::Released);
    }
    for nth in 0..clients.len() {
        let commands = proxy.commands();
        let about = |words: &[Vec<u8>]| words.iter().any(|word| *word == key(nth).as_bytes());
        let about = commands.iter().filter(|command| about(&command.words));
        let mut names: Vec<String> = about.map(tairlock_tests::proxy::Command::name).collect();
        names.sort();
        names.dedup();
        // A script is sent whole where the server has not seen it, and a lock that was not renewed in
        // time is looked for.
        names.retain(|name| !["SET", "EVAL", "EXISTS"].contains(&name.as_str()));
        assert_eq!(names, ways, "{:?}", proxy.texts());
    }
}

fn as_refs(clients: &[Box<dyn Locks>]) -> Vec<&dyn Locks> {
    clients.iter().map(|client| &**client).collect()
}

fn finding_out_changes_nothing(world: &dyn World) {
    for server in [
        Server::redis62(),
        Server::redis7(),
        Server::redis8(),
        Server::valkey9(),
        tair(Server::valkey9()),
    ] {
        let (server, proxy) = behind_proxy(server);
        let _client = client_at(world, proxy.url());
        assert!(proxy.count("SET") > 0, "probed: {:?}", proxy.texts());
        let info: String =
            redis::cmd("INFO").arg("persistence").query(&mut server.cli()).expect("INFO");
        assert!(info.contains("rdb_changes_since_last_save:0\r\n"), "{info}");
    }
}

fn command_denied_by_acl(world: &dyn World) {
    for (server, ways) in [
        (Server::redis62(), SCRIPTS),
        (Server::redis7(), SCRIPTS),
        (Server::redis8(), REDIS8),
        (Server::valkey9(), VALKEY),
        (tair(Server::redis7()), TAIR),
    ] {
        let (_server, proxy) = behind_proxy(server.user("worker on >secret ~* +@all -command"));
        let client = client_at(world, format!("redis://worker:secret@{}/", proxy.addr()));
        assert!(proxy.count("COMMAND") > 0, "asked all the same");
        assert_speaks(&*client, &proxy, ways);
    }
}

fn command_answered_in_another_way(world: &dyn World) {
    let (_server, proxy) = behind_proxy(Server::valkey9());
    let answers = [
        "*0\r\n",
        "*-1\r\n",
        "+OK\r\n",
        "*4\r\n*-1\r\n*-1\r\n*-1\r\n*-1\r\n",
        "-ERR command 'command' not support for your account\r\n",
        "-ERR unknown command 'COMMAND', with args beginning with: 'INFO' \r\n",
    ];
    let clients = answers.map(|answer| {
        proxy.answer("COMMAND", answer.as_bytes());
        client_at(world, proxy.url())
    });
    assert_all_speak(&as_refs(&clients), &proxy, VALKEY);
}

fn hello_refused_in_any_way(world: &dyn World) {
    let (_server, proxy) = behind_proxy(Server::valkey9());
    let answers = [
        "-ERR unknown command 'HELLO', with args beginning with: '3' \r\n",
        "-ERR command 'hello' not support for your account\r\n",
        "-NOPROTO unsupported protocol version\r\n",
        "-NOPERM User default has no permissions to run the 'hello' command\r\n",
    ];
    let clients = answers.map(|answer| {
        proxy.clear();
        proxy.answer("HELLO", answer.as_bytes());
        let client = client_at(world, format!("{}?protocol=resp3", proxy.url()));
        assert!(proxy.count("HELLO") > 0);
        client
    });
    assert_all_speak(&as_refs(&clients), &proxy, VALKEY);
    let (_server, proxy) = behind_proxy(Server::redis7().user("worker on >secret ~* +@all -hello"));
    let url = format!("redis://worker:secret@{}/?protocol=resp3", proxy.addr());
    assert_speaks(&*client_at(world, url), &proxy, SCRIPTS);
}

fn a_proxy_that_knows_little(world: &dyn World) {
    let (_server, proxy) = behind_proxy(Server::valkey9());
    for unknown in ["WAIT", "WAITAOF", "CLIENT", "HELLO", "COMMAND", "MODULE", "CONFIG", "INFO"] {
        proxy.deny(unknown);
    }
    assert_speaks(&*client_at(world, proxy.url()), &proxy, VALKEY);
    proxy.deny("DELIFEQ");
    proxy.clear();
    let client = client_at(world, proxy.url());
    proxy.clear();
    let guard = take(&*client, &Ask::new("k"));
    assert_eq!(guard.release().expect("release"), Release::Released);
    assert_eq!(proxy.count("DELIFEQ"), 0, "known to be missing: {:?}", proxy.texts());
}

fn a_proxy_like_tairs(world: &dyn World) {
    let refused = |name: &str| format!("-ERR command '{name}' not support for your account\r\n");
    let (_server, proxy) = behind_proxy(tair(Server::redis7()));
    for name in ["hello", "client", "module", "acl", "wait"] {
        proxy.answer(name, refused(name).as_bytes());
    }
    for protocol in ["", "?protocol=resp3"] {
        let client = client_at(world, format!("{}{protocol}", proxy.url()));
        assert_speaks(&*client, &proxy, TAIR);
    }
    // An account, or a proxy not updated yet, without Tair's own commands.
    for name in ["cas", "cad"] {
        proxy.answer(name, refused(name).as_bytes());
    }
    for command_too in [false, true] {
        if command_too {
            proxy.answer("command", refused("command").as_bytes());
        }
        let client = client_at(world, proxy.url());
        assert_speaks(&*client, &proxy, SCRIPTS);
        // Such proxies refuse a script without a key, and any key that is not named as one.
        for script in proxy.commands().iter().filter(|command| command.name().starts_with("EVAL")) {
            assert_eq!(script.words[2..4], [b"1".to_vec(), b"k0".to_vec()]);
        }
    }
}

fn a_probe_refused_for_another_reason_says_nothing(world: &dyn World) {
    for (server, ways) in [(Server::valkey9(), VALKEY), (tair(Server::redis7()), TAIR)] {
        let (_server, proxy) = behind_proxy(server);
        let mut clients = Vec::new();
        for refusal in [
            "-READONLY You can't write against a read only replica.\r\n",
            "-ERR READONLY you can't write against a read only instance\r\n",
            "-OOM command not allowed when used memory > 'maxmemory'.\r\n",
            "-NOPERM No permissions to access a key\r\n",
            "-LOADING Redis is loading the dataset in memory\r\n",
            "-MOVED 866 127.0.0.1:7001\r\n",
            "-CLUSTERDOWN Hash slot not served\r\n",
            "-NOREPLICAS Not enough good replicas to write.\r\n",
            "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n",
        ] {
            for command_too in [false, true] {
                for name in ["SET", "CAS", "CAD", "DELEX", "DELIFEQ"] {
                    // What the server has no word for stays unknown.
                    if ways == VALKEY || !name.starts_with("DEL") {
                        proxy.answer(name, refusal.as_bytes());
                    }
                }
                if ways == VALKEY {
                    for name in ["CAS", "CAD", "DELEX"] {
                        proxy.deny(name);
                    }
                }
                if command_too {
                    proxy.answer("COMMAND", refusal.as_bytes());
                }
                clients.push(client_at(world, proxy.url()));
                proxy.heal();
            }
        }
        assert_all_speak(&as_refs(&clients), &proxy, ways);
    }
}

fn a_server_replaced_by_an_older_one_and_back(world: &dyn World) {
    let (valkey, proxy) = behind_proxy(Server::valkey9());
    let redis = Server::redis7().start().expect("a server");
    let client = client_at(world, proxy.url());
    assert_speaks(&*client, &proxy, VALKEY);
    for (now, ways) in [(&redis, SCRIPTS), (&valkey, VALKEY), (&redis, SCRIPTS)] {
        let guard = take(&*client, &Ask::new("left behind").ttl(60_000).wait(5_000));
        proxy.retarget(now.addr());
        proxy.cut();
        // The other server never had the lock: no more is claimed of it, and it is no error.
        let release = guard.release().expect("release");
        assert!(matches!(release, Release::Expired | Release::Unknown), "{release:?}");
        drop(take(&*client, &Ask::new("warm").wait(5_000)));
        assert_speaks(&*client, &proxy, ways);
        valkey.flush();
        redis.flush();
    }
}

fn an_option_that_goes_away_is_replaced(world: &dyn World) {
    let (_server, proxy) = behind_proxy(Server::valkey9());
    let client = client_at(world, proxy.url());
    assert_speaks(&*client, &proxy, VALKEY);
    let guard = take(&*client, &Ask::new("k").ttl(3_000));
    // As by a proxy that moves to an older server and keeps its clients' connections.
    proxy.answer("SET k", b"-ERR syntax error\r\n");
    proxy.clear();
    assert!(proxy.wait_for("EVALSHA", 2, BOUND), "renewed: {:?}", proxy.texts());
    assert_eq!(proxy.count("SET k"), 1, "learnt: {:?}", proxy.texts());
    assert!(guard.lease().is_held());
    proxy.heal();
    assert_eq!(guard.release().expect("release"), Release::Released);
}

fn a_refusal_that_quotes_what_is_no_text(world: &dyn World) {
    let (_server, proxy) = behind_proxy(Server::valkey9());
    let client = client_at(world, proxy.url());
    let guard = take(&*client, &Ask::new(b"\xff"));
    // redis-rs gives the connection up when it meets such an error.
    let unknown = b"-ERR unknown command 'DELIFEQ', with args beginning with: '\xff' 'x' \r\n";
    proxy.once("DELIFEQ", Fault::Answer(unknown.to_vec()));
    let release = guard.release().expect("release");
    assert!(matches!(release, Release::Released | Release::Unknown), "{release:?}");
    let guard = take(&*client, &Ask::new(b"\xff").wait(5_000));
    assert_eq!(guard.release().expect("release"), Release::Released);
}
