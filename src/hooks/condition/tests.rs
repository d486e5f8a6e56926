//! Conditions of hooks beside calls.

use super::*;
use protocol::{CallId, ToolName};
use serde_json::json;

fn check(condition: &str, tool: &str, arguments: Value, expected: bool) {
    check_prepared(condition, tool, arguments, Vec::new(), expected);
}

fn check_prepared(
    condition: &str,
    tool: &str,
    arguments: Value,
    accesses: Vec<ResourceAccess>,
    expected: bool,
) {
    let read = HookCondition::read(condition).unwrap();
    let call = HookedCall {
        call_id: CallId::from("c"),
        tool: ToolName::from(tool),
        mcp: tool
            .strip_prefix("mcp.")
            .and_then(|rest| rest.split_once('.'))
            .map(|(a, b)| (a.into(), b.into())),
        answered_by: None,
        arguments,
        accesses,
        page: None,
    };
    let matched = read.matches(&call, &within(&[PathBuf::from("/w")]));
    assert_eq!(matched, expected, "{condition} {tool} {} {:?}", call.arguments, call.accesses);
}

#[test]
fn a_rule_about_commands_means_each_command_of_a_text_and_what_cannot_be_read() {
    let bash = |condition: &str, command: &str, expected| {
        check(condition, "run_shell_command", json!({ "command": command }), expected);
    };
    bash("Bash", "ls", true);
    bash("Bash(*)", "ls", true);
    bash("Bash(git *)", "git push", true);
    bash("Bash(git *)", "git", true);
    bash("Bash(git *)", "gitk", false);
    bash("Bash(git:*)", "git push", true);
    bash("Bash(git push)", "git push --force", false);
    bash("Bash(git * main)", "git push origin main", true);
    bash("Bash(git *)", "cd x && git push", true);
    bash("Bash(git *)", "echo $(git push)", true);
    bash("Bash(git *)", "FOO=1 /usr/bin/git push", true);
    bash("Bash(git *)", "bash -c 'git push'", true);
    bash("Bash(git *)", "ls | wc -l", false);
    bash("Bash(git *)", "$TOOL push", true);
    bash("Bash(git *)", "echo 'unclosed", true);
    bash("Bash(rm *)", "find . -exec rm {} ;", true);
    bash("Write(x)", "git push", false);
}

#[test]
fn a_rule_about_files_means_paths_below_root_home_or_anywhere() {
    let edit = |condition: &str, path: &str, expected| {
        check(condition, "edit_file", json!({ "path": path }), expected);
    };
    edit("Edit(*.ts)", "src/a/b.ts", true);
    edit("Edit(*.ts)", "src/a/b.tsx", false);
    edit("Edit(src/**)", "src/a/b", true);
    edit("Edit(src/**)", "lib/a", false);
    edit("Edit(/src/*.rs)", "/w/src/a.rs", true);
    edit("Edit(/src/*.rs)", "/w/src/a/b.rs", false);
    edit("Edit(~/x/**)", "/home/me/x/y", true);
    edit("Edit(//etc/**)", "/etc/passwd", true);
    edit("Edit(.env)", ".env", true);
    edit("Edit(src)", "src/x", true);
    edit("Edit(src/**)", "lib/../src/a", true);
    edit("Edit(/src/a)", "src//a", true);
    edit("Edit(/src/a)", "src/./a", true);
    edit("Edit(.env)", "/another/root/.env", true);
    edit("Edit(.env)", "path-bytes:LmVudg", true);
    for (path, expected) in [("y.ts", true), ("a/y.tsx", true), ("y.js", false), ("y.{ts,tsx}", true)] {
        edit("Edit(*.{ts,tsx})", path, expected);
    }
    for (path, expected) in [("y.ts", true), ("y.js", true), ("y.rs", false), ("y.[tj]s", true)] {
        edit("Edit(*.[tj]s)", path, expected);
    }
    edit("Edit(/[!a-c]x)", "/w/dx", true);
    edit("Edit(/[!a-c]x)", "/w/bx", false);
    edit("Edit(/{src,lib/**}/[id].tsx)", "/w/lib/a/[id].tsx", true);
    edit("Edit(/{src,lib}/[id].tsx)", "/w/tests/x.tsx", false);
    // What is no set is a name.
    edit("Edit(/a[b)", "/w/a[b", true);
    edit("Edit(/a{b)", "/w/ab", false);
}

/// Folders as `.gitignore`, `realpath`, hooks' commands and people write them; and what is more than one pattern.
#[test]
fn a_rule_about_files_may_be_written_as_a_folder_a_whole_path_or_a_list() {
    let edit = |condition: &str, path: &str, expected| {
        check(condition, "edit_file", json!({ "path": path }), expected);
    };
    for condition in
        ["Edit(src/)", "Edit(/src/)", "Edit(./src/)", "Edit(/w/src/**)", "Edit(/w/src)", "Edit(//w/src/)"]
    {
        edit(condition, "src/d/x", true);
        edit(condition, "lib/x", false);
    }
    for condition in ["Edit($CLAUDE_PROJECT_DIR/src/**)", "Edit(${CLAUDE_PROJECT_DIR}/src)"] {
        edit(condition, "src/x", true);
        edit(condition, "lib/x", false);
    }
    for condition in ["Edit(src/**, lib/**)", "Edit(!src/**)", "Edit($HOME/x)", "Edit(a,b)"] {
        assert!(HookCondition::read(condition).unwrap().is_unclear(), "{condition}");
        edit(condition, "src/x", true);
        edit(condition, "lib/x", true);
    }
    for condition in ["Edit(*.{ts,tsx})", "Edit(a[,]b)", "Edit(src)", "Bash(git *)", "Edit"] {
        assert!(!HookCondition::read(condition).unwrap().is_unclear(), "{condition}");
    }
}

#[test]
fn a_rule_about_a_host_may_be_written_as_an_address() {
    let fetch = |condition: &str, url: &str, expected| {
        check(condition, "web_fetch", json!({ "prompt": format!("see {url}") }), expected);
    };
    for host in ["example.com", "*.example.com", "https://example.com", "https://example.com:443/docs"] {
        let condition = format!("WebFetch(domain:{host})");
        fetch(&condition, "https://a.example.com/x", true);
        fetch(&condition, "https://example.com/x", true);
        fetch(&condition, "https://example.org/x", false);
    }
    // What nobody can read means every address.
    fetch("WebFetch(domain:exa*ple.com)", "https://example.org/x", true);
}

#[test]
fn a_rule_about_editing_or_reading_means_every_tool_that_does() {
    check("Edit(src/**)", "write_file", json!({ "path": "src/a" }), true);
    check("Edit(src/**)", "move_file", json!({ "source": "a", "destination": "src/a" }), true);
    check("Edit(src/**)", "delete_file", json!({ "path": "lib/a" }), false);
    check("Write(src/**)", "edit_file", json!({ "path": "src/a" }), false);
    check("Read(.env)", "read_many_files", json!({ "include": ["a", ".env"] }), true);
    check("Read(.env)", "read_many_files", json!({ "include": ["**/*"] }), true);
    check("Read(.env)", "grep", json!({ "pattern": "x", "path": "src" }), false);
    check("Read(.env)", "write_file", json!({ "path": ".env" }), false);
}

#[test]
fn a_rule_about_files_means_what_a_path_leads_to() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("src")).unwrap();
    std::fs::write(root.join("src/secret.txt"), "").unwrap();
    std::os::unix::fs::symlink("src", root.join("alias")).unwrap();
    std::os::unix::fs::symlink("src/secret.txt", root.join("note")).unwrap();
    let rule = HookCondition::read("Edit(/src/secret.txt)").unwrap();
    for (path, expected) in
        [("src/secret.txt", true), ("alias/secret.txt", true), ("note", true), ("alias/other.txt", false)]
    {
        let call = HookedCall {
            call_id: CallId::from("c"),
            tool: ToolName::from("edit_file"),
            mcp: None,
            answered_by: None,
            arguments: json!({ "path": path }),
            accesses: Vec::new(),
            page: None,
        };
        assert_eq!(rule.matches(&call, &within(std::slice::from_ref(&root))), expected, "{path}");
    }
    // What is not there yet lies where its folder leads, or a link that leads nowhere yet.
    std::os::unix::fs::symlink("src/new.txt", root.join("later")).unwrap();
    let rule = HookCondition::read("Edit(/src/new.txt)").unwrap();
    for path in ["alias/new.txt", "later"] {
        let call = HookedCall {
            call_id: CallId::from("c"),
            tool: ToolName::from("write_file"),
            mcp: None,
            answered_by: None,
            arguments: json!({ "path": path }),
            accesses: Vec::new(),
            page: None,
        };
        assert!(rule.matches(&call, &within(std::slice::from_ref(&root))), "{path}");
    }
}

#[test]
fn hosts_servers_and_mistakes() {
    check("WebFetch(domain:example.com)", "web_fetch", json!({ "urls": ["https://a.example.com/x"] }), true);
    check("WebFetch(domain:example.com)", "web_fetch", json!({ "prompt": "read http://example.org" }), false);
    check("mcp__github", "mcp.github.create", json!({}), true);
    check("mcp__github__*", "mcp.github.create", json!({}), true);
    check("mcp__github__list", "mcp.github.create", json!({}), false);
    for text in ["", "Bash(", "Bash)", "(x)", "two words(x)"] {
        assert!(HookCondition::read(text).is_err(), "{text}");
    }
}

/// What a call touches is what was prepared of it, however its arguments were spelled.
#[test]
fn a_rule_about_files_means_what_the_prepared_call_touches() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("src/deep")).unwrap();
    std::fs::create_dir(root.join("lib")).unwrap();
    let read = |path: &str| ResourceAccess::Read { path: root.join(path) };
    let write = |path: &str| ResourceAccess::Write { path: root.join(path) };
    let check = |condition: &str, tool: &str, accesses: &[ResourceAccess], expected: bool| {
        let call = HookedCall {
            call_id: CallId::from("c"),
            tool: ToolName::from(tool),
            mcp: None,
            answered_by: None,
            arguments: json!({ "path": "spelled-otherwise" }),
            accesses: accesses.to_vec(),
            page: None,
        };
        let matched =
            HookCondition::read(condition).unwrap().matches(&call, &within(std::slice::from_ref(&root)));
        assert_eq!(matched, expected, "{condition} {tool} {accesses:?}");
    };
    // A folder that is read whole is met by what may lie in it, and by nothing else.
    for tool in ["grep", "glob", "list_directory", "read_many_files"] {
        check("Read(.env)", tool, &[read("")], true);
        check("Read(.env)", tool, &[read("src")], true);
        check("Read(src/deep/key)", tool, &[read("")], true);
        check("Read(src/deep/key)", tool, &[read("src")], true);
        check("Read(src/*/key)", tool, &[read("src/deep")], true);
        check("Read(src/**/key)", tool, &[read("src/deep")], true);
        check("Read(src/deep/key)", tool, &[read("lib")], false);
        check("Read(//etc/passwd)", tool, &[read("src")], false);
        check("Read(~/key)", tool, &[read("src")], false);
    }
    check("Read(src/key)", "read_file", &[read("src/key")], true);
    check("Read(src/key)", "read_file", &[read("lib/key")], false);
    // Every tool that was prepared as one that writes, or reads, is one.
    check("Edit(AGENTS.md)", "save_memory", &[write("AGENTS.md")], true);
    check("Edit(src/**)", "save_memory", &[write("AGENTS.md")], false);
    check("Edit(src/**)", "of_another_kind", &[write("src/a")], true);
    check("Read(src/**)", "of_another_kind", &[read("src/a")], true);
    check("Edit(src/**)", "of_another_kind", &[read("src/a")], false);
    // A folder that is moved takes along what lies in it; one that is made on the way does not.
    check("Edit(src/deep/key)", "move_file", &[write("src"), write("other")], true);
    check("Edit(*.ts)", "write_file", &[write("src/deep/a.txt"), write("src/deep")], false);
    // What a command or a server's tool touches is not known so.
    let command = ResourceAccess::Execute { command: "sh x".to_owned() };
    check("Edit(src/**)", "run_shell_command", &[command, write("src/a")], false);
    // A name that is no text may be any.
    check("Read(.env)", "read_file", &[read("path-bytes:Y2Fm6Q")], true);
}

/// A host is compared as it is asked for.
#[test]
fn a_rule_about_a_host_means_every_spelling_of_it() {
    let spellings = [
        "EXAMPLE.com.",
        "a.example.com",
        "me@example.com",
        "ｅxample.com",
        "example。com",
        "exa\u{ad}mple.com",
    ];
    for host in spellings {
        let prompt = json!({ "prompt": format!("see https://{host}/x") });
        check("WebFetch(domain:example.com)", "web_fetch", prompt, true);
        let urls = json!({ "urls": [format!("https://{host}")] });
        check("WebFetch(domain:Example.com.)", "web_fetch", urls, true);
    }
    let fetched = |url: &str| vec![ResourceAccess::Fetch { url: url.to_owned() }];
    let other = || json!({ "prompt": "spelled otherwise" });
    let rule = "WebFetch(domain:example.com)";
    check_prepared(rule, "web_fetch", other(), fetched("https://example.com/x"), true);
    check_prepared(rule, "web_fetch", other(), fetched("https://example.org/example.com"), false);
    check(rule, "web_fetch", json!({ "urls": ["https://notexample.com"] }), false);
}

fn within(roots: &[PathBuf]) -> CalledWithin<'_> {
    CalledWithin { roots, home: Path::new("/home/me") }
}

/// Editors open several folders in one session.
#[test]
fn a_rule_about_files_means_those_of_each_root() {
    let roots = ["/w/one", "/w/secrets/two"].map(PathBuf::from);
    for (condition, path, expected) in [
        ("Read(**/.env)", "/w/one/.env", true),
        ("Read(**/.env)", "/w/secrets/two/app/.env", true),
        ("Read(secrets/**)", "/w/secrets/two/secrets/key", true),
        ("Read(/secrets/**)", "/w/secrets/two/secrets/key", true),
        ("Read(**/secrets/**)", "/w/secrets/two/a/secrets/key", true),
        // Folders above a root are no part of what a pattern means.
        ("Read(**/secrets/**)", "/w/secrets/two/a", false),
        ("Read(secrets/**)", "/w/secrets/two/a", false),
        // A skill's folder lies outside of all of them.
        ("Read(**/.env)", "/home/me/.claude/skills/x/.env", true),
        ("Read(app/.env)", "/home/me/.claude/skills/app/.env", false),
    ] {
        let call = HookedCall {
            call_id: CallId::from("c"),
            tool: ToolName::from("read_file"),
            mcp: None,
            answered_by: None,
            arguments: json!({ "path": path }),
            accesses: vec![ResourceAccess::Read { path: PathBuf::from(path) }],
            page: None,
        };
        let matched = HookCondition::read(condition).unwrap().matches(&call, &within(&roots));
        assert_eq!(matched, expected, "{condition} {path}");
    }
}

/// Whoever joins rules, or writes them as another product does, believes that they guard.
#[test]
fn patterns_of_other_forms_are_met_or_said_to_be_unclear() {
    for text in ["Edit(*.ts)|Write(*.ts)", "Bash(git *) or Bash(rm *)", "Read(a) || Read(b)"] {
        assert!(HookCondition::read(text).unwrap_err().contains("more than one rule"), "{text}");
    }
    for text in [
        "Bash(\"git *\")",
        "Bash(^git$)",
        "Bash(command:git *)",
        "Bash(git\\s+push)",
        "Edit(file_path=*.ts)",
        "Edit(*.ts *.tsx)",
        "Edit((*.ts))",
        "Edit('*.ts')",
        "Edit(*.ts|*.tsx)",
        "Edit(.*\\.ts)",
        "Edit(../x/**)",
        "Edit(src/*/../a)",
    ] {
        assert!(HookCondition::read(text).unwrap().is_unclear(), "{text}");
    }
    for text in ["Bash(git *|rm *)", "Bash(git *,rm *)", "Bash(git *, rm *)"] {
        for (command, expected) in [("git push", true), ("rm x", true), ("ls", false)] {
            check(text, "run_shell_command", json!({ "command": command }), expected);
        }
    }
    check("Bash(curl * | sh)", "run_shell_command", json!({ "command": "curl x" }), false);
    check("Bash(echo (a) *)", "run_shell_command", json!({ "command": "echo b" }), false);
    for text in ["Edit(.)", "Edit(./)", "Edit(/)"] {
        check(text, "edit_file", json!({ "path": "src/a" }), true);
    }
    check("Edit(~)", "edit_file", json!({ "path": "/home/me/a" }), true);
    check("Edit(~)", "edit_file", json!({ "path": "src/a" }), false);
}
