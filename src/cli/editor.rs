//! How does a person change a text in their own editor?

use std::{
    ffi::{OsStr, OsString},
    fs::{self, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use super::{EnvironmentLookup, failure::CommandFailure, key};
use protocol::MAX_MESSAGE_BYTES;

/// Bytes of the file's own name that are kept, for the editor to know its kind by.
const NAME_BYTES: usize = 60;

/// Characters of a file's name that mean nothing to a shell or an editor.
fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-')
}

/// A file that only this user may read, and that is gone when this is, unless it is kept.
pub(super) struct EditorTempFile {
    path: PathBuf,
    is_kept: bool,
}

impl EditorTempFile {
    /// With this text, in the folder for what is temporary; called like `path`, for the editor to know its kind.
    pub(super) fn of(
        text: &str,
        path: &str,
        environment: &EnvironmentLookup,
    ) -> Result<EditorTempFile, CommandFailure> {
        let folder = value("TMPDIR", environment).unwrap_or_else(|| "/tmp".into());
        let name: String =
            path.rsplit('/').next().unwrap_or_default().chars().filter(|c| is_plain(*c)).collect();
        // All ASCII, so any place is a character's.
        let name = &name[name.len().saturating_sub(NAME_BYTES)..];
        let path = Path::new(&folder).join(format!("subagent-{}-{name}", key::chance(8)?));
        let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let mut file = created.map_err(|error| cannot("write", &path, &error))?;
        let draft = EditorTempFile { path, is_kept: false };
        file.write_all(text.as_bytes()).map_err(|error| cannot("write", &draft.path, &error))?;
        Ok(draft)
    }

    /// Opens it in this editor; the text as the person leaves it. An editor that fails changes nothing: what it left is not
    /// taken.
    pub(super) fn change(&self, editor: &OsStr) -> Result<String, CommandFailure> {
        let shown = editor.to_string_lossy();
        // May have arguments, e.g. `code --wait`; a shell takes it apart, as git has it.
        let mut shell = Command::new("sh");
        shell.args(["-c", "eval \"$SUBAGENT_EDITOR\" '\"$1\"'", "sh"]).arg(&self.path);
        let status = shell.env("SUBAGENT_EDITOR", editor).status().map_err(|error| {
            CommandFailure::new(format!("cannot start {shown}: {error}")).or_hint("set EDITOR to your editor")
        })?;
        if !status.success() {
            return Err(CommandFailure::new(format!(
                "{shown} ended with {status}; what it left is not used"
            ))
            .or_hint("set EDITOR to your editor"));
        }
        self.read()
    }

    fn read(&self) -> Result<String, CommandFailure> {
        let file = fs::File::open(&self.path).map_err(|error| cannot("read", &self.path, &error))?;
        let mut bytes = Vec::new();
        // One byte more than any request may have shows that there is more.
        let limit = MAX_MESSAGE_BYTES as u64 + 1;
        file.take(limit).read_to_end(&mut bytes).map_err(|error| cannot("read", &self.path, &error))?;
        if bytes.len() > MAX_MESSAGE_BYTES {
            return Err(CommandFailure::new(format!(
                "what was edited has more than {MAX_MESSAGE_BYTES} bytes"
            ))
            .or_hint("make it shorter"));
        }
        String::from_utf8(bytes)
            .map_err(|_| CommandFailure::new("what was edited is not UTF-8").or_hint("save it as UTF-8"))
    }

    /// Where it lies.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves it there when it holds something else than this; answers where. What cannot be read is left, too.
    pub(super) fn keep_unless(&mut self, text: &str) -> Option<&Path> {
        self.is_kept = match fs::read(&self.path) {
            Ok(bytes) => bytes != text.as_bytes(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        };
        self.is_kept.then_some(self.path.as_path())
    }
}

impl Drop for EditorTempFile {
    fn drop(&mut self) {
        if !self.is_kept {
            // Its folder is cleaned by the system, should this fail.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> CommandFailure {
    CommandFailure::new(format!("cannot {what} {}: {error}", path.display()))
        .or_hint("set TMPDIR to a folder that you may write to")
}

fn value(name: &str, environment: &EnvironmentLookup) -> Option<OsString> {
    environment(name).filter(|value| !value.is_empty())
}

/// `$VISUAL`, else `$EDITOR`; `None` when nobody has said.
pub(super) fn chosen(environment: &EnvironmentLookup) -> Option<OsString> {
    value("VISUAL", environment).or_else(|| value("EDITOR", environment))
}

/// The text as the person leaves it in their editor, else in `vi`; a file is called like `path`.
pub(super) fn edit(
    text: &str,
    path: &str,
    environment: &EnvironmentLookup,
) -> Result<String, CommandFailure> {
    let editor = chosen(environment).unwrap_or_else(|| "vi".into());
    EditorTempFile::of(text, path, environment)?.change(&editor)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn environment(folder: &Path, editor: &str) -> EnvironmentLookup {
        let (folder, editor) = (folder.as_os_str().to_owned(), OsString::from(editor));
        Box::new(move |name| match name {
            "TMPDIR" => Some(folder.clone()),
            "EDITOR" => Some(editor.clone()),
            _ => None,
        })
    }

    #[test]
    fn an_editor_gets_a_private_file_of_the_same_kind_that_is_gone_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("seen");
        let editor = format!(
            "f() {{ stat -c '%a %n' \"$2\" > '{}'; printf %s \"$1\" >> \"$2\"; }}; f ' more'",
            record.display()
        );
        let edited = edit("text", "/w/my $(file) x.rs", &environment(folder.path(), &editor)).unwrap();
        assert_eq!(edited, "text more");
        let seen = fs::read_to_string(record).unwrap();
        assert!(seen.starts_with("600 ") && seen.trim_end().ends_with("-myfilex.rs"), "{seen}");
        let names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["seen"], "the draft is left");
    }

    #[test]
    fn what_a_failing_editor_leaves_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let failing = |editor: &str| match edit("text", "a.rs", &environment(folder.path(), editor)) {
            Err(CommandFailure::Told { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        assert!(failing("false").contains("what it left is not used"));
        assert!(failing("/nowhere/editor").contains("ended with"));
        assert!(failing("printf '\\377' >").contains("not UTF-8"));
        assert!(failing("rm").contains("cannot read"));
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
