//! When do two words mean the same? Splits identifiers into words, folds word forms, and knows which words tell
//! nothing and which ones programs abbreviate.

/// The words in a piece of code or prose, lower case: `parseHTTPHeader_v2` → parse, http, header, v2.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let characters: Vec<char> = text.chars().collect();
    for (index, &character) in characters.iter().enumerate() {
        if !character.is_alphanumeric() {
            close(&mut words, &mut word);
            continue;
        }
        let before = index.checked_sub(1).map(|before| characters[before]);
        let after = characters.get(index + 1);
        let begins_word = character.is_uppercase()
            && (before.is_some_and(|before| before.is_lowercase() || before.is_numeric())
                || (before.is_some_and(char::is_uppercase)
                    && after.is_some_and(|after| after.is_lowercase())));
        if begins_word {
            close(&mut words, &mut word);
        }
        word.extend(character.to_lowercase());
    }
    close(&mut words, &mut word);
    words
}

fn close(words: &mut Vec<String>, word: &mut String) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

/// Folds the forms of a word into one key: computed, computing, computation → comput. Keys are compared with keys
/// and, being beginnings of their words, used to search for them.
pub(super) fn stem(word: &str) -> String {
    let mut word = word.to_lowercase();
    if !word.is_ascii() || word.len() <= 3 || word.bytes().any(|byte| byte.is_ascii_digit()) {
        return word;
    }
    fold_plural(&mut word);
    fold_british(&mut word);
    fold_verb_form(&mut word);
    fold_noun_form(&mut word);
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
    undouble(&mut word);
    word
}

fn fold_plural(word: &mut String) {
    if word.ends_with("ies") && word.len() > 4 {
        replace_end(word, 3, "y");
    } else if ["sses", "xes", "zes", "ches", "shes"].iter().any(|end| word.ends_with(end)) {
        replace_end(word, 2, "");
    } else if word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        word.pop();
    }
}

fn fold_british(word: &mut String) {
    for (british, american) in [("colour", "color"), ("behaviour", "behavior"), ("serialis", "serializ")] {
        if word.contains(british) {
            *word = word.replace(british, american);
        }
    }
    for (end, american) in [("ise", "ize"), ("ised", "ized"), ("ising", "izing"), ("isation", "ization")] {
        if word.ends_with(end) && word.len() > end.len() + 4 {
            replace_end(word, end.len(), american);
        }
    }
}

fn fold_verb_form(word: &mut String) {
    if word.ends_with("ied") && word.len() > 4 {
        replace_end(word, 3, "y");
        return;
    }
    for end in ["ing", "ed"] {
        if word.ends_with(end) && has_vowel(&word[..word.len() - end.len()]) && word.len() >= end.len() + 3 {
            replace_end(word, end.len(), "");
            // allocated → allocate, but repeated → repeat.
            if word.len() >= 6 && word.ends_with("at") && !word.ends_with("eat") {
                word.push('e');
            }
            return;
        }
    }
}

/// Longest first; the number is how long the word must be, so that short words keep their ends.
const NOUN_ENDS: &[(&str, usize)] = &[
    ("ization", 10),
    ("ability", 10),
    ("ation", 8),
    ("ator", 7),
    ("ition", 8),
    ("ment", 8),
    ("ate", 7),
    ("able", 9),
    ("ible", 9),
    ("ion", 7),
    ("ly", 6),
    ("er", 6),
    ("or", 7),
];

fn fold_noun_form(word: &mut String) {
    for (end, least) in NOUN_ENDS {
        if word.len() >= *least && word.ends_with(end) {
            let with = match *end {
                "ization" => "iz",
                _ => "",
            };
            replace_end(word, end.len(), with);
            return;
        }
    }
}

fn replace_end(word: &mut String, length: usize, with: &str) {
    word.truncate(word.len() - length);
    word.push_str(with);
}

fn has_vowel(text: &str) -> bool {
    text.contains(['a', 'e', 'i', 'o', 'u', 'y'])
}

/// stopped → stop: at the cost of `call` → `cal`, which is no harm in a key.
fn undouble(word: &mut String) {
    let bytes = word.as_bytes();
    if let [.., first, second] = bytes
        && bytes.len() > 3
        && first == second
        && !b"aeiou".contains(second)
    {
        word.pop();
    }
}

/// Words of questions that say nothing about the code.
const STOP_WORDS: &str = "a about above after again all along also am an and another any anything are as ask asked at be \
    because been before being below between both but by can cannot case code codebase come comes could crate did do \
    does doing done down during each else ever every exactly explain few file files find for from function further \
    gets give given gives goes got had happen happens has have having here how i if implement implementation \
    implemented implements in instead into is it its itself just kind know let like line lines list live lives locate \
    located location logic look made main make makes many may me method might module more most much must my need \
    needs new no not now of off often on once one only or other our out over own part parts place please possible \
    program project repo repository responsible same say see should show so some source such take takes tell \
    than that the their them then there these they thing this those through to too two under until up upon us use \
    used user uses using very want was way we were what when where whether which while who whole whom why will with \
    within without work working works would you your describe investigate analyze analyse understand identify trace \
    relevant library package provide provides get it's isn't doesn't aren't really actually first last";

/// Words that say little: every program computes, checks and handles.
const WEAK_WORDS: &str = "add added adds apply applied approach available become becomes behave behaviour behavior \
    build builds built call called calls calculate calculated change changed changes check checked checks choose \
    chooses chosen compute computed computes contain contains control convert converted create created creates \
    decide decided decides decision default define defined defines definition detect detected determine determined \
    different ensure exist fail fails generate generated handle handled handles handling hold holds keep keeps kept \
    mean means number object order perform performed prevent print process processed produce produced put puts read \
    reads represent represented return returned returns run running runs set sets start started stop stopped store \
    stored stores struct support supported supports switch time turn turned turns type types update updated value values write \
    writes written current currently data information name names long internal internally actual certain specific \
    given correct correctly need point step state rule rules cope copes complain complains due end ends";

pub(super) fn is_stop_word(word: &str) -> bool {
    word.len() < 2 || contains_word(STOP_WORDS, word)
}

pub(super) fn is_weak_word(word: &str) -> bool {
    contains_word(WEAK_WORDS, word)
}

fn contains_word(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known == word)
}

/// What programs also write for a word: abbreviations and near synonyms.
const OTHER_WORDS: &[(&str, &[&str])] = &[
    ("acknowledge", &["ack"]),
    ("address", &["addr"]),
    ("allocate", &["capacity"]),
    ("argument", &["arg"]),
    ("asynchronous", &["async"]),
    ("attribute", &["attr"]),
    ("authentication", &["auth"]),
    ("boolean", &["bool"]),
    ("bool", &["boolean"]),
    ("buffer", &["buf"]),
    ("cancel", &["abort"]),
    ("character", &["char"]),
    ("command", &["cmd"]),
    ("concurrent", &["parallel"]),
    ("configuration", &["config", "cfg"]),
    ("config", &["configuration"]),
    ("connection", &["conn"]),
    ("context", &["ctx"]),
    ("delete", &["remove"]),
    ("delimiter", &["separator"]),
    ("directory", &["dir"]),
    ("duplicate", &["dup"]),
    ("environment", &["env"]),
    ("error", &["err"]),
    ("evict", &["remove"]),
    ("execute", &["exec"]),
    ("expression", &["expr"]),
    ("folder", &["dir"]),
    ("identifier", &["id"]),
    ("index", &["idx"]),
    ("indices", &["index"]),
    ("initialize", &["init"]),
    ("integer", &["int", "i64"]),
    ("iterate", &["iterator"]),
    ("length", &["len"]),
    ("limit", &["max"]),
    ("maximum", &["max"]),
    ("maximal", &["max"]),
    ("memory", &["mem"]),
    ("message", &["msg"]),
    ("minimum", &["min"]),
    ("minimal", &["min"]),
    ("mistyped", &["typo", "similar", "mean"]),
    ("mutable", &["mut"]),
    ("mutably", &["mut"]),
    ("option", &["opt"]),
    ("parameter", &["param"]),
    ("parallel", &["concurrent"]),
    ("pattern", &["glob", "regex"]),
    ("pointer", &["ptr"]),
    ("position", &["pos", "offset"]),
    ("previous", &["prev"]),
    ("receive", &["recv"]),
    ("reference", &["ref"]),
    ("refuse", &["reject", "deny"]),
    ("remove", &["delete"]),
    ("replace", &["swap", "reload"]),
    ("request", &["req"]),
    ("response", &["res"]),
    ("retry", &["attempt"]),
    ("separator", &["delimiter"]),
    ("sequence", &["seq"]),
    ("specification", &["spec"]),
    ("string", &["str"]),
    ("strip", &["remove", "trim"]),
    ("swap", &["replace", "reload"]),
    ("synchronize", &["sync"]),
    ("synchronous", &["sync"]),
    ("temporary", &["tmp", "temp"]),
    ("terminal", &["term", "tty"]),
    ("thread", &["worker"]),
    ("variable", &["var"]),
    ("width", &["column", "cols"]),
];

/// Keys of other words that stand for this key in programs.
pub(super) fn synonyms(key: &str) -> Vec<String> {
    let listed = OTHER_WORDS.iter().filter(|(word, _)| stem(word) == key).flat_map(|(_, others)| *others);
    let mut keys: Vec<String> = listed.map(|word| stem(word)).filter(|other| other != key).collect();
    keys.dedup();
    keys
}

/// True if a word of the code is the word meant: the same key, or a longer form of a key long enough to be
/// telling.
pub(super) fn same_key(key: &str, code_key: &str) -> bool {
    /// Shorter keys are beginnings of too many words.
    const TELLING_LENGTH: usize = 5;
    key == code_key || (key.len() >= TELLING_LENGTH && code_key.starts_with(key))
}

#[cfg(test)]
mod tests {
    use super::{split, stem};

    #[test]
    fn identifiers_fall_into_their_words() {
        assert_eq!(split("parseHTTPHeader_v2"), ["parse", "http", "header", "v2"]);
        assert_eq!(split("`back-off::MaxDelay`"), ["back", "off", "max", "delay"]);
    }

    #[test]
    fn forms_of_a_word_share_a_key() {
        let families: &[&[&str]] = &[
            &["compute", "computed", "computing", "computation"],
            &["retry", "retries", "retried", "retrying"],
            &["serialize", "serialise", "serialized", "serialization", "serializer"],
            &["stop", "stops", "stopped", "stopping"],
            &["allocate", "allocator", "allocation", "allocated"],
            &["buffer", "buffers", "buffered", "buffering"],
            &["parse", "parser", "parsing", "parsed"],
            &["match", "matches", "matched", "matcher"],
        ];
        for family in families {
            let keys: Vec<String> = family.iter().map(|word| stem(word)).collect();
            assert!(keys.iter().all(|key| key == &keys[0]), "{family:?} → {keys:?}");
        }
    }
}
