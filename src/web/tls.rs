//! Whom do we believe that a server is who it says?

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore, crypto::CryptoProvider};
use rustls_platform_verifier::Verifier;
use tokio_rustls::TlsConnector;

/// Who vouches for servers.
#[derive(Clone)]
pub enum CertificateAuthorities {
    /// Those of this system.
    System,
    These(Arc<RootCertStore>),
}

impl CertificateAuthorities {
    /// Reads the system's certificates, so it leaves the async threads alone.
    pub(super) fn connector(&self) -> Result<TlsConnector, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::<CryptoProvider>::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let mut config = match self {
            CertificateAuthorities::System => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Verifier::new(provider)?))
                .with_no_client_auth(),
            CertificateAuthorities::These(roots) => {
                builder.with_root_certificates(Arc::clone(roots)).with_no_client_auth()
            }
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsConnector::from(Arc::new(config)))
    }
}
