//! How does a client that speaks HTTP ask? `POST /rpc` with a message as its body, each request on its own;
//! `GET /rpc` becomes a WebSocket; `/mcp` speaks the Model Context Protocol; `POST /confirm/<token>` answers a question; `/metrics`
//! has figures for Prometheus; `/healthz` and `/readyz` tell supervisors how the daemon is (spec 01, "Transports").
//!
//! HTTP itself, with all its ways to be malformed, is hyper's. What a message says is answered by the same
//! [`MessageExchange`] as everywhere.

use std::{convert::Infallible, pin::pin, sync::Arc, time::Duration};

use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{self, HeaderValue},
    server::conn::http1,
    service::service_fn,
    upgrade::OnUpgrade,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::value::RawValue;
use tokio::{sync::oneshot, time::timeout};

use super::{
    caller::RpcCaller,
    context::{RpcPeer, ServerContext},
    conversation::{DRAIN, READ_DRAIN},
    errors::error_response,
    exchange::{MessageExchange, longer_than},
    flight::ConnectionRequests,
    mcp_acceptor::HttpReply,
    message::{self, WireId},
    outgoing::{self, WRITE_STALL},
    wire::{RewoundStream, RpcStream},
};
use protocol::{ConnectionTransport, ErrorKind, MAX_MESSAGE_BYTES, RpcError};

mod confirm;
mod gate;
mod mcp;
mod websocket;

/// How long the head of a request may take to arrive, and how long a kept-alive connection may be silent.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// How long the body of a request may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// Header lines of a request. Browsers send about twenty.
const MAX_HEADERS: usize = 64;
/// Bytes that are read ahead of a request's end, which also bounds its head.
const READ_AHEAD_BYTES: usize = 32 << 10;
/// Where messages go.
const RPC_PATH: &str = "/rpc";
/// The path at which Prometheus looks.
const METRICS_PATH: &str = "/metrics";
/// Prometheus' name for its text.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

type HttpAnswer = HttpReply;

/// What a connection becomes that is HTTP no more.
enum HttpUpgrade {
    WebSocket(OnUpgrade),
    /// Lines of the Model Context Protocol, with the query of the URL.
    Mcp(OnUpgrade, String),
}

/// Serves one connection that began like HTTP.
pub(super) async fn serve<W: RpcStream>(
    wire: RewoundStream<W>,
    caller: RpcCaller,
    guest: RpcPeer,
    reception: ServerContext,
) {
    caller.speaks(ConnectionTransport::Http);
    let (upgrade, mut upgraded) = oneshot::channel();
    let desk = Arc::new(HttpRequestHandler {
        guest: guest.clone(),
        reception: reception.clone(),
        flight: ConnectionRequests::new(guest.admission),
        upgrade: std::sync::Mutex::new(Some(upgrade)),
    });
    let service = service_fn(move |request| {
        let desk = Arc::clone(&desk);
        async move { Ok::<HttpAnswer, Infallible>(desk.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_headers(MAX_HEADERS)
        .max_buf_size(READ_AHEAD_BYTES)
        .serve_connection(TokioIo::new(wire.cut_when_stuck(WRITE_STALL)), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    // What goes wrong here is the client's: it was told by a status, or is gone.
    tokio::select! { biased;
        _ = &mut connection => {}
        () = reception.stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _ = timeout(DRAIN, connection).await;
        }
    }
    match upgraded.try_recv() {
        Ok(HttpUpgrade::WebSocket(upgrade)) => websocket::serve::<W>(upgrade, caller, guest, reception).await,
        Ok(HttpUpgrade::Mcp(upgrade, query)) => mcp::serve::<W>(upgrade, query, guest, reception).await,
        Err(_) => {}
    }
}

/// Answers the requests of one connection.
struct HttpRequestHandler {
    guest: RpcPeer,
    reception: ServerContext,
    /// Of all requests of the connection, also of those whose effects go on after an answer was given up.
    flight: ConnectionRequests,
    /// Where the connection goes once it is HTTP no more.
    upgrade: std::sync::Mutex<Option<oneshot::Sender<HttpUpgrade>>>,
}

impl HttpRequestHandler {
    async fn answer(&self, request: Request<Incoming>) -> HttpAnswer {
        // Beside a length, chunks make it doubtful where a request ends: a proxy and we could disagree, and what is
        // one's body would be the other's next request (RFC 9112, section 11.2). No client needs them here.
        if request.headers().contains_key(header::TRANSFER_ENCODING) {
            let error = RpcError::new(ErrorKind::InvalidRequest, "bodies in chunks are not taken here")
                .with_hint("send the body with Content-Length");
            let mut answer = refusal(StatusCode::LENGTH_REQUIRED, &error);
            answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            return answer;
        }
        if let Some(gate) = &self.guest.gate
            && let Err(answer) = gate.admit(request.headers(), request.uri().path())
        {
            return *answer;
        }
        // What shows that the daemon lives needs no look, and who answers by a token is looked at when it has proved right.
        let path = request.uri().path();
        let is_looked_at = !matches!(path, "/healthz" | "/readyz") && !path.starts_with(confirm::PATH);
        if is_looked_at && let Err(answer) = self.look().await {
            return *answer;
        }
        let token = request.uri().path().strip_prefix(confirm::PATH).map(str::to_owned);
        if let Some(token) = token {
            return match *request.method() {
                Method::POST => self.confirm(&token, request).await,
                _ => refused_method("POST"),
            };
        }
        match (request.uri().path(), request.method()) {
            (RPC_PATH, &Method::POST) => self.post(request).await,
            (RPC_PATH, &Method::GET) => self.upgrade(request),
            (mcp::PATH, _) => self.mcp(request).await,
            ("/healthz", &Method::GET | &Method::HEAD) => text(StatusCode::OK, "ok\n"),
            ("/readyz", &Method::GET | &Method::HEAD) => self.readiness(),
            (METRICS_PATH, &Method::GET | &Method::HEAD) => self.metrics().await,
            (METRICS_PATH, _) => refused_method("GET, HEAD"),
            (RPC_PATH, _) => refused_method("GET, POST"),
            ("/healthz" | "/readyz", _) => refused_method("GET, HEAD"),
            _ => {
                let error = RpcError::new(ErrorKind::NotFound, "there is nothing at this path")
                    .with_hint("send messages to POST /rpc, or open a WebSocket at /rpc");
                refusal(StatusCode::NOT_FOUND, &error)
            }
        }
    }

    /// Whether they may come in, by where they come from.
    async fn look(&self) -> Result<(), Box<HttpAnswer>> {
        let Some(origin) = &self.guest.origin else { return Ok(()) };
        origin.admits().await.map_err(|error| {
            let mut answer = refusal(StatusCode::FORBIDDEN, &error);
            answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            Box::new(answer)
        })
    }

    async fn post(&self, request: Request<Incoming>) -> HttpAnswer {
        let traceparent =
            request.headers().get("traceparent").and_then(|it| it.to_str().ok()).map(str::to_owned);
        let body = match self.body(request).await {
            Ok(body) => body,
            Err(answer) => return *answer,
        };
        match self.exchange(&body, traceparent).await {
            Ok(Some(response)) => json(StatusCode::OK, &response),
            // Notifications only.
            Ok(None) => {
                let mut answer = HttpAnswer::default();
                *answer.status_mut() = StatusCode::NO_CONTENT;
                answer
            }
            Err(answer) => *answer,
        }
    }

    /// The whole body, which says that it is JSON.
    async fn body(&self, request: Request<Incoming>) -> Result<Bytes, Box<HttpAnswer>> {
        self.body_of_at_most(request, MAX_MESSAGE_BYTES).await
    }

    async fn body_of_at_most(
        &self,
        request: Request<Incoming>,
        most: usize,
    ) -> Result<Bytes, Box<HttpAnswer>> {
        let refused = |status, error: &RpcError| Err(Box::new(refusal(status, error)));
        if !is_json(request.headers().get(header::CONTENT_TYPE)) {
            let error = RpcError::new(ErrorKind::InvalidRequest, "the body must be application/json")
                .with_hint("send the header `Content-Type: application/json`; curl has --json");
            return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error);
        }
        let body = Limited::new(request.into_body(), most).collect();
        match timeout(BODY_TIME, body).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                refused(StatusCode::PAYLOAD_TOO_LARGE, &longer_than(most))
            }
            Ok(Err(_)) => {
                let error = RpcError::new(ErrorKind::ParseError, "the body ended before its time");
                refused(StatusCode::BAD_REQUEST, &error)
            }
            Err(_) => {
                let error = RpcError::new(ErrorKind::ParseError, "the body did not arrive in time");
                refused(StatusCode::REQUEST_TIMEOUT, &error)
            }
        }
    }

    /// One message, one answer. Nothing of it outlives the request, but what has effects is brought to its end even
    /// if the client hangs up.
    async fn exchange(
        &self,
        body: &Bytes,
        traceparent: Option<String>,
    ) -> Result<Option<Box<RawValue>>, Box<HttpAnswer>> {
        let caller =
            RpcCaller::passing(self.guest.peer, &self.reception.table.load, ConnectionTransport::Http);
        caller.note_traceparent(traceparent);
        let (outgoing, mut queue) = outgoing::queue();
        let table = Arc::clone(&self.reception.table);
        let exchange = MessageExchange::passing(caller, table, outgoing, self.flight.clone());
        let mut work = exchange.begin(message::parse(body));
        let answering = self.reception.tasks.spawn("the answer to an HTTP request", async move {
            let mut response: Option<Box<RawValue>> = None;
            loop {
                tokio::select! { biased;
                    // The response comes first; what follows it are signals, for which a request has no channel.
                    Some((json, _room)) = queue.next() => {
                        response.get_or_insert(json);
                    }
                    _ = &mut work => break,
                }
            }
            response.or_else(|| queue.next_waiting().map(|(json, _room)| json))
        });
        // When the client hangs up, hyper drops this future, and what only reads ends with it.
        let _abort = AbortOnDrop(exchange.clone());
        let mut answering = pin!(answering);
        let answered = tokio::select! { biased;
            answered = &mut answering => answered,
            () = self.stopped() => {
                exchange.abort_all(ErrorKind::ShuttingDown);
                answering.await
            }
        };
        answered.map_err(|error| {
            Box::new(refusal(StatusCode::INTERNAL_SERVER_ERROR, &super::errors::internal_error(&error)))
        })
    }

    /// Completes when the daemon stops and reads have had their time.
    async fn stopped(&self) {
        self.reception.stop.cancelled().await;
        tokio::time::sleep(READ_DRAIN).await;
    }

    fn upgrade(&self, mut request: Request<Incoming>) -> HttpAnswer {
        let response = match websocket::accept(&request) {
            Ok(response) => response,
            Err(error) => {
                let mut answer = refusal(StatusCode::UPGRADE_REQUIRED, &error);
                answer.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("websocket"));
                answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
                answer.headers_mut().insert("sec-websocket-version", HeaderValue::from_static("13"));
                return answer;
            }
        };
        self.becomes(HttpUpgrade::WebSocket(hyper::upgrade::on(&mut request)));
        response
    }

    fn becomes(&self, next: HttpUpgrade) {
        let sender = self.upgrade.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        // A connection is upgraded once; after that hyper reads no further request from it.
        if let Some(sender) = sender {
            let _ = sender.send(next);
        }
    }

    async fn metrics(&self) -> HttpAnswer {
        match (self.reception.metrics)().await {
            Ok(text) => with_body(StatusCode::OK, METRICS_TYPE, text.into()),
            Err(error) => refusal(StatusCode::SERVICE_UNAVAILABLE, &error),
        }
    }

    fn readiness(&self) -> HttpAnswer {
        match (self.reception.readiness)() {
            Ok(()) => text(StatusCode::OK, "ready\n"),
            Err(reason) => text(StatusCode::SERVICE_UNAVAILABLE, &format!("{reason}\n")),
        }
    }
}

/// Ends what only reads when nobody waits for it any more.
struct AbortOnDrop(MessageExchange);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort_all(ErrorKind::RequestCancelled);
    }
}

/// A form of a web page cannot send this type without being asked about first, so it is insisted on.
fn is_json(kind: Option<&HeaderValue>) -> bool {
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    ["application/json", "application/json-rpc", "application/jsonrequest"]
        .iter()
        .any(|known| kind.eq_ignore_ascii_case(known))
}

fn refused_method(allowed: &'static str) -> HttpAnswer {
    let error = RpcError::new(ErrorKind::InvalidRequest, format!("this path takes {allowed} only"));
    let mut answer = refusal(StatusCode::METHOD_NOT_ALLOWED, &error);
    answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    answer
}

/// An error that answers no message, in the shape of one that does.
fn refusal(status: StatusCode, error: &RpcError) -> HttpAnswer {
    json(status, &error_response(&WireId::Null, error))
}

fn json(status: StatusCode, body: &RawValue) -> HttpAnswer {
    with_body(status, "application/json", body.get().to_owned().into())
}

fn text(status: StatusCode, body: &str) -> HttpAnswer {
    with_body(status, "text/plain; charset=utf-8", body.to_owned().into())
}

fn with_body(status: StatusCode, kind: &'static str, body: Bytes) -> HttpAnswer {
    let mut answer = Response::new(Full::new(body).boxed());
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    // Answers are about one moment, and a browser must not guess at their type.
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}
