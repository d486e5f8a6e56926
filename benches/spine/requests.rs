//! Is a message encoded once? What the request of a late turn takes, against a copy of the same bytes.

use std::{
    hint::black_box,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, ensure};
use futures_util::StreamExt as _;
use serde_json::json;
use subagentd::{
    config::ProviderKind,
    models::{LanguageModel, ModelRequest, RequestPurpose},
    protocol::{ContextMessage, MessagePart, MessageRole, SamplingSettings, ToolCall, ToolDeclaration},
    tools::ToolRegistry,
};

use crate::{
    canned::{Canned, KINDS},
    ground::{now, since},
    house::client_runtime,
    table::{Row, Table, middle, millis},
};

/// The turn that is measured, and an early one beside it.
const LATE: usize = counted!(1_000, 20);
const EARLY: usize = 10;
/// Requests that are built of each: turns after it.
const REPEATS: usize = counted!(31, 1);
/// Letters of a tool's result.
const RESULT: usize = 2_000;

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    for (kind, _) in KINDS {
        late_turn(table, kind)?;
    }
    Ok(())
}

fn late_turn(table: &mut Table, kind: ProviderKind) -> anyhow::Result<()> {
    let bodies: Arc<Mutex<Vec<u8>>> = Arc::default();
    let server = {
        let bodies = Arc::clone(&bodies);
        let refusal: Arc<[u8]> = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n".to_vec().into();
        Canned::start(move |body| {
            *bodies.lock().unwrap_or_else(PoisonError::into_inner) = body.to_vec();
            Arc::clone(&refusal)
        })?
    };
    let model = server.model(kind)?;
    let early = turn(&*model, EARLY);
    let late = turn(&*model, LATE);
    // What the next turn asks with, by the server.
    client_runtime()?.block_on(async {
        model.stream(request(history(LATE))).next().await.context("the server answers")?.err();
        anyhow::Ok(())
    })?;
    let body = std::mem::take(&mut *bodies.lock().unwrap_or_else(PoisonError::into_inner));
    ensure!(RESULT * LATE < body.len(), "the request has {} bytes", body.len());
    let copies: Vec<f64> = (0..REPEATS).map(|_| copy(&body, 2 * LATE)).collect();
    table.row(Row {
        name: &format!("building turn 1,000's request, {}", kind.as_str()),
        figure: middle(&late) / middle(&copies),
        bound: MOST,
        unit: "x",
        is_rate: false,
        baseline: None,
        note: format!(
            "{:.0} us, a copy of its {} bytes {:.0} us, turn 10's {:.0} us, encoding all anew {:.0} us",
            middle(&late),
            body.len(),
            middle(&copies),
            middle(&early),
            anew(&server, kind)?,
        ),
    });
    Ok(())
}

/// How much longer than the copy building may take: it also looks at each message whether it is the one that was encoded.
const MOST: f64 = 2.0;

/// What the requests of the turns from this one on take, in microseconds each.
fn turn(model: &dyn LanguageModel, first: usize) -> Vec<f64> {
    let mut messages = history(first);
    let ask = |messages: &[Arc<ContextMessage>]| {
        let began = now();
        // Written at once; it is never sent, since nobody polls it.
        let stream = model.stream(request(messages.to_vec()));
        let took = since(began);
        drop(black_box(stream));
        micros(took)
    };
    ask(&messages);
    let mut took = Vec::new();
    for n in 0..REPEATS {
        messages.extend(turn_messages(first + n));
        took.push(ask(&messages));
    }
    took
}

/// What the same request takes when nothing of it was encoded before.
fn anew(server: &Canned, kind: ProviderKind) -> anyhow::Result<f64> {
    let model = server.model(kind)?;
    let messages = history(LATE);
    let began = now();
    drop(black_box(model.stream(request(messages))));
    Ok(micros(since(began)))
}

/// Copies bytes in so many pieces, in microseconds.
fn copy(bytes: &[u8], pieces: usize) -> f64 {
    let pieces: Vec<Box<[u8]>> = bytes.chunks(bytes.len().div_ceil(pieces)).map(Box::from).collect();
    let began = now();
    let mut copy: Vec<u8> = Vec::with_capacity(bytes.len());
    pieces.iter().for_each(|piece| copy.extend_from_slice(piece));
    let took = since(began);
    black_box(copy);
    micros(took)
}

fn micros(duration: Duration) -> f64 {
    millis(duration) * 1_000.0
}

/// What a run has read after so many turns.
fn history(turns: usize) -> Vec<Arc<ContextMessage>> {
    let asked = Arc::new(ContextMessage::user("Read all the files."));
    std::iter::once(asked).chain((0..turns).flat_map(turn_messages)).collect()
}

/// A call and its result.
fn turn_messages(n: usize) -> [Arc<ContextMessage>; 2] {
    let call = ToolCall {
        call_id: format!("call-{n}").as_str().into(),
        provider_call_id: Some(format!("toolu_{n}")),
        name: "read_file".into(),
        arguments: json!({ "path": format!("src/{n}.rs") }),
        signature: None,
        redacted: false,
    };
    let result = MessagePart::ToolResult {
        call_id: call.call_id.clone(),
        provider_call_id: call.provider_call_id.clone(),
        name: call.name.clone(),
        // With something to escape, as any source has.
        parts: vec![MessagePart::text("let it = \"one line\";\n".repeat(RESULT / 20))],
        is_error: false,
    };
    let message = |role, part| Arc::new(ContextMessage { role, parts: vec![part], raw: None });
    [message(MessageRole::Model, MessagePart::ToolCall(call)), message(MessageRole::Tool, result)]
}

/// A turn's request with these messages.
pub fn request(messages: Vec<Arc<ContextMessage>>) -> ModelRequest {
    ModelRequest {
        purpose: RequestPurpose::Turn,
        system: "You read.".into(),
        messages,
        tools: declarations(),
        sampling: SamplingSettings::default(),
        schema: None,
        provider_tool: None,
        ordinal: 0,
        others: 0,
        path: "1".into(),
        tree_ordinal: 0,
        room: None,
    }
}

/// The same each time, as a run's are.
fn declarations() -> Arc<[ToolDeclaration]> {
    static DECLARED: std::sync::OnceLock<Arc<[ToolDeclaration]>> = std::sync::OnceLock::new();
    let read = || ToolRegistry::built_in().get(&"read_file".into()).map(|tool| tool.declaration().clone());
    Arc::clone(DECLARED.get_or_init(|| read().into_iter().collect()))
}
