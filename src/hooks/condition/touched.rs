//! Which files does a call touch? By what was prepared and is judged, and by what its arguments say.

use std::path::Path;

use serde_json::Value;

use super::{CalledWithin, FilePattern};
use crate::HookedCall;
use protocol::ResourceAccess;

/// Tools that look through a whole folder where they are given one. A new one belongs here, see `means` above.
const LOOKING_THROUGH: &[&str] =
    &["grep", "glob", "list_directory", "read_many_files", "move_file", "delete_file"];

/// The paths of one call.
pub(super) struct TouchedPaths<'a> {
    call: &'a HookedCall,
}

impl<'a> TouchedPaths<'a> {
    pub(super) fn of(call: &'a HookedCall) -> TouchedPaths<'a> {
        TouchedPaths { call }
    }

    /// True if the pattern means one of them. A folder that is touched whole is met by each pattern that may mean something in it.
    pub(super) fn are_met_by(&self, pattern: &FilePattern, within: &CalledWithin<'_>) -> bool {
        self.are_prepared_met(pattern, within) || self.are_written_met(pattern, within)
    }

    fn are_prepared_met(&self, pattern: &FilePattern, within: &CalledWithin<'_>) -> bool {
        let accesses = &self.call.accesses;
        accesses.iter().any(|access| match access {
            ResourceAccess::Read { path } => {
                is_unreadable(path)
                    || pattern.matches(path, within)
                    || path.is_dir() && pattern.may_lie_below(path, within)
            }
            ResourceAccess::Write { path } => {
                // A folder that is only made on the way to another path is not touched whole.
                let is_on_the_way = || {
                    accesses.iter().any(|other| match other {
                        ResourceAccess::Write { path: other } => other != path && other.starts_with(path),
                        _ => false,
                    })
                };
                is_unreadable(path)
                    || pattern.matches(path, within)
                    || path.is_dir() && !is_on_the_way() && pattern.may_lie_below(path, within)
            }
            _ => false,
        })
    }

    fn are_written_met(&self, pattern: &FilePattern, within: &CalledWithin<'_>) -> bool {
        let paths = paths_of(&self.call.arguments);
        if paths.is_empty() {
            // Some tools look at the root where they are told none. Of what was prepared, its accesses tell the rest.
            return self.call.accesses.is_empty();
        }
        let looks_through = LOOKING_THROUGH.contains(&self.call.tool.as_str());
        paths.iter().any(|path| {
            let is_folder = || looks_through && within.first().join(path).is_dir();
            path.contains(['*', '?', '[', '{'])
                || is_unreadable(Path::new(path))
                || pattern.matches(Path::new(path), within)
                || is_folder() && pattern.may_lie_below(Path::new(path), within)
        })
    }
}

/// True of a path whose name is no text: accesses have another writing of it, which no pattern means.
fn is_unreadable(path: &Path) -> bool {
    let is_written_otherwise = |part: &std::ffi::OsStr| {
        part.to_str()
            .is_none_or(|text| text.starts_with("path-bytes:") || text.contains(char::REPLACEMENT_CHARACTER))
    };
    path.iter().any(is_written_otherwise)
}

/// The paths that a call names, wherever they stand in its arguments.
fn paths_of(arguments: &Value) -> Vec<&str> {
    const KEYS: &[&str] = &["path", "file_path", "source", "destination", "from", "to", "paths", "include"];
    let values = KEYS.iter().filter_map(|key| arguments.get(*key));
    let texts = values.flat_map(|value| match value {
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().into_iter().collect::<Vec<_>>(),
    });
    texts.collect()
}
