//! One client's connection through the proxy, driven by three threads: towards the server, back from
//! it, and out to the client when a reply is due.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::faults::Fault;
use super::record::Command;
use super::replies::Replies;
use super::{Shared, State};
use crate::resp::{self, Malformed};

#[derive(Debug)]
pub(super) struct Link {
    pub(super) client: TcpStream,
    server: TcpStream,
    pub(super) replies: Replies,
    /// A command was received since the last reply was passed on.
    pub(super) in_trip: bool,
    /// A reply has left the queue and is on its way to the client.
    sending: bool,
    closed: bool,
}

impl Link {
    fn has_more_to_say(&self) -> bool {
        !self.closed && (self.sending || self.replies.next().is_some())
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }
}

/// Connects `client` to the server; if that can't be, `client` is closed by being dropped.
pub(super) fn open(shared: &Arc<Shared>, client: TcpStream) {
    let (upstream, refuse) = {
        let state = shared.lock();
        (state.upstream, state.faults.refuse)
    };
    if refuse {
        return;
    }
    let streams = || {
        let server = TcpStream::connect_timeout(&upstream, Duration::from_secs(5))?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let copies = (client.try_clone()?, server.try_clone()?, client.try_clone()?);
        Ok::<_, std::io::Error>((server, copies))
    };
    let Ok((server, (from_client, from_server, to_client))) = streams() else {
        return;
    };
    let Ok(to_server) = server.try_clone() else {
        return;
    };
    let mut state = shared.lock();
    let id = state.accepted;
    state.accepted += 1;
    let link = Link {
        client,
        server,
        replies: Replies::default(),
        in_trip: false,
        sending: false,
        closed: false,
    };
    state.links.insert(id, link);
    drop(state);
    shared.changed.notify_all();
    let run = |task: Box<dyn FnOnce(&Shared) + Send>| {
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            task(&shared);
            // Whichever direction ends first takes the connection with it.
            if let Some(mut link) = shared.lock().links.remove(&id) {
                link.close();
            }
            shared.changed.notify_all();
        });
    };
    run(Box::new(move |shared| towards_server(shared, id, from_client, to_server)));
    run(Box::new(move |shared| back(shared, id, from_server)));
    run(Box::new(move |shared| out(shared, id, to_client)));
}

fn towards_server(shared: &Shared, id: usize, mut client: TcpStream, mut server: TcpStream) {
    let mut buf = Vec::new();
    while read_more(&mut client, &mut buf) {
        // All that came at once is recorded before the server gets any of it: none of these commands
        // can have waited for the reply of another.
        let Ok((forward, go_on)) = take_commands(shared, id, &mut buf) else {
            return;
        };
        shared.changed.notify_all();
        if server.write_all(&forward).is_err() || !go_on {
            return;
        }
    }
}

/// The bytes for the server, and whether the connection lives on.
fn take_commands(
    shared: &Shared,
    id: usize,
    buf: &mut Vec<u8>,
) -> Result<(Vec<u8>, bool), Malformed> {
    let mut forward = Vec::new();
    let mut guard = shared.lock();
    let State { faults, record, links, .. } = &mut *guard;
    if links.get(&id).is_some_and(|link| link.replies.replicates()) {
        return Ok((std::mem::take(buf), true));
    }
    while let Some((words, len)) = resp::command(buf)? {
        let bytes: Vec<u8> = buf.drain(..len).collect();
        let Some(link) = links.get_mut(&id).filter(|link| !link.closed) else {
            return Ok((forward, false));
        };
        if words.is_empty() {
            continue;
        }
        if words[0].eq_ignore_ascii_case(b"PSYNC") {
            // From here on the connection carries replication, which has no replies.
            link.replies.replicate();
            forward.extend(bytes);
            break;
        }
        if !link.in_trip {
            link.in_trip = true;
            record.round_trips += 1;
        }
        let fault = faults.strike(&words);
        let lost = fault == Some(Fault::LoseRequest);
        let forwarded = if faults.black_hole {
            link.replies.stall();
            false
        } else {
            !lost && link.replies.owe(&words, fault, faults.delay)
        };
        if forwarded {
            forward.extend_from_slice(&bytes);
        }
        record.commands.push(Command {
            connection: id,
            round_trip: record.round_trips,
            words,
            forwarded,
            at: Instant::now(),
        });
        if lost {
            return Ok((forward, false));
        }
    }
    Ok((forward, true))
}

fn back(shared: &Shared, id: usize, mut server: TcpStream) {
    let mut buf = Vec::new();
    while read_more(&mut server, &mut buf) {
        let mut state = shared.lock();
        let delay = state.faults.delay;
        let black_hole = state.faults.black_hole;
        let Some(link) = state.links.get_mut(&id) else {
            return;
        };
        if black_hole {
            link.replies.stall();
        }
        if link.replies.replicates() {
            link.replies.send(std::mem::take(&mut buf), delay, false);
        }
        loop {
            match resp::frame(&buf) {
                Ok(Some(len)) => {
                    let frame: Vec<u8> = buf.drain(..len).collect();
                    link.replies.arrive(&frame, delay);
                }
                Ok(None) => break,
                Err(_) => return,
            }
        }
        drop(state);
        shared.changed.notify_all();
    }
    // What the server said before it hung up still reaches the client.
    let mut state = shared.lock();
    while state.links.get(&id).is_some_and(Link::has_more_to_say) {
        state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

fn out(shared: &Shared, id: usize, mut client: TcpStream) {
    let mut state = shared.lock();
    loop {
        let hold = state.faults.hold;
        let Some(link) = state.links.get_mut(&id).filter(|link| !link.closed) else {
            return;
        };
        let now = Instant::now();
        let waited = match link.replies.next().map(|outgoing| outgoing.due) {
            Some(due) if !hold && due <= now => {
                let Some(outgoing) = link.replies.take() else {
                    continue;
                };
                // Before the bytes go: what the client sends when it has them is another trip.
                link.in_trip = false;
                link.sending = true;
                drop(state);
                let sent = client.write_all(&outgoing.bytes);
                if sent.is_err() || outgoing.last {
                    return;
                }
                state = shared.lock();
                if let Some(link) = state.links.get_mut(&id) {
                    link.sending = false;
                }
                shared.changed.notify_all();
                continue;
            }
            Some(due) if !hold => {
                let waited = shared.changed.wait_timeout(state, due - now);
                waited
                    .map(|(state, _)| state)
                    .map_err(|error| PoisonError::new(error.into_inner().0))
            }
            _ => shared.changed.wait(state),
        };
        state = waited.unwrap_or_else(PoisonError::into_inner);
    }
}

fn read_more(stream: &mut TcpStream, buf: &mut Vec<u8>) -> bool {
    let mut chunk = [0; 64 * 1024];
    match stream.read(&mut chunk) {
        Ok(len @ 1..) => {
            buf.extend_from_slice(&chunk[..len]);
            true
        }
        _ => false,
    }
}
