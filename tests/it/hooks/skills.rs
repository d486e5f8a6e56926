//! Is what a hook made of a skill's text what a model is told of the skill from then on?

use super::*;

const BARE: &str = "---\nkind: agent\nname: bare\ndescription: Works.\n---\n";
const SKILL: &str = "---\nname: forms\ndescription: Says how forms are read.\n---\nRead the FORM first.\n";
const SNAPSHOT: &str = "<state_snapshot><overall_goal>go on</overall_goal><key_knowledge></key_knowledge>\
<file_system_state></file_system_state><recent_actions></recent_actions><current_plan></current_plan></state_snapshot>";

/// A compression tells active skills again.
#[tokio::test]
async fn a_skill_that_a_hook_withheld_or_replaced_is_told_by_no_compression_as_it_was() {
    let withheld = "echo 'not for models' >&2; exit 2";
    let replaced = r#"echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":"Read it SECOND."}}'"#;
    let added =
        r#"echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"It is old."}}'"#;
    for (hook, is_told, is_active) in
        [(withheld, None, false), (replaced, Some("Read it SECOND."), true), (added, Some("FORM"), true)]
    {
        let long = "word ".repeat(3_000);
        let script = Script::new([
            Reply::calls(&[("activate_skill", json!({ "name": "forms" }))]),
            Reply::done(&long),
        ]);
        let house = house(&script, &json!({ "PostToolUse": [["Skill", hook]] })).agent("bare", BARE);
        let folder = house.dir.path().join("skills/forms");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("SKILL.md"), SKILL).unwrap();
        let running = house.boot().await;
        let mut client = running.client();
        let (run, session) = client.start(&running, "bare", json!({})).await;
        client.ended(&run).await;
        let resumed = || json!({ "workspace": null, "sessionId": session });
        script.replace([Reply::done(&long)]);
        let (run, _) = client.start(&running, "bare", resumed()).await;
        client.ended(&run).await;
        script.replace([Reply::says(SNAPSHOT)]);
        let compacted = client.call("session/compact", json!({ "sessionId": session })).await;
        assert_eq!(compacted["contexts"][0]["status"], "COMPRESSED", "{compacted}");
        script.replace([Reply::calls(&[("activate_skill", json!({ "name": "forms" }))]), Reply::done("x")]);
        let before = script.requests().len();
        let (run, _) = client.start(&running, "bare", resumed()).await;
        client.ended(&run).await;
        let whole: Vec<String> =
            script.requests()[before..].iter().map(|it| format!("{:?}", it.messages)).collect();
        let first = whole.first().unwrap();
        assert_eq!(first.contains("FORM"), is_told == Some("FORM"), "{hook}: {first}");
        assert!(is_told.is_none_or(|text| first.contains(text)), "{hook}: {first}");
        // The log has a result as the tool gave it.
        let log = running.log().await;
        let ends = log.iter().filter(|it| it["type"] == "tool.state" && it["data"]["result"].is_object());
        let again = ends.map(|it| it["data"]["result"].to_string());
        let was_active = again.filter(|result| result.contains("is active already")).count();
        assert_eq!(was_active == 1, is_active, "{hook}: {log:?}");
        running.stop().await;
    }
}
