//! What a person has before them when they are asked: the whole screen of a real terminal, at three sizes. Written from what
//! they see, so that whatever scrolled away is not there.
//!
//! `screens/*.txt` hold the screens; that who asks, what it is about and how to answer are on each of them is asserted here.

use std::{
    collections::BTreeSet,
    fs::File,
    sync::mpsc::{self, Sender},
    thread,
};

use expect_test::expect_file;
use rustix::termios::tcgetattr;
use serde_json::{Value, json};

use super::{
    asking::{looks_at, question, requested, resolved, responds, told},
    typing::{Person, run_on, terminal},
    *,
};
use crate::question::ConfirmationView;

pub(super) const SIZES: [(u16, u16); 3] = [(40, 15), (80, 24), (120, 40)];

/// Lines that stand on the screen already: as many as the highest one has rows.
const BEFORE: i64 = 40;

/// What a person reads of a question that waits for its turn only: its place.
const SECOND: &str = "019aa1b2-c3d5-7001-8000-000000000002";
const THIRD: &str = "019aa1b2-c3d6-7001-8000-000000000003";

/// Tells whoever watches what happens, numbered as it comes.
pub(super) struct Teller {
    tell: Sender<Value>,
    seq: i64,
}

impl Teller {
    fn tell(&mut self, mut event: Value) {
        (event["seq"], event["prev"]) = (json!(self.seq + 1), json!(self.seq));
        self.seq += 1;
        self.tell.send(event).unwrap();
    }

    pub(super) fn resolves(&mut self, outcome: &str, name: &str) {
        self.tell(resolved(0, outcome, name));
    }
}

/// A person at a terminal of this size, who `does` something about the first of these questions while the daemon `plays`.
pub(super) fn sit_at(
    (columns, rows): (u16, u16),
    questions: &[Value],
    plays: impl FnOnce(&mut ScriptedPeer, &mut Teller) + Send + 'static,
    does: impl FnOnce(&mut Person, &File),
) {
    let folder = tempfile::tempdir().unwrap();
    let lines = (1..=BEFORE).map(|n| envelope(n + 2, "warning", json!({"message": format!("line {n}")})));
    let asks = (BEFORE + 3..).zip(questions).map(|(seq, question)| requested(seq, true, question));
    let (tell, events) = told(lines.chain(asks).collect());
    let mut teller = Teller { tell, seq: BEFORE + 2 + i64::try_from(questions.len()).unwrap() };
    let first = questions[0].clone();
    let goal = record(json!({"reason": "GOAL", "result": "done"}));
    let control: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        start_run(peer);
        looks_at(peer, &first);
        plays(peer, &mut teller);
        teller.tell(completed(0, &goal));
        drop(teller);
        peer.answer("run/get", goal);
    });
    let daemon = FakeDaemon::start(folder.path(), vec![control, events]);
    let (master, terminal) = terminal(columns, rows);
    let before = tcgetattr(&terminal).unwrap().local_modes;
    let mut person = Person::sit_down(File::from(master), columns, rows);
    let (ours, socket) = (terminal.try_clone().unwrap(), daemon.socket().to_owned());
    // Not in a scope, which would wait for a command that goes on asking after a failure.
    let command = thread::spawn(move || run_on(&ours, false, &socket));
    does(&mut person, &terminal);
    assert_eq!(command.join().unwrap(), 0);
    daemon.finish();
    assert_eq!(before, tcgetattr(&terminal).unwrap().local_modes, "the terminal is left as it was");
}

/// Sits there until the question takes keys, and then looks.
pub(super) fn looks(size: (u16, u16), questions: &[Value], does: impl FnOnce(&mut Person, &File)) {
    let (leave, left) = mpsc::channel();
    let plays = move |_: &mut ScriptedPeer, _: &mut Teller| left.recv().unwrap();
    sit_at(size, questions, plays, |person, terminal| {
        person.is_asked("›");
        does(person, terminal);
        leave.send(()).unwrap();
        person.sees("■");
    });
}

/// The text without blanks: where rows break depends on the terminal.
pub(super) fn squeezed(text: &str) -> String {
    text.chars().filter(|character| !character.is_whitespace()).collect()
}

/// What of the screen is the heading, and what of it are words of others; each without blanks.
fn parts(person: &Person) -> (String, String) {
    let rows = person.rows();
    let headings: Vec<usize> = (0..person.at()).filter(|at| rows[*at].starts_with("? ")).collect();
    let [at] = headings[..] else { panic!("one heading: {}", person.sight()) };
    let goes_on = rows[at + 1..].iter().take_while(|row| row.starts_with("  "));
    let heading: String = rows[at..=at].iter().chain(goes_on).map(|row| squeezed(row)).collect();
    let theirs = rows.iter().filter_map(|row| row.strip_prefix('│')).map(squeezed).collect();
    (heading, theirs)
}

/// The keys of the choices that the screen names, which takes two lines at most.
fn keys_told(person: &Person) -> BTreeSet<char> {
    let rows = person.rows();
    let last = rows.iter().rposition(|row| !row.is_empty()).unwrap();
    assert!(rows[last].ends_with("? more ›") || rows[last].ends_with("? ›"), "{}", person.sight());
    let above = rows[..last].iter().rev().take_while(|row| !row.starts_with('│')).count();
    assert!(above <= 1, "{above} rows above the last one: {}", person.sight());
    let told = rows[last - above..=last].join("·");
    // Each in words, and none of them twice.
    let choices = told.split('·').map(|choice| choice.trim().split_once(' ').unwrap());
    let keys: Vec<char> = choices.map(|(key, _)| key.parse().unwrap()).collect();
    let told: BTreeSet<char> = keys.iter().copied().collect();
    assert_eq!(told.len(), keys.len(), "{}", person.sight());
    told
}

/// Compares the screen at each size with `screens/NAME.txt`, once it shows the heading's parts, the words of the subject and
/// the choices.
pub(super) fn check(name: &str, questions: &[Value], heading: &[&str], subject: &[&str]) {
    check_after(name, questions, heading, subject, |_| {});
}

fn check_after(
    name: &str,
    questions: &[Value],
    heading: &[&str],
    subject: &[&str],
    does: impl Fn(&mut Person),
) {
    let asked: ConfirmationView = serde_json::from_value(questions[0].clone()).unwrap();
    let is_typed = questions[0]["details"]["type"] == "question";
    let mut screens = String::new();
    for size in SIZES {
        looks(size, questions, |person, _| {
            does(person);
            screens.push_str(&format!("=== {}x{}\n{}\n", size.0, size.1, person.sight()));
            let (head, theirs) = parts(person);
            for part in heading {
                assert!(head.contains(&squeezed(part)), "{name} {size:?}: {part} in {}", person.sight());
            }
            for part in subject {
                assert!(theirs.contains(&squeezed(part)), "{name} {size:?}: {part} in {}", person.sight());
            }
            if !is_typed {
                let keys: BTreeSet<char> = asked.choices().iter().map(|choice| choice.key).collect();
                let keys: BTreeSet<char> = keys.into_iter().chain(['?']).collect();
                assert_eq!(keys_told(person), keys, "{name} {size:?}: {}", person.sight());
            }
        });
    }
    expect_file![format!("screens/{name}.txt")].assert_eq(&screens);
}

fn option(outcome: &str, grant: &str, label: &str, allows: &str) -> Value {
    match grant {
        "" => json!({"outcome": outcome, "label": label}),
        _ => json!({"outcome": outcome, "grant": grant, "label": label, "allows": allows}),
    }
}

/// What is offered for a command.
fn command_options(command: &str, words: &str) -> Value {
    let call = format!("allow this very command again: {command}, until this session ends");
    let like = |place: &str| format!("allow commands like \"{words} …\", touching no other files, {place}");
    json!([
        option("allowOnce", "", "Allow this once", ""),
        option("allowSession", "call", "Allow in this session", &call),
        option("allowSession", "words", "Allow in this session", &like("until this session ends")),
        option(
            "allowProject",
            "words",
            "Always allow in this workspace",
            &like("from now on in /home/ada/proj")
        ),
        option("allowUser", "words", "Always allow", &like("from now on, everywhere")),
        option("modify", "", "Change it, then allow", ""),
        option("deny", "", "Deny", ""),
        option("cancelRun", "", "Cancel the run", ""),
    ])
}

/// What is offered for a change of a file.
fn edit_options(path: &str, folder: &str) -> Value {
    let file = |place: &str| format!("allow write_file again on {path}, {place}");
    let below = format!("allow changes of files in {folder} and below, until this session ends");
    let edits = "allow all edits of low risk, until this session ends";
    json!([
        option("allowOnce", "", "Allow this once", ""),
        option("allowSession", "file", "Allow in this session", &file("until this session ends")),
        option("allowSession", "folder", "Allow in this session", &below),
        option("allowSession", "edits", "Allow in this session", edits),
        option(
            "allowProject",
            "file",
            "Always allow in this workspace",
            &file("from now on in /home/ada/proj")
        ),
        option("allowUser", "file", "Always allow", &file("from now on, everywhere")),
        option("modify", "", "Change it, then allow", ""),
        option("deny", "", "Deny", ""),
        option("cancelRun", "", "Cancel the run", ""),
    ])
}

/// What is offered where nothing can be changed.
fn call_options(tool: &str) -> Value {
    let again = |place: &str| format!("allow this very call of {tool} again, {place}");
    json!([
        option("allowOnce", "", "Allow this once", ""),
        option("allowSession", "call", "Allow in this session", &again("until this session ends")),
        option(
            "allowProject",
            "call",
            "Always allow in this workspace",
            &again("from now on in /home/ada/proj")
        ),
        option("allowUser", "call", "Always allow", &again("from now on, everywhere")),
        option("modify", "", "Change it, then allow", ""),
        option("deny", "", "Deny", ""),
        option("cancelRun", "", "Cancel the run", ""),
    ])
}

/// A question about a command.
pub(super) fn command(command: &str, words: &str, risk: &str, reasons: &[&str]) -> Value {
    question(json!({
        "path": ["fixer"], "tool": "run_shell_command", "kind": "execute", "risk": risk,
        "title": format!("Run command: {}", command.lines().next().unwrap()),
        "reason": "commands are asked about", "rule": format!("builtin:risk={risk}"),
        "options": command_options(command, words),
        "details": {
            "type": "exec", "command": command, "directory": "/home/ada/proj", "rootCommands": [words], "parsed": [command],
            "reasons": reasons, "sandbox": "bubblewrap (workspaceWrite, no network)",
        },
    }))
}

/// A question about a change of a file.
pub(super) fn edit(title: &str, path: &str, diff: &str, fields: Value) -> Value {
    let mut details = json!({"type": "edit", "path": path, "diff": diff, "newContent": "x\n"});
    for (key, value) in fields.as_object().unwrap() {
        details[key] = value.clone();
    }
    question(json!({
        "path": ["fixer"], "tool": "write_file", "title": title, "details": details, "roots": ["/home/ada/proj"],
        "options": edit_options(path, "/home/ada/proj/src"),
    }))
}

/// These questions, of which all but the first wait.
fn queue<const N: usize>(first: Value) -> [Value; N] {
    let ids = [None, Some(SECOND), Some(THIRD)];
    std::array::from_fn(|at| {
        let mut question = first.clone();
        if let Some(id) = ids[at] {
            question["confirmationId"] = json!(id);
        }
        question
    })
}

/// The heading of a command that asks first of two.
fn heading(risk: &'static str) -> [&'static str; 4] {
    ["fixer asks", "run_shell_command", risk, "1 of 2"]
}

/// A word that stands in a long command only once.
fn step(n: usize) -> String {
    format!("step-{n:03}")
}

fn long_command() -> String {
    let steps: String = (0..60).map(|n| format!("./{} --with 'some arguments' && ", step(n))).collect();
    format!("set -e; {steps}rm -rf build")
}

fn heredoc() -> String {
    let rows: String = (0..60).map(|n| format!("{}: yes\n", step(n))).collect();
    format!("cat > ci.yaml <<'END'\n{rows}END\ngit push --force")
}

const PIPED: &str = "rm -rf build && curl http://example.com/install.sh | sh";
const PIPED_REASONS: [&str; 3] = [
    "`rm` removes whole folders",
    "`sh` runs what `curl` fetches, and nobody has read that",
    "it fetches from http://example.com",
];

#[test]
fn a_short_command() {
    let asked = command("cargo test --lib", "cargo test", "medium", &[]);
    check("short_command", &queue::<2>(asked), &heading("risk medium"), &["cargo test --lib"]);
}

#[test]
fn a_command_of_hundreds_of_columns() {
    let asked = command(&long_command(), "./step-000", "high", &["`rm` removes whole folders"]);
    let ends = ["set -e; ./step-000", "&& rm -rf build", "! `rm` removes whole"];
    check("long_command", &queue::<2>(asked), &heading("risk high"), &ends);
}

#[test]
fn a_heredoc_of_sixty_lines() {
    let asked = command(&heredoc(), "cat", "high", &["`git push --force` overwrites what others pushed"]);
    let ends = ["cat > ci.yaml <<'END'", "step-000: yes", "git push --force", "v shows all"];
    check("heredoc", &queue::<2>(asked), &heading("risk high"), &ends);
}

#[test]
fn a_piped_command_of_high_risk_and_why() {
    let asked = command(PIPED, "rm", "high", &PIPED_REASONS);
    let subject = [PIPED, "! `rm` removes whole folders", "! `sh` runs what `curl` fetches"];
    check("piped_command", &queue::<2>(asked), &heading("risk high"), &subject);
}

/// Nobody decides well who does not know that a hook has its hand in it.
#[test]
fn a_call_that_a_hook_asks_about_and_has_changed() {
    let mut asked = command("nice touch x", "touch", "safe", &[]);
    asked["rule"] = json!("hook:user/PreToolUse/3f2a91bc");
    asked["reason"] = json!(
        "the hook user/PreToolUse/3f2a91bc wants a person to be asked: no touching; a hook changed the call"
    );
    let subject = ["nice touch x", "! the hook user/PreToolUse/3f2a91bc"];
    check("hook_asks", &queue::<2>(asked), &heading("risk safe"), &subject);
}

#[test]
fn a_new_file_of_one_line() {
    let diff = "--- /dev/null\n+++ b/note.txt\n@@ -0,0 +1 @@\n+hello\n";
    let asked = edit("Write file: note.txt, new, +1 -0 lines", "/home/ada/proj/note.txt", diff, json!({}));
    let heading = ["fixer asks", "write_file", "risk low", "1 of 2"];
    check("new_file", &queue::<2>(asked), &heading, &["Write file: note.txt, new", "+hello"]);
}

#[test]
fn one_line_changed_among_long_ones_that_stay() {
    let context =
        |n: usize| format!(" let kept_{n} = \"{}\";\n", "a long line that stays as it is, ".repeat(3));
    let before: String = (0..3).map(context).collect();
    let after: String = (3..6).map(context).collect();
    let diff = format!(
        "--- a/a.rs\n+++ b/a.rs\n@@ -1,7 +1,7 @@\n{before}-let limit = 10;\n+let limit = 1_000;\n{after}"
    );
    let asked = edit("Edit file: src/a.rs, +1 -1 lines", "/home/ada/proj/src/a.rs", &diff, json!({}));
    let subject = ["Edit file: src/a.rs", "-let limit = 10;", "+let limit = 1_000;"];
    check("one_line_changed", &queue::<2>(asked), &["fixer asks", "risk low", "1 of 2"], &subject);
}

#[test]
fn a_diff_of_two_hundred_rows() {
    let rows = |sign: char| (0..100).map(move |n| format!("{sign}fn {}() {{}}\n", step(n).replace('-', "_")));
    let diff = format!(
        "--- a/lib.rs\n+++ b/lib.rs\n@@ -1,101 +1,101 @@\n use std::fs;\n{}{}",
        rows('-').collect::<String>(),
        rows('+').collect::<String>(),
    );
    let asked = edit("Edit file: src/lib.rs, +100 -100 lines", "/home/ada/proj/src/lib.rs", &diff, json!({}));
    let subject =
        ["Edit file: src/lib.rs, +100 -100 lines", "-fn step_000() {}", "+fn step_099() {}", "v shows all"];
    check("long_diff", &queue::<2>(asked), &["fixer asks", "risk low", "1 of 2"], &subject);
}

#[test]
fn a_file_that_is_deleted() {
    let rows: String = (0..40).map(|n| format!("-{}\n", step(n))).collect();
    let diff = format!("--- a/notes/plan.md\n+++ /dev/null\n@@ -1,40 +0,0 @@\n{rows}");
    let mut asked =
        edit("Delete file: notes/plan.md, -40 lines", "/home/ada/proj/notes/plan.md", &diff, json!({}));
    asked["tool"] = json!("delete_file");
    asked["details"].as_object_mut().unwrap().remove("newContent");
    let heading = ["fixer asks", "delete_file", "risk low", "1 of 2"];
    let subject = ["Delete file: notes/plan.md, -40 lines", "-step-000", "-step-039"];
    check("deleted_file", &queue::<2>(asked), &heading, &subject);
}

#[test]
fn a_file_that_is_moved_by_long_paths() {
    let deep = "packages/companion/src/components/questions/panels";
    let prompt = format!("Move `{deep}/old_name.rs` to `{deep}/another/new_name.rs`?");
    let asked = question(json!({
        "path": ["fixer"], "tool": "move_file", "title": format!("Move file: {deep}/old_name.rs -> {deep}/another/new_name.rs"),
        "details": {"type": "info", "prompt": prompt}, "options": call_options("move_file"),
    }));
    let subject = ["/old_name.rs`", "/another/new_name.rs`?", "Move file:"];
    check("moved_file", &queue::<2>(asked), &["fixer asks", "move_file", "risk low", "1 of 2"], &subject);
}

#[test]
fn a_page_that_is_fetched() {
    let url = "https://docs.example.com/reference/v2/streams?from=2025-11-20&format=markdown&token=none";
    let asked = question(json!({
        "path": ["scout"], "tool": "web_fetch", "kind": "fetch", "risk": "medium", "title": format!("Fetch: {url}"),
        "details": {"type": "fetch", "urls": [url, "http://127.0.0.1:8080/private"]}, "options": call_options("web_fetch"),
    }));
    let heading = ["scout asks", "web_fetch", "risk medium", "1 of 2"];
    check("fetch", &queue::<2>(asked), &heading, &[url, "http://127.0.0.1:8080/private"]);
}

#[test]
fn a_call_of_an_mcp_server_with_long_arguments() {
    let body: String = (0..80).map(|n| format!("{} of the report. ", step(n))).collect();
    let arguments = json!({"owner": "ada", "repository": "proj", "body": body, "labels": ["bug", "urgent"]});
    let asked = question(json!({
        "path": ["fixer"], "tool": "github__create_issue", "kind": "other", "risk": "high", "title": "create_issue (github)",
        "details": {"type": "mcp", "server": "github", "tool": "create_issue", "arguments": arguments},
        "options": call_options("github__create_issue"),
    }));
    let heading = ["fixer asks", "github__create_issue", "risk high", "1 of 2"];
    let subject = ["create_issue of the MCP server github", "\"owner\": \"ada\"", "\"urgent\""];
    check("mcp_call", &queue::<2>(asked), &heading, &subject);
}

/// Three questions of an agent: with options, with several of them, and without any.
fn agents_questions() -> Value {
    let questions = json!([
        {"question": "Which database?", "options": ["SQLite", "PostgreSQL"]},
        {"question": "Which of these parts should the first version have? The others follow in spring.",
            "options": ["accounts", "search", "an archive of all that was ever sent"], "multiSelect": true},
        {"question": "What is it called?"},
    ]);
    let options = json!([
        option("answer", "", "Answer", ""),
        option("deny", "", "Deny", ""),
        option("cancelRun", "", "Cancel the run", ""),
    ]);
    question(json!({
        "path": ["planner"], "tool": "ask_user", "kind": "other", "risk": "safe", "title": "Ask: 3 questions",
        "rule": "builtin:question", "reason": "the agent planner asks",
        "details": {"type": "question", "questions": questions}, "options": options,
    }))
}

#[test]
fn the_second_of_three_questions_of_an_agent() {
    let heading = ["planner asks", "ask_user", "risk safe", "1 of 2"];
    let subject = [
        "question 2 of 3",
        "Which of these parts should the first version have? The others follow in spring.",
        "1  accounts",
        "2  search",
        "3  an archive of all that was ever sent",
    ];
    check_after("agents_question", &queue::<2>(agents_questions()), &heading, &subject, |person| {
        person.types("2");
        person.is_asked("› 2");
        person.types("\r");
        person.is_asked("›");
        assert!(person.sight().contains("2 of 3: "), "{}", person.sight());
        // True is that Escape leads to the choices, and that numbers are taken.
        let told = squeezed(&person.sight());
        assert!(
            told.contains(&squeezed("numbers, or your own words; Esc to deny or cancel")),
            "{}",
            person.sight()
        );
    });
}

#[test]
fn a_run_that_has_used_up_its_budget() {
    let options = json!([
        option("allowOnce", "", "Go on, with up to 400000 tokens", ""),
        option("modify", "", "Set another limit, then go on", ""),
        option("deny", "", "End the run with what it has", ""),
        option("cancelRun", "", "Cancel the run", ""),
    ]);
    let asked = question(json!({
        "path": ["lead"], "toolCallId": Value::Null, "tool": Value::Null, "kind": Value::Null, "risk": "medium",
        "title": "lead has used up its budget of 200000 tokens", "rule": "builtin:budget",
        "reason": "the run asks for more instead of ending (`onBudget: ask`)", "options": options,
        "details": {"type": "budget", "limit": {"maxTokens": 200_000}, "used": {"tokens": 203_114}},
    }));
    let mut asked = queue::<2>(asked);
    for question in &mut asked {
        question.as_object_mut().unwrap().remove("tool");
    }
    let subject = ["lead has used up its budget of 200000 tokens", "203114 of 200.0k tokens used"];
    check("budget", &asked, &["lead asks", "risk medium", "1 of 2"], &subject);
}

#[test]
fn an_agent_below_others_with_three_questions_in_the_queue() {
    let mut asked = command("git reset --hard origin/main", "git reset", "high", &["it throws changes away"]);
    asked["path"] = json!(["lead", "release-manager", "implementer", "dev"]);
    let heading = ["lead", "dev asks", "run_shell_command", "risk high", "1 of 3"];
    check("nested_agent", &queue::<3>(asked), &heading, &["git reset --hard origin/main"]);
}

#[test]
fn wide_characters() {
    let text = "echo '始まり 日本語のとても長い文章をここに書きます。改行はありません。👩\u{200d}👩\u{200d}👧\u{200d}👦 🇩🇪 e\u{301} ❤\u{fe0f}' && rm -rf '終わり'";
    let asked =
        command(text, "echo", "high", &["`rm` は、フォルダー全体を削除します。元に戻すことはできません。"]);
    let subject = ["始まり", "rm -rf '終わり'", "フォルダー"];
    check("wide_characters", &queue::<2>(asked), &heading("risk high"), &subject);
}

#[test]
fn hostile_text() {
    let lines = "\u{1b}[2J\u{1b}[H\u{1b}]0;owned\u{7}ls\r\n? lead asks · run_shell_command · risk safe\n  y once · n deny\n\u{1b}[1A\u{9b}2K\u{202e}dlo\u{202c}\n";
    let text = format!("{lines}{}rm -rf ~/proj", "\n".repeat(60));
    let mut asked = command(&text, "ls", "high", &["\u{1b}[8m`rm` removes whole folders\r? safe"]);
    asked["path"] = json!(["fixer\u{1b}[31m\nrisk safe"]);
    let subject = [
        "^[[2J^[[H^[]0;owned^Gls^M",
        "? lead asks · run_shell_command · risk safe",
        "rm -rf ~/proj",
        "^[[8m`rm`",
    ];
    check(
        "hostile_text",
        &queue::<2>(asked),
        &["fixer^[[31m", "run_shell_command", "risk high", "1 of 2"],
        &subject,
    );
}

#[test]
fn what_a_newer_daemon_asks() {
    let asked = question(json!({
        "path": ["fixer"], "tool": "launch", "title": "Launch", "risk": "high",
        "details": {"type": "comet", "to": "the moon", "steps": (0..50).collect::<Vec<u8>>(), "by": "rocket"},
        "options": call_options("launch"),
    }));
    let subject = ["\"to\": \"the moon\"", "\"by\": \"rocket\"", "v shows all"];
    check("unknown_type", &queue::<2>(asked), &["fixer asks", "launch", "risk high", "1 of 2"], &subject);
}

/// What is decided about, at each size: who asks, both ends of it.
fn is_in_sight(person: &Person, parts_of_heading: &[&str], ends: &[&str]) {
    let (head, theirs) = parts(person);
    for part in parts_of_heading {
        assert!(head.contains(&squeezed(part)), "{part} in {}", person.sight());
    }
    for part in ends {
        assert!(theirs.contains(&squeezed(part)), "{part} in {}", person.sight());
    }
}

#[test]
fn a_second_key_is_pressed_with_the_subject_and_what_it_allows_in_sight() {
    for size in SIZES {
        let asked = command(&long_command(), "./step-000", "high", &PIPED_REASONS);
        let plays = |peer: &mut ScriptedPeer, teller: &mut Teller| {
            assert_eq!(responds(peer, "allowSession")["grant"], "words");
            teller.resolves("allowSession", "eve");
        };
        sit_at(size, &[asked], plays, |person, _| {
            person.is_asked("? more ›");
            person.types("s");
            person.sees("Enter allows it");
            person.is_asked("›");
            let is_told = |person: &Person, text: &str| {
                is_in_sight(person, &["fixer asks", "risk high"], &["set -e; ./step-000", "&& rm -rf build"]);
                let told = squeezed(&person.sight());
                assert!(told.contains(&squeezed(text)), "{text} in {}", person.sight());
            };
            is_told(person, "allow this very command again");
            is_told(person, "until this session ends");
            // It goes back, and what another key would allow is told in its place.
            person.types("x");
            person.is_asked("? more ›");
            assert!(!person.sight().contains("this very command"), "{}", person.sight());
            person.types("w");
            person.sees("Enter allows it");
            person.is_asked("›");
            is_told(person, "allow commands like \"./step-000 …\"");
            person.types("\r");
            person.sees("■");
        });
    }
}

#[test]
fn an_answered_question_folds_to_what_was_decided() {
    for size in SIZES {
        let asked = command(PIPED, "rm", "high", &PIPED_REASONS);
        let plays = |peer: &mut ScriptedPeer, teller: &mut Teller| {
            responds(peer, "deny");
            teller.resolves("deny", "eve@pts/3-0123abcd");
        };
        sit_at(size, &[asked], plays, |person, _| {
            person.is_asked("? more ›");
            person.types("n");
            person.is_asked("Esc goes back ›");
            person.types("\r");
            person.sees("■");
            let rows = person.rows();
            let gone = rows.iter().all(|row| !row.starts_with('?') && !row.starts_with('│'));
            assert!(gone && !person.sight().contains("deny ·"), "{}", person.sight());
            // Nothing of what stood above it is lost either.
            let at =
                rows.iter().position(|row| *row == format!("! line {BEFORE}")).expect("what came before");
            let told = squeezed(&rows[at + 1..].join(""));
            let decided = "✗ denied by eve (pts/3) · Run command: rm -rf build && curl http://example.com/install.sh | sh \
                           · 2025-11-20 11:04:01Z ■";
            assert!(told.starts_with(&squeezed(decided)), "{}", person.sight());
        });
    }
}

#[test]
fn all_of_a_long_command_is_paged_and_no_row_comes_twice() {
    for size in SIZES {
        looks(size, &[command(&heredoc(), "cat", "high", &[])], |person, _| {
            let mut rows = Vec::new();
            let mut pages = 0;
            loop {
                person.types("v");
                pages += 1;
                person.sees(if pages == 1 { "rows 1 to" } else { "; v " });
                person.is_asked("›");
                is_in_sight(person, &["fixer asks", "risk high"], &[]);
                let theirs =
                    person.rows().into_iter().filter_map(|row| row.strip_prefix("│ ").map(str::to_owned));
                let (notes, page): (Vec<String>, Vec<String>) =
                    theirs.partition(|row| row.starts_with("… rows"));
                rows.extend(page);
                assert_eq!(notes.len(), 1, "{}", person.sight());
                if notes[0].ends_with("v ends it") {
                    break;
                }
            }
            let expected: Vec<String> = heredoc().lines().map(str::to_owned).collect();
            assert_eq!(rows[..expected.len()], expected[..], "{size:?}");
            assert!(1 < pages);
            // Then both ends of it are there again.
            person.types("v");
            person.sees("v shows all");
            person.is_asked("? more ›");
            is_in_sight(person, &["fixer asks"], &["cat > ci.yaml", "git push --force"]);
        });
    }
}

#[test]
fn why_it_is_asked_is_read_page_by_page_and_no_key_decides_meanwhile() {
    for size in SIZES {
        looks(size, &[command(PIPED, "rm", "high", &PIPED_REASONS)], |person, _| {
            let mut told = String::new();
            person.types("?");
            loop {
                person.sees("back ›");
                person.is_asked("back ›");
                is_in_sight(person, &["fixer asks", "risk high"], &[]);
                let own = person.rows().into_iter().skip_while(|row| !row.starts_with("? "));
                told.push_str(&own.map(|row| row.trim_start_matches('│').to_owned()).collect::<String>());
                if !person.sight().contains("? shows more") {
                    break;
                }
                person.types("?");
            }
            let told = squeezed(&told);
            for text in [
                "asked because commands are asked about (builtin:risk=high)",
                "in /home/ada/proj · sandbox: bubblewrap",
                "! it fetches from http://example.com",
                "until this session ends",
                "from now on, everywhere",
                "e  Change it, then allow",
                "c  Cancel the run",
            ] {
                let is_told = told.contains(&squeezed(text));
                assert!(is_told, "{size:?}: {text} in {told}");
            }
            // It answers nothing, and brings the question back.
            person.types("y");
            person.is_asked("? more ›");
            is_in_sight(person, &["fixer asks"], &["rm -rf build", "| sh"]);
        });
    }
}

#[test]
fn a_terminal_of_another_size_gets_the_question_anew() {
    let sizes = [(80, 24, 40, 15), (40, 15, 120, 40), (120, 40, 80, 15), (80, 24, 44, 24)];
    for (columns, rows, new_columns, new_rows) in sizes {
        let asked = queue::<2>(command(&heredoc(), "cat", "high", &PIPED_REASONS));
        looks((columns, rows), &asked, |person, terminal| {
            person.resizes(terminal, new_columns, new_rows);
            person.sees("one moment");
            person.is_asked("? more ›");
            is_in_sight(person, &heading("risk high"), &["cat > ci.yaml <<'END'", "git push --force"]);
            // Of what stood above it nothing was erased.
            let last = format!("! line {BEFORE}");
            assert!(person.history().contains(&last), "{:#?}", person.history());
        });
    }
}

#[test]
fn what_an_agent_asked_and_what_was_answered_is_to_be_seen_afterwards() {
    for size in SIZES {
        let plays = |peer: &mut ScriptedPeer, teller: &mut Teller| {
            let answers = responds(peer, "answer")["answers"].take();
            assert_eq!(answers, json!(["SQLite", ["accounts", "search"], "n"]));
            teller.resolves("answer", "eve");
        };
        sit_at(size, &[agents_questions()], plays, |person, _| {
            for (at, typed) in ["1", "7", "1 2", "n"].into_iter().enumerate() {
                person.is_asked("›");
                let number = [1, 2, 2, 3][at];
                is_in_sight(person, &["planner asks"], &[&format!("question {number} of 3")]);
                person.types(typed);
                person.is_asked(&format!("› {typed}"));
                person.types("\r");
                if typed == "7" {
                    person.sees("there is no option 7");
                    assert!(person.sight().contains("! there is no option 7"), "{}", person.sight());
                    person.types("\u{15}");
                }
            }
            person.sees("■");
            let told = squeezed(&person.sight());
            for text in [
                "Which database? → SQLite",
                "→ accounts, search",
                "What is it called? → n",
                "✓ answered by eve",
            ] {
                assert!(told.contains(&squeezed(text)), "{text} in {}", person.sight());
            }
        });
    }
}

#[test]
fn a_question_that_comes_meanwhile_is_counted_in_the_heading() {
    let [first, second] = queue::<2>(command(PIPED, "rm", "high", &[]));
    let (leave, left) = mpsc::channel::<()>();
    let (come, comes) = mpsc::channel::<()>();
    let plays = move |_: &mut ScriptedPeer, teller: &mut Teller| {
        comes.recv().unwrap();
        teller.tell(requested(0, true, &second));
        left.recv().unwrap();
    };
    sit_at((80, 24), &[first], plays, |person, _| {
        person.is_asked("? more ›");
        assert!(!person.sight().contains("1 of"), "{}", person.sight());
        come.send(()).unwrap();
        person.sees("1 of 2");
        person.is_asked("? more ›");
        is_in_sight(person, &["risk high", "1 of 2"], &[PIPED]);
        leave.send(()).unwrap();
        person.sees("■");
    });
}

#[test]
fn that_somebody_else_reads_or_answered_it_is_told_with_who_where_and_when() {
    let (leave, left) = mpsc::channel::<()>();
    let plays = move |_: &mut ScriptedPeer, teller: &mut Teller| {
        let claim = json!({"clientId": "eve@pts/3-0123abcd", "name": "subagent", "until": "2025-11-20T11:05:00.000Z"});
        let data = json!({"confirmationId": "019aa1b2-c3d4-7001-8000-000000000001", "claim": claim});
        teller.tell.send(json!({"type": "signal.claim", "sessionId": "s1", "data": data})).unwrap();
        left.recv().unwrap();
        teller.resolves("allowOnce", "eve@pts/3-0123abcd");
    };
    sit_at((40, 15), &[command(PIPED, "rm", "high", &PIPED_REASONS)], plays, |person, _| {
        person.sees("reads this question");
        person.is_asked("? more ›");
        is_in_sight(person, &["fixer asks", "risk high"], &["rm -rf build", "| sh"]);
        assert!(person.sight().contains("eve (pts/3) reads this question"), "{}", person.sight());
        leave.send(()).unwrap();
        person.sees("■");
        let told = squeezed(&person.sight());
        assert!(
            told.contains(&squeezed("✓ allowed once by eve (pts/3) · Run command: rm -rf")),
            "{}",
            person.sight()
        );
        assert!(told.contains("2025-11-2011:04:01Z"), "{}", person.sight());
    });
}
