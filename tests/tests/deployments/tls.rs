//! A cluster that speaks TLS, with certificates that only the caller knows of.

use redis::{Client, TlsCertificates};
use tairlock::{FaultKind, Release};
use tairlock_tests::{Server, fleet::Cluster, server::Certificates};

use crate::{cluster_of, key_at, kind};

fn trusting(cluster: &Cluster, certificates: &Certificates) -> Vec<Client> {
    tairlock::tls::choose_cryptography();
    let trust = || TlsCertificates { client_tls: None, root_cert: Some(certificates.authority()) };
    let open = |node: &Server| Client::build_with_tls(node.tls_url(), trust()).expect("a client");
    cluster.nodes().iter().map(open).collect()
}

/// Every node is reached as the first was, by its port for TLS.
#[test]
fn all_nodes_are_reached_by_the_certificates_of_the_first() {
    let certificates = Certificates::create().expect("certificates");
    let cluster = cluster_of(|| Server::redis7().tls_cluster(&certificates));
    let seeds = trusting(&cluster, &certificates);
    let keys: Vec<String> = (0..3).map(|at| key_at(&cluster, at)).collect();

    let client = tairlock_sync::Client::builder().cluster_clients(seeds.clone()).build();
    let client = client.unwrap_or_else(|error| panic!("{error}"));
    for key in &keys {
        let guard = client.lock(key).acquire().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(guard.release().expect("release"), Release::Released);
    }

    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let client = tairlock::Client::builder().cluster_clients(seeds).build().await;
        let client = client.unwrap_or_else(|error| panic!("{error}"));
        for key in &keys {
            let guard = client.lock(key).acquire().await.unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(guard.release().await.expect("release"), Release::Released);
        }
        let stranger = cluster.nodes().iter().map(Server::tls_url);
        let outcome = tairlock::Client::builder().cluster(stranger).build().await.map(|_| ());
        assert_eq!(kind(outcome), FaultKind::Unreachable);
    });
}
