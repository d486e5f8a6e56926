//! `/mcp`: where does who speaks the Model Context Protocol come in? (spec 07, "As a server")
//!
//! `POST`, `GET` and `DELETE` are that protocol's own way over HTTP. A `GET` that asks for `Upgrade: mcp` makes lines of the
//! connection, one JSON value each, which is how `subagent mcp` carries another program's standard input and output here. What is
//! said is for others: this only lets in.

use http_body_util::{BodyExt as _, Full};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{self, HeaderValue},
    upgrade::OnUpgrade,
};
use hyper_util::rt::TokioIo;

use super::{
    super::{
        context::{RpcPeer, ServerContext},
        flight::ConnectionAdmission,
        outgoing::WRITE_STALL,
        wire::{RewoundStream, RpcStream},
    },
    HttpAnswer, HttpRequestHandler, HttpUpgrade, refusal, refused_method,
};
use protocol::{ErrorKind, RpcError};

/// Where it is.
pub(super) const PATH: &str = "/mcp";
/// What a connection becomes that is lines.
const LINES: HeaderValue = HeaderValue::from_static("mcp");

impl HttpRequestHandler {
    pub(super) async fn mcp(&self, request: Request<Incoming>) -> HttpAnswer {
        let Some(door) = &self.reception.mcp else {
            let error = RpcError::new(ErrorKind::NotFound, "the Model Context Protocol is not spoken here");
            return refusal(StatusCode::NOT_FOUND, &error);
        };
        if self.guest.admission == ConnectionAdmission::ControlOnly {
            let error = RpcError::new(ErrorKind::Overloaded, "too many connections are open");
            return refusal(StatusCode::SERVICE_UNAVAILABLE, &error);
        }
        if asks_for_lines(request.headers()) && request.method() == Method::GET {
            let query = request.uri().query().unwrap_or_default().to_owned();
            return match door.admits(&query) {
                Ok(()) => self.lines(request, query),
                Err(error) => refusal(StatusCode::BAD_REQUEST, &error),
            };
        }
        let (parts, body) = request.into_parts();
        let body = match parts.method {
            Method::POST => match self.body(Request::from_parts(parts.clone(), body)).await {
                Ok(body) => body,
                Err(answer) => return *answer,
            },
            Method::GET | Method::DELETE => Bytes::new(),
            _ => return refused_method("GET, POST, DELETE"),
        };
        door.answer(Request::from_parts(parts, Full::new(body)), self.guest.peer).await
    }

    fn lines(&self, mut request: Request<Incoming>, query: String) -> HttpAnswer {
        let mut answer = Response::new(Full::default().boxed());
        *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        answer.headers_mut().insert(header::UPGRADE, LINES);
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        self.becomes(HttpUpgrade::Mcp(hyper::upgrade::on(&mut request), query));
        answer
    }
}

fn asks_for_lines(headers: &HeaderMap) -> bool {
    headers
        .get(header::UPGRADE)
        .is_some_and(|protocol| protocol.as_bytes().eq_ignore_ascii_case(LINES.as_bytes()))
}

/// Speaks over a connection that has been made lines.
pub(super) async fn serve<W: RpcStream>(
    upgrade: OnUpgrade,
    query: String,
    guest: RpcPeer,
    reception: ServerContext,
) {
    let Some(door) = reception.mcp else { return };
    // Fails only when the client left within the handshake.
    let Ok(upgraded) = upgrade.await else { return };
    let Ok(parts) = upgraded.downcast::<TokioIo<RewoundStream<W>>>() else {
        tracing::error!("an upgraded connection is of another type than the one that was upgraded");
        return;
    };
    // Whoever speaks writes without a bound of their own.
    let wire = parts.io.into_inner().rewound(parts.read_buf.into()).cut_when_stuck(WRITE_STALL);
    door.converse(Box::new(wire), query, guest.peer).await;
}
