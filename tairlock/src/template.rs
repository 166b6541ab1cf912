//! Keys made of fixed text and values, so that two different inputs never give one key.

use std::{
    fmt::{Display, Write as _},
    io::Write as _,
};

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

/// What is encoded in a value: what templates are made of, and what a terminal would not show.
const RESERVED: &AsciiSet = &CONTROLS.add(b'%').add(b':').add(b'{').add(b'}');

/// Stands for a value without a character. No encoded character gives it: those go on with a digit or
/// a letter from A to F.
const EMPTY: &str = "%_";

/// A key in the making.
#[derive(Debug, Default)]
pub struct Template(Vec<u8>);

impl Template {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        // Room for most keys, so that they are one allocation.
        Self(Vec::with_capacity(64))
    }

    /// Then text of the template itself.
    #[must_use]
    pub fn literal(mut self, text: &'static str) -> Self {
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    /// Then a value, encoded.
    #[must_use]
    pub fn value<T: ?Sized + Display>(mut self, value: &T) -> Self {
        let before = self.0.len();
        let mut encoded = Encoded(&mut self.0);
        // The only error is one that `value` itself makes up; what it wrote until then stands.
        _ = write!(encoded, "{value}");
        if self.0.len() == before {
            self.0.extend_from_slice(EMPTY.as_bytes());
        }
        self
    }

    /// Then a value as it is.
    #[must_use]
    pub fn raw<T: ?Sized + Display>(mut self, value: &T) -> Self {
        _ = write!(&mut self.0 as &mut Vec<u8>, "{value}");
        self
    }

    /// The key's bytes.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

struct Encoded<'a>(&'a mut Vec<u8>);

impl std::fmt::Write for Encoded<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for chunk in utf8_percent_encode_ascii(text) {
            self.0.extend_from_slice(chunk.as_bytes());
        }
        Ok(())
    }
}

/// As [`utf8_percent_encode`], which encodes everything outside ASCII too; that is left as it is here.
fn utf8_percent_encode_ascii(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let ascii = first.is_ascii();
        let end = rest.find(|c: char| c.is_ascii() != ascii).unwrap_or(rest.len());
        let (chunk, after) = rest.split_at(end);
        rest = after;
        Some((chunk, ascii))
    })
    .flat_map(|(chunk, ascii)| {
        let (encoded, plain) = if ascii { (chunk, "") } else { ("", chunk) };
        utf8_percent_encode(encoded, RESERVED).chain((!plain.is_empty()).then_some(plain))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn pair(a: &str, b: &str) -> String {
        let key = Template::new().literal("t:").value(a).literal(":").value(b).finish();
        String::from_utf8(key).unwrap()
    }

    #[test]
    fn encodes_what_templates_are_made_of() {
        assert_eq!(pair("a", "b"), "t:a:b");
        assert_eq!(pair("a:b", "c"), "t:a%3Ab:c");
        assert_eq!(pair("", "%_"), "t:%_:%25_");
        assert_eq!(pair("{x}", "\n"), "t:%7Bx%7D:%0A");
        assert_eq!(pair("größe", "日本"), "t:größe:日本");
        let raw = Template::new().literal("t:").raw("a:b").finish();
        assert_eq!(raw, b"t:a:b");
    }

    #[test]
    fn no_two_inputs_give_one_key() {
        let pieces = ["", "a", ":", "%", "{", "}", "%_", "%3A", "_", "3A", "\0", "é", "a:", ":a"];
        let mut seen = HashMap::new();
        for a in pieces {
            for b in pieces {
                for c in pieces {
                    let (x, y) = (format!("{a}{b}"), c.to_owned());
                    let inputs = seen.entry(pair(&x, &y)).or_insert((x.clone(), y.clone()));
                    assert_eq!(*inputs, (x, y));
                }
            }
        }
    }
}
