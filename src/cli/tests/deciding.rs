//! What is shown to whoever decides: open questions at any width, that nothing is asked, what an import would do, and agents in
//! their colours.

use expect_test::expect;
use serde_json::{Value, json};

use super::{
    asking::{question, requested},
    *,
};

const ID: &str = "019aa1b2-c3d4-7001-8000-000000000001";

#[test]
fn questions_and_their_folders_can_be_read_at_80_columns() {
    let claim = json!({"name": "phone", "until": "2025-11-20T11:05:00.000Z"});
    let answered =
        json!({"clientId": "ada@pts/0-3fa91c02", "until": "2025-11-20T11:05:00.000Z", "answered": true});
    let list = json!({"confirmations": [
        question(json!({"title": "Write file: src/handlers/accounts.rs, new, +120 -0 lines", "roots": ["/home/ann/shop"]})),
        question(json!({"confirmationId": "q2", "risk": "critical", "state": "claimed", "claim": claim,
            "title": "Run command: cargo test --workspace --no-fail-fast -- --include-ignored"})),
        question(json!({"confirmationId": "q3", "state": "queued", "roots": ["/home/ann/web"]})),
        question(json!({"confirmationId": "q4", "state": "claimed", "claim": answered})),
    ]});
    check(
        Command { is_terminal: true, columns: 80, ..Command::new(&["approvals"]) },
        vec![answering("confirmation/list", json!({"limit": 20}), list)],
        expect![[r#"
            exit 0
            --- stdout
            ID             RISK      QUESTION
            019aa1b2-c3d4  low       Write file: src/handlers/accounts.rs, new, +120 -0 lin…
                                     /home/ann/shop · scout › writer · since 2025-11-20
                                     11:04:00Z
            q2             critical  Run command: cargo test --workspace --no-fail-fast -- …
                                     scout › writer · read by phone · since 2025-11-20
                                     11:04:00Z
            q3             low       Edit a.rs
                                     /home/ann/web · scout › writer · nobody is asked ·
                                     since 2025-11-20 11:04:00Z
            q4             low       Edit a.rs
                                     answered with a change by ada (pts/0), and hooks are
                                     asked about it · since 2025-11-20 11:04:00Z · scout ›
                                     writer

            Answer one: subagent approve ID, or subagent deny ID -m WHY
            --- stderr
        "#]],
    );
    // A pipe gets a line each, with the folder behind what was there before.
    let claim = json!({"clientId": "ada@pts/0-3fa91c02", "answered": true});
    let list = json!({"confirmations": [question(json!({"roots": ["/w", "/x"]})),
        question(json!({"confirmationId": "q2", "state": "claimed", "claim": claim}))]});
    let ran = Command::new(&["approvals"]).against(vec![answering(
        "confirmation/list",
        json!({"limit": 20}),
        list,
    )]);
    let line =
        "019aa1b2-c3d4  2025-11-20 11:04:00Z  scout › writer  edit_file  low  offered  Edit a.rs  /w, /x\n";
    let squeezed: String = ran
        .stdout
        .lines()
        .map(|line| {
            line.split("  ").map(str::trim).filter(|it| !it.is_empty()).collect::<Vec<_>>().join("  ") + "\n"
        })
        .collect();
    let told = "answered with a change by ada (pts/0), and hooks are asked about it";
    assert_eq!(
        squeezed,
        format!("{line}q2  2025-11-20 11:04:00Z  scout › writer  edit_file  low  {told}  Edit a.rs\n")
    );
}

#[test]
fn whoever_watches_is_told_that_nothing_is_asked_and_how_many_runs_work() {
    let child = json!({"runId": "r2", "agent": "reader", "state": "running", "parentRunId": "r1"});
    let runs = json!([record(json!({"state": "running"})), child, {"runId": "r3", "agent": "a", "state": "ended"},
        {"runId": "r4", "agent": "a", "state": "queued"}]);
    let data = json!({"seq": 7, "runs": runs, "openItems": [], "openConfirmations": []});
    let mut begun = envelope(8, "run.started", json!({"agent": "a", "model": "m", "path": "a#1"}));
    (begun["runId"], begun["prev"]) = (json!("r4"), json!(7));
    let stream: DaemonScript = Box::new(move |peer| {
        peer.answer("session/attach", json!("1"));
        peer.event(json!({"type": "signal.snapshot", "data": data}));
        peer.event(begun);
        peer.wait_for_hangup();
    });
    let command = Command {
        is_terminal: true,
        interrupt_after: vec!["no open questions · 2 runs at work"],
        ..Command::new(&["approvals", "--watch"])
    };
    let ran = command.against(vec![Box::new(say_hello), stream]);
    assert_eq!(ran.exit_code, 130);
    assert!(!ran.stderr.contains("▶"), "runs are for `attach`: {}", ran.stderr);
}

#[test]
fn a_headless_run_does_not_say_that_somebody_could_approve() {
    let said = |headless: bool, on_detached: &str| {
        let goal = record(json!({"reason": "GOAL", "result": "done"}));
        let asked = question(json!({"headless": headless, "onDetached": on_detached, "state": "queued"}));
        let mut decided = envelope(
            5,
            "confirmation.resolved",
            json!({
                "confirmationId": ID, "toolCallId": "k1", "outcome": "deny", "by": "system", "digest": "sha256:01",
            }),
        );
        decided["at"] = json!("2025-11-20T11:04:01.000Z");
        let sent = vec![
            requested(3, false, &asked),
            envelope(4, "run.waiting", json!({"waiting": true})),
            decided,
            completed(6, &goal),
        ];
        Command::new(&["run", "scout", "-p", "q"]).against(vec![control(goal), events(sent)]).stderr
    };
    for on_detached in ["deny", "fail"] {
        let headless = said(true, on_detached);
        assert!(!headless.contains("approve") && !headless.contains("waits for an answer"), "{headless}");
        assert!(headless.contains("✗ denied") && headless.contains("Edit a.rs"), "{headless}");
    }
    // What waits for somebody says where to answer.
    for (headless, on_detached) in [(false, "deny"), (true, "wait"), (true, "park"), (true, "aNewOne")] {
        let waiting = said(headless, on_detached);
        assert!(waiting.contains("subagent approve") && waiting.contains("waits for an answer"), "{waiting}");
    }
}

#[test]
fn approve_without_an_id_shows_the_one_question_and_asks() {
    fn only(play: impl FnOnce(&mut ScriptedPeer) + Send + 'static) -> DaemonScript {
        Box::new(|peer| {
            say_hello(peer);
            peer.answer("confirmation/list", json!({"confirmations": [question(json!({}))]}));
            peer.answer("confirmation/get", json!({"confirmation": question(json!({}))}));
            play(peer);
            peer.wait_for_hangup();
        })
    }
    let answers = |peer: &mut ScriptedPeer| {
        let answer = json!({"resolution": {"outcome": "allowOnce", "by": "client"}});
        let params = peer.answer("confirmation/respond", answer);
        assert_eq!((&params["confirmationId"], &params["outcome"]), (&json!(ID), &json!("allowOnce")));
    };
    let command = Command { is_terminal: true, press_after: AGREES.to_vec(), ..Command::new(&["approve"]) };
    let ran = command.against(vec![only(answers)]);
    assert_eq!(ran.exit_code, 0, "{}", ran.stderr);
    let at = |text: &str| ran.stderr.find(text).unwrap_or_else(|| panic!("{text}: {}", ran.stderr));
    assert!(at("│ +new") < at("answer it so?"), "shown before it is asked: {}", ran.stderr);
    // Where nobody can be asked nothing is decided, and what to write is said.
    let ran = Command::new(&["approve"]).against(vec![only(|_| {})]);
    assert_eq!(ran.exit_code, 2);
    assert!(ran.stderr.contains("which question is meant must be said"), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("subagent approve {ID}")), "{}", ran.stderr);
}

#[test]
fn an_import_that_writes_nothing_says_what_would_be() {
    let file = |name: &str, outcome: &str| {
        json!({"source": format!("/w/{name}.md"), "format": "own", "state": "ok", "name": name, "outcome": outcome,
               "path": format!("/home/u/{name}.md"), "problems": []})
    };
    let files = [file("a", "written"), file("b", "replaced"), file("c", "unchanged"), file("d", "skipped")];
    let script: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        assert_eq!(peer.answer("agents/import", json!({"files": files}))["dryRun"], true);
        peer.wait_for_hangup();
    });
    check(
        Command { is_terminal: true, ..Command::new(&["import", "/w", "--dry-run"]) },
        vec![script],
        expect![[r#"
            exit 0
            --- stdout
            FILE     OUTCOME            AGENT  STATE  PATH
            /w/a.md  would be written   a      ok     /home/u/a.md
            /w/b.md  would be replaced  b      ok     /home/u/b.md
            /w/c.md  unchanged          c      ok     /home/u/c.md
            /w/d.md  would be skipped   d      ok     /home/u/d.md
            --- stderr
            note: 1 file left out, since agents of their names are there; see --on-conflict
            note: nothing was written
        "#]],
    );
}

#[test]
fn an_agent_is_shown_in_its_colour_where_there_are_colours() {
    let agent = |name: &str, more: Value| {
        let mut agent = json!({"name": name, "title": "T", "model": "m", "scope": "user", "status": "ok"});
        agent.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        agent
    };
    let agents = json!([
        agent("plain", json!({})),
        agent("teal-one", json!({"color": "teal"})),
        agent("held", json!({"status": "notReady"}))
    ]);
    let run = |arguments: &[&str], is_terminal: bool, method: &'static str, answer: Value| {
        let script: DaemonScript = Box::new(move |peer| {
            say_hello(peer);
            peer.answer(method, answer);
            peer.wait_for_hangup();
        });
        Command { is_terminal, ..Command::new(arguments) }.against(vec![script]).stdout
    };
    let list = |more: &[&str], is_terminal: bool| {
        run(&[&["list"], more].concat(), is_terminal, "agents/list", json!({"agents": agents}))
    };
    let colored = list(&["--color", "always"], true);
    assert!(colored.contains("\n\u{1b}[38;5;30m●\u{1b}[0m teal-one  T"), "{colored}");
    assert!(colored.contains("\n  plain     T"), "{colored}");
    assert!(colored.contains("subagent list --all says why"), "{colored}");
    assert!(!list(&[], true).contains('●') && !list(&[], false).contains('●'), "without colours nothing");
    let shown = |more: &[&str]| {
        run(&[&["show", "x"], more].concat(), true, "agents/get", agent("x", json!({"color": "#12AB34"})))
    };
    let colored = shown(&["--color", "always"]);
    assert!(colored.starts_with("\u{1b}[38;5;35m●\u{1b}[0m \u{1b}[1mx"), "{colored}");
    assert!(shown(&[]).contains("\ncolor        #12AB34\n"), "{}", shown(&[]));
}
