//! What does a piece of a provider's stream cost on its way from the wire to the run?

use std::{hint::black_box, sync::Arc, time::Duration};

use anyhow::{Context as _, ensure};
use futures_util::StreamExt as _;
use memchr::memmem;
use subagentd::{
    config::ProviderKind,
    models::{LanguageModel, ModelEvent, SseDecoder},
};

use crate::{
    canned::{Canned, KINDS},
    frames::{frames, pieces, response},
    ground::{now, since},
    house::client_runtime,
    provider::ask,
    requests::request,
    table::{Row, Table, least, listed, middle, millis},
};

/// Pieces of one text.
const PIECES: usize = counted!(20_000, 100);
const FRAMES: usize = counted!(200_000, 1_000);
/// Bytes that a socket gives at once.
const READ: usize = 16 << 10;
const REPEATS: usize = counted!(9, 1);

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    for (kind, _) in KINDS {
        adapter(table, kind)?;
    }
    decoding(table)
}

/// A whole response through the provider's model, over HTTP; beside a client that only reads it.
fn adapter(table: &mut Table, kind: ProviderKind) -> anyhow::Result<()> {
    let bytes: Arc<[u8]> = response(kind, &pieces(PIECES)).into();
    let server = Canned::start(move |_| Arc::clone(&bytes))?;
    let model = server.model(kind)?;
    let runtime = client_runtime()?;
    let per_piece = |took: Duration| millis(took) * 1_000.0 / PIECES as f64;
    let (mut figures, mut reading) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        figures.push(per_piece(runtime.block_on(stream(&*model))?));
        let began = now();
        runtime.block_on(ask(server.port(), vec![b"{}".to_vec()]))?;
        reading.push(per_piece(since(began)));
    }
    table.row(Row {
        name: &format!("a streamed chunk of text, {}", kind.as_str()),
        figure: least(&figures),
        bound: 5.0,
        unit: "us",
        is_rate: false,
        baseline: Some(("reading alone", least(&reading))),
        note: listed(&figures),
    });
    Ok(())
}

/// From the question to the whole reply, which is checked.
async fn stream(model: &dyn LanguageModel) -> anyhow::Result<Duration> {
    let began = now();
    let mut events = model.stream(request(Vec::new()));
    let (mut deltas, mut bytes, mut is_finished) = (0, 0, false);
    while let Some(event) = events.next().await {
        match event? {
            ModelEvent::TextDelta(text) => {
                deltas += 1;
                bytes += text.len();
            }
            ModelEvent::Finished(_) => is_finished = true,
            _ => (),
        }
    }
    let took = since(began);
    let said: usize = pieces(PIECES).iter().map(String::len).sum();
    ensure!(is_finished && (deltas, bytes) == (PIECES, said), "{deltas} deltas of {bytes} bytes came");
    Ok(took)
}

/// Frames to their data, against finding where each ends and copying it.
fn decoding(table: &mut Table) -> anyhow::Result<()> {
    for (kind, _) in KINDS {
        let frames = frames(kind, &pieces(FRAMES));
        let stream = frames.concat().into_bytes();
        // What ends a frame: some say CR LF, some LF.
        let end: &[u8] = if stream.contains(&b'\r') { b"\r\n\r\n" } else { b"\n\n" };
        let (mut ratios, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..REPEATS {
            let began = now();
            let mut decoder = SseDecoder::default();
            let mut events = 0;
            for mut read in stream.chunks(READ) {
                while let Some(event) = decoder.next(&mut read)? {
                    black_box(event);
                    events += 1;
                }
            }
            events += usize::from(decoder.finish()?.is_some());
            ours.push(millis(since(began)));
            ensure!(events == frames.len(), "{events} events were decoded");
            let began = now();
            let split = copy_and_split(&stream, end);
            theirs.push(millis(since(began)));
            ensure!(split == frames.len(), "{split} frames were split");
            // Pair by pair, since both feel what else the machine does, and the one in the middle.
            ratios.push(ours.last().context("just pushed")? / theirs.last().context("just pushed")?);
        }
        table.row(Row {
            name: &format!("200,000 SSE frames decoded, {}", kind.as_str()),
            figure: middle(&ratios),
            bound: 1.5,
            unit: "x",
            is_rate: false,
            baseline: None,
            note: format!(
                "{:.1} ms, copy and split {:.1} ms, {} bytes; {}",
                least(&ours),
                least(&theirs),
                stream.len(),
                listed(&ratios)
            ),
        });
    }
    Ok(())
}

/// What any reader of such a stream does: gathers what was read, finds the blank line that ends a frame, and copies the frame
/// as text.
fn copy_and_split(stream: &[u8], end: &[u8]) -> usize {
    let mut gathered: Vec<u8> = Vec::new();
    let mut frames = 0;
    let ends = memmem::Finder::new(end);
    for read in stream.chunks(READ) {
        gathered.extend_from_slice(read);
        let mut from = 0;
        while let Some(length) = ends.find(&gathered[from..]) {
            let frame = String::from_utf8(gathered[from..from + length].to_vec());
            frames += usize::from(black_box(frame).is_ok());
            from += length + ends.needle().len();
        }
        gathered.drain(..from);
    }
    frames
}
