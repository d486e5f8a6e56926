//! Files of other products, imported and written back: nothing is lost that both sides can say, and what is lost is told.

use std::path::Path;

use serde_json::Value;

use super::*;
use protocol::{AgentDefinition, AgentFileState};

/// A stream of numbers that is the same in each run.
pub(super) struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: usize) -> usize {
        // A linear congruential generator (Knuth, MMIX); the upper bits are the good ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    pub fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.roll(choices.len())]
    }
}

const DESCRIPTIONS: &[&str] = &[
    "description: Finds bugs.\n",
    "description: \"Use it: always\"\n",
    "description: Use when: the user asks\n",
    "description: >-\n  Folded over\n  two lines.\n",
    "description: |\n  First line.\n  Second line.\n",
    "description: `code` first\n",
    "description: C# and issue #42\n",
    "description: '日本語 — naïve'\n",
];

const BODIES: &[&str] = &[
    "You help.\n",
    "# Role\n\nUse `${HOME}` and $${x}.\n\n---\n\nMore.\n",
    "One line with ${query} in it.",
    "```yaml\nname: not-front-matter\n```\n",
    "  indented\n\nand not\n",
];

const MODELS: &[&str] = &[
    "",
    "model: sonnet\n",
    "model: inherit\n",
    "model: gemini-2.5-pro\n",
    "model: anthropic/claude-opus-4-5\n",
];

/// One of a thousand files in the format.
fn generated(format: AgentFormat, number: usize) -> String {
    let mut dice = Dice(number as u64 * 7 + format as u64);
    for _ in 0..5 {
        dice.roll(2);
    }
    let mut text = String::from("---\n");
    let name = dice.pick(&["code-reviewer", "Data Scientist", "a.b", "qa_expert", "404"]);
    if format != AgentFormat::OpenCode {
        text.push_str(&format!("name: {name}\n"));
    }
    text.push_str(dice.pick(DESCRIPTIONS));
    text.push_str(dice.pick(MODELS));
    match format {
        AgentFormat::Claude => {
            text.push_str(dice.pick(&[
                "",
                "tools: Read, Grep, Bash\n",
                "tools: [Read, \"Bash(git:*)\", \"Bash(npm test)\"]\n",
                "tools:\n  - Write\n  - mcp__github__get_issue\n",
                "tools: \"*\"\n",
                "tools: []\n",
                "tools: Read, Agent(worker, tester), TeamCreate\n",
                "tools: Agent, MultiEdit, Edit\n",
                "tools: WebFetch(domain:docs.rs), Glob\n",
                "tools: mcp__github\n",
            ]));
            text.push_str(dice.pick(&[
                "",
                "disallowedTools: Write\n",
                "disallowedTools: [\"Bash(rm:*)\", WebFetch]\n",
            ]));
            text.push_str(dice.pick(&["", "color: purple\n", "color: cyan\n", "color: '#12ab34'\n"]));
            text.push_str(dice.pick(&["", "maxTurns: 12\n", "max_turns: \"7\"\n"]));
            text.push_str(dice.pick(&["", "permissionMode: acceptEdits\n", "permissionMode: plan\n"]));
            text.push_str(dice.pick(&[
                "",
                "hooks:\n  PreToolUse:\n    - matcher: Bash\n",
                "skills: [a, b]\nemoji: \"🤖\"\n",
                "mcpServers: [github]\n",
            ]));
        }
        AgentFormat::Gemini => {
            text.push_str(dice.pick(&["", "kind: local\n"]));
            text.push_str(dice.pick(&["", "display_name: The Agent\n"]));
            text.push_str(dice.pick(&[
                "",
                "tools:\n  - read_file\n  - google_web_search\n",
                "tools: ['*']\n",
                "tools: [mcp_*, replace]\n",
                "tools: [mcp_github_*, run_shell_command]\n",
                "tools: []\n",
                "tools: [edit_file, google_search]\n",
            ]));
            text.push_str(dice.pick(&["", "temperature: 0.2\n", "temperature: \"1\"\n"]));
            text.push_str(dice.pick(&["", "max_turns: 15\n", "timeout_mins: 2.5\n"]));
            text.push_str(dice.pick(&["", "category: web\n", "mcp_servers: {x: {command: y}}\n"]));
        }
        AgentFormat::OpenCode => {
            text.push_str(dice.pick(&["mode: subagent\n", "mode: primary\n", "mode: all\n", ""]));
            text.push_str(dice.pick(&[
                "",
                "tools:\n  write: false\n  bash: false\n",
                "tools: {\"*\": false, read: true, grep: true}\n",
                "tools: {\"github_*\": false}\n",
                "tools: {task: true}\n",
            ]));
            text.push_str(dice.pick(&[
                "",
                "permission:\n  edit: deny\n",
                "permission:\n  bash:\n    \"*\": ask\n    \"git status *\": allow\n    \"rm *\": deny\n",
                "permission: {webfetch: ask}\n",
                "permission: ask\n",
            ]));
            text.push_str(dice.pick(&["", "steps: 9\n", "maxSteps: 4\n"]));
            text.push_str(dice.pick(&["", "top_p: 0.9\n", "temperature: 0\n"]));
            text.push_str(dice.pick(&["", "hidden: true\n", "reasoningEffort: high\n"]));
        }
        AgentFormat::Own => unreachable!("ours is not generated"),
    }
    text.push_str("---\n");
    text.push_str(dice.pick(BODIES));
    text
}

/// The same in whatever order tools stand whose calls are narrowed.
fn comparable(definition: &AgentDefinition) -> AgentDefinition {
    let mut definition = definition.clone();
    (definition.format, definition.imported_from) = (AgentFormat::Own, None);
    definition.tools.deny.sort();
    definition.narrowings.sort_by(|left, right| left.tool.cmp(&right.tool));
    let narrowings = definition.narrowings.clone();
    let beaten = |at: usize| {
        narrowings[at + 1..]
            .iter()
            .any(|it| (&it.tool, &it.about) == (&narrowings[at].tool, &narrowings[at].about))
    };
    let mut at = 0;
    definition.narrowings.retain(|_| {
        at += 1;
        !beaten(at - 1)
    });
    definition
}

fn sorted(extras: &[(String, Value)]) -> Vec<(String, Value)> {
    let mut extras = extras.to_vec();
    extras.sort_by(|left, right| left.0.cmp(&right.0));
    extras
}

const FORMATS: [AgentFormat; 3] = [AgentFormat::Claude, AgentFormat::Gemini, AgentFormat::OpenCode];

fn read_as(format: AgentFormat, text: &str) -> AgentFile {
    AgentFile::read(Path::new("dir/my-file.md"), text.as_bytes(), AgentScope::User, format)
}

#[test]
fn what_is_imported_and_written_back_says_the_same() {
    let mut states = [0; 3];
    for (format, number) in FORMATS.iter().flat_map(|format| (0..400).map(move |number| (*format, number))) {
        let text = generated(format, number);
        let file = read_as(format, &text);
        states[file.state as usize] += 1;
        let Some(definition) = &file.definition else {
            panic!("{format:?} {number}: {:?}\n{text}", file.problems)
        };
        let imported = export(definition, &file.extras, AgentFormat::Own);
        assert_eq!(imported.lost, [""; 0]);
        let own = read_as(AgentFormat::Own, &imported.text);
        let told = |file: &AgentFile| file.problems.iter().map(ToString::to_string).collect::<Vec<_>>();
        let Some(read) = &own.definition else { panic!("{:?}\n{text}\n{}", told(&own), imported.text) };
        assert_eq!(read.imported_from, Some(format));
        assert_eq!(comparable(read), comparable(definition), "{text}\n{}", imported.text);
        let mut kept = sorted(&own.extras);
        kept.retain(|(key, value)| key != "importedFrom" || value != format.as_str());
        assert_eq!(kept, sorted(&file.extras), "{text}\n{}", imported.text);
        // Back to where it came from.
        let back = export(read, &own.extras, format);
        let again = read_as(format, &back.text);
        let Some(again_read) = &again.definition else { panic!("{:?}\n{text}\n{}", told(&again), back.text) };
        // Of what cannot be said there, the list tells; all else is as it was.
        if back.lost.is_empty() {
            let mut wanted = comparable(definition);
            // OpenCode takes the name of the file.
            wanted.title.clone_from(&again_read.title);
            assert_eq!(comparable(again_read), wanted, "{text}\n{}", back.text);
        }
        assert_eq!(again.state, AgentFileState::Ok, "{text}\n{}\n{:?}", back.text, told(&again));
        // One that said nothing of its mode is called by others, and says so now.
        let says_mode = file.extras.iter().any(|(key, _)| key == "mode");
        let mut extras = sorted(&again.extras);
        extras.retain(|(key, value)| says_mode || key != "mode" || value != "subagent");
        assert_eq!(extras, sorted(&file.extras), "{text}\n{}", back.text);
    }
    let [ok, repaired, rejected] = states;
    assert!(ok + repaired >= 1200 * 99 / 100 && repaired > 100 && rejected == 0, "{states:?}");
}

#[test]
fn every_agent_of_ours_can_be_written_in_every_format() {
    for file in builtin::files() {
        let definition = file.definition.unwrap();
        for format in FORMATS {
            let written = export(&definition, &file.extras, format);
            let read = read_as(format, &written.text);
            assert!(read.definition.is_some(), "{:?}\n{}", read.problems, written.text);
        }
        let own = export(&definition, &file.extras, AgentFormat::Own);
        let read = read_as(AgentFormat::Own, &own.text);
        assert_eq!(read.definition.as_deref(), Some(&*definition), "{}", own.text);
    }
}

#[test]
fn what_another_product_cannot_say_is_listed() {
    let file = read(
        "---\nkind: agent\nname: a\ntitle: The A\ndescription: d\nversion: 1.0.0\nrun: {maxTokens: 5, maxTimeMinutes: 2}\n\
         model: {name: m, topP: 0.5}\ninputs: {x: {type: string}}\nquery: go ${x}\n\
         output: {name: r, schema: {type: object}}\ninitialMessages: [{role: user, text: hi}]\n\
         approval: {autoApprove: [low], rules: {run_shell_command: {\"*\": ask}}}\nsandbox: readOnly\n\
         triggers: [{keywords: [x]}]\ntools: [read_file, git_commit, \"mcp.s.t\"]\n---\nDo ${x}.\n",
    );
    assert_eq!(file.problems, []);
    let definition = file.definition.unwrap();
    let lost = FORMATS.map(|format| {
        let ExportedAgentFile { text, lost } = export(&definition, &file.extras, format);
        format!("# {}\n{}\n{text}", format.product(), lost.join("\n"))
    });
    expect![[r#"
        # Claude Code
        `title`
        the tool `git_commit`
        calls that ask first (`approval.rules`)
        `model.temperature` and other sampling settings
        `run.maxTimeMinutes`
        `version`
        limits of tokens, cost, depth and grace (`run`)
        `inputs`
        `output`: the result is a text there
        `query`
        `initialMessages`
        `approval.autoApprove`
        `sandbox`
        `triggers`
        what the prompt has filled in: `${x}`
        ---
        name: a
        description: d
        tools: Read, mcp__s__t
        model: m
        ---

        Do ${x}.

        # Gemini CLI
        the tool `git_commit`
        what its file says of single calls (`approval.rules`)
        sampling settings but the temperature
        `version`
        limits of tokens, cost, depth and grace (`run`)
        `inputs`
        `output`: the result is a text there
        `query`
        `initialMessages`
        `approval.autoApprove`
        `sandbox`
        `triggers`
        ---
        kind: local
        name: a
        description: d
        display_name: The A
        tools: [read_file, mcp_s_t]
        model: m
        timeout_mins: 2
        ---

        Do ${x}.

        # OpenCode
        `title`
        `run.maxTimeMinutes`
        the tool `git_commit`
        `version`
        limits of tokens, cost, depth and grace (`run`)
        `inputs`
        `output`: the result is a text there
        `query`
        `initialMessages`
        `approval.autoApprove`
        `sandbox`
        `triggers`
        what the prompt has filled in: `${x}`
        ---
        description: d
        mode: subagent
        model: m
        top_p: 0.5
        tools:
          '*': false
          read: true
          s_t: true
        permission:
          bash:
            '*': ask
        ---

        Do ${x}.
    "#]]
    .assert_eq(&lost.join("\n"));
}

#[test]
fn what_another_product_would_act_on_goes_back_to_where_it_came_from_only() {
    let text = "---\ndescription: d\nmode: subagent\nhooks: { Stop: x }\npermissionMode: bypassPermissions\n---\nx\n";
    let theirs = read_as(AgentFormat::OpenCode, text);
    let own = export(theirs.definition.as_ref().unwrap(), &theirs.extras, AgentFormat::Own);
    // A field of ours, which theirs is not.
    assert!(!own.text.contains("hooks") && own.lost.iter().any(|it| it.contains("hooks")), "{own:?}");
    let own = read_as(AgentFormat::Own, &own.text);
    let definition = own.definition.as_ref().unwrap();
    let claude = export(definition, &own.extras, AgentFormat::Claude);
    assert!(!claude.text.contains("hooks") && !claude.text.contains("bypass"), "{}", claude.text);
    assert!(claude.lost.iter().any(|it| it.contains("permissionMode")), "{:?}", claude.lost);
    let back = export(definition, &own.extras, AgentFormat::OpenCode);
    assert!(back.text.contains("bypass"), "{}", back.text);
    // Nobody knows where these came from.
    let bare = read("---\nkind: agent\nname: a\ndescription: d\nhooks: { Stop: x }\nnote: why\n---\nx\n");
    let claude = export(bare.definition.as_ref().unwrap(), &bare.extras, AgentFormat::Claude);
    assert!(!claude.text.contains("hooks") && claude.text.contains("note: why"), "{}", claude.text);
}
