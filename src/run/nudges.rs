//! What the daemon says to a model in the user's place, and how that is told apart from what a person said.

/// After an answer that the output limit cut off.
pub const CONTINUE: &str = "Your answer was cut off by the output limit. Go on exactly where you stopped.";
/// Spec 04, "Next speaker".
pub const PLEASE_CONTINUE: &str = "Please continue.";
/// After calls that repeat (spec 04, "Loop detection", a).
pub const SAME_CALLS: &str = "You have made the same tool calls with the same arguments several times in a row. Their \
     results will not change. Think about what you learned from them, and take another way; if there is none, say what \
     keeps you from going on.";
/// After a text that repeats (b).
pub const SAME_TEXT: &str = "You were repeating yourself, and your answer was cut off. Do not go on with it. Think about \
     what is still to be done, and do the next step of it.";
/// After turns that another model takes for a circle (c).
pub const SAME_STEPS: &str = "You seem to go round in circles: the last turns brought the task no further. Step back, think \
     about what is still to be done, and take another way; if there is none, say what keeps you from going on.";

/// True if it is no request of anybody's: whoever looks for what a model works on passes it over.
///
/// By its words, so that histories that are kept already are read alike. A person who says the same asks for nothing new
/// either.
pub fn is_nudge(text: &str) -> bool {
    [CONTINUE, PLEASE_CONTINUE, SAME_CALLS, SAME_TEXT, SAME_STEPS].contains(&text)
}
