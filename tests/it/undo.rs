//! Does undoing a session's changes bring back every byte, and does it keep what a person did since? (Spec 05, "Undo".)

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};

use crate::{
    kills::Seed,
    recording::Chance,
    support::{Client, House, Reply, Running, Script},
};

const WRITER: &str = "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\n\
                      tools: [write_file, edit_file, delete_file, move_file]\n---\nYou write.\n";
const ALLOW: &str = "[[rule]]\ntool = [\"write_file\", \"edit_file\", \"delete_file\", \"move_file\"]\ndecision = \"allow\"\n";
const CHANGES: usize = 100;
const NAMES: &[&str] = &["a", "b", "c.txt", "d/e", "d/f/g", "h/i", "ä"];

type Files = BTreeMap<String, Vec<u8>>;

fn files(folder: &Path) -> Files {
    fn gather(root: &Path, folder: &Path, files: &mut Files) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                gather(root, &path, files);
                continue;
            }
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.insert(name, fs::read(&path).unwrap());
        }
    }
    let mut found = Files::new();
    gather(folder, folder, &mut found);
    found
}

/// Changes as a model would ask for them, each of which is possible, with the files before each and after the last.
struct Session {
    calls: Vec<(&'static str, Value)>,
    states: Vec<Files>,
}

impl Session {
    fn from(mut now: Files, chance: &mut Chance) -> Session {
        let (mut calls, mut states) = (Vec::new(), vec![now.clone()]);
        while calls.len() < CHANGES {
            let there: Vec<String> = now.keys().cloned().collect();
            let (name, to) = (chance.pick(NAMES).to_string(), chance.pick(NAMES).to_string());
            // A file where a folder is, or the other way round, is refused: that is tested elsewhere.
            let line = format!("line {} of change {}", chance.below(1_000), calls.len());
            let call = match chance.below(5) {
                0 | 1 => {
                    let content = format!("{line}\nand more\n");
                    // A file's line ends stay what they are.
                    let has_crlf = now.get(&name).is_some_and(|it| it.windows(2).any(|pair| pair == b"\r\n"));
                    let written = if has_crlf { content.replace('\n', "\r\n") } else { content.clone() };
                    now.insert(name.clone(), written.into_bytes());
                    ("write_file", json!({ "path": name, "content": content }))
                }
                2 if !there.is_empty() => {
                    let name = chance.pick(&there);
                    let text = String::from_utf8(now[name].clone()).unwrap();
                    let Some(old) = text.lines().next().filter(|it| text.matches(it).count() == 1) else {
                        continue;
                    };
                    now.insert(name.clone(), text.replacen(old, &line, 1).into_bytes());
                    ("edit_file", json!({ "path": name, "oldString": old, "newString": line }))
                }
                3 if !there.is_empty() => {
                    let name = chance.pick(&there);
                    now.remove(name);
                    ("delete_file", json!({ "path": name }))
                }
                4 if now.contains_key(&name) && !now.contains_key(&to) => {
                    let bytes = now.remove(&name).unwrap();
                    now.insert(to.clone(), bytes);
                    ("move_file", json!({ "from": name, "to": to }))
                }
                _ => continue,
            };
            calls.push(call);
            states.push(now.clone());
        }
        Session { calls, states }
    }
}

/// What was kept, changed and is to be taken back.
struct Scene {
    running: Running,
    client: Client,
    session: String,
    states: Vec<Files>,
    calls: Vec<String>,
}

impl Scene {
    async fn new(chance: &mut Chance) -> Scene {
        let house = House::new()
            .agent("writer", WRITER)
            .rules("a", ALLOW)
            .file("a", "one\r\ntwo\r\n")
            .file("c.txt", "no newline at the end")
            .file("untouched", "x\n");
        let plan = Session::from(files(&house.work()), chance);
        let turns = plan.calls.iter().map(|call| Reply::calls(std::slice::from_ref(call)));
        let script = Script::new(turns.chain([Reply::done("done")]).collect::<Vec<_>>());
        let running = house.script(&script).boot().await;
        let mut client = running.client();
        let limits = json!({ "limits": { "maxTurns": 500 } });
        let (run, session) = client.start(&running, "writer", limits).await;
        assert_eq!(client.ended(&run).await["reason"], "GOAL");
        let log = running.log().await;
        let begun = log.iter().filter(|it| it["type"] == "tool.state" && it["data"]["to"] == "validating");
        let calls = begun.map(|it| it["data"]["callId"].as_str().unwrap().to_owned()).take(CHANGES).collect();
        let scene = Scene { running, client, session, states: plan.states, calls };
        scene.is_as_before(CHANGES);
        scene
    }

    /// Each file is as it was before this change.
    fn is_as_before(&self, change: usize) {
        let (found, wanted) = (files(self.running.work()), &self.states[change]);
        assert!(found == *wanted, "before change {change}: {found:?}, not {wanted:?}");
    }

    fn to(&self, change: usize, force: bool) -> Value {
        json!({ "sessionId": self.session, "toCallId": self.calls[change], "force": force })
    }
}

#[tokio::test]
async fn a_hundred_random_changes_are_undone_byte_for_byte() {
    let seed = Seed::new();
    let mut chance = Chance::new(seed.0);
    for _ in 0..3 {
        let mut scene = Scene::new(&mut chance).await;
        let mut at = u64::try_from(CHANGES).unwrap();
        while at != 0 {
            at = if chance.once_in(4) { 0 } else { chance.below(at) };
            let change = usize::try_from(at).unwrap();
            scene.client.call("session/undo", scene.to(change, false)).await;
            scene.is_as_before(change);
        }
        drop(scene.client);
        scene.running.stop().await;
    }
}

#[tokio::test]
async fn what_a_person_changed_since_is_kept_unless_they_say_otherwise() {
    let seed = Seed::new();
    let mut chance = Chance::new(seed.0);
    let mut n_refused = 0;
    for _ in 0..3 {
        let mut scene = Scene::new(&mut chance).await;
        let (first, last) = (&scene.states[0], &scene.states[CHANGES]);
        let mine = scene.running.work().join("a");
        let was_changed = first.get("a") != last.get("a");
        // A person writes what no call wrote; where a folder is, they cannot.
        fs::write(&mine, "mine\n").unwrap();
        let before = files(scene.running.work());
        let (kind, error) = scene.client.refused("session/undo", scene.to(0, false)).await;
        assert_eq!(
            (kind.as_str(), &error["data"]["details"]["restored"]),
            ("FILE_CONFLICT", &json!([])),
            "{error}"
        );
        assert_eq!(files(scene.running.work()), before, "nothing is touched");
        n_refused += usize::from(was_changed);
        scene.client.call("session/undo", scene.to(0, true)).await;
        scene.is_as_before(0);
        drop(scene.client);
        scene.running.stop().await;
    }
    assert!(0 < n_refused, "no change was in the way");
}

#[tokio::test]
async fn a_place_that_a_move_left_and_another_file_took_is_given_back() {
    let calls = [
        ("move_file", json!({ "from": "a", "to": "b" })),
        ("write_file", json!({ "path": "a", "content": "new\n" })),
    ];
    let turns = calls.iter().map(|call| Reply::calls(std::slice::from_ref(call)));
    let script = Script::new(turns.chain([Reply::done("done")]).collect::<Vec<_>>());
    let house = House::new().agent("writer", WRITER).rules("a", ALLOW).file("a", "old\n").script(&script);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "writer", json!({})).await;
    client.ended(&run).await;
    let wanted = Files::from([("a".to_owned(), b"new\n".to_vec()), ("b".to_owned(), b"old\n".to_vec())]);
    assert_eq!(files(running.work()), wanted);
    let log = running.log().await;
    let first = log.iter().find(|it| it["type"] == "file.changed").unwrap()["data"]["callId"].clone();
    client.call("session/undo", json!({ "sessionId": session, "toCallId": first })).await;
    assert_eq!(files(running.work()), Files::from([("a".to_owned(), b"old\n".to_vec())]));
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_file_that_a_person_made_where_a_moved_one_came_from_is_named_and_kept() {
    let calls = [("move_file", json!({ "from": "a", "to": "b" }))];
    let script = Script::new([Reply::calls(&calls), Reply::done("done")]);
    let house = House::new().agent("writer", WRITER).rules("a", ALLOW).file("a", "old\n").script(&script);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "writer", json!({})).await;
    client.ended(&run).await;
    fs::write(running.work().join("a"), "mine\n").unwrap();
    let undo = |force: bool| json!({ "sessionId": session, "lastTurn": true, "force": force });
    let (kind, error) = client.refused("session/undo", undo(false)).await;
    assert_eq!(kind, "FILE_CONFLICT");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("/a` is there again, so moving `"), "{message}");
    let now = Files::from([("a".to_owned(), b"mine\n".to_vec()), ("b".to_owned(), b"old\n".to_vec())]);
    assert_eq!(files(running.work()), now);
    client.call("session/undo", undo(true)).await;
    assert_eq!(files(running.work()), Files::from([("a".to_owned(), b"old\n".to_vec())]));
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn permissions_that_a_person_gave_a_changed_file_stay() {
    use std::os::unix::fs::PermissionsExt as _;
    let calls = [("write_file", json!({ "path": "a", "content": "new\n" }))];
    let script = Script::new([Reply::calls(&calls), Reply::done("done")]);
    let house = House::new().agent("writer", WRITER).rules("a", ALLOW).file("a", "old\n").script(&script);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "writer", json!({})).await;
    client.ended(&run).await;
    let file = running.work().join("a");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    client.call("session/undo", json!({ "sessionId": session, "lastTurn": true })).await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "old\n");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o755);
    drop(client);
    running.stop().await;
}
