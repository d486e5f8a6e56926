//! Which colours do words have on a terminal?

/// Colours by what they mean here.
#[derive(Debug, Clone, Copy)]
pub(super) enum TextColor {
    Dim,
    Bold,
    Cyan,
    Green,
    Red,
    Yellow,
}

impl TextColor {
    /// The text in this colour.
    pub(super) fn paint(self, text: &str) -> String {
        let code = match self {
            TextColor::Bold => 1,
            TextColor::Dim => 2,
            TextColor::Red => 31,
            TextColor::Green => 32,
            TextColor::Yellow => 33,
            TextColor::Cyan => 36,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
