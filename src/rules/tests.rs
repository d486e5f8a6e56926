//! Promises of folders of rule files, and of what is in force.

use std::{fs, os::unix::fs::symlink};

use expect_test::{Expect, expect};

use super::*;
use policy::PolicyCall;
use protocol::{AgentName, ApprovalMode, ConfirmationId, ResourceAccess, Risk, ToolKind, ToolName, Verdict};

const DENY: &str = "[[rule]]\ntool = \"the_tool\"\ndecision = \"deny\"\n";
const ALLOW: &str = "[[rule]]\ntool = \"the_tool\"\ndecision = \"allow\"\n";

struct Folders(tempfile::TempDir);

impl Folders {
    fn new() -> Folders {
        Folders(tempfile::tempdir().unwrap())
    }

    fn places(&self) -> RulePlaces {
        let folder = |name| self.0.path().join(name);
        RulePlaces { system: folder("system"), user: folder("user"), home: folder("home") }
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Folders {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn read(&self) -> RuleFiles {
        RuleFiles::read(&self.places())
    }

    fn in_force(&self) -> RulesInForce {
        RulesInForce::new(self.read(), Vec::new())
    }

    fn check(&self, expected: Expect) {
        let files = self.read();
        let mut told = String::new();
        for rule in files.rules() {
            told.push_str(&format!("{} {:?} {:?} {:?}\n", rule.id, rule.decision, rule.tool, rule.risk));
        }
        for problem in files.problems() {
            told.push_str(&format!("{:?} {problem}\n", problem.severity));
        }
        expected.assert_eq(&told.replace(self.0.path().to_str().unwrap(), "…"));
    }
}

/// The verdict on a call of this risk.
fn verdict(policy: &Policy, risk: Risk) -> Verdict {
    let (tool, agent) = (ToolName::from("the_tool"), AgentName::from("a"));
    let call = PolicyCall {
        tool: &tool,
        aliases: &[],
        agent: &agent,
        callers: &[],
        kind: ToolKind::Edit,
        risk,
        accesses: &[ResourceAccess::Write { path: "/w/a".into() }],
        arguments: &serde_json::Value::Null,
        commands: None,
        unread: None,
        confinement: None,
        mode: ApprovalMode::Default,
        auto_approve: &[],
        session: None,
        roots: &["/w".into()],
    };
    policy.decide(&call).verdict
}

fn remembered(id: &str) -> PolicyRule {
    let files = Folders::new().write("user/a.toml", ALLOW).read();
    let rule = files.rules().next().unwrap().clone();
    PolicyRule { id: id.to_owned(), from_confirmation: Some(ConfirmationId::from("c")), ..rule }
}

#[test]
fn rules_are_read_by_name_and_what_is_no_rule_file_is_told() {
    let folders = Folders::new();
    folders
        .write("user/b.toml", ALLOW)
        .write("user/a.TOML", DENY)
        .write("user/c.tml", DENY)
        .write("user/.#a.toml", DENY)
        .write("user/deep/d.toml", DENY)
        .write("system/s.toml", ALLOW);
    folders.check(expect![[r#"
        system:s.toml:1 Allow ["the_tool"] None
        user:a.TOML:1 Deny ["the_tool"] None
        user:b.toml:1 Allow ["the_tool"] None
        Warning …/user/c.tml: is not read: rule files lie in this folder itself and end in `.toml`
        Warning …/user/deep: is not read: rule files lie in this folder itself and end in `.toml`
    "#]]);
}

#[test]
fn nothing_there_is_nothing_said() {
    Folders::new().check(expect![[""]]);
}

#[test]
fn what_cannot_be_read_asks_for_everything_that_is_not_safe() {
    type Make = fn(&Folders);
    let cases: [(&str, Make); 5] = [
        ("a folder instead of a file", |it| fs::create_dir_all(it.0.path().join("user/a.toml")).unwrap()),
        ("a link that leads nowhere", |it| {
            it.write("user/b.toml", ALLOW);
            symlink("nowhere", it.0.path().join("user/a.toml")).unwrap();
        }),
        ("a large file", |it| _ = it.write("user/a.toml", vec![b'#'; 1024 * 1024 + 1])),
        ("no text", |it| _ = it.write("user/a.toml", b"\xFF\xFE")),
        ("a file instead of the folder", |it| _ = it.write("user", "x")),
    ];
    for (what, make) in cases {
        let folders = Folders::new();
        folders.write("system/s.toml", ALLOW);
        make(&folders);
        let policy = folders.in_force().policy();
        let verdicts = [Risk::Safe, Risk::Low, Risk::High, Risk::Critical].map(|it| verdict(&policy, it));
        let expected = [Verdict::Allow, Verdict::Ask, Verdict::Ask, Verdict::Deny];
        assert_eq!(verdicts, expected, "{what}");
        assert_eq!(folders.read().problems().count(), 1, "{what}");
    }
}

#[test]
fn too_many_files_ask_as_well() {
    let folders = Folders::new();
    for number in 0..257 {
        folders.write(&format!("user/{number:03}.toml"), if number == 256 { DENY } else { ALLOW });
    }
    assert_eq!(verdict(&folders.in_force().policy(), Risk::Low), Verdict::Ask);
    fs::remove_file(folders.0.path().join("user/256.toml")).unwrap();
    assert_eq!(verdict(&folders.in_force().policy(), Risk::Low), Verdict::Allow);
}

/// Between the commit of a rule and its being in force somebody may have removed it.
#[test]
fn a_rule_that_was_forgotten_before_it_was_in_force_stays_out() {
    let rules = Folders::new().in_force();
    rules.forget(&["r1".to_owned()]);
    rules.remember(remembered("r1"));
    assert_eq!(verdict(&rules.policy(), Risk::Low), Verdict::Ask);
    rules.remember(remembered("r2"));
    assert_eq!(verdict(&rules.policy(), Risk::Low), Verdict::Allow);
}

#[test]
fn what_was_remembered_comes_and_goes_and_outlives_other_files() {
    let folders = Folders::new();
    let rules = folders.in_force();
    assert_eq!(verdict(&rules.policy(), Risk::Low), Verdict::Ask);
    rules.remember(remembered("r1"));
    assert_eq!(verdict(&rules.policy(), Risk::Low), Verdict::Allow);
    folders.write("system/s.toml", ALLOW);
    rules.replace_files(folders.read());
    rules.remember(remembered("r2"));
    rules.forget(&["r1".to_owned()]);
    let ids: Vec<String> = rules.policy().rules().map(|rule| rule.id.clone()).collect();
    assert_eq!(ids, ["system:s.toml:1", "r2"]);
    rules.forget(&["r2".to_owned()]);
    rules.replace_files(RuleFiles::default());
    assert_eq!(verdict(&rules.policy(), Risk::Low), Verdict::Ask);
}

#[test]
fn a_workspace_has_the_rules_of_the_moment_and_its_own() {
    let folders = Folders::new();
    let rules = folders.in_force();
    folders.write("project/p.toml", DENY).write("project/q.toml", ALLOW);
    let own = read_folder(&folders.0.path().join("project"), PolicyTier::Project, Path::new("/home"));
    let (deny, allow) = (own[0].rules.clone(), own[1].rules.clone());
    let denying = WorkspaceRules::new(rules.clone(), deny);
    let allowing = WorkspaceRules::new(rules.clone(), allow);
    assert_eq!(verdict(&denying.policy(), Risk::Low), Verdict::Deny);
    assert_eq!(verdict(&allowing.policy(), Risk::Low), Verdict::Ask, "a project allows nothing");
    let before = denying.policy();
    assert!(Arc::ptr_eq(&before, &denying.policy()), "put together once");
    rules.remember(remembered("r"));
    assert_eq!(verdict(&denying.policy(), Risk::Low), Verdict::Deny);
    assert_eq!(verdict(&allowing.policy(), Risk::Low), Verdict::Allow, "what was remembered meanwhile");
}

#[test]
fn changes_are_told_by_file() {
    let folders = Folders::new();
    folders.write("user/same.toml", ALLOW).write("user/other.toml", ALLOW).write("user/gone.toml", ALLOW);
    let before = folders.read();
    assert_eq!(folders.read().changed_since(&before), [] as [PathBuf; 0]);
    folders.write("user/other.toml", DENY).write("system/new.toml", DENY);
    fs::remove_file(folders.0.path().join("user/gone.toml")).unwrap();
    let changed = folders.read().changed_since(&before);
    let names: Vec<&str> = changed.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["new.toml", "gone.toml", "other.toml"]);
}
