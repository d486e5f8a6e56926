//! What is taken of that which came, what is it called here, and what is its digest?

use std::path::{Path, PathBuf};

use super::{git::GitTreeEntry, refusal::too_large};
use config::problem;
use protocol::{FileProblem, FileProblemCode, ProblemSeverity, RpcError};
use trust::digest;
use web::WebTarget;

/// Files of a repository that may be agents'; as many as a folder of agents may hold.
const MOST_FILES: usize = 10_000;
/// Bytes of them together. They are held in memory, and ten thousand usual ones have half of it.
const MOST_BYTES: u64 = 16 << 20;
/// Folders of a URL that are kept: enough to see whose format it is (`.claude/agents/team/x.md`).
const FOLDERS_OF_URL: usize = 4;

/// Folders at a repository's root in which products keep their agents. All others that begin with a dot are nobody's agents.
const DOTTED: [&str; 4] = [".subagentd", ".gemini", ".claude", ".opencode"];

/// What came, in memory.
pub struct FetchedFiles {
    /// As its folder is called while it is read: agents may come to be called after it.
    pub name: String,
    /// What the files lie below, for people.
    pub url: String,
    pub files: Vec<FetchedFile>,
    /// Of a repository.
    pub commit: Option<String>,
    pub problems: Vec<FileProblem>,
}

pub struct FetchedFile {
    /// Below the root. Never leads out of it.
    pub path: String,
    pub bytes: Vec<u8>,
}

impl FetchedFiles {
    /// One file by its URL.
    pub fn file(target: &WebTarget, bytes: Vec<u8>) -> FetchedFiles {
        let url = target.url();
        let segments: Vec<String> = url.path().split('/').map(plain).filter(|it| !it.is_empty()).collect();
        let from = segments.len().saturating_sub(FOLDERS_OF_URL + 1);
        let path = match segments.is_empty() {
            true => "agent.md".to_owned(),
            false => segments[from..].join("/"),
        };
        let base = url.as_str().split(['?', '#']).next().unwrap_or_default();
        // What its file lies below; the rest is its path, as long as nothing of it had to be written otherwise.
        let (name, below) = (url.host_str().map(plain).unwrap_or_default(), base.strip_suffix(&path));
        let url = below.unwrap_or(base).trim_end_matches('/').to_owned();
        FetchedFiles {
            name,
            url,
            files: vec![FetchedFile { path, bytes }],
            commit: None,
            problems: Vec::new(),
        }
    }

    /// A repository's commit.
    pub fn repository(
        address: &str,
        files: Vec<FetchedFile>,
        commit: String,
        problems: Vec<FileProblem>,
    ) -> FetchedFiles {
        let url = address.trim_end_matches('/').to_owned();
        let name = plain(url.trim_end_matches(".git").rsplit(['/', ':']).next().unwrap_or_default());
        let name = if name.is_empty() { "repository".to_owned() } else { name };
        FetchedFiles { name, url, files, commit: Some(commit), problems }
    }
}

/// A part of a URL as the name of a file or folder; empty where it can be none.
fn plain(part: &str) -> String {
    let letter = |it: char| if it.is_ascii_alphanumeric() || "._-".contains(it) { it } else { '-' };
    let name: String = part.chars().map(letter).take(200).collect();
    if name.chars().all(|it| it == '.') { String::new() } else { name }
}

/// What may be agents' files.
pub struct AgentFileCandidates {
    /// Path and object.
    pub files: Vec<(String, String)>,
    /// Of what looks like one and is none.
    pub problems: Vec<FileProblem>,
}

/// What of a commit may be agents' files.
pub fn candidates(entries: Vec<GitTreeEntry>, address: &str) -> Result<AgentFileCandidates, RpcError> {
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    let mut warn = |path: &str, message: &str| {
        let found = problem(&below(address, path), None, FileProblemCode::Unreadable, message);
        problems.push(FileProblem { severity: ProblemSeverity::Warning, ..found });
    };
    let is_markdown = |path: &[u8]| path.len() > 3 && path[path.len() - 3..].eq_ignore_ascii_case(b".md");
    for entry in entries.into_iter().filter(|entry| is_markdown(&entry.path)) {
        let Ok(path) = String::from_utf8(entry.path.clone()) else {
            warn(&String::from_utf8_lossy(&entry.path), "has a name that is not UTF-8, and is not taken");
            continue;
        };
        let parts: Vec<&str> = path.split('/').collect();
        if parts.iter().any(|part| ["", ".", ".."].contains(part)) || path.contains(char::is_control) {
            warn(
                &path.escape_default().to_string(),
                "has a path that no file of a repository has, and is not taken",
            );
            continue;
        }
        let is_hidden = |(depth, part): (usize, &&str)| {
            part.starts_with('.') && !(depth == 0 && parts.len() > 1 && DOTTED.contains(part))
        };
        if parts.iter().enumerate().any(is_hidden) {
            continue;
        }
        if entry.is_link() {
            warn(&path, "is a link, which is not followed");
        } else if entry.is_file() {
            files.push((path, entry.object));
        }
    }
    match files.len() <= MOST_FILES {
        true => Ok(AgentFileCandidates { files, problems }),
        false => Err(too_large(
            address,
            &format!("has {} Markdown files, and at most {MOST_FILES} are taken", files.len()),
        )),
    }
}

pub fn refuse_too_much(sizes: impl Iterator<Item = u64>, shown: &str) -> Result<(), RpcError> {
    let bytes: u64 = sizes.sum();
    match bytes <= MOST_BYTES {
        true => Ok(()),
        false => {
            let most = MOST_BYTES >> 20;
            Err(too_large(
                shown,
                &format!("has {} MiB of Markdown files, and at most {most} are taken", bytes >> 20),
            ))
        }
    }
}

/// A file's URL, as far as it has one.
pub fn below(address: &str, path: &str) -> PathBuf {
    PathBuf::from(format!("{}/{path}", address.trim_end_matches('/')))
}

/// True if a file begins as agents' files do. What is in UTF-16 is not looked into.
pub fn has_front_matter(bytes: &[u8]) -> bool {
    let is_wide = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let first = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
    is_wide || first == Some(b"---")
}

/// See `AgentOrigin::digest`. The files are sorted by their paths.
pub fn digest_of(files: &[FetchedFile]) -> String {
    let line = |file: &FetchedFile| {
        let digest = digest(&file.bytes);
        let hex = digest.strip_prefix("sha256:").unwrap_or(&digest);
        format!("{hex}  {}\n", file.path)
    };
    digest(files.iter().map(line).collect::<String>().as_bytes())
}

/// Names of files while they are read, as people know them.
pub struct SourceNames<'a> {
    pub folder: &'a Path,
    pub url: &'a str,
}

impl SourceNames<'_> {
    pub fn path(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(self.folder) {
            Ok(rest) if rest.as_os_str().is_empty() => PathBuf::from(self.url),
            Ok(rest) => PathBuf::from(format!("{}/{}", self.url, rest.display())),
            Err(_) => path.to_owned(),
        }
    }

    pub fn problem(&self, problem: &mut FileProblem) {
        problem.path = self.path(&problem.path);
        problem.message = problem.message.replace(&*self.folder.to_string_lossy(), self.url);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_s_file_is_called_as_its_url_ends() {
        let cases = [
            ("https://a.example/x.md", "https://a.example", "x.md"),
            ("https://a.example/o/.claude/agents/x.md?token=1", "https://a.example", "o/.claude/agents/x.md"),
            ("https://a.example/1/2/3/4/5/x.md", "https://a.example/1", "2/3/4/5/x.md"),
            ("https://a.example/", "https://a.example", "agent.md"),
            ("https://a.example/%2e%2e%2fetc/", "https://a.example/%2e%2e%2fetc", "-2e-2e-2fetc"),
        ];
        for (url, base, path) in cases {
            let taken = FetchedFiles::file(&WebTarget::parse(url).unwrap(), Vec::new());
            assert_eq!((taken.url.as_str(), taken.files[0].path.as_str()), (base, path), "{url}");
        }
    }

    #[test]
    fn only_files_that_may_be_agents_are_taken() {
        let entry = |mode: &str, path: &str| GitTreeEntry {
            mode: mode.to_owned(),
            object: path.to_owned(),
            path: path.as_bytes().to_owned(),
        };
        let entries = vec![
            entry("100644", "README.MD"),
            entry("100755", ".claude/agents/a.md"),
            entry("100644", "src/main.rs"),
            entry("120000", "passwd.md"),
            entry("160000", "module.md"),
            entry("100644", ".git/hooks/a.md"),
            entry("100644", "a/.git/b.md"),
            entry("100644", ".claude/.hidden/b.md"),
            entry("100644", ".claude"),
            entry("100644", ".md"),
            entry("100644", "../up.md"),
            entry("100644", "/root.md"),
            entry("100644", "a/./b.md"),
            entry("100644", "a\n.md"),
        ];
        let AgentFileCandidates { files, problems } = candidates(entries, "https://x.example/r.git").unwrap();
        let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["README.MD", ".claude/agents/a.md"]);
        let told: Vec<String> = problems.iter().map(|it| it.path.display().to_string()).collect();
        let expected = ["passwd.md", "../up.md", "/root.md", "a/./b.md", "a\\n.md"];
        assert_eq!(told, expected.map(|path| format!("https://x.example/r.git/{path}")));
    }

    #[test]
    fn the_digest_is_that_of_what_sha256sum_prints() {
        let file =
            |path: &str, text: &str| FetchedFile { path: path.to_owned(), bytes: text.as_bytes().to_owned() };
        // printf a > a.md; printf b > b.md; sha256sum a.md b.md | sha256sum
        assert_eq!(
            digest_of(&[file("a.md", "a"), file("b.md", "b")]),
            "sha256:735d8ea1915d2743e085e635aad8417a5ca4de8cfeda58d5356033021e2d87ed"
        );
        assert_ne!(digest_of(&[file("a.md", "a")]), digest_of(&[file("b.md", "a")]));
    }

    #[test]
    fn agents_begin_with_a_fence() {
        for (bytes, expected) in [
            (&b"---\nname: x\n---\n"[..], true),
            (b"\xef\xbb\xbf\r\n  \r\n--- \r\n", true),
            (b"\xff\xfe-\0", true),
            (b"# About\n---\n", false),
            (b"----\n", false),
            (b"", false),
        ] {
            assert_eq!(has_front_matter(bytes), expected, "{}", String::from_utf8_lossy(bytes));
        }
    }
}
