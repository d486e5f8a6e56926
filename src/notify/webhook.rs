//! How is a web address told something? By a signed POST, a few times when it cannot be reached.

use std::{error::Error as _, net::IpAddr, sync::Arc, time::Duration};

use reqwest::{Client, StatusCode, Url, header, redirect};

use super::{NotifyError, hex, hmac_sha256, within};
use sys::clock::Clock;

/// When the signature was made, in seconds since the epoch. A receiver refuses what is older than a few minutes.
pub const TIMESTAMP_HEADER: &str = "subagentd-timestamp";
/// `sha256=` and, in hexadecimal digits, the HMAC-SHA256 under the secret of the timestamp, a dot and the body.
pub const SIGNATURE_HEADER: &str = "subagentd-signature";

/// Time for one try, from the first packet to the answer's head.
const TRY_TIMEOUT: Duration = Duration::from_secs(10);
/// Between tries. A service that restarts is back by then; one that is down for longer is given up.
const PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(15)];

/// Where to tell, and by which secret whoever listens there knows that it is us.
#[derive(Clone)]
pub struct WebhookTarget {
    pub url: String,
    pub secret: Vec<u8>,
}

impl WebhookTarget {
    /// Posts JSON. An answer of 2xx is success; what may pass is tried again.
    pub async fn post(&self, clock: &Arc<dyn Clock>, body: Vec<u8>) -> Result<(), NotifyError> {
        let url = Url::parse(&self.url);
        let url = url.map_err(|error| self.failed("the address", format!("is none: {error}")))?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let failed = |problem: String| self.failed(&host, problem);
        let client = direct_client(url.clone()).await.map_err(|error| failed(request_problem(&error)))?;
        let mut pauses = PAUSES.iter();
        loop {
            let problem = match within(clock, TRY_TIMEOUT, self.attempt(&client, &url, clock, &body)).await {
                Some(Ok(status)) if status.is_success() => return Ok(()),
                Some(Ok(status)) if !may_pass(status) => {
                    return Err(failed(format!("answered {status}")));
                }
                Some(Ok(status)) => format!("answered {status}"),
                Some(Err(error)) => format!("cannot be reached: {}", request_problem(&error)),
                None => format!("did not answer within {} s", TRY_TIMEOUT.as_secs()),
            };
            match pauses.next() {
                Some(pause) => clock.sleep(*pause).await,
                None => return Err(failed(format!("{problem}, {} times", PAUSES.len() + 1))),
            }
        }
    }

    async fn attempt(
        &self,
        client: &Client,
        url: &Url,
        clock: &Arc<dyn Clock>,
        body: &[u8],
    ) -> reqwest::Result<StatusCode> {
        // Anew at every try: it says when this one was made.
        let timestamp = (clock.now().0 / 1_000_000).to_string();
        let signature = hmac_sha256(&self.secret, &[timestamp.as_bytes(), b".", body]);
        let request = client.post(url.clone()).header(header::CONTENT_TYPE, "application/json");
        let request = request.header(SIGNATURE_HEADER, format!("sha256={}", hex(&signature)));
        let request = request.header(TIMESTAMP_HEADER, timestamp);
        // What the answer says beyond its status is of no use here and is not read.
        request.body(body.to_vec()).send().await.map(|answer| answer.status())
    }

    fn failed(&self, host: &str, problem: String) -> NotifyError {
        NotifyError::Webhook { host: host.to_owned(), problem }
    }
}

fn may_pass(status: StatusCode) -> bool {
    status.is_server_error() || [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT].contains(&status)
}

/// A client for one request to this address, which follows no redirect. One a message: they are rare, and a connection that waits
/// for the next one would be held for nothing. Reads the system's certificates, so it leaves the async threads alone.
pub async fn direct_client(url: Url) -> reqwest::Result<Client> {
    match tokio::task::spawn_blocking(move || build(&url)).await {
        Ok(client) => client,
        // It cannot be cancelled: nobody holds its handle but this.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn build(url: &Url) -> reqwest::Result<Client> {
    // One provider of cryptography a process; when another was installed, that one is as good.
    let _stays = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("subagentd/", env!("CARGO_PKG_VERSION")))
        // What was asked must not travel on to wherever an answer points.
        .redirect(redirect::Policy::none())
        .pool_max_idle_per_host(0)
        .referer(false);
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_local = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    // From a proxy this machine's loopback cannot be reached.
    let builder = if is_local { builder.no_proxy() } else { builder };
    let builder = match url.scheme() {
        // Without TLS, so that a machine without certificates of authorities serves as well.
        "http" => builder.tls_backend_preconfigured(
            rustls::ClientConfig::builder()
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth(),
        ),
        _ => builder,
    };
    builder.build()
}

/// The innermost reason, for people. The address is left out: it may be a secret.
pub fn request_problem(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    let mut source = error.source();
    while let Some(inner) = source {
        innermost = inner;
        source = inner.source();
    }
    let text = match error.source() {
        Some(_) => innermost.to_string(),
        None => "the request failed".to_owned(),
    };
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}
