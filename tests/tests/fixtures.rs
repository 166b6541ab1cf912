//! The fixtures themselves: each server is the one that it claims to be, each fault does what it says.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use redis::{Connection, ErrorKind, RedisResult, Value, cmd};
use tairlock_tests::binaries::Binary;
use tairlock_tests::proxy::Fault;
use tairlock_tests::{Proxy, Server};

const SOON: Duration = Duration::from_secs(10);
const SHORT: Duration = Duration::from_millis(200);

fn info(server: &Server, field: &str) -> Result<String> {
    let text: String = cmd("INFO").arg("server").query(&mut server.cli())?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    Ok(line.unwrap_or_default().to_owned())
}

fn knows(server: &Server, command: &str) -> Result<bool> {
    let info: Vec<Value> = cmd("COMMAND").arg("INFO").arg(command).query(&mut server.cli())?;
    Ok(info != [Value::Nil])
}

fn alive(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn redis_6_2_is_one() -> Result<()> {
    let server = Server::redis62().start()?;
    assert!(info(&server, "redis_version")?.starts_with("6.2."));
    assert_eq!(info(&server, "process_id")?, server.pid().to_string());
    assert!(!knows(&server, "FUNCTION")?);
    Ok(())
}

#[test]
fn redis_7_is_one() -> Result<()> {
    let server = Server::redis7().start()?;
    assert!(info(&server, "redis_version")?.starts_with("7."));
    assert_eq!(info(&server, "process_id")?, server.pid().to_string());
    assert!(!knows(&server, "DELEX")? && !knows(&server, "DELIFEQ")?);
    Ok(())
}

#[test]
fn redis_8_is_one() -> Result<()> {
    let server = Server::redis8().start()?;
    assert!(info(&server, "redis_version")?.starts_with("8."));
    assert!(knows(&server, "DELEX")?);
    Ok(())
}

#[test]
fn valkey_9_is_one() -> Result<()> {
    let server = Server::valkey9().start()?;
    assert!(info(&server, "valkey_version")?.starts_with("9."));
    assert!(knows(&server, "DELIFEQ")?);
    Ok(())
}

#[test]
fn the_server_module_loads_into_each_series() -> Result<()> {
    let module = Binary::TairString.find()?;
    for builder in [Server::redis7(), Server::redis8(), Server::valkey9()] {
        let server = builder.module(&module).start()?;
        for command in ["CAS", "CAD", "EXSET", "EXGET", "EXCAS"] {
            assert!(knows(&server, command)?, "{command}");
        }
    }
    Ok(())
}

#[test]
fn a_dropped_server_is_gone() -> Result<()> {
    let server = Server::redis7().start()?;
    let (pid, addr) = (server.pid(), server.addr());
    let folder = fs::read_link(format!("/proc/{pid}/cwd"))?;
    assert!(alive(pid) && folder.exists());
    server.pause();
    drop(server);
    assert!(!alive(pid) && !folder.exists());
    assert!(TcpStream::connect(addr).is_err());
    Ok(())
}

/// A server in a `static` is never dropped, and a test process can be killed.
#[test]
fn a_server_ends_with_the_process_that_started_it() -> Result<()> {
    const INNER: &str = "TAIRLOCK_TESTS_LEAVE_A_SERVER";
    if std::env::var_os(INNER).is_some() {
        let server = Server::redis7().start()?;
        fs::write(std::env::var_os(INNER).unwrap_or_default(), server.pid().to_string())?;
        std::process::abort();
    }
    let folder = tempfile::tempdir()?;
    let note = folder.path().join("pid");
    let name = "a_server_ends_with_the_process_that_started_it";
    let inner = std::process::Command::new(std::env::current_exe()?)
        .args(["--exact", name])
        .env(INNER, &note)
        .output()?;
    assert!(!inner.status.success());
    let pid = fs::read_to_string(note)?.parse()?;
    let until = Instant::now() + SOON;
    while alive(pid) {
        assert!(Instant::now() < until, "the server is still there");
        std::thread::yield_now();
    }
    Ok(())
}

#[test]
fn servers_get_ports_and_folders_of_their_own() -> Result<()> {
    let servers = [Server::redis7().start()?, Server::redis7().start()?];
    assert_ne!(servers[0].port(), servers[1].port());
    cmd("SET").arg("k").arg("v").exec(&mut servers[0].cli())?;
    assert!(!cmd("EXISTS").arg("k").query::<bool>(&mut servers[1].cli())?);
    servers[0].flush();
    assert!(!cmd("EXISTS").arg("k").query::<bool>(&mut servers[0].cli())?);
    Ok(())
}

#[test]
fn a_server_restarts_on_its_port_without_its_data() -> Result<()> {
    let mut server = Server::redis7().start()?;
    let (port, pid) = (server.port(), server.pid());
    cmd("SET").arg("k").arg("v").exec(&mut server.cli())?;
    server.kill();
    assert!(TcpStream::connect(server.addr()).is_err());
    server.restart()?;
    assert_eq!(server.port(), port);
    assert_ne!(server.pid(), pid);
    assert!(!cmd("EXISTS").arg("k").query::<bool>(&mut server.cli())?);
    server.stop();
    assert!(server.log().contains("bye bye"), "{}", server.log());
    Ok(())
}

#[test]
fn data_that_was_asked_to_last_outlives_a_crash() -> Result<()> {
    let config = ["appendonly", "yes"];
    let mut server = Server::redis7().config(config).config(["appendfsync", "always"]).start()?;
    cmd("SET").arg("k").arg("v").exec(&mut server.cli())?;
    server.kill();
    server.restart()?;
    assert!(cmd("EXISTS").arg("k").query::<bool>(&mut server.cli())?);
    Ok(())
}

#[test]
fn a_paused_server_answers_when_it_goes_on() -> Result<()> {
    let server = Server::redis7().start()?;
    let mut connection = server.cli();
    connection.set_read_timeout(Some(SHORT))?;
    server.pause();
    assert!(cmd("PING").exec(&mut connection).unwrap_err().is_timeout());
    server.resume();
    cmd("PING").exec(&mut server.cli())?;
    Ok(())
}

#[test]
fn passwords_users_sockets_and_limits_are_set() -> Result<()> {
    let server = Server::redis7()
        .password("secret")
        .user("alice on >pw ~a:* +@all")
        .unix_socket()
        .maxmemory("1kb")
        .start()?;
    let open = |url: String| -> RedisResult<Connection> {
        redis::Client::open(url)?.get_connection_with_timeout(SOON)
    };
    assert!(server.url().contains("secret"));
    cmd("PING").exec(&mut open(server.url())?)?;
    cmd("PING").exec(&mut open(server.unix_url())?)?;
    let alice = format!("redis://alice:pw@{}/", server.addr());
    let refused = cmd("GET").arg("b").exec(&mut open(alice)?).unwrap_err();
    assert_eq!(refused.code(), Some("NOPERM"), "{refused}");
    let full = cmd("SET").arg("k").arg("v").exec(&mut server.cli()).unwrap_err();
    assert_eq!(full.code(), Some("OOM"), "{full}");
    Ok(())
}

#[test]
fn replicas_clusters_and_sentinels_start() -> Result<()> {
    let primary = Server::valkey9().start()?;
    let replica = Server::valkey9().replica_of(&primary).start()?;
    let role: Vec<Value> = cmd("ROLE").query(&mut replica.cli())?;
    assert_eq!(role[0], Value::BulkString(b"slave".into()));
    let node = Server::redis8().cluster().start()?;
    let state: String = cmd("CLUSTER").arg("INFO").query(&mut node.cli())?;
    assert!(state.contains("cluster_state:"), "{state}");
    let port = primary.port().to_string();
    let sentinel = Server::redis7()
        .sentinel()
        .config(["sentinel", "monitor", "main", "127.0.0.1", &port, "1"])
        .start()?;
    let found: (String, String) =
        cmd("SENTINEL").arg("get-master-addr-by-name").arg("main").query(&mut sentinel.cli())?;
    assert_eq!(found.1, port);
    Ok(())
}

#[test]
fn a_server_that_will_not_start_says_why() {
    let error = Server::redis7().config(["maxmemory", "plenty"]).start().unwrap_err();
    assert!(matches!(error, tairlock_tests::server::Error::NotReady { .. }), "{error}");
}

// The proxy.

struct Rig {
    server: Server,
    proxy: Proxy,
}

impl Rig {
    fn new() -> Result<Self> {
        let server = Server::redis7().start()?;
        let proxy = Proxy::start(server.addr())?;
        Ok(Self { server, proxy })
    }

    /// A connection through the proxy that gives up soon, its greeting forgotten.
    fn client(&self) -> Result<Connection> {
        let client = redis::Client::open(self.proxy.url())?;
        let connection = client.get_connection_with_timeout(SOON)?;
        connection.set_read_timeout(Some(SHORT))?;
        self.proxy.clear();
        Ok(connection)
    }

    fn stored(&self, key: &str) -> Result<Option<String>> {
        Ok(cmd("GET").arg(key).query(&mut self.server.cli())?)
    }
}

fn set(connection: &mut Connection, key: &str) -> RedisResult<()> {
    cmd("SET").arg(key).arg("v").exec(connection)
}

#[test]
fn commands_and_round_trips_are_counted() -> Result<()> {
    let rig = Rig::new()?;
    let (mut one, mut two) = (rig.client()?, rig.client()?);
    set(&mut one, "a")?;
    redis::pipe().cmd("GET").arg("a").cmd("GET").arg("b").exec(&mut one)?;
    cmd("PING").exec(&mut two)?;
    assert_eq!(rig.proxy.texts(), ["SET a v", "GET a", "GET b", "PING"]);
    assert_eq!(rig.proxy.round_trips(), 3);
    let trips: Vec<_> = rig.proxy.commands().iter().map(|one| one.round_trip).collect();
    assert_eq!(trips, [1, 2, 2, 3]);
    assert_eq!(rig.proxy.count("get"), 2);
    assert_eq!((rig.proxy.connections(), rig.proxy.accepted()), (2, 2));
    drop(two);
    assert!(rig.proxy.wait_for_connections(1, SOON));
    Ok(())
}

#[test]
fn commands_in_pieces_and_large_ones_arrive_whole() -> Result<()> {
    let rig = Rig::new()?;
    let mut socket = TcpStream::connect(rig.proxy.addr())?;
    socket.set_nodelay(true)?;
    for byte in b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n\r\n\r\n*1\r\n$4\r\nPING\r\n" {
        socket.write_all(&[*byte])?;
    }
    let mut replies = [0; 12];
    socket.read_exact(&mut replies)?;
    assert_eq!(&replies, b"+OK\r\n+PONG\r\n");
    assert_eq!(rig.proxy.texts(), [r"SET k \r\n", "PING"]);

    let large = "x".repeat(3_000_000);
    let mut connection = rig.client()?;
    connection.set_read_timeout(Some(SOON))?;
    cmd("SET").arg("k").arg(&large).exec(&mut connection)?;
    assert!(cmd("GET").arg("k").query::<String>(&mut connection)? == large);
    Ok(())
}

#[test]
fn a_swallowed_reply_leaves_its_command_done_and_nothing_comes_after_it() -> Result<()> {
    let rig = Rig::new()?;
    let mut connection = rig.client()?;
    rig.proxy.once("SET", Fault::Swallow);
    cmd("PING").exec(&mut connection)?;
    assert!(set(&mut connection, "k").unwrap_err().is_timeout());
    assert!(rig.proxy.wait_for("SET", 1, SOON));
    assert_eq!(rig.stored("k")?.as_deref(), Some("v"));
    let mut other = rig.client()?;
    set(&mut other, "other")?;
    Ok(())
}

#[test]
fn a_swallowed_reply_can_end_the_connection() -> Result<()> {
    let rig = Rig::new()?;
    let mut connection = rig.client()?;
    rig.proxy.once("SET", Fault::SwallowAndCut);
    assert!(set(&mut connection, "k").unwrap_err().is_connection_dropped());
    assert_eq!(rig.stored("k")?.as_deref(), Some("v"));
    Ok(())
}

#[test]
fn a_lost_request_is_never_carried_out() -> Result<()> {
    let rig = Rig::new()?;
    let mut connection = rig.client()?;
    rig.proxy.once("SET", Fault::LoseRequest);
    assert!(set(&mut connection, "k").unwrap_err().is_connection_dropped());
    assert_eq!(rig.stored("k")?, None);
    assert!(!rig.proxy.commands()[0].forwarded);
    Ok(())
}

#[test]
fn a_frame_can_be_cut_in_the_middle() -> Result<()> {
    let rig = Rig::new()?;
    rig.proxy.once("PING", Fault::CutMidFrame);
    let mut socket = TcpStream::connect(rig.proxy.addr())?;
    socket.write_all(b"PING\r\n")?;
    let mut all = Vec::new();
    socket.read_to_end(&mut all)?;
    assert_eq!(all, b"+PO");
    Ok(())
}

#[test]
fn replies_can_be_late_held_and_replaced() -> Result<()> {
    let rig = Rig::new()?;
    let mut connection = rig.client()?;
    connection.set_read_timeout(Some(SOON))?;
    let took = |connection: &mut Connection| -> Result<Duration> {
        let begin = Instant::now();
        cmd("PING").exec(connection)?;
        Ok(begin.elapsed())
    };
    rig.proxy.once("PING", Fault::Delay(SHORT));
    assert!(took(&mut connection)? >= SHORT);
    rig.proxy.delay(SHORT);
    let begin = Instant::now();
    redis::pipe().cmd("PING").cmd("PING").cmd("PING").exec(&mut connection)?;
    // Together, not one after the other.
    assert!((SHORT..3 * SHORT).contains(&begin.elapsed()), "{:?}", begin.elapsed());
    rig.proxy.heal();

    rig.proxy.hold();
    connection.set_read_timeout(Some(SHORT))?;
    assert!(set(&mut connection, "k").unwrap_err().is_timeout());
    assert_eq!(rig.stored("k")?.as_deref(), Some("v"));
    rig.proxy.release();

    let mut connection = rig.client()?;
    rig.proxy.once("SET", Fault::Replace(b"-READONLY no\r\n".into()));
    let error = set(&mut connection, "l").unwrap_err();
    assert_eq!(error.code(), Some("READONLY"), "{error}");
    assert_eq!(rig.stored("l")?.as_deref(), Some("v"));
    Ok(())
}

#[test]
fn commands_can_be_denied_and_answered() -> Result<()> {
    let rig = Rig::new()?;
    rig.proxy.deny("HELLO");
    rig.proxy.answer("WAIT", b":7\r\n");
    let mut connection = rig.client()?;
    let refused = cmd("HELLO").arg(3).exec(&mut connection).unwrap_err();
    assert!(refused.to_string().contains("unknown command 'HELLO'"), "{refused}");
    let (a, acks, b): (String, u8, String) = redis::pipe()
        .cmd("PING")
        .cmd("WAIT")
        .arg(1)
        .arg(0)
        .cmd("ECHO")
        .arg("b")
        .query(&mut connection)?;
    assert_eq!((a.as_str(), acks, b.as_str()), ("PONG", 7, "b"));
    assert_eq!(rig.proxy.commands().iter().filter(|one| !one.forwarded).count(), 2);
    rig.proxy.allow("WAIT");
    assert_eq!(cmd("WAIT").arg(0).arg(0).query::<u8>(&mut connection)?, 0);
    Ok(())
}

#[test]
fn a_black_hole_takes_connections_and_commands_and_gives_nothing() -> Result<()> {
    let rig = Rig::new()?;
    let (mut spared, mut struck) = (rig.client()?, rig.client()?);
    rig.proxy.black_hole(true);
    assert!(set(&mut struck, "k").unwrap_err().is_timeout());
    let client = redis::Client::open(rig.proxy.url())?;
    assert!(client.get_connection_with_timeout(SHORT).is_err());
    assert_eq!(rig.stored("k")?, None);
    rig.proxy.heal();
    cmd("PING").exec(&mut spared)?;
    cmd("PING").exec(&mut rig.client()?)?;
    Ok(())
}

#[test]
fn connections_can_be_cut_refused_and_half_closed() -> Result<()> {
    let rig = Rig::new()?;
    let mut connection = rig.client()?;
    rig.proxy.cut();
    assert!(cmd("PING").exec(&mut connection).unwrap_err().is_connection_dropped());
    assert!(rig.proxy.wait_for_connections(0, SOON));

    rig.proxy.refuse(true);
    let client = redis::Client::open(rig.proxy.url())?;
    assert!(client.get_connection_with_timeout(SOON).is_err());
    rig.proxy.refuse(false);

    let mut socket = TcpStream::connect(rig.proxy.addr())?;
    assert!(rig.proxy.wait_for_connections(1, SOON));
    rig.proxy.half_close();
    assert_eq!(socket.read(&mut [0; 8])?, 0);
    socket.write_all(b"*3\r\n$3\r\nSET\r\n$1\r\nh\r\n$1\r\nv\r\n")?;
    assert!(rig.proxy.wait_for("SET", 1, SOON));
    // The proxy forwards it right after having recorded it; one more exchange with the server on that
    // connection can't be had, so another one is asked until the value is there.
    let until = Instant::now() + SOON;
    while rig.stored("h")?.is_none() {
        assert!(Instant::now() < until, "what is written after a half-close still arrives");
    }
    Ok(())
}

#[test]
fn resp3_pushes_pass_through() -> Result<()> {
    let rig = Rig::new()?;
    let url = format!("{}?protocol=resp3", rig.proxy.url());
    let mut connection = redis::Client::open(url)?.get_connection_with_timeout(SOON)?;
    connection.set_read_timeout(Some(SOON))?;
    let (pushes, inbox) = std::sync::mpsc::channel();
    connection.set_push_sender(pushes);
    cmd("CLIENT").arg("TRACKING").arg("ON").exec(&mut connection)?;
    cmd("PTTL").arg("k").exec(&mut connection)?;
    set(&mut rig.server.cli(), "k")?;
    cmd("PING").exec(&mut connection)?;
    let push = inbox.recv_timeout(SOON)?;
    assert_eq!(push.kind, redis::PushKind::Invalidate);
    assert!(rig.proxy.count("HELLO") >= 1);
    Ok(())
}

#[test]
fn new_connections_can_go_to_another_server() -> Result<()> {
    let rig = Rig::new()?;
    let other = Server::redis7().start()?;
    rig.proxy.retarget(other.addr());
    set(&mut rig.client()?, "k")?;
    assert_eq!(rig.stored("k")?, None);
    assert!(cmd("EXISTS").arg("k").query::<bool>(&mut other.cli())?);
    Ok(())
}

#[test]
fn the_error_of_a_dead_upstream_is_a_closed_connection() -> Result<()> {
    let mut rig = Rig::new()?;
    rig.server.kill();
    let client = redis::Client::open(rig.proxy.url())?;
    let error = client.get_connection_with_timeout(SOON).err().expect("no server, no connection");
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    Ok(())
}
