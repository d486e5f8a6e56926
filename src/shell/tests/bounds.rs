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
