//! Is a file that a project's memory imports kept from models as one that agents read? Nobody asks hooks about imports, so what they would be
//! shown is not imported; rules hold as they do for reading.

use super::*;
use crate::support::Cast;

const KEPT: &str = "of-what-is-kept";
const FREE: &str = "of-what-is-free";

const IMPORTING: &str = "@docs/kept.md\n@docs/free.md\n";

fn with_memory(house: House) -> House {
    house
        .file("AGENTS.md", IMPORTING)
        .file("docs/kept.md", KEPT)
        .file("docs/free.md", FREE)
        .file("sub/b.txt", "b\n")
}

/// A run that is told of the workspace's memory, and writes a file of it itself: everything that its model was asked with.
async fn told_with(hooks: Value) -> (String, Vec<Value>, Value) {
    let importing = "@../docs/kept.md\n@../docs/free.md\n";
    let script = Script::new(vec![write("sub/AGENTS.md", importing), Reply::done("ok")]);
    let house = with_memory(house(&script, &json!({})));
    fs::write(&house.sources.files.user, json!({ "hooks": hooks }).to_string()).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    answering::trust_all(&mut client, &running).await;
    let (run, _) = client.start(&running, "worker", json!({})).await;
    client.ended(&run).await;
    let params = json!({ "agent": "worker", "workspace": house.work(), "model": "script" });
    let rendered = client.call("prompt/render", params).await;
    let log = running.log().await;
    running.stop().await;
    let requests = script.requests();
    assert_eq!(requests.len(), 2, "{log:?}");
    let messages: Vec<_> = requests.iter().flat_map(|request| request.messages.clone()).collect();
    let rendered = json!([rendered["contextMessage"], rendered["parts"]]);
    (format!("{messages:?}"), log, rendered)
}

fn group(matcher: &str, more: &Value) -> Value {
    let mut hook = json!({ "type": "command", "command": "cat > /dev/null" });
    hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!([{ "matcher": matcher, "hooks": [hook] }])
}

#[tokio::test]
async fn what_hooks_would_be_shown_of_reading_is_not_imported() {
    let cases = [
        json!({ "PreToolUse": group("Read", &json!({})) }),
        json!({ "PostToolUse": group("", &json!({})) }),
        json!({ "BeforeTool": group("read_file", &json!({})) }),
        json!({ "PreToolUse": group("Read", &json!({ "if": "Read(docs/**)" })) }),
        json!({ "PreToolUse": group("Read", &json!({ "type": "comand" })) }),
    ];
    for hooks in cases {
        let (told, log, rendered) = told_with(hooks.clone()).await;
        for text in [&told, &rendered[0].to_string()] {
            assert!(!text.contains(KEPT) && !text.contains(FREE), "{hooks}: {text}");
        }
        let is_told = |it: &&Value| {
            let message = it["data"]["message"].as_str().unwrap_or_default();
            it["type"] == "warning"
                && message.contains("docs/kept.md would be shown to hooks if an agent read it")
        };
        assert!(log.iter().any(|it| is_told(&it)), "{hooks}: {log:?}");
        let parts = rendered[1].as_array().unwrap();
        let part = parts.iter().find(|it| it["name"] == "import").unwrap();
        assert!(part["off"].as_str().unwrap().contains("would be shown to hooks"), "{hooks}: {part}");
    }
}

#[tokio::test]
async fn what_no_hook_would_be_shown_of_reading_is_imported() {
    let cases = [
        json!({ "PreToolUse": group("Write|Bash", &json!({})), "PostToolUse": group("Edit", &json!({})) }),
        json!({ "PostToolUse": group("Read", &json!({ "async": true })) }),
        json!({ "PermissionRequest": group("Read", &json!({})) }),
    ];
    for hooks in cases {
        let (told, ..) = told_with(hooks.clone()).await;
        assert!(told.contains(KEPT) && told.contains(FREE), "{hooks}: {told}");
    }
    // A hook of one file is shown no other.
    let (told, ..) = told_with(json!({
        "PreToolUse": group("Read", &json!({ "if": "Read(docs/kept.md)" }))
    }))
    .await;
    assert!(told.contains(FREE) && !told.contains(KEPT), "{told}");
}

/// A memory file that is a link, or a second name, tells what it leads to, and a guard may be written against the name of a link.
#[tokio::test]
async fn what_links_and_further_names_lead_to_is_told_only_where_an_agent_may_read_it() {
    let guard = json!({ "PreToolUse": group("Read", &json!({ "if": "Read(.env)" })) });
    for hooks in [json!({}), guard] {
        let is_guarded = hooks.get("PreToolUse").is_some();
        for how in ["link", "name", "beside", "import"] {
            let script = Script::new(vec![Reply::done("ok")]);
            let house = house(&script, &json!({})).file("conf/prod.txt", KEPT);
            fs::write(&house.sources.files.user, json!({ "hooks": hooks }).to_string()).unwrap();
            let work = house.work();
            let memory = match how {
                "link" => std::os::unix::fs::symlink("conf/prod.txt", work.join("AGENTS.md")),
                "name" => std::fs::hard_link(work.join("conf/prod.txt"), work.join("AGENTS.md")),
                "beside" => std::fs::write(work.join(".env"), KEPT)
                    .and_then(|()| std::fs::hard_link(work.join(".env"), work.join("AGENTS.md"))),
                _ => std::os::unix::fs::symlink("conf/prod.txt", work.join(".env"))
                    .and_then(|()| std::fs::write(work.join("AGENTS.md"), "@.env\n")),
            };
            memory.unwrap();
            let running = house.boot().await;
            let mut client = running.client();
            answering::trust_all(&mut client, &running).await;
            let (run, _) = client.start(&running, "worker", json!({})).await;
            client.ended(&run).await;
            let told: Vec<_> =
                script.requests().iter().flat_map(|request| request.messages.clone()).collect();
            let told = format!("{told:?}");
            let is_told = match how {
                "link" => true,
                "name" => false,
                _ => !is_guarded,
            };
            assert_eq!(told.contains(KEPT), is_told, "{how}, {hooks}: {told}");
            drop(client);
            running.stop().await;
        }
    }
}

/// Rules of one agent hold for what it is told at its start as for what it reads, and for agents that it calls.
#[tokio::test]
async fn rules_of_an_agent_hold_for_what_it_is_told_at_its_start() {
    let agent = |name: &str, tools: &str, more: &str| {
        format!(
            "---\nkind: agent\nname: {name}\ndescription: Works.\ncompletion: tool\ntools: [{tools}]\n{more}---\nYou work.\n"
        )
    };
    let rules = "[[rule]]\ntool = \"read_file\"\nagent = \"named\"\nargsPattern = 'kept'\ndecision = \"deny\"\n\
                 [[rule]]\ntool = \"kid\"\ndecision = \"allow\"\n";
    let own = "approval: { rules: { read_file: ask } }\n";
    for (called, tools, expected) in
        [("named", "kid", [true, false]), ("narrowed", "kid", [false, false]), ("other", "kid", [true, true])]
    {
        let call = Reply::calls(&[("kid", json!({ "prompt": "go" }))]);
        let kid = format!("{called}/kid");
        let cast = Cast::new([(called, vec![call, Reply::done("ok")]), (&kid, vec![Reply::done("ok")])]);
        let more = if called == "narrowed" { own } else { "" };
        let house = House::new()
            .model("script", &cast)
            .agent(called, &agent(called, tools, more))
            .agent("kid", &agent("kid", "read_file", ""))
            .rules("a", rules);
        let house = with_memory(house);
        let running = house.boot().await;
        let mut client = running.client();
        answering::trust_all(&mut client, &running).await;
        let (run, _) = client.start(&running, called, json!({})).await;
        client.ended(&run).await;
        running.stop().await;
        for path in [called, &kid] {
            let requests = cast.requests(path);
            let told = format!("{:?}", requests.first().map(|request| &request.messages));
            assert_eq!([told.contains(FREE), told.contains(KEPT)], expected, "{path}: {told}");
        }
    }
}
