//! What counts of what a workspace brings along.

use std::fs;

use expect_test::{Expect, expect};

use super::*;
use ::skills::SkillPlaces;
use agents::{AgentPlaces, PlaceSwitches};
use protocol::{ProgramDigest, TrustedFile, Verdict, WorkspaceTrusted};
use rules::RuleFiles;

pub(super) struct Ground {
    pub(super) base: tempfile::TempDir,
    pub(super) projects: ProjectReader,
    user: DiscoveryCommands,
}

impl Ground {
    pub(super) fn new() -> Ground {
        let base = tempfile::tempdir().unwrap();
        let places = AgentPlaces::of_user(base.path().join("user"));
        let agents = AgentFileCache::new(places, PlaceSwitches::default());
        let rules = RulesInForce::new(RuleFiles::default(), Vec::new());
        fs::create_dir(base.path().join("w")).unwrap();
        let projects = ProjectReader::new(
            agents,
            (base.path().into(), Vec::new()),
            (rules, SkillReader::new(SkillPlaces::default())),
            TrustRecords::default(),
        );
        Ground { projects, base, user: DiscoveryCommands::default() }
    }

    pub(super) fn root(&self) -> PathBuf {
        self.base.path().join("w")
    }

    fn write(&self, path: &str, text: &str) -> &Ground {
        let path = self.root().join(".subagentd").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// A person acknowledges all there is.
    fn trust(&self) -> &Ground {
        let survey = self.projects.survey(&[self.root()], &self.user);
        let files =
            survey.files.iter().map(|it| TrustedFile { path: it.path.clone(), digest: it.digest.clone() });
        let said = WorkspaceTrusted {
            workspace: survey.roots[0].clone(),
            trusted: true,
            files: files.collect(),
            files_only: false,
        };
        let mut trust = (*self.projects.trust()).clone();
        trust.take(&said);
        self.projects.replace_trust(trust);
        self
    }

    fn load(&self) -> Project {
        self.projects.load(&[self.root()])
    }

    fn check(&self, expected: Expect) {
        let Project { rules, settings, problems, .. } = self.load();
        let mut told = String::new();
        for rule in rules.own() {
            told.push_str(&format!("{} {:?} {:?}\n", rule.id, rule.decision, rule.risk));
        }
        told.push_str(&format!("{:?} {:?}\n", settings.default_agent, settings.exclude));
        for problem in problems {
            told.push_str(&format!("{:?} {problem}\n", problem.severity));
        }
        expected.assert_eq(&told.replace(self.root().to_str().unwrap(), "…"));
    }
}

const DENY: &str = "[[rule]]\ntool = \"*\"\nkind = \"edit\"\ndecision = \"deny\"\n";

#[test]
fn nothing_counts_before_a_person_acknowledged_it() {
    let ground = Ground::new();
    ground.write("policies/a.toml", DENY).write("policies/b.toml", "no rules");
    ground.write("settings.json", r#"{ "agents": { "default": "x" }, "tools": { "exclude": ["grep"] } }"#);
    ground.check(expect![[r#"
        None []
    "#]]);
    ground.trust().check(expect![[r#"
        project:a.toml:1 Deny None
        project:b.toml:unread:low Ask Some(Low)
        project:b.toml:unread:medium Ask Some(Medium)
        project:b.toml:unread:high Ask Some(High)
        project:b.toml:unread:critical Ask Some(Critical)
        Some(AgentName("x")) [ToolName("grep")]
        Error …/.subagentd/policies/b.toml:1:4: is not TOML: key with no value, expected `=`
        Warning …/.subagentd/policies/b.toml: until this is mended, every call that is not safe needs a person's consent
    "#]]);
}

#[test]
fn acknowledged_rules_that_change_or_go_ask_until_a_person_has_looked() {
    let ground = Ground::new();
    ground.write("policies/a.toml", DENY).write("policies/b.toml", DENY).trust();
    ground.write("policies/a.toml", "");
    fs::remove_file(ground.root().join(".subagentd/policies/b.toml")).unwrap();
    ground.write("policies/c.toml", DENY);
    ground.check(expect![[r#"
        project:a.toml:unread:low Ask Some(Low)
        project:a.toml:unread:medium Ask Some(Medium)
        project:a.toml:unread:high Ask Some(High)
        project:a.toml:unread:critical Ask Some(Critical)
        project:b.toml:unread:low Ask Some(Low)
        project:b.toml:unread:medium Ask Some(Medium)
        project:b.toml:unread:high Ask Some(High)
        project:b.toml:unread:critical Ask Some(Critical)
        None []
        Error …/.subagentd/policies/a.toml: has changed since it was acknowledged, or cannot be read: until a person looks at it, everything here that is not safe asks (`subagent trust` shows the workspace's files)
        Error …/.subagentd/policies/b.toml: was acknowledged, and is gone: until a person looks at it, everything here that is not safe asks (`subagent trust` shows the workspace's files)
    "#]]);
    fs::remove_dir_all(ground.root().join(".subagentd")).unwrap();
    assert_eq!(ground.load().rules.own().len(), 8, "also without any folder");
    fs::write(ground.root().join(".subagentd"), "a file").unwrap();
    assert!(ground.load().rules.own().iter().all(|rule| rule.decision == Verdict::Ask));
    assert!(!ground.load().rules.own().is_empty());
}

#[test]
fn settings_that_change_open_nothing() {
    let ground = Ground::new();
    ground.write("settings.json", r#"{ "tools": { "exclude": ["grep"] } }"#).trust();
    // What it takes away is taken all the same, and it may have taken more before.
    ground.write("settings.json", r#"{ "agents": { "default": "evil" }, "tools": { "exclude": ["glob"] } }"#);
    ground.check(expect![[r#"
        project:settings.json:unread:low Ask Some(Low)
        project:settings.json:unread:medium Ask Some(Medium)
        project:settings.json:unread:high Ask Some(High)
        project:settings.json:unread:critical Ask Some(Critical)
        None [ToolName("glob")]
        Error …/.subagentd/settings.json: has changed since it was acknowledged: until a person looks at it, everything here that is not safe asks (`subagent trust` shows the workspace's files)
    "#]]);
    fs::remove_file(ground.root().join(".subagentd/settings.json")).unwrap();
    assert_eq!(ground.load().rules.own().len(), 4, "also without the file");
}

#[test]
fn hooks_of_a_project_are_no_mistake_of_its_settings() {
    let ground = Ground::new();
    for hooks in [r#"{ "Stop": [{ "hooks": [{ "type": "command", "command": "true" }] }] }"#, "{}", "7"] {
        ground.write("settings.json", &format!(r#"{{ "agents": {{ "default": "x" }}, "hooks": {hooks} }}"#));
        ground.trust().check(expect![[r#"
            Some(AgentName("x")) []
        "#]]);
    }
}

#[test]
fn what_a_project_may_not_set_is_named() {
    let ground = Ground::new();
    ground.write(
        "settings.json",
        r#"{
            // Of a stranger.
            "approval": { "allowYolo": true, "mode": "yolo" },
            "redaction": { "patterns": [] },
            "tools": { "exclude": ["grep", 7], "output": { "maxChars": 5 }, "discoveryCommand": "rm -r ~" },
            "agents": { "default": "x", "defualt": "y" },
            "shutdown": 5, "providers": {}, "mcpServers": {}, "$schema": "x", "agents": {},
        }"#,
    );
    ground.trust().check(expect![[r#"
        Some(AgentName("x")) []
        Error …/.subagentd/settings.json:3:13: `approval`: a project may not set this; it has no effect (a project may set agents.default, agents.autoRoute, tools.exclude, tools.discoveryCommand, tools.callCommand, compression.enabled, compression.threshold, memory.files, mcpServers, hooks and prompt.modules; all else stands in your own settings)
        Error …/.subagentd/settings.json:4:13: `redaction`: a project may not set this; it has no effect (a project may set agents.default, agents.autoRoute, tools.exclude, tools.discoveryCommand, tools.callCommand, compression.enabled, compression.threshold, memory.files, mcpServers, hooks and prompt.modules; all else stands in your own settings)
        Error …/.subagentd/settings.json:5:35: `tools.exclude`: expected a list of tool names, e.g. ["web_fetch", "mcp.github.*"], found a list
        Error …/.subagentd/settings.json:5:48: `tools.output`: a project may not set this; it has no effect (a project may set agents.default, agents.autoRoute, tools.exclude, tools.discoveryCommand, tools.callCommand, compression.enabled, compression.threshold, memory.files, mcpServers, hooks and prompt.modules; all else stands in your own settings)
        Error …/.subagentd/settings.json:6:41: `agents.defualt` is nothing that a project may set; it has no effect (did you mean `agents.default`?)
        Error …/.subagentd/settings.json:7:13: `shutdown`: a project may not set this; it has no effect (a project may set agents.default, agents.autoRoute, tools.exclude, tools.discoveryCommand, tools.callCommand, compression.enabled, compression.threshold, memory.files, mcpServers, hooks and prompt.modules; all else stands in your own settings)
        Error …/.subagentd/settings.json:7:28: `providers`: a project may not set this; it has no effect (a project may set agents.default, agents.autoRoute, tools.exclude, tools.discoveryCommand, tools.callCommand, compression.enabled, compression.threshold, memory.files, mcpServers, hooks and prompt.modules; all else stands in your own settings)
        Error …/.subagentd/settings.json:7:79: `agents` is set twice; the first one counts
    "#]]);
    for text in ["{", "[]", "\u{feff}{}", ""] {
        ground.write("settings.json", text);
        assert_eq!(ground.trust().load().settings, ProjectSettings::default(), "{text}");
    }
}

#[test]
fn a_root_counts_by_its_own_path_alone() {
    let ground = Ground::new();
    ground.write("settings.json", r#"{ "tools": { "exclude": ["grep"] } }"#).trust();
    let copy = ground.root().join("inner");
    fs::create_dir_all(copy.join(".subagentd")).unwrap();
    fs::copy(ground.root().join(".subagentd/settings.json"), copy.join(".subagentd/settings.json")).unwrap();
    std::os::unix::fs::symlink(ground.root(), ground.base.path().join("link")).unwrap();
    let excluded = |roots: &[PathBuf]| ground.projects.load(roots).settings.exclude.len();
    for (roots, expected) in [
        (vec![ground.root()], 1),
        (vec![ground.base.path().join("link")], 1),
        (vec![ground.root().join("../w")], 1),
        (vec![copy.clone()], 0),
        (vec![copy.clone(), ground.root()], 1),
        (vec![ground.root(), ground.base.path().join("link")], 1),
        (vec![ground.base.path().to_owned()], 0),
        (vec![ground.base.path().join("gone")], 0),
    ] {
        assert_eq!(excluded(&roots), expected, "{roots:?}");
    }
}

#[test]
fn a_survey_says_what_each_file_would_change() {
    let ground = Ground::new();
    let agent = "---\nkind: agent\nname: helper\ndescription: d\ntools: [read_file, \"*\"]\napproval: { autoApprove: [low, high] }\n---\nHelp.\n";
    ground.write("agents/helper.md", agent).write("agents/broken.md", "---\nname: [\n---\n");
    ground.write("agents/large.md", &"x".repeat(1024 * 1024 + 1));
    ground.write("policies/a.toml", &format!("{DENY}[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n"));
    ground
        .write("settings.json", r#"{ "agents": { "default": "helper" }, "tools": { "exclude": ["grep"] } }"#);
    let survey = ground.projects.survey(&[ground.root(), ground.root().join(".")], &ground.user);
    let mut told = String::new();
    for ProjectFile { path, kind, consent, effects, .. } in &survey.files {
        told.push_str(&format!("{path} {kind:?} {consent:?}\n"));
        effects.iter().for_each(|effect| told.push_str(&format!("  {effect}\n")));
    }
    survey.problems.iter().for_each(|problem| told.push_str(&format!("{problem}\n")));
    expect![[r#"
        .subagentd/agents/helper.md Agent Never
          the agent `helper` may be started
          it may use `*`, `read_file`: every tool and every agent there is
          its calls of risk `low`, `high` run without asking where no rule speaks
        .subagentd/policies/a.toml Policy Never
          rules that ask or forbid: 1; it can allow nothing
        .subagentd/settings.json Settings Never
          runs here that name no agent are `helper`'s
          no run here gets the tools `grep`
        …/.subagentd/agents/large.md: is larger than 1024 KiB
        …/.subagentd/agents/broken.md: cannot be acknowledged: the agent has errors and cannot be started; `subagent validate` tells them; mend them, then trust it
        …/.subagentd/policies/a.toml:5:1: this `allow` has no effect: a project's rules can only make things stricter
    "#]].assert_eq(&told.replace(&survey.roots[0], "…"));
}

#[test]
fn a_command_that_nobody_acknowledged_is_marked_and_shown_to_its_end() {
    let ground = Ground::new();
    assert!(
        !ground
            .write("settings.json", r#"{ "tools": { "discoveryCommand": null } }"#)
            .load()
            .names_unread_command
    );
    let command = format!("tell --{} evil", "x".repeat(3_000));
    let settings = format!(
        r#"{{ "tools": {{ "discoveryCommand": "{command}", "callCommand": "{}" }} }}"#,
        "y".repeat(9_000)
    );
    assert!(ground.write("settings.json", &settings).load().names_unread_command);
    let survey = ground.projects.survey(&[ground.root()], &ground.user);
    let [tells, calls] = &survey.files[0].effects[..] else { panic!("{:?}", survey.files) };
    assert_eq!(*tells, format!("`{command}` is run to tell tools of the workspace's own"));
    assert_eq!(*calls, format!("`{}` runs those tools", "y".repeat(9_000)));
    assert!(!ground.trust().load().names_unread_command);
    assert!(ground.write("settings.json", &settings.replace("evil", "worse")).load().names_unread_command);
}

#[test]
fn mistakes_are_told_of_what_was_acknowledged_and_is_there() {
    let ground = Ground::new();
    ground.write("settings.json", r#"{ "tools": { "callCommand": 5 } }"#);
    let told =
        |ground: &Ground| ground.projects.problems().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(told(&ground), [""; 0], "nobody acknowledged it");
    let found = told(ground.trust());
    assert!(found.len() == 1 && found[0].contains("`tools.callCommand`: expected a command"), "{found:?}");
    fs::rename(ground.root(), ground.base.path().join("moved")).unwrap();
    assert_eq!(told(&ground), [""; 0], "a folder that is gone has no mistakes");
}

#[test]
fn what_commands_run_counts_as_it_was_acknowledged() {
    let mut ground = Ground::new();
    let root = ground.root();
    fs::create_dir(root.join("bin")).unwrap();
    let outside = ground.base.path().join("outside");
    fs::write(&outside, "x").unwrap();
    for (name, text) in [("bin/tell", "tells"), ("list.json", "[]"), ("call.py", "calls"), ("other", "no")] {
        fs::write(root.join(name), text).unwrap();
    }
    std::os::unix::fs::symlink(root.join("call.py"), root.join("link")).unwrap();
    let words = format!("bin/tell --list=list.json bin missing {} -x sh", outside.display());
    ground.user = DiscoveryCommands { discovery: Some(words), call: Some("python3 link".to_owned()) };
    let told = |ground: &Ground| {
        let survey = ground.projects.survey(std::slice::from_ref(&root), &ground.user);
        let programs = survey.files.iter().filter(|it| it.kind == ProjectFileKind::Program);
        programs.map(|it| format!("{} {:?} {}\n", it.path, it.consent, it.effects.len())).collect::<String>()
    };
    assert_eq!(told(&ground), "bin/tell Never 1\nlist.json Never 1\ncall.py Never 1\n");
    ground.trust();
    assert_eq!(told(&ground), "bin/tell Now 1\nlist.json Now 1\ncall.py Now 1\n");
    let kept: Vec<ProgramDigest> = {
        let roots = distinct(std::slice::from_ref(&root));
        ground
            .projects
            .programs(&roots, &ground.user)
            .iter()
            .filter_map(ProjectProgram::acknowledged)
            .collect()
    };
    assert_eq!((kept.len(), changed(&kept)), (1, None), "calls run one of them");
    fs::write(root.join("call.py"), "evil").unwrap();
    assert_eq!(told(&ground), "bin/tell Now 1\nlist.json Now 1\ncall.py Before 1\n");
    assert!(changed(&kept).unwrap().ends_with("w/call.py"));
    // What was no file of the workspace's and is one now.
    fs::write(root.join("missing"), "evil").unwrap();
    assert!(told(&ground).contains("missing Never 1"));
    // One that nobody can read to its end.
    fs::File::create(root.join("bin/tell")).unwrap().set_len(17 << 20).unwrap();
    let survey = ground.projects.survey(std::slice::from_ref(&root), &ground.user);
    assert!(survey.problems.iter().any(|it| it.path.ends_with("bin/tell")), "{:?}", survey.problems);
    // Of the workspace's own command, whatever the user's is.
    ground.write("settings.json", r#"{ "tools": { "discoveryCommand": "cat other", "callCommand": null } }"#);
    assert_eq!(told(&ground), "other Never 1\n");
    ground.write("settings.json", r#"{ "tools": { "discoveryCommand": null } }"#);
    assert_eq!(told(&ground), "", "nothing is run");
}
