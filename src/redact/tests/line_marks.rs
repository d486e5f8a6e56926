//! Private keys whose lines stand behind marks, and names of bytes that hold secrets.

use super::*;

fn key() -> String {
    let lines = [letters(64), letters(64), "Zz9/+w==".to_owned()];
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", lines.join("\n"))
}

/// The key's lines, each as `mark` writes it, counted from 1.
fn marked(mark: impl Fn(usize, &str) -> String) -> String {
    let lines: Vec<String> = key().lines().enumerate().map(|(at, line)| mark(at + 1, line)).collect();
    format!("before\n{}\nand after it.", lines.join("\n"))
}

#[test]
fn a_private_key_is_hidden_whatever_stands_before_its_lines() {
    let rows: Vec<(&str, String)> = vec![
        ("quote", marked(|_, line| format!("> {line}"))),
        ("quotes of quotes", marked(|_, line| format!(">> > {line}"))),
        ("removed", marked(|_, line| format!("-{line}"))),
        ("added", marked(|_, line| format!("+{line}"))),
        ("kept", marked(|_, line| format!(" {line}"))),
        ("cat -n", marked(|at, line| format!("{at:>6}\t{line}"))),
        ("nl", marked(|at, line| format!("{at:>4}: {line}"))),
        ("bars", marked(|at, line| format!("{at} | {line}"))),
        ("grep", marked(|at, line| format!("{at}-{line}"))),
        ("search", marked(|at, line| format!("{at}- {line}"))),
        ("comment", marked(|_, line| format!("# {line}"))),
        ("block of a comment", marked(|_, line| format!(" * {line}"))),
        ("bare", marked(|_, line| line.to_owned())),
    ];
    for (name, text) in rows {
        let hidden = redactor().text(&text).into_owned();
        for part in [&letters(64)[..20], "Zz9/+w=="] {
            assert!(!hidden.contains(part), "{name}: {hidden}");
        }
        assert!(hidden.starts_with("before\n") && hidden.ends_with("and after it."), "{name}: {hidden}");
        let escaped = serde_json::to_string(&text).unwrap();
        let hidden = redactor().text(&escaped).into_owned();
        assert!(!hidden.contains(&letters(64)[..20]), "{name}, escaped: {hidden}");
        // As it comes from a model, in pieces.
        for size in [1, 7, 64] {
            let mut stream = redactor().stream();
            let letters_of: Vec<char> = text.chars().collect();
            let mut out: String =
                letters_of.chunks(size).map(|piece| stream.push(&piece.iter().collect::<String>())).collect();
            out.push_str(&stream.finish());
            assert!(!out.contains(&letters(64)[..20]), "{name}, by {size}: {out}");
        }
    }
}

#[test]
fn lines_that_only_speak_of_a_key_stay() {
    for text in [
        "> A file that begins with -----BEGIN PRIVATE KEY-----\n> holds a key.\n> Do not send it.",
        "1\t-----BEGIN PRIVATE KEY-----\n2\tis the first line\n",
        "# -----BEGIN PRIVATE KEY-----\n# …\n# -----END PRIVATE KEY-----\n",
    ] {
        assert_eq!(redactor().text(text), text);
    }
}

#[test]
fn a_name_of_bytes_does_not_carry_a_secret_in_its_letters() {
    let token = format!("ghp_{}", letters(36));
    for (name, is_secret) in
        [(format!("tab\t{token}"), true), (format!("of\n{token}\n"), true), ("plain\tname".to_owned(), false)]
    {
        let text = format!("`[x] [path-bytes:{}]` and more", URL_SAFE_NO_PAD.encode(&name));
        let hidden = redactor().text(&text).into_owned();
        assert_eq!(hidden == text, !is_secret, "{name:?}: {hidden}");
        assert!(hidden.ends_with("]` and more"), "{hidden}");
        assert_eq!(hidden.contains("path-bytes:[redacted:github]"), is_secret, "{hidden}");
    }
}

/// A name that comes letter by letter is read once, and not anew with each letter.
#[test]
fn letters_of_a_name_that_goes_on_are_looked_at_once() {
    let redactor = redactor();
    let text = format!("path-bytes:{}", letters(8_000));
    let mut scan = RedactionScan::without_patterns(&redactor.rules);
    let mut looks = 0;
    for end in 1..=text.len() {
        let window = TextWindow::new(&text[..end], false);
        scan.advance(&redactor.rules, &window);
        looks += window.work();
    }
    let each = looks / text.len() as u64;
    assert!(each <= 40, "{each} looks at each byte");
}
