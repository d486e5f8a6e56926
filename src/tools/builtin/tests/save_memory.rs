//! Where save_memory writes, and what it leaves alone.

use std::fs;

use expect_test::expect;
use serde_json::json;

use crate::tests::{Bench, SECRET, redactor};
use protocol::{MemorySaved, ResourceAccess, Risk, ToolEffect};

#[tokio::test]
async fn facts_go_to_the_users_file_or_the_projects() {
    let bench = Bench::new(&[]);
    let base = bench.outside();
    let user = base.join("config/AGENTS.md");
    let place = |text: String| text.replace(base.to_str().unwrap(), "BASE");
    let mut said = Vec::new();
    for arguments in [
        json!({"fact": "- likes tea"}),
        json!({"fact": "likes\n  tea ", "scope": "user"}),
        json!({"fact": "uses tabs", "scope": "project"}),
        json!({"fact": " - "}),
        json!({"fact": "x", "scope": "world"}),
    ] {
        said.push(place(bench.call("memory", arguments).await.llm_content[0].as_text().unwrap().to_owned()));
    }
    expect![[r#"
        Remembered in `BASE/config/AGENTS.md`, of which later runs are told: likes tea
        `BASE/config/AGENTS.md` says so already.
        Remembered in `BASE/ws/AGENTS.md`: uses tabs. Runs are not yet told of it: nobody has trusted this workspace (`subagent trust`).
        MEMORY_TOOL_EXECUTION_ERROR: the fact is blank; say what to remember
        INVALID_TOOL_PARAMS: /scope: not one of "user", "project""#]]
    .assert_eq(&said.join("\n"));
    assert_eq!(fs::read_to_string(&user).unwrap(), "## Added Memories\n- likes tea\n");
    assert_eq!(
        fs::read_to_string(bench.root().join("AGENTS.md")).unwrap(),
        "## Added Memories\n- uses tabs\n"
    );
}

#[tokio::test]
async fn preparing_writes_nothing_and_names_what_would_be_written() {
    let bench = Bench::new(&[("CLAUDE.md", "# Mine\r\n")]);
    let invocation = bench.prepare("save_memory", json!({"fact": "likes tea"})).await.unwrap();
    assert!(!bench.outside().join("config").exists());
    let write =
        |path: &str| ResourceAccess::Write { path: bench.outside().canonicalize().unwrap().join(path) };
    assert_eq!(invocation.accesses(), [write("config/AGENTS.md"), write("config")]);
    assert_eq!(invocation.risk(), None, "the one file of the daemon's folder that agents may write");
    let invocation =
        bench.prepare("save_memory", json!({"fact": "uses tabs", "scope": "project"})).await.unwrap();
    assert_eq!(invocation.accesses(), [write("ws/CLAUDE.md")]);
    let content = "# Mine\r\n\r\n## Added Memories\r\n- uses spaces\r\n";
    assert_eq!(invocation.with_content(content).unwrap(), json!({"fact": "uses spaces", "scope": "project"}));
    assert_eq!(invocation.with_content("something else"), None);
    let result = bench.run(invocation).await;
    let [ToolEffect::File(_), ToolEffect::Memory(saved)] = &result.effects[..] else {
        panic!("{:?}", result.effects)
    };
    let path = bench.root().join("CLAUDE.md").to_str().unwrap().to_owned();
    assert_eq!(*saved, MemorySaved { call_id: "c1".into(), path, fact: "uses tabs".to_owned() });
    let known = bench.prepare("save_memory", json!({"fact": "uses tabs", "scope": "project"})).await.unwrap();
    assert_eq!((known.risk(), known.confirmation()), (Some(Risk::Safe), None));
    assert_eq!(bench.run(known).await.effects, []);
}

#[tokio::test]
async fn what_is_remembered_of_the_user_can_be_undone_too() {
    let bench = Bench::new(&[]);
    fs::create_dir(bench.outside().join("config")).unwrap();
    fs::write(bench.outside().join("dotfile"), "mine\n").unwrap();
    std::os::unix::fs::symlink("../dotfile", bench.outside().join("config/AGENTS.md")).unwrap();
    let result = bench.call("save_memory", json!({"fact": "likes tea"})).await;
    assert_eq!(
        fs::read_to_string(bench.outside().join("dotfile")).unwrap(),
        "mine\n\n## Added Memories\n- likes tea\n"
    );
    let [ToolEffect::File(changed), ToolEffect::Memory(_)] = &result.effects[..] else {
        panic!("{:?}", result.effects)
    };
    bench.own_files.undo().restore(&"s1".into(), changed, false).unwrap();
    assert_eq!(fs::read_to_string(bench.outside().join("dotfile")).unwrap(), "mine\n");
    assert!(bench.outside().join("config/AGENTS.md").is_symlink());
}

#[tokio::test]
async fn a_secret_is_written_down_nowhere() {
    let mut bench = Bench::new(&[]);
    bench.redactor = redactor();
    let result = bench.call("save_memory", json!({"fact": format!("the password is {SECRET}")})).await;
    let said = result.llm_content[0].as_text().unwrap();
    assert!(said.contains("looks like a key or a password"), "{said}");
    assert!(!bench.outside().join("config").exists());
}

#[tokio::test]
async fn a_long_file_s_change_is_looked_at_once() {
    let long: String = (0..200_000).map(|n| format!("- {n}\n")).collect();
    let old = format!("## Added Memories\n{long}\n## Next\n- x\n");
    let bench = Bench::new(&[("AGENTS.md", &old)]);
    let arguments = json!({"fact": "uses tabs", "scope": "project"});
    let invocation = bench.prepare("save_memory", arguments).await.unwrap();
    let new = format!("## Added Memories\n{long}- uses spaces\n\n## Next\n- x\n");
    let fact = json!({"fact": "uses spaces", "scope": "project"});
    assert_eq!(invocation.with_content(&new), Some(fact));
    // Each of its lines might be the one that was added.
    assert_eq!(invocation.with_content(&format!("{new}- y\n")), None);
    assert_eq!(invocation.with_content(&new.replace("- 7\n", "- ä\n")), None);
}

/// A link that a person made is not taken away, and leads to no new file where nobody looks.
#[tokio::test]
async fn nothing_is_written_by_a_link_that_leads_nowhere() {
    let bench = Bench::new(&[]);
    let config = bench.outside().join("config");
    fs::create_dir(&config).unwrap();
    std::os::unix::fs::symlink("../not-there", config.join("AGENTS.md")).unwrap();
    bench.link("AGENTS.md", "not-there-either.md");
    for scope in ["user", "project"] {
        let result = bench.call("save_memory", json!({"fact": "likes tea", "scope": scope})).await;
        let said = result.llm_content[0].as_text().unwrap();
        assert!(said.contains("is a link that leads to no file"), "{said}");
    }
    assert!(config.join("AGENTS.md").is_symlink() && bench.root().join("AGENTS.md").is_symlink());
    assert!(
        !bench.outside().join("not-there").exists() && !bench.root().join("not-there-either.md").exists()
    );
    // Where another file counts, that one is written, as it is the one that is read.
    fs::write(config.join("CLAUDE.md"), "# Mine\n").unwrap();
    let result = bench.call("save_memory", json!({"fact": "likes tea"})).await;
    assert_eq!(result.error, None, "{result:?}");
    assert!(fs::read_to_string(config.join("CLAUDE.md")).unwrap().ends_with("- likes tea\n"));
}

/// Whoever else adds a line meanwhile, one line more is all that changes. A file that is gone is not made again.
#[tokio::test]
async fn a_fact_is_added_to_what_the_file_says_by_then() {
    let bench = Bench::new(&[("AGENTS.md", "# P\n")]);
    let file = bench.root().join("AGENTS.md");
    let save = |fact: &str| json!({"fact": fact, "scope": "project"});
    let first = bench.prepare("save_memory", save("uses tabs")).await.unwrap();
    let second = bench.prepare("save_memory", save("likes tea")).await.unwrap();
    let same = bench.prepare("save_memory", save("uses tabs")).await.unwrap();
    for invocation in [first, second] {
        let result = bench.run(invocation).await;
        assert_eq!((result.error, result.effects.len()), (None, 2));
    }
    let text = "# P\n\n## Added Memories\n- uses tabs\n- likes tea\n";
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    let result = bench.run(same).await;
    assert!(result.llm_content[0].as_text().unwrap().ends_with("says so already."), "{result:?}");
    assert_eq!((result.error, result.effects), (None, Vec::new()));
    let late = bench.prepare("save_memory", save("is late")).await.unwrap();
    fs::remove_file(&file).unwrap();
    let result = bench.run(late).await;
    assert!(result.error.unwrap().message.contains("was changed after this call was prepared"));
    assert!(!file.exists());
}

/// What nobody sees of a fact, and what would steer a terminal or turn a line round, is not written down, and the model learns it.
#[tokio::test]
async fn a_fact_has_nothing_in_it_that_acts() {
    let bench = Bench::new(&[]);
    let fact = "likes \u{202e}aet\u{1b}[2J tea";
    let invocation = bench.prepare("save_memory", json!({ "fact": fact })).await.unwrap();
    assert_eq!(invocation.description(), "user: likes aet[2J tea");
    let result = bench.run(invocation).await;
    let said = result.llm_content[0].as_text().unwrap();
    assert!(
        said.ends_with(
            "likes aet[2J tea\nControl characters and marks of direction were taken out of the fact."
        ),
        "{said}"
    );
    let file = fs::read_to_string(bench.outside().join("config/AGENTS.md")).unwrap();
    assert_eq!(file, "## Added Memories\n- likes aet[2J tea\n");
}
