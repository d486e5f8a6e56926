//! Does a client see every event once, and reach a daemon wherever it is?

use std::{
    fs,
    io::Write,
    os::unix::{fs::PermissionsExt, net::UnixListener},
    path::Path,
    process::{Command, Stdio},
    thread,
};

use serde_json::json;

use super::{
    fake_daemon::{DaemonScript, FakeDaemon, ScriptedPeer, envelope},
    *,
};
use protocol::{AttachFrom, AttachFromKeyword, ErrorKind, EventSeq, NoParams, Ping};

const WAIT: std::time::Duration = std::time::Duration::from_millis(50);

#[test]
fn whoever_waits_long_learns_why_and_gets_the_answer() {
    let (wondered, until_wondered) = std::sync::mpsc::channel::<()>();
    let folder = tempfile::tempdir().unwrap();
    let script: DaemonScript = Box::new(move |peer| {
        peer.answer_when("ping", json!({"n": 1}), || until_wondered.recv().unwrap());
        // At once, so that nobody wonders.
        peer.answer("ping", json!({"n": 2}));
    });
    let daemon = FakeDaemon::start(folder.path(), vec![script]);
    let mut client = connect(daemon.socket()).unwrap();
    let (long, short) = (std::time::Duration::from_secs(60), std::time::Duration::from_millis(1));
    let first = client.call_slowly("ping", &json!({}), (long, short), &mut || wondered.send(()).unwrap());
    assert_eq!(first.unwrap().get(), "{\"n\":1}");
    let second = client.call_slowly("ping", &json!({}), (long, long), &mut || panic!("nobody wonders"));
    assert_eq!(second.unwrap().get(), "{\"n\":2}");
    daemon.finish();
}

#[test]
fn patience_ends() {
    let folder = tempfile::tempdir().unwrap();
    let script: DaemonScript = Box::new(|peer| {
        peer.answer_when("ping", json!({}), || ());
        peer.wait_for_hangup();
    });
    let daemon = FakeDaemon::start(folder.path(), vec![script]);
    let mut client = connect(daemon.socket()).unwrap();
    let (none, mut wondered) = (std::time::Duration::ZERO, 0);
    let late = client.call_slowly("ping", &json!({}), (none, none), &mut || wondered += 1);
    assert!(matches!(late, Err(CallError::NoAnswer { .. })) && wondered == 0, "{late:?}");
    drop(client);
    daemon.finish();
}

#[test]
fn a_call_that_the_daemon_would_refuse_fails_the_test() {
    let calls = [
        ("run/list", json!({"limit": 0}), true),
        ("run/list", json!({}), false),
        ("session/get", json!({}), true),
        ("no/method", json!({}), true),
        ("ping", serde_json::Value::Null, false),
    ];
    for (method, params, is_wrong) in calls {
        for takes_wrong_params in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let script: DaemonScript = Box::new(move |peer| {
                peer.takes_wrong_params = takes_wrong_params;
                peer.answer(method, json!({}));
            });
            let daemon = FakeDaemon::start(folder.path(), vec![script]);
            connect(daemon.socket()).unwrap().call_raw(method, &params).unwrap();
            let finished = thread::spawn(move || daemon.finish()).join();
            assert_eq!(finished.is_err(), is_wrong && !takes_wrong_params, "{method} {params}");
        }
    }
}

/// A connection that is attached from `from`, gets these events and is then left to the rest of the script.
fn attached(
    from: serde_json::Value,
    seqs: &'static [(i64, i64)],
    rest: impl FnOnce(&mut ScriptedPeer) + Send + 'static,
) -> DaemonScript {
    Box::new(move |peer| {
        let params = peer.answer("session/attach", json!("1"));
        assert_eq!(params, json!({"sessionId": "s1", "from": from, "deltas": true}));
        for (seq, prev) in seqs {
            let mut event = envelope(*seq, "turn.started", json!({"turn": 1}));
            event["prev"] = json!(prev);
            peer.event(event);
        }
        rest(peer);
    })
}

fn hang_up(_: &mut ScriptedPeer) {}

/// Follows from the start until event `until`, and answers the seqs seen and the other steps on the way.
fn follow_until(until: i64, scripts: Vec<DaemonScript>) -> Result<(Vec<i64>, Vec<String>), FollowError> {
    let folder = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::start(folder.path(), scripts);
    let dialer = DaemonDialer::new(daemon.socket().to_owned(), None);
    let (mut seqs, mut steps) = (Vec::new(), Vec::new());
    let mut follow =
        SessionFollower::attach(&dialer, "s1".into(), AttachFrom::Word(AttachFromKeyword::Start), true)?;
    while seqs.last() != Some(&until) {
        match follow.next(WAIT)? {
            FollowStep::Event(followed) => seqs.extend(followed.envelope.seq.map(|EventSeq(seq)| seq)),
            FollowStep::Quiet => {}
            step => steps.push(format!("{step:?}")),
        }
    }
    drop(follow);
    daemon.finish();
    Ok((seqs, steps))
}

#[test]
fn a_lost_connection_goes_on_from_the_last_event() {
    let scripts = vec![
        attached(json!("start"), &[(1, 0), (2, 1)], hang_up),
        // Event 2 comes again, as an overcareful daemon may send it.
        attached(json!(2), &[(2, 1), (5, 2), (6, 5)], ScriptedPeer::wait_for_hangup),
    ];
    let (seqs, steps) = follow_until(6, scripts).unwrap();
    assert_eq!(seqs, [1, 2, 5, 6]);
    assert_eq!(steps, ["Lost", "Back { started: false }"]);
}

#[test]
fn a_gap_in_the_chain_asks_again_from_the_last_good_event() {
    let scripts = vec![
        attached(json!("start"), &[(1, 0), (4, 3)], ScriptedPeer::wait_for_hangup),
        attached(json!(1), &[(3, 1), (4, 3)], ScriptedPeer::wait_for_hangup),
    ];
    assert_eq!(follow_until(4, scripts).unwrap().0, [1, 3, 4]);
}

#[test]
fn gaps_that_never_close_end_the_following() {
    let gap = |from| attached(from, &[(4, 3)], ScriptedPeer::wait_for_hangup);
    let scripts = vec![
        attached(json!("start"), &[(1, 0), (4, 3)], ScriptedPeer::wait_for_hangup),
        gap(json!(1)),
        gap(json!(1)),
        gap(json!(1)),
    ];
    let error = follow_until(4, scripts).unwrap_err();
    assert!(matches!(error, FollowError::Gap { last: EventSeq(1), prev: EventSeq(3) }), "{error}");
}

#[test]
fn a_snapshot_sets_where_the_chain_begins() {
    let scripts: Vec<DaemonScript> = vec![
        Box::new(|peer| {
            peer.answer("session/attach", json!("1"));
            peer.event(json!({"type": "signal.snapshot", "data": {"seq": 7}}));
        }),
        attached(json!(7), &[(9, 7)], ScriptedPeer::wait_for_hangup),
    ];
    assert_eq!(follow_until(9, scripts).unwrap().0, [9]);
}

#[test]
fn a_cursor_that_is_gone_is_told() {
    let gone = json!({"code": -31015, "message": "cursor gone", "data": {"kind": "CURSOR_GONE", "retryable": false}});
    let scripts: Vec<DaemonScript> = vec![
        attached(json!("start"), &[(1, 0)], hang_up),
        Box::new(move |peer| {
            peer.refuse("session/attach", gone);
        }),
    ];
    let Err(FollowError::Call(CallError::Refused(refusal))) = follow_until(2, scripts) else { panic!() };
    assert!(refusal.is(ErrorKind::CursorGone));
}

#[test]
fn an_envelope_with_words_of_a_newer_daemon_is_still_an_event() {
    let scripts: Vec<DaemonScript> = vec![Box::new(|peer| {
        peer.answer("session/attach", json!("1"));
        let mut event = envelope(1, "comet.seen", json!({}));
        event["activity"] = json!("STARGAZING");
        peer.event(event);
        peer.wait_for_hangup();
    })];
    assert_eq!(follow_until(1, scripts).unwrap().0, [1]);
}

#[test]
fn an_answer_is_told_from_notifications_and_stale_answers() {
    let folder = tempfile::tempdir().unwrap();
    let script: DaemonScript = Box::new(|peer| {
        peer.send(&json!({"jsonrpc": "2.0", "method": "event", "params": {"result": {"type": "signal.x", "data": {}}}}));
        peer.send(&json!({"jsonrpc": "2.0", "id": 99, "result": {"at": "2020-01-01T00:00:00.000Z"}}));
        peer.answer("ping", json!({"at": "2025-11-20T11:04:05.000Z"}));
        peer.hang_up_on("ping");
    });
    let daemon = FakeDaemon::start(folder.path(), vec![script]);
    let mut client = connect(daemon.socket()).unwrap();
    assert_eq!(client.call::<Ping>(&NoParams {}).unwrap().at.to_string(), "2025-11-20T11:04:05.000Z");
    assert!(matches!(client.call::<Ping>(&NoParams {}), Err(CallError::Closed)));
    daemon.finish();
}

#[test]
fn a_request_that_is_too_long_is_not_sent() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = FakeDaemon::start(folder.path(), vec![Box::new(ScriptedPeer::wait_for_hangup)]);
    let mut client = connect(daemon.socket()).unwrap();
    let error = client.call_raw("ping", &"x".repeat(protocol::MAX_MESSAGE_BYTES)).unwrap_err();
    assert!(matches!(error, CallError::TooLarge { .. }), "{error}");
    drop(client);
    daemon.finish();
}

#[test]
fn nobody_listening_is_told_from_other_trouble() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("none.sock");
    assert!(matches!(connect(&socket), Err(ConnectError::NobodyListens { .. })));
    drop(UnixListener::bind(&socket).unwrap());
    // The file is left over from a daemon that was killed.
    assert!(matches!(connect(&socket), Err(ConnectError::NobodyListens { .. })));
    let long = folder.path().join("x".repeat(200));
    assert!(matches!(connect(&long), Err(ConnectError::Unusable { .. })));
}

/// Writes a program by another process: a file that ours has open for writing could not be executed.
fn write_program(path: &Path, script: &str) {
    let mut writer = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    writer.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
}

/// A program that is ready once somebody listens on `socket`, and a thread that then does so and follows the
/// script. The thread answers the program's arguments.
fn startable(
    folder: &Path,
    socket: &Path,
    script: DaemonScript,
) -> (DaemonStarter, thread::JoinHandle<String>) {
    let path = |name: &str| folder.join(name);
    for fifo in ["asked", "listening"] {
        assert!(Command::new("mkfifo").arg(path(fifo)).status().unwrap().success());
    }
    let lines = ["echo \"$*\" > asked", "read answer < listening", "echo ready"].join("\n");
    write_program(&path("daemon"), &format!("#!/bin/sh\ncd {}\n{lines}\n", folder.display()));
    let (asked, listening, socket) = (path("asked"), path("listening"), socket.to_owned());
    let daemon = thread::spawn(move || {
        let arguments = fs::read_to_string(asked).unwrap();
        // As the real one does with what a dead one left.
        let _absent = fs::remove_file(&socket);
        let listener = UnixListener::bind(socket).unwrap();
        fs::write(listening, "go\n").unwrap();
        script(&mut ScriptedPeer::new(listener.accept().unwrap().0));
        arguments
    });
    (DaemonStarter { program: path("daemon"), arguments: Vec::new(), log: path("state/daemon.log") }, daemon)
}

#[test]
fn a_started_daemon_is_waited_for_and_connected_to() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("d.sock");
    let script: DaemonScript = Box::new(|peer| {
        peer.answer("ping", json!({"at": "2025-11-20T11:04:05.000Z"}));
    });
    let (starter, daemon) = startable(folder.path(), &socket, script);
    let dialer = DaemonDialer::new(socket.clone(), Some(starter));
    assert!(matches!(dialer.connect(), Err(ConnectError::NobodyListens { .. })));
    dialer.start().unwrap().call::<Ping>(&NoParams {}).unwrap();
    let expected = format!("--socket {} --ready-fd 1 --exit-when-idle\n", socket.display());
    assert_eq!(daemon.join().unwrap(), expected);
}

#[test]
fn a_daemon_that_does_not_come_back_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let first = FakeDaemon::start(folder.path(), vec![attached(json!("start"), &[(1, 0)], hang_up)]);
    let second = attached(json!(1), &[(2, 1)], ScriptedPeer::wait_for_hangup);
    let (starter, daemon) = startable(folder.path(), first.socket(), second);
    let dialer = DaemonDialer::new(first.socket().to_owned(), Some(starter));
    let mut follow =
        SessionFollower::attach(&dialer, "s1".into(), AttachFrom::Word(AttachFromKeyword::Start), true)
            .unwrap();
    let (mut seqs, mut was_started) = (Vec::new(), false);
    while seqs.last() != Some(&EventSeq(2)) {
        match follow.next(WAIT).unwrap() {
            FollowStep::Event(followed) => seqs.extend(followed.envelope.seq),
            FollowStep::Back { started } => was_started = started,
            // A daemon that is killed leaves its socket behind.
            FollowStep::Lost => fs::write(first.socket(), "").unwrap(),
            FollowStep::Quiet => {}
        }
    }
    assert!(was_started);
    assert_eq!(seqs, [EventSeq(1), EventSeq(2)]);
    drop(follow);
    first.finish();
    daemon.join().unwrap();
}

#[test]
fn a_daemon_that_ends_early_tells_why() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("daemon");
    write_program(&program, "#!/bin/sh\necho 'the database is from the future' >&2\nexit 3\n");
    let log = folder.path().join("state/daemon.log");
    let starter = DaemonStarter { program, arguments: Vec::new(), log: log.clone() };
    let dialer = DaemonDialer::new(folder.path().join("d.sock"), Some(starter));
    for _ in 0..2 {
        let error = dialer.start().err().unwrap();
        let ConnectError::DaemonDied { status: Some(status), tail, .. } = error else { panic!("{error}") };
        assert_eq!(status.code(), Some(3));
        // Only what this start said, not the one before.
        assert_eq!(tail, "the database is from the future\n");
    }
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(log.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_missing_program_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let starter = DaemonStarter {
        program: folder.path().join("none"),
        arguments: Vec::new(),
        log: folder.path().join("log"),
    };
    let dialer = DaemonDialer::new(folder.path().join("d.sock"), Some(starter));
    assert!(matches!(dialer.start(), Err(ConnectError::ProgramMissing { .. })));
}
