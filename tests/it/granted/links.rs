//! Does a grant of a command in the workspace end where a link leads out of it? By a real daemon, on a real disk.

use std::{fs, os::unix::fs::symlink};

use serde_json::{Value, json};

use crate::{
    asking::scene::answer_to,
    support::{Client, House, Reply, Script},
};

const AGENT: &str = "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\n\
                     tools: [run_shell_command]\n---\nYou read.\n";

async fn checked(client: &mut Client, session: &str, command: &str) -> Value {
    let params = json!({
        "tool": "run_shell_command", "arguments": { "command": command }, "agent": "reader",
        "sessionId": session,
    });
    client.call("policy/check", params).await
}

#[tokio::test]
async fn a_grant_of_what_stays_in_the_workspace_allows_nothing_behind_its_links() {
    let call = ("run_shell_command", json!({ "command": "cat f" }));
    let script = Script::new([Reply::calls(&[call]), Reply::done("done")]);
    let house = House::new()
        .script(&script)
        .agent("reader", AGENT)
        .file("f", "x\n")
        .file("src/a.rs", "x\n")
        .file("src/b.rs", "x\n")
        .file("lib/x", "x\n");
    let work = house.work().canonicalize().unwrap();
    for (link, target) in [("data", "/usr/share"), ("inner", "src"), ("lib/far", "/etc"), ("one", "src/a.rs")]
    {
        symlink(target, work.join(link)).unwrap();
    }
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "reader", json!({})).await;
    let has_one = |listed: &Value| listed["confirmations"].as_array().unwrap().len() == 1;
    let listed = client.until("confirmation/list", json!({ "sessionId": session }), has_one).await;
    let question = &listed["confirmations"][0];
    client
        .call("confirmation/respond", answer_to(question, "allowSession", json!({ "grant": "words" })))
        .await;
    client.ended(&run).await;
    let mut wrong = Vec::new();
    for (command, decision) in [
        ("cat f", "allow"),
        ("cat src/*.rs", "allow"),
        ("cat */a.rs", "ask"),
        ("cat i*/a.rs", "allow"),
        ("cat inner/../f", "allow"),
        ("cat o?e", "allow"),
        ("cat lib/x", "allow"),
        ("cat nothing/*", "allow"),
        ("cd src && cat ../f", "allow"),
        ("cat data/os-release", "ask"),
        ("cat data/../lib/os-release", "ask"),
        ("cat src/../data/../lib/os-release", "ask"),
        ("cat d*/hostname", "ask"),
        ("cat [d]ata/../lib/os-release", "ask"),
        ("cat lib/*/hostname", "ask"),
        ("cat lib/*", "ask"),
        ("cat */*/hostname", "ask"),
        ("cd data && cat ../lib/os-release", "ask"),
        ("cd data/.. && cat lib/os-release", "ask"),
        ("cat f; RANDOM='a[$(rm -r src)]'", "ask"),
        ("cat f >&'$(rm -r src)'", "ask"),
        ("cat f \"$(cat <<'EOF'\nx\nEOF)$(rm -r src)\nEOF\n)\"", "ask"),
    ] {
        let found = checked(&mut client, &session, command).await;
        if found["decision"] != decision {
            wrong.push(format!("{command}: {found}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn what_leads_to_the_daemons_own_is_critical_by_any_name() {
    let house = House::new().agent("reader", AGENT).file("f", "x\n").file(".vscode/snippets/x", "x\n");
    let work = house.work().canonicalize().unwrap();
    let own = house.dir.path().canonicalize().unwrap();
    symlink(&own, work.join("conf")).unwrap();
    symlink(own.join("agents"), work.join("agents")).unwrap();
    symlink(".vscode/snippets", work.join("snip")).unwrap();
    fs::hard_link(own.join("agents/reader.md"), work.join("second.md")).unwrap();
    let running = house.boot().await;
    let mut wrong = Vec::new();
    for (command, risk) in [
        ("echo x > agents/../agents/new.md", "critical"),
        ("echo x > agents/new.md", "critical"),
        ("cp f a?ents/", "critical"),
        ("cp f agent*/new.md", "critical"),
        ("echo x > second.md", "critical"),
        ("echo x > s*.md", "critical"),
        ("cp f con?/agents/", "critical"),
        ("cd agents && echo x > ../agents/x.md", "critical"),
        ("cp f snip/../tasks.json", "high"),
        ("cp f sni*/../tasks.json", "high"),
        ("cp f s*p/x", "high"),
        ("cp f src/x", "medium"),
        ("rm *.md", "medium"),
    ] {
        let params = json!({
            "tool": "run_shell_command", "arguments": { "command": command }, "agent": "reader",
            "workspace": work,
        });
        let checked = running.client().request("policy/check", params).await;
        if checked["result"]["risk"] != risk {
            wrong.push(format!("{command}: {checked}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    running.stop().await;
}
