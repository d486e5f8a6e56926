//! Agents made from templates do their work with the real tools, as a recorded model plays them (spec 02, "Templates").

use std::fs;

use serde_json::{Value, json};
use subagentd::agents::{templates, with_fields};

use crate::{
    recording::reply,
    support::{Client, House, Running},
};

/// People let these agents do what they are made for; what the others may not do is not theirs to allow.
const ALLOW: &str =
    "[[rule]]\ntool = [\"write_file\", \"edit_file\", \"run_shell_command\"]\ndecision = \"allow\"\n";

/// One call, as models write them.
fn call(name: &str, arguments: Value) -> Value {
    json!({ "functionCall": { "name": name, "args": arguments } })
}

fn done(result: &str) -> Vec<Value> {
    vec![call("complete_task", json!({ "result": result }))]
}

/// An agent `mine` made from the template, as whoever makes one does it.
fn made_from(template: &str) -> String {
    let templates = templates(&[]);
    let new = json!({ "name": "mine", "title": null });
    with_fields(&templates.find(template).unwrap().text, new.as_object().unwrap()).unwrap()
}

/// What a run came to.
struct Played {
    record: Value,
    /// The ends of its calls but `complete_task`, in order.
    ends: Vec<Value>,
    /// What the model was asked first.
    asked: String,
}

impl Played {
    fn text(&self, at: usize) -> &str {
        self.ends[at]["result"]["llmContent"][0]["text"].as_str().unwrap()
    }

    fn result(&self) -> &str {
        self.record["result"].as_str().unwrap()
    }
}

/// Runs an agent made from the template in this house, with a model that says this, one list of parts a turn.
async fn play(house: House, template: &str, inputs: Value, turns: Vec<Vec<Value>>) -> Played {
    let house = house.agent("mine", &made_from(template)).rules("allow", ALLOW);
    let recording = house.dir.path().join("recording.jsonl");
    let lines: String = turns.into_iter().map(|parts| format!("{}\n", reply(parts, 1))).collect();
    fs::write(&recording, lines).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    assert_passes_every_check(&mut client).await;
    let played = follow(
        &running,
        &mut client,
        json!({
            "model": format!("replay:{}", recording.display()), "inputs": inputs, "prompt": null,
        }),
    )
    .await;
    running.stop().await;
    played
}

async fn assert_passes_every_check(client: &mut Client) {
    let validated = client.call("agents/validate", json!({ "name": "mine" })).await;
    for check in validated["agents"][0]["checks"].as_array().unwrap() {
        assert_eq!(check["outcome"], "pass", "{check}");
    }
}

async fn follow(running: &Running, client: &mut Client, more: Value) -> Played {
    let (run, session) = client.start(running, "mine", more).await;
    let record = client.ended(&run).await;
    assert_eq!(record["reason"], "GOAL", "{record}");
    let log = running.log().await;
    let is_end =
        |event: &&Value| event["activity"] == "TOOL_CALL_END" && event["data"]["name"] != "complete_task";
    let mut ends: Vec<Value> = log.iter().filter(is_end).map(|event| event["data"].clone()).collect();
    // Calls of one turn end in any order; the log names them first in the order asked.
    ends.sort_by_key(|end| log.iter().position(|event| event["data"]["callId"] == end["callId"]));
    let history = client.call("session/history", json!({ "sessionId": session })).await;
    Played { record, ends, asked: history.to_string() }
}

const WRONG: &str = "last() {\n  echo \"$1\" | cut -c$((${#1} + 1))\n}\n";
const TEST: &str =
    ". ./last.sh\n[ \"$(last abc)\" = c ] || { echo \"last abc is '$(last abc)'\"; exit 1; }\n";

#[tokio::test]
async fn debugging_finds_the_cause_and_changes_nothing() {
    let house = House::new().file("last.sh", WRONG).file("test.sh", TEST);
    let dir = house.dir.clone();
    let report = "## Cause\n`last` cuts one character behind the end (`last.sh:2`).\n\n## How sure\ncertain";
    let played = play(
        house,
        "debugging",
        json!({ "problem": "The test says that last abc is ''.", "command": "sh test.sh" }),
        vec![
            vec![call("run_shell_command", json!({ "command": "sh test.sh" }))],
            vec![
                json!({ "text": "It fails. Who computes the place?" }),
                call("read_file", json!({ "path": "last.sh" })),
                call("grep", json!({ "pattern": r"\$\{#", "path": "." })),
            ],
            // What it would be tempted to do.
            vec![call("edit_file", json!({ "path": "last.sh", "oldString": " + 1", "newString": "" }))],
            vec![call("run_shell_command", json!({ "command": ". ./last.sh; last abcd | od -c | head -1" }))],
            done(report),
        ],
    )
    .await;
    assert_eq!(played.text(0), "Exit code: 1\nlast abc is ''\n");
    assert!(played.text(1).contains("cut -c"), "{}", played.text(1));
    assert!(played.text(2).contains("last.sh"), "{}", played.text(2));
    assert_eq!(played.ends[3]["result"]["error"]["type"], "TOOL_NOT_ALLOWED", "{}", played.ends[3]);
    assert_eq!(played.ends[4]["to"], "success", "{}", played.ends[4]);
    assert_eq!(fs::read_to_string(dir.path().join("work/last.sh")).unwrap(), WRONG);
    assert_eq!(played.result(), report);
    assert!(played.asked.contains("The command that shows it: sh test.sh"), "{}", played.asked);
}

#[tokio::test]
async fn a_review_reads_around_what_it_judges_and_cannot_write() {
    let house = House::new()
        .file("src/pay.py", "def pay(account, amount):\n    account.balance -= amount\n")
        .file("src/shop.py", "from pay import pay\n\ndef buy(account, price):\n    pay(account, price)\n")
        .file("README.md", "No account may go below zero.\n");
    let review = "needs changes: an account can go below zero.\n\n## Findings\n\n### [blocker] No check (src/pay.py:2)";
    let played = play(
        house,
        "code-review",
        json!({ "target": "src/pay.py, which moves money" }),
        vec![
            vec![
                call("read_file", json!({ "path": "src/pay.py" })),
                call("grep", json!({ "pattern": "pay\\(" })),
                call("glob", json!({ "pattern": "**/*.md" })),
            ],
            vec![call("read_many_files", json!({ "include": ["src/shop.py", "README.md"] }))],
            vec![
                call("run_shell_command", json!({ "command": "python3 src/shop.py" })),
                call("write_file", json!({ "path": "src/pay.py", "content": "" })),
            ],
            done(review),
        ],
    )
    .await;
    assert!(played.text(0).contains("account.balance -= amount"), "{}", played.text(0));
    assert!(played.text(1).contains("src/shop.py"), "{}", played.text(1));
    assert!(played.text(2).contains("README.md"), "{}", played.text(2));
    assert!(played.text(3).contains("No account may go below zero"), "{}", played.text(3));
    for refused in &played.ends[4..] {
        assert_eq!(refused["result"]["error"]["type"], "TOOL_NOT_ALLOWED", "{refused}");
    }
    assert_eq!((played.ends.len(), played.result()), (6, review));
    assert!(played.asked.contains("Look above all at: nothing in particular"), "{}", played.asked);
}

#[tokio::test]
async fn documentation_is_written_from_what_the_code_does() {
    let house = House::new()
        .file("greet.sh", "# --loud shouts\n[ \"$1\" = --loud ] && echo HELLO || echo hello\n")
        .file("README.md", "# greet\n\n`--shout` makes it loud.\n");
    let dir = house.dir.clone();
    let report = "## Changed\n- `README.md`: names the option that there is.\n- `docs/usage.md`: new.";
    let played = play(
        house,
        "documentation",
        json!({ "task": "Correct the README, add docs/usage.md", "readers": "users" }),
        vec![
            vec![
                call("read_file", json!({ "path": "README.md" })),
                call("grep", json!({ "pattern": "--(loud|shout)" })),
            ],
            vec![
                call(
                    "edit_file",
                    json!({ "path": "README.md", "oldString": "`--shout`", "newString": "`--loud`" }),
                ),
                call(
                    "write_file",
                    json!({ "path": "docs/usage.md", "content": "# Usage\n\n    sh greet.sh --loud\n" }),
                ),
            ],
            done(report),
        ],
    )
    .await;
    assert!(played.text(1).contains("greet.sh") && played.text(1).contains("--shout"), "{}", played.text(1));
    let written = |path: &str| fs::read_to_string(dir.path().join("work").join(path)).unwrap();
    assert_eq!(written("README.md"), "# greet\n\n`--loud` makes it loud.\n");
    assert_eq!(written("docs/usage.md"), "# Usage\n\n    sh greet.sh --loud\n");
    assert_eq!(played.result(), report);
}

#[tokio::test]
async fn tests_are_written_seen_to_fail_and_run() {
    let house = House::new().file("last.sh", WRONG);
    let dir = house.dir.clone();
    let wrong = ". ./last.sh\n[ \"$(last a)\" = b ] || { echo FAILED one; exit 1; }\n";
    let todos = json!([{ "text": "The last character of one is that one", "status": "in_progress" }]);
    let report = "1 test was added, 0 pass: `sh test.sh`\n\n## Defects\n`last a` is empty (last.sh:2).";
    let played = play(
        house,
        "testing",
        json!({ "target": "last.sh" }),
        vec![
            vec![
                call("read_file", json!({ "path": "last.sh" })),
                call("glob", json!({ "pattern": "**/*test*" })),
            ],
            vec![
                call("write_todos", json!({ "todos": todos })),
                call("write_file", json!({ "path": "test.sh", "content": wrong })),
            ],
            vec![call("run_shell_command", json!({ "command": "sh test.sh" }))],
            vec![call("edit_file", json!({ "path": "test.sh", "oldString": "= b ]", "newString": "= a ]" }))],
            vec![call("run_shell_command", json!({ "command": "sh test.sh; echo \"exit $?\"" }))],
            done(report),
        ],
    )
    .await;
    assert!(played.text(1).starts_with("No file matches"), "{}", played.text(1));
    assert_eq!(played.text(4), "Exit code: 1\nFAILED one\n");
    assert_eq!(played.text(6), "FAILED one\nexit 1\n");
    let written = fs::read_to_string(dir.path().join("work/test.sh")).unwrap();
    assert_eq!(written, wrong.replace("= b ]", "= a ]"));
    assert_eq!(played.result(), report);
}

#[tokio::test]
async fn an_examination_of_security_hands_in_findings_of_one_form() {
    let house = House::new()
        .file("serve.py", "import os\ndef show(name):\n    os.system('cat pages/' + name)\n")
        .file("app.py", "from serve import show\nshow(request.args['page'])\n");
    let mut finding = json!({
        "title": "A page's name is run by the shell", "severity": "critical", "place": "serve.py:3",
        "attacker": "Anybody who can ask for a page", "exploit": "page=x;id goes from app.py:2 to os.system",
        "impact": "Commands run as the server", "remedy": "Open the file instead, below pages/",
    });
    let report = |findings: Value| {
        let report = json!({
            "summary": "A stranger can run commands.", "findings": findings,
            "examined": ["serve.py, app.py: does text become code?"], "notExamined": [],
        });
        vec![call("complete_task", json!({ "report": report }))]
    };
    let unsure = report(json!([finding]));
    finding["confidence"] = json!("certain");
    let played = play(
        house,
        "security",
        json!({ "scope": "the server; requests are not trusted" }),
        vec![
            vec![
                call("grep", json!({ "pattern": "os\\.system|eval|exec" })),
                call("list_directory", json!({})),
            ],
            vec![call("read_many_files", json!({ "include": ["*.py"] }))],
            // A finding without all that is asked of it comes back.
            unsure,
            report(json!([finding])),
        ],
    )
    .await;
    assert!(played.text(0).contains("os.system('cat pages/' + name)"), "{}", played.text(0));
    assert!(played.text(2).contains("request.args['page']"), "{}", played.text(2));
    let result: Value = serde_json::from_str(played.result()).unwrap();
    assert_eq!(result["findings"], json!([finding]), "{result}");
    assert_eq!(played.record["turns"], 4, "{}", played.record);
}

#[tokio::test]
async fn the_blank_one_does_what_it_is_told_from_the_first() {
    let house = House::new().file("CHANGES.md", "## 1.2\n- faster\n");
    let played = play(
        house,
        "blank",
        json!({ "prompt": "What is new in 1.2?" }),
        vec![
            vec![call("list_directory", json!({})), call("grep", json!({ "pattern": "1\\.2" }))],
            vec![call("read_file", json!({ "path": "CHANGES.md" }))],
            done("It is faster.\n\n## Details\n`CHANGES.md:2`"),
        ],
    )
    .await;
    assert!(played.text(2).contains("- faster"), "{}", played.text(2));
    assert_eq!(played.result(), "It is faster.\n\n## Details\n`CHANGES.md:2`");
}
