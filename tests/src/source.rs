//! Rust source as a text search should see it: without comments, and without string literals or tests
//! where these don't matter.

/// The code, line for line as it was, with comments blanked out.
#[must_use]
pub fn without_comments(text: &str) -> String {
    blank(text, false)
}

/// The code, line for line as it was, with comments and the insides of literals blanked out.
#[must_use]
pub fn code_only(text: &str) -> String {
    blank(text, true)
}

/// The string literals (also byte and raw ones) outside comments, each with its line, counted from 1.
#[must_use]
pub fn literals(text: &str) -> Vec<(usize, &str)> {
    let mut line = 1;
    let mut found = Vec::new();
    for (kind, token) in tokens(text) {
        if kind == Kind::Literal && !token.starts_with('\'') {
            let inside = token.trim_start_matches(['b', 'r', 'c', '#']).trim_end_matches('#');
            found.push((line, inside.trim_matches('"')));
        }
        line += token.matches('\n').count();
    }
    found
}

/// The text with the lines of items under `#[cfg(test)]` emptied.
#[must_use]
pub fn without_tests(text: &str) -> String {
    let code = code_only(text);
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    while let Some(start) = code[from..].find("#[cfg(test)]").map(|at| at + from) {
        let end = item_end(&code, start);
        kept.push_str(&text[from..start]);
        kept.extend(text[start..end].matches('\n'));
        from = end;
    }
    kept.push_str(&text[from..]);
    kept
}

/// Where the item that begins at `start` ends: at its closing brace or its semicolon.
fn item_end(code: &str, start: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(start) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth <= 1 => return at + 1,
            b'}' => depth -= 1,
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

fn blank(text: &str, literals_too: bool) -> String {
    let mut code = String::with_capacity(text.len());
    for (kind, token) in tokens(text) {
        match kind {
            Kind::Code => code.push_str(token),
            Kind::Literal if !literals_too => code.push_str(token),
            // As many bytes, so that places in the one are places in the other.
            _ => code.extend(token.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' })),
        }
    }
    code
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// The text in pieces, each whole of one kind.
fn tokens(text: &str) -> impl Iterator<Item = (Kind, &str)> {
    let mut rest = text;
    let mut word_before = false;
    std::iter::from_fn(move || {
        let next = rest.chars().next()?;
        let (kind, len) = if rest.starts_with("//") {
            (Kind::Comment, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (Kind::Comment, block_comment(rest))
        } else if let Some(len) = string(rest).filter(|_| next == '"' || !word_before) {
            (Kind::Literal, len)
        } else if let Some(len) = character(rest) {
            (Kind::Literal, len)
        } else {
            (Kind::Code, next.len_utf8())
        };
        word_before = kind == Kind::Code && (next.is_alphanumeric() || next == '_');
        let token = &rest[..len];
        rest = &rest[len..];
        Some((kind, token))
    })
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// The length of the string literal that `text` begins with.
fn string(text: &str) -> Option<usize> {
    let prefix = text.len() - text.trim_start_matches(['b', 'r', 'c']).len();
    if prefix > 2 {
        return None;
    }
    let raw = text[..prefix].contains('r');
    let hashes = text[prefix..].bytes().take_while(|&byte| raw && byte == b'#').count();
    let inside = text[prefix + hashes..].strip_prefix('"')?;
    let begin = prefix + hashes + 1;
    if raw {
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(inside.find(&end).map_or(text.len(), |at| begin + at + end.len()));
    }
    let mut escaped = false;
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(begin + at + 1),
            _ => {}
        }
    }
    Some(text.len())
}

/// The length of the character literal that `text` begins with; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    let first = inside.chars().next()?;
    let end = if first == '\\' {
        // The character behind the backslash may be a quote itself.
        2 + inside[2..].find('\'')?
    } else {
        first.len_utf8()
    };
    inside[end..].starts_with('\'').then_some(end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_told_from_code() {
        let text = r##"a("x // no", 'y', '\'', b"z"); // "c"
/* d /* e */ f */ g::<'h>(r#"i "j" "#, "k\"l"); br"m\" n"##;
        let want = format!("a({}, {}, {}, {}); {}", " ".repeat(9), "   ", "    ", "    ", "      ");
        let code = code_only(text);
        let mut lines = code.lines();
        assert_eq!(lines.next(), Some(want.as_str()));
        let second = lines.next().unwrap();
        assert_eq!(second.split_whitespace().collect::<String>(), "g::<'h>(,);n");
        assert_eq!(code.len(), text.len());
        assert!(without_comments(text).contains("x // no"));
        assert!(!without_comments(text).contains("\"c\""));
    }

    #[test]
    fn literals_come_with_their_lines() {
        let text = "a(\"x\");\n// \"no\"\nb(b\"y\", r#\"z\"#, 'c', \"p\nq\");\n\"last\"";
        assert_eq!(literals(text), [(1, "x"), (3, "y"), (3, "z"), (3, "p\nq"), (5, "last")]);
    }

    #[test]
    fn tests_are_cut_out_and_lines_stay_where_they_are() {
        let text = "a\n#[cfg(test)]\nmod tests {\n  \"}\" { }\n}\nb\n#[cfg(test)]\nuse c;\nd\n";
        assert_eq!(without_tests(text), "a\n\n\n\n\nb\n\n\nd\n");
    }
}
