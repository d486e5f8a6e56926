//! Do the words of a program lead into a folder in which agents work, other than by the name of a file that is there?
//!
//! A file that is named and there is held to what it was when it was noted. What a folder holds, or a file that nobody has made yet, an agent
//! may put there at any time.

use std::path::{Path, PathBuf};

use crate::{lexical::lexical, worked_folders::WorkedFolders};

/// What stands between the names of files in a word.
const BETWEEN: &str = "=:,;|&()<>'\"`{}[]";

/// Programs that only read what they are given: a key may lie anywhere.
const READERS: &[&str] = &["cat", "head", "gpg", "age", "sops", "openssl", "base64"];

/// The first of the words' paths that leads there, as it stands in them. Files in `noted` are held to what they were. Blocks on the file system.
pub(super) fn leading(
    words: &[String],
    noted: &[&Path],
    worked: &WorkedFolders,
    home: Option<&Path>,
) -> Option<String> {
    let folders = worked.all();
    if folders.is_empty() {
        return None;
    }
    let words: Vec<String> = words.iter().map(|word| word.replace("${HOME}", "$HOME")).collect();
    let pieces: Vec<&str> = words.iter().flat_map(|word| pieces(word)).collect();
    let is_relative = |piece: &&str| piece.contains('/') && !piece.starts_with(['/', '~', '$', '-']);
    let program = words.first().and_then(|word| word.rsplit('/').next());
    let reads = program.is_some_and(|name| READERS.contains(&name));
    let has_relative = pieces.iter().any(is_relative);
    let leads = |piece: &&&str| {
        let Some(path) = resolved(piece, home) else { return false };
        let real = real(&path);
        let is_within = folders.iter().any(|folder| real.starts_with(folder));
        // From there a relative name may lead into it.
        let is_above = has_relative && folders.iter().any(|folder| folder.starts_with(&real));
        let is_held = || reads || noted.contains(&real.as_path());
        (is_within || is_above) && !(path.is_file() && is_held())
    };
    pieces.iter().find(leads).map(|piece| (*piece).to_owned())
}

/// A word, and the parts of it that may be names of files.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let parts = word.split(|letter: char| letter.is_whitespace() || BETWEEN.contains(letter));
    // `-I~/x`
    let attached = parts.clone().filter_map(|part| {
        let at = part.find(['/', '~', '$']).filter(|_| part.starts_with('-'))?;
        Some(&part[at..])
    });
    std::iter::once(word).filter(|word| !word.contains(char::is_whitespace)).chain(parts).chain(attached)
}

/// The absolute path that a word names, if it is one.
fn resolved(piece: &str, home: Option<&Path>) -> Option<PathBuf> {
    let below = ["~", "$HOME"].iter().find_map(|it| piece.strip_prefix(it));
    let path = match (below.filter(|rest| rest.is_empty() || rest.starts_with('/')), home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(piece),
    };
    path.is_absolute().then(|| lexical(&path))
}

/// The path without links, as far as it is there; a link that leads nowhere is followed by its text.
fn real(path: &Path) -> PathBuf {
    for there in path.ancestors() {
        let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
        if let Ok(found) = there.canonicalize() {
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
        if let Ok(target) = there.read_link() {
            let target = there.parent().unwrap_or(Path::new("/")).join(target);
            return lexical(&target.join(rest));
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_agents_and_what_is_not_there_yet_lead_into_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for path in ["dotfiles/lib", "bin", "own"] {
            std::fs::create_dir_all(home.join(path)).unwrap();
        }
        for path in ["dotfiles/notify.sh", "dotfiles/made-later", "bin/notify", "own/key"] {
            std::fs::write(home.join(path), "x").unwrap();
        }
        std::os::unix::fs::symlink(home.join("dotfiles/later"), home.join("own/later")).unwrap();
        std::os::unix::fs::symlink(home.join("dotfiles"), home.join("own/link")).unwrap();
        let worked = WorkedFolders::default();
        let found = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let noted = [home.join("dotfiles/notify.sh")];
            leading(&words, &noted.each_ref().map(PathBuf::as_path), &worked, Some(&home))
        };
        let absolute = format!("cd {}/dotfiles && ./notify.sh", home.display());
        let leading = [
            &["sh", "-c", "cd ~/dotfiles && ./notify.sh"][..],
            &["sh", "-c", &absolute],
            &["make", "-s", "-C", "~/dotfiles", "tell"],
            &["make", "-s", "-C~/dotfiles", "tell"],
            &["sh", "-c", "[ -f ~/dotfiles/later.sh ] && sh ~/dotfiles/later.sh"],
            &["env", "PYTHONPATH=~/dotfiles/lib", "python3", "-m", "tell"],
            &["sh", "-c", "cd $HOME && dotfiles/notify.sh"],
            &["sh", "-c", "cd \"${HOME}\" && sh dotfiles/notify.sh"],
            &["~/own/later"],
            &["sh", "-c", "sh ~/dotfiles/made-later"],
            &["make", "-C", "~/own/link"],
        ];
        for words in leading {
            assert_eq!(found(words), None, "{words:?}");
        }
        worked.add([home.join("dotfiles")]);
        for words in leading {
            assert!(found(words).is_some(), "{words:?}");
        }
        for words in [
            &["~/dotfiles/notify.sh", "x"][..],
            &["sh", "-c", "~/dotfiles/notify.sh \"$1\""],
            &["~/bin/notify", "--text", "a/b"],
            &["cat", "~/own/key"],
            &["cat", "~/dotfiles/made-later"],
            &["pass", "show", "mail/key"],
            &["sh", "-c", "cd ~ && cat own"],
        ] {
            assert_eq!(found(words), None, "{words:?}");
        }
    }
}
