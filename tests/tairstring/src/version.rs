//! Decides whether a write may happen and which version the value then has; pure.

use crate::grammar::{Existence, Options, Version};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// NX met a key, or XX met none.
    Existence,
    /// VER named another version than the current one.
    Stale,
}

/// Existence goes first: a refused NX is nil even where VER is stale.
pub(crate) fn next(current: Option<i64>, options: &Options) -> Result<i64, Refusal> {
    match (options.existence, current) {
        (Some(Existence::MustNot), Some(_)) | (Some(Existence::Must), None) => {
            return Err(Refusal::Existence);
        }
        _ => {}
    }
    match (options.version, current) {
        (Some(Version::Become(version)), _) => Ok(version),
        // VER does not stop a write to a missing key.
        (_, None) => Ok(1),
        (Some(Version::Expect(expected)), Some(current))
            if expected != 0 && expected != current =>
        {
            Err(Refusal::Stale)
        }
        (_, Some(current)) => Ok(after(current)),
    }
}

/// Past `i64::MAX` TairString wraps.
pub(crate) fn after(current: i64) -> i64 {
    current.wrapping_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(existence: Option<Existence>, version: Option<Version>) -> Options {
        Options { existence, version, ..Options::default() }
    }

    #[test]
    fn a_new_value_has_version_1_whatever_was_expected() {
        assert_eq!(next(None, &with(None, None)), Ok(1));
        assert_eq!(next(None, &with(None, Some(Version::Expect(9)))), Ok(1));
        assert_eq!(next(None, &with(None, Some(Version::Become(9)))), Ok(9));
    }

    #[test]
    fn an_expected_version_must_be_current_and_0_is_no_expectation() {
        assert_eq!(next(Some(4), &with(None, Some(Version::Expect(4)))), Ok(5));
        assert_eq!(next(Some(4), &with(None, Some(Version::Expect(0)))), Ok(5));
        assert_eq!(next(Some(4), &with(None, Some(Version::Expect(5)))), Err(Refusal::Stale));
        assert_eq!(next(Some(0), &with(None, Some(Version::Expect(1)))), Err(Refusal::Stale));
    }

    #[test]
    fn existence_is_judged_before_the_version() {
        let nx = with(Some(Existence::MustNot), Some(Version::Expect(9)));
        assert_eq!(next(Some(4), &nx), Err(Refusal::Existence));
        assert_eq!(next(None, &nx), Ok(1));
        let xx = with(Some(Existence::Must), Some(Version::Become(9)));
        assert_eq!(next(None, &xx), Err(Refusal::Existence));
        assert_eq!(next(Some(4), &xx), Ok(9));
    }

    #[test]
    fn the_last_version_wraps() {
        assert_eq!(next(Some(i64::MAX), &with(None, None)), Ok(i64::MIN));
    }
}
