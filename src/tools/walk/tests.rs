//! Does a walk find what ignore rules leave, in order, and stop?

use std::{
    collections::BTreeSet,
    fs,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::*;
use crate::tests::Bench;

fn found(bench: &Bench, start: &str, respects_git: bool) -> Vec<String> {
    let workspace = &bench.workspace;
    let start = workspace.resolve(start).unwrap();
    let stop = CancellationToken::new();
    let walk = walk(&WalkRequest { workspace, start: &start, respects_git, stop: &stop }).unwrap();
    assert_eq!(walk.notes(), Vec::<String>::new());
    walk.files.iter().map(|found| workspace.shown(&found.place)).collect()
}

#[test]
fn files_are_found_in_the_order_of_their_paths() {
    let bench = Bench::new(&[("b", ""), ("a/z", ""), ("a/b/c", ""), ("a-b", ""), (".hidden/x", "")]);
    assert_eq!(found(&bench, ".", true), [".hidden/x", "a-b", "a/b/c", "a/z", "b"]);
    assert_eq!(found(&bench, "a", true), ["a/b/c", "a/z"]);
    assert_eq!(found(&bench, "b", true), ["b"]);
}

#[test]
fn nested_ignore_files_hide_and_show() {
    let bench = Bench::new(&[
        (".gitignore", "target/\n*.log\n/only-here\n"),
        ("target/x", ""),
        ("a.log", ""),
        ("only-here", ""),
        ("sub/only-here", ""),
        ("sub/.gitignore", "!keep.log\nsecret\n"),
        ("sub/keep.log", ""),
        ("sub/drop.log", ""),
        ("sub/deep/secret", ""),
        ("sub/deep/keep.log", ""),
        ("secret", ""),
    ]);
    let all = found(&bench, ".", true);
    let expected =
        [".gitignore", "secret", "sub/.gitignore", "sub/deep/keep.log", "sub/keep.log", "sub/only-here"];
    assert_eq!(all, expected);
    // Rules of the folders above hold when the walk starts below them.
    assert_eq!(found(&bench, "sub/deep", true), ["sub/deep/keep.log"]);
    // Who names an ignored folder wants to see it.
    assert_eq!(found(&bench, "target", true), ["target/x"]);
    assert!(found(&bench, ".", false).contains(&"target/x".to_owned()));
}

#[test]
fn our_own_ignore_files_hold_without_git_and_beat_it() {
    let bench = Bench::new(&[
        (".gitignore", "*.gen\n"),
        (".geminiignore", "private/\n!wanted.gen\n"),
        (".subagentignore", "*.secret\n"),
        ("private/x", ""),
        ("a.secret", ""),
        ("wanted.gen", ""),
        ("other.gen", ""),
    ]);
    let files = |respects_git| {
        let mut all = found(&bench, ".", respects_git);
        all.retain(|path| !path.starts_with('.'));
        all
    };
    assert_eq!(files(true), ["wanted.gen"]);
    assert_eq!(files(false), ["other.gen", "wanted.gen"]);
}

#[test]
fn a_changed_ignore_file_counts_at_once() {
    let bench = Bench::new(&[("a", ""), ("b", ""), (".gitignore", "a\n")]);
    assert_eq!(found(&bench, ".", true), [".gitignore", "b"]);
    bench.write(".gitignore", "b\n");
    assert_eq!(found(&bench, ".", true), [".gitignore", "a"]);
    fs::remove_file(bench.root().join(".gitignore")).unwrap();
    assert_eq!(found(&bench, ".", true), ["a", "b"]);
}

#[test]
fn a_repository_above_the_root_and_its_excludes_hold() {
    let bench =
        Bench::new(&[("out/x", ""), ("kept", ""), ("excluded", ""), (".git/info/exclude", "excluded\n")]);
    fs::write(bench.outside().join(".gitignore"), "kept\n").unwrap();
    // The root is a repository of its own: what lies above is none of its business.
    assert_eq!(found(&bench, ".", true), ["kept", "out/x"]);
    fs::remove_dir_all(bench.root().join(".git")).unwrap();
    fs::create_dir(bench.outside().join(".git")).unwrap();
    fs::write(bench.outside().join(".gitignore"), "/ws/out\n").unwrap();
    assert_eq!(found(&bench, ".", true), ["excluded", "kept"]);
}

#[test]
fn links_are_named_but_not_followed() {
    let bench = Bench::new(&[("a/x", "")]);
    fs::create_dir(bench.outside().join("elsewhere")).unwrap();
    fs::write(bench.outside().join("elsewhere/secret"), "").unwrap();
    bench.link("to-outside", "../elsewhere");
    bench.link("to-a", "a");
    bench.link("a/up", "..");
    assert_eq!(found(&bench, ".", true), ["a/up", "a/x", "to-a", "to-outside"]);
}

#[test]
fn a_tree_without_end_is_cut_and_says_so() {
    let bench = Bench::new(&[]);
    let deep: std::path::PathBuf = std::iter::repeat_n("d", MAX_DEPTH + 5).collect();
    bench.write(deep.join("unseen"), "");
    bench.write("d/seen", "");
    let start = bench.workspace.resolve(".").unwrap();
    let stop = CancellationToken::new();
    let request = WalkRequest { workspace: &bench.workspace, start: &start, respects_git: true, stop: &stop };
    let walk = walk(&request).unwrap();
    assert_eq!(walk.files.len(), 1);
    assert_eq!(walk.cut, Some(WalkLimit::Depth));
    assert!(walk.notes()[0].contains("100 deep"), "{:?}", walk.notes());
}

#[test]
fn a_stopped_walk_reads_nothing_more() {
    let bench = Bench::new(&[("a/b/c", "")]);
    let start = bench.workspace.resolve(".").unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    let request = WalkRequest { workspace: &bench.workspace, start: &start, respects_git: true, stop: &stop };
    assert!(walk(&request).unwrap().files.is_empty());
}

#[test]
fn work_in_parallel_keeps_the_order_and_ends_with_a_prefix() {
    let items: Vec<usize> = (0..1000).collect();
    let all = map_prefix(&items, || Some(()), |(), item| item * 2);
    assert_eq!(all, items.iter().map(|item| item * 2).collect::<Vec<_>>());
    let taken = AtomicUsize::new(0);
    let go_on = || (taken.load(Ordering::SeqCst) < 100).then_some(());
    let some = map_prefix(&items, go_on, |(), item| {
        taken.fetch_add(1, Ordering::SeqCst);
        *item
    });
    assert!(100 <= some.len() && some.len() < 1000);
    assert_eq!(some, items[..some.len()]);
}

#[test]
fn work_in_parallel_passes_a_panic_on() {
    let items: Vec<usize> = (0..1000).collect();
    let outcome =
        std::panic::catch_unwind(|| map_prefix(&items, || Some(()), |(), item| assert!(*item != 500)));
    assert!(outcome.is_err());
}

#[test]
fn every_thread_of_a_walk_sees_the_same_tree() {
    let bench = Bench::new(&[]);
    let names: BTreeSet<String> =
        (0..60).flat_map(|a| (0..20).map(move |b| format!("d{a}/e{b}/f"))).collect();
    names.iter().for_each(|name| bench.write(name, ""));
    for _ in 0..3 {
        assert_eq!(found(&bench, ".", true), names.iter().cloned().collect::<Vec<_>>());
    }
}

fn notes(bench: &Bench) -> Vec<String> {
    let start = bench.workspace.resolve(".").unwrap();
    let stop = CancellationToken::new();
    let request = WalkRequest { workspace: &bench.workspace, start: &start, respects_git: true, stop: &stop };
    walk(&request).unwrap().notes()
}

/// Each such pattern takes some hundred kilobytes once it is compiled.
#[test]
fn patterns_of_ignore_files_have_bounds_and_those_beyond_are_told() {
    let line = format!("{}b\n", "a*".repeat(50));
    let bench = Bench::new(&[("last", ""), ("aab", "")]);
    bench.write(".subagentignore", format!("{}last\n", line.repeat(3_000)));
    assert_eq!(
        notes(&bench),
        ["[2910 lines of ignore files have no effect: they are too many, or too long]"]
    );
    let start = bench.workspace.resolve(".").unwrap();
    let listed = list(&bench.workspace, &start, &IgnoreRules::above(&bench.workspace, &start, true)).unwrap();
    let hidden = listed.entries.iter().filter(|entry| entry.is_ignored).count();
    assert_eq!(hidden, 1, "a name takes next to nothing, wherever it stands");
}

#[test]
fn patterns_of_all_ignore_files_of_a_walk_have_bounds() {
    let line = format!("{}b\n", "a*".repeat(50));
    let bench = Bench::new(&[]);
    for at in 0..10 {
        bench.write(format!("{at}/.gitignore"), line.repeat(90));
        bench.write(format!("{at}/below/file"), "");
    }
    let told = notes(&bench);
    assert_eq!(told, ["[446 lines of ignore files have no effect: they are too many, or too long]"]);
    bench.write("0/.gitignore", "");
    bench.write("1/.gitignore", "");
    assert_ne!(notes(&bench), told, "they take no room any more");
}

#[test]
fn half_a_pattern_at_the_end_of_what_is_read_is_none() {
    let bench = Bench::new(&[("x", "")]);
    bench.write(".gitignore", format!("{}\n*.long\n", "#".repeat(1024 * 1024 - 2)));
    let start = bench.workspace.resolve(".").unwrap();
    let listed = list(&bench.workspace, &start, &IgnoreRules::above(&bench.workspace, &start, true)).unwrap();
    assert!(listed.entries.iter().all(|entry| !entry.is_ignored), "half of it would be `*`");
    assert!(!notes(&bench).is_empty());
}
