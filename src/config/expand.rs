//! What does a text of a server's entry say, with the environment filled in?

use std::ffi::OsString;

/// A variable that is needed, and is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnfilledVariable {
    #[error(
        "the variable {0} is not set in the daemon's environment, and the entry gives no other value (`${{{0}:-…}}`)"
    )]
    Missing(String),
    #[error("a `${{` is not closed, or names no variable, in {0:?}")]
    Malformed(String),
}

/// Fills `${VAR}` and `${VAR:-default}`; the default also counts for a variable that is empty. `$` alone is a letter.
pub fn expand(text: &str, environment: &[(OsString, OsString)]) -> Result<String, UnfilledVariable> {
    let malformed = || UnfilledVariable::Malformed(text.to_owned());
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (inner, behind) = after.split_once('}').ok_or_else(malformed)?;
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if name.is_empty() || !name.chars().all(is_letter) || name.starts_with(|it: char| it.is_ascii_digit())
        {
            return Err(malformed());
        }
        filled.push_str(before);
        let value = environment.iter().find(|(key, _)| key == name).and_then(|(_, value)| value.to_str());
        match (value, default) {
            (Some(value), None) => filled.push_str(value),
            (Some(value), Some(_)) if !value.is_empty() => filled.push_str(value),
            (_, Some(default)) => filled.push_str(default),
            (None, None) => return Err(UnfilledVariable::Missing(name.to_owned())),
        }
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in_and_missing_ones_are_told() {
        let environment = [("TOKEN", "t0k"), ("EMPTY", ""), ("_X1", "x")];
        let environment: Vec<(OsString, OsString)> =
            environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        let missing = |name: &str| Err(UnfilledVariable::Missing(name.to_owned()));
        let malformed = |text: &str| Err(UnfilledVariable::Malformed(text.to_owned()));
        for (text, expected) in [
            ("plain $HOME $", Ok("plain $HOME $")),
            ("Bearer ${TOKEN}!", Ok("Bearer t0k!")),
            ("${TOKEN}${_X1}", Ok("t0kx")),
            ("${EMPTY}", Ok("")),
            ("${EMPTY:-d}", Ok("d")),
            ("${NONE:-}", Ok("")),
            ("${NONE:-a:-b}", Ok("a:-b")),
            ("${NONE:-${TOKEN", Ok("")),
            ("${NONE}", Ok("")),
            ("${}", Ok("")),
            ("${1A}", Ok("")),
            ("${A B}", Ok("")),
            ("${TOKEN", Ok("")),
        ] {
            let expected: Result<String, UnfilledVariable> = match text {
                "${NONE}" => missing("NONE"),
                "${}" | "${1A}" | "${A B}" | "${TOKEN" | "${NONE:-${TOKEN" => malformed(text),
                _ => expected.map(str::to_owned),
            };
            assert_eq!(expand(text, &environment), expected, "{text}");
        }
    }
}
