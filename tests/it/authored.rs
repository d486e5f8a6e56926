//! Agents' files through the daemon: whole or not at all, live at once, nothing lost, and nobody trusted by accident.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::support::{Client, House, Reply, Running, Script};

fn text(name: &str, prompt: &str) -> String {
    format!(
        "---\nkind: agent\nname: {name} # as people call it\ndescription: d\ncompletion: tool\ntools: [read_file]\n---\n\n{prompt}\n"
    )
}

async fn boot() -> (House, Running, Client) {
    let house = House::new().script(&Script::new([Reply::done("done")]));
    let running = house.boot().await;
    let client = running.client();
    (house, running, client)
}

async fn status(client: &mut Client, running: &Running, name: &str) -> String {
    let got = client.call("agents/get", json!({ "name": name, "workspace": running.work() })).await;
    got["status"].as_str().unwrap().to_owned()
}

fn path(result: &Value) -> PathBuf {
    PathBuf::from(result["path"].as_str().unwrap())
}

/// What was told of agents and of trust, in order.
async fn told(running: &Running) -> Vec<Value> {
    let log = running.log().await;
    log.into_iter()
        .filter(|it| ["agents.changed", "workspace.trusted"].iter().any(|kind| it["type"] == *kind))
        .collect()
}

#[tokio::test]
async fn a_created_agent_of_a_workspace_is_acknowledged_and_runs() {
    let (_house, running, mut client) = boot().await;
    let text = text("maker", "You make.");
    let asked = json!({ "text": text, "scope": "project", "workspace": running.work() });
    let made = client.call("agents/create", asked.clone()).await;
    assert_eq!(path(&made), running.work().join(".subagentd/agents/maker.md"));
    assert_eq!(fs::read_to_string(path(&made)).unwrap(), text, "byte for byte");
    let (run, _) = client.start(&running, "maker", json!({})).await;
    assert_eq!(client.ended(&run).await["result"], "done");
    let events = told(&running).await;
    let kinds: Vec<&str> = events.iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["workspace.trusted", "agents.changed"]);
    assert_eq!(
        events[0]["data"]["files"],
        json!([{ "path": ".subagentd/agents/maker.md", "digest": made["digest"] }])
    );
    assert_eq!((&events[1]["data"]["added"][0]["status"], &made["seq"]), (&json!("ok"), &events[1]["seq"]));
    assert_eq!(events[0]["seq"].as_u64().unwrap() + 1, events[1]["seq"].as_u64().unwrap(), "told at once");
    // The same again is there already; other words are not written over it.
    assert_eq!(client.call("agents/create", asked).await.get("seq"), None);
    let other =
        json!({ "text": text.replace("You make.", "No."), "scope": "project", "workspace": running.work() });
    assert_eq!(client.refused("agents/create", other).await.0, "ALREADY_EXISTS");
    assert_eq!(fs::read_to_string(path(&made)).unwrap(), text);
    assert_eq!(told(&running).await.len(), 2);
    running.stop().await;
}

#[tokio::test]
async fn of_many_who_create_one_name_at_once_one_does() {
    let (_house, running, mut client) = boot().await;
    let calls: Vec<Value> = (0..8)
        .map(|number| {
            let params = json!({ "text": text("maker", &format!("Number {number}.")), "scope": "user" });
            json!({ "jsonrpc": "2.0", "id": number, "method": "agents/create", "params": params })
        })
        .collect();
    client.send(&json!(calls).to_string()).await;
    let answers = client.receive().await;
    let answers = answers.as_array().unwrap();
    let made: Vec<&Value> = answers.iter().filter(|it| it.get("result").is_some()).collect();
    assert_eq!(made.len(), 1, "{answers:?}");
    let refused = answers.iter().filter(|it| it["error"]["data"]["kind"] == "ALREADY_EXISTS").count();
    assert_eq!(refused, 7, "{answers:?}");
    let stands = fs::read_to_string(path(&made[0]["result"])).unwrap();
    assert_eq!(stands, text("maker", &format!("Number {}.", made[0]["id"])));
    running.stop().await;
}

#[tokio::test]
async fn what_the_log_cannot_be_told_did_not_happen() {
    let (house, running, mut client) = boot().await;
    let stays = text("stays", "As it was.");
    let made = client.call("agents/create", json!({ "text": stays, "scope": "user" })).await;
    running
        .tamper("create trigger full before insert on events when new.type = 'agents.changed' begin select raise(abort, 'no'); end")
        .await;
    let folder = house.dir.path().join("agents");
    for (method, params) in [
        ("agents/create", json!({ "text": text("new", "New."), "scope": "user" })),
        ("agents/create", json!({ "text": text("stays", "Else."), "scope": "user", "overwrite": true })),
        ("agents/update", json!({ "name": "stays", "definition": { "title": "T" } })),
        ("agents/delete", json!({ "name": "stays" })),
    ] {
        let (kind, error) = client.refused(method, params).await;
        assert_eq!(kind, "STORAGE_ERROR", "{method}: {error}");
        let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(files, ["stays.md"], "{method}");
        assert_eq!(fs::read_to_string(path(&made)).unwrap(), stays, "{method}");
    }
    running.tamper("drop trigger full").await;
    assert_eq!(client.call("agents/get", json!({ "name": "stays" })).await["text"], stays);
    running.stop().await;
}

#[tokio::test]
async fn an_update_keeps_all_else_and_the_old_words_lie_in_the_trash() {
    let (house, running, mut client) = boot().await;
    let old = text("maker", "You make.");
    let made = client.call("agents/create", json!({ "text": old, "scope": "user" })).await;
    let digest = made["digest"].clone();
    let asked = json!({ "name": "maker", "definition": { "description": "Makes: well." }, "digest": digest });
    let updated = client.call("agents/update", asked.clone()).await;
    let now = fs::read_to_string(path(&made)).unwrap();
    assert_eq!(now, old.replace("description: d\n", "description: 'Makes: well.'\n"));
    assert_ne!(updated["digest"], digest);
    let trash = house.dir.path().join("state/trash/agents");
    let kept: Vec<PathBuf> = fs::read_dir(&trash).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(fs::read_to_string(&kept[0]).unwrap(), old);
    // Whoever read the old one is told.
    let (kind, error) = client.refused("agents/update", asked).await;
    assert_eq!((kind.as_str(), &error["data"]["details"]["now"]), ("CONFLICT", &updated["digest"]));
    assert_eq!(fs::read_to_string(path(&made)).unwrap(), now);
    let got = client.call("agents/get", json!({ "name": "maker" })).await;
    assert_eq!((&got["text"], &got["definition"]["description"]), (&json!(now), &json!("Makes: well.")));
    assert!(got["updatedAt"].is_string());
    running.stop().await;
}

#[tokio::test]
async fn fields_put_into_a_file_that_nobody_read_do_not_make_it_trusted() {
    let house = House::new()
        .script(&Script::new([Reply::done("done")]))
        .file(".subagentd/agents/cloned.md", text("cloned", "Do harm."));
    let running = house.boot().await;
    let mut client = running.client();
    let patch = |more: Value| {
        let mut params =
            json!({ "name": "cloned", "definition": { "title": "T" }, "workspace": running.work() });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let updated = client.call("agents/update", patch(json!({}))).await;
    assert_eq!(status(&mut client, &running, "cloned").await, "untrusted");
    // A digest says which bytes are meant, and not that anybody has read them.
    let meant = patch(json!({ "digest": updated["digest"], "definition": { "title": "U" } }));
    let updated = client.call("agents/update", meant).await;
    assert_eq!(status(&mut client, &running, "cloned").await, "untrusted");
    // Nor does it start because somebody sent all of it back with another word.
    let whole = json!({
        "name": "cloned", "text": text("cloned", "Do more harm."), "digest": updated["digest"],
        "workspace": running.work(),
    });
    let updated = client.call("agents/update", whole).await;
    assert_eq!(status(&mut client, &running, "cloned").await, "untrusted");
    let read = json!({ "name": "cloned", "digest": updated["digest"], "workspace": running.work() });
    client.call("agents/acknowledge", read).await;
    assert_eq!(status(&mut client, &running, "cloned").await, "ok");
    // From now on it stays so through the daemon, and not beside it.
    client.call("agents/update", patch(json!({ "definition": { "title": "V" } }))).await;
    assert_eq!(status(&mut client, &running, "cloned").await, "ok");
    fs::write(running.work().join(".subagentd/agents/cloned.md"), text("cloned", "Do other harm.")).unwrap();
    assert_eq!(status(&mut client, &running, "cloned").await, "untrusted");
    running.stop().await;
}

#[tokio::test]
async fn a_name_means_to_an_editor_what_it_means_to_a_run() {
    let house = House::new()
        .agent("fixer", &text("fixer", "Mine."))
        .file(".subagentd/agents/fixer.md", text("fixer", "Do harm."));
    let running = house.boot().await;
    let mut client = running.client();
    let of = |scope: Option<&str>| json!({ "name": "fixer", "workspace": running.work(), "scope": scope });
    assert_eq!(client.call("agents/get", of(None)).await["scope"], "user");
    assert_eq!(client.call("agents/get", of(Some("project"))).await["status"], "untrusted");
    let mut change = of(None);
    change["definition"] = json!({ "title": "T" });
    assert_eq!(client.call("agents/update", change).await["scope"], "user");
    assert_eq!(client.call("agents/delete", of(None)).await["scope"], "user");
    // With nothing else of the name it is what is there.
    assert_eq!(client.call("agents/get", of(None)).await["scope"], "project");
    running.stop().await;
}

#[tokio::test]
async fn no_link_of_a_workspace_leads_out_of_it() {
    let (house, running, mut client) = boot().await;
    let outside = house.dir.path().join("outside");
    fs::create_dir_all(outside.join("agents")).unwrap();
    fs::write(outside.join("agents/there.md"), text("there", "Outside.")).unwrap();
    symlink(&outside, running.work().join(".subagentd")).unwrap();
    let workspace = running.work();
    let (kind, error) = client
        .refused(
            "agents/create",
            json!({ "text": text("maker", "In."), "scope": "project", "workspace": workspace }),
        )
        .await;
    assert_eq!(kind, "FORBIDDEN", "{error}");
    for (method, more) in
        [("agents/update", json!({ "text": text("there", "Changed.") })), ("agents/delete", json!({}))]
    {
        let mut params = json!({ "name": "there", "workspace": workspace });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (kind, error) = client.refused(method, params).await;
        assert_eq!(kind, "FORBIDDEN", "{method}: {error}");
    }
    let files: Vec<_> =
        fs::read_dir(outside.join("agents")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(files, ["there.md"]);
    assert_eq!(fs::read_to_string(outside.join("agents/there.md")).unwrap(), text("there", "Outside."));
    running.stop().await;
}

#[tokio::test]
async fn a_deleted_agent_is_gone_and_what_it_said_is_not() {
    let (house, running, mut client) = boot().await;
    for name in ["goes", "stays"] {
        client.call("agents/create", json!({ "text": text(name, "You do."), "scope": "user" })).await;
    }
    let (run, session) = client.start(&running, "goes", json!({})).await;
    client.ended(&run).await;
    let beside = json!({ "sessionId": session, "workspace": null });
    let (other, _) = client.start(&running, "stays", beside).await;
    client.ended(&other).await;
    let deleted = client.call("agents/delete", json!({ "name": "goes", "contexts": "delete" })).await;
    assert_eq!((&deleted["cleared"], &deleted["busy"]), (&json!(1), &json!(0)));
    assert!(!path(&deleted).exists());
    let trash = Path::new(deleted["trash"].as_str().unwrap());
    assert!(trash.starts_with(house.dir.path().join("state/trash")));
    assert_eq!(fs::read_to_string(trash).unwrap(), text("goes", "You do."));
    let (kind, _) = client
        .refused("run/start", json!({ "workspace": running.work(), "agent": "goes", "prompt": "p" }))
        .await;
    assert_eq!(kind, "NOT_FOUND");
    let contexts = client.call("session/get", json!({ "sessionId": session })).await["contexts"].clone();
    let epochs: Vec<(String, u64)> = contexts
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["agent"].as_str().unwrap().to_owned(), it["epoch"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        epochs,
        [("goes".to_owned(), 1), ("stays".to_owned(), 0)],
        "its own is empty, the other's is not"
    );
    assert_eq!(client.call("run/get", json!({ "runId": run })).await["result"], "done");
    running.stop().await;
}

#[tokio::test]
async fn what_is_brought_into_a_workspace_waits_to_be_read() {
    let claude =
        "---\nname: theirs\ndescription: Helps: with much.\ntools: Read, Bash(git:*)\n---\nCost: ${price}.\n";
    let house = House::new()
        .script(&Script::new([Reply::done("done")]))
        .file("from/.claude/agents/theirs.md", claude)
        .file("from/.claude/agents/deep/theirs.md", claude.replace("Cost", "Price"));
    let running = house.boot().await;
    let mut client = running.client();
    let asked =
        json!({ "paths": [running.work().join("from")], "scope": "project", "workspace": running.work() });
    let imported = client.call("agents/import", asked).await;
    let outcomes: Vec<&Value> =
        imported["files"].as_array().unwrap().iter().map(|it| &it["outcome"]).collect();
    assert_eq!(outcomes, ["written", "skipped"], "two of one name: one has it");
    assert_eq!(status(&mut client, &running, "theirs").await, "untrusted");
    let got = client.call("agents/get", json!({ "name": "theirs", "workspace": running.work() })).await;
    assert_eq!((&got["format"], &got["description"]), (&json!("own"), &json!("Helps: with much.")));
    let rules = got["approval"]["rules"].as_array().unwrap();
    let decisions: Vec<&Value> = rules.iter().map(|rule| &rule["decision"]).collect();
    assert_eq!(decisions, ["deny", "allow"], "commands but git's are forbidden: {rules:?}");
    assert_eq!(got["prompt"], "Price: $${price}.", "the first by its path");
    let events = told(&running).await;
    let kinds: Vec<&str> = events.iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["agents.changed"], "nobody has read it");
    running.stop().await;
}

#[tokio::test]
async fn triggers_tell_how_often_they_decided_and_were_overruled() {
    let finder = text("finder", "You find.").replace(
        "tools:",
        "triggers:\n  - { keywords: [bug], priority: 3 }\n  - { regex: \"fix.*test\" }\ntools:",
    );
    let house = House::new()
        .script(&Script::new([Reply::done("done")]))
        .agent("finder", &finder)
        .agent("other", &text("other", "You do."));
    let running = house.boot().await;
    let mut client = running.client();
    let run = async |client: &mut Client, agent: &str, prompt: &str, session: Option<&str>| {
        let mut params = json!({ "agent": agent, "prompt": prompt, "model": "script" });
        match session {
            Some(session) => params["sessionId"] = json!(session),
            None => params["workspace"] = json!(running.work()),
        }
        let started = client.call("run/start", params).await;
        client.ended(started["runId"].as_str().unwrap()).await;
        started["sessionId"].as_str().unwrap().to_owned()
    };
    let session = run(&mut client, "auto", "There is a bug", None).await;
    run(&mut client, "auto", "There is a bug", Some(&session)).await;
    run(&mut client, "auto", "fix the test", Some(&session)).await;
    // Whoever names another agent for the same words overrules; other words, or another session, say nothing of it.
    run(&mut client, "other", "fix the test", Some(&session)).await;
    run(&mut client, "other", "There is a bug, I think", Some(&session)).await;
    run(&mut client, "other", "There is a bug", None).await;
    let counted = async |client: &mut Client| -> Vec<(u64, u64)> {
        let got = client.call("agents/get", json!({ "name": "finder" })).await;
        let uses = got["triggers"].as_array().unwrap().iter();
        uses.map(|it| (it["hits"].as_u64().unwrap(), it["overrides"].as_u64().unwrap())).collect()
    };
    assert_eq!(counted(&mut client).await, [(2, 0), (1, 1)]);
    drop(client);
    running.stop().await;
    let running = house.boot().await;
    assert_eq!(counted(&mut running.client()).await, [(2, 0), (1, 1)]);
    running.stop().await;
}

#[tokio::test]
async fn who_makes_an_agent_says_nothing_of_the_workspace() {
    let house = House::new().file(".subagentd/agents/cloned.md", text("cloned", "Do harm."));
    let running = house.boot().await;
    let mut client = running.client();
    let made = json!({ "text": text("mine", "You do."), "scope": "project", "workspace": running.work() });
    client.call("agents/create", made).await;
    assert_eq!(status(&mut client, &running, "mine").await, "ok");
    assert_eq!(status(&mut client, &running, "cloned").await, "untrusted");
    let open = client.call("workspace/open", json!({ "workspace": running.work() })).await;
    assert_eq!(open["workspace"]["trusted"], false, "{open}");
    drop(client);
    running.stop().await;
    // Nor does the log of it.
    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(status(&mut client, &running, "mine").await, "ok");
    let open = client.call("workspace/open", json!({ "workspace": running.work() })).await;
    assert_eq!(open["workspace"]["trusted"], false, "{open}");
    running.stop().await;
}

#[tokio::test]
async fn nothing_that_is_brought_in_may_more_than_where_it_lay() {
    let loose = "---\nname: loose\ndescription: d\ntools: Read, Bash\nquery: go\nsandbox: full\n\
                 approval: { autoApprove: [low, medium, high] }\ntriggers: [{ keywords: [the] }]\nrun: { maxTurns: 500 }\n---\nx\n";
    let house = House::new()
        .file("from/.claude/agents/loose.md", loose)
        .file("from/off.md", "---\nname: off\ndescription: d\nmodel: sonnet\ndisable: true\n---\nx\n")
        .file("from/bare.md", "---\ndisable: true\n---\nx\n")
        .file("from/.opencode/agent/quiet.md", "---\ndescription: d\nmode: all\ndisable: true\n---\nx\n")
        .file(
            "from/far.md",
            "---\nkind: remote\nname: far\nmodel: opus\nskills: x\nagent_card_url: http://127.0.0.1\n---\n",
        )
        .file(
            "from/ours.md",
            "---\nkind: agent\nname: ours\ndescription: d\nmodel: sonnet\nmaxTurns: 5\n---\nx\n",
        );
    let running = house.boot().await;
    let mut client = running.client();
    let paths = [".claude/agents", "off.md", "bare.md", ".opencode/agent/quiet.md", "far.md", "ours.md"]
        .map(|it| running.work().join("from").join(it));
    let imported = client.call("agents/import", json!({ "paths": paths, "scope": "user" })).await;
    let outcomes: Vec<(&str, &str)> = imported["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| (file["name"].as_str().unwrap(), file["outcome"].as_str().unwrap()))
        .collect();
    let expected = [
        ("loose", "written"),
        ("off", "rejected"),
        ("bare", "rejected"),
        ("quiet", "rejected"),
        ("far", "rejected"),
        ("ours", "written"),
    ];
    assert_eq!(outcomes, expected, "{imported}");
    let loose = client.call("agents/get", json!({ "name": "loose" })).await;
    assert_eq!(loose["approval"]["autoApprove"], json!([]), "{loose}");
    assert_eq!((loose.get("sandbox"), loose.get("triggers")), (None, None), "{loose}");
    assert_eq!((&loose["query"], loose["definition"].get("run")), (&json!("${prompt}"), None), "{loose}");
    let told = imported["files"][0]["problems"].to_string();
    assert!(told.contains("is not taken along: `approval`"), "{told}");
    let ours = client.call("agents/get", json!({ "name": "ours" })).await;
    assert!(!ours["tools"].to_string().contains("write_file"), "{ours}");
    running.stop().await;
}

#[tokio::test]
async fn an_import_takes_nobody_elses_file() {
    let house = House::new()
        .agent("foo", &text("bar", "Mine."))
        .file("from/foo.md", text("foo", "Theirs."))
        .file("from/zed.md", text("zed", "Theirs."));
    let below = house.dir.path().join("agents/sub");
    fs::create_dir(&below).unwrap();
    fs::write(below.join("zed.md"), text("zed", "Mine.")).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let asked = json!({ "paths": [running.work().join("from")], "scope": "user", "onConflict": "replace" });
    let imported = client.call("agents/import", asked).await;
    let outcomes: Vec<&Value> =
        imported["files"].as_array().unwrap().iter().map(|it| &it["outcome"]).collect();
    assert_eq!(outcomes, ["rejected", "skipped"], "{imported}");
    assert!(imported["files"][0]["problems"].to_string().contains("holds the agent bar"), "{imported}");
    assert_eq!(fs::read_to_string(house.dir.path().join("agents/foo.md")).unwrap(), text("bar", "Mine."));
    assert!(!house.dir.path().join("agents/zed.md").exists());
    running.stop().await;
}

#[tokio::test]
async fn what_cannot_be_deleted_keeps_its_contexts() {
    let house = House::new().script(&Script::new([Reply::done("done")]));
    fs::write(house.dir.path().join("linked.md"), text("linked", "You do.")).unwrap();
    symlink(house.dir.path().join("linked.md"), house.dir.path().join("agents/linked.md")).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "linked", json!({})).await;
    client.ended(&run).await;
    let (kind, _) = client.refused("agents/delete", json!({ "name": "linked", "contexts": "delete" })).await;
    assert_eq!(kind, "CONFLICT");
    let got = client.call("session/get", json!({ "sessionId": session })).await;
    assert_eq!(got["contexts"][0]["epoch"], 0, "{got}");
    running.stop().await;
}
