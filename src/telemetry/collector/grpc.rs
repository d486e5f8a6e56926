//! The protocol over gRPC: one call without streams over HTTP/2 ("OTLP/gRPC"; "gRPC over HTTP2"). A connection a call: they are a
//! second apart, and one that idles would be one more thing to watch.

use std::{future::poll_fn, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose};
use h2::{RecvStream, client};
use http::{HeaderMap, HeaderValue, Request, Uri, header};
use prost::{
    Message,
    bytes::{BufMut as _, Bytes, BytesMut},
};
use rustls::{ClientConfig, crypto::CryptoProvider, pki_types::ServerName};
use rustls_platform_verifier::Verifier;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

use super::{
    ANSWER_BYTES, DeliveryAnswer, DeliveryError, LONGEST_WAIT, OtlpCollector, USER_AGENT, accepted, later,
};
use crate::OtlpSignal;

/// Bytes of the headers of an answer, and of its trailers.
const HEADER_BYTES: u32 = 16 << 10;

/// Bytes before a message: whether it is compressed, and how long it is.
const PREFIX_BYTES: usize = 5;

pub(super) async fn deliver(collector: &OtlpCollector, body: Bytes) -> Result<DeliveryAnswer, DeliveryError> {
    let url = &collector.target.url;
    let unreachable = |problem: String| later(format!("cannot be reached: {problem}"));
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let port = url.port_or_known_default().unwrap_or(4317);
    let stream = TcpStream::connect((host, port)).await;
    let stream = stream.map_err(|error| unreachable(error.kind().to_string()))?;
    // Without it a small body waits for the acknowledgement of what was sent before.
    let _better = stream.set_nodelay(true);
    if url.scheme() != "https" {
        return call(collector, stream, body).await;
    }
    let connector = collector.tls.get_or_try_init(connector).await;
    let connector = connector.map_err(|error| unreachable(error.to_string()))?;
    let name = ServerName::try_from(host.to_owned()).map_err(|error| unreachable(error.to_string()))?;
    let stream = connector.connect(name, stream).await.map_err(|error| unreachable(error.to_string()))?;
    call(collector, stream, body).await
}

async fn call(
    collector: &OtlpCollector,
    stream: impl AsyncRead + AsyncWrite + Unpin,
    body: Bytes,
) -> Result<DeliveryAnswer, DeliveryError> {
    let broken = |error: h2::Error| later(format!("broke off: {error}"));
    let mut builder = client::Builder::new();
    builder.enable_push(false).max_header_list_size(HEADER_BYTES);
    let request = request(collector).map_err(|error| later(error.to_string()))?;
    let framed = framed(&body, collector.target.is_compressed);
    let (sender, connection) = builder.handshake::<_, Bytes>(stream).await.map_err(broken)?;
    let exchange = async {
        let mut sender = sender.ready().await.map_err(broken)?;
        let (answer, mut sending) = sender.send_request(request, false).map_err(broken)?;
        sending.send_data(framed, true).map_err(broken)?;
        let answer = answer.await.map_err(broken)?;
        if !answer.status().is_success() {
            return Err(later(format!("answered {} to a call by gRPC", answer.status())));
        }
        // An answer without a message has all it says in its head.
        if answer.headers().contains_key("grpc-status") {
            return outcome(answer.headers(), &[]);
        }
        let mut body = answer.into_body();
        let message = read(&mut body).await.map_err(broken)?;
        let trailers = body.trailers().await.map_err(broken)?.unwrap_or_default();
        outcome(&trailers, &message)
    };
    tokio::pin!(exchange, connection);
    // The connection is what moves bytes. Where it ends first, the exchange knows all that came.
    tokio::select! { biased;
        done = &mut exchange => done,
        _ended = &mut connection => exchange.await,
    }
}

fn request(collector: &OtlpCollector) -> Result<Request<()>, http::Error> {
    let url = &collector.target.url;
    let authority = match url.port() {
        Some(port) => format!("{}:{port}", url.host_str().unwrap_or_default()),
        None => url.host_str().unwrap_or_default().to_owned(),
    };
    let path = match collector.signal {
        OtlpSignal::Traces => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
        OtlpSignal::Metrics => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
        OtlpSignal::Logs => "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    };
    let uri = Uri::builder().scheme(url.scheme()).authority(authority).path_and_query(path).build()?;
    let timeout = format!("{}m", collector.target.timeout.as_millis());
    let mut request = Request::post(uri)
        .header(header::CONTENT_TYPE, "application/grpc")
        .header(header::TE, "trailers")
        .header(header::USER_AGENT, USER_AGENT)
        .header("grpc-timeout", timeout);
    if collector.target.is_compressed {
        request = request.header("grpc-encoding", "gzip");
    }
    for (name, value) in &collector.target.headers {
        request = request.header(name, value);
    }
    request.body(())
}

fn framed(body: &[u8], is_compressed: bool) -> Bytes {
    let mut framed = BytesMut::with_capacity(PREFIX_BYTES + body.len());
    framed.put_u8(u8::from(is_compressed));
    // Batches are far below 4 GiB.
    framed.put_u32(u32::try_from(body.len()).unwrap_or(u32::MAX));
    framed.put_slice(body);
    framed.freeze()
}

/// The body's bytes; nothing of one that is too long, the rest of which is not waited for.
async fn read(body: &mut RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut read = Vec::new();
    while let Some(chunk) = poll_fn(|cx| body.poll_data(cx)).await {
        let chunk = chunk?;
        if ANSWER_BYTES < read.len() + chunk.len() {
            return Err(h2::Reason::CANCEL.into());
        }
        read.extend_from_slice(&chunk);
        body.flow_control().release_capacity(chunk.len())?;
    }
    Ok(read)
}

/// Reads the status that stands in the trailers ("gRPC status codes").
fn outcome(trailers: &HeaderMap, message: &[u8]) -> Result<DeliveryAnswer, DeliveryError> {
    let text = |name: &str| trailers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let Some(code) = text("grpc-status").and_then(|code| code.parse::<u32>().ok()) else {
        return Err(later("ended the call without a status".to_owned()));
    };
    let problem = match NAMES.get(usize::try_from(code).unwrap_or(usize::MAX)) {
        Some(name) => format!("answered {name}"),
        None => format!("answered the gRPC status {code}"),
    };
    match code {
        0 => Ok(accepted(message.get(PREFIX_BYTES..).unwrap_or_default())),
        INVALID_ARGUMENT => Err(DeliveryError::Refused { problem }),
        UNKNOWN | INTERNAL => Err(DeliveryError::Failed { problem }),
        // Also a wrong token or address, which somebody will mend.
        _ => {
            let after = text("grpc-status-details-bin").and_then(retry_delay);
            Err(DeliveryError::Later { problem, after })
        }
    }
}

const UNKNOWN: u32 = 2;
const INVALID_ARGUMENT: u32 = 3;
const INTERNAL: u32 = 13;

const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// `google.rpc.Status`, as far as it may ask for patience.
#[derive(Clone, PartialEq, Message)]
struct StatusDetails {
    #[prost(message, repeated, tag = "3")]
    details: Vec<AnyDetail>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyDetail {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// `google.rpc.RetryInfo`
#[derive(Clone, PartialEq, Message)]
struct RetryDetail {
    #[prost(message, optional, tag = "1")]
    delay: Option<DelayMessage>,
}

#[derive(Clone, PartialEq, Message)]
struct DelayMessage {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

fn retry_delay(details: &str) -> Option<Duration> {
    let bytes = general_purpose::STANDARD_NO_PAD.decode(details.trim_end_matches('=')).ok()?;
    let details = StatusDetails::decode(&*bytes).ok()?.details;
    let detail = details.iter().find(|it| it.type_url.ends_with("/google.rpc.RetryInfo"))?;
    let delay = RetryDetail::decode(&*detail.value).ok()?.delay?;
    let wait = Duration::from_secs(u64::try_from(delay.seconds).ok()?)
        .saturating_add(Duration::from_nanos(u64::try_from(delay.nanos).ok()?));
    Some(wait.min(LONGEST_WAIT))
}

/// Reads the system's certificates, so it leaves the async threads alone.
async fn connector() -> Result<TlsConnector, rustls::Error> {
    match tokio::task::spawn_blocking(build).await {
        Ok(connector) => connector,
        // It cannot be cancelled: nobody holds its handle but this.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn build() -> Result<TlsConnector, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::<CryptoProvider>::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let mut config = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier::new(provider)?))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
