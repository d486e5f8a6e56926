//! A real terminal (a pty): what is seen on it, what is typed on it, and how it is left.

use std::{
    fs::{File, OpenOptions},
    io::{Read as _, Write as _},
    os::fd::OwnedFd,
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthChar as _;

use super::{
    asking::{looks_at, question, requested, resolved, responds, told},
    *,
};
use crate::{
    keyboard::{KeyWaitResult, KeyboardInput, TerminalKeyboard},
    question::{
        card::{self, CardLayout},
        panel::{self, ConfirmationPanel, PanelPage},
    },
    width,
};

/// Both ends of a terminal of this size.
pub(super) fn terminal(columns: u16, rows: u16) -> (OwnedFd, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let path = ptsname(&master, Vec::new()).unwrap();
    let terminal = OpenOptions::new().read(true).write(true).open(path.to_str().unwrap()).unwrap();
    resize(&terminal, columns, rows);
    (master, terminal)
}

fn resize(terminal: &File, ws_col: u16, ws_row: u16) {
    tcsetwinsize(terminal, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}

/// Longer than any correct command lets a person wait; a test that gets here fails instead of hanging.
const STUCK: Duration = Duration::from_secs(60);

/// Whoever sits at the terminal's other end.
pub(super) struct Person {
    master: File,
    /// What is written to the terminal, as it comes.
    shown: Receiver<Vec<u8>>,
    pending: Vec<u8>,
    /// All that was written to it.
    pub(super) seen: String,
    /// What of it is on the screen now.
    screen: avt::Terminal,
}

impl Person {
    pub(super) fn sit_down(master: File, columns: u16, rows: u16) -> Person {
        let screen = avt::Terminal::with_scrollback(columns.into(), rows.into(), None).unwrap();
        let (sender, shown) = mpsc::channel();
        let mut written = master.try_clone().unwrap();
        // Ends when nobody writes to the terminal any more.
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = written.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Person { master, shown, pending: Vec::new(), seen: String::new(), screen }
    }

    /// Reads on until the text was written.
    pub(super) fn sees(&mut self, awaited: &str) {
        let from = self.seen.len();
        while !self.seen[from..].contains(awaited) {
            self.look(awaited);
        }
    }

    /// Reads on until the line of the cursor has this in it, with nothing behind it.
    pub(super) fn is_asked(&mut self, awaited: &str) {
        while !self.rows()[self.at()].ends_with(awaited.trim_end()) {
            self.look(awaited);
        }
    }

    /// Takes what comes next.
    fn look(&mut self, awaited: &str) {
        let shown = self.shown.recv_timeout(STUCK);
        let shown =
            shown.unwrap_or_else(|_| panic!("{awaited:?} never comes: {}\n{}", self.seen, self.sight()));
        self.pending.extend(shown);
        if let Ok(text) = std::str::from_utf8(&self.pending) {
            self.seen.push_str(text);
            // What takes no column stands in the one before it.
            let takes_room = |character: &char| character.width() != Some(0);
            self.screen.feed(text.chars().filter(takes_room).collect::<String>().as_str());
            self.pending.clear();
        }
    }

    /// The rows of the screen, from the top.
    pub(super) fn rows(&self) -> Vec<String> {
        self.screen.screen().visible_lines().map(|line| line.text().trim_end().to_owned()).collect()
    }

    /// The same, below all that scrolled away.
    pub(super) fn history(&self) -> Vec<String> {
        self.screen.screen().all_lines().map(|line| line.text().trim_end().to_owned()).collect()
    }

    /// The row of the cursor.
    pub(super) fn at(&self) -> usize {
        self.screen.cursor().row
    }

    /// All that is on the screen.
    pub(super) fn sight(&self) -> String {
        self.rows().join("\n")
    }

    /// Makes the terminal another size, as one does with a window.
    pub(super) fn resizes(&mut self, terminal: &File, columns: u16, rows: u16) {
        self.screen.resize(columns.into(), rows.into());
        resize(terminal, columns, rows);
    }

    pub(super) fn types(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }
}

/// A terminal's keys, with a look that finds nothing behind each that found something: nobody presses two keys in two looks.
struct UnhurriedKeyboard {
    keyboard: TerminalKeyboard<File>,
    has_found: bool,
}

impl KeyboardInput for UnhurriedKeyboard {
    fn open(&mut self) -> bool {
        self.keyboard.open()
    }

    fn open_for_text(&mut self) -> bool {
        self.keyboard.open_for_text()
    }

    fn open_for_talk(&mut self) -> bool {
        self.keyboard.open_for_talk()
    }

    fn open_for_question(&mut self) -> bool {
        self.keyboard.open_for_question()
    }

    fn set_aside(&mut self, typed: &str) {
        self.keyboard.set_aside(typed);
    }

    fn typed_before(&mut self) -> Vec<u8> {
        self.keyboard.typed_before()
    }

    fn was_stopped(&mut self) -> bool {
        self.keyboard.was_stopped()
    }

    fn wait(&mut self, at_most: Duration) -> KeyWaitResult {
        self.keyboard.wait(at_most)
    }

    fn close(&mut self) {
        self.keyboard.close();
    }

    fn read(&mut self) -> Vec<u8> {
        if std::mem::take(&mut self.has_found) {
            return Vec::new();
        }
        let bytes = self.keyboard.read();
        self.has_found = !bytes.is_empty();
        bytes
    }

    fn columns(&self) -> Option<usize> {
        self.keyboard.columns()
    }

    fn rows(&self) -> Option<usize> {
        self.keyboard.rows()
    }
}

/// `run` on this terminal against these scripts; `NO_COLOR` as in the environment of a person.
pub(super) fn run_on(terminal: &File, has_color: bool, socket: &Path) -> u8 {
    let columns = std::sync::Arc::new(terminal.try_clone().unwrap());
    let width = move || rustix::termios::tcgetwinsize(&*columns).ok().map(|size| usize::from(size.ws_col));
    let output = || OutputWriter {
        writer: Box::new(terminal.try_clone().unwrap()),
        is_terminal: true,
        has_color,
        is_live: true,
        width: width(),
        is_for_programs: false,
    };
    let socket = socket.as_os_str().to_owned();
    let mut surroundings = ProcessIo {
        stdin: InputStream { reader: Box::new(terminal.try_clone().unwrap()), is_terminal: true },
        stdout: output(),
        stderr: output(),
        environment: Box::new(move |name| (name == "SUBAGENTD_SOCKET").then(|| socket.clone())),
        working_folder: "/".into(),
        own_program: None,
        interrupts: Box::new(|| 0),
        keyboard: Box::new(UnhurriedKeyboard {
            keyboard: TerminalKeyboard::new(terminal.try_clone().unwrap(), Box::new(width.clone())),
            has_found: false,
        }),
        terminal_name: None,
        clock: hurrying(200),
        silence: Duration::from_secs(3),
    };
    let arguments = ["subagent", "run", "scout", "-p", "q", "--new"].map(OsString::from);
    crate::run(arguments, &mut surroundings)
}

/// A person at a terminal, who `does` something about this question; what was answered, and what was to be seen.
fn sit_at(
    columns: u16,
    has_color: bool,
    asked: Value,
    outcome: &'static str,
    does: impl FnOnce(&mut Person, &File) + Send,
) -> (Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let (tell, events) = told(vec![requested(3, true, &asked)]);
    let (answered, answer) = mpsc::channel();
    let goal = record(json!({"reason": "GOAL", "result": "done"}));
    let control: DaemonScript = Box::new(move |peer| {
        say_hello(peer);
        start_run(peer);
        looks_at(peer, &asked);
        answered.send(responds(peer, outcome)).unwrap();
        tell.send(resolved(4, outcome, "eve")).unwrap();
        tell.send(completed(5, &goal)).unwrap();
        drop(tell);
        peer.answer("run/get", goal);
    });
    let daemon = FakeDaemon::start(folder.path(), vec![control, events]);
    let (master, terminal) = terminal(columns, 24);
    let before = tcgetattr(&terminal).unwrap();
    let mut person = Person::sit_down(File::from(master), columns, 24);
    thread::scope(|scope| {
        let (ours, socket) = (terminal.try_clone().unwrap(), daemon.socket().to_owned());
        let command = scope.spawn(move || run_on(&ours, has_color, &socket));
        does(&mut person, &terminal);
        person.sees("■");
        assert_eq!(command.join().unwrap(), 0);
    });
    daemon.finish();
    let after = tcgetattr(&terminal).unwrap();
    assert_eq!(before.local_modes, after.local_modes, "the terminal is left as it was");
    (answer.recv().unwrap(), person.seen)
}

const PROMPT: &str = "? more › ";

#[test]
fn a_key_on_a_real_terminal_answers_unseen_and_the_terminal_is_left_as_it_was() {
    let (_, seen) = sit_at(100, true, question(json!({})), "allowSession", |person, terminal| {
        person.sees(PROMPT);
        let modes = tcgetattr(terminal).unwrap().local_modes;
        assert!(!modes.intersects(LocalModes::ICANON | LocalModes::ECHO), "keys come one by one, unseen");
        assert!(modes.contains(LocalModes::ISIG), "Ctrl-C stays what it is");
        person.types("s");
        person.sees("goes back › ");
        person.types("\r");
    });
    assert!(seen.contains("\u{1b}[32m+new\u{1b}[0m") && seen.contains("\u{1b}[31m-old\u{1b}[0m"), "{seen}");
}

#[test]
fn what_was_typed_before_the_question_stood_there_answers_nothing() {
    let (answer, _) = sit_at(100, false, question(json!({})), "deny", |person, _| {
        // Typed ahead, before there is anything to answer.
        person.types("y");
        person.sees(PROMPT);
        person.types("n");
        person.sees("Esc goes back");
        person.types("za\u{7f}u spät");
        person.sees("› zu spät");
        person.types("\n");
    });
    assert_eq!(answer["message"], "zu spät");
}

#[test]
fn a_terminal_that_gets_narrow_keeps_the_prompt_in_one_line() {
    let (_, seen) = sit_at(100, false, question(json!({})), "allowOnce", |person, terminal| {
        person.sees(PROMPT);
        person.resizes(terminal, 20, 24);
        // The choices in words stand above it, as wide as it is now.
        person.sees("p project·? › ");
        assert!(person.sight().contains("y once·e edit·n no\nc stop·s session\np project·? ›"));
        person.types("?");
        person.is_asked("else back ›");
        person.types("x");
        // The question stands there anew.
        person.sees("one moment");
        person.sees("p project·? › ");
        person.types("y");
    });
    assert!(seen.contains("asked because"), "{seen}");
    assert!(!seen.contains("\u{1b}[31m"), "NO_COLOR: {seen}");
}

/// What a question looks like so wide, without colours.
fn drawn(asked: &Value, columns: usize, has_color: bool) -> Vec<String> {
    let asked: crate::question::ConfirmationView = serde_json::from_value(asked.clone()).unwrap();
    let look = CardLayout { columns: Some(columns), rows: None, has_color };
    let mut rows = card::draw(&asked, Some("1 of 3"), look);
    rows.extend(card::draw_choices(&asked, &asked.choices(), look));
    rows
}

/// What the question looks like in place, on a screen of this size.
pub(super) fn panel(asked: &Value, columns: usize, rows: usize) -> Vec<String> {
    let asked: crate::question::ConfirmationView = serde_json::from_value(asked.clone()).unwrap();
    let look = CardLayout { columns: Some(columns), rows: Some(rows), has_color: false };
    let panel = ConfirmationPanel {
        asked: &asked,
        place: Some("1 of 3"),
        at_question: 0,
        below: &[],
        view: PanelPage::Subject,
        flag: None,
    };
    panel::draw(&panel, look).rows
}

#[test]
fn who_asks_and_both_ends_of_the_subject_fit_the_screen_and_the_rest_is_counted() {
    let command: String = (0..100).map(|n| format!("step {n} && \\\n")).collect::<String>() + "rm -rf src";
    let details = json!({
        "type": "exec", "command": command, "directory": "/w/with/a/long/name/that/has/to/be/cut/somewhere", "rootCommands": [],
        "parsed": [], "reasons": ["it removes a folder"], "sandbox": "bubblewrap (workspaceWrite, no network)",
    });
    let asked = question(json!({"details": details, "risk": "high", "tool": "run_shell_command"}));
    for (columns, height) in [(40, 15), (80, 24), (120, 40)] {
        let rows = panel(&asked, columns, height);
        assert!(rows.len() + 2 <= height, "{columns}: {rows:#?}");
        assert!(rows.iter().all(|row| width::of(row) <= columns), "{columns}: {rows:#?}");
        let text = rows.join("\n");
        for shown in [
            "scout › writer asks",
            "risk high",
            "1 of 3",
            "│ step 0 &&",
            "│ rm -rf src",
            "more here; v shows all",
        ] {
            assert!(text.replace("\n  ", " ").contains(shown), "{columns}, {shown}: {text}");
        }
    }
}

#[test]
fn what_each_key_does_and_why_others_are_not_offered_is_told() {
    let option = |outcome: &str, grant: &str, allows: &str| {
        let label = "Allow";
        match grant {
            "" => json!({"outcome": outcome, "label": label}),
            _ => json!({"outcome": outcome, "grant": grant, "label": label, "allows": allows}),
        }
    };
    let options = json!([
        option("allowOnce", "", ""),
        option("allowSession", "file", "allow edits of /w/src/a.rs, until this session ends"),
        option("allowSession", "edits", "allow all edits of low risk, until this session ends"),
        option("allowProject", "file", "allow edits of /w/src/a.rs, from now on in /w"),
        option("allowProject", "folder", "allow edits of files in /w/src and below, from now on in /w"),
        option("allowUser", "file", "allow edits of /w/src/a.rs, from now on, everywhere"),
        option("deny", "", ""),
    ]);
    let why = |asked: Value| {
        let asked: crate::question::ConfirmationView = serde_json::from_value(asked).unwrap();
        card::draw_why(&asked, CardLayout { columns: Some(70), rows: None, has_color: false }).join("\n")
    };
    expect_test::expect![[r#"
        │ asked because edits are asked about (builtin:risk=low)
        │ /w/a.rs
          y  Allow
          s  allow edits of src/a.rs, until this session ends
          a  allow all edits of low risk, until this session ends; this is the
             session's mode autoEdit; Shift-Tab in the conversation leaves it,
             or `subagent sessions mode`
          p  allow edits of src/a.rs, from now on in /w
          p p  allow edits of files in src and below, from now on in /w
          u  allow edits of /w/src/a.rs, from now on, everywhere
          n  Allow
          -  f is for files in a subfolder of the workspace, when the risk is
             not high"#]]
    .assert_eq(&why(question(json!({"options": options, "roots": ["/w"]}))));
    let details = json!({
        "type": "exec", "command": "python x.py", "directory": "/w", "rootCommands": [], "parsed": [], "reasons": [],
        "sandbox": "bubblewrap",
    });
    let options = json!([
        option("allowOnce", "", ""),
        option("allowSession", "call", "allow this very command again: python x.py, until this session ends"),
        option("deny", "", ""),
    ]);
    let command = |risk: &str| {
        question(json!({"details": details, "options": options, "risk": risk, "tool": "run_shell_command"}))
    };
    expect_test::expect![[r#"
        │ asked because edits are asked about (builtin:risk=low)
        │ in /w · sandbox: bubblewrap
          y  Allow
          s  allow this very command again: python x.py, until this session
             ends
          n  Allow
          -  w is for commands whose first words tell what they do, in the
             workspace; scripts and unknown options are none
          -  p is for calls that `s` is offered for, in a session of one
             folder
          -  u is for commands whose first words tell what they do, as `w` is"#]]
    .assert_eq(&why(command("medium")));
    expect_test::expect![[r#"
        │ asked because edits are asked about (builtin:risk=low)
        │ in /w · sandbox: bubblewrap
          y  Allow
          s  allow this very command again: python x.py, until this session
             ends
          n  Allow
          -  w is not offered at high risk: the danger is in words that vary
          -  p is for calls that `s` is offered for, in a session of one
             folder
          -  u is not offered at high risk: what is dangerous was seen here,
             and nowhere else"#]]
    .assert_eq(&why(command("high")));
}

#[test]
fn a_small_terminal_shows_the_subject_and_every_choice_in_words() {
    let details = json!({
        "type": "exec", "command": "rm -rf build && make", "directory": "/w/with/a/long/name", "rootCommands": [], "parsed": [],
        "reasons": ["it removes a folder"], "sandbox": "bubblewrap (workspaceWrite, no network)",
    });
    let command = question(json!({"details": details, "risk": "high", "tool": "run_shell_command"}));
    let title = "Write file: src/a/very/long/path/of/a/file/that/has/to/be/cut.rs, new, +1 -0 lines";
    let diff = "--- /dev/null\n+++ b/a.rs\n@@ -0,0 +1 @@\n+let build = true;\n";
    let details = json!({"type": "edit", "path": "/w/a.rs", "diff": diff, "newContent": "x"});
    let edit = question(json!({"details": details, "title": title}));
    for (columns, height) in [(30, 8), (30, 24), (33, 10), (36, 9), (40, 8), (40, 15)] {
        for (asked, part) in [(&command, "build"), (&edit, "+let build = true;")] {
            let read: crate::question::ConfirmationView = serde_json::from_value(asked.clone()).unwrap();
            let mut below = crate::asking::choice_rows(&read, false, Some(columns));
            let words = below.join("·");
            for word in ["y once", "s session", "p project", "e edit", "n ", "c ", "?"] {
                assert!(words.contains(word), "{columns}: {word} in {words}");
            }
            let most = if columns < 38 { 3 } else { 2 };
            assert!(below.len() <= most && below.iter().all(|row| width::of(row) <= columns), "{below:#?}");
            below.pop();
            let look = CardLayout { columns: Some(columns), rows: Some(height), has_color: false };
            let panel = ConfirmationPanel {
                asked: &read,
                place: Some("1 of 3"),
                at_question: 0,
                below: &below,
                view: PanelPage::Subject,
                flag: None,
            };
            let rows = panel::draw(&panel, look).rows;
            // The line in which one answers stands below them.
            assert!(rows.len() < height, "{columns}x{height}: {rows:#?}");
            let text = rows.join("\n");
            let is_told = text.contains("asks") && text.contains("risk") && text.contains(part);
            assert!(is_told, "{columns}x{height}: {text}");
        }
    }
}

#[test]
fn nothing_of_a_diff_is_lost_however_narrow_the_terminal() {
    let line = format!("+let x = 日本語;{}rm -rf /", " ".repeat(300));
    let diff = format!("--- a\n+++ b\n@@ -1 +1 @@\n{line}\n");
    let details = json!({"type": "edit", "path": "/w/a.rs", "diff": diff, "newContent": ""});
    let asked =
        question(json!({"details": details, "title": "A long title that has to go into several rows"}));
    for columns in [12, 20, 33, 80, 200] {
        let rows = drawn(&asked, columns, false);
        for row in &rows {
            assert!(width::of(row) <= columns, "{columns}: {row:?}");
        }
        let inner: String = rows
            .iter()
            .filter_map(|row| row.strip_prefix('│'))
            .flat_map(|row| row.chars())
            .filter(|c| *c != ' ')
            .collect();
        let whole: String = line.chars().filter(|c| *c != ' ').collect();
        assert!(inner.contains(&whole), "{columns}: {inner}");
    }
}

#[test]
fn a_diff_that_the_daemon_cut_says_so() {
    let diff: String = (0..1_000).map(|n| format!("+line {n}\n")).collect();
    let details =
        json!({"type": "edit", "path": "/w/a.rs", "diff": diff, "newContent": "", "cutBytes": 70_000});
    let rows = drawn(&question(json!({"details": details})), 80, false).join("\n");
    assert!(rows.contains("+line 999\n"), "{rows}");
    assert!(rows.contains("68.4 KiB more of the diff are not shown"), "{rows}");
}

/// Words that would steer a terminal, fake a line of ours, or read other than they are.
const EVIL: &str = "\u{1b}]0;owned\u{7}\u{9b}2J\r\u{202e}\u{e0041}\n? scout asks\ny  Allow › ";

#[test]
fn no_word_of_others_steers_the_terminal_or_passes_for_ours() {
    let options = json!([{"outcome": "allowOnce", "label": EVIL, "remembers": {"id": EVIL, "tool": [EVIL], "decision": EVIL}}, {"outcome": EVIL, "label": EVIL}]);
    let details = [
        json!({"type": "edit", "path": EVIL, "diff": EVIL, "newContent": EVIL}),
        json!({"type": "info", "prompt": EVIL}),
        json!({"type": "question", "questions": [{"question": EVIL, "options": [EVIL]}]}),
        json!({"type": EVIL, "x": EVIL}),
    ];
    for details in details {
        let asked = question(json!({
            "title": EVIL, "reason": EVIL, "rule": EVIL, "risk": EVIL, "tool": EVIL, "path": [EVIL], "details": details,
            "options": options, "deadlineAt": "2025-11-20T11:04:00.000Z", "onDeadline": EVIL,
        }));
        let shown = panel(&asked, 60, 20);
        assert!(
            shown.iter().all(|row| ["? ", "│", "  "].iter().any(|sign| row.starts_with(sign))),
            "{shown:#?}"
        );
        let rows = drawn(&asked, 60, false);
        for row in rows.iter().chain(&shown) {
            let bad = row.chars().find(|c| c.is_control() || matches!(*c, '\u{202e}' | '\u{e0041}'));
            assert_eq!(bad, None, "{row:?}");
        }
        // Only our own head begins like a question, and only after the bar do words of others stand.
        assert_eq!(rows.iter().filter(|row| row.starts_with('?')).count(), 1, "{rows:#?}");
        assert!(
            rows.iter().all(|row| ["? ", "│", "  "].iter().any(|sign| row.starts_with(sign))),
            "{rows:#?}"
        );
        assert_eq!(rows.iter().filter(|row| row.starts_with("  y  ")).count(), 1, "{rows:#?}");
    }
}
