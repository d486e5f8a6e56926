//! Which files and folders is a server of a person's own held to, whatever the form of its words?

use std::{collections::BTreeMap, fs};

use protocol::McpTransport;
use sys::worked_folders::WorkedFolders;

use super::*;
use crate::tests::Ground;

/// A folder in which agents have worked, beside the workspace.
fn ground() -> (Ground, PathBuf, WorkedFolders) {
    let ground = Ground::new();
    let dot = ground.base.path().canonicalize().unwrap().join("dot");
    for name in ["srv.py", "pkg/__init__.py", "pkg/srv.py", "pyproject.toml", "Makefile", "package.json"] {
        fs::create_dir_all(dot.join(name).parent().unwrap()).unwrap();
        fs::write(dot.join(name), "x\n").unwrap();
    }
    let worked = WorkedFolders::default();
    worked.add([dot.clone()]);
    (ground, dot, worked)
}

/// A folder that an entry itself has a server started in is one in which is looked for what it runs.
#[test]
fn a_folder_of_agents_that_a_server_is_started_in_waits_for_a_person() {
    let (ground, dot, worked) = ground();
    let of = |words: &[&str]| {
        let transport = McpTransport::Stdio {
            command: words[0].to_owned(),
            args: words[1..].iter().map(|word| (*word).to_owned()).collect(),
            env: BTreeMap::new(),
            cwd: Some(dot.display().to_string()),
        };
        let roots = [ground.root().display().to_string()];
        let found = ground.projects.files_of_own_server(&roots, &worked, &transport).files;
        found.into_iter().any(|file| file.path == dot && file.by_name == Some(OwnServerPlace::Folder))
    };
    for words in [&["uv", "run", "server"][..], &["npm", "start"], &["npx", "server"]] {
        assert!(of(words), "{words:?}");
    }
    for words in [&["python3", "srv.py"][..], &["uv", "run", "srv.py"], &["uvx", "mcp-server-git"]] {
        assert!(!of(words), "{words:?}");
    }
}

/// Names of what it is held to, with `=` in front of a folder that nothing is known of.
fn held(
    (ground, dot, worked): &(Ground, PathBuf, WorkedFolders),
    words: &[&str],
    env: &[&str],
) -> Vec<String> {
    let fill = |word: &&str| word.replace("DOT", dot.to_str().unwrap());
    let env: BTreeMap<String, String> = env
        .iter()
        .map(|it| it.split_once('=').unwrap())
        .map(|(name, value)| (name.to_owned(), fill(&value)))
        .collect();
    let transport = McpTransport::Stdio {
        command: words[0].to_owned(),
        args: words[1..].iter().map(fill).collect(),
        env,
        cwd: None,
    };
    let roots = [ground.root().display().to_string()];
    let found = ground.projects.files_of_own_server(&roots, worked, &transport).files;
    let name = |file: OwnServerFile| {
        let below = file.path.strip_prefix(dot).ok()?.display().to_string();
        let is_folder = format!("{:?}", file.by_name).contains("Folder");
        file.is_of_agents.then(|| if is_folder { format!("={below}") } else { below })
    };
    let mut names: Vec<String> = found.into_iter().filter_map(name).collect();
    names.sort();
    names
}

#[test]
fn a_file_below_a_folder_of_the_words_is_held_as_one_by_its_whole_path_is() {
    let ground = ground();
    for (words, env, file) in [
        (&["uv", "--directory", "DOT", "run", "srv.py"][..], &[][..], "srv.py"),
        (&["uv", "run", "--project=DOT", "srv.py"], &[], "srv.py"),
        (&["uv", "--directory", "DOT/pkg", "run", "srv.py"], &[], "pkg/srv.py"),
        (&["uv", "--directory", "DOT", "run", "python", "-m", "pkg.srv"], &[], "pkg/srv.py"),
        (&["uv", "--directory", "DOT", "run", "-m", "pkg.srv"], &[], "pkg/__init__.py"),
        (&["sh", "-c", "cd DOT && exec python3 srv.py"], &[], "srv.py"),
        (&["sh", "-c", "cd DOT; cd pkg; exec python3 srv.py"], &[], "pkg/srv.py"),
        (&["python3", "-m", "srv"], &["PYTHONPATH=/x:DOT"], "srv.py"),
        (&["env", "PYTHONPATH=DOT", "python3", "-m", "pkg"], &[], "pkg/__init__.py"),
        (&["env", "-C", "DOT", "python3", "srv.py"], &[], "srv.py"),
        (&["make", "-s", "-C", "DOT", "srv"], &[], "Makefile"),
        (&["make", "-sCDOT", "srv"], &[], "Makefile"),
        (&["npm", "--prefix", "DOT", "start"], &[], "package.json"),
    ] {
        let held = held(&ground, words, env);
        assert!(held.iter().any(|it| it == file), "{words:?}: {held:?}");
    }
}

#[test]
fn a_folder_of_agents_in_which_nothing_can_be_held_is_told_and_one_that_is_only_data_is_not() {
    let ground = ground();
    for (words, env) in [
        (&["npm", "--prefix", "DOT", "start"][..], &[][..]),
        (&["npm", "start", "--prefix", "DOT"], &[]),
        (&["npx", "-y", "DOT"], &[]),
        (&["uvx", "--python", "3.12", "--from", "DOT", "srv"], &[]),
        (&["uv", "--directory", "DOT", "run", "srv"], &[]),
        (&["python3", "-m", "later"], &["PYTHONPATH=DOT"]),
        (&["node", "x.js"], &["NODE_PATH=DOT"]),
        (&["python3", "-c", "import sys; sys.path.append('DOT'); import srv"], &[]),
        (&["sh", "-c", "cd DOT && exec later"], &[]),
        (&["ruby", "-IDOT", "-rlater", "-e", "go"], &[]),
        (&["env", "-S", "sh -c 'cd DOT; later'"], &[]),
        (&["nice", "-n", "5", "npm", "--prefix", "DOT", "start"], &[]),
        (&["cargo", "run", "--manifest-path", "DOT/pyproject.toml"], &[]),
        (&["pixi", "run", "--manifest-path=DOT/pyproject.toml", "srv"], &[]),
    ] {
        let held = held(&ground, words, env);
        assert!(held.iter().any(|it| it == "="), "{words:?}: {held:?}");
    }
    for (words, env) in [
        (&["uv", "--directory", "DOT", "run", "srv.py"][..], &[][..]),
        (&["python3", "-m", "srv"], &["PYTHONPATH=DOT"]),
        (&["make", "-C", "DOT", "srv"], &[]),
        (&["npx", "-y", "@modelcontextprotocol/server-filesystem", "DOT"], &[]),
        (&["uvx", "mcp-server-git", "--repository", "DOT"], &[]),
        (&["uvx", "--from", "git+https://x/y", "serena", "--project", "DOT"], &[]),
        (&["mcp-server-git", "--repository", "DOT"], &[]),
        (&["python3", "/opt/own.py", "--root", "DOT"], &[]),
        (&["python3", "-m", "mcp_server_git", "--repository", "DOT"], &[]),
        (&["docker", "run", "-i", "--rm", "-v", "DOT:/w", "mcp/filesystem", "/w"], &[]),
        (&["npx", "-y", "x"], &["DATA_DIR=DOT"]),
    ] {
        let held = held(&ground, words, env);
        assert!(!held.iter().any(|it| it.starts_with('=')), "{words:?}: {held:?}");
    }
}
