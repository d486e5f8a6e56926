//! What is recorded is what is played, whatever was said and in whatever pieces it came.

use std::{
    fs,
    hash::{BuildHasher as _, RandomState},
    os::unix::fs::{FileExt as _, PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    super::{
        ContextWindow, ModelRegistry, ModelReply, ReplyPart,
        replay::{MAX_RECORDING_BYTES, ReplayModel, ReplayOrder},
    },
    *,
};
use protocol::{FinishReason, ModelRef, RunErrorCode, SamplingSettings, Usage};
use redact::RedactorParts;

/// Random replies, in the suite and with `SUBAGENTD_TRIALS=full`.
const TRIALS: (u64, u64) = (60, 4_000);

const SECRET: &str = "hunter2hunter2";

/// Says what it is told to.
struct Scripted(Vec<Result<ModelEvent, ModelError>>);

impl LanguageModel for Scripted {
    fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        stream::iter(self.0.clone()).boxed()
    }

    fn media(&self) -> MediaSupport {
        MediaSupport { audio: true, pdf: false }
    }
}

fn request(purpose: RequestPurpose, path: &str, ordinal: u32) -> ModelRequest {
    ModelRequest {
        purpose,
        system: "".into(),
        messages: Vec::new(),
        tools: Vec::new().into(),
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

fn resolved(name: &str, model: Scripted) -> ResolvedModel {
    let models = ModelRegistry::new().with_model(name, Arc::new(model));
    models.resolve(&ModelRef::from(name)).unwrap()
}

type Events = Vec<Result<ModelEvent, ModelError>>;

async fn record(recording: &RecordingWriter, events: &Events, request: ModelRequest) -> Events {
    let model = resolved("scripted", Scripted(events.clone()));
    let redactor = Redactor::new(RedactorParts {
        environment: [("API_TOKEN".to_owned(), SECRET.to_owned())].into_iter(),
        patterns: Vec::new(),
    });
    let recorded = recording.of(model, &redactor);
    assert_eq!(recorded.name, "scripted");
    recorded.model.stream(request).collect().await
}

async fn play(path: &Path, order: ReplayOrder, request: ModelRequest) -> Events {
    ReplayModel::open(path, order).unwrap().stream(request).collect().await
}

fn place(folder: &TempDir) -> PathBuf {
    folder.path().join("run.jsonl")
}

fn usage(n: u64) -> Usage {
    Usage {
        prompt_tokens: 100 + n,
        cached_tokens: n,
        cache_write_tokens: n,
        output_tokens: 7,
        thought_tokens: 3,
    }
}

fn says(text: &str) -> Events {
    let parts = vec![ReplyPart::Text(text.to_owned())];
    let reply = ModelReply { parts, raw: None, usage: usage(0), reason: FinishReason::Stop };
    vec![Ok(ModelEvent::TextDelta(text.to_owned())), Ok(ModelEvent::Finished(reply))]
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What a run makes of a reply.
#[derive(Debug, Default, PartialEq)]
struct Gist {
    text: String,
    thought: String,
    signatures: Vec<String>,
    calls: Vec<ReplyPart>,
    end: Option<(Usage, FinishReason)>,
}

fn gist(events: &Events) -> Gist {
    let mut gist = Gist::default();
    let Some(Ok(ModelEvent::Finished(reply))) = events.last() else { return gist };
    for part in &reply.parts {
        match part {
            ReplyPart::Text(text) => gist.text.push_str(text),
            ReplyPart::Thought { text, signature } => {
                gist.thought.push_str(text);
                gist.signatures.extend(signature.clone());
            }
            call @ ReplyPart::ToolCall { .. } => gist.calls.push(call.clone()),
        }
    }
    gist.end = Some((reply.usage, reply.reason.clone()));
    gist
}

/// The pieces a client sees: texts and thoughts in their order.
fn pieces(events: &Events) -> Vec<(bool, String)> {
    let piece = |event: &Result<ModelEvent, ModelError>| match event {
        Ok(ModelEvent::TextDelta(text)) => Some((false, text.clone())),
        Ok(ModelEvent::ThoughtDelta(text)) => Some((true, text.clone())),
        _ => None,
    };
    events.iter().filter_map(piece).collect()
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.roll() % n as u64) as usize
    }

    fn words(&mut self) -> String {
        const WORDS: &[&str] =
            &["so ", "größer", "漢字", "\n", "\"", "\\", "🦀", "{}", "\u{7}", "a", "\u{2028}"];
        (0..1 + self.below(12)).map(|_| WORDS[self.below(WORDS.len())]).collect()
    }

    /// A text in pieces that are cut anywhere.
    fn cut(&mut self, text: &str) -> Vec<String> {
        let mut pieces = vec![String::new()];
        for character in text.chars() {
            if self.below(4) == 0 {
                pieces.push(String::new());
            }
            pieces.last_mut().unwrap().push(character);
        }
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    fn signature(&mut self) -> Option<String> {
        (self.below(2) == 0).then(|| format!("c2ln{}=", self.below(99)))
    }

    /// A reply as a provider would give it, with its deltas.
    fn reply(&mut self) -> Events {
        let mut events = Vec::new();
        let mut parts = Vec::new();
        for n in 0..1 + self.below(6) {
            match self.below(3) {
                0 if !matches!(parts.last(), Some(ReplyPart::Text(_))) => {
                    let text = self.words();
                    events.extend(self.cut(&text).into_iter().map(|it| Ok(ModelEvent::TextDelta(it))));
                    parts.push(ReplyPart::Text(text));
                }
                1 => {
                    let text = self.words();
                    events.extend(self.cut(&text).into_iter().map(|it| Ok(ModelEvent::ThoughtDelta(it))));
                    parts.push(ReplyPart::Thought { text, signature: self.signature() });
                }
                _ => parts.push(ReplyPart::ToolCall {
                    provider_call_id: (self.below(2) == 0).then(|| format!("id {n}")),
                    name: "read_file".into(),
                    arguments: json!({ "z": self.words(), "a": [1, { "b": null }] }),
                    signature: self.signature(),
                }),
            }
        }
        parts.push(ReplyPart::ToolCall {
            provider_call_id: None,
            name: "complete_task".into(),
            arguments: json!({}),
            signature: None,
        });
        let reason = match self.below(5) {
            0 => FinishReason::Length,
            1 => FinishReason::Refused { message: "SAFETY: not that: no".to_owned() },
            2 => FinishReason::Refused { message: "I would rather not".to_owned() },
            _ => FinishReason::Stop,
        };
        let usage = usage(self.below(50) as u64);
        events.push(Ok(ModelEvent::Finished(ModelReply { parts, raw: None, usage, reason })));
        events
    }
}

#[tokio::test]
async fn what_is_recorded_is_what_is_played() {
    let is_full = std::env::var("SUBAGENTD_TRIALS").is_ok_and(|trials| trials == "full");
    let given = std::env::var("SUBAGENTD_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let mut seeds = Dice(given.unwrap_or_else(|| RandomState::new().hash_one("seed")));
    let trials = if is_full { TRIALS.1 } else { TRIALS.0 };
    for _ in 0..if given.is_some() { 1 } else { trials } {
        let seed = given.unwrap_or_else(|| seeds.roll());
        let mut dice = Dice(seed);
        let folder = TempDir::new().unwrap();
        let recording = OpenRecordings::default().begin(&place(&folder)).unwrap();
        let replies: Vec<Events> = (0..1 + dice.below(4)).map(|_| dice.reply()).collect();
        for (ordinal, reply) in replies.iter().enumerate() {
            let asked = request(RequestPurpose::Turn, "lead#1", u32::try_from(ordinal).unwrap());
            let heard = record(&recording, reply, asked.clone()).await;
            assert_eq!((gist(&heard), pieces(&heard)), (gist(reply), pieces(reply)), "SUBAGENTD_SEED={seed}");
            record(&recording, reply, ModelRequest { purpose: RequestPurpose::Utility, ..asked }).await;
        }
        for (ordinal, reply) in replies.iter().enumerate() {
            let asked = request(RequestPurpose::Turn, "lead#1", u32::try_from(ordinal).unwrap());
            let played = play(&place(&folder), ReplayOrder::ByMethod, asked.clone()).await;
            assert_eq!(
                (gist(&played), pieces(&played)),
                (gist(reply), pieces(reply)),
                "SUBAGENTD_SEED={seed}"
            );
            let utility = ModelRequest { purpose: RequestPurpose::Utility, ..asked };
            let played = play(&place(&folder), ReplayOrder::ByMethod, utility).await;
            assert_eq!(gist(&played), gist(reply), "SUBAGENTD_SEED={seed}");
        }
    }
}

#[tokio::test]
async fn a_line_has_geminis_shape() {
    let folder = TempDir::new().unwrap();
    let recording = OpenRecordings::default().begin(&place(&folder)).unwrap();
    let parts = vec![
        ReplyPart::Thought { text: "Hm.".to_owned(), signature: Some("c2ln".to_owned()) },
        ReplyPart::Text("Hello".to_owned()),
        ReplyPart::ToolCall {
            provider_call_id: Some("id 1".to_owned()),
            name: "grep".into(),
            arguments: json!({ "pattern": "x" }),
            signature: Some("c2lnMg==".to_owned()),
        },
    ];
    let reply = ModelReply { parts, raw: None, usage: usage(1), reason: FinishReason::Stop };
    let events = vec![
        Ok(ModelEvent::ThoughtDelta("Hm.".to_owned())),
        Ok(ModelEvent::TextDelta("Hel".to_owned())),
        Ok(ModelEvent::TextDelta("lo".to_owned())),
        Ok(ModelEvent::Finished(reply)),
    ];
    record(&recording, &events, request(RequestPurpose::Turn, "lead#1/reader#2", 4)).await;
    record(&recording, &says("yes"), request(RequestPurpose::Utility, "lead#1", 0)).await;
    let chunk = |part: Value| json!({ "candidates": [{ "content": { "role": "model", "parts": [part] }, "index": 0 }] });
    let metadata = |prompt: u64, cached: u64| {
        json!({ "promptTokenCount": prompt, "cachedContentTokenCount": cached, "candidatesTokenCount": 7,
            "thoughtsTokenCount": 3, "totalTokenCount": prompt + 10 })
    };
    let mut with_written = metadata(101, 1);
    with_written["cacheWriteTokenCount"] = 1.into();
    let expected = [
        json!({ "method": "generateContentStream", "path": "lead#1/reader#2", "ordinal": 4, "window": 1 << 30, "response": [
            chunk(json!({ "text": "Hm.", "thought": true, "thoughtSignature": "c2ln" })),
            chunk(json!({ "text": "Hel" })),
            chunk(json!({ "text": "lo" })),
            chunk(json!({ "functionCall": { "id": "id 1", "name": "grep", "args": { "pattern": "x" } },
                "thoughtSignature": "c2lnMg==" })),
            { "candidates": [{ "finishReason": "STOP", "index": 0 }], "usageMetadata": with_written },
        ] }),
        json!({ "method": "generateContent", "path": "lead#1", "ordinal": 0, "window": 1 << 30, "response": {
            "candidates": [{ "finishReason": "STOP", "index": 0,
                "content": { "role": "model", "parts": [{ "text": "yes" }] } }],
            "usageMetadata": metadata(100, 0),
        } }),
    ];
    assert_eq!(lines(&place(&folder)), expected);
    let mode = fs::metadata(place(&folder)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn no_secret_is_recorded_however_it_came() {
    let folder = TempDir::new().unwrap();
    let recording = OpenRecordings::default().begin(&place(&folder)).unwrap();
    let whole = format!("the key is {SECRET}, keep it");
    for cut in 1..whole.len() {
        let (first, second) = whole.split_at(cut);
        let parts = vec![
            ReplyPart::Thought { text: first.to_owned(), signature: None },
            ReplyPart::Thought { text: second.to_owned(), signature: Some("c2ln".to_owned()) },
            ReplyPart::Text(first.to_owned()),
            ReplyPart::ToolCall {
                provider_call_id: Some(SECRET.to_owned()),
                name: SECRET.into(),
                arguments: json!({ SECRET: [SECRET] }),
                signature: Some(SECRET.to_owned()),
            },
            ReplyPart::Text(second.to_owned()),
        ];
        let reason = FinishReason::Refused { message: format!("SAFETY: {SECRET}") };
        let reply = ModelReply { parts, raw: None, usage: usage(0), reason };
        let events = vec![
            Ok(ModelEvent::ThoughtDelta(first.to_owned())),
            Ok(ModelEvent::ThoughtDelta(second.to_owned())),
            Ok(ModelEvent::TextDelta(first.to_owned())),
            Ok(ModelEvent::TextDelta(second.to_owned())),
            Ok(ModelEvent::Finished(reply)),
        ];
        let asked = request(RequestPurpose::Turn, "lead#1", u32::try_from(cut).unwrap());
        let heard = record(&recording, &events, asked).await;
        assert_eq!(gist(&heard).text, whole, "the run hears it as it was");
    }
    let unusable = ModelError::Unusable { message: format!("bad: {SECRET}") };
    record(&recording, &vec![Err(unusable)], request(RequestPurpose::Turn, "lead#1", 99)).await;
    let text = fs::read_to_string(place(&folder)).unwrap();
    assert!(!text.contains(SECRET));
    assert!(text.contains("the key is [redacted:env:API_TOKEN], keep it"), "{text}");
    let recorded = lines(&place(&folder));
    assert_eq!(recorded.len(), whole.len());
    // No piece of it either: what is in several pieces, put together, has none.
    for line in recorded {
        let parts = line["response"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|it| it["candidates"][0]["content"]["parts"][0]["text"].as_str());
        let joined: String = parts.collect();
        assert!(!joined.contains("hunter"), "{joined}");
    }
}

#[tokio::test]
async fn a_reply_that_was_asked_for_again_is_passed_over() {
    let folder = TempDir::new().unwrap();
    let recording = OpenRecordings::default().begin(&place(&folder)).unwrap();
    let failed = |error: ModelError| vec![Ok(ModelEvent::TextDelta("half".to_owned())), Err(error)];
    let unusable = || failed(ModelError::Unusable { message: "the response is empty".to_owned() });
    let passing = failed(ModelError::Passing { message: "429".to_owned(), retry_after_ms: None });
    let code = RunErrorCode::ProviderAuth;
    let last = failed(ModelError::Final { code, message: "no".to_owned() });
    for (events, ordinal) in [
        (unusable(), 0),
        (passing, 0),
        (says("a"), 0),
        (unusable(), 1),
        (unusable(), 1),
        (says("b"), 1),
        (unusable(), 2),
        (last, 2),
    ] {
        let heard = record(&recording, &events, request(RequestPurpose::Turn, "lead#1", ordinal)).await;
        assert_eq!(heard.len(), events.len());
    }
    assert_eq!(lines(&place(&folder)).len(), 6);
    for order in [ReplayOrder::ByMethod, ReplayOrder::Strict] {
        for (ordinal, text) in [(0, "a"), (1, "b")] {
            let played = play(&place(&folder), order, request(RequestPurpose::Turn, "lead#1", ordinal)).await;
            assert_eq!(gist(&played).text, text, "{order:?}");
        }
        let played = play(&place(&folder), order, request(RequestPurpose::Turn, "lead#1", 2)).await;
        let [Err(ModelError::Unusable { message })] = &played[..] else { panic!("{played:?}") };
        assert!(message.contains("the response is empty"), "{message}");
    }
}

#[tokio::test]
async fn of_a_reply_that_a_crash_made_twice_the_later_is_played() {
    let folder = TempDir::new().unwrap();
    let recordings = OpenRecordings::default();
    let recording = recordings.begin(&place(&folder)).unwrap();
    for (path, text) in [("lead#1", "lost"), ("lead#1/reader#1", "other"), ("lead#1", "kept")] {
        record(&recording, &says(text), request(RequestPurpose::Turn, path, 0)).await;
    }
    record(&recording, &says("next"), request(RequestPurpose::Turn, "lead#1", 1)).await;
    for order in [ReplayOrder::ByMethod, ReplayOrder::Strict] {
        for (path, ordinal, text) in
            [("lead#1", 0, "kept"), ("lead#1", 1, "next"), ("lead#1/reader#1", 0, "other")]
        {
            let played = play(&place(&folder), order, request(RequestPurpose::Turn, path, ordinal)).await;
            assert_eq!(gist(&played).text, text, "{order:?}");
        }
    }
}

#[tokio::test]
async fn of_questions_that_a_crash_made_ask_again_the_later_are_played() {
    let folder = TempDir::new().unwrap();
    let recording = OpenRecordings::default().begin(&place(&folder)).unwrap();
    record(&recording, &says("turn"), request(RequestPurpose::Turn, "lead#1", 0)).await;
    // A compression of three parts, then after the crash one that was done after two, then another question.
    let answers = [(0, "lost"), (1, "lost"), (2, "lost"), (0, "first"), (1, "second")];
    for (ordinal, text) in answers {
        record(&recording, &says(text), request(RequestPurpose::Utility, "lead#1", ordinal)).await;
    }
    record(&recording, &says("next turn"), request(RequestPurpose::Turn, "lead#1", 1)).await;
    record(&recording, &says("third"), request(RequestPurpose::Utility, "lead#1", 2)).await;
    let asked = [
        (RequestPurpose::Turn, 0, 0, "turn"),
        (RequestPurpose::Utility, 0, 1, "first"),
        (RequestPurpose::Utility, 1, 1, "second"),
        (RequestPurpose::Turn, 1, 2, "next turn"),
        (RequestPurpose::Utility, 2, 2, "third"),
    ];
    for order in [ReplayOrder::ByMethod, ReplayOrder::Strict] {
        for (purpose, ordinal, others, text) in asked {
            let asked = ModelRequest { others, ..request(purpose, "lead#1", ordinal) };
            let played = play(&place(&folder), order, asked).await;
            assert_eq!(gist(&played).text, text, "{order:?}");
        }
    }
}

#[tokio::test]
async fn what_fitted_the_model_is_known_when_it_is_played() {
    let folder = TempDir::new().unwrap();
    let recording = OpenRecordings::default().begin(&place(&folder)).unwrap();
    let model = |tokens: u64| {
        let resolved = resolved("scripted", Scripted(says("x")));
        ResolvedModel { window: ContextWindow { tokens, ..resolved.window }, ..resolved }
    };
    let asked = [
        (RequestPurpose::Utility, "lead#1", 9),
        (RequestPurpose::Turn, "lead#1", 8_000),
        (RequestPurpose::Turn, "lead#1/a#1", 7),
    ];
    for (purpose, path, tokens) in asked {
        let recorded = recording.of(model(tokens), &Redactor::none());
        recorded.model.stream(request(purpose, path, 0)).collect::<Events>().await;
    }
    for model in ["replay", "replay+strict"] {
        let name = ModelRef::from(format!("{model}:{}", place(&folder).display()));
        assert_eq!(ModelRegistry::new().resolve(&name).unwrap().window.tokens, 8_000, "{model}");
    }
}

#[tokio::test]
async fn a_stream_that_is_given_up_leaves_no_line() {
    let folder = TempDir::new().unwrap();
    let recording = OpenRecordings::default().begin(&place(&folder)).unwrap();
    let model = resolved("x", Scripted(says("hello")));
    let recorded = recording.of(model, &Redactor::none());
    let mut stream = recorded.model.stream(request(RequestPurpose::Turn, "lead#1", 0));
    assert!(matches!(stream.next().await, Some(Ok(ModelEvent::TextDelta(_)))));
    drop(stream);
    assert!(lines(&place(&folder)).is_empty());
    assert_eq!(recorded.model.media(), MediaSupport { audio: true, pdf: false });
}

#[tokio::test]
async fn a_recording_goes_on_after_its_last_whole_line() {
    let folder = TempDir::new().unwrap();
    let path = place(&folder);
    let recording = OpenRecordings::default().begin(&path).unwrap();
    record(&recording, &says("a"), request(RequestPurpose::Turn, "lead#1", 0)).await;
    drop(recording);
    let whole = fs::read(&path).unwrap();
    // However long what was begun is, and when there is nothing else.
    for rest in ["".to_owned(), "{\"method\"".to_owned(), "x".repeat(200_000)] {
        for before in [&whole[..], b""] {
            fs::write(&path, [before, rest.as_bytes()].concat()).unwrap();
            let recording = OpenRecordings::default().go_on(&path).unwrap();
            assert_eq!(fs::read(&path).unwrap(), before);
            record(&recording, &says("b"), request(RequestPurpose::Turn, "lead#1", 1)).await;
            assert_eq!(lines(&path).len(), usize::from(!before.is_empty()) + 1);
        }
    }
    fs::remove_file(&path).unwrap();
    let recording = OpenRecordings::default().go_on(&path).unwrap();
    record(&recording, &says("c"), request(RequestPurpose::Turn, "lead#1", 2)).await;
    assert_eq!(lines(&path).len(), 1);
}

#[tokio::test]
async fn runs_of_one_tree_share_a_recording_and_others_are_refused() {
    let folder = TempDir::new().unwrap();
    let path = place(&folder);
    let recordings = OpenRecordings::default();
    let recording = recordings.begin(&path).unwrap();
    // Whatever path leads there.
    let other = folder.path().join("other.jsonl");
    fs::hard_link(&path, &other).unwrap();
    assert_eq!(recordings.begin(&other).err(), Some(NotRecordable::InUse));
    let child = recordings.go_on(&other).unwrap();
    record(&recording, &says("a"), request(RequestPurpose::Turn, "lead#1", 0)).await;
    record(&child, &says("b"), request(RequestPurpose::Turn, "lead#1/reader#1", 0)).await;
    record(&recording, &says("c"), request(RequestPurpose::Turn, "lead#1", 1)).await;
    assert_eq!(lines(&path).len(), 3);
    drop((recording, child));
    assert_eq!(recordings.begin(&path).err(), Some(NotRecordable::NotEmpty));
}

#[test]
fn what_cannot_be_recorded_into_is_refused_before_anything_starts() {
    let folder = TempDir::new().unwrap();
    let refused =
        |path: &Path| OpenRecordings::default().begin(path).err().map(|problem| problem.to_string());
    let check = |path: PathBuf, expected: &str| {
        let problem = refused(&path).unwrap();
        assert!(problem.contains(expected), "{}: {problem}", path.display());
    };
    check(PathBuf::from("run.jsonl"), "not an absolute path");
    check(folder.path().join("missing/run.jsonl"), "its folder does not exist");
    check(folder.path().to_owned(), "no regular file");
    let pipe = folder.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    check(pipe, "no regular file");
    check(PathBuf::from("/dev/null"), "no regular file");
    let link = folder.path().join("link");
    symlink(folder.path().join("target"), &link).unwrap();
    check(link, "symbolic link");
    assert!(!folder.path().join("target").exists());
    let full = folder.path().join("full");
    fs::write(&full, "x").unwrap();
    check(full.clone(), "not empty");
    assert_eq!(fs::read(&full).unwrap(), b"x");
    // An empty one is taken, and is its owner's alone from then on.
    let empty = folder.path().join("empty");
    fs::write(&empty, "").unwrap();
    fs::set_permissions(&empty, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(refused(&empty), None);
    assert_eq!(fs::metadata(&empty).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn a_recording_that_cannot_go_on_is_over_and_its_run_is_not() {
    let folder = TempDir::new().unwrap();
    let path = place(&folder);
    fs::write(&path, "").unwrap();
    // Almost as long as can be played, of which the disk holds one block.
    let before = MAX_RECORDING_BYTES - 2_000;
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(b"\n", before - 1).unwrap();
    let recording = OpenRecordings::default().go_on(&path).unwrap();
    // The second would fit, and yet nothing may follow the gap.
    for (ordinal, text) in [(0, "long ".repeat(1_000)), (1, "short".to_owned())] {
        let heard = record(&recording, &says(&text), request(RequestPurpose::Turn, "lead#1", ordinal)).await;
        assert_eq!(gist(&heard).text, text);
        assert_eq!(fs::metadata(&path).unwrap().len(), before);
    }
    drop(recording);
    let recording = OpenRecordings::default().go_on(&path).unwrap();
    record(&recording, &says("short"), request(RequestPurpose::Turn, "lead#1", 1)).await;
    assert!(before < fs::metadata(&path).unwrap().len(), "it would have fit");
}

#[tokio::test]
async fn a_piece_that_reaches_into_the_next_part_is_cut_there() {
    let folder = TempDir::new().unwrap();
    let recording = OpenRecordings::default().begin(&place(&folder)).unwrap();
    let thought =
        |text: &str| ReplyPart::Thought { text: text.to_owned(), signature: Some("c2ln".to_owned()) };
    let reply = ModelReply {
        parts: vec![thought("ab"), thought("cd"), ReplyPart::Text("done".to_owned())],
        raw: None,
        usage: usage(0),
        reason: FinishReason::Stop,
    };
    let delta = |text: &str| Ok(ModelEvent::ThoughtDelta(text.to_owned()));
    let events = vec![
        delta("abc"),
        delta("d"),
        Ok(ModelEvent::TextDelta("done".to_owned())),
        Ok(ModelEvent::Finished(reply)),
    ];
    record(&recording, &events, request(RequestPurpose::Turn, "lead#1", 0)).await;
    let played =
        play(&place(&folder), ReplayOrder::ByMethod, request(RequestPurpose::Turn, "lead#1", 0)).await;
    assert_eq!(gist(&played), gist(&events));
    let thoughts: Vec<String> =
        pieces(&played).into_iter().filter(|(is_thought, _)| *is_thought).map(|(_, text)| text).collect();
    assert_eq!(thoughts, ["ab", "c", "d"]);
}
