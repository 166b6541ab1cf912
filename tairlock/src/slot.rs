//! Cluster slots: keys of ours that must live where a lock lives, whatever bytes its key has.

use std::sync::LazyLock;

use crate::Key;

/// How many slots a cluster has.
pub const SLOTS: u16 = 16_384;

/// The slot that `key` is in: a cluster hashes what stands between the first `{` and the next `}`, if
/// anything does, and else the whole key.
#[must_use]
pub fn slot(key: &[u8]) -> u16 {
    let tag = key.iter().position(|&byte| byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|&byte| byte == b'}')?;
        Some(&rest[..close]).filter(|tag| !tag.is_empty())
    });
    crc16(tag.unwrap_or(key)) % SLOTS
}

/// Where the fence of the lock `key` is kept: in the lock's slot. Two locks never share one.
///
/// No brace around the key does that for every key (`a}b` has none that would); a number that hashes
/// to the same slot does, and all of them are found at once.
#[must_use]
pub fn fence_key(key: &Key) -> Key {
    static TAGS: LazyLock<Vec<u32>> = LazyLock::new(tags);
    let tag = TAGS[usize::from(slot(key.as_bytes()))];
    let mut bytes = format!("{{{tag}}}:tairlock:fence:").into_bytes();
    bytes.extend_from_slice(key.as_bytes());
    Key::of_ours(bytes)
}

/// For each slot the smallest number whose decimal hashes to it.
fn tags() -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut tags = vec![NONE; usize::from(SLOTS)];
    let mut left = tags.len();
    for number in 0..NONE {
        let tag = &mut tags[usize::from(crc16(number.to_string().as_bytes()) % SLOTS)];
        if *tag == NONE {
            *tag = number;
            left -= 1;
        }
        if left == 0 {
            break;
        }
    }
    tags
}

/// CRC-16/XMODEM, which clusters hash by.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        for (key, of) in [
            (&b"{user1000}.following"[..], &b"user1000"[..]),
            (b"foo{}{bar}", b"foo{}{bar}"),
            (b"foo{{bar}}zap", b"{bar"),
            (b"foo{bar}{zap}", b"bar"),
            (b"a}b", b"a}b"),
            (b"a{b", b"a{b"),
        ] {
            assert_eq!(slot(key), crc16(of) % SLOTS, "{}", key.escape_ascii());
        }
    }

    #[test]
    fn a_fence_is_in_its_locks_slot_for_any_bytes() {
        let mut seed = 7_u64;
        for len in 1..400_usize {
            let bytes: Vec<u8> = (0..len % 40 + 1)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    // Many braces among them.
                    let byte = (seed >> 33) as u8;
                    if byte < 40 {
                        b'{'
                    } else if byte < 80 {
                        b'}'
                    } else {
                        byte
                    }
                })
                .collect();
            let key = Key::new(&bytes).unwrap();
            assert_eq!(slot(fence_key(&key).as_bytes()), slot(&bytes), "{key:?}");
        }
        for number in 0..40_000 {
            let key = Key::new(number.to_string()).unwrap();
            assert_eq!(slot(fence_key(&key).as_bytes()), slot(key.as_bytes()));
        }
    }
}
