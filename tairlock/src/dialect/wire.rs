//! Commands and replies as values, before and after a driver turns them into bytes.

use std::{borrow::Cow, fmt, sync::Arc};

use crate::Fault;

/// Commands that travel together.
pub type Batch = Vec<Command>;

/// One command with its arguments.
#[derive(Clone, PartialEq, Eq)]
pub struct Command(Vec<Arg>);

/// One argument; keys and tokens are shared, not copied.
#[derive(Clone, PartialEq, Eq)]
pub enum Arg {
    /// A word of the protocol.
    Word(&'static str),
    /// A key or token.
    Shared(Arc<[u8]>),
    /// Anything else.
    Owned(Vec<u8>),
}

impl Command {
    /// The command called `name`.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self(vec![Arg::Word(name)])
    }

    /// With a word of the protocol.
    #[must_use]
    pub fn word(mut self, word: &'static str) -> Self {
        self.0.push(Arg::Word(word));
        self
    }

    /// With a key or a token.
    #[must_use]
    pub fn bytes(mut self, bytes: Arc<[u8]>) -> Self {
        self.0.push(Arg::Shared(bytes));
        self
    }

    /// With a number.
    #[must_use]
    pub fn number(mut self, number: u64) -> Self {
        self.0.push(Arg::Owned(number.to_string().into_bytes()));
        self
    }

    /// The command's name and arguments, in order.
    #[must_use]
    pub fn args(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.0.iter().map(|arg| match arg {
            Arg::Word(word) => word.as_bytes(),
            Arg::Shared(bytes) => bytes,
            Arg::Owned(bytes) => bytes,
        })
    }

    /// The command's name.
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        self.args().next().map_or(Cow::Borrowed(""), String::from_utf8_lossy)
    }
}

/// Shows the name and the number of arguments: they hold tokens.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (+{} arguments)", self.name(), self.0.len() - 1)
    }
}

impl fmt::Debug for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Word(word) => word,
            Self::Shared(_) | Self::Owned(_) => "…",
        })
    }
}

/// One reply, with the differences between RESP2 and RESP3 taken out.
#[derive(Clone)]
pub enum Reply {
    /// Nothing.
    Nil,
    /// `+OK`.
    Okay,
    /// A number, or a boolean as 0 or 1.
    Int(i64),
    /// Bytes; a status other than `OK` too.
    Bytes(Vec<u8>),
    /// Several; maps and sets too.
    Array(Vec<Self>),
    /// An error.
    Error(Fault),
}

impl Reply {
    /// What kind of reply it is, for an error's text: never its content, which may be a token.
    #[must_use]
    pub const fn shape(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Okay => "OK",
            Self::Int(_) => "an integer",
            Self::Bytes(_) => "a string",
            Self::Array(_) => "an array",
            Self::Error(_) => "an error",
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => write!(f, "{number}"),
            Self::Error(fault) => write!(f, "{fault:?}"),
            Self::Array(replies) => f.debug_list().entries(replies).finish(),
            other => f.write_str(other.shape()),
        }
    }
}
