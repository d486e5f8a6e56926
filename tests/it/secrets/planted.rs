//! Twenty secrets, and twenty more, and whoever looks for them. The look knows nothing of how they are hidden: it searches bytes.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    io::ErrorKind,
    path::Path,
};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use serde_json::{Value, json};
use subagentd::redact::{RedactionPattern, Redactor, RedactorParts};

/// This many bytes of a secret in a row count as found: also what was cut off in its middle must not be there.
const WINDOW: usize = 12;

/// What the environment of the daemon holds.
pub const ENVIRONMENT: &[(&str, &str)] = &[
    ("SERVICE_TOKEN", "s3cr3t/Val+ue?x=1&yy"),
    ("PASSPHRASE", "correct horse battery staple"),
    ("LINES_KEY", "li\"n\n\tLi\\ne{2}[end]Ox7"),
    ("DATABASE_URL", "postgres://me:hunter2hunter2@db/x"),
    ("ALIGNED_TOKEN_0", "Zq0-aligned-value-7731"),
    ("ALIGNED_TOKEN_1", "Zq1-aligned-value-8842"),
    ("ALIGNED_TOKEN_2", "Zq2-aligned-value-9953"),
    ("QUERY_PASSWORD", "p#ss/w%rd~of a query&1"),
];

/// What the settings say is secret.
pub const PATTERN: &str = r"cust-\d{12}";

const PEM_LINES: [&str; 2] = [
    "MIIEpAIBAAKCAQEA7v3JxQbXk0Yw5rT9uHsVqLzN2mPcDfGj1iKoRe8ZyWtUaB4h",
    "Sx6CnMpQvXlEo0d3FgJ7kIyT5rUwHzA9bLsV2cN8qPfD1eGmKtRjYiXoZuWhB4aQ",
];

/// Something that must not be seen anywhere.
pub struct Secret {
    pub name: &'static str,
    /// As it stands in a text, with what makes it known as a secret.
    pub text: String,
    /// What must not be there.
    hidden: Vec<String>,
}

/// Letters and digits that no other seed gives.
fn letters(count: usize, seed: u64) -> String {
    const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let next = || {
        // Knuth's MMIX generator; its high bits are the good ones.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(ALPHABET[usize::try_from((state >> 40) % 62).unwrap()])
    };
    // A digit early on, which some makers' keys are known by.
    "a3".chars().chain(std::iter::repeat_with(next)).take(count).collect()
}

/// All twenty.
pub fn secrets() -> Vec<Secret> {
    let value = |name: &str| {
        let (_, value) = ENVIRONMENT.iter().find(|(known, _)| *known == name).unwrap();
        value.strip_prefix("postgres://me:").and_then(|rest| rest.strip_suffix("@db/x")).unwrap_or(value)
    };
    let mut secrets = Vec::new();
    let mut plant = |name: &'static str, text: String, hidden: &[&str]| {
        let hidden = hidden.iter().map(|it| (*it).to_owned()).collect();
        secrets.push(Secret { name, text, hidden });
    };
    for name in ["SERVICE_TOKEN", "PASSPHRASE", "LINES_KEY", "DATABASE_URL"] {
        plant(name, value(name).to_owned(), &[value(name)]);
    }
    for (name, before) in [("ALIGNED_TOKEN_0", ""), ("ALIGNED_TOKEN_1", "u"), ("ALIGNED_TOKEN_2", "u:")] {
        plant(name, STANDARD_NO_PAD.encode(format!("{before}{}:end", value(name))), &[value(name)]);
    }
    plant("QUERY_PASSWORD", percent(value("QUERY_PASSWORD"), false), &[value("QUERY_PASSWORD")]);
    plant("pattern", "cust-471100815423".to_owned(), &["cust-471100815423"]);
    let upper = letters(16, 0).to_uppercase();
    plant("aws-key", format!("AKIA{upper}"), &[&format!("AKIA{upper}")]);
    let aws = letters(40, 3);
    plant("aws-secret", format!("aws_secret_access_key = {aws}"), &[&aws]);
    let mut shaped = |name, secret: String| plant(name, secret.clone(), &[&secret]);
    shaped("github", format!("ghp_{}", letters(36, 5)));
    shaped("github-pat", format!("github_pat_{}", letters(60, 7)));
    shaped("slack", format!("xoxb-1234567890-{}", letters(24, 9)));
    shaped("google", format!("AIza{}", letters(35, 11)));
    shaped("openai", format!("sk-proj-{}", letters(40, 13)));
    shaped("jwt", format!("eyJ{}.eyJ{}.{}", letters(33, 15), letters(40, 17), letters(43, 19)));
    let pem = PEM_LINES.join("\n");
    plant(
        "private-key",
        format!("-----BEGIN RSA PRIVATE KEY-----\n{pem}\n-----END RSA PRIVATE KEY-----"),
        &PEM_LINES,
    );
    let bearer = letters(32, 21);
    plant("authorization", format!("Authorization: Bearer {bearer}"), &[&bearer]);
    plant("url-password", "amqp://bob:Tr0ub4dor-and-3@mq.example.org/v".to_owned(), &["Tr0ub4dor-and-3"]);
    assert_eq!(secrets.len(), 20);
    secrets
}

/// The twenty, and twenty of further shapes.
pub fn forty() -> Vec<Secret> {
    let mut secrets = secrets();
    let mut plant = |name: &'static str, before: &str, hidden: String, after: &str| {
        secrets.push(Secret { name, text: format!("{before}{hidden}{after}"), hidden: vec![hidden] });
    };
    plant("gitlab", "", format!("glpat-{}", letters(20, 31)), "");
    plant("slack-app", "", format!("xapp-1-A{}", letters(30, 33)), "");
    plant("google-oauth", "", format!("ya29.{}", letters(40, 35)), "");
    plant("google-client", "", format!("GOCSPX-{}", letters(28, 37)), "");
    plant("anthropic", "", format!("sk-ant-api03-{}", letters(60, 39)), "");
    plant("openai-old", "", format!("sk-{}", letters(48, 41)), "");
    plant("stripe", "", format!("sk_live_{}", letters(24, 43)), "");
    plant("stripe-restricted", "", format!("rk_test_{}", letters(24, 45)), "");
    plant("stripe-hook", "", format!("whsec_{}", letters(32, 47)), "");
    plant("npm", "", format!("npm_{}", letters(36, 49)), "");
    plant("huggingface", "", format!("hf_{}", letters(34, 51)), "");
    plant("github-oauth", "", format!("gho_{}", letters(36, 53)), "");
    plant("aws-session", "aws_session_token=", letters(120, 55), "");
    plant("aws-role", "", format!("ASIA{}", letters(16, 2).to_uppercase()), "");
    plant("api-key", "\"api_key\": \"", letters(32, 57), "\"");
    plant("api-key-header", "X-Api-Key: ", letters(40, 59), "");
    plant("bearer", "curl -H 'authorization: bearer ", letters(40, 61), "' https://example.org");
    plant("basic", "Proxy-Authorization: Basic ", letters(28, 63), "");
    plant("git-password", "https://git:", letters(24, 65), "@git.example.org/x.git");
    plant("redis-password", "redis://:", letters(24, 67), "@cache:6379/0");
    assert_eq!(secrets.len(), 40);
    secrets
}

/// A text that holds all of them.
pub fn everything() -> String {
    lines(secrets())
}

/// Each in a line of its own.
pub fn lines(secrets: Vec<Secret>) -> String {
    let line = |secret: Secret| format!("this is {}: {} and\n", secret.name, secret.text);
    secrets.into_iter().map(line).collect()
}

/// Those that fit one line of a file's name, by themselves.
pub fn file_names() -> Vec<String> {
    let fits = |secret: &Secret| !secret.text.contains(['/', '\n']);
    secrets().into_iter().filter(fits).map(|secret| format!("of {}.txt", secret.text)).collect()
}

/// Knows them.
pub fn redactor() -> Redactor {
    let environment = ENVIRONMENT.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Redactor::new(RedactorParts { environment, patterns: vec![RedactionPattern::new(PATTERN).unwrap()] })
}

fn percent(text: &str, is_lower: bool) -> String {
    let escaped = |byte: u8| match byte {
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ if is_lower => format!("%{byte:02x}"),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escaped).collect()
}

fn escaped(text: &str) -> String {
    let quoted = json!(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// What of a text in base64 is the secret's alone, wherever in a group it begins.
fn base64(secret: &str, before: usize) -> [String; 2] {
    let bytes = [&vec![b'.'; before], secret.as_bytes()].concat();
    let (from, to) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)].map(|text| text[from..to].to_owned())
}

fn writings(secret: &str) -> Vec<String> {
    let mut writings = vec![
        secret.to_owned(),
        escaped(secret),
        escaped(&escaped(secret)),
        percent(secret, true),
        percent(secret, false),
        secret.replace(' ', "+"),
    ];
    writings.extend((0..3).flat_map(|before| base64(secret, before)));
    writings
}

/// Of a window's first four bytes.
fn hash(window: &[u8; WINDOW]) -> usize {
    let first = u32::from_le_bytes([window[0], window[1], window[2], window[3]]);
    (first.wrapping_mul(2_654_435_761) >> 16) as usize
}

/// Looks for secrets in bytes.
pub struct Search {
    windows: HashMap<[u8; WINDOW], &'static str>,
    /// Which four bytes a window can begin with, by their hash: most of what is looked at begins otherwise.
    begins: Vec<bool>,
    /// What was found: of which secret, where, and its surroundings.
    found: Vec<(&'static str, String, String)>,
    n_bytes: usize,
}

impl Search {
    pub fn new() -> Search {
        Search::of(&secrets())
    }

    pub fn of(secrets: &[Secret]) -> Search {
        let mut windows = HashMap::new();
        for secret in secrets {
            for writing in secret.hidden.iter().flat_map(|hidden| writings(hidden)) {
                assert!(WINDOW <= writing.len(), "{writing}");
                for window in writing.as_bytes().array_windows::<WINDOW>() {
                    windows.insert(*window, secret.name);
                }
            }
        }
        let mut begins = vec![false; 1 << 16];
        for window in windows.keys() {
            begins[hash(window)] = true;
        }
        Search { windows, begins, found: Vec::new(), n_bytes: 0 }
    }

    pub fn look(&mut self, place: &str, bytes: &[u8]) {
        self.n_bytes += bytes.len();
        let mut from = 0;
        while let Some(window) = bytes.get(from..).and_then(|rest| rest.first_chunk::<WINDOW>()) {
            if !self.begins[hash(window)] {
                from += 1;
            } else if let Some(name) = self.windows.get(window) {
                let around = &bytes[from.saturating_sub(100)..(from + 40).min(bytes.len())];
                let around = String::from_utf8_lossy(around).into_owned();
                self.found.push((name, place.to_owned(), around));
                from += WINDOW;
            } else {
                from += 1;
            }
        }
    }

    /// Every file below a folder, as it lies on the disk.
    pub fn look_into(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => self.look_into(&path),
                false => match fs::read(&path) {
                    Ok(bytes) => self.look(&path.display().to_string(), &bytes),
                    // A daemon that runs takes its own files away.
                    Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{}", path.display()),
                },
            }
        }
    }

    /// The names of those that were found.
    pub fn names(&self) -> BTreeSet<&'static str> {
        self.found.iter().map(|(name, ..)| *name).collect()
    }

    /// A message as a client gets it; what is found in it is told by its field.
    pub fn look_at(&mut self, place: &str, message: &Value) {
        let n_found = self.found.len();
        self.look_within(place, message);
        if self.found.len() == n_found {
            self.look(place, message.to_string().as_bytes());
        }
    }

    fn look_within(&mut self, place: &str, value: &Value) {
        match value {
            Value::String(text) => self.look(place, text.as_bytes()),
            Value::Array(values) => values.iter().for_each(|it| self.look_within(&format!("{place}[]"), it)),
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.look(&format!("{place}, a name"), name.as_bytes());
                    self.look_within(
                        &format!("{place}.{}", name.chars().take(20).collect::<String>()),
                        value,
                    );
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => (),
        }
    }

    /// Fails when anything was found, or when there was next to nothing to look at.
    pub fn assert_clean(&self) {
        assert!(self.n_bytes > 10_000, "only {} bytes were looked at", self.n_bytes);
        let mut places: BTreeMap<&str, (BTreeSet<&str>, &str)> = BTreeMap::new();
        for (name, place, around) in &self.found {
            places.entry(place).or_insert_with(|| (BTreeSet::new(), around)).0.insert(name);
        }
        let told = |(place, (names, around)): (&&str, &(BTreeSet<&str>, &str))| {
            let last = self.found.iter().rfind(|(_, it, _)| it == place).map(|(_, _, around)| around);
            format!("{place}: {names:?}, first in {around:?}, last in {last:?}")
        };
        let list: Vec<String> = places.iter().map(told).collect();
        assert!(list.is_empty(), "secrets are seen:\n{}", list.join("\n"));
    }
}
