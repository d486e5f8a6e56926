//! What does a person want with an input: say it to the agent, or have something done? Pure.

/// What a slash command does, for `/help`.
pub(super) struct SlashCommand {
    pub(super) name: &'static str,
    /// What may stand behind it.
    pub(super) rest: &'static str,
    pub(super) about: &'static str,
}

const fn word(name: &'static str, rest: &'static str, about: &'static str) -> SlashCommand {
    SlashCommand { name, rest, about }
}

/// Every slash command, as `/help` and Tab list them.
pub(super) const WORDS: [SlashCommand; 15] = [
    word("/context", "", "what the agent remembers here, and since when"),
    word("/clear", "", "starts the context anew; its history stays"),
    word("/compact", "", "replaces older messages by a summary"),
    word("/undo", "", "take back what was changed last in files; asks first"),
    word("/agents", "[NAME]", "list agents, or talk to another in this session"),
    word("/tools", "", "the tools that the agent has here"),
    word("/memory", "", "the memory files there are here, and which of them agents are told of"),
    word("/skill", "[NAME]", "list skills, or give one to the agent's next runs; `-NAME` takes it off"),
    word("/hooks", "", "the hooks there are here, and whether each runs"),
    word("/model", "[MODEL]", "show or change the model of the next runs; `inherit` is the agent's own"),
    word("/mode", "[MODE]", "show or change how freely calls run in this session: plan, default, autoEdit"),
    word("/cost", "", "what this session used, and what that cost"),
    word("/help", "", "this list"),
    word("/exit", "", "leave; Ctrl-D on an empty line does, too"),
    word("/quit", "", "the same"),
];

/// Of so many letters one may be wrong in a word that was meant to be another.
const SLIP: usize = 3;

/// What a person wants.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChatCommand<'text> {
    Say,
    Context,
    Clear,
    Compact,
    Undo,
    ListAgents,
    TalkTo(&'text str),
    Tools,
    Memory,
    Hooks,
    ListSkills,
    UseSkill(&'text str),
    /// Takes one off again.
    DropSkill(&'text str),
    ShowModel,
    UseModel(&'text str),
    ShowMode,
    UseMode(&'text str),
    Cost,
    Help,
    Exit,
    /// There is no such word; perhaps this one was meant.
    Unknown {
        word: &'text str,
        nearest: Option<&'static str>,
    },
    /// The word takes less than stands behind it.
    TooMuch {
        word: &'static str,
        rest: &'static str,
    },
}

/// Reads an input. A slash alone makes no command: paths begin with one, too, and so may a message that begins with a blank.
pub(super) fn read(text: &str) -> ChatCommand<'_> {
    let whole = text.trim_end();
    match whole.trim_start() {
        "exit" => return ChatCommand::Exit,
        "context" => return ChatCommand::Context,
        _ => {}
    }
    let (first, rest) = whole.split_once(char::is_whitespace).unwrap_or((whole, ""));
    let is_word = first.strip_prefix('/').is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '?'))
    });
    if !is_word {
        return ChatCommand::Say;
    }
    let lower = first.to_lowercase();
    let Some(known) = WORDS.iter().find(|word| word.name == lower) else {
        return ChatCommand::Unknown { word: first, nearest: nearest(&lower) };
    };
    let rest = Some(rest.trim()).filter(|rest| !rest.is_empty());
    let takes_one = !known.rest.is_empty();
    if rest.is_some_and(|rest| !takes_one || rest.contains(char::is_whitespace)) {
        return ChatCommand::TooMuch { word: known.name, rest: known.rest };
    }
    match (known.name, rest) {
        ("/context", _) => ChatCommand::Context,
        ("/clear", _) => ChatCommand::Clear,
        ("/compact", _) => ChatCommand::Compact,
        ("/undo", _) => ChatCommand::Undo,
        ("/agents", None) => ChatCommand::ListAgents,
        ("/agents", Some(name)) => ChatCommand::TalkTo(name),
        ("/tools", _) => ChatCommand::Tools,
        ("/memory", _) => ChatCommand::Memory,
        ("/hooks", _) => ChatCommand::Hooks,
        ("/skill", None) => ChatCommand::ListSkills,
        ("/skill", Some(name)) => match name.strip_prefix('-').filter(|name| !name.is_empty()) {
            Some(name) => ChatCommand::DropSkill(name),
            None => ChatCommand::UseSkill(name),
        },
        ("/model", None) => ChatCommand::ShowModel,
        ("/model", Some(model)) => ChatCommand::UseModel(model),
        ("/mode", None) => ChatCommand::ShowMode,
        ("/mode", Some(mode)) => ChatCommand::UseMode(mode),
        ("/cost", _) => ChatCommand::Cost,
        ("/help", _) => ChatCommand::Help,
        _ => ChatCommand::Exit,
    }
}

/// The word that was meant, when one begins so or is spelled nearly so.
fn nearest(typed: &str) -> Option<&'static str> {
    let names = || WORDS.iter().map(|word| word.name);
    let mut begun = names().filter(|name| name.starts_with(typed));
    if let (Some(only), None) = (begun.next(), begun.next()) {
        return Some(only);
    }
    let distance = |name: &&str| strsim::damerau_levenshtein(&name[1..], &typed[1..]);
    let is_near = |name: &&str| distance(name) * SLIP < name.len().max(typed.len());
    names().filter(is_near).min_by_key(distance)
}

/// What Tab completes: of which word, what has been typed of it, and which kinds of words fit there.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CompletionTarget<'text> {
    Command(&'text str),
    Agent(&'text str),
    Model(&'text str),
    Skill(&'text str),
}

/// What the text before the cursor can be completed to.
pub(super) fn completable(before: &str) -> Option<CompletionTarget<'_>> {
    if before.contains('\n') || !before.starts_with('/') {
        return None;
    }
    match before.split_once(' ') {
        None => Some(CompletionTarget::Command(before)),
        Some((_, rest)) if rest.contains(' ') => None,
        Some(("/agents", rest)) => Some(CompletionTarget::Agent(rest)),
        Some(("/model", rest)) => Some(CompletionTarget::Model(rest)),
        Some(("/skill", rest)) => Some(CompletionTarget::Skill(rest.strip_prefix('-').unwrap_or(rest))),
        Some(_) => None,
    }
}

/// What Tab does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TabCompletion {
    /// This comes behind what has been typed; nothing when there is nothing to add.
    More(String),
    /// Any of these would do, and what they begin with stands there.
    Several(Vec<String>),
}

/// Completes what has been typed to the one that fits, else to what all that fit begin with.
pub(super) fn complete(typed: &str, known: &[String]) -> TabCompletion {
    let mut fitting: Vec<&str> =
        known.iter().map(String::as_str).filter(|word| word.starts_with(typed)).collect();
    fitting.sort_unstable();
    fitting.dedup();
    match fitting.as_slice() {
        [] => TabCompletion::More(String::new()),
        [only] => TabCompletion::More(format!("{} ", &only[typed.len()..])),
        [first, .., last] => {
            // Sorted, so all share what these two share.
            let pairs = first.chars().zip(last.chars()).take_while(|(a, b)| a == b);
            let shared: usize = pairs.map(|(a, _)| a.len_utf8()).sum();
            match &first[typed.len()..shared] {
                "" => TabCompletion::Several(fitting.into_iter().map(str::to_owned).collect()),
                more => TabCompletion::More(more.to_owned()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_commands_and_everything_else_is_said() {
        let unknown = |word, nearest| ChatCommand::Unknown { word, nearest };
        let cases = [
            ("/context", ChatCommand::Context),
            ("context", ChatCommand::Context),
            ("  exit  ", ChatCommand::Exit),
            ("exit the loop early", ChatCommand::Say),
            ("the context", ChatCommand::Say),
            ("/CLEAR ", ChatCommand::Clear),
            ("/agents", ChatCommand::ListAgents),
            ("/agents  fixer ", ChatCommand::TalkTo("fixer")),
            ("/model replay:/a/b.jsonl", ChatCommand::UseModel("replay:/a/b.jsonl")),
            ("/model a b", ChatCommand::TooMuch { word: "/model", rest: "[MODEL]" }),
            ("/hooks", ChatCommand::Hooks),
            ("/skill", ChatCommand::ListSkills),
            ("/skill pdf", ChatCommand::UseSkill("pdf")),
            ("/skill -pdf", ChatCommand::DropSkill("pdf")),
            ("/skill -", ChatCommand::UseSkill("-")),
            ("/mode", ChatCommand::ShowMode),
            ("/mode plan", ChatCommand::UseMode("plan")),
            ("/clear all", ChatCommand::TooMuch { word: "/clear", rest: "" }),
            ("/quit", ChatCommand::Exit),
            ("/contxt", unknown("/contxt", Some("/context"))),
            ("/comp", unknown("/comp", Some("/compact"))),
            ("/c", unknown("/c", None)),
            ("/agent fixer", unknown("/agent", Some("/agents"))),
            ("/exti\nnow", unknown("/exti", Some("/exit"))),
            ("/?", unknown("/?", None)),
            ("/frobnicate", unknown("/frobnicate", None)),
            ("/etc/hosts is odd", ChatCommand::Say),
            ("/ is the root", ChatCommand::Say),
            (" /clear is a word of yours", ChatCommand::Say),
            ("", ChatCommand::Say),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }

    #[test]
    fn tab_completes_commands_and_what_stands_behind_some_of_them() {
        assert_eq!(completable("/co"), Some(CompletionTarget::Command("/co")));
        assert_eq!(completable("/agents fi"), Some(CompletionTarget::Agent("fi")));
        assert_eq!(completable("/model "), Some(CompletionTarget::Model("")));
        assert_eq!(completable("/skill -p"), Some(CompletionTarget::Skill("p")));
        for text in ["", "what", "/tools x", "/agents a b", "a\n/co", " /co"] {
            assert_eq!(completable(text), None, "{text:?}");
        }
        let known: Vec<String> = WORDS.iter().map(|word| word.name.to_owned()).collect();
        assert_eq!(complete("/ag", &known), TabCompletion::More("ents ".into()));
        assert_eq!(complete("/com", &known), TabCompletion::More("pact ".into()));
        assert_eq!(complete("/x", &known), TabCompletion::More(String::new()));
        let several = ["/clear", "/compact", "/context", "/cost"].map(str::to_owned).to_vec();
        assert_eq!(complete("/c", &known), TabCompletion::Several(several));
        let names = ["größe-a", "größe-b"].map(str::to_owned);
        assert_eq!(complete("gr", &names), TabCompletion::More("öße-".into()));
    }
}
