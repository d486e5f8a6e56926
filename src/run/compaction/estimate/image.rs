//! How many tokens does an image take? Its sides are read from its first bytes, in the forms that models take.

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use super::TokenEstimate;

/// Gemini's rule (ai.google.dev, "Image understanding"): up to this many pixels on both sides an image is one tile.
const SMALL_SIDE: u64 = 384;

/// A larger one is laid out in tiles of this many pixels.
const TILE_SIDE: u64 = 768;

/// Providers scale larger images down before they look at them, so what a header claims beyond costs nothing.
const MAX_SIDE: u64 = 3_072;

const TILE: TokenEstimate = TokenEstimate::tokens(258);

/// What is no image that we can read, or says nothing of its sides, counts as four tiles: a usual screenshot.
const UNKNOWN_TILES: u64 = 4;

/// Digits of base64 that are looked at. A JPEG's sides stand behind its preview and colours, which have at most 64 KiB a
/// piece and seldom more than three pieces. A multiple of four.
const MAX_DIGITS: usize = 256 * 1024;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

pub(super) fn weigh(data: &str) -> TokenEstimate {
    let tiles = match sides(data) {
        Some((width, height)) if width <= SMALL_SIDE && height <= SMALL_SIDE => 1,
        Some((width, height)) => {
            width.min(MAX_SIDE).div_ceil(TILE_SIDE) * height.min(MAX_SIDE).div_ceil(TILE_SIDE)
        }
        None => UNKNOWN_TILES,
    };
    TokenEstimate::of_hundredths(TILE.hundredths() * tiles)
}

/// Width and height in pixels; `None` when they cannot be told, or one of them is 0.
fn sides(data: &str) -> Option<(u64, u64)> {
    let digits = &data.as_bytes()[..data.len().min(MAX_DIGITS)];
    let bytes = BASE64.decode(digits).ok()?;
    let found = png(&bytes).or_else(|| gif(&bytes)).or_else(|| webp(&bytes)).or_else(|| jpeg(&bytes));
    found.filter(|(width, height)| *width != 0 && *height != 0)
}

/// PNG (RFC 2083): the header is the first chunk.
fn png(bytes: &[u8]) -> Option<(u64, u64)> {
    let rest = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    (rest.get(4..8)? == b"IHDR").then_some(())?;
    Some((big(rest, 8, 4)?, big(rest, 12, 4)?))
}

/// GIF (87a and 89a): the logical screen.
fn gif(bytes: &[u8]) -> Option<(u64, u64)> {
    let rest = bytes.strip_prefix(b"GIF87a").or_else(|| bytes.strip_prefix(b"GIF89a"))?;
    Some((little(rest, 0, 2)?, little(rest, 2, 2)?))
}

/// WebP (RFC 9649): lossy, lossless and extended say their sides in three ways.
fn webp(bytes: &[u8]) -> Option<(u64, u64)> {
    let rest = bytes.strip_prefix(b"RIFF")?.get(4..)?.strip_prefix(b"WEBP")?;
    let data = rest.get(8..)?;
    match rest.get(..4)? {
        b"VP8 " => Some((little(data, 6, 2)? & 0x3fff, little(data, 8, 2)? & 0x3fff)),
        b"VP8L" => {
            let packed = little(data, 1, 4)?;
            Some(((packed & 0x3fff) + 1, (packed >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => Some((little(data, 4, 3)? + 1, little(data, 7, 3)? + 1)),
        _ => None,
    }
}

/// JPEG (ITU T.81, annex B): segments up to the frame's header. Each step goes on by two bytes at least.
fn jpeg(bytes: &[u8]) -> Option<(u64, u64)> {
    let mut rest = bytes.strip_prefix(b"\xff\xd8")?;
    loop {
        let marker = match rest {
            [0xff, 0xff, ..] => {
                // Filling before a marker.
                rest = &rest[1..];
                continue;
            }
            [0xff, marker, ..] => *marker,
            _ => return None,
        };
        match marker {
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some((big(rest, 7, 2)?, big(rest, 5, 2)?));
            }
            // The image itself begins, or ends, without a header before.
            0xda | 0xd9 => return None,
            _ => {
                let length = usize::try_from(big(rest, 2, 2)?).ok()?.max(2);
                rest = rest.get(2 + length..)?;
            }
        }
    }
}

fn big(bytes: &[u8], at: usize, n_bytes: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + n_bytes)?;
    Some(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

fn little(bytes: &[u8], at: usize, n_bytes: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + n_bytes)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}
