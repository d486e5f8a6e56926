//! Which templates there are, what each is made of, and what becomes of a user's own.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use protocol::{BUILTIN_TOOLS, FileProblemCode};

#[test]
fn those_of_the_daemon_are_whole_agents() {
    let AgentTemplates { list, problems } = templates(&[]);
    assert_eq!(problems, []);
    let names: Vec<&str> = list.iter().map(|template| template.name.as_str()).collect();
    assert_eq!(names, ["debugging", "code-review", "documentation", "testing", "security", "blank"]);
    for template in list {
        let file = read(&template.text);
        assert_eq!(file.problems, [], "{}", template.name);
        let definition = file.definition.unwrap();
        let lines = definition.prompt.lines().filter(|line| !line.trim().is_empty()).count();
        assert!(30 <= lines, "{} has {lines} lines", template.name);
        assert_eq!((template.path, template.title), (None, definition.title.clone()));
        assert!(
            template.description.is_some_and(|it| it.contains("Use it")),
            "tells when to call {}",
            definition.name
        );
        assert!(definition.limits.max_turns.is_some() && definition.limits.max_time_ms.is_some());
        // What a run spends its turns with is in the text: what to do, where to stop, what to hand in.
        for heading in ["# Method", "# Limits", "# Form of the"] {
            assert!(definition.prompt.contains(heading), "{}: {heading}", definition.name);
        }
        assert!(definition.tools.deny.is_empty() && !definition.tools.inherits && !definition.tools.agents);
    }
}

#[test]
fn each_allows_just_what_its_task_needs() {
    let reads = ["list_directory", "read_file", "read_many_files", "glob", "grep"];
    let more: [(&str, &[&str]); 6] = [
        ("debugging", &["run_shell_command", "write_todos"]),
        ("code-review", &[]),
        ("documentation", &["write_file", "edit_file"]),
        ("testing", &["write_file", "edit_file", "run_shell_command", "write_todos"]),
        ("security", &[]),
        ("blank", &[]),
    ];
    for (name, more) in more {
        let templates = templates(&[]);
        let definition = read(&templates.find(name).unwrap().text).definition.unwrap();
        let allowed: BTreeSet<&str> = definition.tools.allow.iter().flatten().map(|it| it.as_str()).collect();
        let mut expected: BTreeSet<&str> = reads.into_iter().chain(more.iter().copied()).collect();
        if name == "blank" {
            expected.remove("read_many_files");
        }
        assert_eq!(allowed, expected, "{name}");
        assert!(allowed.iter().all(|tool| BUILTIN_TOOLS.contains(tool)), "{name}");
    }
}

#[test]
fn an_agent_is_made_of_any_by_writing_its_own_fields() {
    for template in templates(&[]).list {
        let new =
            json!({ "name": "my-own", "title": null, "description": "Does mine.", "prompt": "Do mine." });
        let text = with_fields(&template.text, new.as_object().unwrap()).unwrap();
        let file = read(&text);
        assert_eq!(file.problems, [], "{}", template.name);
        let (made, of) = (file.definition.unwrap(), read(&template.text).definition.unwrap());
        assert_eq!(
            (made.name.as_str(), made.title.as_str(), made.prompt.as_str()),
            ("my-own", "My Own", "Do mine.")
        );
        assert_eq!((&made.tools, &made.limits, &made.inputs), (&of.tools, &of.limits, &of.inputs));
    }
}

#[test]
fn a_name_or_an_alias_finds_one_and_a_mistyped_one_is_helped() {
    let templates = templates(&[]);
    assert_eq!(templates.find("security").unwrap().name.as_str(), "security");
    assert_eq!(templates.find("test-generator").unwrap().name.as_str(), "testing");
    let error = |name: &str| templates.find(name).unwrap_err().to_string();
    expect![[r#"
        there is no template `debuging` (did you mean `debugging`?); there are `debugging`, `code-review`, `documentation`, `testing`, `security`, `blank`
        there is no template `test-generater` (did you mean `test-generator`?); there are `debugging`, `code-review`, `documentation`, `testing`, `security`, `blank`
        there is no template `pastry`; there are `debugging`, `code-review`, `documentation`, `testing`, `security`, `blank`"#]]
    .assert_eq(&["debuging", "test-generater", "pastry"].map(error).join("\n"));
}

#[test]
fn of_the_users_own_the_good_ones_count_and_the_others_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, bytes: &[u8]| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    let own =
        |name: &str| format!("---\nkind: agent\nname: {name}\ntitle: Own\ndescription: Mine.\n---\nDo.\n");
    write("a.md", "\u{feff}".to_owned().as_bytes());
    write("b/security.md", own("security").replace('\n', "\r\n").as_bytes());
    write("c.md", format!("\u{feff}{}", own("release-notes")).as_bytes());
    write("d.md", own("release-notes").as_bytes());
    write("e.md", b"---\nkind: agent\nname: broken\nrun: 5\n---\nDo.\n");
    write("f.md", &own("old").replace("Mine", "M\u{fc}de").chars().map(|it| it as u8).collect::<Vec<_>>());
    write("g.md", &vec![b'x'; 1024 * 1024 + 1]);
    write("h.txt", b"no template");
    write("i.md", own("test-generator").as_bytes());
    let found = templates(&[(folder.path().to_owned(), AgentFormat::Own)]);
    let shown: Vec<String> = found
        .list
        .iter()
        .map(|it| {
            let path =
                it.path.as_ref().map(|path| path.strip_prefix(folder.path()).unwrap().display().to_string());
            format!("{} {}", it.name, path.unwrap_or_else(|| "built in".to_owned()))
        })
        .collect();
    let told = told(&found.problems, folder.path());
    expect![[r#"
        debugging built in
        code-review built in
        documentation built in
        testing built in
        security b/security.md
        blank built in
        release-notes c.md
        old f.md
        test-generator i.md
        error NoFrontMatter a.md:1:1: is empty (begin the file with `---`, the fields one per line, and another `---`)
        error DuplicateName d.md: `release-notes` is the name of the template in …/c.md already
        warning MissingField e.md:2:1: `description` is missing: other agents cannot tell when to call this one
        error WrongType e.md:4:6: `run`: expected a map with `maxTurns`, `maxTimeMinutes`, `maxTokens`, `graceSeconds`, `maxCostUsd`, `onBudget`, `maxContextTokens` or `maxDepth`, found the number 5
        warning BadValue f.md:5:15: is not UTF-8 from here on; the whole file is read as Windows-1252 (save the file as UTF-8)
        error TooLarge g.md: is larger than 1024 KiB
    "#]].assert_eq(&format!("{}\n{told}", shown.join("\n")));
    let security = &found.find("security").unwrap().text;
    assert_eq!(*security, own("security").replace('\n', "\r\n"));
    assert_eq!(found.find("release-notes").unwrap().text, own("release-notes"));
    assert!(found.find("old").unwrap().text.contains("Müde"));
    assert_eq!(found.find("test-generator").unwrap().name.as_str(), "test-generator");
    assert_eq!(templates(&[("/nowhere/templates".into(), AgentFormat::Own)]), templates(&[]));
}

#[test]
fn a_folder_of_hundreds_is_read_up_to_a_bound() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..202 {
        let text = format!("---\nkind: agent\nname: t{number:03}\ndescription: d\n---\nDo.\n");
        fs::write(folder.path().join(format!("{number:03}.md")), text).unwrap();
    }
    let found = templates(&[(folder.path().to_owned(), AgentFormat::Own)]);
    assert_eq!(found.list.len(), 6 + 200);
    let [problem] = &found.problems[..] else { panic!("{:?}", found.problems) };
    assert_eq!((problem.code, problem.path.as_path()), (FileProblemCode::TooLarge, folder.path()));
}

#[test]
fn a_second_folder_adds_those_that_the_first_has_not() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let own = |name: &str| format!("---\nkind: agent\nname: {name}\ndescription: d\n---\nDo.\n");
    for (folder, name) in [(0, "both"), (1, "both"), (1, "other")] {
        fs::write(folders[folder].path().join(format!("{name}.md")), own(name)).unwrap();
    }
    let found = templates(&folders.each_ref().map(|folder| (folder.path().to_owned(), AgentFormat::Own)));
    let path = |name: &str| found.find(name).unwrap().path.clone().unwrap();
    assert_eq!(
        (path("both"), path("other")),
        (folders[0].path().join("both.md"), folders[1].path().join("other.md"))
    );
    let [problem] = &found.problems[..] else { panic!("{:?}", found.problems) };
    assert_eq!(problem.code, FileProblemCode::DuplicateName);
}
