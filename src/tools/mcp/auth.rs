//! Signing in to servers over HTTP: who did, and with what is a server asked then? (spec 07, "As a client"; RFC 6749, 7636,
//! 8414, 8707, 9728)
//!
//! A token belongs to one server's address and to whoever issued it; it goes nowhere else. It is kept in a file, renewed before
//! it ends and once when it is refused, and hidden from everything that is shown before it is used.
//!
//! Note: `rmcp` has an OAuth client (feature `auth`, 3.11 at the time of writing). It does not replace this one, even with an
//! HTTP client of ours below it. It accepts a server that never asked for a sign-in, a token endpoint at another origin than
//! the issuer's, an authorization endpoint over plain HTTP, metadata without `code_challenge_methods_supported`, a redirect with
//! two `state`s, and a token of any type. We could check these around it, but not mend the following: registration fails when
//! the answer has no `redirect_uris`; the resource of a sign-in can neither be read nor be restored from a file; stored
//! credentials lack the client's secret, and the issuer's metadata, not the registration, decide how it is sent; of the errors
//! that end a sign-in only `invalid_grant` can be told apart; the code and an `id_token` are logged at level `debug`. Once these
//! are mended, its discovery and its exchange can take the place of ours. The checks, the listener, the file and the revocation
//! stay ours in any case.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use url::Url;

use self::{
    exchange::{OAuthRequest, ask},
    kept::{OAuthClientRegistration, StoredGrant},
    login::OAuthLogin,
};
use sys::{clock::Clock, tasks::TaskGroup};

mod client;
mod discovery;
mod exchange;
mod kept;
mod login;

pub use client::{AuthorizationRequired, OAuthHttpClient};
pub use login::{LoginEnd, LoginRequest};

/// A token is renewed so long before it ends.
const RENEWED_BEFORE: Duration = Duration::from_secs(60);
/// Longest life of a token that is believed: ten years, so that no sum overflows.
const LONGEST_LIFE: u64 = 10 * 366 * 24 * 3_600;
/// Characters of a token at most: it goes into a header of each request.
const MOST_TOKEN_CHARS: usize = 64 << 10;
/// Servers that are remembered though nobody signed in to them.
const MOST_GRANTS: usize = 1_000;

/// Who signed in where. A cheap handle.
#[derive(Clone)]
pub struct OAuthSessions(Arc<OAuthSessionsInner>);

struct OAuthSessionsInner {
    folder: PathBuf,
    clock: Arc<dyn Clock>,
    tasks: TaskGroup,
    stop: CancellationToken,
    /// By the server's address.
    grants: Mutex<BTreeMap<String, Arc<OAuthGrant>>>,
    logins: Mutex<BTreeMap<String, OAuthLogin>>,
    /// Has what must not be shown hidden, from now on.
    hide: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

/// What one server is asked with.
pub struct OAuthGrant {
    /// Of the server, as its entry has it.
    server: String,
    kept: Mutex<Option<StoredGrant>>,
    /// One permit, for whoever renews it: of two refresh tokens the second would be refused.
    turn: Semaphore,
    inner: Weak<OAuthSessionsInner>,
}

/// What became of a wish for another token.
enum TokenRenewal {
    Yes,
    /// Whoever issues them does not want to. Nobody is signed in any more.
    Refused,
    /// Nobody knows: it could not be reached.
    Unknown,
}

impl OAuthSessions {
    /// Those of the folder, which is made when somebody signs in. Blocks.
    pub fn open(
        folder: PathBuf,
        clock: Arc<dyn Clock>,
        (tasks, stop): (TaskGroup, CancellationToken),
    ) -> OAuthSessions {
        let all = kept::all(&folder);
        let inner = Arc::new(OAuthSessionsInner {
            folder,
            clock,
            tasks,
            stop,
            grants: Mutex::default(),
            logins: Mutex::default(),
            hide: OnceLock::new(),
        });
        let sign_ins = OAuthSessions(inner);
        for kept in all {
            let grant = sign_ins.grant(&kept.server);
            *lock(&grant.kept) = Some(kept);
        }
        sign_ins
    }

    /// Who is told, before a new token is used, that there is more to hide. Once.
    pub fn hide_by(&self, hide: impl Fn() + Send + Sync + 'static) {
        drop(self.0.hide.set(Box::new(hide)));
        self.0.hide();
    }

    /// What must not be shown, as names and values.
    pub fn secrets(&self) -> Vec<(String, String)> {
        let grants = lock(&self.0.grants);
        let kept = grants.values().filter_map(|grant| lock(&grant.kept).as_ref().map(StoredGrant::secrets));
        kept.flatten().map(|secret| ("MCP_SIGN_IN_TOKEN".to_owned(), secret)).collect()
    }

    /// What a server at this address is asked with, from now on and whoever signs in later.
    pub fn grant(&self, server: &str) -> Arc<OAuthGrant> {
        let mut grants = lock(&self.0.grants);
        if MOST_GRANTS <= grants.len() && !grants.contains_key(server) {
            grants.retain(|_, grant| 1 < Arc::strong_count(grant) || lock(&grant.kept).is_some());
        }
        let new = || {
            Arc::new(OAuthGrant {
                server: server.to_owned(),
                kept: Mutex::default(),
                turn: Semaphore::new(1),
                inner: Arc::downgrade(&self.0),
            })
        };
        Arc::clone(grants.entry(server.to_owned()).or_insert_with(new))
    }

    /// Begins to sign in to a server; an earlier wish to do so ends. Answers where a person has to go.
    pub async fn begin(&self, wanted: LoginRequest) -> Result<String, String> {
        let (url, login) = login::begin(self, &wanted).await?;
        let mut logins = lock(&self.0.logins);
        // Others that have ended are not asked for any more.
        logins.retain(|_, login| !login.is_over());
        if let Some(before) = logins.insert(wanted.server, login) {
            before.end();
        }
        Ok(url)
    }

    /// What became of the last wish to sign in, as soon as it is known; `None` = it is not known within this time, or there is
    /// no such wish.
    pub async fn login_end(&self, server: &str, within: Duration) -> Option<LoginEnd> {
        let login = lock(&self.0.logins).get(server).cloned()?;
        tokio::select! {
            biased;
            end = login.over() => Some(end),
            () = self.0.clock.sleep(within) => None,
        }
    }

    /// Forgets who signed in to a server, and says so to whoever issued the tokens. Answers whether somebody had, and whether
    /// the issuer took them back.
    pub async fn sign_out(&self, server: &str) -> Result<(bool, bool), String> {
        if let Some(login) = lock(&self.0.logins).remove(server) {
            login.end();
        }
        let grant = self.grant(server);
        // Whoever renews it just now would bring it back.
        let _turn = grant.turn.acquire().await;
        let Some(kept) = lock(&grant.kept).clone() else { return Ok((false, false)) };
        self.0.forget(server).await?;
        *lock(&grant.kept) = None;
        let Some(url) = kept.revocation_endpoint.as_ref().and_then(|it| Url::parse(it).ok()) else {
            return Ok((true, false));
        };
        let (token, hint) = match &kept.refresh_token {
            Some(token) => (token, "refresh_token"),
            None => (&kept.access_token, "access_token"),
        };
        let fields = [("token", token.as_str()), ("token_type_hint", hint)];
        let answer = to_issuer(&url, &fields, &kept.client, &self.0.clock).await;
        Ok((true, answer.is_ok_and(|(is_success, _)| is_success)))
    }
}

impl OAuthSessionsInner {
    fn hide(&self) {
        if let Some(hide) = self.hide.get() {
            hide();
        }
    }

    /// Keeps it for the next daemon, then for this one; hidden before anybody uses it.
    async fn keep(&self, grant: &OAuthGrant, kept: StoredGrant) -> Result<(), String> {
        let (folder, written) = (self.folder.clone(), kept.clone());
        let writing = tokio::task::spawn_blocking(move || kept::write(&folder, &written)).await;
        let written = writing.map_err(|error| error.to_string())?;
        written.map_err(|error| format!("the sign-in cannot be kept: {error}"))?;
        *lock(&grant.kept) = Some(kept);
        self.hide();
        Ok(())
    }

    async fn forget(&self, server: &str) -> Result<(), String> {
        let (folder, server) = (self.folder.clone(), server.to_owned());
        let removing = tokio::task::spawn_blocking(move || kept::remove(&folder, &server)).await;
        let removed = removing.map_err(|error| error.to_string())?;
        removed.map_err(|error| format!("the sign-in cannot be forgotten: {error}"))
    }

    /// What was answered to a wish for tokens, as it is kept. `before`: what is renewed.
    fn read(&self, told: &Value, before: StoredGrant) -> Result<StoredGrant, String> {
        let text = |name: &str| told.get(name).and_then(Value::as_str).map(str::to_owned);
        let is_token = |token: &String| {
            !token.is_empty()
                && token.len() <= MOST_TOKEN_CHARS
                && token.bytes().all(|byte| byte.is_ascii_graphic())
        };
        let access_token = text("access_token").filter(is_token).ok_or("it answered without a token")?;
        if !text("token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
            return Err("its token is of a kind that nobody here knows".to_owned());
        }
        let lives = told.get("expires_in").and_then(Value::as_u64).map(|seconds| seconds.min(LONGEST_LIFE));
        let expires_at = lives.map(|seconds| {
            self.clock.now().0.saturating_add(i64::try_from(seconds * 1_000_000).unwrap_or(i64::MAX))
        });
        // One that is not replaced stays good.
        let refresh_token = text("refresh_token").filter(is_token).or(before.refresh_token);
        Ok(StoredGrant { access_token, refresh_token, expires_at, ..before })
    }
}

impl OAuthGrant {
    /// What to ask with now; renewed if it is about to end.
    async fn token(self: &Arc<Self>) -> Option<String> {
        let kept = lock(&self.kept).clone()?;
        if !self.ends_within(&kept, RENEWED_BEFORE) {
            return Some(kept.access_token);
        }
        match self.renew(&kept.access_token, false).await {
            TokenRenewal::Yes | TokenRenewal::Unknown => {
                lock(&self.kept).as_ref().map(|kept| kept.access_token.clone())
            }
            TokenRenewal::Refused => None,
        }
    }

    /// Another one than this, which was refused.
    async fn other_than(self: &Arc<Self>, refused: &str) -> Option<String> {
        match self.renew(refused, true).await {
            TokenRenewal::Yes => lock(&self.kept).as_ref().map(|kept| kept.access_token.clone()),
            TokenRenewal::Refused | TokenRenewal::Unknown => None,
        }
    }

    fn ends_within(&self, kept: &StoredGrant, time: Duration) -> bool {
        let (Some(ends), Some(inner)) = (kept.expires_at, self.inner.upgrade()) else { return false };
        ends.saturating_sub(inner.clock.now().0) <= i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
    }

    /// Whether somebody is signed in, though the token may not be good any more.
    fn is_signed_in(&self) -> bool {
        lock(&self.kept).is_some()
    }

    /// `was_refused`: this one is good for nothing. Cancel safe: who stops waiting does not stop it, since the issuer may have
    /// replaced the refresh token already, and the next one would be lost with the answer.
    async fn renew(self: &Arc<Self>, stale: &str, was_refused: bool) -> TokenRenewal {
        let Some(inner) = self.inner.upgrade() else { return TokenRenewal::Unknown };
        let (grant, stale, tasks) = (Arc::clone(self), stale.to_owned(), inner.tasks.clone());
        // It ends by itself: a question to the issuer has a deadline.
        let renewing = tasks.spawn("the renewal of a sign-in", async move {
            grant.renew_whole(&inner, &stale, was_refused).await
        });
        renewing.await.unwrap_or(TokenRenewal::Unknown)
    }

    async fn renew_whole(&self, inner: &OAuthSessionsInner, stale: &str, was_refused: bool) -> TokenRenewal {
        let Ok(_turn) = self.turn.acquire().await else { return TokenRenewal::Unknown };
        let Some(kept) = lock(&self.kept).clone() else { return TokenRenewal::Refused };
        if kept.access_token != stale {
            // Somebody else was faster.
            return TokenRenewal::Yes;
        }
        let (Some(token), Ok(url)) = (&kept.refresh_token, Url::parse(&kept.token_endpoint)) else {
            return match was_refused || self.ends_within(&kept, Duration::ZERO) {
                true => self.lose(inner).await,
                false => TokenRenewal::Unknown,
            };
        };
        let fields =
            [("grant_type", "refresh_token"), ("refresh_token", token), ("resource", kept.resource.as_str())];
        let answer = to_issuer(&url, &fields, &kept.client, &inner.clock).await;
        let kept = match answer {
            Ok((true, told)) => inner.read(&told, kept),
            Ok((false, told)) if is_final(&told) => return self.lose(inner).await,
            // Something between here and there may have refused; a person who signs in again for that would be asked in vain.
            Ok((false, _)) => {
                Err("who issues tokens refused, and does not say that the sign-in is over".to_owned())
            }
            Err(why) => Err(why),
        };
        let done = match kept {
            Ok(kept) => inner.keep(self, kept).await,
            Err(why) => Err(why),
        };
        match done {
            Ok(()) => TokenRenewal::Yes,
            Err(why) => {
                tracing::warn!(why, "a sign-in to an MCP server could not be renewed");
                TokenRenewal::Unknown
            }
        }
    }

    /// Nobody is signed in any more.
    async fn lose(&self, inner: &OAuthSessionsInner) -> TokenRenewal {
        *lock(&self.kept) = None;
        if let Err(why) = inner.forget(&self.server).await {
            tracing::warn!(why, "a sign-in that does not hold any more stays in its file");
        }
        TokenRenewal::Refused
    }
}

/// Whether a refusal is about the sign-in or this client, so that the next wish is refused, too (RFC 6749, 5.2).
fn is_final(told: &Value) -> bool {
    let error = told.get("error").and_then(Value::as_str);
    matches!(error, Some("invalid_grant" | "invalid_client" | "unauthorized_client"))
}

/// Asks an issuer as this client. Whether it did as it was asked, and what it said; an error = nobody knows.
async fn to_issuer(
    url: &Url,
    fields: &[(&str, &str)],
    client: &OAuthClientRegistration,
    clock: &Arc<dyn Clock>,
) -> Result<(bool, Value), String> {
    let mut fields = fields.to_vec();
    let account = match &client.secret {
        Some(secret) if client.uses_header => Some((client.id.as_str(), secret.as_str())),
        secret => {
            fields.push(("client_id", &client.id));
            fields.extend(secret.as_ref().map(|secret| ("client_secret", secret.as_str())));
            None
        }
    };
    let answer = ask(url, OAuthRequest::Form(&fields, account), clock).await?;
    match answer.status {
        200..300 => Ok((true, answer.json().unwrap_or(Value::Null))),
        400 | 401 | 403 => Ok((false, answer.json().unwrap_or(Value::Null))),
        status => Err(format!("it answered with HTTP {status}")),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while one of these is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_refusal_that_says_so_ends_a_sign_in() {
        for error in ["invalid_grant", "invalid_client", "unauthorized_client"] {
            assert!(is_final(&json!({ "error": error })), "{error}");
        }
        for told in [
            json!({ "error": "invalid_request" }),
            json!({ "error": "temporarily_unavailable" }),
            json!({ "message": "invalid_grant" }),
            json!("invalid_grant"),
            Value::Null,
        ] {
            assert!(!is_final(&told), "{told}");
        }
    }
}
