//! What does a URL ask for, and may it be asked for at all?

use std::fmt;

use url::{Host, Url};

use super::WebError;
use config::AllowedHost;

/// Longer URLs are data, not addresses; many servers refuse them as well.
pub(super) const MAX_URL_BYTES: usize = 8 * 1024;

/// A URL that may be asked for as far as it tells; where its host leads is another matter.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WebTarget {
    url: Url,
    port: u16,
    is_tls: bool,
}

/// What is wrong with a URL. Never repeats it: there may be a password in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadUrl {
    #[error("is none: {0}")]
    None(url::ParseError),
    #[error("begins with `{0}:`; only http and https are fetched")]
    Scheme(String),
    #[error("has a user or a password in it; those are not sent")]
    Credentials,
    #[error("names no host")]
    NoHost,
    #[error("names port 0, on which nothing listens")]
    NoPort,
    #[error("has more than {MAX_URL_BYTES} bytes")]
    TooLong,
}

impl From<BadUrl> for WebError {
    fn from(error: BadUrl) -> WebError {
        WebError::BadUrl(error.to_string())
    }
}

impl WebTarget {
    pub fn parse(text: &str) -> Result<WebTarget, BadUrl> {
        if MAX_URL_BYTES < text.len() {
            return Err(BadUrl::TooLong);
        }
        WebTarget::of(Url::parse(text.trim()).map_err(BadUrl::None)?)
    }

    /// The same of a URL that was read. The fragment is left out, and the dot that ends a name: neither asks for anything
    /// else.
    pub fn of(mut url: Url) -> Result<WebTarget, BadUrl> {
        if MAX_URL_BYTES < url.as_str().len() {
            return Err(BadUrl::TooLong);
        }
        let is_tls = match url.scheme() {
            "http" => false,
            "https" => true,
            other => return Err(BadUrl::Scheme(other.to_owned())),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadUrl::Credentials);
        }
        url.set_fragment(None);
        if let Some(Host::Domain(name)) = url.host() {
            let plain = name.trim_end_matches('.').to_owned();
            if plain.is_empty() || url.set_host(Some(&plain)).is_err() {
                return Err(BadUrl::NoHost);
            }
        }
        if url.host().is_none() {
            return Err(BadUrl::NoHost);
        }
        match url.port_or_known_default() {
            None | Some(0) => Err(BadUrl::NoPort),
            Some(port) => Ok(WebTarget { url, port, is_tls }),
        }
    }

    pub fn url(&self) -> &Url {
        &self.url
    }

    pub fn host(&self) -> Host<&str> {
        // A URL's host does not go away, and `of` has seen it; the name of no machine leads nowhere.
        self.url.host().unwrap_or(Host::Domain(""))
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// True if the people who run the daemon opened its host.
    pub fn is_opened(&self, allowed: &[AllowedHost]) -> bool {
        allowed.iter().any(|host| host.opens(&self.host(), self.port))
    }

    /// True if a redirect from here to there stays with the host: on the same port, or with TLS where it was without.
    pub fn may_lead_to(&self, other: &WebTarget) -> bool {
        let is_upgrade = !self.is_tls && other.is_tls && self.port == 80 && other.port == 443;
        let is_same = self.is_tls == other.is_tls && self.port == other.port;
        self.host() == other.host() && (is_same || is_upgrade)
    }

    /// Host and port as they stand in the header `Host`.
    pub fn authority(&self) -> String {
        match self.url.port() {
            None => self.host().to_string(),
            Some(port) => format!("{}:{port}", self.host()),
        }
    }
}

impl fmt::Display for WebTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.url.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_asks_for_a_page_of_a_host_or_is_refused() {
        let cases = [
            ("http://example.com", "http://example.com/"),
            (" https://Example.COM:443/a#b ", "https://example.com/a"),
            ("http://example.com./", "http://example.com/"),
            ("http://bücher.example/", "http://xn--bcher-kva.example/"),
            ("http://xn--bcher-kva.example", "http://xn--bcher-kva.example/"),
            ("http://2130706433/", "http://127.0.0.1/"),
            ("http://0x7f000001/", "http://127.0.0.1/"),
            ("http://0177.0.0.1/", "http://127.0.0.1/"),
            ("http://127.1/", "http://127.0.0.1/"),
            ("http://127.0.0.1./", "http://127.0.0.1/"),
            ("http://①②⑦.0.0.1/", "http://127.0.0.1/"),
            ("http://[::]/", "http://[::]/"),
            ("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
            ("http:example.com", "http://example.com/"),
            ("http:\\\\example.com\\x", "http://example.com/x"),
            ("http://example.com:0/", "error: names port 0, on which nothing listens"),
            ("http://user:pass@example.com/", "error: has a user or a password in it; those are not sent"),
            ("http://user@example.com/", "error: has a user or a password in it; those are not sent"),
            ("http://:pass@example.com/", "error: has a user or a password in it; those are not sent"),
            ("file:///etc/passwd", "error: begins with `file:`; only http and https are fetched"),
            ("ftp://example.com/", "error: begins with `ftp:`; only http and https are fetched"),
            ("gopher://example.com/", "error: begins with `gopher:`; only http and https are fetched"),
            ("data:text/html,x", "error: begins with `data:`; only http and https are fetched"),
            ("javascript:alert(1)", "error: begins with `javascript:`; only http and https are fetched"),
            ("view-source:http://x/", "error: begins with `view-source:`; only http and https are fetched"),
            ("example.com", "error: is none: relative URL without a base"),
            ("", "error: is none: relative URL without a base"),
            ("http://", "error: is none: empty host"),
            ("http://./", "error: names no host"),
            ("http://exa mple.com/", "error: is none: invalid international domain name"),
            ("http://[::1/", "error: is none: invalid IPv6 address"),
            ("http://example.com:99999/", "error: is none: invalid port number"),
            ("http://1.2.3.4.5/", "error: is none: invalid IPv4 address"),
            ("http://256.0.0.1/", "error: is none: invalid IPv4 address"),
        ];
        for (text, expected) in cases {
            let shown = WebTarget::parse(text).map(|target| target.to_string());
            let shown = shown.unwrap_or_else(|error| format!("error: {error}"));
            assert_eq!(shown, expected, "{text}");
        }
        let long = format!("http://example.com/{}", "a".repeat(MAX_URL_BYTES));
        assert_eq!(WebTarget::parse(&long), Err(BadUrl::TooLong));
    }

    #[test]
    fn a_redirect_stays_with_the_host_that_was_judged() {
        let cases = [
            ("http://a.example/", "http://a.example/b", true),
            ("http://a.example/", "https://a.example/", true),
            ("http://a.example./", "http://A.example/", true),
            ("http://a.example:80/", "https://a.example:443/", true),
            ("http://a.example/", "http://www.a.example/", false),
            ("http://www.a.example/", "http://a.example/", false),
            ("http://a.example/", "http://b.example/", false),
            ("https://a.example/", "http://a.example/", false),
            ("http://a.example/", "http://a.example:8080/", false),
            ("http://a.example:8080/", "https://a.example/", false),
            ("http://a.example/", "https://a.example:8443/", false),
            ("http://127.0.0.1/", "http://2130706433/", true),
            ("http://127.0.0.1/", "http://[::ffff:127.0.0.1]/", false),
        ];
        for (from, to, expected) in cases {
            let (from, to) = (WebTarget::parse(from).unwrap(), WebTarget::parse(to).unwrap());
            assert_eq!(from.may_lead_to(&to), expected, "{from} -> {to}");
        }
    }
}
