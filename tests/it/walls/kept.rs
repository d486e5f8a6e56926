//! What a command sees and does not change, under each mechanism: the programs that the settings name, with what they load, and the
//! daemon's own programs and units.

use subagentd::tools::OwnFiles;

use super::*;

/// A house of which nothing is hidden, with these places kept.
fn house_with(mechanism: &SandboxMechanism, hidden: impl FnOnce(&Path) -> HiddenPlaces) -> House {
    let house = House::new(mechanism, |_| ());
    let hidden = hidden(&house.home());
    House { sandbox: Sandbox::with(warden(), hidden, mechanism.clone()), ..house }
}

/// As the product lists it for a daemon that was installed into the home.
fn installed(home: &Path) -> OwnFiles {
    let places = places(home);
    let rules = RulePlaces {
        system: home.join("none"),
        user: places.config_dir.join("policies"),
        home: home.to_owned(),
    };
    own_files(&GuardedBy {
        rules: &rules,
        places: &places,
        settings: &places.settings(),
        socket: None,
        state_dir: &places.state_dir,
        home: Some(home),
        program: Some(&home.join(".local/bin/subagentd")),
    })
}

fn put(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "THEIRS").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn programs_that_the_settings_name_stay_what_they_are_with_what_lies_beside_them() {
    for mechanism in mechanisms() {
        let house = house_with(&mechanism, |_| HiddenPlaces::default());
        let (home, tell) = (house.home(), house.home().join("tools/tell"));
        put(&tell);
        put(&home.join("alone"));
        house.sandbox.hidden().named().replace(NamedFileLists {
            programs: vec![tell.clone(), home.join("alone")],
            // The second is the workspace itself, which stays one.
            folders: vec![home.join("tools"), home.clone()],
            secrets: Vec::new(),
        });
        let beside = format!(
            "exec 2>/dev/null; echo MINE > {0}/tools/json.py; mkdir {0}/tools/json; echo MINE > {0}/tools/json/__init__.py; echo over",
            home.display()
        );
        assert_eq!(house.bash(&beside).await, "over\n");
        assert_eq!(fs::read_dir(home.join("tools")).unwrap().count(), 1, "{mechanism:?}");
        for name in ["tools/tell", "alone"] {
            assert_eq!(house.bash(&attack(&home, name)).await, "over\n");
            assert_eq!(found(&home.join(name)), "THEIRS", "{mechanism:?}, {name}");
            // In place, as its inode keeps its name.
            house
                .bash(&format!(
                    "perl -e 'open(F, \"+<\", \"{}/{name}\") and print F \"MINE\"'",
                    home.display()
                ))
                .await;
            assert_eq!(found(&home.join(name)), "THEIRS", "{mechanism:?}, {name}");
        }
        assert_eq!(house.bash("echo made > here && cat here").await, "made\n", "{mechanism:?}");
        // Whoever moved them, they are known.
        fs::rename(home.join("tools"), home.join("moved")).unwrap();
        house.bash("exec 2>/dev/null; echo MINE >> ../moved/tell; echo MINE > ../moved/json.py; rm ../moved/tell").await;
        assert_eq!(found(&home.join("moved/tell")), "THEIRS", "{mechanism:?}");
        assert!(!home.join("moved/json.py").exists(), "{mechanism:?}");
    }
}

#[tokio::test]
async fn the_daemons_own_programs_and_units_are_read_and_not_written() {
    let kept = [
        ".local/bin/subagentd",
        ".local/bin/subagent",
        ".config/systemd/user/subagentd.service",
        "xdg/config/systemd/user/subagentd.socket",
    ];
    // Beside a unit, each adds to it.
    let missing = [".config/systemd/user/subagentd.service.d", "xdg/config/systemd/user/service.d"];
    for mechanism in mechanisms() {
        let house = house_with(&mechanism, |home| {
            for name in kept {
                put(&home.join(name));
            }
            HiddenPlaces::default().reading(installed(home).sources().clone())
        });
        let home = house.home();
        for name in kept {
            assert_eq!(
                house.bash(&format!("cat {}/{name}", home.display())).await,
                "THEIRS",
                "{mechanism:?}"
            );
            assert_eq!(house.bash(&attack(&home, name)).await, "over\n");
            assert_eq!(found(&home.join(name)), "THEIRS", "{mechanism:?}, {name}");
        }
        for name in missing {
            let script = format!(
                "exec 2>/dev/null; mkdir {0}/{name}; echo MINE > {0}/{name}/x.conf; echo over",
                home.display()
            );
            assert_eq!(house.bash(&script).await, "over\n");
            assert!(!home.join(name).exists(), "{mechanism:?}, {name}");
        }
        assert_eq!(house.bash("echo made > here && cat here").await, "made\n", "{mechanism:?}");
        let paths = installed(&home).guarded().paths;
        for name in kept.iter().chain(&missing) {
            assert!(paths.contains(&home.join(name)), "{name} is not critical to write: {paths:?}");
        }
    }
}

#[tokio::test]
async fn folders_of_a_persons_programs_take_nothing_from_a_command() {
    for mechanism in mechanisms() {
        let house = house_with(&mechanism, |home| {
            put(&home.join(".local/bin/tool"));
            fs::create_dir_all(home.join(".more")).unwrap();
            HiddenPlaces::default()
                .finding([".local/bin", ".more/bin", "bin"].map(|name| home.join(name)).to_vec())
        });
        let home = house.home();
        let script = format!(
            "exec 2>/dev/null; cd {}; echo MINE > .local/bin/jq; echo MINE > .local/bin/tool; mkdir -p .more/bin bin; mv .local/bin .local/b2; mv .local l2; cat .local/bin/tool",
            home.display()
        );
        assert_eq!(house.bash(&script).await, "THEIRS", "{mechanism:?}");
        assert_eq!(fs::read_dir(home.join(".local/bin")).unwrap().count(), 1, "{mechanism:?}");
        // Landlock shuts each folder on the way to something that is kept.
        assert!(!home.join(".more/bin").exists(), "{mechanism:?}");
        let takes_new = matches!(mechanism, SandboxMechanism::Bubblewrap { .. });
        assert_eq!(home.join("bin").exists(), takes_new, "{mechanism:?}");
    }
}
