//! Which places are kept from commands although no row of the table names them: files and folders that git's settings name, places of a
//! home that its programs obey, and folders of programs that are not there yet? And which hold keys, so that they keep their names?

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use super::{dotted::DottedEntries, git_programs, rows::kept_in};
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
/// Settings of one linked worktree (git-worktree(1), CONFIGURATION FILE).
const WORKTREE_SETTINGS: &str = "config.worktree";
const REBASE: &str = "git runs its `exec` lines when the rebase goes on";
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
    ".cargo/config",
    ".cargo/config.toml",
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

/// Places beside those of the table.
#[derive(Debug, Clone, Default)]
pub struct FurtherPlaces {
    /// They need not be there.
    pub places: Vec<AutorunPlace>,
    /// Places that are hidden from commands by their names, also where they lead to.
    pub secrets: Vec<PathBuf>,
    /// Places that mounts keep for another reason, of which files with further names are looked at.
    pub mounted: Vec<PathBuf>,
    /// What lies below names with a dot in front, if a home lies in the workspace.
    pub dotted: DottedEntries,
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
    let mut places = named_by_git(roots, repositories)?;
    let mut dotted = DottedEntries::default();
    if let Some(home) = home.filter(|home| roots.iter().any(|root| home.starts_with(root))) {
        places.extend(of_home(&home, std::env::var_os("PATH").as_deref()));
        dotted = DottedEntries::of(&home, hidden.iter().map(PathBuf::as_path), roots, has_mounts);
    }
    for (path, why) in roots.iter().flat_map(|root| kept_in(root)) {
        let links = LinksBelow::of(&path).ends.into_iter().filter(|end| !end.starts_with(&path));
        places.extend(links.map(|path| AutorunPlace { path, why }));
    }
    places.retain(|place| {
        roots.iter().any(|root| place.path.starts_with(root))
            && !roots.iter().any(|root| root.starts_with(&place.path))
    });
    let mut secrets = with_ends(secrets);
    secrets.retain(|secret| roots.iter().any(|root| secret.starts_with(root)));
    Ok(FurtherPlaces { places, secrets, mounted: Vec::new(), dotted })
}

/// The paths, and where they lead to.
fn with_ends<'a>(names: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    names.flat_map(|name| [name.to_owned(), ResolvedPath::to(name).end]).collect()
}

fn named_by_git(roots: &[PathBuf], repositories: &[RepositoryBelow]) -> io::Result<Vec<AutorunPlace>> {
    let workspace = Workspace::open(roots).map_err(|error| io::Error::other(error.to_string()))?;
    let is_inside = |it: &RepositoryAround| roots.iter().any(|root| it.folder.starts_with(root));
    let mut found = Vec::new();
    let mut add = |folder: &Path, repository: &RepositoryAround| {
        let named = GitNamed::by(&workspace, repository);
        git_programs::named_by_settings(folder, repository, &named, &mut found);
        let links = named.hook_folders.iter().flat_map(|hooks| LinksBelow::of(hooks).ends);
        found.extend(links.map(|path| AutorunPlace { path, why: GIT_HOOKS }));
        found.extend(named.places);
        let parts = ["worktrees", "modules"].map(|name| repository.common.join(name));
        let parts = parts.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
        let parts = parts.take(MOST_PARTS).map(|entry| entry.path());
        for folder in std::iter::once(repository.folder.clone()).chain(parts) {
            found.push(AutorunPlace { path: folder.join(REBASE_TODO), why: REBASE });
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
    let obeyed = OBEYED_AT_HOME.iter().map(|name| home.join(name));
    let obeyed = obeyed.filter(|path| !hidden.iter().any(|hidden| path.starts_with(hidden)));
    let keys = keys.map(|path| AutorunPlace { path, why: KEYS });
    let programs = programs::missing_folders(path, home).into_iter();
    let programs = programs.map(|path| AutorunPlace { path, why: PROGRAMS });
    keys.chain(obeyed.map(|path| AutorunPlace { path, why: OBEYED })).chain(programs).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::{
        autorun::{AutorunGuard, AutorunGuards, WritesTold},
        workspace_reports::WorkspaceReports,
    };

    const NO_HOME: (&[PathBuf], bool) = (&[], false);

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn at_home(home: &Path, path: Option<&OsStr>) -> FurtherPlaces {
        let secrets: Vec<PathBuf> = sandbox::secrets(home).collect();
        let secrets = with_ends(secrets.iter().map(PathBuf::as_path));
        FurtherPlaces { places: of_home(home, path), secrets, ..FurtherPlaces::default() }
    }

    fn guarded(root: &Path, further: FurtherPlaces, has_covers: bool) -> (AutorunGuard, Vec<PathBuf>) {
        let told = (WorkspaceReports::default(), &AutorunGuards::default());
        AutorunGuard::over(&[root.to_owned()], further, WritesTold::default(), has_covers, told)
    }

    #[test]
    fn what_a_home_is_missing_is_put_aside_when_it_comes_and_folders_without_files_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let path = ["bin", "opt/x/bin"].map(|name| home.join(name).display().to_string()).join(":");
        put(&home.join(".aws/credentials"), "a person's");
        let (mut guard, _) = guarded(&home, at_home(&home, Some(OsStr::new(&path))), false);
        let come = [
            ".cargo/config.toml",
            ".local/share/dbus-1/services/x.service",
            ".config/mpv/scripts/x.lua",
            "bin/python3",
            "opt/x/bin/ls",
        ];
        come.iter().for_each(|name| put(&home.join(name), "evil"));
        // Under another name they would be hidden from nobody, whoever made them.
        let keys = [".ssh/config", ".netrc", ".config/gh/hosts.yml", ".kube/config", ".mozilla/firefox/x"];
        keys.iter().for_each(|name| put(&home.join(name), "a key"));
        let stay = [".kube/cache/x", ".cargo/registry/x", ".docker/buildx/x", ".bash_history", ".aws/sso/x"];
        stay.iter().for_each(|name| put(&home.join(name), "made"));
        // As the daemon makes it, to hide it.
        fs::create_dir_all(home.join(".agents/skills")).unwrap();
        let done = guard.finish();
        come.iter().for_each(|name| assert!(!home.join(name).exists(), "{name}: {done:?}"));
        stay.iter().chain(&keys).for_each(|name| assert!(home.join(name).exists(), "{name}: {done:?}"));
        assert!(home.join(".agents/skills").exists() && home.join(".not-run/bin.not-run-0/python3").exists());
        assert!(done.last().unwrap().starts_with("5 more files"), "{done:?}");
        assert!(
            done.iter()
                .any(|done| done.contains("`.config/gh` came to be") && done.contains("was left there"))
        );
        // Hidden where they are there, so no mount is to show them again.
        let covered = guarded(&home, at_home(&home, Some(OsStr::new(&path))), true).1;
        assert!(!covered.iter().any(|path| path.starts_with(home.join(".aws"))), "{covered:?}");
    }

    #[test]
    fn a_link_by_which_such_a_place_comes_is_put_aside_and_one_of_a_persons_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        put(&home.join("dotfiles/config/x"), "a person's");
        symlink("dotfiles/config", home.join(".config")).unwrap();
        let (mut guard, _) = guarded(&home, at_home(&home, None), false);
        put(&home.join("plain/config.toml"), "evil");
        symlink("plain", home.join(".cargo")).unwrap();
        put(&home.join(".config/mpv/scripts/x.lua"), "evil");
        let done = guard.finish();
        assert!(home.join(".config/x").exists() && !home.join(".cargo").exists(), "{done:?}");
        assert_eq!(fs::read_link(home.join(".not-run/.cargo.not-run-0")).unwrap(), Path::new("plain"));
        assert_eq!(done.len(), 2, "{done:?}");
        assert!(
            done.iter().any(|done| done.contains("`.config/mpv`") && done.contains("a link leads there"))
        );
    }

    #[test]
    fn what_links_in_kept_folders_lead_to_is_kept_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        put(&root.join("conf/tasks.json"), "a person's");
        put(&root.join("shared/s/SKILL.md"), "a person's");
        put(&root.join(".vscode/settings.json"), "{}");
        put(&root.join(".claude/settings.json"), "{}");
        symlink("../conf/tasks.json", root.join(".vscode/tasks.json")).unwrap();
        symlink("../shared", root.join(".claude/skills")).unwrap();
        let further = further_places(std::slice::from_ref(&root), &[], std::iter::empty(), NO_HOME).unwrap();
        let (mut guard, _) = guarded(&root, further, false);
        put(&root.join("conf/tasks.json"), "evil");
        put(&root.join("shared/new/SKILL.md"), "evil");
        put(&root.join("conf/other.json"), "made");
        let done = guard.finish();
        assert_eq!(fs::read_to_string(root.join("conf/tasks.json")).unwrap(), "a person's", "{done:?}");
        assert!(
            !root.join("shared/new/SKILL.md").exists() && root.join("conf/other.json").exists(),
            "{done:?}"
        );
    }

    #[test]
    fn the_end_of_a_link_on_the_way_stays_and_a_folder_that_cannot_be_listed_hides_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        put(&root.join("cfg/mise/config.toml"), "a person's");
        put(&root.join("other/mise/config.toml"), "evil");
        symlink("cfg", root.join(".config")).unwrap();
        let further =
            || further_places(std::slice::from_ref(&root), &[], std::iter::empty(), NO_HOME).unwrap();
        let (mut guard, _) = guarded(&root, further(), true);
        fs::remove_file(root.join(".config")).unwrap();
        symlink("other", root.join(".config")).unwrap();
        let done = guard.finish();
        assert_eq!(fs::read_link(root.join(".config")).unwrap(), Path::new("cfg"), "{done:?}");
        // Deep folders without files, made before, switch nothing off.
        fs::create_dir_all(root.join(".vscode/a/b/c/d/e/f/g")).unwrap();
        let (mut guard, _) = guarded(&root, further(), false);
        put(&root.join(".vscode/tasks.json"), "evil");
        put(&root.join(".claude/agents/y.not-run-0.md"), "evil");
        put(&root.join(".husky/pre-commit"), "evil");
        let mode = |name: &str, mode: u32| {
            fs::set_permissions(root.join(name), std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        };
        mode(".husky", 0o311);
        mode("", 0o311);
        let done = guard.finish();
        for name in [".vscode/tasks.json", ".claude/agents/y.not-run-0.md", ".husky/pre-commit"] {
            assert!(!root.join(name).exists(), "{name}: {done:?}");
        }
    }

    #[test]
    fn a_name_of_a_folder_frees_nothing_that_settings_name_in_it_and_keys_of_any_kind_keep_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        put(&root.join(".git/HEAD"), "ref: refs/heads/main\n");
        put(&root.join(".git/config"), "[core]\n\tfsmonitor = tools/fsm.sh\n");
        put(&root.join(".git/worktrees/w/HEAD"), "ref: refs/heads/w\n");
        put(&root.join("tools/fsm.sh"), "# a person's\n");
        let key = root.join(".claude/.credentials.json");
        let further =
            further_places(std::slice::from_ref(&root), &[], std::iter::once(key.as_path()), NO_HOME)
                .unwrap();
        let told = WritesTold { named: vec![root.join("tools")] };
        let reports = (WorkspaceReports::default(), &AutorunGuards::default());
        let (mut guard, _) = AutorunGuard::over(std::slice::from_ref(&root), further, told, false, reports);
        put(&root.join("tools/fsm.sh"), "# evil\n");
        put(&root.join(".git/worktrees/w/config.worktree"), "[core]\n\tfsmonitor = ./evil\n");
        put(&root.join(".git/worktrees/w").join(REBASE_TODO), "exec ./evil\n");
        put(&key, "a person's");
        let done = guard.finish();
        assert_eq!(fs::read_to_string(root.join("tools/fsm.sh")).unwrap(), "# a person's\n", "{done:?}");
        assert!(!root.join(".git/worktrees/w/config.worktree").exists(), "{done:?}");
        assert!(!root.join(".git/worktrees/w").join(REBASE_TODO).exists(), "{done:?}");
        assert!(key.exists(), "{done:?}");
    }

    #[test]
    fn hooks_included_settings_and_programs_that_git_names_are_what_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let settings = "[core]\n\thooksPath = .tools/hooks\n\tfsmonitor = tools/fsm.sh\n[include]\n\tpath = ../conf/inc\n\
                        [filter \"q\"]\n\tclean = ./tools/filter.sh %f\n\
                        [alias]\n\tb = !make build && cat out/text\n\tst = status\n\tr = !./run\n\tp = log -- out/text\n\
                        [diff \"q\"]\n\ttextconv = out/tool\n";
        let named = [".tools/hooks/pre-commit", "tools/fsm.sh", "tools/filter.sh", "conf/inc", "run"];
        put(&root.join(".git/config"), settings);
        put(&root.join(".git/HEAD"), "ref: refs/heads/main\n");
        named.iter().for_each(|name| put(&root.join(name), "# a person's\n"));
        let products = ["build", "make", "status", "out/text", "out/tool"];
        products.iter().for_each(|name| put(&root.join(name), "old\0"));
        let further = further_places(std::slice::from_ref(&root), &[], std::iter::empty(), NO_HOME).unwrap();
        let (mut guard, _) = guarded(&root, further.clone(), false);
        named.iter().for_each(|name| put(&root.join(name), "# evil\n"));
        put(&root.join(".tools/hooks/post-commit"), "# evil\n");
        put(&root.join("tools/other.sh"), "# made\n");
        // What builds make, although words of the settings are named so.
        products.iter().for_each(|name| put(&root.join(name), "new\0"));
        let done = guard.finish();
        // Five, and one more.
        assert_eq!(done.len(), 6, "{done:?}");
        for name in products {
            assert_eq!(fs::read_to_string(root.join(name)).unwrap(), "new\0", "{name}: {done:?}");
        }
        for name in named {
            assert_eq!(fs::read_to_string(root.join(name)).unwrap(), "# a person's\n", "{name}: {done:?}");
        }
        assert!(!root.join(".tools/hooks/post-commit").exists() && root.join("tools/other.sh").exists());
        let covered = guarded(&root, further, true).1;
        let mut expected = ["tools/fsm.sh", "tools/filter.sh", "conf/inc", ".tools/hooks", "run"]
            .map(|name| root.join(name));
        expected.sort();
        assert_eq!(covered, expected);
    }

    /// A person may begin and go on with a rebase meanwhile, so only lines that run something and were not there count.
    #[test]
    fn a_rebase_that_a_command_made_up_runs_nothing_and_one_of_a_persons_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let todo = root.join(".git").join(REBASE_TODO);
        put(&root.join(".git/HEAD"), "ref: refs/heads/main\n");
        let guard = |has_covers| {
            let further =
                further_places(std::slice::from_ref(&root), &[], std::iter::empty(), NO_HOME).unwrap();
            guarded(&root, further, has_covers)
        };
        let is_left = |before: Option<&str>, after: &str| {
            match before {
                Some(before) => put(&todo, before),
                None => drop(fs::remove_file(&todo)),
            }
            let (mut guard, covered) = guard(true);
            assert!(!covered.contains(&todo), "git puts others in its place");
            put(&todo, after);
            let done = guard.finish();
            assert_eq!(done.is_empty(), fs::read_to_string(&todo).unwrap_or_default() == after, "{done:?}");
            done.is_empty()
        };
        assert!(is_left(None, "pick 1 a\nedit 2 x\n"));
        assert!(!is_left(None, "pick 1 a\n\texec touch x\n"));
        assert!(!is_left(None, "x touch x\n"));
        assert!(is_left(Some("pick 1 a\nexec make\npick 2 b\nexec make\n"), "pick 2 b\nexec make\n"));
        assert!(!is_left(Some("pick 1 a\nexec make\n"), "exec touch x\n"));
    }
}
