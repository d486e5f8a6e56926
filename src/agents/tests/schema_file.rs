//! The JSON Schema of front matter and the reader of front matter say the same.

use serde_json::Value;

use super::*;
use crate::yaml;
use protocol::FileProblemCode;

/// What the schema finds wrong.
fn seen_by_schema(fields: &str) -> Vec<String> {
    let schema = front_matter_schema();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let (root, errors) = yaml::parse(fields, 1);
    assert_eq!(errors, [], "{fields}");
    let value = root.unwrap().to_json();
    validator.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// What the reader finds wrong: errors, and fields that it does not know. What has no effect yet is no mistake.
fn seen_by_reader(fields: &str) -> Vec<String> {
    let file = read(format!("---\n{fields}\n---\nDo it.\n"));
    let is_mistake = |problem: &&protocol::FileProblem| {
        problem.severity == ProblemSeverity::Error
            || (problem.code == FileProblemCode::UnknownField && problem.message.starts_with("unknown"))
    };
    file.problems.iter().filter(is_mistake).map(|problem| problem.message.clone()).collect()
}

fn whole(fields: &str) -> String {
    format!("kind: agent\nname: a\ndescription: d\n{fields}")
}

#[test]
fn files_that_are_right_are_right_for_both() {
    let check = |fields: String| {
        assert_eq!(seen_by_schema(&fields), [] as [&str; 0], "{fields}");
        assert_eq!(seen_by_reader(&fields), [] as [&str; 0], "{fields}");
    };
    check("kind: agent\nname: debug-analyzer".to_owned());
    for fields in [
        "title: 1.10",
        "title:\nquery:\nmodel:\nrun:\ninputs:\ntools:\nhidden:\nscope:\noutput:",
        "version: 1.2.0-rc.1+build.5",
        "color: \"#0a0B0c\"",
        "color: teal",
        "scope: global",
        "model: gemini/gemini-2.5-pro",
        "model: { name: inherit, temperature: 0, topP: 1, maxOutputTokens: 1, thinkingBudget: -1 }",
        "run: { maxTurns: 1, maxTimeMinutes: 0.5, maxTokens: 1, graceSeconds: 0, maxDepth: 16 }",
        "run: { maxTimeMinutes: 527040, graceSeconds: 31622400, maxTurns: 4294967295 }",
        "run: { maxCostUsd: 0.5, onBudget: end, maxContextTokens: 5 }",
        "run: { max_turns: 3, max-time-minutes: 2 }",
        "initial_messages: [{ role: user, text: hi }, { role: model, text: ho }]",
        "completion: message",
        "inputs: { a: { type: string }, größe: { type: \"number[]\", required: false, default: [1.5] } }",
        "inputs: { a: { schema: { enum: [1, 2] }, description: one of two, default: 2 } }",
        "inputs: {}",
        "output: { name: report, description: d, schema: { type: object, properties: { a: {} } }, format: \"${a}\" }",
        "query: Look at ${prompt}.",
        "tools: []",
        "tools: Read, Grep",
        "tools: [read_file, \"*\", \"mcp.github.*\"]",
        "tools: { allow: [read_file], deny: write_file }",
        "hidden: true",
        "approval: { auto_approve: [low, \"medium\"] }",
        "approval: {}",
        "triggers: [{ keywords: [bug, 404], priority: -5 }, { regex: fix.*test, intent: fix }]",
        "triggers: [{ keywords: \"bug, stack trace\" }, { keywords: [], regex: a }, { keywords: a, regex: }]",
        "triggers: []",
        "tracing: { enabled: false, events: [llm, tool], backend: [sqlite, otlp, file, console], sample_rate: 0.5, content: redacted }",
        "mcp: { servers: [a] }\nhandoffs: []\nguardrails: {}\nmemory: {}\ngraph: {}\ntracing: {}",
    ] {
        check(whole(fields));
    }
}

#[test]
fn mistakes_are_mistakes_for_both() {
    let check = |fields: String| {
        assert_ne!(seen_by_schema(&fields), [] as [&str; 0], "the schema lets it pass: {fields}");
        assert_ne!(seen_by_reader(&fields), [] as [&str; 0], "the reader lets it pass: {fields}");
    };
    for fields in
        ["name: a", "kind: agent", "kind: graph\nname: a", "kind: agnet\nname: a", "kind: agent\nname: [a]"]
    {
        check(fields.to_owned());
    }
    for name in ["read_file", "read-file", "bash", "—"] {
        check(format!("kind: agent\nname: {name}\ndescription: d"));
    }
    for fields in [
        "titel: x",
        "temperature: 1",
        "title: { a: 1 }",
        "version: 1.2",
        "version: 01.2.3",
        "color:",
        "color: \"#12345\"",
        "color: mauve",
        "scope: galaxy",
        "model: [a]",
        "model: { name: 4 }",
        "model: { topK: 4 }",
        "model: { temperature: 2.1 }",
        "model: { topP: -0.1 }",
        "model: { maxOutputTokens: 0 }",
        "model: { thinkingBudget: -2 }",
        "run: fast",
        "run: { maxTurn: 1 }",
        "run: { maxTurns: 0 }",
        "run: { maxTurns: 4294967296 }",
        "run: { maxTimeMinutes: 0 }",
        "run: { maxTimeMinutes: 527041 }",
        "run: { maxTokens: 1.5 }",
        "run: { graceSeconds: -1 }",
        "run: { graceSeconds: 31622401 }",
        "run: { maxDepth: 17 }",
        "run: { maxCostUsd: 0 }",
        "completion: never",
        "inputs: [a]",
        "inputs: { \"two words\": { type: string } }",
        "inputs: { today: { type: string } }",
        "inputs: { a: { type: text } }",
        "inputs: { a: {} }",
        "inputs: { a: 5 }",
        "inputs: { a: { type: string, schema: {} } }",
        "inputs: { a: { schema: { type: strin } } }",
        "inputs: { a: { type: string, required: maybe } }",
        "inputs: { a: { typ: string, type: string } }",
        "output: {}",
        "output: { name: the report, schema: {} }",
        "output: { name: report, schema: 5 }",
        "output: { name: report, schema: { required: a } }",
        "output: { name: report, schema: {}, format: [x] }",
        "query: 5",
        "initialMessages: {}",
        "initialMessages: [{ role: system, text: hi }]",
        "initialMessages: [{ role: user }]",
        "initialMessages: [7]",
        "tools: 5",
        "tools: [4]",
        "tools: [\" \"]",
        "tools: { allow: { a: 1 } }",
        "tools: { allowed: [a] }",
        "hidden: yes",
        "triggers: bug",
        "triggers: [bug]",
        "triggers: [{}]",
        "triggers: [{ intent: x, priority: 4 }]",
        "triggers: [{ keywords: [] }]",
        "triggers: [{ keywords: , regex: }]",
        "triggers: [{ keywords: [\" \"] }]",
        "triggers: [{ keywords: [a, ~] }]",
        "triggers: [{ keywords: \"a,,b\" }]",
        "triggers: [{ regex: \"\" }]",
        "triggers: [{ regex: 5 }]",
        "triggers: [{ regex: a, priority: 1001 }]",
        "triggers: [{ regex: a, priority: 0.5 }]",
        "triggers: [{ regex: a, keyword: b }]",
    ] {
        check(whole(fields));
    }
}

/// Files that others wrote are like this; a new one need not be.
#[test]
fn the_reader_forgives_more() {
    for fields in [
        "name: 404\nkind: agent",
        "name: Debug Analyzer\nkind: agent",
        "name: a\nkind: agent\nrun: { maxTurns: \"5\" }",
        "name: a\nkind: agent\nrun: { maxCost: 5 }",
        "name: a\nkind: agent\ncolor: Teal",
    ] {
        assert_ne!(seen_by_schema(fields), [] as [&str; 0], "{fields}");
        assert_eq!(seen_by_reader(fields), [] as [&str; 0], "{fields}");
    }
}

/// What follows only from several fields, or from the text below.
#[test]
fn the_reader_sees_more() {
    for fields in [
        "query: Hello ${nam}",
        "inputs: { a: { type: integer, default: x } }",
        "output: { name: report, schema: { properties: { a: {} } }, format: \"${b}\" }",
        "output: { name: report, schema: { $ref: \"#/nowhere\" } }",
        "triggers: [{ regex: \"fix(\" }]",
    ] {
        assert_eq!(seen_by_schema(&whole(fields)), [] as [&str; 0], "{fields}");
        assert_ne!(seen_by_reader(&whole(fields)), [] as [&str; 0], "{fields}");
    }
}

#[test]
fn built_in_agents_fit_the_schema() {
    let built_in = [
        include_str!("../builtin/codebase-investigator.md"),
        include_str!("../builtin/generalist.md"),
        include_str!("../builtin/help.md"),
    ];
    let templates = templates(&[]).list.into_iter().map(|template| template.text);
    for text in built_in.into_iter().map(str::to_owned).chain(templates) {
        let fields = text.split("---\n").nth(1).unwrap();
        assert_eq!(seen_by_schema(fields), [] as [&str; 0]);
    }
}

/// Also the fields of maps that are values of others.
#[test]
fn every_field_says_what_it_means() {
    fn check(schema: &Value, place: &str, counted: &mut usize) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let place = format!("{place}/{name}");
            assert!(field["description"].is_string(), "its row says nothing of the field {place}");
            *counted += 1;
            check(field, &place, counted);
            field["anyOf"].as_array().into_iter().flatten().for_each(|it| check(it, &place, counted));
            ["items", "additionalProperties"].iter().for_each(|word| check(&field[*word], &place, counted));
        }
    }
    let mut counted = 0;
    check(&front_matter_schema(), "", &mut counted);
    assert!(counted > 40, "{counted}");
}
