//! Who signs people in to a server, and where? (RFC 9728, RFC 8414, and how the Model Context Protocol uses them)
//!
//! All of it is told by strangers. So nothing goes over plain HTTP but on this machine, a server that is elsewhere leads to
//! nothing on this machine, and whoever issues tokens is asked for them at its own origin alone.

use std::sync::Arc;

use serde_json::{Value, json};
use url::{Host, Url};

use super::exchange::{OAuthRequest, OAuthResponse, ask};
use sys::clock::Clock;

/// Scopes that are asked for at most, and characters of each.
const MOST_SCOPES: usize = 100;
const MOST_SCOPE_CHARS: usize = 200;

/// What is known of who signs people in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationServer {
    /// What tokens are for: the server, in its own words.
    pub resource: String,
    pub issuer: String,
    pub authorize: Url,
    pub token: Url,
    pub register: Option<Url>,
    pub revoke: Option<Url>,
    pub scopes: Vec<String>,
    /// Each answer of it names it (RFC 9207).
    pub names_itself: bool,
}

/// Whether a token may go there: nobody reads on the way.
pub fn is_private(url: &Url) -> bool {
    url.scheme() == "https" || url.scheme() == "http" && is_here(url)
}

/// Just what is connected to without asking a proxy: a name below `localhost` may be somebody else's there.
fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Asks the server who signs people in to it, and them how they do it.
pub async fn discover(server: &Url, clock: &Arc<dyn Clock>) -> Result<AuthorizationServer, String> {
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let refusal = ask(server, OAuthRequest::Json(&ping), clock).await?;
    if refusal.status != 401 {
        return Err("the server does not ask for a sign-in (it answered without HTTP 401)".to_owned());
    }
    let challenge = refusal.challenge.unwrap_or_default();
    let told = resource(server, word_of(&challenge, "resource_metadata"), clock).await?;
    let (resource, issuer, supported) = match told {
        Some(told) => {
            let resource =
                text(&told, "resource").ok_or("its protected resource metadata has no `resource`")?;
            if !is_of(server, &resource) {
                return Err("its protected resource metadata is that of another server".to_owned());
            }
            let issuers = told.get("authorization_servers").and_then(Value::as_array);
            let issuer = issuers.and_then(|it| it.first()).and_then(Value::as_str);
            let issuer =
                issuer.ok_or("its protected resource metadata names no authorization server")?.to_owned();
            (resource, issuer, scopes_of(&told))
        }
        // As it was before servers told: they do it themselves.
        None => (server.to_string(), server.origin().ascii_serialization(), Vec::new()),
    };
    let wanted = word_of(&challenge, "scope").map(|it| it.split(' ').map(str::to_owned).collect());
    let scopes = wanted.unwrap_or(supported);
    issued_by(server, resource, issuer, scopes, clock).await
}

/// What the server tells of itself; `None` = it tells nothing.
async fn resource(
    server: &Url,
    named: Option<String>,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Value>, String> {
    if let Some(named) = named {
        let url = Url::parse(&named).ok().filter(|url| url.origin() == server.origin());
        let url = url.ok_or("its `resource_metadata` is at another origin than the server")?;
        return whole(ask(&url, OAuthRequest::Get, clock).await?).map(Some);
    }
    let path = server.path().trim_end_matches('/');
    for path in [path, ""] {
        let url = at(server, &format!("/.well-known/oauth-protected-resource{path}"));
        let answer = ask(&url, OAuthRequest::Get, clock).await?;
        if answer.is_success() {
            return whole(answer).map(Some);
        }
    }
    Ok(None)
}

async fn issued_by(
    server: &Url,
    resource: String,
    issuer: String,
    scopes: Vec<String>,
    clock: &Arc<dyn Clock>,
) -> Result<AuthorizationServer, String> {
    let may_be_here = is_here(server);
    let checked = |told: &str, what: &str| -> Result<Url, String> {
        let url = Url::parse(told).map_err(|_| format!("{what}: not a URL"))?;
        let is_plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
        if !is_private(&url) || !is_plain || is_here(&url) && !may_be_here {
            return Err(format!(
                "{what}: tokens may not be sent to this URL (https, or this machine when the server is here)"
            ));
        }
        Ok(url)
    };
    let home = checked(&issuer, "the authorization server")?;
    let path = home.path().trim_end_matches('/');
    let mut places = vec![
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        places.push(format!("{path}/.well-known/openid-configuration"));
    }
    let mut told = None;
    for place in places {
        let answer = ask(&at(&home, &place), OAuthRequest::Get, clock).await?;
        if answer.is_success() {
            told = Some(whole(answer)?);
            break;
        }
    }
    let told =
        told.ok_or("the authorization server has no metadata (RFC 8414 or OpenID Connect discovery)")?;
    let named = text(&told, "issuer").unwrap_or_default();
    if named.trim_end_matches('/') != issuer.trim_end_matches('/') {
        return Err("authorization server: issuer mismatch (its metadata names another `issuer`)".to_owned());
    }
    let methods = told.get("code_challenge_methods_supported").and_then(Value::as_array);
    if !methods.is_some_and(|methods| methods.iter().any(|it| it == "S256")) {
        return Err("the authorization server does not support PKCE with S256".to_owned());
    }
    let endpoint = |name: &str| text(&told, name).map(|it| checked(&it, name)).transpose();
    let own = |name: &str| -> Result<Option<Url>, String> {
        let url = endpoint(name)?;
        match url.as_ref().is_some_and(|url| url.origin() != home.origin()) {
            true => Err(format!("{name} is at another origin than the authorization server")),
            false => Ok(url),
        }
    };
    Ok(AuthorizationServer {
        resource,
        authorize: endpoint("authorization_endpoint")?.ok_or("it has no authorization_endpoint")?,
        token: own("token_endpoint")?.ok_or("it has no token_endpoint")?,
        register: own("registration_endpoint")?,
        revoke: own("revocation_endpoint")?,
        scopes: scopes.into_iter().filter(|it| is_scope(it)).take(MOST_SCOPES).collect(),
        names_itself: told.get("authorization_response_iss_parameter_supported") == Some(&Value::Bool(true)),
        issuer: named,
    })
}

fn is_scope(scope: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_graphic() && !matches!(letter, '"' | '\\');
    !scope.is_empty() && scope.len() <= MOST_SCOPE_CHARS && scope.chars().all(is_letter)
}

fn whole(answer: OAuthResponse) -> Result<Value, String> {
    match answer.is_success() {
        true => answer.json(),
        false => Err(format!("its metadata cannot be had (HTTP {})", answer.status)),
    }
}

fn at(url: &Url, path: &str) -> Url {
    let mut at = url.clone();
    at.set_path(path);
    at.set_query(None);
    at.set_fragment(None);
    at
}

/// Whether a server's metadata are about it: its own address, or one above it.
fn is_of(server: &Url, resource: &str) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let above = resource.path().trim_end_matches('/');
    let rest = server.path().strip_prefix(above);
    resource.origin() == server.origin() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn text(told: &Value, name: &str) -> Option<String> {
    told.get(name)?.as_str().map(str::to_owned)
}

fn scopes_of(told: &Value) -> Vec<String> {
    let listed = told.get("scopes_supported").and_then(Value::as_array);
    listed.into_iter().flatten().filter_map(|it| it.as_str().map(str::to_owned)).collect()
}

/// A word of a challenge: `name="word"`.
fn word_of(challenge: &str, name: &str) -> Option<String> {
    let lead = format!("{name}=\"");
    let at = challenge.match_indices(&lead).map(|(at, _)| at);
    let is_whole_name =
        |at: &usize| challenge[..*at].chars().next_back().is_none_or(|it| matches!(it, ' ' | ','));
    let at = at.into_iter().find(is_whole_name)? + lead.len();
    challenge[at..].split_once('"').map(|(word, _)| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_are_about_a_server_or_what_is_above_it() {
        let server = Url::parse("https://a.example/one/mcp").unwrap();
        for (resource, expected) in [
            ("https://a.example/one/mcp", true),
            ("https://a.example/one", true),
            ("https://a.example", true),
            ("https://a.example/on", false),
            ("https://a.example/one/mcp/deep", false),
            ("https://b.example/one/mcp", false),
            ("http://a.example/one/mcp", false),
            ("a.example", false),
        ] {
            assert_eq!(is_of(&server, resource), expected, "{resource}");
        }
    }

    #[test]
    fn words_of_a_challenge_are_found_by_their_whole_names() {
        let challenge = "Bearer error=\"x\", xscope=\"no\", scope=\"a b\", resource_metadata=\"https://a/\"";
        assert_eq!(word_of(challenge, "scope").as_deref(), Some("a b"));
        assert_eq!(word_of(challenge, "resource_metadata").as_deref(), Some("https://a/"));
        assert_eq!(word_of(challenge, "realm"), None);
        assert_eq!(word_of("Bearer scope=\"open", "scope"), None);
    }

    #[test]
    fn tokens_go_over_tls_or_nowhere_but_here() {
        for (url, expected) in [
            ("https://a.example/", true),
            ("http://127.0.0.1:9/", true),
            ("http://localhost/", true),
            ("http://[::1]/", true),
            ("http://a.example/", false),
            ("http://a.localhost/", false),
            ("http://127.0.0.1.example/", false),
        ] {
            assert_eq!(is_private(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
