//! Which skills are found, which of them count, and what keeps one from it?

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use expect_test::expect;

use super::*;
use protocol::{ProblemSeverity, TrustedFile, WorkspaceTrusted};
use trust::TrustRecords;

/// A home and a workspace in it.
struct Ground {
    base: tempfile::TempDir,
    reader: SkillReader,
    trust: TrustRecords,
}

const PLAIN: &str = "---\nname: NAME\ndescription: Does things.\n---\nDo them.\n";

impl Ground {
    fn new() -> Ground {
        let base = tempfile::tempdir().unwrap();
        fs::create_dir(base.path().join("w")).unwrap();
        let home = base.path().canonicalize().unwrap();
        let reader = SkillReader::new(SkillPlaces::new(&home.join("config"), Some(&home)));
        Ground { base, reader, trust: TrustRecords::default() }
    }

    fn home(&self) -> PathBuf {
        self.base.path().canonicalize().unwrap()
    }

    fn root(&self) -> String {
        self.home().join("w").to_str().unwrap().to_owned()
    }

    fn write(&self, path: &str, text: &str) -> &Ground {
        let path = self.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// A skill without anything odd.
    fn skill(&self, folder: &str) -> &Ground {
        let name = folder.rsplit('/').next().unwrap();
        self.write(&format!("{folder}/SKILL.md"), &PLAIN.replace("NAME", name))
    }

    fn acknowledge(&mut self) {
        let (skills, _) = self.reader.of_project(&self.root());
        let file = |skill: ProjectSkill| Some(TrustedFile { path: skill.path, digest: skill.digest.ok()? });
        let files = skills.into_iter().filter_map(file).collect();
        let workspace = self.root();
        self.trust.take(&WorkspaceTrusted { workspace, trusted: true, files, files_only: false });
    }

    fn catalog(&self) -> SkillCatalog {
        self.reader.catalog(&[self.root()], &self.trust)
    }

    /// A line for each skill.
    fn listed(&self) -> String {
        let home = self.home();
        let below = |path: &Path| path.strip_prefix(&home).unwrap().display().to_string();
        let line = |skill: &Skill| {
            let state = match &skill.state {
                SkillState::Hidden(by) => format!("Hidden({})", below(by)),
                state => format!("{state:?}"),
            };
            format!("{} {state} {}\n", skill.name(), below(skill.folder()))
        };
        let problem = |it: &protocol::FileProblem| format!("{} {}\n", below(&it.path), it.message);
        let catalog = self.catalog();
        catalog.all().map(line).chain(catalog.problems().iter().map(problem)).collect()
    }
}

#[test]
fn the_first_place_wins_and_what_nobody_acknowledged_hides_nothing() {
    let mut ground = Ground::new();
    for place in ["w/.subagentd", "w/.agents", "w/.claude", "config", ".agents", ".claude"] {
        let place = if place == "config" { "config/skills".to_owned() } else { format!("{place}/skills") };
        ground.skill(&format!("{place}/pdf"));
    }
    ground
        .skill("w/.claude/skills/deep/er/lint")
        .skill(".claude/skills/.git/no")
        .skill(".claude/skills/node_modules/no");
    expect![[r#"
        pdf Unread w/.subagentd/skills/pdf
        pdf Unread w/.agents/skills/pdf
        lint Unread w/.claude/skills/deep/er/lint
        pdf Unread w/.claude/skills/pdf
        pdf Ready config/skills/pdf
        pdf Hidden(config/skills/pdf) .agents/skills/pdf
        pdf Hidden(config/skills/pdf) .claude/skills/pdf
    "#]]
    .assert_eq(&ground.listed());
    ground.acknowledge();
    ground.reader.disable(["lint".to_owned()].into());
    expect![[r#"
        pdf Ready w/.subagentd/skills/pdf
        pdf Hidden(w/.subagentd/skills/pdf) w/.agents/skills/pdf
        lint Disabled w/.claude/skills/deep/er/lint
        pdf Hidden(w/.subagentd/skills/pdf) w/.claude/skills/pdf
        pdf Hidden(w/.subagentd/skills/pdf) config/skills/pdf
        pdf Hidden(w/.subagentd/skills/pdf) .agents/skills/pdf
        pdf Hidden(w/.subagentd/skills/pdf) .claude/skills/pdf
    "#]]
    .assert_eq(&ground.listed());
    assert_eq!(ground.catalog().lines(), "\n- `pdf`: Does things.");
}

/// Whatever becomes of a file of it, and however fast: another skill than was acknowledged.
#[test]
fn a_changed_skill_is_out_of_the_catalogue_and_refused() {
    let script = "w/.claude/skills/pdf/scripts/run.sh";
    type Change = fn(&Ground);
    let changes: [(&str, Change); 6] = [
        ("bytes", |ground| {
            ground.write("w/.claude/skills/pdf/scripts/run.sh", "echo 2");
        }),
        ("mode", |ground| {
            let path = ground.home().join("w/.claude/skills/pdf/scripts/run.sh");
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }),
        ("a name", |ground| {
            let folder = ground.home().join("w/.claude/skills/pdf/scripts");
            fs::rename(folder.join("run.sh"), folder.join("sun.sh")).unwrap();
        }),
        ("a new file", |ground| {
            ground.write("w/.claude/skills/pdf/more", "");
        }),
        ("a link in a file's place", |ground| {
            let path = ground.home().join("w/.claude/skills/pdf/scripts/run.sh");
            fs::remove_file(&path).unwrap();
            symlink("/bin/true", path).unwrap();
        }),
        ("its own text", |ground| {
            ground.write("w/.claude/skills/pdf/SKILL.md", &PLAIN.replace("NAME", "pdf").replace("Do", "De"));
        }),
    ];
    for (what, change) in changes {
        let mut ground = Ground::new();
        ground.skill("w/.claude/skills/pdf").write(script, "echo 1");
        ground.acknowledge();
        let before = ground.catalog();
        let skill = before.get("pdf").unwrap();
        let active = ground.reader.activate(skill, &ground.trust).unwrap();
        assert_eq!(
            (active.body.as_str(), active.files),
            ("Do them.", vec!["scripts/run.sh".to_owned()]),
            "{what}"
        );
        change(&ground);
        let refused = ground.reader.activate(skill, &ground.trust).unwrap_err();
        assert!(matches!(refused, SkillError::NotAcknowledged(_)), "{what}: {refused}");
        assert!(ground.listed().starts_with("pdf Changed"), "{what}: {}", ground.listed());
        assert_eq!(ground.catalog().lines(), "", "{what}");
        // Put back it counts again.
        ground.acknowledge();
        assert!(ground.listed().starts_with("pdf Ready"), "{what}");
    }
}

#[test]
fn odd_files_load_and_are_told() {
    let ground = Ground::new();
    for (folder, text) in [
        ("no-front-matter", "# Hello\n"),
        ("never-closed", "---\nname: x\n"),
        ("no-description", "---\nname: no-description\n---\nx"),
        ("blank-description", "---\nname: blank-description\ndescription: '  '\n---\nx"),
        ("other-folder", "---\nname: another\ndescription: a\n---\nx"),
        ("no-name", "---\ndescription: a\n---\nx"),
        ("no-yaml", "---\nname: no-yaml\ndescription: Use when: always\n---\nx"),
        ("odd-name", "---\nname: \"a `b`\\n</c>\"\ndescription: \"two\\nlines\"\n---\nx"),
        (
            "claude",
            "---\nname: claude\ndescription: a\nallowed-tools: Bash, Read\nhooks: {}\nmodel: opus\n---\nNow !`date`",
        ),
        ("number", "---\nname: 7\ndescription: 8\n---\nx"),
    ] {
        ground.write(&format!(".claude/skills/{folder}/SKILL.md"), text);
    }
    rustix::fs::mknodat(
        rustix::fs::CWD,
        {
            let folder = ground.home().join(".claude/skills/fifo");
            fs::create_dir(&folder).unwrap();
            folder.join("SKILL.md")
        },
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    ground.write(".claude/skills/large/SKILL.md", &"x".repeat(2 << 20));
    let told = |skill: &Skill| {
        let problems = skill.file().problems.iter().map(|it| {
            let severity = if it.severity == ProblemSeverity::Error { "error" } else { "warning" };
            format!("  {severity}: {}\n", it.message)
        });
        let name = skill.folder().file_name().unwrap().to_string_lossy().into_owned();
        let head = format!("{name}: {:?} `{}` {:?}\n", skill.state, skill.name(), skill.file().description);
        std::iter::once(head).chain(problems).collect::<String>()
    };
    expect![[r#"
        blank-description: Rejected `blank-description` ""
          error: has no description: nobody could tell when to use it
        claude: Ready `claude` "a"
          warning: `allowed-tools` is shown, and neither gives nor takes a tool: rules decide
          warning: `hooks` do nothing: a skill brings no hooks along
          warning: `model` has no effect here
          warning: commands written as !`command` are not run: they stay as they are written
        fifo: Rejected `fifo` ""
          error: is not a regular file
        large: Rejected `large` ""
          error: is larger than 1024 KiB
        never-closed: Rejected `never-closed` ""
          error: the front matter is never closed by a line `---`
        no-description: Rejected `no-description` ""
          error: has no description: nobody could tell when to use it
        no-front-matter: Rejected `no-front-matter` ""
          error: has no front matter: the first line must be `---`
        no-name: Ready `no-name` "a"
          warning: `name` is missing
        no-yaml: Ready `no-yaml` "Use when: always"
          warning: `description` is not YAML as it is written; it is read as a text
        number: Ready `7` "8"
          warning: `name` is not that of its folder, `number`
        odd-name: Ready `a--b----c-` "two lines"
          warning: `name` may have letters, digits and dashes only
          warning: `name` is not that of its folder, `odd-name`
        other-folder: Ready `another` "a"
          warning: `name` is not that of its folder, `other-folder`
    "#]]
    .assert_eq(&ground.catalog().all().map(told).collect::<String>());
}

#[test]
fn a_workspace_is_read_without_going_after_links() {
    let mut ground = Ground::new();
    ground.skill("elsewhere/far").skill("w/real/near").skill(".claude/skills/mine");
    fs::create_dir_all(ground.home().join("w/.agents")).unwrap();
    fs::create_dir_all(ground.home().join("w/.claude/skills")).unwrap();
    symlink("../real", ground.home().join("w/.agents/skills")).unwrap();
    symlink("../../../elsewhere/far", ground.home().join("w/.claude/skills/far")).unwrap();
    fs::create_dir_all(ground.home().join("w/.subagentd/skills/one")).unwrap();
    symlink("../../../../elsewhere/far/SKILL.md", ground.home().join("w/.subagentd/skills/one/SKILL.md"))
        .unwrap();
    // The user's own lead where the user wants, also in circles.
    symlink("../../elsewhere/far", ground.home().join(".claude/skills/far")).unwrap();
    symlink("..", ground.home().join(".claude/skills/round")).unwrap();
    ground.acknowledge();
    expect![[r#"
        one Rejected w/.subagentd/skills/one
        far Ready .claude/skills/far
        mine Ready .claude/skills/mine
        w/.agents/skills is a link, which is not followed in a workspace
        w/.claude/skills/far is a link, which is not followed in a workspace
    "#]]
    .assert_eq(&ground.listed());
}

#[test]
fn places_have_bounds() {
    let ground = Ground::new();
    ground.skill(".claude/skills/1/2/3/deep").skill(".claude/skills/1/2/3/4/deeper");
    for n in 0..2_010 {
        ground.skill(&format!(".agents/skills/s{n:05}"));
    }
    let catalog = ground.catalog();
    let count = |prefix: &str| catalog.all().filter(|skill| skill.name().starts_with(prefix)).count();
    assert_eq!((count("s0"), count("deep"), count("deeper")), (1_999, 1, 0));
    let told: Vec<&str> = catalog.problems().iter().map(|it| it.message.as_str()).collect();
    expect![[r#"
        the place has more than 2000 folders; the rest is not read
        has folders more than 4 deep, which are not read"#]]
    .assert_eq(&told.join("\n"));
    // Models are told of no more than has room; the others are known.
    assert!(catalog.lines().len() < 16 * 1024 - 512, "{}", catalog.lines().len());
    assert_eq!(catalog.listed().count() + catalog.left_out().count(), 2_000);
    assert!(catalog.left_out().count() != 0);
}

#[test]
fn what_cannot_be_acknowledged_is_told() {
    let mut ground = Ground::new();
    ground.skill("w/.claude/skills/many").skill("w/.claude/skills/heavy");
    for n in 0..MOST_SKILL_FILES {
        ground.write(&format!("w/.claude/skills/many/f{n}"), "");
    }
    let heavy = fs::File::create(ground.home().join("w/.claude/skills/heavy/f")).unwrap();
    heavy.set_len(LARGEST_SKILL).unwrap();
    let (skills, _) = ground.reader.of_project(&ground.root());
    let told: Vec<String> = skills.into_iter().map(|it| format!("{} {:?}", it.path, it.digest)).collect();
    expect![[r#"
        .claude/skills/heavy Err("has more than 32 MiB")
        .claude/skills/many Err("has more than 1000 files")"#]]
    .assert_eq(&told.join("\n"));
    ground.acknowledge();
    assert_eq!(ground.catalog().listed().count(), 0);
}

/// The cases of `skills-ref` 0.1.1, and what it says of them.
#[test]
fn the_published_rules_are_held_to() {
    let ground = Ground::new();
    let long = "a".repeat(70);
    let described = format!("---\nname: my-skill\ndescription: {}\n---\n", "x".repeat(1_100));
    let compatible =
        format!("---\nname: my-skill\ndescription: a\ncompatibility: {}\n---\n", "x".repeat(550));
    let named = |name: &str| format!("---\nname: {name}\ndescription: A test skill\n---\nBody\n");
    let cases: [(&str, String, bool); 22] = [
        ("my-skill", named("my-skill"), true),
        ("MySkill", named("MySkill"), false),
        (&long, named(&long), false),
        ("-my-skill", named("-my-skill"), false),
        ("my--skill", named("my--skill"), false),
        ("my_skill", named("my_skill"), false),
        ("wrong-name", named("correct-name"), false),
        ("my-skill", "---\nname: my-skill\ndescription: a\nunknown_field: x\n---\n".to_owned(), false),
        (
            "my-skill",
            "---\nname: my-skill\ndescription: a\nlicense: MIT\nmetadata:\n  author: Test\n---\n".to_owned(),
            true,
        ),
        (
            "my-skill",
            "---\nname: my-skill\ndescription: a\nallowed-tools: Bash(jq:*) Bash(git:*)\n---\n".to_owned(),
            true,
        ),
        ("技能", named("技能"), true),
        ("мой-навык", named("мой-навык"), true),
        ("НАВЫК", named("НАВЫК"), false),
        ("my-skill", described, false),
        (
            "my-skill",
            "---\nname: my-skill\ndescription: a\ncompatibility: Requires Python 3.11+\n---\n".to_owned(),
            true,
        ),
        ("my-skill", compatible, false),
        ("caf\u{e9}", named("cafe\u{301}"), true),
        ("my-skill", "# no front matter\n".to_owned(), false),
        ("my-skill", "---\nname: my-skill\ndescription: a\n".to_owned(), false),
        ("my-skill", "---\nname: my-skill\n---\n".to_owned(), false),
        ("my-skill", "---\ndescription: a\n---\n".to_owned(), false),
        ("my-skill", "---\nname: my-skill\ndescription: Use when: always\n---\n".to_owned(), false),
    ];
    for (n, (folder, text, is_valid)) in cases.into_iter().enumerate() {
        ground.write(&format!("{n}/{folder}/SKILL.md"), &text);
        let verdict = validate(&ground.home().join(format!("{n}/{folder}")));
        assert_eq!(verdict.is_valid, is_valid, "{folder} {text}: {verdict:?}");
        let has_error = verdict.problems.iter().any(|it| it.severity == ProblemSeverity::Error);
        assert_eq!(has_error, !is_valid, "{folder} {text}: {verdict:?}");
    }
    ground.write("empty/file.txt", "");
    for (path, message) in
        [("gone", "is not there"), ("empty/file.txt", "is not a folder"), ("empty", "has no file `SKILL.md`")]
    {
        let verdict = validate(&ground.home().join(path));
        assert_eq!((verdict.is_valid, verdict.problems[0].message.as_str()), (false, message));
    }
}
