//! Rows: providers that are not reached, or not believed.

use std::sync::Arc;

use expect_test::expect;
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_rustls::TlsAcceptor;

use super::{check, row};

const CERTIFICATE: &[u8] = include_bytes!("../web/certificates/site.der");
const CERTIFICATE_KEY: &[u8] = include_bytes!("../web/certificates/site.key.der");

#[tokio::test]
async fn providers_that_are_not_there() {
    let mut serving = JoinSet::new();
    // Of an authority that nobody here trusts.
    let untrusted = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(CERTIFICATE)],
            PrivateKeyDer::Pkcs8(CERTIFICATE_KEY.into()),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let untrusted_at = untrusted.local_addr().unwrap();
    serving.spawn(async move {
        while let Ok((stream, _)) = untrusted.accept().await {
            // A key must never come this far.
            assert!(acceptor.accept(stream).await.is_err(), "somebody trusts us");
        }
    });
    // Speaks no TLS.
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let plain_at = plain.local_addr().unwrap();
    serving.spawn(async move {
        while let Ok((mut stream, _)) = plain.accept().await {
            let answer = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n";
            let _gone = tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await;
        }
    });
    // Bound and dropped: nobody listens there.
    let nobody_at = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    check(vec![
        row("an untrusted certificate", "talker", expect![[r#"
            again: "127.0.0.1 cannot be reached: invalid peer certificate: UnknownIssuer"
            again: "127.0.0.1 cannot be reached: invalid peer certificate: UnknownIssuer"
            again: "127.0.0.1 cannot be reached: invalid peer certificate: UnknownIssuer"
            again: "127.0.0.1 cannot be reached: invalid peer certificate: UnknownIssuer"
            ends ERROR MODEL_FAILED: "127.0.0.1 cannot be reached: invalid peer certificate: UnknownIssuer (after 5 tries)"
        "#]], |_| Vec::new())
            .at(format!("https://{untrusted_at}")),
        row("no TLS where it should be", "talker", expect![[r#"
            again: "127.0.0.1 cannot be reached: received corrupt message of type InvalidContentType"
            again: "127.0.0.1 cannot be reached: received corrupt message of type InvalidContentType"
            again: "127.0.0.1 cannot be reached: received corrupt message of type InvalidContentType"
            again: "127.0.0.1 cannot be reached: received corrupt message of type InvalidContentType"
            ends ERROR MODEL_FAILED: "127.0.0.1 cannot be reached: received corrupt message of type InvalidContentType (after 5 tries)"
        "#]], |_| Vec::new())
            .at(format!("https://{plain_at}")),
        row("nobody listens", "talker", expect![[r#"
            again: "127.0.0.1 cannot be reached: Connection refused"
            again: "127.0.0.1 cannot be reached: Connection refused"
            again: "127.0.0.1 cannot be reached: Connection refused"
            again: "127.0.0.1 cannot be reached: Connection refused"
            ends ERROR MODEL_FAILED: "127.0.0.1 cannot be reached: Connection refused (after 5 tries)"
        "#]], |_| Vec::new()).at(format!("http://{nobody_at}")),
    ])
    .await;
    assert!(serving.try_join_next().is_none(), "a server has ended");
}
