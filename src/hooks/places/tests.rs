//! Which files are read, and which of them count?

use serde_json::json;

use super::*;
use crate::{
    HookFacts,
    tests::{Bench, bash, firing},
};
use protocol::{TrustedFile, WorkspaceTrusted};

const GUARD: &str = r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"sh guard.sh"}]}],"PostToolUse":[{"hooks":[{"type":"command","command":"true"}]}]}}"#;

/// What a person says who acknowledges all that there is.
fn acknowledge(bench: &Bench, trust: &mut TrustRecords) {
    let read = bench.read(trust);
    let mut files = Vec::new();
    for file in &read.project_files {
        let named = |digest: &str| TrustedFile { path: file.path.clone(), digest: digest.to_owned() };
        files.push(named(&file.digest));
        files.extend(file.guards.iter().map(|mark| named(mark)));
    }
    trust.take(&WorkspaceTrusted { workspace: bench.root(), trusted: true, files, files_only: false });
}

/// State of each hook, and how many take part at a shell command.
fn stood(bench: &Bench, trust: &TrustRecords) -> (Vec<String>, usize) {
    let read = bench.read(trust);
    let states = read.set.hooks().iter().map(|hook| match &hook.state {
        HookState::Changed { .. } => format!("{} changed", hook.event_name),
        other => format!("{} {other:?}", hook.event_name),
    });
    let states = states.collect();
    (states, read.set.matching(&firing(bash("ls"))).len())
}

fn states(expected: &[&str]) -> Vec<String> {
    expected.iter().map(|state| (*state).to_owned()).collect()
}

/// Of two `hooks` in one file people read the first and readers of JSON take the last; in a list there is none that could be told.
#[test]
fn hooks_that_stand_twice_or_in_no_object_are_guards_that_fail() {
    for text in [
        r#"{"hooks":{"Stop":[]},"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"exit 2"}]}]}}"#,
        r#"{"hooks":[{"type":"command","command":"exit 2"}]}"#,
        r#"{"hooks":"all"}"#,
    ] {
        let bench = Bench::new();
        bench.user_text(text);
        let read = bench.read(&TrustRecords::default());
        assert_eq!(read.set.matching(&firing(bash("ls"))).len(), 1, "{text}");
        assert!(read.problems.iter().any(|it| it.message.contains("`hooks`")), "{:?}", read.problems);
    }
    let bench = Bench::new();
    bench.user_text(r#"{"hooks":null}"#);
    assert_eq!(bench.read(&TrustRecords::default()).problems, []);
}

/// What is the person's own by `hooks.places` guards in a home that is the workspace, too: it refuses until they have looked at it there.
#[test]
fn a_guard_of_the_persons_own_is_never_left_out_where_the_home_is_the_workspace() {
    let bench = Bench::new();
    bench.project(".claude/settings.json", GUARD);
    bench.project("guard.sh", "exit 0");
    let root = bench.root();
    let at_home = |other_products: &[&str]| HookPlaces {
        home: PathBuf::from(&root),
        other_products: other_products.iter().map(|word| (*word).to_owned()).collect(),
        ..bench.places()
    };
    let read = |places: &HookPlaces, trust: &TrustRecords| {
        let read = read_hooks(places, &[], trust);
        let states: Vec<HookState> = read.set.hooks().iter().map(|hook| hook.state.clone()).collect();
        (states, read.set.matching(&firing(bash("ls"))).len())
    };
    let mut trust = TrustRecords::default();
    let (states, asked) = read(&at_home(&["claude"]), &trust);
    assert!(states.iter().all(|state| matches!(state, HookState::Changed { .. })), "{states:?}");
    assert_eq!(asked, 1);
    // Nobody has named it: it is the workspace's file like any other.
    let (states, asked) = read(&at_home(&["codex"]), &trust);
    assert!(states.iter().all(|state| *state == HookState::Untrusted), "{states:?}");
    assert_eq!(asked, 0);
    acknowledge(&bench, &mut trust);
    let (states, asked) = read(&at_home(&["claude"]), &trust);
    assert!(states.iter().all(|state| *state == HookState::On), "{states:?}");
    assert_eq!(asked, 1);
    bench.project(".claude/settings.json", "{");
    assert_eq!(read(&at_home(&["claude"]), &TrustRecords::default()).1, 1, "half a file guards");
}

#[test]
fn a_projects_file_counts_once_a_person_acknowledged_it_and_its_programs() {
    let bench = Bench::new();
    bench.project(".claude/settings.json", GUARD);
    bench.project("guard.sh", "exit 0");
    let mut trust = TrustRecords::default();
    assert_eq!(stood(&bench, &trust), (states(&["PreToolUse Untrusted", "PostToolUse Untrusted"]), 0));
    let shown: Vec<String> = bench.read(&trust).project_files.iter().map(|file| file.path.clone()).collect();
    assert_eq!(shown, ["guard.sh", ".claude/settings.json"]);
    acknowledge(&bench, &mut trust);
    assert_eq!(stood(&bench, &trust), (states(&["PreToolUse On", "PostToolUse On"]), 1));
    // The program is another one: the guard fails, which means that it takes part.
    bench.project("guard.sh", "exit 0 # but not so");
    assert_eq!(stood(&bench, &trust), (states(&["PreToolUse changed", "PostToolUse On"]), 1));
    acknowledge(&bench, &mut trust);
    assert_eq!(stood(&bench, &trust).0, states(&["PreToolUse On", "PostToolUse On"]));
    std::fs::remove_file(Path::new(&bench.root()).join("guard.sh")).unwrap();
    assert_eq!(stood(&bench, &trust), (states(&["PreToolUse changed", "PostToolUse On"]), 1));
}

#[test]
fn guards_of_a_file_that_changed_or_vanished_fail_until_a_person_looked() {
    let bench = Bench::new();
    let path = Path::new(&bench.root()).join(".claude/settings.json");
    bench.project(".claude/settings.json", GUARD);
    bench.project("guard.sh", "exit 0");
    let mut trust = TrustRecords::default();
    acknowledge(&bench, &mut trust);
    for text in ["{}", r#"{"hooks":{"PostToolUse":[]}}"#, "{ no json"] {
        bench.project(".claude/settings.json", text);
        let read = bench.read(&trust);
        let matching = read.set.matching(&firing(bash("ls")));
        assert_eq!(matching.len(), 1, "{text}");
        assert!(matches!(matching[0].state, HookState::Changed { .. }), "{text}");
        let prompt = HookFacts::UserPromptSubmit { prompt: "p".to_owned(), session_title: None };
        assert!(read.set.matching(&firing(prompt)).is_empty(), "{text}: it guarded no prompts");
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(bench.read(&trust).set.matching(&firing(bash("ls"))).len(), 1);
    // Trust that was taken back takes the guards with it: the project is a stranger's again.
    trust.take(&WorkspaceTrusted {
        workspace: bench.root(),
        trusted: false,
        files: Vec::new(),
        files_only: false,
    });
    assert!(bench.read(&trust).set.hooks().is_empty());
}

#[test]
fn files_of_the_home_are_listed_and_count_where_they_are_named() {
    let bench = Bench::new();
    let home = bench.places().home;
    std::fs::create_dir_all(home.join(".claude")).unwrap();
    std::fs::write(home.join(".claude/settings.json"), GUARD).unwrap();
    let read = |other_products: &[&str]| {
        let other_products = other_products.iter().map(|word| (*word).to_owned()).collect();
        let places = HookPlaces { other_products, ..bench.places() };
        let read = read_hooks(&places, &[], &TrustRecords::default());
        read.set.hooks().iter().map(|hook| hook.state.clone()).collect::<Vec<_>>()
    };
    assert_eq!(read(&[]), [HookState::Untrusted, HookState::Untrusted]);
    assert_eq!(read(&["claude"]), [HookState::On, HookState::On]);
}

#[test]
fn what_is_switched_off_rests_but_for_the_systems() {
    let bench = Bench::new();
    let entry = |command: &str| json!({ "Stop": [{ "hooks": [{ "type": "command", "command": command }] }] });
    bench.user(&entry("mine"));
    let system = bench.places().home.join("system.json");
    std::fs::write(&system, json!({ "hooks": entry("theirs") }).to_string()).unwrap();
    let places = HookPlaces { system_file: Some(system), disable_all: true, ..bench.places() };
    let states = |places: &HookPlaces| {
        let read = read_hooks(places, &[], &TrustRecords::default());
        read.set
            .hooks()
            .iter()
            .map(|hook| (hook.id.as_str().to_owned(), hook.state.clone()))
            .collect::<Vec<_>>()
    };
    let all = states(&places);
    assert_eq!(
        all.iter().map(|(_, state)| state.clone()).collect::<Vec<_>>(),
        [HookState::On, HookState::Off]
    );
    let disabled = all.iter().map(|(id, _)| id.clone()).collect();
    let places = HookPlaces { disable_all: false, disabled, ..places };
    assert_eq!(
        states(&places).iter().map(|(_, state)| state.clone()).collect::<Vec<_>>(),
        [HookState::On, HookState::Off]
    );
}

/// A power cut leaves zeros, an editor that is writing leaves a half, another one saves in UTF-16: which hooks stood there, nobody knows.
#[test]
fn a_settings_file_that_is_no_object_fails_what_it_may_guard() {
    let utf16: Vec<u8> = "\u{feff}{ \"hooks\": {} }".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let damages: [&[u8]; 9] = [
        b"{ \"hooks\": {",
        b"{ \"model\": ",
        b"{",
        b"[{ \"hooks\": {} }]",
        b"\"hooks\"",
        b"null",
        b"7",
        &[0; 64],
        &utf16,
    ];
    for damage in damages {
        let bench = Bench::new();
        let user = bench.places().user_file.unwrap();
        std::fs::write(&user, damage).unwrap();
        let shown = String::from_utf8_lossy(damage).into_owned();
        let system = HookPlaces { system_file: Some(user), user_file: None, ..bench.places() };
        for places in [bench.places(), system] {
            let read = read_hooks(&places, &[], &TrustRecords::default());
            let matching = read.set.matching(&firing(bash("ls")));
            assert_eq!(matching.len(), 1, "{shown}");
            assert!(matching[0].handler.shown().contains("settings.json"), "{}", matching[0].handler.shown());
            let prompt = HookFacts::UserPromptSubmit { prompt: "p".to_owned(), session_title: None };
            assert_eq!(read.set.matching(&firing(prompt)).len(), 1, "{shown}");
            assert_eq!(read.problems.len(), 1, "{shown}");
            assert_eq!(read.problems[0].severity, ProblemSeverity::Error, "{shown}");
            // What comes of it is told with the problem, and by what is refused.
            assert_eq!(read.problems[0].fix.as_deref(), Some(config::UNREADABLE_FILE_EFFECT), "{shown}");
            assert!(matching[0].handler.shown().ends_with(config::UNREADABLE_FILE_EFFECT), "{shown}");
            assert!(matching[0].stands_for_file(), "{shown}");
        }
    }
}

/// People `touch` a file; a full disk empties one.
#[test]
fn an_empty_settings_file_has_no_hooks_unless_it_had_guards() {
    let (bench, trust) = (Bench::new(), std::sync::Arc::new(TrustRecords::default()));
    let library = crate::HookLibrary::default();
    let guards = |text: &str| {
        bench.user_text(text);
        let read = library.current(&bench.places(), &[], &trust);
        let severities = read.problems.iter().map(|it| it.severity).collect::<Vec<_>>();
        (read.set.matching(&firing(bash("ls"))).len(), severities)
    };
    let (told, fails) = ((0, vec![ProblemSeverity::Warning]), (1, vec![ProblemSeverity::Error]));
    for text in ["", " \n", "\u{feff}\n", "// nothing yet\n"] {
        assert_eq!(guards(text), told, "{text:?}");
    }
    // Hooks that keep nothing from anybody leave nothing open.
    let watcher = r#"{"hooks":{"Notification":[{"hooks":[{"type":"command","command":"true"}]}]}}"#;
    assert_eq!(guards(watcher), (0, vec![]));
    assert_eq!(guards(""), told);
    assert_eq!(guards(GUARD), (1, vec![]));
    assert_eq!(guards(""), fails);
    assert_eq!(guards(" \n"), fails);
    std::fs::remove_file(bench.places().user_file.unwrap()).unwrap();
    assert_eq!(guards(""), fails);
    // In another workspace it is the same file.
    let elsewhere = HookPlaces { roots: Vec::new(), ..bench.places() };
    assert_eq!(library.current(&elsewhere, &[], &trust).set.matching(&firing(bash("ls"))).len(), 1);
    // Whoever writes an object says which hooks there are.
    assert_eq!(guards("{}"), (0, vec![]));
    assert_eq!(guards(""), told);
}

/// A run that is at work when somebody saves a file is ended only for the sake of a guard that was there.
#[test]
fn guards_of_models_in_a_file_that_cannot_be_read_fail_as_far_as_they_were_there() {
    const OF_MODELS: &str = r#"{"hooks":{"BeforeModel":[{"hooks":[{"type":"command","command":"true"}]}]}}"#;
    let (bench, trust) = (Bench::new(), std::sync::Arc::new(TrustRecords::default()));
    let library = crate::HookLibrary::default();
    let asked = |library: &crate::HookLibrary, text: &str| {
        bench.user_text(text);
        let read = library.current(&bench.places(), &[], &trust);
        let (request, response) = (json!({}), json!({}));
        let of_models = [
            HookFacts::BeforeModel { request: request.clone() },
            HookFacts::AfterModel { request, response },
        ];
        of_models.map(|facts| read.set.matching(&firing(facts)).len())
    };
    assert_eq!(asked(&library, "{ \"hooks"), [1, 1], "nobody has ever read it");
    assert_eq!(asked(&library, GUARD), [0, 0]);
    assert_eq!(asked(&library, "{ \"hooks"), [0, 0]);
    assert_eq!(asked(&library, OF_MODELS), [1, 0]);
    assert_eq!(asked(&library, "{ \"hooks"), [1, 0]);
    assert_eq!(asked(&library, ""), [1, 0]);
    assert_eq!(asked(&library, "{}"), [0, 0]);
}

/// A redactor is not asked as long as somebody saves its file: what it would have been shown is withheld, and nothing beside.
#[test]
fn results_that_hooks_of_a_file_would_have_seen_are_withheld_while_it_cannot_be_read() {
    const OF_RESULTS: &str = r#"{"hooks":{
        "PostToolUse":[{"matcher":"Read","hooks":[{"type":"command","command":"true"}]},
                       {"matcher":"Bash","hooks":[{"type":"command","command":"true","async":true}]}],
        "AfterTool":[{"matcher":"WebFetch","hooks":[{"type":"command","command":"true"}]}]}}"#;
    let (bench, trust) = (Bench::new(), std::sync::Arc::new(TrustRecords::default()));
    let asked = |library: &crate::HookLibrary, text: &str| {
        bench.user_text(text);
        let read = library.current(&bench.places(), &[], &trust);
        ["read_file", "web_fetch", "run_shell_command"].map(|tool| {
            let result = || crate::tests::result(tool, "a text");
            let ended = HookFacts::PostToolUse { result: result() };
            let failed = HookFacts::PostToolUseFailure { result: result() };
            [ended, failed].map(|facts| {
                let hooks = read.set.matching(&firing(facts));
                hooks.iter().filter(|hook| hook.on_failure == HookFailurePolicy::Block).count()
            })
        })
    };
    let library = crate::HookLibrary::default();
    assert_eq!(asked(&library, "{ \"hooks"), [[1, 1], [1, 1], [1, 1]], "nobody has ever read it");
    assert_eq!(asked(&library, GUARD.replace("PostToolUse", "Notification").as_str()), [[0, 0]; 3]);
    assert_eq!(asked(&library, "{ \"hooks"), [[0, 0]; 3], "it saw no result");
    assert_eq!(asked(&library, OF_RESULTS), [[0, 0]; 3]);
    let withheld = [[1, 0], [1, 1], [0, 0]];
    for damage in ["{ \"hooks", "", "[]", r#"{"hooks":7}"#] {
        assert_eq!(asked(&library, OF_RESULTS), [[0, 0]; 3]);
        assert_eq!(asked(&library, damage), withheld, "{damage}");
    }
    assert_eq!(asked(&library, "{}"), [[0, 0]; 3]);
}

/// The last of too many hooks may be the guard.
#[test]
fn a_file_with_more_hooks_than_are_read_fails_what_it_may_guard() {
    let (bench, trust) = (Bench::new(), TrustRecords::default());
    let watcher = json!({ "type": "command", "command": "true" });
    let asked = |n_hooks: usize| {
        let many: Vec<Value> = std::iter::repeat_n(watcher.clone(), n_hooks).collect();
        let last = json!([{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "exit 2" }] }]);
        bench.user(&json!({ "Notification": [{ "hooks": many }], "PreToolUse": last }));
        let read = bench.read(&trust);
        let guards = read.set.matching(&firing(bash("ls")));
        let reasons: Vec<String> = guards.iter().map(|hook| hook.handler.shown()).collect();
        (reasons.join("\n"), read.problems.iter().map(|it| it.message.clone()).collect::<Vec<_>>().join("\n"))
    };
    assert_eq!(asked(999), ("exit 2".to_owned(), String::new()));
    let (reasons, problems) = asked(1_000);
    for told in [&reasons, &problems] {
        assert!(told.contains("more than 1000 hooks"), "{told}");
    }
    let agent = AgentHooks {
        agent: "a".into(),
        file: PathBuf::from("/a.md"),
        hooks: json!({ "Notification": [{ "hooks": vec![watcher.clone(); 1_001] }] }),
        is_trusted: true,
        begun_from: None,
    };
    bench.user(&json!({}));
    let read = read_hooks(&bench.places(), std::slice::from_ref(&agent), &trust);
    assert_eq!(read.set.matching(&firing(bash("ls"))).len(), 1);
}

#[test]
fn hooks_of_an_agent_that_are_no_object_are_a_guard_that_fails() {
    let bench = Bench::new();
    for hooks in [json!("exit 2"), json!([{ "type": "command", "command": "exit 2" }]), json!(true)] {
        let agent = AgentHooks {
            agent: "a".into(),
            file: PathBuf::from("/a.md"),
            hooks: hooks.clone(),
            is_trusted: true,
            begun_from: None,
        };
        let read = read_hooks(&bench.places(), std::slice::from_ref(&agent), &TrustRecords::default());
        let matching = read.set.matching(&firing(bash("ls")));
        assert_eq!(matching.len(), 1, "{hooks}");
        assert_eq!(matching[0].origin, HookOrigin::Agent { agent: "a".into() });
        let told: Vec<&str> = read.problems.iter().map(|it| it.message.as_str()).collect();
        assert!(told.len() == 1 && told[0].contains("`hooks`: expected an object with events"), "{told:?}");
        let untrusted = AgentHooks { is_trusted: false, ..agent };
        let read = read_hooks(&bench.places(), &[untrusted], &TrustRecords::default());
        assert_eq!(read.set.hooks()[0].state, HookState::Untrusted);
    }
}

#[test]
fn hooks_of_an_agent_stand_behind_all_others() {
    let bench = Bench::new();
    bench.user(&json!({ "Stop": [{ "hooks": [{ "type": "command", "command": "mine" }] }] }));
    let agent = AgentHooks {
        agent: "a".into(),
        file: PathBuf::from("/a.md"),
        hooks: json!({ "Stop": [{ "hooks": [{ "type": "command", "command": "its" }] }] }),
        is_trusted: true,
        begun_from: None,
    };
    let places = bench.places();
    let read = read_hooks(&places, std::slice::from_ref(&agent), &TrustRecords::default());
    assert_eq!(read.set.hooks().iter().map(|hook| hook.handler.shown()).collect::<Vec<_>>(), ["mine", "its"]);
    let of_child = firing(HookFacts::SubagentStop { is_going_on: false, last_message: None });
    assert_eq!(read.set.matching(&of_child).len(), 1);
    let untrusted = AgentHooks { is_trusted: false, ..agent };
    let read = read_hooks(&places, &[untrusted], &TrustRecords::default());
    assert_eq!(read.set.hooks()[1].state, HookState::Untrusted);
}

#[test]
fn hooks_of_an_agent_rest_in_a_run_when_its_file_is_not_what_people_acknowledge_any_more() {
    let bench = Bench::new();
    let command = |text: &str| json!([{ "hooks": [{ "type": "command", "command": text }] }]);
    let file = |digest: &str| TrustedFile { path: "a.md".to_owned(), digest: digest.to_owned() };
    let said = |trusted: bool, digest: &str| WorkspaceTrusted {
        workspace: bench.root(),
        trusted,
        files: vec![file(digest)],
        files_only: true,
    };
    let agent = AgentHooks {
        agent: "a".into(),
        file: PathBuf::from("/a.md"),
        hooks: json!({ "PreToolUse": command("guard"), "PostToolUse": command("tidy") }),
        is_trusted: true,
        begun_from: Some(AcknowledgedAgentFile {
            root: bench.root(),
            path: "a.md".to_owned(),
            digest: "1".to_owned(),
        }),
    };
    let mut trust = TrustRecords::default();
    for (trusted, digest, rests) in
        [(true, "1", false), (true, "2", true), (true, "1", false), (false, "1", true), (true, "1", false)]
    {
        trust.take(&said(trusted, digest));
        let read = read_hooks(&bench.places(), std::slice::from_ref(&agent), &trust);
        let is_changed = |hook: &std::sync::Arc<Hook>| matches!(hook.state, HookState::Changed { .. });
        assert!(read.set.hooks().iter().all(|hook| is_changed(hook) == rests), "{trusted} {digest}");
        // The guard takes part either way: it says no.
        assert_eq!(read.set.matching(&firing(bash("ls"))).len(), 1);
        assert_eq!(read.set.has_any(HookEventName::PostToolUse), !rests, "{trusted} {digest}");
    }
}

/// A server that has said which tools it has leaves nothing open.
#[test]
fn a_guard_of_a_servers_tool_that_is_none_is_told_of() {
    let bench = Bench::new();
    let known = |tools: &[&str]| crate::KnownTools {
        tools: tools.iter().map(|tool| (*tool).into()).collect(),
        ..crate::KnownTools::default()
    };
    let n_told = |group: serde_json::Value, known: &crate::KnownTools| {
        bench.user(&json!({ "PreToolUse": [group] }));
        let read = bench.read(&TrustRecords::default());
        read.idle(known).len() + read.half_idle(known).len()
    };
    let guard = || json!({ "type": "command", "command": "exit 2" });
    let listed = known(&["mcp.mini.echo", "mcp.mini.repo_create"]);
    for (matcher, told) in [
        ("mcp__mini", 0),
        ("mcp__mini__echo", 0),
        ("mcp__mini__.*", 0),
        ("mcp__.*", 0),
        ("mcp__other__x", 0),
        ("mcp__mini__nosuch", 1),
        ("Bash|mcp__mini__nosuch", 1),
        ("mcp__mini__repo\\.create", 1),
    ] {
        let group = || json!({ "matcher": matcher, "hooks": [guard()] });
        assert_eq!(n_told(group(), &listed), told, "{matcher}");
        assert_eq!(n_told(group(), &known(&[])), 0, "{matcher}, of a server that has said nothing");
    }
    for (condition, told) in [("mcp__mini", 0), ("mcp__mini__echo", 0), ("mcp__mini__repo.create", 1)] {
        let mut hook = guard();
        hook["if"] = json!(condition);
        assert_eq!(n_told(json!({ "hooks": [hook] }), &listed), told, "{condition}");
    }
}

#[test]
fn the_library_sees_each_change_and_else_gives_the_same() {
    let bench = Bench::new();
    bench.user(&json!({ "Stop": [{ "hooks": [{ "type": "command", "command": "x.sh" }] }] }));
    let (library, trust) = (crate::HookLibrary::default(), std::sync::Arc::new(TrustRecords::default()));
    let ask = || library.current(&bench.places(), &[], &trust);
    let first = ask();
    assert_eq!(first.set.hooks()[0].state, HookState::On);
    // A file that its command would run comes to be, and nobody has seen it.
    bench.project("x.sh", "true");
    assert!(matches!(ask().set.hooks()[0].state, HookState::Changed { .. }));
    bench.user(&json!({}));
    assert!(ask().set.hooks().is_empty());
}

/// A slip in a matcher is told before anybody has looked at the script, not only from then on.
#[test]
fn matcher_of_a_hook_whose_script_nobody_acknowledged_is_looked_at() {
    let bench = Bench::new();
    bench.project("guard.sh", "exit 2\n");
    bench.user_text(
        r#"{"hooks":{"PreToolUse":[{"matcher":"Bash|Wirte","hooks":[{"type":"command","command":"sh guard.sh"}]}]}}"#,
    );
    let read = bench.read(&TrustRecords::default());
    assert!(matches!(read.set.hooks()[0].state, HookState::Changed { .. }));
    let told = read.half_idle(&crate::KnownTools::default());
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].message.contains("`Wirte`"), "{told:?}");
}
