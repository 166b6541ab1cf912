//! Key templates: `"order:{order_id}"` as literal text and values, such that different values never
//! make the same key.

use std::ops::Range;

use proc_macro2::{Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Error, Expr, ExprLit, Lit, LitStr, Member, Result};

/// What `key` may be.
pub(crate) enum Key {
    Template(Vec<Part>),
    /// Anything that is `AsRef<[u8]>`.
    Expr(Box<Expr>),
}

pub(crate) enum Part {
    Literal(String, Span),
    /// Tokens carry the literal's span, so that rustc reports a wrong name there.
    Value {
        tokens: TokenStream,
        raw: bool,
    },
}

impl Key {
    pub(crate) fn new(expr: Expr) -> Result<Self> {
        match &expr {
            Expr::Group(group) => Self::new((*group.expr).clone()),
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => template(text).map(Self::Template),
            Expr::Lit(ExprLit { lit: Lit::ByteStr(bytes), .. }) if bytes.value().is_empty() => {
                Err(Error::new(bytes.span(), EMPTY))
            }
            Expr::Lit(ExprLit { lit: Lit::ByteStr(_), .. }) => Ok(Self::Expr(Box::new(expr))),
            Expr::Lit(ExprLit { lit, .. }) => Err(Error::new(
                lit.span(),
                "a key is text (`key = \"order:{order_id}\"`) or an expression of bytes \
                 (`impl AsRef<[u8]>`)",
            )),
            _ => Ok(Self::Expr(Box::new(expr))),
        }
    }

    /// The tokens that user code put into the key.
    pub(crate) fn tokens(&self) -> TokenStream {
        match self {
            Self::Expr(expr) => expr.to_token_stream(),
            Self::Template(parts) => parts
                .iter()
                .filter_map(|part| match part {
                    Part::Value { tokens, .. } => Some(tokens.clone()),
                    Part::Literal(..) => None,
                })
                .collect(),
        }
    }
}

const EMPTY: &str =
    "a key must not be empty: name what is locked, as in `key = \"order:{order_id}\"`";

fn template(lit: &LitStr) -> Result<Vec<Part>> {
    let text = lit.value();
    if text.is_empty() {
        return Err(Error::new(lit.span(), EMPTY));
    }
    let scanner = Scanner { lit, token: lit.token(), text: &text };
    let mut parts = Vec::new();
    let mut errors: Option<Error> = None;
    let mut fail = |error: Error| match &mut errors {
        Some(all) => all.combine(error),
        none => *none = Some(error),
    };
    let mut literal = String::new();
    // The last placeholder: where it is, and whether it is raw.
    let mut last: Option<(Range<usize>, bool)> = None;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at + c.len_utf8()..];
        match c {
            '{' | '}' if rest.starts_with(c) => {
                literal.push(c);
                at += 2;
            }
            '{' => {
                let Some(len) = rest.find('}').filter(|end| !rest[..*end].contains('{')) else {
                    fail(
                        scanner.error(at..at + 1, "this `{` is not closed: write `{{` for a brace"),
                    );
                    break;
                };
                let range = at..at + len + 2;
                match scanner.placeholder(at + 1..at + 1 + len) {
                    Ok((tokens, raw)) => {
                        if let Some((before, before_raw)) = &last
                            && !raw
                            && !before_raw
                            && !literal.contains(separates)
                        {
                            let (a, b) = (&text[before.clone()], &text[range.clone()]);
                            fail(scanner.error(
                                before.start..range.end,
                                &format!(
                                    "`{a}` and `{b}` run into each other, so that different values \
                                     can make the same key: put a `:` between them (`{a}:{b}`), or \
                                     mark a value that needs no encoding (`{})",
                                    b.replace('}', ":raw}`"),
                                ),
                            ));
                        }
                        if !literal.is_empty() {
                            parts.push(Part::Literal(std::mem::take(&mut literal), lit.span()));
                        }
                        parts.push(Part::Value { tokens, raw });
                        last = Some((range.clone(), raw));
                    }
                    Err(error) => fail(error),
                }
                at = range.end;
            }
            '}' => {
                fail(scanner.error(at..at + 1, "nothing opens this `}`: write `}}` for a brace"));
                at += 1;
            }
            c => {
                literal.push(c);
                at += c.len_utf8();
            }
        }
    }
    if !literal.is_empty() {
        parts.push(Part::Literal(literal, lit.span()));
    }
    errors.map_or(Ok(parts), Err)
}

/// Whether no encoded value contains `c`: then it ends a value wherever it stands.
///
/// `%` does not: values contain it, in front of two hexadecimal digits.
fn separates(c: char) -> bool {
    matches!(c, ':' | '{' | '}') || c.is_ascii_control()
}

struct Scanner<'a> {
    lit: &'a LitStr,
    token: Literal,
    text: &'a str,
}

impl Scanner<'_> {
    /// The part of the literal that holds `range` of its text, where the compiler can tell.
    fn span(&self, range: Range<usize>) -> Span {
        let source = self.token.to_string();
        let plain = source.find('"').filter(|quote| source[quote + 1..].starts_with(self.text));
        plain
            .and_then(|quote| self.token.subspan(quote + 1 + range.start..quote + 1 + range.end))
            .unwrap_or_else(|| self.lit.span())
    }

    fn error(&self, range: Range<usize>, message: &str) -> Error {
        Error::new(self.span(range), message)
    }

    /// `order_id`, `req.id`, `self.region:raw`: what stands between the braces.
    fn placeholder(&self, range: Range<usize>) -> Result<(TokenStream, bool)> {
        let inner = &self.text[range.clone()];
        let colon = inner.char_indices().position_of_spec();
        let (name, spec) = match colon {
            Some(at) => (&inner[..at], Some(&inner[at + 1..])),
            None => (inner, None),
        };
        let error = |message: &str| Err(self.error(range.clone(), message));
        let raw = match spec.map(str::trim) {
            None => false,
            Some("raw") => true,
            Some(spec) => {
                return error(&format!(
                    "`:{spec}` is not understood: a value is written as `{{}}` writes it, and `:raw` \
                     is the only thing that can follow; for another format write an expression, as \
                     in `key = format!(\"…\")`"
                ));
            }
        };
        let name = name.trim();
        if name.is_empty() {
            return error("name what goes here, as in `{order_id}`; write `{{}}` for braces");
        }
        let Ok(expr) = syn::parse_str::<Expr>(name) else {
            return error(&format!("`{name}` is no expression; write `{{{{` for a brace"));
        };
        if !is_simple(&expr) {
            return error(&format!(
                "`{name}` is too much for a key: a value is an argument, a field, a tuple index or a \
                 method without arguments (`{{order_id}}`, `{{req.id}}`, `{{self.0}}`, `{{req.id()}}`); \
                 for more write an expression, as in `key = format!(\"…\")`"
            ));
        }
        Ok((respan(expr.to_token_stream(), self.span(range.start..range.start + name.len())), raw))
    }
}

/// Where `:spec` begins: the first `:` that is not part of a `::`.
trait PositionOfSpec {
    fn position_of_spec(self) -> Option<usize>;
}

impl PositionOfSpec for std::str::CharIndices<'_> {
    fn position_of_spec(self) -> Option<usize> {
        let mut chars = self.peekable();
        while let Some((at, c)) = chars.next() {
            if c == ':' && chars.next_if(|(_, next)| *next == ':').is_none() {
                return Some(at);
            }
        }
        None
    }
}

fn is_simple(expr: &Expr) -> bool {
    match expr {
        Expr::Path(path) => path.qself.is_none() && path.attrs.is_empty(),
        Expr::Field(field) => {
            is_simple(&field.base) && matches!(&field.member, Member::Named(_) | Member::Unnamed(_))
        }
        Expr::MethodCall(call) => {
            is_simple(&call.receiver) && call.args.is_empty() && call.turbofish.is_none()
        }
        Expr::Index(index) => {
            is_simple(&index.expr)
                && (is_simple(&index.index)
                    || matches!(&*index.index, Expr::Lit(ExprLit { lit: Lit::Int(_), .. })))
        }
        _ => false,
    }
}

fn respan(tokens: TokenStream, span: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut tree| {
            if let TokenTree::Group(group) = &tree {
                tree = Group::new(group.delimiter(), respan(group.stream(), span)).into();
            }
            tree.set_span(span);
            tree
        })
        .collect()
}

/// Whether `tokens` mention `name`, also inside a format string (`format!("{name}")`).
pub(crate) fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => ident == *name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        TokenTree::Literal(literal) => literal.to_string().contains(&format!("{{{name}")),
        TokenTree::Punct(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Literal text as it is, values in `⟨⟩`, raw values in `⟨⟩!`.
    fn show(source: &str) -> std::result::Result<String, Vec<String>> {
        match template(&LitStr::new(source, Span::call_site())) {
            Ok(parts) => Ok(parts
                .iter()
                .map(|part| match part {
                    Part::Literal(text, _) => text.clone(),
                    Part::Value { tokens, raw } => {
                        let value = tokens.to_string().replace(' ', "");
                        format!("⟨{value}⟩{}", if *raw { "!" } else { "" })
                    }
                })
                .collect()),
            Err(errors) => Err(errors.into_iter().map(|error| error.to_string()).collect()),
        }
    }

    #[test]
    fn templates_are_split_into_text_and_values() {
        for (source, shown) in [
            ("nightly", "nightly"),
            ("order:{order_id}", "order:⟨order_id⟩"),
            ("{a}:{b}", "⟨a⟩:⟨b⟩"),
            ("{a}-x:y-{b}", "⟨a⟩-x:y-⟨b⟩"),
            ("{a}\n{b}", "⟨a⟩\n⟨b⟩"),
            ("order:{req.id}:{self.region}", "order:⟨req.id⟩:⟨self.region⟩"),
            ("{ids[0]}:{pair.1.0}:{req.id()}", "⟨ids[0]⟩:⟨pair.1.0⟩:⟨req.id()⟩"),
            ("{config::REGION}:{ x }", "⟨config::REGION⟩:⟨x⟩"),
            ("{config::REGION:raw}", "⟨config::REGION⟩!"),
            ("{a:raw}{b:raw}{c}", "⟨a⟩!⟨b⟩!⟨c⟩"),
            ("{{tag}}{{{user}}}:cart", "{tag}{⟨user⟩}:cart"),
            ("{r#type}", "⟨r#type⟩"),
            ("größe:{ä}", "größe:⟨ä⟩"),
        ] {
            assert_eq!(show(source), Ok(shown.to_owned()), "{source}");
        }
    }

    #[test]
    fn ambiguous_or_malformed_templates_are_refused() {
        for (source, reasons) in [
            ("", &["must not be empty"][..]),
            ("{a}{b}", &["`{a}` and `{b}` run into each other"]),
            ("{a}-{b}", &["(`{a}:{b}`), or mark a value that needs no encoding (`{b:raw}`)"]),
            ("{a}%{b}", &["run into each other"]),
            ("{a}{b}{c}", &["`{a}` and `{b}`", "`{b}` and `{c}`"]),
            ("{", &["not closed"]),
            ("order:{id", &["not closed"]),
            ("{a{b}}", &["not closed"]),
            ("order:}", &["nothing opens"]),
            ("{}", &["name what goes here"]),
            ("{:raw}", &["name what goes here"]),
            ("{0}", &["too much for a key"]),
            ("{a + b}", &["too much for a key"]),
            ("{f(x)}", &["too much for a key"]),
            ("{x.f(1)}", &["too much for a key"]),
            ("{x?}", &["too much for a key"]),
            ("{a b}", &["no expression"]),
            ("{x:?}", &["`:?` is not understood"]),
            ("{x:08}:{y:>3}", &["`:08` is not understood", "`:>3` is not understood"]),
        ] {
            let errors = show(source).expect_err(source);
            assert_eq!(errors.len(), reasons.len(), "{source}: {errors:?}");
            for (error, reason) in errors.iter().zip(reasons) {
                assert!(error.contains(reason), "{source}: {error}");
            }
        }
    }

    /// Every accepted template with two values: no two pairs of values make the same key.
    #[test]
    fn what_is_accepted_is_injective() {
        fn encode(value: &str) -> String {
            let special = |c: char| matches!(c, '%' | ':' | '{' | '}') || c.is_ascii_control();
            let one =
                |c: char| if special(c) { format!("%{:02X}", c as u32) } else { c.to_string() };
            value.chars().map(one).collect()
        }
        let alphabet = ["", "%", ":", "-", "2", "5", "3", "A", "{", "\n"];
        let mut values: Vec<String> = Vec::new();
        for a in alphabet {
            for b in alphabet {
                for c in alphabet {
                    values.push([a, b, c].concat());
                }
            }
        }
        values.sort();
        values.dedup();
        let mut refused = Vec::new();
        for separator in ["", "-", "%", "%2", "A", ":", "-:", ":-", "{{", "}}", "\n"] {
            if show(&format!("{{a}}{separator}{{b}}")).is_err() {
                refused.push(separator);
                continue;
            }
            let mut seen = std::collections::HashSet::new();
            let separator = separator.replace("{{", "{").replace("}}", "}");
            for a in values.iter().step_by(3) {
                for b in values.iter().step_by(2) {
                    let key = format!("{}{separator}{}", encode(a), encode(b));
                    assert!(seen.insert(key.clone()), "{separator:?}: {key:?} twice");
                }
            }
        }
        assert_eq!(refused, ["", "-", "%", "%2", "A"]);
    }
}
