//! Bash and the real programs are the oracle: a text of no higher risk than medium that is understood writes nothing but what
//! was told, and runs nothing that was not.
//!
//! Each text runs in a sandbox without network, in a workspace that is made anew for it. `./evil` notes beside the workspace
//! that it ran. `SUBAGENTD_TRIALS=full` for all of them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use subagentd::{
    protocol::{CommandWord, ResourceAccess, Risk},
    shell::{CandidateKind, CandidateName, ShellAnalysis, ShellEnvironment, read},
};

use super::{
    generator::{Dice, seed},
    hostile::hostile,
    scene::{HOME, WORKSPACE},
};
use crate::built;

const TEXTS: usize = 300;
const ALL_TEXTS: usize = 20_000;

/// Of so many texts one at least must be worth running, or the generator only makes what nobody understands.
const TEXTS_FOR_A_RUN: usize = 10;

/// What a text may write to without a word: git's own files, in a workspace that is a repository.
const OWN_OF_GIT: &str = "/home/ann/shop/.git";

const NOTE: &str = "/home/ann/ran";

/// Makes the workspace, runs one text after the other, and notes which files are new, changed or gone.
const RUNNER: &str = r#"
export GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat
mkdir -p /tmp/template/shop/src /tmp/template/out /tmp/template/bin || exit 9
cd /tmp/template/shop || exit 9
printf 'one\ntwo x\nthree/3\n' > a.txt
printf 'x 1\ny 2\n' > b.txt
printf 'a.txt\nb.txt\n' > list
printf 'int main;\n' > src/a.c
printf '#!/bin/sh\necho ran >> /home/ann/ran\n' > evil
chmod +x evil
cp evil ../bin/evil
ln -s /home/ann/out link
git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -qm one || exit 9
rm -rf .git/hooks
find /tmp/template -exec touch -h -d 2001-01-01 {} +
cp -a /tmp/template /tmp/first
mkdir -p /tmp/far
cd /tmp/notes || exit 9
for text in /tmp/texts/*; do
    cd / && rm -rf /home/ann /tmp/far/* && cp -a /tmp/template /home/ann || exit 9
    IFS= read -r -d '' command < "$text"
    cd /home/ann/shop || exit 9
    (ulimit -t 5 -f 8192 -n 256; exec timeout -s KILL 2 bash -c "$command") < /dev/null > /dev/null 2>&1
    kill -9 -1 2> /dev/null
    cd / && {
        find /home/ann /tmp/far -newermt 2002-01-01 ! -type d
        for kept in shop/{a.txt,b.txt,list,src/a.c,evil} bin/evil; do
            [ -e "/home/ann/$kept" ] || echo "/home/ann/$kept"
        done
    } > "/tmp/notes/${text##*/}"
done
printf done > /tmp/notes/progress
"#;

#[test]
fn what_is_understood_writes_and_runs_nothing_that_was_not_told() {
    // Nothing else runs harmlessly whatever a text says.
    if !built::has_bubblewrap("bash as an oracle of what a text writes") {
        return;
    }
    let is_full = std::env::var("SUBAGENTD_TRIALS").is_ok_and(|it| it == "full");
    let count = if is_full { ALL_TEXTS } else { TEXTS };
    let seed = seed();
    let mut dice = Dice::new(seed);
    let texts: Vec<String> = (0..count).map(|_| hostile(&mut dice)).collect();
    let judged: Vec<(String, ShellAnalysis)> = texts
        .into_iter()
        .map(|text| (text.clone(), judged(&text)))
        .filter(|(_, reading)| reading.unknown.is_none() && reading.risk <= Risk::Medium)
        .collect();
    println!("SUBAGENTD_SEED={seed}: {} of {count} texts are understood and run", judged.len());
    assert!(judged.len() * TEXTS_FOR_A_RUN >= count, "SUBAGENTD_SEED={seed}: only {}", judged.len());
    let noted = ran(judged.iter().map(|(text, _)| text.as_str()));
    let mut missed = Vec::new();
    let mut changed = 0;
    for ((text, reading), paths) in judged.iter().zip(&noted) {
        changed += paths.len();
        let unseen: Vec<&PathBuf> = paths.iter().filter(|path| !is_told(path, reading)).collect();
        if !unseen.is_empty() {
            missed.push(format!("{text:?}\n  changed {unseen:?}, told {:?}", reading.accesses));
        }
    }
    assert!(missed.is_empty(), "SUBAGENTD_SEED={seed}: {}\n{}", missed.len(), missed.join("\n"));
    assert!(changed > 0, "SUBAGENTD_SEED={seed}: nothing was written at all");
}

/// Whether a file is one that the reading names, or lies in such a folder. A note of a program counts where that is among the
/// commands.
fn is_told(path: &Path, reading: &ShellAnalysis) -> bool {
    if path == Path::new(NOTE) {
        let names =
            reading.commands.iter().filter_map(|command| command.words.first().map(CommandWord::text));
        return names.into_iter().any(|name| name.ends_with("evil"));
    }
    // Their names only begin with what was told.
    let cuts = reading.commands.iter().filter_map(|command| command.words.first().map(CommandWord::text));
    let cuts = cuts.into_iter().any(|name| matches!(name, "split" | "csplit"));
    let is_named = |access: &ResourceAccess| match access {
        ResourceAccess::Write { path: told } if cuts => {
            path.to_string_lossy().starts_with(&*told.to_string_lossy())
        }
        ResourceAccess::Write { path: told } => path.starts_with(told),
        _ => false,
    };
    path.starts_with(OWN_OF_GIT) || reading.accesses.iter().any(is_named)
}

/// What lies in the workspace.
fn entries() -> Vec<CandidateName> {
    let of = |kind: CandidateKind| move |name: &str| CandidateName { name: name.to_owned(), kind };
    let files = ["a.txt", "b.txt", "list", "evil"].map(of(CandidateKind::Other));
    let others = [of(CandidateKind::Folder)("src"), of(CandidateKind::Alias)("link")];
    files.into_iter().chain(others).collect()
}

/// In a workspace with a link `link` that leads out of it.
fn judged(text: &str) -> ShellAnalysis {
    let resolve = |path: &Path| match path.strip_prefix(Path::new(WORKSPACE).join("link")) {
        Ok(rest) => Path::new("/home/ann/out").join(rest),
        Err(_) => path.to_owned(),
    };
    read(
        text,
        &ShellEnvironment {
            directory: Path::new(WORKSPACE),
            home: Some(Path::new(HOME)),
            roots: &[PathBuf::from(WORKSPACE)],
            autorun: &[],
            guarded: &[],
            secret: &[],
            resolve: &resolve,
            entries: &|folder: &Path| {
                Some(if folder == Path::new(WORKSPACE) { entries() } else { Vec::new() })
            },
            is_wanted: &|| true,
        },
    )
}

/// For each text, the files that it changed.
fn ran<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Vec<PathBuf>> {
    let folder = tempfile::tempdir().unwrap();
    let below = |name: &str| folder.path().join(name);
    for name in ["texts", "notes"] {
        fs::create_dir(below(name)).unwrap();
    }
    let mut count = 0;
    for text in texts {
        fs::write(below("texts").join(format!("{count:05}")), format!("{text}\0")).unwrap();
        count += 1;
    }
    fs::write(below("runner"), RUNNER).unwrap();
    let path = |name: &str| below(name).to_str().unwrap().to_owned();
    let mut command = Command::new("bwrap");
    command.args(["--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]);
    command.args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
    for hidden in ["/tmp", "/home", "/root", "/run", "/var", "/mnt", "/opt", "/srv"] {
        if Path::new(hidden).is_dir() {
            command.args(["--tmpfs", hidden]);
        }
    }
    command.args(["--ro-bind", &path("texts"), "/tmp/texts", "--bind", &path("notes"), "/tmp/notes"]);
    command.args(["--ro-bind", &path("runner"), "/tmp/runner"]);
    command.args(["--setenv", "HOME", HOME, "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin"]);
    let output = command.args(["bash", "/tmp/runner"]).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    let noted = |name: &str| fs::read_to_string(below("notes").join(name)).unwrap();
    assert_eq!(noted("progress"), "done", "the sandbox did not get through all texts");
    (0..count).map(|at| noted(&format!("{at:05}")).lines().map(PathBuf::from).collect()).collect()
}
