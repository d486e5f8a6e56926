//! What is told about a file's mistakes.

use expect_test::Expect;

use super::*;

/// Checks the problems; an error means no definition, and nothing else does.
fn check(text: impl AsRef<[u8]>, expected: Expect) {
    let file = read(text);
    let has_error = file.problems.iter().any(|problem| problem.severity == ProblemSeverity::Error);
    assert_eq!(file.definition.is_none(), has_error);
    expected.assert_eq(&told(&file.problems, Path::new("dir")));
}

/// A file whose other fields are fine.
fn check_fields(fields: &str, expected: Expect) {
    check(format!("---\nkind: agent\nname: a\ndescription: d\n{fields}\n---\nDo it.\n"), expected);
}

#[test]
fn all_mistakes_are_told_at_once_with_their_places() {
    check(
        r##"---
kind: agnet
name: [x]
title: {a: 1}
description: 5
version: "1.2"
color: #ff0000
scope: galaxy
model: {name: 4, temperature: hot, topP: 2, thinkingBudget: -2, topK: 4}
run:
  maxTurns: 0
  maxTimeMinutes: soon
  maxTokens: 1.5
  graceSeconds: -1
completion: never
inputs:
  "two words": {type: string}
  today: {type: string}
  a: {type: text}
  b: {}
  c: {type: integer, default: x, required: maybe}
  d: 5
  e: {schema: {type: strin}}
  f: {type: string, schema: {}}
query: Hello ${nam} and ${c}
output: {name: the report, schema: 5, format: [x]}
initialMessages: [{role: system, text: hi}, {text: "${nope}"}, 7]
tools: {allow: {a: 1}, deny: [4, ""]}
hidden: yes
---
First ${a} is known.
   Then ${two} ist’s nicht, ${two} neither.
"##,
        expect![[r#"
            error BadValue my-file.md:2:7: `kind`: expected `agent` or `graph`, found the text "agnet"
            error WrongType my-file.md:3:7: `name`: expected a text, found a list
            error WrongType my-file.md:4:8: `title`: expected a text, found a map
            error WrongType my-file.md:5:14: `description`: expected a text, found the number 5
            error BadValue my-file.md:6:10: `version`: expected a semantic version like `1.2.0`, found the text "1.2"
            error WrongType my-file.md:7:6: `color`: expected `#RRGGBB` in quotes, or a basic colour name like `teal`, found nothing
            error BadValue my-file.md:8:8: `scope`: expected `project`, `user` or `global`, found the text "galaxy"
            error WrongType my-file.md:9:15: `model.name`: expected a text, found the number 4
            error WrongType my-file.md:9:31: `model.temperature`: expected a number from 0 to 2, found the text "hot"
            error BadValue my-file.md:9:42: `model.topP`: expected a number from 0 to 1, found the number 2
            error BadValue my-file.md:9:61: `model.thinkingBudget`: expected a whole number of at least -1, found the number -2
            warning UnknownField my-file.md:9:65: unknown field `model.topK`; it has no effect (did you mean `model.topP`?)
            error BadValue my-file.md:11:13: `run.maxTurns`: expected a whole number from 1 to 4294967295, found the number 0
            error WrongType my-file.md:12:19: `run.maxTimeMinutes`: expected a number of minutes above 0, found the text "soon"
            error BadValue my-file.md:13:14: `run.maxTokens`: expected a whole number of at least 1, found the number 1.5
            error BadValue my-file.md:14:17: `run.graceSeconds`: expected a number of seconds, 0 or more, found the number -1
            error BadValue my-file.md:15:13: `completion`: expected `tool` or `message`, found the text "never"
            error BadValue my-file.md:17:3: `inputs`: "two words" is no name: only letters, digits and `_`
            error BadValue my-file.md:18:3: `inputs`: `today` is a value that the daemon supplies; expected another name
            error BadValue my-file.md:19:13: `inputs.a.type`: expected `string`, `number`, `integer`, `boolean`, `string[]` or `number[]`, found the text "text"
            error MissingField my-file.md:20:6: `inputs.b.type` is missing (add `type: string`)
            error BadValue my-file.md:21:31: `inputs.c.default`: "x" is not of type "integer"
            error WrongType my-file.md:21:44: `inputs.c.required`: expected true or false, found the text "maybe"
            error WrongType my-file.md:22:6: `inputs.d`: expected a map with `type`, `schema`, `description`, `required` or `default`, found the number 5
            error BadValue my-file.md:23:22: `inputs.e.schema` is no JSON Schema: at `/type`: "strin" is not valid under any of the schemas listed in the 'anyOf' keyword (types are `string`, `number`, `integer`, `boolean`, `array`, `object` and `null`)
            error BadValue my-file.md:24:29: `inputs.f.schema` stands beside `type`; expected one of the two
            error BadValue my-file.md:25:8: the template names `${nam}`, but there is no such input (declare it under `inputs`, or write `$${nam}` for the literal text)
            error BadValue my-file.md:26:16: `output.name`: expected a name of letters, digits and `_`, found the text "the report"
            error WrongType my-file.md:26:36: `output.schema`: expected a JSON Schema, found the number 5
            error WrongType my-file.md:26:47: `output.format`: expected a text, found a list
            error BadValue my-file.md:27:26: `initialMessages[0].role`: expected `user` or `model`, found the text "system"
            error MissingField my-file.md:27:45: `initialMessages[1].role` is missing (add `role: user`)
            error BadValue my-file.md:27:52: the template names `${nope}`, but there is no such input (declare it under `inputs`, or write `$${nope}` for the literal text)
            error WrongType my-file.md:27:64: `initialMessages[2]`: expected a map with `role` or `text`, found the number 7
            error WrongType my-file.md:28:16: `tools.allow`: expected a list of tool names, found a map
            error WrongType my-file.md:28:31: `tools.deny[0]`: expected a text, found the number 4
            error BadValue my-file.md:28:34: `tools.deny[1]`: expected a tool's name, found the text ""
            error WrongType my-file.md:29:9: `hidden`: expected true or false, found the text "yes"
            error BadValue my-file.md:32:9: the template names `${two}`, but there is no such input (declare it under `inputs`, or write `$${two}` for the literal text)
        "#]],
    );
}

#[test]
fn missing_fields_are_told_with_what_to_write() {
    check(
        "---\ntitle: x\n---\nDo it.\n",
        expect![[r#"
        error MissingField my-file.md:2:1: `kind` is missing (add `kind: agent`)
        error MissingField my-file.md:2:1: `name` is missing (add `name: my-agent`)
        warning MissingField my-file.md:2:1: `description` is missing: other agents cannot tell when to call this one
    "#]],
    );
    check(
        "---\nkind: agent\nname:\n---\n",
        expect![[r#"
            warning MissingField my-file.md:2:1: `description` is missing: other agents cannot tell when to call this one
            error MissingField my-file.md:3:1: `name` is missing (add `name: my-agent`)
        "#]],
    );
    check(
        "---\n---\nDo it.\n",
        expect![[r#"
        error MissingField my-file.md:1:1: the front matter is empty: `kind` and `name` are missing
    "#]],
    );
    check_fields(
        "output: {}",
        expect![[r#"
        error MissingField my-file.md:5:9: `output.name` is missing (add `name: report`)
        error MissingField my-file.md:5:9: `output.schema` is missing (add `schema: {type: object}`)
    "#]],
    );
}

#[test]
fn unknown_fields_are_warnings_that_name_the_nearest() {
    check_fields(
        "titel: x\nmax_turns: 4\ntemprature: 1\nzebra: 1\nrun: {maxTurn: 3}\ninputs: {a: {typ: string, type: string}}",
        expect![[r#"
            warning UnknownField my-file.md:5:1: unknown field `titel`; it has no effect (did you mean `title`?)
            warning UnknownField my-file.md:6:1: unknown field `max_turns`; it has no effect (did you mean `run.maxTurns`?)
            warning Unsupported my-file.md:6:1: `max_turns` is not a field of an agent's file; without it the agent would be freer, so it is not started (narrow the agent by `tools.deny`, `approval.rules`, `sandbox` or `run`, or remove the field)
            warning UnknownField my-file.md:7:1: unknown field `temprature`; it has no effect (did you mean `model.temperature`?)
            warning UnknownField my-file.md:8:1: unknown field `zebra`; it has no effect
            warning Unsupported my-file.md:9:7: `run.maxTurn` is not a field of an agent's file; without it the agent would be freer, so it is not started (write `run.maxTurns`, or remove the field)
            warning UnknownField my-file.md:9:7: unknown field `run.maxTurn`; it has no effect (did you mean `run.maxTurns`?)
            warning UnknownField my-file.md:10:14: unknown field `inputs.a.typ`; it has no effect (did you mean `inputs.a.type`?)
        "#]],
    );
}

#[test]
fn fields_that_do_nothing_yet_say_so() {
    check_fields(
        "mcp: {servers: [x]}\nhandoffs: [a]\nguardrails: {input: x}\nmemory: true\ntracing: {backend: [otlp, files], events: [llm, handoff]}\nrun: {maxCost: 1, on-budget: ask, maxDepth: 3}",
        expect![[r#"
            warning Unsupported my-file.md:6:1: `handoffs` cannot be carried out in this version, so the agent is not started: it would keep what it is to hand over (take `handoffs` out if the agent is meant to run without it)
            warning Unsupported my-file.md:7:1: `guardrails` cannot be carried out in this version, so the agent is not started: nothing would check what they check (take `guardrails` out if the agent is meant to run without it)
            warning Unsupported my-file.md:8:1: `memory` cannot be carried out in this version, so the agent is not started: it would keep nothing (take `memory` out if the agent is meant to run without it)
            error BadValue my-file.md:9:27: `tracing.backend`: expected a list of `sqlite`, `otlp`, `console` or `file`, found the text "files"
            warning UnknownField my-file.md:9:49: `tracing.events`: `handoff` has no effect in this version
        "#]],
    );
    check_fields(
        "tracing: {enabled: 1, events: [llms], backend: {a: b}, sampleRate: 1.5, content: some, rate: 1}",
        expect![[r#"
            error WrongType my-file.md:5:20: `tracing.enabled`: expected true or false, found the number 1
            error BadValue my-file.md:5:32: `tracing.events`: expected a list of `llm` or `tool`, found the text "llms"
            error WrongType my-file.md:5:48: `tracing.backend`: expected a list of `sqlite`, `otlp`, `console` or `file`, found a map
            error BadValue my-file.md:5:68: `tracing.sampleRate`: expected a number from 0 to 1, found the number 1.5
            error BadValue my-file.md:5:82: `tracing.content`: expected `full`, `redacted` or `none`, found the text "some"
            warning UnknownField my-file.md:5:88: unknown field `tracing.rate`; it has no effect
        "#]],
    );
    // What says nothing promises nothing.
    check_fields("handoffs: []\nguardrails: {}\nmemory: false\ngraph:\ntracing: ~", expect![[""]]);
    check(
        "---\nkind: graph\nname: a\ndescription: d\ngraph: {}\n---\nDo it.\n",
        expect![[r#"
            error BadValue my-file.md:2:7: `kind`: graphs are not supported yet; expected `agent`
        "#]],
    );
}

#[test]
fn what_a_file_says_of_itself_is_checked() {
    check_fields(
        "scope: project",
        expect![[r#"
        warning BadValue my-file.md:5:8: `scope` does not match: the file lies among the user's agents, and that counts
    "#]],
    );
    check_fields("scope: global", expect![[""]]);
    check_fields(
        "completion: message\noutput: {name: r, schema: {type: object}}",
        expect![[r#"
        warning BadValue my-file.md:5:13: `completion: message` has no effect beside `output`: a typed result ends with `complete_task`
    "#]],
    );
    check(
        "---\nkind: agent\nname: Debug  Analyzer\ndescription: d\n---\nDo it.\n",
        expect![[r#"
        warning BadValue my-file.md:3:7: `name`: "Debug  Analyzer" is no name of small letters, digits and dashes; it is read as `debug-analyzer` (write `name: debug-analyzer`)
    "#]],
    );
    check(
        "---\nkind: agent\nname: read-file\ndescription: d\n---\nDo it.\n",
        expect![[r#"
        error BadValue my-file.md:3:7: `name`: `read-file` is the name of a tool; expected a name of the agent's own
    "#]],
    );
    check(
        "---\nkind: agent\nname: '—'\ndescription: d\n---\nDo it.\n",
        expect![[r#"
        error BadValue my-file.md:3:7: `name`: expected a name of small letters, digits and dashes, e.g. `debug-analyzer`, found the text "—"
    "#]],
    );
    check("---\nkind: agent\nname: a\ndescription: d\n---\n \n", expect![""]);
}

#[test]
fn templates_may_only_name_what_there_is() {
    check_fields(
        "inputs: {objective: {type: string}}\nquery: ${today} ${objektive}\noutput: {name: r, schema: {type: object, properties: {title: {}}}, format: '${title} ${titel} ${zzz}'}",
        expect![[r#"
            error BadValue my-file.md:6:8: the template names `${objektive}`, but there is no such input (did you mean `${objective}`? A literal `${` is written `$${`)
            error BadValue my-file.md:7:76: `output.format` names `${titel}`, which the schema does not have (did you mean `${title}`?)
            error BadValue my-file.md:7:76: `output.format` names `${zzz}`, which the schema does not have
        "#]],
    );
}

#[test]
fn bad_yaml_is_told_with_its_place() {
    check(
        "---\nkind: agent\nname: a\ndescription: Finds: causes\n---\n",
        expect![[r#"
        error BadYaml my-file.md:4:19: is not YAML: mapping values are not allowed in this context (put a text that holds `: ` in quotes)
    "#]],
    );
    check(
        "---\nkind: agent\nname: a\nname: b\n---\nDo it.\n",
        expect![[r#"
        warning MissingField my-file.md:2:1: `description` is missing: other agents cannot tell when to call this one
        error BadYaml my-file.md:4:1: the key `name` stands here a second time
    "#]],
    );
    check_fields(
        "tools: @all",
        expect![[r#"
        error BadYaml my-file.md:5:8: is not YAML: unexpected character: `@' (put a text that begins with `@` or a backtick in quotes)
    "#]],
    );
    check_fields(
        "tools: *",
        expect![[r#"
            error BadYaml my-file.md:5:8: is not YAML: while scanning an anchor or alias, did not find expected alphabetic or numeric character (put a text that begins with `*` in quotes)
        "#]],
    );
    check_fields(
        "run: {maxTurns: 3, max_turns: 4}",
        expect![[r#"
        error BadYaml my-file.md:5:20: `run.maxTurns` stands here a second time, spelled `max_turns`
    "#]],
    );
    check(
        "---\n- kind\n---\nDo it.\n",
        expect![[r#"
            error WrongType my-file.md:2:1: `front matter`: expected fields, one per line, like `kind: agent`, found a list
        "#]],
    );
    check(
        "---\nkind: !agent x\n---\nDo it.\n",
        expect![[r#"
        error BadYaml my-file.md:2:14: the tag `!agent` is not supported (remove it, or put the text in quotes)
    "#]],
    );
}

#[test]
fn a_yaml_bomb_is_refused() {
    let mut bomb =
        "---\nkind: agent\nname: a\nx0: &x0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..30 {
        let below = format!("*x{}", level - 1);
        bomb.push_str(&format!("x{level}: &x{level} [{}]\n", vec![below; 9].join(", ")));
    }
    check(
        bomb + "---\nDo it.\n",
        expect![[r#"
        error BadYaml my-file.md:8:10: has more than 20000 nodes, those that aliases repeat included
    "#]],
    );
}

#[test]
fn what_is_no_agent_file_is_refused() {
    check(
        "",
        expect![[r#"
        error NoFrontMatter my-file.md:1:1: is empty (begin the file with `---`, the fields one per line, and another `---`)
    "#]],
    );
    check(
        "# A readme\n",
        expect![[r#"
        error NoFrontMatter my-file.md:1:1: has no front matter: the first line must be `---` (begin the file with `---`, the fields one per line, and another `---`)
    "#]],
    );
    check(
        "\n\n---\nkind: agent\n",
        expect![[r#"
        error NoFrontMatter my-file.md:3:1: the front matter is never closed by a line `---` (begin the file with `---`, the fields one per line, and another `---`)
    "#]],
    );
    check(
        b"---\nkind: agent\nname: \xFF\n---\n",
        expect![[r#"
            warning MissingField my-file.md:2:1: `description` is missing: other agents cannot tell when to call this one
            warning BadValue my-file.md:3:7: is not UTF-8 from here on; the whole file is read as Windows-1252 (save the file as UTF-8)
            warning BadValue my-file.md:3:7: `name`: "ÿ" is no name of small letters, digits and dashes; it is read as `y` (write `name: y`)
        "#]],
    );
    check(
        b"\xFF\xFE-\0-\0",
        expect![[r#"
            error NoFrontMatter my-file.md:1:1: has no front matter: the first line must be `---` (begin the file with `---`, the fields one per line, and another `---`)
        "#]],
    );
}

#[test]
fn a_flood_of_mistakes_is_cut_and_still_an_error() {
    let unknown: String = (0..500).map(|number| format!("field{number}: 1\n")).collect();
    let file = read(format!("---\n{unknown}kind: agent\n---\n"));
    assert_eq!(file.problems.len(), 100);
    assert!(file.problems.iter().any(|problem| problem.severity == ProblemSeverity::Error));
    check(
        format!("---\nkind: agent\nname: a\n? {}\n: 1\n---\nx", "k".repeat(100_000)),
        expect![[r#"
        warning MissingField my-file.md:2:1: `description` is missing: other agents cannot tell when to call this one
        warning UnknownField my-file.md:4:3: unknown field `kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk…
    "#]],
    );
    let body = "${a} ".repeat(100_000);
    check(
        format!("---\nkind: agent\nname: a\ndescription: d\n---\n{body}"),
        expect![[r#"
        error BadValue my-file.md:6:1: the template names `${a}`, but there is no such input (declare it under `inputs`, or write `$${a}` for the literal text)
    "#]],
    );
}

#[test]
fn what_is_approved_beforehand_is_a_list_of_risks_and_never_critical() {
    check_fields(
        "approval: { autoApprove: [low, critical, hihg, [low], medium, low] }",
        expect![[r#"
        error BadValue my-file.md:5:32: `approval.autoApprove[1]`: `critical` is never approved beforehand; only a rule allows it
        error BadValue my-file.md:5:42: `approval.autoApprove[2]`: expected `safe`, `low`, `medium` or `high`, found the text "hihg"
        error WrongType my-file.md:5:48: `approval.autoApprove[3]`: expected `safe`, `low`, `medium` or `high`, found a list
    "#]],
    );
    check_fields(
        "approval: { autoApprove: low, mode: yolo }",
        expect![[r#"
            error WrongType my-file.md:5:26: `approval.autoApprove`: expected a list of `safe`, `low`, `medium` and `high`, found the text "low"
            warning Unsupported my-file.md:5:31: `approval.mode` is not a field of an agent's file; without it the agent would be freer, so it is not started (narrow the agent by `tools.deny`, `approval.rules`, `sandbox` or `run`, or remove the field)
            warning UnknownField my-file.md:5:31: unknown field `approval.mode`; it has no effect
        "#]],
    );
    check_fields(
        "approval: yes",
        expect![[r#"
            error WrongType my-file.md:5:11: `approval`: expected a map with `autoApprove` or `rules`, found the text "yes"
        "#]],
    );
}
