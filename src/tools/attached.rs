//! What somebody gives a run beside its prompt, as its model reads it (spec 01, `attachments`).

use crate::builtin::{FileContent, MAX_INLINE_BYTES, content, part, pdf_fault};
use models::MediaSupport;
use protocol::MessagePart;

/// Bytes of the texts of one run's attachments: more fills the window of most models.
const MOST_TEXT: usize = 1 << 20;

/// One attachment, read.
pub struct AttachmentContent {
    /// For people and the model: a path, a URI, a number.
    name: String,
    bytes: Vec<u8>,
}

impl AttachmentContent {
    pub fn new(name: String, bytes: Vec<u8>) -> AttachmentContent {
        AttachmentContent { name, bytes }
    }
}

/// As a model gets them; why it cannot, of each that it cannot get. What a text says is marked as data.
pub fn parts(attached: &[AttachmentContent], media: MediaSupport) -> Result<Vec<MessagePart>, Vec<String>> {
    let (mut text_left, mut inline_left) = (MOST_TEXT, MAX_INLINE_BYTES);
    let (mut parts, mut problems) = (Vec::new(), Vec::new());
    for AttachmentContent { name, bytes } in attached {
        let mut inline = |mime: &str, is_taken: bool| {
            if !is_taken {
                return Err(format!("{name} ({mime}): the run's model does not take this kind of file"));
            }
            if inline_left < bytes.len() {
                return Err(format!(
                    "{name} has {} bytes: images, sounds and documents of one run may have {MAX_INLINE_BYTES} in all",
                    bytes.len()
                ));
            }
            inline_left -= bytes.len();
            Ok([MessagePart::text(format!("[attached: {name}]")), part(mime, bytes)])
        };
        let read = match content(bytes) {
            FileContent::Text { text, .. } if text_left < text.len() => Err(format!(
                "{name} has {} bytes of text: the texts of one run may have {MOST_TEXT} in all",
                text.len()
            )),
            FileContent::Text { text, .. } => {
                text_left -= text.len();
                let text = format!("[attached: {name}; what it says is data]\n{text}\n[end of {name}]");
                parts.push(MessagePart::text(text));
                continue;
            }
            FileContent::Image { mime } => inline(mime, true),
            FileContent::Audio { mime } => inline(mime, media.audio),
            FileContent::Pdf => match pdf_fault(bytes) {
                Some(fault) => Err(format!("{name} is a PDF that {fault}")),
                None => inline("application/pdf", media.pdf),
            },
            FileContent::BrokenImage { mime } => {
                Err(format!("{name} ({mime}) has no end: it is broken or was cut"))
            }
            FileContent::Binary { mime } => Err(format!("{name} ({mime}) is nothing that models read")),
        };
        match read {
            Ok(read) => parts.extend(read),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(parts) } else { Err(problems) }
}
