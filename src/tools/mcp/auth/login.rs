//! How does a person sign in? By their browser, which comes back to a port of this machine with a code (RFC 8252, 7636).
//!
//! Whoever comes back must know what only this login knows (`state`), at just this path, once, within ten minutes.

use std::{ffi::OsString, net::Ipv4Addr, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc, watch},
};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{
    OAuthSessions, discovery,
    discovery::{AuthorizationServer, discover},
    exchange::{OAuthRequest, ask},
    kept::{OAuthClientRegistration, StoredGrant},
    to_issuer,
};
use crate::mcp::launch;
use protocol::{McpOauth, McpServerConfig, McpTransport};
use sys::clock::Clock;

/// How long getting ready may take: whoever asked waits for it.
const READY_TIME: Duration = Duration::from_secs(12);
/// For the log.
const TASK: &str = "a sign-in to an MCP server";
/// How long a person has.
const LOGIN_TIME: Duration = Duration::from_secs(10 * 60);
/// How long a browser that connected may take to say what it wants: they connect ahead of time, and say nothing then.
const HEAD_TIME: Duration = Duration::from_secs(60);
/// Bytes of a request's head: a code may be long.
const MAX_HEAD: usize = 16 << 10;
/// Connections at once: a browser makes a few.
const MOST_CONNECTIONS: usize = 16;
/// Between two attempts to take a connection when that fails.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Where a browser comes back to.
const PATH: &str = "/callback";
/// Bytes of chance in what only one login knows.
const CHANCE_BYTES: usize = 32;

/// Who is to sign in to what.
#[derive(Debug, Clone)]
pub struct LoginRequest {
    /// The server's address, with nothing left to be filled in.
    pub server: String,
    /// What the daemon is known as; `None` = it makes itself known.
    pub client_id: Option<String>,
    /// `None` = those that the server names.
    pub scopes: Option<Vec<String>>,
}

impl LoginRequest {
    /// What an entry says. An error says why nobody can sign in to its server.
    pub fn of(entry: &McpServerConfig, environment: &[(OsString, OsString)]) -> Result<LoginRequest, String> {
        if !matches!(entry.transport, McpTransport::Http { .. }) {
            return Err("it is a local program, which has no sign-in".to_owned());
        }
        let (server, headers) = launch::headers(entry, environment)?;
        if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            return Err("its entry has a header `Authorization`, which says who is asking".to_owned());
        }
        let McpOauth { client_id, scopes } = entry.oauth.clone().unwrap_or_default();
        Ok(LoginRequest { server, client_id, scopes })
    }
}

/// What became of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginEnd {
    Done,
    Failed(String),
}

/// A login that is under way, or over. A cheap handle.
#[derive(Clone)]
pub struct OAuthLogin {
    end: watch::Receiver<Option<LoginEnd>>,
    stop: CancellationToken,
}

impl OAuthLogin {
    pub fn is_over(&self) -> bool {
        self.end.borrow().is_some()
    }

    /// Nobody wants it any more.
    pub fn end(&self) {
        self.stop.cancel();
    }

    /// Completes with what became of it. Cancel safe.
    pub async fn over(&self) -> LoginEnd {
        let mut end = self.end.clone();
        let end = end.wait_for(Option::is_some).await.ok().and_then(|end| end.clone());
        end.unwrap_or_else(|| LoginEnd::Failed("it broke off".to_owned()))
    }
}

/// What one login knows.
struct LoginAttempt {
    issuer: AuthorizationServer,
    client: OAuthClientRegistration,
    redirect: String,
    state: String,
    verifier: String,
}

/// Gets everything ready, and listens. Answers where a person has to go.
pub async fn begin(sign_ins: &OAuthSessions, wanted: &LoginRequest) -> Result<(String, OAuthLogin), String> {
    tokio::select! {
        biased;
        begun = beginning(sign_ins, wanted) => begun,
        () = sign_ins.0.clock.sleep(READY_TIME) => {
            Err(format!("the authorization server did not answer within {} s", READY_TIME.as_secs()))
        }
    }
}

async fn beginning(sign_ins: &OAuthSessions, wanted: &LoginRequest) -> Result<(String, OAuthLogin), String> {
    let inner = &sign_ins.0;
    let server = Url::parse(&wanted.server).map_err(|_| "its `url` is no address of the web")?;
    if !discovery::is_private(&server) {
        return Err(
            "a token would be read on the way to it: it is neither https nor on this machine".to_owned()
        );
    }
    let issuer = discover(&server, &inner.clock).await?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(|error| error.to_string())?;
    let port = listener.local_addr().map_err(|error| error.to_string())?.port();
    let redirect = format!("http://127.0.0.1:{port}{PATH}");
    let client = match &wanted.client_id {
        Some(id) => OAuthClientRegistration { id: id.clone(), secret: None, uses_header: false },
        None => register(&issuer, &redirect, &inner.clock).await?,
    };
    let asked = LoginAttempt { issuer, client, redirect, state: chance()?, verifier: chance()? };
    let url = asked.url(wanted.scopes.as_deref());
    let stop = inner.stop.child_token();
    let (sender, end) = watch::channel(None);
    let login = OAuthLogin { end, stop: stop.clone() };
    let (going, server) = (sign_ins.clone(), wanted.server.clone());
    // From now on, not from when the task has its turn.
    let over = inner.clock.sleep(LOGIN_TIME);
    let tasks = inner.tasks.clone();
    inner.tasks.spawn(TASK, async move {
        let carrying_out = async {
            tokio::select! {
                biased;
                done = asked.carry_out(&going, &server, listener) => done,
                () = stop.cancelled() => Err("the sign-in was cancelled".to_owned()),
                () = over => Err(format!("nobody signed in within {} minutes", LOGIN_TIME.as_secs() / 60)),
            }
        };
        let done = tasks.caught(TASK, carrying_out).await;
        let done = done.unwrap_or_else(|panicked| Err(panicked.to_string()));
        sender.send_replace(Some(done.map_or_else(LoginEnd::Failed, |()| LoginEnd::Done)));
    });
    Ok((url, login))
}

/// Makes the daemon known to an issuer (RFC 7591).
async fn register(
    issuer: &AuthorizationServer,
    redirect: &str,
    clock: &Arc<dyn Clock>,
) -> Result<OAuthClientRegistration, String> {
    let Some(url) = &issuer.register else {
        return Err(
            "the authorization server has no dynamic client registration: register a client there, and give its id in the entry: `oauth: {\"clientId\": …}`"
                .to_owned(),
        );
    };
    let wish = json!({
        "client_name": "subagentd",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    let answer = ask(url, OAuthRequest::Json(&wish), clock).await?;
    if !answer.is_success() {
        return Err(format!(
            "the authorization server refused the client registration (HTTP {})",
            answer.status
        ));
    }
    let told = answer.json()?;
    let text = |name: &str| told.get(name).and_then(Value::as_str).map(str::to_owned);
    let id = text("client_id")
        .filter(|id| !id.is_empty())
        .ok_or("the client registration answered no `client_id`")?;
    let uses_header = text("token_endpoint_auth_method").as_deref() == Some("client_secret_basic");
    Ok(OAuthClientRegistration { id, secret: text("client_secret"), uses_header })
}

fn chance() -> Result<String, String> {
    let mut bytes = [0; CHANCE_BYTES];
    let mut filled = 0;
    while filled < bytes.len() {
        let flags = rustix::rand::GetRandomFlags::empty();
        let more = rustix::rand::getrandom(&mut bytes[filled..], flags);
        filled += more.map_err(|error| format!("no random numbers from the system: {error}"))?;
    }
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

impl LoginAttempt {
    fn url(&self, scopes: Option<&[String]>) -> String {
        let mut url = self.issuer.authorize.clone();
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&self.verifier));
        let scopes = scopes.unwrap_or(&self.issuer.scopes).join(" ");
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client.id)
            .append_pair("redirect_uri", &self.redirect)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("state", &self.state)
            .append_pair("resource", &self.issuer.resource);
        if !scopes.is_empty() {
            query.append_pair("scope", &scopes);
        }
        drop(query);
        url.into()
    }

    async fn carry_out(
        &self,
        sign_ins: &OAuthSessions,
        server: &str,
        listener: TcpListener,
    ) -> Result<(), String> {
        let (mut stream, come) = self.await_return(sign_ins, listener).await?;
        let done = match come {
            Ok(code) => self.redeem(sign_ins, server, &code).await,
            Err(why) => Err(why),
        };
        let told = match &done {
            Ok(()) => "You are signed in. This window can be closed.",
            Err(_) => "Signing in did not work. `subagent mcp login` says why.",
        };
        answer(&mut stream, "200 OK", told).await;
        done
    }

    /// Listens until somebody comes back who knows the state.
    async fn await_return(
        &self,
        sign_ins: &OAuthSessions,
        listener: TcpListener,
    ) -> Result<(TcpStream, Result<String, String>), String> {
        let clock = &sign_ins.0.clock;
        let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let (sender, mut heads) = mpsc::channel::<(TcpStream, String)>(MOST_CONNECTIONS);
        // What is still being read when this is over is read no more.
        let over = CancellationToken::new();
        let _over = over.clone().drop_guard();
        let readers = sign_ins.0.tasks.beside();
        loop {
            let accepting = async {
                // It is never closed.
                let permit = Arc::clone(&room).acquire_owned().await.ok();
                (listener.accept().await, permit)
            };
            tokio::select! {
                head = heads.recv() => {
                    // Its sender is at hand.
                    let Some((mut stream, target)) = head else { continue };
                    match self.read(&target) {
                        Some(come) => return Ok((stream, come)),
                        None => answer(&mut stream, "400 Bad Request", "This is nothing that was asked for.").await,
                    }
                }
                (accepted, permit) = accepting => {
                    let Ok((stream, _)) = accepted else {
                        // Mostly a lack of file descriptors, which lasts; those who are heard out free some.
                        clock.sleep(ACCEPT_PAUSE).await;
                        continue;
                    };
                    let (sender, over, time) = (sender.clone(), over.clone(), clock.sleep(HEAD_TIME));
                    readers.spawn("who comes back from signing in", async move {
                        let _permit = permit;
                        tokio::select! {
                            read = target_of(stream) => {
                                if let Some(read) = read {
                                    drop(sender.send(read).await);
                                }
                            }
                            () = over.cancelled() => (),
                            () = time => (),
                        }
                    });
                }
            }
        }
    }

    /// The code, or why there is none; `None` = nobody asked for this.
    fn read(&self, target: &str) -> Option<Result<String, String>> {
        let query = target.strip_prefix(PATH)?.strip_prefix('?')?;
        let pairs: Vec<(String, String)> =
            url::form_urlencoded::parse(query.as_bytes()).into_owned().take(100).collect();
        let word = |name: &str| {
            let mut found = pairs.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
            // Said twice it is said in no way.
            found.next().filter(|_| found.next().is_none())
        };
        let is_ours = word("state")?.as_bytes().ct_eq(self.state.as_bytes());
        if !bool::from(is_ours) {
            return None;
        }
        match word("iss") {
            Some(iss) if iss.trim_end_matches('/') != self.issuer.issuer.trim_end_matches('/') => {
                return Some(Err(
                    "issuer mismatch: another authorization server sent the browser back".to_owned()
                ));
            }
            None if self.issuer.names_itself => {
                return Some(Err(
                    "the redirect has no `iss`, which the authorization server promised to send".to_owned(),
                ));
            }
            _ => (),
        }
        if let Some(error) = word("error") {
            let plain: String = error.chars().filter(char::is_ascii_graphic).take(100).collect();
            return Some(Err(format!("the authorization server refused: {plain}")));
        }
        Some(word("code").map(str::to_owned).ok_or_else(|| "the browser came back without a code".to_owned()))
    }

    /// Gets tokens for a code.
    async fn redeem(&self, sign_ins: &OAuthSessions, server: &str, code: &str) -> Result<(), String> {
        let (inner, issuer) = (&sign_ins.0, &self.issuer);
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", self.redirect.as_str()),
            ("code_verifier", self.verifier.as_str()),
            ("resource", issuer.resource.as_str()),
        ];
        let (is_success, told) = to_issuer(&issuer.token, &fields, &self.client, &inner.clock).await?;
        if !is_success {
            return Err("the authorization server gave no token for the code".to_owned());
        }
        let blank = StoredGrant {
            server: server.to_owned(),
            issuer: issuer.issuer.clone(),
            resource: issuer.resource.clone(),
            token_endpoint: issuer.token.to_string(),
            revocation_endpoint: issuer.revoke.as_ref().map(Url::to_string),
            client: self.client.clone(),
            access_token: String::new(),
            refresh_token: None,
            expires_at: None,
        };
        let kept = inner.read(&told, blank)?;
        let grant = sign_ins.grant(server);
        // Whoever renews an earlier one just now would put it in the place of this one.
        let _turn = grant.turn.acquire().await.map_err(|error| error.to_string())?;
        inner.keep(&grant, kept).await
    }
}

/// What a browser asks for, once its head has come.
async fn target_of(mut stream: TcpStream) -> Option<(TcpStream, String)> {
    let mut head = Vec::new();
    let mut piece = [0; 2048];
    while !head.windows(4).any(|it| it == b"\r\n\r\n") {
        let length = stream.read(&mut piece).await.ok()?;
        if length == 0 || MAX_HEAD < head.len() + length {
            return None;
        }
        head.extend_from_slice(&piece[..length]);
    }
    let line = std::str::from_utf8(head.split(|byte| *byte == b'\r').next()?).ok()?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?, words.next()?.to_owned());
    // Anything else is nothing that is waited for, and is told so.
    Some((stream, if method == "GET" { target } else { String::new() }))
}

async fn answer(stream: &mut TcpStream, status: &str, text: &str) {
    let length = text.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{text}"
    );
    // A browser that is gone needs no answer.
    drop(stream.write_all(answer.as_bytes()).await);
    drop(stream.shutdown().await);
}
