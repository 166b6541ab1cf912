//! One operation under way on the server, with what befalls the server in the meantime.

use tairlock::{
    dialect::{Command, Exchange, Reply, Speech},
    memory::Condition,
};

use super::{deed::Deed, sequence::Ask, spec::Answer};

/// The sources of all scripts that were sent so far.
pub(super) type Scripts = std::collections::BTreeSet<Vec<u8>>;

/// An operation under way.
pub(super) struct Talk<'a> {
    ask: &'a Ask,
    exchange: Exchange<'a>,
    rounds: u32,
    played: bool,
    /// How many commands in front of the operation's, and behind, are not its own.
    around: (usize, usize),
}

impl<'a> Talk<'a> {
    pub(super) fn new(ask: &'a Ask, speech: &'a Speech) -> Self {
        let exchange = Exchange::new(&ask.asked.op, speech);
        Self { ask, exchange, rounds: 0, played: false, around: (0, 0) }
    }

    /// What somebody else did after the first round, if it came to a second.
    pub(super) fn played(&self) -> Option<&'a Deed> {
        self.ask.meanwhile.as_ref().filter(|_| self.played)
    }

    /// The next round, in a server that is as it is to be for that, and well again afterwards: the
    /// next command is another sequence's.
    pub(super) fn say(&mut self, has_tairstring: bool, scripts: &Scripts) -> Vec<Command> {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        if self.rounds == 1
            && let Some(deed) = &self.ask.meanwhile
        {
            self.played = true;
            before.extend(deed.say(has_tairstring));
        }
        if self.rounds == 0 && self.ask.forgetful {
            before.push(Command::new("SCRIPT").word("FLUSH"));
            let load = |source: &Vec<u8>| {
                Command::new("SCRIPT").word("LOAD").bytes(source.as_slice().into())
            };
            after.extend(scripts.iter().map(load));
        }
        before.extend(set(self.ask.condition, 1));
        after.splice(0..0, set(self.ask.condition, 0));
        self.around = (before.len(), after.len());
        before.into_iter().chain(self.exchange.batch()).chain(after).collect()
    }

    /// The answer, if this round brought it.
    pub(super) fn hear(&mut self, mut replies: Vec<Reply>) -> Result<Option<Answer>, String> {
        let (before, after) = self.around;
        let after = replies.split_off(replies.len() - after);
        let own = replies.split_off(before);
        refuse_errors(&replies)?;
        refuse_errors(&after)?;
        self.rounds += 1;
        Ok(self.exchange.hear(own))
    }
}

/// Puts the server into the condition, or out of it.
fn set(condition: Condition, on: u64) -> Option<Command> {
    let setting = match condition {
        Condition::Well => return None,
        Condition::Full => "maxmemory",
        // As good as being a replica, and switched at once: writes are refused without replicas.
        Condition::ReadOnly => "min-replicas-to-write",
    };
    Some(Command::new("CONFIG").word("SET").word(setting).number(on))
}

/// What the world does is carried out, or the comparison means nothing.
pub(super) fn refuse_errors(replies: &[Reply]) -> Result<(), String> {
    let error = replies.iter().find(|reply| matches!(reply, Reply::Error(_)));
    error.map_or(Ok(()), |error| Err(format!("the server refused what the world does: {error:?}")))
}
