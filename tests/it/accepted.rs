//! What spec 00 promises under "Accepted when" of agents' files: the real companion on a real terminal, a real daemon, and a
//! model's server that shows what it was asked.

use std::fs;

use serde_json::json;

use crate::{
    process::{Home, Served},
    provider_server::{Answer, ProviderServer, Wire, call},
    terminal::Terminal,
};

const WIRE: Wire = Wire::OpenAi;

/// A daemon whose usual model is this server's.
struct Place {
    home: Home,
    served: Served,
    server: ProviderServer,
}

impl Place {
    async fn new(answers: Vec<Answer>) -> Place {
        let home = Home::new();
        let server = ProviderServer::openai(false, answers).await;
        let base = format!("{}{}", server.base_url(), WIRE.base_path());
        let settings = json!({
            "providers": { "local": { "kind": "openai", "baseUrl": base } },
            "models": { "default": "local/test-model", "contextWindow": { "local/test-model": 100_000 } },
        });
        fs::write(home.path("config/subagentd/settings.json"), settings.to_string()).unwrap();
        let served = home.start().await;
        Place { home, served, server }
    }

    fn agent(&self, name: &str, text: &str) {
        fs::write(self.home.path(&format!("config/subagentd/agents/{name}.md")), text).unwrap();
    }

    /// The companion on a terminal, to its end: its exit code, and all that the terminal showed.
    async fn shows(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut terminal = Terminal::open(&self.home, 160, arguments);
        let code = terminal.ended().await;
        terminal.rest().await;
        (code, terminal.seen.replace("\r\n", "\n"))
    }

    fn requests(&self) -> Vec<String> {
        self.server.requests().into_iter().map(|asked| asked.body).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_from_a_template_is_listed_and_its_file_is_whole() {
    let place = Place::new(vec![]).await;
    let (code, shown) = place.shows(&["create", "bug-hunter", "--template", "debugging"]).await;
    assert_eq!(code, Some(0), "{shown}");
    let path = place.home.work().join(".subagentd/agents/bug-hunter.md");
    for part in [path.to_str().unwrap(), "subagent edit bug-hunter", "subagent run bug-hunter"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let (code, shown) = place.shows(&["list"]).await;
    assert_eq!(code, Some(0), "{shown}");
    let line = shown.lines().find(|line| line.contains("bug-hunter")).unwrap_or_else(|| panic!("{shown}"));
    assert!(line.contains("ok") && line.contains("inherit"), "{line}");

    let text = fs::read_to_string(path).unwrap();
    let (front_matter, body) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    for field in ["kind: agent", "name: bug-hunter", "title: ", "description: ", "model: ", "tools:"] {
        assert!(front_matter.lines().any(|line| line.starts_with(field)), "{field}: {front_matter}");
    }
    assert!(30 <= body.lines().count(), "{body}");
    let (code, shown) = place.shows(&["validate", "bug-hunter"]).await;
    assert_eq!(code, Some(0), "{shown}");
    place.served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_wizard_makes_what_was_answered() {
    let place = Place::new(vec![]).await;
    let mut terminal = Terminal::open(&place.home, 100, &["create"]);
    terminal.sees("name, e.g.").await;
    terminal.enters("Not A Name");
    terminal.sees("small letters and digits").await;
    terminal.sees("name, e.g.").await;
    terminal.enters("log-reader");
    terminal.sees("title [").await;
    terminal.enters("");
    terminal.sees("description").await;
    terminal.enters("Reads logs: all of them.");
    for question in ["model: ", "scope: ", "tools: "] {
        terminal.sees(question).await;
        terminal.types("\r");
    }
    // What was pressed before is no answer to whether all of it is meant.
    terminal.sees("Write log-reader, with the tools").await;
    terminal.types("\r");
    terminal.sees("n declines › ").await;
    terminal.types("y");
    terminal.sees("does not › y").await;
    terminal.confirms().await;
    assert_eq!(terminal.ended().await, Some(0), "{}", terminal.seen);
    let text = fs::read_to_string(place.home.work().join(".subagentd/agents/log-reader.md")).unwrap();
    for line in
        ["name: log-reader", "title: Log Reader", "description: 'Reads logs: all of them.'", "read_file"]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    place.served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_extended_wizard_asks_what_the_agent_is_told_and_what_guards_its_calls() {
    let place = Place::new(vec![]).await;
    let mut terminal = Terminal::open(&place.home, 120, &["create", "--extended"]);
    for (question, answer) in [("name, e.g.", "log-reader"), ("title [", ""), ("description", "Reads logs.")]
    {
        terminal.sees(question).await;
        terminal.enters(answer);
    }
    for question in ["model: ", "scope: ", "tools: "] {
        terminal.sees(question).await;
        terminal.types("\r");
    }
    // Down to `no`: it is told nothing of memory files.
    terminal.sees("memory: ").await;
    terminal.sees("its instructions are all that it goes by").await;
    terminal.types("\x1b[B\r");
    terminal.sees("guard, a command [none]").await;
    terminal.enters("./gone.sh --strict");
    terminal.sees("gone.sh is not there or cannot be run").await;
    terminal.sees("guard of which tools").await;
    terminal.enters("Bsh");
    terminal.sees("there is no tool `Bsh`").await;
    terminal.sees("guard of which tools").await;
    terminal.enters("Bash, write_file");
    terminal.sees("tracing: ").await;
    terminal.types("\r");
    for question in ["trigger 1, keywords", "trigger 1, or a regex"] {
        terminal.sees(question).await;
        terminal.enters("");
    }
    terminal.sees("Write log-reader, with the tools").await;
    terminal.sees("n declines › ").await;
    terminal.types("y");
    terminal.sees("does not › y").await;
    terminal.confirms().await;
    assert_eq!(terminal.ended().await, Some(0), "{}", terminal.seen);
    let text = fs::read_to_string(place.home.work().join(".subagentd/agents/log-reader.md")).unwrap();
    for part in [
        "memory:",
        "include: false",
        "hooks:",
        "PreToolUse:",
        "matcher: run_shell_command|write_file",
        "./gone.sh --strict",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (code, shown) = place.shows(&["validate", "log-reader"]).await;
    assert_eq!(code, Some(0), "{shown}");
    place.served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_may_only_read_is_refused_to_write_and_goes_on() {
    let answers = vec![
        WIRE.calls([call("call_1", "read_file", &json!({ "path": "notes.txt" }))]),
        WIRE.calls([call("call_2", "grep", &json!({ "pattern": "milk" }))]),
        WIRE.calls([call("call_3", "write_file", &json!({ "path": "other.txt", "content": "eggs" }))]),
        WIRE.calls([call("call_4", "complete_task", &json!({ "result": "There is milk." }))]),
    ];
    let place = Place::new(answers).await;
    fs::write(place.home.work().join("notes.txt"), "bread\nmilk\n").unwrap();
    let text = "---\nkind: agent\nname: looker\ndescription: Looks.\ncompletion: tool\ntools: { allow: [read_file, grep] }\n---\nYou look.\n";
    place.agent("looker", text);
    let (code, shown) = place.shows(&["run", "looker", "-p", "What is there to buy?"]).await;
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("There is milk."), "{shown}");
    let requests = place.requests();
    assert_eq!(requests.len(), 4);
    // What the calls said, and not what was asked of them.
    for (request, parts) in [(&requests[1], ["bread", "milk"]), (&requests[2], ["notes.txt", "milk"])] {
        let request: serde_json::Value = serde_json::from_str(request).unwrap();
        let last = request["messages"].as_array().unwrap().last().unwrap();
        assert_eq!(last["role"], "tool", "{last}");
        for part in parts {
            assert!(last["content"].to_string().contains(part), "{part}: {last}");
        }
    }
    let refused = &requests[3];
    for part in ["TOOL_NOT_ALLOWED", "write_file", "read_file", "grep"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    assert!(!requests[0].contains("\"write_file\""), "it is not declared");
    assert!(!place.home.work().join("other.txt").exists());
    place.served.stop().await;
}

/// The proof of isolation is what the model's server was sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_agents_in_one_session_know_nothing_of_each_other_and_remember_their_own() {
    let answers = ["Good luck with it.", "Where does it crash?", "On feature X.", "The bug in the login."];
    let place = Place::new(answers.iter().map(|said| WIRE.text(said)).collect()).await;
    let text = "---\nkind: agent\nname: debugger\ndescription: Debugs.\ncompletion: message\ntools: [read_file]\n---\nYou debug.\n";
    place.agent("debugger", text);
    for arguments in [
        &["I'm working on feature X"][..],
        &["run", "debugger", "-p", "There is a crash at the login"],
        &["What am I working on?"],
        &["run", "debugger", "-p", "What was it about?"],
    ] {
        let (code, shown) = place.shows(arguments).await;
        assert_eq!(code, Some(0), "{shown}");
    }
    let mut wire = place.home.connect().await;
    let sessions = wire.call("session/list", json!({})).await.unwrap();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1, "all of it in one session");
    let requests = place.requests();
    let knows = |request: &str| {
        let of_main = ["working on feature X", "Good luck with it."].map(|said| request.contains(said));
        let of_agent = ["a crash at the login", "Where does it crash?"].map(|said| request.contains(said));
        (of_main, of_agent)
    };
    let known: Vec<_> = requests.iter().map(|request| knows(request)).collect();
    let expected = [
        ([true, false], [false, false]),
        ([false, false], [true, false]),
        ([true, true], [false, false]),
        ([false, false], [true, true]),
    ];
    assert_eq!(known, expected, "{requests:?}");
    place.served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_agent_is_validated_a_line_each_and_a_bad_one_fails_it() {
    let place = Place::new(vec![]).await;
    place.agent("odd", "---\nkind: agent\nname: odd\ndescription: d\ntools: [raed_file]\n---\nYou.\n");
    place.agent("bad", "---\nkind: agent\nname: bad\ndescription: d\nrun: { maxTurns: many }\n---\nYou.\n");
    let (code, shown) = place.shows(&["validate", "--all"]).await;
    assert_eq!(code, Some(1), "{shown}");
    let line = |name: &str| {
        let line =
            shown.lines().find(|line| line.split_whitespace().any(|word| word.trim_end_matches(':') == name));
        line.unwrap_or_else(|| panic!("{name}: {shown}")).to_owned()
    };
    assert!(line("reader").contains("valid"), "{shown}");
    assert!(line("bad").contains("run.maxTurns"), "{shown}");
    let (code, shown) = place.shows(&["validate", "odd"]).await;
    assert_eq!(code, Some(1), "there is no such tool: {shown}");
    assert!(shown.contains("raed_file") && shown.contains("did you mean `read_file`?"), "{shown}");
    let (code, shown) = place.shows(&["validate", "bad"]).await;
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("pass") && shown.contains("fail"), "{shown}");
    place.served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_goes_to_the_agent_whose_trigger_fits_unless_one_is_named() {
    let place = Place::new(vec![WIRE.text("Found it."), WIRE.text("Hello.")]).await;
    let text = "---\nkind: agent\nname: debug-analyzer\ndescription: d\ncompletion: message\ntools: [read_file]\ntriggers:\n  - { keywords: [bug] }\n---\nYou debug.\n";
    place.agent("debug-analyzer", text);
    let prompt = "There's a bug in the login flow";
    let (code, shown) = place.shows(&[prompt]).await;
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("Auto-routing to: debug-analyzer (matched: bug)"), "{shown}");
    let (code, shown) = place.shows(&[prompt, "--agent", "generalist"]).await;
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains("Auto-routing"), "{shown}");
    let requests = place.requests();
    let is_routed: Vec<bool> = requests.iter().map(|request| request.contains("You debug.")).collect();
    assert_eq!(is_routed, [true, false], "{requests:?}");
    let (_, shown) = place.shows(&["show", "debug-analyzer"]).await;
    assert!(shown.contains("1 hit, 1 of them given to another agent"), "{shown}");
    place.served.stop().await;
}
