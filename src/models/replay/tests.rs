//! Recordings: what is replayed, in which order, and what is said of bad ones.

use std::io::Write;

use futures_util::FutureExt as _;
use tempfile::NamedTempFile;

use super::{BadRecording, ReplayModel, ReplayOrder};
use crate::{
    LanguageModel as _, ModelError, ModelEvent, ModelRequest, ReplyPart, RequestPurpose, tests::stream_to_end,
};
use protocol::{RunErrorCode, SamplingSettings};

fn recording(lines: &[&str]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(lines.join("\n").as_bytes()).unwrap();
    file
}

fn turn(text: &str) -> String {
    format!(
        r#"{{"method":"generateContentStream","path":"agent#0","response":[{{"candidates":[{{"content":{{"parts":[{{"text":"{text}"}}],"role":"model"}},"finishReason":"STOP"}}]}}]}}"#
    )
}

fn utility(text: &str) -> String {
    format!(
        r#"{{"method":"generateContent","response":{{"candidates":[{{"content":{{"parts":[{{"text":"{text}"}}]}},"finishReason":"STOP"}}]}}}}"#
    )
}

const EMPTY_TURN: &str = r#"{"method":"generateContentStream","response":[{"candidates":[{"content":{"role":"model"},"finishReason":"STOP"}]}]}"#;
const COUNT: &str = r#"{"method":"countTokens","response":{"totalTokens":100}}"#;

fn play(replay: &ReplayModel, purpose: RequestPurpose, ordinal: u32) -> Result<String, ModelError> {
    play_after(replay, purpose, ordinal, 0)
}

/// After that many replies to the other purpose.
fn play_after(
    replay: &ReplayModel,
    purpose: RequestPurpose,
    ordinal: u32,
    others: u32,
) -> Result<String, ModelError> {
    ask(replay, ModelRequest { others, ..request(purpose, "agent#0", ordinal) })
}

fn play_in_tree(
    replay: &ReplayModel,
    purpose: RequestPurpose,
    path: &str,
    ordinal: u32,
    tree_ordinal: u32,
) -> Result<String, ModelError> {
    ask(replay, ModelRequest { tree_ordinal, ..request(purpose, path, ordinal) })
}

fn request(purpose: RequestPurpose, path: &str, ordinal: u32) -> ModelRequest {
    ModelRequest {
        purpose,
        system: "".into(),
        messages: Vec::new(),
        tools: [].into(),
        sampling: SamplingSettings::default(),
        schema: None,
        provider_tool: None,
        ordinal,
        others: 0,
        path: path.into(),
        tree_ordinal: ordinal,
        room: None,
    }
}

fn ask(replay: &ReplayModel, request: ModelRequest) -> Result<String, ModelError> {
    match stream_to_end(replay, request).pop() {
        Some(Ok(ModelEvent::Finished(reply))) => match &reply.parts[0] {
            ReplyPart::Text(text) => Ok(text.clone()),
            other => panic!("{other:?}"),
        },
        Some(Err(error)) => Err(error),
        other => panic!("{other:?}"),
    }
}

fn final_error(code: RunErrorCode, message: &str) -> Result<String, ModelError> {
    Err(ModelError::Final { code, message: message.to_owned() })
}

#[test]
fn each_purpose_takes_the_lines_of_its_method() {
    let file = recording(&[&utility("u0"), &turn("t0"), "", COUNT, &turn("t1"), &utility("u1")]);
    let replay = ReplayModel::open(file.path(), ReplayOrder::ByMethod).unwrap();
    for (purpose, ordinal, text) in [
        (RequestPurpose::Turn, 1, "t1"),
        (RequestPurpose::Turn, 0, "t0"),
        (RequestPurpose::Utility, 0, "u0"),
        (RequestPurpose::Utility, 1, "u1"),
    ] {
        assert_eq!(play(&replay, purpose, ordinal).as_deref(), Ok(text));
    }
    assert_eq!(
        play(&replay, RequestPurpose::Turn, 2),
        final_error(
            RunErrorCode::ReplayExhausted,
            "the recording has run out: reply 3 of generateContentStream was asked for, and it has 2"
        )
    );
}

#[test]
fn strictly_the_very_next_line_must_fit() {
    let file = recording(&[&turn("t0"), "", &utility("u0")]);
    let replay = ReplayModel::open(file.path(), ReplayOrder::Strict).unwrap();
    assert_eq!(play(&replay, RequestPurpose::Turn, 0).as_deref(), Ok("t0"));
    assert_eq!(
        play(&replay, RequestPurpose::Turn, 1),
        final_error(
            RunErrorCode::ReplayMismatch,
            "line 3 of the recording is generateContent, but generateContentStream was asked for"
        )
    );
    assert_eq!(play_after(&replay, RequestPurpose::Utility, 0, 1).as_deref(), Ok("u0"));
    assert_eq!(
        play_after(&replay, RequestPurpose::Turn, 1, 1),
        final_error(
            RunErrorCode::ReplayExhausted,
            "the recording has run out: reply 3 of generateContentStream was asked for, and it has 2"
        )
    );
}

/// Which question of its run it answers.
fn numbered_utility(ordinal: u32, text: &str) -> String {
    utility(text).replacen('{', &format!(r#"{{"path":"agent#0","ordinal":{ordinal},"#), 1)
}

#[test]
fn questions_that_came_to_nothing_have_numbers_of_their_own() {
    let refused = numbered_utility(1, "no").replace("STOP", "SAFETY");
    let empty = numbered_utility(3, "");
    // Nobody answered the first one, and the fourth was asked twice.
    let (u2, u4) = (numbered_utility(2, "u2"), numbered_utility(4, "u4"));
    let file = recording(&[&turn("t0"), &refused, &turn("t1"), &u2, &empty, &empty, &turn("t2"), &u4]);
    let replay = ReplayModel::open(file.path(), ReplayOrder::ByMethod).unwrap();
    assert!(matches!(play(&replay, RequestPurpose::Utility, 0), Err(ModelError::Final { .. })));
    assert_eq!(play(&replay, RequestPurpose::Utility, 1).as_deref(), Ok("no"));
    assert_eq!(play(&replay, RequestPurpose::Utility, 2).as_deref(), Ok("u2"));
    assert!(matches!(play(&replay, RequestPurpose::Utility, 3), Err(ModelError::Unusable { .. })));
    assert_eq!(play(&replay, RequestPurpose::Utility, 4).as_deref(), Ok("u4"));

    let replay = ReplayModel::open(file.path(), ReplayOrder::Strict).unwrap();
    let mismatch = "line 1 of the recording is generateContentStream, but generateContent was asked for";
    assert_eq!(
        play_after(&replay, RequestPurpose::Utility, 0, 0),
        final_error(RunErrorCode::ReplayMismatch, mismatch)
    );
    assert_eq!(play_after(&replay, RequestPurpose::Turn, 0, 1).as_deref(), Ok("t0"));
    let mismatch = "line 2 of the recording is reply 2 of generateContent, but reply 1 was asked for";
    assert_eq!(
        play_after(&replay, RequestPurpose::Utility, 0, 1),
        final_error(RunErrorCode::ReplayMismatch, mismatch)
    );
    assert_eq!(play_after(&replay, RequestPurpose::Utility, 1, 1).as_deref(), Ok("no"));
    assert_eq!(play_after(&replay, RequestPurpose::Turn, 1, 2).as_deref(), Ok("t1"));
    assert_eq!(play_after(&replay, RequestPurpose::Utility, 2, 2).as_deref(), Ok("u2"));
    assert!(matches!(play_after(&replay, RequestPurpose::Utility, 3, 2), Err(ModelError::Unusable { .. })));
    assert_eq!(play_after(&replay, RequestPurpose::Turn, 2, 4).as_deref(), Ok("t2"));
    assert_eq!(play_after(&replay, RequestPurpose::Utility, 4, 3).as_deref(), Ok("u4"));
}

#[test]
fn replies_that_were_asked_for_again_are_passed_over() {
    let file = recording(&[EMPTY_TURN, &turn("t0"), EMPTY_TURN, EMPTY_TURN, &turn("t1"), EMPTY_TURN]);
    let replay = ReplayModel::open(file.path(), ReplayOrder::ByMethod).unwrap();
    assert_eq!(play(&replay, RequestPurpose::Turn, 0).as_deref(), Ok("t0"));
    assert_eq!(play(&replay, RequestPurpose::Turn, 1).as_deref(), Ok("t1"));
    assert!(matches!(play(&replay, RequestPurpose::Turn, 2), Err(ModelError::Unusable { .. })));
    assert!(matches!(play(&replay, RequestPurpose::Turn, 3), Err(ModelError::Final { .. })));
}

#[test]
fn a_bad_line_is_named_when_the_recording_is_opened() {
    let cases = [
        ("no json", "is not {\"method\": …, \"response\": …}: expected ident"),
        (r#"{"method":"sing","response":{}}"#, "unknown variant `sing`"),
        (r#"{"method":"generateContentStream"}"#, "missing field `response`"),
        (r#"{"method":"generateContentStream","response":{}}"#, "`response` is not an array of chunks"),
        (
            r#"{"method":"generateContentStream","response":[{},{"candidates":7}]}"#,
            "chunk 2 is not a response: invalid type: integer `7`, expected a sequence",
        ),
        (
            r#"{"method":"generateContentStream","response":[{"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]}]}"#,
            "chunk 1 is not a response: missing field `name`",
        ),
        ("\u{0}", "expected value"),
    ];
    for (line, problem) in cases {
        let file = recording(&[&turn("t0"), "", line, &turn("t1")]);
        let Err(error) = ReplayModel::open(file.path(), ReplayOrder::ByMethod) else {
            panic!("{line} was taken")
        };
        assert!(matches!(error, BadRecording::BadLine { line: 3, .. }), "{error}");
        assert!(error.to_string().starts_with("line 3: ") && error.to_string().contains(problem), "{error}");
    }
}

#[test]
fn each_run_of_a_tree_gets_the_lines_of_its_path() {
    let line = |path: &str, text: &str| turn(text).replace("agent#0", path);
    let lines = [
        line("lead#1", "asks"),
        line("lead#1/reader#2", "b"),
        line("lead#1/reader#1", "a"),
        line("lead#1", "ends"),
    ];
    let file = recording(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    for order in [ReplayOrder::ByMethod, ReplayOrder::Strict] {
        let replay = ReplayModel::open(file.path(), order).unwrap();
        // In which order they ask is no matter.
        for (path, ordinal, text) in [
            ("lead#1", 0, "asks"),
            ("lead#1/reader#1", 0, "a"),
            ("lead#1/reader#2", 0, "b"),
            ("lead#1", 1, "ends"),
        ] {
            let said = play_in_tree(&replay, RequestPurpose::Turn, path, ordinal, 99);
            assert_eq!(said.as_deref(), Ok(text), "{path}");
        }
        assert!(play_in_tree(&replay, RequestPurpose::Turn, "lead#1/reader#3", 0, 0).is_err());
    }
}

#[test]
fn a_file_without_paths_is_one_path_for_the_whole_tree() {
    let line = |text: &str| turn(text).replace(r#""path":"agent#0","#, "");
    let lines = [line("asks"), line("a"), line("ends")];
    let file = recording(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let replay = ReplayModel::open(file.path(), ReplayOrder::ByMethod).unwrap();
    for (path, ordinal, tree_ordinal, text) in
        [("lead#1", 0, 0, "asks"), ("lead#1/reader#1", 0, 1, "a"), ("lead#1", 1, 2, "ends")]
    {
        let said = play_in_tree(&replay, RequestPurpose::Turn, path, ordinal, tree_ordinal);
        assert_eq!(said.as_deref(), Ok(text), "{path}");
    }
}

/// What is counted when the run has had that many turns and questions.
fn count(replay: &ReplayModel, ordinal: u32, turns: u32, questions: u32) -> Option<u64> {
    let request = ModelRequest { others: questions, ..request(RequestPurpose::Turn, "agent#0", turns) };
    let counted = replay.count(request, ordinal)?;
    Some(counted.now_or_never().unwrap().unwrap())
}

fn numbered_count(ordinal: u32, tokens: u64) -> String {
    COUNT
        .replacen('{', &format!(r#"{{"path":"agent#0","ordinal":{ordinal},"#), 1)
        .replace("100", &tokens.to_string())
}

#[test]
fn counts_are_answered_in_their_place_and_move_no_reply() {
    let lines = [
        turn("t0"),
        numbered_utility(0, "u0"),
        // A crash had them counted once more.
        numbered_count(2, 1),
        numbered_count(2, 20),
        numbered_count(3, 30),
        turn("t1"),
        // Nothing was counted before it.
        numbered_count(7, 70),
        turn("t2"),
    ];
    let file = recording(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    for order in [ReplayOrder::ByMethod, ReplayOrder::Strict] {
        let replay = ReplayModel::open(file.path(), order).unwrap();
        assert_eq!(play_after(&replay, RequestPurpose::Turn, 0, 0).as_deref(), Ok("t0"));
        assert_eq!(play_after(&replay, RequestPurpose::Utility, 0, 1).as_deref(), Ok("u0"));
        assert_eq!(count(&replay, 0, 1, 1), None);
        assert_eq!(count(&replay, 2, 1, 1), Some(20));
        assert_eq!(count(&replay, 3, 1, 1), Some(30));
        assert_eq!(play_after(&replay, RequestPurpose::Turn, 1, 1).as_deref(), Ok("t1"));
        assert_eq!(count(&replay, 6, 2, 1), None);
        assert_eq!(
            play_after(&replay, RequestPurpose::Turn, 2, 1).as_deref(),
            Ok("t2"),
            "a count that nobody asked for"
        );
    }
    // Where it stands matters only to the strict one.
    let of = |order| count(&ReplayModel::open(file.path(), order).unwrap(), 2, 0, 0);
    assert_eq!((of(ReplayOrder::ByMethod), of(ReplayOrder::Strict)), (Some(20), None));
}

#[test]
fn counts_without_numbers_are_taken_one_after_the_other() {
    let no_count = COUNT.replace("100", "\"many\"");
    let file = recording(&[COUNT, &COUNT.replace("100", "200"), &no_count, &turn("t0")]);
    for order in [ReplayOrder::ByMethod, ReplayOrder::Strict] {
        let replay = ReplayModel::open(file.path(), order).unwrap();
        let counts = [0, 1, 2, 3].map(|ordinal| count(&replay, ordinal, 0, 0));
        assert_eq!(counts, [Some(100), Some(200), None, None]);
        assert_eq!(play(&replay, RequestPurpose::Turn, 0).as_deref(), Ok("t0"));
    }
}
