//! A TCP link that can be cut, stalled and mended, whatever is spoken on it.
//!
//! Replication is not the protocol of commands and replies that `Proxy` reads, so this one looks at
//! nothing.

use std::{
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

/// A link from a free port of 127.0.0.1 to one address; it ends when dropped.
#[derive(Debug)]
pub struct Cable {
    addr: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    how: How,
    open: Vec<TcpStream>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum How {
    #[default]
    Whole,
    Cut,
    Stalled,
    Gone,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cable {
    /// A link to `upstream`.
    ///
    /// # Errors
    ///
    /// What binding a port says.
    pub fn to(upstream: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let addr = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let acceptor = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                for near in listener.incoming().flatten() {
                    match shared.lock().how {
                        How::Gone => break,
                        How::Cut => continue,
                        How::Whole | How::Stalled => {}
                    }
                    // Without a server behind it, the near side sees its connection close.
                    _ = join(&shared, near, upstream);
                }
            }
        });
        Ok(Self { addr, shared, acceptor: Some(acceptor) })
    }

    /// The near end.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Closes what is open, and whatever comes until [`mend`](Self::mend).
    pub fn cut(&self) {
        self.set(How::Cut);
    }

    /// Leaves everything open and lets nothing through until [`mend`](Self::mend), which loses none of
    /// it.
    pub fn stall(&self) {
        self.set(How::Stalled);
    }

    /// As new.
    pub fn mend(&self) {
        self.set(How::Whole);
    }

    fn set(&self, how: How) {
        let mut state = self.shared.lock();
        state.how = how;
        if matches!(how, How::Cut | How::Gone) {
            for stream in state.open.drain(..) {
                _ = stream.shutdown(Shutdown::Both);
            }
        }
        drop(state);
        self.shared.changed.notify_all();
    }
}

fn join(shared: &Arc<Shared>, near: TcpStream, upstream: SocketAddr) -> io::Result<()> {
    let far = TcpStream::connect(upstream)?;
    shared.lock().open.extend([near.try_clone()?, far.try_clone()?]);
    for (from, to) in [(near.try_clone()?, far.try_clone()?), (far, near)] {
        let shared = Arc::clone(shared);
        thread::spawn(move || pass(&shared, from, to));
    }
    Ok(())
}

fn pass(shared: &Shared, mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let mut state = shared.lock();
        while state.how == How::Stalled {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    _ = from.shutdown(Shutdown::Both);
    _ = to.shutdown(Shutdown::Both);
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.set(How::Gone);
        // The acceptor sees that it is to end when someone comes.
        let woken = TcpStream::connect(self.addr).is_ok();
        if let Some(acceptor) = self.acceptor.take().filter(|_| woken) {
            _ = acceptor.join();
        }
    }
}
