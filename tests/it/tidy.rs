//! What the compiler cannot see: which crate may depend on which, and what no file may contain.
//!
//! When a test here fails, the change is in the wrong place more often than the rule is.

use std::{collections::BTreeSet, fs};

use self::source::{SourceFile, Token, package_root, reads, rust_files, strip, tokens};

mod circles;
mod names;
mod source;

/// Ground first. A crate may depend on crates of lower floors; neighbours do not know each other.
const FLOORS: &[&[&str]] = &[
    &["protocol"],
    // The clock and the ids speak of protocol's times and ids; both are the ground floor to everybody else.
    &["sys"],
    &["policy", "config", "redact", "schemas", "shell", "traces", "trust"],
    &["agents", "store", "models", "notify", "client", "rules", "sandbox", "web"],
    &["skills", "telemetry"],
    &["memory", "hooks", "prompts", "project", "extensions"],
    &["tools"],
    &["run"],
    &["graph"],
    &["daemon", "cli"],
    &["bin"],
];

/// Crates that see less than their floor would let them: the companion knows the wire, and what follows from its events.
const NARROWED: &[(&str, &[&str])] =
    &[("client", &["protocol"]), ("cli", &["protocol", "client", "traces"]), ("traces", &["protocol"])];

/// External crates that only these places may name. A place is a file with its folder; `*` ends a prefix.
const FENCED: &[(&str, &[&str])] = &[
    ("anyhow", &["bin"]),
    ("clap", &["bin", "cli"]),
    ("htmd", &["web/markdown"]),
    ("h2", &["telemetry"]),
    ("html5ever", &["web/markdown"]),
    ("jsonrpsee", &["daemon/rpc"]),
    ("landlock", &["sys/warden"]),
    ("libc", &["sys/warden"]),
    ("markup5ever_rcdom", &["web/markdown"]),
    ("opentelemetry_proto", &["telemetry"]),
    ("prost", &["telemetry"]),
    ("reqwest", &["models", "notify/webhook", "hooks/handlers/http", "telemetry/collector"]),
    ("rmcp", &["tools/mcp*", "daemon/mcp*"]),
    ("seccompiler", &["sys/warden"]),
    ("sqlx", &["store"]),
    ("tokio_rustls", &["telemetry/collector", "web"]),
    ("tree_sitter", &["shell/second"]),
    ("tree_sitter_bash", &["shell/second"]),
];

/// Places that must do without these words: the ground and the machines know no runtime, no clock, no chance.
const BARRED: &[(&str, &[&str])] = &[
    ("protocol", ASYNC),
    ("policy", ASYNC),
    ("config", ASYNC),
    ("redact", ASYNC),
    ("shell", ASYNC),
    ("traces", ASYNC),
    ("trust", ASYNC),
    ("run/machine", ASYNC),
    ("graph/machine", ASYNC),
    ("client", ASYNC),
    ("cli", ASYNC),
];
const ASYNC: &[&str] = &["tokio", "tokio_util", "futures_util", "async", "await"];

/// Who opens files for reading by name, each with the reason why it is no file that a stranger may have put there. All
/// others read through `sys::regular_file` (a path that a person names) or `tools::workspace` (below a session's roots),
/// which never wait for a FIFO and take regular files only.
const READERS: &[(&str, &str)] = &[
    ("sys/regular_file", "the one door for paths that people name"),
    ("tools/workspace", "the one door below the roots of a session"),
    ("sys/children", "the kernel's own files of processes"),
    ("sys/process", "the kernel's own files of this process"),
    ("sys/warden", "a process of its own, which has an end of its own"),
    ("sys/key_file", "the daemon's own, without waiting, its owner checked"),
    ("sys/guarded", "the kernel's own files of this process, and handles that open nothing"),
    ("sys/beyond_reach", "handles that open nothing"),
    ("sandbox/own_program", "the daemon's own program, by a handle that opens nothing"),
    ("sandbox/stairs", "folders alone, by handles that open nothing"),
    ("sandbox/walls", "folders alone, by handles that open nothing"),
    ("sandbox/proof", "what is tried is the opening; in a folder of its own"),
    ("store", "the daemon's own state"),
    ("telemetry/local/files", "the daemon's own state, without waiting, and no link"),
    ("models/recorder", "its own recording, which it makes"),
    ("tools/artifacts", "the daemon's own state"),
    ("tools/repositories/folder", "regular files of a repository, below its handle, without waiting"),
    ("tools/outputs", "the daemon's own state, below its folder's handle"),
    ("tools/undo/restore", "the daemon's own state"),
    ("tools/mcp/auth/kept", "the daemon's own state"),
    ("tools/mcp/launch", "a FIFO of its own in a folder of its own"),
    ("daemon/agent_urls/git", "a bare repository of its own"),
    ("daemon/doctor/sandbox", "folders of its own alone"),
    ("daemon/rpc/listener", "the folder of its own socket"),
];

/// Functions of other crates that open a file by its name, and wait for a FIFO or read without an end there.
const OPENERS_OF_OTHERS: &[&[&str]] = &[
    // ignore
    &["gitconfig_excludes_path"],
    &["Gitignore", "::", "new"],
    &["Gitignore", "::", "global"],
    &["build_global"],
    &["WalkBuilder"],
    &["WalkParallel"],
    &["ignore", "::", "Walk"],
    &["add_ignore"],
    // What else reads by itself what it is named.
    &["dotenvy"],
    &["from_pem_file"],
    &["pem_file_iter"],
    &["load_native_certs"],
];

/// The machines get time, ids and rows as inputs.
const MACHINES: &[&str] = &["run/machine", "graph/machine"];
const NOT_FOR_MACHINES: &[&str] = &["sys", "store", "models"];

/// About 400 is the aim; from here on a file must be split by what it hides.
const LINES_MAX: usize = 500;

/// Everything at the top of the repository that does not begin with a dot.
const TOP_LEVEL: &[&str] = &[
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "benches",
    "docs",
    "migrations",
    "proto-docs",
    "src",
    "systemd",
    "tests",
];

#[test]
fn crates_depend_on_lower_floors_only() {
    let mut violations = Vec::new();
    for name in crates() {
        let Some(floor) = floor(&name) else {
            violations.push(format!("src/{name}: give `{name}` a floor in tests/it/tidy.rs"));
            continue;
        };
        for dependency in dependencies(&name) {
            let is_allowed = match NARROWED.iter().find(|(narrowed, _)| *narrowed == name) {
                Some((_, visible)) => visible.contains(&dependency.as_str()),
                None => self::floor(&dependency).is_some_and(|other| other < floor),
            };
            if !is_allowed {
                violations.push(format!("src/{name}/Cargo.toml: `{name}` may not depend on `{dependency}`"));
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn external_crates_stay_where_they_belong() {
    let mut violations = Vec::new();
    for file in sources() {
        let code = strip(&file.text);
        let tokens = tokens(&code);
        for (name, places) in FENCED {
            if places.iter().any(|allowed| is_within(place(&file), allowed)) {
                continue;
            }
            for at in names_crate(&tokens, name) {
                let places = places.join(", ");
                violations.push(found(&file, tokens[at], format_args!("`{name}` is for {places} only")));
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn the_ground_and_the_machines_know_no_runtime() {
    let mut violations = Vec::new();
    for file in library() {
        let code = strip(&file.text);
        let tokens = tokens(&code);
        for (barred, words) in BARRED.iter().filter(|(barred, _)| is_within(place(&file), barred)) {
            for token in tokens.iter().filter(|token| words.contains(&token.text)) {
                violations.push(found(
                    &file,
                    *token,
                    format_args!("`{}` has no place in {barred}", token.text),
                ));
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn machines_know_no_clock_store_or_model() {
    let mut violations = Vec::new();
    for file in library() {
        if !MACHINES.iter().any(|machine| is_within(place(&file), machine)) {
            continue;
        }
        let code = strip(&file.text);
        let tokens = tokens(&code);
        for name in NOT_FOR_MACHINES {
            for at in names_crate(&tokens, name) {
                let sentence = format_args!("a machine may not name `{name}`; let it arrive in an input");
                violations.push(found(&file, tokens[at], sentence));
            }
        }
    }
    assert_none(&violations);
}

/// Running a tool takes a permit, so whoever can mint one can run anything.
#[test]
fn only_the_gate_mints_permits() {
    let mut violations = Vec::new();
    // The tests of the tools run tools without a gate.
    let is_tools_test = |file: &SourceFile| is_within(place(file), "tools") && is_test(file);
    let may_not = |file: &SourceFile| !is_within(place(file), "run/gate") && !is_tools_test(file);
    for file in sources().into_iter().filter(may_not) {
        let code = strip(&file.text);
        let tokens = tokens(&code);
        for at in 1..tokens.len() {
            if reads(&tokens, at, &["mint"]) && tokens[at - 1].text != "fn" {
                violations.push(found(&file, tokens[at], "only run/gate.rs mints permits"));
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn every_task_has_an_owner() {
    let mut violations = Vec::new();
    for file in sources() {
        let code = strip(&file.text);
        let tokens = tokens(&code);
        for at in 0..tokens.len() {
            if reads(&tokens, at, &["tokio", "::", "spawn"]) || reads(&tokens, at, &["task", "::", "spawn"]) {
                violations.push(found(&file, tokens[at], "spawn on the owner's Tasks or JoinSet"));
            }
        }
    }
    assert_none(&violations);
}

/// What stands on another tracker panics unseen. One only counts what is done elsewhere.
#[test]
fn every_task_is_seen_to_panic() {
    let mut violations = Vec::new();
    let places = ["sys/tasks", "tools/mcp/asking"];
    let is_elsewhere =
        |file: &SourceFile| !is_test(file) && places.iter().all(|allowed| !is_within(place(file), allowed));
    for file in library().into_iter().filter(is_elsewhere) {
        let code = strip(&file.text);
        for token in tokens(&code).iter().filter(|token| token.text == "TaskTracker") {
            violations.push(found(&file, *token, "tasks stand on `sys::tasks::Tasks`"));
        }
    }
    assert_none(&violations);
}

/// A child that was started elsewhere is an orphan to whoever looks after children, and ended; and a tool that was could
/// talk to the daemon. The companion and its client are other programs, and a warden is another process.
#[test]
fn processes_are_started_in_one_place() {
    let mut violations = Vec::new();
    let places = ["sys/children", "sys/warden", "cli", "client"];
    let is_elsewhere =
        |file: &SourceFile| !is_test(file) && places.iter().all(|allowed| !is_within(place(file), allowed));
    for file in library().into_iter().filter(is_elsewhere) {
        let code = strip(&file.text);
        let tokens = tokens(&code);
        for at in starts_process(&tokens) {
            violations.push(found(&file, tokens[at], "processes are started by `sys::children::Children`"));
        }
    }
    assert_none(&violations);
}

/// What a bare name means, the `PATH` says, and an agent may have written in a folder of it: what the daemon starts outside of a
/// sandbox is found by `sys::programs`, or was noted by `sys::owner_programs`.
#[test]
fn programs_are_not_looked_up_by_bare_names() {
    let mut violations = Vec::new();
    // The companion is a person's own program; a trial runs in the sandbox.
    let places = ["cli", "client", "sys/warden/trials"];
    let is_elsewhere =
        |file: &SourceFile| !is_test(file) && places.iter().all(|allowed| !is_within(place(file), allowed));
    for file in library().into_iter().filter(is_elsewhere) {
        for line in bare_names(&file.text) {
            violations.push(format!("{}:{line}: find the program by `sys::programs`", file.path));
        }
    }
    assert_none(&violations);
}

/// A FIFO in place of a file stops whoever opens it, and with it a thread of the daemon. The companion and its client are
/// a person's own programs, whose end is a key away.
#[test]
fn files_are_read_through_the_doors() {
    let mut violations = Vec::new();
    let is_elsewhere = |file: &SourceFile| {
        let readers = READERS.iter().map(|(place, _)| *place).chain(["cli", "client"]);
        !is_test(file) && readers.into_iter().all(|allowed| !is_within(place(file), allowed))
    };
    for file in library().into_iter().filter(is_elsewhere) {
        let code = strip(&file.text);
        let tokens = tokens(&code);
        for at in opens_by_name(&tokens) {
            violations.push(found(
                &file,
                tokens[at],
                "read it through `sys::regular_file` or `tools::workspace`, which never wait",
            ));
        }
    }
    assert_none(&violations);
    for (reader, _) in READERS {
        assert!(
            library().iter().any(|file| is_within(place(file), reader)),
            "{reader}: there is no such file"
        );
    }
}

#[test]
fn nothing_is_unbounded() {
    let mut violations = Vec::new();
    // A test's queues are as long as the test makes them.
    for file in sources().into_iter().filter(|file| !is_test(file)) {
        let code = strip(&file.text);
        let tokens = tokens(&code);
        for at in unbounded(&tokens) {
            violations.push(found(&file, tokens[at], "every queue has a limit, with its reason"));
        }
    }
    assert_none(&violations);
}

#[test]
fn no_test_is_skipped_or_wants_a_panic() {
    let mut violations = Vec::new();
    for file in everything() {
        let code = strip(&file.text);
        let tokens = tokens(&code);
        for at in skipped_tests(&tokens) {
            violations.push(found(&file, tokens[at], "a test runs and says what it expects, or it goes"));
        }
    }
    assert_none(&violations);
}

#[test]
fn unsafe_code_stays_in_sys() {
    let mut violations = Vec::new();
    for file in everything().into_iter().filter(|file| !is_within(place(file), "sys")) {
        let code = strip(&file.text);
        for token in tokens(&code).iter().filter(|token| ["unsafe", "unsafe_code"].contains(&token.text)) {
            violations.push(found(&file, *token, "`unsafe` is for src/sys only"));
        }
    }
    assert_none(&violations);
}

#[test]
fn every_file_says_which_question_it_answers() {
    let silent: Vec<String> = everything()
        .iter()
        // The crate's documentation is the code map.
        .filter(|file| !file.text.starts_with("//! ") && !file.text.starts_with("#![doc = include_str!"))
        .map(|file| format!("{}: begins without `//!`", file.path))
        .collect();
    assert_none(&silent);
}

#[test]
fn files_are_named_and_sized_to_be_read() {
    let mut violations = Vec::new();
    for file in everything() {
        let lines = file.text.lines().count();
        if !is_test(&file) && lines > LINES_MAX {
            violations.push(format!("{}: {lines} lines; split it by what it hides", file.path));
        }
        if file.path.ends_with("/mod.rs") {
            violations.push(format!("{}: a module is `name.rs` beside `name/`", file.path));
        }
    }
    assert_none(&violations);
}

#[test]
fn the_top_level_is_what_the_design_says() {
    let mut violations = Vec::new();
    for entry in fs::read_dir(package_root()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_hidden = name.starts_with('.') || name == "target";
        if !is_hidden && !TOP_LEVEL.contains(&name.as_str()) {
            violations.push(format!("{name}: does not belong at the top level"));
        }
    }
    assert_none(&violations);
}

/// A migration that is listed and missing does not compile; one that is missing from the list is never applied.
#[test]
fn every_migration_is_listed() {
    let folder: BTreeSet<String> = fs::read_dir(package_root().join("migrations"))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let listed: BTreeSet<String> = library()
        .iter()
        .filter(|file| is_within(place(file), "store"))
        .flat_map(|file| migrations_named(&file.text))
        .collect();
    assert_eq!(listed, folder, "include_str! in src/store and the folder migrations differ");
}

#[test]
fn the_code_map_names_every_crate() {
    let map = fs::read_to_string(package_root().join("src/ARCHITECTURE.md")).unwrap();
    let missing: Vec<String> = crates()
        .into_iter()
        .filter(|name| !["`", "/", "."].iter().any(|end| map.contains(&format!("`{name}{end}"))))
        .map(|name| format!("src/ARCHITECTURE.md: says nothing about `{name}`"))
        .collect();
    assert_none(&missing);
}

/// The tests above find nothing when all is well; this shows that each would.
mod detectors {
    use super::*;

    fn check<T>(detector: fn(&[Token]) -> Vec<T>, code: &str, expected: usize) {
        let code = strip(code);
        assert_eq!(detector(&tokens(&code)).len(), expected, "{code}");
    }

    #[test]
    fn crates_are_named_in_many_ways() {
        let clap: fn(&[Token]) -> Vec<usize> = |tokens| names_crate(tokens, "clap");
        check(clap, "use clap::Parser;", 1);
        check(clap, "use ::clap::Parser; #[derive(clap::Parser)]", 2);
        check(clap, "use clap as arguments; extern crate clap;", 2);
        check(clap, "use {clap, std::fs};", 1);
        check(clap, "let clap = 1; a.clap; crate::clap::x(); // clap::y\n\"clap::z\";", 0);
    }

    #[test]
    fn queues_without_a_limit_are_seen() {
        check(unbounded, "mpsc::unbounded_channel(); let a: UnboundedSender<B>;", 2);
        check(unbounded, "mpsc::channel(); mpsc::channel::<Vec<A>>();", 2);
        check(
            unbounded,
            "mpsc::channel(8); mpsc::channel::<A>(LIMIT); sync_channel(1); oneshot::channel();",
            0,
        );
    }

    #[test]
    fn processes_that_are_started_are_seen() {
        check(starts_process, "command.arg(1).spawn()?; command.output(); command.status().unwrap();", 3);
        check(
            starts_process,
            "children.spawn(&mut command, kin); tracker.spawn(async {}); answer.status();",
            0,
        );
    }

    #[test]
    fn programs_by_bare_names_are_seen() {
        let code = "Command::new(\"git\");\nprocess::Command::new( \"a b\" );\nCommand::new(\n    \"x\")";
        assert_eq!(bare_names(code), [1, 2, 3]);
        let code = "Command::new(program); Command::new(\"/bin/sh\"); // Command::new(\"x\")\n#[cfg(test)]\nmod tests {\nCommand::new(\"git\")\n}";
        assert_eq!(bare_names(code), [0; 0]);
    }

    #[test]
    fn files_that_are_opened_by_name_are_seen() {
        check(
            opens_by_name,
            "fs::read(a); std::fs::read_to_string(b)?; File::open(c); fs::File::open(d);",
            4,
        );
        check(opens_by_name, "OpenOptions::new().read(true).open(a); tokio::fs::read(b);", 2);
        check(opens_by_name, "use rustix::{fs::{Mode, openat}, io}; rustix::fs::open(a); openat2(b);", 3);
        check(
            opens_by_name,
            "ignore::gitignore::gitconfig_excludes_path(); Gitignore::new(a); Gitignore::global(); WalkBuilder::new(b);",
            4,
        );
        check(
            opens_by_name,
            "GitignoreBuilder::new(base); Gitignore::empty(); file.read(&mut bytes); regular_file::open(a); fs::read_dir(b); #[cfg(test)] mod tests { fs::read(c) }",
            0,
        );
    }

    #[test]
    fn skipped_tests_are_seen() {
        check(skipped_tests, "#[ignore] #[ignore = \"slow\"] #[should_panic(expected = \"x\")]", 3);
        check(skipped_tests, "#[cfg_attr(windows, ignore)] fn a() {}", 1);
        check(skipped_tests, "use ignore::Walk; let ignore = [1]; // #[ignore]", 0);
    }

    #[test]
    fn places_are_files_with_their_folders() {
        for place in ["run/gate", "run/gate/tests"] {
            assert!(
                is_within(place, "run/gate") && is_within(place, "run") && is_within(place, "run/g*"),
                "{place}"
            );
        }
        assert!(!is_within("run/gates", "run/gate") && !is_within("run", "run/gate"));
    }

    #[test]
    fn dependencies_and_migrations_are_found() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\nsys.workspace = true\nserde = \"1\"\n[lints]\nrun = 1\n\
            [dev-dependencies]\nstore = { workspace = true }\n[target.'cfg(unix)'.dependencies]\nweb.workspace = true\n";
        assert_eq!(dependencies_named(manifest, &["run", "store", "sys", "web"]), ["sys", "store", "web"]);
        assert_eq!(
            migrations_named("(\"x\", include_str!(\"../../migrations/0001_log.sql\"))"),
            ["0001_log.sql"]
        );
    }
}

/// Where a token names the crate `name`: at the beginning of a path, or taken in by `use` or `extern crate`.
fn names_crate(tokens: &[Token], name: &str) -> Vec<usize> {
    let names = |at: &usize| {
        let before = |back: usize| at.checked_sub(back).map_or("", |at| tokens[at].text);
        let is_word = |text: &str| text.starts_with(|ch: char| ch.is_alphanumeric() || ch == '_');
        let follows_a_path = before(1) == "::" && is_word(before(2)) && before(2) != "use";
        let begins_path = reads(tokens, at + 1, &["::"]) && !follows_a_path && before(1) != ".";
        let is_taken_in = ["use", "crate"].contains(&before(1)) || (before(1) == "{" && before(2) == "use");
        tokens[*at].text == name && (begins_path || is_taken_in)
    };
    (0..tokens.len()).filter(names).collect()
}

/// Where a queue is made that has no limit. `channel()` without a capacity is std's; `oneshot` holds one value.
fn unbounded(tokens: &[Token]) -> Vec<usize> {
    const WORDS: &[&str] = &["unbounded_channel", "unbounded", "UnboundedSender", "UnboundedReceiver"];
    let is_unbounded = |at: &usize| {
        let is_limitless = tokens[*at].text == "channel" && {
            let is_oneshot = *at >= 2 && tokens[at - 2].text == "oneshot";
            !is_oneshot && reads(tokens, after_turbofish(tokens, at + 1), &["(", ")"])
        };
        WORDS.contains(&tokens[*at].text) || is_limitless
    };
    (0..tokens.len()).filter(is_unbounded).collect()
}

/// Where a command is executed. Answers of the web have a `status` too, but of a command it is a result.
fn starts_process(tokens: &[Token]) -> Vec<usize> {
    let is_started = |at: &usize| {
        reads(tokens, at + 1, &["spawn", "(", ")"])
            || reads(tokens, at + 1, &["output", "(", ")"])
            || reads(tokens, at + 1, &["status", "(", ")", "?"])
            || reads(tokens, at + 1, &["status", "(", ")", ".", "unwrap"])
    };
    (0..tokens.len()).filter(|at| tokens[*at].text == "." && is_started(at)).collect()
}

/// Lines on which a command is made of a name that is no path. What follows a test module within a file is not looked at.
fn bare_names(text: &str) -> Vec<usize> {
    let begins_block = |(at, begin): &(usize, &str)| {
        text[at + begin.len()..].lines().next().is_some_and(|line| line.ends_with('{'))
    };
    let tests = text.match_indices("#[cfg(test)]\nmod ").find(begins_block);
    let text = tests.map_or(text, |(at, _)| &text[..at]);
    let begins = text.match_indices("Command::new(").filter(|(at, _)| {
        let line = text[..*at].rsplit('\n').next().unwrap_or_default();
        !line.trim_start().starts_with("//") && !line.contains("// ")
    });
    let is_bare = |(at, begin): &(usize, &str)| {
        let rest = text[at + begin.len()..].trim_start();
        rest.strip_prefix('"').is_some_and(|name| !name.split('"').next().unwrap_or(name).contains('/'))
    };
    begins.filter(is_bare).map(|(at, _)| text[..at].matches('\n').count() + 1).collect()
}

fn after_turbofish(tokens: &[Token], at: usize) -> usize {
    if !reads(tokens, at, &["::", "<"]) {
        return at;
    }
    let mut depth = 0;
    for (offset, token) in tokens[at + 1..].iter().enumerate() {
        depth += match token.text {
            "<" => 1,
            ">" => -1,
            _ => 0,
        };
        if depth == 0 {
            return at + 1 + offset + 1;
        }
    }
    tokens.len()
}

/// Where an attribute skips a test or lets it pass by panicking.
fn skipped_tests(tokens: &[Token]) -> Vec<usize> {
    let mut found = Vec::new();
    for at in (0..tokens.len()).filter(|at| reads(tokens, *at, &["#", "["])) {
        let end =
            tokens[at..].iter().position(|token| token.text == "]").map_or(tokens.len(), |end| at + end);
        let is_conditional = reads(tokens, at + 2, &["cfg_attr"]);
        let skips = |inside: &usize| match tokens[*inside].text {
            "ignore" => *inside == at + 2 || is_conditional,
            "should_panic" => true,
            _ => false,
        };
        found.extend((at + 2..end).filter(skips));
    }
    found
}

/// Openings for reading by a name. What follows a test module within a file is not looked at: it is the last thing there.
fn opens_by_name(tokens: &[Token]) -> Vec<usize> {
    let is_tests = |at: &usize| {
        reads(tokens, *at, &["cfg", "(", "test", ")", "]", "mod"]) && reads(tokens, at + 7, &["{"])
    };
    let end = (0..tokens.len()).find(is_tests).unwrap_or(tokens.len());
    let opens = |at: &usize| {
        let is = |expected: &[&str]| reads(tokens, *at, expected);
        let names = |word: &str| is(&["fs", "::", word, "("]);
        let imports = || {
            let statement = tokens[..*at].iter().rposition(|token| token.text == ";").map_or(0, |it| it + 1);
            reads(tokens, statement, &["use", "rustix"])
        };
        names("read")
            || names("read_to_string")
            || names("open")
            || is(&["File", "::", "open"])
            || is(&[".", "read", "(", "true"])
            || is(&["openat2", "("])
            || (["open", "openat", "openat2"].contains(&tokens[*at].text) && imports())
            || OPENERS_OF_OTHERS.iter().any(|words| is(words))
    };
    (0..end).filter(opens).collect()
}

fn migrations_named(text: &str) -> Vec<String> {
    let named = text.split("migrations/").skip(1).filter_map(|rest| rest.split_once(".sql"));
    named.map(|(name, _)| format!("{name}.sql")).collect()
}

/// The folders of `src` that are crates, by name.
fn crates() -> Vec<String> {
    let entries = fs::read_dir(package_root().join("src")).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(!names.is_empty());
    names
}

/// The crates of this repository that the crate `name` depends on, for its tests too.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = fs::read_to_string(package_root().join("src").join(name).join("Cargo.toml")).unwrap();
    let crates = crates();
    dependencies_named(&manifest, &crates.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The keys among `crates` in all sections of a manifest that list dependencies.
fn dependencies_named(manifest: &str, crates: &[&str]) -> Vec<String> {
    let mut is_inside = false;
    let mut named = Vec::new();
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            is_inside = section.trim_end().ends_with("dependencies]");
        } else if is_inside {
            let key = line.split(['.', '=', ' ']).next().unwrap_or_default();
            named.extend(crates.contains(&key).then(|| key.to_owned()));
        }
    }
    named
}

fn floor(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&module))
}

/// The library's and the programs' files.
fn is_test(file: &SourceFile) -> bool {
    file.path.starts_with("tests/") || file.path.ends_with("/tests.rs") || file.path.contains("/tests/")
}

fn sources() -> Vec<SourceFile> {
    rust_files("src")
}

/// Without the package's own root, which only lists crates, and its programs.
fn library() -> Vec<SourceFile> {
    let mut files = sources();
    files.retain(|file| file.path != "src/lib.rs" && top_module(file) != "bin");
    files
}

fn everything() -> Vec<SourceFile> {
    ["src", "tests", "benches"].into_iter().flat_map(rust_files).collect()
}

/// `run/gate` for `src/run/gate.rs`, `run` for `src/run/lib.rs`.
fn place(file: &SourceFile) -> &str {
    let path = file.path.strip_prefix("src/").unwrap_or(&file.path);
    let place = path.strip_suffix(".rs").unwrap_or(path);
    place.strip_suffix("/lib").unwrap_or(place)
}

fn top_module(file: &SourceFile) -> &str {
    place(file).split('/').next().unwrap_or("")
}

/// Whether `place` is `limits`, or in its folder, or begins with it when it ends with `*`.
fn is_within(place: &str, limits: &str) -> bool {
    match limits.strip_suffix('*') {
        Some(prefix) => place.starts_with(prefix),
        None => place.strip_prefix(limits).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
    }
}

fn found(file: &SourceFile, token: Token, sentence: impl std::fmt::Display) -> String {
    format!("{}:{}: {sentence}", file.path, token.line)
}

fn assert_none(violations: &[String]) {
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}
