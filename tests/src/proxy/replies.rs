//! The replies that one connection is owed, in order, and what is to become of each.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::faults::{Fault, unknown};
use crate::resp;

/// Bytes for the client.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) due: Instant,
    pub(super) bytes: Vec<u8>,
    /// The connection is cut behind them.
    pub(super) last: bool,
}

#[derive(Debug, Default)]
pub(super) struct Replies {
    owed: VecDeque<Owed>,
    outgoing: VecDeque<Outgoing>,
    /// Nothing more comes back on this connection.
    stalled: bool,
    /// RESP2's messages to subscribers look like replies, and come only to those.
    subscribed: bool,
    /// A replica is at the other end: what comes is no reply.
    replicates: bool,
}

#[derive(Debug)]
struct Owed {
    reply: Reply,
    /// Subscriptions are confirmed one message a channel.
    confirmations: usize,
}

#[derive(Debug)]
enum Reply {
    FromServer(Option<Fault>),
    Ready(Vec<u8>),
}

impl Replies {
    pub(super) fn stall(&mut self) {
        self.stalled = true;
        self.outgoing.clear();
    }

    /// A replica asked for the data, which comes in a form of its own.
    pub(super) fn replicate(&mut self) {
        self.replicates = true;
    }

    pub(super) fn replicates(&self) -> bool {
        self.replicates
    }

    pub(super) fn next(&self) -> Option<&Outgoing> {
        self.outgoing.front()
    }

    pub(super) fn take(&mut self) -> Option<Outgoing> {
        self.outgoing.pop_front()
    }

    /// A command was received; says whether the server is to get it.
    pub(super) fn owe(
        &mut self,
        command: &[Vec<u8>],
        fault: Option<Fault>,
        delay: Duration,
    ) -> bool {
        let reply = match fault {
            Some(Fault::Answer(bytes)) => Reply::Ready(bytes),
            Some(Fault::Unknown) => Reply::Ready(unknown(command)),
            fault => Reply::FromServer(fault),
        };
        let forward = matches!(reply, Reply::FromServer(_));
        let subscribes = command.first().is_some_and(|name| subscription(name));
        let confirmations = if subscribes { (command.len() - 1).max(1) } else { 0 };
        self.owed.push_back(Owed { reply, confirmations });
        self.pass_on_ready(delay);
        forward
    }

    /// A whole message came from the server.
    pub(super) fn arrive(&mut self, frame: &[u8], delay: Duration) {
        let push = frame.first() == Some(&b'>');
        let kind = resp::first_word(frame);
        let confirms = kind.is_some_and(subscription);
        if let Some(Owed { confirmations: left @ 1.., .. }) = self.owed.front_mut()
            && confirms
        {
            self.subscribed |= !push;
            *left -= 1;
            if *left > 0 {
                return self.send(frame.to_vec(), delay, false);
            }
        } else if push || (self.subscribed && (confirms || kind.is_some_and(message))) {
            return self.send(frame.to_vec(), delay, false);
        }
        let fault = match self.owed.pop_front() {
            Some(Owed { reply: Reply::FromServer(fault), .. }) => fault,
            // The server has more to say than it was asked: a fault of the proxy's own counting
            // would show, so it is passed on.
            _ => None,
        };
        match fault {
            Some(Fault::Swallow) => self.stall(),
            Some(Fault::SwallowAndCut) => self.send(Vec::new(), delay, true),
            Some(Fault::CutMidFrame) => self.send(frame[..frame.len() / 2].to_vec(), delay, true),
            Some(Fault::Delay(by)) => self.send(frame.to_vec(), delay + by, false),
            Some(Fault::Replace(bytes)) => self.send(bytes, delay, false),
            _ => self.send(frame.to_vec(), delay, false),
        }
        self.pass_on_ready(delay);
    }

    fn pass_on_ready(&mut self, delay: Duration) {
        while let Some(Owed { reply: Reply::Ready(bytes), .. }) = self.owed.front_mut() {
            let bytes = std::mem::take(bytes);
            self.owed.pop_front();
            self.send(bytes, delay, false);
        }
    }

    pub(super) fn send(&mut self, bytes: Vec<u8>, delay: Duration, last: bool) {
        if !self.stalled {
            self.outgoing.push_back(Outgoing { due: Instant::now() + delay, bytes, last });
            self.stalled = last;
        }
    }
}

fn subscription(word: &[u8]) -> bool {
    let names: [&[u8]; 6] = [
        b"subscribe",
        b"psubscribe",
        b"ssubscribe",
        b"unsubscribe",
        b"punsubscribe",
        b"sunsubscribe",
    ];
    names.iter().any(|name| word.eq_ignore_ascii_case(name))
}

fn message(word: &[u8]) -> bool {
    let names: [&[u8]; 3] = [b"message", b"pmessage", b"smessage"];
    names.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owe(replies: &mut Replies, words: &str, fault: Option<Fault>) -> bool {
        let words: Vec<Vec<u8>> = words.split(' ').map(Into::into).collect();
        replies.owe(&words, fault, Duration::ZERO)
    }

    fn arrive(replies: &mut Replies, frame: &str) {
        replies.arrive(frame.as_bytes(), Duration::ZERO);
    }

    fn out(replies: &mut Replies) -> String {
        let all = std::iter::from_fn(|| replies.take()).flat_map(|outgoing| outgoing.bytes);
        String::from_utf8(all.collect()).unwrap()
    }

    #[test]
    fn answers_of_the_proxy_keep_their_place_among_the_servers() {
        let mut replies = Replies::default();
        assert!(owe(&mut replies, "GET a", None));
        assert!(!owe(&mut replies, "WAIT 1 1", Some(Fault::Answer(b":0\r\n".into()))));
        assert!(owe(&mut replies, "GET b", Some(Fault::Replace(b"-ERR x\r\n".into()))));
        assert_eq!(out(&mut replies), "");
        arrive(&mut replies, "+a\r\n");
        assert_eq!(out(&mut replies), "+a\r\n:0\r\n");
        arrive(&mut replies, "+b\r\n");
        assert_eq!(out(&mut replies), "-ERR x\r\n");
    }

    #[test]
    fn pushes_and_messages_are_nobodys_reply() {
        let mut replies = Replies::default();
        owe(&mut replies, "GET a", Some(Fault::Swallow));
        let push = ">2\r\n+invalidate\r\n*0\r\n";
        arrive(&mut replies, push);
        assert_eq!(out(&mut replies), push);
        arrive(&mut replies, "+a\r\n");
        arrive(&mut replies, push);
        assert_eq!(out(&mut replies), "", "swallowed, and all behind it");

        for mark in ['*', '>'] {
            let mut replies = Replies::default();
            owe(&mut replies, "SUBSCRIBE a b", None);
            owe(&mut replies, "PING", Some(Fault::Replace(b"+REPLACED\r\n".into())));
            for channel in ["a", "b"] {
                arrive(&mut replies, &format!("{mark}3\r\n+subscribe\r\n+{channel}\r\n:1\r\n"));
                arrive(&mut replies, &format!("{mark}3\r\n+message\r\n+{channel}\r\n+x\r\n"));
            }
            assert!(!out(&mut replies).contains("REPLACED"));
            arrive(&mut replies, "+PONG\r\n");
            assert_eq!(out(&mut replies), "+REPLACED\r\n", "after {mark:?}");
        }
    }

    #[test]
    fn a_refused_subscription_has_one_reply() {
        let mut replies = Replies::default();
        owe(&mut replies, "SUBSCRIBE a b", None);
        owe(&mut replies, "PING", Some(Fault::Replace(b"+REPLACED\r\n".into())));
        arrive(&mut replies, "-NOPERM\r\n");
        arrive(&mut replies, "+PONG\r\n");
        assert_eq!(out(&mut replies), "-NOPERM\r\n+REPLACED\r\n");
    }
}
