//! Trouble: what goes wrong, and for how long.

use std::time::Duration;

use tairlock::memory::Store;

use super::{
    client::{Driver, State},
    profile::Trouble,
    world::{Happening, World},
};

impl World {
    /// One thing goes wrong, and the next is set.
    pub(super) fn trouble(&mut self) {
        if !self.troubled() {
            return;
        }
        let trouble = self.random.pick(self.weather.troubles);
        let at = self.random.below(self.clients.len());
        self.note(|| format!("trouble: {trouble:?} (c{at})"));
        self.play(trouble, at);
        let next = self.now + self.random.ms(1, self.weather.every);
        self.at(next, Happening::Trouble);
    }

    fn play(&mut self, trouble: Trouble, at: usize) {
        let until = self.now + self.some_time();
        match trouble {
            Trouble::Cut | Trouble::Mute | Trouble::Deaf => self.hurt_line(trouble),
            Trouble::Partition => self.clients[at].cut_off_until = until,
            Trouble::Crash | Trouble::CrashEmpty => {
                self.host.down_until = self.now + self.random.ms(1, 400);
                for line in 0..self.lines.len() {
                    self.cut(line, true);
                }
                if trouble == Trouble::CrashEmpty {
                    self.host.store = Store::new();
                }
            }
            Trouble::ServerPause => self.host.paused_until = until,
            Trouble::Refusal => {
                let codes = ["LOADING", "BUSY", "READONLY", "OOM", "NOPERM"];
                self.host.refusing = Some((until, self.random.pick(&codes)));
            }
            Trouble::ClientPause => self.pause_client(at),
            Trouble::Stall => {
                let client = &mut self.clients[at];
                if client.driver == Driver::Async {
                    let before = client.stalled_until.max(self.now);
                    client.stalled_until = before.max(until);
                    client.lost_time += until.since(before);
                }
            }
            Trouble::Kill if self.random.chance(400) => self.kill(at),
            Trouble::Close if self.random.chance(400) => self.close(at),
            Trouble::Kill | Trouble::Close => {}
            Trouble::Delete => {
                let key = self.random.below(self.keys.len());
                let now = self.host.clock.at(self.now);
                self.host.store.delete(&self.keys[key], now);
                self.tell();
            }
            Trouble::StepForward | Trouble::StepBack => {
                let by = self.random.ms(1, 3_000);
                self.host.clock.step(by, trouble == Trouble::StepBack);
            }
        }
    }

    /// Short or long, seen from a lease.
    fn some_time(&mut self) -> Duration {
        let longest = self.random.pick(&[20, 200, 2_500]);
        self.random.ms(1, longest)
    }

    fn hurt_line(&mut self, trouble: Trouble) {
        let whole: Vec<usize> =
            (0..self.lines.len()).filter(|&line| !self.lines[line].broken).collect();
        if whole.is_empty() {
            return;
        }
        let line = self.random.pick(&whole);
        match trouble {
            Trouble::Mute => self.lines[line].mute = true,
            Trouble::Deaf => self.lines[line].deaf = true,
            _ => {
                let severed = self.random.chance(500);
                self.cut(line, severed);
            }
        }
    }

    /// A process that is stopped, or a machine that sleeps: its connections may be dead afterwards.
    fn pause_client(&mut self, at: usize) {
        let longest = self.random.pick(&[50, 500, 4_000]);
        let pause = self.random.ms(1, longest);
        let client = &mut self.clients[at];
        let (before, until) = (client.paused_until.max(self.now), self.now + pause);
        client.paused_until = before.max(until);
        client.lost_time += until.since(before);
        if self.random.chance(300) {
            let of_client = |line: &usize| self.lines[*line].client == at;
            let lines: Vec<usize> = (0..self.lines.len()).filter(of_client).collect();
            for line in lines {
                self.cut(line, false);
            }
        }
    }

    /// `kill -9`: nothing of it runs any more. What it has sent may still arrive.
    fn kill(&mut self, at: usize) {
        self.note(|| format!("c{at} is dead"));
        let severed = self.random.chance(500);
        for line in 0..self.lines.len() {
            if self.lines[line].client == at {
                self.lines[line].cut = true;
                self.lines[line].severed |= severed;
            }
        }
        self.calls.retain(|_, call| call.owner.client() != at);
        let client = &mut self.clients[at];
        client.dead = true;
        for task in &mut client.tasks {
            task.state = State::Over;
        }
    }

    /// `Client::close`, without waiting for the releases.
    fn close(&mut self, at: usize) {
        if self.clients[at].dead {
            return;
        }
        self.note(|| format!("c{at} is closed"));
        self.clients[at].closed = true;
        self.clients[at].hub.close();
        let now = self.clients[at].clock.at(self.now);
        self.keep(at, |keeper| keeper.close(now));
    }
}
