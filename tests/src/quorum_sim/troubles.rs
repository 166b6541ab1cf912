//! What goes wrong with servers, connections and clients, as the run's world allows.

use std::time::Duration;

use super::{
    World,
    run::{Happening, Run, TTL},
};
use crate::sim::clock::True;

/// A forgotten key would have stood for no longer, on any clock.
const AWAY: Duration = Duration::from_millis(920);

impl Run {
    pub(super) fn trouble(&mut self) {
        if !self.troubled() {
            return;
        }
        let next = self.now + self.random.ms(1, 400);
        self.at(next, Happening::Trouble);
        if self.world != World::Minority && self.random.chance(100) {
            let at = self.random.below(self.clients.len());
            let pause = self.random.ms(1, 1_200);
            let client = &mut self.clients[at];
            client.paused_until = client.paused_until.max(self.now + pause);
            client.lost_time += pause;
            return self.note(|| format!("c{at} stands still for {pause:?}"));
        }
        if self.frail.is_empty() {
            return;
        }
        let node = self.random.pick(&self.frail.clone());
        let until = self.now + self.random.ms(1, 800);
        let kind = self.random.below(6);
        self.note(|| format!("n{node}: trouble {kind} until {:?}", until));
        let server = &mut self.nodes[node];
        match kind {
            0 => server.slow_until = until,
            1 => server.deaf_until = until,
            2 => server.mute_until = until,
            3 => self.restart(node, until),
            4 => self.forget(node),
            _ => self.cut(node),
        }
    }

    fn restart(&mut self, node: usize, until: True) {
        let server = &mut self.nodes[node];
        server.epoch += 1;
        server.down_until = server.down_until.max(until);
    }

    /// It restarts without its data.
    fn forget(&mut self, node: usize) {
        let away = match self.world {
            World::Delayed | World::Minority => AWAY,
            World::OneMore | World::Reckless => Duration::ZERO,
            World::Calm | World::Storm => return,
        };
        if self.world == World::OneMore {
            let lately =
                |forgot: Option<True>| forgot.is_some_and(|at| self.now.since(at) < TTL * 2);
            let others = self.nodes.iter().filter(|server| lately(server.forgot)).count();
            let common = 2 * self.quorum.needed() - self.nodes.len();
            if others + 1 >= common && !lately(self.nodes[node].forgot) || others >= common {
                return;
            }
        }
        self.restart(node, self.now + away);
        let server = &mut self.nodes[node];
        server.store = tairlock::memory::Store::new();
        server.forgot = Some(self.now);
        self.tally.forgotten += 1;
    }

    /// Clients take their connections for broken; what is under way on them still arrives, late.
    fn cut(&mut self, node: usize) {
        let server = &mut self.nodes[node];
        server.slow_until = self.now + Duration::from_millis(20);
        for at in 0..self.connections.len() {
            let connection = &self.connections[at];
            if connection.node == node && !connection.broken {
                self.break_connection(at);
            }
        }
    }
}
