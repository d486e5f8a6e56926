//! Do rule files hold for calls, also when they have mistakes, change, or cannot be read?

use std::fs;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use subagentd::{
    protocol::{EventHead, PolicyChanged, PrivateEventFields, Risk, Timestamp, ToolKind},
    store::NewEvent,
};
use tokio::sync::mpsc;

use crate::{
    built,
    probe::Probe,
    process::{Home, output},
    support::{Cast, Client, House, Reply, Running, Script},
};

const CALLER: &str =
    "---\nkind: agent\nname: caller\ndescription: Calls.\ncompletion: tool\ntools: [probe]\n---\nYou call.\n";

const ALLOW: &str = "[[rule]]\ntool = \"probe\"\ndecision = \"allow\"\n";
const DENY: &str = "[[rule]]\ntool = \"probe\"\ndecision = \"deny\"\nmessage = \"probing is for people\"\n";

/// A house with a tool of medium risk, and an agent that calls it once; and who hears of the calls.
fn house() -> (House, mpsc::UnboundedReceiver<String>) {
    let (probe, _, heard) = Probe::new("probe", ToolKind::Edit, Risk::Medium);
    let replies = [Reply::calls(&[("probe", json!({}))]), Reply::done("done")];
    (House::new().tool(probe).script(&Script::new(replies)).agent("caller", CALLER), heard)
}

fn write(house: &House, path: &str, text: &str) {
    let path = house.dir.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// What became of the call in a run: how it ended, and what its model was told when it did not run.
async fn called(running: &Running, client: &mut Client) -> String {
    let (run, _) = client.start(running, "caller", json!({ "approval": { "headless": true } })).await;
    client.ended(&run).await;
    let log = running.log().await;
    let mut of_run = log.iter().filter(|event| event["runId"] == run && event["data"]["name"] == "probe");
    let last = of_run.next_back().unwrap();
    let error = last["data"]["error"]["message"].as_str().unwrap_or_default();
    format!("{} {error}", last["data"]["to"].as_str().unwrap()).trim_end().to_owned()
}

async fn checked(running: &Running, client: &mut Client) -> String {
    let params = json!({ "tool": "probe", "arguments": {}, "agent": "caller", "workspace": running.work() });
    let checked = client.call("policy/check", params).await;
    format!("{} {}", checked["decision"].as_str().unwrap(), checked["rule"].as_str().unwrap())
}

fn events<'a>(log: &'a [Value], kind: &str) -> Vec<&'a Value> {
    log.iter().filter(|event| event["type"] == kind).collect()
}

#[tokio::test]
async fn rules_hold_for_calls_and_are_read_anew_at_a_reload() {
    let (house, _heard) = house();
    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(checked(&running, &mut client).await, "ask builtin:risk=medium");

    write(&house, "policies/a.toml", ALLOW);
    assert_eq!(checked(&running, &mut client).await, "ask builtin:risk=medium", "nobody read it yet");
    let reloaded = client.call("daemon/reload", json!({})).await;
    let file = house.dir.path().join("policies/a.toml");
    assert_eq!((&reloaded["policies"], &reloaded["problems"]), (&json!([file]), &json!([])));
    assert_eq!(checked(&running, &mut client).await, "allow user:a.toml:1");
    assert_eq!(called(&running, &mut client).await, "success");

    // The system's word and the user's: the stricter one counts.
    write(&house, "system-policies/s.toml", DENY);
    client.call("daemon/reload", json!({})).await;
    assert_eq!(checked(&running, &mut client).await, "deny system:s.toml:1");
    let told = called(&running, &mut client).await;
    assert!(
        told.starts_with("error refused by system:s.toml:1") && told.contains("probing is for people"),
        "{told}"
    );

    let log = running.log().await;
    let changed = events(&log, "policy.changed");
    assert_eq!(changed.len(), 2);
    assert_eq!(changed[0]["data"], json!({ "files": [file] }));
    assert_eq!(changed[0]["seq"], reloaded["seq"]);
    // The same again changes nothing, and says nothing.
    let again = client.call("daemon/reload", json!({})).await;
    assert_eq!(again, json!({ "changed": [], "needsRestart": [], "problems": [] }));
    assert_eq!(events(&running.log().await, "policy.changed").len(), 2);
    running.stop().await;
    let running = house.boot().await;
    assert_eq!(checked(&running, &mut running.client()).await, "deny system:s.toml:1", "read at the start");
    running.stop().await;
}

#[tokio::test]
async fn a_rule_changes_what_a_run_may_do_that_has_begun() {
    let (probe, handle, mut began) = Probe::new("probe", ToolKind::Edit, Risk::Medium);
    let replies = [
        Reply::calls(&[("probe", json!({ "do": "wait" }))]),
        Reply::calls(&[("probe", json!({}))]),
        Reply::done("done"),
    ];
    let house =
        House::new().tool(probe).script(&Script::new(replies)).agent("caller", CALLER).rules("a", ALLOW);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "caller", json!({ "approval": { "headless": true } })).await;
    began.recv().await.unwrap();
    write(&house, "policies/a.toml", DENY);
    client.call("daemon/reload", json!({})).await;
    handle.release.add_permits(1);
    client.ended(&run).await;
    let log = running.log().await;
    let ends: Vec<_> = events(&log, "tool.state")
        .into_iter()
        .filter(|it| it["data"].get("result").is_some() || it["data"].get("error").is_some())
        .collect();
    assert_eq!((&ends[0]["data"]["to"], &ends[1]["data"]["to"]), (&json!("success"), &json!("error")));
    running.stop().await;
}

#[tokio::test]
async fn typos_are_told_everywhere_and_never_open_anything() {
    let check = async |text: &[u8], expected: Expect| {
        let (house, _heard) = house();
        let house = house.rules("z", ALLOW);
        fs::write(house.dir.path().join("policies/a.toml"), text).unwrap();
        let running = house.boot().await;
        let mut client = running.client();
        let listed = client.call("policy/list", json!({})).await;
        let mut told = format!("{}\n", checked(&running, &mut client).await);
        for problem in listed["problems"].as_array().unwrap() {
            told.push_str(&format!(
                "{} {}:{} {}\n",
                problem["severity"].as_str().unwrap(),
                problem["line"],
                problem["column"],
                problem["message"].as_str().unwrap()
            ));
        }
        let status = client.call("daemon/status", json!({})).await;
        let degraded = status["degraded"].as_array().unwrap();
        assert_eq!(degraded.len(), listed["problems"].as_array().unwrap().len(), "{degraded:?}");
        assert_eq!(client.call("daemon/reload", json!({})).await["problems"], listed["problems"]);
        assert_eq!(called(&running, &mut client).await.split(' ').next(), Some("error"), "it ran");
        running.stop().await;
        expected.assert_eq(&told);
    };
    check(b"[[rule]]\ntool = \"probe\"\ndecision = \"dney\"\n", expect![[r#"
        ask user:a.toml:1
        warning 1:1 this rule has a mistake: until it is mended, all that it may be about needs a person's consent
        error 3:12 `decision`: expected `allow`, `deny` or `ask`, found the text "dney"
    "#]]).await;
    check(b"[[rule]]\ntool = \"probe\"\ndecison = \"deny\"\n", expect![[r#"
        ask user:a.toml:1
        error 1:1 `decision` is missing
        warning 1:1 this rule has a mistake: until it is mended, all that it may be about needs a person's consent
        error 3:1 unknown key `decison` in a rule
    "#]]).await;
    check(
        b"[[rule]]\ntool = \"probe\"\ndecision = \"deny\"\nargPattern = \"x\"\n",
        expect![[r#"
        deny user:a.toml:1
        warning 1:1 this rule has a mistake: until it is mended, all that it may be about is refused
        error 4:1 unknown key `argPattern` in a rule
    "#]],
    )
    .await;
    check(b"[[rule]]\ntool = \"probe\"\ndecision = \"ask\"\nargsPattern = \"(\"\n", expect![[r#"
        ask user:a.toml:1
        warning 1:1 this rule has a mistake: until it is mended, all that it may be about needs a person's consent
        error 4:15 `argsPattern`: the pattern is no regular expression: unclosed group
    "#]]).await;
    check(
        b"[[rule]\ntool = \"probe\"\ndecision = \"deny\"\n",
        expect![[r#"
        ask user:a.toml:unread:medium
        error 1:8 is not TOML: unclosed array table, expected `]`
        warning null:null until this is mended, every call that is not safe needs a person's consent
    "#]],
    )
    .await;
    check(
        b"\xFF\xFE\x00",
        expect![[r#"
        ask user:a.toml:unread:medium
        error 1:1 is not UTF-8 text: save it as UTF-8
    "#]],
    )
    .await;
}

#[tokio::test]
async fn rules_are_listed_in_the_order_in_which_they_speak() {
    let rules = "[[rule]]\ntool = \"a\"\ndecision = \"allow\"\npriority = 5\n\
                 [[rule]]\ntool = \"b\"\ndecision = \"deny\"\npriority = 1\n\
                 [[rule]]\ntool = \"c\"\ndecision = \"ask\"\npriority = 5\n\
                 [[rule]]\ntool = \"d\"\ndecision = \"deny\"\npriority = 9\n";
    let (house, _heard) = house();
    let house = house.rules("a", rules);
    write(&house, "system-policies/s.toml", "[[rule]]\ntool = \"e\"\ndecision = \"ask\"\n");
    let running = house.boot().await;
    let mut client = running.client();
    let listed = client.call("policy/list", json!({ "workspace": running.work() })).await;
    let tools: Vec<&str> =
        listed["rules"].as_array().unwrap().iter().map(|rule| rule["tool"][0].as_str().unwrap()).collect();
    assert_eq!(tools, ["e", "d", "b", "c", "a"]);
    running.stop().await;
}

#[tokio::test]
async fn a_remembered_rule_holds_after_a_restart_until_it_is_removed() {
    let (house, _heard) = house();
    let running = house.boot().await;
    let rule = json!({
        "id": "remembered-1", "tier": "user", "tool": ["probe"], "decision": "allow",
        "accesses": [{ "access": "write", "path": "/probe" }], "fromConfirmation": "c1",
    });
    let changed: PolicyChanged = serde_json::from_value(json!({ "added": [rule] })).unwrap();
    let event = NewEvent {
        at: Timestamp(1),
        session: None,
        run: None,
        context: None,
        head: EventHead::default(),
        body: changed.into(),
        private: PrivateEventFields::default(),
    };
    running.daemon.store().append(vec![event]).await.unwrap();
    running.stop().await;

    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(checked(&running, &mut client).await, "allow remembered-1");
    client.call("policy/remove", json!({ "ruleId": "remembered-1" })).await;
    assert_eq!(checked(&running, &mut client).await, "ask builtin:risk=medium");
    let log = running.log().await;
    assert_eq!(events(&log, "policy.changed")[1]["data"], json!({ "removed": ["remembered-1"] }));
    running.stop().await;
    let running = house.boot().await;
    assert_eq!(checked(&running, &mut running.client()).await, "ask builtin:risk=medium");
    running.stop().await;
}

#[tokio::test]
async fn checking_a_call_writes_nothing() {
    let (house, _heard) = house();
    let running = house.boot().await;
    let mut client = running.client();
    let before = running.log().await;
    checked(&running, &mut client).await;
    assert_eq!(running.log().await, before);
    running.stop().await;
}

#[tokio::test]
async fn the_daemon_says_what_is_wrong_with_rules_before_it_starts() {
    let home = Home::new();
    let policies = home.path("config/subagentd/policies");
    fs::create_dir_all(&policies).unwrap();
    fs::write(policies.join("mine.toml"), "[[rule]]\ntool = \"x\"\ndecision = \"deny\"\nrisc = \"high\"\n")
        .unwrap();
    fs::write(policies.join("notes.txt"), "x").unwrap();
    let mut command = home.command(built::daemon());
    let ended = output(command.arg("--check-config")).await;
    let told = ended.stdout.replace(home.path("").to_str().unwrap(), "<home>/");
    let told: String = told
        .lines()
        .filter(|line| !line.contains(": /etc/subagentd/"))
        .map(|line| format!("{line}\n"))
        .collect();
    expect![[r#"
        warning: <home>/config/subagentd/policies/mine.toml:1:1: this rule has a mistake: until it is mended, all that it may be about is refused
        error: <home>/config/subagentd/policies/mine.toml:4:1: unknown key `risc` in a rule (did you mean `risk`?)
        warning: <home>/config/subagentd/policies/notes.txt: is not read: rule files lie in this folder itself and end in `.toml`
        not there: <home>/config/subagentd/settings.json
        read: <home>/config/subagentd/policies
        1 error, 2 warnings
    "#]].assert_eq(&told);
    assert_eq!(ended.code, Some(1));
}

/// An agent that calls another one gets nothing done by it that a rule forbids itself.
#[tokio::test]
async fn a_rule_that_forbids_an_agent_something_holds_for_the_agents_that_it_calls() {
    let (probe, _, mut heard) = Probe::new("probe", ToolKind::Edit, Risk::Medium);
    let cast = Cast::new([
        ("lead", vec![Reply::calls(&[("kid", json!({ "prompt": "probe" }))]), Reply::done("done")]),
        ("kid", vec![Reply::calls(&[("probe", json!({}))]), Reply::done("done")]),
        ("lead/kid", vec![Reply::calls(&[("probe", json!({}))]), Reply::done("done")]),
    ]);
    let rules = "[[rule]]\ntool = \"probe\"\nagent = \"lead\"\ndecision = \"deny\"\n\n\
                 [[rule]]\ntool = \"probe\"\nagent = \"kid\"\ndecision = \"allow\"\npriority = 9\n";
    let file = |name: &str, tools: &str| {
        CALLER.replace("name: caller", &format!("name: {name}")).replace("[probe]", tools)
    };
    let house = House::new()
        .tool(probe)
        .model("script", &cast)
        .agent("lead", &file("lead", "[kid]").replace("You call.", "You are lead."))
        .agent("kid", &file("kid", "[probe]").replace("You call.", "You are kid."))
        .rules("narrow", rules);
    let running = house.boot().await;
    let mut client = running.client();
    for (agent, ends) in [("kid", "success"), ("lead", "error")] {
        let approval = json!({ "headless": true, "autoApprove": ["low", "medium"] });
        let (run, _) = client.start(&running, agent, json!({ "approval": approval })).await;
        client.ended(&run).await;
        let log = running.log().await;
        let of_probe = log.iter().rfind(|event| event["data"]["name"] == "probe").unwrap();
        assert_eq!(of_probe["data"]["to"], ends, "{agent}: {of_probe}");
        assert_eq!(heard.try_recv().is_ok(), agent == "kid", "{agent}");
        if agent == "lead" {
            let told = of_probe["data"]["error"]["message"].as_str().unwrap();
            assert!(told.contains("user:narrow.toml:1") && told.contains("the agent lead"), "{told}");
        }
    }
    drop(client);
    running.stop().await;
}
