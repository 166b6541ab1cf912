//! Keys and their templates, as the server sees them.

use tairlock::distributed_lock;

use crate::{Answer, client};

/// A constant key.
const NAME: &str = "k:const";

struct Request {
    id: u64,
    pair: (u8, u8),
    tags: Vec<&'static str>,
}

impl Request {
    fn region(&self) -> &'static str {
        "eu:west"
    }
}

#[tokio::test]
async fn templates_take_arguments_fields_and_methods() {
    struct Service {
        region: String,
    }
    impl Service {
        #[distributed_lock(
            key = "k:{req.id}:{self.region}:{req.pair.1}:{req.region()}:{req.tags[0]}:{NAME:raw}",
            lease = lease,
            using = client()
        )]
        async fn body(&mut self, req: &Request) -> Answer<String> {
            self.region.push('!');
            Ok(lease.key().to_string())
        }
    }
    let request = Request { id: 7, pair: (1, 2), tags: vec!["a"] };
    let mut service = Service { region: "eu".to_owned() };
    let key = service.body(&request).await.unwrap();
    assert_eq!(key, "k:7:eu:2:eu%3Awest:a:k:const");
    assert_eq!(service.region, "eu!");
}

/// O54, T14: parts are joined so that they can be told apart.
#[tokio::test]
async fn different_inputs_never_make_the_same_key() {
    #[distributed_lock(key = "k:{a}:{b}", lease = lease, using = client())]
    async fn body(a: &str, b: &str) -> Answer<String> {
        Ok(lease.key().to_string())
    }
    let parts = ["", "a", "a:", ":", "%", "%3A", "{}", "\n", "a:b"];
    let mut keys = std::collections::HashSet::new();
    for a in parts {
        for b in parts {
            assert!(keys.insert(body(a, b).await.unwrap()), "{a:?} {b:?}");
        }
    }
}

#[tokio::test]
async fn expressions_bytes_and_braces() {
    #[distributed_lock(key = NAME, lease = lease, using = client())]
    async fn constant() -> Answer<Vec<u8>> {
        Ok(lease.key().as_bytes().to_vec())
    }
    #[distributed_lock(key = b"k:\xff\x00", lease = lease, using = client())]
    async fn bytes() -> Answer<Vec<u8>> {
        Ok(lease.key().as_bytes().to_vec())
    }
    #[distributed_lock(key = [b'k', id], lease = lease, using = client())]
    async fn array(id: u8) -> Answer<Vec<u8>> {
        Ok(lease.key().as_bytes().to_vec())
    }
    #[distributed_lock(key = format!("k:{id:04}"), lease = lease, using = client())]
    async fn formatted(id: u8) -> Answer<Vec<u8>> {
        Ok(lease.key().as_bytes().to_vec())
    }
    #[distributed_lock(key = r"k:{{tag}}:{{{id}}}", lease = lease, using = client())]
    async fn braces(id: u8) -> Answer<Vec<u8>> {
        Ok(lease.key().as_bytes().to_vec())
    }
    assert_eq!(constant().await.unwrap(), b"k:const");
    assert_eq!(bytes().await.unwrap(), b"k:\xff\x00");
    assert_eq!(array(b'x').await.unwrap(), b"kx");
    assert_eq!(formatted(7).await.unwrap(), b"k:0007");
    assert_eq!(braces(7).await.unwrap(), b"k:{tag}:{7}");
}

#[tokio::test]
async fn locks_are_taken_in_the_order_in_which_they_are_written() {
    #[distributed_lock(key = "k:first:{id}", wait = 0, lease = first, using = client())]
    #[distributed_lock(key = "k:second:{id}:{order:raw}", lease = second, using = client())]
    async fn body(id: u8, order: &str) -> Answer<String> {
        Ok(format!("{} {} {order}", first.key(), second.key()))
    }
    assert_eq!(body(1, "x").await.unwrap(), "k:first:1 k:second:1:x x");
    // The first is busy: the second is not asked for, or it would be found busy much later.
    let _first = client().lock("k:first:1").acquire().await.unwrap();
    let _second = client().lock("k:second:1:x").acquire().await.unwrap();
    let error = body(1, "x").await.unwrap_err();
    assert_eq!(error.key().unwrap().to_string(), "k:first:1");
}
