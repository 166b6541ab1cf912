//! Who does rustls's cryptography: redis-rs leaves the choice to the program, and panics without one.

#[cfg(feature = "_ring")]
mod ring;

/// Before the first TLS connection: chooses, unless the program has chosen.
pub fn choose_cryptography() {
    #[cfg(feature = "_ring")]
    ring::choose();
}
