//! What is there after commands that overlapped?

use std::fs;

use super::*;

const PLAIN: &str = "[core]\n";
const EVIL: &str = "[core]\n\tfsmonitor = x\n";

struct Overlapping {
    root: PathBuf,
    guards: RepositoryGuards,
    _folder: tempfile::TempDir,
}

impl Overlapping {
    fn new() -> Overlapping {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        repository(&root);
        fs::write(root.join(".git/hooks/pre-push"), "theirs").unwrap();
        Overlapping { root, guards: RepositoryGuards::default(), _folder: folder }
    }

    /// Begins a command whose words name these settings.
    fn begin(&self, named: &[&str]) -> RepositoryGuard {
        self.begin_as(named, false)
    }

    fn begin_as(&self, named: &[&str], is_at_once: bool) -> RepositoryGuard {
        let named = named.iter().copied().map(str::to_owned).collect();
        guarding_beside(&self.root, GuardedSettings::Written { named, is_at_once }, &self.guards)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.root.join(".git").join(name), text).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.root.join(".git").join(name)).unwrap_or_default()
    }

    fn plant(&self) {
        self.write("hooks/pre-commit", "evil");
        self.write("hooks/pre-push", "evil");
        self.write("config", EVIL);
    }

    fn is_clean(&self) -> bool {
        self.text("hooks/pre-commit").is_empty()
            && self.text("hooks/pre-push") == "theirs"
            && self.text("config") == PLAIN
    }
}

fn is_told(guard: &RepositoryGuard) -> bool {
    guard.watched.ending.lock().unwrap().why.is_some()
}

/// A hook or setting that a command made which goes on is not what the next one found there.
#[test]
fn what_one_command_planted_another_does_not_put_back_or_keep() {
    let at = Overlapping::new();
    // The first one ends first; what it planted comes again by the second, and by a third that never saw the first.
    let first = at.begin(&[]);
    at.plant();
    let second = at.begin(&[]);
    drop(first);
    assert!(at.is_clean(), "the first");
    at.plant();
    let third = at.begin(&[]);
    drop(second);
    assert!(at.is_clean(), "the second");
    at.plant();
    drop(third);
    assert!(at.is_clean(), "the third");
    // The second one ends first: the first one's end sees to it.
    let first = at.begin(&[]);
    at.plant();
    let second = at.begin(&[]);
    at.write("hooks/pre-rebase", "evil");
    at.write("hooks/pre-push", "evil, too");
    at.write("config", &format!("{EVIL}\teditor = x\n"));
    drop(second);
    assert_eq!(at.text("hooks/pre-rebase"), "", "the inner one's own");
    assert_eq!((at.text("hooks/pre-push").as_str(), at.text("config").as_str()), ("theirs", PLAIN));
    drop(first);
    assert!(at.is_clean(), "the outer one");
    // Where nothing goes on, what is there is a person's.
    at.write("hooks/pre-commit", "theirs, too");
    drop(at.begin(&[]));
    assert_eq!(at.text("hooks/pre-commit"), "theirs, too");
    // What could write nothing of it has not made it either, as a server.
    let server = guarding_beside(&at.root, GuardedSettings::Covered, &at.guards);
    at.write("hooks/post-merge", "a person's");
    drop(at.begin(&[]));
    drop(server);
    assert_eq!(at.text("hooks/post-merge"), "a person's");
}

/// A person allowed words that name it.
#[test]
fn what_one_command_was_allowed_to_set_stays_whoever_ends_first() {
    const ALIAS: &str = "[core]\n[alias]\n\tx = !y\n";
    for is_set_late in [false, true] {
        for inner_first in [false, true] {
            let at = Overlapping::new();
            let set = |is_now: bool| {
                if is_now {
                    at.write("config", ALIAS);
                }
            };
            let outer = at.begin(&["alias.x"]);
            set(!is_set_late);
            let inner = at.begin_as(&[], true);
            set(is_set_late);
            assert_eq!(inner.watched.look(), outer.watched.look());
            assert!(!is_told(&inner) && !is_told(&outer), "nobody is ended");
            let (one, other) = if inner_first { (inner, outer) } else { (outer, inner) };
            drop(one);
            assert_eq!(at.text("config"), ALIAS, "{is_set_late} {inner_first}");
            drop(other);
            assert_eq!(at.text("config"), ALIAS, "{is_set_late} {inner_first}");
        }
    }
    // The other way round: the one that began later.
    let at = Overlapping::new();
    let outer = at.begin(&[]);
    let inner = at.begin(&["alias.x"]);
    at.write("config", ALIAS);
    drop(inner);
    drop(outer);
    assert_eq!(at.text("config"), ALIAS);
    // With the last of them ends what its words allowed.
    let (outer, inner) = (at.begin(&["alias.x"]), at.begin(&[]));
    drop(outer);
    let last = at.begin(&[]);
    at.write("config", "[core]\n[alias]\n\tx = !evil\n");
    drop(inner);
    drop(last);
    assert_eq!(at.text("config"), ALIAS);
}

/// What was there when a command began is none of its doing, and a person's own change while another goes on ends nobody.
#[test]
fn what_was_there_when_a_command_began_ends_nobody() {
    let at = Overlapping::new();
    let first = at.begin(&[]);
    at.plant();
    let second = at.begin_as(&[], true);
    second.watched.look();
    at.write("config", &format!("{EVIL}[user]\n\tname = z\n"));
    second.watched.look();
    assert!(!is_told(&first) && !is_told(&second));
    assert_eq!(at.text("hooks/pre-commit"), "evil", "left to the first one's end");
    drop(first);
    assert!(at.text("config") == PLAIN && at.text("hooks/pre-push") == "theirs");
    second.watched.look();
    assert!(!is_told(&second) && at.text("config") == PLAIN);
    // From then on it is its own doing.
    at.plant();
    second.watched.look();
    assert!(is_told(&second));
    drop(second);
    assert!(at.is_clean());
}

/// The next daemon knows what any of them was allowed.
#[test]
fn a_killed_daemons_commands_are_looked_at_together() {
    const ALIAS: &str = "[core]\n[alias]\n\tx = !y\n";
    let at = Overlapping::new();
    let state = tempfile::tempdir().unwrap();
    let notes = RepositoryNotes::new(state.path());
    let mut outer = at.begin(&[]);
    outer.note_in(&notes).unwrap();
    at.write("hooks/pre-commit", "evil");
    let mut inner = at.begin(&["alias.x"]);
    inner.note_in(&notes).unwrap();
    at.write("config", ALIAS);
    for killed in [outer, inner] {
        std::mem::forget(killed);
    }
    let done = RepositoryNote::look_at_left(&RepositoryNotes::new(state.path()));
    assert_eq!(at.text("config"), ALIAS, "{done:?}");
    assert_eq!(at.text("hooks/pre-commit"), "", "{done:?}");
}
