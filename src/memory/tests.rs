//! Promises of memory files, tried on real ones.

use std::{fs, path::Path};

use expect_test::{Expect, expect};

use super::{sites::import_sites, *};
use sys::guarded::{GuardKind, GuardedPlaces, GuardedPlacesView};

/// A home with files in it.
struct Ground {
    home: tempfile::TempDir,
    hidden: GuardedPlacesView,
}

impl Ground {
    fn new(files: &[(&str, &str)]) -> Ground {
        let ground = Ground { home: tempfile::tempdir().unwrap(), hidden: GuardedPlacesView::default() };
        for (path, text) in files {
            ground.write(path, text);
        }
        ground
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// The files of two folders of the user's, the far one first.
    fn collect(&self, rules: &MemoryRules) -> CollectedMemory {
        let folders: Vec<_> = ["far", "near"].map(|name| self.home.path().join(name)).into();
        let home = Some(self.home.path().to_owned());
        let reader = UserFileReader { home, folders: folders.clone(), hidden: self.hidden.clone() };
        collect(rules, &UserMemory { reader: &reader, folders }, &[])
    }

    fn check(&self, rules: &MemoryRules, expected: Expect) {
        let memory = self.collect(rules);
        let mut told = String::new();
        for file in &memory.files {
            let path = file.path.strip_prefix(self.home.path()).unwrap().display();
            told.push_str(&format!("{path} {:?}: {:?}\n", file.state, file.text));
        }
        for warning in &memory.warnings {
            told.push_str(&format!("warning {warning}\n"));
        }
        expected.assert_eq(&told.replace(&format!("{}/", self.home.path().display()), "~/"));
    }
}

#[test]
fn the_first_of_a_folder_counts_and_then_its_local_one() {
    let ground = Ground::new(&[
        ("far/GEMINI.md", "g"),
        ("far/CLAUDE.md", "c"),
        ("far/CLAUDE.local.md", "not its local one"),
        ("near/AGENTS.md", "a"),
        ("near/AGENTS.local.md", "l"),
        ("near/CLAUDE.md", "a"),
    ]);
    ground.check(
        &MemoryRules::default(),
        expect![[r#"
            far/GEMINI.md Used: "g"
            far/CLAUDE.md Shadowed { by: "~/far/GEMINI.md" }: ""
            far/CLAUDE.local.md Shadowed { by: "~/far/GEMINI.md" }: ""
            near/AGENTS.md Used: "a"
            near/AGENTS.local.md Used: "l"
            near/CLAUDE.md Shadowed { by: "~/near/AGENTS.md" }: ""
        "#]],
    );
    // All of them, what is the same once.
    ground.check(
        &MemoryRules { all_of_folder: true, ..MemoryRules::default() },
        expect![[r#"
            far/GEMINI.md Used: "g"
            far/CLAUDE.md Used: "c"
            far/CLAUDE.local.md Used: "not its local one"
            near/AGENTS.md Used: "a"
            near/AGENTS.local.md Used: "l"
            near/CLAUDE.md Shadowed { by: "~/near/AGENTS.md" }: ""
        "#]],
    );
}

#[test]
fn imports_are_bounded_and_stay_in_the_home() {
    let ground = Ground::new(&[
        (
            "near/AGENTS.md",
            "@a.md, and @~/other/b.md\n@AGENTS.md\n@../../etc/hosts\n@nobody said @missing.md\n",
        ),
        ("near/a.md", "A"),
        ("other/b.md", "B @c.md"),
        ("other/c.md", "C"),
    ]);
    ground.check(
        &MemoryRules::default(),
        expect![[r#"
            near/AGENTS.md Used: "<!-- from a.md -->\nA\n<!-- end of a.md -->, and <!-- from ~/other/b.md -->\nB <!-- from c.md -->\nC\n<!-- end of c.md -->\n<!-- end of ~/other/b.md -->\n<!-- AGENTS.md is not imported: it imports itself -->\n@../../etc/hosts\n@nobody said @missing.md\n"
            warning ~/near/AGENTS.md: `@missing.md` names no file, so nothing is imported
        "#]],
    );
    std::os::unix::fs::symlink("/etc/passwd", ground.home.path().join("near/out.md")).unwrap();
    ground.write("near/AGENTS.md", "@./out.md");
    ground.check(
        &MemoryRules::default(),
        expect![[r#"
            near/AGENTS.md Used: "<!-- ./out.md is not imported: it leads out of where imports may come from -->"
        "#]],
    );
    // One after the other, six deep.
    for n in 0..7 {
        ground.write(&format!("near/{n}.md"), format!("{n} @{}.md", n + 1));
    }
    ground.write("near/AGENTS.md", "@0.md");
    let text = ground.collect(&MemoryRules::default()).files[0].text.clone();
    assert!(text.contains("4 <!-- 5.md is not imported: imports are too deep -->"), "{text}");
    // Each file imports the next twice: what that comes to is bounded.
    let half = "x".repeat(30 << 10);
    for n in 0..5 {
        ground.write(&format!("near/{n}.md"), format!("{half} @{0}.md @{0}.md", n + 1));
    }
    let memory = ground.collect(&MemoryRules::default());
    assert!(memory.warnings.iter().any(|warning| warning.contains("too much is imported")));
    assert!(memory.used().map(|file| file.text.len()).sum::<usize>() <= 256 << 10);
}

#[test]
fn what_is_too_long_is_cut_and_the_farthest_goes_first() {
    let ground = Ground::new(&[("near/AGENTS.md", "near")]);
    ground.write("far/AGENTS.md", "ä".repeat(40 << 10));
    let memory = ground.collect(&MemoryRules::default());
    let text = &memory.files[0].text;
    assert!(
        text.len() < (64 << 10) + 200 && text.contains("[cut here: the file has 81920 bytes"),
        "{}",
        text.len()
    );
    assert_eq!(memory.warnings.len(), 1);
    let rules = MemoryRules {
        user_files: (0..4).map(|n| ground.home.path().join(format!("{n}.md"))).collect(),
        ..MemoryRules::default()
    };
    for n in 0..4 {
        ground.write(&format!("{n}.md"), n.to_string().repeat(60 << 10));
    }
    let memory = ground.collect(&rules);
    let states: Vec<bool> = memory.files.iter().map(|it| it.state == MemoryFileState::Used).collect();
    assert_eq!(states, [false, true, true, true, true, true], "{:?}", memory.warnings);
    assert!(
        memory.warnings.iter().any(|it| it.contains("far/AGENTS.md is left out")),
        "{:?}",
        memory.warnings
    );
}

#[test]
fn what_is_no_text_is_skipped_with_a_warning() {
    let ground = Ground::new(&[]);
    ground.write("far/AGENTS.md", b"\xffcaf\xe9");
    ground.write("near/AGENTS.md", b"a\0b");
    ground.check(
        &MemoryRules::default(),
        expect![[r#"
            far/AGENTS.md Skipped("is not UTF-8 text"): ""
            near/AGENTS.md Skipped("is not a text file"): ""
            warning ~/far/AGENTS.md is not UTF-8 text: it is not told
            warning ~/near/AGENTS.md is not a text file: it is not told
        "#]],
    );
}

#[test]
fn only_words_outside_of_code_import() {
    let text = "@a b@c `@d` `` `@e` `` @f`x @g.\n```sh\n@h\n```\n~~~\n@i\n```\n@j\n~~~\n @k\n`open @l\n@\n";
    let words: Vec<&str> = import_sites(text).iter().map(|site| &text[site.range.clone()]).collect();
    assert_eq!(words, ["@a", "@g.", "@k", "@l"]);
    assert_eq!(import_sites(text)[1].spellings, ["g.", "g"]);
}

#[test]
fn folders_go_from_the_repository_s_top_to_the_root() {
    let ground = Ground::new(&[("repo/.git/HEAD", ""), ("repo/a/b/x", ""), ("c/x", ""), (".git/HEAD", "")]);
    let home = ground.home.path();
    let top = repository_top(&home.join("repo/a/b"), Some(home));
    assert_eq!(top, home.join("repo"));
    let folders = project_folders(&top, &home.join("repo/a/b"));
    assert_eq!(folders, ["repo", "repo/a", "repo/a/b"].map(|path| home.join(path)));
    // The home itself is nobody's project.
    assert_eq!(repository_top(&home.join("c"), Some(home)), home.join("c"));
    assert_eq!(repository_top(Path::new("/"), None), Path::new("/"));
}

#[test]
fn what_agents_wrote_down_and_what_is_hidden_is_not_imported() {
    let mut ground = Ground::new(&[
        (
            "near/AGENTS.md",
            "@a.md\n## Added Memories\n- see @a.md\n# Next\n@a.md @~/keys/k.md @~/keys @link.md\n",
        ),
        ("near/a.md", "A"),
        ("keys/k.md", "SECRET"),
    ]);
    let keys = ground.home.path().canonicalize().unwrap().join("keys");
    fs::hard_link(keys.join("k.md"), ground.home.path().join("near/link.md")).unwrap();
    let places = [(keys.clone(), GuardKind::Present), (keys.join("k.md"), GuardKind::Present)];
    ground.hidden = GuardedPlaces::new(places).look();
    ground.check(&MemoryRules::default(), expect![[r#"
        near/AGENTS.md Used: "<!-- from a.md -->\nA\n<!-- end of a.md -->\n## Added Memories\n- see @a.md\n# Next\n<!-- from a.md -->\nA\n<!-- end of a.md --> <!-- ~/keys/k.md is not imported: it leads out of where imports may come from --> <!-- ~/keys is not imported: it leads out of where imports may come from --> @link.md\n"
    "#]]);
}

#[test]
fn what_lies_elsewhere_reaches_no_farther_than_its_folder() {
    let ground = Ground::new(&[
        ("near/AGENTS.md", "@~/checkout/docs/a.md @settings.json @./system.md @./agents/x.md @./b.md\n"),
        ("near/settings.json", "SETTINGS"),
        ("near/system.md", "SYSTEM"),
        ("near/agents/x.md", "AGENT"),
        ("near/b.md", "B @~/private.md"),
        ("checkout/docs/a.md", "A @~/private.md @../c.md @./below/d.md @~/checkout/docs/twice.md"),
        ("checkout/docs/below/d.md", "D @../a.txt"),
        ("checkout/docs/a.txt", "T"),
        ("checkout/docs/twice.md", "TWICE"),
        ("checkout/c.md", "C"),
        ("checkout/CLAUDE.md", "@./c.md @~/private.md"),
        ("private.md", "PRIVATE"),
    ]);
    let home = ground.home.path();
    fs::hard_link(home.join("checkout/docs/twice.md"), home.join("other.md")).unwrap();
    let user_files = vec![home.join("checkout/CLAUDE.md")];
    ground.check(&MemoryRules { user_files, ..MemoryRules::default() }, expect![[r#"
        near/AGENTS.md Used: "<!-- from ~/checkout/docs/a.md -->\nA <!-- ~/private.md is not imported: it leads out of where imports may come from --> <!-- ../c.md is not imported: it leads out of where imports may come from --> <!-- from ./below/d.md -->\nD <!-- ../a.txt is not imported: it leads out of where imports may come from -->\n<!-- end of ./below/d.md --> @~/checkout/docs/twice.md\n<!-- end of ~/checkout/docs/a.md --> @settings.json <!-- ./system.md is not imported: it leads out of where imports may come from --> <!-- ./agents/x.md is not imported: it leads out of where imports may come from --> <!-- from ./b.md -->\nB <!-- from ~/private.md -->\nPRIVATE\n<!-- end of ~/private.md -->\n<!-- end of ./b.md -->\n"
        checkout/CLAUDE.md Used: "<!-- from ./c.md -->\nC\n<!-- end of ./c.md --> <!-- ~/private.md is not imported: it leads out of where imports may come from -->"
        warning ~/checkout/docs/twice.md has more than one name on the disk: `@~/checkout/docs/twice.md` is not imported
    "#]]);
}

/// A file of nothing but words opens no thousands of files, and nobody wonders why the last one says nothing.
#[test]
fn words_beyond_the_bound_import_nothing_and_that_is_told_once() {
    let words: String = (0..2_010).map(|n| format!("@nobody-{n}\n")).collect();
    let ground = Ground::new(&[
        ("near/AGENTS.md", &format!("@first.md\n{words}@last.md\n")),
        ("near/first.md", "imported-first"),
        ("near/last.md", "imported-last"),
    ]);
    let memory = ground.collect(&MemoryRules::default());
    let text = &memory.used().next().unwrap().text;
    assert!(
        text.contains("imported-first") && text.contains("\n@last.md\n") && !text.contains("imported-last")
    );
    assert_eq!(memory.warnings.len(), 1, "{:?}", memory.warnings);
    assert!(memory.warnings[0].contains("only the first 2000"), "{:?}", memory.warnings);
}

/// Whoever mistypes the name of a text learns of it, and whoever only names a person is left alone.
#[test]
fn what_is_imported_and_what_names_no_text_is_told() {
    let ground = Ground::new(&[
        (
            "near/AGENTS.md",
            "@docs/style.md, @docs/missing.md. and @ann, @org/package\n`@code.md`\n## Added Memories\n- x\n@docs/last.md @bob\n",
        ),
        ("near/docs/last.md", "LAST"),
        ("near/docs/style.md", "Be brief.\n"),
    ]);
    let memory = ground.collect(&MemoryRules::default());
    let told: Vec<(&str, Option<&str>)> = memory
        .imports
        .iter()
        .map(|it| (it.path.file_name().unwrap().to_str().unwrap(), it.left.as_deref()))
        .collect();
    let of_agents = "it stands below `## Added Memories`, where agents write";
    assert_eq!(
        told,
        [("style.md", None), ("missing.md", Some("there is no such file")), ("last.md", Some(of_agents)),]
    );
    assert!(memory.imports.iter().all(|it| it.by.ends_with("near/AGENTS.md")), "{:?}", memory.imports);
    assert_eq!(memory.warnings.len(), 1, "{:?}", memory.warnings);
    assert!(memory.warnings[0].contains("`@docs/missing.md` names no file"), "{:?}", memory.warnings);
}
