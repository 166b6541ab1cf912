//! Certificates for one test: an authority of its own, and what it signs for a server and for a client.

use std::{fs, io, path::PathBuf, sync::Arc};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;

/// Certificates in files, which go with the last clone.
#[derive(Clone, Debug)]
pub struct Certificates(Arc<TempDir>);

impl Certificates {
    /// An authority that nobody else knows, a server's certificate for 127.0.0.1 and `localhost`, and a
    /// client's.
    ///
    /// # Errors
    ///
    /// What making or writing them says.
    pub fn create() -> io::Result<Self> {
        let folder = super::folder::create()?;
        write(&folder).map_err(io::Error::other)?;
        Ok(Self(Arc::new(folder)))
    }

    /// The authority's certificate in PEM, which clients have to trust.
    ///
    /// # Panics
    ///
    /// If it was removed.
    #[must_use]
    pub fn authority(&self) -> Vec<u8> {
        self.read("authority.crt")
    }

    /// A client's certificate and key in PEM, for servers that ask for one (`tls-auth-clients yes`).
    ///
    /// # Panics
    ///
    /// If they were removed.
    #[must_use]
    pub fn client(&self) -> (Vec<u8>, Vec<u8>) {
        (self.read("client.crt"), self.read("client.key"))
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.file(name)).expect("it is there as long as this is")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The server's settings that name files.
    pub(super) fn settings(&self) -> [(&'static str, PathBuf); 3] {
        [
            ("tls-ca-cert-file", self.file("authority.crt")),
            ("tls-cert-file", self.file("server.crt")),
            ("tls-key-file", self.file("server.key")),
        ]
    }
}

fn write(folder: &TempDir) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "tairlock's tests");
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let file = |name: &str| folder.path().join(name);
    fs::write(file("authority.crt"), authority.pem())?;
    for name in ["server", "client"] {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()])?;
        params.distinguished_name.push(DnType::CommonName, name);
        let signed = params.signed_by(&key, &authority)?;
        fs::write(file(&format!("{name}.crt")), signed.pem())?;
        fs::write(file(&format!("{name}.key")), key.serialize_pem())?;
    }
    Ok(())
}
