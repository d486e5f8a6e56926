//! The commands inside of a shell call, as far as they can be told from its text (spec 06, "Shell commands are parsed").

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One command that runs, or might run: its words after quotes are removed, the command's name first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ShellCommand {
    pub words: Vec<CommandWord>,
    /// Not told: what was written down reaches anywhere.
    #[serde(skip)]
    pub reach: CommandReach,
}

/// How far a command reaches, as the reader of shell text tells by its words and by where it runs. What it runs in turn is
/// told as commands of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CommandReach {
    /// It passes on what others print, or moves about within the workspace: beside another command it changes nothing of
    /// what that one does.
    Passing,
    /// It runs in a folder of the workspace, each of its words is known, and none names anything outside, links followed.
    Workspace,
    /// Anything else, and what nobody can tell.
    #[default]
    Anywhere,
}

/// A word of a command. On the wire it is its text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CommandWord {
    /// Just this, whenever it runs.
    Known(String),
    /// Only running it would tell, e.g. what `"$name"` is, or how many words `$(ls)` makes. As it is written.
    Unknown(String),
}

impl CommandWord {
    /// What it is, where that is known.
    pub fn known(&self) -> Option<&str> {
        match self {
            CommandWord::Known(text) => Some(text),
            CommandWord::Unknown(_) => None,
        }
    }

    /// For people: what it is, or how it is written.
    pub fn text(&self) -> &str {
        match self {
            CommandWord::Known(text) | CommandWord::Unknown(text) => text,
        }
    }
}

impl Serialize for CommandWord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

/// What was written down does not say whether the word was known, so it counts as not known: nothing may be allowed by it.
impl<'de> Deserialize<'de> for CommandWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CommandWord, D::Error> {
        String::deserialize(deserializer).map(CommandWord::Unknown)
    }
}

impl JsonSchema for CommandWord {
    fn schema_name() -> Cow<'static, str> {
        "Word".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "A word of a command: what it is, or how it is written where only running it would tell." })
    }
}
