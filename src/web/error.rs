//! Why is there no page, and what can be done about it?

use std::net::IpAddr;

use url::Url;

/// The reason why a page was not fetched; each is something else to whoever asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebError {
    /// Another URL is needed.
    #[error("the URL {0}")]
    BadUrl(String),
    /// The people who run the daemon would have to open it.
    #[error(
        "{} {why}; the setting tools.webFetch.allowHosts opens it (\"{host}:{port}\")",
        named(host, *address)
    )]
    Refused { host: String, port: u16, address: IpAddr, why: &'static str },
    /// The name may be wrong.
    #[error("there is no address for the name {host}: {reason}")]
    NoSuchHost { host: String, reason: String },
    /// It may be reached later.
    #[error("{host} cannot be reached: {reason}")]
    Unreachable { host: String, reason: String },
    /// Nobody has said yes to that URL, so it takes another call.
    #[error("it has moved to {location} (status {status}); fetch that URL if it is what you want")]
    Moved { status: u16, location: Box<Url> },
    #[error("more than {0} redirects")]
    TooManyRedirects(usize),
    #[error("the server answered {status}{}", reason.as_ref().map(|it| format!(" {it}")).unwrap_or_default())]
    Status { status: u16, reason: Option<&'static str> },
    #[error("it is larger than {} MB", bytes / 1_000_000)]
    TooLarge { bytes: usize },
    #[error("it took more than {seconds} s")]
    TimedOut { seconds: u64 },
    /// What came was no proper answer.
    #[error("the server's answer {0}")]
    Broken(String),
    /// A defect, or a page that is made to be one.
    #[error("the page could not be made readable: {0}")]
    Unreadable(&'static str),
}

/// The address, and the name that led to it where it was not asked for itself.
fn named(host: &str, address: IpAddr) -> String {
    match host.trim_matches(['[', ']']).parse() == Ok(address) {
        true => address.to_string(),
        false => format!("{host} leads to {address}, which"),
    }
}

impl WebError {
    /// For programs.
    pub fn kind(&self) -> &'static str {
        match self {
            WebError::BadUrl(_) => "badUrl",
            WebError::Refused { .. } => "refused",
            WebError::NoSuchHost { .. } => "noSuchHost",
            WebError::Unreachable { .. } => "unreachable",
            WebError::Moved { .. } => "moved",
            WebError::TooManyRedirects(_) => "tooManyRedirects",
            WebError::Status { .. } => "status",
            WebError::TooLarge { .. } => "tooLarge",
            WebError::TimedOut { .. } => "timedOut",
            WebError::Broken(_) => "broken",
            WebError::Unreadable(_) => "unreadable",
        }
    }
}
