//! *ring*, which rustls can be built with everywhere.

use rustls::crypto::{CryptoProvider, ring};

pub(super) fn choose() {
    if CryptoProvider::get_default().is_none() {
        // Who was faster has chosen.
        _ = ring::default_provider().install_default();
    }
}
