//! Programs that go through folders, and the options by which they follow the links in them, which may lead anywhere.

use crate::value::WordValue;

/// Programs, letters among their short options, and whole options. By their manuals.
const FOLLOWING: &[(&[&str], &str, &[&str])] = &[
    (&["cp"], "HL", &["--dereference"]),
    (&["du"], "L", &["--dereference"]),
    (&["fd"], "L", &["--follow"]),
    // Its options are words behind one hyphen.
    (&["find"], "", &["-L", "-follow"]),
    (&["grep", "egrep", "fgrep"], "R", &["--dereference-recursive"]),
    (&["ls"], "L", &["--dereference"]),
    (&["rg"], "L", &["--follow"]),
    (&["rsync"], "Lk", &["--copy-links", "--copy-unsafe-links", "--copy-dirlinks"]),
    (&["tar"], "h", &["--dereference"]),
    (&["tree"], "l", &[]),
];

/// True if a command of these words, all of which are known, follows links that it finds.
pub(super) fn follows(name: &str, args: &[WordValue]) -> bool {
    let Some((_, letters, options)) = FOLLOWING.iter().find(|(names, ..)| names.contains(&name)) else {
        return false;
    };
    args.iter().filter_map(WordValue::known).any(|word| {
        let is_short = word.starts_with('-') && !word.starts_with("--");
        options.contains(&word) || is_short && word.contains(|letter: char| letters.contains(letter))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_follow_links_are_found_among_others() {
        let follows = |command: &str| {
            let mut words = command.split_whitespace();
            let name = words.next().unwrap();
            super::follows(name, &words.map(WordValue::literal).collect::<Vec<WordValue>>())
        };
        for command in [
            "grep -Rn x .",
            "grep -nR x",
            "find -L . -name x",
            "find . -follow",
            "rg -L x",
            "rg --follow x",
            "tree -al",
            "cp -rL src x",
            "rsync -aL src x",
            "tar -chf x.tar src",
        ] {
            assert!(follows(command), "{command}");
        }
        for command in ["grep -rn x .", "find . -name L", "rg -l x", "tree -a", "cat -R", "ls -la"] {
            assert!(!follows(command), "{command}");
        }
    }
}
