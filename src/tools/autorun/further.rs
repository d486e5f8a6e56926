//! Which places are kept from commands although no row of the table names them: files and folders that git's settings name, places of a
//! home that its programs obey, and folders of programs that are not there yet? And which hold keys, so that they keep their names?

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    direnv, dotted::DottedEntries, git_programs, hard_links, home, mise, modules::SubmoduleRepositories,
    path_folders::PathFolders, rows::kept_in, shadowing, start_files,
};
use crate::{
    links::LinksBelow,
    repositories::{GitNamed, RepositoryAround, RepositoryBelow, repositories_of_root},
    workspace::Workspace,
};
use shell::{AutorunPlace, GIT_CONFIG, GIT_HOOKS};
use sys::{guarded::ResolvedPath, programs};

const OBEYED: &str = "programs run what it says, or take what they run from there";
const KEYS: &str = "programs take keys from there, and some of them what they run";
/// The list of what is left of a rebase, in the folder of a repository (git-rebase(1), INTERACTIVE MODE).
pub(super) const REBASE_TODO: &str = "rebase-merge/git-rebase-todo";
/// The names of strategies by which git goes on, which are programs unless git has them of its own.
const STRATEGIES: &[&str] = &["rebase-merge/strategy", "sequencer/opts"];
/// Settings of one linked worktree (git-worktree(1), CONFIGURATION FILE).
const WORKTREE_SETTINGS: &str = "config.worktree";
const REBASE: &str = "git runs its `exec` lines, or the strategy that it names, when the rebase goes on";
/// Linked worktrees, and repositories of submodules, of one repository.
const MOST_PARTS: usize = 1_000;
const PROGRAMS: &str = "a shell finds its programs there";

/// Places of a home that programs obey and that no build, package manager or cache makes, from the manuals of those programs. Of folders
/// in which a program also keeps what it makes anew by itself, such as `.kube/cache`, only the files that people write.
const OBEYED_AT_HOME: &[&str] = &[
    ".Renviron",
    ".Rprofile",
    ".Xclients",
    ".Xdefaults",
    ".Xresources",
    ".ansible.cfg",
    ".ansible/plugins",
    ".antrc",
    ".asoundrc",
    ".aws/config",
    ".aws/credentials",
    ".bazelrc",
    ".bunfig.toml",
    ".cache/antidote",
    ".cache/gitstatus",
    ".cache/nvim/luac",
    ".cache/starship/init.bash",
    ".cache/starship/init.fish",
    ".cache/starship/init.zsh",
    ".cache/zinit",
    ".cache/zsh/.zcompdump",
    ".cache/zsh/zcompdump",
    ".cargo/config",
    ".cargo/config.toml",
    ".ccache/ccache.conf",
    ".condarc",
    ".config/bspwm",
    ".config/curlrc",
    ".config/dbus-1",
    ".config/dunst",
    ".config/herbstluftwm",
    ".config/labwc",
    ".config/lesskey",
    ".config/lf",
    ".config/lxsession",
    ".config/mc",
    ".config/mimeapps.list",
    ".config/mpv",
    ".config/niri",
    ".config/pip",
    ".config/polybar",
    ".config/ranger",
    ".config/river",
    ".config/sxhkd",
    ".config/topgrade.toml",
    ".config/user-tmpfiles.d",
    ".config/waybar",
    ".config/yazi",
    ".config/yt-dlp",
    ".config/zellij",
    ".curlrc",
    ".devscripts",
    ".docker/cli-plugins",
    ".docker/config.json",
    ".erlang",
    ".fluxbox",
    ".fzf.bash",
    ".fzf.zsh",
    ".gemrc",
    ".ghc/ghci.conf",
    ".gnupg/dirmngr.conf",
    ".gnupg/gpg-agent.conf",
    ".gnupg/gpg.conf",
    ".gnupg/gpgsm.conf",
    ".gnupg/scdaemon.conf",
    ".gradle/init.d",
    ".gradle/init.gradle",
    ".gradle/init.gradle.kts",
    ".hammerspoon",
    ".i3",
    ".ipython/profile_default/startup",
    ".kube/config",
    ".kube/kuberc",
    ".lein/profiles.clj",
    ".lesskey",
    ".local/share/applications",
    ".local/share/bash-completion",
    ".local/share/caja/scripts",
    ".local/share/dbus-1",
    ".local/share/fish/vendor_conf.d",
    ".local/share/gnome-shell/extensions",
    ".local/share/kio/servicemenus",
    ".local/share/kservices5",
    ".local/share/kservices6",
    ".local/share/nautilus/scripts",
    ".local/share/nemo/scripts",
    ".local/share/nvim/site",
    ".local/share/user-tmpfiles.d",
    ".local/state/home-manager",
    ".local/state/mise/trusted-configs",
    ".local/state/nix",
    ".m2/extensions.xml",
    ".makepkg.conf",
    ".mavenrc",
    ".muttrc",
    ".pythonrc",
    ".pythonrc.py",
    ".quiltrc",
    ".rpmmacros",
    ".task/hooks",
    ".terraform.d/plugins",
    ".tigrc",
    ".vagrant.d/Vagrantfile",
    ".wgetrc",
];

/// Hidden places that programs make by themselves while they build or are looked at, so that nothing is said of it: histories, and
/// folders of which [`OBEYED_AT_HOME`] has the parts that count.
const MADE_BY_PROGRAMS: &[&str] = &[
    ".Xauthority",
    ".aws",
    ".bash_history",
    ".docker",
    ".gnupg",
    ".kube",
    ".lesshst",
    ".local/share/atuin",
    ".local/share/fish/fish_history",
    ".mysql_history",
    ".node_repl_history",
    ".nuget/NuGet/NuGet.Config",
    ".psql_history",
    ".python_history",
    ".rediscli_history",
    ".sqlite_history",
    ".zsh_history",
];

/// True of a file by which git goes on with what waits.
pub(super) fn is_of_what_waits(path: &Path) -> bool {
    path.ends_with(REBASE_TODO) || STRATEGIES.iter().any(|name| path.ends_with(name))
}

/// True of a folder of a home that is such a place, lies in one or holds one.
pub fn is_obeyed_at_home(folder: &Path, home: &Path) -> bool {
    let is_met = |place: PathBuf| folder.starts_with(&place) || place.starts_with(folder);
    let is_below = folder.starts_with(home) && folder != home;
    is_below && OBEYED_AT_HOME.iter().any(|name| is_met(home.join(name)))
}

/// Places beside those of the table.
#[derive(Debug, Clone, Default)]
pub struct FurtherPlaces {
    /// They need not be there.
    pub places: Vec<AutorunPlace>,
    /// Links by which such places, and those of the table, are found: they lead where they led.
    pub links: Vec<PathBuf>,
    /// Places that are hidden from commands by their names, also where they lead to.
    pub secrets: Vec<PathBuf>,
    /// Places that mounts keep for another reason, of which files with further names are looked at.
    pub mounted: Vec<PathBuf>,
    /// Repositories of submodules.
    pub submodules: SubmoduleRepositories,
    /// Entries below names with a dot in front, if a home lies in the workspace.
    pub dotted: DottedEntries,
    /// Files of the home outside of the workspace that have names in it, which are among the places.
    pub files_of_home: Vec<hard_links::FileOfHome>,
}

impl FurtherPlaces {
    /// Leaves out settings of git's, which whoever runs the command may change.
    pub fn leave_settings(&mut self) {
        self.places.retain(|place| !place.path.ends_with(WORKTREE_SETTINGS));
    }

    /// True of such a place, what lies in it, and what one lies in that is there.
    pub fn is_secret(&self, path: &Path) -> bool {
        self.secrets.iter().any(|secret| {
            path.starts_with(secret) || (secret.starts_with(path) && fs::symlink_metadata(secret).is_ok())
        })
    }
}

/// Finds them in these roots, absolute and without links, and in the `repositories` that lie below. `secrets`: by their names; `hidden`:
/// by its names, all that commands do not see; `has_mounts`: they can keep something. Blocks for a bounded look.
pub fn further_places<'a>(
    roots: &[PathBuf],
    repositories: &[RepositoryBelow],
    secrets: impl Iterator<Item = &'a Path>,
    (hidden, has_mounts): (&[PathBuf], bool),
) -> io::Result<FurtherPlaces> {
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let (mut modules, mut links) = (Vec::new(), Vec::new());
    let mut places = named_by_git(roots, repositories, (&mut modules, &mut links))?;
    modules.retain(|folder| roots.iter().any(|root| folder.starts_with(root)));
    let submodules = SubmoduleRepositories::of(modules);
    let mut dotted = DottedEntries::default();
    let (mut added, mut files_of_home) = (Vec::new(), Vec::new());
    if let Some(home) = home.clone() {
        let hidden = || hidden.iter().map(PathBuf::as_path);
        let (texts, folders) = start_files::named_texts(&home, &with_ends(hidden()));
        places.extend(texts);
        added = folders;
        let (ends, on_way) = if roots.iter().any(|root| home.starts_with(root)) {
            places.extend(of_home(&home, std::env::var_os("PATH").as_deref()));
            dotted = DottedEntries::of(&home, hidden(), roots, has_mounts);
            home::kept_ends(&home, |path| dotted.is_left(path), true)
        } else {
            // Folders that builds make are linked from there.
            let of_builds = home.join(".local");
            home::kept_ends(&home, |path| path.starts_with(&of_builds) && path.is_dir(), false)
        };
        places.extend(ends);
        links.extend(on_way);
        files_of_home = hard_links::files_of_home(&home, roots.iter().map(PathBuf::as_path));
        places.extend(hard_links::places(&files_of_home));
        files_of_home.retain(|file| !roots.iter().any(|root| file.path.starts_with(root)));
    }
    places.extend(roots.iter().flat_map(|root| direnv::named_texts(root)));
    places.extend(roots.iter().flat_map(|root| mise::named_texts(root)));
    places.extend(roots.iter().flat_map(|root| shadowing::missing_by_envrc(root)));
    let path = std::env::var_os("PATH");
    let of_path = PathFolders::in_roots(roots, path.as_deref(), &added, home.as_deref());
    places.extend(of_path.kept());
    links.extend(of_path.links);
    // nix writes these itself.
    places.retain(|place| place.path.extension().is_none_or(|end| end != "lock"));
    for (path, why) in roots.iter().flat_map(|root| kept_in(root)) {
        let ends = led_to(&path, &mut links).into_iter().filter(|end| !end.starts_with(&path));
        places.extend(ends.map(|path| AutorunPlace { path, why }));
    }
    places.retain(|place| {
        roots.iter().any(|root| place.path.starts_with(root))
            && !roots.iter().any(|root| root.starts_with(&place.path))
    });
    let mut secrets = with_ends(secrets);
    secrets.retain(|secret| roots.iter().any(|root| secret.starts_with(root)));
    links.retain(|link| roots.iter().any(|root| link.starts_with(root)));
    Ok(FurtherPlaces { places, links, secrets, mounted: Vec::new(), submodules, dotted, files_of_home })
}

/// The places where a path leads that is a link, and the links within it; `on_way`: takes the links on the way.
fn led_to(path: &Path, on_way: &mut Vec<PathBuf>) -> Vec<PathBuf> {
    let ResolvedPath { end, links, .. } = ResolvedPath::to(path);
    on_way.extend(links.into_iter().filter(|link| link != path));
    LinksBelow::of(&end).ends.into_iter().chain([end]).filter(|end| end != path).collect()
}

/// The paths, and where they lead to.
fn with_ends<'a>(names: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    names.flat_map(|name| [name.to_owned(), ResolvedPath::to(name).end]).collect()
}

fn named_by_git(
    roots: &[PathBuf],
    repositories: &[RepositoryBelow],
    (modules, links): (&mut Vec<PathBuf>, &mut Vec<PathBuf>),
) -> io::Result<Vec<AutorunPlace>> {
    let workspace = Workspace::open(roots).map_err(|error| io::Error::other(error.to_string()))?;
    let is_inside = |it: &RepositoryAround| roots.iter().any(|root| it.folder.starts_with(root));
    let mut found = Vec::new();
    let mut add = |folder: &Path, repository: &RepositoryAround| {
        let named = GitNamed::by(&workspace, repository);
        git_programs::named_by_settings(folder, repository, &named, &mut found);
        git_programs::named_modules(folder, repository, (&named, true), &mut found);
        let ends = named.hook_folders.iter().flat_map(|hooks| LinksBelow::of(hooks).ends);
        found.extend(ends.map(|path| AutorunPlace { path, why: GIT_HOOKS }));
        links.extend(git_programs::links_on_way(folder, repository, &named));
        found.extend(named.places);
        let own = led_to(&repository.common.join("hooks"), links);
        found.extend(own.into_iter().map(|path| AutorunPlace { path, why: GIT_HOOKS }));
        modules.push(repository.common.join("modules"));
        let parts = ["worktrees", "modules"].map(|name| repository.common.join(name));
        let parts = parts.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
        let parts = parts.take(MOST_PARTS).map(|entry| entry.path());
        for folder in std::iter::once(repository.folder.clone()).chain(parts) {
            let lists = STRATEGIES.iter().chain(&[REBASE_TODO]).map(|name| folder.join(name));
            found.extend(lists.map(|path| AutorunPlace { path, why: REBASE }));
            // Of the workspace's own working tree it is kept beside its other settings.
            if folder != repository.folder {
                found.push(AutorunPlace { path: folder.join(WORKTREE_SETTINGS), why: GIT_CONFIG });
            }
        }
    };
    for root in roots {
        for repository in repositories_of_root(root).iter().filter(|it| it.is_own || is_inside(it)) {
            add(root, repository);
        }
    }
    for RepositoryBelow { folder, base, .. } in repositories.iter().filter(|it| !roots.contains(&it.base)) {
        add(base, &RepositoryAround::at(folder.clone(), base, true));
    }
    Ok(found)
}

/// `path`: the daemon's own.
fn of_home(home: &Path, path: Option<&OsStr>) -> Vec<AutorunPlace> {
    let is_there = |path: &PathBuf| fs::symlink_metadata(path).is_ok();
    // No command sees these.
    let (hidden, missing): (Vec<PathBuf>, Vec<PathBuf>) = sandbox::secrets(home).partition(is_there);
    let is_made = |path: &PathBuf| MADE_BY_PROGRAMS.iter().any(|name| *path == home.join(name));
    let keys = missing.into_iter().filter(|path| !is_made(path));
    // The prompt of powerlevel10k, which has the user's name in those of its files.
    let user = home.file_name().unwrap_or_default().to_string_lossy();
    let prompts = ["instant-prompt", "dump"].map(|part| home.join(format!(".cache/p10k-{part}-{user}.zsh")));
    let obeyed = OBEYED_AT_HOME.iter().map(|name| home.join(name)).chain(prompts);
    let obeyed = obeyed.filter(|path| !hidden.iter().any(|hidden| path.starts_with(hidden)));
    let keys = keys.map(|path| AutorunPlace { path, why: KEYS });
    let programs = programs::missing_folders(path, home).into_iter();
    let programs = programs.map(|path| AutorunPlace { path, why: PROGRAMS });
    keys.chain(obeyed.map(|path| AutorunPlace { path, why: OBEYED })).chain(programs).collect()
}

#[cfg(test)]
mod tests;
