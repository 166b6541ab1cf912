//! A subscriber that keeps all spans and events, and the recorder that Prometheus scrapes.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError},
};

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer, Registry,
    layer::{Context, SubscriberExt as _},
    registry::LookupSpan,
};

/// A span, by the order of their making.
#[derive(Clone, Debug, Default)]
pub(crate) struct Span {
    pub(crate) name: &'static str,
    pub(crate) fields: BTreeMap<&'static str, String>,
    pub(crate) parent: Option<usize>,
    pub(crate) closed: bool,
}

/// An event, and the span that it is in.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) target: &'static str,
    pub(crate) level: Level,
    pub(crate) fields: BTreeMap<&'static str, String>,
    pub(crate) span: Option<usize>,
}

#[derive(Default)]
pub(crate) struct Store {
    pub(crate) spans: Vec<Span>,
    pub(crate) events: Vec<Told>,
}

static STORE: Mutex<Store> = Mutex::new(Store { spans: Vec::new(), events: Vec::new() });
static SCRAPED: OnceLock<PrometheusHandle> = OnceLock::new();

/// Begins to listen, once for all tests.
pub(crate) fn listen() {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| {
        let subscriber = Registry::default().with(Listener);
        tracing::subscriber::set_global_default(subscriber).expect("nobody else listens");
        let recorder = PrometheusBuilder::new().install_recorder();
        _ = SCRAPED.set(recorder.expect("nobody else counts"));
    });
}

pub(crate) fn scraped() -> &'static PrometheusHandle {
    listen();
    SCRAPED.get().expect("somebody counts")
}

pub(crate) fn store() -> MutexGuard<'static, Store> {
    STORE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// The spans called `span` of the lock called `name`.
    pub(crate) fn of(&self, span: &str, name: &str) -> Vec<(usize, &Span)> {
        let ours = |(_, seen): &(usize, &Span)| {
            seen.name == span && seen.fields.get("name").is_some_and(|field| field == name)
        };
        self.spans.iter().enumerate().filter(ours).collect()
    }

    /// The events about `key` that say `message`.
    pub(crate) fn said(&self, message: &str, key: &str) -> Vec<&Told> {
        let about = |told: &&Told| {
            told.fields.get("message").is_some_and(|said| said.contains(message))
                && told.fields.get("key").is_some_and(|field| field == key)
        };
        self.events.iter().filter(about).collect()
    }
}

/// The outcomes of the spans called `span` of the lock called `name`, those that are closed.
pub(crate) fn outcomes(span: &str, name: &str) -> Vec<String> {
    let store = store();
    let spans = store.of(span, name).into_iter().filter(|(_, span)| span.closed);
    spans.map(|(_, span)| span.fields.get("outcome").cloned().unwrap_or_default()).collect()
}

struct Listener;

/// The place of a span in the store; its id is used again when it is closed.
struct Place(usize);

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        // Nothing is said twice.
        assert_eq!(self.0.insert(field.name(), value.to_owned()), None, "{field}");
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Listener {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, ctx: Context<'_, S>) {
        let span = ctx.span(id).expect("it was just made");
        let parent = span.parent().and_then(|parent| place(&parent));
        let mut seen = Span { name: span.name(), parent, ..Span::default() };
        attributes.record(&mut Fields(&mut seen.fields));
        let mut store = store();
        span.extensions_mut().insert(Place(store.spans.len()));
        store.spans.push(seen);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, ctx: Context<'_, S>) {
        if let Some(at) = ctx.span(id).and_then(|span| place(&span)) {
            values.record(&mut Fields(&mut store().spans[at].fields));
        }
    }

    fn on_event(&self, event: &Event<'_>, ctx: Context<'_, S>) {
        let span = ctx.event_span(event).and_then(|span| place(&span));
        let mut fields = BTreeMap::new();
        event.record(&mut Fields(&mut fields));
        let (target, level) = (event.metadata().target(), *event.metadata().level());
        store().events.push(Told { target, level, fields, span });
    }

    fn on_close(&self, id: Id, ctx: Context<'_, S>) {
        if let Some(at) = ctx.span(&id).and_then(|span| place(&span)) {
            store().spans[at].closed = true;
        }
    }
}

fn place<'a, R: LookupSpan<'a>>(
    span: &tracing_subscriber::registry::SpanRef<'a, R>,
) -> Option<usize> {
    span.extensions().get::<Place>().map(|place| place.0)
}
