//! Does a file of the person's own lie where agents could have written it, or what it loads?
//!
//! What lies in a folder in which agents work may be noted by its digest. What it loads from around it, in whatever language, nobody has
//! looked at: so a script there is not the person's own. In a home that is such a folder, agents write neither in `.claude` nor in
//! `.config/subagentd`, whatever mechanism confines them. Other folders of `.config` are theirs: Landlock keeps commands from few of them, and
//! nobody knows any more which mechanism an earlier session had.

use std::{
    io::{ErrorKind, Read as _},
    path::{Path, PathBuf},
};

use crate::{
    beyond_reach::FileOwner, first_line::whole_first_line, guarded::ResolvedPath, regular_file,
    worked_folders::WorkedFolders,
};

/// Programs that run a file that they are given, or load others at their start, whatever they are made of.
const LOADING: &[&str] = &[
    "sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "ash", "python", "pypy", "node", "nodejs", "bun",
    "deno", "perl", "ruby", "php", "lua", "busybox",
];

/// Programs that look for modules, or for what says how a script is run, in every folder above it (https://nodejs.org/api/modules.html,
/// https://bun.sh/docs/runtime/bunfig, https://docs.deno.com/runtime/fundamentals/configuration).
const FROM_ABOVE: &[&str] = &["node", "nodejs", "bun", "deno", "tsx", "ts-node"];
/// Names for which these look there.
const LOOKED_FOR_ABOVE: &[&str] = &[
    "node_modules",
    "package.json",
    "tsconfig.json",
    "jsconfig.json",
    "bunfig.toml",
    "deno.json",
    "deno.jsonc",
    ".env",
];
const SCRIPT_ENDS_OF_NODE: &[&str] = &["js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx"];

/// Folders of a home in which no command and no server of an agent writes, by whatever mechanism it is confined.
const KEPT_OF_HOME: &[&str] = &[".claude", ".config/subagentd"];

/// The folders of agents, as the person's home sees them.
#[derive(Debug, Clone, Copy)]
pub struct OwnGround<'a> {
    /// The folders in which agents work, or have worked.
    pub worked: &'a WorkedFolders,
    /// The person's home, by whatever links; `None` = nobody knows it.
    pub home: Option<&'a Path>,
    /// The one as whom agents write: what that user cannot change, none of them has made.
    pub user: FileOwner,
}

impl<'a> OwnGround<'a> {
    /// As agents of this daemon have written.
    pub fn of_process(worked: &'a WorkedFolders, home: Option<&'a Path>) -> OwnGround<'a> {
        OwnGround { worked, home, user: FileOwner::of_process() }
    }

    /// True of a path that lies in such a folder, or leads through one by a link, whether it is there or not; not of a file that only root, or
    /// another user of the system's, can change. Blocks on the file system.
    pub fn is_of_agents(&self, path: &Path) -> bool {
        let way = ResolvedPath::to(path);
        let home = self.home.map(|home| ResolvedPath::to(home).end);
        way.links.iter().chain([&way.end]).any(|part| self.is_free(part, home.as_deref()))
    }

    /// True if what runs at this path there is not only what was noted of it: a text that is run, or a program that loads others. Blocks on
    /// the file system.
    pub fn loads_from_agents(&self, path: &Path) -> bool {
        self.is_of_agents(path) && (!is_binary(path) || is_loading(path))
    }

    /// True of a script that is run by one of the programs that look for modules in all folders above it, where one of those is such a folder.
    /// `words`: of the command that runs it. Blocks on the file system.
    pub fn takes_from_agents_above<'w>(&self, path: &Path, words: impl IntoIterator<Item = &'w str>) -> bool {
        let real = ResolvedPath::to(path).end;
        if self.worked.all_holding(&real).is_empty() || self.is_beyond_with_above(&real) {
            return false;
        }
        let end = real.extension().and_then(|end| end.to_str()).unwrap_or_default();
        let line = whole_first_line(&real).unwrap_or_default();
        let names_one = |text: &str| {
            let words = text.split(|letter: char| letter.is_whitespace() || "/;|&()'\"`=".contains(letter));
            words.map(bare).any(|word| FROM_ABOVE.contains(&word))
        };
        SCRIPT_ENDS_OF_NODE.contains(&end) || names_one(&line) || words.into_iter().any(names_one)
    }

    fn is_free(&self, path: &Path, home: Option<&Path>) -> bool {
        let is_kept = |folder: &PathBuf| {
            let below = path.strip_prefix(folder);
            home == Some(folder) && below.is_ok_and(|it| KEPT_OF_HOME.iter().any(|kept| it.starts_with(kept)))
        };
        let is_within = self.worked.is_one(path) || !self.worked.all_holding(path).iter().all(is_kept);
        is_within && !self.user.cannot_change(path)
    }

    /// True of a file without links that agents cannot have written, and beside and above which they cannot have put what its interpreter looks
    /// for.
    fn is_beyond_with_above(&self, file: &Path) -> bool {
        let looked_for =
            || file.ancestors().skip(1).flat_map(|it| LOOKED_FOR_ABOVE.iter().map(|name| it.join(name)));
        let is_missing =
            |path: &Path| path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
        self.user.cannot_change(file)
            && looked_for().all(|it| is_missing(&it) || self.user.cannot_exchange(&it))
    }
}

/// `python3.12` is `python`.
fn bare(name: &str) -> &str {
    name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.')
}

/// True of a program for the processor (elf(5)).
fn is_binary(path: &Path) -> bool {
    let mut beginning = [0; 4];
    let read = regular_file::open(path).and_then(|mut file| file.read_exact(&mut beginning));
    read.is_ok() && beginning == *b"\x7fELF"
}

fn is_loading(path: &Path) -> bool {
    let names = [path.to_owned(), ResolvedPath::to(path).end];
    names.iter().any(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        LOADING.contains(&bare(name))
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn what_lies_where_agents_work_or_leads_through_it_is_theirs_but_for_two_folders_of_the_home() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for path in ["dot/bin", "bin", ".claude/hooks", "dot/.own"] {
            fs::create_dir_all(home.join(path)).unwrap();
        }
        for path in ["dot/x.sh", "bin/x.sh", ".claude/hooks/x.sh", "dot/.own/x.sh"] {
            fs::write(home.join(path), "x").unwrap();
        }
        fs::copy("/proc/self/exe", home.join("dot/bin/tell")).unwrap();
        fs::copy("/proc/self/exe", home.join("dot/bin/python3.12")).unwrap();
        symlink(home.join("dot/x.sh"), home.join("bin/in")).unwrap();
        symlink(home.join("bin/x.sh"), home.join("dot/out")).unwrap();
        symlink(home.join("dot/bin"), home.join("folder")).unwrap();
        let worked = WorkedFolders::default();
        let ground = OwnGround::of_process(&worked, Some(&home));
        let of_agents = |names: &[&str]| -> Vec<bool> {
            names.iter().map(|name| ground.is_of_agents(&home.join(name))).collect()
        };
        let all = [
            "dot/x.sh",
            "bin/in",
            "dot/out",
            "folder/missing",
            "dot/.own/x.sh",
            "bin/x.sh",
            ".claude/hooks/x.sh",
        ];
        assert_eq!(of_agents(&all), [false; 7]);
        worked.add([home.join("dot")]);
        assert_eq!(of_agents(&all), [true, true, true, true, true, false, false]);
        assert!(ground.loads_from_agents(&home.join("dot/bin/python3.12")));
        assert!(ground.loads_from_agents(&home.join("dot/x.sh")));
        assert!(!ground.loads_from_agents(&home.join("dot/bin/tell")));
        worked.add([home.clone()]);
        assert_eq!(of_agents(&all), [true, true, true, true, true, true, false]);
        let others =
            [".config/subagentd/x", ".config/tools/lib/x", ".config/x", ".local/bin/x", ".dotfiles/x"];
        assert_eq!(of_agents(&others), [false, true, true, true, true]);
        // Node looks in the home, too.
        let above = |name: &str, words: &str| ground.takes_from_agents_above(&home.join(name), [words]);
        assert!(above(".claude/hooks/x.js", "x") && above(".claude/hooks/x.sh", "exec node \"$0\""));
        assert!(!above(".claude/hooks/x.sh", "sh x.sh"));
        worked.add(home.parent().map(Path::to_owned));
        assert_eq!(of_agents(&[".config/subagentd/x"]), [true]);
    }
    #[test]
    fn what_root_alone_can_change_is_no_agents_wherever_they_worked() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::write(root.join("x.sh"), "x").unwrap();
        symlink("/bin/sh", root.join("linked")).unwrap();
        let shell = Path::new("/bin/sh").canonicalize().unwrap();
        let worked = WorkedFolders::default();
        worked.add([PathBuf::from("/")]);
        let of = |user: FileOwner| OwnGround { worked: &worked, home: None, user };
        let ground = of(FileOwner::PERSON);
        assert!(!ground.is_of_agents(Path::new("/bin/sh")) && !ground.loads_from_agents(&shell));
        assert!(!ground.takes_from_agents_above(&shell, ["node"]));
        // The link is anybody's who can write into its folder; what a folder holds, or what is not there yet, nobody has looked at.
        for path in [root.join("linked"), root.join("x.sh"), "/usr".into(), "/usr/none".into()] {
            assert!(ground.is_of_agents(&path), "{}", path.display());
        }
        assert!(ground.takes_from_agents_above(&root.join("x.sh"), ["node"]));
        // An agent of root's may have written all of them.
        assert!(of(FileOwner::ROOT).is_of_agents(&shell));
    }
}
