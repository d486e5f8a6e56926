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
    let evil =
        [".cargo/config.toml", ".local/share/dbus-1/services/x.service", "bin/python3", "later/bin/ls"];
    let made = [".kube/cache/x", ".cargo/registry/x", "plain/x"];
    let script: Vec<String> = evil
        .iter()
        .chain(&keys)
        .chain(&made)
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
        "command=echo two; cat .netrc .ssh/config .*not-run*/config; true",
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
    let told = home.companion(&["doctor"]).output().await.unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    for name in [".ssh", ".aws/config", ".claude.json", ".netrc", ".cargo/config.toml", "bin", "later/bin"] {
        assert!(told.contains(&format!("`{name}`")), "{name}: {told}");
    }
    served.stop().await;
}
