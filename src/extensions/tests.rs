//! What is an extension, by the lines of the format's checklist, and what becomes of a copy that is cut off?

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{ExtensionFolders, ExtensionLibrary, ExtensionPackage, ExtensionState, StagedExtension};
use protocol::{InstalledExtension, McpTransport, Timestamp};

const PLUGIN: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";
const MCP: &str = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json";

struct Ground {
    dir: tempfile::TempDir,
    folders: ExtensionFolders,
}

fn ground() -> Ground {
    let dir = tempfile::tempdir().unwrap();
    let folders = ExtensionFolders::new(&dir.path().join("data"), "log", |path| fs::remove_dir_all(path));
    let ground = Ground { dir, folders };
    ground.write("plugin.json", json!({ "$schema": PLUGIN, "name": "acme.tools" }).to_string());
    ground
}

impl Ground {
    fn source(&self) -> PathBuf {
        self.dir.path().join("source")
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.source().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn skill(&self, folder: &str, front: &str) {
        self.write(&format!("skills/{folder}/SKILL.md"), format!("---\n{front}\n---\nDo it.\n"));
    }

    fn stage(&self) -> Result<StagedExtension, String> {
        self.folders.stage(&self.source()).map_err(|fault| fault.to_string())
    }

    fn package(&self) -> ExtensionPackage {
        self.stage().unwrap().package.clone()
    }

    /// The names of skills and servers, and what is told.
    fn told(&self) -> String {
        let package = match self.stage() {
            Ok(staged) => staged.package.clone(),
            Err(fault) => return format!("{fault}\n"),
        };
        let skills = package.skills.iter().map(|skill| format!("skill {}\n", skill.name));
        let servers = package.servers.iter().map(|server| format!("server {}\n", server.name));
        let told: String =
            skills.chain(servers).chain(package.notes.iter().map(|it| format!("{it}\n"))).collect();
        told.replace(&self.dir.path().display().to_string(), "<dir>")
    }
}

fn check(ground: &Ground, expected: Expect) {
    expected.assert_eq(&ground.told());
}

/// Nothing but its manifest is an extension, and one of each kind of component is found in its place; deeper ones are none.
#[test]
fn components_are_found_in_their_places_and_missing_ones_are_no_fault() {
    let ground = ground();
    check(&ground, expect![""]);
    ground.skill("deploy", "name: deploy\ndescription: Deploys.");
    ground.skill("deploy/references/inner", "name: inner\ndescription: None.");
    ground.write("skills/README.md", "no skill");
    ground.write("skills/empty/README.md", "no skill");
    ground.write("skills/lower/skill.md", "---\nname: lower\ndescription: Spelled otherwise.\n---\n");
    ground.write("mcp.json", json!({ "$schema": MCP, "mcpServers": {} }).to_string());
    check(
        &ground,
        expect![[r#"
            skill deploy
        "#]],
    );
}

/// What the format says of `plugin.json`, case by case: what is told and ignored, and what costs the extension.
#[test]
fn a_manifest_is_read_strictly() {
    let cases: Vec<(Value, &str)> = vec![
        (json!({ "$schema": PLUGIN, "name": "a" }), "ok"),
        (json!({ "$schema": PLUGIN, "name": "lint3r" }), "ok"),
        (json!({ "$schema": PLUGIN, "name": "a".repeat(64) }), "ok"),
        (
            json!({ "$schema": PLUGIN, "name": "a", "version": "not semver", "description": "d", "homepage": "no url",
                    "repository": "r", "license": "no spdx", "keywords": ["k"],
                    "author": { "name": "n", "email": "no mail", "url": "u" },
                    "extensions": { "com.example.client": { "anything": [1] } } }),
            "ok",
        ),
        (json!({ "$schema": PLUGIN, "name": "a", "skils": [] }), "`skils` in plugin.json is a field"),
        (
            json!({ "$schema": PLUGIN, "name": "a", "extensions": [] }),
            "`extensions` in plugin.json is no object",
        ),
        (
            json!({ "$schema": PLUGIN, "name": "a", "extensions": { "com.example": 1 } }),
            "`extensions` must have objects",
        ),
        (json!({ "name": "a" }), "`$schema` is missing"),
        (json!({ "$schema": 1, "name": "a" }), "`$schema` must be a text"),
        (
            json!({ "$schema": PLUGIN.replace("1.0.0", "9.0.0"), "name": "a" }),
            "names a version that is not known",
        ),
        (json!({ "$schema": PLUGIN }), "`name` is missing"),
        (json!({ "$schema": PLUGIN, "name": 1 }), "`name` must be a text"),
        (json!({ "$schema": PLUGIN, "name": "" }), "`name` must have 1 to 64"),
        (json!({ "$schema": PLUGIN, "name": "a".repeat(65) }), "`name` must have 1 to 64"),
        (json!({ "$schema": PLUGIN, "name": "My-Plugin" }), "`name` may have small letters"),
        (json!({ "$schema": PLUGIN, "name": "../up" }), "`name` may have small letters"),
        (json!({ "$schema": PLUGIN, "name": "-start" }), "`name` must begin and end"),
        (json!({ "$schema": PLUGIN, "name": ".staged" }), "`name` must begin and end"),
        (json!({ "$schema": PLUGIN, "name": "end." }), "`name` must begin and end"),
        (json!({ "$schema": PLUGIN, "name": "has--double" }), "`name` must have no two"),
        (json!({ "$schema": PLUGIN, "name": "too.many..dots" }), "`name` must have no two"),
        (json!({ "$schema": PLUGIN, "name": "a", "version": 1 }), "`version` must be a text"),
        (json!({ "$schema": PLUGIN, "name": "a", "author": "n" }), "`author` must be an object"),
        (json!({ "$schema": PLUGIN, "name": "a", "author": { "twitter": "n" } }), "`author` has a field"),
        (json!({ "$schema": PLUGIN, "name": "a", "author": { "name": 1 } }), "`author` must have texts"),
        (json!({ "$schema": PLUGIN, "name": "a", "keywords": "k" }), "`keywords` must be a list"),
        (json!({ "$schema": PLUGIN, "name": "a", "keywords": [1] }), "`keywords` must be a list"),
        (json!([]), "is no object"),
    ];
    let ground = ground();
    ground.skill("deploy", "name: deploy\ndescription: Deploys.");
    for (manifest, expected) in cases {
        ground.write("plugin.json", manifest.to_string());
        match (ground.stage(), expected) {
            (Ok(staged), "ok") => assert_eq!(staged.package.notes, [""; 0], "{manifest}"),
            (Ok(staged), told) => {
                assert!(staged.package.notes[0].starts_with(told), "{manifest}: {:?}", staged.package.notes);
                assert_eq!(staged.package.skills.len(), 1, "it goes on: {manifest}");
            }
            (Err(fault), told) => assert!(fault.contains(told), "{manifest}: {fault}"),
        }
    }
    ground.write("plugin.json", "{");
    assert!(ground.stage().unwrap_err().contains("is no JSON"));
    fs::remove_file(ground.source().join("plugin.json")).unwrap();
    ground.write("gemini-extension.json", "{}");
    assert!(ground.stage().unwrap_err().contains("it has gemini-extension.json"), "{:?}", ground.stage());
}

/// What is wrong with one component costs just that one.
#[test]
fn what_does_not_conform_is_skipped_and_the_rest_counts() {
    let ground = ground();
    ground.skill("good", "name: good\ndescription: Good.");
    ground.skill("other", "name: another\ndescription: Not its folder's name.");
    ground.skill("wide", "name: wide\ndescription: Wide.\nmodel: opus");
    ground.skill("mute", "name: mute");
    let server = |entry: Value| entry;
    let servers = json!({
        "plain": server(json!({ "type": "stdio", "command": "node", "args": ["x"] })),
        "local": { "type": "stdio", "command": "./bin/run it", "cwd": "./bin" },
        "far": { "type": "streamable-http", "url": "https://example.com/mcp", "headers": { "X-Tenant": "t" } },
        "near": { "type": "streamable-http", "url": "http://127.0.0.1:1/mcp" },
        "old": { "type": "sse", "url": "https://example.com/sse" },
        "kind": { "type": "websocket", "url": "wss://example.com" },
        "none": { "command": "node" },
        "both": { "type": "stdio", "command": "node", "url": "https://example.com" },
        "up": { "type": "stdio", "command": "../bin/server" },
        "deep": { "type": "stdio", "command": "./bin/../../server" },
        "abs": { "type": "stdio", "command": "/bin/sh" },
        "filled": { "type": "stdio", "command": "${PLUGIN_ROOT}/bin/server" },
        "empty": { "type": "stdio", "command": "" },
        "args": { "type": "stdio", "command": "node", "args": "x" },
        "env": { "type": "stdio", "command": "node", "env": { "N": 1 } },
        "ours": { "type": "stdio", "command": "node", "env": { "PLUGIN_ROOT": "/" } },
        "cwd": { "type": "stdio", "command": "node", "cwd": "data" },
        "cwd-up": { "type": "stdio", "command": "node", "cwd": "${PLUGIN_ROOT}/.." },
        "cwd-data": { "type": "stdio", "command": "node", "cwd": "${PLUGIN_DATA}/../other" },
        "cwd-like": { "type": "stdio", "command": "node", "cwd": "${PLUGIN_DATA}x" },
        "http": { "type": "streamable-http", "url": "http://example.com/mcp" },
        "user": { "type": "streamable-http", "url": "https://me@example.com/mcp" },
        "hash": { "type": "streamable-http", "url": "https://example.com/mcp#x" },
        "head": { "type": "streamable-http", "url": "https://example.com", "headers": { "a b": "c" } },
        "line": { "type": "streamable-http", "url": "https://example.com", "headers": { "a": "b\nc" } },
        "twice": { "type": "streamable-http", "url": "https://example.com", "headers": { "X-A": "1", "x-a": "2" } },
        "a b": { "type": "stdio", "command": "node" },
    });
    ground.write("bin/run it", "#!/bin/sh\n");
    ground.write("mcp.json", json!({ "$schema": MCP, "mcpServers": servers }).to_string());
    ground.write("hooks/hooks.json", "{}");
    ground.write("com.example.client/anything", "x");
    check(
        &ground,
        expect![[r#"
        skill good
        server plain
        server local
        server far
        server near
        the skill `mute` is skipped: `description` is missing
        the skill `other` is skipped: `name` is not that of its folder, `other`
        the skill `wide` is skipped: unknown field `model`
        the server `old` speaks the old transport `sse`, which is not spoken here; it is skipped
        the server `kind` has a `type` that there is not: `websocket`; it is skipped
        the server `none` has no `type`; it is skipped
        the server `both` has a field that does not go with `stdio`: `url`; it is skipped
        the server `up` has a `command` that is neither a name nor a path that begins with `./`: `../bin/server`; it is skipped
        the server `deep` has a `command` that leads out of the extension: `./bin/../../server`; it is skipped
        the server `abs` has a `command` that is neither a name nor a path that begins with `./`: `/bin/sh`; it is skipped
        the server `filled` has a `command` that is neither a name nor a path that begins with `./`: `${PLUGIN_ROOT}/bin/server`; it is skipped
        the server `empty` has a `command` that is no text; it is skipped
        the server `args` has `args` that are no list of texts; it is skipped
        the server `env` has `env` that is no object of texts; it is skipped
        the server `ours` sets `PLUGIN_ROOT`, which is not its to set; it is skipped
        the server `cwd` has a `cwd` that begins neither with `./` nor with `${PLUGIN_ROOT}` or `${PLUGIN_DATA}`: `data`; it is skipped
        the server `cwd-up` has a `cwd` that leads out of the extension: `./..`; it is skipped
        the server `cwd-data` has a `cwd` that leads out of the extension: `../other`; it is skipped
        the server `cwd-like` has a `cwd` that begins neither with `./` nor with `${PLUGIN_ROOT}` or `${PLUGIN_DATA}`: `${PLUGIN_DATA}x`; it is skipped
        the server `http` has a `url` that is not protected on its way: it must be https; it is skipped
        the server `user` has a `url` with a user, a password or a `#` in it; it is skipped
        the server `hash` has a `url` with a user, a password or a `#` in it; it is skipped
        the server `head` has a header that is none: `a b`; it is skipped
        the server `line` has a header that is none: `a`; it is skipped
        the server `twice` has a header twice: `x-a`; it is skipped
        the server `a b` cannot be called so here: a server's name is 1 to 40 letters, digits, `-` or `_`, the latter neither twice in a row nor at an end, since its tools are named `mcp.<server>.<tool>` or `mcp__<server>__<tool>`; it is skipped
        `hooks` (hooks) is ignored: it has no effect here yet
    "#]],
    );
    // What is wrong with the file costs all servers, and nothing else.
    for (mcp, told) in [
        (json!([]).to_string(), "mcp.json is no object"),
        ("{".to_owned(), "mcp.json is no JSON"),
        (json!({ "mcpServers": {} }).to_string(), "mcp.json has no `$schema`"),
        (
            json!({ "$schema": MCP.replace("1.0.0", "1.1.0"), "mcpServers": {} }).to_string(),
            "mcp.json has a `$schema` that does not go with plugin.json",
        ),
        (json!({ "$schema": MCP }).to_string(), "mcp.json has no `mcpServers`"),
        (
            json!({ "$schema": MCP, "mcpServers": [] }).to_string(),
            "mcp.json has `mcpServers` that are no object",
        ),
        (json!({ "$schema": MCP, "mcpServers": {}, "inputs": [] }).to_string(), "mcp.json has a field"),
    ] {
        ground.write("mcp.json", mcp);
        let package = ground.package();
        assert!(package.servers.is_empty() && package.skills.len() == 1, "{told}");
        assert!(package.notes.iter().any(|note| note.starts_with(told)), "{told}: {:?}", package.notes);
    }
    // Neither is what it should be: each costs its kind of component.
    fs::remove_file(ground.source().join("mcp.json")).unwrap();
    fs::create_dir(ground.source().join("mcp.json")).unwrap();
    ground.write("mcp.json/x", "x");
    fs::remove_dir_all(ground.source().join("skills")).unwrap();
    ground.write("skills", "x");
    check(
        &ground,
        expect![[r#"
            `skills` is no folder; it has no skills
            mcp.json is no file; it has no servers
            `hooks` (hooks) is ignored: it has no effect here yet
        "#]],
    );
}

/// What stands in an entry is what its program is started with: two placeholders, once, in three places, and nothing else.
#[test]
fn placeholders_stand_for_two_folders_and_for_nothing_else() {
    let ground = ground();
    let entry = json!({
        "type": "stdio", "command": "./bin/run",
        "args": ["${PLUGIN_ROOT}/a", "${PLUGIN_DATA}", "${HOME} ${PLUGIN_ROOT", "$PLUGIN_ROOT ${${PLUGIN_DATA}}"],
        "env": { "A": "${PLUGIN_DATA}/x", "PATH": "/p", "${PLUGIN_ROOT}": "k" },
    });
    let own = |extra: &str| {
        let mut entry = entry.clone();
        entry["cwd"] = extra.into();
        entry
    };
    let servers = json!({
        "none": entry, "own": own("./bin"), "root": own("${PLUGIN_ROOT}"), "data": own("${PLUGIN_DATA}/w"),
        "far": { "type": "streamable-http", "url": "https://example.com/${PLUGIN_ROOT}", "headers": { "A": "${HOME}" } },
    });
    ground.write("bin/run", "#!/bin/sh\n");
    ground.write("mcp.json", json!({ "$schema": MCP, "mcpServers": servers }).to_string());
    let package = ground.package();
    assert_eq!(package.notes, [""; 0]);
    let mut told = String::new();
    for server in &package.servers {
        // A folder whose name looks like the other placeholder is not filled in again.
        let config = server.config(Path::new("/p/${PLUGIN_DATA}"), Path::new("/d"));
        assert!(config.literal && !config.network && !config.trust && !config.auto_start);
        match config.transport {
            McpTransport::Stdio { command, args, env, cwd } if server.name == "none" => {
                told.push_str(&format!("{command}\n{args:#?}\n{env:#?}\n{cwd:?}\n"));
            }
            McpTransport::Stdio { cwd, .. } => told.push_str(&format!("{}: {cwd:?}\n", server.name)),
            McpTransport::Http { url, headers } => told.push_str(&format!("{url} {headers:?}\n")),
        }
    }
    expect![[r#"
        /p/${PLUGIN_DATA}/bin/run
        [
            "/p/${PLUGIN_DATA}/a",
            "/d",
            "${HOME} ${PLUGIN_ROOT",
            "$PLUGIN_ROOT ${/d}",
        ]
        {
            "${PLUGIN_ROOT}": "k",
            "A": "/d/x",
            "PATH": "/p",
            "PLUGIN_DATA": "/d",
            "PLUGIN_ROOT": "/p/${PLUGIN_DATA}",
        }
        Some("/p/${PLUGIN_DATA}")
        own: Some("/p/${PLUGIN_DATA}/bin")
        root: Some("/p/${PLUGIN_DATA}")
        data: Some("/d/w")
        https://example.com/${PLUGIN_ROOT} {"A": "${HOME}"}
    "#]]
    .assert_eq(&told);
}

/// What leads out of the folder is left out, whatever it is; what stays within is taken.
#[test]
fn nothing_that_lies_outside_comes_in() {
    let ground = ground();
    let outside = ground.dir.path().join("outside");
    fs::create_dir_all(outside.join("skill")).unwrap();
    fs::write(outside.join("skill/SKILL.md"), "---\nname: skill\ndescription: Outside.\n---\nx\n").unwrap();
    fs::write(outside.join("secret"), "s3cret").unwrap();
    ground.skill("good", "name: good\ndescription: Good.");
    let source = ground.source();
    let link = |to: &Path, path: &str| symlink(to, source.join(path)).unwrap();
    link(&outside.join("skill"), "skills/skill");
    fs::create_dir(source.join("skills/bad")).unwrap();
    link(&outside.join("skill/SKILL.md"), "skills/bad/SKILL.md");
    link(Path::new("../outside/secret"), "secret");
    link(Path::new("nowhere"), "dangling");
    link(Path::new("skills/good"), "within");
    fs::create_dir(source.join("bin")).unwrap();
    link(&outside.join("secret"), "bin/server");
    let server = json!({ "type": "stdio", "command": "./bin/server" });
    ground.write("mcp.json", json!({ "$schema": MCP, "mcpServers": { "s": server } }).to_string());
    let staged = ground.stage().unwrap();
    let told: Vec<&str> = staged.package.notes.iter().map(|note| note.split(' ').next().unwrap()).collect();
    assert_eq!(told, ["`bin/server`", "`dangling`", "`secret`", "`skills/bad/SKILL.md`", "`skills/skill`"]);
    assert_eq!(staged.package.skills.len(), 1);
    drop(staged);
    // The fixed places and the manifest as well.
    fs::remove_file(source.join("mcp.json")).unwrap();
    link(&outside.join("secret"), "mcp.json");
    assert!(ground.package().servers.is_empty());
    fs::remove_file(source.join("plugin.json")).unwrap();
    link(&outside.join("secret"), "plugin.json");
    assert!(ground.stage().unwrap_err().contains("has no plugin.json"));
    assert_eq!(fs::read_dir(ground.dir.path().join("data/plugins/.staged/log")).unwrap().count(), 0);
}

#[test]
fn what_no_copy_could_hold_is_refused() {
    let refused = |make: &dyn Fn(&Path), expected: &str| {
        let ground = ground();
        make(&ground.source());
        let fault = ground.stage().unwrap_err();
        assert!(fault.contains(expected), "{fault}");
        let staged = ground.dir.path().join("data/plugins/.staged/log");
        assert_eq!(fs::read_dir(staged).map_or(0, Iterator::count), 0, "{expected}");
    };
    let fifo = |source: &Path| {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            source.join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
    };
    refused(&fifo, "has something that is no file: `pipe`");
    refused(&|source| fs::hard_link(source.join("plugin.json"), source.join("x")).unwrap(), "a hard link");
    // It has no bytes on the disk, and ten thousand million to be read.
    refused(
        &|source| File::create(source.join("large")).unwrap().set_len(10 << 30).unwrap(),
        "has more than 128 MiB",
    );
    refused(
        &|source| (0..5_001).for_each(|number| drop(File::create(source.join(number.to_string())).unwrap())),
        "has more than 5000 files",
    );
    refused(
        &|source| (0..10_001).for_each(|number| fs::create_dir(source.join(number.to_string())).unwrap()),
        "has more than 10000 files and folders",
    );
    let deep = |source: &Path| fs::create_dir_all(source.join("d/".repeat(40))).unwrap();
    refused(&deep, "more than 32 deep");
    let odd = |source: &Path| {
        let name = std::os::unix::ffi::OsStrExt::from_bytes(b"bad\xff");
        fs::write(source.join::<&std::ffi::OsStr>(name), "x").unwrap();
    };
    refused(&odd, "a name that is not UTF-8");
}

/// The digest is of path, mode and bytes of all files, and of nothing that depends on where they lie.
#[test]
fn a_digest_is_of_path_mode_and_bytes() {
    let ground = ground();
    ground.write("a/b", "x");
    ground.write(".git/config", "of whoever brought it");
    let digest = || ground.stage().unwrap().digest.clone();
    let first = digest();
    assert_eq!(digest(), first);
    ground.write(".git/config", "another");
    assert_eq!(digest(), first);
    fs::set_permissions(ground.source().join("a/b"), fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(digest(), first, "what a copy has of the mode is whether it can be executed");
    fs::set_permissions(ground.source().join("a/b"), fs::Permissions::from_mode(0o755)).unwrap();
    let executable = digest();
    assert_ne!(executable, first);
    ground.write("a/b", "y");
    assert_ne!(digest(), executable);
}

fn installed(staged: &StagedExtension) -> InstalledExtension {
    InstalledExtension {
        id: "e".into(),
        name: staged.package.manifest.name.clone(),
        version: None,
        description: None,
        source: "/s".into(),
        commit: None,
        digest: staged.digest.clone(),
        enabled: true,
        installed_at: Timestamp(0),
        notes: Vec::new(),
    }
}

/// Wherever a daemon is killed while one takes the place of another, the next one finds what the log says, whole, and nothing else.
#[test]
fn wherever_it_is_cut_off_the_old_one_or_the_new_one_is_there() {
    for (replaces, is_told) in [(false, false), (false, true), (true, false), (true, true)] {
        // Killed while the copy is made, before and after it is in its place, and after the log was told.
        for step in 0..3 {
            let ground = ground();
            let mut log: Vec<InstalledExtension> = Vec::new();
            if replaces {
                let staged = ground.stage().unwrap();
                log.push(installed(&staged));
                ground.folders.place(staged).unwrap().settle();
            }
            ground.write("new", "x");
            let staged = ground.stage().unwrap();
            let record = installed(&staged);
            match step {
                // The process ends, and nothing is dropped.
                0 => std::mem::forget(staged),
                1 => std::mem::forget(ground.folders.place(staged).unwrap()),
                _ => {
                    let placed = ground.folders.place(staged).unwrap();
                    if is_told {
                        log = vec![record];
                        std::mem::forget(placed);
                    } else {
                        placed.take_back();
                    }
                }
            }
            ground.folders.recover(log.iter());
            let plugins = ground.dir.path().join("data/plugins");
            let left: Vec<_> = fs::read_dir(&plugins).unwrap().map(|it| it.unwrap().file_name()).collect();
            let case = format!("{replaces} {is_told} {step}: {left:?}");
            match log.first() {
                None => assert!(!left.contains(&"acme.tools".into()), "{case}"),
                Some(record) => {
                    let library = ExtensionLibrary::new(ground.folders.clone(), vec![record.clone()]);
                    let known = library.get("acme.tools").unwrap();
                    assert_eq!(known.state, ExtensionState::Enabled, "{case}");
                    let is_new = plugins.join("acme.tools/new").exists();
                    assert_eq!(is_new, is_told && step == 2, "{case}");
                }
            }
            assert!(!plugins.join(".staged/log").exists(), "{case}");
        }
    }
}

#[test]
fn what_is_removed_is_gone_and_nobody_elses_is_touched() {
    let ground = ground();
    let staged = ground.stage().unwrap();
    let record = installed(&staged);
    ground.folders.place(staged).unwrap().settle();
    let plugins = ground.dir.path().join("data/plugins");
    let theirs = [plugins.join("theirs/plugin.json"), plugins.join(".staged/other/x/plugin.json")];
    for file in &theirs {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "x").unwrap();
    }
    fs::create_dir_all(ground.folders.data("acme.tools").join("kept")).unwrap();
    // The log was not told: it stays.
    ground.folders.announce_removal("acme.tools").unwrap();
    ground.folders.recover([record].iter());
    assert!(plugins.join("acme.tools/plugin.json").exists() && ground.folders.data("acme.tools").exists());
    ground.folders.announce_removal("acme.tools").unwrap();
    ground.folders.recover([].iter());
    assert!(!plugins.join("acme.tools").exists() && !ground.folders.data("acme.tools").exists());
    assert!(theirs.iter().all(|file| file.exists()));
}

#[test]
fn one_that_changed_is_off_until_it_is_what_it_was() {
    let ground = ground();
    ground.skill("good", "name: good\ndescription: Good.");
    let staged = ground.stage().unwrap();
    let record = installed(&staged);
    ground.folders.place(staged).unwrap().settle();
    let library = ExtensionLibrary::new(ground.folders.clone(), vec![record.clone()]);
    let file = ground.folders.root("acme.tools").join("skills/good/SKILL.md");
    let before = fs::read(&file).unwrap();
    assert_eq!(library.skills()[0].skills.len(), 1);
    let change = |bytes: &[u8]| -> io::Result<()> { fs::write(&file, bytes) };
    change(b"---\nname: good\ndescription: Evil.\n---\nx\n").unwrap();
    assert!(library.skills().is_empty());
    assert!(matches!(library.get("acme.tools").unwrap().state, ExtensionState::Changed(_)));
    assert!(library.fault("acme.tools", &record.digest).unwrap().starts_with("is not what was installed"));
    change(&before).unwrap();
    assert_eq!(library.fault("acme.tools", &record.digest), None);
    fs::create_dir(ground.folders.root("acme.tools").join(".git")).unwrap();
    fs::write(ground.folders.root("acme.tools").join(".git/config"), "x").unwrap();
    assert!(library.skills().is_empty(), "all of a copy counts");
    fs::remove_dir_all(ground.folders.root("acme.tools").join(".git")).unwrap();
    library.note("acme.tools", Some(InstalledExtension { enabled: false, ..record.clone() }));
    assert!(library.skills().is_empty());
    assert_eq!(library.fault("acme.tools", &record.digest).as_deref(), Some("is disabled"));
    library.note("acme.tools", None);
    assert_eq!(library.fault("acme.tools", &record.digest).as_deref(), Some("is not installed any more"));
}

/// The words of an entry are read by a person who is asked: none passes for two, for a comment, or for words of ours.
#[test]
fn what_is_started_is_shown_word_by_word() {
    let ground = ground();
    let servers = json!({
        "plain": { "type": "stdio", "command": "node", "args": ["--x=1", "${PLUGIN_ROOT}/a.js"], "env": { "A": "b" } },
        "sly": {
            "type": "stdio", "command": "./x (sets nothing)", "args": ["-c", "echo ok #\nevil", ""], "cwd": "./b c",
            "env": { "BASH_ENV": "./evil it" },
        },
        "far": { "type": "streamable-http", "url": "https://example.com/mcp", "headers": { "X-T": "a b" } },
    });
    ground.write("mcp.json", json!({ "$schema": MCP, "mcpServers": servers }).to_string());
    let package = ground.package();
    let told: Vec<String> = package
        .servers
        .iter()
        .map(|server| format!("{} | {}", server.starts(), server.sets().join(", ")))
        .collect();
    assert_eq!(
        told,
        [
            "node --x=1 ${PLUGIN_ROOT}/a.js | A=b",
            r#""./x (sets nothing)" -c "echo ok #\nevil" "" (in "./b c") | BASH_ENV="./evil it""#,
            r#"https://example.com/mcp | X-T="a b""#,
        ]
    );
}
