//! In which workspaces do commands only read, since programs of the person's run what lies there?

use std::path::PathBuf;

use crate::autorun::is_settings_folder;

/// The first of these folders, absolute and without links, in which programs of the home find what they run. Nothing that a script writes there
/// could be told from what the person wants to be run, so nothing of it is let write. Blocks for a look at the home, and at its links.
pub fn settings_folder_among(roots: &[PathBuf]) -> Option<PathBuf> {
    let home = std::env::home_dir()?.canonicalize().ok()?;
    roots.iter().find(|root| is_settings_folder(root, &home)).cloned()
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_folder_is_one_by_the_name_of_a_link_that_leads_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let lay = |target: &str, link: &str| {
            fs::create_dir_all(home.join(target)).unwrap();
            fs::create_dir_all(home.join(link).parent().unwrap()).unwrap();
            symlink(home.join(target), home.join(link)).unwrap();
        };
        let is_one = |root: &str| is_settings_folder(&home.join(root), &home);
        lay("dotfiles/nvim", ".config/nvim");
        lay("dotfiles/vim", ".vim");
        lay("code/cache", ".dotfiles");
        fs::create_dir_all(home.join("dotfiles/nvim/lua/plugins")).unwrap();
        fs::create_dir_all(home.join("code/shop")).unwrap();
        for root in ["dotfiles/nvim", "dotfiles/nvim/lua/plugins", "dotfiles/vim"] {
            assert!(is_one(root), "{root}");
        }
        for programs in ["bin", "go/bin"] {
            fs::create_dir_all(home.join(programs)).unwrap();
            assert!(is_one(programs), "{programs}");
        }
        // Where people work.
        lay("code/pkg", ".config/yarn/link/pkg");
        lay("code/site", ".config/valet/Sites/site");
        lay("code/plugin", ".config/nvim2/pack/dev/start/plugin");
        symlink(&home, home.join(".config/whole")).unwrap();
        for root in ["code/pkg", "code/site", "code/plugin", "code"] {
            assert!(!is_one(root), "{root}");
        }
        // What holds such a folder is kept file by file, as before.
        for root in ["dotfiles", "code/shop", "code/cache", "code", "go", "bin/sub"] {
            assert!(!is_one(root), "{root}");
        }
        fs::remove_dir_all(home.join(".config")).unwrap();
        lay("dotfiles/config", ".config");
        fs::create_dir_all(home.join("dotfiles/config/git")).unwrap();
        assert!(is_one("dotfiles/config/git") && is_one("dotfiles/config"));
    }
}
