//! A file that is written with the content that it had: does anybody say that the run changed it?

use std::fs;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_has_its_content_already_is_none_that_the_run_changed() {
    let reads = |path: &str| ("read_file", json!({ "path": path }));
    let replies = vec![
        Reply::calls(&[reads("a.md"), reads("b.md")]),
        Reply::calls(&[writes("a.md"), writes("b.md")]),
        Reply::done("done"),
    ];
    let script = [("lead", replies)];
    let house =
        house(&Cast::new(script)).rules("edits", "[[rule]]\ntool = \"write_file\"\ndecision = \"allow\"\n");
    // The model is told that a file has its content already; a hook may come to it all the same.
    let back = json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse",
        "updatedInput": { "content": "same" } } });
    let command = format!("if grep -q 'file_path\":\"[^\"]*a[.]md'; then printf '%s' '{back}'; fi");
    let hooks = json!({ "PreToolUse": [{ "matcher": "Write", "hooks": [{ "type": "command", "command": command }] }] });
    fs::write(&house.sources.files.user, json!({ "hooks": hooks }).to_string()).unwrap();
    let house = house.file("a.md", "same");
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let spans = spans(&mut client, &run, 1_000).await;
    let record = client.call("run/get", json!({ "runId": run })).await;
    let told = record["filesChanged"].as_array().unwrap();
    assert!(told.len() == 1 && told[0].as_str().unwrap().ends_with("/b.md"), "{record} {spans:#?}");
    let lead = find(&spans, "run", "lead");
    assert_eq!(lead["run"]["filesChanged"], record["filesChanged"], "{lead}");
    let calls = spans.iter().filter(|span| span["name"] == "write_file");
    let changes: Vec<&Value> = calls.map(|call| &call["tool"]["filesChanged"][0]["change"]).collect();
    assert!(changes.contains(&&json!("unchanged")), "{spans:#?}");
    let story = export(&mut client, json!({ "runId": run }), "markdown").await;
    let changed = story.lines().find(|line| line.starts_with("Files changed")).unwrap();
    assert!(changed.contains("b.md") && !changed.contains("a.md"), "{changed}");
    running.stop().await;
}
