//! Updates of values: how they end, at how many attempts and conflicts.

use tairlock::{Error, optimistic_retry};

use crate::{scrape::count, told};

fn updated(name: &str, outcome: &str) -> f64 {
    count("tairlock_updates_total", name, &[("outcome", outcome)])
}

/// Attempts and conflicts of all updates so far.
fn cost(name: &str) -> (f64, f64) {
    let sum = |metric| count(metric, name, &[]);
    (sum("tairlock_update_attempts_sum"), sum("tairlock_update_conflicts_sum"))
}

#[tokio::test]
async fn updates_are_counted() {
    told::listen();
    let store = std::sync::Arc::default();
    let client = || tairlock::Client::builder().store(std::sync::Arc::clone(&store)).build();
    let (ours, theirs) = (client().await.unwrap(), client().await.unwrap());
    let value = ours.versioned::<u32>("stock").default(5).name("stock");
    value
        .update(|stock| {
            *stock -= 1;
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
    let first = cost("stock");
    assert_eq!((updated("stock", "committed"), first), (1.0, (1.0, 0.0)));

    // Somebody else is faster, once.
    theirs
        .versioned::<u32>("stock")
        .update(|stock| {
            *stock -= 1;
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
    value
        .update(|stock| {
            *stock -= 1;
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
    assert_eq!((updated("stock", "committed"), cost("stock")), (2.0, (3.0, 1.0)));

    let given_up = value.update(|_| Err::<(), _>(Error::Closed)).await;
    assert!(given_up.is_err());
    value.update(|_| Ok::<_, Error>(())).await.unwrap();
    let ends = ["committed", "unchanged", "given_up"].map(|end| updated("stock", end));
    assert_eq!(ends.iter().sum::<f64>(), 4.0, "{ends:?}");

    let absent = ours.versioned::<u32>("nothing").name("nothing");
    assert!(matches!(absent.update(|_| Ok::<_, Error>(())).await, Err(Error::Absent { .. })));
    let hopeless = value.max_attempts(1);
    theirs
        .versioned::<u32>("stock")
        .update(|stock| {
            *stock += 1;
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
    let exhausted = hopeless
        .update(|stock| {
            *stock -= 1;
            Ok::<_, Error>(())
        })
        .await;
    assert!(matches!(exhausted, Err(Error::Exhausted { .. })), "{exhausted:?}");
    assert_eq!(updated("stock", "exhausted"), 1.0);
}

#[tokio::test]
async fn annotated_updates_are_counted_under_the_functions_name() {
    #[optimistic_retry(key = "annotated", default = 0, using = client)]
    async fn annotated_reserve(
        client: &tairlock::Client,
        #[value] n: &mut u32,
    ) -> Result<(), Error> {
        *n += 1;
        Ok(())
    }
    #[tairlock_sync::optimistic_retry(
        key = "annotated", default = 0, name = "annotated-sale", using = client,
    )]
    fn annotated_sell(client: &tairlock_sync::Client, #[value] n: &mut u32) -> Result<(), Error> {
        *n += 1;
        Ok(())
    }
    told::listen();
    annotated_reserve(&tairlock::Client::in_memory()).await.unwrap();
    annotated_sell(&tairlock_sync::Client::in_memory()).unwrap();
    for name in ["annotated_reserve", "annotated-sale"] {
        assert_eq!(updated(name, "committed"), 1.0, "{name}");
    }
}

#[test]
fn blocking_updates_are_counted() {
    told::listen();
    let client = tairlock_sync::Client::in_memory();
    let value = client.versioned::<u32>("stock").default(5).name("blocking-stock");
    value
        .update(|stock| {
            *stock -= 1;
            Ok::<_, Error>(())
        })
        .unwrap();
    assert_eq!((updated("blocking-stock", "committed"), cost("blocking-stock")), (1.0, (1.0, 0.0)));
}
