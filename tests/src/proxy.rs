//! A TCP proxy in front of one server that records the commands sent through it and plays faults.
//!
//! It sees whole RESP messages, so that a fault can be told by the command that it strikes. As on a
//! real network no fault takes a reply out of the middle: where one is swallowed, nothing comes after
//! it on that connection. Replication passes through unread; `MONITOR` and `CLIENT REPLY OFF` are
//! beyond it.

mod faults;
mod link;
mod record;
mod replies;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub use self::faults::Fault;
use self::faults::Faults;
use self::link::Link;
pub use self::record::Command;
use self::record::Record;

/// The proxy; its connections end with it.
#[derive(Debug)]
pub struct Proxy {
    addr: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Something happened: a command was recorded, a reply came, a fault was set, an end.
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    upstream: SocketAddr,
    faults: Faults,
    record: Record,
    links: BTreeMap<usize, Link>,
    accepted: usize,
    closing: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Proxy {
    /// A proxy on a free port of 127.0.0.1, in front of `upstream`.
    ///
    /// # Errors
    ///
    /// What binding a port says.
    pub fn start(upstream: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let addr = listener.local_addr()?;
        let state = State {
            upstream,
            faults: Faults::default(),
            record: Record::default(),
            links: BTreeMap::new(),
            accepted: 0,
            closing: false,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let acceptor = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                for client in listener.incoming().flatten() {
                    if shared.lock().closing {
                        break;
                    }
                    link::open(&shared, client);
                }
            }
        });
        Ok(Self { addr, shared, acceptor: Some(acceptor) })
    }

    /// Where clients connect to.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The port of [`addr`](Self::addr).
    #[must_use]
    pub fn port(&self) -> u16 {
        self.addr.port()
    }

    /// The URL for clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}/", self.addr)
    }

    // What was sent.

    /// All commands received since the start or the last [`clear`](Self::clear), in order.
    #[must_use]
    pub fn commands(&self) -> Vec<Command> {
        self.shared.lock().record.commands.clone()
    }

    /// The commands as text, `"SET k v"`, for assertions.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        self.commands().iter().map(Command::to_string).collect()
    }

    /// How many of the recorded commands begin with these words: `"SET"`, `"CLIENT TRACKING"`.
    #[must_use]
    pub fn count(&self, words: &str) -> usize {
        self.shared.lock().record.count(words)
    }

    /// How many groups of commands were sent, summed over the connections. A group is all that was
    /// received after a reply was passed on and before the next one was.
    #[must_use]
    pub fn round_trips(&self) -> usize {
        self.shared.lock().record.round_trips
    }

    /// Forgets what was recorded. Faults stay.
    pub fn clear(&self) {
        let mut state = self.shared.lock();
        state.record = Record::default();
        // What is still unanswered belongs to what was forgotten.
        for link in state.links.values_mut() {
            link.in_trip = false;
        }
    }

    /// Waits until `count` of the recorded commands begin with `words`, and says whether that came
    /// within `bound`.
    #[must_use]
    pub fn wait_for(&self, words: &str, count: usize, bound: Duration) -> bool {
        self.wait_until(bound, |state| state.record.count(words) >= count)
    }

    /// How many connections are open now.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.lock().links.len()
    }

    /// How many connections were accepted since the start.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.shared.lock().accepted
    }

    /// Waits until `count` connections are open, and says whether that came within `bound`.
    #[must_use]
    pub fn wait_for_connections(&self, count: usize, bound: Duration) -> bool {
        self.wait_until(bound, |state| state.links.len() == count)
    }

    // Faults of single commands.

    /// The next command that begins with `words` (`""`: any) meets this fault, once.
    pub fn once(&self, words: &str, fault: Fault) {
        self.change(|state| state.faults.once(words, fault));
    }

    /// Every command that begins with `words` meets this fault, until [`allow`](Self::allow) or
    /// [`heal`](Self::heal).
    pub fn always(&self, words: &str, fault: Fault) {
        self.change(|state| state.faults.always(words, fault));
    }

    /// Answers such commands as a server does that doesn't know them.
    pub fn deny(&self, words: &str) {
        self.always(words, Fault::Unknown);
    }

    /// Answers such commands with these bytes; the server never sees them.
    pub fn answer(&self, words: &str, raw: &[u8]) {
        self.always(words, Fault::Answer(raw.to_vec()));
    }

    /// Takes back all faults that were set for exactly these words.
    pub fn allow(&self, words: &str) {
        self.change(|state| state.faults.allow(words));
    }

    // Faults of the whole network.

    /// Every reply takes that much longer.
    pub fn delay(&self, by: Duration) {
        self.change(|state| state.faults.delay = by);
    }

    /// Keeps all replies back, until [`release`](Self::release).
    pub fn hold(&self) {
        self.change(|state| state.faults.hold = true);
    }

    /// Lets the replies go that [`hold`](Self::hold) kept back.
    pub fn release(&self) {
        self.change(|state| state.faults.hold = false);
    }

    /// Whether to accept connections and commands and neither forward nor answer any. A connection
    /// that lost something in there stays dead afterwards, others and new ones work again.
    pub fn black_hole(&self, on: bool) {
        self.change(|state| state.faults.black_hole = on);
    }

    /// Whether to close new connections at once. Open ones stay.
    pub fn refuse(&self, on: bool) {
        self.change(|state| state.faults.refuse = on);
    }

    /// Closes all connections.
    pub fn cut(&self) {
        self.change(|state| state.links.values_mut().for_each(Link::close));
    }

    /// Ends the direction towards the client on all connections: it reads an end of file, while what
    /// it writes still arrives.
    pub fn half_close(&self) {
        self.change(|state| {
            for link in state.links.values_mut() {
                link.replies.stall();
                let _ = link.client.shutdown(Shutdown::Write);
            }
        });
    }

    /// New connections go to another server, as after a failover. Open ones stay where they are.
    pub fn retarget(&self, upstream: SocketAddr) {
        self.change(|state| state.upstream = upstream);
    }

    /// Takes back all faults. Connections that one of them has struck stay as they are.
    pub fn heal(&self) {
        self.change(|state| state.faults = Faults::default());
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.shared.lock());
        self.shared.changed.notify_all();
    }

    fn wait_until(&self, bound: Duration, done: impl Fn(&State) -> bool) -> bool {
        let until = Instant::now() + bound;
        let mut state = self.shared.lock();
        while !done(&state) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.change(|state| {
            state.closing = true;
            state.links.values_mut().for_each(Link::close);
        });
        // The acceptor sees that it is to end when someone comes.
        let woken = TcpStream::connect(self.addr).is_ok();
        if let Some(acceptor) = self.acceptor.take().filter(|_| woken) {
            let _ = acceptor.join();
        }
    }
}
