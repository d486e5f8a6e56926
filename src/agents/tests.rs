//! Promises of agent files and of the catalogue, tested on real folders.

use std::{fs, path::Path};

use expect_test::expect;

use super::*;
use protocol::{AgentFormat, AgentName, AgentScope, AgentStatus, ProblemSeverity};
use trust::TrustRecords;

mod catalog;
mod files;
mod hostile;
mod in_place;
mod mistakes;
mod oddities;
mod places;
mod round_trip;
mod schema_file;
mod starting_points;
mod stricter;
mod triggers;

/// Reads a text as one of the user's files.
fn read(text: impl AsRef<[u8]>) -> AgentFile {
    AgentFile::read(Path::new("dir/my-file.md"), text.as_ref(), AgentScope::User, AgentFormat::Own)
}

/// A text with the problems of a file, one per line.
fn told(problems: &[protocol::FileProblem], folder: &Path) -> String {
    let mut told = String::new();
    for problem in problems {
        let path = problem.path.strip_prefix(folder).unwrap_or(&problem.path).to_owned();
        let shown = protocol::FileProblem { path, ..problem.clone() };
        let severity = if problem.severity == ProblemSeverity::Error { "error" } else { "warning" };
        told.push_str(&format!("{severity} {:?} {shown}\n", problem.code));
    }
    told.replace(folder.to_str().unwrap(), "…")
}

#[test]
fn built_in_agents_load_without_any_problem() {
    for file in builtin::files() {
        assert_eq!(file.problems, [], "{}", file.name);
        assert!(file.definition.is_some());
    }
}

#[test]
fn the_investigator_is_what_the_spec_says() {
    let catalog = AgentCatalog::load(&AgentPlaces::of_user("/nowhere"), &[], &TrustRecords::default());
    let AgentLookup::Ready { definition, scope, .. } =
        catalog.find(&AgentName::from("codebase_investigator"))
    else {
        panic!("the alias finds the agent")
    };
    assert_eq!(scope, AgentScope::Builtin);
    let mut shown = serde_json::to_value(&*definition).unwrap();
    let prompt = shown.as_object_mut().unwrap().remove("prompt").unwrap();
    assert!(prompt.as_str().unwrap().lines().count() >= 30);
    expect![[r#"
        {
          "name": "codebase-investigator",
          "title": "Codebase Investigator",
          "description": "Investigates how a code base works and why, and reports findings with the exact places. Use it for questions about structure, dependencies and causes, before planning a change, and to find the root of a defect; it reads, and changes nothing.",
          "version": "1.0.0",
          "model": {
            "sampling": {
              "temperature": 0.1,
              "topP": 0.95,
              "thinkingBudget": -1
            }
          },
          "limits": {
            "maxTurns": 15,
            "maxTimeMs": 300000
          },
          "completion": "tool",
          "inputs": [
            {
              "name": "objective",
              "description": "The question to answer, with all that is known about it already.",
              "required": true,
              "schema": {
                "type": "string"
              }
            }
          ],
          "output": {
            "name": "report",
            "description": "What the investigation found.",
            "schema": {
              "type": "object",
              "properties": {
                "SummaryOfFindings": {
                  "type": "string",
                  "description": "The answer, with the reasons for it and how the parts work together."
                },
                "ExplorationTrace": {
                  "type": "array",
                  "items": {
                    "type": "string"
                  },
                  "description": "The steps taken, one line each, in their order."
                },
                "RelevantLocations": {
                  "type": "array",
                  "description": "The places that somebody who acts on the report must know, the most important first.",
                  "items": {
                    "type": "object",
                    "properties": {
                      "FilePath": {
                        "type": "string",
                        "description": "Path from the workspace root; `path:line` or `path:first-last` where a line matters."
                      },
                      "Reasoning": {
                        "type": "string",
                        "description": "Why the place matters for the objective."
                      },
                      "KeySymbols": {
                        "type": "array",
                        "items": {
                          "type": "string"
                        },
                        "description": "The functions, types, fields or settings to look at there."
                      }
                    },
                    "required": [
                      "FilePath",
                      "Reasoning",
                      "KeySymbols"
                    ]
                  }
                }
              },
              "required": [
                "SummaryOfFindings",
                "ExplorationTrace",
                "RelevantLocations"
              ]
            }
          },
          "query": "Investigate this objective in the workspace:\n<objective>\n${objective}\n</objective>\n",
          "tools": {
            "allow": [
              "list_directory",
              "read_file",
              "glob",
              "grep"
            ]
          },
          "hidden": false
        }"#]].assert_eq(&format!("{shown:#}"));
}

#[test]
fn the_generalist_may_use_every_tool_and_takes_a_prompt() {
    let catalog = AgentCatalog::load(&AgentPlaces::of_user("/nowhere"), &[], &TrustRecords::default());
    let AgentLookup::Ready { definition, .. } = catalog.find(&AgentName::from("generalist")) else {
        panic!("the agent is there")
    };
    assert_eq!(definition.tools.allow.as_deref(), Some(&["*".into()][..]));
    assert_eq!((definition.query.as_str(), definition.inputs[0].name.as_str()), ("${prompt}", "prompt"));
    assert_eq!(definition.completion, None);
    assert_eq!(catalog.list(false, false).len(), 3);
    assert!(catalog.list(true, true).iter().all(|agent| agent.status == AgentStatus::Ok));
}
