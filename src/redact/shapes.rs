//! What do keys look like whose makers gave them a shape? (spec 10, "well-known key shapes")
//!
//! Each shape begins with fixed words. What follows is judged within a bounded distance; a run that goes on after
//! that is hidden as it comes, however long it becomes, and nobody waits for its end.

use self::{
    escape::ends_with_escape,
    header::{assigned, assigned_at_random, authorization, bearer},
    structure::{json_web_token, private_key, url_password},
};
use super::window::{LetterCase, NeedsMoreText, TextWindow};

pub(super) use self::escape::LONGEST_ESCAPE;

mod escape;
mod header;
mod structure;

/// Digits are looked for this far into a run that needs one: keys have them early, words of prose have none.
const DIGIT_WITHIN: usize = 64;

/// A kind of secret.
pub(super) struct SecretShape {
    /// For the marker.
    pub kind: &'static str,
    /// It begins with one of these; each has three bytes at least.
    pub beginnings: &'static [&'static str],
    pub case: LetterCase,
    /// Bytes before which it may not begin.
    not_after: ByteClass,
    body: ShapeBody,
}

/// Which bytes belong to a run.
pub(super) type ByteClass = fn(u8) -> bool;

enum ShapeBody {
    /// The beginning and a run behind it.
    Run { class: ByteClass, least: usize, digit: DigitRule },
    /// As [`ShapeBody::Run`], but of exactly this length.
    Exactly { class: ByteClass, length: usize },
    /// Told where the beginning begins and ends.
    Structure(fn(&TextWindow<'_>, usize, usize) -> Result<ShapeMatch, NeedsMoreText>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DigitRule {
    Needed,
    Free,
}

/// Whether a secret begins here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShapeMatch {
    Nothing {
        /// Up to here nothing of this shape begins either, so nothing is looked at twice.
        looked_to: usize,
    },
    Secret {
        start: usize,
        end: usize,
        /// Missing when it ends there for certain.
        growth: Option<SecretGrowth>,
    },
}

/// How a secret that has been found goes on.
#[derive(Debug, Clone, Copy)]
pub(super) enum SecretGrowth {
    Run(ByteClass),
    PrivateKey,
}

impl PartialEq for SecretGrowth {
    fn eq(&self, other: &SecretGrowth) -> bool {
        matches!(
            (self, other),
            (SecretGrowth::Run(_), SecretGrowth::Run(_))
                | (SecretGrowth::PrivateKey, SecretGrowth::PrivateKey)
        )
    }
}

impl Eq for SecretGrowth {}

pub(super) const SHAPES: &[SecretShape] = &[
    SecretShape {
        kind: "private-key",
        beginnings: &["-----BEGIN "],
        case: LetterCase::Exact,
        not_after: |_| false,
        body: ShapeBody::Structure(private_key),
    },
    SecretShape {
        kind: "authorization",
        beginnings: &["authorization"],
        case: LetterCase::Any,
        not_after: is_alphanumeric,
        body: ShapeBody::Structure(authorization),
    },
    SecretShape {
        kind: "authorization",
        beginnings: &["bearer "],
        case: LetterCase::Any,
        not_after: is_alphanumeric,
        body: ShapeBody::Structure(bearer),
    },
    SecretShape {
        kind: "url-password",
        beginnings: &["://"],
        case: LetterCase::Exact,
        not_after: |byte| !is_alphanumeric(byte),
        body: ShapeBody::Structure(url_password),
    },
    SecretShape {
        kind: "aws-secret",
        beginnings: &[
            "secret_access_key",
            "secret-access-key",
            "secretaccesskey",
            "aws_secret_key",
            "aws_session_token",
        ],
        case: LetterCase::Any,
        not_after: |_| false,
        body: ShapeBody::Structure(|window, start, after| {
            assigned(window, start, after, 40, DigitRule::Free)
        }),
    },
    SecretShape {
        kind: "api-key",
        beginnings: &["api-key", "api_key", "apikey"],
        case: LetterCase::Any,
        not_after: |_| false,
        body: ShapeBody::Structure(|window, start, after| {
            assigned(window, start, after, 20, DigitRule::Needed)
        }),
    },
    SecretShape {
        kind: "aws-key",
        beginnings: &["AKIA", "ASIA", "ABIA", "ACCA"],
        case: LetterCase::Exact,
        not_after: is_alphanumeric,
        body: ShapeBody::Exactly {
            class: |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            length: 16,
        },
    },
    run("github", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], is_alphanumeric, 36, DigitRule::Free),
    run("github", &["github_pat_"], is_word, 22, DigitRule::Free),
    run(
        "gitlab",
        &["glpat-", "glrt-", "gldt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-"],
        is_base64url,
        20,
        DigitRule::Free,
    ),
    run(
        "slack",
        &["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"],
        is_slack,
        10,
        DigitRule::Needed,
    ),
    run("slack", &["xapp-"], is_slack, 20, DigitRule::Needed),
    run("google", &["AIza"], is_base64url, 35, DigitRule::Free),
    run("google", &["ya29."], is_base64url, 20, DigitRule::Free),
    run("google", &["GOCSPX-"], is_base64url, 20, DigitRule::Free),
    run("anthropic", &["sk-ant-"], is_base64url, 20, DigitRule::Needed),
    run("openai", &["sk-"], is_base64url, 20, DigitRule::Needed),
    run("stripe", &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], is_alphanumeric, 16, DigitRule::Free),
    run("stripe", &["whsec_"], is_base64, 20, DigitRule::Needed),
    run(
        "slack",
        &["hooks.slack.com/services/", "hooks.slack.com/workflows/"],
        is_path,
        30,
        DigitRule::Needed,
    ),
    run(
        "discord",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        is_path,
        60,
        DigitRule::Needed,
    ),
    run("npm", &["npm_"], is_alphanumeric, 36, DigitRule::Free),
    run("pypi", &["pypi-AgE"], is_base64url, 40, DigitRule::Free),
    run("sendgrid", &["SG."], is_dotted, 60, DigitRule::Needed),
    run("digitalocean", &["dop_v1_", "doo_v1_", "dor_v1_"], is_alphanumeric, 40, DigitRule::Free),
    run("docker", &["dckr_pat_", "dckr_oat_"], is_base64url, 20, DigitRule::Free),
    run("shopify", &["shpat_", "shpca_", "shppa_", "shpss_"], is_hexadecimal, 32, DigitRule::Free),
    run("vault", &["hvs.", "hvb.", "hvr."], is_base64url, 24, DigitRule::Needed),
    run("grafana", &["glsa_"], is_alphanumeric, 32, DigitRule::Needed),
    run("grafana", &["glc_eyJ"], is_base64, 40, DigitRule::Needed),
    run("linear", &["lin_api_", "lin_oauth_"], is_alphanumeric, 32, DigitRule::Free),
    run("notion", &["ntn_"], is_alphanumeric, 40, DigitRule::Needed),
    run("atlassian", &["ATATT3xFf", "ATCTT3xFf"], is_base64_or_url, 40, DigitRule::Free),
    run("groq", &["gsk_"], is_alphanumeric, 40, DigitRule::Needed),
    run("xai", &["xai-"], is_alphanumeric, 60, DigitRule::Needed),
    run("replicate", &["r8_"], is_alphanumeric, 37, DigitRule::Needed),
    run("new-relic", &["NRAK-"], is_alphanumeric, 27, DigitRule::Free),
    run("postman", &["PMAK-"], is_base64url, 50, DigitRule::Needed),
    run("age", &["AGE-SECRET-KEY-1"], is_alphanumeric, 50, DigitRule::Free),
    run("tailscale", &["tskey-"], is_base64url, 20, DigitRule::Needed),
    run("supabase", &["sbp_"], is_hexadecimal, 40, DigitRule::Free),
    run("fly", &["fm2_"], is_base64, 80, DigitRule::Needed),
    run("sentry", &["sntrys_"], is_base64_or_url, 60, DigitRule::Needed),
    SecretShape {
        kind: "databricks",
        beginnings: &["dapi"],
        case: LetterCase::Exact,
        not_after: is_alphanumeric,
        body: ShapeBody::Exactly { class: is_hexadecimal, length: 32 },
    },
    // Behind the number of a bot.
    SecretShape {
        kind: "telegram",
        beginnings: &[":AA"],
        case: LetterCase::Exact,
        not_after: |byte| !byte.is_ascii_digit(),
        body: ShapeBody::Exactly { class: is_base64url, length: 33 },
    },
    // Behind three letters.
    SecretShape {
        kind: "azure",
        beginnings: &["7Q~", "8Q~"],
        case: LetterCase::Exact,
        not_after: |byte| !is_alphanumeric(byte),
        body: ShapeBody::Run { class: is_token, least: 31, digit: DigitRule::Free },
    },
    SecretShape {
        kind: "azure",
        beginnings: &["accountkey", "sharedaccesskey", "?sig", "&sig"],
        case: LetterCase::Any,
        not_after: |_| false,
        body: ShapeBody::Structure(|window, start, after| assigned_at_random(window, start, after, 40)),
    },
    SecretShape {
        kind: "kubernetes",
        beginnings: &["client-key-data"],
        case: LetterCase::Any,
        not_after: |_| false,
        body: ShapeBody::Structure(|window, start, after| assigned_at_random(window, start, after, 40)),
    },
    SecretShape {
        kind: "token",
        beginnings: &[
            "access_token",
            "accesstoken",
            "refresh_token",
            "refreshtoken",
            "auth_token",
            "authtoken",
            "client_secret",
            "clientsecret",
        ],
        case: LetterCase::Any,
        not_after: |_| false,
        body: ShapeBody::Structure(|window, start, after| assigned_at_random(window, start, after, 20)),
    },
    run("huggingface", &["hf_"], is_alphanumeric, 30, DigitRule::Free),
    SecretShape {
        kind: "jwt",
        beginnings: &["eyJ"],
        case: LetterCase::Exact,
        not_after: is_alphanumeric,
        body: ShapeBody::Structure(json_web_token),
    },
];

/// What is looked for quickly is three bytes, so that is the least of a beginning; a shorter one does not build.
const _: () = {
    let mut rest = SHAPES;
    while let [shape, others @ ..] = rest {
        let mut beginnings = shape.beginnings;
        while let [beginning, more @ ..] = beginnings {
            assert!(beginning.len() >= 3, "a beginning has three bytes at least");
            beginnings = more;
        }
        rest = others;
    }
};

const fn run(
    kind: &'static str,
    beginnings: &'static [&'static str],
    class: ByteClass,
    least: usize,
    digit: DigitRule,
) -> SecretShape {
    SecretShape {
        kind,
        beginnings,
        case: LetterCase::Exact,
        not_after: is_alphanumeric,
        body: ShapeBody::Run { class, least, digit },
    }
}

impl SecretShape {
    /// Whether a secret of this shape begins at `start`.
    pub fn judge(&self, window: &TextWindow<'_>, start: usize) -> Result<ShapeMatch, NeedsMoreText> {
        let nothing = ShapeMatch::Nothing { looked_to: start };
        // The last letter of an escape belongs to no word.
        if window.before(start).is_some_and(self.not_after) && !ends_with_escape(&window.bytes()[..start]) {
            return Ok(nothing);
        }
        for beginning in self.beginnings {
            if window.reads(start, beginning, self.case)? {
                return self.judge_body(window, start, start + beginning.len());
            }
        }
        Ok(nothing)
    }

    fn judge_body(
        &self,
        window: &TextWindow<'_>,
        start: usize,
        after: usize,
    ) -> Result<ShapeMatch, NeedsMoreText> {
        match self.body {
            ShapeBody::Structure(judge) => judge(window, start, after),
            ShapeBody::Run { class, least, digit } => judge_run(window, start, after, class, least, digit),
            ShapeBody::Exactly { class, length } => {
                let end = window.run(after, length, class)?;
                let is_secret = end - after == length && !window.byte(end)?.is_some_and(is_alphanumeric);
                Ok(match is_secret {
                    true => ShapeMatch::Secret { start, end, growth: None },
                    false => ShapeMatch::Nothing { looked_to: start },
                })
            }
        }
    }
}

impl SecretGrowth {
    /// How far the secret goes that is known to reach `from`, and whether it ends there.
    pub fn follow(self, window: &TextWindow<'_>, from: usize) -> (usize, bool) {
        match self {
            SecretGrowth::PrivateKey => structure::follow_private_key(window, from),
            SecretGrowth::Run(class) => {
                let length = window.bytes()[from..].iter().take_while(|byte| class(**byte)).count();
                let end = from + length;
                (end, window.is_whole || end < window.bytes().len())
            }
        }
    }
}

/// A run of at least this length from `from`, which belongs to a secret that begins at `start`.
fn judge_run(
    window: &TextWindow<'_>,
    start: usize,
    from: usize,
    class: ByteClass,
    least: usize,
    digit: DigitRule,
) -> Result<ShapeMatch, NeedsMoreText> {
    let end = window.run(from, least, class)?;
    if end - from < least {
        return Ok(ShapeMatch::Nothing { looked_to: start });
    }
    let has_digit = || -> Result<bool, NeedsMoreText> {
        let words = window.run(from, DIGIT_WITHIN, |byte| !byte.is_ascii_digit())?;
        let run = window.run(from, DIGIT_WITHIN, class)?;
        Ok(words < run)
    };
    if digit == DigitRule::Needed && !has_digit()? {
        return Ok(ShapeMatch::Nothing { looked_to: from + least });
    }
    Ok(ShapeMatch::Secret { start, end, growth: Some(SecretGrowth::Run(class)) })
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_slack(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn is_base64_or_url(byte: u8) -> bool {
    is_base64(byte) || is_base64url(byte)
}

fn is_hexadecimal(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

fn is_dotted(byte: u8) -> bool {
    is_base64url(byte) || byte == b'.'
}

fn is_path(byte: u8) -> bool {
    is_base64url(byte) || byte == b'/'
}

/// What a bearer token is made of (RFC 6750), and the colon that some put into theirs.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=' | b':')
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
