//! Which sections a question finds, and what is said when there is none.

use std::{collections::BTreeSet, fs, path::Path};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::documents::{DOCUMENTS, IndexedDocument, PASSAGE_BYTES, passages};
use crate::tests::{Bench, SECRET, assert_hidden, redactor};

async fn found(query: &str) -> Vec<String> {
    let result = Bench::new(&[]).call("search_docs", json!({ "query": query })).await;
    let data = result.data.unwrap_or_else(|| panic!("{:?}", result.error));
    let place = |it: &Value| format!("{}: {}", it["file"].as_str().unwrap(), it["heading"].as_str().unwrap());
    data["sections"].as_array().unwrap().iter().map(place).collect()
}

#[test]
fn every_guide_and_every_document_of_the_protocol_is_among_them() {
    let root = &Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut expected: BTreeSet<String> =
        ["README.md", "CONTRIBUTING.md", "src/ARCHITECTURE.md"].map(str::to_owned).into();
    for folder in ["docs", "proto-docs"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") {
                expected.insert(format!("{folder}/{name}"));
            }
        }
    }
    let listed: BTreeSet<String> = DOCUMENTS.iter().map(|document| document.file.to_owned()).collect();
    assert_eq!(listed, expected);
}

#[test]
fn no_word_of_a_document_is_lost_and_no_passage_is_endless() {
    for document in DOCUMENTS {
        let of = passages(document);
        let words = |text: &str| text.split_whitespace().filter(|it| !it.starts_with('#')).count();
        let in_headings: usize = {
            let mut fenced = false;
            let headings = document.text.lines().filter(|line| {
                fenced ^= line.trim().starts_with("```");
                !fenced && line.starts_with('#')
            });
            headings.map(words).sum()
        };
        let in_passages: usize = of.iter().map(|passage| words(passage.text)).sum();
        assert_eq!(in_passages + in_headings, words(document.text), "{}", document.file);
        for passage in of {
            assert!(passage.text.len() < 4 * PASSAGE_BYTES, "{}:{}", document.file, passage.line);
            let line = document.text.lines().nth(passage.line - 1).unwrap();
            assert!(passage.text.starts_with(line.trim_end()), "{}:{}", document.file, passage.line);
        }
    }
}

#[test]
fn sections_have_the_headings_above_them() {
    let text =
        "# Title\n\nIntro.\n\n## One\n\n### Deep\n\nA.\n```sh\n# no heading\n```\n## Two\nB.\n\n## Three\n";
    let document = IndexedDocument { file: "x.md", text, weight: 1.0 };
    let lines: Vec<String> = passages(&document)
        .iter()
        .map(|passage| format!("{} {} {:?}", passage.line, passage.heading(), passage.text))
        .collect();
    expect![[r#"
        3 Title "Intro."
        9 One › Deep "A.\n```sh\n# no heading\n```"
        14 Two "B.""#]]
    .assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn questions_find_the_section_that_answers_them() {
    for (query, expected) in [
        ("create an agent from a template", "docs/agents.md: Writing an agent › Beginning with a template"),
        ("fields of an agent's file", "docs/agents.md: Writing an agent › Fields of an agent's file"),
        ("web search backend", "docs/tools-and-mcp.md: Agents and the web"),
        ("systemd service", "docs/service.md: As a service"),
        ("session/attach deltas", "proto-docs/README.md: Attach"),
        ("run.resumed", "proto-docs/events.md: Facts › `run.resumed`"),
        ("trusting a project's agents", "docs/security.md: What a project brings along"),
        ("undo the last change", "docs/use.md: Sessions and live runs › Undo"),
        ("Editor-Plugin Neovim", "docs/protocol.md: From an editor"),
    ] {
        let found = found(query).await;
        assert!(found[..found.len().min(3)].iter().any(|it| it == expected), "{query}: {found:#?}");
    }
}

#[tokio::test]
async fn a_type_that_two_documents_describe_is_shown_once() {
    let found = found("trigger intent keywords regex priority").await;
    assert_eq!(found.iter().filter(|it| it.ends_with("Types › RoutingTrigger")).count(), 1, "{found:#?}");
}

async fn check(arguments: Value, expected: Expect) {
    expected.assert_eq(&Bench::new(&[]).text("search_docs", arguments).await);
}

#[tokio::test]
async fn what_is_in_no_document_is_said_to_be_in_none() {
    for query in ["What is the capital of France?", "kubernetes helm chart", "?!", "日本語", "how do you do"]
    {
        let text = Bench::new(&[]).text("search_docs", json!({ "query": query })).await;
        assert!(text.starts_with("Nothing in the documents fits"), "{query}: {text}");
    }
    check(
        json!({ "query": "sourdough\n bread\u{1b}" }),
        expect![[r#"
            Nothing in the documents fits `sourdough bread�`.
            They are README.md, docs/README.md, docs/use.md, docs/questions.md, docs/agents.md, docs/prompts-and-memory.md, docs/skills.md, docs/extensions.md, docs/hooks.md, docs/tools-and-mcp.md, docs/models.md, docs/settings.md, docs/service.md, docs/protocol.md, docs/security.md, docs/traces.md, docs/coming-from.md, proto-docs/README.md, proto-docs/methods.md, proto-docs/events.md, proto-docs/errors.md, CONTRIBUTING.md, src/ARCHITECTURE.md.
            Try once more with other words; if nothing fits those either, it is outside of the documents."#]],
    )
    .await;
}

#[tokio::test]
async fn a_word_that_stands_nowhere_is_told_beside_what_was_found() {
    let text = Bench::new(&[])
        .text("search_docs", json!({ "query": "systemd service frobnicate", "limit": 1 }))
        .await;
    assert!(text.starts_with("=== docs/service.md › As a service (line "), "{text}");
    assert!(text.ends_with("[no document has a word that begins with `frobnicat…`]"), "{text}");
    assert!(text.contains("[the 1 best of "), "{text}");
}

#[tokio::test]
async fn what_is_shown_is_bounded_by_whole_sections() {
    let mut bench = Bench::new(&[]);
    let arguments = json!({ "query": "run agent session", "limit": 10 });
    let whole = bench.text("search_docs", arguments.clone()).await;
    assert!(whole.chars().count() <= 16_000 && whole.contains(" best of "), "{}", whole.chars().count());
    bench.output.max_chars = 3_000;
    let little = bench.text("search_docs", arguments).await;
    assert!(little.chars().count() <= 3_000, "{}", little.chars().count());
}

#[tokio::test]
async fn bad_arguments_are_told_with_their_places() {
    check(json!({ "query": " " }), expect!["INVALID_TOOL_PARAMS: /query: blank; say what to look for"]).await;
    check(
        json!({ "query": "x".repeat(401), "limit": 0 }),
        expect![[r#"
            INVALID_TOOL_PARAMS: /query: value is longer than 400 characters
            /limit: 0 is less than the minimum of 1"#]],
    )
    .await;
    check(
        json!({ "limit": 11, "path": "README.md" }),
        expect![[r#"
            INVALID_TOOL_PARAMS: /limit: 11 is greater than the maximum of 10
            /path: unknown argument
            /query: missing, but required"#]],
    )
    .await;
}

#[tokio::test]
async fn a_secret_in_a_question_is_not_shown() {
    let mut bench = Bench::new(&[]);
    bench.redactor = redactor();
    let arguments = json!({ "query": format!("{SECRET} {SECRET}") });
    let invocation = bench.prepare("search_docs", arguments.clone()).await.unwrap();
    assert_hidden(&invocation.description());
    assert_hidden(&bench.text("search_docs", arguments).await);
}
