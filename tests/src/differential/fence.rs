//! Fences: which numbers the store's clock and a server's agree on, and what stands where they are kept.

use proptest::{prelude::*, sample::select};
use tairlock::{
    Key, Token,
    fence::{LAST, mark, read_mark},
    slot::fence_key,
    value::{FencedAction, FencedValue},
};

/// Above what any clock shows: what follows such a number is the same on the store and on a server.
const FAR: u64 = LAST - 1_000_000;

/// Where the fences of `keys` are kept.
pub(super) fn places(keys: &[Key]) -> Vec<Key> {
    keys.iter().map(fence_key).collect()
}

/// What another program might have put where a fence is kept.
pub(super) fn marks() -> Vec<Token> {
    let token = Token::from_bytes("w@1/5f0c/");
    let far = [FAR, LAST - 1, LAST].map(|fence| mark(fence, &token));
    let near = [mark(1, &token), Token::from_bytes(format!("{LAST}0 x"))];
    let none = ["", "7", "07 w@1/5f0c/", "x w@1/5f0c/"].map(Token::from_bytes);
    far.into_iter().chain(near).chain(none).collect()
}

/// Any question about a fenced value.
pub(super) fn about() -> impl Strategy<Value = FencedAction> {
    // Alike in length, in order as text, and where a number would round.
    let fences = [0, 1, 9, 10, 99, LAST, LAST + 1, LAST + 2, u64::MAX - 1, u64::MAX];
    let texts = ["", "OK", "held", "é\0\r\n"].map(str::as_bytes).to_vec();
    let set = (select(texts), select(fences.to_vec()))
        .prop_map(|(value, fence)| FencedAction::Set(FencedValue { value: value.into(), fence }));
    prop_oneof![1 => Just(FencedAction::Get), 4 => set]
}

/// Whether two fences may be each other's: both by a clock, or the same.
pub(super) const fn alike(store: u64, server: u64) -> bool {
    store == server || (store < FAR && server < FAR)
}

/// `value` without the number that a clock has put there.
pub(super) fn timeless(value: &[u8]) -> String {
    let clock = |(last, _): &(&[u8], &[u8])| {
        let number = std::str::from_utf8(last).ok().and_then(|last| last.parse::<u64>().ok());
        number.is_some_and(|number| number < FAR)
    };
    match read_mark(value).filter(clock) {
        Some((_, token)) => format!("CLOCK {}", token.escape_ascii()),
        None => value.escape_ascii().to_string(),
    }
}
