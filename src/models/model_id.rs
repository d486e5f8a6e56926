//! How may a provider call a model?

/// A model's id at most; it stands in a URL and in messages.
const MAX_MODEL_CHARS: usize = 200;

/// True if a provider could call a model so: it stands in a URL and in messages.
pub(super) fn is_id(id: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.:@/".contains(letter);
    !id.is_empty() && id.len() <= MAX_MODEL_CHARS && id.chars().all(is_letter)
}
