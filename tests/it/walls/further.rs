//! A script changes nothing that git's settings name, and makes nothing in a home that is the workspace by which programs run something;
//! what the daemon itself makes there is not told as an agent's.

use serde_json::{Value, json};

use crate::{
    process::Home,
    support::{self, Reply, Script, confined_by},
};

use super::*;

const AGENT: &str =
    "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\ntools: ['*']\n---\nYou write.\n";

/// What git's settings name there, by its file.
const NAMED: &[&str] = &[".tools/hooks/post-index-change", "tools/fsm.sh", "tools/filter.sh", "conf/inc"];

#[tokio::test]
async fn what_gits_settings_name_stays_what_it_was_and_runs_nothing_of_a_scripts() {
    for mechanism in mechanisms() {
        let script = "exec 2>/dev/null\nevil() { printf '#!/bin/sh\\ntouch %s/../ran\\ncat\\n' \"$PWD\" > $1; chmod 755 $1; }\n\
                      evil .tools/hooks/post-index-change; evil .tools/hooks/pre-commit; evil tools/fsm.sh; evil tools/filter.sh\n\
                      printf '[core]\\n\\tfsmonitor = \"touch %s/../ran; false\"\\n' \"$PWD\" > conf/inc\necho x > tools/made; echo over\n";
        let calls = Reply::calls(&[("run_shell_command", json!({ "command": "bash s.sh" }))]);
        let mut house = support::House::new()
            .script(&Script::new(vec![calls, Reply::done("done")]))
            .agent("writer", AGENT)
            .file("s.sh", script)
            .file("conf/inc", "")
            .file(".gitattributes", "*.q filter=q\n")
            .file("f.q", "x\n");
        for name in &NAMED[..3] {
            house = house.file(name, "#!/bin/sh\ncat\n");
        }
        house.sandbox = confined_by(house.dir.path(), mechanism.clone());
        let work = house.work();
        for name in &NAMED[..3] {
            fs::set_permissions(work.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=x", "-c", "user.email=x@example.com"]).arg("-C").arg(&work);
            git.args(arguments).output().unwrap()
        };
        assert!(git(&["init", "-q", "-b", "main"]).status.success());
        git(&["add", "."]);
        git(&["commit", "-q", "-m", "first"]);
        for (key, value) in [
            ("core.hooksPath", ".tools/hooks"),
            ("core.fsmonitor", "tools/fsm.sh"),
            ("filter.q.clean", "./tools/filter.sh"),
            ("include.path", "../conf/inc"),
        ] {
            assert!(git(&["config", key, value]).status.success());
        }
        let before = NAMED.iter().map(|name| fs::read_to_string(work.join(name)).unwrap());
        let before: Vec<String> = before.collect();
        let running = house.boot().await;
        let mut client = running.client();
        let approval = json!({ "autoApprove": ["low", "medium"], "headless": true });
        let (run, _) = client.start(&running, "writer", json!({ "approval": approval })).await;
        client.ended(&run).await;
        let log: Vec<Value> = running.log().await;
        let end = log.iter().find(|event| event["activity"] == "TOOL_CALL_END").unwrap().to_string();
        assert!(end.contains("over"), "{mechanism:?}: {end}");
        for (name, before) in NAMED.iter().zip(before) {
            assert_eq!(fs::read_to_string(work.join(name)).unwrap(), before, "{mechanism:?}, {name}: {end}");
        }
        assert!(!work.join(".tools/hooks/pre-commit").exists(), "{mechanism:?}: {end}");
        assert!(work.join("tools/made").exists(), "{mechanism:?}");
        if !matches!(mechanism, SandboxMechanism::Bubblewrap { .. }) {
            assert!(end.contains("`tools/fsm.sh` was changed"), "{end}");
        }
        fs::write(work.join("f.q"), "changed\n").unwrap();
        git(&["status"]);
        git(&["commit", "-q", "-a", "-m", "second"]);
        assert!(!work.join("../ran").exists(), "{mechanism:?}: the person's git ran it");
        drop(client);
        running.stop().await;
    }
}

#[tokio::test]
async fn what_a_script_makes_in_a_home_is_put_aside_and_keys_keep_their_names() {
    if !mechanisms().iter().any(|it| matches!(it, SandboxMechanism::Bubblewrap { .. })) {
        return;
    }
    let home = Home::new();
    // Under another name a key would be hidden from nobody, so these are told and keep theirs.
    let keys = [".ssh/config", ".ssh/authorized_keys", ".aws/config", ".claude.json", ".netrc"];
    let evil = [
        ".cargo/config.toml",
        ".local/share/dbus-1/services/x.service",
        "bin/python3",
        "later/bin/ls",
        ".a-product-of-tomorrow/run",
        ".one-of-today/new",
        ".a-start-file",
    ];
    fs::create_dir_all(home.path(".one-of-today")).unwrap();
    fs::write(home.path(".one-of-today/run"), "a person's").unwrap();
    let made = [".kube/cache/x", ".cargo/registry/x", "plain/x"];
    let script: Vec<String> = evil
        .iter()
        .chain(&keys)
        .chain(&made)
        .chain(&[".one-of-today/run"])
        .map(|name| format!("mkdir -p $(dirname {name}); echo MINE > {name}"))
        .collect();
    fs::write(home.path("s.sh"), format!("exec 2>/dev/null\n{}\necho over\n", script.join("\n"))).unwrap();
    let rules = home.path("config/subagentd/policies");
    fs::create_dir_all(&rules).unwrap();
    fs::write(rules.join("all.toml"), "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n").unwrap();
    let path = format!("{}:{}", std::env::var("PATH").unwrap(), home.path("later/bin").display());
    let served = home.start_with(&[("PATH", &path)]).await;
    for command in [
        "command=echo one",
        "command=bash s.sh",
        "command=echo two; cat .netrc .ssh/config .*not-run*/config .not-run/*config .not-run/*/config; true",
    ] {
        let words = ["tools", "call", "run_shell_command", "--args", command];
        let called = home.companion(&words).current_dir(home.path("")).output().await.unwrap();
        let said = String::from_utf8_lossy(&called.stdout).into_owned();
        let said = said + &String::from_utf8_lossy(&called.stderr);
        assert!(called.status.success(), "{said}");
        assert!(!said.contains(".agents"), "{command}: {said}");
        assert_eq!(said.contains("came to be"), command.contains("s.sh"), "{command}: {said}");
        assert!(!said.contains("MINE"), "{command}: {said}");
    }
    for name in evil {
        assert!(!home.path(name).exists(), "{name}");
    }
    for name in made.iter().chain(&keys) {
        assert!(home.path(name).exists(), "{name}");
    }
    assert_eq!(fs::read_to_string(home.path(".one-of-today/run")).unwrap(), "a person's");
    let told = home.companion(&["doctor"]).output().await.unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    for name in [
        ".ssh",
        ".a-start-file",
        ".aws/config",
        ".claude.json",
        ".netrc",
        ".cargo/config.toml",
        "bin",
        "later/bin",
    ] {
        assert!(told.contains(&format!("`{name}`")), "{name}: {told}");
    }
    served.stop().await;
}

/// A folder of dotfiles is a workspace like others, and the home's links and start files lead into it.
#[tokio::test]
async fn what_the_homes_links_and_start_files_lead_to_stays_as_it_was_in_any_workspace() {
    let home = Home::new();
    let dots = ["zsh/zshrc", "nvim/init.lua", "vim/me.vim", "sh/aliases", "bin/tool", "made/x"];
    for name in dots {
        let path = home.path("dots").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "a person's\n").unwrap();
    }
    for folder in [".config", ".local/bin", ".local/share", ".vim/plugin"] {
        fs::create_dir_all(home.path(folder)).unwrap();
    }
    for (link, to) in [
        (".zshrc", "dots/zsh/zshrc"),
        (".config/nvim", "../dots/nvim"),
        (".vim/plugin/me.vim", "../../dots/vim/me.vim"),
        (".local/bin/tool", "../../dots/bin/tool"),
        (".local/share/made", "../../dots/made"),
    ] {
        std::os::unix::fs::symlink(to, home.path(link)).unwrap();
    }
    fs::write(home.path(".bashrc"), "source ~/dots/sh/aliases\n").unwrap();
    let script = "for f in zsh/zshrc nvim/init.lua nvim/later.lua vim/me.vim sh/aliases bin/tool made/x made/y; do echo MINE >> $f; done 2>/dev/null; echo over\n";
    fs::write(home.path("dots/s.sh"), script).unwrap();
    let rules = home.path("config/subagentd/policies");
    fs::create_dir_all(&rules).unwrap();
    fs::write(rules.join("all.toml"), "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n").unwrap();
    let served = home.start().await;
    let words = ["tools", "call", "run_shell_command", "--args", "command=sh s.sh"];
    let called = home.companion(&words).current_dir(home.path("dots")).output().await.unwrap();
    let said = String::from_utf8_lossy(&called.stdout).into_owned();
    assert!(said.contains("over"), "{said}");
    for name in dots.iter().filter(|name| **name != "made/x") {
        assert_eq!(
            fs::read_to_string(home.path("dots").join(name)).unwrap(),
            "a person's\n",
            "{name}: {said}"
        );
    }
    assert!(!home.path("dots/nvim/later.lua").exists(), "{said}");
    assert!(home.path("dots/made/y").exists(), "what builds make: {said}");
    served.stop().await;
}

/// What a line of git alone checks out is a commit's; what its hooks and settings run is not.
#[tokio::test]
async fn what_git_runs_plants_nothing_and_what_it_checks_out_stays() {
    for mechanism in mechanisms() {
        let plant = "#!/bin/sh\nfor f in .envrc .mcp.json; do echo evil > \"$(git rev-parse --show-toplevel 2>/dev/null || pwd)/../work/$f\"; done\n";
        let hook = "#!/bin/sh\nsh lint.sh\n";
        let sub = "sh make.sh >/dev/null 2>&1; echo over";
        let commands = [
            sub,
            "git -C sub status",
            "git commit -q --allow-empty -m one",
            "git switch -q other",
            "git switch -q main",
        ];
        let mut replies: Vec<Reply> = commands
            .iter()
            .map(|command| Reply::calls(&[("run_shell_command", json!({ "command": command }))]))
            .collect();
        replies.push(Reply::done("done"));
        let mut house = support::House::new()
            .script(&Script::new(replies))
            .agent("writer", AGENT)
            .file("lint.sh", "echo evil > .envrc\necho evil > .mcp.json\n")
            .file("make.sh", format!("git init -q sub\ncat > sub/fsm <<'EOF'\n{plant}EOF\nchmod 755 sub/fsm\ngit -C sub config core.fsmonitor ./fsm\n"));
        house.sandbox = confined_by(house.dir.path(), mechanism.clone());
        let work = house.work();
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=x", "-c", "user.email=x@example.com"]).arg("-C").arg(&work);
            let output = git.args(arguments).output().unwrap();
            assert!(output.status.success(), "{arguments:?}: {output:?}");
        };
        git(&["init", "-q", "-b", "main"]);
        git(&["config", "user.name", "x"]);
        git(&["config", "user.email", "x@example.com"]);
        git(&["add", "lint.sh"]);
        git(&["commit", "-q", "-m", "first"]);
        git(&["switch", "-q", "-c", "other"]);
        fs::write(work.join("mise.toml"), "of a commit\n").unwrap();
        git(&["add", "mise.toml"]);
        git(&["commit", "-q", "-m", "second"]);
        git(&["switch", "-q", "main"]);
        fs::create_dir_all(work.join(".git/hooks")).unwrap();
        fs::write(work.join(".git/hooks/pre-push"), "#!/bin/sh\n").unwrap();
        fs::write(work.join(".git/hooks/commit-msg.sample"), "#!/bin/sh\n").unwrap();
        let hook_file = work.join(".git/hooks/pre-commit");
        fs::write(&hook_file, hook).unwrap();
        fs::set_permissions(&hook_file, fs::Permissions::from_mode(0o755)).unwrap();
        let running = house.boot().await;
        let mut client = running.client();
        let approval = json!({ "autoApprove": ["low", "medium"], "headless": true });
        let (run, _) = client.start(&running, "writer", json!({ "approval": approval })).await;
        client.ended(&run).await;
        let log: Vec<Value> = running.log().await;
        let ends: Vec<String> =
            log.iter().filter(|event| event["activity"] == "TOOL_CALL_END").map(Value::to_string).collect();
        assert_eq!(ends.len(), commands.len() + 1, "{ends:#?}");
        for name in [".envrc", ".mcp.json"] {
            assert!(!work.join(name).exists(), "{mechanism:?}, {name}: {ends:#?}");
        }
        assert!(ends[2].contains("`.envrc` came to be"), "{mechanism:?}: {}", ends[2]);
        assert!(!ends[3].contains("mise.toml"), "{mechanism:?}: {}", ends[3]);
        drop(client);
        running.stop().await;
    }
}
