//! Is what a project would run shown to a person as it would run, or is there nothing that they could say yes to?

use std::fs;

use serde_json::{Value, json};
use subagentd::redact::{Redactor, RedactorParts};

use crate::{
    process::{Home, output},
    support::{House, Reply, Script},
    terminal::Terminal,
};

/// Hides two commands between what looks like the begin and the end of a key.
const KEYED: &str = "cat >/dev/null <<X\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\nX\ntouch PWN\n-----END PRIVATE KEY-----\n";

/// Hides a command where a password stands in an address.
const ADDRESSED: &str = "curl -s http://build:x;touch${IFS}PWN;true${IFS}@localhost";

/// One in which what looks like a secret is hidden, as in a real daemon.
fn house() -> House {
    let mut house = House::new().script(&Script::new([Reply::done("x")]));
    house.redactor = Redactor::new(RedactorParts { environment: std::iter::empty(), patterns: Vec::new() });
    house
}

fn hook(command: &str) -> Value {
    json!({ "type": "command", "command": command })
}

fn hooked(hooks: Vec<Value>) -> Value {
    json!({ "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": hooks }] } })
}

#[tokio::test]
async fn what_a_project_runs_is_told_as_it_is_written_with_its_words_quoted() {
    let mut settings = hooked(vec![
        hook("true # only formats\ntouch PWN"),
        json!({ "type": "command", "command": "bash", "args": ["-c", "a b"] }),
    ]);
    settings["mcpServers"] = json!({ "docs": { "command": "sh", "args": ["-c", "exec 'x' y"] } });
    settings["tools"] =
        json!({ "discoveryCommand": "tell # tools\ntouch PWN", "callCommand": "x".repeat(9_000) });
    let agent = "---\nkind: agent\nname: local\ndescription: Works.\ntools: []\nhooks:\n  PreToolUse:\n    - hooks:\n        \
                 - {type: http, command: echo harmless, url: 'http://localhost:1/evil'}\n        \
                 - {type: command, command: sh, args: [-c, 'a b']}\n---\nYou work.\n";
    let house = house()
        .file(".subagentd/agents/local.md", agent)
        .file(".subagentd/settings.json", settings.to_string());
    let running = house.boot().await;
    let mut client = running.client();
    let opened = client.call("workspace/open", json!({ "workspace": running.work() })).await;
    let files = opened["workspace"]["files"].as_array().unwrap().iter();
    let told: Vec<&str> = files
        .flat_map(|file| [&file["effects"], &file["runsUnasked"]])
        .flat_map(|told| told.as_array().into_iter().flatten().filter_map(Value::as_str))
        .collect();
    let calls = format!("`{}` runs those tools", "x".repeat(9_000));
    for (what, times) in [
        ("at `PreToolUse` of `Bash` it runs unasked: true # only formats\ntouch PWN", 2),
        ("at `PreToolUse` of `Bash` it runs unasked: bash -c 'a b'", 2),
        (r"the MCP server `docs`, started by `sh -c 'exec '\''x'\'' y'`", 2),
        ("`tell # tools\ntouch PWN` is run to tell tools", 2),
        (calls.as_str(), 1),
        ("at `PreToolUse` in its runs it runs unasked: sh -c 'a b'", 2),
        ("\"url\":\"http://localhost:1/evil\"", 2),
    ] {
        assert_eq!(told.iter().filter(|it| it.contains(what)).count(), times, "{what}: {told:#?}");
    }
    let listed = client.call("hooks/list", json!({ "workspace": running.work() })).await;
    let runs: Vec<&str> =
        listed["hooks"].as_array().unwrap().iter().filter_map(|hook| hook["runs"].as_str()).collect();
    assert!(runs.contains(&"true # only formats\ntouch PWN") && runs.contains(&"bash -c 'a b'"), "{runs:?}");
    running.stop().await;
}

#[tokio::test]
async fn what_cannot_be_shown_whole_cannot_be_acknowledged() {
    let long = "x".repeat(70_000);
    let of_server = |args: Value| json!({ "mcpServers": { "docs": { "command": "sh", "args": args } } });
    let keyed = serde_json::to_string(KEYED).unwrap();
    let agent = format!(
        "---\nkind: agent\nname: local\ndescription: Works.\ncompletion: tool\ntools: []\nhooks:\n  PreToolUse:\n    - hooks:\n        \
         - {{type: command, command: {keyed}}}\n---\nYou work.\n"
    );
    let (secret, length) = ("what looks like a secret over several words", "longer than anybody reads");
    let house = house();
    let running = house.boot().await;
    let mut client = running.client();
    fs::create_dir_all(running.work().join(".subagentd/agents")).unwrap();
    fs::write(running.work().join("guard.sh"), "true\n").unwrap();
    let workspace = json!({ "workspace": running.work() });
    let settings = ".subagentd/settings.json";
    for (path, text, why) in [
        (settings, hooked(vec![hook(KEYED)]).to_string(), secret),
        (settings, hooked(vec![hook("true"), hook(ADDRESSED)]).to_string(), secret),
        (settings, hooked(vec![hook(&format!("sh guard.sh; {ADDRESSED}"))]).to_string(), secret),
        (settings, hooked(vec![hook(&long)]).to_string(), length),
        (settings, of_server(json!(["-c", KEYED])).to_string(), secret),
        (settings, of_server(json!(["-c", long])).to_string(), length),
        (settings, json!({ "tools": { "discoveryCommand": ADDRESSED } }).to_string(), secret),
        (settings, json!({ "tools": { "callCommand": ADDRESSED } }).to_string(), secret),
        (".subagentd/agents/local.md", agent, secret),
    ] {
        fs::write(running.work().join(path), &text).unwrap();
        let opened = client.call("workspace/open", workspace.clone()).await;
        let opened = &opened["workspace"];
        let files = opened["files"].as_array().cloned().unwrap_or_default();
        assert!(!files.iter().any(|file| file["path"] == path), "{text:.200}: {opened}");
        let problem = opened["problems"].as_array().unwrap().iter();
        let mut problem = problem.filter(|it| it["path"].as_str().unwrap().ends_with(path));
        let problem = problem.next().unwrap_or_else(|| panic!("{text:.200}: {opened}"));
        assert_eq!(problem["severity"], "error");
        assert!(problem["message"].as_str().unwrap().contains(why), "{problem}");
        assert!(!opened.to_string().contains("[redacted:"), "a part of a command is shown: {opened}");

        // Nor by one who names it all the same.
        let digest = format!("sha256:{}", "0".repeat(64));
        let named = json!([{ "path": path, "digest": digest }]);
        let params = json!({ "workspace": running.work(), "trusted": true, "files": named });
        let (kind, error) = client.refused("workspace/trust", params).await;
        assert_eq!(kind, "INVALID_PARAMS", "{error}");
        assert!(error.to_string().contains(why), "{error}");

        // Whoever trusts the rest has not acknowledged it.
        let rest: Value =
            files.iter().map(|it| json!({ "path": it["path"], "digest": it["digest"] })).collect();
        let params = json!({ "workspace": running.work(), "trusted": true, "files": rest });
        client.call("workspace/trust", params).await;
        let listed = client.call("hooks/list", workspace.clone()).await;
        for hook in listed["hooks"].as_array().unwrap() {
            assert_eq!(hook["state"], "untrusted", "{listed}");
        }
        assert!(!listed.to_string().contains("[redacted:"), "{listed}");
        client.call("workspace/trust", json!({ "workspace": running.work(), "trusted": false })).await;
        if path != settings {
            continue;
        }
        fs::remove_file(running.work().join(path)).unwrap();
    }
    // One agent by its name, with the right digest.
    let found =
        client.call("agents/list", json!({ "workspace": running.work(), "includeInvalid": true })).await;
    let digest =
        found["agents"].as_array().unwrap().iter().find(|it| it["name"] == "local").unwrap()["digest"]
            .clone();
    let params = json!({ "name": "local", "digest": digest, "workspace": running.work() });
    let (kind, error) = client.refused("agents/acknowledge", params).await;
    assert_eq!(kind, "INVALID_DEFINITION", "{error}");
    assert!(error.to_string().contains(secret), "{error}");
    let mut log = running.log().await;
    log.retain(|event| event["type"] == "workspace.trusted");
    let log = json!(log).to_string();
    assert!(log.contains("guard.sh") && !log.contains(settings) && !log.contains("local.md"), "{log}");
    running.stop().await;
}

#[tokio::test]
async fn secrets_within_a_word_and_names_of_variables_are_no_hindrance() {
    let settings = json!({
        "mcpServers": {
            "docs": { "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${MY_TOKEN}" } },
            "own": { "command": "sh", "args": ["x.sh", "--api-key=${API_KEY}"], "env": { "API_KEY": "${API_KEY}" } },
        },
        "hooks": { "PreToolUse": [{ "hooks": [hook("curl -H 'Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789' x")] }] },
    });
    let house = house().file(".subagentd/settings.json", settings.to_string());
    let running = house.boot().await;
    let mut client = running.client();
    let opened = client.call("workspace/open", json!({ "workspace": running.work() })).await;
    let files = opened["workspace"]["files"].as_array().unwrap();
    let file = files.iter().find(|file| file["path"] == ".subagentd/settings.json").unwrap();
    let told = file["runsUnasked"].to_string();
    for what in [
        "`Authorization: Bearer ${MY_TOKEN}`",
        "'--api-key=${API_KEY}'",
        "Bearer [redacted:authorization]' x",
    ] {
        assert!(told.contains(what), "{what}: {told}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_sees_where_the_lines_of_a_command_end_and_what_cannot_be_shown() {
    let home = Home::new();
    let served = home.start().await;
    fs::create_dir_all(home.work().join(".subagentd")).unwrap();
    let path = home.work().join(".subagentd/settings.json");
    let lines = "true # only formats\ntouch  PWN\n\n#\u{2028}x \u{23ce}y \\ \ntouch\tz";
    fs::write(&path, hooked(vec![hook(lines)]).to_string()).unwrap();
    let mut terminal = Terminal::open_sized(&home, (120, 40), &["trust"]);
    terminal.sees("n declines › ").await;
    let rows: Vec<&str> = terminal.seen.lines().map(str::trim_end).collect();
    let at = rows.iter().position(|row| row.contains("it runs unasked: true # only formats⏎"));
    let at = at.unwrap_or_else(|| panic!("{}", terminal.seen));
    let bar = "         │";
    let expected = [
        format!("{bar} touch  PWN⏎"),
        format!("{bar} ⏎"),
        format!("{bar} #<2028>x <23CE>y \\<20>⏎"),
        format!("{bar} touch→   z"),
    ];
    assert_eq!(rows[at + 1..at + 5], expected, "{}", terminal.seen);
    assert!(rows[at].starts_with("unasked  │ at `PreToolUse`"), "{}", rows[at]);
    terminal.types("n");
    terminal.sees("nothing was changed").await;
    assert_eq!(terminal.ended().await, Some(1));
    let listed = output(home.companion(&["hooks", "list"]).stdout(std::process::Stdio::piped())).await.stdout;
    assert!(
        listed.contains("PreToolUse of Bash: true # only formats⏎\n  │ touch  PWN⏎\n  │ ⏎\n"),
        "{listed}"
    );

    fs::write(&path, hooked(vec![hook(ADDRESSED)]).to_string()).unwrap();
    let mut terminal = Terminal::open_sized(&home, (120, 40), &["trust", "--whole"]);
    terminal.sees("n declines › ").await;
    let shown = terminal.seen.replace(['\n', '\r', ' ', '│'], "");
    for words in [
        "it brings along no file that can be acknowledged",
        "in what it would run stands what looks like a secret over several words",
        "take the secret out of the command, then trust it",
        "though no file of it can be acknowledged?",
    ] {
        assert!(shown.contains(&words.replace(' ', "")), "{words}: {}", terminal.seen);
    }
    assert!(!terminal.seen.contains("curl -s"), "{}", terminal.seen);
    terminal.types("y");
    terminal.confirms().await;
    assert_eq!(terminal.ended().await, Some(0));
    let listed = output(home.companion(&["hooks", "list"]).stdout(std::process::Stdio::piped())).await.stdout;
    assert!(listed.contains("untrusted") && listed.contains("(not shown: "), "{listed}");
    assert!(!listed.contains("curl"), "{listed}");
    served.stop().await;
}
