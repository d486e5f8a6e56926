//! What of a workspace do settings of mise have run, sourced or found?

use super::*;

fn named_by(file: &str, text: &str) -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for name in ["scripts", "tools", "src"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    for name in ["scripts/env.sh", "src/main.rs", "README.md", "there.sh"] {
        fs::write(root.join(name), "true\n").unwrap();
    }
    fs::write(root.join("scripts/env.sh"), "source scripts/deeper.sh\n").unwrap();
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    let found = named(&root).into_iter().map(|place| place.path.strip_prefix(&root).unwrap().to_owned());
    let found = found.collect();
    (folder, found)
}

#[test]
fn what_settings_have_read_run_and_found_is_named_however_it_is_written() {
    for (text, path) in [
        ("[env]\n_.source = \"scripts/env.sh\"\n", "scripts/env.sh"),
        ("[env]\n_.source = \"scripts/env.sh\"\n", "scripts/deeper.sh"),
        ("[env]\n_.source = [\"a.sh\", 'b.sh']\n", "b.sh"),
        ("[env]\n_.source = { path = \"env.sh\", redact = true }\n", "env.sh"),
        ("[env]\n_.source = \"{{ config_root }}/env.sh\"\n", "env.sh"),
        ("[env]\n_ = { source = \"env.sh\" }\n", "env.sh"),
        ("env._.source = 'env.sh'\n", "env.sh"),
        ("env = { _ = { source = 'env.sh' } }\n", "env.sh"),
        ("[env._]\nsource = '''env.sh'''\n", "env.sh"),
        ("[[env]]\n_.file = \".env.local\"\n", ".env.local"),
        ("[env]\n_.file = [\n  '.env', # one\n  '.env.json',\n]\n", ".env.json"),
        ("[env]\n_.path = [\"./tools\", \".venv/bin\"]\n", "tools"),
        ("[env]\n_.path = [\"./tools\", \".venv/bin\"]\n", ".venv/bin"),
        ("[env]\n_.path = 'bin'\n", "bin"),
        ("[env]\n_.python.venv = \".venv\"\n", ".venv/bin"),
        ("[env]\nV = \"{{ exec(command='./scripts/v.sh') }}\"\n", "scripts/v.sh"),
        ("[env]\nV = '{{exec(command=\"bash scripts/v.sh\")}}'\n", "scripts/v.sh"),
        ("[env]\nBASH_ENV = \"{{config_root}}/be.sh\"\n", "be.sh"),
        ("[hooks]\nenter = \"./scripts/enter.sh\"\n", "scripts/enter.sh"),
        ("[hooks]\nenter = { shell = 'bash', script = 'source later.sh' }\n", "later.sh"),
        ("[[hooks.cd]]\nrun = \"echo x && ./cd.sh\"\n", "cd.sh"),
        ("[[watch_files]]\npatterns = ['x']\nrun = 'sh w.sh'\n", "w.sh"),
        ("[tasks.x]\nrun = \"./there.sh --all\"\n", "there.sh"),
        ("[tasks]\nx = \"\"\"\n#!/bin/sh\npython3 scripts/t.py\n\"\"\"\n", "scripts/t.py"),
        ("[tasks.x]\nfile = 'scripts/release.sh'\n", "scripts/release.sh"),
        ("[task_config]\nincludes = [\"tasks.toml\", \"own\"]\n", "own"),
    ] {
        let (_folder, found) = named_by("mise.toml", text);
        assert!(found.contains(&PathBuf::from(path)), "{text}: {found:?}");
    }
    for file in [
        ".mise.toml",
        "mise.local.toml",
        "mise/config.toml",
        ".mise/config.toml",
        ".config/mise.toml",
        ".config/mise/config.toml",
        ".config/mise/conf.d/x.toml",
    ] {
        let (_folder, found) = named_by(file, "[env]\n_.source = \"env.sh\"\n");
        assert!(found.contains(&PathBuf::from("env.sh")), "{file}: {found:?}");
    }
}

#[test]
fn what_a_task_works_on_and_other_settings_name_is_not_named() {
    let text = "[tools]\nnode = \"20\"\npython = 'path:./src'\n[env]\nNODE_ENV = \"src/main.rs\"\n# _.source = \"there.sh\"\n[tasks.fmt]\n\
                run = \"prettier README.md src/main.rs\"\nsources = ['src/main.rs']\ndescription = 'README.md'\n[settings]\n\
                x = \"there.sh\"\n";
    let (_folder, found) = named_by("mise.toml", text);
    assert_eq!(found, Vec::<PathBuf>::new());
}

#[test]
fn of_folders_of_programs_the_texts_are_kept_and_the_names_of_daily_programs_are_theirs() {
    let (folder, _) =
        named_by("mise.toml", "[env]\n_.path = ['tools', '.venv/bin']\n_.source = 'later.sh'\n");
    let root = folder.path().canonicalize().unwrap();
    fs::write(root.join("tools/mine"), "#!/bin/sh\n").unwrap();
    fs::write(root.join("tools/built"), "ELF\0").unwrap();
    let kept: HashSet<PathBuf> = named_texts(&root).into_iter().map(|place| place.path).collect();
    assert_eq!(kept, ["tools/mine", "later.sh"].map(|name| root.join(name)).into());
    let folders: HashSet<(PathBuf, bool)> = program_folders(&root).into_iter().collect();
    assert_eq!(folders, [(root.join("tools"), false), (root.join(".venv/bin"), true)].into());
}
