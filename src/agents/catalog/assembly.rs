//! How do the files of many folders become one catalogue? Who goes before whom, who hides whom, and what is found fast.

use std::{
    collections::{BTreeSet, HashMap},
    path::Path,
    sync::Arc,
};

use super::{AgentCatalog, CatalogEntry, NotReady, WorkspaceOwnFile, WorkspaceRoot};
use crate::{
    file::AgentFile,
    folder_contents::{CachedAgentFile, FolderContents},
};
use config::problem;
use protocol::{AgentName, FileProblem, FileProblemCode::DuplicateName, ProblemSeverity};
use trust::{AcknowledgementState, TrustRecords};

/// What lies in one folder.
#[derive(Clone)]
pub struct CatalogPart {
    /// Of a workspace's folder.
    pub root: Option<Arc<WorkspaceRoot>>,
    pub contents: Arc<FolderContents>,
}

impl PartialEq for CatalogPart {
    /// Contents are the same one as long as nothing changes.
    fn eq(&self, other: &CatalogPart) -> bool {
        Arc::ptr_eq(&self.contents, &other.contents) && self.root == other.root
    }
}

impl AgentCatalog {
    /// The parts come in the order of their places.
    pub(crate) fn assemble(
        parts: &[CatalogPart],
        trust: &TrustRecords,
        disabled: &BTreeSet<AgentName>,
    ) -> AgentCatalog {
        let mut problems = Vec::new();
        let mut entries: Vec<CatalogEntry> = Vec::new();
        for CatalogPart { root, contents } in parts {
            problems.extend(contents.problems.iter().cloned());
            for CachedAgentFile { path, file } in &contents.files {
                let others = file.others.iter().cloned().map(Arc::new);
                let agents = std::iter::once(Arc::clone(file)).chain(others);
                entries.extend(agents.map(|file| entry(file, path, root.as_ref(), contents, trust)));
            }
        }
        // Stable: within one place the order of the roots and paths decides among files that are equally good. A broken
        // file stands behind its neighbours of the same name, for it must not keep one from loading.
        entries.sort_by(|left, right| {
            let place = |entry: &CatalogEntry| (entry.place.rank(), entry.file.definition.is_none());
            left.file.name.cmp(&right.file.name).then_with(|| place(left).cmp(&place(right)))
        });
        hide_all_but_the_first(&mut entries);
        for entry in &mut entries {
            entry.is_disabled = disabled.contains(&entry.file.name);
        }
        index(entries, problems)
    }
}

fn entry(
    file: Arc<AgentFile>,
    path: &Path,
    root: Option<&Arc<WorkspaceRoot>>,
    contents: &FolderContents,
    trust: &TrustRecords,
) -> CatalogEntry {
    let own = root.map(|root| {
        let below = path.strip_prefix(&root.given).unwrap_or(path).to_string_lossy().into_owned();
        let consent = trust.consent(&root.canonical, &below, &file.digest);
        let is_last = trust.last_consent(&root.canonical, &below, &file.digest) == AcknowledgementState::Now;
        WorkspaceOwnFile { root: Arc::clone(root), path: below, consent, is_last }
    });
    let is_file = path != Path::new("");
    CatalogEntry {
        file,
        place: contents.place,
        path: is_file.then(|| path.to_owned()),
        own,
        hidden_by: None,
        is_disabled: false,
        warnings: Vec::new(),
    }
}

/// The entries are sorted, so the first of each name is the one that counts. Inert ones hide nobody but each other, nobody
/// hides them, and they say who is meant instead. Two of one name in one place are somebody's slip, and told; a higher
/// place hiding a lower one is how places are meant to work.
fn hide_all_but_the_first(entries: &mut [CatalogEntry]) {
    for of_name in entries.chunk_by_mut(|left, right| left.file.name == right.file.name) {
        for is_inert in [false, true] {
            let Some(first) = of_name.iter().position(|entry| entry.is_inert() == is_inert) else { continue };
            let used = of_name[first].shown_place();
            for at in first + 1..of_name.len() {
                let (before, rest) = of_name.split_at_mut(at);
                let entry = &mut rest[0];
                if entry.is_inert() != is_inert {
                    continue;
                }
                let beside = before.iter().find(|it| it.is_inert() == is_inert && it.place == entry.place);
                if let Some(beside) = beside.map(CatalogEntry::shown_place) {
                    let name = &entry.file.name;
                    let instead = if beside == used { ", which is used instead" } else { " beside it" };
                    entry.warn(format!("the name `{name}` is taken by {beside}{instead}"));
                }
                entry.hidden_by = Some(used.clone());
            }
            if is_inert {
                continue;
            }
            for entry in of_name.iter_mut().filter(|entry| entry.is_inert()) {
                let name = &entry.file.name;
                entry.warn(format!("nobody has acknowledged this file; until then `{name}` means {used}"));
            }
        }
    }
}

impl CatalogEntry {
    fn warn(&mut self, message: String) {
        let Some(path) = &self.path else { return };
        let severity = ProblemSeverity::Warning;
        self.warnings.push(FileProblem { severity, ..problem(path, None, DuplicateName, message) });
    }

    /// Where it is, in words.
    fn shown_place(&self) -> String {
        self.path.as_ref().map_or_else(|| "built in".to_owned(), |path| path.display().to_string())
    }
}

fn index(entries: Vec<CatalogEntry>, problems: Vec<FileProblem>) -> AgentCatalog {
    let mut catalog = AgentCatalog {
        entries,
        problems,
        callable: Vec::new(),
        callable_by_sound: HashMap::new(),
        of_project: Vec::new(),
        untrusted: Vec::new(),
        unsupported: Vec::new(),
        with_triggers: Vec::new(),
    };
    let entries = &catalog.entries;
    catalog.of_project = (0..entries.len()).filter(|at| entries[*at].own.is_some()).collect();
    let mut at = 0;
    for of_name in entries.chunk_by(|left, right| left.file.name == right.file.name) {
        let first = of_name.iter().position(|entry| !entry.is_inert()).unwrap_or_default();
        let (entry, place) = (&of_name[first], at + first);
        at += of_name.len();
        let Some(definition) = &entry.file.definition else { continue };
        if entry.own.as_ref().is_some_and(|own| own.consent != AcknowledgementState::Now) {
            catalog.untrusted.push(place);
            continue;
        }
        let is_ready = match entry.not_ready() {
            None => true,
            Some(NotReady::Unsupported(_)) => false,
            Some(NotReady::Disabled | NotReady::SwitchedOff | NotReady::Remote) => continue,
        };
        if !definition.triggers.is_empty() {
            catalog.with_triggers.push(place);
        }
        let is_offered = !definition.hidden && definition.description.is_some();
        if is_offered && !is_ready {
            catalog.unsupported.push(place);
        } else if is_offered {
            catalog.callable.push(place);
            catalog.callable_by_sound.entry(sound(definition.name.as_str())).or_default().push(place);
        }
    }
    catalog
}

/// What all spellings of a tool's name have in common: `-`, `_` and `.` are one, however many of them there are.
pub(super) fn sound(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("_")
}
