//! A run: what happens, in order of true time, and nothing else.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tairlock::{
    Fault, Key,
    bell::Queue,
    proto::{Crowds, Hub, Keeper, Verdict},
};

use super::{
    agenda::Agenda,
    breakage::Breakage,
    client::{Client, Driver, Keep, LineId, Role, State, Task, TaskWaker, Woken},
    clock::{Clock, True},
    host::Host,
    profile::{Profile, Promises, Weather},
    random::Random,
    referee::{Referee, Tally, Violation},
    wire::{Call, Line, Owner, Request},
};

/// Trouble comes until then; afterwards everything works, and every run must come to its end.
const TROUBLE_ENDS: True = True(6_000_000_000);
const HORIZON: True = True(180_000_000_000);

/// No run needs more; a loop does.
const MOST_STEPS: u64 = 200_000;

pub(super) struct World {
    pub(super) breakage: Option<Breakage>,
    pub(super) promises: Promises,
    pub(super) weather: Weather,
    pub(super) random: Random,
    pub(super) now: True,
    pub(super) keys: Vec<Key>,
    pub(super) host: Host,
    pub(super) clients: Vec<Client>,
    pub(super) lines: Vec<Line>,
    pub(super) calls: BTreeMap<u64, Call>,
    pub(super) next_call: u64,
    pub(super) referee: Referee,
    woken: Arc<Woken>,
    agenda: Agenda<Happening>,
    /// Requests under way to the server.
    in_air: usize,
    trace: Option<Vec<String>>,
}

/// What happens.
#[derive(Debug)]
pub(super) enum Happening {
    /// A request reaches the server.
    Arrive(Request),
    /// A reply reaches the client.
    Answer {
        line: LineId,
        call: u64,
        reply: Result<Verdict, Fault>,
    },
    /// A driver gets to send what its machine told it to.
    Depart {
        call: u64,
        route: Option<LineId>,
    },
    Connected {
        client: usize,
        role: Role,
        call: Option<u64>,
        ok: bool,
    },
    /// News reach a listener; nothing is named when its connection is gone.
    Push {
        line: LineId,
        key: Option<usize>,
    },
    /// A listener may have been opened.
    Listens {
        client: usize,
        epoch: u64,
        ok: bool,
    },
    Overdue {
        call: u64,
    },
    Broken {
        call: u64,
    },
    /// A timer of a task, if it still counts.
    Timer {
        client: usize,
        task: usize,
        timer: u64,
    },
    /// A task was woken by a bell.
    Woken {
        client: usize,
        task: usize,
    },
    /// The future that a task waits for is dropped, if it is still the same.
    Cancel {
        client: usize,
        task: usize,
        job: u32,
    },
    /// The keeper's alarm, if it still counts, or its being woken.
    Keeper {
        client: usize,
        alarm: Option<u64>,
    },
    Trouble,
    /// Time passes, for laws on what does not happen.
    Tick,
}

impl World {
    pub(super) fn new(
        seed: u64,
        profile: Profile,
        breakage: Option<Breakage>,
        traced: bool,
    ) -> Self {
        let mut random = Random::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x7461_6972);
        let weather = profile.weather(&mut random);
        let woken = Arc::<Woken>::default();
        let ppm = |random: &mut Random| {
            let width = u64::try_from(weather.ppm * 2).unwrap_or_default();
            i64::try_from(random.between(0, width)).unwrap_or_default() - weather.ppm
        };
        let keys: Vec<Key> = (0..random.between(1, 2))
            .map(|nth| Key::new(format!("k{nth}")).expect("short"))
            .collect();
        let host = Host::new(Clock::new(random.ms(0, 5_000), ppm(&mut random)), breakage);
        let clients = (0..random.between(2, 3))
            .map(|at| {
                let limit = Duration::from_millis(random.pick(&[100, 1_000]));
                let driver = random.pick(&[Driver::Async, Driver::Async, Driver::Blocking]);
                let tasks = (0..random.between(1, 3))
                    .map(|task| {
                        let task = (at as usize, task as usize);
                        let waker = Arc::new(TaskWaker { woken: Arc::clone(&woken), task }).into();
                        let jobs = random.between(1, 4) as u32;
                        Task { jobs, state: State::Resting, timer: 0, waker }
                    })
                    .collect();
                Client {
                    driver,
                    clock: Clock::new(random.ms(0, 5_000), ppm(&mut random)),
                    limit,
                    queue: Arc::<Queue>::default(),
                    crowds: Arc::<Crowds>::default(),
                    hub: Hub::new(),
                    listening: None,
                    keep: Keep { machine: Keeper::new(limit), runs: false, busy: false, alarm: 0 },
                    slots: Default::default(),
                    idle: Vec::new(),
                    tasks,
                    closed: false,
                    dead: false,
                    paused_until: True(0),
                    stalled_until: True(0),
                    cut_off_until: True(0),
                    lost_time: Duration::ZERO,
                }
            })
            .collect();
        let mut world = Self {
            breakage,
            promises: profile.promises(),
            weather,
            random,
            now: True(0),
            referee: Referee::new(keys.len(), profile.promises().exclusion),
            keys,
            host,
            clients,
            lines: Vec::new(),
            calls: BTreeMap::new(),
            next_call: 0,
            woken,
            agenda: Agenda::new(),
            in_air: 0,
            trace: traced.then(Vec::new),
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        for client in 0..self.clients.len() {
            for task in 0..self.clients[client].tasks.len() {
                let at = self.now + self.random.ms(0, 50);
                self.set_timer(client, task, at);
            }
        }
        if self.promises.prompt {
            self.tick();
        }
        if !self.weather.troubles.is_empty() {
            let at = self.now + self.random.ms(1, self.weather.every);
            self.at(at, Happening::Trouble);
        }
    }

    fn tick(&mut self) {
        self.at(self.now + Duration::from_millis(100), Happening::Tick);
    }

    /// Runs to the end, or to the first law that does not hold.
    pub(super) fn run(&mut self) -> Result<Tally, Violation> {
        while let Some((at, what)) = self.agenda.next() {
            self.now = self.now.max(at);
            self.referee.tally.steps += 1;
            self.happen(what);
            for (client, task) in self.woken.take() {
                let at = self.now + self.slack();
                self.at(at, Happening::Woken { client, task });
            }
            self.check();
            if self.referee.found.is_none() && self.is_over() {
                self.check_end();
                break;
            }
            if self.now > HORIZON || self.referee.tally.steps > MOST_STEPS {
                break;
            }
            if self.referee.found.is_some() {
                break;
            }
        }
        if !self.is_over() {
            self.check_over(self.now);
        }
        match self.referee.found.take() {
            Some(violation) => Err(violation),
            None => Ok(self.referee.tally),
        }
    }

    fn is_over(&self) -> bool {
        let done = |client: &Client| {
            client.keep.machine.is_idle()
                && client.tasks.iter().all(|task| matches!(task.state, State::Over))
        };
        self.in_air == 0
            && self.calls.is_empty()
            && self.clients.iter().all(|client| client.dead || done(client))
    }

    fn happen(&mut self, what: Happening) {
        if let Some((client, needs_executor)) = self.concerns(&what) {
            let state = &self.clients[client];
            if state.dead {
                return;
            }
            let stalled = if needs_executor { state.stalled_until } else { True(0) };
            let held_up = state.paused_until.max(stalled);
            if self.now < held_up {
                let at = held_up + self.slack();
                return self.at(at, what);
            }
        }
        match what {
            Happening::Arrive(request) => {
                self.in_air -= 1;
                self.arrive(request);
            }
            Happening::Answer { line, call, reply } => self.answer(line, call, reply),
            Happening::Depart { call, route } => self.depart(call, route),
            Happening::Connected { client, role, call, ok } => {
                self.connected(client, role, call, ok);
            }
            Happening::Push { line, key } => self.push(line, key),
            Happening::Listens { client, epoch, ok } => self.listens(client, epoch, ok),
            Happening::Overdue { call } => self.overdue(call),
            Happening::Broken { call } => self.broken(call),
            Happening::Timer { client, task, timer } => self.timer(client, task, timer),
            Happening::Woken { client, task } => self.poll_task(client, task),
            Happening::Cancel { client, task, job } => self.cancel(client, task, job),
            Happening::Keeper { client, alarm } => {
                if alarm.is_none_or(|alarm| alarm == self.clients[client].keep.alarm) {
                    self.poll_keeper(client);
                }
            }
            Happening::Trouble => self.trouble(),
            Happening::Tick => self.tick(),
        }
    }

    /// Which client must run for this to happen, and whether its executor must.
    fn concerns(&self, what: &Happening) -> Option<(usize, bool)> {
        let of_call = |name: &u64| {
            let owner = self.calls.get(name)?.owner;
            Some((owner.client(), !matches!(owner, Owner::Keeper(_))))
        };
        match what {
            Happening::Arrive(_) | Happening::Trouble | Happening::Tick => None,
            // A reply is read by whoever drives the connection.
            Happening::Answer { line, .. } => {
                let line = &self.lines[*line];
                Some((line.client, line.role == Role::Commands))
            }
            Happening::Connected { client, role, .. } => Some((*client, *role == Role::Commands)),
            Happening::Push { line, .. } => Some((self.lines[*line].client, false)),
            Happening::Listens { client, .. } => Some((*client, false)),
            Happening::Depart { call, .. }
            | Happening::Overdue { call }
            | Happening::Broken { call } => of_call(call),
            Happening::Timer { client, .. }
            | Happening::Woken { client, .. }
            | Happening::Cancel { client, .. } => Some((*client, true)),
            Happening::Keeper { client, .. } => Some((*client, false)),
        }
    }

    /// Something will happen.
    pub(super) fn at(&mut self, at: True, what: Happening) {
        if at == True::NEVER {
            return;
        }
        if let Happening::Arrive(_) = what {
            self.in_air += 1;
        }
        self.agenda.add(at, what);
    }

    /// Sends `op`, as soon as the driver gets to it.
    pub(super) fn depart_soon(&mut self, call: u64, route: Option<LineId>) {
        self.at(self.now, Happening::Depart { call, route });
    }

    fn depart(&mut self, call: u64, route: Option<LineId>) {
        match route {
            _ if !self.calls.contains_key(&call) => {}
            Some(line) => self.send(call, line),
            None => self.connect(call),
        }
    }

    pub(super) fn set_timer(&mut self, client: usize, task: usize, at: True) {
        let timer = &mut self.clients[client].tasks[task].timer;
        *timer += 1;
        let timer = *timer;
        self.at(at, Happening::Timer { client, task, timer });
    }

    pub(super) fn troubled(&self) -> bool {
        self.now < TROUBLE_ENDS
    }

    pub(super) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            let ms = self.now.0 / 1_000_000;
            let micros = self.now.0 / 1_000 % 1_000;
            trace.push(format!("{ms:>7}.{micros:03} ms  {}", line()));
        }
    }

    pub(super) fn take_trace(&mut self) -> Vec<String> {
        self.trace.take().unwrap_or_default()
    }
}
