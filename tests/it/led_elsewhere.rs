//! Settings, rules, agents and templates of the user that really lie in a workspace, because links lead there or files have two
//! names, as programs lay them that keep dotfiles: no agent writes them, by whatever tool (spec 11, "By handle, not by name").

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use subagentd::{sandbox::SandboxMechanism, shell::AUTOMATIC};

use crate::{
    process::Home,
    sandbox::mechanisms,
    support::{House, Reply, Running, Script, confined_by},
};

const AGENT: &str =
    "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\ntools: ['*']\n---\nYou write.\n";
const MINE: &str = "---\nkind: agent\nname: mine\ndescription: Reads.\ncompletion: tool\ntools: [read_file]\n---\nYou read.\n";

/// How a file that counts came to lie in the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    PoliciesFolder,
    PolicyFile,
    /// To a link in the workspace that leads on.
    PolicyFileByTwoLinks,
    AgentFile,
    AgentsFolder,
    TemplatesFolder,
    Settings,
    /// There is nothing yet.
    AgentFileToCome,
    HardPolicy,
    HardAgent,
    HardSettings,
}

use Layout::{
    AgentFile, AgentFileToCome, AgentsFolder, HardAgent, HardPolicy, HardSettings, PoliciesFolder,
    PolicyFile, PolicyFileByTwoLinks, Settings, TemplatesFolder,
};

const LAYOUTS: &[Layout] = &[
    PoliciesFolder,
    PolicyFile,
    PolicyFileByTwoLinks,
    AgentFile,
    AgentsFolder,
    TemplatesFolder,
    Settings,
    AgentFileToCome,
    HardPolicy,
    HardAgent,
    HardSettings,
];

impl Layout {
    fn is_hard(self) -> bool {
        matches!(self, HardPolicy | HardAgent | HardSettings)
    }

    /// The file of the workspace, and whether its whole folder is read.
    fn target(self) -> (&'static str, bool) {
        match self {
            PoliciesFolder => ("dot/pol/x.toml", true),
            AgentsFolder => ("dot/agents/mine.md", true),
            TemplatesFolder => ("dot/templates/mine.md", true),
            PolicyFile | PolicyFileByTwoLinks | HardPolicy => ("dot/x.toml", false),
            AgentFile | AgentFileToCome | HardAgent => ("dot/mine.md", false),
            Settings | HardSettings => ("dot/settings.json", false),
        }
    }

    /// Lays the file, and what makes it count.
    fn lay(self, home: &Path) {
        let (target, _) = self.target();
        let target = home.join("work").join(target);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::create_dir_all(home.join("policies")).unwrap();
        let text = match target.extension().and_then(|it| it.to_str()) {
            Some("md") => MINE,
            Some("json") => r#"{"shutdown":{"graceSeconds":0}}"#,
            _ => "# mine\n",
        };
        if self != AgentFileToCome {
            fs::write(&target, text).unwrap();
        }
        let folder = target.parent().unwrap();
        let (policy, agent, settings) =
            (home.join("policies/x.toml"), home.join("agents/mine.md"), home.join("settings.json"));
        match self {
            PoliciesFolder => {
                fs::remove_dir(home.join("policies")).unwrap();
                symlink(folder, home.join("policies")).unwrap();
            }
            PolicyFile => symlink(&target, policy).unwrap(),
            PolicyFileByTwoLinks => {
                symlink("x.toml", folder.join("between")).unwrap();
                symlink(folder.join("between"), policy).unwrap();
            }
            AgentFile | AgentFileToCome => symlink(&target, agent).unwrap(),
            AgentsFolder => symlink(folder, home.join("agents/more")).unwrap(),
            TemplatesFolder => symlink(folder, home.join("templates")).unwrap(),
            Settings => {
                let _none = fs::remove_file(&settings);
                symlink(&target, settings).unwrap();
            }
            HardPolicy => fs::hard_link(&target, policy).unwrap(),
            HardAgent => fs::hard_link(&target, agent).unwrap(),
            HardSettings => {
                let _none = fs::remove_file(&settings);
                fs::hard_link(&target, settings).unwrap();
            }
        }
    }
}

/// What a script tries, whose words name nothing.
fn attack(target: &str) -> String {
    let folder = Path::new(target).parent().unwrap().display();
    let file = Path::new(target).file_name().unwrap().to_str().unwrap();
    format!(
        "cd \"$(dirname \"$0\")\"\nexec 2>/dev/null\n\
         echo evil >> {target}; echo evil > {target}; cp evil {target}; chmod 777 {target}\n\
         (cd {folder}; echo evil > new.toml; echo evil > new.md; ln {file} other; echo evil > other)\n\
         mv {target} {folder}/old; cp evil {target}; rm -f {target}; ln -sf \"$PWD/evil\" {target}\n\
         mv {folder} away; mkdir -p {folder}; cp evil {target}; ln -sfn \"$PWD\" {folder}\n\
         mv dot gone; mkdir -p {folder}; cp evil {target}\n\
         echo x > free/made && echo tried\n"
    )
}

/// Every file below a folder, by its path and what is read there. Links to folders are not followed.
fn all_below(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => pending.push(entry.path()),
                false => {
                    drop(found.insert(entry.path(), fs::read_to_string(entry.path()).unwrap_or_default()))
                }
            }
        }
    }
    found
}

/// What a call was about.
fn subject(arguments: &Value) -> &str {
    arguments["path"].as_str().or_else(|| arguments["command"].as_str()).unwrap_or_default()
}

/// How the calls of a run ended, by what they were about.
async fn ends(running: &Running, run: &str) -> BTreeMap<String, Value> {
    let (mut subjects, mut ends) = (BTreeMap::new(), BTreeMap::new());
    for event in running.log().await.iter().filter(|event| event["runId"] == run) {
        let data = &event["data"];
        let Some(call) = data["callId"].as_str() else { continue };
        if data["arguments"].is_object() {
            subjects.insert(call.to_owned(), subject(&data["arguments"]).to_owned());
        }
        if event["activity"] == "TOOL_CALL_END"
            && let Some(subject) = subjects.get(call)
        {
            ends.insert(subject.clone(), data.clone());
        }
    }
    ends
}

async fn risk(running: &Running, tool: &str, arguments: Value) -> (String, String) {
    let params =
        json!({ "tool": tool, "arguments": arguments, "workspace": running.work(), "agent": "writer" });
    let checked = running.client().request("policy/check", params).await;
    (checked["result"]["risk"].as_str().unwrap_or_default().to_owned(), checked.to_string())
}

/// Each layout, there from the beginning or made while the daemon runs, in each sandbox: nothing that counts is changed unasked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_counts_is_not_written_wherever_it_lies() {
    let mut wrong = Vec::new();
    for mechanism in mechanisms() {
        for layout in LAYOUTS {
            for is_later in [false, true] {
                for problem in try_layout(&mechanism, *layout, is_later).await {
                    wrong.push(format!("{} {layout:?} later={is_later}: {problem}", mechanism.name()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

async fn try_layout(mechanism: &SandboxMechanism, layout: Layout, is_later: bool) -> Vec<String> {
    let (target, is_folder) = layout.target();
    let beside =
        Path::new(target).with_file_name(if target.ends_with("toml") { "new.toml" } else { "new.md" });
    let mut files = vec![target.to_owned()];
    files.extend(is_folder.then(|| beside.to_str().unwrap().to_owned()));
    let mut calls: Vec<(&str, Value)> = Vec::new();
    for file in &files {
        // It puts another file there, so a further name says nothing new.
        if !layout.is_hard() {
            calls.push(("write_file", json!({ "path": file, "content": "evil\n" })));
        }
        calls.push(("run_shell_command", json!({ "command": format!("echo evil > {file}") })));
    }
    let asked = calls.len();
    calls.push(("run_shell_command", json!({ "command": "bash attack.sh" })));
    calls.push(("write_file", json!({ "path": "plain", "content": "x" })));
    let script = Script::new([Reply::calls(&calls), Reply::done("done")]);
    let mut house = House::new()
        .script(&script)
        .agent("writer", AGENT)
        .file("attack.sh", attack(target))
        .file("evil", "evil\n")
        .file("free/kept", "");
    let home = house.dir.path().canonicalize().unwrap();
    house.sandbox = confined_by(&home, mechanism.clone());
    if !is_later {
        layout.lay(&home);
    }
    let running = house.boot().await;
    let mut client = running.client();
    if is_later {
        layout.lay(&home);
        client.call("daemon/reload", json!({})).await;
    }
    let before = all_below(&home.join("work/dot"));
    let approval = json!({ "mode": "autoEdit", "autoApprove": ["low", "medium"], "headless": true });
    let (run, _) = client.start(&running, "writer", json!({ "approval": approval })).await;
    client.ended(&run).await;
    let ends = ends(&running, &run).await;
    let mut wrong = Vec::new();
    for (tool, arguments) in &calls[..asked] {
        let end = ends.get(subject(arguments)).cloned().unwrap_or_default();
        if !["NO_CLIENT", "POLICY_DENIED"].map(Value::from).contains(&end["error"]["type"]) {
            wrong.push(format!("{tool} {arguments}: {end}"));
        }
        let (risk, said) = risk(&running, tool, arguments.clone()).await;
        if risk != "critical" {
            wrong.push(format!("{tool} {arguments} is {risk}: {said}"));
        }
    }
    let tried = ends.get("bash attack.sh").map(Value::to_string).unwrap_or_default();
    if !tried.contains("tried") {
        wrong.push(format!("the script did not come to its end: {tried}"));
    }
    let after = all_below(&home.join("work/dot"));
    let file = home.join("work").join(target);
    let is_same = if is_folder { after == before } else { after.get(&file) == before.get(&file) };
    if !is_same {
        wrong.push(format!("{before:?} became {after:?}"));
    }
    let read = ["policies", "agents", "templates", "settings.json"].map(|name| home.join(name));
    for (path, text) in read.iter().flat_map(|place| all_below(place)) {
        if text.contains("evil") {
            wrong.push(format!("{} reads {text}", path.display()));
        }
    }
    if !home.join("work/plain").exists() {
        wrong.push("what counts nowhere was not written".to_owned());
    }
    drop(client);
    running.stop().await;
    wrong
}

/// The daemon as it is started, with the places of its environment: the folders of other products count, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_daemon_guards_where_each_of_its_places_leads() {
    let home = Home::new();
    let work = home.path("work");
    let places = [
        ("config/subagentd/policies/x.toml", "rules/x.toml"),
        ("config/subagentd/agents/a.md", "own/a.md"),
        ("config/subagentd/agents/more", "own-more"),
        ("config/subagentd/agents/templates", "own-templates"),
        ("config/subagentd/templates", "templates"),
        (".claude/agents/a.md", "claude/a.md"),
        (".claude/agents/more", "claude-more"),
        (".gemini/agents/a.md", "gemini/a.md"),
        ("config/opencode/agent/a.md", "opencode/a.md"),
        ("config/opencode/agents", "opencode-all"),
        ("config/subagentd/skills/more", "own-skills"),
        (".agents/skills/one", "agents-skills"),
        // As Codex keeps its own.
        (".agents/skills/.system", "agents-system"),
        (".claude/skills/.deep/.er", "claude-skills"),
    ];
    for (place, target) in places {
        let (place, target) = (home.path(place), work.join(target));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        match target.extension() {
            Some(_) => {
                fs::create_dir_all(target.parent().unwrap()).unwrap();
                fs::write(&target, "# x\n").unwrap();
            }
            None => fs::create_dir_all(&target).unwrap(),
        }
        symlink(target, place).unwrap();
    }
    fs::write(home.path("config/subagentd/agents/writer.md"), AGENT).unwrap();
    let served = home.start().await;
    let mut wire = home.connect().await;
    for (place, target) in places {
        let file = match Path::new(target).extension() {
            Some(_) => target.to_owned(),
            None => format!("{target}/new.md"),
        };
        for (tool, arguments) in [
            ("write_file", json!({ "path": file, "content": "x" })),
            ("run_shell_command", json!({ "command": format!("echo x > {file}") })),
        ] {
            let params =
                json!({ "tool": tool, "arguments": arguments, "workspace": work, "agent": "writer" });
            let checked = wire.request("policy/check", params).await.unwrap();
            assert_eq!(checked["result"]["risk"], "critical", "{place} -> {file}: {checked}");
        }
    }
    let plain = json!({ "path": "own/plain", "content": "x" });
    let params = json!({ "tool": "write_file", "arguments": plain, "workspace": work, "agent": "writer" });
    let checked = wire.request("policy/check", params).await.unwrap();
    assert_eq!(checked["result"]["risk"], "low", "{checked}");
    drop(wire);
    served.stop().await;
}

/// Each file of the table as a link beside the root, to a file and to a folder, and what git's settings name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_links_of_automatic_files_lead_to_is_high() {
    for is_folder in [false, true] {
        let house = House::new().agent("writer", AGENT).file("real/plain", "x");
        let work = house.work().canonicalize().unwrap();
        let mut files: Vec<(String, String)> = Vec::new();
        // One that holds others is a folder here.
        let holds = |path: &str| AUTOMATIC.iter().any(|row| row.path.starts_with(&format!("{path}/")));
        for (number, row) in AUTOMATIC.iter().enumerate().filter(|(_, row)| !holds(row.path)) {
            let (link, target) =
                (work.join(row.path.replace('*', "x")), work.join(format!("real/t{number}")));
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            if is_folder {
                fs::create_dir(&target).unwrap();
            } else {
                fs::write(&target, "").unwrap();
            }
            symlink(&target, &link).unwrap();
            let file = if is_folder { format!("real/t{number}/below") } else { format!("real/t{number}") };
            files.push((row.path.to_owned(), file));
        }
        fs::create_dir_all(work.join("real/own")).unwrap();
        symlink(work.join("real/own"), work.join(".subagentd")).unwrap();
        files.push((".subagentd".to_owned(), "real/own/agents/x.md".to_owned()));
        let running = house.boot().await;
        let mut wrong = Vec::new();
        for (link, file) in &files {
            for (tool, arguments) in [
                ("write_file", json!({ "path": file, "content": "x" })),
                ("run_shell_command", json!({ "command": format!("echo x > {file}") })),
            ] {
                let (risk, said) = risk(&running, tool, arguments).await;
                if risk != "high" {
                    wrong.push(format!("{link} -> {file}, {tool}: {risk} {said}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), files.len(), wrong.join("\n"));
        let (plain, said) =
            risk(&running, "write_file", json!({ "path": "real/plain", "content": "y" })).await;
        assert_eq!(plain, "low", "{said}");
        running.stop().await;
    }
}

#[tokio::test]
async fn what_direnv_evaluates_is_high() {
    for (text, expected) in [("use flake\n", "high"), ("export A=1\n", "low")] {
        let running = House::new().agent("writer", AGENT).file(".envrc", text).boot().await;
        let (written, said) =
            risk(&running, "write_file", json!({ "path": "flake.nix", "content": "x" })).await;
        assert_eq!(written, expected, "{said}");
        running.stop().await;
    }
}

#[tokio::test]
async fn what_settings_of_git_name_is_high() {
    let house = House::new()
        .agent("writer", AGENT)
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/config", "[include]\n\tpath = ../shared/git\n")
        .file("shared/git", "[includeIf \"gitdir:~/\"]\n\tpath = more\n[core]\n\thooksPath = checks\n")
        .file("shared/more", "[alias]\n\tx = log\n");
    let running = house.boot().await;
    for file in ["shared/git", "shared/more", "checks/pre-push"] {
        let (written, said) = risk(&running, "write_file", json!({ "path": file, "content": "x" })).await;
        assert_eq!(written, "high", "{file}: {said}");
        let command = format!("echo x > {file}");
        let (written, said) = risk(&running, "run_shell_command", json!({ "command": command })).await;
        assert_eq!(written, "high", "{file}: {said}");
    }
    let (other, said) = risk(&running, "write_file", json!({ "path": "shared/x", "content": "x" })).await;
    assert_eq!(other, "low", "{said}");
    running.stop().await;
}
