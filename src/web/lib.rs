//! What do pages of the web say? One URL at a time, by rules of our own (spec 05, `web_fetch`; spec 11).
//!
//! A URL comes from a model, and so from whatever the model has read. It must not lead to this machine, to the network it
//! stands in, or to what clouds tell their machines. So names are resolved here, every address is looked at, and a
//! connection is made to an address that was looked at, never to a name: [`CheckedAddress`] is the only thing that a
//! [`WebNetwork`] connects to, and only `address.rs` makes one. Proxies of the environment are not used, since they would
//! resolve names by themselves. Cookies, credentials and referers are never sent.
//!
//! What a page says is data to whoever asked. This module knows neither tools nor rules about calls.

use std::{ffi::OsString, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;

use config::{AllowedHost, KeySource, SearchBackend};
use redact::KnownSecrets;
use sys::clock::Clock;

mod address;
mod body;
mod charset;
mod complaint;
mod content;
mod error;
mod exchange;
mod fetch;
mod markdown;
mod marks;
mod network;
mod plain;
mod search;
mod target;
mod tls;
mod written;

pub use address::{CheckedAddress, refusal};
pub use content::{PageContent, WebPage};
pub use error::WebError;
pub use fetch::{MayFollow, WebDownload};
pub use marks::AnswerMarks;
pub use network::{SystemNetwork, WebNetwork};
pub use plain::plain;
pub use search::{SearchAnswer, SearchError, SearchSource};
pub use target::{BadUrl, WebTarget};
pub use tls::CertificateAuthorities;
pub use written::addresses_in;

/// What the web is reached through; a test has its own.
#[derive(Clone)]
pub struct WebTransport {
    pub network: Arc<dyn WebNetwork>,
    pub authorities: CertificateAuthorities,
}

impl WebTransport {
    /// This system's own.
    pub fn system() -> WebTransport {
        WebTransport { network: Arc::new(SystemNetwork), authorities: CertificateAuthorities::System }
    }
}

/// The way of a daemon into the web. One a daemon.
pub struct WebClient {
    network: Arc<dyn WebNetwork>,
    authorities: CertificateAuthorities,
    tls: OnceCell<tokio_rustls::TlsConnector>,
    /// The daemon's own, where keys may lie.
    environment: Vec<(OsString, OsString)>,
    /// Learns each key that is read.
    secrets: KnownSecrets,
    clock: Arc<dyn Clock>,
}

/// What the settings say of the web.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WebRules {
    /// Hosts that are reached although they are no public ones.
    pub allowed: Arc<[AllowedHost]>,
    /// Who answers searches; `None` = nobody.
    pub search: Option<SearchRoute>,
}

/// What answers searches.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchRoute {
    /// A search engine.
    Backend(Arc<SearchRules>),
    /// A model, whose provider searches for it; this module knows none.
    Model,
}

/// Which search engine is asked, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchRules {
    pub backend: SearchBackend,
    /// `None` = the backend's own.
    pub url: Option<String>,
    pub key: Option<KeySource>,
}

impl WebClient {
    pub fn new(
        outside: WebTransport,
        environment: Vec<(OsString, OsString)>,
        clock: Arc<dyn Clock>,
    ) -> WebClient {
        let WebTransport { network, authorities } = outside;
        let secrets = KnownSecrets::default();
        WebClient { network, authorities, tls: OnceCell::new(), environment, secrets, clock }
    }

    /// With somebody who learns each key that is read, so that it is hidden.
    #[must_use]
    pub fn telling_keys(self, secrets: KnownSecrets) -> WebClient {
        WebClient { secrets, ..self }
    }

    /// What `work` comes to, unless it takes longer than `most`.
    async fn within<T>(&self, most: Duration, work: impl Future<Output = T>) -> Option<T> {
        let timer: BoxFuture<'static, ()> = self.clock.sleep(most);
        tokio::select! { biased;
            done = work => Some(done),
            () = timer => None,
        }
    }
}

impl std::fmt::Debug for WebClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Web").finish_non_exhaustive()
    }
}
