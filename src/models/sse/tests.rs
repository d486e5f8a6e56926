//! Streams of events, whole and cut at every byte.

use super::{MAX_EVENT_BYTES, SseDecoder, SseError};

/// Every way that the standard allows to write lines, and what they say.
const STREAM: &str = "\u{FEFF}: a comment\r\nevent: named\r\ndata: one\r\ndata: zwei ö\r\n\r\ndata:{\"a\":1}\n\nid: 7\nretry: 5\n\n\
                      data\n\ndata:  two spaces\r\rdata: €𝄞\r\n\nnonsense\ndata: last";
const EVENTS: &[&str] = &["one\nzwei ö", "{\"a\":1}", "", " two spaces", "€𝄞", "last"];

fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<String>, SseError> {
    let mut decoder = SseDecoder::default();
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(push(&mut decoder, piece)?);
    }
    events.extend(decoder.finish()?.map(str::to_owned));
    Ok(events)
}

fn push(decoder: &mut SseDecoder, mut bytes: &[u8]) -> Result<Vec<String>, SseError> {
    let mut events = Vec::new();
    while let Some(event) = decoder.next(&mut bytes)? {
        events.push(event.to_owned());
    }
    Ok(events)
}

#[test]
fn every_split_of_a_stream_gives_the_same_events() {
    let bytes = STREAM.as_bytes();
    assert_eq!(decode([bytes]).unwrap(), EVENTS);
    assert_eq!(decode(bytes.chunks(1)).unwrap(), EVENTS);
    for first in 0..=bytes.len() {
        for second in first..=bytes.len() {
            let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
            assert_eq!(decode(pieces).unwrap(), EVENTS, "split at {first} and {second}");
        }
    }
}

#[test]
fn an_event_is_told_as_soon_as_it_is_whole() {
    let mut decoder = SseDecoder::default();
    assert_eq!(push(&mut decoder, b"data: a\r\n\r").unwrap(), ["a"]);
    assert_eq!(push(&mut decoder, b"\ndata: b\n\n").unwrap(), ["b"]);
    assert_eq!(decoder.finish().unwrap(), None);
}

#[test]
fn a_stream_that_ends_inside_a_character_is_not_utf8() {
    let bytes = "data: größe\n\n".as_bytes();
    for end in 0..bytes.len() {
        let is_inside = std::str::from_utf8(&bytes[..end]).is_err();
        assert_eq!(decode([&bytes[..end]]) == Err(SseError::NotUtf8), is_inside, "cut at {end}");
    }
}

#[test]
fn an_event_without_end_is_given_up() {
    let piece = vec![b'x'; 1024 * 1024];
    for (head, between) in [("data:", ""), ("data:", "\ndata:"), (":", "")] {
        let mut decoder = SseDecoder::default();
        let mut taken = 0;
        push(&mut decoder, head.as_bytes()).unwrap();
        let error = loop {
            match push(&mut decoder, &piece).and_then(|_| push(&mut decoder, between.as_bytes())) {
                Ok(events) => assert!(events.is_empty()),
                Err(error) => break error,
            }
            taken += piece.len();
            assert!(taken <= MAX_EVENT_BYTES, "{head}{between}");
        };
        assert_eq!(error, SseError::TooLong);
    }
    let comments = b": still here\n".repeat(1_000_000);
    assert_eq!(decode([&comments[..], b"data: x\n\n"]).unwrap(), ["x"], "many short lines are no long one");
}
