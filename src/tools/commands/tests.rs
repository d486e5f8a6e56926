//! What is kept of outputs, what is left on a terminal, what commands find in their environment.

use redact::{Redactor, RedactorParts};

use super::{OutputCapture, report::terminal_text};
use sandbox::{CommandEnvironment, MARKER};

/// Pushes all bytes in pieces of every size, and looks at what is kept.
#[test]
fn beginning_and_end_are_kept_however_the_bytes_come() {
    let bytes: Vec<u8> = (0..100).map(|n| b'a' + n % 26).collect();
    for length in [0, 5, 10, 15, 16, 40, 100] {
        for piece in [1, 3, 7, 100] {
            let mut capture = OutputCapture::of(10, 5);
            bytes[..length].chunks(piece).for_each(|piece| capture.push(piece));
            assert_eq!(capture.total(), length as u64);
            let text = capture.text();
            if length <= 15 {
                assert_eq!(text.as_bytes(), &bytes[..length]);
            } else {
                let (head, tail) = (&bytes[..10], &bytes[length - 5..length]);
                let wanted = format!(
                    "{}\n[… {} bytes were not kept …]\n{}",
                    String::from_utf8_lossy(head),
                    length - 15,
                    String::from_utf8_lossy(tail)
                );
                assert_eq!(text, wanted, "{length} in pieces of {piece}");
            }
            for from in 0..=length + 2 {
                let (start, found) = capture.from(from as u64, 4);
                let start = usize::try_from(start).unwrap();
                assert_eq!(found, bytes[start..length.min(start + found.len())], "{length}, from {from}");
                // Nothing that is kept is skipped.
                let is_lost = |at: usize| 10 <= at && at < length.saturating_sub(5).max(10);
                assert!((from.min(length)..start).all(is_lost), "{length}, from {from}: {start}");
            }
        }
    }
}

#[test]
fn what_was_written_over_on_a_terminal_is_gone() {
    let cases = [
        ("a\r\nb\r\n", "a\nb\n"),
        ("10%\r50%\r100%\r\ndone", "100%\ndone"),
        ("\u{1b}[32mok\u{1b}[0m\r", "ok"),
        ("\u{1b}]0;title\u{7}plain", "plain"),
    ];
    for (raw, left) in cases {
        assert_eq!(terminal_text(raw), left, "{raw:?}");
    }
}

#[test]
fn commands_get_the_usual_variables_and_no_secrets() {
    let secret = "correct-horse-battery-staple-42";
    let redactor = Redactor::new(RedactorParts {
        environment: std::iter::once(("MY_TOKEN".to_owned(), secret.to_owned())),
        patterns: Vec::new(),
    });
    let all = [
        ("PATH", "/bin"),
        ("HOME", "/home/ann"),
        ("LC_ALL", "C"),
        ("MY_TOKEN", secret),
        ("OTHER", "nobody named it"),
        ("JAVA_HOME", "/opt/java"),
        ("HIDES_ONE", &format!("x{secret}")),
        ("LD_PRELOAD", "/tmp/x.so"),
        ("BASH_ENV", "/tmp/x"),
    ];
    let all = all.map(|(name, value)| (name.into(), value.into()));
    let named = ["JAVA_HOME", "MY_TOKEN", "HIDES_ONE"].map(str::to_owned);
    let environment = CommandEnvironment::of(&all, &named, &redactor);
    let names: Vec<&str> = environment.variables.iter().map(|(name, _)| name.as_str()).collect();
    for name in ["PATH", "HOME", "LC_ALL", "JAVA_HOME", MARKER, "GIT_TERMINAL_PROMPT"] {
        assert!(names.contains(&name), "{name} is missing in {names:?}");
    }
    for name in ["MY_TOKEN", "OTHER", "HIDES_ONE", "LD_PRELOAD", "BASH_ENV"] {
        assert!(!names.contains(&name), "{name} was passed on");
    }
    assert_eq!(environment.withheld, ["MY_TOKEN", "HIDES_ONE"]);
}
