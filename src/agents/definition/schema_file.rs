//! How does an editor know what may stand in an agent's front matter? As a JSON Schema (`agent.schema.json`).
//!
//! Names of fields and choices are those that the reader goes by, so neither can have one that the other lacks. The
//! schema says how to write a file: what it takes, the reader takes without a word, but for what only the whole file
//! shows (a template that names an input). The reader forgives more; a test has both lists.

use serde_json::{Map, Value, json};

use super::{
    COMPLETIONS, FIELDS, IMPORTED_FROM, PRODUCTS, SANDBOXES,
    approval::{APPROVAL_FIELDS, RISKS},
    inputs::{INPUT_FIELDS, SHORT_TYPES},
    look::{CSS_COLORS, SCOPES},
    mcp::{MCP_FIELDS, MOST_SERVERS},
    messages::{MESSAGE_FIELDS, ROLES},
    model::{LARGEST_DEPTH, LONGEST_MINUTES, MODEL_FIELDS, MOST_DOLLARS, ON_BUDGET, RUN_FIELDS},
    output::OUTPUT_FIELDS,
    prompt::PROMPT_FIELDS,
    tools::TOOLS_FIELDS,
    tracing::{BACKENDS, CONTENTS, EVENTS, TRACING_FIELDS, known},
    triggers::{
        LARGEST_PRIORITY, LONGEST_INTENT, LONGEST_KEYWORD, LONGEST_REGEX, MOST_KEYWORDS, MOST_TRIGGERS,
        TRIGGER_FIELDS,
    },
};
use crate::{
    names::{self, LONGEST_NAME},
    template::DAEMON_VALUES,
    unsupported,
};
use config::server_schema;
use protocol::default_tools;

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// As `template::is_name` has it.
const WORD: &str = r"^[\p{Alphabetic}\p{N}_]+$";
/// Semantic Versioning 2.0.0.
const VERSION: &str = r"^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$";

/// The front matter of an agent's file.
pub fn front_matter_schema() -> Value {
    let mut schema = map(FIELDS, field);
    schema["$schema"] = json!(DIALECT);
    schema["title"] = json!("The front matter of an agent of subagentd");
    schema["description"] = json!(
        "A file `NAME.md` begins with these fields between two lines `---`; the text after them is the system prompt. \
         Keys are read in camelCase, snake_case and kebab-case."
    );
    schema["required"] = json!(["kind", "name"]);
    schema
}

fn field(name: &str) -> Option<Value> {
    if name == "memory" {
        return Some(json!({
            "description": "`include: false`: the agent does not get the memory files. Anything else in this field cannot be \
                            carried out in this version: then the agent is not started.",
        }));
    }
    if let Some(keeps_from_starting) = unsupported::keeps_from_starting(name) {
        return Some(json!({ "description": match keeps_from_starting {
            true => "Cannot be carried out in this version: an agent whose file says something here is not started.",
            false => "Has no effect in this version.",
        }}));
    }
    Some(match name {
        "kind" => said("What the file describes.", json!({ "const": "agent" })),
        "name" => said(
            "What the agent is called by; not the name of a tool.",
            json!({
                "type": "string",
                "maxLength": LONGEST_NAME,
                "pattern": "^[a-z0-9_]((-?[a-z0-9._])*-?[a-z0-9_])?$",
                "not": { "pattern": not_a_tool() },
            }),
        ),
        "title" => {
            let scalar = json!({ "type": ["string", "number", "boolean", "null"] });
            said("What people are shown. Default: the name in Title Case.", scalar)
        }
        "description" => {
            said("What the agent is for. Other agents decide by it when to call this one.", text())
        }
        "version" => said(
            "A semantic version, e.g. `1.2.0`.",
            json!({ "type": ["string", "null"], "pattern": VERSION }),
        ),
        "color" => said(
            "`#RRGGBB` in quotes, or a basic colour of CSS.",
            json!({ "type": "string", "anyOf": [{ "pattern": "^#[0-9A-Fa-f]{6}$" }, { "enum": CSS_COLORS }] }),
        ),
        "scope" => {
            said("Where the file lies. The place itself counts, not what is said here.", one_of(SCOPES))
        }
        "model" => said(
            "A model's name, or the name with sampling settings. Default: the caller's, the session's, the setting \
             `models.default`.",
            json!({ "anyOf": [{ "type": ["string", "null"] }, map(MODEL_FIELDS, model_field)] }),
        ),
        "run" => said("Limits of a run.", or_null(map(RUN_FIELDS, run_field))),
        "completion" => said(
            "How a run ends: `tool` only by `complete_task`, `message` also by a turn without tool calls.",
            one_of(COMPLETIONS),
        ),
        "inputs" => said(
            "The inputs of the agent, by name. Default: one required text, `prompt`.",
            json!({
                "type": ["object", "null"],
                "propertyNames": { "pattern": WORD, "not": { "enum": DAEMON_VALUES } },
                "additionalProperties": input(),
            }),
        ),
        "output" => {
            let mut output = map(OUTPUT_FIELDS, output_field);
            output["required"] = json!(["name", "schema"]);
            said("The type of the result. Default: a text.", or_null(output))
        }
        "query" => said(
            "Template of the first user message. Default: `${prompt}` with an input `prompt`, else `Get Started!`.",
            text(),
        ),
        "initialMessages" => {
            let mut message = map(MESSAGE_FIELDS, message_field);
            message["required"] = json!(MESSAGE_FIELDS);
            said(
                "Example messages (few-shot) before the first message.",
                json!({ "type": ["array", "null"], "items": message }),
            )
        }
        "tools" => said(
            &format!(
                "Which tools the agent may use: names, agents among them, or patterns with `*`; `[]` is none. Default: {}.",
                default_tools_in_words()
            ),
            json!({ "anyOf": [tool_names(), map(TOOLS_FIELDS, tools_field)] }),
        ),
        "prompt" => {
            let modules = |_: &str| {
                Some(said(
                    "Whether the system prompt begins with the daemon's own modules, which the text of the file follows. \
                     Default: true for a file without text, else false.",
                    flag(),
                ))
            };
            said("What the system prompt is made of.", or_null(map(PROMPT_FIELDS, modules)))
        }
        "approval" => said(
            "Which calls run without a question, and which ask or are denied.",
            or_null(map(APPROVAL_FIELDS, approval_field)),
        ),
        "hooks" => said(
            "Programs that are asked or told at points of its runs, by event, as Claude Code writes them.",
            json!({ "type": ["object", "null"] }),
        ),
        "mcp" => {
            let server = json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,40}$" });
            let own = json!({
                "type": "object",
                "propertyNames": { "pattern": "^[A-Za-z0-9_-]{1,40}$" },
                "additionalProperties": { "anyOf": [server_schema(), { "type": "null" }] },
                "maxProperties": MOST_SERVERS,
            });
            let servers = said(
                "Names of servers that the settings have (`mcpServers`), and servers of its own by name, which are entries as \
                 the settings have them and begin and end with each of its runs. Where the file says nothing of \
                 `tools.allow`, it gets all their tools besides the usual ones.",
                json!({
                    "anyOf": [
                        { "type": "array", "items": { "anyOf": [server, own] }, "maxItems": MOST_SERVERS },
                        own,
                    ],
                }),
            );
            let fields = map(MCP_FIELDS, |_| Some(servers.clone()));
            said("Which MCP servers the agent may use. Default: those that its tools name.", or_null(fields))
        }
        "skills" => said(
            "Names of skills that its runs begin with, at most 32: what they say stands before the first message.",
            json!({ "anyOf": [{ "type": ["string", "null"] }, { "type": "array", "maxItems": 32, "items": text() }] }),
        ),
        "sandbox" => said(
            "How closely its commands are confined: they may write their temporary folder (`readOnly`), the workspace too \
             (`workspaceWrite`), or everything (`full`). Never wider than the setting `sandbox.profile`, which is the default.",
            one_of(SANDBOXES),
        ),
        "triggers" => said(
            "Which prompts go to the agent when nobody names one.",
            json!({ "type": ["array", "null"], "maxItems": MOST_TRIGGERS, "items": trigger() }),
        ),
        "tracing" => said(
            "Where else the spans of its runs are sent, and which parts of them. It can only narrow what the settings `tracing` say.",
            or_null(map(TRACING_FIELDS, tracing_field)),
        ),
        "hidden" => said("Is not offered to other agents as a tool. Default: false.", flag()),
        IMPORTED_FROM => said(
            "Which product's file it was made from. Fields that mean nothing here go back to that product only, and a model \
             that only that product has is replaced by the default model.",
            json!({ "enum": PRODUCTS.iter().map(|(name, _)| *name).collect::<Vec<_>>() }),
        ),
        _ => return None,
    })
}

/// What no agent may be called.
fn not_a_tool() -> String {
    let tools = names::tool_names().collect::<Vec<_>>().join("|");
    format!("^({tools}|{}|{}.*)$", names::AUTO, names::HANDOFF).replace('_', "[_-]")
}

fn approval_field(name: &str) -> Option<Value> {
    Some(match name {
        "autoApprove" => {
            let risks: Vec<&str> = RISKS.iter().map(|(word, _)| *word).collect();
            said(
                "Risks of calls that run without asking where no rule speaks. Of a project's agent it counts once a person \
                 has acknowledged the file.",
                json!({ "type": ["array", "null"], "items": { "enum": risks } }),
            )
        }
        "rules" => {
            let verdict = json!({ "enum": ["allow", "ask", "deny"] });
            let cases = json!({ "type": "object", "additionalProperties": verdict });
            said(
                "Stricter than the rules in force, by tool: `ask`, `deny`, or a map from calls to verdicts, of which the last \
                 match counts: `{\"*\": ask, \"git status *\": allow}`. `allow` only cancels an `ask` or `deny` of this same field.",
                json!({
                    "type": ["object", "null"],
                    "additionalProperties": { "anyOf": [verdict, cases] },
                }),
            )
        }
        _ => return None,
    })
}

fn model_field(name: &str) -> Option<Value> {
    Some(match name {
        "name" => said("`entry/model-id`, a model id, `offline`, or `inherit`.", text()),
        "temperature" => {
            said("From 0 to 2.", json!({ "type": ["number", "null"], "minimum": 0, "maximum": 2 }))
        }
        "topP" => said("From 0 to 1.", json!({ "type": ["number", "null"], "minimum": 0, "maximum": 1 })),
        "maxOutputTokens" => said("Longest reply, in tokens.", whole(1, None)),
        "thinkingBudget" => said("Tokens for thinking; -1 is unlimited, 0 is none.", whole(-1, None)),
        _ => return None,
    })
}

fn tracing_field(name: &str) -> Option<Value> {
    let words = |words: Vec<&str>| json!({ "type": ["array", "null"], "items": { "enum": words } });
    Some(match name {
        "enabled" => {
            said("False: its spans go nowhere but into the daemon's database. Default: true.", flag())
        }
        "events" => said(
            "Kinds of spans; runs, turns and questions always go with them. Default: all.",
            words(known(EVENTS)),
        ),
        "backend" => said(
            "Where they go: to the collector of the settings (`otlp`), into files (`file`), into the daemon's log (`console`). The \
             daemon's database (`sqlite`) has them anyway. Default, and at most: what the setting `tracing.backend` says.",
            words(known(BACKENDS)),
        ),
        "sampleRate" => said(
            "The part of traces whose texts go with them, from 0 to 1. Default: 1.",
            json!({ "type": ["number", "null"], "minimum": 0, "maximum": 1 }),
        ),
        "content" => said(
            "Texts as the daemon has them (`full`), their sizes (`redacted`), or none. Default: `full`.",
            one_of(CONTENTS),
        ),
        _ => return None,
    })
}

fn run_field(name: &str) -> Option<Value> {
    Some(match name {
        "maxTurns" => said("Model calls.", whole(1, Some(u32::MAX.into()))),
        "maxTimeMinutes" => said(
            "Minutes at work, fractions allowed; waiting does not count.",
            json!({ "type": ["number", "null"], "exclusiveMinimum": 0, "maximum": LONGEST_MINUTES }),
        ),
        "maxTokens" => said("Prompt, output and thought tokens of all turns together.", whole(1, None)),
        "graceSeconds" => said(
            "Time for the last turn, in which a run that met a limit hands in what it has.",
            json!({ "type": ["number", "null"], "minimum": 0, "maximum": LONGEST_MINUTES * 60.0 }),
        ),
        "maxDepth" => {
            said("How many levels deep agents may call other agents.", whole(0, Some(LARGEST_DEPTH)))
        }
        "maxCostUsd" => said(
            "US dollars that it and the runs below it may cost, by the settings' `models.prices`.",
            json!({ "type": ["number", "null"], "exclusiveMinimum": 0, "maximum": MOST_DOLLARS }),
        ),
        "maxContextTokens" => said(
            "Most tokens of one request, if less than the model's context window is enough.",
            whole(1, None),
        ),
        "onBudget" => said(
            "What happens once tokens or money are used up: the run ends, or a person is asked for more.",
            one_of(ON_BUDGET),
        ),
        _ => return None,
    })
}

fn input() -> Value {
    let mut input = map(INPUT_FIELDS, |name| {
        Some(match name {
            "type" => {
                let words: Vec<&str> = SHORT_TYPES.iter().map(|(word, _)| *word).collect();
                said("The type in a word.", json!({ "enum": words }))
            }
            "schema" => said("The type as a JSON Schema, instead of `type`.", json_schema()),
            "description" => said("What to give.", text()),
            "required" => said("Default: true without `default`.", flag()),
            "default" => json!({ "description": "The value when none is given; it fits the type." }),
            _ => return None,
        })
    });
    input["oneOf"] = json!([{ "required": ["type"] }, { "required": ["schema"] }]);
    input
}

fn output_field(name: &str) -> Option<Value> {
    Some(match name {
        "name" => said("The argument of `complete_task`.", json!({ "type": "string", "pattern": WORD })),
        "description" => said("What the result is, for the model.", text()),
        "schema" => said("The result's type.", json_schema()),
        "format" => said("`json`, or a template over the fields of the schema. Default: `json`.", text()),
        _ => return None,
    })
}

fn message_field(name: &str) -> Option<Value> {
    Some(match name {
        "role" => {
            let words: Vec<&str> = ROLES.iter().map(|(word, _)| *word).collect();
            said("Who speaks.", json!({ "enum": words }))
        }
        "text" => said("Template of what is said.", json!({ "type": "string", "minLength": 1 })),
        _ => return None,
    })
}

fn trigger() -> Value {
    let mut trigger = map(TRIGGER_FIELDS, |name| {
        Some(match name {
            "intent" => said(
                "What such prompts are about, for people.",
                json!({ "type": ["string", "number", "boolean", "null"], "maxLength": LONGEST_INTENT }),
            ),
            "keywords" => said(
                "Any of them is enough: a list, or a text with commas. Case does not matter. A word begins with it (`bug` \
                 finds `bugs`, not `debug`); one of one or two letters is the whole word; in scripts without blanks it \
                 stands anywhere.",
                json!({
                    "type": ["array", "string", "null"],
                    "pattern": r"^[^,]*[^,\s][^,]*(,[^,]*[^,\s][^,]*)*$",
                    "maxItems": MOST_KEYWORDS,
                    "items": { "type": ["string", "number", "boolean"], "pattern": r"\S", "maxLength": LONGEST_KEYWORD },
                }),
            ),
            "regex" => said(
                "Or what the prompt matches, without regard to case: the syntax of the `regex` crate.",
                json!({ "type": ["string", "null"], "minLength": 1, "maxLength": LONGEST_REGEX }),
            ),
            "priority" => said(
                "The highest that fits decides. Default: 0.",
                whole(-LARGEST_PRIORITY, Some(LARGEST_PRIORITY)),
            ),
            _ => return None,
        })
    });
    trigger["anyOf"] = json!([
        { "required": ["keywords"], "properties": { "keywords": { "type": ["array", "string"], "minItems": 1 } } },
        { "required": ["regex"], "properties": { "regex": { "type": "string" } } },
    ]);
    trigger
}

/// `list_directory`, `read_file` …, and `save_memory` … unless another agent calls it.
fn default_tools_in_words() -> String {
    let words =
        |tools: Vec<&str>| tools.iter().map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(", ");
    let called: Vec<&str> = default_tools(true).collect();
    let more: Vec<&str> = default_tools(false).filter(|tool| !called.contains(tool)).collect();
    format!("{}, and unless another agent calls it {}", words(called), words(more))
}

fn tools_field(name: &str) -> Option<Value> {
    Some(match name {
        "allow" => said(&format!("Only these. Default: {}.", default_tools_in_words()), tool_names()),
        "deny" => said("None of these; beats `allow`.", tool_names()),
        "inherit" => {
            said("Besides those of `allow`: every tool there is but agents. Default: false.", flag())
        }
        "agents" => {
            said("Besides those of `allow`: every agent that others may call. Default: false.", flag())
        }
        _ => return None,
    })
}

/// A list, or a text with commas or blanks between the names.
fn tool_names() -> Value {
    json!({ "type": ["array", "string", "null"], "items": { "type": "string", "pattern": r"\S" } })
}

fn json_schema() -> Value {
    json!({ "type": "object", "$ref": DIALECT })
}

/// An empty field counts as missing.
fn text() -> Value {
    json!({ "type": ["string", "null"] })
}

fn flag() -> Value {
    json!({ "type": ["boolean", "null"] })
}

fn whole(least: i64, most: Option<i64>) -> Value {
    let mut schema = json!({ "type": ["integer", "null"], "minimum": least });
    if let Some(most) = most {
        schema["maximum"] = json!(most);
    }
    schema
}

fn one_of<T>(choices: &[(&str, T)]) -> Value {
    let words = choices.iter().map(|(word, _)| Value::from(*word));
    json!({ "enum": words.chain([Value::Null]).collect::<Vec<_>>() })
}

fn or_null(mut schema: Value) -> Value {
    schema["type"] = json!([schema["type"], "null"]);
    schema
}

fn said(meaning: &str, mut schema: Value) -> Value {
    schema["description"] = json!(meaning);
    schema
}

/// A map with these fields and no others, in any spelling of their names. What `schema_of` does not know is `true`; a
/// test finds it.
fn map(fields: &[&str], schema_of: impl Fn(&str) -> Option<Value>) -> Value {
    let (mut properties, mut spellings) = (Map::new(), Map::new());
    for name in fields {
        let schema = schema_of(name).unwrap_or(Value::Bool(true));
        if let Some(pattern) = spellings_of(name) {
            spellings.insert(pattern, schema.clone());
        }
        properties.insert((*name).to_owned(), schema);
    }
    let mut map = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !spellings.is_empty() {
        map["patternProperties"] = Value::Object(spellings);
    }
    map
}

/// `max_turns` and `max-turns` for `maxTurns`; none for a name of one word.
fn spellings_of(name: &str) -> Option<String> {
    let mut pattern = "^".to_owned();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            pattern.push_str("[_-]");
            pattern.push(letter.to_ascii_lowercase());
        } else {
            pattern.push(letter);
        }
    }
    pattern.push('$');
    name.chars().any(|letter| letter.is_ascii_uppercase()).then_some(pattern)
}
