//! From the model to tokens. Cannot fail, decides nothing: a loop in place, around an untouched body.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::ext::IdentExt;

use super::model::{self, Model, Place};
use crate::expand;

impl ToTokens for Model {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let repeated = self.repeated();
        let body = match &self.place {
            Place::Within(within) => within.with_block(repeated),
            Place::Async | Place::Blocking => repeated,
        };
        self.function.with_body(&body, tokens);
    }
}

impl Model {
    /// The loop, and what is needed once.
    fn repeated(&self) -> TokenStream {
        let span = Span::mixed_site();
        let krate = &self.krate;
        let private = quote_spanned!(span=> #krate::__private);
        let (terms, this) = (self.terms(&private), self.body.once());
        let wait = self.wait();
        let Some(value) = &self.value else {
            let attempt = self.attempt(&private);
            let given = |given: Option<TokenStream>, default: TokenStream| given.unwrap_or(default);
            let options = &self.options;
            let attempts = options.max_attempts.as_ref().map(|given| given.value.expr());
            let attempts = given(attempts, quote_spanned!(span=> #private::DEFAULT_ATTEMPTS));
            let within = options.within.as_ref().map(|given| given.value.expr(&private));
            let within = given(within, quote_spanned!(span=> #private::DEFAULT_WITHIN));
            return quote_spanned! {span=>
                let mut again = #private::again(#attempts, #within);
                let terms = #terms;
                #this
                loop {
                    if let #private::Err(error) = again.attempt() {
                        break terms.denied(error);
                    }
                    let output = #attempt;
                    match terms.answer(output) {
                        #private::Ok(output) => break output,
                        #private::Err(key) => {
                            if let #private::Err(error) = again.go_on(key) #wait {
                                break terms.denied(error);
                            }
                        }
                    }
                }
            };
        };
        let versioned = self.versioned(&private, value);
        let attempt = self.attempt(&private);
        let word = |required, optional| {
            Ident::new(if value.is_optional { optional } else { required }, span)
        };
        let (copy, settle) = (word("attempt", "attempt_option"), word("settle", "settle_option"));
        quote_spanned! {span=>
            let versioned = #versioned;
            let terms = #terms;
            let mut attempts = #private::attempts(&versioned);
            #this
            loop {
                let mut copy = match attempts.#copy() #wait {
                    #private::Ok(copy) => copy,
                    #private::Err(error) => break terms.denied(error),
                };
                let output = #attempt;
                match attempts.#settle(copy, terms.fails(&output)) #wait {
                    #private::Ok(true) => break output,
                    #private::Ok(false) => {}
                    #private::Err(error) => break terms.denied(error),
                }
            }
        }
    }

    fn is_async(&self) -> bool {
        !matches!(self.place, Place::Blocking)
    }

    fn wait(&self) -> Option<TokenStream> {
        self.is_async().then(|| quote_spanned!(Span::mixed_site()=> .await))
    }

    /// One attempt: its own arguments, and the body.
    fn attempt(&self, private: &TokenStream) -> TokenStream {
        let span = Span::mixed_site();
        let (fresh, this) = (self.attempt.fresh(private), self.body.each(self.exclusive_self));
        let body = expand::bound(&self.attempt.arguments, self.block());
        let copy = quote_spanned!(span=> &mut copy);
        let value = self.value.as_ref().map(|value| value.bind(&copy));
        let run = if self.is_async() {
            let pin = expand::pin(&self.krate, &self.output);
            // Not `move`: what is behind `self` is borrowed, and there for the next attempt.
            quote_spanned!(span=> async { #pin #value #body }.await)
        } else {
            let ty = &self.output.ty;
            quote_spanned!(span=> #private::once(|| -> #ty { #value #body }))
        };
        quote_spanned!(span=> { #fresh #this #run })
    }

    /// What the body's answers mean. The type is named, so that a wrong one is reported where it stands.
    fn terms(&self, private: &TokenStream) -> TokenStream {
        let span = Span::mixed_site();
        let output = &self.output;
        let ty = if output.nameable { output.ty.clone() } else { quote_spanned!(span=> _) };
        let word = if self.value.is_some() { "update" } else { "repeat" };
        let at_type = output.span.resolved_at(span);
        match &self.options.or_else {
            Some(given) => {
                let word = Ident::new(&format!("{word}_or_else"), at_type);
                let or_else = &given.value.0;
                quote_spanned!(span=> #private::#word::<#ty, _>(#or_else))
            }
            None => {
                let word = Ident::new(word, at_type);
                quote_spanned!(span=> #private::#word::<#ty>())
            }
        }
    }

    /// The `Versioned` that the options describe.
    fn versioned(&self, private: &TokenStream, value: &super::value::Value) -> TokenStream {
        let span = Span::mixed_site();
        let (options, ty) = (&self.options, &value.ty);
        let names = model::names(self);
        let key = options.key.as_ref().map(|given| expand::key(private, &given.value, &names));
        let codec = options.codec.as_ref().and_then(|given| given.value.expr(private));
        let client = options.using.as_ref().map(|given| {
            let expr = &given.value.0;
            let first = expr.to_token_stream().into_iter().next();
            let at = first.map_or(span, |first| first.span().resolved_at(span));
            quote_spanned!(at=> &(#expr),)
        });
        let word = match (&client, &codec) {
            (None, None) => "default_versioned",
            (None, Some(_)) => "default_versioned_with",
            (Some(_), None) => "versioned_on",
            (Some(_), Some(_)) => "versioned_on_with",
        };
        let at_type = value.ty_span().resolved_at(span);
        let word = Ident::new(word, at_type);
        let codec = codec.map(|codec| quote_spanned!(span=> , #codec));
        let label = self.function.sig.ident.unraw().to_string();
        let label = options.name.is_none().then(|| quote_spanned!(span=> .name(#label)));
        let setters = options.setters(private);
        quote_spanned!(span=> #private::#word::<#ty>(#client #key #codec) #label #setters)
    }
}
