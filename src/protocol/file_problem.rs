//! What is wrong in a file that a user wrote, and where (spec 02, "Foreign files", rule 8).

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// Something wrong in a file a user wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileProblem {
    /// The file, with U+FFFD for what is not UTF-8 in its name. Of a setting that is given elsewhere: the variable of the environment,
    /// or the flag.
    #[serde(serialize_with = "whatever_its_bytes")]
    pub path: PathBuf,
    /// 1-based; missing when the whole file is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// 1-based, in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    pub severity: ProblemSeverity,
    pub code: FileProblemCode,
    /// What is wrong, and what was expected.
    pub message: String,
    /// What to write instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// A stranger's folder may have names that are not UTF-8, and what is wrong there is told all the same.
fn whatever_its_bytes<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

impl std::fmt::Display for FileProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        write!(f, ": {}", self.message)?;
        match &self.fix {
            Some(fix) => write!(f, " ({fix})"),
            None => Ok(()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProblemSeverity {
    Warning,
    Error,
}

/// What kind of problem (spec 02, "Foreign files", rule 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FileProblemCode {
    NoFrontMatter,
    BadYaml,
    /// A settings file is not JSON with comments.
    BadJson,
    /// A file of rules is not TOML.
    BadToml,
    WrongType,
    BadValue,
    MissingField,
    DuplicateName,
    TooLarge,
    /// A field nobody knows; kept, not used.
    UnknownField,
    /// A field that this version cannot carry out, and without which the agent would be freer, or forget: it is not started.
    Unsupported,
    /// `tools` names a tool that does not exist here.
    UnknownTool,
    /// `model` names one that is not known here.
    UnknownModel,
    /// `mcp.servers` names one that no settings have here.
    UnknownServer,
    /// The file or folder could not be read.
    Unreadable,
}
