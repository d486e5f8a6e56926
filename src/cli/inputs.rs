//! Which inputs and prompt does the command line give an agent?

use std::{fs, io::Read, path::Path};

use serde_json::{Map, Value};

use super::{InputStream, failure::CommandFailure};
use protocol::MAX_MESSAGE_BYTES;

/// `NAME=VALUE` of the command line: JSON where it is JSON, else the text itself.
pub(super) fn parse_input(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    if name.is_empty() {
        return Err("expected a name before `=`".into());
    }
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    Ok((name.to_owned(), value))
}

/// The file's inputs with those of the command line over them.
pub(super) fn collect(
    file: Option<&Path>,
    given: &[(String, Value)],
) -> Result<Map<String, Value>, CommandFailure> {
    let mut inputs = match file {
        Some(file) => read_file(file)?,
        None => Map::new(),
    };
    inputs.extend(given.iter().cloned());
    Ok(inputs)
}

fn read_file(path: &Path) -> Result<Map<String, Value>, CommandFailure> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| {
        CommandFailure::usage(format!("cannot read the inputs in {shown}: {error}"))
            .or_hint("name a file that you may read, or give inputs with --input NAME=VALUE")
    })?;
    let expected = "the file holds one JSON object: {\"name\": value, …}";
    match serde_json::from_str(&text) {
        Ok(Value::Object(inputs)) => Ok(inputs),
        Ok(_) => Err(CommandFailure::usage(format!("{shown} is no JSON object")).or_hint(expected)),
        Err(error) => {
            let place = format!("{shown}:{}:{}", error.line(), error.column());
            Err(CommandFailure::usage(format!("{place}: {error}")).or_hint(expected))
        }
    }
}

/// A whole text file, no longer than a request may be.
pub(super) fn read_whole(path: &Path, hint: &str) -> Result<String, CommandFailure> {
    let refused =
        |why: String| CommandFailure::usage(format!("cannot read {}: {why}", path.display())).or_hint(hint);
    let mut bytes = Vec::new();
    // One byte more than any request may have shows that there is more.
    fs::File::open(path)
        .and_then(|file| file.take(MAX_MESSAGE_BYTES as u64 + 1).read_to_end(&mut bytes))
        .map_err(|error| refused(error.to_string()))?;
    if bytes.len() > MAX_MESSAGE_BYTES {
        return Err(refused(format!("it has more than {MAX_MESSAGE_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8".to_owned()))
}

/// A text from a pipe, called `what` in errors; `None` when there is a terminal, or nothing in the pipe.
pub(super) fn read_text(what: &str, stdin: &mut InputStream) -> Result<Option<String>, CommandFailure> {
    if stdin.is_terminal {
        return Ok(None);
    }
    // One byte more than any request may have shows that there is more.
    let limit = MAX_MESSAGE_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    let read = stdin.reader.by_ref().take(limit).read_to_end(&mut bytes);
    read.map_err(|error| {
        CommandFailure::new(format!("cannot read {what} from standard input: {error}"))
            .or_hint("give it on the command line, or `</dev/null` to give none")
    })?;
    if bytes.len() > MAX_MESSAGE_BYTES {
        let too_long = format!("{what} on standard input has more than {MAX_MESSAGE_BYTES} bytes");
        return Err(
            CommandFailure::usage(too_long).or_hint("put it into a file of the workspace and name that")
        );
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        CommandFailure::usage(format!("{what} on standard input is not UTF-8"))
            .or_hint("put it into a file of the workspace and name that")
    })?;
    let text = text.trim_end();
    Ok((!text.trim().is_empty()).then(|| text.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_json_where_they_are_json() {
        let value = |text: &str| parse_input(text).unwrap().1;
        assert_eq!(value("n=3"), json!(3));
        assert_eq!(value("list=[\"a\",1]"), json!(["a", 1]));
        assert_eq!(value("quoted=\"3\""), json!("3"));
        assert_eq!(value("text=a=b c"), json!("a=b c"));
        assert_eq!(value("empty="), json!(""));
        assert!(parse_input("noequals").is_err());
        assert!(parse_input("=x").is_err());
    }

    #[test]
    fn the_command_line_beats_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("inputs.json");
        fs::write(&file, r#"{"a": 1, "b": 2}"#).unwrap();
        let inputs = collect(Some(&file), &[("b".into(), json!(3))]).unwrap();
        assert_eq!(Value::Object(inputs), json!({"a": 1, "b": 3}));
        fs::write(&file, "{\"a\": }").unwrap();
        let Err(CommandFailure::Told { exit_code: 2, what, .. }) = collect(Some(&file), &[]) else {
            panic!()
        };
        assert!(what.contains("inputs.json:1:7"), "{what}");
    }
}
