//! Which files of a workspace did a person acknowledge, and which are still what they were then? (spec 02, "Project agents
//! are untrusted")
//!
//! Trust is a set of digests by workspace and path. A workspace is one root folder under its canonical path: one that lies
//! within another, or that another name leads to, has no part in the other's trust. This module hides how that is kept;
//! it never knows what stands in the files, and looks at the disk only to tell a folder's canonical path.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use sha2::{Digest as _, Sha256};

use protocol::{AcknowledgedAgentFile, TrustedFile, WorkspaceTrusted};

/// Everything that a guard's mark begins with.
const GUARD: &str = "guard:";

/// How a file stands with the people who may acknowledge it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AcknowledgementState {
    /// Nobody has acknowledged any state of it.
    Never,
    /// It was acknowledged, and is another one since.
    Before,
    /// It was acknowledged as it is now.
    Now,
}

/// What people said about all workspaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustRecords {
    /// By canonical path.
    workspaces: BTreeMap<String, AcknowledgedFiles>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct AcknowledgedFiles {
    trusted: bool,
    /// Digests by path below the root. Of one path there may be several: branches are changed to and fro.
    files: BTreeMap<String, BTreeSet<String>>,
    /// The digest that was acknowledged last, by path.
    last: BTreeMap<String, String>,
}

impl TrustRecords {
    /// Takes in what a person said, as the log has it.
    pub fn take(&mut self, said: &WorkspaceTrusted) {
        if !said.trusted {
            self.workspaces.insert(said.workspace.clone(), AcknowledgedFiles::default());
            return;
        }
        let acknowledged = self.workspaces.entry(said.workspace.clone()).or_default();
        acknowledged.trusted |= !said.files_only;
        for TrustedFile { path, digest } in &said.files {
            acknowledged.files.entry(path.clone()).or_default().insert(digest.clone());
            if !digest.starts_with(GUARD) {
                acknowledged.last.insert(path.clone(), digest.clone());
            }
        }
    }

    /// Of the file at `path` below `root`, whose bytes have this digest.
    pub fn consent(&self, root: &str, path: &str, digest: &str) -> AcknowledgementState {
        match self.workspaces.get(root).and_then(|it| it.files.get(path)) {
            None => AcknowledgementState::Never,
            Some(digests) if digests.contains(digest) => AcknowledgementState::Now,
            Some(_) => AcknowledgementState::Before,
        }
    }

    /// The same for what runs by itself: only what was acknowledged last counts. An earlier state of it, which whoever writes the
    /// workspace can put back, may lack just what made somebody change it.
    pub fn last_consent(&self, root: &str, path: &str, digest: &str) -> AcknowledgementState {
        let last = self.workspaces.get(root).and_then(|it| it.last.get(path));
        match self.consent(root, path, digest) {
            AcknowledgementState::Now if last.is_some_and(|last| last != digest) => {
                AcknowledgementState::Before
            }
            consent => consent,
        }
    }

    /// True if what this state of an agent's file does by itself counts: nobody has taken the acknowledgement back, or acknowledged
    /// another state since.
    pub fn still_has(&self, file: &AcknowledgedAgentFile) -> bool {
        self.last_consent(&file.root, &file.path, &file.digest) == AcknowledgementState::Now
    }

    /// True if a person said so of this root.
    pub fn is_trusted(&self, root: &str) -> bool {
        self.workspaces.get(root).is_some_and(|it| it.trusted)
    }

    /// Everything that was acknowledged below a root. Of each path what was acknowledged last comes last: said again in this order it
    /// stays so.
    pub fn files(&self, root: &str) -> impl Iterator<Item = TrustedFile> {
        self.workspaces.get(root).into_iter().flat_map(|it| {
            it.files.iter().flat_map(|(path, digests)| {
                let last = it.last.get(path);
                let earlier = digests.iter().filter(move |digest| Some(*digest) != last);
                earlier.chain(last).map(|digest| TrustedFile { path: path.clone(), digest: digest.clone() })
            })
        })
    }

    /// Everything that the file at `path` guarded, in any state of it that was acknowledged: events, and what each was about.
    pub fn guards(&self, root: &str, path: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
        let digests = self.workspaces.get(root).and_then(|it| it.files.get(path));
        let marks = digests.into_iter().flatten().filter_map(|digest| digest.strip_prefix(GUARD));
        marks.map(|mark| mark.split_once(' ').map_or((mark, None), |(event, about)| (event, Some(about))))
    }

    /// The roots that people spoke of, and whether each is trusted.
    pub fn workspaces(&self) -> impl Iterator<Item = (&str, bool)> {
        self.workspaces.iter().map(|(root, it)| (root.as_str(), it.trusted))
    }
}

/// Stands among the digests of a file that was acknowledged, and says that it guards this event, and about what. No file has
/// such a digest.
pub fn guard_mark(event: &str, about: Option<&str>) -> String {
    match about {
        None => format!("{GUARD}{event}"),
        Some(about) => format!("{GUARD}{event} {about}"),
    }
}

/// The one path that means this folder; `None` when it is not there, or has a name that is not UTF-8.
pub fn canonical(root: &Path) -> Option<String> {
    fs::canonicalize(root).ok()?.into_os_string().into_string().ok()
}

/// SHA-256, as `sha256:<hex>`.
pub fn digest(bytes: &[u8]) -> String {
    let mut digest = "sha256:".to_owned();
    for byte in Sha256::digest(bytes) {
        digest.push_str(&format!("{byte:02x}"));
    }
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(workspace: &str, trusted: bool, files: &[(&str, &str)]) -> WorkspaceTrusted {
        let file = |(path, digest): &(&str, &str)| TrustedFile {
            path: (*path).to_owned(),
            digest: (*digest).to_owned(),
        };
        WorkspaceTrusted {
            workspace: workspace.to_owned(),
            trusted,
            files: files.iter().map(file).collect(),
            files_only: false,
        }
    }

    #[test]
    fn consent_is_for_one_path_below_one_root_as_it_was() {
        let mut trust = TrustRecords::default();
        trust.take(&said("/w", true, &[("a.md", "1"), ("a.md", "2")]));
        for (root, path, digest, expected) in [
            ("/w", "a.md", "1", AcknowledgementState::Now),
            ("/w", "a.md", "2", AcknowledgementState::Now),
            ("/w", "a.md", "3", AcknowledgementState::Before),
            ("/w", "b.md", "1", AcknowledgementState::Never),
            ("/w/a.md", "a.md", "1", AcknowledgementState::Never),
            ("/w/..", "a.md", "1", AcknowledgementState::Never),
            ("/", "w/a.md", "1", AcknowledgementState::Never),
        ] {
            assert_eq!(trust.consent(root, path, digest), expected, "{root} {path} {digest}");
        }
        assert!(trust.is_trusted("/w") && !trust.is_trusted("/"));
    }

    #[test]
    fn who_acknowledges_a_file_says_nothing_of_its_workspace() {
        let mut trust = TrustRecords::default();
        let only = |digest| WorkspaceTrusted { files_only: true, ..said("/w", true, &[("a.md", digest)]) };
        trust.take(&only("1"));
        assert_eq!(
            (trust.consent("/w", "a.md", "1"), trust.is_trusted("/w")),
            (AcknowledgementState::Now, false)
        );
        trust.take(&said("/w", true, &[]));
        trust.take(&only("2"));
        assert_eq!(
            (trust.consent("/w", "a.md", "2"), trust.is_trusted("/w")),
            (AcknowledgementState::Now, true)
        );
    }

    #[test]
    fn what_a_file_guarded_is_known_when_it_is_another_one() {
        let mut trust = TrustRecords::default();
        let (bash, all) = (guard_mark("PreToolUse", Some("Bash|Edit .*")), guard_mark("Stop", None));
        trust.take(&said("/w", true, &[("a.json", "1"), ("a.json", &bash), ("a.json", &all)]));
        let guards: Vec<_> = trust.guards("/w", "a.json").collect();
        assert_eq!(guards, [("PreToolUse", Some("Bash|Edit .*")), ("Stop", None)]);
        assert_eq!(trust.guards("/w", "b.json").count(), 0);
        assert_eq!(trust.consent("/w", "a.json", "2"), AcknowledgementState::Before);
    }

    #[test]
    fn what_is_said_again_leaves_the_last_state_the_last() {
        let mut trust = TrustRecords::default();
        let mark = guard_mark("Stop", None);
        trust.take(&said("/w", true, &[("g.sh", "2"), ("g.sh", "3"), ("g.sh", &mark), ("g.sh", "1")]));
        let mut again = TrustRecords::default();
        let files: Vec<TrustedFile> = trust.files("/w").collect();
        again.take(&WorkspaceTrusted { files, ..said("/w", true, &[]) });
        assert_eq!(again, trust);
    }

    #[test]
    fn of_what_runs_by_itself_only_the_last_acknowledged_state_counts() {
        let mut trust = TrustRecords::default();
        trust.take(&said("/w", true, &[("g.sh", "1"), ("g.sh", &guard_mark("Stop", None))]));
        trust.take(&said("/w", true, &[("g.sh", "2"), ("g.sh", &guard_mark("Stop", None))]));
        for (digest, expected) in [
            ("1", AcknowledgementState::Before),
            ("2", AcknowledgementState::Now),
            ("3", AcknowledgementState::Before),
        ] {
            assert_eq!(trust.last_consent("/w", "g.sh", digest), expected, "{digest}");
        }
        // Whoever wants the first back says so.
        trust.take(&said("/w", true, &[("g.sh", "1")]));
        assert_eq!(trust.last_consent("/w", "g.sh", "1"), AcknowledgementState::Now);
        assert_eq!(trust.last_consent("/w", "x.sh", "1"), AcknowledgementState::Never);
    }

    #[test]
    fn what_is_taken_back_was_never_said() {
        let mut trust = TrustRecords::default();
        trust.take(&said("/w", true, &[("a.md", "1")]));
        trust.take(&said("/v", true, &[("a.md", "1")]));
        trust.take(&said("/w", false, &[]));
        assert_eq!(trust.consent("/w", "a.md", "1"), AcknowledgementState::Never);
        assert_eq!(trust.consent("/v", "a.md", "1"), AcknowledgementState::Now);
        assert_eq!(trust.workspaces().collect::<Vec<_>>(), [("/v", true), ("/w", false)]);
        // A refusal that names files acknowledges none.
        trust.take(&said("/v", false, &[("a.md", "1")]));
        assert_eq!(trust.files("/v").count(), 0);
    }
}
