//! Which skills are found, which of them count, and what keeps one from it?

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use expect_test::expect;

use super::{
    catalog::{AcknowledgedNames, PlaceContents},
    search::{PlaceOwner, SkillPlace},
    *,
};
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
            symlink("../SKILL.md", path).unwrap();
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

/// Whoever wrote it otherwise believes that no model uses the skill.
#[test]
fn field_that_is_nearly_one_that_counts_is_told_before_others() {
    let ground = Ground::new();
    let others: String = (0..20).map(|n| format!("other{n}: x\n")).collect();
    for (folder, field) in
        [("a", "disable_model_invocation"), ("b", "disableModelInvocation"), ("c", "Licence")]
    {
        let text = format!("---\nname: {folder}\ndescription: Works.\n{others}{field}: true\n---\nDo.\n");
        ground.write(&format!(".claude/skills/{folder}/SKILL.md"), &text);
    }
    ground.skill(".claude/skills/plain");
    let catalog = ground.catalog();
    let told = catalog.all().flat_map(|skill| skill.file().misspelled());
    let told: Vec<String> = told.map(|it| format!("{} {}", it.message, it.fix.as_deref().unwrap())).collect();
    assert_eq!(
        told,
        [
            "unknown field `disable_model_invocation` did you mean `disable-model-invocation`?",
            "unknown field `disableModelInvocation` did you mean `disable-model-invocation`?",
            "unknown field `Licence` did you mean `license`?",
        ]
    );
}

/// The published rules: a map of texts.
#[test]
fn metadata_holds_texts_alone() {
    let faults = |metadata: &str| {
        let folder = Path::new("/s/pdf/SKILL.md");
        let text = format!("---\nname: pdf\ndescription: Works.\nmetadata: {metadata}\n---\nDo.\n");
        let read = SkillText::read(folder, text.as_bytes());
        read.file.problems.into_iter().map(|it| it.message).collect::<Vec<_>>()
    };
    assert_eq!(faults("{author: me, version: 1.0, stable: true}"), Vec::<String>::new());
    assert_eq!(faults("{globs: [\"**/*.go\"]}"), ["`metadata`: `globs` must be a text"]);
    assert_eq!(faults("{a: {b: c}}"), ["`metadata`: `a` must be a text"]);
    assert_eq!(faults("mine"), ["`metadata` must be a map of texts"]);
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
        one Unread w/.subagentd/skills/one
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
    for n in 0..10_000 {
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

/// Whoever writes in a workspace may show one text to who looks for skills, and another one to who compares them.
#[test]
fn what_models_are_told_is_of_the_bytes_that_were_compared() {
    let mut ground = Ground::new();
    let place = ground.home().join("w/.claude/skills");
    ground.skill("w/.claude/skills/pdf");
    ground.acknowledge();
    let evil = "---\nname: deploy\ndescription: EVIL.\ndisable-model-invocation: true\n---\nx\n";
    ground.write("w/.claude/skills/pdf/SKILL.md", evil);
    let root = ground.root();
    let looked = SkillPlace::look(&place, PlaceOwner::Project(Path::new(&root)), None);
    assert_eq!(looked.skills[0].file.description, "EVIL.");
    ground.skill("w/.claude/skills/pdf");
    let contents =
        PlaceContents { skills: looked.skills.clone(), problems: Vec::new(), root: Some(root.clone()) };
    let mut names = AcknowledgedNames::default();
    let catalog =
        SkillCatalog::new(vec![contents], Vec::new(), &ground.trust, &Default::default(), &mut names);
    assert_eq!(catalog.lines(), "\n- `pdf`: Does things.");
    assert!(!looked.is_as_it_was());
}

/// Another folder in the place of one that holds it, and back: no file has changed.
#[test]
fn what_was_read_while_folders_changed_places_is_not_kept() {
    let ground = Ground::new();
    ground.skill("w/.claude/skills/pdf").skill("w/other/skills/evil");
    let (place, root) = (ground.home().join("w/.claude/skills"), ground.root());
    let look = || SkillPlace::look(&place, PlaceOwner::Project(Path::new(&root)), None);
    // Until nothing is so new that a change might not show.
    let settled = std::iter::repeat_with(look).find(SkillPlace::is_as_it_was).unwrap();
    let [claude, other] = [".claude", "other"].map(|name| ground.home().join("w").join(name));
    let exchange = || {
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(rustix::fs::CWD, &claude, rustix::fs::CWD, &other, flags).unwrap();
    };
    exchange();
    assert_eq!(look().skills[0].file.name, "evil");
    exchange();
    assert!(!settled.is_as_it_was());
    assert_eq!(look().skills[0].file.name, "pdf");
}

/// Its name is its own affair only once somebody has acknowledged it.
#[test]
fn a_change_of_name_hides_no_other_skill() {
    for (folder, name) in [("pdf", "pdf"), ("forms", "pdf")] {
        let mut ground = Ground::new();
        let path = format!("w/.claude/skills/{folder}/SKILL.md");
        ground.write(&path, &PLAIN.replace("NAME", name));
        ground.skill(".claude/skills/pdf").skill(".claude/skills/deploy");
        ground.acknowledge();
        assert!(ground.listed().starts_with(&format!("pdf Ready w/.claude/skills/{folder}\n")));
        ground.write(&path, &PLAIN.replace("NAME", "deploy"));
        let listed = ground.listed();
        assert_eq!(
            listed,
            format!(
                "pdf Changed w/.claude/skills/{folder}\ndeploy Ready .claude/skills/deploy\n\
                 pdf Hidden(w/.claude/skills/{folder}) .claude/skills/pdf\n"
            )
        );
        // A daemon that has begun since knows it by its folder.
        ground.reader =
            SkillReader::new(SkillPlaces::new(&ground.home().join("config"), Some(&ground.home())));
        let first = format!("{folder} Changed w/.claude/skills/{folder}\n");
        assert!(ground.listed().starts_with(&first), "{}", ground.listed());
    }
}

#[test]
fn a_strangers_folder_takes_no_more_than_has_a_bound() {
    let ground = Ground::new();
    let long = "word ".repeat(200_000);
    for n in 0..20 {
        let text =
            format!("---\nname: s{n:02}\ndescription: {long}\nunknown-{}: 1\n---\n{long}", "x".repeat(1_000));
        ground.write(&format!("w/.claude/skills/s{n:02}/SKILL.md"), &text[..1024 * 1024]);
    }
    let (place, root) = (ground.home().join("w/.claude/skills"), ground.root());
    let looked = SkillPlace::look(&place, PlaceOwner::Project(Path::new(&root)), None);
    let told: Vec<&str> = looked.problems.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(
        (looked.skills.len(), told),
        (
            16,
            vec![
                "the skills' files of the place have more than 16 MiB; this one is not read, nor those behind it"
            ]
        )
    );
    assert!(looked.weight() < 16 * 8 * 1024, "{}", looked.weight());
    let description = &looked.skills[0].file.description;
    assert!(description.chars().count() == 1_025 && description.ends_with('…'));
}

/// Another name of a file, and what a link leads to outside of the folder, change without another digest.
#[test]
fn what_a_digest_would_not_hold_cannot_be_acknowledged() {
    let mut ground = Ground::new();
    for name in ["linked", "away", "gone", "within"] {
        ground.skill(&format!("w/.claude/skills/{name}"));
        ground.write(&format!("w/.claude/skills/{name}/run.sh"), "echo 1");
    }
    ground.skill("w/.claude/skills/folders").write("w/lib.sh", "echo 1");
    let at = |path: &str| ground.home().join("w/.claude/skills").join(path);
    fs::hard_link(ground.home().join("w/lib.sh"), at("linked/lib.sh")).unwrap();
    symlink("../../../lib.sh", at("away/lib.sh")).unwrap();
    symlink("nothing", at("gone/lib.sh")).unwrap();
    symlink("run.sh", at("within/lib.sh")).unwrap();
    for n in 0..2_000 {
        fs::create_dir(at(&format!("folders/{n}"))).unwrap();
    }
    let (skills, _) = ground.reader.of_project(&ground.root());
    let told: Vec<String> =
        skills.into_iter().filter_map(|it| Some(format!("{} {}", it.path, it.digest.err()?))).collect();
    expect![[r#"
        .claude/skills/away has a link that leads out of its folder, or nowhere: `lib.sh`
        .claude/skills/folders has more than 2000 files and folders
        .claude/skills/gone has a link that leads out of its folder, or nowhere: `lib.sh`
        .claude/skills/linked has a file with another name elsewhere (a hard link): `lib.sh`"#]]
    .assert_eq(&told.join("\n"));
    ground.acknowledge();
    assert_eq!(ground.catalog().lines(), "\n- `within`: Does things.");
    // A second name that comes later counts as a change.
    let path = ground.home().join("w/.claude/skills/within/run.sh");
    fs::hard_link(&path, ground.home().join("w/mine.sh")).unwrap();
    let catalog = ground.catalog();
    let skill = catalog.get("within").unwrap();
    assert_eq!(skill.state, SkillState::Changed);
    assert!(skill.fault.as_ref().unwrap().contains("hard link"), "{:?}", skill.fault);
    // The user's own may be linked as they like.
    ground.skill(".claude/skills/mine");
    symlink("/etc/hosts", ground.home().join(".claude/skills/mine/hosts")).unwrap();
    assert_eq!(ground.catalog().get("mine").unwrap().state, SkillState::Ready);
}

#[test]
fn an_active_skill_counts_as_long_as_it_is_what_it_was() {
    let mut ground = Ground::new();
    ground
        .skill("w/.claude/skills/pdf")
        .write("w/.claude/skills/pdf/run.sh", "echo 1")
        .skill(".claude/skills/mine");
    ground.acknowledge();
    let catalog = ground.catalog();
    let activate = |name: &str| ground.reader.activate(catalog.get(name).unwrap(), &ground.trust).unwrap();
    let (pdf, mine) = (activate("pdf"), activate("mine"));
    let counts = |trust: &TrustRecords, skill: &ActivatedSkill, root: &str| {
        let it = (skill.name.as_str(), skill.folder.as_path(), skill.digest.as_deref());
        ground.reader.still_counts(it, &[root.to_owned()], trust).err().unwrap_or_default()
    };
    let root = ground.root();
    assert_eq!(
        (counts(&ground.trust, &pdf, &root), counts(&ground.trust, &mine, &root)),
        (String::new(), String::new())
    );
    assert_eq!(
        counts(&ground.trust, &pdf, "/elsewhere"),
        "lies in no folder of this workspace any more, and its extension, if it has one, is off"
    );
    assert_eq!(counts(&TrustRecords::default(), &pdf, &root), "is no longer acknowledged");
    ground.write("w/.claude/skills/pdf/run.sh", "echo 2");
    assert_eq!(counts(&ground.trust, &pdf, &root), "has changed since it was activated");
    ground.write("w/.claude/skills/pdf/run.sh", "echo 1");
    assert_eq!(counts(&ground.trust, &pdf, &root), "");
    ground.reader.disable(["pdf".to_owned(), "mine".to_owned()].into());
    for skill in [&pdf, &mine] {
        assert_eq!(counts(&ground.trust, skill, &root), "is disabled in the settings by now");
    }
}

#[test]
fn what_a_file_says_shows_as_it_is() {
    let ground = Ground::new();
    let written = |name: &str, more: &str| format!("---\nname: \"{name}\"\ndescription: d\n{more}---\nx\n");
    for (folder, text) in [
        ("hidden", written("dep\u{200b}loy", "")),
        (
            "tags",
            "---\nname: tags\ndescription: \"Does\u{e0041}\u{202e} می\u{200c}خواهم\"\n---\nx".to_owned(),
        ),
        ("mixed", written("d\u{435}ploy", "")),
        ("yes", written("yes", "disable-model-invocation: yes\n")),
        ("no", written("no", "disable-model-invocation: off\n")),
        ("odd", written("odd", "disable-model-invocation: [never]\n")),
        ("empty", "---\nname: empty\ndescription: d\n---\n \n".to_owned()),
        ("facts", written("facts", "license: \"L\\nfolder /fake\"\n")),
        ("long", format!("{}{}", written("long", ""), "line\n".repeat(20_000))),
    ] {
        ground.write(&format!(".claude/skills/{folder}/SKILL.md"), &text);
    }
    let told = |skill: &Skill| {
        let SkillFile { name, description, is_for_people, problems } = skill.file();
        let folder = skill.folder().file_name().unwrap().to_str().unwrap();
        let head = format!("{folder}: {name:?} {description:?} {is_for_people}\n");
        let problems = problems.iter().map(|it| format!("  {}\n", it.message));
        std::iter::once(head).chain(problems).collect::<String>()
    };
    let catalog = ground.catalog();
    expect![[r#"
        empty: "empty" "d" false
          says nothing below its front matter
        facts: "facts" "d" false
        hidden: "dep-loy" "d" false
          `name` may have letters, digits and dashes only
          `name` is not that of its folder, `hidden`
        long: "long" "d" false
          has a text of 97 KiB: a model that asks for it gets the first 60 KiB, and it cannot be given by name
        mixed: "dеploy" "d" false
          `name` is not that of its folder, `mixed`
          `name` has letters of several scripts: it may look like the name of another skill
        no: "no" "d" false
          `disable-model-invocation` must be true or false; it counts as false
        odd: "odd" "d" true
          `disable-model-invocation` must be true or false; it counts as true
        tags: "tags" "Does می\u{200c}خواهم" false
          `description` has characters that nobody sees; they are left out
        yes: "yes" "d" true
          `disable-model-invocation` must be true or false; it counts as true
    "#]]
    .assert_eq(&catalog.all().map(told).collect::<String>());
    assert_eq!(catalog.get("facts").unwrap().text().license.unwrap(), "L folder /fake");
    let long = ground.reader.activate(catalog.get("long").unwrap(), &ground.trust).unwrap();
    let text = long.told();
    assert!(!long.is_short() && text.len() < 64 * 1024, "{}", text.len());
    assert!(
        text.ends_with("the rest stands in `SKILL.md` in its folder …]"),
        "{}",
        &text[text.len() - 200..]
    );
}

#[test]
fn misplaced_files_are_told() {
    let ground = Ground::new();
    let text = PLAIN.replace("NAME", "x");
    for path in ["SKILL.md", "cap/Skill.md", "fine/SKILL.md", "README.md"] {
        ground.write(&format!(".claude/skills/{path}"), &text);
    }
    expect![[r#"
        x Ready .claude/skills/fine
        .claude/skills/SKILL.md is not read here: a skill is a folder of its own with this file in it
        .claude/skills/cap/Skill.md is not read: the file of a skill is spelled `SKILL.md`
    "#]]
    .assert_eq(&sorted(&ground.listed()));
    // Without front matter, once.
    ground.write("bare/SKILL.md", "# Hello\n");
    let told: Vec<String> =
        validate(&ground.home().join("bare")).problems.into_iter().map(|it| it.message).collect();
    assert_eq!(told, ["must begin with `---`: nothing may stand before the front matter"]);
}

fn sorted(lines: &str) -> String {
    let (mut problems, skills): (Vec<&str>, Vec<&str>) =
        lines.split_inclusive('\n').partition(|line| line.starts_with('.'));
    problems.sort_unstable();
    skills.into_iter().chain(problems).collect()
}

/// A home that is reached by a link, and is the workspace: its skills are the user's, and theirs alone.
#[test]
fn a_home_under_another_name_brings_nothing_along() {
    let ground = Ground::new();
    ground.skill("w/.claude/skills/mine");
    let link = ground.home().join("link");
    symlink("w", &link).unwrap();
    let reader = SkillReader::new(SkillPlaces::new(&link.join(".config/subagentd"), Some(&link)));
    let catalog = reader.catalog(&[ground.root()], &ground.trust);
    let found: Vec<&SkillOrigin> = catalog.all().map(|skill| &skill.origin).collect();
    assert_eq!(found, [&SkillOrigin::User]);
    assert!(reader.of_project(&ground.root()).0.is_empty());
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
