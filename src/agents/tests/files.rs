//! What one file says.

use super::*;

#[test]
fn every_field_reaches_the_definition_in_any_spelling_of_its_key() {
    let camel = r##"---
kind: agent
name: debug-analyzer
title: The Analyzer
description: "Finds causes: all of them"
version: 1.2.0-rc.1
color: "#00FFaa"
scope: user
model: {name: gemini-2.5-pro, temperature: 0.2, topP: 0.9, maxOutputTokens: 4096, thinkingBudget: -1}
run: {maxTurns: "7", maxTimeMinutes: 1.5, maxTokens: 100000, graceSeconds: 30}
completion: message
inputs:
  command: {type: string, description: What fails}
  depth: {type: integer, default: 2}
  files: {type: "string[]", required: false}
  options: {schema: {type: object, properties: {fast: {type: boolean}}}}
query: "Look at ${command} to depth ${depth}"
initialMessages:
  - {role: user, text: "hi ${command}"}
  - {role: model, text: hello}
tools: {allow: [read_file, "mcp.github.*"], deny: grep}
hidden: true
---

You are in ${workspace}. `$${literal}` stays.

The end.

"##;
    let file = read(camel);
    assert_eq!(told(&file.problems, Path::new("dir")), "");
    let definition = file.definition.unwrap();
    expect![[r##"
        {
          "name": "debug-analyzer",
          "title": "The Analyzer",
          "description": "Finds causes: all of them",
          "version": "1.2.0-rc.1",
          "color": "#00FFaa",
          "model": {
            "name": "gemini-2.5-pro",
            "sampling": {
              "temperature": 0.2,
              "topP": 0.9,
              "maxOutputTokens": 4096,
              "thinkingBudget": -1
            }
          },
          "limits": {
            "maxTurns": 7,
            "maxTimeMs": 90000,
            "maxTokens": 100000,
            "graceMs": 30000
          },
          "completion": "message",
          "inputs": [
            {
              "name": "command",
              "description": "What fails",
              "required": true,
              "schema": {
                "type": "string"
              }
            },
            {
              "name": "depth",
              "required": false,
              "default": 2,
              "schema": {
                "type": "integer"
              }
            },
            {
              "name": "files",
              "required": false,
              "schema": {
                "type": "array",
                "items": {
                  "type": "string"
                }
              }
            },
            {
              "name": "options",
              "required": true,
              "schema": {
                "type": "object",
                "properties": {
                  "fast": {
                    "type": "boolean"
                  }
                }
              }
            }
          ],
          "query": "Look at ${command} to depth ${depth}",
          "initialMessages": [
            {
              "role": "user",
              "text": "hi ${command}"
            },
            {
              "role": "model",
              "text": "hello"
            }
          ],
          "tools": {
            "allow": [
              "read_file",
              "mcp.github.*"
            ],
            "deny": [
              "grep"
            ]
          },
          "hidden": true,
          "prompt": "You are in ${workspace}. `$${literal}` stays.\n\nThe end."
        }"##]]
    .assert_eq(&serde_json::to_string_pretty(&*definition).unwrap());

    let keys = [
        "topP",
        "maxOutputTokens",
        "thinkingBudget",
        "maxTurns",
        "maxTimeMinutes",
        "maxTokens",
        "graceSeconds",
        "initialMessages",
    ];
    for separator in ["_", "-"] {
        let mut other = camel.to_owned();
        for key in keys {
            let spelled: String = key
                .chars()
                .map(|c| {
                    if c.is_uppercase() { format!("{separator}{}", c.to_lowercase()) } else { c.to_string() }
                })
                .collect();
            other = other.replace(&format!("{key}:"), &format!("{spelled}:"));
        }
        assert_ne!(other, camel);
        assert_eq!(read(&other).definition.as_deref(), Some(&*definition), "{:?}", read(&other).problems);
    }
}

#[test]
fn the_least_file_gets_the_defaults() {
    let file = read(
        "\u{FEFF}\r\n---  \r\nkind: agent\r\nname: debug-analyzer\r\ndescription: d\r\n...\r\n\r\nDo\r\nit.\r\n",
    );
    assert_eq!(told(&file.problems, Path::new("dir")), "");
    assert!(file.digest.starts_with("sha256:") && file.digest.len() == 71);
    expect![[r#"
        {
          "name": "debug-analyzer",
          "title": "Debug Analyzer",
          "description": "d",
          "model": {
            "sampling": {}
          },
          "limits": {},
          "inputs": [
            {
              "name": "prompt",
              "required": true,
              "schema": {
                "type": "string"
              }
            }
          ],
          "query": "${prompt}",
          "tools": {},
          "hidden": false,
          "prompt": "Do\nit."
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&*file.definition.unwrap()).unwrap());
}

#[test]
fn the_query_depends_on_the_prompt_input() {
    let query = |fields: &str| {
        let file = read(format!("---\nkind: agent\nname: a\n{fields}\n---\nDo it.\n"));
        file.definition.unwrap().query.clone()
    };
    assert_eq!(query(""), "${prompt}");
    assert_eq!(query("inputs: {}"), "Get Started!");
    assert_eq!(query("inputs: {prompt: {type: string}, x: {type: number}}"), "${prompt}");
    assert_eq!(query("inputs: {x: {type: number}}\nquery: go ${x}"), "go ${x}");
}

#[test]
fn tools_are_read_however_they_are_written() {
    let tools = |value: &str| {
        let file = read(format!("---\nkind: agent\nname: a\ntools: {value}\n---\nDo it.\n"));
        let selection = file.definition.unwrap().tools.clone();
        let names = |names: &[protocol::ToolName]| {
            names.iter().map(ToString::to_string).collect::<Vec<_>>().join("|")
        };
        format!("{:?} - {}", selection.allow.as_deref().map(names), names(&selection.deny))
    };
    let cases = [
        ("", "None - "),
        ("[]", r#"Some("") - "#),
        ("'*'", r#"Some("*") - "#),
        ("[grep, glob]", r#"Some("grep|glob") - "#),
        ("grep, glob", r#"Some("grep|glob") - "#),
        ("grep glob", r#"Some("grep|glob") - "#),
        ("Bash(git add, git rm), grep", r#"Some("Bash|grep") - "#),
        ("Bash(git add)", r#"Some("Bash") - "#),
        ("{deny: [grep]}", "None - grep"),
        ("{allow: 'a, b', deny: c}", r#"Some("a|b") - c"#),
    ];
    for (value, expected) in cases {
        assert_eq!(tools(value), expected, "{value}");
    }
}

#[test]
fn models_are_read_however_they_are_written() {
    let model = |value: &str| {
        let file = read(format!("---\nkind: agent\nname: a\nmodel: {value}\n---\nDo it.\n"));
        file.definition.unwrap().model.name.as_ref().map(ToString::to_string)
    };
    assert_eq!(model("inherit"), None);
    assert_eq!(model(""), None);
    assert_eq!(model("{temperature: 1}"), None);
    assert_eq!(model("{name: inherit}"), None);
    assert_eq!(model("auto").as_deref(), Some("auto"));
    assert_eq!(model("entry/some-model").as_deref(), Some("entry/some-model"));
}

#[test]
fn a_name_that_is_none_becomes_the_title() {
    let file = read("---\nkind: agent\nname: Debug  Analyzer\n---\nDo it.\n");
    let definition = file.definition.unwrap();
    assert_eq!((definition.name.as_str(), definition.title.as_str()), ("debug-analyzer", "Debug  Analyzer"));
}

#[test]
fn a_file_that_says_it_is_ours_is_read_by_our_table_in_any_folder() {
    let read = |kind: &str, format| {
        let text = format!(
            "---\n{kind}name: scout\ntitle: The Scout\ndescription: d\nversion: 2.0.0\nmcp: {{ servers: [docs] }}\n---\nLook.\n"
        );
        AgentFile::read(Path::new("agents/scout.md"), text.as_bytes(), AgentScope::Project, format)
    };
    for format in [AgentFormat::Gemini, AgentFormat::Claude, AgentFormat::OpenCode] {
        for kind in ["kind: agent\n", "kind: \"agent\" # of ours\n"] {
            let file = read(kind, format);
            assert_eq!((file.format, file.problems), (AgentFormat::Own, vec![]), "{format:?}");
            let definition = file.definition.unwrap();
            assert_eq!(
                (definition.title.as_str(), definition.version.as_deref()),
                ("The Scout", Some("2.0.0"))
            );
            assert_eq!(definition.mcp.servers, Some(vec!["docs".to_owned()]));
        }
        // Whoever does not say so follows the folder.
        for kind in ["", "kind: local\n"] {
            assert_eq!(read(kind, format).format, format);
        }
    }
}

/// A limit that is finer than what is counted is the least that is, as a file says it again; it is never zero.
#[test]
fn a_cost_below_a_billionth_is_a_billionth() {
    for (written, nanos) in [("0.0000000001", 1), ("1e-30", 1), ("0.0000000016", 2), ("0.5", 500_000_000)] {
        let text =
            format!("---\nkind: agent\nname: a\ndescription: d\nrun: {{ maxCostUsd: {written} }}\n---\nx\n");
        let file = read(&text);
        let Some(definition) = &file.definition else { panic!("{written}: {:?}", file.problems) };
        assert_eq!(definition.limits.max_cost.map(protocol::UsdAmount::nanos), Some(nanos), "{written}");
    }
}
