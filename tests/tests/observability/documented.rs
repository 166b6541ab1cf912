//! Spans, events and labels are those of the documentation, and the other way round.

use tairlock_tests::{
    documented::{check_scrape, messages, metrics, spans},
    place::Place,
    world::{Tokio, World},
};

use crate::{ask, client, scrape, take, told};

#[test]
fn nothing_is_told_that_is_not_documented() {
    let world: &dyn World = &Tokio::default();
    let client = client(world, &Place::memory());
    _ = take(&*client, &ask("documented").fenced()).release().expect("it is ours");
    let (store, documented) = (told::store(), spans());
    let mut seen = 0;
    for span in store.spans.iter().filter(|span| span.name.starts_with("tairlock.")) {
        let row = documented.iter().find(|row| row.name == span.name).expect(span.name);
        for field in span.fields.keys() {
            assert!(row.labels.iter().any(|known| known == field), "{}: {field}", span.name);
        }
        seen += 1;
    }
    assert!(seen >= 2);
    for told in store.events.iter().filter(|told| told.target == "tairlock") {
        let message = &told.fields["message"];
        assert!(messages().iter().any(|known| message.starts_with(known)), "{message}");
    }
    drop(store);
    check_scrape(&scrape::text());
}

#[test]
fn the_tables_are_read() {
    assert_eq!((metrics().len(), spans().len(), messages().len()), (12, 2, 5));
    let held = metrics().into_iter().find(|row| row.name == "tairlock_held").expect("a row");
    assert_eq!((held.kind.as_str(), held.labels), ("gauge", vec!["name".to_owned()]));
    let caught = std::panic::catch_unwind(|| check_scrape("tairlock_secret_total{name=\"x\"} 1"));
    assert!(caught.is_err());
    let caught = std::panic::catch_unwind(|| check_scrape("tairlock_held{key=\"order:1\"} 1"));
    assert!(caught.is_err());
}
