//! Agents from a repository's URL: by one digest, untrusted until somebody has read them, nothing of a stranger's run, and nothing
//! left behind. The git is this machine's, the repositories are the test's.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{Client, House, Running};

const SCOUT: &str = "---\nname: scout\ndescription: Looks.\ntools: Read, Bash(git:*)\n---\nLook.\n";
const FREE: &str = "---\nkind: agent\nname: free\ndescription: Does.\ntools: [write_file]\napproval: { autoApprove: [high] }\n---\nDo.\n";

/// A house whose git has no settings but these.
fn house() -> House {
    let mut house = House::new();
    let path = std::env::var_os("PATH").unwrap();
    house.sources.environment =
        vec![("PATH".into(), path), ("HOME".into(), house.dir.path().as_os_str().to_owned())];
    house
}

/// A repository in the house.
struct Repository {
    folder: PathBuf,
}

impl Repository {
    fn new(house: &House, name: &str) -> Repository {
        let folder = house.dir.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        let repository = Repository { folder };
        repository.git(&["init", "--quiet", "--initial-branch=main", "."], "");
        repository
    }

    fn git(&self, arguments: &[&str], input: &str) -> String {
        let mut child = Command::new("git")
            .args(arguments)
            .current_dir(&self.folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Ada")))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "ada@example.com")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "git {arguments:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn file(&self, path: &str, text: impl AsRef<[u8]>) -> &Repository {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Commits everything, and answers the commit.
    fn commit(&self) -> String {
        self.git(&["add", "--all", "--force"], "");
        self.git(&["commit", "--quiet", "--message=more"], "");
        self.git(&["rev-parse", "HEAD"], "")
    }

    /// Makes a commit of what no work tree could hold.
    fn commit_tree(&self, tree: &str) {
        let commit = self.git(&["commit-tree", "-m", "odd", tree], "");
        self.git(&["update-ref", "refs/heads/main", &commit], "");
    }

    fn url(&self) -> String {
        format!("git+file://{}", self.folder.display())
    }
}

/// What is left of what was fetched.
fn left(house: &House) -> bool {
    house.dir.path().join("state/fetched").exists()
}

async fn changes(running: &Running) -> Vec<Value> {
    running.log().await.into_iter().filter(|event| event["type"] == "agents.changed").collect()
}

fn files(imported: &Value) -> Vec<(&str, &str)> {
    let files = imported["files"].as_array().unwrap().iter();
    files.map(|it| (it["name"].as_str().unwrap(), it["outcome"].as_str().unwrap())).collect()
}

/// The reason that programs see, and all that is told.
async fn reason(client: &mut Client, params: Value) -> (String, String) {
    let (_, error) = client.refused("agents/import", params).await;
    (error["data"]["details"]["reason"].as_str().unwrap_or_default().to_owned(), error.to_string())
}

#[tokio::test]
async fn what_comes_into_a_project_waits_to_be_read() {
    let house = house();
    let theirs = Repository::new(&house, "theirs");
    theirs.file(".claude/agents/scout.md", SCOUT).file("README.md", "# Theirs\n").file("notes/a.md", SCOUT);
    let commit = theirs.commit();
    let running = house.boot().await;
    let mut client = running.client();
    let asked = json!({ "url": theirs.url(), "scope": "project", "workspace": running.work() });
    let imported = client.call("agents/import", asked.clone()).await;
    assert_eq!(files(&imported), [("scout", "written")], "{imported}");
    let source = format!("file://{}/.claude/agents/scout.md", theirs.folder.display());
    assert_eq!(imported["files"][0]["source"], source);
    assert_eq!(imported["files"][0]["format"], "claude", "by its folder");
    let origin = &imported["origin"];
    assert_eq!(
        (&origin["commit"], origin["url"].as_str()),
        (&json!(commit), source.strip_suffix("/.claude/agents/scout.md"))
    );
    let summed = Command::new("sh")
        .args(["-c", "sha256sum .claude/agents/scout.md | sha256sum | cut -d' ' -f1"])
        .current_dir(&theirs.folder)
        .output()
        .unwrap();
    let summed = String::from_utf8(summed.stdout).unwrap();
    assert_eq!(origin["digest"], format!("sha256:{}", summed.trim()), "anybody can make it anew");
    let got = client.call("agents/get", json!({ "name": "scout", "workspace": running.work() })).await;
    assert_eq!(
        (&got["status"], got["approval"]["rules"].as_array().unwrap().len()),
        (&json!("untrusted"), 2),
        "{got}"
    );
    let (kind, _) = client
        .refused("run/start", json!({ "workspace": running.work(), "agent": "scout", "prompt": "p" }))
        .await;
    assert_eq!(kind, "WORKSPACE_NOT_TRUSTED");
    let told = changes(&running).await;
    assert_eq!((told.len(), &told[0]["data"]["origin"], &told[0]["seq"]), (1, origin, &imported["seq"]));
    // The same again changes nothing, with or without its digest.
    let mut named = asked.clone();
    named["digest"] = origin["digest"].clone();
    for asked in [asked, named] {
        let again = client.call("agents/import", asked).await;
        assert_eq!((files(&again), again.get("seq")), (vec![("scout", "unchanged")], None));
    }
    assert_eq!(changes(&running).await.len(), 1);
    assert!(!left(&house));
    running.stop().await;
}

#[tokio::test]
async fn into_ones_own_folder_comes_only_what_was_read() {
    let house = house();
    let theirs = Repository::new(&house, "theirs");
    theirs.file("team/free.md", FREE).file("team/README.md", "No agent.").commit();
    theirs.git(&["tag", "-a", "v1", "-m", "one"], "");
    let running = house.boot().await;
    let mut client = running.client();
    let ask = |more: Value| {
        let mut asked = json!({ "url": theirs.url(), "scope": "user" });
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        asked
    };
    let (kind, error) = client.refused("agents/import", ask(json!({}))).await;
    assert_eq!(kind, "INVALID_PARAMS");
    let told = error["message"].as_str().unwrap();
    assert!(told.contains("/digest") && told.contains("dryRun"), "{told}");
    let looked = client.call("agents/import", ask(json!({ "dryRun": true }))).await;
    let free = &looked["files"][0];
    assert_eq!((files(&looked), &free["text"]), (vec![("free", "written")], &json!(FREE)), "{looked}");
    let permissions = json!({
        "tools": ["write_file"], "servers": [], "deny": [], "inherits": false, "agents": false,
        "autoApprove": ["high"], "mcpServers": [],
    });
    assert_eq!(free["permissions"], permissions);
    assert!(
        looked["problems"][0]["message"].as_str().unwrap().starts_with("1 of its Markdown files"),
        "{looked}"
    );
    let digest = &looked["origin"]["digest"];
    // Another digest than what comes.
    let other = format!("sha256:{}", "0".repeat(64));
    for more in [json!({ "digest": other }), json!({ "digest": other, "dryRun": true })] {
        let (kind, error) = client.refused("agents/import", ask(more)).await;
        let details = &error["data"]["details"];
        assert_eq!(
            (kind.as_str(), &details["now"], &details["expected"]),
            ("CONFLICT", digest, &json!(other))
        );
    }
    let agents = house.dir.path().join("agents");
    assert_eq!(fs::read_dir(&agents).unwrap().count(), 0);
    let imported = client.call("agents/import", ask(json!({ "digest": digest }))).await;
    assert_eq!((files(&imported), imported["files"][0].get("text")), (vec![("free", "written")], None));
    assert_eq!(client.call("agents/get", json!({ "name": "free" })).await["status"], "ok");
    // A branch moves, and what was read is not what comes; a tag stays.
    theirs.file("team/free.md", FREE.replace("Do.", "Do harm.")).commit();
    for url in [theirs.url(), format!("{}#main", theirs.url())] {
        let (kind, error) = client
            .refused("agents/import", ask(json!({ "url": url, "digest": digest, "onConflict": "replace" })))
            .await;
        assert_eq!(kind, "CONFLICT", "{error}");
    }
    assert_eq!(fs::read_to_string(agents.join("free.md")).unwrap(), FREE);
    let tagged = ask(json!({ "url": format!("{}#v1", theirs.url()), "digest": digest }));
    let again = client.call("agents/import", tagged).await;
    assert_eq!((files(&again), again.get("seq")), (vec![("free", "unchanged")], None));
    // What is no agent's file is no part of the digest.
    theirs.file("team/free.md", FREE).file("team/README.md", "Still no agent.");
    let commit = theirs.commit();
    let by_id = ask(json!({ "url": format!("{}#{commit}", theirs.url()), "digest": digest }));
    assert_eq!(files(&client.call("agents/import", by_id).await), [("free", "unchanged")]);
    // Of two of one name the second is called after the repository.
    theirs.file("team/free.md", FREE.replace("Do.", "Else.")).commit();
    fs::rename(theirs.folder.join("team/free.md"), theirs.folder.join("free.md")).unwrap();
    theirs.commit();
    let looked =
        client.call("agents/import", ask(json!({ "onConflict": "namespace", "dryRun": true }))).await;
    assert_eq!(files(&looked), [("theirs-free", "written")]);
    running.stop().await;
}

#[tokio::test]
async fn what_cannot_be_had_is_told_with_what_to_do() {
    let house = house();
    let theirs = Repository::new(&house, "theirs");
    let empty = Repository::new(&house, "empty");
    let plain = Repository::new(&house, "plain");
    theirs.file("scout.md", SCOUT).commit();
    plain.file("README.md", "# No agents\n").commit();
    let running = house.boot().await;
    let mut client = running.client();
    let look = |url: String| json!({ "url": url, "scope": "user", "dryRun": true });
    for (url, expected, word) in [
        (format!("{}#nope", theirs.url()), "notFound", "no such branch"),
        (format!("{}#{}", theirs.url(), "0123456789".repeat(4)), "notFound", "no such branch"),
        (format!("{}-else", theirs.url()), "notFound", "is no repository"),
        (empty.url(), "notFound", "has no commit"),
        (plain.url(), "noAgents", "holds no agent's file"),
        ("ssh://nobody@127.0.0.1:9/r".to_owned(), "unreachable", "cannot be reached"),
    ] {
        let (reason, error) = reason(&mut client, look(url.clone())).await;
        assert_eq!(reason, expected, "{url}: {error}");
        assert!(error.contains(word) && error.contains("hint"), "{url}: {error}");
    }
    for (url, word) in [
        ("https://ada:geheim@127.0.0.1/r.git", "credential helper"),
        ("https://geheim@127.0.0.1/x.md", "are not sent"),
        ("ssh://ada:geheim@127.0.0.1/r", "ssh takes keys"),
        ("http://127.0.0.1/x.md", "name it with https"),
        ("ext::sh -c id", "can be fetched"),
        ("git+file:///r#--upload-pack=id", "a branch, a tag"),
    ] {
        let (kind, error) = client.refused("agents/import", look(url.to_owned())).await;
        let told = error["message"].as_str().unwrap();
        assert!(
            kind == "INVALID_PARAMS" && told.contains(word) && !error.to_string().contains("geheim"),
            "{url}: {told}"
        );
    }
    let both = json!({ "url": theirs.url(), "paths": ["/x.md"], "digest": "sha256:1", "scope": "user" });
    let (_, error) = client.refused("agents/import", both).await;
    let told = error["message"].as_str().unwrap();
    assert!(told.contains("/paths: stand beside") && told.contains("/digest: must be `sha256:`"), "{told}");
    assert!(!left(&house));
    running.stop().await;
}

#[tokio::test]
async fn without_git_it_is_said_so() {
    let mut house = house();
    house.sources.environment = vec![("PATH".into(), house.dir.path().join("nothing").into())];
    let running = house.boot().await;
    let asked = json!({ "url": "git+file:///r", "scope": "user", "dryRun": true });
    let (reason, error) = reason(&mut running.client(), asked).await;
    assert!(reason == "noGit" && error.contains("install git"), "{error}");
    assert!(!left(&house));
    running.stop().await;
}

#[tokio::test]
async fn a_hostile_repository_gets_nothing_done() {
    let house = house();
    let theirs = Repository::new(&house, "theirs");
    let large = format!("{SCOUT}{}", "x".repeat(2 << 20));
    theirs.file("scout.md", SCOUT).file("large.md", large).file(".hidden/x.md", SCOUT);
    // What would do something if it were checked out, or read where it leads to.
    theirs
        .file(".gitattributes", "*.md filter=evil\n")
        .file(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = file:///\n");
    symlink("/etc/passwd", theirs.folder.join("passwd.md")).unwrap();
    symlink("/etc", theirs.folder.join("etc")).unwrap();
    theirs.commit();
    let blob = theirs.git(&["rev-parse", "HEAD:scout.md"], "");
    let odd = theirs.git(&["mktree"], &format!("100644 blob {blob}\tup.md\n"));
    let (root, tab) = (theirs.git(&["rev-parse", "HEAD^{tree}"], ""), '\t');
    let listed = theirs.git(&["ls-tree", &root], "");
    let names = [".git", ".."].map(|name| format!("040000 tree {odd}{tab}{name}\n")).concat();
    let tree = theirs.git(&["mktree"], &format!("{listed}\n{names}"));
    theirs.commit_tree(&tree);
    // Hooks of the user's own git are not for this.
    let hooks = house.dir.path().join("hooks");
    fs::create_dir(&hooks).unwrap();
    for hook in ["post-checkout", "post-merge", "reference-transaction"] {
        let path = hooks.join(hook);
        fs::write(&path, format!("#!/bin/sh\ntouch {}/ran\n", house.dir.path().display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let config = format!(
        "[core]\n\thooksPath = {}\n[filter \"evil\"]\n\tsmudge = touch {}/ran\n",
        hooks.display(),
        house.dir.path().display()
    );
    fs::write(house.dir.path().join(".gitconfig"), config).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let asked = json!({ "url": theirs.url(), "scope": "project", "workspace": running.work() });
    let imported = client.call("agents/import", asked).await;
    assert_eq!(files(&imported), [("scout", "written")], "{imported}");
    let mut told: Vec<String> = imported["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            format!(
                "{}: {}",
                it["path"].as_str().unwrap().rsplit("theirs/").next().unwrap(),
                it["message"].as_str().unwrap()
            )
        })
        .collect();
    told.sort();
    let expected = [
        "../up.md: has a path that no file of a repository has, and is not taken",
        "large.md: is larger than 1024 KiB",
        "passwd.md: is a link, which is not followed",
    ];
    assert_eq!(told, expected);
    let stands: Vec<OsString> = fs::read_dir(running.work().join(".subagentd/agents"))
        .unwrap()
        .map(|it| it.unwrap().file_name())
        .collect();
    assert_eq!(stands, ["scout.md"]);
    assert!(!house.dir.path().join("ran").exists(), "something of theirs ran");
    assert!(!house.dir.path().join("state/up.md").exists());
    // More than anybody reads.
    let many = Repository::new(&house, "many");
    let lines: String = (0..=10_000).map(|number| format!("M 100644 :1 a/{number}.md\n")).collect();
    let stream = format!(
        "blob\nmark :1\ndata {}\n{SCOUT}\ncommit refs/heads/main\ncommitter A <a@example.com> 0 +0000\ndata 1\nm\n{lines}\n",
        SCOUT.len()
    );
    many.git(&["fast-import", "--quiet"], &stream);
    let (reason, error) =
        reason(&mut client, json!({ "url": many.url(), "scope": "user", "dryRun": true })).await;
    assert!(reason == "tooLarge" && error.contains("10001 Markdown files"), "{error}");
    assert!(!left(&house));
    running.stop().await;
}

/// Puts a program of this name into a folder that is the first of the daemon's `PATH`.
fn plant(house: &mut House, name: &str, script: &str) -> PathBuf {
    let home = house.dir.path().to_owned();
    let bin = home.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let program = bin.join(name);
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    house.sources.environment = vec![("PATH".into(), path.into()), ("HOME".into(), home.into_os_string())];
    program
}

/// The owner's way to speak ssh, which hangs and says the number of the git that started it, the first of their group; and the pipe
/// by which it says it.
fn hanging(house: &mut House) -> PathBuf {
    let pipe = house.dir.path().join("begun");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let script = format!(
        "#!/bin/sh\n: > half; cut -d ' ' -f 5 /proc/$$/stat > {}; exec sleep 100000\n",
        pipe.display()
    );
    let program = plant(house, "speak", &script);
    house.sources.environment.push(("GIT_SSH_COMMAND".into(), program.into_os_string()));
    pipe
}

/// An agent may have written in a folder of the `PATH`, and git runs outside of every sandbox.
#[tokio::test]
async fn no_program_that_anybody_but_root_could_plant_is_run_as_git_or_by_it() {
    let mut house = house();
    let ran = house.dir.path().join("ran");
    let script = format!("#!/bin/sh\ntouch {}\nexit 1\n", ran.display());
    plant(&mut house, "git", &script);
    plant(&mut house, "ssh", &script);
    let theirs = Repository::new(&house, "theirs");
    theirs.git(&["commit", "-q", "--allow-empty", "-m", "x"], "");
    let running = house.boot().await;
    let mut client = running.client();
    for url in [theirs.url(), "ssh://127.0.0.1:9/r".to_owned()] {
        let params = json!({ "url": url, "scope": "user", "dryRun": true });
        let answer = client.request("agents/import", params).await;
        assert!(!ran.exists(), "{answer}");
    }
    running.stop().await;
}

/// The number of the git that hangs now.
async fn begun(pipe: &Path) -> String {
    tokio::fs::read_to_string(pipe).await.unwrap().trim().to_owned()
}

fn lives(pid: &str) -> bool {
    Path::new("/proc").join(pid).exists()
}

fn import(id: u64) -> String {
    let params = json!({ "url": "ssh://there/r", "scope": "user", "dryRun": true });
    json!({ "jsonrpc": "2.0", "id": id, "method": "agents/import", "params": params }).to_string()
}

#[tokio::test]
async fn nobody_waits_for_ever_and_nothing_is_left_behind() {
    let (mut house, clock) = house().manual_clock();
    let pipe = hanging(&mut house);
    let running = house.boot().await;
    let mut client = running.client();
    // Cancelled by whoever asked.
    client.send(&import(1)).await;
    let pid = begun(&pipe).await;
    assert!(lives(&pid) && house.dir.path().join("state/fetched/repository/half").exists());
    client.send(r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#).await;
    let answer = client.receive().await;
    assert_eq!((&answer["id"], &answer["error"]["data"]["kind"]), (&json!(1), &json!("REQUEST_CANCELLED")));
    assert!(!lives(&pid) && !left(&house));
    // Too slow.
    client.send(&import(2)).await;
    let pid = begun(&pipe).await;
    clock.advance(Duration::from_secs(120));
    let answer = client.receive().await;
    let data = &answer["error"]["data"];
    assert_eq!(
        (&data["details"]["reason"], &data["retryable"]),
        (&json!("timedOut"), &json!(true)),
        "{answer}"
    );
    assert!(!lives(&pid) && !left(&house));
    // One waits for the other, and can be cancelled as well.
    client.send(&import(3)).await;
    let pid = begun(&pipe).await;
    let mut other = running.client();
    other.send(&import(4)).await;
    other.call("ping", json!({})).await;
    other.send(r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":4}}"#).await;
    assert_eq!(other.receive().await["error"]["data"]["kind"], "REQUEST_CANCELLED");
    client.send(r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":3}}"#).await;
    assert_eq!(client.receive().await["id"], 3);
    other.send(&import(5)).await;
    let next = begun(&pipe).await;
    assert!(!lives(&pid) && lives(&next));
    // The daemon's end.
    running.stop().await;
    assert!(!lives(&next) && !left(&house));
}

#[tokio::test]
async fn what_a_crash_left_is_taken_away() {
    let house = house();
    fs::create_dir_all(house.dir.path().join("state/fetched/repository")).unwrap();
    let running = house.boot().await;
    assert!(!left(&house));
    running.stop().await;
}
