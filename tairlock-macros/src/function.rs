//! A function as the attribute sees it: signature parsed, body left as it is.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, TokenStreamExt};
use syn::{
    Attribute, Ident, Result, Signature, Token, Visibility,
    parse::{Parse, ParseStream, Parser},
};

/// A `fn` whose body need not parse, so that half-typed code still expands.
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) default: Option<Ident>,
    pub(crate) sig: Signature,
    /// `#![…]` at the head of the body.
    pub(crate) inner_attrs: Vec<Attribute>,
    pub(crate) body: Body,
}

pub(crate) enum Body {
    Block(Group),
    /// `fn f();`, in a trait or an `extern` block.
    None(Span),
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let default = input.step(|cursor| match cursor.ident() {
            Some((ident, rest)) if ident == "default" => Ok((Some(ident), rest)),
            _ => Ok((None, *cursor)),
        })?;
        let sig = input.parse()?;
        if input.peek(Token![;]) {
            let semi: Token![;] = input.parse()?;
            let body = Body::None(semi.span);
            return Ok(Self { attrs, vis, default, sig, inner_attrs: Vec::new(), body });
        }
        let TokenTree::Group(group) = input.parse::<TokenTree>()? else {
            return Err(input.error("expected the body of a function"));
        };
        let (inner_attrs, group) = split_inner_attrs(group);
        Ok(Self { attrs, vis, default, sig, inner_attrs, body: Body::Block(group) })
    }
}

/// Takes `#![…]` out of a block: they may only stand at the head of the function itself.
fn split_inner_attrs(group: Group) -> (Vec<Attribute>, Group) {
    let parser = |input: ParseStream<'_>| {
        let attrs = input.call(Attribute::parse_inner)?;
        Ok((attrs, input.parse::<TokenStream>()?))
    };
    match parser.parse2(group.stream()) {
        Ok((attrs, rest)) if !attrs.is_empty() => {
            let mut stripped = Group::new(group.delimiter(), rest);
            stripped.set_span(group.span());
            (attrs, stripped)
        }
        _ => (Vec::new(), group),
    }
}

impl Function {
    /// The function with another body.
    pub(crate) fn with_body(&self, body: &TokenStream, tokens: &mut TokenStream) {
        tokens.append_all(&self.attrs);
        self.vis.to_tokens(tokens);
        self.default.to_tokens(tokens);
        self.sig.to_tokens(tokens);
        let mut content = TokenStream::new();
        content.append_all(&self.inner_attrs);
        content.extend(body.clone());
        let mut group = Group::new(proc_macro2::Delimiter::Brace, content);
        if let Body::Block(block) = &self.body {
            // With braces of ours rustc would not find that nobody calls the function.
            group.set_span(block.span());
        }
        tokens.append(group);
    }
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match &self.body {
            Body::Block(block) => self.with_body(&block.stream(), tokens),
            Body::None(span) => {
                tokens.append_all(&self.attrs);
                self.vis.to_tokens(tokens);
                self.default.to_tokens(tokens);
                self.sig.to_tokens(tokens);
                Token![;](*span).to_tokens(tokens);
            }
        }
    }
}
