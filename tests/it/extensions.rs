//! What does a person get who installs an extension, what can nobody else do to it, and what is left when something goes wrong?
//! (spec 08, "Plugins")

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    built,
    mcp::server,
    process::{Home, output},
    sandbox::mechanisms,
    support::{Client, House, Reply, Running, STUCK, Script, confined_by},
};

const PLUGIN: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";
const MCP: &str = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json";
const ALLOW: &str = "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n";
const BARE: &str = "---\nkind: agent\nname: bare\ndescription: Works.\n---\n";
const USER: &str = "---\nkind: agent\nname: user\ndescription: Uses tools.\ncompletion: tool\ntools: [\"mcp.board.*\", activate_skill, read_file, write_file, run_shell_command]\n---\nYou work.\n";

/// A folder that is an extension, in the house.
struct Plugin {
    folder: PathBuf,
    name: String,
    /// Where the program of its server lies, if the tests' own lies where a sandbox shows nothing.
    program: Option<tempfile::TempDir>,
}

impl Plugin {
    fn new(home: &Path, name: &str) -> Plugin {
        let folder = home.join("sources").join(name);
        let plugin = Plugin { folder, name: name.to_owned(), program: None };
        plugin.file("plugin.json", json!({ "$schema": PLUGIN, "name": name, "version": "1.0.0" }).to_string())
    }

    fn file(self, path: &str, text: impl AsRef<[u8]>) -> Plugin {
        self.write(path, text);
        self
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn skill(self, name: &str, text: &str) -> Plugin {
        let file = format!("---\nname: {name}\ndescription: Says what {name} is.\n---\n{text}\n");
        self.file(&format!("skills/{name}/SKILL.md"), file)
    }

    /// A server that tells where it runs and with what, and then is one of the tests' own.
    fn server(mut self, name: &str) -> Plugin {
        let own = server::entry("plain");
        let mut env = own["env"].clone();
        let (program, folder) = built::seen_in_sandbox(own["command"].as_str().unwrap());
        env["PROGRAM"] = json!(program);
        self.program = folder;
        env["SEES"] = "${PLUGIN_DATA}:${HOME}".into();
        let entry = json!({ "type": "stdio", "command": "./bin/server", "args": own["args"], "env": env });
        let script = "#!/bin/sh\nprintf '%s\\n' \"$PLUGIN_ROOT\" \"$PLUGIN_DATA\" \"$PWD\" \"$SEES\" > \"$PLUGIN_DATA/told\"\n\
                      (echo x > \"$PLUGIN_ROOT/written\") 2>/dev/null\nexec \"$PROGRAM\" \"$@\"\n";
        self.write("bin/server", script);
        fs::set_permissions(self.folder.join("bin/server"), fs::Permissions::from_mode(0o755)).unwrap();
        self.file("mcp.json", json!({ "$schema": MCP, "mcpServers": { name: entry } }).to_string())
    }

    async fn look(&self, client: &mut Client) -> Value {
        client.call("extension/install", json!({ "source": self.folder, "dryRun": true })).await
    }

    async fn install(&self, client: &mut Client) -> Value {
        let looked = self.look(client).await;
        let params = json!({ "source": self.folder, "digest": looked["extension"]["digest"] });
        client.call("extension/install", params).await
    }

    fn installed(&self, house: &House) -> PathBuf {
        house.dir.path().join("data/plugins").join(&self.name)
    }
}

fn house(script: &Script) -> House {
    House::new().script(script).agent("bare", BARE).agent("user", USER).rules("all", ALLOW)
}

async fn changes(running: &Running) -> Vec<(String, String)> {
    let log = running.log().await;
    let changed = log.iter().filter(|event| event["type"] == "extension.changed");
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    changed.map(|it| (text(&it["data"]["change"]), text(&it["data"]["extension"]["name"]))).collect()
}

async fn states(client: &mut Client) -> Vec<(String, String)> {
    let listed = client.call("extension/list", json!({})).await;
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let all = listed["extensions"].as_array().unwrap().iter();
    all.map(|it| (text(&it["name"]), text(&it["state"]))).collect()
}

async fn ends(running: &Running, run: &str) -> Vec<String> {
    let log = running.log().await;
    let ended = log
        .iter()
        .filter(|it| it["type"] == "tool.state" && it["runId"] == run && it["data"]["result"].is_object());
    ended
        .map(|it| it["data"]["result"]["llmContent"][0]["text"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Nothing that was begun is left of what did not come, whatever did.
fn is_clean(house: &House) -> bool {
    let staged = house.dir.path().join("data/plugins/.staged");
    let folders = fs::read_dir(staged).into_iter().flatten().flatten();
    let left: usize = folders.map(|it| fs::read_dir(it.path()).unwrap().count()).sum();
    left == 0 && !house.dir.path().join("state/fetched").exists()
}

#[tokio::test]
async fn what_is_installed_is_what_was_shown_and_its_skills_count_behind_all_others() {
    let script =
        Script::new([Reply::calls(&[("activate_skill", json!({ "name": "deploy" }))]), Reply::done("x")]);
    let house = house(&script);
    let plugin = Plugin::new(house.dir.path(), "acme.tools")
        .skill("deploy", "Deploy it by hand.")
        .skill("review", "Theirs.")
        .file("skills/deploy/scripts/go.sh", "echo go\n");
    let own = house.dir.path().join("skills/review");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("SKILL.md"), "---\nname: review\ndescription: Mine.\n---\nMine.\n").unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let looked = plugin.look(&mut client).await;
    assert_eq!((&looked["outcome"], &looked["fileCount"]), (&json!("installed"), &json!(4)), "{looked}");
    assert!(states(&mut client).await.is_empty() && is_clean(&house), "looking installs nothing");
    assert!(
        looked["contents"]["skills"][1]["unusedReason"]
            .as_str()
            .unwrap()
            .contains("skills/review goes before it")
    );
    let source = json!({ "source": plugin.folder });
    assert_eq!(client.refused("extension/install", source).await.0, "INVALID_PARAMS", "nobody agreed to it");
    // What was agreed to and is another one by now is refused.
    plugin.write("skills/deploy/scripts/go.sh", "echo evil\n");
    let agreed = json!({ "source": plugin.folder, "digest": looked["extension"]["digest"] });
    assert_eq!(client.refused("extension/install", agreed.clone()).await.0, "CONFLICT");
    plugin.write("skills/deploy/scripts/go.sh", "echo go\n");
    let done = client.call("extension/install", agreed.clone()).await;
    assert!(done["seq"].is_i64(), "{done}");
    assert_eq!(client.call("extension/install", agreed).await["outcome"], "unchanged");

    let listed = client.call("skills/list", json!({ "workspace": running.work() })).await;
    let skills: Vec<_> = listed["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| json!([it["name"], it["scope"], it["state"]]))
        .collect();
    assert_eq!(
        skills,
        [
            json!(["review", "user", "ready"]),
            json!(["deploy", "extension", "ready"]),
            json!(["review", "extension", "hidden"])
        ]
    );
    let extension = json!({ "id": done["extension"]["id"], "name": "acme.tools" });
    assert_eq!(listed["skills"][1]["extension"], extension);
    // Its source is not what counts.
    plugin.write("skills/deploy/SKILL.md", "---\nname: deploy\ndescription: Evil.\n---\nEvil.\n");
    let (run, _) = client.start(&running, "bare", json!({})).await;
    client.ended(&run).await;
    let request = &script.requests()[0];
    assert!(request.system.contains("\n- `deploy`: Says what deploy is."), "{}", request.system);
    let told = ends(&running, &run).await;
    assert!(told[0].contains("Deploy it by hand.") && told[0].contains("Files: scripts/go.sh"), "{told:?}");
    let log = running.log().await;
    let activated = log.iter().find(|it| it["type"] == "skill.activated").unwrap();
    assert_eq!(activated["data"]["extension"], extension);
    assert_eq!(changes(&running).await, [("installed".to_owned(), "acme.tools".to_owned())]);
    drop(client);
    running.stop().await;

    // The next daemon has it, too.
    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(states(&mut client).await, [("acme.tools".to_owned(), "enabled".to_owned())]);
    client.call("extension/remove", json!({ "name": "acme.tools" })).await;
    assert!(states(&mut client).await.is_empty() && !plugin.installed(&house).exists() && is_clean(&house));
    let (kind, error) = client.refused("extension/get", json!({ "name": "acme.tools" })).await;
    assert_eq!(kind, "NOT_FOUND", "{error}");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn its_server_has_its_two_folders_and_is_gone_from_the_next_turn_on() {
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let call = || Reply::calls(&[("mcp.board.echo", json!({ "text": "first" }))]);
    let script = Script::new([call(), Reply::after(&gate, call()), Reply::done("x")]);
    let house = house(&script);
    let plugin = Plugin::new(house.dir.path(), "acme").server("board").skill("deploy", "Do.");
    let running = house.boot().await;
    let mut client = running.client();
    let installed = plugin.install(&mut client).await;
    let extension = json!({ "id": installed["extension"]["id"], "name": "acme" });
    let (run, _) = client.start(&running, "user", json!({})).await;
    script.asked().await;
    script.asked().await;
    let declared =
        |at: usize| script.requests()[at].tools.iter().any(|it| it.name.as_str() == "mcp.board.echo");
    assert!(declared(0) && declared(1), "{:?}", running.log().await);
    // Where it ran, and with what.
    let root = plugin.installed(&house).canonicalize().unwrap();
    let data = house.dir.path().canonicalize().unwrap().join("data/plugin-data/acme");
    let told = fs::read_to_string(data.join("told")).unwrap();
    let told: Vec<&str> = told.lines().collect();
    let (root, data) = (root.to_str().unwrap(), data.to_str().unwrap());
    assert_eq!(told, [root, data, root, &format!("{data}:${{HOME}}")]);
    assert!(!Path::new(root).join("written").exists(), "its own files are not its to write");
    let listed = client.call("mcp/list", json!({ "workspace": running.work() })).await;
    assert_eq!(listed["servers"][0]["origin"], "extension");
    assert_eq!(listed["servers"][0]["extension"], extension);
    let tools = client.call("tools/list", json!({ "workspace": running.work(), "agent": "user" })).await;
    let echo = tools["tools"].as_array().unwrap().iter().find(|it| it["name"] == "mcp.board.echo").unwrap();
    assert_eq!(echo["extension"], extension);

    let off = client.call("extension/disable", json!({ "name": "acme" })).await;
    assert_eq!(off["extension"]["state"], "disabled");
    assert_eq!(client.call("extension/disable", json!({ "name": "acme" })).await["seq"], Value::Null);
    gate.add_permits(1);
    client.ended(&run).await;
    assert!(!declared(2), "{:?}", script.requests()[2].tools);
    let ends = ends(&running, &run).await;
    assert_eq!(ends[0], "first");
    assert!(!ends[1].contains("first"), "{ends:?}");
    let log = running.log().await;
    let scheduled = log.iter().find(|it| it["data"]["details"]["extension"] == extension);
    assert!(scheduled.is_some_and(|it| it["type"] == "tool.state"), "calls say whose tool it is");
    let told = log.iter().filter(|it| it["type"] == "mcp.serverState");
    assert!(told.clone().count() > 0 && told.into_iter().all(|it| it["data"]["extension"] == extension));
    let changed = log.iter().find(|it| it["type"] == "run.toolsChanged").unwrap();
    let removed = changed["data"]["removed"].as_array().unwrap();
    assert!(removed.contains(&json!("mcp.board.echo")), "{changed}");
    // What it wrote stays over an update, and goes when it is removed.
    plugin.write("more", "x");
    assert_eq!(plugin.install(&mut client).await["outcome"], "updated");
    assert_eq!(states(&mut client).await, [("acme".to_owned(), "disabled".to_owned())]);
    assert!(Path::new(data).join("told").exists());
    client.call("extension/enable", json!({ "name": "acme" })).await;
    client.call("extension/remove", json!({ "name": "acme" })).await;
    assert!(!Path::new(data).exists() && is_clean(&house));
    drop(client);
    running.stop().await;
}

/// Agents' commands see neither of its folders. Of a house below `/tmp` a view shows the folders again, of another one itself.
#[tokio::test]
async fn its_server_writes_its_folder_by_whatever_confines_it() {
    for mechanism in mechanisms() {
        for is_apart in [false, true] {
            let folder = match is_apart {
                true => tempfile::Builder::new().prefix("extension-").tempdir_in(built::apart()),
                false => tempfile::tempdir(),
            };
            let mut house = House::in_folder(folder.unwrap());
            let home = house.dir.path().canonicalize().unwrap();
            house.sandbox = confined_by(&home, mechanism.clone());
            let plugin = Plugin::new(house.dir.path(), "acme").server("board");
            let running = house.boot().await;
            let mut client = running.client();
            plugin.install(&mut client).await;
            // The second one finds what the first one wrote.
            for _ in 0..2 {
                let connected = client.call("mcp/connect", json!({ "server": "board" })).await;
                assert_eq!(connected["state"], "ready", "{mechanism:?}, {is_apart}: {connected}");
                client.call("mcp/disconnect", json!({ "server": "board" })).await;
            }
            let told = fs::read_to_string(home.join("data/plugin-data/acme/told")).unwrap();
            let root = plugin.installed(&house);
            assert_eq!(told.lines().nth(2), root.canonicalize().unwrap().to_str(), "{mechanism:?}");
            assert!(!root.join("written").exists(), "{mechanism:?}: its own files are not its to write");
            drop(client);
            running.stop().await;
        }
    }
}

/// What `mcp.json` says of a server decides how it is started: a program's name alone is looked for in the `PATH` of its entry, and a `cwd`
/// may go through a link that stays in the folder for its data.
#[tokio::test]
async fn its_server_is_found_by_the_path_of_its_entry_and_runs_where_a_link_of_its_data_leads() {
    let script =
        Script::new([Reply::calls(&[("mcp.board.echo", json!({ "text": "first" }))]), Reply::done("x")]);
    let folder = tempfile::Builder::new().prefix("extension-").tempdir_in(built::apart()).unwrap();
    let house = House::in_folder(folder).script(&script).agent("user", USER).rules("all", ALLOW);
    let plugin = Plugin::new(house.dir.path(), "acme").server("board");
    let file = plugin.folder.join("mcp.json");
    let mut servers: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let entry = &mut servers["mcpServers"]["board"];
    entry["command"] = "server".into();
    entry["env"]["PATH"] = "${PLUGIN_ROOT}/bin:/usr/bin:/bin".into();
    entry["cwd"] = "${PLUGIN_DATA}/now/work".into();
    fs::write(&file, servers.to_string()).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    plugin.install(&mut client).await;
    let data = house.dir.path().canonicalize().unwrap().join("data/plugin-data/acme");
    fs::create_dir_all(data.join("v2/work")).unwrap();
    symlink("v2", data.join("now")).unwrap();
    let connected = client.call("mcp/connect", json!({ "server": "board" })).await;
    assert_eq!(connected["state"], "ready", "{connected}");
    let (run, _) = client.start(&running, "user", json!({})).await;
    client.ended(&run).await;
    assert_eq!(ends(&running, &run).await[0], "first");
    let told = fs::read_to_string(data.join("told")).unwrap();
    assert_eq!(told.lines().nth(2), data.join("v2/work").to_str());
    // A link that leads out of it is no folder to run in.
    client.call("mcp/disconnect", json!({ "server": "board" })).await;
    fs::remove_file(data.join("now")).unwrap();
    fs::create_dir(house.dir.path().join("elsewhere")).unwrap();
    fs::create_dir(house.dir.path().join("elsewhere/work")).unwrap();
    symlink(house.dir.path().join("elsewhere"), data.join("now")).unwrap();
    let connected = client.call("mcp/connect", json!({ "server": "board" })).await;
    assert_eq!(connected["state"], "failed", "{connected}");
    assert!(connected.to_string().contains("leads out of its extension"), "{connected}");
    drop(client);
    running.stop().await;
}

/// A server that an extension declares at an address is asked there, with the headers of its entry.
#[tokio::test]
async fn its_server_of_the_web_is_called_with_its_headers() {
    let server = crate::mcp::http::Server::start().await;
    let script = Script::new([Reply::calls(&[("mcp.board.echo", json!({}))]), Reply::done("x")]);
    let house = house(&script);
    let headers = json!({ "X-Tenant": "acme-7", "X-Literal": "${HOME}" });
    let entry = json!({ "type": "streamable-http", "url": server.url, "headers": headers });
    let plugin = Plugin::new(house.dir.path(), "acme")
        .file("mcp.json", json!({ "$schema": MCP, "mcpServers": { "board": entry } }).to_string());
    let running = house.boot().await;
    let mut client = running.client();
    plugin.install(&mut client).await;
    let (run, _) = client.start(&running, "user", json!({})).await;
    client.ended(&run).await;
    assert_eq!(ends(&running, &run).await[0], "from afar");
    let heads = server.heads.lock().unwrap().clone();
    let posts: Vec<&String> = heads.iter().filter(|head| head.starts_with("post ")).collect();
    assert!(!posts.is_empty(), "{heads:?}");
    for head in posts {
        assert!(head.contains("x-tenant: acme-7\r\n") && head.contains("x-literal: ${home}\r\n"), "{head}");
    }
    let listed = client.call("mcp/list", json!({ "workspace": running.work() })).await;
    assert_eq!(
        (&listed["servers"][0]["origin"], &listed["servers"][0]["state"]),
        (&json!("extension"), &json!("ready"))
    );
    drop(client);
    running.stop().await;
}

/// What a server loads with a call may be what changed: nobody has to look before that counts.
#[tokio::test]
async fn a_server_of_one_that_changed_is_called_no_more() {
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let call = |text: &str| Reply::calls(&[("mcp.board.echo", json!({ "text": text }))]);
    let script = Script::new([call("first"), Reply::after(&gate, call("second")), Reply::done("x")]);
    let house = house(&script);
    let plugin = Plugin::new(house.dir.path(), "acme").server("board").file("data.txt", "as it was");
    let running = house.boot().await;
    let mut client = running.client();
    plugin.install(&mut client).await;
    let (run, _) = client.start(&running, "user", json!({})).await;
    script.asked().await;
    script.asked().await;
    fs::write(plugin.installed(&house).join("data.txt"), "another one").unwrap();
    gate.add_permits(1);
    client.ended(&run).await;
    let ends = ends(&running, &run).await;
    assert_eq!(ends[0], "first");
    assert!(!ends[1].contains("second") && ends[1].contains("not what was installed"), "{ends:?}");
    // Its resources and prompts are asked for no more, either.
    for (method, more) in [
        ("mcp/resources", json!({})),
        ("mcp/readResource", json!({ "uri": "note://1" })),
        ("mcp/prompts", json!({})),
    ] {
        let mut params = json!({ "server": "board", "workspace": house.work() });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (kind, error) = client.refused(method, params).await;
        // By then somebody may have noticed, and the server is none any more.
        let is_told = error.to_string().contains("not what was installed");
        assert!(is_told || kind == "NOT_FOUND", "{method}: {error}");
    }
    running.stop().await;
}

#[tokio::test]
async fn a_servers_name_that_is_in_use_is_skipped_and_one_that_is_not_allowed_is_blocked() {
    let script = Script::new([Reply::done("x")]);
    let house = house(&script).settings(&json!({
        "mcpServers": { "board": server::entry("plain"), "my-docs": server::entry("plain") },
        "mcp": { "excluded": ["kept-*"] },
    }));
    let running = house.boot().await;
    let mut client = running.client();
    for (name, server) in [("a", "board"), ("b", "my_docs"), ("d", "free"), ("c", "free"), ("e", "kept-out")]
    {
        let plugin = Plugin::new(house.dir.path(), name).server(server).skill("same", name);
        plugin.install(&mut client).await;
    }
    let mut unused = Vec::new();
    for name in ["a", "b", "c", "d", "e"] {
        let got = client.call("extension/get", json!({ "name": name })).await;
        unused.push(got["contents"]["servers"][0]["unusedReason"].as_str().unwrap_or("used").to_owned());
    }
    assert_eq!(
        unused,
        [
            "your own settings have a server of this name",
            "your own settings name `my-docs`, which rules cannot tell from it",
            "the extension d has a server of this name",
            "used",
            "the setting mcp.excluded has `kept-*`",
        ]
    );
    let listed = client.call("mcp/list", json!({})).await;
    let servers = listed["servers"].as_array().unwrap().iter();
    let servers: Vec<_> =
        servers.map(|it| json!([it["name"], it["state"], it["extension"]["name"]])).collect();
    assert_eq!(
        servers,
        [
            json!(["board", "idle", null]),
            json!(["free", "idle", "d"]),
            json!(["kept-out", "blocked", null]),
            json!(["my-docs", "idle", null]),
            json!(["my_docs", "blocked", null]),
        ]
    );
    // Whoever is first goes, and the next one has the name.
    let skills = client.call("skills/list", json!({})).await;
    let skills = skills["skills"].as_array().unwrap().iter();
    let skills: Vec<_> = skills.map(|it| it["extension"]["name"].as_str().unwrap()).collect();
    assert_eq!(skills, ["a", "b", "d", "c", "e"], "who came first goes first, whatever it is called");
    client.call("extension/disable", json!({ "name": "d" })).await;
    let listed = client.call("mcp/list", json!({})).await;
    assert_eq!(listed["servers"][1]["extension"]["name"], "c");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn one_that_changed_is_off_and_doctor_and_list_say_so() {
    let script = Script::new([Reply::done("x")]);
    let house = house(&script);
    let plugin = Plugin::new(house.dir.path(), "acme").server("board").skill("deploy", "Do.");
    let running = house.boot().await;
    let mut client = running.client();
    plugin.install(&mut client).await;
    let connected = client.call("mcp/connect", json!({ "server": "board" })).await;
    assert_eq!(connected["state"], "ready", "{connected}");
    let check = async |client: &mut Client| {
        let looked = client.call("daemon/doctor", json!({})).await;
        let checks = looked["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|it| it["name"] == "extensions").unwrap()
    };
    assert_eq!(check(&mut client).await["state"], "ok");
    let file = plugin.installed(&house).join("bin/server");
    let before = fs::read(&file).unwrap();
    fs::write(&file, "#!/bin/sh\necho evil\n").unwrap();
    assert_eq!(states(&mut client).await, [("acme".to_owned(), "changed".to_owned())]);
    let found = check(&mut client).await;
    assert_eq!(found["state"], "failed", "{found}");
    assert!(found["message"].as_str().unwrap().contains("acme is not what was installed"), "{found}");
    // Its server ends, and is none to be started; its skills are gone.
    client.until("mcp/list", json!({}), |listed| listed["servers"] == json!([])).await;
    let skills = client.call("skills/list", json!({})).await;
    assert_eq!(skills["skills"], json!([]));
    // What has no effect anyway is no mistake to be mended: one that is disabled is that, whatever stands in it.
    client.call("extension/disable", json!({ "name": "acme" })).await;
    assert_eq!(states(&mut client).await, [("acme".to_owned(), "disabled".to_owned())]);
    assert_eq!(check(&mut client).await["state"], "ok");
    client.call("extension/enable", json!({ "name": "acme" })).await;
    assert_eq!(states(&mut client).await, [("acme".to_owned(), "changed".to_owned())]);
    fs::write(&file, before).unwrap();
    assert_eq!(states(&mut client).await, [("acme".to_owned(), "enabled".to_owned())]);
    client.until("mcp/list", json!({}), |listed| listed["servers"][0]["state"] == "idle").await;
    // Installing it again puts right what is wrong.
    fs::remove_file(&file).unwrap();
    assert_eq!(plugin.install(&mut client).await["outcome"], "updated");
    assert_eq!(states(&mut client).await, [("acme".to_owned(), "enabled".to_owned())]);
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn who_only_looks_on_and_who_runs_for_an_agent_changes_nothing() {
    let folder = "data/plugins/acme";
    let script = Script::new([Reply::done("x")]);
    let house = house(&script);
    let plugin = Plugin::new(house.dir.path(), "acme").skill("deploy", "Do.");
    let running = house.boot().await;
    let mut client = running.client();
    plugin.install(&mut client).await;
    let (run, session) = client.start(&running, "user", json!({})).await;
    client.ended(&run).await;
    let mut observer = running.client();
    observer.call("session/attach", json!({ "sessionId": session, "role": "observe" })).await;
    observer.events_until("signal.snapshot").await;
    let source = json!({ "source": plugin.folder, "dryRun": true });
    assert_eq!(observer.refused("extension/install", source).await.0, "FORBIDDEN");
    for method in ["extension/enable", "extension/disable", "extension/remove"] {
        assert_eq!(observer.refused(method, json!({ "name": "acme" })).await.0, "FORBIDDEN", "{method}");
    }
    // An agent in the home: a rule of the user's lets it do anything, and what is installed is critical all the same.
    let home = house.dir.path().canonicalize().unwrap();
    let skill = home.join(folder).join("skills/deploy/SKILL.md");
    let asked = json!({ "tool": "write_file", "arguments": { "path": skill, "content": "evil" }, "agent": "user",
                        "workspace": home });
    let checked = client.call("policy/check", asked).await;
    assert_eq!(checked["risk"], "critical", "{checked}");
    // What its programs wrote they may load again.
    let kept = home.join("data/plugin-data/acme/state.db");
    fs::create_dir_all(kept.parent().unwrap()).unwrap();
    fs::write(&kept, "kept").unwrap();
    let asked = json!({ "tool": "write_file", "arguments": { "path": kept, "content": "evil" }, "agent": "user",
                        "workspace": home });
    let checked = client.call("policy/check", asked).await;
    assert_eq!(checked["risk"], "critical", "{checked}");
    let command = format!(
        "echo evil > {}; echo evil > {}; mv {} {}/away; echo done",
        skill.display(),
        kept.display(),
        home.join("data").display(),
        home.display()
    );
    script.replace([Reply::calls(&[("run_shell_command", json!({ "command": command }))]), Reply::done("x")]);
    let before = fs::read(&skill).unwrap();
    let params = json!({ "workspace": home, "approval": { "headless": true } });
    let (run, _) = client.start(&running, "user", params).await;
    client.ended(&run).await;
    assert_eq!(fs::read(&skill).unwrap(), before);
    assert_eq!(fs::read_to_string(&kept).unwrap(), "kept");
    assert_eq!(states(&mut client).await, [("acme".to_owned(), "enabled".to_owned())]);
    drop((client, observer));
    running.stop().await;
}

/// Git in a folder of the house, with no settings but its own.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let ran = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Ada")))
        .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "ada@example.com")))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(ran.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

#[tokio::test]
async fn a_repository_is_pinned_by_its_commit_and_nothing_of_it_is_run() {
    let script = Script::new([Reply::done("x")]);
    let mut house = house(&script);
    let path = std::env::var_os("PATH").unwrap();
    house.sources.environment =
        vec![("PATH".into(), path), ("HOME".into(), house.dir.path().as_os_str().to_owned())];
    let ran = house.dir.path().join("ran");
    let plugin = Plugin::new(house.dir.path(), "acme")
        .skill("deploy", "Do.")
        .file("bin/run", "#!/bin/sh\n")
        .file(".gitattributes", "* filter=evil\n")
        .file(".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = ./nowhere\n");
    fs::set_permissions(plugin.folder.join("bin/run"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("/etc/passwd", plugin.folder.join("out")).unwrap();
    symlink("bin/run", plugin.folder.join("in")).unwrap();
    git(&plugin.folder, &["init", "--quiet", "--initial-branch=main", "."]);
    git(&plugin.folder, &["add", "--all"]);
    let hash = git(&plugin.folder, &["hash-object", "plugin.json"]);
    git(&plugin.folder, &["update-index", "--add", "--cacheinfo", &format!("160000,{hash},sub")]);
    git(&plugin.folder, &["commit", "--quiet", "--message=one"]);
    let commit = git(&plugin.folder, &["rev-parse", "HEAD"]);
    // Whatever a repository could have run where it is checked out.
    let evil = format!("sh -c 'touch {}; cat'", ran.display());
    git(&plugin.folder, &["config", "filter.evil.smudge", &evil]);
    for hook in ["post-checkout", "post-merge"] {
        let hook = plugin.folder.join(".git/hooks").join(hook);
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let running = house.boot().await;
    let mut client = running.client();
    let url = format!("git+file://{}", plugin.folder.display());
    let looked = client.call("extension/install", json!({ "source": url, "dryRun": true })).await;
    assert_eq!(looked["extension"]["commit"], commit, "{looked}");
    assert!(is_clean(&house));
    let notes = looked["extension"]["notes"].to_string();
    assert!(notes.contains("`out` is a link that leads out") && !notes.contains("`in`"), "{notes}");
    let params = json!({ "source": url, "digest": looked["extension"]["digest"] });
    client.call("extension/install", params).await;
    let installed = plugin.installed(&house);
    assert!(!ran.exists() && !installed.join(".git").exists() && !installed.join("sub").exists());
    assert_eq!(fs::read_link(installed.join("in")).unwrap(), Path::new("bin/run"));
    assert_ne!(fs::metadata(installed.join("bin/run")).unwrap().permissions().mode() & 0o100, 0);
    // Another commit is another digest, and the old one by its name is the old one.
    plugin.write("more", "x");
    git(&plugin.folder, &["add", "more"]);
    git(&plugin.folder, &["commit", "--quiet", "--message=two"]);
    let looked = client.call("extension/install", json!({ "source": url, "dryRun": true })).await;
    assert_eq!((&looked["outcome"], &looked["before"]["commit"]), (&json!("updated"), &json!(commit)));
    let old = json!({ "source": format!("{url}#{commit}"), "dryRun": true });
    assert_eq!(client.call("extension/install", old).await["outcome"], "unchanged");

    for (source, kind, says) in [
        ("git+file:///none/there", "NOT_FOUND", "is no repository"),
        ("https://example.com/a.json", "INVALID_PARAMS", "must be a repository's URL"),
        ("http://example.com/a.git", "INVALID_PARAMS", "not protected on its way"),
        ("https://me:secret@example.com/a.git", "INVALID_PARAMS", "has a user or a password"),
        ("ext::sh -c id://", "INVALID_PARAMS", "/source"),
        ("git+file:///r#--upload-pack=id", "INVALID_PARAMS", "a branch, a tag"),
        ("relative/folder", "INVALID_PARAMS", "must be an absolute path"),
    ] {
        let (found, error) =
            client.refused("extension/install", json!({ "source": source, "dryRun": true })).await;
        let told = error.to_string();
        assert!(found == kind && told.contains(says) && !told.contains("secret"), "{source}: {told}");
    }
    assert!(is_clean(&house) && !ran.exists());
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_folder_that_is_none_costs_nothing_and_leaves_nothing() {
    let script = Script::new([Reply::done("x")]);
    let house = house(&script);
    let running = house.boot().await;
    let mut client = running.client();
    let mut refused = async |plugin: &Plugin| {
        let params = json!({ "source": plugin.folder, "dryRun": true });
        let (kind, error) = client.refused("extension/install", params).await;
        assert!(is_clean(&house), "{error}");
        (kind, error["message"].as_str().unwrap().to_owned())
    };
    let plugin = |name: &str| Plugin::new(house.dir.path(), name);
    let (kind, told) = refused(&plugin("a").file("plugin.json", "{}")).await;
    assert!(kind == "INVALID_DEFINITION" && told.contains("`$schema` is missing"), "{told}");
    let pipe = plugin("b");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        pipe.folder.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert!(refused(&pipe).await.1.contains("something that is no file"));
    let large = plugin("c");
    fs::File::create(large.folder.join("large")).unwrap().set_len(10 << 30).unwrap();
    assert!(refused(&large).await.1.contains("has more than 128 MiB"));
    let many = plugin("d");
    for number in 0..6_000 {
        fs::File::create(many.folder.join(number.to_string())).unwrap();
    }
    assert!(refused(&many).await.1.contains("has more than 5000 files"));
    let missing = Plugin { folder: house.dir.path().join("none"), name: String::new(), program: None };
    assert_eq!(refused(&missing).await.0, "CONFLICT");
    let inside = Plugin { folder: house.dir.path().join("data"), name: String::new(), program: None };
    fs::create_dir_all(&inside.folder).unwrap();
    assert!(refused(&inside).await.1.contains("lies where extensions are kept"));
    // What somebody else keeps there is left alone.
    let theirs = plugin("theirs");
    fs::create_dir_all(theirs.installed(&house)).unwrap();
    assert_eq!(refused(&theirs).await.0, "ALREADY_EXISTS");
    drop(client);
    running.stop().await;
}

/// The companion shows what comes and asks; without a person it wants the digest.
#[tokio::test]
async fn the_companion_installs_what_was_looked_at() {
    let home = Home::new();
    let plugin = Plugin::new(&home.path("."), "acme").skill("deploy", "Do.").file("hooks/x", "x");
    let source = plugin.folder.canonicalize().unwrap();
    let source = source.to_str().unwrap();
    let shown =
        output(&mut home.companion(&["extensions", "install", source, "--dry-run", "--format", "json"]))
            .await;
    let looked: Value = serde_json::from_str(&shown.stdout).unwrap_or_else(|_| panic!("{shown:?}"));
    let digest = looked["extension"]["digest"].as_str().unwrap();
    let nobody = output(&mut home.companion(&["extensions", "install", source])).await;
    assert!(nobody.stderr.contains("nobody can be asked here"), "{nobody:?}");
    assert!(nobody.stderr.contains("skill    │ deploy: Says what deploy is."), "{nobody:?}");
    let done = output(&mut home.companion(&["extensions", "install", source, "--digest", digest])).await;
    assert!(done.stdout.starts_with("acme 1.0.0 is installed; it brings 1 skill"), "{done:?}");
    assert!(done.stderr.contains("`hooks` (hooks) is ignored"), "{done:?}");
    let listed = output(&mut home.companion(&["extensions", "list"])).await;
    assert!(listed.stdout.contains("acme") && listed.stdout.contains("enabled"), "{listed:?}");
    let off = output(&mut home.companion(&["extensions", "disable", "acme"])).await;
    assert_eq!(off.stdout, "acme is disabled\n");
    let gone = output(&mut home.companion(&["extensions", "remove", "acme", "--yes"])).await;
    assert_eq!(gone.stdout, "acme is removed\n");
    let none = output(&mut home.companion(&["extensions", "show", "acme"])).await;
    assert!(none.stderr.contains("there is no extension `acme`"), "{none:?}");
}

/// Killed at any point of an update or a removal, a daemon leaves what was there or what was to come, whole, and no rubbish.
#[tokio::test]
async fn a_kill_in_the_middle_leaves_the_old_one_or_the_new_one() {
    /// Each of the points below is met several times, by installations, updates and removals.
    const KILLS: usize = 30;
    let home = Home::new();
    let plugin = Plugin::new(&home.path("."), "acme").skill("deploy", "Do.");
    for number in 0..40 {
        plugin.write(&format!("lib/{number}"), "x".repeat(4_096));
    }
    let source = plugin.folder.canonicalize().unwrap();
    let mut served = home.start().await;
    let mut wire = home.connect().await;
    let mut seen = [0, 0];
    for kill in 0..KILLS {
        let listed = wire.call("extension/list", json!({})).await.unwrap();
        let is_there = !listed["extensions"].as_array().unwrap().is_empty();
        let before = listed["extensions"][0]["digest"].clone();
        let removes = is_there && kill % 3 == 2;
        let (method, params, after) = match removes {
            true => ("extension/remove", json!({ "name": "acme" }), Value::Null),
            false => {
                plugin.write("version", kill.to_string());
                let asked = json!({ "source": source, "dryRun": true });
                let looked = wire.call("extension/install", asked).await.unwrap();
                let digest = looked["extension"]["digest"].clone();
                ("extension/install", json!({ "source": source, "digest": digest }), digest)
            }
        };
        wire.send(method, params).await.unwrap();
        // At once; when something is being copied; when a mark is there; when it is in its place or gone; when all is done.
        let plugins = home.path("data/subagentd/plugins");
        let reached = async {
            let version = || fs::read_to_string(plugins.join("acme/version")).unwrap_or_default();
            loop {
                let staged = fs::read_dir(plugins.join(".staged")).into_iter().flatten().flatten();
                let staged = staged.flat_map(|it| fs::read_dir(it.path()).into_iter().flatten().flatten());
                let (marks, copies): (Vec<_>, Vec<_>) =
                    staged.partition(|it| it.path().extension().is_some_and(|end| end == "changing"));
                let is_placed = if removes { version().is_empty() } else { version() == kill.to_string() };
                let is_done = is_placed && marks.is_empty() && copies.is_empty();
                let points = [true, !copies.is_empty(), !marks.is_empty(), is_placed, is_done];
                // One that was missed is met by the next.
                if is_done || points[kill % points.len()] {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(STUCK, reached).await.unwrap();
        served.kill().await;
        served = home.start().await;
        wire = home.connect().await;
        let listed = wire.call("extension/list", json!({})).await.unwrap();
        let now = &listed["extensions"][0];
        assert!(now.is_null() || now["state"] == "enabled", "{kill}: {now}");
        let digest = now["digest"].clone();
        assert!(digest == before || digest == after, "{kill}: {digest} is neither {before} nor {after}");
        seen[usize::from(digest == after)] += 1;
        let left = fs::read_dir(&plugins).into_iter().flatten().flatten().map(|it| it.file_name());
        let left: Vec<_> = left.filter(|name| name != ".staged").collect();
        assert_eq!(left.len(), usize::from(!now.is_null()), "{kill}: {left:?}");
        let staged = fs::read_dir(plugins.join(".staged")).into_iter().flatten().flatten();
        assert_eq!(staged.count(), 0, "{kill}");
    }
    assert!(seen[0] > 0 && seen[1] > 0, "all of {KILLS} kills came on one side: {seen:?}");
    served.stop().await;
}
