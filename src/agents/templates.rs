//! Which agents can one begin with? (spec 02, "Templates")
//!
//! Templates are agents' files of our own format. Some come with the daemon, compiled in; the user's own lie in a folder and
//! go before those of the same name. Whoever makes an agent of one writes other fields into its text.

use std::path::{Path, PathBuf};

use super::{bytes, discovery, file::AgentFile, file::LARGEST_FILE, findings::FileFindings};
use config::{nearest, problem, read_bounded};
use protocol::{
    AgentFormat, AgentName, AgentScope, FileProblem,
    FileProblemCode::{DuplicateName, TooLarge, Unreadable},
};

/// File names, for messages, and contents; the order is that of lists.
const FILES: &[(&str, &str)] = &[
    ("debugging.md", include_str!("templates/debugging.md")),
    ("code-review.md", include_str!("templates/code-review.md")),
    ("documentation.md", include_str!("templates/documentation.md")),
    ("testing.md", include_str!("templates/testing.md")),
    ("security.md", include_str!("templates/security.md")),
    ("blank.md", include_str!("templates/blank.md")),
];

/// Other names that templates answer to.
const ALIASES: &[(&str, &str)] = &[("test-generator", "testing")];

/// Most files that are read: all of them are read whenever somebody asks, and nobody chooses among more.
const MOST_OWN: usize = 200;

/// What an agent can begin as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentTemplate {
    pub name: AgentName,
    pub title: String,
    /// What an agent made from it does, in the file's words.
    pub description: Option<String>,
    /// `None` = it comes with the daemon.
    pub path: Option<PathBuf>,
    /// The whole file, front matter and prompt, as UTF-8 without a byte order mark.
    pub text: String,
}

/// Every template there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentTemplates {
    /// Those of the daemon first, or whichever of the user's stands in the place of one; then the user's others by path.
    pub list: Vec<AgentTemplate>,
    /// What is wrong with the user's files. A file with an error among them is no template.
    pub problems: Vec<FileProblem>,
}

/// There is no template of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no template `{name}`{}; there are {}", meant(.nearest.as_ref()), listed(.known))]
pub struct UnknownTemplate {
    pub name: String,
    /// The one that was probably meant.
    pub nearest: Option<AgentName>,
    pub known: Vec<AgentName>,
}

/// The daemon's templates and those in these folders, whose first one of a name counts. In a folder of another product only files
/// that say that they are ours are templates. Reads files, so it blocks.
pub fn templates(folders: &[(PathBuf, AgentFormat)]) -> AgentTemplates {
    let built_in = FILES.iter().filter_map(|(name, text)| {
        let file = AgentFile::read(Path::new(name), text.as_bytes(), AgentScope::Builtin, AgentFormat::Own);
        // A test reads every one of them.
        template(&file, None, (*text).to_owned())
    });
    let mut templates = AgentTemplates { list: built_in.collect(), problems: Vec::new() };
    for (folder, format) in folders {
        templates.take_own(folder, *format);
    }
    templates
}

impl AgentTemplates {
    /// The template of this name or alias.
    ///
    /// # Errors
    ///
    /// The name is unknown; the error says which ones are known.
    pub fn find(&self, name: &str) -> Result<&AgentTemplate, UnknownTemplate> {
        let of_name = |name: &str| self.list.iter().find(|template| template.name.as_str() == name);
        let behind = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, name)| *name);
        // Whoever has one of the very name means it.
        of_name(name).or_else(|| of_name(behind?)).ok_or_else(|| {
            let known: Vec<AgentName> = self.list.iter().map(|template| template.name.clone()).collect();
            let aliases = ALIASES.iter().map(|(alias, _)| *alias);
            let near = nearest(name, known.iter().map(AgentName::as_str).chain(aliases)).map(AgentName::from);
            UnknownTemplate { name: name.to_owned(), nearest: near, known }
        })
    }

    fn take_own(&mut self, folder: &Path, format: AgentFormat) {
        let found = discovery::agent_files(folder, &mut |_| {});
        self.problems.extend(found.problems);
        if MOST_OWN < found.files.len() {
            let message = format!(
                "holds more than {MOST_OWN} templates; those behind the first {MOST_OWN} are not read"
            );
            self.problems.push(problem(folder, None, TooLarge, message));
        }
        for found in found.files.into_iter().take(MOST_OWN) {
            match read_bounded(&found.path, LARGEST_FILE) {
                Ok(Some(bytes)) => self.take(found.path, bytes, format),
                Ok(None) => self.problems.push(problem(&found.path, None, Unreadable, "is gone")),
                Err(found) => self.problems.push(found),
            }
        }
    }

    fn take(&mut self, path: PathBuf, bytes: Vec<u8>, format: AgentFormat) {
        let file = AgentFile::read(&path, &bytes, AgentScope::User, format);
        if !file.format.is_own() {
            return;
        }
        self.problems.extend(file.problems.iter().cloned());
        let Some(template) = template(&file, Some(path.clone()), text(&path, bytes)) else { return };
        match self.list.iter_mut().find(|known| known.name == template.name) {
            None => self.list.push(template),
            Some(known) => match &known.path {
                None => *known = template,
                Some(first) => {
                    let message = format!(
                        "`{}` is the name of the template in {} already",
                        known.name,
                        first.display()
                    );
                    self.problems.push(problem(&path, None, DuplicateName, message));
                }
            },
        }
    }
}

/// `None` for a file with errors.
fn template(file: &AgentFile, path: Option<PathBuf>, text: String) -> Option<AgentTemplate> {
    let definition = file.definition.as_deref()?;
    let (name, title) = (definition.name.clone(), definition.title.clone());
    Some(AgentTemplate { name, title, description: definition.description.clone(), path, text })
}

/// Its line ends stay, so that an agent made from it has the same; other encodings become UTF-8.
fn text(path: &Path, bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text.trim_start_matches('\u{feff}').to_owned(),
        // What is odd about them was told when the file was read.
        Err(error) => bytes::decode(error.as_bytes(), &mut FileFindings::of(path)).into_owned(),
    }
}

fn meant(nearest: Option<&AgentName>) -> String {
    nearest.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

fn listed(names: &[AgentName]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
