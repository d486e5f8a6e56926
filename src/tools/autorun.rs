//! Which files of a workspace do other programs run by themselves although their names do not say so?
//!
//! The table of such files goes by names. Where one of these names is a link, or a link lies in a folder of such a name, what it leads to
//! is run; and git's settings name further files and folders. Beside each root folders of the table are walked, within bounds; in the
//! home only the names themselves are looked at.

use std::{
    fs,
    path::{Path, PathBuf},
};

mod direnv;
mod dotted;
mod further;
mod git_programs;
mod git_runs;
mod hard_links;
mod home;
mod home_links;
mod kept;
mod mise;
mod modules;
mod path_folders;
mod program_texts;
mod rows;
mod settings_files;
mod settings_folder;
mod shadowing;
mod start_files;
mod states;

pub use further::further_places;
pub use git_runs::{GitCommits, git_runs_programs};
pub use kept::{AgentProgram, AutorunGuard, AutorunGuards, GitBrings, RunningProgram, WritesTold};
pub use settings_folder::is_settings_folder;

use super::{
    links::LinksBelow,
    repositories::{self, GitNamed, RepositoryAround, RepositoryBelow},
    workspace::{PROJECT_CONFIG, Workspace},
};
use shell::{AUTOMATIC, AutorunPath, AutorunPlace, GIT_CONFIG, GIT_HOOKS, automatic};
use sys::{
    guarded::{ResolvedPath, listed},
    source_places::SourcePlaces,
};

/// Entries of a folder that are held against rows that leave a part of the name open.
const MOST_ENTRIES: usize = 10_000;
/// The same of a folder that a command may have filled to hide something among them.
const MOST_NAMES: usize = 500_000;

/// The folder for what was put aside, at the top of a workspace's folder.
const ASIDE_FOLDER: &str = ".not-run";

/// Repositories below the roots of which it is looked at what they name; each is some fifty looks at the file system.
const MOST_NESTED: usize = 48;

/// What git keeps in the folder of a repository and obeys, wherever that lies.
const OF_REPOSITORY: &[(&str, &str)] = &[
    ("config", GIT_CONFIG),
    ("config.worktree", GIT_CONFIG),
    ("hooks", GIT_HOOKS),
    ("info/attributes", GIT_CONFIG),
    ("modules", GIT_CONFIG),
    ("worktrees", GIT_CONFIG),
    ("commondir", GIT_CONFIG),
];

/// Folders of the table that hold what a product keeps, with a few places in them of which links are run: these are rows of their own.
const NOT_WALKED: &[&str] = &[".git", ".git/modules", ".git/worktrees"];

/// The reason where nobody can tell where all links lead.
const UNTOLD: &str = "a folder whose files other programs run by themselves has more links or files than are looked at, and one may \
    lead there";

/// Without links. Blocks for some hundred looks at the file system.
pub fn autorun_places(workspace: &Workspace) -> Vec<AutorunPlace> {
    let mut found = Vec::new();
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let mut untold = Vec::new();
    for root in workspace.roots() {
        // In a home everything with a dot in front is somebody's settings.
        let is_home = home.as_ref().is_some_and(|home| home.starts_with(root));
        if led_to_from_folders(root, &mut found) && !is_home {
            untold.push(AutorunPlace { path: root.to_owned(), why: UNTOLD });
        }
        settings_of(root, &mut found);
        found.extend(direnv::named(root));
        found.extend(mise::named(root));
        for repository in repositories::repositories_of_root(root) {
            run_by_git(workspace, root, &repository, &mut found);
        }
    }
    // What a login or git runs may be kept in a repository.
    if let Some(home) = &home {
        led_to(home, &mut found);
        home::led_to(home, &mut found);
        found.extend(hard_links::second_names(home, workspace.roots()));
    }
    // The whole workspace as such a folder would make each of its files one.
    found.retain(|place| is_below_root(workspace, &place.path));
    found.extend(untold);
    let is_settings = |root: &&Path| home.as_ref().is_some_and(|home| is_settings_folder(root, home));
    let settings = workspace.roots().filter(is_settings);
    found.extend(
        settings.map(|root| AutorunPlace { path: root.to_owned(), why: settings_folder::SETTINGS_ROOT }),
    );
    let mut programs = home::program_folders(std::env::var_os("PATH").as_deref());
    programs.extend(home.iter().flat_map(|home| start_files::named(home)));
    let is_in_root = |place: &AutorunPlace| workspace.roots().any(|root| place.path.starts_with(root));
    programs.retain(|place| is_in_root(place));
    let linked = programs.iter().flat_map(|place| program_texts::linked_in(&place.path, place.why));
    let linked: Vec<AutorunPlace> = linked.filter(|place| is_in_root(place)).collect();
    found.extend(programs.into_iter().chain(linked));
    found
}

/// The same with the repositories that no name tells, for whoever writes by a pattern or a folder. Blocks for a bounded search.
pub fn autorun_places_below(workspace: &Workspace) -> Vec<AutorunPlace> {
    let mut found = autorun_places(workspace);
    let below = repositories::repositories_below(workspace);
    found.extend(repositories::unnamed_repositories(&below));
    let nested = below.iter().filter(|it| workspace.roots().all(|root| root != it.base)).take(MOST_NESTED);
    for RepositoryBelow { folder, base, .. } in nested {
        let repository = RepositoryAround::at(folder.clone(), base, true);
        run_by_git(workspace, base, &repository, &mut found);
    }
    found.retain(|place| {
        matches!(place.why, UNTOLD | settings_folder::SETTINGS_ROOT) || is_below_root(workspace, &place.path)
    });
    found
}

/// The places in the workspace that the repositories name which a path of it is a part of and whose working trees begin below its
/// roots. Blocks for a bounded look.
pub fn autorun_places_around(workspace: &Workspace, path: &Path) -> Vec<AutorunPlace> {
    let mut found = Vec::new();
    for repository in path.parent().into_iter().flat_map(RepositoryAround::all) {
        if let Some(top) = repository.tops.first().filter(|top| is_below_root(workspace, top)) {
            run_by_git(workspace, top, &repository, &mut found);
        }
    }
    found.retain(|place| is_below_root(workspace, &place.path));
    found
}

fn is_below_root(workspace: &Workspace, path: &Path) -> bool {
    workspace.roots().any(|root| path.starts_with(root) && path != root)
}

/// Finds what git runs by itself, or goes by, of a repository that a folder is a part of.
fn run_by_git(
    workspace: &Workspace,
    folder: &Path,
    repository: &RepositoryAround,
    found: &mut Vec<AutorunPlace>,
) {
    for &(name, why) in OF_REPOSITORY {
        for kept in [&repository.folder, &repository.common] {
            let ResolvedPath { end, links, .. } = ResolvedPath::to(&kept.join(name));
            let is_unnamed = |path: &PathBuf| automatic(path, folder).is_none();
            let places = links.into_iter().chain([end]).filter(is_unnamed);
            found.extend(places.map(|path| AutorunPlace { path, why }));
        }
    }
    let mut named = GitNamed::by(workspace, repository);
    found.append(&mut named.places);
    named.hook_folders.push(repository.common.join("hooks"));
    for hooks in &named.hook_folders {
        led_to_from_within(hooks, GIT_HOOKS, found);
    }
    git_programs::named(folder, repository, &named, found);
}

/// Where links in a workspace's own settings lead, which count once somebody trusts them.
fn settings_of(root: &Path, found: &mut Vec<AutorunPlace>) {
    let folder = root.join(PROJECT_CONFIG);
    let look = SourcePlaces::new([folder.clone()]).look().places;
    let places = look.present.into_iter().chain(look.missing).chain(look.links);
    let why = "what agents may do in this workspace is read there";
    let elsewhere = places.filter(|path| !path.starts_with(&folder));
    found.extend(elsewhere.map(|path| AutorunPlace { path, why }));
}

/// Where names of the table lead that are links beside `base`, which has no links, or go through some.
fn led_to(base: &Path, found: &mut Vec<AutorunPlace>) {
    led_to_by_names(base, found, |_, _, _| ());
}

/// The same, and where links lead that lie within folders of the table. True if that cannot be told of all.
fn led_to_from_folders(base: &Path, found: &mut Vec<AutorunPlace>) -> bool {
    let mut walked: Vec<PathBuf> = Vec::new();
    let mut is_cut = false;
    led_to_by_names(base, found, |row, end, found| {
        if !NOT_WALKED.contains(&row.path) && end != base && !walked.contains(&end) && end.is_dir() {
            is_cut |= led_to_from_within(&end, row.why, found);
            walked.push(end);
        }
    });
    is_cut
}

/// `end`: of each name, what lies at the end of its way, if anything does.
fn led_to_by_names(
    base: &Path,
    found: &mut Vec<AutorunPlace>,
    mut at_end: impl FnMut(&AutorunPath, PathBuf, &mut Vec<AutorunPlace>),
) {
    for row in AUTOMATIC {
        for path in candidates(base, row) {
            let ResolvedPath { end, links, id } = ResolvedPath::to(&path);
            if !links.is_empty() {
                let places = links.into_iter().filter(|link| *link != path).chain([end.clone()]);
                found.extend(places.map(|path| AutorunPlace { path, why: row.why }));
            }
            if id.is_some() {
                at_end(row, end, found);
            }
        }
    }
}

/// The same of one folder.
fn led_to_from_within(folder: &Path, why: &'static str, found: &mut Vec<AutorunPlace>) -> bool {
    let LinksBelow { ends, is_cut } = LinksBelow::of(folder);
    found.extend(ends.into_iter().map(|path| AutorunPlace { path, why }));
    is_cut
}

/// The paths that a row may mean beside `base`.
fn candidates(base: &Path, row: &AutorunPath) -> Vec<PathBuf> {
    let first = row.path.split('/').next().unwrap_or(row.path);
    let is_open = row.path.contains('*');
    if !first.contains('*') && fs::symlink_metadata(base.join(first)).is_err() {
        return Vec::new();
    }
    if !is_open {
        return vec![base.join(row.path)];
    }
    let folder = row.path.rsplit_once('/').map_or(base.to_owned(), |(above, _)| base.join(above));
    let entries = listed(&folder).into_iter().flatten().flatten().take(MOST_NAMES);
    let is_met = |entry: &fs::DirEntry| row.ends_in(&entry.file_name().to_string_lossy());
    entries.filter(is_met).map(|entry| entry.path()).collect()
}
