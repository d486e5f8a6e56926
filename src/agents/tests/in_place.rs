//! What changes in a file when fields are written anew, and what does not.

use std::collections::BTreeSet;

use expect_test::Expect;
use serde_json::{Value, json};

use super::{round_trip::Dice, *};

fn fields(fields: Value) -> NewFields {
    let Value::Object(fields) = fields else { panic!("fields are a map") };
    fields
}

fn check(text: &str, new: Value, expected: Expect) {
    let edited = with_fields(text, &fields(new)).unwrap_or_else(|error| format!("error: {error}\n"));
    expected.assert_eq(&edited);
}

const ODD: &str = "\
---
# Mine.
kind: agent   # of course
name: odd

title: 'Odd: it is'   # shown
description: |
  # Not a comment.
  Does it.

# Where the money goes.
run:  # limits
  max_turns: 3
  # as a rule
  maxTimeMinutes: 1
initial-messages: []
tools: [read_file, \"grep\"] # both \"read\"
hidden: false
# The end.
---


You do it.
  Indented.

";

#[test]
fn what_is_not_named_stays_as_it_was() {
    assert_eq!(with_fields(ODD, &NewFields::new()).unwrap(), ODD);
    // What says so already is left alone, however it says it.
    let same = json!({
        "run": { "max_turns": 3, "maxTimeMinutes": 1 }, "tools": ["read_file", "grep"], "my_own": null,
        "prompt": "\nYou do it.\n  Indented.", "description": "# Not a comment.\nDoes it.\n", "color": null,
    });
    assert_eq!(with_fields(ODD, &fields(same)).unwrap(), ODD);
    check(
        ODD,
        json!({
            "title": "Even", "run": { "maxTurns": 4 }, "description": null, "tools": ["glob", "a, b"],
            "initial_messages": [{ "role": "user", "text": "One.\nTwo." }],
        }),
        expect![[r#"
            ---
            # Mine.
            kind: agent   # of course
            name: odd

            title: Even   # shown

            # Where the money goes.
            run:  # limits
              maxTurns: 4
            initial-messages:
              - role: user
                text: |-
                  One.
                  Two.
            tools: [glob, 'a, b'] # both "read"
            hidden: false
            # The end.
            ---


            You do it.
              Indented.

        "#]],
    );
}

#[test]
fn new_fields_stand_where_the_schema_has_them() {
    check(
        ODD,
        json!({
            "triggers": [{ "keywords": ["odd"] }], "my-own": 1, "query": "Go: ${prompt}", "model": "inherit",
            "version": "1.10.0", "kind": "agent", "top_p": 0.5,
        }),
        expect![[r#"
            ---
            # Mine.
            kind: agent   # of course
            name: odd

            title: 'Odd: it is'   # shown
            description: |
              # Not a comment.
              Does it.
            version: '1.10.0'
            model: inherit

            # Where the money goes.
            run:  # limits
              max_turns: 3
              # as a rule
              maxTimeMinutes: 1
            query: 'Go: ${prompt}'
            initial-messages: []
            tools: [read_file, "grep"] # both "read"
            hidden: false
            triggers:
              - keywords: [odd]
            my-own: 1
            top_p: 0.5
            # The end.
            ---


            You do it.
              Indented.

        "#]],
    );
    check(
        "---\nname: x\n---\n",
        json!({ "kind": "agent", "title": "no" }),
        expect![[r#"
        ---
        kind: agent
        name: x
        title: 'no'
        ---
    "#]],
    );
    check(
        "---\n# Nothing yet.\n---\nDo.\n",
        json!({ "name": "x", "kind": "agent" }),
        expect![[r#"
        ---
        kind: agent
        name: x
        # Nothing yet.
        ---
        Do.
    "#]],
    );
    check(
        "---\n  name: x\n  run:\n    maxTurns: 1\n---\n",
        json!({ "title": "T", "run": { "a": "b\nc" } }),
        expect![[r#"
        ---
          name: x
          title: T
          run:
            a: |-
              b
              c
        ---
    "#]],
    );
}

#[test]
fn the_text_below_changes_alone() {
    check(
        ODD,
        json!({ "prompt": "\n\nAnew.\n\nIt is.\n\n" }),
        expect![[r#"
        ---
        # Mine.
        kind: agent   # of course
        name: odd

        title: 'Odd: it is'   # shown
        description: |
          # Not a comment.
          Does it.

        # Where the money goes.
        run:  # limits
          max_turns: 3
          # as a rule
          maxTimeMinutes: 1
        initial-messages: []
        tools: [read_file, "grep"] # both "read"
        hidden: false
        # The end.
        ---


        Anew.

        It is.

    "#]],
    );
    check(
        "---\nname: x\n---",
        json!({ "prompt": "Do." }),
        expect![[r#"
        ---
        name: x
        ---

        Do.
    "#]],
    );
    check(
        "---\nname: x\n...\n\n\n",
        json!({ "prompt": "  Do.", "title": "T" }),
        expect![[r#"
        ---
        name: x
        title: T
        ...

          Do.
    "#]],
    );
    check(
        "---\nname: x\n---\n\nDo.\n",
        json!({ "prompt": null }),
        expect![[r#"
        ---
        name: x
        ---
    "#]],
    );
}

#[test]
fn line_ends_and_marks_of_the_file_stay() {
    let text =
        "\u{feff}\r\n---\r\nname: x\r\nquery: |\r\n  a\r\n  b\r\n\r\n# c\r\n...\r\n\r\nDo.\r\nMore.\r\n";
    let edited =
        with_fields(text, &fields(json!({ "title": "T", "query": "c\nd", "prompt": "A\nB" }))).unwrap();
    assert_eq!(
        edited,
        "\u{feff}\r\n---\r\nname: x\r\ntitle: T\r\nquery: |-\r\n  c\r\n  d\r\n\r\n# c\r\n...\r\n\r\nA\r\nB\r\n"
    );
}

#[test]
fn what_has_no_lines_of_its_own_is_not_edited() {
    let new = || json!({ "title": "T" });
    for text in [
        "---\n{name: x, title: y}\n---\n",
        "---\n{\nname: x,\ntitle: y\n}\n---\n",
        "---\n&a\nname: x\n---\n",
        "---\n? name\n: x\n---\n",
    ] {
        let error = with_fields(text, &fields(new())).unwrap_err();
        assert!(matches!(error, CannotEdit::NotByLines { .. }), "{text}: {error:?}");
    }
    check(
        "---\n{name: x, title: y}\n---\n",
        new(),
        expect![[r#"
        error: line 2: the front matter is written in braces, or begins with a mark of YAML; fields can be replaced where each begins a line of its own, like `name: my-agent`
    "#]],
    );
    check(
        "no front matter\n",
        new(),
        expect![[r#"
        error: line 1: has no front matter: the first line must be `---`; fix that first
    "#]],
    );
    check(
        "---\nname: x\n",
        new(),
        expect![[r#"
        error: line 1: the front matter is never closed by a line `---`; fix that first
    "#]],
    );
    check(
        "---\nname: @x\n---\n",
        new(),
        expect![[r#"
        error: line 2: is not YAML: unexpected character: `@'; fix that first
    "#]],
    );
    check(
        "---\n- name\n---\n",
        new(),
        expect![[r#"
        error: line 2: the front matter has no fields; fix that first
    "#]],
    );
    check(
        "---\nmax_turns: 1\nmaxTurns: 2\n---\n",
        json!({ "max-turns": 3 }),
        expect![[r#"
        error: line 3: `maxTurns` stands here a second time, spelled `maxTurns`; fix that first
    "#]],
    );
    check(
        "---\rname: x\r---\r",
        new(),
        expect![[r#"
        error: line 1: the lines of the file end with carriage returns alone; fields can be replaced where each begins a line of its own, like `name: my-agent`
    "#]],
    );
    check(
        "---\nname: x\ntitle: &t y\ndescription: *t\n---\n",
        new(),
        expect![[r#"
        error: something else would change beside these fields (line 4 of the result: is not YAML: while parsing node, found unknown anchor); edit the file by hand
    "#]],
    );
    check(
        "---\nname: x\n---\n",
        json!({ "prompt": 1 }),
        expect![[r#"
        error: `prompt`: expected a text
    "#]],
    );
    check(
        "---\nname: x\n---\n",
        json!({ "top_p": 1, "topP": 2 }),
        expect![[r#"
        error: `topP`: is given a second time, in another spelling
    "#]],
    );
    check(
        "---\nname: x\n---\n",
        json!({ "": 1 }),
        expect![[r#"
        error: ``: expected the name of a field
    "#]],
    );
}

/// A field, how files write it, and what it may become. Of texts that keep the blank lines below them these are part.
const POOL: &[(&str, &[&str], &[&str])] = &[
    (
        "title",
        &["title: A title\n", "title: \"A # b\"  # why\n", "title: 'it''s'\n", "\"title\": x\n"],
        &["\"T: #\"", "\"no\"", "null"],
    ),
    (
        "description",
        &[
            "description: d\n",
            "description: >-\n  Folded\n  # still text\n\n  over.\n",
            "description: plain\n  goes on\n",
            "description: \"quoted\n  over lines # text\"\n",
            "description: d   # it's a \"comment\n",
        ],
        &["\"One.\\nTwo.\\n\"", "\"It's: fine\"", "null"],
    ),
    ("version", &["version: 1.10.0\n"], &["\"2.0.0\"", "null"]),
    ("color", &["color: '#12ab34'\n", "color: red # as blood\n"], &["\"#ffffff\"", "null"]),
    (
        "model",
        &[
            "model: inherit\n",
            "model:\n  name: quick\n  top_p: 0.5\n\n  # deeper\n  temperature: 1\n",
            "model: {name: m}\n",
        ],
        &["{\"name\": \"n\", \"topP\": 0.25}", "\"other\"", "null"],
    ),
    (
        "run",
        &["run: { maxTurns: 10, # few\n  maxTimeMinutes: 3 }\n", "run:\n  max-turns: 5\n", "run: # none\n"],
        &["{\"maxTurns\": 7, \"maxTimeMinutes\": 0.5}", "null"],
    ),
    ("completion", &["completion: tool\n"], &["\"message\"", "null"]),
    (
        "query",
        &[
            "query: |\n  Do ${prompt}.\n\n  # Now.\n",
            "query: Go ${prompt}\n",
            "query: |+\n  Keep ${prompt}\n\n\n",
        ],
        &["\"Go!\\n\\n  On.\\n\\n\"", "\"${prompt}: now\"", "null"],
    ),
    (
        "initialMessages",
        &[
            "initial_messages:\n  - {role: user, text: hi}\n  - role: model\n    text: |\n      ho\n",
            "initialMessages:\n- { role: user, text: a }\n",
        ],
        &["[{\"role\": \"user\", \"text\": \"x\\ny\"}]", "null"],
    ),
    (
        "tools",
        &[
            "tools: [read_file]\n",
            "tools: Read, Grep\n",
            "tools:\n  allow:\n  - grep\n  # not this\n  deny: [glob]\n",
        ],
        &["{\"allow\": [\"grep\", \"mcp.a.*\"], \"deny\": []}", "[\"glob\"]", "null"],
    ),
    ("sandbox", &["sandbox: readOnly\n"], &["\"workspaceWrite\"", "null"]),
    (
        "triggers",
        &["triggers:\n  - { keywords: [bug], priority: 3 }\n  # and\n  - regex: \"fix.*test\" # yes\n"],
        &["[{\"keywords\": [\"C#\", \"a, b\"]}, {\"regex\": \"x{1}\"}]", "null"],
    ),
    ("hidden", &["hidden: true\n"], &["false", "true", "null"]),
];
const BETWEEN: &[&str] = &["", "", "\n", "# A note: x\n", "\n# Two\n#lines\n\n"];
const PROMPTS: &[&str] = &["You do.", "Two\n\n  lines # x\n---\nand more", "key: value"];

/// A file in its parts: those of fields by name, the others without.
fn generated(dice: &mut Dice) -> Vec<(Option<&'static str>, String)> {
    let mut parts =
        vec![(None, dice.pick(&["---\n", "\n---  \n"]).to_owned() + dice.pick(&["", "# Head.\n"]))];
    let mut left: Vec<usize> = (0..POOL.len()).collect();
    let mut fields = vec![(None, "kind: agent\n"), (None, "name: generated\n")];
    while !left.is_empty() {
        let (name, ways, _) = POOL[left.remove(dice.roll(left.len()))];
        if dice.roll(3) > 0 {
            fields.insert(dice.roll(fields.len() + 1), (Some(name), dice.pick(ways)));
        }
    }
    for (name, text) in fields {
        parts.push((name, text.to_owned()));
        let between = dice.pick(BETWEEN);
        let keeps = text.contains("|+");
        parts.push((None, if keeps { "# Below.\n" } else { between }.to_owned()));
    }
    parts.push((None, dice.pick(&["---\n", "...\n", "--- \n"]).to_owned()));
    parts.push((None, dice.pick(&["", "\n", "\n\n"]).to_owned()));
    parts.push((Some("prompt"), dice.pick(PROMPTS).to_owned()));
    parts.push((None, dice.pick(&["\n", "", "\n\n"]).to_owned()));
    parts
}

fn definition(text: &str) -> serde_json::Map<String, Value> {
    let file = read(text);
    let Some(definition) = &file.definition else { panic!("{:?}\n{text}", file.problems) };
    fields(serde_json::to_value(&**definition).unwrap())
}

/// What a field of a file is called in a definition; one of tools says more than one thing.
fn said_by(field: &str) -> &'static [&'static str] {
    match field {
        "run" => &["limits"],
        "tools" => &["tools", "narrowings"],
        "title" => &["title"],
        "description" => &["description"],
        "version" => &["version"],
        "color" => &["color"],
        "model" => &["model"],
        "completion" => &["completion"],
        "query" => &["query"],
        "initialMessages" => &["initialMessages"],
        "sandbox" => &["sandbox"],
        "triggers" => &["triggers"],
        "hidden" => &["hidden"],
        "prompt" => &["prompt"],
        other => panic!("{other} is not generated"),
    }
}

#[test]
fn any_fields_of_any_file_change_and_nothing_else() {
    for seed in 0..2_000 {
        let mut dice = Dice(seed);
        for _ in 0..5 {
            dice.roll(2);
        }
        let line_end = if dice.roll(3) == 0 { "\r\n" } else { "\n" };
        let parts: Vec<(Option<&str>, String)> = generated(&mut dice)
            .into_iter()
            .map(|(name, text)| (name, text.replace('\n', line_end)))
            .collect();
        let text: String = parts.iter().map(|(_, text)| text.as_str()).collect();
        let mut new = NewFields::new();
        for _ in 0..=dice.roll(3) {
            let (name, _, values) = POOL[dice.roll(POOL.len())];
            let value = serde_json::from_str(dice.pick(values)).unwrap();
            new.insert(name.to_owned(), value);
        }
        if dice.roll(4) == 0 {
            new.insert("prompt".to_owned(), dice.pick(PROMPTS).into());
        }
        let edited =
            with_fields(&text, &new).unwrap_or_else(|error| panic!("{seed}: {error}\n{new:?}\n{text}"));
        let (before, after) = (definition(&text), definition(&edited));
        let alone = |field: &str| {
            let mut fields = fields(json!({ "name": "generated", "prompt": "x" }));
            fields.insert(field.to_owned(), new[field].clone());
            fields.retain(|_, value| !value.is_null());
            definition(&written(&fields))
        };
        let mut touched = BTreeSet::new();
        for field in new.keys() {
            for said in said_by(field) {
                touched.insert(*said);
                assert_eq!(after.get(*said), alone(field).get(*said), "{seed}: {field}\n{text}\n{edited}");
            }
        }
        for said in before.keys().chain(after.keys()).filter(|said| !touched.contains(said.as_str())) {
            assert_eq!(after.get(said), before.get(said), "{seed}: {said}\n{text}\n{edited}");
        }
        // Every other part stands there as it was, in its order, and what is between them belongs to the new fields.
        let untouched = |name: &Option<&str>| name.is_none_or(|name| !new.contains_key(name));
        let (below, above) = parts.split_last().unwrap();
        let (prompt, above) = above.split_last().unwrap();
        let new_prompt = new.get("prompt").map(|text| text.as_str().unwrap().replace('\n', line_end));
        let mut rest = edited.strip_suffix(&below.1).unwrap();
        rest = rest.strip_suffix(new_prompt.as_ref().unwrap_or(&prompt.1)).unwrap();
        let mut added = String::new();
        for (_, part) in above.iter().filter(|(name, _)| untouched(name)) {
            let at = rest.find(part.as_str()).unwrap_or_else(|| panic!("{seed}: {part:?}\n{text}\n{edited}"));
            added.push_str(&rest[..at]);
            rest = &rest[at + part.len()..];
        }
        assert_eq!(rest, "", "{seed}\n{text}\n{edited}");
        let are_own = new.values().all(Value::is_null);
        assert!(!are_own || added.is_empty(), "{seed}: {added:?}\n{text}\n{edited}");
        assert_eq!(
            edited.matches("\r\n").count(),
            if line_end == "\r\n" { edited.matches('\n').count() } else { 0 }
        );
        // Doing it again changes nothing.
        assert_eq!(with_fields(&edited, &new).unwrap(), edited, "{seed}");
    }
}

/// Pieces of which hostile files are put together.
const PIECES: &[&str] = &[
    "---\n", "...\n", "\n", "\r\n", "\r", "\u{feff}", "\u{85}", "\u{2028}", "\t", " ", "  ", "#", " # ü",
    "name", "title", ": ", ":", "x", "'", "\"", "[", "]", "{", "}", "|+\n", ">2+", "&a ", "*a", "!t ", "? ",
    "- ", "日本", ",", "\0", "%", "run:\n",
];

#[test]
fn no_text_makes_it_panic_or_say_something_else() {
    let new = fields(json!({ "title": "T: #", "run": { "maxTurns": 2 }, "prompt": "P\nQ" }));
    let mut edited = 0;
    for seed in 0..20_000 {
        let mut dice = Dice(seed);
        let mut text = dice
            .pick(&["---\n", "---\n", "---\r\nname: x\r\n", "---\nname: x\ndescription: d\n", ""])
            .to_owned();
        for _ in 0..dice.roll(12) {
            text.push_str(dice.pick(PIECES));
        }
        text.push_str(dice.pick(&["\n---\n", "\n...\nBody.\n", "", "\r\n---"]));
        let Ok(result) = with_fields(&text, &new) else { continue };
        edited += 1;
        let (before, after) = (read(&text), read(&result));
        assert_eq!(before.name, after.name, "{seed}: {text:?}\n{result:?}");
        let Some(definition) = &after.definition else { continue };
        assert_eq!(
            (definition.title.as_str(), definition.prompt.as_str()),
            ("T: #", "P\nQ"),
            "{seed}: {text:?}"
        );
        let has_problem = before.definition.is_none();
        assert!(
            has_problem || before.definition.unwrap().description == definition.description,
            "{seed}: {text:?}"
        );
    }
    assert!(1_000 < edited, "{edited}");
}
