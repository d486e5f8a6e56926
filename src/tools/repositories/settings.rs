//! Did a command change settings of a repository into ones by which git runs something?
//!
//! A command that is git alone may write them, and was judged by its words. But git runs programs of its own accord, hooks and what a
//! repository's settings say, and these write what no words say. So what such settings became is held against what they were.

use std::collections::BTreeSet;

use shell::is_plain_git_setting;

/// Settings of a repository that run nothing and that git's own sub-commands write, beside those that are plain: git-config(1),
/// gitrepository-layout(5), gitsubmodules(7). Of a name in three parts the one in the middle is any.
const HARMLESS: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "bare",
            "checkstat",
            "compression",
            "ignorecase",
            "logallrefupdates",
            "precomposeunicode",
            "repositoryformatversion",
            "sharedrepository",
            "sparsecheckout",
            "sparsecheckoutcone",
            "symlinks",
            "trustctime",
            "untrackedcache",
        ],
    ),
    (
        "branch",
        &["description", "merge", "pushremote", "rebase", "remote", "gh-merge-base", "vscode-merge-base"],
    ),
    (
        "remote",
        &[
            "fetch",
            "gh-resolved",
            "mirror",
            "partialclonefilter",
            "promisor",
            "prune",
            "prunetags",
            "push",
            "pushurl",
            "skipdefaultupdate",
            "skipfetchall",
            "tagopt",
            "url",
        ],
    ),
    ("index", &["recordendofindexentries", "recordoffsettable", "skiphash", "sparse", "threads", "version"]),
    ("submodule", &["active", "branch", "fetchrecursesubmodules", "ignore", "update", "url"]),
    ("extensions", &["noop", "objectformat", "partialclone", "preciousobjects", "refstorage"]),
    ("user", &["email", "name", "signingkey"]),
    ("lfs", &["access", "locksverify", "repositoryformatversion"]),
];

/// Keys with their values; `None` = they are not written as git itself writes them.
pub type GitSettings = Option<BTreeSet<(String, String)>>;

/// A setting that came to be between the two, by which git may run something, and whose key is none of `named`. The text when nobody
/// can tell.
pub fn new_danger(before: &str, after: &str, named: &[String]) -> Option<String> {
    let Some(after) = settings_in(after) else {
        return Some("it is written in a way that is not read".to_owned());
    };
    let before = settings_in(before).unwrap_or_default();
    let remotes: BTreeSet<&str> = before.iter().chain(&after).filter_map(|(key, _)| remote_of(key)).collect();
    let new = after.iter().filter(|setting| !before.contains(*setting));
    new.map(|(key, value)| (is_harmless(key, value) && is_of_remote(key, value, &remotes), key.clone()))
        .find(|(is_harmless, key)| !is_harmless && !named.contains(key))
        .map(|(_, key)| format!("`{key}` is set"))
}

/// A value by which git may run something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitValue {
    /// `core.editor`; of a text that is not read the last part alone.
    pub key: String,
    pub value: String,
}

/// The values in a text of settings by which git may run something; of one that is not read as git writes it, whatever stands in it.
pub fn values_that_run(text: &str) -> Vec<GitValue> {
    match settings_in(text) {
        Some(settings) => settings
            .into_iter()
            .filter(|(key, value)| !is_harmless(key, value))
            .map(|(key, value)| GitValue { key, value })
            .collect(),
        None => text
            .lines()
            .filter_map(|line| {
                let (key, value) = line.split_once('=')?;
                Some(GitValue { key: key.trim().to_owned(), value: value.to_owned() })
            })
            .collect(),
    }
}

/// The name of the remote whose address a key says.
fn remote_of(key: &str) -> Option<&str> {
    key.strip_prefix("remote.")?.strip_suffix(".url")
}

/// False of a branch that is pushed to what is no name of a remote: to git it is an address, and of this machine a path.
fn is_of_remote(key: &str, value: &str, remotes: &BTreeSet<&str>) -> bool {
    let is_named = key.starts_with("branch.") && (key.ends_with(".remote") || key.ends_with(".pushremote"));
    !is_named || value == "." || remotes.contains(value)
}

fn is_harmless(key: &str, value: &str) -> bool {
    let (Some((section, _)), Some((_, name))) = (key.split_once('.'), key.rsplit_once('.')) else {
        return false;
    };
    if is_plain_git_setting(key) {
        return true;
    }
    let is_listed = HARMLESS.iter().any(|(of, names)| *of == section && names.contains(&name));
    // `ext::sh -c …`: such a helper is run. `!…`: a shell runs it.
    let is_run = value.contains("::") || value.trim_start().starts_with(['!', '-']);
    // Within quotes and behind backslashes git reads other letters than stand there, and writes them for nothing that is plain.
    let is_odd = value.contains(['"', '\\']);
    let is_pushed_here = section == "remote" && matches!(name, "url" | "pushurl") && is_local(value);
    is_listed && !is_run && !is_odd && !is_pushed_here
}

/// True if git takes an address for a path of this machine, where a repository has hooks that a push runs.
pub fn is_local(address: &str) -> bool {
    let host = address.split('/').next().unwrap_or_default();
    address.starts_with("file:") || !(address.contains("://") || host.contains(':'))
}

pub fn settings_in(text: &str) -> GitSettings {
    let mut settings = BTreeSet::new();
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        let mut rest = line;
        if let Some(head) = line.strip_prefix('[') {
            let (head, behind) = split_section(head)?;
            (section, rest) = (head, behind.trim());
        }
        if rest.is_empty() || rest.starts_with(['#', ';']) {
            continue;
        }
        // It goes on in the next line, or quotes a part: git writes neither for what runs nothing.
        if rest.ends_with('\\') || section.is_empty() {
            return None;
        }
        let (name, value) = rest.split_once('=').unwrap_or((rest, "true"));
        let name = name.trim().to_ascii_lowercase();
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        let value = value.trim();
        let inner = value.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(value);
        settings.insert((format!("{section}.{name}"), inner.to_owned()));
    }
    Some(settings)
}

/// `core] x`, `branch "a.b"] x`: the section in small letters, what it is about as it is, and what stands behind.
fn split_section(head: &str) -> Option<(String, &str)> {
    let end = match head.find('"') {
        // A quote within is written behind a backslash.
        Some(quote) if head.find(']').is_none_or(|end| quote < end) => {
            let mut letters = head.char_indices().skip_while(|(at, _)| *at <= quote);
            let mut close = None;
            while let Some((at, letter)) = letters.next() {
                match letter {
                    '\\' => drop(letters.next()),
                    '"' => {
                        close = Some(at);
                        break;
                    }
                    _ => (),
                }
            }
            let close = close?;
            close + head[close..].find(']')?
        }
        _ => head.find(']')?,
    };
    let (name, behind) = (&head[..end], &head[end + 1..]);
    let section = match name.split_once('"') {
        Some((section, about)) => {
            let section = section.trim().to_ascii_lowercase();
            format!("{section}.{}", about.trim_end_matches('"'))
        }
        None => name.trim().to_ascii_lowercase(),
    };
    Some((section, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_writes_itself_is_harmless_and_what_runs_something_is_not() {
        let before = "[core]\n\trepositoryformatversion = 0\n\teditor = vim\n";
        for text in [
            "[remote \"origin\"]\n\turl = git@example.org:a/b\n[branch \"a.b\"]\n\tremote = origin\n\tpushRemote = .\n\tmerge = refs/heads/a.b\n",
            "[remote \"origin\"]\n\turl = git@example.org:a/b\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[user]\n\tname = Ann\n# a note\n",
            "[submodule \"x\"]\n\turl = ../x\n\tactive = true\n",
            "[core]\n\tbare = false\n[color]\n\tui = auto\n",
        ] {
            assert_eq!(new_danger(before, &format!("{before}{text}"), &[]), None, "{text}");
        }
        for text in [
            "[core]\n\tfsmonitor = touch x\n",
            "[core] fsmonitor=touch x\n",
            "[CORE]\n\thooksPath = x\n",
            "[core]\n\teditor = sh\n",
            "[alias]\n\tst = !x\n",
            "[remote \"o\"]\n\turl = ext::sh\n",
            "[remote \"o\"]\n\tuploadpack = x\n",
            "[submodule \"x\"]\n\tupdate = !x\n",
            "[include]\n\tpath = x\n",
            "[submodule \"x\"]\n\tupdate = \"\" !x\n",
            "[remote \"o\"]\n\turl = ext:\":\"sh\n",
            "[remote \"o\"]\n\tpushurl = ../evil\n",
            "[remote \"o\"]\n\tpushurl = file:///w/evil\n",
            "[branch \"main\"]\n\tremote = evil.git\n",
            "[branch \"main\"]\n\tpushRemote = /w/evil\n",
            "[core]\n\tworktree = /h\n",
            "[extensions]\n\tworktreeConfig = true\n",
            "[filter \"a\\\"]\"]\n\tclean = x\n",
            "[core]\n\tabbrev = 4\\\n",
        ] {
            assert!(new_danger(before, &format!("{before}{text}"), &[]).is_some(), "{text}");
        }
        let named = ["core.fsmonitor".to_owned()];
        assert_eq!(new_danger(before, &format!("{before}[core]\n\tfsmonitor = x\n"), &named), None);
    }
}
