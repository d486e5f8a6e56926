//! Which calls of a tool does an agent's file leave? (spec 02, "Foreign files", rule 5)
//!
//! `Bash(git:*)` in a list of tools means the shell, for these commands only. What is written so becomes rules of the
//! agent's own, which can only make things stricter: where this version does not know what is meant, less is allowed and
//! more is asked, and people are told.

use protocol::{AgentDefinition, AgentToolRule, PolicyRule, PolicyTier, ToolName, Verdict};

const SHELL: &str = "run_shell_command";
const WEB_FETCH: &str = "web_fetch";

/// What the shell reads as more than words, and products' own wildcards: commands that hold it are told apart by nobody here.
const MORE_THAN_WORDS: &[char] =
    &['*', '?', '[', '&', '|', ';', '<', '>', '(', ')', '$', '`', '=', '"', '\'', '\\', '\n'];

/// Calls that a refusal tells of as allowed; nobody reads more.
const MOST_TOLD: usize = 10;

/// A name in a list of tools, and what stands in parentheses behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ToolListEntry<'a> {
    pub name: &'a str,
    pub about: Option<&'a str>,
    /// Every parenthesis that opens is closed, at the end of the entry.
    pub is_whole: bool,
}

impl<'a> ToolListEntry<'a> {
    pub fn of(text: &'a str) -> ToolListEntry<'a> {
        let Some((name, rest)) = text.split_once('(') else {
            return ToolListEntry { name: text.trim(), about: None, is_whole: !text.contains(')') };
        };
        let (inside, is_whole) = match rest.trim_end().strip_suffix(')') {
            Some(inside) => (inside, true),
            None => (rest, false),
        };
        ToolListEntry { name: name.trim(), about: Some(inside.trim()), is_whole }
    }

    /// What is meant, piece by piece: `Bash(git add *, git rm *)` names two beginnings of commands.
    pub fn about_each(&self) -> impl Iterator<Item = &'a str> {
        self.about.into_iter().flat_map(|about| about.split(", ")).map(str::trim)
    }

    /// Every call is meant.
    pub fn is_about_all(&self) -> bool {
        matches!(self.about, None | Some("*" | ":*" | "**"))
    }
}

/// What is said of some calls of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NarrowingPattern {
    /// Commands that begin with these words; `is_open`: the last may go on.
    Beginning { words: String, is_open: bool },
    /// This command and no other.
    Whole(String),
    /// Pages of this host and of those below it.
    Host(String),
    /// Nobody can tell here.
    Unknown,
}

impl NarrowingPattern {
    fn of(tool: &str, about: &str) -> NarrowingPattern {
        match tool {
            SHELL => NarrowingPattern::of_command(about),
            WEB_FETCH => match about.strip_prefix("domain:").map(str::trim) {
                Some(host) if is_host(host) => NarrowingPattern::Host(host.to_ascii_lowercase()),
                _ => NarrowingPattern::Unknown,
            },
            _ => NarrowingPattern::Unknown,
        }
    }

    fn of_command(about: &str) -> NarrowingPattern {
        let open = about.strip_suffix(":*").or_else(|| about.strip_suffix('*'));
        let words = open.unwrap_or(about).trim();
        let is_open = !about.ends_with(":*") && !about.ends_with(" *");
        match (words.is_empty() || words.contains(MORE_THAN_WORDS), open) {
            (true, _) => NarrowingPattern::Unknown,
            (false, Some(_)) => NarrowingPattern::Beginning { words: words.to_owned(), is_open },
            (false, None) => NarrowingPattern::Whole(words.to_owned()),
        }
    }
}

/// True if rules can tell which calls are meant.
pub(super) fn is_understood(tool: &str, about: &str) -> bool {
    NarrowingPattern::of(tool, about) != NarrowingPattern::Unknown
}

/// The rules of an agent's own file, of which the later stand above the earlier.
pub fn narrowing_rules(definition: &AgentDefinition) -> Vec<PolicyRule> {
    let rules = definition.narrowings.iter().zip(0..);
    rules.flat_map(|(narrowing, at)| rules_of(definition, narrowing, at)).collect()
}

fn rules_of(definition: &AgentDefinition, narrowing: &AgentToolRule, at: i64) -> Vec<PolicyRule> {
    let AgentToolRule { tool, about, decision } = narrowing;
    let restricts = *decision != Verdict::Allow;
    let meaning = about.as_deref().map(|about| NarrowingPattern::of(tool.as_str(), about));
    // Of each rule: the beginnings of commands, and an expression over the arguments.
    let conditions: Vec<(Option<String>, Option<String>)> = match meaning {
        None => vec![(None, None)],
        // What nobody understands allows nothing, and forbids all that it may have meant.
        Some(NarrowingPattern::Unknown) if restricts => vec![(None, None)],
        Some(NarrowingPattern::Unknown) => Vec::new(),
        // `rm*` means `rmdir`, too; who is allowed `git status*` need not have `git statusx`.
        Some(NarrowingPattern::Beginning { words, is_open: true }) if restricts => {
            vec![(Some(format!("{words}*")), None)]
        }
        Some(NarrowingPattern::Beginning { words, .. }) => vec![(Some(words), None)],
        Some(NarrowingPattern::Whole(words)) if restricts => vec![(Some(words), None)],
        Some(NarrowingPattern::Whole(words)) => {
            let text = serde_json::Value::from(words.as_str()).to_string();
            vec![(Some(words), Some(format!(r#""command":{}[,}}]"#, escaped(&text))))]
        }
        Some(NarrowingPattern::Host(host)) => vec![(None, Some(urls_of(&host, *decision)))],
    };
    let rule = |(prefix, args_pattern): (Option<String>, Option<String>)| PolicyRule {
        id: format!("agent:{}:{}", definition.name, at + 1),
        tier: PolicyTier::Definition,
        tool: vec![tool.to_string()],
        agent: None,
        command_prefix: prefix.into_iter().collect(),
        args_pattern,
        kind: None,
        risk: None,
        modes: Vec::new(),
        workspace: None,
        session: None,
        accesses: Vec::new(),
        recursive: false,
        confinement: None,
        decision: *decision,
        priority: at,
        message: Some(message(definition, tool, *decision)),
        created_by: None,
        created_at: None,
        from_confirmation: None,
        mistaken: false,
    };
    conditions.into_iter().map(rule).collect()
}

/// Of a refusal it says what is left, so that the model need not guess.
fn message(definition: &AgentDefinition, tool: &ToolName, decision: Verdict) -> String {
    let name = &definition.name;
    let of_tool = |it: &&AgentToolRule| it.tool == *tool && it.decision == Verdict::Allow;
    if decision != Verdict::Deny {
        return match decision {
            Verdict::Ask => format!("the file of the agent {name} wants a person's consent"),
            _ => format!("the file of the agent {name} allows it"),
        };
    }
    let abouts = definition.narrowings.iter().filter(of_tool).filter_map(|it| it.about.as_ref());
    let mut left: Vec<String> = abouts.take(MOST_TOLD + 1).map(|about| format!("`{about}`")).collect();
    if left.len() > MOST_TOLD {
        left[MOST_TOLD] = "…".to_owned();
    }
    match left.is_empty() {
        true => format!("the file of the agent {name} forbids it"),
        false => format!("the file of the agent {name} allows {tool} for {} only", left.join(", ")),
    }
}

/// An expression for calls of which every URL is of this host, or, of what restricts, one is.
fn urls_of(host: &str, decision: Verdict) -> String {
    let url = format!(r#""https?://([^"/?#@\\]*\.)?{}(:[0-9]+)?([/?#][^"]*)?""#, escaped(host));
    match decision {
        Verdict::Allow => format!(r#""urls":\[{url}(,{url})*\]"#),
        Verdict::Ask | Verdict::Deny => url,
    }
}

fn is_host(host: &str) -> bool {
    !host.is_empty() && host.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '.' | '-'))
}

/// With everything that means something in an expression standing for itself.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_punctuation() && !matches!(character, '"' | '\'' | '/' | ',' | ':' | '-' | '_')
        {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_name_and_what_stands_in_parentheses() {
        for (text, name, about, is_whole) in [
            ("Read", "Read", None, true),
            ("Bash(git:*)", "Bash", Some("git:*"), true),
            (" Bash ( git log -- (x) ) ", "Bash", Some("git log -- (x)"), true),
            ("Bash()", "Bash", Some(""), true),
            ("Bash(git", "Bash", Some("git"), false),
            ("Bash)", "Bash)", None, false),
            ("(x)", "", Some("x"), true),
        ] {
            assert_eq!(ToolListEntry::of(text), ToolListEntry { name, about, is_whole }, "{text}");
        }
    }

    fn beginning(words: &str, is_open: bool) -> NarrowingPattern {
        NarrowingPattern::Beginning { words: words.to_owned(), is_open }
    }

    #[test]
    fn commands_are_meant_by_their_beginning_or_whole() {
        for (about, meaning) in [
            ("git:*", beginning("git", false)),
            ("git status *", beginning("git status", false)),
            ("git status*", beginning("git status", true)),
            ("npm test", NarrowingPattern::Whole("npm test".into())),
            ("*", NarrowingPattern::Unknown),
            ("", NarrowingPattern::Unknown),
            ("git * main", NarrowingPattern::Unknown),
            ("*.sh *", NarrowingPattern::Unknown),
            ("git pus?", NarrowingPattern::Unknown),
            ("git status && rm *", NarrowingPattern::Unknown),
            ("FOO=1 rm:*", NarrowingPattern::Unknown),
            ("echo $HOME", NarrowingPattern::Unknown),
        ] {
            assert_eq!(NarrowingPattern::of("run_shell_command", about), meaning, "{about}");
        }
        assert_eq!(NarrowingPattern::of("read_file", "src/**"), NarrowingPattern::Unknown);
        assert_eq!(
            NarrowingPattern::of("web_fetch", "domain:Example.com"),
            NarrowingPattern::Host("example.com".into())
        );
        assert_eq!(NarrowingPattern::of("web_fetch", "domain:a|b"), NarrowingPattern::Unknown);
    }
}
