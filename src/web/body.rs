//! What does an answer's body hold? All of it, decompressed as it comes, up to a bound.

use std::io::{self, Write};

use flate2::write::{MultiGzDecoder, ZlibDecoder};
use http_body_util::BodyExt as _;
use hyper::{Response, body::Incoming, header};

use super::{WebError, complaint::broken};

/// Room that is made at once; a length that a server promises is not believed.
const FIRST_ROOM: usize = 64 * 1024;

/// The body, decompressed. What has more than `most` bytes, on the way or here, is given up when that is noticed.
pub(super) async fn read(response: Response<Incoming>, most: usize) -> Result<Vec<u8>, WebError> {
    let encoding = response.headers().get(header::CONTENT_ENCODING);
    let encoding = encoding.map(|it| String::from_utf8_lossy(it.as_bytes()).trim().to_ascii_lowercase());
    let mut decoder = Decoder::of(encoding.as_deref().unwrap_or_default(), most)?;
    let mut body = response.into_body();
    let mut received = 0_usize;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| broken(&error))?;
        // Trailers say nothing that is of use here.
        let Ok(data) = frame.into_data() else { continue };
        received = received.saturating_add(data.len());
        if most < received {
            return Err(WebError::TooLarge { bytes: most });
        }
        decoder.push(&data)?;
    }
    // An empty body is one of a head alone, whatever it says of itself.
    if received == 0 { Ok(Vec::new()) } else { decoder.finish() }
}

enum Decoder {
    Plain(BoundedBytes),
    Gzip(Box<MultiGzDecoder<BoundedBytes>>),
    Deflate(Box<ZlibDecoder<BoundedBytes>>),
}

impl Decoder {
    fn of(encoding: &str, most: usize) -> Result<Decoder, WebError> {
        let bounded = BoundedBytes { bytes: Vec::with_capacity(FIRST_ROOM.min(most)), most, is_full: false };
        match encoding {
            "" | "identity" => Ok(Decoder::Plain(bounded)),
            "gzip" | "x-gzip" => Ok(Decoder::Gzip(Box::new(MultiGzDecoder::new(bounded)))),
            "deflate" => Ok(Decoder::Deflate(Box::new(ZlibDecoder::new(bounded)))),
            other => {
                let other: String = other.chars().filter(|it| !it.is_control()).take(40).collect();
                Err(WebError::Broken(format!("is compressed as `{other}`, which was not asked for")))
            }
        }
    }

    fn push(&mut self, data: &[u8]) -> Result<(), WebError> {
        let pushed = match self {
            Decoder::Plain(bounded) => bounded.write_all(data),
            Decoder::Gzip(decoder) => decoder.write_all(data),
            Decoder::Deflate(decoder) => decoder.write_all(data),
        };
        pushed.map_err(|_| self.failure())
    }

    fn finish(mut self) -> Result<Vec<u8>, WebError> {
        let finished = match &mut self {
            Decoder::Plain(_) => Ok(()),
            Decoder::Gzip(decoder) => decoder.try_finish(),
            Decoder::Deflate(decoder) => decoder.try_finish(),
        };
        finished.map_err(|_| self.failure())?;
        Ok(std::mem::take(&mut self.bounded().bytes))
    }

    fn bounded(&mut self) -> &mut BoundedBytes {
        match self {
            Decoder::Plain(bounded) => bounded,
            Decoder::Gzip(decoder) => decoder.get_mut(),
            Decoder::Deflate(decoder) => decoder.get_mut(),
        }
    }

    fn failure(&mut self) -> WebError {
        let BoundedBytes { most, is_full, .. } = *self.bounded();
        match is_full {
            true => WebError::TooLarge { bytes: most },
            false => WebError::Broken("is not compressed as it says".to_owned()),
        }
    }
}

/// Bytes up to a bound.
struct BoundedBytes {
    bytes: Vec<u8>,
    most: usize,
    /// There would have been more.
    is_full: bool,
}

impl Write for BoundedBytes {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if self.most - self.bytes.len() < data.len() {
            self.is_full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{
        Compression,
        write::{GzEncoder, ZlibEncoder},
    };

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// The bytes after the body came in pieces of this size.
    fn decoded(encoding: &str, body: &[u8], piece: usize, most: usize) -> Result<Vec<u8>, WebError> {
        let mut decoder = Decoder::of(encoding, most)?;
        body.chunks(piece).try_for_each(|piece| decoder.push(piece))?;
        decoder.finish()
    }

    #[test]
    fn a_body_is_the_same_however_it_is_packed_and_split() {
        let text = "a page, and another line\n".repeat(100).into_bytes();
        let mut twice = gzip(&text[..500]);
        twice.extend(gzip(&text[500..]));
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(&text).unwrap();
        let bodies = [
            ("", text.clone()),
            ("identity", text.clone()),
            ("gzip", gzip(&text)),
            ("x-gzip", gzip(&text)),
            ("gzip", twice),
            ("deflate", zlib.finish().unwrap()),
        ];
        for (encoding, body) in bodies {
            for piece in [1, 7, body.len()] {
                let read = decoded(encoding, &body, piece, text.len()).unwrap();
                assert!(read == text, "{encoding} by {piece}");
            }
            let short = decoded(encoding, &body, 64, text.len() - 1);
            assert_eq!(short, Err(WebError::TooLarge { bytes: text.len() - 1 }), "{encoding}");
        }
    }

    #[test]
    fn a_bomb_is_given_up_at_the_bound() {
        let bomb = gzip(&vec![0; 200 << 20]);
        assert!(bomb.len() < 300 << 10, "{} bytes", bomb.len());
        assert_eq!(
            decoded("gzip", &bomb, 16 << 10, 10_000_000),
            Err(WebError::TooLarge { bytes: 10_000_000 })
        );
    }

    #[test]
    fn what_is_cut_or_damaged_is_no_page() {
        let whole = gzip(&b"a page that goes on for a while, and then some".repeat(20));
        let cut = decoded("gzip", &whole[..whole.len() - 5], 16, 10_000);
        let mut damaged = whole.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 0x55;
        for result in [
            cut,
            decoded("gzip", &whole[..20], 4, 10_000),
            decoded("gzip", &damaged, 16, 10_000),
            decoded("gzip", b"<html>no gzip at all</html>", 16, 10_000),
            decoded("deflate", &whole, 16, 10_000),
        ] {
            assert_eq!(result, Err(WebError::Broken("is not compressed as it says".to_owned())));
        }
        let strange = decoded("br", b"x", 1, 10);
        assert_eq!(
            strange,
            Err(WebError::Broken("is compressed as `br`, which was not asked for".to_owned()))
        );
    }
}
