//! How is a text file written, so that changing a part of it leaves the rest byte for byte? Encoding, byte order mark, line
//! ends.

use std::{borrow::Cow, sync::Arc};

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use memchr::{memchr_iter, memmem};

use super::super::reading::{self, FileContent};

/// A file's text, and how it is written.
#[derive(Debug, Clone)]
pub struct TextFile {
    /// UTF-8, without byte order mark and with the file's own line ends. Of a file that is UTF-8 but for some bytes it has
    /// these bytes as they are.
    ///
    /// Perf: shared, since an edit has a file's content in many hands and each copy of a large one costs as much as reading
    /// it.
    bytes: Arc<Vec<u8>>,
    pub form: TextFormat,
}

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextFormat {
    encoding: &'static Encoding,
    has_mark: bool,
    pub ends: LineEnds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnds {
    /// There is no line end.
    None,
    Lf,
    Crlf,
    /// Some of each; they are left as they are.
    Mixed,
}

impl TextFile {
    /// The text of a file; `Err` says what it is instead.
    pub fn of(bytes: &Arc<Vec<u8>>) -> Result<TextFile, String> {
        let whole = bytes;
        let bytes = whole.as_slice();
        let (encoding, mark) = Encoding::for_bom(bytes).unwrap_or((UTF_8, 0));
        let has_mark = mark != 0;
        let (encoding, plain) = match reading::content(bytes) {
            _ if has_mark && encoding == UTF_8 => (UTF_8, Arc::new(bytes[mark..].to_vec())),
            FileContent::Text { text: Cow::Borrowed(text), encoding: None } if text.len() == bytes.len() => {
                (UTF_8, Arc::clone(whole))
            }
            FileContent::Text { text, encoding: None } => (UTF_8, Arc::new(text.into_owned().into_bytes())),
            FileContent::Text { encoding: Some(name), .. } if name.starts_with("UTF-8") => {
                (UTF_8, Arc::clone(whole))
            }
            FileContent::Text { text, encoding: Some(name) } => {
                let encoding = Encoding::for_label(name.as_bytes());
                let encoding = encoding.ok_or_else(|| format!("text in {name}, which cannot be written"))?;
                (encoding, Arc::new(text.into_owned().into_bytes()))
            }
            FileContent::Image { mime }
            | FileContent::BrokenImage { mime }
            | FileContent::Audio { mime }
            | FileContent::Binary { mime } => {
                return Err(format!("a binary file ({mime})"));
            }
            FileContent::Pdf => return Err("a binary file (application/pdf)".to_owned()),
        };
        let form = TextFormat { encoding, has_mark, ends: LineEnds::of(&plain) };
        let text = TextFile { bytes: plain, form };
        // What cannot be written back as it was must not be touched.
        if encoding != UTF_8 && text.written().ok().as_ref() != Some(whole) {
            return Err(format!("text that looks like {} but has bytes that are not", encoding.name()));
        }
        Ok(text)
    }

    /// A text for a new file: UTF-8 and as it is given.
    pub fn new(text: &str) -> TextFile {
        let bytes = Arc::new(text.as_bytes().to_vec());
        let form = TextFormat { encoding: UTF_8, has_mark: false, ends: LineEnds::of(&bytes) };
        TextFile { bytes, form }
    }

    /// Another text, written in the same way.
    pub fn with_bytes(&self, bytes: Vec<u8>) -> TextFile {
        TextFile { bytes: Arc::new(bytes), form: self.form }
    }

    /// Another text, written as UTF-8.
    pub fn as_utf8(&self) -> TextFile {
        let form = TextFormat {
            encoding: UTF_8,
            has_mark: self.form.has_mark && self.form.encoding == UTF_8,
            ..self.form
        };
        TextFile { bytes: Arc::clone(&self.bytes), form }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// `None` when some bytes are no text.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }

    /// The file's bytes; `Err` names an encoding that has no room for some character.
    pub fn written(&self) -> Result<Arc<Vec<u8>>, &'static str> {
        let TextFormat { encoding, has_mark, .. } = self.form;
        if encoding == UTF_8 {
            return Ok(match has_mark {
                true => Arc::new([b"\xef\xbb\xbf".as_slice(), &self.bytes].concat()),
                false => Arc::clone(&self.bytes),
            });
        }
        let text = std::str::from_utf8(&self.bytes).map_err(|_| encoding.name())?;
        let units = |pair: fn(u16) -> [u8; 2]| {
            let mark = has_mark.then_some(0xfeff);
            Arc::new(mark.into_iter().chain(text.encode_utf16()).flat_map(pair).collect())
        };
        if encoding == UTF_16LE {
            return Ok(units(u16::to_le_bytes));
        }
        if encoding == UTF_16BE {
            return Ok(units(u16::to_be_bytes));
        }
        match encoding.encode(text) {
            (bytes, _, false) => Ok(Arc::new(bytes.into_owned())),
            (_, _, true) => Err(encoding.name()),
        }
    }
}

impl TextFormat {
    /// The encoding's name.
    pub fn encoding(&self) -> &'static str {
        self.encoding.name()
    }

    /// True if readers of Unicode texts can read it: UTF-8, or UTF-16 that says so by its mark.
    pub fn is_plain_unicode(&self) -> bool {
        self.encoding == UTF_8 || (self.has_mark && [UTF_16LE, UTF_16BE].contains(&self.encoding))
    }
}

impl LineEnds {
    /// Perf: two passes by memchr.
    pub fn of(bytes: &[u8]) -> LineEnds {
        let all = memchr_iter(b'\n', bytes).count();
        let crlf = memmem::find_iter(bytes, b"\r\n").count();
        match (all, crlf) {
            (0, _) => LineEnds::None,
            (_, 0) => LineEnds::Lf,
            (all, crlf) if all == crlf => LineEnds::Crlf,
            _ => LineEnds::Mixed,
        }
    }

    /// `text` with these line ends, where they are all the same.
    pub fn given_to<'a>(self, text: &'a str) -> Cow<'a, str> {
        match self {
            LineEnds::None | LineEnds::Mixed => Cow::Borrowed(text),
            LineEnds::Lf if !text.contains("\r\n") => Cow::Borrowed(text),
            LineEnds::Lf => Cow::Owned(text.replace("\r\n", "\n")),
            LineEnds::Crlf => Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n")),
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            LineEnds::Crlf => "\r\n",
            LineEnds::None | LineEnds::Lf | LineEnds::Mixed => "\n",
        }
    }
}
