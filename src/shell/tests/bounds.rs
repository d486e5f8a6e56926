//! Does every text end in a reading, however long or deep?

use super::*;

#[test]
fn texts_beyond_the_bounds_are_not_understood() {
    let deep =
        |open: &str, close: &str, times: usize| format!("{}ls{}", open.repeat(times), close.repeat(times));
    let texts = [
        format!("echo {}", "x".repeat(LONGEST_TEXT)),
        "ls;".repeat(20_000),
        (0..3_000).map(|at| format!("c{at};")).collect(),
        deep("$(", ")", 2_000),
        deep("( ", ")", 2_000),
        deep("\"$(", ")\"", 2_000),
        deep("{ ", "; }", 2_000),
        deep("a[$(", ")]", 1_000),
        deep("${x:-", "}", 2_000),
        deep("$((", "))", 1_000),
        deep("if ", "; then x; fi", 1_000),
        deep("! ", "", 3) + &"(".repeat(5_000),
        format!("echo {}", "{a,b}".repeat(64)),
        // Each function calls the one before twice.
        (0..64).map(|at| format!("f{}() {{ f{at}; f{at}; }};", at + 1)).collect::<String>() + "f64",
        deep("env ", "", 100),
    ];
    for text in &texts {
        let reading = judged(text);
        let is_many_words = text.starts_with("echo {a,b}");
        assert!(reading.unknown.is_some() || is_many_words, "{}", &text[..60]);
    }
}

/// A reading of every beginning of odd texts: nothing panics, and what is cut within a quote is not understood.
#[test]
fn every_beginning_of_a_text_has_a_reading() {
    let text = "f() { echo \"a $(b 'c' `d`) ${e:-\"$g\"}\" $'\\x41' é; }; cat <<-E | while read x; do [[ $x =~ (a|b)+ ]] && ((y++)); done\n\t$(h)\n\tE\ncase $z in a|b) i;; esac 2>&1 >|j; o {k,l}*[m] <(n) &";
    for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
        let reading = judged(&text[..end]);
        assert!(reading.risk >= Risk::Medium);
    }
    assert_eq!(judged(text).unknown, None);
}

/// Shapes of nesting: what opens, what stands innermost, what closes.
const SHAPES: &[(&str, &str, &str)] = &[
    ("(( ", "1", " ))"),
    ("[[ ( ", " a ", " ) ]]"),
    ("( ", "a", " )"),
    ("{ ", "echo;", " }"),
    ("${a[", "1", "]}"),
    ("a?", "1", ":2"),
    ("<(", "echo", ")"),
    ("`", "echo", "`"),
    ("\"${a:-", "x", "}\""),
    ("${a/", "x", "}"),
    ("if ", "true", "; then :; fi"),
    ("while ", "true", "; do :; done"),
    ("for x in a; do ", ":", "; done"),
    ("select x in a; do ", ":", "; done"),
    ("coproc ", "echo", ""),
    ("case $(", "echo", ") in x) ;; esac"),
    ("function f { ", "echo;", " }"),
    ("a=(", "1", ")"),
    ("a=($(", "echo", "))"),
    ("true && ", "true", ""),
    ("cat | ", "cat", ""),
    ("(echo;", "echo", ")"),
    ("! ", "true", ""),
    ("[ ! ", "x", " ]"),
    ("eval ", "echo", ""),
    ("xargs ", "echo", ""),
    ("nice ", "echo", ""),
    ("env ", "echo", ""),
    ("env -S ", "echo", ""),
    ("timeout 1 ", "echo", ""),
    ("sudo ", "echo", ""),
    ("find . ! ", "-name a", ""),
    ("find . -exec ", "echo", ""),
    ("git -c a=b ", "status", ""),
    ("a=", "x", ""),
    ("", ": ", ">a "),
    ("cat <<E\n", "x", "\nE\n"),
    ("!(", "a", ")"),
    ("{a,", "b", "}"),
    ("#", "x", ""),
    ("\\\n", "echo", ""),
    ("((- ", "1", "))"),
    ("$((", "1", "))"),
    ("$\"", "x", "\""),
    ("awk '{", "print", "}'"),
    ("$'\\x", "41", "'"),
    ("trap '", "echo", "' EXIT"),
    ("bash -c \"", "echo", "\""),
    ("let a=", "1", ""),
    ("alias a=", "b", ""),
    ("sed 's/[", "x", "]/y/'"),
    ("bash -", "x", ""),
    ("rm -", "r", ""),
    ("ls [", "*", ""),
    ("..{", "a", "}"),
    ("touch /", "x", ""),
    ("((x=", "1", "<("),
];

/// Each of them as often as a text may hold it, alone and where numbers are computed. No bound but that of the depth keeps one that reads
/// itself within itself from the end of its stack, and none but the fuel one that reads the same again from the end of the day.
#[test]
fn every_shape_of_nesting_ends_within_its_stack_and_its_fuel() {
    let judge_all = || {
        for (open, inner, close) in SHAPES {
            for around in ["", "((x="] {
                let behind = if around.is_empty() { "" } else { "))" };
                let times = 95_000 / (open.len() + close.len());
                let text = format!("{around}{}{inner}{}{behind}", open.repeat(times), close.repeat(times));
                // What is not read to its end is not understood; what is, was short enough to be read whole.
                let reading = judged(&text);
                assert!(reading.unknown.is_none() || Risk::High <= reading.risk, "{around}{open}");
            }
        }
    };
    // As much as a thread of the daemon has that judges.
    let judging = std::thread::Builder::new().stack_size(2 << 20).spawn(judge_all);
    judging.unwrap().join().unwrap();
}

#[test]
fn what_takes_too_long_or_nobody_waits_for_is_not_understood() {
    let squares = [
        format!("((x={}echo{}))", "<(".repeat(18_000), ")".repeat(18_000)),
        format!("{}1{}", "a?".repeat(31_000), ":2".repeat(5_000)),
        "$((a ".repeat(19_000),
    ];
    for text in &squares {
        let reading = judged(text);
        assert!(reading.unknown.is_some() && reading.risk >= Risk::High, "{}", &text[..40]);
    }
    let looks = std::cell::Cell::new(0);
    let long = "ls a b c d e f;".repeat(1_000);
    let around = ShellEnvironment {
        directory: Path::new("/w"),
        home: None,
        roots: &["/w".into()],
        autorun: &[],
        guarded: &[],
        secret: &[],
        resolve: &Path::to_owned,
        entries: &|_| Some(Vec::new()),
        is_wanted: &|| {
            looks.set(looks.get() + 1);
            looks.get() < 3
        },
    };
    let reading = read(&long, &around);
    assert_eq!(reading.unknown.as_deref(), Some("nobody waits for it any more"));
    assert_eq!((looks.get(), reading.risk), (3, Risk::High));
    assert_eq!(judged(&long).unknown, None);
}
