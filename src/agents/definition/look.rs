//! The fields that serve people: version, colour, and the place an agent says it lies in.

use crate::{fields::KnownFields, findings::FileFindings};
use protocol::{
    AgentScope,
    FileProblemCode::{BadValue, WrongType},
};

/// The basic colour keywords of CSS (CSS Color Module Level 4, "Named Colors", the sixteen of HTML 4).
pub(super) const CSS_COLORS: [&str; 16] = [
    "aqua", "black", "blue", "fuchsia", "gray", "green", "lime", "maroon", "navy", "olive", "purple", "red",
    "silver", "teal", "white", "yellow",
];

/// Where a file may say it lies; `global` is another word for `user`.
pub(super) const SCOPES: &[(&str, AgentScope)] =
    &[("project", AgentScope::Project), ("user", AgentScope::User), ("global", AgentScope::User)];

/// Semantic Versioning 2.0.0.
pub(super) const VERSION: &str = r"^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$";

/// A semantic version: three numbers, then perhaps `-pre.release` and `+build`.
pub(super) fn version(fields: &KnownFields<'_>, findings: &mut FileFindings) -> Option<String> {
    let version = fields.raw_text("version", findings)?;
    if is_semantic(&version) {
        return Some(version);
    }
    let node = fields.get("version")?;
    findings.expected(node, "version", BadValue, "a semantic version like `1.2.0`");
    None
}

fn is_semantic(version: &str) -> bool {
    let (version, build) = version.split_once('+').unwrap_or((version, "0"));
    let (numbers, release) = version.split_once('-').unwrap_or((version, "0"));
    let is_number = |part: &str| {
        !part.is_empty()
            && part.chars().all(|digit| digit.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let is_word =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    numbers.split('.').count() == 3
        && numbers.split('.').all(is_number)
        && release.split('.').all(is_word)
        && build.split('.').all(is_word)
}

/// `#RRGGBB` or a basic colour's name.
pub(super) fn color(fields: &KnownFields<'_>, findings: &mut FileFindings) -> Option<String> {
    const EXPECTED: &str = "`#RRGGBB` in quotes, or a basic colour name like `teal`";
    let node = fields.get_even_if_empty("color")?;
    if node.is_null() {
        // An unquoted `#ff0000` is a comment, which leaves nothing.
        findings.expected(node, "color", WrongType, EXPECTED);
        return None;
    }
    let color = fields.raw_text("color", findings)?;
    if is_color(&color.to_ascii_lowercase()) {
        return Some(color);
    }
    findings.expected(node, "color", BadValue, EXPECTED);
    None
}

/// What other products call colours, by CSS's colour keywords where those are not the same.
const FOREIGN_COLORS: &[(&str, &str)] = &[
    ("cyan", "aqua"),
    ("magenta", "fuchsia"),
    ("orange", "#ffa500"),
    ("pink", "#ffc0cb"),
    ("grey", "gray"),
    ("violet", "#ee82ee"),
    ("indigo", "#4b0082"),
    ("brown", "#a52a2a"),
    ("gold", "#ffd700"),
    ("crimson", "#dc143c"),
];

/// The colour that a file of another product names; what is none here is told, and costs the agent nothing else.
pub(in super::super) fn foreign_color(
    fields: &KnownFields<'_>,
    findings: &mut FileFindings,
) -> Option<String> {
    let node = fields.get("color")?;
    let written = node.as_raw_text().map(|text| text.trim().to_ascii_lowercase()).unwrap_or_default();
    let found =
        FOREIGN_COLORS.iter().find(|(name, _)| *name == written).map(|(_, color)| (*color).to_owned());
    if let Some(color) = found.or_else(|| Some(written.clone()).filter(|it| is_color(it))) {
        return Some(color);
    }
    let message = "`color`: this is no colour here; it has no effect";
    findings.warning(Some(node.mark), BadValue, message, Some("write `#RRGGBB` in quotes".to_owned()));
    None
}

fn is_color(text: &str) -> bool {
    let is_hex = text
        .strip_prefix('#')
        .is_some_and(|digits| digits.len() == 6 && digits.chars().all(|digit| digit.is_ascii_hexdigit()));
    is_hex || CSS_COLORS.contains(&text)
}

/// Where the file lies decides; a file that says otherwise is warned about.
pub(super) fn check_scope(fields: &KnownFields<'_>, scope: AgentScope, findings: &mut FileFindings) {
    let Some(said) = fields.one_of("scope", SCOPES, findings) else { return };
    if said != scope {
        let lies = match scope {
            AgentScope::Project => "a project's agents",
            AgentScope::User => "the user's agents",
            AgentScope::Builtin => "the built-in agents",
        };
        let message = format!("`scope` does not match: the file lies among {lies}, and that counts");
        findings.warning(fields.get("scope").map(|node| node.mark), BadValue, message, None);
    }
}
