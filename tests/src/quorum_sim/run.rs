//! A run: what happens, in order of true time.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};

use tairlock::{
    Fault, Key, Token, Ttl,
    memory::Store,
    proto::{Op, Quorum, SendId, Verdict},
};

use super::{
    Breakage, World,
    clients::{Client, State},
    laws::{Fate, Tally, Violation},
    wire::{Asked, Connection, Line, Owner},
};
use crate::sim::{
    agenda::Agenda,
    clock::{Clock, True},
    random::Random,
};

/// Trouble comes until then; afterwards everything works.
pub(super) const TROUBLE_ENDS: True = True(3_000_000_000);
const HORIZON: True = True(60_000_000_000);
const MOST_STEPS: u64 = 100_000;
/// The longest there is.
pub(super) const TTL: Duration = Duration::from_millis(900);

pub(super) struct Node {
    pub(super) store: Store,
    pub(super) clock: Clock,
    /// Counts restarts: a connection of before is none any more.
    pub(super) epoch: u32,
    pub(super) down_until: True,
    /// Questions do not arrive until then.
    pub(super) deaf_until: True,
    /// Answers do not arrive until then.
    pub(super) mute_until: True,
    /// Everything takes long until then.
    pub(super) slow_until: True,
    pub(super) forgot: Option<True>,
}

pub(super) struct Run {
    pub(super) world: World,
    pub(super) breakage: Option<Breakage>,
    pub(super) quorum: Quorum,
    pub(super) random: Random,
    pub(super) now: True,
    pub(super) key: Key,
    pub(super) nodes: Vec<Node>,
    /// Who may be in trouble.
    pub(super) frail: Vec<usize>,
    pub(super) clients: Vec<Client>,
    pub(super) connections: Vec<Connection>,
    pub(super) lines: Vec<Line>,
    pub(super) rounds: BTreeMap<u64, Asked>,
    /// What was sent and is not answered, by its round and its name: which connection carries it.
    pub(super) pending: HashMap<(u64, SendId), Option<usize>>,
    /// Questions of acquires, and the last of a token that a server has executed.
    pub(super) asking: HashSet<(u64, u64)>,
    pub(super) latest: HashMap<(Token, usize), (u64, u64)>,
    pub(super) next: u64,
    pub(super) fates: Vec<Fate>,
    pub(super) found: Option<Violation>,
    pub(super) tally: Tally,
    agenda: Agenda<Happening>,
    /// Questions on their way to servers, and what rounds came to on its way to who asked.
    pub(super) in_air: usize,
    trace: Option<Vec<String>>,
}

/// What happens.
#[derive(Debug)]
pub(super) enum Happening {
    /// A connection to `node` was made, or refused, for a question.
    Connected {
        round: u64,
        id: SendId,
        node: usize,
        op: Op,
        ok: bool,
    },
    Arrive {
        connection: usize,
        round: u64,
        id: SendId,
        op: Op,
    },
    Answer {
        client: usize,
        round: u64,
        id: SendId,
        node: usize,
        reply: Result<Verdict, Fault>,
    },
    /// A node's deadline.
    Overdue {
        round: u64,
        id: SendId,
        node: usize,
    },
    /// A round wants to be polled.
    Poll {
        round: u64,
    },
    /// What a round came to reaches who asked.
    Done {
        owner: Owner,
        reply: Result<Verdict, Fault>,
    },
    Timer {
        client: usize,
        task: usize,
        timer: u64,
    },
    Cancel {
        client: usize,
        task: usize,
        job: u32,
    },
    Keeper {
        client: usize,
        timer: u64,
    },
    Trouble,
}

impl Run {
    pub(super) fn new(
        seed: u64,
        nodes: usize,
        world: World,
        breakage: Option<Breakage>,
        traced: bool,
    ) -> Self {
        let mut random = Random::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ nodes as u64);
        let bare = nodes / 2 + 1;
        let needed = bare + usize::from(world == World::OneMore);
        let quorum = Quorum::new(nodes, Some(needed)).expect("more than half");
        // Two clocks are less than 1 % apart.
        let clock = |random: &mut Random| {
            let ppm = i64::try_from(random.between(0, 9_800)).expect("small") - 4_900;
            Clock::new(random.ms(0, 5_000), ppm)
        };
        let mut frail: Vec<usize> = (0..nodes).collect();
        if world == World::Minority {
            while frail.len() > nodes - needed {
                frail.remove(random.below(frail.len()));
            }
        }
        let servers = (0..nodes)
            .map(|_| Node {
                store: Store::new(),
                clock: clock(&mut random),
                epoch: 0,
                down_until: True(0),
                deaf_until: True(0),
                mute_until: True(0),
                slow_until: True(0),
                forgot: None,
            })
            .collect();
        let alone = world == World::Minority;
        let count = if alone { 1 } else { random.between(2, 3) };
        let clients = (0..count)
            .map(|_| {
                let tasks = if alone { 1 } else { random.between(1, 2) };
                let limit = Duration::from_millis(random.pick(&[120, 600]));
                let jobs = (0..tasks).map(|_| random.between(2, 4) as u32).collect();
                Client::new(clock(&mut random), limit, nodes, jobs)
            })
            .collect();
        let mut run = Self {
            world,
            breakage,
            quorum,
            random,
            now: True(0),
            key: Key::new("k").expect("short"),
            nodes: servers,
            frail,
            clients,
            connections: Vec::new(),
            lines: Vec::new(),
            rounds: BTreeMap::new(),
            pending: HashMap::new(),
            asking: HashSet::new(),
            latest: HashMap::new(),
            next: 0,
            fates: Vec::new(),
            found: None,
            tally: Tally::default(),
            agenda: Agenda::new(),
            in_air: 0,
            trace: traced.then(Vec::new),
        };
        for client in 0..run.clients.len() {
            for task in 0..run.clients[client].tasks.len() {
                let at = run.now + run.random.ms(0, 30);
                run.set_timer(client, task, at);
            }
        }
        if world != World::Calm {
            run.at(True(0), Happening::Trouble);
        }
        run
    }

    /// Runs to the end, or to the first law that does not hold.
    pub(super) fn run(&mut self) -> Result<Tally, Violation> {
        while let Some((at, what)) = self.agenda.next() {
            self.now = self.now.max(at);
            self.tally.steps += 1;
            self.happen(what);
            if self.found.is_none() && self.is_over() {
                self.check_end();
                break;
            }
            if self.found.is_some() {
                break;
            }
            if self.now > HORIZON || self.tally.steps > MOST_STEPS {
                self.accuse("I4 liveness", || "the run does not end".to_owned());
                break;
            }
        }
        match self.found.take() {
            Some(violation) => Err(violation),
            None => Ok(self.tally),
        }
    }

    fn is_over(&self) -> bool {
        let over = |client: &Client| {
            client.keeper.is_idle() && client.tasks.iter().all(|t| matches!(t.state, State::Over))
        };
        self.in_air == 0 && self.rounds.is_empty() && self.clients.iter().all(over)
    }

    fn happen(&mut self, what: Happening) {
        if let Some(client) = self.concerns(&what) {
            let until = self.clients[client].paused_until;
            if self.now < until {
                return self.at(until, what);
            }
        }
        match what {
            Happening::Connected { round, id, node, op, ok } => {
                self.connected(round, id, node, op, ok);
            }
            Happening::Arrive { connection, round, id, op } => {
                self.in_air -= 1;
                self.arrive(connection, round, id, &op);
            }
            Happening::Answer { round, id, node, reply, .. } => self.answer(round, id, node, reply),
            Happening::Overdue { round, id, node } => self.overdue(round, id, node),
            Happening::Poll { round } => self.poll_round(round),
            Happening::Done { owner, reply } => {
                self.in_air -= 1;
                self.done(owner, reply);
            }
            Happening::Timer { client, task, timer } => {
                if self.clients[client].tasks[task].timer == timer {
                    self.poll_task(client, task);
                }
            }
            Happening::Cancel { client, task, job } => self.cancel(client, task, job),
            Happening::Keeper { client, timer } => {
                if self.clients[client].timer == timer {
                    self.poll_keeper(client);
                }
            }
            Happening::Trouble => self.trouble(),
        }
    }

    /// Which client must run for this to happen.
    fn concerns(&self, what: &Happening) -> Option<usize> {
        match what {
            Happening::Arrive { .. } | Happening::Trouble => None,
            Happening::Connected { round, .. }
            | Happening::Overdue { round, .. }
            | Happening::Poll { round } => self.rounds.get(round).map(|asked| asked.owner.client()),
            Happening::Done { owner, .. } => Some(owner.client()),
            Happening::Answer { client, .. }
            | Happening::Timer { client, .. }
            | Happening::Cancel { client, .. }
            | Happening::Keeper { client, .. } => Some(*client),
        }
    }

    pub(super) fn at(&mut self, at: True, what: Happening) {
        self.agenda.add(at, what);
    }

    pub(super) fn set_timer(&mut self, client: usize, task: usize, at: True) {
        let timer = &mut self.clients[client].tasks[task].timer;
        *timer += 1;
        let timer = *timer;
        self.at(at, Happening::Timer { client, task, timer });
    }

    /// When a keeper is polled next.
    pub(super) fn wake_keeper(&mut self, client: usize, at: True) {
        let timer = &mut self.clients[client].timer;
        *timer += 1;
        let timer = *timer;
        self.at(at, Happening::Keeper { client, timer });
    }

    pub(super) fn troubled(&self) -> bool {
        self.now < TROUBLE_ENDS
    }

    pub(super) fn ttl(&mut self) -> Ttl {
        let ttl = self.random.pick(&[Duration::from_millis(300), TTL]);
        Ttl::new(ttl).expect("within limits")
    }

    pub(super) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            let (ms, micros) = (self.now.0 / 1_000_000, self.now.0 / 1_000 % 1_000);
            trace.push(format!("{ms:>6}.{micros:03} ms  {}", line()));
        }
    }

    pub(super) fn take_trace(&mut self) -> Vec<String> {
        self.trace.take().unwrap_or_default()
    }
}
