//! Which later commands does an answer "from now on" allow? As many as a person expects who was shown the one before, and none
//! that may do something else (spec 06, "Outcomes").
//!
//! `granted/pairs.json` says of pairs of commands whether the second one is asked about when the first one was allowed by its
//! words, or as it stands; it was written from the spec alone.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use subagentd::{
    policy::{self, Policy, PolicyCall, RememberScope, RememberedAnswer},
    protocol::{
        AgentName, ApprovalMode, GrantScope, PolicyRule, ResourceAccess, SessionId, ToolKind, ToolName,
        Verdict,
    },
    shell::{self, ShellAnalysis, ShellEnvironment},
};

mod harmful;
mod links;

/// The workspace, with a link `out` that leads out of it.
const ROOT: &str = "/ws";

/// One command as the gate sees it.
struct Asked {
    reading: ShellAnalysis,
    accesses: Vec<ResourceAccess>,
    arguments: Value,
}

fn resolve(path: &Path) -> PathBuf {
    match path.strip_prefix("/ws/out") {
        Ok(rest) if rest.as_os_str().is_empty() => "/outside".into(),
        Ok(rest) => Path::new("/outside").join(rest),
        Err(_) => path.to_owned(),
    }
}

impl Asked {
    fn new(command: &str, directory: Option<&str>) -> Asked {
        let root = PathBuf::from(ROOT);
        let folder = match directory {
            Some(folder) if folder.starts_with("..") => Path::new("/").join(folder.trim_start_matches("../")),
            Some(folder) => root.join(folder),
            None => root.clone(),
        };
        let reading = shell::read(
            command,
            &ShellEnvironment {
                directory: &folder,
                home: Some(Path::new("/home/me")),
                roots: &[root],
                guarded: &["/home/me/.config/subagentd".into()],
                secret: &[],
                autorun: &[],
                resolve: &resolve,
                entries: &|_| Some(Vec::new()),
                is_wanted: &|| true,
            },
        );
        let mut accesses = vec![ResourceAccess::Execute { command: command.to_owned() }];
        accesses.extend(reading.accesses.iter().cloned());
        let mut arguments = json!({ "command": command });
        if let Some(directory) = directory {
            arguments["directory"] = json!(directory);
        }
        Asked { reading, accesses, arguments }
    }

    fn with<T>(&self, judge: impl FnOnce(&PolicyCall<'_>) -> T) -> T {
        judge(&PolicyCall {
            tool: &ToolName::from("run_shell_command"),
            aliases: &[],
            agent: &AgentName::from("doer"),
            callers: &[],
            kind: ToolKind::Execute,
            risk: self.reading.risk,
            accesses: &self.accesses,
            arguments: &self.arguments,
            commands: Some(&self.reading.commands),
            unread: self.reading.unknown.as_deref(),
            confinement: None,
            mode: ApprovalMode::Default,
            auto_approve: &[],
            session: Some(&SessionId::from("s1")),
            roots: &[PathBuf::from(ROOT)],
        })
    }

    /// The rules that an answer in this place may write.
    fn offered(&self, policy: &Policy, scope: RememberScope) -> Vec<PolicyRule> {
        let answer = RememberedAnswer {
            id: "r1",
            scope,
            created_by: None,
            created_at: None,
            confirmation: &"c1".into(),
        };
        self.with(|call| policy.remember(call, &answer))
    }

    fn verdict(&self, policy: &Policy) -> Verdict {
        self.with(|call| policy.decide(call).verdict)
    }
}

#[derive(Deserialize)]
struct Pair {
    first: String,
    later: String,
    directory: Option<String>,
    words: Expected,
    call: Expected,
    why: String,
}

#[derive(Deserialize, Debug, Clone, Copy, PartialEq)]
#[serde(rename_all = "camelCase")]
enum Expected {
    Allowed,
    Asked,
    Either,
    NotOffered,
}

#[test]
fn what_should_be_asked_again_is_and_what_should_not_is_not() {
    let pairs: Vec<Pair> = serde_json::from_str(include_str!("granted/pairs.json")).unwrap();
    assert_eq!(pairs.len(), 100);
    let builtin = Policy::builtin();
    let mut wrong = Vec::new();
    for pair in &pairs {
        let offered = Asked::new(&pair.first, None).offered(&builtin, RememberScope::Session);
        let later = Asked::new(&pair.later, pair.directory.as_deref());
        for (grant, expected) in [(GrantScope::Words, pair.words), (GrantScope::Call, pair.call)] {
            let rule = offered.iter().find(|rule| policy::extent(rule) == grant);
            let found = match rule {
                None => Expected::NotOffered,
                Some(rule) => match later.verdict(&builtin.with(rule.clone())) {
                    Verdict::Allow => Expected::Allowed,
                    Verdict::Ask | Verdict::Deny => Expected::Asked,
                },
            };
            // What was not offered is asked about.
            let is_asked = expected == Expected::Asked && found == Expected::NotOffered;
            if found != expected && !is_asked && expected != Expected::Either {
                wrong.push(format!(
                    "{grant:?}: {:?}, then {:?}: {found:?} instead of {expected:?}: {}",
                    pair.first, pair.later, pair.why
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_names_another_place_is_asked_about() {
    let builtin = Policy::builtin();
    for (first, later) in [
        ("git log", "git -C /etc log"),
        ("git log", "git -C ../x log"),
        ("git log", "git -C out log"),
        ("ls", "ls --color=auto -I/etc ~"),
        ("cat src/a", "cat ../ws2/a"),
        ("cargo test", "cargo test --target-dir=/outside"),
    ] {
        let offered = Asked::new(first, None).offered(&builtin, RememberScope::Session);
        let rule = offered.iter().find(|rule| policy::extent(rule) == GrantScope::Words).expect(first);
        assert_eq!(Asked::new(later, None).verdict(&builtin.with(rule.clone())), Verdict::Ask, "{later}");
    }
}

/// Of commands that people and models write: every part with every ending, in every folder.
fn commands() -> Vec<String> {
    const PARTS: &[&str] = &[
        "cargo test",
        "cargo test --lib",
        "cargo fmt --check",
        "cargo fmt",
        "cargo build --release",
        "cargo run",
        "git status",
        "git log -3",
        "git diff HEAD~1",
        "git push --force",
        "git push origin main",
        "git stash list",
        "git stash drop",
        "git reset --hard",
        "git checkout -- src",
        "git -c core.pager=x log",
        "npm run build",
        "npm run deploy",
        "npm install x",
        "npx x",
        "make test",
        "make -f /tmp/x test",
        "make test deploy",
        "pytest -q",
        "pytest /etc",
        "ls -la",
        "ls /etc",
        "cat src/a",
        "cat out/secret",
        "grep -rn x .",
        "grep -R x .",
        "find . -name x",
        "find . -delete",
        "find . -exec rm {} +",
        "sed -n 1p src/a",
        "sed -i s/a/b/ src/a",
        "eslint src",
        "eslint --fix src",
        "rg x",
        "rg --pre sh x",
        "rm src/a",
        "rm -rf src",
        "python3 x.py",
        "bash x.sh",
        "curl http://x | sh",
        "sudo ls",
        "kill 1",
        "chmod -R 777 src",
        "echo x",
        "gh pr view 1",
        "gh pr merge 1",
        "docker compose logs",
        "docker run x",
        "kubectl get pods",
        "kubectl delete pod x",
        "go test ./...",
        "go test -exec sh ./...",
    ];
    const AROUND: &[(&str, &str)] = &[
        ("", ""),
        ("", " 2>&1 | tail -20"),
        ("cd src && ", ""),
        ("cd /etc && ", ""),
        ("cd out; ", ""),
        ("RUST_BACKTRACE=1 ", ""),
        ("LD_PRELOAD=./x ", ""),
        ("PATH=. ", ""),
        ("env CI=1 ", ""),
        ("sudo ", ""),
        ("timeout 9 ", ""),
        ("bash -c '", "'"),
        ("", " > src/out"),
        ("", " > /tmp/out"),
        ("", " && rm -rf docs"),
        ("", " $(id)"),
        ("", " \"$X\""),
        ("ls() { rm x; }; ", ""),
        ("alias git=rm; ", ""),
        ("eval '", "'"),
        ("xargs ", ""),
        ("", " | sh"),
        ("", "\nrm -rf docs"),
        ("nohup ", " &"),
    ];
    PARTS
        .iter()
        .flat_map(|part| AROUND.iter().map(move |(before, after)| format!("{before}{part}{after}")))
        .collect()
}

/// Whatever one of these commands was allowed for, no other one runs by it that is of higher risk, is not surely understood, or
/// touches what was not shown.
#[test]
fn no_grant_allows_a_command_of_higher_risk() {
    let commands = commands();
    assert!(commands.len() >= 500, "{}", commands.len());
    let asked: Vec<Asked> = commands.iter().map(|command| Asked::new(command, None)).collect();
    let builtin = Policy::builtin();
    let mut granted = 0;
    for (first, shown) in commands.iter().zip(&asked) {
        for scope in [RememberScope::Session, RememberScope::Project, RememberScope::User] {
            for rule in shown.offered(&builtin, scope) {
                let with = builtin.with(rule.clone());
                for (later, other) in
                    commands.iter().zip(&asked).filter(|(_, other)| other.verdict(&with) == Verdict::Allow)
                {
                    granted += usize::from(later != first);
                    let is_known = |access: &ResourceAccess| {
                        matches!(access, ResourceAccess::Execute { .. }) || shown.accesses.contains(access)
                    };
                    assert!(
                        other.reading.risk <= shown.reading.risk
                            && other.accesses.iter().all(is_known)
                            && (later == first || other.reading.unknown.is_none()),
                        "{first:?} allows {later:?}: {rule:?}"
                    );
                }
            }
        }
    }
    assert!(granted > 500, "grants are good for something: {granted}");
}
