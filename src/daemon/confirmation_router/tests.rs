//! Who is asked, and what becomes of a question that nobody can be asked?

use std::path::Path;

use expect_test::{Expect, expect};
use tokio::{sync::mpsc, time::timeout};

use super::{
    board::{RouterCapacity, RouterReview},
    rules::is_eligible,
    *,
};
use crate::clients::ConfirmationCandidate;
use protocol::{
    AttachRole, Audience, ConfirmationCapability, ConfirmationDetails, ConfirmationOption,
    ConfirmationOutcome, ConfirmationRequested, ConfirmationResolved, ConfirmationRevised, DecidedBy,
    EventBody, EventHead, OnDeadline, OnDetached, Presence, PrivateEventFields, Resolution, RevisionReason,
    Risk, SessionId, Timestamp, ToolKind,
};
use store::NewEvent;
use sys::{clock::ManualClock, tasks::TaskGroup};

/// Longer than any machine needs; reached only by a defect.
const STUCK: Duration = Duration::from_secs(60);
const START: Timestamp = Timestamp(1_700_000_000_000_000);

fn subject(change: impl FnOnce(&mut Confirmation)) -> Confirmation {
    let mut subject = Confirmation {
        confirmation_id: "q".into(),
        run_id: "r".into(),
        session_id: "s".into(),
        path: vec!["lead".into()],
        tool_call_id: Some("k".into()),
        tool: Some("probe".into()),
        kind: Some(ToolKind::Other),
        risk: Risk::Low,
        hidden_places: 0,
        title: "Probe".to_owned(),
        rule: "builtin:risk=low".to_owned(),
        reason: "it is not safe".to_owned(),
        details: ConfirmationDetails::Info { prompt: "May it?".to_owned() },
        digest: "sha256:00".to_owned(),
        options: vec![ConfirmationOption {
            outcome: ConfirmationOutcome::AllowOnce,
            grant: None,
            label: "Allow".to_owned(),
            allows: None,
            remembers: None,
        }],
        audience: Audience::All,
        initiator: None,
        headless: false,
        on_detached: OnDetached::Wait,
        created_at: START,
        deadline_at: None,
        on_deadline: OnDeadline::Deny,
        edited_by: None,
    };
    change(&mut subject);
    subject
}

/// A client in words: its id, then what it is attached to (`s`, `*`; with `!` only to look on), `away`, `idle`,
/// `kinds=…` and `mute` for one that can put no question to anybody.
fn candidate(connection: u64, words: &str) -> ConfirmationCandidate {
    let mut words = words.split(' ');
    let mut candidate = ConfirmationCandidate {
        connection,
        client: words.next().unwrap().into(),
        confirmations: Some(ConfirmationCapability { kinds: None }),
        presence: Presence::Active,
        seats: Vec::new(),
    };
    for word in words {
        match (word, word.strip_prefix("kinds=")) {
            ("away", _) => candidate.presence = Presence::Away,
            ("idle", _) => candidate.presence = Presence::Idle,
            ("mute", _) => candidate.confirmations = None,
            (_, Some(kinds)) => {
                let kinds = kinds.split(',').filter(|kind| !kind.is_empty()).map(str::to_owned);
                candidate.confirmations = Some(ConfirmationCapability { kinds: Some(kinds.collect()) });
            }
            (seat, None) => {
                let role = if seat.ends_with('!') { AttachRole::Observe } else { AttachRole::Control };
                candidate.seats.push((AttachScope::named(seat.trim_end_matches('!').into()), role));
            }
        }
    }
    candidate
}

/// For so many deeds of each kind.
fn room(n: usize) -> RouterCapacity {
    RouterCapacity { settle: n, tell: n }
}

fn eligible(clients: &[&str]) -> EligibleClients {
    let numbered = (1..).zip(clients);
    EligibleClients::new(numbered.map(|(connection, words)| candidate(connection, words)).collect())
}

fn at(ms: u64) -> ClockTimes {
    let mono = Duration::from_millis(ms);
    ClockTimes { wall: START.plus(mono), mono }
}

/// Who of these is asked, so many milliseconds after the question came.
fn asked(audience: Audience, ms: u64, clients: &[&str]) -> String {
    let subject = subject(|it| {
        it.audience = audience;
        it.initiator = Some("ann".into());
    });
    let (question, eligible) = (RoutingFacts::from(&subject), eligible(clients));
    let is_open = eligible.opens(&question, Duration::ZERO, at(ms));
    let mut asked = Vec::new();
    for (connection, words) in (1..).zip(clients) {
        let is_asked = eligible.is_asked(connection, &question, is_open);
        // Two ways to the same answer: one for all at once, one for a client alone.
        assert_eq!(is_asked, is_eligible(&candidate(connection, words), &question, is_open), "{words}");
        asked.extend(is_asked.then(|| words.split(' ').next().unwrap()));
    }
    assert_eq!(eligible.is_anybody_asked(&question, is_open), !asked.is_empty());
    asked.join(" ")
}

#[test]
fn who_is_asked() {
    let all = || Audience::All;
    let first = || Audience::InitiatorFirst { grace_ms: 1_000 };
    let only = |ids: &[&str]| Audience::Clients(ids.iter().map(|id| (*id).into()).collect());
    let cases: Vec<(&str, Audience, u64, &[&str], &str)> = vec![
        ("nobody there", all(), 0, &[], ""),
        ("attached to the session", all(), 0, &["bob s"], "bob"),
        ("attached to all sessions", all(), 0, &["bob *"], "bob"),
        ("attached to another", all(), 0, &["bob t"], ""),
        ("attached to nothing", all(), 0, &["bob"], ""),
        ("only looks on", all(), 0, &["bob s!"], ""),
        ("looks on at all, decides in this one", all(), 0, &["bob *! s"], "bob"),
        ("decides in another, looks on at this one", all(), 0, &["bob t s!"], ""),
        ("two there", all(), 0, &["bob s", "eve *"], "bob eve"),
        ("one is away", all(), 0, &["bob s away", "eve s"], "eve"),
        ("idle is there", all(), 0, &["bob s idle"], "bob"),
        ("cannot put questions", all(), 0, &["bob s mute"], ""),
        ("can show this kind", all(), 0, &["bob s kinds=edit,info"], "bob"),
        ("cannot show this kind", all(), 0, &["bob s kinds=edit"], ""),
        ("names no kinds at all", all(), 0, &["bob s kinds="], ""),
        ("a kind of tomorrow", all(), 0, &["bob s kinds=info2"], ""),
        ("the initiator first", first(), 0, &["ann s", "bob s"], "ann"),
        ("the initiator twice", first(), 0, &["ann s", "bob s", "ann *"], "ann ann"),
        ("until the time is over", first(), 999, &["ann s", "bob s"], "ann"),
        ("then all", first(), 1_000, &["ann s", "bob s"], "ann bob"),
        ("the initiator is not there", first(), 0, &["bob s"], "bob"),
        ("the initiator is away", first(), 0, &["ann s away", "bob s"], "bob"),
        ("the initiator cannot show it", first(), 0, &["ann s kinds=edit", "bob s"], "bob"),
        ("the initiator only looks on", first(), 0, &["ann s!", "bob s"], "bob"),
        ("the initiator is elsewhere", first(), 0, &["ann t", "bob s"], "bob"),
        ("some clients alone", only(&["eve", "bob"]), 0, &["ann s", "bob s"], "bob"),
        ("they are away", only(&["bob"]), 99_999, &["ann s", "bob s away"], ""),
        ("nobody may be asked", only(&[]), 0, &["ann s"], ""),
    ];
    for (name, audience, ms, clients, expected) in cases {
        assert_eq!(asked(audience, ms, clients), expected, "{name}");
    }
}

#[test]
fn a_question_without_an_initiator_is_for_all() {
    let subject = subject(|it| it.audience = Audience::InitiatorFirst { grace_ms: 1_000 });
    let (question, eligible) = (RoutingFacts::from(&subject), eligible(&["ann s"]));
    assert!(eligible.opens(&question, Duration::ZERO, at(0)));
}

/// What is done while clients come (`+ann s`), go (`-ann`) and time passes (`5s`, `20ms`). Each deed succeeds at once
/// unless it is followed by `!`, which lets those of the next step fail.
fn story(change: impl FnOnce(&mut Confirmation), tell_after: Option<Duration>, script: &str) -> String {
    let (mut board, mut there, mut ms) = (OpenConfirmations::default(), Vec::<String>::new(), 0);
    board.put(&subject(change), EventSeq(1), at(0), Duration::ZERO);
    let mut told = Vec::new();
    let mut look = |board: &mut OpenConfirmations, there: &[String], ms: u64, fails: bool| {
        let clients: Vec<&str> = there.iter().map(String::as_str).collect();
        // As often as something happens at once.
        for _ in 0..5 {
            let RouterReview { tasks, .. } = board.look(&eligible(&clients), tell_after, room(9), at(ms));
            for RouterTask { question, deed } in tasks {
                let is_end = !matches!(
                    deed,
                    RouterAction::Tell
                        | RouterAction::Settle(UnansweredEffect::Park | UnansweredEffect::Postpone(_))
                );
                told.push(format!("{ms}: {}{}", brief(&deed), if fails { " failed" } else { "" }));
                board.finish(&question.id, &deed, !fails, at(ms));
                if is_end && !fails {
                    board.close(&question.id);
                }
            }
        }
    };
    look(&mut board, &there, ms, false);
    for step in script.split(", ").filter(|step| !step.is_empty()) {
        let failing = step.strip_suffix('!').filter(|step| !step.starts_with('+'));
        let (step, fails) = failing.map_or((step, false), |step| (step, true));
        match step.split_at(1) {
            ("+", client) => there.push(client.to_owned()),
            ("-", client) => there.retain(|it| it.split(' ').next() != Some(client)),
            _ => {
                let (number, unit) = step.split_at(step.find(|it: char| it.is_alphabetic()).unwrap());
                ms += number.parse::<u64>().unwrap() * if unit == "s" { 1_000 } else { 1 };
            }
        }
        look(&mut board, &there, ms, fails);
    }
    told.join("\n")
}

fn brief(deed: &RouterAction) -> String {
    match deed {
        RouterAction::Tell => "tell".to_owned(),
        RouterAction::Settle(UnansweredEffect::Deny { by, .. }) => format!("deny by {by:?}"),
        RouterAction::Settle(UnansweredEffect::CancelRun { by, .. }) => format!("cancel by {by:?}"),
        RouterAction::Settle(UnansweredEffect::Fail { .. }) => "fail".to_owned(),
        RouterAction::Settle(UnansweredEffect::Park) => "park".to_owned(),
        RouterAction::Settle(UnansweredEffect::Postpone(at)) => format!("postpone to {:?}", at.since(START)),
    }
}

#[test]
fn what_becomes_of_a_question_while_nobody_is_there() {
    let deadline = |on_deadline, seconds: u64| {
        move |it: &mut Confirmation| {
            it.on_deadline = on_deadline;
            it.deadline_at = Some(START.plus(Duration::from_secs(seconds)));
        }
    };
    let detached = |on_detached, headless| {
        move |it: &mut Confirmation| (it.on_detached, it.headless) = (on_detached, headless)
    };
    type Change = Box<dyn FnOnce(&mut Confirmation)>;
    let cases: Vec<(&str, Change, &str, &str)> = vec![
        ("it waits for ever", Box::new(|_| ()), "999999s", ""),
        (
            "denied at once when nobody was ever there",
            Box::new(detached(OnDetached::Deny, true)),
            "",
            "0: deny by System",
        ),
        (
            "who comes then is too late",
            Box::new(detached(OnDetached::Deny, true)),
            "+ann s",
            "0: deny by System",
        ),
        (
            "denied after a while",
            Box::new(detached(OnDetached::Deny, false)),
            "2999ms, 1ms",
            "3000: deny by System",
        ),
        (
            "not when somebody comes in time",
            Box::new(detached(OnDetached::Deny, false)),
            "2s, +ann s, 99s",
            "",
        ),
        (
            "a reconnect is not a denial",
            Box::new(detached(OnDetached::Deny, false)),
            "1s, +ann s, 9s, -ann, 2s, +ann s, 9s",
            "",
        ),
        (
            "leaving for good is",
            Box::new(detached(OnDetached::Deny, false)),
            "1s, +ann s, 9s, -ann, 3s",
            "13000: deny by System",
        ),
        (
            "who only looks on is nobody",
            Box::new(detached(OnDetached::Deny, false)),
            "+ann s!, 3s",
            "3000: deny by System",
        ),
        ("the run fails", Box::new(detached(OnDetached::Fail, false)), "3s", "3000: fail"),
        ("headless it fails at once", Box::new(detached(OnDetached::Fail, true)), "", "0: fail"),
        ("headless may wait", Box::new(detached(OnDetached::Wait, true)), "999999s", ""),
        (
            "parked once",
            Box::new(detached(OnDetached::Park, false)),
            "3s, 99s, +ann s, 9s, -ann, 99s",
            "3000: park",
        ),
        (
            "a deed that failed is done again",
            Box::new(detached(OnDetached::Park, false)),
            "3s!, 4999ms, 1ms",
            "3000: park failed\n8000: park",
        ),
        (
            "denied when its time is over",
            Box::new(deadline(OnDeadline::Deny, 60)),
            "59999ms, 1ms",
            "60000: deny by Deadline",
        ),
        (
            "or its run is cancelled",
            Box::new(deadline(OnDeadline::CancelRun, 60)),
            "60s",
            "60000: cancel by Deadline",
        ),
        ("or parked, once", Box::new(deadline(OnDeadline::Park, 60)), "60s, 99s", "60000: park"),
        (
            "its time stands still while somebody is there",
            Box::new(deadline(OnDeadline::Deny, 60)),
            "+ann s, 999s",
            "",
        ),
        (
            "and is added when the last one leaves",
            Box::new(deadline(OnDeadline::Deny, 60)),
            "10s, +ann s, 5s, +bob s, 5s, -ann, 90s, -bob, 3s, 46999ms, 1ms",
            "113000: postpone to 160s\n160000: deny by Deadline",
        ),
        (
            "it is made durable when nobody returns, each time",
            Box::new(deadline(OnDeadline::Deny, 60)),
            "+ann s, 10s, -ann, 1s, +ann s, 10s, -ann, 3s, +ann s, 10s, -ann, 3s",
            "24000: postpone to 80s\n37000: postpone to 90s",
        ),
        (
            "and again when it could not be",
            Box::new(deadline(OnDeadline::Deny, 60)),
            "+ann s, 10s, -ann, 3s!, 5s, 99s",
            "13000: postpone to 70s failed\n18000: postpone to 70s\n117000: deny by Deadline",
        ),
        (
            "who comes after the time is too late",
            Box::new(deadline(OnDeadline::Deny, 60)),
            "61s, +ann s",
            "61000: deny by Deadline",
        ),
        (
            "away is not there",
            Box::new(deadline(OnDeadline::Deny, 60)),
            "+ann s away, 60s",
            "60000: deny by Deadline",
        ),
    ];
    for (name, change, script, expected) in cases {
        assert_eq!(story(change, None, script), expected, "{name}: {script}");
    }
}

#[test]
fn somebody_is_told_elsewhere_once_a_subject() {
    let after = Some(Duration::from_secs(10));
    assert_eq!(story(|_| (), after, "9999ms, 1ms, 99s, +ann s, 1s, -ann, 99s"), "10000: tell");
    assert_eq!(story(|_| (), after, "5s, +ann s, 99s, -ann, 9s, 1s"), "114000: tell");
    assert_eq!(story(|_| (), None, "99s"), "");
    assert_eq!(story(|_| (), Some(Duration::ZERO), ""), "0: tell");
    // Nobody is told of what is denied at once.
    assert_eq!(story(|it| it.on_detached = OnDetached::Deny, after, "99s"), "99000: deny by System");
}

#[test]
fn who_is_slow_to_be_told_holds_up_no_denial() {
    let mut board = OpenConfirmations::default();
    let ask = |board: &mut OpenConfirmations, id: &str, is_headless: bool| {
        let subject = subject(|it| {
            it.confirmation_id = id.into();
            it.headless = is_headless;
            it.on_detached = if is_headless { OnDetached::Deny } else { OnDetached::Wait };
        });
        board.put(&subject, EventSeq(1), at(0), Duration::ZERO);
    };
    (0..5).for_each(|n| ask(&mut board, &format!("a{n}"), false));
    ask(&mut board, "z", true);
    let room = RouterCapacity { settle: 2, tell: 2 };
    let look = board.look(&EligibleClients::default(), Some(Duration::ZERO), room, at(0));
    let told = look.tasks.iter().map(|task| (task.question.id.as_str(), task.deed == RouterAction::Tell));
    assert_eq!(told.collect::<Vec<_>>(), [("a0", true), ("a1", true), ("z", false)]);
}

#[test]
fn time_in_which_somebody_was_there_is_known_to_the_next_daemon() {
    let subject = subject(|it| it.deadline_at = Some(at(10_000).wall));
    let mut board = OpenConfirmations::default();
    board.put(&subject, EventSeq(1), at(0), Duration::ZERO);
    assert_eq!(board.attended(at(1_000)), BTreeMap::new());
    board.look(&eligible(&["ann s"]), None, room(9), at(1_000));
    let noted = board.attended(at(15_000));
    assert_eq!(noted, BTreeMap::from([(subject.confirmation_id.clone(), at(24_000).wall)]));
    // The log still says 10 s.
    let mut next = OpenConfirmations::default();
    next.put(&subject, EventSeq(1), at(16_000), Duration::ZERO);
    next.postpone(&noted);
    let deeds = |board: &mut OpenConfirmations, ms| {
        let look = board.look(&EligibleClients::default(), None, room(9), at(ms));
        look.tasks.into_iter().map(|task| task.deed).collect::<Vec<_>>()
    };
    assert_eq!(deeds(&mut next, 17_000), [], "it has not begun to be nobody's");
    let postponed = deeds(&mut next, 20_000);
    assert!(matches!(postponed[..], [RouterAction::Settle(UnansweredEffect::Postpone(_))]), "{postponed:?}");
    next.finish(&subject.confirmation_id, &postponed[0], true, at(20_000));
    assert_eq!(deeds(&mut next, 23_999), []);
    assert!(matches!(deeds(&mut next, 24_000)[..], [RouterAction::Settle(UnansweredEffect::Deny { .. })]));
}

#[test]
fn a_look_does_no_more_at_once_than_there_is_room_for() {
    let mut board = OpenConfirmations::default();
    for n in 0..5 {
        let subject = subject(|it| {
            it.confirmation_id = format!("q{n}").into();
            it.headless = true;
            it.on_detached = OnDetached::Deny;
        });
        board.put(&subject, EventSeq(n + 1), at(0), Duration::ZERO);
    }
    let mut done = 0;
    for expected in [2, 2, 1, 0] {
        let look = board.look(&EligibleClients::default(), None, room(2), at(0));
        assert_eq!(look.tasks.len(), expected);
        for task in look.tasks {
            board.finish(&task.question.id, &task.deed, true, at(0));
            board.close(&task.question.id);
            done += 1;
        }
    }
    assert_eq!(done, 5);
}

fn claim(until: ClockTimes) -> Claim {
    Claim { client_id: Some("ann".into()), name: None, until: until.wall, answered: false }
}

/// It outlives the connection by which it came: the run goes on with it.
#[test]
fn an_answer_with_a_change_is_told_before_who_reads_until_the_run_has_decided() {
    let mut board = OpenConfirmations::default();
    board.put(&subject(|_| ()), EventSeq(1), at(0), Duration::ZERO);
    let id = ConfirmationId::from("q");
    let answered = |board: &OpenConfirmations| board.reader(&id).map(|claim| claim.answered);
    assert!(board.claim(&id, 1, claim(at(9_000))).is_some());
    let edit = Claim { answered: true, ..claim(at(1)) };
    assert_eq!(board.edit_begins(&"x".into(), edit.clone()), None);
    let (_, first) = board.edit_begins(&id, edit.clone()).unwrap();
    let (_, second) = board.edit_begins(&id, edit).unwrap();
    board.look(&EligibleClients::default(), None, room(9), at(2_000));
    assert_eq!(answered(&board), Some(true));
    board.leave(1);
    assert!(board.edit_ends(&id, first).is_some());
    assert_eq!(answered(&board), Some(true), "there is another one");
    assert!(board.edit_ends(&id, second).is_some());
    assert_eq!(answered(&board), None);
    board.close(&id);
    assert_eq!(board.edit_ends(&id, second), None, "it is over");
}

#[test]
fn a_claim_ends_with_its_time_and_its_connection() {
    let mut board = OpenConfirmations::default();
    board.put(&subject(|_| ()), EventSeq(1), at(0), Duration::ZERO);
    let id = ConfirmationId::from("q");
    let reader =
        |board: &OpenConfirmations| board.reader(&id).map(|claim| claim.until.since(START).as_secs());
    assert_eq!(board.claim(&"x".into(), 1, claim(at(9_000))), None);
    assert!(board.claim(&id, 1, claim(at(9_000))).unwrap().1, "the first of its connection");
    assert!(!board.claim(&id, 1, claim(at(5_000))).unwrap().1);
    assert!(board.claim(&id, 2, claim(at(8_000))).unwrap().1);
    assert_eq!(reader(&board), Some(5), "whoever reads longest is shown");
    let look = board.look(&EligibleClients::default(), None, room(9), at(1_000));
    assert_eq!((look.news.len(), look.again), (0, Some(Duration::from_secs(4))));
    let look = board.look(&EligibleClients::default(), None, room(9), at(5_000));
    assert_eq!((look.news.len(), reader(&board)), (1, Some(8)));
    assert_eq!(board.release(&id, 1), None, "it is over");
    assert_eq!(board.leave(2), BTreeSet::from([SessionId::from("s")]));
    assert_eq!(reader(&board), None);
    assert!(board.claim(&id, 2, claim(at(9_000))).unwrap().1, "it came again");
    assert!(board.release(&id, 2).is_some());
}

#[test]
fn it_is_looked_again_when_a_time_of_day_may_have_come() {
    let check = |change: fn(&mut Confirmation), expected: Expect| {
        let mut board = OpenConfirmations::default();
        board.put(&subject(change), EventSeq(1), at(0), Duration::ZERO);
        let look = board.look(&eligible(&["ann s"]), None, room(9), at(0));
        expected.assert_eq(&format!("{:?}", look.again));
    };
    check(|_| (), expect!["None"]);
    // Somebody is there: it counts from when they leave.
    check(|it| it.deadline_at = Some(START.plus(Duration::from_secs(5))), expect!["Some(60s)"]);
    let first = |it: &mut Confirmation| {
        it.initiator = Some("ann".into());
        it.audience = Audience::InitiatorFirst { grace_ms: 30_000 };
    };
    check(first, expect!["Some(30s)"]);
}

mod following;
