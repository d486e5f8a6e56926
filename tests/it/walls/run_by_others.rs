//! A script that nobody was told what it writes neither changes nor makes files that other programs run by themselves, under each mechanism;
//! what a command's words name, and what git checks out, is written.

use serde_json::{Value, json};

use crate::support::{self, Reply, Script, confined_by};

use super::*;

const AGENT: &str =
    "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\ntools: ['*']\n---\nYou write.\n";

#[tokio::test]
async fn a_script_has_nothing_run_by_others_and_who_allowed_a_command_that_names_it_was_told() {
    for mechanism in mechanisms() {
        let script = "for f in .envrc .vscode/tasks.json .claude/settings.json .hg/hgrc; do echo evil > $f; done 2>/dev/null\n\
                      mkdir -p .devcontainer; echo evil > .devcontainer/devcontainer.json; echo evil > .mcp.json\n\
                      echo new > Makefile; mkdir -p .cargo; echo new > .cargo/config.toml; echo over\n";
        let commands =
            ["bash s.sh", "echo named > .nvim.lua && echo named >> .envrc", "git checkout -q other"];
        let calls = commands.map(|it| Reply::calls(&[("run_shell_command", json!({ "command": it }))]));
        let replies: Vec<Reply> = calls.into_iter().chain([Reply::done("done")]).collect();
        let mut house = support::House::new()
            .script(&Script::new(replies))
            .agent("writer", AGENT)
            .file("s.sh", script)
            .file(".envrc", "a person's\n")
            .file(".vscode/tasks.json", "a person's\n")
            .file(".claude/settings.json", "a person's\n")
            .file(".hg/hgrc", "a person's\n");
        house.sandbox = confined_by(house.dir.path(), mechanism.clone());
        let work = house.work();
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=x", "-c", "user.email=x@example.com"]).arg("-C").arg(&work);
            assert!(git.args(arguments).output().unwrap().status.success(), "{arguments:?}");
        };
        git(&["init", "-q", "-b", "main"]);
        git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        git(&["checkout", "-q", "-b", "other"]);
        fs::write(work.join(".lldbinit"), "of a commit\n").unwrap();
        git(&["add", "-f", ".lldbinit"]);
        git(&["commit", "-q", "-m", "second"]);
        git(&["checkout", "-q", "main"]);
        let running = house.boot().await;
        let mut client = running.client();
        let approval = json!({ "autoApprove": ["low", "medium", "high"], "headless": true });
        let (run, _) = client.start(&running, "writer", json!({ "approval": approval })).await;
        client.ended(&run).await;
        let ends: Vec<Value> = running.log().await;
        let ends: Vec<String> = ends
            .iter()
            .filter(|event| event["activity"] == "TOOL_CALL_END")
            .map(|event| event.to_string())
            .collect();
        let read = |name: &str| fs::read_to_string(work.join(name)).unwrap_or_default();
        assert!(ends[0].contains("over"), "{mechanism:?}: {}", ends[0]);
        for name in [".vscode/tasks.json", ".claude/settings.json", ".hg/hgrc"] {
            assert_eq!(read(name), "a person's\n", "{mechanism:?}, {name}: {}", ends[0]);
        }
        assert_eq!(read(".envrc"), "a person's\nnamed\n", "{mechanism:?}: {ends:?}");
        assert_eq!(read(".nvim.lua"), "named\n", "{mechanism:?}: {ends:?}");
        assert_eq!(read(".lldbinit"), "of a commit\n", "{mechanism:?}: {ends:?}");
        for name in [".devcontainer", ".mcp.json"] {
            assert!(!work.join(name).exists(), "{mechanism:?}, {name}: {}", ends[0]);
            assert!(
                ends[0].contains(&format!("`.not-run/{name}.not-run-0`")) || name != ".mcp.json",
                "{}",
                ends[0]
            );
        }
        // What builds write, and a person starts.
        assert_eq!((read("Makefile"), read(".cargo/config.toml")), ("new\n".to_owned(), "new\n".to_owned()));
        let doctor = client.call("daemon/doctor", json!({})).await.to_string();
        assert!(doctor.contains(".mcp.json` came to be"), "{mechanism:?}: {doctor}");
        drop(client);
        running.stop().await;
    }
}

/// `.envrc` has shells find programs there, and jj follows a file in the place of its folder.
#[tokio::test]
async fn a_script_makes_no_program_of_a_daily_name_for_shells_and_leads_jj_to_no_other_settings() {
    for mechanism in mechanisms() {
        let script = "exec 2>/dev/null\nmkdir -p node_modules/.bin\n\
                      for f in ls node mine; do echo evil > bin/$f; chmod 755 bin/$f; done; ln -s /bin/true bin/git\n\
                      for f in ls tsc node; do echo evil > node_modules/.bin/$f; done\n\
                      mv .jj/repo .jj/moved; echo ../elsewhere > .jj/repo; echo evil > .jj/workspace-config.toml; echo over\n";
        let call = Reply::calls(&[("run_shell_command", json!({ "command": "bash s.sh" }))]);
        let mut house = support::House::new()
            .script(&Script::new(vec![call, Reply::done("done")]))
            .agent("writer", AGENT)
            .file("s.sh", script)
            .file(".envrc", "PATH_add bin\nPATH_add node_modules/.bin\n")
            .file("bin/own", "#!/bin/sh\n")
            .file(".jj/repo/store", "");
        house.sandbox = confined_by(house.dir.path(), mechanism.clone());
        let work = house.work();
        let running = house.boot().await;
        let mut client = running.client();
        let approval = json!({ "autoApprove": ["low", "medium", "high"], "headless": true });
        let (run, _) = client.start(&running, "writer", json!({ "approval": approval })).await;
        client.ended(&run).await;
        let log: Vec<Value> = running.log().await;
        let end = log.iter().find(|event| event["activity"] == "TOOL_CALL_END").unwrap().to_string();
        assert!(end.contains("over"), "{mechanism:?}: {end}");
        for name in ["bin/ls", "bin/node", "bin/git", "node_modules/.bin/ls", ".jj/workspace-config.toml"] {
            assert!(fs::symlink_metadata(work.join(name)).is_err(), "{mechanism:?}, {name}: {end}");
        }
        assert!(!work.join(".jj/repo").is_file(), "{mechanism:?}: {end}");
        // What builds and package managers make.
        for name in ["bin/mine", "bin/own", "node_modules/.bin/tsc", "node_modules/.bin/node"] {
            assert!(work.join(name).exists(), "{mechanism:?}, {name}: {end}");
        }
        drop(client);
        running.stop().await;
    }
}
