//! Which hosts do the settings open that the web tools would refuse? (spec 05, `web_fetch`)

use std::{fmt, net::IpAddr};

use jsonc_parser::ast::Value;
use serde_json::{Value as Json, json};
use url::Host;

use super::shapes::{SettingShape, ShapeError};

/// A host that is opened although it is no public one, on all ports or on one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    host: HostPattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    /// This name and no other; lower case, in the letters of DNS.
    Name(String),
    /// Every name that ends with a dot and this one.
    Below(String),
    /// This address where a URL names it. A name that leads to it is another matter.
    Address(IpAddr),
}

impl AllowedHost {
    /// `intranet`, `*.corp.example`, `10.0.0.7`, `[::1]`, each also with `:port`. `None` for anything else.
    pub fn parse(text: &str) -> Option<AllowedHost> {
        let (host, port) = match (text.parse::<IpAddr>(), text.rsplit_once(':')) {
            // An address of version 6 has colons of its own.
            (Ok(_), _) | (Err(_), None) => (text, None),
            (Err(_), Some((_, rest))) if rest.ends_with(']') => (text, None),
            (Err(_), Some((host, port))) => (host, Some(port.parse().ok().filter(|port| *port != 0)?)),
        };
        if let Ok(address) = host.parse::<IpAddr>() {
            return Some(AllowedHost { host: HostPattern::Address(address), port });
        }
        let (is_below, name) = match host.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, host),
        };
        // As URLs are read, so that the two are spelled alike.
        let host = match Host::parse(name).ok()? {
            Host::Domain(name) if name.contains('*') || name.trim_matches('.').is_empty() => return None,
            Host::Domain(name) if is_below => HostPattern::Below(name.trim_end_matches('.').to_owned()),
            Host::Domain(name) => HostPattern::Name(name.trim_end_matches('.').to_owned()),
            _ if is_below => return None,
            Host::Ipv4(address) => HostPattern::Address(address.into()),
            Host::Ipv6(address) => HostPattern::Address(address.into()),
        };
        Some(AllowedHost { host, port })
    }

    /// True if it is about this host of a URL.
    pub fn opens(&self, host: &Host<&str>, port: u16) -> bool {
        let is_meant = match (&self.host, host) {
            (HostPattern::Name(name), Host::Domain(host)) => host.trim_end_matches('.') == name,
            (HostPattern::Below(name), Host::Domain(host)) => {
                let rest = host.trim_end_matches('.').strip_suffix(name.as_str());
                rest.is_some_and(|rest| rest.ends_with('.'))
            }
            (HostPattern::Address(address), Host::Ipv4(host)) => *address == IpAddr::V4(*host),
            (HostPattern::Address(address), Host::Ipv6(host)) => *address == IpAddr::V6(*host),
            (HostPattern::Address(_), Host::Domain(_)) | (_, Host::Ipv4(_) | Host::Ipv6(_)) => false,
        };
        is_meant && self.port.is_none_or(|only| only == port)
    }
}

impl fmt::Display for AllowedHost {
    /// As a settings file says it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.host, self.port) {
            (HostPattern::Name(name), _) => formatter.write_str(name)?,
            (HostPattern::Below(name), _) => write!(formatter, "*.{name}")?,
            (HostPattern::Address(IpAddr::V6(address)), _) => write!(formatter, "[{address}]")?,
            (HostPattern::Address(address), _) => write!(formatter, "{address}")?,
        }
        self.port.map_or(Ok(()), |port| write!(formatter, ":{port}"))
    }
}

/// A host that is opened.
pub(super) struct HostShape;

impl SettingShape for HostShape {
    type Out = AllowedHost;

    fn read(&self, value: &Value<'_>) -> Result<AllowedHost, ShapeError> {
        let text = value.as_string_lit().ok_or(ShapeError::WrongType)?.value.trim();
        AllowedHost::parse(text).ok_or(ShapeError::BadValue)
    }

    fn schema(&self) -> Json {
        // Roughly: what a host is takes more than an expression.
        json!({ "type": "string", "pattern": "^\\s*(\\*\\.)?[^\\s*/?#@]+\\s*$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_a_family_of_names_or_an_address() {
        let cases = [
            ("intranet", Some("intranet")),
            ("Intranet.Corp.Example.", Some("intranet.corp.example")),
            ("*.corp.example", Some("*.corp.example")),
            ("*.corp.example:8443", Some("*.corp.example:8443")),
            ("bücher.example", Some("xn--bcher-kva.example")),
            ("10.0.0.7", Some("10.0.0.7")),
            ("0x7f.1", Some("127.0.0.1")),
            ("10.0.0.7:8080", Some("10.0.0.7:8080")),
            ("::1", Some("[::1]")),
            ("[::1]", Some("[::1]")),
            ("[::1]:8080", Some("[::1]:8080")),
            ("", None),
            (".", None),
            ("*", None),
            ("*.", None),
            ("*.*.example", None),
            ("a*.example", None),
            ("*.10.0.0.7", None),
            ("host:0", None),
            ("host:http", None),
            ("host:99999", None),
            ("http://host", None),
            ("host/path", None),
            ("user@host", None),
        ];
        for (text, expected) in cases {
            let shown = AllowedHost::parse(text).map(|host| host.to_string());
            assert_eq!(shown.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_host_opens_what_it_says_and_nothing_else() {
        let cases = [
            ("intranet", "intranet", 80, true),
            ("intranet", "intranet.", 80, true),
            ("intranet", "x.intranet", 80, false),
            ("*.corp.example", "a.corp.example", 80, true),
            ("*.corp.example", "a.b.corp.example", 80, true),
            ("*.corp.example", "corp.example", 80, false),
            ("*.corp.example", "evilcorp.example", 80, false),
            ("intranet:8080", "intranet", 8080, true),
            ("intranet:8080", "intranet", 80, false),
            ("127.0.0.1", "2130706433", 80, true),
            ("127.0.0.1", "localhost", 80, false),
            ("127.0.0.1", "[::ffff:127.0.0.1]", 80, false),
            ("[::1]:80", "[::1]", 80, true),
        ];
        for (pattern, host, port, expected) in cases {
            let allowed = AllowedHost::parse(pattern).unwrap();
            let host = Host::parse(host).unwrap();
            let host = match &host {
                Host::Domain(name) => Host::Domain(name.as_str()),
                Host::Ipv4(address) => Host::Ipv4(*address),
                Host::Ipv6(address) => Host::Ipv6(*address),
            };
            assert_eq!(allowed.opens(&host, port), expected, "{pattern} and {host}");
        }
    }
}
