//! Which text does `create --from` send, and how does NAME get into it?

use std::path::Path;

use crate::{ProcessIo, failure::CommandFailure, inputs};

/// The file's text, or that of standard input; a name that is given takes the place of its own.
pub(super) fn read(
    file: &Path,
    name: Option<&str>,
    surroundings: &mut ProcessIo,
) -> Result<String, CommandFailure> {
    let text = if file.as_os_str() == "-" {
        let text = inputs::read_text("the agent's file", &mut surroundings.stdin)?;
        let text = text.ok_or_else(|| {
            CommandFailure::usage("there is no agent's file on standard input")
                .or_hint("pipe it in: subagent export scout | subagent create my-scout --from -")
        })?;
        // The end of the last line was taken off.
        format!("{text}\n")
    } else {
        let path = surroundings.working_folder.join(file);
        inputs::read_whole(&path, "name a text file that you may read; `-` is standard input")?
    };
    match name {
        None => Ok(text),
        Some(name) => renamed(&text, name).ok_or_else(|| {
            CommandFailure::usage("the file's name cannot be told from its front matter").or_hint(
                "leave NAME out, and write `name:` into the file, in a line of its own below the first `---`",
            )
        }),
    }
}

/// With `name: NAME` as the front matter's name; all else stays as it is written. `None` when there is no front matter, or
/// its name goes on over several lines.
fn renamed(text: &str, name: &str) -> Option<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let is_fence = |line: &&str| line.trim_end() == "---";
    let first = lines.iter().position(|line| !line.trim().is_empty()).filter(|at| is_fence(&lines[*at]))?;
    let ends = |line: &&str| is_fence(line) || line.trim_end() == "...";
    let last = first + 1 + lines[first + 1..].iter().position(ends)?;
    let ending = if lines[first].ends_with("\r\n") { "\r\n" } else { "\n" };
    let line = format!("name: {name}{ending}");
    let fields = first + 1..last;
    let at = fields.clone().find(|at| lines[*at].starts_with("name:"));
    let mut kept = lines.clone();
    match at {
        Some(at) => {
            let goes_on = |next: &&str| next.starts_with([' ', '\t']) && !next.trim().is_empty();
            if fields.contains(&(at + 1)) && goes_on(&lines[at + 1]) {
                return None;
            }
            kept[at] = &line;
        }
        None => kept.insert(first + 1, &line),
    }
    Some(kept.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_takes_the_place_of_the_files_own_and_nothing_else_changes() {
        let cases = [
            ("---\nname: a\nmodel: b\n---\nname: c\n", Some("---\nname: new\nmodel: b\n---\nname: c\n")),
            ("\n--- \r\nname: 'a' # x\r\n---\r\nc", Some("\n--- \r\nname: new\r\n---\r\nc")),
            ("---\nmodel: b\n...\nc", Some("---\nname: new\nmodel: b\n...\nc")),
            ("---\ninputs:\n  name: x\n---\n", Some("---\nname: new\ninputs:\n  name: x\n---\n")),
            ("---\nname: >-\n  a\n---\n", None),
            ("---\nname: a\n", None),
            ("name: a\n", None),
        ];
        for (text, expected) in cases {
            assert_eq!(renamed(text, "new").as_deref(), expected, "{text:?}");
        }
    }
}
