//! What was built with these tests, and what the machine has that they run on.
//!
//! The programs are looked for beside the tests' own program and not where cargo put them: all of it can be taken to another
//! folder together, so `.ci/run` runs from below `/tmp` what it has built already.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use subagentd::sandbox::{SandboxMechanism, TEMPORARY};
use tempfile::TempDir;

use crate::support::MECHANISM;

/// What the tests need of bubblewrap: `required` = it is there, and no test is left out; `hidden` = it is not there.
const EXPECTED: &str = "SUBAGENTD_TESTS_BUBBLEWRAP";

/// The tests' own program lies in `deps` of the folder into which cargo builds.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let own = std::env::current_exe().unwrap();
    own.parent().unwrap().parent().unwrap().to_owned()
});

static DAEMON: LazyLock<String> = LazyLock::new(|| program("subagentd"));
static COMPANION: LazyLock<String> = LazyLock::new(|| program("subagent"));
static APART: LazyLock<PathBuf> = LazyLock::new(|| {
    let built = FOLDER.parent().unwrap().join("tmp");
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let is_apart = |folder: &PathBuf| !TEMPORARY.iter().any(|temporary| folder.starts_with(temporary));
    let apart = [Some(built), home].into_iter().flatten().find(is_apart);
    let apart = apart.expect("set HOME to a folder that does not lie in /tmp: these tests need such a place");
    std::fs::create_dir_all(&apart).unwrap();
    apart
});

/// A program of the product.
pub fn program(name: &str) -> String {
    let program = FOLDER.join(name);
    assert!(program.is_file(), "{} is not built", program.display());
    program.into_os_string().into_string().unwrap()
}

/// Copies a program that is to be executed. Another process writes it: one that is forked here meanwhile would have the file open,
/// and the kernel executes nothing that somebody may write.
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let copied =
        std::process::Command::new("cp").arg("--").arg(from.as_ref()).arg(to.as_ref()).status().unwrap();
    assert!(copied.success(), "{} is not copied", from.as_ref().display());
}

/// A program where a sandboxed command sees it: where the tests are built below a folder for temporary files, a copy that goes with the
/// folder it lies in.
pub fn seen_in_sandbox(program: impl AsRef<Path>) -> (PathBuf, Option<TempDir>) {
    let program = program.as_ref();
    if !TEMPORARY.iter().any(|temporary| program.starts_with(temporary)) {
        return (program.to_owned(), None);
    }
    let folder = tempfile::tempdir_in(apart()).unwrap();
    let copied = folder.path().join(program.file_name().unwrap());
    copy(program, &copied);
    (copied, Some(folder))
}

pub fn daemon() -> &'static str {
    &DAEMON
}

pub fn companion() -> &'static str {
    &COMPANION
}

/// A folder that can be written and does not lie in `/tmp`, of which a sandbox shows another one.
pub fn apart() -> &'static Path {
    &APART
}

/// Where bubblewrap lies, if it is installed.
pub fn bubblewrap() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|folder| folder.join("bwrap")).find(|it| it.is_file());
    match std::env::var(EXPECTED).as_deref() {
        Err(_) => found,
        Ok("required") => {
            assert!(
                found.is_some(),
                "bubblewrap is missing: install the package `bubblewrap`, which has `bwrap`"
            );
            found
        }
        Ok("hidden") => {
            assert_eq!(found, None, "bubblewrap is hidden, and yet it is found");
            found
        }
        Ok(other) => panic!("{EXPECTED}={other} means nothing: say `required` or `hidden`, or leave it out"),
    }
}

/// Whether a test that is about bubblewrap can run; one that cannot says so, also where the words of tests that pass are
/// kept back.
pub fn has_bubblewrap(what: &str) -> bool {
    let is_there = bubblewrap().is_some();
    if !is_there {
        let told = format!("left out, since bubblewrap is not installed: {what}\n");
        std::io::stderr().write_all(told.as_bytes()).unwrap();
    }
    is_there
}

/// The check says whether it is there, and whoever hides it must have hidden it from what is tested as well.
#[test]
fn bubblewrap_is_there_where_it_must_be_and_is_used() {
    let is_used = matches!(*MECHANISM, SandboxMechanism::Bubblewrap { .. });
    assert_eq!(is_used, bubblewrap().is_some(), "{:?}", *MECHANISM);
}
