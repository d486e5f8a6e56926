//! Which values that an entry gives its server are keys, so that nothing shows them?

use redact::{KnownSecrets, looks_secret};

/// Headers that say how something is sent, and not by whom.
const PLAIN_HEADERS: &[&str] =
    &["accept", "accept-encoding", "accept-language", "content-type", "user-agent", "mcp-protocol-version"];

/// Letters of the shortest value of a header that is taken for a key whatever the header is called: shorter ones are names of regions
/// and the like, and would be hidden in every text.
const SHORTEST: usize = 12;

/// Tells of a header of a server, by the name of its entry.
pub fn heard_in_header(secrets: &KnownSecrets, server: &str, header: &str, value: &str) {
    if PLAIN_HEADERS.iter().any(|plain| header.eq_ignore_ascii_case(plain)) {
        return;
    }
    // The token behind `Bearer` alone tells as much.
    let token = value.split_once(' ').map_or(value, |(_, token)| token).trim();
    let name = named(server, header);
    let is_word = |token: &str| token.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    let is_opaque = SHORTEST <= token.len() && !token.contains([' ', '/']) && !is_word(token);
    if name.contains("AUTH") || is_opaque || looks_secret(&name, value) {
        secrets.heard(&name, value);
        secrets.heard(&name, token);
    }
}

/// Tells of a variable that a server's program gets.
pub fn heard_in_variable(secrets: &KnownSecrets, server: &str, variable: &str, value: &str) {
    if looks_secret(variable, value) {
        secrets.heard(&named(server, variable), value);
    }
}

fn named(server: &str, part: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    format!("MCP_{server}_{part}").chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_headers_and_variables_that_are_keys_are_known() {
        let secrets = KnownSecrets::default();
        for (header, value) in [
            ("X-Thing", "zq81-plain-value-00"),
            ("Authorization", "Bearer abc"),
            ("X-Api-Key", "k-1234567890"),
            ("X-Region", "us-east-1"),
            ("X-Mode", "read-only-please"),
            ("Accept", "application/json2"),
        ] {
            heard_in_header(&secrets, "gh", header, value);
        }
        heard_in_variable(&secrets, "gh", "GITHUB_TOKEN", "t0k3n-of-mine");
        heard_in_variable(&secrets, "gh", "LOG_LEVEL", "debug");
        let known: Vec<String> = secrets.all().into_iter().map(|(_, value)| value).collect();
        let wanted = ["Bearer abc", "abc", "k-1234567890", "t0k3n-of-mine", "zq81-plain-value-00"];
        assert_eq!(known, wanted);
    }
}
