//! Which files do programs run by themselves, by the table and by whatever way a text writes them?

use std::path::Path;

use super::*;
use crate::automatic;

#[test]
fn awk_that_goes_on_in_the_next_line_writes() {
    for text in [
        "awk 'BEGIN{print \"a\",\n\"b\" > \".envrc\"}'",
        "awk 'BEGIN{print (\"a\",\n\"b\") > \".cargo/config.toml\"}'",
        "awk 'BEGIN{print 1 ||\n0 > \".envrc\"}'",
        "awk 'BEGIN{print \"a\" > \".envrc\"}'",
    ] {
        assert_eq!(judged(text).risk, Risk::High, "{text}");
    }
    for text in ["awk '$1 > 2 {print $2}\nNR > 1 {print}' x", "awk '{s += $1}\nEND {print s}' x"] {
        assert_eq!(judged(text).risk, Risk::Medium, "{text}: {:?}", judged(text).findings);
    }
}

/// Each is run, or obeyed, by a program that nobody starts for it: the row says which.
#[test]
fn files_that_hooks_editors_and_products_obey_are_rows() {
    let kept = [
        "hk.pkl",
        "hk.local.pkl",
        ".config/hk.pkl",
        "prek.toml",
        "captainhook.json",
        "grumphp.yml",
        "cog.toml",
        ".rusty-hook.toml",
        ".huskyrc.js",
        "husky.config.js",
        ".nano-staged.json",
        "nano-staged.mjs",
        "commitlint.config.js",
        ".commitlintrc.cjs",
        ".gitlint",
        ".lsp/config.edn",
        ".externalToolBuilders/x.launch",
        ".kateproject",
        "x.sublime-project",
        ".lintr",
        ".luacheckrc",
        ".pylintrc",
        "pylintrc",
        ".ycm_extra_conf.py",
        ".lazy.lua",
        ".reviewboardrc",
        ".arcconfig",
        ".lazygit.yml",
        ".git/lazygit.yml",
        ".git/sl/config",
        ".git/arc/config",
        ".git/safe",
        ".grok/settings.json",
        ".github/mcp.json",
        ".augment/settings.json",
        ".agents/mcp.json",
        "gptme.toml",
        ".kimi/config.toml",
        ".antigravity/x",
        ".superset/config.json",
        "conductor.json",
        ".roomodes",
    ];
    let told = [
        "buildServer.json",
        "hie.yaml",
        ".merlin",
        ".project",
        ".formatter.exs",
        "CMakeLists.txt.user",
        ".qtcreator/x",
        ".globalrc",
        ".repo/repo/main.py",
        "_FOSSIL_",
        ".fslckout",
        ".gclient",
        ".west/config",
        ".bzr/branch/branch.conf",
        ".serena/project.yml",
    ];
    let (root, all) = (Path::new("/w"), kept.iter().chain(&told));
    let row = |path: &str| automatic(&root.join(path), root);
    let missing: Vec<&&str> = all.filter(|path| row(path).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let open: Vec<&&str> = kept.iter().filter(|path| !row(path).is_some_and(|row| row.is_kept)).collect();
    assert!(open.is_empty(), "not kept from commands: {open:?}");
    assert!(told.iter().all(|path| !row(path).is_some_and(|row| row.is_kept)));
}
