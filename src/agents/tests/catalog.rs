//! Which file a name means.

use std::os::unix::fs::symlink;

use expect_test::Expect;

use super::*;
use protocol::{TrustedFile, WorkspaceTrusted};

/// A user's and a project's folder.
struct Folders {
    base: tempfile::TempDir,
    trust: TrustRecords,
}

impl Folders {
    fn new() -> Folders {
        Folders { base: tempfile::tempdir().unwrap(), trust: TrustRecords::default() }
    }

    /// `user/…` lies among the user's agents, `project/…` among the project's.
    fn path(&self, name: &str) -> std::path::PathBuf {
        match name.split_once('/') {
            Some(("project", rest)) => self.base.path().join("project/.subagentd/agents").join(rest),
            _ => self.base.path().join(name),
        }
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Folders {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn agent(&self, file: &str, name: &str) -> &Folders {
        self.write(file, format!("---\nkind: agent\nname: {name}\ndescription: From {file}\n---\nDo it.\n"))
    }

    fn load(&self) -> std::sync::Arc<AgentCatalog> {
        let places = AgentPlaces::of_user(self.base.path().join("user"));
        AgentCatalog::load(&places, &[self.base.path().join("project")], &self.trust)
    }

    /// A person acknowledges a file of the project as it is now.
    fn acknowledge(&mut self, name: &str) {
        let digest = trust::digest(&fs::read(self.path(name)).unwrap());
        let path = name.replace("project/", ".subagentd/agents/");
        let workspace = trust::canonical(&self.base.path().join("project")).unwrap();
        let files = vec![TrustedFile { path, digest }];
        self.trust.take(&WorkspaceTrusted { workspace, trusted: true, files, files_only: false });
    }

    /// Everything but the built-in agents that nothing hides.
    fn check(&self, expected: Expect) {
        let catalog = self.load();
        let mut shown = String::new();
        for agent in catalog.list(true, true) {
            if agent.scope == AgentScope::Builtin && agent.status == AgentStatus::Ok {
                continue;
            }
            let hidden_by = agent.hidden_by.map_or(String::new(), |by| format!(" hidden by {by}"));
            let place = agent.path.map_or("built in".to_owned(), |path| path.display().to_string());
            shown.push_str(&format!(
                "{} {:?} {:?} {place}{hidden_by}\n",
                agent.name, agent.scope, agent.status
            ));
            for line in told(&agent.problems, self.base.path()).lines() {
                shown.push_str(&format!("  {line}\n"));
            }
        }
        shown.push_str(&told(catalog.problems(), self.base.path()));
        expected.assert_eq(&shown.replace(self.base.path().to_str().unwrap(), "…"));
    }

    fn find(&self, name: &str) -> String {
        let shown = match self.load().find(&AgentName::from(name)) {
            AgentLookup::Ready { definition, digest, scope } => {
                assert!(digest.starts_with("sha256:"));
                format!("ready {scope:?} {}", definition.description.clone().unwrap_or_default())
            }
            AgentLookup::Untrusted { digest, path, consent } => {
                assert!(digest.starts_with("sha256:"));
                format!("untrusted {consent:?} {}", path.display())
            }
            AgentLookup::Invalid(problems) => format!("invalid {}", told(&problems, self.base.path())),
            AgentLookup::NotReady(why) => format!("not ready: {why:?}"),
            AgentLookup::Unknown { nearest } => format!("unknown, nearest {nearest:?}"),
        };
        shown.replace(self.base.path().to_str().unwrap(), "…")
    }
}

const BROKEN: &str = "---\nkind: agent\nname: broken\nhidden: 7\n---\n";

#[test]
fn a_broken_file_stands_beside_good_ones_and_harms_none() {
    let folders = Folders::new();
    folders
        .agent("user/a.md", "alpha")
        .write("user/b.md", BROKEN)
        .write("user/c.md", "no fence")
        .agent("user/d.md", "delta");
    folders.check(expect![[r#"
        alpha User Ok …/user/a.md
        broken User Invalid …/user/b.md
          warning MissingField user/b.md:2:1: `description` is missing: other agents cannot tell when to call this one
          error WrongType user/b.md:4:9: `hidden`: expected true or false, found the number 7
        c User Invalid …/user/c.md
          error NoFrontMatter user/c.md:1:1: has no front matter: the first line must be `---` (begin the file with `---`, the fields one per line, and another `---`)
        delta User Ok …/user/d.md
    "#]]);
    assert_eq!(folders.find("alpha"), "ready User From user/a.md");
    assert!(folders.find("broken").starts_with("invalid "));
    assert_eq!(folders.load().list(false, false).len(), 5);
}

#[test]
fn a_higher_place_hides_a_lower_one_and_says_so() {
    let folders = Folders::new();
    folders.agent("user/mine.md", "generalist").agent("user/x.md", "x").agent("project/x.md", "x");
    folders.check(expect![[r#"
        generalist User Ok …/user/mine.md
        generalist Builtin Hidden built in hidden by …/user/mine.md
        x Project Untrusted …/project/.subagentd/agents/x.md
          warning DuplicateName project/.subagentd/agents/x.md: nobody has acknowledged this file; until then `x` means …/user/x.md
        x User Ok …/user/x.md
    "#]]);
    assert_eq!(folders.find("generalist"), "ready User From user/mine.md");
    let names: Vec<_> =
        folders.load().list(false, false).into_iter().map(|agent| agent.name.to_string()).collect();
    assert_eq!(
        names,
        ["codebase-investigator", "generalist", "help", "x", "x"],
        "an untrusted one hides nobody"
    );
    assert_eq!(folders.find("x"), "ready User From user/x.md");
}

#[test]
fn an_untrusted_agent_is_inert() {
    let folders = Folders::new();
    folders.agent("project/g.md", "generalist").agent("project/i.md", "codebase-investigator");
    folders.check(expect![[r#"
        codebase-investigator Project Untrusted …/project/.subagentd/agents/i.md
          warning DuplicateName project/.subagentd/agents/i.md: nobody has acknowledged this file; until then `codebase-investigator` means built in
        generalist Project Untrusted …/project/.subagentd/agents/g.md
          warning DuplicateName project/.subagentd/agents/g.md: nobody has acknowledged this file; until then `generalist` means built in
    "#]]);
    folders.agent("project/own.md", "own");
    assert_eq!(folders.find("own"), "untrusted Never …/project/.subagentd/agents/own.md");
    assert!(folders.find("generalist").starts_with("ready Builtin "));
    assert!(folders.find("codebase_investigator").starts_with("ready Builtin "));
}

#[test]
fn an_acknowledged_agent_takes_its_place_and_keeps_it_when_it_changes() {
    let mut folders = Folders::new();
    folders.agent("user/x.md", "x").agent("project/x.md", "x").agent("project/y.md", "y");
    folders.acknowledge("project/x.md");
    folders.check(expect![[r#"
        x Project Ok …/project/.subagentd/agents/x.md
        x User Hidden …/user/x.md hidden by …/project/.subagentd/agents/x.md
        y Project Untrusted …/project/.subagentd/agents/y.md
    "#]]);
    assert_eq!(folders.find("x"), "ready Project From project/x.md");
    assert_eq!(folders.find("y"), "untrusted Never …/project/.subagentd/agents/y.md");

    // Whoever starts `x` means the one they acknowledged: another agent in its place would be a surprise.
    folders.write("project/x.md", "---\nkind: agent\nname: x\ndescription: Other.\n---\nDo evil.\n");
    folders.check(expect![[r#"
        x Project Untrusted …/project/.subagentd/agents/x.md
        x User Hidden …/user/x.md hidden by …/project/.subagentd/agents/x.md
        y Project Untrusted …/project/.subagentd/agents/y.md
    "#]]);
    assert_eq!(folders.find("x"), "untrusted Before …/project/.subagentd/agents/x.md");
    folders.agent("project/x.md", "x");
    assert_eq!(folders.find("x"), "ready Project From project/x.md", "as it was when it was acknowledged");
    // The same bytes elsewhere are another file.
    fs::rename(folders.path("project/x.md"), folders.path("project/z.md")).unwrap();
    assert_eq!(folders.find("x"), "ready User From user/x.md");
}

#[test]
fn what_all_files_of_a_folder_hold_is_bounded() {
    let folders = Folders::new();
    for number in 0..65 {
        let text = format!("---\nkind: agent\nname: a{number:02}\ndescription: d\n---\n");
        folders.write(&format!("project/{number:02}.md"), text + &"x".repeat(1024 * 1024 - 60));
    }
    let catalog = folders.load();
    let of_project: Vec<_> = catalog.of_project().collect();
    assert_eq!((of_project.len(), of_project[0].path), (64, ".subagentd/agents/00.md"));
    let last = catalog.list(true, true).into_iter().find(|agent| agent.name.as_str() == "64").unwrap();
    assert_eq!(
        last.problems[0].message,
        "is not read: the files of this folder hold more than 64 MiB together"
    );
}

#[test]
fn of_two_with_one_name_in_one_place_the_first_by_path_counts() {
    let folders = Folders::new();
    folders.agent("user/b.md", "twin").agent("user/a/z.md", "twin");
    folders.check(expect![[r#"
        twin User Ok …/user/a/z.md
        twin User Hidden …/user/b.md hidden by …/user/a/z.md
          warning DuplicateName user/b.md: the name `twin` is taken by …/user/a/z.md, which is used instead
    "#]]);
    assert_eq!(folders.find("twin"), "ready User From user/a/z.md");
}

#[test]
fn a_broken_twin_does_not_keep_its_neighbour_from_loading() {
    let folders = Folders::new();
    folders.write("user/a.md", BROKEN).agent("user/b.md", "broken");
    assert_eq!(folders.find("broken"), "ready User From user/b.md");
}

#[test]
fn a_broken_agent_is_not_replaced_by_one_of_a_lower_place() {
    let folders = Folders::new();
    folders.write("user/generalist.md", "---\nkind: agent\nname: generalist\nrun: 5\n---\nDo it.\n");
    assert!(folders.find("generalist").starts_with("invalid"));
}

#[test]
fn a_name_that_nobody_has_is_unknown_with_the_nearest() {
    let folders = Folders::new();
    assert_eq!(folders.find("generalits"), r#"unknown, nearest Some(AgentName("generalist"))"#);
    assert_eq!(folders.find("zebra"), "unknown, nearest None");
}

#[test]
fn sub_folders_are_read_templates_and_hidden_files_are_not() {
    let folders = Folders::new();
    folders
        .agent("user/team/deep/a.MD", "a")
        .agent("user/templates/t.md", "t")
        .agent("user/.cache/c.md", "c")
        .agent("user/.#lock.md", "lock")
        .write("user/notes.txt", "x");
    folders.check(expect![[r#"
        a User Ok …/user/team/deep/a.MD
    "#]]);
}

#[test]
fn links_are_followed_once_and_loops_end() {
    let folders = Folders::new();
    folders.agent("user/real/a.md", "a").agent("elsewhere/b.md", "b");
    symlink(folders.path("user"), folders.path("user/loop")).unwrap();
    symlink(folders.path("user/real"), folders.path("user/again")).unwrap();
    symlink(folders.path("elsewhere"), folders.path("user/far")).unwrap();
    symlink(folders.path("user/real/a.md"), folders.path("user/z.md")).unwrap();
    symlink("nowhere", folders.path("user/dangling.md")).unwrap();
    symlink("nowhere", folders.path("user/dangling")).unwrap();
    folders.check(expect![[r#"
        a User Ok …/user/real/a.md
        a User Hidden …/user/z.md hidden by …/user/real/a.md
          warning DuplicateName user/z.md: the name `a` is taken by …/user/real/a.md, which is used instead
        b User Ok …/user/far/b.md
        error Unreadable user/dangling.md: cannot be read: No such file or directory
    "#]]);
}

#[test]
fn what_cannot_be_read_is_told() {
    let folders = Folders::new();
    folders
        .agent("user/a.md", "a")
        .write("user/big.md", vec![b'x'; 1024 * 1024 + 1])
        .write("project", "a file, and no folder that could hold any");
    let pipe = folders.path("user/pipe.md");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let odd: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(b"odd\xFF.md".to_vec());
    fs::write(folders.path("user").join(odd), "x").unwrap();
    folders.check(expect![[r#"
        a User Ok …/user/a.md
        big User Invalid …/user/big.md
          error TooLarge user/big.md: is larger than 1024 KiB
        pipe User Invalid …/user/pipe.md
          error Unreadable user/pipe.md: is not a regular file
        error Unreadable user/odd�.md: has a name that is not UTF-8
    "#]]);
}

#[test]
fn depth_and_number_of_files_are_bounded() {
    let folders = Folders::new();
    folders.agent(&format!("user/{}deep.md", "d/".repeat(16)), "deep");
    folders.agent(&format!("user/{}deeper.md", "d/".repeat(17)), "deeper");
    fs::create_dir_all(folders.path("project/")).unwrap();
    for number in 0..10_000 {
        fs::write(folders.path(&format!("project/{number:05}.txt")), "").unwrap();
    }
    folders.agent("project/sub/last.md", "last");
    let catalog = folders.load();
    let names: Vec<_> = catalog.list(true, true).iter().map(|agent| agent.name.to_string()).collect();
    assert!(names.contains(&"deep".to_owned()) && !names.contains(&"deeper".to_owned()));
    assert_eq!(catalog.problems().len(), 2, "{:?}", catalog.problems());
}

#[test]
fn a_listing_says_what_a_client_needs() {
    let folders = Folders::new();
    folders.write(
        "user/a.md",
        "---\nkind: agent\nname: a\ndescription: d\nmodel: auto\ninputs: {o: {type: string, required: false}, r: {type: string}}\n---\nx\n",
    );
    let listed = folders.load().list(false, false).remove(0);
    assert_eq!(
        (listed.title.as_str(), listed.model.as_str(), listed.description.as_deref()),
        ("A", "auto", Some("d"))
    );
    assert_eq!(listed.inputs, ["r", "o"]);
    assert_eq!(listed.path, Some(folders.path("user/a.md")));
}
