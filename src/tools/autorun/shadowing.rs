//! Which names in folders that an `.envrc`, mise's settings or a person puts in front of the `PATH` would have another program run than the one that people mean?
//!
//! Builds and package managers make programs in such folders, under names of their own. A program that is called like one that people type
//! every day is run in its place by the next shell that enters the folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{direnv, mise};
use shell::AutorunPlace;

const INSTEAD: &str = "by `.envrc` or mise's settings, the shell that enters the folder runs it in the place of the program of that name";

/// Programs that no package brings along for one project.
const OF_SYSTEM: &[&str] = &[
    "apt",
    "awk",
    "basename",
    "bash",
    "brew",
    "cat",
    "chmod",
    "chown",
    "claude",
    "clear",
    "code",
    "codex",
    "cp",
    "cursor",
    "cut",
    "date",
    "df",
    "diff",
    "direnv",
    "dirname",
    "docker",
    "du",
    "egrep",
    "emacs",
    "env",
    "find",
    "fish",
    "gemini",
    "gh",
    "git",
    "gpg",
    "grep",
    "head",
    "hg",
    "id",
    "jj",
    "journalctl",
    "kill",
    "kubectl",
    "less",
    "ln",
    "ls",
    "man",
    "mkdir",
    "more",
    "mv",
    "nano",
    "nvim",
    "open",
    "ping",
    "podman",
    "ps",
    "rm",
    "rmdir",
    "rsync",
    "scp",
    "screen",
    "sed",
    "sh",
    "sort",
    "ssh",
    "ssh-add",
    "ssh-keygen",
    "subagent",
    "subagentd",
    "sudo",
    "systemctl",
    "tail",
    "tar",
    "tee",
    "tmux",
    "top",
    "touch",
    "tr",
    "uname",
    "uniq",
    "vi",
    "vim",
    "wc",
    "wget",
    "whoami",
    "xargs",
    "xdg-open",
    "zsh",
];

/// Programs that package managers make where they are told to, and nobody else has a reason to.
const OF_PACKAGES: &[&str] = &[
    "aws",
    "az",
    "bun",
    "cargo",
    "cc",
    "clang",
    "cmake",
    "curl",
    "deno",
    "fd",
    "g++",
    "gcc",
    "gcloud",
    "gem",
    "go",
    "gradle",
    "helm",
    "java",
    "javac",
    "jq",
    "make",
    "mvn",
    "mysql",
    "nix",
    "node",
    "npm",
    "npx",
    "perl",
    "php",
    "pip",
    "pip3",
    "pnpm",
    "poetry",
    "psql",
    "python",
    "python3",
    "rg",
    "ruby",
    "rustc",
    "rustup",
    "sqlite3",
    "terraform",
    "uv",
    "yarn",
];

/// The ones of a root that are not there. Blocks for a bounded look.
pub(super) fn missing_by_envrc(root: &Path) -> Vec<AutorunPlace> {
    let mut folders = direnv::program_folders(root);
    folders.extend(mise::program_folders(root));
    missing(&folders, INSTEAD)
}

/// The same of folders, each with whether package managers or builds make programs there.
pub(super) fn missing(folders: &[(PathBuf, bool)], why: &'static str) -> Vec<AutorunPlace> {
    let mut found = Vec::new();
    for (folder, is_built) in folders {
        let of_packages = OF_PACKAGES.iter().filter(|_| !is_built);
        let paths = OF_SYSTEM.iter().chain(of_packages).map(|name| folder.join(name));
        let missing = paths.filter(|path| fs::symlink_metadata(path).is_err());
        found.extend(missing.map(|path| AutorunPlace { path, why }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_daily_programs_are_kept_free_and_those_that_packages_bring_only_where_none_makes_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        assert!(missing_by_envrc(&root).is_empty());
        fs::write(root.join(".envrc"), "PATH_add bin\nPATH_add .venv/bin\n").unwrap();
        fs::create_dir(root.join("bin")).unwrap();
        fs::write(root.join("bin/git"), "").unwrap();
        let found: Vec<_> = missing_by_envrc(&root).into_iter().map(|place| place.path).collect();
        for name in ["bin/ls", "bin/node", ".venv/bin/ls", ".venv/bin/git"] {
            assert!(found.contains(&root.join(name)), "{name}");
        }
        for name in ["bin/git", ".venv/bin/python", ".venv/bin/pip", "bin/rake", "ls"] {
            assert!(!found.contains(&root.join(name)), "{name}");
        }
    }
}
