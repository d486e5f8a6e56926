//! Who may ask over TCP? Whoever shows the daemon's token, and no web page in the user's browser (spec 11, "Who may
//! talk to it").

use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _, Write as _},
    net::{IpAddr, SocketAddr},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use hyper::{HeaderMap, StatusCode, header};
use rustix::process::geteuid;
use subtle::ConstantTimeEq as _;

use super::{Answer, refusal};
use crate::protocol::{ErrorKind, RpcError};

/// Bytes of a token before they are written as hexadecimal digits: 256 bit, as spec 11 says.
const TOKEN_BYTES: usize = 32;

/// What a request over TCP must show.
pub struct Gate {
    token: String,
    /// Where the daemon listens.
    address: SocketAddr,
}

/// Why there is no token to ask for.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("cannot {action} the token file {path}: {source}")]
    System { action: &'static str, path: PathBuf, source: io::Error },
    /// Somebody else may know it.
    #[error("the token file {path} {problem}; remove it, and the next start makes a new one")]
    Unsafe { path: PathBuf, problem: String },
}

impl Gate {
    /// Reads the token, or makes one when there is none: a file of this user with mode 0600.
    pub fn open(token_file: &Path, address: SocketAddr) -> Result<Gate, TokenError> {
        let token = match read(token_file)? {
            Some(token) => token,
            None => make(token_file)?,
        };
        Ok(Gate { token, address })
    }

    /// Where the daemon listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets a request pass, or answers what it lacks. Supervisors need no token to see whether the daemon lives.
    pub(super) fn admit(&self, headers: &HeaderMap, path: &str) -> Result<(), Box<Answer>> {
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
        if matches!(path, "/healthz" | "/readyz") || self.is_shown(headers) {
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

    /// Whether a host, with or without its port, is this listener.
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

fn read(path: &Path) -> Result<Option<String>, TokenError> {
    let fail = |action| move |source| TokenError::System { action, path: path.to_owned(), source };
    let no_follow = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let opened = OpenOptions::new().read(true).custom_flags(no_follow.bits().cast_signed()).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail("open")(error)),
    };
    let metadata = file.metadata().map_err(fail("look at"))?;
    let unsafe_file = |problem: String| TokenError::Unsafe { path: path.to_owned(), problem };
    if !metadata.is_file() {
        return Err(unsafe_file("is no regular file".to_owned()));
    }
    if metadata.uid() != geteuid().as_raw() {
        return Err(unsafe_file(format!("belongs to user {}", metadata.uid())));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(unsafe_file(format!("is open to others (mode {:04o})", metadata.mode() & 0o777)));
    }
    let mut text = String::new();
    // One byte more than there may be tells a longer one.
    let most = 2 * TOKEN_BYTES as u64 + 2;
    file.take(most).read_to_string(&mut text).map_err(fail("read"))?;
    let token = text.trim_end();
    let is_token = token.len() == 2 * TOKEN_BYTES && token.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_token {
        return Err(unsafe_file("holds no token".to_owned()));
    }
    Ok(Some(token.to_owned()))
}

/// Writes a new token beside its place and moves it there, so that nobody reads half of one.
fn make(path: &Path) -> Result<String, TokenError> {
    let fail = |action| move |source| TokenError::System { action, path: path.to_owned(), source };
    let mut bytes = [0; TOKEN_BYTES];
    let mut filled = 0;
    while filled < bytes.len() {
        let flags = rustix::rand::GetRandomFlags::empty();
        let more = rustix::rand::getrandom(&mut bytes[filled..], flags);
        filled += more.map_err(|error| fail("make up")(error.into()))?;
    }
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let beside = path.with_extension("new");
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail("replace")(error)),
        _ => {}
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside);
    let mut file = file.map_err(fail("create"))?;
    file.write_all(format!("{token}\n").as_bytes()).and_then(|()| file.sync_all()).map_err(fail("write"))?;
    fs::rename(&beside, path).map_err(fail("create"))?;
    Ok(token)
}
