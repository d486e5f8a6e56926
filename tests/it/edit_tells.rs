//! Does an edit that does not fit tell what stands in a file that the agent may not read? (Spec 05, "Files"; 06, "Policy".)

use std::fs;

use serde_json::{Value, json};

use crate::support::{House, Reply, Script};

const EDITOR: &str = "---\nkind: agent\nname: editor\ndescription: Edits.\ncompletion: tool\n\
                      tools: [read_file, edit_file]\n---\nYou edit.\n";
const TEXT: &str = "# settings\nname=x\nplan=TOLDTHEM\n";

fn edit(old: &str, new: &str) -> (&'static str, Value) {
    ("edit_file", json!({ "path": "notes.env", "oldString": old, "newString": new }))
}

/// Guesses of a line, and of what stands there already; the last fits.
fn guesses() -> [(&'static str, Value); 5] {
    let there_and_back = json!([
        { "oldString": "plan=TOLD", "newString": "zz" },
        { "oldString": "zz", "newString": "plan=TOLD" },
    ]);
    [
        ("edit_file", json!({ "path": "notes.env", "edits": there_and_back })),
        edit("plan=XXXX", "q"),
        edit("zzzz", "plan=T"),
        edit("zzzz", "plan=U"),
        edit("plan=TOLDTHEM", "plan=x"),
    ]
}

fn with_hooks(house: House, hooks: &Value) -> House {
    let user = &house.sources.files.user;
    fs::create_dir_all(user.parent().unwrap()).unwrap();
    fs::write(user, json!({ "hooks": hooks }).to_string()).unwrap();
    house
}

/// The text that the model reads of each call, in one request.
async fn read_of(house: House, calls: &[(&str, Value)]) -> Vec<String> {
    read_by(house, &Script::new([Reply::calls(calls), Reply::done("x")]), EDITOR).await
}

async fn read_by(house: House, script: &Script, agent: &str) -> Vec<String> {
    let house = house.script(script).agent("editor", agent).file("notes.env", TEXT);
    let running = house.boot().await;
    let mut client = running.client();
    let more = json!({ "approval": { "mode": "autoEdit", "headless": true } });
    let (run, _) = client.start(&running, "editor", more).await;
    client.ended(&run).await;
    let told = script.requests()[1].messages.last().unwrap().clone();
    drop(client);
    running.stop().await;
    told.parts.iter().map(|part| format!("{part:?}")).collect()
}

#[tokio::test]
async fn an_edit_of_a_file_that_may_not_be_read_tells_neither_its_lines_nor_whether_it_fits() {
    for decision in ["deny", "ask"] {
        let rules =
            format!("[[rule]]\ntool = \"read_file\"\nargsPattern = 'env'\ndecision = \"{decision}\"\n");
        let told = read_of(House::new().rules("a", &rules), &guesses()).await;
        assert_eq!(told.len(), 5, "{told:?}");
        for text in &told {
            assert!(
                text.contains("read it with read_file first") && !text.contains("TOLD"),
                "{decision}: {text}"
            );
        }
    }
}

/// Guards are asked about an edit that does not fit as they are about one that does.
#[tokio::test]
async fn an_edit_where_hooks_hear_of_files_tells_no_lines_either() {
    for (event, matcher) in [("PreToolUse", "Edit"), ("PreToolUse", "Read"), ("PostToolUse", "Read|Bash")] {
        let hooks =
            json!({ event: [{ "matcher": matcher, "hooks": [{ "type": "command", "command": "true" }] }] });
        let told = read_of(with_hooks(House::new(), &hooks), &guesses()).await;
        assert_eq!(told.concat().matches("the edits do not fit").count(), 4, "{event}: {told:?}");
        assert!(
            !told.concat().contains("nearest") && !told.concat().contains("already"),
            "{event}: {told:?}"
        );
    }
    for condition in ["Edit", "Edit(notes.env)", "Read(*.env)"] {
        let guard =
            json!({ "type": "command", "if": condition, "command": "echo kept from you >&2; exit 2" });
        let hooks = json!({ "PreToolUse": [{ "hooks": [guard] }] });
        let told = read_of(with_hooks(House::new(), &hooks), &guesses()).await;
        let denied = told.iter().filter(|text| text.contains("HOOK_DENIED")).count();
        let expected = if condition.starts_with("Read") { 0 } else { 5 };
        assert_eq!(denied, expected, "{condition}: {told:?}");
        assert!(!told.concat().contains("TOLDTHEM\""), "{condition}: {told:?}");
    }
    // Once the file was read an edit may fit; one that does not says nothing of it.
    let hooks = json!({ "PostToolUse": [{ "hooks": [{ "type": "command", "command": "true" }] }] });
    let script = Script::new([
        Reply::calls(&[("read_file", json!({ "path": "notes.env" }))]),
        Reply::calls(&guesses()),
        Reply::done("x"),
    ]);
    let house = with_hooks(House::new(), &hooks);
    let house = house.script(&script).agent("editor", EDITOR).file("notes.env", TEXT);
    let running = house.boot().await;
    let mut client = running.client();
    let more = json!({ "approval": { "mode": "autoEdit", "headless": true } });
    let (run, _) = client.start(&running, "editor", more).await;
    client.ended(&run).await;
    let told = format!("{:?}", script.requests()[2].messages.last().unwrap());
    assert_eq!(told.matches("the edits do not fit").count(), 4, "{told}");
    assert!(!told.contains("nearest") && !told.contains("already"), "{told}");
    drop(client);
    running.stop().await;
    assert_eq!(fs::read_to_string(house.work().join("notes.env")).unwrap(), TEXT.replace("TOLDTHEM", "x"));
}

/// An edit that does not fit helps as before, where nothing stands in the way of reading.
#[tokio::test]
async fn an_edit_of_a_file_that_may_be_read_tells_the_nearest_lines() {
    let told = read_of(House::new(), &guesses()[1..2]).await;
    assert!(told[0].contains("The nearest lines are") && told[0].contains("TOLDTHEM"), "{told:?}");
}

/// To write what stands there already is a guess, too; and who has no tool to read with edits what nobody keeps from it.
#[tokio::test]
async fn a_guess_at_all_of_a_file_tells_nothing_and_an_agent_without_readers_still_edits() {
    let write = |content: &str| ("write_file", json!({ "path": "notes.env", "content": content }));
    let script = Script::new([Reply::calls(&[write(TEXT), write("other\n")]), Reply::done("x")]);
    let rules = "[[rule]]\ntool = \"*\"\nargsPattern = 'env'\ndecision = \"deny\"\n";
    let writer = EDITOR.replace("read_file, edit_file", "write_file");
    let told = read_by(House::new().rules("a", rules), &script, &writer).await;
    let refused: Vec<bool> = told.iter().map(|text| text.contains("POLICY_DENIED")).collect();
    assert!(told.len() == 2 && refused == [true, true] && !told.concat().contains("already"), "{told:?}");

    let blind = EDITOR.replace("read_file, edit_file", "edit_file");
    let script = Script::new([Reply::calls(&guesses()), Reply::done("x")]);
    let told = read_by(House::new(), &script, &blind).await;
    assert_eq!(told.concat().matches("the edits do not fit").count(), 4, "{told:?}");
}
