//! `subagent run` while the daemon restarts, the person presses Ctrl-C, or the reader goes away.

use std::sync::mpsc;

use serde_json::json;

use super::*;

#[test]
fn a_run_survives_a_restart_of_the_daemon() {
    let record = record(json!({"reason": "GOAL", "result": "found"}));
    let turn = |seq| envelope(seq, "turn.started", json!({"turn": seq}));
    let (first, rest) = ([turn(4), turn(5)], [turn(6), completed(7, &record)]);
    let scripts: Vec<DaemonScript> = vec![
        Box::new(|peer| {
            say_hello(peer);
            start_run(peer);
            // The daemon dies; what is asked later goes to its successor.
            peer.hang_up_on("run/get");
        }),
        Box::new(move |peer| {
            peer.answer("session/attach", json!("1"));
            first.into_iter().for_each(|event| peer.event(event));
        }),
        Box::new(move |peer| {
            let params = peer.answer("session/attach", json!("1"));
            assert_eq!(params["from"], 5);
            rest.into_iter().for_each(|event| peer.event(event));
            peer.wait_for_hangup();
        }),
        Box::new(move |peer| {
            peer.answer("run/get", record);
            peer.wait_for_hangup();
        }),
    ];
    let ran = Command::new(&["run", "scout", "-p", "q"]).against(scripts);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (0, "found\n"));
    assert!(ran.stderr.contains("! the connection to the daemon is lost"), "{}", ran.stderr);
    assert!(ran.stderr.contains("! connected again; following on"), "{}", ran.stderr);
}

#[test]
fn ctrl_c_cancels_and_waits_for_the_end() {
    let record = record(json!({"reason": "ABORTED"}));
    let (cancelled, told) = mpsc::channel();
    let (answer, end) = (record.clone(), record.clone());
    let scripts: Vec<DaemonScript> = vec![
        Box::new(move |peer| {
            say_hello(peer);
            start_run(peer);
            let params = peer.answer("run/cancel", json!({"run": answer, "seq": 9}));
            assert_eq!(params["runId"], "r1");
            cancelled.send(()).unwrap();
            peer.answer("run/get", answer);
            peer.wait_for_hangup();
        }),
        Box::new(move |peer| {
            peer.answer("session/attach", json!("1"));
            peer.event(envelope(1, "warning", json!({"message": "press now"})));
            told.recv().unwrap();
            peer.event(completed(2, &end));
            peer.wait_for_hangup();
        }),
    ];
    let command =
        Command { interrupt_after: vec!["press now"], ..Command::new(&["run", "scout", "-p", "q"]) };
    let ran = command.against(scripts);
    assert_eq!(ran.exit_code, 130);
    assert!(ran.stderr.contains("error: the run ended ABORTED\nhint: "), "{}", ran.stderr);
}

#[test]
fn ctrl_c_twice_leaves_and_says_how_to_attach() {
    let scripts: Vec<DaemonScript> = vec![
        Box::new(|peer| {
            say_hello(peer);
            start_run(peer);
            peer.answer("run/cancel", json!({"run": record(json!({"state": "running"}))}));
            peer.wait_for_hangup();
        }),
        events(vec![envelope(1, "warning", json!({"message": "press now"}))]),
    ];
    let interrupt_after = vec!["press now", "cancelling"];
    let command = Command { interrupt_after, ..Command::new(&["run", "scout", "-p", "q"]) };
    let ran = command.against(scripts);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (130, ""));
    assert!(ran.stderr.ends_with("note: left the run to end by itself; `subagent attach r1` shows it\n"));
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let scripts: Vec<DaemonScript> = vec![
        Box::new(|peer| {
            say_hello(peer);
            start_run(peer);
            peer.wait_for_hangup();
        }),
        events(vec![envelope(1, "turn.started", json!({"turn": 1}))]),
    ];
    let arguments = ["run", "scout", "-p", "q", "--output-format", "stream-json"];
    let ran = Command { stdout_is_closed: true, ..Command::new(&arguments) }.against(scripts);
    assert_eq!((ran.exit_code, ran.stderr.as_str()), (141, ""));
}
