//! The expansions that the documentation shows are the ones that are made: `EXPANSIONS=overwrite` renews them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;

use crate::{
    model::{self, Model},
    retry,
};

/// The pages, how many expansions each shows, and what each may add to a body, in tokens: every build of
/// every user reads them.
const PAGES: [(&str, usize, usize); 2] =
    [("src/expansions.md", 6, 240), ("src/retry/expansions.md", 2, 320)];

/// The attribute that `source` begins with, its arguments, and the function.
fn split(source: &str) -> (String, TokenStream, TokenStream) {
    let mut trees = source.parse::<TokenStream>().expect("tokens").into_iter();
    let Some(TokenTree::Group(attribute)) = trees.nth(1) else { panic!("#[…]: {source}") };
    let (mut name, mut arguments) = (String::new(), TokenStream::new());
    for tree in attribute.stream() {
        match tree {
            TokenTree::Group(group) => arguments = group.stream(),
            tree => name = tree.to_string(),
        }
    }
    (name, arguments, trees.collect())
}

fn expand(source: &str) -> TokenStream {
    let (name, arguments, function) = split(source);
    let expansion = match name.as_str() {
        model::NAME => Model::new(arguments, function).map(|model| model.into_token_stream()),
        _ => retry::model::Model::new(arguments, function).map(|model| model.into_token_stream()),
    };
    expansion.unwrap_or_else(|_| panic!("refused: {source}"))
}

fn count(tokens: TokenStream) -> usize {
    let of = |tree| match tree {
        TokenTree::Group(group) => 2 + count(group.stream()),
        _ => 1,
    };
    tokens.into_iter().map(of).sum()
}

fn pretty(tokens: &TokenStream) -> String {
    let file = syn2::parse_file(&tokens.to_string()).expect("an expansion is Rust");
    let text = prettyplease::unparse(&file);
    text.replace("::tairlock::__private", "private")
        .replace("::tairlock_sync::__private", "private")
}

/// The text with each expansion as it is made now, and the functions that are expanded.
fn renewed(text: &str) -> (String, Vec<String>) {
    let (mut out, mut sources) = (String::new(), Vec::new());
    // Code is every second piece; of two pieces of code the second is what the first becomes.
    for (nth, piece) in text.split("```").enumerate() {
        let hidden: String = piece
            .lines()
            .filter(|line| line.starts_with("# "))
            .fold(String::new(), |all, line| all + line + "\n");
        let shown: String = piece
            .lines()
            .filter(|line| !line.starts_with("# "))
            .fold(String::new(), |all, line| all + line + "\n");
        match nth % 4 {
            1 => sources.push(shown),
            3 => {
                let made = pretty(&expand(sources.last().expect("a function")));
                out.push_str(&format!("```\n{hidden}{made}```"));
                continue;
            }
            _ => {}
        }
        out.push_str(if nth % 4 == 1 { "```" } else { "" });
        out.push_str(piece);
        out.push_str(if nth % 4 == 1 { "```" } else { "" });
    }
    (out, sources)
}

fn read(page: &str) -> (PathBuf, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let text = fs::read_to_string(&path).expect("the page");
    (path, text)
}

#[test]
fn the_expansions_in_the_documentation_are_those_that_are_made() {
    for (page, count, _) in PAGES {
        let (path, text) = read(page);
        let (made, sources) = renewed(&text);
        assert_eq!(sources.len(), count);
        if std::env::var_os("EXPANSIONS").is_some_and(|value| value == "overwrite") {
            fs::write(&path, made).expect("the page");
        } else {
            assert_eq!(text, made, "EXPANSIONS=overwrite renews the page");
        }
    }
}

#[test]
fn an_expansion_is_small() {
    for (page, _, most) in PAGES {
        for source in renewed(&read(page).1).1 {
            let (_, _, function) = split(&source);
            let added = count(expand(&source)) - count(function);
            assert!(added <= most, "{added} tokens are added, {most} are the most: {source}");
        }
    }
}

/// M24: a lint that an older compiler or clippy does not know would be one more warning there.
#[test]
fn m24_no_lint_is_named_that_is_newer_than_the_oldest_compiler() {
    const OLD: [&str; 3] = [
        "unused_variables",
        "clippy :: no_effect_underscore_binding", // 1.58
        "clippy :: used_underscore_binding",
    ];
    let source =
        "#[distributed_lock(key = \"a:{x}\")] async fn f(x: u8, _y: u8, mut z: u8, _: u8) {}";
    let mut named = 0;
    let text = expand(source).to_string();
    let again =
        "#[optimistic_retry(key = \"a\")] async fn f(#[value] n: &mut u8, _y: u8) { _ = (_y, n) }";
    let text = text + &expand(again).to_string();
    for lints in text.split("# [allow (").skip(1) {
        let lints = lints.split(')').next().expect("a list");
        for lint in lints.split(" , ") {
            assert!(OLD.contains(&lint.trim()), "{lint}");
            named += 1;
        }
    }
    assert!(named > 1, "{text}");
}
