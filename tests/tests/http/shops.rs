//! The two example shops as processes that share a server: crashes, shutdown, and a crowd.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::Value;
use tairlock::Client;
use tairlock_tests::{Server, program::Program};
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{
    server,
    services::{BOTH, Kind},
    wire::{Answer, Visitor, get, request, try_post},
    within,
};

pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");

/// A shop that runs in a process of its own.
pub(crate) struct Shop {
    pub(crate) addr: SocketAddr,
    pub(crate) process: Program,
}

impl Kind {
    /// Opens a shop, which is alone without a server.
    pub(crate) fn open(self, server: Option<&Server>, payment_ms: u32) -> Shop {
        let program = match self {
            Self::Axum => env!("CARGO_BIN_EXE_shop-on-axum"),
            Self::Actix => env!("CARGO_BIN_EXE_shop-on-actix"),
        };
        let (url, payment) = (server.map(Server::url), payment_ms.to_string());
        let mut arguments = vec!["--listen", "127.0.0.1:0", "--payment-ms", &payment];
        arguments.extend(["--report-every", "1"]);
        if let Some(url) = &url {
            arguments.extend(["--url", url]);
        }
        let process = Program::start(program, &arguments).expect("a shop");
        let line = process.line();
        let addr = line.strip_prefix("listening on http://").and_then(|addr| addr.parse().ok());
        Shop { addr: addr.unwrap_or_else(|| panic!("{line}")), process }
    }
}

/// What the server says of the shops.
struct Books(Client);

impl Books {
    async fn of(server: &Server) -> Self {
        Self(Client::connect(server.url()).await.expect("a client"))
    }

    async fn fill(&self, left: u32) {
        let stock = self.0.versioned::<Value>("stock:mug");
        let filled = stock.create(&serde_json::json!({ "left": left })).await;
        assert!(filled.expect("the server answers") > 0);
    }

    /// How many are left; which orders have how many; and that all of them are paid.
    async fn account(&self) -> (u64, Vec<(u64, u64)>) {
        let stock = self.0.versioned::<Value>("stock:mug").read().await;
        let stock = stock.expect("the server answers").expect("a stock").value;
        let sold = stock["sold"].as_object().into_iter().flatten();
        let sold = sold.map(|(order, sale)| {
            assert_eq!(sale["paid"], true, "order {order}");
            (order.parse().expect("a number"), sale["quantity"].as_u64().expect("a number"))
        });
        let mut sold: Vec<_> = sold.collect();
        sold.sort_unstable();
        (stock["left"].as_u64().expect("a number"), sold)
    }

    /// Waits until a handler has set goods aside for the order: from then on it is paid.
    async fn is_under_way(&self, order: &str) {
        let stock = self.0.versioned::<Value>("stock:mug");
        within(async {
            loop {
                let seen = stock.read().await.expect("the server answers");
                if seen.is_some_and(|seen| !seen.value["sold"][order].is_null()) {
                    return;
                }
            }
        })
        .await;
    }

    async fn payments(&self) -> i64 {
        let payments = self.0.versioned::<i64>("payments").integer().read().await;
        payments.expect("the server answers").map_or(0, |payments| payments.value)
    }
}

fn checkout(order: u64) -> String {
    format!("/orders/{order}/checkout")
}

const ONE_MUG: &str = r#"{"sku":"mug","quantity":1}"#;

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_is_checked_out_64_times_at_once_is_paid_once() {
    for kind in BOTH {
        let server = server();
        let books = Books::of(&server).await;
        books.fill(100).await;
        let shops = [kind.open(Some(&server), 20), kind.open(Some(&server), 20)];
        let mut asked = JoinSet::new();
        for nth in 0..64 {
            let addr = shops[nth % 2].addr;
            asked.spawn(async move { try_post(addr, &checkout(7), &[JSON], ONE_MUG).await });
        }
        let answers = within(asked.join_all()).await;
        let mut seen: Vec<_> = answers
            .into_iter()
            .map(|answer| answer.map(|answer| (answer.status, answer.body)).expect("an answer"))
            .collect();
        seen.sort();
        let receipt = r#"{"order":7,"sku":"mug","quantity":1,"left":99}"#;
        assert_eq!(seen[0], (201, receipt.to_owned()), "{kind:?}");
        for other in &seen[1..] {
            assert_eq!(*other, (409, r#"{"error":"paid already"}"#.to_owned()), "{kind:?}");
        }
        assert_eq!((books.payments().await, books.account().await), (1, (99, vec![(7, 1)])));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scheduled_job_is_done_by_one_machine_per_period() {
    let server = server();
    let shops = BOTH.map(|kind| kind.open(Some(&server), 1));
    let report = async |nth: usize| {
        let report: Value =
            serde_json::from_str(&get(shops[nth].addr, "/report").await.body).expect("a report");
        let number = |name: &str| report[name].as_u64().expect("a number");
        (number("runs"), number("period"))
    };
    within(async {
        let mut first = report(0).await;
        while first.0 == 0 {
            first = report(0).await;
        }
        let mut last = first;
        while last.1 < first.1 + 3 {
            last = report(1).await;
        }
        // Not more than seconds, though there are two machines. (One may be missed on a busy one.)
        assert!(last.0 - first.0 <= last.1 - first.1, "{first:?} {last:?}");
    })
    .await;
}

/// Where the shops are, since one of them is opened anew elsewhere.
type Addresses = Arc<Mutex<[SocketAddr; 4]>>;

/// Tries until it is known whether the order has its mug.
async fn insist(order: u64, shops: &Addresses, nth: usize) -> bool {
    for attempt in 0.. {
        let addr = shops.lock().expect("no panic")[(nth + attempt) % 4];
        // A connection that broke says nothing.
        let Ok(answer) = try_post(addr, &checkout(order), &[JSON], ONE_MUG).await else { continue };
        match (answer.status, answer.body.as_str()) {
            (201, _) | (409, r#"{"error":"paid already"}"#) => return true,
            (409, r#"{"error":"sold out"}"#) => return false,
            (409 | 423 | 503, _) => {}
            _ => panic!("order {order}: {answer:?}"),
        }
    }
    unreachable!("it tries for ever")
}

/// Two shops of each kind share the stock, and one dies.
async fn never_oversold(dies: Kind) {
    const MUGS: u32 = 100;
    const ORDERS: u64 = 160;
    let server = server();
    let books = Books::of(&server).await;
    books.fill(MUGS).await;
    let kinds =
        [dies, Kind::Axum, Kind::Actix, if dies == Kind::Axum { Kind::Actix } else { Kind::Axum }];
    let mut shops = kinds.map(|kind| kind.open(Some(&server), 5));
    let addresses: Addresses = Arc::new(Mutex::new(shops.each_ref().map(|shop| shop.addr)));
    let (done, room) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(24)));
    let mut buyers = JoinSet::new();
    for order in 0..ORDERS {
        let (addresses, done, room) =
            (Arc::clone(&addresses), Arc::clone(&done), Arc::clone(&room));
        buyers.spawn(async move {
            let _inside = room.acquire().await.expect("never closed");
            let bought = insist(order, &addresses, order as usize).await;
            done.add_permits(1);
            bought.then_some(order)
        });
    }
    // In the middle of the rush, one of the processes dies, and one is opened in its place.
    within(done.acquire_many(30)).await.expect("never closed").forget();
    shops[0].process.kill();
    shops[0] = dies.open(Some(&server), 5);
    addresses.lock().expect("no panic")[0] = shops[0].addr;

    let bought: BTreeSet<u64> = within(buyers.join_all()).await.into_iter().flatten().collect();
    let (left, sold) = books.account().await;
    assert_eq!((left, sold.len()), (0, MUGS as usize), "{dies:?}");
    assert!(sold.iter().all(|(_, quantity)| *quantity == 1));
    assert_eq!(sold.into_iter().map(|(order, _)| order).collect::<BTreeSet<_>>(), bought);
    // Those that were being paid when the process died may have been paid again.
    let payments = books.payments().await;
    assert!((i64::from(MUGS)..=i64::from(MUGS) + 24).contains(&payments), "{payments}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_account_is_exact_after_a_crash_on_axum() {
    never_oversold(Kind::Axum).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_account_is_exact_after_a_crash_on_actix() {
    never_oversold(Kind::Actix).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shop_that_is_told_to_close_under_load_leaves_no_lock() {
    for kind in BOTH {
        let server = server();
        let books = Books::of(&server).await;
        books.fill(1_000_000).await;
        let mut shop = kind.open(Some(&server), 20);
        let (addr, next) = (shop.addr, Arc::new(AtomicUsize::new(0)));
        let done = Arc::new(Semaphore::new(0));
        let mut buyers = JoinSet::new();
        for _ in 0..32 {
            let (next, done) = (Arc::clone(&next), Arc::clone(&done));
            buyers.spawn(async move {
                let mut confirmed = Vec::new();
                let Ok(mut visitor) = Visitor::connect(addr).await else { return confirmed };
                loop {
                    let order = next.fetch_add(1, Ordering::Relaxed) as u64;
                    let asked = request("POST", &checkout(order), &[JSON], ONE_MUG);
                    match visitor.send(asked).await {
                        Ok(answer) if answer.status == 201 => confirmed.push((order, 1)),
                        Ok(other) => panic!("{other:?}"),
                        Err(_) => return confirmed,
                    }
                    done.add_permits(1);
                }
            });
        }
        within(done.acquire_many(100)).await.expect("never closed").forget();
        shop.process.ask_to_stop();
        let mut confirmed: Vec<_> = within(buyers.join_all()).await.into_iter().flatten().collect();
        confirmed.sort_unstable();
        assert_eq!(shop.process.line(), "everything is released", "{kind:?}");
        assert!(shop.process.ended_well(), "{kind:?}");

        let mut keys: Vec<String> =
            redis::cmd("KEYS").arg("*").query(&mut server.cli()).expect("the server answers");
        keys.sort();
        assert_eq!(keys, ["last-report", "payments", "stock:mug"], "{kind:?}: values, no lock");
        // Who was inside was served and told so; nobody else was.
        assert_eq!(books.account().await.1, confirmed, "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shop_that_closes_brings_to_its_end_what_nobody_waits_for_any_more() {
    for kind in BOTH {
        let server = server();
        let books = Books::of(&server).await;
        books.fill(10).await;
        let mut shops = [kind.open(Some(&server), 3000), kind.open(Some(&server), 1)];
        let headers = [JSON, ("idempotency-key", "k")];
        let mut visitor = Visitor::that_resets(shops[0].addr).await;
        {
            let asked = visitor.send(request("POST", &checkout(7), &headers, ONE_MUG));
            let mut asked = std::pin::pin!(asked);
            tokio::select! {
                answer = &mut asked => panic!("answered too early: {answer:?}"),
                () = books.is_under_way("7") => {}
            }
        }
        visitor.leave().await;
        shops[0].process.interrupt();
        assert_eq!(shops[0].process.line(), "everything is released", "{kind:?}");
        assert!(shops[0].process.ended_well());
        let again = try_post(shops[1].addr, &checkout(7), &headers, ONE_MUG).await;
        let again = again.expect("an answer");
        let replayed = again.header("idempotency-replayed");
        assert_eq!((again.status, replayed), (201, Some("true")), "{kind:?}");
        assert_eq!((books.payments().await, books.account().await), (1, (9, vec![(7, 1)])));
    }
}

/// The answers to one request, sent 1,000 times on 100 connections; those who are told to come back do.
async fn a_thousand(shops: [SocketAddr; 2]) -> Vec<Answer> {
    let mut asked = JoinSet::new();
    for connection in 0..100 {
        asked.spawn(async move {
            let mut visitor = Visitor::to(shops[connection % 2]).await;
            let mut answers = Vec::new();
            while answers.len() < 10 {
                let headers = [JSON, ("idempotency-key", "\"k\"")];
                let asked = request("POST", &checkout(7), &headers, ONE_MUG);
                let answer = visitor.send(asked).await.expect("an answer");
                if !answer.body.contains("#in-flight") {
                    answers.push(answer);
                }
            }
            answers
        });
    }
    within(asked.join_all()).await.into_iter().flatten().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_thousand_with_one_key_one_is_done_and_all_are_answered_alike() {
    // The last two share it too, although one is axum's and the other actix's.
    for kind in [[Kind::Axum, Kind::Axum], [Kind::Actix, Kind::Actix], BOTH] {
        let server = server();
        let books = Books::of(&server).await;
        books.fill(10).await;
        let shops = kind.map(|kind| kind.open(Some(&server), 50));
        let answers = a_thousand([shops[0].addr, shops[1].addr]).await;
        assert_eq!(answers.len(), 1000);
        for answer in &answers {
            let body = r#"{"order":7,"sku":"mug","quantity":1,"left":9}"#;
            assert_eq!((answer.status, answer.body.as_str()), (201, body), "{kind:?}");
            assert_eq!(answer.header("content-type"), Some("application/json"));
        }
        let first = answers.iter().filter(|one| one.header("idempotency-replayed").is_none());
        assert_eq!((first.count(), books.payments().await), (1, 1), "{kind:?}");
    }
}

/// A request that was begun at one shop is refused at another, once its lease has ended.
async fn is_unfinished(at: SocketAddr) {
    let headers = [JSON, ("idempotency-key", "k")];
    let again = async || try_post(at, &checkout(7), &headers, ONE_MUG).await.expect("an answer");
    let told = within(async {
        loop {
            let told = again().await;
            assert_eq!(told.status, 409, "{told:?}");
            if !told.body.contains("#in-flight") {
                return told;
            }
            // As long as the lease lasts, it may be under way.
            assert_eq!(told.header("retry-after"), Some("1"));
        }
    })
    .await;
    assert!(told.body.contains("#unfinished"), "{}", told.body);
    assert_eq!(again().await.body, told.body, "and so it stays");
}

async fn killed_in_the_middle(kind: Kind) {
    let server = server();
    let books = Books::of(&server).await;
    books.fill(10).await;
    let [mut dying, heir] = [kind.open(Some(&server), 3_600_000), kind.open(Some(&server), 1)];
    let headers = [JSON, ("idempotency-key", "k")];
    let addr = dying.addr;
    let cut = tokio::spawn(async move { try_post(addr, &checkout(7), &headers, ONE_MUG).await });
    books.is_under_way("7").await;
    dying.process.kill();
    assert!(within(cut).await.expect("no panic").is_err(), "the connection breaks");
    is_unfinished(heir.addr).await;
    assert_eq!(books.payments().await, 0, "{kind:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_cut_off_by_a_crash_is_refused() {
    tokio::join!(killed_in_the_middle(Kind::Axum), killed_in_the_middle(Kind::Actix));
}

async fn stopped_in_the_middle(kind: Kind) {
    let server = server();
    let books = Books::of(&server).await;
    books.fill(10).await;
    let [slow, heir] = [kind.open(Some(&server), 3_600_000), kind.open(Some(&server), 1)];
    let headers = [JSON, ("idempotency-key", "k")];
    let addr = slow.addr;
    let late = tokio::spawn(async move { try_post(addr, &checkout(7), &headers, ONE_MUG).await });
    books.is_under_way("7").await;
    slow.process.pause();
    is_unfinished(heir.addr).await;
    // It goes on, and knows by its clock that its lease has ended.
    slow.process.resume();
    let told = within(late).await.expect("no panic").expect("an answer");
    assert_eq!((told.status, told.header("retry-after")), (503, None), "{kind:?}: {told:?}");
    assert!(told.body.contains("#lost"), "{}", told.body);
    assert_eq!(books.payments().await, 0, "{kind:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_stopped_for_longer_than_its_lease_says_so() {
    tokio::join!(stopped_in_the_middle(Kind::Axum), stopped_in_the_middle(Kind::Actix));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_amid_a_thousand_gives_one_outcome_to_all() {
    for kind in BOTH {
        let server = server();
        let books = Books::of(&server).await;
        books.fill(10).await;
        let mut shops = [kind.open(Some(&server), 300), kind.open(Some(&server), 300)];
        let (dying, heir) = (shops[0].addr, shops[1].addr);
        let headers = [JSON, ("idempotency-key", "\"k\"")];
        let mut cut = JoinSet::new();
        for _ in 0..50 {
            cut.spawn(async move { try_post(dying, &checkout(7), &headers, ONE_MUG).await });
        }
        let crowd = tokio::spawn(a_thousand([heir, heir]));
        books.is_under_way("7").await;
        shops[0].process.kill();
        let mut outcomes: BTreeSet<_> = within(crowd)
            .await
            .expect("no panic")
            .into_iter()
            .map(|answer| (answer.status, answer.body))
            .collect();
        // What the dying one still said is no other outcome.
        let said = within(cut.join_all()).await.into_iter().flatten();
        let said = said.filter(|answer| !answer.body.contains("#in-flight"));
        outcomes.extend(said.map(|answer| (answer.status, answer.body)));
        assert_eq!(outcomes.len(), 1, "{kind:?}: {outcomes:?}");
        let (status, body) = outcomes.first().expect("one");
        let payments = books.payments().await;
        match status {
            201 => assert_eq!(payments, 1, "{kind:?}"),
            409 => assert!(body.contains("#unfinished") && payments <= 1, "{kind:?}: {body}"),
            _ => panic!("{kind:?}: {status} {body}"),
        }
    }
}
