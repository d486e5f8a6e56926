//! Is a folder as a whole one in which programs of a home find what they run?

use std::path::{Path, PathBuf};

use super::{further::is_obeyed_at_home, home::names_at_home};
use shell::{is_listed_folder_of_home, is_settings_folder_of_home};

/// The reason for each file of a workspace that is such a folder.
pub(super) const SETTINGS_ROOT: &str =
    "programs of the home take what they run from this workspace, by its place or by a link that leads to it";

/// Folders of a home, without a dot in front, in which its shells find programs by their names, whatever this daemon's `PATH` says.
const OF_PROGRAMS: &[&str] = &["bin", "go/bin"];

/// True of a folder, without links, in which programs of this home find what they run, by its place or by the name of a link there that leads
/// to it or around it: `~/.config` may be a link to `~/dotfiles/config`. What only a link says is believed where the table names the
/// place: a plugin, or a registry of somebody's projects, may lie deep in such a folder, by a link to where people work.
pub fn is_settings_folder(folder: &Path, home: &Path) -> bool {
    let is_of_programs = |folder: &Path| OF_PROGRAMS.iter().any(|name| folder == home.join(name));
    let is_one = |folder: &Path| {
        is_settings_folder_of_home(folder, home) || is_obeyed_at_home(folder, home) || is_of_programs(folder)
    };
    let is_listed = |name: &PathBuf| is_listed_folder_of_home(name, home) || is_obeyed_at_home(name, home);
    is_one(folder) || names_at_home(folder, home).iter().any(is_listed)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_folder_to_which_a_place_of_the_lists_leads_is_one_and_that_of_a_plugin_or_package_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for (link, is_one) in [
            (".config/nvim", true),
            (".config/zsh", true),
            (".vim/plugin", true),
            (".oh-my-zsh/custom", true),
            (".emacs.d/lisp", true),
            (".vim/pack/dev/start/x", false),
            (".oh-my-zsh/custom/plugins/x", false),
            (".config/yarn/link/x", false),
            (".config/valet/Sites/x", false),
            (".nobody-knows/run", false),
        ] {
            let (place, linked) = (home.join(link), home.join("dots").join(link.replace('/', "-")));
            fs::create_dir_all(&linked).unwrap();
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            symlink(&linked, &place).unwrap();
            assert_eq!(is_settings_folder(&linked, &home), is_one, "{link}");
            assert_eq!(is_settings_folder(&linked.join("below"), &home), is_one, "{link}");
        }
        assert!(!is_settings_folder(&home.join("dots"), &home));
    }
}
