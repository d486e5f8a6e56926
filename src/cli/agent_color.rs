//! How does a terminal show the colour that an agent's file names (spec 02, `color`)? As a dot in it, so that every name stays
//! readable on every background.

use super::OutputWriter;

const DOT: &str = "●";

/// CSS's basic colour keywords as red, green and blue (CSS Color Module Level 4, "Named Colors").
const NAMED: [(&str, [u8; 3]); 16] = [
    ("aqua", [0, 255, 255]),
    ("black", [0, 0, 0]),
    ("blue", [0, 0, 255]),
    ("fuchsia", [255, 0, 255]),
    ("gray", [128, 128, 128]),
    ("green", [0, 128, 0]),
    ("lime", [0, 255, 0]),
    ("maroon", [128, 0, 0]),
    ("navy", [0, 0, 128]),
    ("olive", [128, 128, 0]),
    ("purple", [128, 0, 128]),
    ("red", [255, 0, 0]),
    ("silver", [192, 192, 192]),
    ("teal", [0, 128, 128]),
    ("white", [255, 255, 255]),
    ("yellow", [255, 255, 0]),
];

/// The dot, where this output has colours and the text names one.
pub(super) fn dot(color: Option<&str>, output: &OutputWriter) -> Option<String> {
    let channels = color.filter(|_| output.has_color).and_then(channels)?;
    Some(format!("\x1b[38;5;{}m{DOT}\x1b[0m", palette_index(channels)))
}

fn channels(color: &str) -> Option<[u8; 3]> {
    let color = color.to_ascii_lowercase();
    let Some(digits) = color.strip_prefix('#') else {
        return NAMED.iter().find(|(name, _)| *name == color).map(|(_, channels)| *channels);
    };
    let is_whole = digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let channel = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    if is_whole { Some([channel(0)?, channel(2)?, channel(4)?]) } else { None }
}

/// The nearest of the 216 colours that xterm's palette of 256 has in a cube of six steps a side; more terminals know it than know
/// colours by red, green and blue.
fn palette_index([red, green, blue]: [u8; 3]) -> u8 {
    /// Where a step becomes the next: the middles between 0, 95, 135, 175, 215 and 255.
    const EDGES: [u8; 5] = [48, 115, 155, 195, 235];
    let step = |channel: u8| EDGES.iter().map(|edge| u8::from(*edge <= channel)).sum::<u8>();
    16 + 36 * step(red) + 6 * step(green) + step(blue)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(color: &str, has_color: bool) -> Option<String> {
        let writer = Box::new(std::io::sink());
        let width = Some(80);
        let output = OutputWriter {
            writer,
            is_terminal: true,
            has_color,
            is_live: false,
            width,
            is_for_programs: false,
        };
        dot(Some(color), &output)
    }

    #[test]
    fn a_colour_becomes_the_nearest_that_terminals_have() {
        for (color, index) in [
            ("#000000", 16),
            ("black", 16),
            ("#ffffff", 231),
            ("RED", 196),
            ("lime", 46),
            ("blue", 21),
            ("teal", 30),
            ("#12AB34", 35),
        ] {
            assert_eq!(shown(color, true), Some(format!("\x1b[38;5;{index}m●\x1b[0m")), "{color}");
        }
    }

    #[test]
    fn what_is_no_colour_is_not_shown_and_nothing_is_where_there_are_none() {
        for color in ["", "#12ab3", "#12ab3g", "#+1+2+3", "mauve", "#é12345", "\x1b[31m"] {
            assert_eq!(shown(color, true), None, "{color}");
        }
        assert_eq!(shown("red", false), None);
    }
}
