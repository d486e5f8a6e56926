//! Planted secrets: of every kind, in every writing, cut at every place; and what must stay as it is.

use std::hash::{BuildHasher as _, RandomState};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
};
use serde_json::json;

use super::*;

mod line_marks;
mod protocol_types;

const TOKEN: &str = "s3cr3t/Val+ue?x=1";
const PHRASE: &str = "correct horse battery staple";
const LINES: &str = "line \"one\"\n\tlïne\\two 🔑 end";

/// Random texts, in the suite and with `SUBAGENTD_TRIALS=full`.
const TRIALS: (u64, u64) = (150, 20_000);

fn redactor() -> Redactor {
    let environment = [
        ("SERVICE_TOKEN", TOKEN),
        ("PASSPHRASE", PHRASE),
        ("LINES_KEY", LINES),
        ("PATH", "/usr/bin:/bin/with/s3cr3t"),
        ("DATABASE_URL", "postgres://me:hunter2hunter2@db/x"),
    ];
    Redactor::new(RedactorParts {
        environment: environment.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())),
        patterns: [r"cust-\d{4}", r"card: \d+( \d+)*\b", r"(?m)^note: .*$", r"ß+[a-z]*"]
            .map(|pattern| RedactionPattern::new(pattern).unwrap())
            .into(),
    })
}

fn letters(count: usize) -> String {
    "aB3dEf6hIjK9".chars().cycle().take(count).collect()
}

/// The letters that a name of these bytes is written in.
fn named(bytes: &str) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A text with one secret, and what becomes of it.
fn planted() -> Vec<(String, String)> {
    let key = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,1F\n\nMIIEow+/\nAb==\n-----END RSA PRIVATE KEY-----";
    let plain_key = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", letters(64));
    let jwt = format!("eyJ{}.eyJ{}.{}", letters(20), letters(30), letters(43));
    let upper: String = letters(16).to_uppercase();
    let rows: Vec<(String, &str, &str, &str)> = vec![
        (TOKEN.to_owned(), "in ", " out", "env:SERVICE_TOKEN"),
        (TOKEN.to_owned(), "glued", "glued", "env:SERVICE_TOKEN"),
        (PHRASE.to_owned(), "the correct horse is ", ".", "env:PASSPHRASE"),
        (LINES.to_owned(), "ü", "ü", "env:LINES_KEY"),
        ("hunter2hunter2".to_owned(), "pw ", "", "env:DATABASE_URL"),
        ("s3cr3t%2FVal%2Bue%3Fx%3D1".to_owned(), "?q=", "&a=b", "env:SERVICE_TOKEN"),
        ("s3cr3t%2fVal%2bue%3fx%3d1".to_owned(), "?q=", "&a=b", "env:SERVICE_TOKEN"),
        ("s3cr3t%252FVal%252Bue%253Fx%253D1".to_owned(), "?q=", "&a=b", "env:SERVICE_TOKEN"),
        ("%73%33cr3t/Val+ue?x=1".to_owned(), "?q=", "&a=b", "env:SERVICE_TOKEN"),
        ("correct+horse+battery%20staple".to_owned(), "?q=", "&a", "env:PASSPHRASE"),
        (r"s3cr3t\/Val+ue?x=1".to_owned(), "\"", "\"", "env:SERVICE_TOKEN"),
        (r"s3cr3t\u002fVal\u002Bue?x=1".to_owned(), "\"", "\"", "env:SERVICE_TOKEN"),
        (json!(LINES).to_string().trim_matches('"').to_owned(), "\"", "\"", "env:LINES_KEY"),
        (r#"line \"one\"\n\tl\u00efne\\two \ud83d\udd11 end"#.to_owned(), "'", "'", "env:LINES_KEY"),
        (
            json!(json!(LINES).to_string()).to_string().trim_matches(['"', '\\']).to_owned(),
            "[",
            "]",
            "env:LINES_KEY",
        ),
        ("cust-1234".to_owned(), "for ", "5", "pattern:1"),
        ("card: 12 34 56".to_owned(), "my ", ".", "pattern:2"),
        ("note: all of it, to the end".to_owned(), "x\n", "\nmore", "pattern:3"),
        ("ßßabc".to_owned(), "ä", "1", "pattern:4"),
        (format!("AKIA{upper}"), "id ", ",", "aws-key"),
        (letters(40), "aws_secret_access_key = ", "\n", "aws-secret"),
        (letters(41), "AWS_SECRET_ACCESS_KEY='", "'", "aws-secret"),
        (letters(44), "{\\\"SecretAccessKey\\\": \\\"", "\\\"}", "aws-secret"),
        (letters(32), "x-api-key: ", "\r\n", "api-key"),
        (format!("ghp_{}", letters(36)), "(", ")", "github"),
        (format!("gho_{}", letters(36)), "token=", "", "github"),
        (format!("github_pat_{}_{}", letters(22), letters(59)), "", "", "github"),
        (format!("glpat-{}", letters(20)), "\"", "\"", "gitlab"),
        (format!("xoxb-123456-{}", letters(24)), "=", ";", "slack"),
        (format!("AIza{}", letters(35)), "key=", "&", "google"),
        (format!("sk-proj-{}", letters(40)), "use ", " now", "openai"),
        (format!("sk-ant-api03-{}", letters(40)), "use ", ".", "anthropic"),
        (format!("sk_live_{}", letters(24)), "use ", ".", "stripe"),
        (format!("npm_{}", letters(36)), "npm login ", "\n", "npm"),
        (format!("npm_{}", letters(36)), "//r/:_authToken=", "\n", "token"),
        (format!("hf_{}", letters(34)), "", " ", "huggingface"),
        (format!("pypi-AgEIcHlwaS5vcmc{}", letters(40)), "password = ", "\n", "pypi"),
        (format!("SG.{}.{}", letters(22), letters(43)), "'", "'", "sendgrid"),
        (format!("dop_v1_{}", "0a1b".repeat(16)), "", "", "digitalocean"),
        (format!("dckr_pat_{}", letters(27)), "-p ", "", "docker"),
        (format!("shpat_{}", "0a1b".repeat(8)), "", "", "shopify"),
        (format!("hvs.{}", letters(30)), "", "", "vault"),
        (format!("glsa_{}", letters(32)), "", "_0a1b2c3d", "grafana"),
        (format!("glrt-{}", letters(20)), "", "", "gitlab"),
        (format!("lin_api_{}", letters(40)), "", "", "linear"),
        (format!("ntn_{}", letters(46)), "", "", "notion"),
        (format!("ATATT3xFf{}", letters(60)), "", "", "atlassian"),
        (format!("gsk_{}", letters(52)), "", "", "groq"),
        (format!("xai-{}", letters(80)), "", "", "xai"),
        (format!("r8_{}", letters(37)), "", "", "replicate"),
        (format!("NRAK-{}", letters(27).to_uppercase()), "", "", "new-relic"),
        (format!("PMAK-{}-{}", letters(24), letters(34)), "", "", "postman"),
        (format!("AGE-SECRET-KEY-1{}", letters(58).to_uppercase()), "", "", "age"),
        (format!("dapi{}", "0a1b".repeat(8)), "", "-2", "databricks"),
        (format!(":AA{}", letters(33)), "bot1234567890", "/getMe", "telegram"),
        (format!("8Q~{}", letters(34)), "secret abc", "", "azure"),
        (letters(88), "AccountName=x;AccountKey=", ";EndpointSuffix=y", "azure"),
        (letters(43), "?sv=2024&sig=", "%3D", "azure"),
        (
            format!("hooks.slack.com/services/T0{}/B0{}/{}", letters(9), letters(9), letters(24)),
            "https://",
            "",
            "slack",
        ),
        (letters(60), "client-key-data: ", "\n", "kubernetes"),
        (letters(36), "//registry.example/:_authToken=", "\n", "token"),
        (letters(36), "{\"access_token\":\"", "\"}", "token"),
        // Right behind an escape, whose last letter is no part of a word.
        (format!("ghp_{}", letters(36)), "a\u{1b}[31m", "\u{1b}[0m", "github"),
        (format!("ghp_{}", letters(36)), "a\u{1b}[1;38;2;255;255;255m", "", "github"),
        (format!("ghp_{}", letters(36)), "a\\u001b[31m", "", "github"),
        (format!("ghp_{}", letters(36)), "a\\n", "\\n", "github"),
        (format!("ghp_{}", letters(36)), "a\\\\t", "", "github"),
        (format!("ghp_{}", letters(36)), "a\\u0022", "", "github"),
        (format!("ghp_{}", letters(36)), "a\\x1b", "", "github"),
        (format!("ghp_{}", letters(36)), "a\\033", "", "github"),
        (format!("ghp_{}", letters(36)), "a%0A", "%0A", "github"),
        (format!("ghp_{}", letters(36)), "a=3D", "", "github"),
        (format!("ghp_{}", letters(36)), "a%250A", "", "github"),
        (format!("ghp_{}", letters(36)), "a%E9%94%AE", "", "github"),
        (format!("ghp_{}", letters(36)), "a%u000A", "", "github"),
        (format!("ghp_{}", letters(36)), "a\\U0000001b", "", "github"),
        (format!("ghp_{}", letters(36)), "a^M", "", "github"),
        (format!("ghp_{}", letters(36)), "a&#x1b", "", "github"),
        (format!("ghp_{}", letters(36)), "a\u{1b}[48;2;0;40;0;38;2;248;248;242m", "", "github"),
        (format!("ghp_{}", letters(36)), "a\\u001b[1;48;2;0;40;0;38;2;248;248;242m", "", "github"),
        (format!("ghp_{}", letters(36)), "a\u{1b}(B", "", "github"),
        (format!("ghp_{}", letters(36)), "a\u{1b}[?25h", "", "github"),
        (format!("ghp_{}", letters(36)), "a\u{1b}[>4;2m", "", "github"),
        (format!("ghp_{}", letters(36)), "a\u{1b}[1 q", "", "github"),
        (format!("ghp_{}", letters(36)), "a\u{1b}M", "", "github"),
        (format!("ghp_{}", letters(36)), "a[31m", "", "github"),
        (format!("AKIA{upper}"), "a\\n", "\\n", "aws-key"),
        (format!("sk-{}", letters(40)), "a\\r\\n", "", "openai"),
        (jwt.clone(), "cookie: t=", "; x", "jwt"),
        // Names whose bytes are written in letters; the first secret gives the name.
        (named(&format!("a\nghp_{}", letters(36))), "`[path-bytes:", "]`", "github"),
        (named(&format!("\tAKIA{upper} ghp_{}", letters(36))), "path-bytes:", "", "aws-key"),
        // Cut in the middle of a group, or with letters glued to it.
        (named(&format!("a\nghp_{}!\n", letters(36)))[..57].to_owned(), "path-bytes:", " ", "github"),
        (format!("{}AAA", named(&format!("a\nghp_{}!\n", letters(36)))), "path-bytes:", ":", "github"),
        (named(&format!("cust-1234\n{}", named("x"))), "no [path-bytes:", "] here", "pattern:1"),
        (key.to_owned(), "key:\n", "\nrest", "private-key"),
        (key.replace('\n', "\\n"), "{\"k\": \"", "\\n\"}", "private-key"),
        (key.replace('\n', "\u{fffd}"), "there is no `", "`", "private-key"),
        (plain_key.clone(), "", "", "private-key"),
        (plain_key.replace('\n', "\n12- "), "11: ", " and", "private-key"),
        (LINES.replace(['\n', '\t'], " "), "[ ] ", ".", "env:LINES_KEY"),
        ("aladdin:opensesame".to_owned(), "Authorization: Bearer ", "\r\nHost: x", "authorization"),
        ("YWxhZGRpbg==".to_owned(), "-H 'authorization: Basic ", "'", "authorization"),
        (letters(20), "{\"Authorization\": \"Bearer ", "\"}", "authorization"),
        (letters(20), "{\\\"Authorization\\\":\\\"token ", "\\\"}", "authorization"),
        (letters(32), "Proxy-Authorization: ", "\n", "authorization"),
        (letters(32), "a Bearer ", " is", "authorization"),
        ("pa:ss@w0rd".to_owned(), "postgres://user:", "@db.example.org:5432/x", "url-password"),
        ("p".to_owned(), "redis://:", "@h", "url-password"),
    ];
    let told = |(secret, before, after, kind): (String, &str, &str, &str)| {
        (format!("{before}{secret}{after}"), format!("{before}[redacted:{kind}]{after}"))
    };
    rows.into_iter().map(told).collect()
}

/// None of these holds a secret.
fn harmless() -> Vec<String> {
    let picture = STANDARD
        .encode((0..6000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()).collect::<Vec<_>>());
    let texts = [
        "access_token = get_access_token_from_oauth2_provider(code)",
        "self.auth_token = auth_token_factory_for_tests_1",
        "authToken := NewStaticTokenSourceWithRetry2(ctx)",
        "accessToken: AccessTokenV2ResponseDeserializer,",
        "refresh_token=create_refresh_token_for_user_v2(user)",
        "client_secret = azuread_application_password_v2_prod.value",
        "the refresh_token == stored_refresh_token_hash_sha256",
        "const {access_token: accessTokenFromTheProvider1} = x",
        "AccountKey: AccountKeyConfigurationSectionNameForTheStorageAccount1",
        "glc_compute_light_cluster_bounds_pass_2",
        "id=desk-booking-service-v2-production",
        "?page=desk-lamp-2024-oak-finish-large",
        "type=cask-installer-20240101-arm64-x",
        "[ask-claude-about-python3-generics](x)",
        "[msk-cluster-2024-production-eu-west-1]",
        "50%desk-lamp-2024-oak-finish-large",
        "[path-bytes:YQpiYw] path-bytes:%% path-bytes: pat path",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 and 1152a2c",
        "018f4e3c-7b2a-7c11-9a55-3f2b8c9d0e1f",
        "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "the monkey has a key, a token and a secret; its password is gone, as are the credentials",
        "/home/user/.ssh/id_ed25519 ~/projects/token/src/lib.rs C:\\Users\\me\\keys",
        "let key = \"value\"; let api_key = settings.api_key_from_environment();",
        "const token: &str = \"token\"; apiKey: string; authorization: AuthorizationService",
        "task-force sk-loading-spinner-container-item risk-averse-investors-of-the-world",
        "Authorization: Bearer tokens are described in RFC 6750. Basic authentication is older.",
        "Authorization: Bearer ${TOKEN} or Authorization: Basic <credentials>",
        "https://example.org:8080/a@b?c=d:e@f http://localhost:3000 git@github.com:a/b.git mailto:a:b@c",
        "postgres://user:${PASSWORD}@host/db postgres://user@host/db",
        "A file that begins with -----BEGIN PRIVATE KEY----- holds a key.",
        "-----BEGIN CERTIFICATE-----\nMIIEow+/MIIEow+/MIIEow+/MIIEow+/\n-----END CERTIFICATE-----",
        "AKIA is a prefix, like ASIA; ASIAN_MARKETS and eyJ, ghp_ or npm_config_registry, xoxo-hugs",
        "eyJhbGciOiJIUzI1NiJ9 alone is a header",
        "correct horse battery, correct horse, s3cr3t/Val+ue?x=2, card: none",
        "100% \\ %2 %zz \\u12 \\uD83D \\\\\\\\\\\\\\\\\\\\ [[[[[ ----- ======",
        "[redacted:jwt] [redacted:env:X] postgres://user:[redacted:url-password]@host",
        "Ünïcödé ✓ 日本語 🔑",
        "",
    ];
    texts.into_iter().map(str::to_owned).chain([picture]).collect()
}

fn streamed<'a>(redactor: &Redactor, pieces: impl IntoIterator<Item = &'a str>) -> String {
    let mut stream = redactor.stream();
    let mut shown: String = pieces.into_iter().map(|piece| stream.push(piece)).collect();
    shown.push_str(&stream.finish());
    shown
}

fn single_characters(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(|_: char| true)
}

#[test]
fn every_kind_is_hidden_and_named() {
    let redactor = redactor();
    for (text, expected) in planted() {
        assert_eq!(redactor.text(&text), expected, "{text}");
        assert_eq!(redactor.text(&expected), expected, "redacting twice");
        assert_eq!(redactor.bytes_line(text.as_bytes()), expected.as_bytes());
    }
}

#[test]
fn ordinary_text_stays_and_is_not_copied() {
    let redactor = redactor();
    for text in harmless() {
        assert!(matches!(redactor.text(&text), Cow::Borrowed(_)), "{text}: {}", redactor.text(&text));
        assert_eq!(streamed(&redactor, single_characters(&text)), text);
    }
}

#[test]
fn a_redactor_that_finds_nothing_finds_nothing() {
    for (text, _) in planted() {
        assert!(matches!(Redactor::none().text(&text), Cow::Borrowed(_)), "{text}");
    }
}

/// Every cut in two, every cut in three for short texts, and one character at a time.
#[test]
fn where_a_text_is_cut_changes_nothing() {
    let redactor = redactor();
    for (text, expected) in planted() {
        assert_eq!(streamed(&redactor, single_characters(&text)), expected, "{text:?} by characters");
        let cuts: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
        for cut in &cuts {
            let (before, after) = text.split_at(*cut);
            assert_eq!(streamed(&redactor, [before, after]), expected, "{before:?} | {after:?}");
        }
        for (index, first) in cuts.iter().enumerate().filter(|_| text.len() < 48) {
            for second in &cuts[index..] {
                let pieces = [&text[..*first], &text[*first..*second], &text[*second..]];
                assert_eq!(streamed(&redactor, pieces), expected, "{pieces:?}");
            }
        }
    }
}

#[test]
fn random_texts_in_random_pieces_are_redacted_like_the_whole() {
    let is_full = std::env::var("SUBAGENTD_TRIALS").is_ok_and(|trials| trials == "full");
    let given = std::env::var("SUBAGENTD_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let mut seeds = Dice(given.unwrap_or_else(|| RandomState::new().hash_one("seed")));
    let redactor = redactor();
    let mut material: Vec<String> = planted().into_iter().map(|(text, _)| text).chain(harmless()).collect();
    material.retain(|text| text.len() < 1000);
    material.extend(
        ["sk-", "eyJ", "AAAA", "-----", "://", ":", "@", " ", "\n", "\\", "%2", "a1", ".", "ß"]
            .map(str::to_owned),
    );
    for _ in 0..if is_full { TRIALS.1 } else { TRIALS.0 } {
        let seed = given.unwrap_or_else(|| seeds.roll());
        let mut dice = Dice(seed);
        let mut text = String::new();
        for _ in 0..1 + dice.below(8) {
            let part = &material[dice.below(material.len())];
            let begin =
                part.floor_char_boundary(if dice.below(2) == 0 { 0 } else { dice.below(part.len() + 1) });
            let end = part.ceil_char_boundary(begin + dice.below(part.len() - begin + 1));
            text.push_str(if dice.below(2) == 0 { part } else { &part[begin..end] });
        }
        let whole = redactor.text(&text);
        let longest = 1 + dice.below(40);
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (piece, after) =
                rest.split_at(rest.ceil_char_boundary(dice.below(longest + 1).min(rest.len())));
            pieces.push(piece);
            rest = after;
        }
        assert_eq!(streamed(&redactor, pieces.iter().copied()), whole, "seed {seed}: {pieces:?}");
    }
}

/// At any alignment the characters that the secret has a share in are gone, and only they.
#[test]
fn base64_is_found_at_every_alignment() {
    let redactor = redactor();
    for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD] {
        for before in 0..7_usize {
            for after in 0..4_usize {
                let whole = [&b"\xfb\xffdef~"[..before.min(6)], TOKEN.as_bytes(), &b"xyz"[..after]].concat();
                let before = before.min(6);
                let encoded = engine.encode(&whole);
                let first = before * 8 / 6;
                let last = ((before + TOKEN.len()) * 8).div_ceil(6);
                let expected =
                    format!("<{}[redacted:env:SERVICE_TOKEN]{}>", &encoded[..first], &encoded[last..]);
                let text = format!("<{encoded}>");
                assert_eq!(redactor.text(&text), expected, "{before} before, {after} after");
                assert_eq!(streamed(&redactor, single_characters(&text)), expected);
                let cut = (before + 5) * 8 / 6;
                let wrapped = format!("<{}\r\n{}>", &encoded[..cut], &encoded[cut..]);
                assert_eq!(redactor.text(&wrapped), expected, "wrapped");
                let escaped = text.replace('/', "%2F").replace('+', "%2b");
                assert!(redactor.text(&escaped).contains("[redacted:env:SERVICE_TOKEN]"), "{escaped}");
            }
        }
    }
}

#[test]
fn overlapping_secrets_leave_nothing_between_them() {
    let redactor = redactor();
    let check = |text: &str, expected: &str| {
        assert_eq!(redactor.text(text), expected, "{text}");
        assert_eq!(streamed(&redactor, single_characters(text)), expected, "{text}");
    };
    check(&format!("Authorization: Bearer {TOKEN}!"), "Authorization: Bearer [redacted:env:SERVICE_TOKEN]!");
    check(
        &format!("Authorization: Bearer abcdef12{TOKEN}!"),
        "Authorization: Bearer [redacted:authorization]!",
    );
    check(&format!("{TOKEN}{TOKEN}"), "[redacted:env:SERVICE_TOKEN][redacted:env:SERVICE_TOKEN]");
    check("cust-1234cust-1234", "[redacted:pattern:1][redacted:pattern:1]");
    check(&format!("note: {TOKEN}"), "[redacted:pattern:3]");
}

#[test]
fn prose_flows_word_by_word() {
    let redactor = redactor();
    let mut stream = redactor.stream();
    let prose = "The monkey took a key (and the token) to https://example.org/a, see below: ";
    for word in prose.split_inclusive(' ') {
        assert_eq!(stream.push(word), word);
    }
    assert_eq!(stream.push("the correct horse "), "the ");
    assert_eq!(stream.push("runs "), "correct horse runs ");
    assert_eq!(stream.push("-----BEGIN RSA PRIVATE KEY-----\n"), "");
    assert_eq!(stream.push(&letters(16)), "[redacted:private-key]");
    assert_eq!(stream.push("\nAAAA\n-----END RSA "), "");
    assert_eq!(stream.push("PRIVATE KEY----- and "), " and ");
    assert_eq!(stream.finish(), "");
}

#[test]
fn what_was_found_is_not_held_however_long_it_goes_on() {
    let redactor = redactor();
    let mut stream = redactor.stream();
    let mut shown = stream.push(&format!("sk-proj-{}", letters(40)));
    for _ in 0..300 {
        shown.push_str(&stream.push(&letters(1000)));
        assert!(stream.held_bytes() < 2_000, "{} bytes are held", stream.held_bytes());
    }
    shown.push_str(&stream.push(" end"));
    assert_eq!(shown + &stream.finish(), "[redacted:openai] end");
}

#[test]
fn a_match_that_does_not_end_is_hidden_once_it_has_been_held_too_long() {
    let pattern = RedactionPattern::new(r"(?s)<<.*>>").unwrap();
    let redactor = Redactor::new(RedactorParts { environment: std::iter::empty(), patterns: vec![pattern] });
    let body = "secret words ".repeat(MOST_HELD_BYTES * 5 / 2 / 13);
    for (end, shown_after) in [(">> after", " after"), (" and no end", "")] {
        let text = format!("before <<{body}{end}");
        let whole = redactor.text(&text);
        assert!(whole.starts_with("before [redacted:pattern]"), "{}", &whole[..60]);
        assert!(whole.ends_with(shown_after));
        assert!(whole.len() < MOST_HELD_BYTES);
        let mut stream = redactor.stream();
        let mut shown = String::new();
        for piece in text.as_bytes().chunks(997) {
            shown.push_str(&stream.push(std::str::from_utf8(piece).unwrap()));
            assert!(stream.held_bytes() <= MOST_HELD_BYTES + 997 + 8);
        }
        assert_eq!(shown + &stream.finish(), whole);
    }
}

/// Looking is bounded by counting, since time depends on the machine.
#[test]
fn hostile_texts_cost_a_bounded_number_of_looks_at_each_byte() {
    const MEGABYTE: usize = 1024 * 1024;
    let redactor = redactor();
    let parts = [
        "[",
        "A",
        "sk-",
        "eyJ",
        "eyJ-",
        "sk-1",
        "-",
        "://",
        "a://",
        "a://b:c@",
        "%25",
        "\\",
        "\\u",
        "correct horse ",
        "Bearer ",
        "a:",
        "authorization:",
        "eyJAAAAAAAAAA.",
        "s3cr3t/",
        "AKIA",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----BEGIN ",
        "-----END ",
        "api_key=",
        "xoxb-",
        "path-bytes:",
        "path-bytes:ghp_",
        "The usual prose of a text. ",
    ];
    for part in parts {
        // At an eighth of the size what grows faster than the text would still be far over the limit.
        let size = if ["[", "A", "sk-", "eyJ"].contains(&part) { MEGABYTE } else { MEGABYTE / 8 };
        let most_looks = if ["[", "A", "The usual prose of a text. "].contains(&part) { 1 } else { 40 };
        let text = part.repeat(size / part.len());
        let window = TextWindow::new(&text, true);
        let mut scan = RedactionScan::without_patterns(&redactor.rules);
        scan.advance(&redactor.rules, &window);
        let looks = window.work() / size as u64;
        assert!(looks <= most_looks, "{part:?}: {looks} looks at each byte");
    }
}

#[test]
fn values_are_searched_deeply_and_texts_within_texts() {
    let redactor = redactor();
    let jwt = format!("eyJ{}.eyJ{}.x", letters(20), letters(30));
    let github = format!("\\u0067hp_{}", letters(36));
    let mut value = json!({
        "a": [1, null, { "b": format!("x {TOKEN}") }],
        TOKEN: 1,
        format!("{TOKEN}{PHRASE}"): 2,
        "command": json!({ "script": json!({ "lines": LINES, "t": jwt }).to_string() }).to_string(),
        "escaped": format!("{{\"t\":\"{github}\"}}"),
        "plain": { "token": "token", "n": 5 },
    });
    assert!(redactor.value(&mut value));
    let expected = json!({
        "a": [1, null, { "b": "x [redacted:env:SERVICE_TOKEN]" }],
        "[redacted:env:SERVICE_TOKEN]": 1,
        "[redacted:env:SERVICE_TOKEN][redacted:env:PASSPHRASE]": 2,
        "command": r#"{"script":"{\"lines\":\"[redacted:env:LINES_KEY]\",\"t\":\"[redacted:jwt]\"}"}"#,
        "escaped": r#"{"t":"[redacted:github]"}"#,
        "plain": { "token": "token", "n": 5 },
    });
    assert_eq!(value, expected);
    assert!(!redactor.value(&mut value), "redacting twice");
}

#[test]
fn names_that_become_the_same_lose_no_field() {
    let mut value = json!({ "cust-1234": 1, "cust-1235": 2, "other": 3 });
    assert!(redactor().value(&mut value));
    assert_eq!(value, json!({ "[redacted:pattern:1]": 1, "[redacted:pattern:1] (2)": 2, "other": 3 }));
}

#[test]
fn lines_that_are_not_text_are_redacted_around_what_is_not() {
    let line = [b"\xff\xfe ", TOKEN.as_bytes(), b" \xff"].concat();
    assert_eq!(redactor().bytes_line(&line), &b"\xff\xfe [redacted:env:SERVICE_TOKEN] \xff"[..]);
}

#[test]
fn patterns_that_cannot_be_used_are_refused() {
    for empty in ["", "a*", "^", r"\b", "a|"] {
        assert_eq!(RedactionPattern::new(empty), Err(PatternError::Empty { pattern: empty.to_owned() }));
    }
    for unreadable in ["(", r"(a)\1", "(?=a)", r"\w{5000}"] {
        assert!(
            matches!(RedactionPattern::new(unreadable), Err(PatternError::Unreadable { .. })),
            "{unreadable}"
        );
    }
}

#[test]
fn nothing_of_what_is_looked_for_is_printed() {
    assert_eq!(format!("{:?}", redactor()), "Redactor { .. }");
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.roll() % n as u64).unwrap()
    }
}
