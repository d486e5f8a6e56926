//! Which variables of the environment hold secrets, and which of their values can be looked for?

/// Shorter values stand in ordinary text by chance.
const LEAST_LENGTH: usize = 8;

/// Longer values are looked for in pieces of this many bytes, each by itself, so that what has to be held back
/// while one may be coming in stays small, even when every byte of it is escaped.
const PIECE_LENGTH: usize = 4096;

/// Shorter lines of a longer value are not looked for by themselves.
const LEAST_LINE: usize = 16;

/// Numbers shorter than this are sizes and durations (`TOKEN_TTL`).
const LEAST_DIGITS: usize = 12;

/// A name with one of these words says that its value is secret.
const WORDS: &[&str] = &[
    "KEY",
    "KEYS",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWORDS",
    "PASSWD",
    "PASS",
    "PWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "PRIVATE",
    "PAT",
    "JWT",
];

/// Words long enough that no other word ends with them: `PGPASSWORD`, `GITHUBTOKEN`.
const ENDINGS: &[&str] = &["PASSWORD", "PASSWD", "PASSPHRASE", "TOKEN", "SECRET", "APIKEY", "ACCESSKEY"];

/// Names that look secret and are not: the working folder.
const HARMLESS_NAMES: &[&str] = &["PWD", "OLDPWD"];

/// Values that say nothing and stand everywhere.
const COMMON_VALUES: &[&str] = &[
    "anonymous",
    "administrator",
    "changeme",
    "ctrl+space",
    "default",
    "development",
    "disabled",
    "ed25519",
    "enabled",
    "example",
    "gpg-agent",
    "keychain",
    "keyring",
    "localhost",
    "optional",
    "password",
    "passw0rd",
    "postgres",
    "production",
    "required",
    "root:root",
    "secret-tool",
    "ssh-agent",
    "testtest",
    "undefined",
    "username",
];

/// A value to be looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SecretValue {
    /// Of the variable.
    pub name: String,
    pub value: Vec<u8>,
}

/// All values that must not be shown.
pub(super) fn secrets(environment: impl Iterator<Item = (String, String)>) -> Vec<SecretValue> {
    let mut secrets = Vec::new();
    for (name, value) in environment {
        let value = value.trim();
        let is_named = names_a_secret(&name) && is_telling(value);
        // An address in a variable of any name: only its password is secret.
        let hidden = if is_named { Some(value) } else { password_of(value).filter(|word| is_telling(word)) };
        for piece in hidden.into_iter().flat_map(|value| pieces(value).into_iter().chain(random_lines(value)))
        {
            secrets.push(SecretValue { name: name.clone(), value: piece.as_bytes().to_vec() });
        }
    }
    secrets
}

/// Pieces of about equal length, so that the last is not too short to be looked for.
fn pieces(value: &str) -> Vec<&str> {
    let count = value.len().div_ceil(PIECE_LENGTH).max(1);
    let length = value.len().div_ceil(count);
    let mut pieces = Vec::new();
    let mut rest = value;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(length));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Lines of a key in several lines, which a search shows one by one. Only those that no text has by chance.
fn random_lines(value: &str) -> impl Iterator<Item = &str> {
    let is_random = |line: &&str| {
        let has = |class: fn(&u8) -> bool| line.as_bytes().iter().any(class);
        let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
        LEAST_LINE <= line.len() && line.len() <= PIECE_LENGTH && is_mixed && !line.contains([' ', '\t'])
    };
    let is_whole = !value.contains('\n');
    value.lines().map(str::trim).filter(is_random).filter(move |_| !is_whole)
}

/// True if a variable's name says that its value is secret.
pub fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let is_telling =
        |word: &str| WORDS.contains(&word) || ENDINGS.iter().any(|ending| word.ends_with(ending));
    !HARMLESS_NAMES.contains(&name.as_str())
        && name.split(|ch: char| !ch.is_ascii_alphanumeric()).any(is_telling)
}

/// True if hiding every occurrence of the value hides a secret and not the language.
fn is_telling(value: &str) -> bool {
    let is_common = COMMON_VALUES.contains(&value.to_ascii_lowercase().as_str());
    let first = value.chars().next();
    let is_one_character = value.chars().all(|ch| Some(ch) == first);
    let is_small_number = value.len() < LEAST_DIGITS && value.bytes().all(|byte| byte.is_ascii_digit());
    value.len() >= LEAST_LENGTH && !is_common && !is_one_character && !is_small_number && !is_place(value)
}

/// Paths and plain addresses. A key in base64 may begin with a slash too, but its segments mix what names do not.
fn is_place(value: &str) -> bool {
    let rest = match value.split_once("://") {
        Some((_scheme, rest)) if !rest.contains(['@', '?', '#']) => rest,
        Some(_) => return false,
        None if ["/", "./", "../", "~/"].iter().any(|start| value.starts_with(start)) => value,
        None => return false,
    };
    let is_name = |segment: &str| {
        let has = |class: fn(&u8) -> bool| segment.as_bytes().iter().any(class);
        let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
        !is_mixed && !segment.contains(['+', '='])
    };
    rest.split('/').all(is_name)
}

fn password_of(value: &str) -> Option<&str> {
    let (_scheme, rest) = value.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user_and_password, _host) = authority.rsplit_once('@')?;
    user_and_password.split_once(':').map(|(_user, password)| password)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, value: &str) -> Vec<String> {
        let variables = [(name.to_owned(), value.to_owned())];
        let text = |secret: SecretValue| String::from_utf8(secret.value).unwrap();
        secrets(variables.into_iter()).into_iter().map(text).collect()
    }

    #[test]
    fn names_say_what_is_secret() {
        for name in ["API_KEY", "github-token", "X_SECRET_Y", "PGPASSWORD", "MYSQL_PWD", "AWS_CREDENTIALS"] {
            assert_eq!(found(name, "hunter2hunter2"), ["hunter2hunter2"], "{name}");
        }
        for name in ["MONKEY", "PATH", "TOKENIZER", "KEYBOARD", "SECRETARY", "PWD", "OLDPWD", "COMPASS"] {
            assert_eq!(found(name, "hunter2hunter2"), [""; 0], "{name}");
        }
    }

    #[test]
    fn values_that_say_nothing_are_not_looked_for() {
        for value in [
            "short",
            "password",
            "********",
            "86400000",
            "/home/user/.ssh/id_rsa",
            "~/keys/key.json",
            "https://auth.example.org/token",
            "  x  ",
        ] {
            assert_eq!(found("KEY", value), [""; 0], "{value}");
        }
        for value in ["/wJalr7UtnFEMI/K7MDENG", "correct horse battery staple", "https://h/?sig=12ab34cd"] {
            assert_eq!(found("KEY", value), [value]);
        }
    }

    #[test]
    fn only_the_password_of_an_address_is_secret() {
        assert_eq!(found("DATABASE_URL", "postgres://me:hunter2hunter2@db/x"), ["hunter2hunter2"]);
        assert_eq!(found("DATABASE_URL", "postgres://me@db/x"), [""; 0]);
    }

    #[test]
    fn random_lines_of_a_key_are_looked_for_by_themselves() {
        let key = "-----BEGIN KEY-----\nMIIEpAIBAAKCAQEA7v3J\n  Sx6CnMpQvXlEo0d3Fg==\nAb==\na Line of 5 words, no key";
        assert_eq!(found("KEY", key), [key, "MIIEpAIBAAKCAQEA7v3J", "Sx6CnMpQvXlEo0d3Fg=="]);
    }

    #[test]
    fn long_values_are_cut_and_nothing_of_them_is_lost() {
        let value = "a1".repeat(PIECE_LENGTH / 2) + "b2";
        let pieces = found("KEY", &value);
        assert_eq!((pieces.len(), pieces.concat()), (2, value));
        assert!(pieces.iter().all(|piece| piece.len() > PIECE_LENGTH / 3));
    }
}
