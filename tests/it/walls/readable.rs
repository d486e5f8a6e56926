//! What is readable although it may lie in what is hidden, a skill's folder say, shows nothing of what is hidden within it.

use super::*;

#[tokio::test]
async fn what_is_readable_shows_nothing_hidden_that_lies_in_it() {
    for mechanism in mechanisms() {
        let house = House::new(&mechanism, |home| {
            for name in people_hide() {
                make(&home.join(name));
            }
            fs::write(home.join(".cargo/SKILL.md"), "a skill").unwrap();
            fs::create_dir_all(home.join(".config/subagentd/skills/one")).unwrap();
            fs::write(home.join(".config/subagentd/skills/one/SKILL.md"), "a skill").unwrap();
        });
        let home = house.home();
        // Also with another folder as workspace, beside which it lies.
        for roots in [vec![home.clone()], vec![home.join("work")]] {
            for folder in [".cargo", ".config", ".config/subagentd/skills/one", ""] {
                let readable = vec![home.join(folder)];
                let script = format!(
                    "grep -rhs THE-SECRET {0} ; cat {0}/.cargo/credentials.toml {0}/.ssh/kept 2>/dev/null; cat {1}/SKILL.md 2>/dev/null",
                    home.display(),
                    home.join(folder).display(),
                );
                let launch = CommandLaunch { readable, roots: roots.clone(), ..house.launch(&script) };
                let (_, said) = house.run(launch).await;
                assert!(!said.contains("THE-SECRET"), "{mechanism:?}, {folder}, {roots:?}: {said}");
                let is_skill = home.join(folder).join("SKILL.md").exists();
                assert_eq!(said.contains("a skill"), is_skill, "{mechanism:?}, {folder}, {roots:?}: {said}");
            }
        }
        // The workspace stays one that is written to.
        let launch =
            CommandLaunch { readable: vec![home.clone()], ..house.launch("echo made > here && cat here") };
        assert_eq!(house.run(launch).await.1, "made\n", "{mechanism:?}");
    }
}

/// A folder of settings beside hidden files, in which nothing new is made anyway.
#[tokio::test]
async fn what_is_read_only_beside_something_hidden_is_not_written_by_whatever_confines_it() {
    for mechanism in mechanisms() {
        let house = House::new(&mechanism, |home| {
            fs::create_dir_all(home.join(".claude/lib")).unwrap();
            fs::write(home.join(".claude/lib/x.sh"), "mine").unwrap();
        });
        let script = "echo x > ../.claude/lib/x.sh; echo x > ../.claude/lib/new; echo made > made; cat ../.claude/lib/x.sh";
        let read_only = vec![house.home().join(".claude")];
        let (_, said) = house.run(CommandLaunch { read_only, ..house.launch(script) }).await;
        assert!(said.contains("mine"), "{mechanism:?}: {said}");
        assert!(!house.home().join(".claude/lib/new").exists(), "{mechanism:?}: {said}");
        assert_eq!(
            fs::read_to_string(house.home().join("work/made")).unwrap(),
            "made\n",
            "{mechanism:?}: {said}"
        );
    }
}
