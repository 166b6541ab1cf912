//! Times in an attribute: `5` and `0.5` are seconds, `"1500ms"` names its unit, the rest is an
//! expression of type `Duration`.

use proc_macro2::Span;
use syn::{Error, Expr, ExprLit, ExprUnary, Lit, LitStr, Result, UnOp};

/// A time as it was written.
pub(crate) enum Time {
    /// A literal, checked, in whole milliseconds.
    Millis(u64, Span),
    /// Anything else: rustc checks its type, the `Lock` its value.
    Expr(Box<Expr>),
}

/// What an option lets a literal be.
pub(crate) struct Limits {
    pub(crate) option: &'static str,
    pub(crate) millis: std::ops::RangeInclusive<u64>,
    pub(crate) range: &'static str,
}

pub(crate) const TTL: Limits =
    Limits { option: "ttl", millis: 10..=24 * 86_400_000, range: "10 ms to 24 days" };

pub(crate) const WAIT: Limits =
    Limits { option: "wait", millis: 0..=u64::MAX, range: "0 (one try) or longer" };

pub(crate) const MAX_HOLD: Limits =
    Limits { option: "max_hold", millis: 10..=u64::MAX, range: "as long as the ttl or longer" };

pub(crate) const MIN_HOLD: Limits =
    Limits { option: "min_hold", millis: 0..=24 * 86_400_000, range: "0 (none) to 24 days" };

const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

const SECOND: u128 = 1_000_000_000;

impl Limits {
    /// Checks `expr` if it is a literal.
    pub(crate) fn check(&self, expr: Expr) -> Result<Time> {
        match &expr {
            Expr::Group(group) => self.check((*group.expr).clone()),
            Expr::Lit(ExprLit { lit, .. }) => self.literal(lit),
            Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr: inner, .. })
                if matches!(&**inner, Expr::Lit(_)) =>
            {
                Err(Error::new_spanned(
                    &expr,
                    format!("`{}` cannot be negative: it is {}", self.option, self.range),
                ))
            }
            _ => Ok(Time::Expr(Box::new(expr))),
        }
    }

    fn literal(&self, lit: &Lit) -> Result<Time> {
        let (digits, suffix) = match lit {
            Lit::Str(text) => return self.text(text),
            Lit::Int(int) => (int.base10_digits(), int.suffix()),
            Lit::Float(float) => (float.base10_digits(), float.suffix()),
            _ => {
                return Err(Error::new(lit.span(), format!("this is no time: {}", self.forms())));
            }
        };
        let is_type = suffix.is_empty()
            || matches!(suffix.as_bytes(), [b'u' | b'i' | b'f', rest @ ..]
                if rest == b"size" || (!rest.is_empty() && rest.iter().all(u8::is_ascii_digit)));
        if !is_type {
            let message = if UNITS.iter().any(|(unit, _)| *unit == suffix) {
                format!("a unit goes into quotes: `{} = \"{digits}{suffix}\"`", self.option)
            } else {
                format!("`{suffix}` is no unit: {}", self.forms())
            };
            return Err(Error::new(lit.span(), message));
        }
        self.in_range(millis(digits, SECOND), &format!("{digits} s"), lit.span())
    }

    fn text(&self, lit: &LitStr) -> Result<Time> {
        let error = |message: String| Err(Error::new(lit.span(), message));
        let value = lit.value();
        let text = value.trim();
        if let Some(rest) = text.strip_prefix('-')
            && rest.starts_with(|c: char| c.is_ascii_digit())
        {
            return error(format!("`{}` cannot be negative: it is {}", self.option, self.range));
        }
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (digits, unit) = (&text[..end], text[end..].trim_start());
        if digits.parse::<f64>().is_err() {
            return error(format!("`{text}` is no time: {}", self.forms()));
        }
        if unit.is_empty() {
            return error(format!(
                "the unit is missing: write `{0} = {digits}` or `{0} = \"{digits}s\"` for seconds, \
                 or another unit ({1})",
                self.option,
                units(),
            ));
        }
        let Some((_, nanos)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return error(format!("`{unit}` is no unit: use one of {}", units()));
        };
        self.in_range(millis(digits, *nanos), text, lit.span())
    }

    fn in_range(&self, millis: Option<u64>, given: &str, span: Span) -> Result<Time> {
        match millis {
            Some(millis) if self.millis.contains(&millis) => Ok(Time::Millis(millis, span)),
            _ => Err(Error::new(
                span,
                format!(
                    "`{given}` is out of range: `{}` is {}, in whole milliseconds",
                    self.option, self.range
                ),
            )),
        }
    }

    fn forms(&self) -> String {
        format!(
            "write seconds (`{0} = 5`, `{0} = 0.5`), text with a unit (`{0} = \"1500ms\"`; {1}), or \
             an expression of type `Duration`",
            self.option,
            units(),
        )
    }
}

fn units() -> String {
    let names: Vec<_> = UNITS.iter().map(|(name, _)| format!("`{name}`")).collect();
    names.join(", ")
}

/// `digits` (decimal, maybe with a point and an exponent) times `unit` nanoseconds, rounded down to
/// whole milliseconds; `None` if that does not fit.
///
/// In integers, because `0.57_f64 * 1000.0` is below 570.
fn millis(digits: &str, unit: u128) -> Option<u64> {
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (digits, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // More digits than this are below a nanosecond in every unit.
    let fraction = &fraction[..fraction.len().min(18)];
    let number: u128 = format!("0{whole}{fraction}").parse().ok()?;
    let shift = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let scale = 10_u128.checked_pow(shift.unsigned_abs());
    let nanos = match (shift < 0, scale) {
        _ if number == 0 => 0,
        (true, Some(scale)) => number.checked_mul(unit)? / scale,
        (true, None) => 0,
        (false, scale) => number.checked_mul(unit)?.checked_mul(scale?)?,
    };
    u64::try_from(nanos / 1_000_000).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(limits: &Limits, source: &str) -> std::result::Result<Option<u64>, String> {
        match limits.check(syn::parse_str(source).unwrap()) {
            Ok(Time::Millis(millis, _)) => Ok(Some(millis)),
            Ok(Time::Expr(_)) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn literals_become_whole_milliseconds() {
        for (source, millis) in [
            ("5", 5_000),
            ("5u64", 5_000),
            ("0x10", 16_000),
            ("1_000", 1_000_000),
            ("0.5", 500),
            ("0.57", 570),
            ("0.29f64", 290),
            ("1e3", 1_000_000),
            ("1.5e-1", 150),
            ("0.0109999", 10),
            ("2073600", 24 * 86_400_000),
            ("\"1500ms\"", 1_500),
            ("\" 1.5 s \"", 1_500),
            ("\"2m\"", 120_000),
            ("\"1h\"", 3_600_000),
            ("\"24d\"", 24 * 86_400_000),
            ("\"10999us\"", 10),
            ("\"10999999ns\"", 10),
            ("\"10000µs\"", 10),
        ] {
            assert_eq!(check(&TTL, source), Ok(Some(millis)), "{source}");
        }
        assert_eq!(check(&WAIT, "0"), Ok(Some(0)));
        assert_eq!(check(&WAIT, "\"0s\""), Ok(Some(0)));
        assert_eq!(check(&WAIT, "1e-400"), Ok(Some(0)));
    }

    #[test]
    fn other_expressions_are_left_to_rustc() {
        for source in
            ["TTL", "Duration::from_secs(5)", "self.ttl", "-offset", "f64::NAN", "2 * TTL"]
        {
            assert_eq!(check(&TTL, source), Ok(None), "{source}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_the_reason() {
        for (source, reason) in [
            ("0", "out of range: `ttl` is 10 ms to 24 days"),
            ("0.0", "out of range"),
            ("0.009", "out of range"),
            ("2073600.001", "out of range"),
            ("1e300", "out of range"),
            ("99999999999999999999999999999999999999999999", "out of range"),
            ("-1", "cannot be negative"),
            ("-0.5", "cannot be negative"),
            ("\"-5s\"", "cannot be negative"),
            ("\"0s\"", "out of range"),
            ("\"250us\"", "out of range"),
            ("\"9ms\"", "out of range"),
            ("\"25d\"", "out of range"),
            ("\"5\"", "unit is missing"),
            ("\"5 sec\"", "`sec` is no unit"),
            ("\"5S\"", "`S` is no unit"),
            ("\"NaN\"", "is no time"),
            ("\"inf\"", "is no time"),
            ("\"\"", "is no time"),
            ("\".\"", "is no time"),
            ("\"1.2.3s\"", "is no time"),
            ("5s", "goes into quotes: `ttl = \"5s\"`"),
            ("5secs", "`secs` is no unit"),
            ("true", "is no time"),
            ("b\"5s\"", "is no time"),
            ("'5'", "is no time"),
        ] {
            let error = check(&TTL, source).expect_err(source);
            assert!(error.contains(reason), "{source}: {error}");
        }
    }
}
