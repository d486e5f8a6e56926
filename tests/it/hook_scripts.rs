//! What becomes of scripts as people write them, in shell and Python? Those that answer, and those that hang, flood, vanish, or
//! leave somebody behind.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use expect_test::{Expect, expect};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use subagentd::{
    hooks::{
        CheckedArguments, FiredHooks, HookFacts, HookFiring, HookLibrary, HookPlaces, HookRunner,
        HookServices, HookSettings, HookWorkspace, KeptFromHook, NoHookServices,
    },
    protocol::{
        ApprovalMode, HookDecision, HookEventName, HookOutcome, RunId, SessionId, ToolName, TrustedFile,
        WorkspaceTrusted,
    },
    redact::Redactor,
    sandbox::SandboxMechanism,
    sys::{clock::SystemClock, owner_programs::OwnerPrograms, tasks::TaskGroup},
    trust::{self, TrustRecords},
};

use crate::support::{MECHANISM, confined_by};

/// Says what confined hooks may not write.
struct Confining {
    kept: Vec<PathBuf>,
}

impl HookServices for Confining {
    fn call_mcp_tool<'a>(
        &'a self,
        tool: (&'a str, &'a str),
        input: Value,
        is_own: bool,
    ) -> BoxFuture<'a, Result<String, String>> {
        NoHookServices.call_mcp_tool(tool, input, is_own)
    }

    fn ask_model<'a>(
        &'a self,
        hook: &'a str,
        prompt: String,
        model: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, String>> {
        NoHookServices.ask_model(hook, prompt, model)
    }

    fn run_agent<'a>(
        &'a self,
        hook: &'a str,
        prompt: String,
        model: Option<&'a str>,
        is_own: bool,
    ) -> BoxFuture<'a, Result<String, String>> {
        NoHookServices.run_agent(hook, prompt, model, is_own)
    }

    fn check_arguments<'a>(
        &'a self,
        arguments: &'a Value,
    ) -> BoxFuture<'a, Result<CheckedArguments, String>> {
        NoHookServices.check_arguments(arguments)
    }

    fn kept_from_hook<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<KeptFromHook, String>> {
        Box::pin(std::future::ready(Ok(KeptFromHook { paths: self.kept.clone(), ..KeptFromHook::default() })))
    }
}

/// A workspace, a user's settings, and what runs their hooks.
struct Bench {
    /// What confined hooks may not write.
    kept: Vec<PathBuf>,
    folder: tempfile::TempDir,
    runner: HookRunner,
    trust: TrustRecords,
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        for name in ["work", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let sandbox = confined_by(folder.path(), MECHANISM.clone());
        let environment = std::env::vars_os().collect();
        let runner = HookRunner::new(
            sandbox,
            environment,
            SystemClock::new(),
            TaskGroup::new(),
            OwnerPrograms::default(),
        );
        Bench { kept: Vec::new(), folder, runner, trust: TrustRecords::default() }
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn root(&self) -> String {
        trust::canonical(&self.work()).unwrap()
    }

    /// A program below the folder of settings, which is the user's own.
    fn script(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn settings(&self, hooks: &Value) {
        std::fs::write(self.folder.path().join("settings.json"), json!({ "hooks": hooks }).to_string())
            .unwrap();
    }

    fn places(&self) -> HookPlaces {
        HookPlaces {
            user_file: Some(self.folder.path().join("settings.json")),
            home: self.folder.path().to_owned(),
            roots: vec![self.root()],
            ..HookPlaces::default()
        }
    }

    async fn fire(&self, facts: HookFacts) -> FiredHooks {
        self.fire_again(facts, 1).await
    }

    /// The same for the n-th time, from 1.
    async fn fire_again(&self, facts: HookFacts, attempt: u32) -> FiredHooks {
        let read = HookLibrary::default().current(&self.places(), &[], &Arc::new(self.trust.clone()));
        let firing = HookFiring {
            firing_id: "f".to_owned(),
            attempt,
            facts,
            session_id: SessionId::from("s"),
            run_id: Some(RunId::from("r")),
            root_run_id: Some(RunId::from("r")),
            is_child: false,
            agent: None,
            agent_path: Vec::new(),
            model: None,
            turn_id: None,
            mode: ApprovalMode::Default,
            is_headless: false,
            skills: Arc::new([]),
            background: Vec::new(),
        };
        let workspace = HookWorkspace {
            roots: vec![self.root().into()],
            temporary: self.folder.path().join("tmp"),
            transcript: PathBuf::new(),
            settings: HookSettings::default(),
            redactor: Redactor::none(),
        };
        let services: Arc<dyn HookServices> = Arc::new(Confining { kept: self.kept.clone() });
        self.runner.fire(&read.set, &firing, &workspace, &services).await
    }

    /// Acknowledges all that the workspace runs by hooks.
    fn acknowledge(&mut self) {
        let read = HookLibrary::default().current(&self.places(), &[], &Arc::new(self.trust.clone()));
        let mut files = Vec::new();
        for file in &read.project_files {
            let digests = std::iter::once(&file.digest).chain(&file.guards);
            files.extend(
                digests.map(|digest| TrustedFile { path: file.path.clone(), digest: digest.clone() }),
            );
        }
        self.trust.take(&WorkspaceTrusted {
            workspace: self.root(),
            trusted: true,
            files,
            files_only: false,
        });
    }
}

/// Command lines of processes that run this script.
fn processes(script: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(script)).collect()
}

fn call(command: &str) -> HookFacts {
    let input = json!({ "command": command }).as_object().cloned();
    HookFacts::sample(HookEventName::PreToolUse, &ToolName::from("run_shell_command"), input)
}

fn entry(command: &str) -> Value {
    json!({ "type": "command", "command": command, "timeout": 20 })
}

/// What came of one hook, in a line.
fn told(fired: &FiredHooks) -> String {
    let verdict = &fired.verdict;
    let mut parts = vec![match fired.records.first() {
        None => "no record".to_owned(),
        Some(record) => {
            let code = record.exit_code.map(|code| format!(" {code}")).unwrap_or_default();
            format!("{:?}{code}", record.outcome)
        }
    }];
    parts.extend(verdict.decision.map(|decision| format!("{decision:?}")));
    parts.extend(verdict.reason.clone());
    parts.extend(verdict.updated_input.as_ref().map(|input| format!("now {input}")));
    parts.extend(verdict.context.iter().map(|context| format!("says {:?}", context.text)));
    parts.extend(verdict.stop.as_ref().map(|stop| format!("stops: {}", stop.reason)));
    parts.extend(verdict.warnings.iter().map(|warning| format!("warns: {warning}")));
    parts.join(" · ")
}

async fn check(rows: &[(&str, &str, HookFacts)], expected: Expect) {
    let bench = Bench::new();
    let mut lines = String::new();
    for (name, text, facts) in rows {
        let program = bench.script(name, text);
        bench.settings(&json!({ facts.event().as_str(): [{ "hooks": [entry(&program)] }] }));
        let fired = bench.fire(facts.clone()).await;
        let ids: Vec<String> = fired.records.iter().map(|record| record.hook_id.clone()).collect();
        let mut line = told(&fired);
        for id in ids {
            line = line.replace(&id, "<hook>");
        }
        let line = line.replace(bench.folder.path().to_str().unwrap(), "<folder>");
        lines.push_str(&format!("{name}: {line}\n"));
    }
    expected.assert_eq(&lines);
}

#[tokio::test]
async fn scripts_that_answer() {
    let prompt = || HookFacts::sample(HookEventName::UserPromptSubmit, &ToolName::from("x"), None);
    let stop = || HookFacts::sample(HookEventName::Stop, &ToolName::from("x"), None);
    let after = || HookFacts::sample(HookEventName::PostToolUse, &ToolName::from("run_shell_command"), None);
    check(
        &[
            ("silent.sh", "#!/bin/sh\ncat > /dev/null\n", call("ls")),
            ("guard.sh", "#!/bin/sh\nif grep -q 'rm -rf'; then echo 'not that' >&2; exit 2; fi\n", call("rm -rf x")),
            ("guard-passes.sh", "#!/bin/sh\nif grep -q 'rm -rf'; then echo 'not that' >&2; exit 2; fi\n", call("ls")),
            ("unread.sh", "#!/bin/sh\nexit 0\n", call(&"x".repeat(300_000))),
            (
                "ask.py",
                "#!/usr/bin/env python3\nimport json, sys\nd = json.load(sys.stdin)\nprint(json.dumps({'hookSpecificOutput': {'hookEventName': d['hook_event_name'], 'permissionDecision': 'ask', 'permissionDecisionReason': d['tool_input']['command']}}))\n",
                call("git push"),
            ),
            (
                "rewrite.py",
                "#!/usr/bin/env python3\nimport json, sys\nd = json.load(sys.stdin)\ni = d['tool_input']\ni['command'] = 'nice ' + i['command']\nprint(json.dumps({'hookSpecificOutput': {'hookEventName': 'PreToolUse', 'updatedInput': i}}))\n",
                call("make"),
            ),
            ("context.sh", "#!/bin/sh\necho 'It is Thursday.'\n", prompt()),
            ("blocks-prompt.sh", "#!/bin/sh\necho '{\"decision\":\"block\",\"reason\":\"no secrets\"}'\n", prompt()),
            ("goes-on.sh", "#!/bin/sh\necho '{\"decision\":\"block\",\"reason\":\"run the tests\"}'\n", stop()),
            ("ends.sh", "#!/bin/sh\necho '{\"continue\":false,\"stopReason\":\"enough\"}'\n", after()),
            (
                "reads-environment.sh",
                "#!/bin/sh\ntest \"$CLAUDE_PROJECT_DIR\" = \"$PWD\" || { echo \"in $PWD\" >&2; exit 2; }\n",
                call("ls"),
            ),
        ],
        expect![[r#"
            silent.sh: Answered 0
            guard.sh: Answered 2 · Deny · not that
            guard-passes.sh: Answered 0
            unread.sh: Answered 0
            ask.py: Answered 0 · Ask · git push
            rewrite.py: Answered 0 · now {"command":"nice make"}
            context.sh: Answered 0 · says "It is Thursday."
            blocks-prompt.sh: Answered 0 · Deny · no secrets
            goes-on.sh: Answered 0 · Deny · run the tests
            ends.sh: Answered 0 · stops: enough
            reads-environment.sh: Answered 0
        "#]],
    )
    .await;
}

#[tokio::test]
async fn scripts_that_fail_never_let_a_guarded_call_go_ahead() {
    let after = || HookFacts::sample(HookEventName::PostToolUse, &ToolName::from("run_shell_command"), None);
    check(
        &[
            ("wordless.sh", "#!/bin/sh\nexit 2\n", call("ls")),
            ("crashes.py", "#!/usr/bin/env python3\nraise SystemExit('oh')\n", call("ls")),
            ("killed.sh", "#!/bin/sh\nkill -9 $$\n", call("ls")),
            ("broken-json.sh", "#!/bin/sh\necho '{\"decision\": '\n", call("ls")),
            ("wrong-shape.sh", "#!/bin/sh\necho '{\"decision\": [\"block\"]}'\n", call("ls")),
            (
                "text-then-json.sh",
                "#!/bin/sh\necho checking\necho '{\"decision\":\"block\",\"reason\":\"late\"}'\n",
                call("ls"),
            ),
            ("floods.sh", "#!/bin/sh\nhead -c 100000000 /dev/zero | tr '\\0' x\n", call("ls")),
            ("complains.sh", "#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x >&2\nexit 0\n", after()),
            ("watcher-crashes.sh", "#!/bin/sh\nexit 3\n", after()),
        ],
        expect![[r#"
            wordless.sh: Answered 2 · Deny · the hook <hook> blocked it, and gave no reason
            crashes.py: Failed 1 · Deny · the hook <hook> ended with exit code 1: oh
            killed.sh: Failed · Deny · the hook <hook> was ended by signal 9
            broken-json.sh: Invalid 0 · Deny · the hook <hook> printed JSON that cannot be read: EOF while parsing a value at line 1 column 12
            wrong-shape.sh: Invalid 0 · Deny · the hook <hook> printed JSON of the wrong shape: `decision` is no text
            text-then-json.sh: Answered 0 · Deny · late
            floods.sh: Invalid · Deny · the hook <hook> printed more than 1 MiB and was ended
            complains.sh: Answered 0
            watcher-crashes.sh: Failed 3 · warns: the hook <hook> ended with exit code 3
        "#]],
    )
    .await;
    // What cannot be started at all.
    let bench = Bench::new();
    let plain = bench.script("plain.sh", "exit 0\n");
    std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o644)).unwrap();
    for command in [plain, bench.folder.path().join("gone.sh").to_str().unwrap().to_owned()] {
        bench.settings(&json!({ "PreToolUse": [{ "hooks": [entry(&command)] }] }));
        let fired = bench.fire(call("ls")).await;
        assert_eq!(fired.verdict.decision, Some(HookDecision::Deny), "{}", told(&fired));
        bench.settings(
            &json!({ "PreToolUse": [{ "hooks": [{ "type": "command", "command": command, "args": [] }] }] }),
        );
        let fired = bench.fire(call("ls")).await;
        assert_eq!(fired.verdict.decision, Some(HookDecision::Deny), "{}", told(&fired));
        assert_eq!(fired.records[0].outcome, HookOutcome::NotStarted);
    }
}

#[tokio::test]
async fn one_that_hangs_is_ended_with_all_that_it_started() {
    let bench = Bench::new();
    let mark = bench.folder.path().join("mark");
    let hangs = bench.script(
        "hangs.sh",
        &format!(
            "#!/bin/sh\ntrap '' TERM\n(trap '' TERM; while :; do date >> {0}; sleep 0.1; done) &\nwait\n",
            mark.display()
        ),
    );
    let hook = json!({ "type": "command", "command": hangs, "timeout": 1 });
    bench.settings(&json!({ "PreToolUse": [{ "hooks": [hook] }] }));
    let began = tokio::time::Instant::now();
    let fired = bench.fire(call("ls")).await;
    assert_eq!(
        (fired.verdict.decision, fired.records[0].outcome),
        (Some(HookDecision::Deny), HookOutcome::TimedOut)
    );
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(mark.exists(), "it had begun");
    assert_eq!(processes(&hangs), [] as [String; 0], "somebody goes on");
}

#[tokio::test]
async fn one_that_leaves_somebody_with_its_pipe_is_not_waited_for() {
    let bench = Bench::new();
    let leaves = bench.script(
        "leaves.sh",
        "#!/bin/sh\nsetsid sleep 300 &\necho '{\"decision\":\"block\",\"reason\":\"said\"}'\n",
    );
    bench.settings(&json!({ "PreToolUse": [{ "hooks": [entry(&leaves)] }] }));
    let began = tokio::time::Instant::now();
    let fired = bench.fire(call("ls")).await;
    assert_eq!(fired.verdict.reason.as_deref(), Some("said"));
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_projects_hook_runs_confined_and_its_program_only_as_acknowledged() {
    let mut bench = Bench::new();
    let outside = bench.folder.path().join("outside");
    let text = format!("#!/bin/sh\necho hi > inside\necho hi > {} && exit 0\nexit 0\n", outside.display());
    let write = |path: &Path, text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    write(&bench.work().join("g.sh"), &text);
    let hooks = json!({ "hooks": { "PreToolUse": [{ "hooks": [entry("\"$CLAUDE_PROJECT_DIR\"/g.sh")] }] } });
    write(&bench.work().join(".claude/settings.json"), &hooks.to_string());
    assert_eq!(bench.fire(call("ls")).await.records.len(), 0, "nobody acknowledged it");
    bench.acknowledge();
    let fired = bench.fire(call("ls")).await;
    assert_eq!((fired.records.len(), fired.verdict.decision), (1, None), "{}", told(&fired));
    assert!(bench.work().join("inside").exists());
    assert!(!outside.exists(), "a project's hook wrote outside of its workspace");
    // What commands may not write in a root, it may not either.
    std::fs::remove_file(bench.work().join("inside")).unwrap();
    write(&bench.work().join("inside"), "");
    bench.kept = vec![bench.work().join("inside").canonicalize().unwrap()];
    bench.fire(call("ls")).await;
    let inside = std::fs::read_to_string(bench.work().join("inside")).unwrap();
    // Landlock takes nothing back of a root that it allows; the documents say so.
    let is_held = matches!(&*MECHANISM, SandboxMechanism::Bubblewrap { .. });
    assert_eq!(inside.is_empty(), is_held, "{inside}");
    write(&bench.work().join("g.sh"), "#!/bin/sh\nexit 0\n");
    let fired = bench.fire(call("ls")).await;
    assert_eq!(
        (fired.verdict.decision, fired.records[0].outcome),
        (Some(HookDecision::Deny), HookOutcome::NotStarted)
    );
    assert!(fired.verdict.reason.unwrap().contains("changed after it was acknowledged"));
}

#[tokio::test]
async fn changed_arguments_are_shown_to_the_other_guards_and_to_and_fro_denies() {
    let bench = Bench::new();
    let changes = |name: &str, to: &str| {
        let output = json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "updatedInput": { "command": to } } });
        bench.script(name, &format!("#!/bin/sh\ncat <<'X'\n{output}\nX\n"))
    };
    let guard = bench.script("no-evil.sh", "#!/bin/sh\nif grep -q evil; then echo 'evil' >&2; exit 2; fi\n");
    let evil = changes("evil.sh", "evil");
    bench.settings(&json!({ "PreToolUse": [{ "hooks": [entry(&guard), entry(&evil)] }] }));
    let fired = bench.fire(call("ls")).await;
    assert_eq!(fired.verdict.decision, Some(HookDecision::Deny), "{}", told(&fired));
    assert_eq!((fired.verdict.reason.as_deref(), fired.verdict.updated_input), (Some("evil"), None));
    let good = changes("good.sh", "good");
    bench.settings(&json!({ "PreToolUse": [{ "hooks": [entry(&guard), entry(&good)] }] }));
    let fired = bench.fire(call("ls")).await;
    assert_eq!(
        (fired.verdict.decision, fired.verdict.updated_input),
        (None, Some(json!({ "command": "good" })))
    );
    // Two that do not agree change it to and fro.
    let other = changes("other.sh", "other");
    bench.settings(&json!({ "PreToolUse": [{ "hooks": [entry(&good), entry(&other)] }] }));
    let fired = bench.fire(call("ls")).await;
    assert_eq!(fired.verdict.decision, Some(HookDecision::Deny), "{}", told(&fired));
    // It is nobody's refusal, and each of the two is named.
    assert_eq!(fired.verdict.decided_by, None);
    let ids: Vec<String> = fired.records[..2].iter().map(|record| record.hook_id.clone()).collect();
    let why = format!("the hooks {} and {} undo each other's change of `command`", ids[1], ids[0]);
    assert_eq!(fired.verdict.reason, Some(format!("{why}; neither counts: the call is denied")));
    for record in &fired.records {
        assert_eq!(record.dropped_change.as_ref().map(|it| it.reason.as_str()), Some(why.as_str()));
    }
}

/// However many hooks add something to one argument, each once: all of it counts, and all have seen what runs. Changes of different
/// arguments count at once.
#[tokio::test]
async fn hooks_that_agree_all_change_a_call() {
    let bench = Bench::new();
    let adds = |line: &str| {
        let text = format!(
            "#!/usr/bin/env python3
import json, sys
asked = json.load(sys.stdin)['tool_input']
if '{line}' not in asked['command']:
    asked['command'] += ' {line}'
    print(json.dumps({{'hookSpecificOutput': {{'hookEventName': 'PreToolUse', 'updatedInput': asked}}}}))
"
        );
        bench.script(&format!("{line}.py"), &text)
    };
    let sees = bench.script("sees.sh", "#!/bin/sh\ngrep -o 'echo[^\"]*' | head -1 >> seen\n");
    let hooks: Vec<Value> = ["head", "one", "two"].iter().map(|line| entry(&adds(line))).collect();
    let hooks = [&*hooks, &[entry(&sees)]].concat();
    bench.settings(&json!({ "PreToolUse": [{ "hooks": hooks }] }));
    let fired = bench.fire(call("echo")).await;
    assert_eq!(
        fired.verdict.updated_input,
        Some(json!({ "command": "echo two one head" })),
        "{}",
        told(&fired)
    );
    assert_eq!((fired.verdict.decision, fired.verdict.changed_by.len()), (None, 3));
    // Who only looks is asked about what the model wanted and about what runs.
    assert_eq!(std::fs::read_to_string(bench.work().join("seen")).unwrap(), "echo\necho two one head\n");
    let rounds: Vec<(u32, bool)> = fired.records.iter().map(|it| (it.round, it.changed)).collect();
    let first = [(1, false), (1, false), (1, true), (1, false)];
    assert_eq!(
        rounds,
        [&first[..], &[(2, false), (2, true), (3, true), (4, false), (4, false), (4, false)]].concat()
    );
    let why = format!("that of the hook {} counted", fired.records[2].hook_id);
    assert_eq!(fired.records[1].dropped_change.as_ref().map(|it| it.reason.as_str()), Some(&*why));

    let sets = |name: &str, field: &str, to: &str| {
        let text = format!(
            "#!/usr/bin/env python3
import json, sys
asked = json.load(sys.stdin)['tool_input']
asked['{field}'] = '{to}'
print(json.dumps({{'hookSpecificOutput': {{'hookEventName': 'PreToolUse', 'updatedInput': asked}}}}))
"
        );
        entry(&bench.script(name, &text))
    };
    let hooks = [sets("a.py", "command", "ls"), sets("b.py", "description", "lists")];
    bench.settings(&json!({ "PreToolUse": [{ "hooks": hooks }] }));
    let fired = bench.fire(call("echo")).await;
    assert_eq!(fired.verdict.updated_input, Some(json!({ "command": "ls", "description": "lists" })));
    // Neither has made just that, so both see it.
    assert_eq!(fired.records.len(), 4, "{}", told(&fired));
}

#[tokio::test]
async fn a_group_in_order_and_hooks_for_which_nobody_waits() {
    let bench = Bench::new();
    let first = bench.script("first.sh", "#!/bin/sh\nsleep 0.3\necho 1 >> order\n");
    let second = bench.script("second.sh", "#!/bin/sh\necho 2 >> order\n");
    let group = json!({ "sequential": true, "hooks": [entry(&first), entry(&second)] });
    bench.settings(&json!({ "PostToolUse": [group] }));
    let after = || HookFacts::sample(HookEventName::PostToolUse, &ToolName::from("run_shell_command"), None);
    bench.fire(after()).await;
    assert_eq!(std::fs::read_to_string(bench.work().join("order")).unwrap(), "1\n2\n");
    let wakes = bench.script("wakes.sh", "#!/bin/sh\ncat > /dev/null\necho 'look at it' >&2\nexit 2\n");
    let says = bench.script("says.sh", "#!/bin/sh\necho '{\"async\": true}'\nsleep 0.1\n");
    let hooks = json!([{ "type": "command", "command": wakes, "asyncRewake": true }, entry(&says)]);
    bench.settings(&json!({ "PostToolUse": [{ "hooks": hooks }] }));
    let attended = bench.runner.attend(&RunId::from("r"));
    let fired = bench.fire(after()).await;
    assert_eq!((fired.records.len(), fired.deferred.len(), fired.verdict.decision), (0, 1, None));
    let mut ends = Vec::new();
    while ends.len() < 2 {
        ends.extend(tokio::time::timeout(Duration::from_secs(30), attended.next()).await.unwrap());
    }
    let rewakes: Vec<_> = ends.iter().filter_map(|end| end.rewake.clone()).collect();
    assert_eq!((ends.len(), rewakes), (2, vec!["look at it".to_owned()]));
}

#[tokio::test]
async fn a_watcher_that_may_have_been_told_is_not_told_again_and_a_guard_is_asked() {
    let bench = Bench::new();
    let counts = bench.script("counts.sh", "#!/bin/sh\necho 1 >> count\n");
    let hooks = json!([{ "hooks": [entry(&counts)] }]);
    bench.settings(&json!({ "PostToolUse": hooks, "PreToolUse": hooks }));
    let after = HookFacts::sample(HookEventName::PostToolUse, &ToolName::from("run_shell_command"), None);
    let fired = bench.fire_again(after, 2).await;
    assert_eq!((fired.records.len(), fired.records[0].outcome), (1, HookOutcome::Interrupted));
    assert!(!bench.work().join("count").exists(), "it was told twice");
    let fired = bench.fire_again(call("ls"), 2).await;
    assert_eq!((fired.records.len(), fired.records[0].outcome), (1, HookOutcome::Answered));
}

fn write_script(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The guard denies, or is not run and denies for that.
async fn denies(bench: &Bench, outcome: HookOutcome, what: &str) {
    let fired = bench.fire(call("rm -rf build")).await;
    let record = fired.records.first().map(|record| record.outcome);
    assert_eq!(
        (fired.verdict.decision, record),
        (Some(HookDecision::Deny), Some(outcome)),
        "{what}: {}",
        told(&fired)
    );
}

#[tokio::test]
async fn no_link_and_no_earlier_state_stands_in_for_what_was_acknowledged() {
    let mut bench = Bench::new();
    let guard = bench.work().join("tools/guard.sh");
    bench
        .settings(&json!({ "PreToolUse": [{ "hooks": [entry("\"$CLAUDE_PROJECT_DIR\"/tools/guard.sh")] }] }));
    write_script(&guard, "#!/bin/sh\nexit 0\n");
    bench.acknowledge();
    assert_eq!(bench.fire(call("ls")).await.verdict.decision, None);
    write_script(&guard, "#!/bin/sh\necho no >&2\nexit 2\n");
    bench.acknowledge();
    denies(&bench, HookOutcome::Answered, "as acknowledged").await;
    write_script(&guard, "#!/bin/sh\nexit 0\n");
    denies(&bench, HookOutcome::NotStarted, "an earlier state").await;
    std::fs::remove_file(&guard).unwrap();
    std::os::unix::fs::symlink("/bin/true", &guard).unwrap();
    denies(&bench, HookOutcome::NotStarted, "a link").await;
    std::fs::remove_dir_all(guard.parent().unwrap()).unwrap();
    let elsewhere = bench.folder.path().join("elsewhere");
    write_script(&elsewhere.join("guard.sh"), "#!/bin/sh\nexit 0\n");
    std::os::unix::fs::symlink(&elsewhere, guard.parent().unwrap()).unwrap();
    denies(&bench, HookOutcome::NotStarted, "a link in place of its folder").await;
}

#[tokio::test]
async fn a_link_that_leads_to_another_file_is_seen_before_it_is_run() {
    let mut bench = Bench::new();
    let (one, other) = (bench.work().join("one.sh"), bench.work().join("other.sh"));
    let named = bench.work().join("guard.sh");
    write_script(&one, "#!/bin/sh\nexit 2\n");
    write_script(&other, "#!/bin/sh\nexit 0\n");
    std::os::unix::fs::symlink("one.sh", &named).unwrap();
    bench.settings(&json!({ "PreToolUse": [{ "hooks": [entry("./guard.sh")] }] }));
    bench.acknowledge();
    denies(&bench, HookOutcome::Answered, "as acknowledged").await;
    std::fs::remove_file(&named).unwrap();
    std::os::unix::fs::symlink("other.sh", &named).unwrap();
    denies(&bench, HookOutcome::NotStarted, "aimed at another file").await;
}

#[tokio::test]
async fn a_script_is_known_however_a_command_names_it() {
    let bench = Bench::new();
    write_script(&bench.work().join("sub/d.sh"), "#!/bin/sh\nexit 0\n");
    for command in [
        "sub/d.sh",
        "cd sub && ./d.sh",
        "cd \"$CLAUDE_PROJECT_DIR\"/sub; sh d.sh",
        "${CLAUDE_PROJECT_DIR:-.}/sub/d.sh",
        "$(pwd)/sub/d.sh",
        "\"$(git rev-parse --show-toplevel)\"/sub/d.sh",
        "$ROOT/sub/d.sh",
    ] {
        bench.settings(&json!({ "PreToolUse": [{ "hooks": [entry(command)] }] }));
        denies(&bench, HookOutcome::NotStarted, command).await;
    }
    // What it writes itself it does not run.
    bench.settings(&json!({ "PreToolUse": [{ "hooks": [entry("cat >sub/d.sh")] }] }));
    assert_eq!(bench.fire(call("ls")).await.records[0].outcome, HookOutcome::Answered);
}

#[tokio::test]
async fn a_program_that_is_exchanged_while_it_runs_has_said_nothing() {
    let mut bench = Bench::new();
    write_script(&bench.work().join("g.sh"), "#!/bin/sh\nmv g.sh h.sh\ncp -p h.sh g.sh\n");
    bench.settings(&json!({ "PreToolUse": [{ "hooks": [entry("./g.sh")] }] }));
    bench.acknowledge();
    denies(&bench, HookOutcome::Invalid, "exchanged").await;
}

#[tokio::test]
async fn a_guard_is_waited_for_whatever_it_prints() {
    let bench = Bench::new();
    for text in [
        "#!/bin/sh\necho '{\"async\": true}'\necho no >&2\nexit 2\n",
        "#!/bin/sh\nprintf '{\"async\": true}'\necho no >&2\nexit 2\n",
        "#!/bin/sh\necho '{\"async\": true}'\necho '{\"decision\": \"block\"}'\n",
    ] {
        let program = bench.script("g.sh", text);
        bench.settings(&json!({ "PreToolUse": [{ "hooks": [entry(&program)] }] }));
        denies(&bench, HookOutcome::Answered, text).await;
    }
}

#[tokio::test]
async fn a_projects_address_is_not_asked_where_commands_have_no_network() {
    let mut bench = Bench::new();
    let hook = json!({ "type": "http", "url": "http://127.0.0.1:9/" });
    let file = bench.work().join(".claude/settings.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, json!({ "hooks": { "PreToolUse": [{ "hooks": [hook] }] } }).to_string()).unwrap();
    bench.acknowledge();
    denies(&bench, HookOutcome::NotStarted, "no network").await;
}

/// What a project's hook could not reach it seldom says itself; what it says on purpose is told as it is.
#[tokio::test]
async fn a_projects_hook_that_had_no_network_and_failed_is_told_so() {
    const NOTE: &str = "it ran in a sandbox without network (setting `sandbox.network`)";
    for (command, is_told) in [
        ("echo 'no module named yaml' >&2; exit 1", true),
        ("echo 'Failed to fetch: https://pypi.org/simple/x/' >&2; exit 2", true),
        ("echo 'rm is for people' >&2; exit 2", false),
        ("exit 0", false),
    ] {
        let mut bench = Bench::new();
        let file = bench.work().join(".claude/settings.json");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let hooks = json!({ "hooks": { "PreToolUse": [{ "hooks": [entry(command)] }] } });
        std::fs::write(&file, hooks.to_string()).unwrap();
        bench.acknowledge();
        let fired = bench.fire(call("ls")).await;
        let told = [fired.verdict.reason.clone(), fired.records[0].reason.clone()];
        for text in told.iter().map(|text| text.as_deref().unwrap_or_default()) {
            assert_eq!(text.contains(NOTE), is_told, "{command}: {text}");
        }
        // The same of a person's own, which runs outside of any sandbox.
        std::fs::remove_file(&file).unwrap();
        bench.settings(&json!({ "PreToolUse": [{ "hooks": [entry(command)] }] }));
        let fired = bench.fire(call("ls")).await;
        assert!(!fired.records[0].reason.as_deref().unwrap_or_default().contains(NOTE), "{command}");
    }
}
