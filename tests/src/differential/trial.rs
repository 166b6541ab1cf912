//! One sequence under way on the store and on the server.

use std::time::{Duration, Instant};

use tairlock::{
    Key,
    dialect::{Command, Question, Reply, Speech},
    memory::{Condition, Store},
    time::Timestamp,
};

use super::{
    asked::agree,
    deed::expire,
    fence::places,
    sequence::{Ask, Step, keys},
    spec::{Answer, Standing, invariants},
    talk::{Scripts, Talk, refuse_errors},
    value,
};

/// What the server's clock is coarser by than ours.
const GRAIN: Duration = Duration::from_millis(2);

/// A sequence under way: [`Trial::say`] what to send, and [`Trial::hear`] what came back.
pub(super) struct Trial<'a> {
    pub(super) seed: u64,
    speech: &'a Speech,
    has_tairstring: bool,
    /// Whether values are TairStrings, in this dialect.
    in_tairstrings: bool,
    steps: &'a [Step],
    at: usize,
    /// What is asked just now.
    talk: Option<Talk<'a>>,
    /// What the store may be by now: more than one only while two things happen at once.
    stores: Vec<Store>,
    now: Timestamp,
    /// When server and store last agreed on the time.
    synced: Instant,
    keys: Vec<Key>,
}

/// What is to be sent, and whether the server's clock must move on behind it.
pub(super) struct Said {
    pub(super) commands: Vec<Command>,
    pub(super) takes_time: bool,
}

impl<'a> Trial<'a> {
    pub(super) fn new(
        seed: u64,
        steps: &'a [Step],
        speech: &'a Speech,
        has_tairstring: bool,
    ) -> Self {
        Self {
            seed,
            speech,
            has_tairstring,
            in_tairstrings: has_tairstring && speech.way(Question::Value).name() == "EXCAS",
            steps,
            at: 0,
            talk: None,
            stores: vec![Store::new()],
            now: Timestamp::default(),
            synced: Instant::now(),
            keys: keys(seed).iter().cloned().chain(places(&keys(seed))).collect(),
        }
    }

    /// What to send next; nothing, when the sequence is over and all keys were looked at.
    pub(super) fn say(&mut self, scripts: &Scripts) -> Option<Said> {
        if self.at > self.steps.len() {
            return None;
        }
        let step = self.steps.get(self.at);
        let takes_time = matches!(step, Some(Step::Pass(_)));
        let mut commands = match step {
            None => Vec::new(),
            Some(Step::World(deed)) => deed.say(self.has_tairstring),
            Some(Step::Pass(by)) => self.pass(*by),
            Some(Step::Ask(ask)) => {
                let speech = self.speech;
                let talk = self.talk.get_or_insert_with(|| Talk::new(ask, speech));
                talk.say(self.has_tairstring, scripts)
            }
        };
        commands.extend(self.watched().iter().flat_map(Standing::say));
        Some(Said { commands, takes_time })
    }

    /// Takes the replies to what was said, and compares.
    pub(super) fn hear(&mut self, mut replies: Vec<Reply>) -> Result<(), String> {
        let watched = self.watched();
        let seen = replies.split_off(replies.len() - 2 * watched.len());
        match self.steps.get(self.at) {
            None => {}
            Some(Step::Ask(ask)) => {
                let Some(mut talk) = self.talk.take() else {
                    return Err("nothing is asked".into());
                };
                match talk.hear(replies)? {
                    Some(answer) => self.judge(ask, &talk, &answer)?,
                    None => {
                        self.talk = Some(talk);
                        return Ok(());
                    }
                }
            }
            Some(Step::World(deed)) => {
                refuse_errors(&replies)?;
                let play = |store| deed.play(store, self.now, self.in_tairstrings);
                self.stores.iter_mut().for_each(play);
            }
            Some(Step::Pass(_)) => refuse_errors(&replies)?,
        }
        self.compare(&watched, seen)?;
        self.at += 1;
        Ok(())
    }

    /// The step under way, for the reader of a failure.
    pub(super) fn place(&self) -> String {
        let step = self.steps.get(self.at).map(|_| format!("step {}", self.at + 1));
        step.unwrap_or_else(|| "in the end".to_owned())
    }

    /// The keys to look at after this step; all of them in the end.
    fn watched(&self) -> Vec<Key> {
        let mut watched = match self.steps.get(self.at) {
            None => self.keys.clone(),
            // What expires is still about to when the commands arrive.
            Some(Step::Pass(_)) => Vec::new(),
            Some(Step::World(deed)) => vec![deed.key().clone()],
            Some(Step::Ask(ask)) => {
                let others = ask.meanwhile.iter().map(|deed| deed.key().clone());
                let fences = places(&ask.asked.keys);
                ask.asked.keys.iter().cloned().chain(fences).chain(others).collect()
            }
        };
        watched.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
        watched.dedup();
        watched
    }

    /// Moves the store's clock on, and makes the server's keys as old as the store's.
    fn pass(&mut self, by: Duration) -> Vec<Command> {
        let (store, then) = (&self.stores[0], self.now + by);
        let mut commands = Vec::new();
        for key in &self.keys {
            let before = Standing::in_store(store, key, self.now).mortal();
            let after = Standing::in_store(store, key, then).mortal();
            match (before, after) {
                (_, Some(left)) => commands.push(expire(key, left)),
                // Really expired, not deleted: that the key is still in memory must not show.
                (Some(_), None) => commands.push(expire(key, Duration::from_millis(1))),
                (None, None) => {}
            }
        }
        self.now = then;
        self.synced = Instant::now();
        commands
    }

    /// Asks the store the same, and keeps what agrees with the server's answer.
    fn judge(&mut self, ask: &Ask, talk: &Talk<'_>, answer: &Answer) -> Result<(), String> {
        let (now, deed) = (self.now, talk.played());
        let mut possible = Vec::new();
        let mut answers = Vec::new();
        // What happens at once happens in one order or the other.
        for deed_first in [false, true].into_iter().take(if deed.is_some() { 2 } else { 1 }) {
            let mut store = self.stores[0].clone();
            if let Some(deed) = deed.filter(|_| deed_first) {
                deed.play(&mut store, now, self.in_tairstrings);
            }
            let before = store.clone();
            store.set_condition(ask.condition);
            let spec = store.apply(&ask.asked.op, now);
            store.set_condition(Condition::Well);
            invariants(&ask.asked, &spec, &before, &store, now)?;
            let also = value::also(&ask.asked.op, &before, ask.condition, now);
            for (spec, mut store) in [(spec, store)].into_iter().chain(also) {
                if let Some(deed) = deed.filter(|_| !deed_first) {
                    deed.play(&mut store, now, self.in_tairstrings);
                }
                if agree(&spec, answer, ask.condition, deed.is_some()) {
                    possible.push(store);
                }
                answers.push(spec);
            }
        }
        if possible.is_empty() {
            return Err(format!("the server says {answer:?}, the store {answers:?}"));
        }
        self.stores = possible;
        Ok(())
    }

    /// Looks whether the server's keys are what the store's are.
    fn compare(&mut self, watched: &[Key], seen: Vec<Reply>) -> Result<(), String> {
        let late = self.synced.elapsed() + GRAIN;
        let mut seen = seen.into_iter();
        let mut server = Vec::new();
        for key in watched {
            let (Some(value), Some(left)) = (seen.next(), seen.next()) else {
                return Err("replies are missing".into());
            };
            server.push((key, Standing::hear(value, &left)?));
        }
        let now = self.now;
        let stands = |store: &Store, key: &Key| Standing::in_store(store, key, now);
        let agrees = |store: &&Store| {
            server.iter().all(|(key, standing)| stands(store, key).agrees(standing, late))
        };
        let Some(store) = self.stores.iter().find(agrees) else {
            let first = &self.stores[0];
            let store: Vec<_> = watched.iter().map(|key| (key, stands(first, key))).collect();
            return Err(format!("the server has {server:?}, the store {store:?} (± {late:?})"));
        };
        self.stores = vec![store.clone()];
        Ok(())
    }
}
