//! Pages over TLS: whom the web tools believe, and whom not.
//!
//! The certificates are of an authority made for this; `site` and `site-expired` are for `secure.example`, with one key.

use std::{net::SocketAddr, sync::Arc};

use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use subagentd::{
    sys::clock::SystemClock,
    web::{CertificateAuthorities, PageContent, WebClient, WebRules, WebTarget, WebTransport},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use super::net::Net;

const AUTHORITY: &[u8] = include_bytes!("certificates/authority.der");
pub const SITE: &[u8] = include_bytes!("certificates/site.der");
const EXPIRED: &[u8] = include_bytes!("certificates/site-expired.der");
const KEY: &[u8] = include_bytes!("certificates/site.key.der");

/// A server with this certificate, which answers each path so; with what it serves.
pub async fn serve(certificate: &'static [u8], answer: fn(&str) -> Vec<u8>) -> (SocketAddr, JoinSet<()>) {
    let key = PrivateKeyDer::Pkcs8(KEY.into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(certificate)], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // Whoever does not believe us ends it here.
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(stream.read_u8().await.unwrap());
            }
            let request = String::from_utf8(request).unwrap();
            // Whoever has heard enough is gone by then.
            let _heard = stream.write_all(&answer(request.split(' ').nth(1).unwrap())).await;
            let _gone = stream.shutdown().await;
        }
    });
    (address, serving)
}

/// What a page at this URL comes to, from a server with this certificate.
async fn fetched(url: &str, certificate: &'static [u8], authorities: CertificateAuthorities) -> String {
    let page =
        |_: &str| b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 6\r\n\r\nsecret".to_vec();
    let (address, _serving) = serve(certificate, page).await;
    let net = Net::new()
        .name("secure.example", &["203.0.114.9"])
        .name("other.example", &["203.0.114.9"])
        .route("203.0.114.9:443", address);
    let outside = WebTransport { network: Arc::new(net), authorities };
    let web = WebClient::new(outside, Vec::new(), SystemClock::new());
    let target = WebTarget::parse(url).unwrap();
    match web.fetch(&target, &WebRules::default(), &|_| false).await {
        Ok(page) => match page.content {
            PageContent::Text { text, .. } => text,
            PageContent::Other => "no text".to_owned(),
        },
        Err(error) => error.to_string(),
    }
}

/// Who vouches for `SITE`.
pub fn ours() -> CertificateAuthorities {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(AUTHORITY)).unwrap();
    CertificateAuthorities::These(Arc::new(roots))
}

#[tokio::test]
async fn a_server_that_is_who_it_says_is_read() {
    assert_eq!(fetched("https://secure.example/", SITE, ours()).await, "secret");
}

#[tokio::test]
async fn a_server_that_nobody_vouches_for_is_not_asked() {
    let cases = [
        ("https://other.example/", SITE, ours(), "not valid for name"),
        ("https://secure.example/", EXPIRED, ours(), "expired"),
        ("https://secure.example/", SITE, CertificateAuthorities::System, "UnknownIssuer"),
    ];
    for (url, certificate, authorities, reason) in cases {
        let problem = fetched(url, certificate, authorities).await;
        assert!(problem.contains("cannot be reached") || problem.contains(reason), "{reason}: {problem}");
        assert!(problem.contains(reason), "{reason}: {problem}");
        assert!(!problem.contains("secret"));
    }
}
