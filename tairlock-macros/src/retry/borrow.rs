//! Results that borrow from what an attempt may change: no attempt can give that away, as there may be
//! another one.

use proc_macro2::Span;
use syn::{
    FnArg, Lifetime, ReceiverKind, Signature, Type, TypeReference,
    spanned::Spanned,
    visit::{self, Visit},
    visit_mut::{self, VisitMut},
};

/// Where `output` borrows from an exclusive borrow among the arguments of `sig`, and from which.
pub(crate) fn exclusive(sig: &Signature, output: &Type) -> Option<(Span, String)> {
    let mut borrows = Borrows::default();
    borrows.visit_type(output);
    let all: Vec<_> = sig.inputs.iter().map(source).collect();
    let named = |(ident, at): &(Option<Lifetime>, Span)| {
        let lifetime = ident.as_ref()?;
        let from =
            all.iter().find(|source| source.exclusive.as_ref() == Some(&Some(lifetime.clone())))?;
        Some((*at, from.name.clone()))
    };
    if let Some(found) = borrows.0.iter().find_map(named) {
        return Some(found);
    }
    // By the rules of elision: from `&self` or `&mut self`, or else from the only one.
    let (_, at) = borrows.0.iter().find(|(lifetime, _)| lifetime.is_none())?;
    let from = match &all[..] {
        [receiver, ..] if receiver.is_self && receiver.count > 0 => receiver,
        all => match all.iter().map(|source| source.count).sum::<usize>() {
            1 => all.iter().find(|source| source.count == 1)?,
            _ => return None,
        },
    };
    from.exclusive.is_some().then(|| (*at, from.name.clone()))
}

/// Lets the output of `sig` borrow from nothing, where nothing is there to borrow from.
pub(crate) fn free(sig: &mut Signature) {
    struct Static;
    impl VisitMut for Static {
        fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
            let at = reference.and_token.span();
            reference.lifetime.get_or_insert_with(|| Lifetime::new("'static", at));
            visit_mut::visit_type_reference_mut(self, reference);
        }
    }
    if sig.inputs.iter().all(|arg| source(arg).count == 0) {
        Static.visit_return_type_mut(&mut sig.output);
    }
}

/// Something to borrow from.
struct Source {
    name: String,
    is_self: bool,
    /// The lifetime of the `&mut` that it is, if it is one; `None` in it is elided.
    exclusive: Option<Option<Lifetime>>,
    /// How many lifetimes there are in it.
    count: usize,
}

fn source(arg: &FnArg) -> Source {
    let of_type = |ty: &Type, name: String, is_self| {
        let mut borrows = Borrows::default();
        borrows.visit_type(ty);
        let exclusive = match ty {
            Type::Reference(reference) if reference.mutability.is_some() => {
                Some(reference.lifetime.clone().filter(|lifetime| lifetime.ident != "_"))
            }
            _ => None,
        };
        Source { name, is_self, exclusive, count: borrows.0.len() }
    };
    match arg {
        FnArg::Typed(arg) => {
            let pat = &arg.pat;
            of_type(&arg.ty, quote::quote!(#pat).to_string(), false)
        }
        FnArg::Receiver(receiver) => match &receiver.kind {
            ReceiverKind::Reference(_, lifetime, mutability) => Source {
                name: "self".to_owned(),
                is_self: true,
                exclusive: mutability.is_some().then(|| lifetime.clone()),
                count: 1,
            },
            ReceiverKind::Typed(_, ty) => of_type(ty, "self".to_owned(), true),
            _ => Source { name: "self".to_owned(), is_self: true, exclusive: None, count: 0 },
        },
    }
}

/// The lifetimes of a type, `None` where they are elided.
#[derive(Default)]
struct Borrows(Vec<(Option<Lifetime>, Span)>);

impl Visit<'_> for Borrows {
    fn visit_type_reference(&mut self, reference: &TypeReference) {
        if reference.lifetime.is_none() {
            self.0.push((None, reference.and_token.span()));
        }
        visit::visit_type_reference(self, reference);
    }

    fn visit_lifetime(&mut self, lifetime: &Lifetime) {
        let named = (lifetime.ident != "_").then(|| lifetime.clone());
        self.0.push((named, lifetime.span()));
    }

    // `fn(&T) -> &U` and `impl Fn(&T) -> &U` have lifetimes of their own.
    fn visit_type_fn_ptr(&mut self, _: &syn::TypeFnPtr) {}
    fn visit_parenthesized_generic_arguments(&mut self, _: &syn::ParenthesizedGenericArguments) {}
}
