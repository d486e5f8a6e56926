//! Who may ask over TCP? Whoever shows the daemon's token, and no web page in the user's browser (spec 11, "Who may
//! talk to it").

use std::net::IpAddr;

use hyper::{HeaderMap, StatusCode, header};
use subtle::ConstantTimeEq as _;

use super::{super::tcp_gate::TcpGate, HttpAnswer, confirm, refusal};
use protocol::{ErrorKind, RpcError};

impl TcpGate {
    /// Lets a request pass, or answers what it lacks. Supervisors need no token to see whether the daemon lives.
    pub(super) fn admit(&self, headers: &HeaderMap, path: &str) -> Result<(), Box<HttpAnswer>> {
        let forbidden = |message: String, hint: &str| {
            let error = RpcError::new(ErrorKind::Forbidden, message).with_hint(hint);
            Box::new(refusal(StatusCode::FORBIDDEN, &error))
        };
        // A name that an attacker's server resolves to this machine makes a browser send it as the host.
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).filter(|_| hosts.next().is_none());
        if !host.is_some_and(|host| self.is_ours(host)) {
            return Err(forbidden(
                format!("this daemon is not called {}", host.unwrap_or("nothing, or two things at once")),
                "ask for http://127.0.0.1 or http://localhost with the daemon's port",
            ));
        }
        for origin in headers.get_all(header::ORIGIN) {
            let host = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
            if !host.is_some_and(|host| self.is_ours(host)) {
                return Err(forbidden(
                    "requests from web pages are refused".to_owned(),
                    "ask from a program",
                ));
            }
        }
        // What stands in the path of an answer proves more than the bearer's token: that this very question was read.
        let shows_otherwise = matches!(path, "/healthz" | "/readyz") || path.starts_with(confirm::PATH);
        if shows_otherwise || self.is_shown(headers) {
            return Ok(());
        }
        let error = RpcError::new(ErrorKind::Unauthorized, "the request shows no token, or a wrong one")
            .with_hint("send `Authorization: Bearer` and the content of the daemon's token file");
        let mut answer = refusal(StatusCode::UNAUTHORIZED, &error);
        answer.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        Err(Box::new(answer))
    }

    /// In constant time, so that a wrong token does not tell how much of it is right.
    fn is_shown(&self, headers: &HeaderMap) -> bool {
        let mut shown = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(only), None) = (shown.next(), shown.next()) else { return false };
        let Some((scheme, token)) = only.to_str().ok().and_then(|shown| shown.split_once(' ')) else {
            return false;
        };
        scheme.eq_ignore_ascii_case("bearer")
            && bool::from(token.trim().as_bytes().ct_eq(self.token.as_bytes()))
    }

    /// True if a host, with or without its port, is this listener.
    fn is_ours(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            // `[::1]` has colons of its own.
            Some((name, port)) if !port.ends_with(']') => (name, port.parse::<u16>().ok()),
            _ => (host, Some(80)),
        };
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let is_name = name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|it| it.is_loopback());
        is_name && port == Some(self.address.port())
    }
}
