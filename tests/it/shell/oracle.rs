//! Bash is the oracle: whatever it runs had been found, or was not understood.
//!
//! Each command runs for real in a sandbox where every program is a shim that notes its name. Nothing outside is in reach:
//! no network, no processes, no files but ones that are gone with it.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::{Command, Stdio},
};

use subagentd::{protocol::CommandWord, shell::ShellAnalysis};

use super::{
    generator,
    scene::{HOME, WORKSPACE, judged, rows},
};
use crate::built;

/// Compositions that are made beside the table.
const COMPOSED: usize = 200;

/// Fewer names than these, and the shims do not work.
const LEAST_NAMES: usize = 600;

/// Programs that are run after their shim noted them: they run others.
const REAL: &[&str] = &[
    "env", "xargs", "timeout", "nice", "ionice", "nohup", "setsid", "stdbuf", "find", "flock", "chrt",
    "taskset", "time",
];

/// Notes its name. Shells go on as bash, by their own name.
const SHIM: &str = r#"#!/tmp/judge/bash
name=${0##*/}
printf '%s\n' "$name" >> /tmp/judge/out/current
case $name in
    bash|sh|dash|ash|ksh) exec -a "$name" /tmp/judge/bash "$@" ;;
    REAL) exec "/tmp/judge/real/$name" "$@" ;;
esac
exit 0
"#;

/// Runs one text after the other; what the last one left behind is ended first.
const RUNNER: &str = r#"
ulimit -t 5 -f 8192 -n 256
cd /tmp/judge/out || exit 9
command_not_found_handle() { printf '%s\n' "$1" >> /tmp/judge/out/current; return 127; }
export -f command_not_found_handle
: > progress
for text in /tmp/judge/texts/*; do
    : > current
    /tmp/judge/real/mkdir -p /home/ann/shop/src /home/ann/shop/build /home/ann/bin
    cd /home/ann/shop || exit 9
    for file in a.txt b.rs x.sh c.bak list.txt notes.txt in.txt src/a.c; do : > "$file"; done
    printf 'one\ntwo\n' > list.txt
    IFS= read -r -d '' command < "$text"
    /tmp/judge/real/timeout -s KILL 2 /tmp/judge/bash -c "$command" < /dev/null > /dev/null 2>&1
    kill -9 -1 2> /dev/null
    cd /tmp/judge/out || exit 9
    /tmp/judge/real/mv current "${text##*/}.names"
done
printf done > progress
"#;

#[test]
fn every_name_that_bash_runs_had_been_found() {
    // Nothing else runs harmlessly whatever a text says.
    if !built::has_bubblewrap("bash as an oracle of the judge") {
        return;
    }
    let mut texts: Vec<String> = rows().into_iter().map(|row| row.command).collect();
    let (seed, composed) = generator::compositions(COMPOSED);
    texts.extend(composed);
    let judged: Vec<(String, ShellAnalysis)> = texts
        .into_iter()
        .map(|text| (text.clone(), judged(&text)))
        .filter(|(_, reading)| is_worth_running(reading))
        .collect();
    let ran = ran(judged.iter().map(|(text, _)| text.as_str()));
    let mut missed = Vec::new();
    let mut count = 0;
    for ((text, reading), names) in judged.iter().zip(&ran) {
        let found = found(reading);
        count += names.len();
        let unseen: Vec<&String> = names.iter().filter(|name| !found.contains(name.as_str())).collect();
        if !unseen.is_empty() {
            missed.push(format!("{text:?}\n  ran {unseen:?}, found {found:?}"));
        }
    }
    assert!(missed.is_empty(), "SUBAGENTD_SEED={seed}\n{}", missed.join("\n"));
    assert!(count >= LEAST_NAMES, "only {count} names were noted");
}

/// What is not understood asks, whatever it runs; and nobody starts a fork bomb to see what it is.
fn is_worth_running(reading: &ShellAnalysis) -> bool {
    reading.unknown.is_none() && !reading.findings.iter().any(|finding| finding.what.contains("fork bomb"))
}

/// By the last part of their paths.
fn found(reading: &ShellAnalysis) -> BTreeSet<&str> {
    let firsts =
        reading.commands.iter().filter_map(|command| command.words.first().and_then(CommandWord::known));
    firsts.map(|name| name.rsplit('/').next().unwrap_or(name)).collect()
}

/// For each text, the names of the programs that bash ran.
fn ran<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<BTreeSet<String>> {
    let folder = tempfile::tempdir().unwrap();
    let below = |name: &str| folder.path().join(name);
    for name in ["shims", "texts", "out"] {
        fs::create_dir(below(name)).unwrap();
    }
    let mut names: BTreeSet<String> = REAL.iter().map(|name| (*name).to_owned()).collect();
    let mut count = 0;
    for text in texts {
        fs::write(below("texts").join(format!("{count:05}")), format!("{text}\0")).unwrap();
        let is_name = |word: &&str| !word.is_empty() && !word.starts_with(['.', '-']) && word.len() < 64;
        let of_name = |letter: char| letter.is_ascii_alphanumeric() || "._-+".contains(letter);
        names.extend(text.split(|letter| !of_name(letter)).filter(is_name).map(str::to_owned));
        count += 1;
    }
    let shim = below("shims").join("judge-shim");
    fs::write(&shim, SHIM.replace("REAL", &REAL.join("|"))).unwrap();
    fs::set_permissions(&shim, fs::Permissions::from_mode(0o755)).unwrap();
    for name in names {
        symlink("judge-shim", below("shims").join(name)).unwrap();
    }
    fs::write(below("runner"), RUNNER).unwrap();
    sandbox(folder.path());
    assert_eq!(
        fs::read_to_string(below("out/progress")).unwrap(),
        "done",
        "the sandbox did not get through all texts"
    );
    let noted = |at: usize| fs::read_to_string(below("out").join(format!("{at:05}.names"))).unwrap();
    (0..count).map(|at| noted(at).lines().map(str::to_owned).collect()).collect()
}

fn sandbox(folder: &Path) {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let mut command = Command::new("bwrap");
    command.args(["--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]);
    command.args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
    for hidden in ["/tmp", "/home", "/root", "/run", "/var", "/etc", "/mnt", "/opt", "/srv"] {
        if Path::new(hidden).is_dir() {
            command.args(["--tmpfs", hidden]);
        }
    }
    command.args([
        "--ro-bind",
        "/usr/bin",
        "/tmp/judge/real",
        "--ro-bind",
        "/usr/bin/bash",
        "/tmp/judge/bash",
    ]);
    command.args(["--ro-bind", &path("texts"), "/tmp/judge/texts", "--bind", &path("out"), "/tmp/judge/out"]);
    command.args(["--ro-bind", &path("runner"), "/tmp/judge/runner"]);
    for programs in ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/bin", "/sbin"] {
        let is_folder = fs::symlink_metadata(programs).is_ok_and(|entry| entry.is_dir());
        if is_folder {
            command.args(["--ro-bind", &path("shims"), programs]);
        }
    }
    command.args([
        "--dir",
        WORKSPACE,
        "--setenv",
        "HOME",
        HOME,
        "--setenv",
        "PATH",
        "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    ]);
    command.args(["/tmp/judge/bash", "/tmp/judge/runner"]);
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
}
