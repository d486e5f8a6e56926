//! What is a tool called on the wire? Providers take `[A-Za-z0-9_-]{1,64}`; our names have dots and may be longer.
//!
//! A function of the declared tools alone, whatever their order, so that a name stays what it was from turn to turn
//! and after a restart.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use sha2::{Digest as _, Sha256};

use protocol::ToolName;

/// The longest name that every provider takes.
const MAX_CHARS: usize = 64;
/// What tells shortened and colliding names apart: hex digits of a hash of the name.
const HASH_CHARS: usize = 8;

/// The names of one request's tools, both ways.
#[derive(Debug, Default)]
pub(super) struct WireNames {
    to_wire: HashMap<ToolName, String>,
    from_wire: HashMap<String, ToolName>,
}

impl WireNames {
    pub(super) fn new<'a>(declared: impl IntoIterator<Item = &'a ToolName>) -> WireNames {
        let mut claims: BTreeMap<String, Vec<&ToolName>> = BTreeMap::new();
        for name in declared {
            claims.entry(fitting(name.as_str())).or_default().push(name);
        }
        let mut names = WireNames::default();
        for (wire, claimants) in &claims {
            for name in claimants {
                // A name that is right as it is keeps its own; others that would share one are told apart.
                let is_own = name.as_str() == wire || claimants.len() == 1;
                let mut wire = if is_own { wire.clone() } else { hashed(wire, name.as_str(), 0) };
                let mut salt = 0;
                while !is_own && (claims.contains_key(&wire) || names.from_wire.contains_key(&wire)) {
                    salt += 1;
                    wire = hashed(&wire, name.as_str(), salt);
                }
                names.from_wire.insert(wire.clone(), (*name).clone());
                names.to_wire.insert((*name).clone(), wire);
            }
        }
        names
    }

    /// The name to write; a tool that is not declared now, e.g. in an older turn, gets one that fits.
    pub(super) fn to_wire(&self, name: &ToolName) -> Cow<'_, str> {
        match self.to_wire.get(name) {
            Some(wire) => Cow::Borrowed(wire),
            None => Cow::Owned(fitting(name.as_str())),
        }
    }

    /// The tool that a model means; a name that was never declared stays as the model wrote it.
    pub(super) fn meant_by(&self, wire: ToolName) -> ToolName {
        self.from_wire.get(wire.as_str()).cloned().unwrap_or(wire)
    }
}

/// `mcp.server.tool` becomes `mcp__server__tool`; in other names what is not allowed becomes `_`.
fn fitting(name: &str) -> String {
    let dot = if name.starts_with("mcp.") { "__" } else { "_" };
    let mut wire = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '.' => wire.push_str(dot),
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => wire.push(letter),
            _ => wire.push('_'),
        }
    }
    // Gemini wants a letter or an underscore first.
    if !wire.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        wire.insert(0, '_');
    }
    if wire.len() <= MAX_CHARS { wire } else { hashed(&wire, name, 0) }
}

/// `wire`, cut where it must be, and a hash of the whole name.
fn hashed(wire: &str, name: &str, salt: u32) -> String {
    let mut hash = Sha256::new();
    hash.update(salt.to_le_bytes());
    hash.update(name.as_bytes());
    let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let kept = wire.len().min(MAX_CHARS - HASH_CHARS - 1);
    format!("{}_{}", &wire[..kept], &hash[..HASH_CHARS])
}

#[cfg(test)]
mod tests;
