//! How does a request reach a collector, and what became of it? One try at a time, within a deadline; whoever asks decides what to
//! do next.

mod grpc;
mod http;

use std::{net::IpAddr, sync::Arc, time::Duration};

use config::OtlpProtocol;
use flate2::{Compression, write::GzEncoder};
use prost::{Message, bytes::Bytes};
use std::io::Write as _;
use sys::clock::Clock;
use tokio::sync::OnceCell;
use url::Url;

use crate::{OtlpSignal, OtlpTarget};

/// Bytes of an answer that are read: what was rejected, and why, fits. The rest of a longer one is left where it is.
const ANSWER_BYTES: usize = 64 << 10;

/// A collector may ask for patience, but not for so much of it that it would not be noticed when it is back.
const LONGEST_WAIT: Duration = Duration::from_secs(5 * 60);

const USER_AGENT: &str = concat!("subagentd/", env!("CARGO_PKG_VERSION"));

/// The collector's answer to a request that it took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryAnswer {
    /// Items of the request that it did not take, and will not.
    pub rejected: u64,
    /// Why, or what else it has to say.
    pub message: String,
}

/// The reason that a request was not taken; variants by what to do. None has a header or an address in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// It will be, once somebody is back, has less to do, or has mended a setting.
    #[error("{problem}")]
    Later { problem: String, after: Option<Duration> },
    /// The collector failed. It may be the fault of just this request.
    #[error("{problem}")]
    Failed { problem: String },
    /// This request will never be taken.
    #[error("{problem}")]
    Refused { problem: String },
}

/// A collector for the requests of one signal.
pub struct OtlpCollector {
    target: OtlpTarget,
    signal: OtlpSignal,
    clock: Arc<dyn Clock>,
    http: OnceCell<reqwest::Client>,
    tls: OnceCell<tokio_rustls::TlsConnector>,
}

impl OtlpCollector {
    pub fn new(target: OtlpTarget, signal: OtlpSignal, clock: Arc<dyn Clock>) -> OtlpCollector {
        OtlpCollector { target, signal, clock, http: OnceCell::new(), tls: OnceCell::new() }
    }

    pub fn protocol(&self) -> OtlpProtocol {
        self.target.protocol
    }

    /// The host, for people.
    pub fn host(&self) -> &str {
        self.target.url.host_str().unwrap_or_default()
    }

    /// A body as it is sent, compressed where that is wanted.
    pub fn packed(&self, body: Vec<u8>) -> Bytes {
        if !self.target.is_compressed {
            return body.into();
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        // Into memory, which takes all.
        let _infallible = encoder.write_all(&body);
        encoder.finish().unwrap_or_default().into()
    }

    /// Sends a body that was [packed](OtlpCollector::packed), once. Cancel safe: a request that is cut off may have been taken.
    pub async fn deliver(&self, body: Bytes) -> Result<DeliveryAnswer, DeliveryError> {
        match self.target.protocol {
            OtlpProtocol::Grpc => self.within(grpc::deliver(self, body)).await?,
            OtlpProtocol::HttpProtobuf | OtlpProtocol::HttpJson => http::deliver(self, body).await,
        }
    }

    /// The outcome of `work`, unless it takes longer than a request may.
    async fn within<T>(&self, work: impl Future<Output = T>) -> Result<T, DeliveryError> {
        let timeout = self.target.timeout;
        tokio::select! { biased;
            done = work => Ok(done),
            () = self.clock.sleep(timeout) => {
                Err(later(format!("did not answer within {} ms", timeout.as_millis())))
            }
        }
    }
}

fn later(problem: String) -> DeliveryError {
    DeliveryError::Later { problem, after: None }
}

/// The answer of all signals: how many items were rejected, and why.
#[derive(Clone, PartialEq, Message)]
struct ExportAnswer {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
struct PartialSuccess {
    #[prost(int64, tag = "1")]
    rejected: i64,
    #[prost(string, tag = "2")]
    error_message: String,
}

/// Reads the answer of a request that was taken; what cannot be read says nothing.
fn accepted(answer: &[u8]) -> DeliveryAnswer {
    let answer = ExportAnswer::decode(answer).unwrap_or_default().partial_success.unwrap_or_default();
    DeliveryAnswer { rejected: u64::try_from(answer.rejected).unwrap_or(0), message: answer.error_message }
}

/// From a proxy this machine's loopback cannot be reached.
fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
