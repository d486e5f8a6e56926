//! How are providers reached? One HTTP client a daemon, made when it is first needed.

use std::{
    error::Error as _,
    net::IpAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use reqwest::{Client, ClientBuilder, Url, redirect};

/// A provider that cannot be reached by then is down, or the network is.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Silence on a connection. A run gives up after 120 s by its own clock (spec 04, "Retry"); this ends what nobody
/// watches.
const READ_TIMEOUT: Duration = Duration::from_secs(150);
/// Idle connections that are kept to one provider: as many as parallel runs of one session, each a few KiB.
const IDLE_CONNECTIONS: usize = 8;
/// A little less than the minute after which servers usually hang up, so that a request seldom meets a dead one.
const IDLE_TIMEOUT: Duration = Duration::from_secs(50);

/// The clients of a daemon; clones share them.
#[derive(Clone, Default)]
pub(super) struct HttpClients {
    /// By the two questions of [`HttpClientOptions`].
    clients: Arc<[[OnceLock<Client>; 2]; 2]>,
}

/// What a client must be able to do.
#[derive(Clone, Copy)]
struct HttpClientOptions {
    /// Past the proxies that the environment names: from there this machine's loopback cannot be reached.
    is_local: bool,
    /// Without TLS, so that a machine without certificates of authorities serves as well.
    is_plain: bool,
}

impl HttpClients {
    /// The client for a provider at `base`.
    pub(super) fn client(&self, base: &Url) -> Result<Client, reqwest::Error> {
        let reach = HttpClientOptions { is_local: is_loopback(base), is_plain: base.scheme() == "http" };
        let place = &self.clients[usize::from(reach.is_local)][usize::from(reach.is_plain)];
        if let Some(client) = place.get() {
            return Ok(client.clone());
        }
        // Another thread may have been faster; then this one is dropped.
        let client = build(reach)?;
        Ok(place.get_or_init(|| client).clone())
    }
}

fn build(reach: HttpClientOptions) -> Result<Client, reqwest::Error> {
    // One provider of cryptography a process; when another was installed, that one is as good.
    let _stays = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        .pool_idle_timeout(IDLE_TIMEOUT);
    reaching(reach, builder)
}

fn reaching(reach: HttpClientOptions, builder: ClientBuilder) -> Result<Client, reqwest::Error> {
    let builder = builder
        .user_agent(concat!("subagentd/", env!("CARGO_PKG_VERSION")))
        // A key must not travel on to wherever an answer points.
        .redirect(redirect::Policy::none())
        .referer(false);
    let builder = if reach.is_local { builder.no_proxy() } else { builder };
    let builder = if reach.is_plain { builder.tls_backend_preconfigured(trusting_nobody()) } else { builder };
    builder.build()
}

/// A client for a server that streams, and may be silent for as long as whoever asks it waits: bounds are theirs. `None` =
/// `address` is none.
pub fn patient_client(address: &str) -> Option<Result<Client, reqwest::Error>> {
    let url = Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let _stays = rustls::crypto::ring::default_provider().install_default();
    let reach = HttpClientOptions { is_local: is_loopback(&url), is_plain: url.scheme() == "http" };
    Some(reaching(reach, Client::builder().connect_timeout(CONNECT_TIMEOUT)))
}

/// For connections without TLS. A proxy that wants TLS itself is not reached with this.
fn trusting_nobody() -> rustls::ClientConfig {
    rustls::ClientConfig::builder()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth()
}

fn is_loopback(base: &Url) -> bool {
    let host = base.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// What went wrong on the way, for people: the innermost reason, without the URL.
pub(super) fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    if error.is_timeout() {
        let what = if error.is_connect() { "connecting took" } else { "it was silent for" };
        let seconds = if error.is_connect() { CONNECT_TIMEOUT } else { READ_TIMEOUT }.as_secs();
        return format!("{what} more than {seconds} s");
    }
    let mut innermost: &dyn std::error::Error = &error;
    let mut source = error.source();
    while let Some(inner) = source {
        innermost = inner;
        source = inner.source();
    }
    let text = innermost.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_reached_past_proxies() {
        let cases = [
            ("http://127.0.0.1:80/x", true),
            ("http://[::1]:80", true),
            ("http://localhost", true),
            ("https://generativelanguage.googleapis.com", false),
            ("http://127.0.0.1.example.com", false),
            ("http://10.0.0.1", false),
        ];
        for (base, is_local) in cases {
            assert_eq!(is_loopback(&Url::parse(base).unwrap()), is_local, "{base}");
        }
    }
}
