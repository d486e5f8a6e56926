//! Files that are no text, on their way to a model that takes them and to one that does not (spec 05, `read_file`).

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::{Value, json};
use subagentd::config::ConfigSources;

use crate::support::{House, Reply, Script};

const READER: &str = "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\ntools: [read_file]\n---\nYou read.\n";
const PAGE: &str = "%PDF-1.4\nstartxref\n0\n%%EOF\n";

/// A house with a program in place of `pdftotext`; `None` = there is none.
fn house(program: Option<&str>) -> House {
    let calls = [("read_file", json!({ "path": "page.pdf" }))];
    let mut house = House::new()
        .script(&Script::new([Reply::calls(&calls), Reply::done("done")]))
        .agent("reader", READER)
        .file("page.pdf", PAGE);
    // In the workspace: other folders of a test's are out of sight in a sandbox.
    let programs = house.work().join("programs");
    fs::create_dir(&programs).unwrap();
    let mut path = programs.display().to_string();
    if let Some(program) = program {
        let file = programs.join("pdftotext");
        fs::write(&file, format!("#!/bin/sh\n{program}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        path.push_str(":/usr/bin:/bin");
    }
    house.sources = ConfigSources { environment: vec![("PATH".into(), path.into())], ..house.sources };
    house
}

/// What the model is told of the page.
async fn told(house: &House, model: Option<String>) -> Vec<Value> {
    let running = house.boot().await;
    let mut client = running.client();
    let more = model.map_or(json!({}), |model| json!({ "model": model }));
    let (run, _) = client.start(&running, "reader", more).await;
    client.ended(&run).await;
    let log = running.log().await;
    let end =
        log.iter().find(|event| event["activity"] == "TOOL_CALL_END" && event["data"]["name"] == "read_file");
    let content = end.unwrap()["data"]["result"]["llmContent"].as_array().unwrap().clone();
    drop(client);
    running.stop().await;
    content
}

#[tokio::test]
async fn a_model_that_takes_no_pdf_reads_its_text() {
    let program = r#"[ "$*" = "-q -enc UTF-8 - -" ] || exit 9
head -c 8 | tr -d '%'; printf 'one\ntwo\n\014three\n'"#;
    let house = house(Some(program));
    let content = told(&house, None).await;
    let expected = "[decoded from PDF; layout and pictures are lost]\nPDF-1.4one\ntwo\n\nthree\n";
    assert_eq!(content, [json!({ "type": "text", "text": expected })]);
}

#[tokio::test]
async fn a_model_that_takes_pdfs_gets_it_as_it_is() {
    let house = house(Some("exit 9"));
    let line = |name: &str, arguments: Value| {
        let parts = [json!({ "functionCall": { "name": name, "args": arguments } })];
        let chunk = json!({ "candidates": [{ "content": { "parts": parts }, "finishReason": "STOP" }] });
        json!({ "method": "generateContentStream", "response": [chunk] }).to_string()
    };
    let lines = [
        line("read_file", json!({ "path": "page.pdf" })),
        line("complete_task", json!({ "result": "done" })),
    ];
    let recording = house.work().join("recording.jsonl");
    fs::write(&recording, lines.join("\n")).unwrap();
    let model = format!("replay:{}", recording.display());
    let content = told(&house, Some(model)).await;
    assert_eq!(content[0]["text"], format!("[`page.pdf` is a PDF: application/pdf, {} bytes]", PAGE.len()));
    assert_eq!(content[1]["mimeType"], "application/pdf");
}

#[tokio::test]
async fn whatever_goes_wrong_with_the_program_is_told() {
    let cases = [
        (None, "pdftotext is not installed (it is in the package poppler-utils)"),
        (
            Some("echo; echo 'Syntax Error: no page' >&2; exit 1"),
            "pdftotext cannot read it: Syntax Error: no page",
        ),
        (Some("exit 3"), "pdftotext cannot read it: it does not say why"),
        (Some("printf '  \\n'"), "there is no text in it; its pages may be pictures"),
        // Neither files nor anybody else is in its reach, whatever the file makes it do.
        (Some("echo x > ./made || exit 1; echo made"), "pdftotext cannot read it: "),
        (Some("head -c 20000000 /dev/zero"), "its text has more than 8 MiB"),
    ];
    for (program, problem) in cases {
        let house = house(program);
        let content = told(&house, None).await;
        let text = content[0]["text"].as_str().unwrap();
        let beginning = format!(
            "[`page.pdf` is a binary file: application/pdf, {} bytes; its content is not shown: this model takes no PDF, \
             and its text cannot be had: {problem}",
            PAGE.len()
        );
        assert!(text.starts_with(&beginning) && content.len() == 1, "{program:?}: {content:?}");
        assert!(!house.work().join("made").exists());
    }
}
