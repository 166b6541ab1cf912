//! Parses the options that follow a command's fixed arguments; pure.

/// What a write does to the key's time to live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ttl {
    /// No option given: the key lives until deleted.
    #[default]
    Remove,
    Keep,
    /// Milliseconds from now.
    After(i64),
    /// Milliseconds since the epoch.
    At(i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existence {
    MustNot,
    Must,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// `VER`: only if the current version is this one; 0 matches all.
    Expect(i64),
    /// `ABS`: becomes the version.
    Become(i64),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) ttl: Ttl,
    pub(crate) existence: Option<Existence>,
    pub(crate) version: Option<Version>,
    pub(crate) flags: Option<u32>,
    pub(crate) with_version: bool,
    pub(crate) default: Option<i64>,
    pub(crate) min: Option<i64>,
    pub(crate) max: Option<i64>,
    pub(crate) non_negative: bool,
}

/// Which options a command takes; each kind takes the ones before it too, except `FLAGS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(crate) enum Takes {
    /// CAS, EXCAS.
    Expiry,
    /// EXSET.
    Write,
    /// EXINCRBY.
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Invalid {
    Syntax,
    Bounds,
}

/// Parses `words`. `trusted` is set for a primary's stream and for an AOF being loaded: a version
/// that wrapped past `i64::MAX` can be told to replicas, though no client may name it.
pub(crate) fn parse<'a>(
    words: impl IntoIterator<Item = &'a [u8]>,
    takes: Takes,
    trusted: bool,
) -> Result<Options, Invalid> {
    let mut words = words.into_iter();
    let mut options = Options::default();
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(integer).ok_or(Invalid::Syntax);
        match word.to_ascii_uppercase().as_slice() {
            b"KEEPTTL" => match options.ttl {
                Ttl::Remove | Ttl::Keep => options.ttl = Ttl::Keep,
                Ttl::After(_) | Ttl::At(_) => return Err(Invalid::Syntax),
            },
            b"EX" => expire(&mut options.ttl, number()?, 1000, Ttl::After)?,
            b"PX" => expire(&mut options.ttl, number()?, 1, Ttl::After)?,
            b"EXAT" => expire(&mut options.ttl, number()?, 1000, Ttl::At)?,
            b"PXAT" => expire(&mut options.ttl, number()?, 1, Ttl::At)?,
            _ if takes == Takes::Expiry => return Err(Invalid::Syntax),
            b"NX" => repeatable(&mut options.existence, Existence::MustNot)?,
            b"XX" => repeatable(&mut options.existence, Existence::Must)?,
            b"VER" => once(&mut options.version, Version::Expect(natural(number()?, trusted)?))?,
            b"ABS" => once(&mut options.version, Version::Become(natural(number()?, trusted)?))?,
            b"WITHVERSION" => options.with_version = true,
            b"FLAGS" if takes == Takes::Write => {
                let flags = u32::try_from(number()?).map_err(|_| Invalid::Syntax)?;
                once(&mut options.flags, flags)?;
            }
            b"DEF" if takes == Takes::Count => once(&mut options.default, number()?)?,
            b"MIN" if takes == Takes::Count => once(&mut options.min, bound(number())?)?,
            b"MAX" if takes == Takes::Count => once(&mut options.max, bound(number())?)?,
            b"NONEGATIVE" if takes == Takes::Count => options.non_negative = true,
            _ => return Err(Invalid::Syntax),
        }
    }
    match (options.min, options.max) {
        (Some(min), Some(max)) if max < min => Err(Invalid::Bounds),
        _ => Ok(options),
    }
}

/// Reads a decimal as the server does: no plus sign, no leading zero, no space.
pub(crate) fn integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let plain = match digits {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !plain {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn expire(
    ttl: &mut Ttl,
    time: i64,
    unit: i64,
    make: impl FnOnce(i64) -> Ttl,
) -> Result<(), Invalid> {
    if *ttl != Ttl::Remove || time <= 0 {
        return Err(Invalid::Syntax);
    }
    // TairString multiplies with wrap-around, and ignores what comes out negative: the reply is a
    // success and the old TTL stays.
    let millis = time.wrapping_mul(unit);
    *ttl = if millis < 0 { Ttl::Keep } else { make(millis) };
    Ok(())
}

fn natural(version: i64, trusted: bool) -> Result<i64, Invalid> {
    if version < 0 && !trusted {
        return Err(Invalid::Syntax);
    }
    Ok(version)
}

fn bound(number: Result<i64, Invalid>) -> Result<i64, Invalid> {
    number.map_err(|_| Invalid::Bounds)
}

fn once<T>(slot: &mut Option<T>, value: T) -> Result<(), Invalid> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(Invalid::Syntax),
    }
}

fn repeatable<T: PartialEq>(slot: &mut Option<T>, value: T) -> Result<(), Invalid> {
    if slot.as_ref().is_some_and(|earlier| *earlier != value) {
        return Err(Invalid::Syntax);
    }
    *slot = Some(value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str, takes: Takes) -> Result<Options, Invalid> {
        parse(line.split_whitespace().map(str::as_bytes), takes, false)
    }

    fn ttl(line: &str) -> Result<Ttl, Invalid> {
        parsed(line, Takes::Expiry).map(|options| options.ttl)
    }

    #[test]
    fn a_ttl_is_said_in_four_ways_or_kept_or_removed() {
        assert_eq!(ttl(""), Ok(Ttl::Remove));
        assert_eq!(ttl("EX 2"), Ok(Ttl::After(2000)));
        assert_eq!(ttl("px 2"), Ok(Ttl::After(2)));
        assert_eq!(ttl("ExAt 2"), Ok(Ttl::At(2000)));
        assert_eq!(ttl("PXAT 2"), Ok(Ttl::At(2)));
        assert_eq!(ttl("KEEPTTL keepttl"), Ok(Ttl::Keep));
    }

    #[test]
    fn a_ttl_that_wraps_negative_is_ignored() {
        assert_eq!(ttl("EX 9223372036854775807"), Ok(Ttl::Keep));
        assert_eq!(ttl("PX 9223372036854775807"), Ok(Ttl::After(i64::MAX)));
    }

    #[test]
    fn a_bad_ttl_is_a_syntax_error() {
        for line in [
            "EX",
            "EX 0",
            "PX -1",
            "PX 1.5",
            "PX +1",
            "PX 01",
            "PX x",
            "EX 1 PX 1",
            "EX 1 EX 1",
            "EX 1 KEEPTTL",
            "KEEPTTL EX 1",
            "NX",
            "VER 1",
            "FLAGS 1",
            "GET",
        ] {
            assert_eq!(ttl(line), Err(Invalid::Syntax), "{line}");
        }
    }

    #[test]
    fn every_option_of_a_write_is_understood_in_any_order() {
        let expected = Options {
            ttl: Ttl::After(5),
            existence: Some(Existence::Must),
            version: Some(Version::Expect(7)),
            flags: Some(u32::MAX),
            with_version: true,
            ..Options::default()
        };
        for line in [
            "PX 5 XX VER 7 FLAGS 4294967295 WITHVERSION",
            "withversion flags 4294967295 ver 7 xx px 5",
        ] {
            assert_eq!(parsed(line, Takes::Write).as_ref(), Ok(&expected), "{line}");
        }
    }

    #[test]
    fn a_group_is_said_once() {
        for line in ["NX XX", "VER 1 VER 1", "VER 1 ABS 1", "ABS 1 ABS 1", "FLAGS 1 FLAGS 1"] {
            assert_eq!(parsed(line, Takes::Write), Err(Invalid::Syntax), "{line}");
        }
        assert!(parsed("NX NX WITHVERSION WITHVERSION", Takes::Write).is_ok());
    }

    #[test]
    fn a_version_is_an_integer_from_0_unless_a_primary_says_it() {
        for line in ["VER -1", "ABS -1", "ABS 9223372036854775808", "ABS x"] {
            assert_eq!(parsed(line, Takes::Write), Err(Invalid::Syntax), "{line}");
        }
        let wrapped = parse([&b"ABS"[..], b"-9223372036854775808"], Takes::Write, true);
        assert_eq!(wrapped.map(|options| options.version), Ok(Some(Version::Become(i64::MIN))));
    }

    #[test]
    fn bounds_must_not_cross() {
        assert_eq!(parsed("MIN 2 MAX 1", Takes::Count), Err(Invalid::Bounds));
        assert_eq!(parsed("MIN x", Takes::Count), Err(Invalid::Bounds));
        assert!(parsed("MIN 1 MAX 1 DEF 4 NONEGATIVE", Takes::Count).is_ok());
        assert_eq!(parsed("MIN 1", Takes::Write), Err(Invalid::Syntax));
        assert_eq!(parsed("FLAGS 1", Takes::Count), Err(Invalid::Syntax));
    }

    #[test]
    fn integers_are_strict() {
        assert_eq!(integer(b"0"), Some(0));
        assert_eq!(integer(b"-9223372036854775808"), Some(i64::MIN));
        for text in ["", "-", "-0", "00", "+1", " 1", "1 ", "1e3"] {
            assert_eq!(integer(text.as_bytes()), None, "{text:?}");
        }
    }
}
