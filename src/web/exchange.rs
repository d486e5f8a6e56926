//! How is one request put to one host? Over one connection, to an address that was checked, within bounds.

use std::time::Duration;

use http_body_util::Full;
use hyper::{
    Method, Request, Response, Uri,
    body::{Bytes, Incoming},
    client::conn::http1,
    header::{self, HeaderName, HeaderValue},
};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinSet,
};
use url::{Host, Position};

use super::{
    CheckedAddress, WebClient, WebError, WebRules, WebTarget, body,
    complaint::{MAX_HEAD_BYTES, MAX_HEADERS, broken, plain},
};

/// Time until a host is known and a connection to one of its addresses stands (spec 05).
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Addresses of a name that are looked at; public services have a dozen.
const MOST_ADDRESSES: usize = 64;
/// Addresses that are tried, one after the other, versions 4 and 6 in turn.
const MOST_TRIES: usize = 4;
/// Time for an address while there are others: one that swallows what is sent to it must not use up the time of those that
/// answer. The last may take what is left of [`CONNECT_TIMEOUT`].
const TRY_TIMEOUT: Duration = Duration::from_secs(2);

/// Compressions that are understood.
const ENCODINGS: &str = "gzip, deflate";

/// What is asked, beside where.
pub(super) struct WebRequest {
    pub method: Method,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub body: Bytes,
}

impl WebRequest {
    /// A page.
    pub fn page() -> WebRequest {
        let accept =
            "text/html, application/xhtml+xml, text/markdown, text/plain, application/json;q=0.9, */*;q=0.5";
        let headers = vec![(header::ACCEPT, HeaderValue::from_static(accept))];
        WebRequest { method: Method::GET, headers, body: Bytes::new() }
    }
}

/// An answer whose head is read. The connection ends with it.
pub(super) struct WebResponse {
    pub response: Response<Incoming>,
    /// Drives the connection.
    _driver: JoinSet<()>,
}

impl WebResponse {
    /// The whole body, decompressed; not more than `most` bytes of it.
    pub async fn body(self, most: usize) -> Result<Vec<u8>, WebError> {
        // With the driver, which would end the connection when it is dropped.
        let WebResponse { response, _driver } = self;
        body::read(response, most).await
    }

    pub fn header(&self, name: HeaderName) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }
}

/// Which addresses count.
pub(super) enum AddressPolicy<'a> {
    /// Public ones, and those of hosts that the settings open.
    Public(&'a WebRules),
    /// Any: the people chose the host who run the daemon.
    Chosen,
}

impl WebClient {
    /// Puts the question to the target's host and reads the head of the answer.
    pub(super) async fn ask(
        &self,
        target: &WebTarget,
        question: WebRequest,
        reach: &AddressPolicy<'_>,
    ) -> Result<WebResponse, WebError> {
        let host = target.host().to_string();
        let connecting = async {
            let addresses = self.addresses(target, reach).await?;
            self.connect(target, &addresses).await
        };
        let connected = self.within(CONNECT_TIMEOUT, connecting).await;
        let late = || {
            let reason = format!("connecting took more than {} s", CONNECT_TIMEOUT.as_secs());
            WebError::Unreachable { host: host.clone(), reason }
        };
        let stream = connected.ok_or_else(late)??;
        let mut builder = http1::Builder::new();
        builder.max_buf_size(MAX_HEAD_BYTES).max_headers(MAX_HEADERS);
        let handshake = builder.handshake::<_, Full<Bytes>>(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|error| broken(&error))?;
        let mut driver = JoinSet::new();
        // What it comes to, whoever asked hears from the request or the body.
        driver.spawn(async move { connection.await.unwrap_or_default() });
        let response = sender.send_request(request(target, question)?).await;
        Ok(WebResponse { response: response.map_err(|error| broken(&error))?, _driver: driver })
    }

    /// True if the page is one of the public web, as far as its host's addresses tell, and its host none that the settings open.
    pub async fn is_public(&self, target: &WebTarget, rules: &WebRules) -> bool {
        let reach = AddressPolicy::Public(rules);
        let addresses = self.within(CONNECT_TIMEOUT, self.addresses(target, &reach)).await;
        !target.is_opened(&rules.allowed) && addresses.is_some_and(|found| found.is_ok())
    }

    /// Every address of the target's host, each checked. One that may not be reached refuses all: a name that leads to both
    /// is made to deceive.
    async fn addresses(
        &self,
        target: &WebTarget,
        reach: &AddressPolicy<'_>,
    ) -> Result<Vec<CheckedAddress>, WebError> {
        let (host, port) = (target.host(), target.port());
        let found = match host {
            Host::Ipv4(address) => vec![address.into()],
            Host::Ipv6(address) => vec![address.into()],
            Host::Domain(name) => {
                let found = self.network.resolve(name).await;
                let missing = |reason: String| WebError::NoSuchHost { host: name.to_owned(), reason };
                let found = found.map_err(|error| missing(plain(&error)))?;
                if found.is_empty() {
                    return Err(missing("the resolver knows none".to_owned()));
                }
                found
            }
        };
        let is_opened = match reach {
            AddressPolicy::Chosen => true,
            AddressPolicy::Public(rules) => target.is_opened(&rules.allowed),
        };
        let mut checked = Vec::new();
        for address in found.into_iter().take(MOST_ADDRESSES) {
            let address = match is_opened {
                true => CheckedAddress::opened(address, port),
                false => CheckedAddress::public(address, port).map_err(|why| WebError::Refused {
                    host: host.to_string(),
                    port,
                    address,
                    why,
                })?,
            };
            if !checked.contains(&address) {
                checked.push(address);
            }
        }
        Ok(checked)
    }

    /// A connection to the first of these addresses that answers.
    async fn connect(
        &self,
        target: &WebTarget,
        addresses: &[CheckedAddress],
    ) -> Result<Box<dyn WebByteStream>, WebError> {
        let tls = match target.is_tls() {
            true => Some((self.tls().await?, server_name(target)?)),
            false => None,
        };
        let mut reason = "it has no address".to_owned();
        let mut left = in_turn(addresses).into_iter().take(MOST_TRIES).peekable();
        while let Some(address) = left.next() {
            let connecting = async {
                let stream = self.network.connect(address).await?;
                match &tls {
                    None => Ok(Box::new(stream) as Box<dyn WebByteStream>),
                    Some((tls, name)) => {
                        Ok(Box::new(tls.connect(name.clone(), stream).await?) as Box<dyn WebByteStream>)
                    }
                }
            };
            let connected = match left.peek() {
                Some(_) => self.within(TRY_TIMEOUT, connecting).await,
                None => Some(connecting.await),
            };
            match connected {
                Some(Ok(stream)) => return Ok(stream),
                Some(Err(error)) => reason = plain(&error),
                None => reason = format!("no answer within {} s", TRY_TIMEOUT.as_secs()),
            }
        }
        Err(WebError::Unreachable { host: target.host().to_string(), reason })
    }

    async fn tls(&self) -> Result<&tokio_rustls::TlsConnector, WebError> {
        let making = || async {
            let authorities = self.authorities.clone();
            match tokio::task::spawn_blocking(move || authorities.connector()).await {
                Ok(connector) => connector,
                // It cannot be cancelled: nobody holds its handle but this.
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        };
        self.tls.get_or_try_init(making).await.map_err(|error| {
            tracing::warn!(%error, "the system's certificates cannot be used");
            let reason = format!("the certificates of this system cannot be used: {error}");
            WebError::Unreachable { host: "https".to_owned(), reason }
        })
    }
}

/// The addresses as they come, but those of the two versions in turn: where one version leads nowhere, the other does not wait
/// for all of it.
fn in_turn(addresses: &[CheckedAddress]) -> Vec<CheckedAddress> {
    let is_first = |address: &&CheckedAddress| {
        addresses.first().is_some_and(|first| first.socket().is_ipv6() == address.socket().is_ipv6())
    };
    let (first, second): (Vec<&CheckedAddress>, Vec<&CheckedAddress>) = addresses.iter().partition(is_first);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut in_turn = Vec::with_capacity(addresses.len());
    while in_turn.len() < addresses.len() {
        in_turn.extend(first.next());
        in_turn.extend(second.next());
    }
    in_turn
}

/// What bytes go through.
trait WebByteStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> WebByteStream for S {}

fn server_name(target: &WebTarget) -> Result<ServerName<'static>, WebError> {
    let name = match target.host() {
        Host::Domain(name) => ServerName::try_from(name.to_owned()).ok(),
        Host::Ipv4(address) => Some(std::net::IpAddr::V4(address).into()),
        Host::Ipv6(address) => Some(std::net::IpAddr::V6(address).into()),
    };
    name.ok_or_else(|| WebError::BadUrl("has a host that no certificate can name".to_owned()))
}

fn request(target: &WebTarget, question: WebRequest) -> Result<Request<Full<Bytes>>, WebError> {
    let WebRequest { method, headers, body } = question;
    let path = &target.url()[Position::BeforePath..Position::AfterQuery];
    let bad = |_| WebError::BadUrl("cannot be asked for over HTTP".to_owned());
    let uri: Uri = path.parse().map_err(bad)?;
    let host = HeaderValue::from_str(&target.authority())
        .map_err(|_| WebError::BadUrl("has a host that HTTP cannot name".to_owned()))?;
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    let agent = HeaderValue::from_static(concat!("subagentd/", env!("CARGO_PKG_VERSION")));
    let into = request.headers_mut();
    into.insert(header::HOST, host);
    into.insert(header::USER_AGENT, agent);
    into.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(ENCODINGS));
    into.insert(header::CONNECTION, HeaderValue::from_static("close"));
    into.extend(headers);
    Ok(request)
}
