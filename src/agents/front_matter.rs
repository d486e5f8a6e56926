//! Front matter of a file that is no agent's: which fields stand in it, and what stands below?
//!
//! Read with the patience that other products' agents get (spec 02, "Foreign files"): any encoding, and lines `key: text` where
//! it is no YAML.

use std::path::Path;

use serde_json::Value;

use super::{
    bytes,
    file_sections::{NoFence, split},
    findings::FileFindings,
    yaml::{self, YamlContent, YamlKey, YamlNode},
};
use config::TextPosition;
use protocol::{
    AgentFormat, FileProblem,
    FileProblemCode::{BadYaml, NoFrontMatter, WrongType},
};

/// The front matter of a file, as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontMatterReading {
    /// The fields, in the order of the file; `None` = it has no front matter that could be read.
    pub fields: Option<Vec<PlainFrontMatterField>>,
    /// It is YAML as it is written.
    pub is_yaml: bool,
    /// The text below it, without blank lines around.
    pub body: String,
    /// Problems: each thing that was mended or could not be read.
    pub problems: Vec<FileProblem>,
}

/// One field at the left edge.
#[derive(Debug, Clone, PartialEq)]
pub struct PlainFrontMatterField {
    /// The key, as it is written.
    pub name: String,
    pub position: TextPosition,
    /// The value as it is written, of a text, a number or the like.
    pub text: Option<String>,
    pub value: Value,
}

impl FrontMatterReading {
    /// Reads a file's bytes. `path` serves for messages.
    pub fn of(path: &Path, bytes: &[u8]) -> FrontMatterReading {
        let mut findings = FileFindings::of(path);
        let text = bytes::decode(bytes, &mut findings);
        let (fields, is_yaml, body) = match split(&text) {
            Ok((front_matter, body)) => {
                let (_, errors) = yaml::parse(front_matter.text, front_matter.first_line);
                let (root, _) = front_matter.read(AgentFormat::Claude, &mut findings);
                (root.and_then(|root| fields(root, &mut findings)), errors.is_empty(), body.text.to_owned())
            }
            Err(NoFence { line, message }) => {
                findings.error(Some(TextPosition { line, column: 1 }), NoFrontMatter, message);
                (None, false, String::new())
            }
        };
        let is_unread = fields.is_none() && !findings.have_error();
        if is_unread {
            findings.error(None, BadYaml, "the front matter cannot be read");
        }
        FrontMatterReading { fields, is_yaml, body, problems: findings.into_problems() }
    }
}

fn fields(root: YamlNode, findings: &mut FileFindings) -> Option<Vec<PlainFrontMatterField>> {
    if root.is_null() {
        return Some(Vec::new());
    }
    let mark = root.mark;
    let YamlContent::Map(entries) = root.content else {
        let message = "front matter: expected fields, one per line, like `description: …`";
        findings.error(Some(mark), WrongType, message);
        return None;
    };
    let field = |(key, node): (YamlKey, YamlNode)| PlainFrontMatterField {
        name: key.text,
        position: key.mark,
        text: node.as_raw_text().map(str::to_owned),
        value: node.to_json(),
    };
    Some(entries.into_iter().map(field).collect())
}
