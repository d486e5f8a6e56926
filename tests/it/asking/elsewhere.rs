//! How does a question find a person who is at no client, and what can they do with what they are sent?

use std::{fs, net::SocketAddr, os::unix::fs::PermissionsExt as _, path::PathBuf, time::Duration};

use serde_json::{Value, json};
use subagentd::{
    config::{KeySource, LayeredSetting, SettingLayer},
    daemon::rpc::TcpAcceptor,
    notify::{SIGNATURE_HEADER, TIMESTAMP_HEADER, hex, hmac_sha256},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use super::scene::{ALREADY, Scene, refusal};
use crate::support::{House, STUCK};

const SECRET: &str = "of the receiver and the daemon";

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn by_token(outcome: &str) -> Value {
    json!([outcome, "client", "token"])
}

/// Where the command of the settings puts what it is told, a line each.
struct Letterbox(PathBuf);

impl Letterbox {
    /// Furnishes a house: the command is run when nobody is there for half a minute.
    fn at(house: &mut House) -> Letterbox {
        let place = house.dir.path().join("letters");
        let script = house.dir.path().join("tell.sh");
        let program = format!("letter=$(cat); printf '%s\\n' \"$letter\" >> {}", place.display());
        fs::write(&script, program).unwrap();
        let value = vec!["sh".to_owned(), script.display().to_string()];
        house.config.approval.notify_command = LayeredSetting { value, origin: SettingLayer::User };
        house.config.approval.notify_after.value = seconds(30);
        Letterbox(place)
    }

    fn letters(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits for the nth letter, from 1.
    async fn letter(&self, n: usize) -> Value {
        let coming = async {
            loop {
                match self.letters().get(n - 1) {
                    Some(letter) => return letter.clone(),
                    None => tokio::task::yield_now().await,
                }
            }
        };
        timeout(STUCK, coming).await.expect("nobody was told")
    }
}

async fn with_letterbox() -> (Scene, Letterbox) {
    let mut letterbox = None;
    let furnish = |mut house: House| {
        letterbox = Some(Letterbox::at(&mut house));
        house
    };
    let scene = Scene::with(furnish).await;
    (scene, letterbox.unwrap())
}

fn token(letter: &Value) -> String {
    letter["token"].as_str().unwrap_or_else(|| panic!("no token: {letter}")).to_owned()
}

/// Answers as `subagent approve --token` does; the whole response.
async fn use_token(scene: &mut Scene, token: &str, outcome: &str) -> Value {
    scene.script.request("confirmation/respond", json!({ "token": token, "outcome": outcome })).await
}

/// Lets the daemon of a scene serve TCP too.
async fn on_tcp(scene: &Scene) -> SocketAddr {
    let door = TcpAcceptor::bind("127.0.0.1:0".parse().unwrap(), &scene.house.dir.path().join("token")).await;
    let door = door.unwrap();
    let address = door.address();
    scene.running.daemon.listen_tcp(door);
    address
}

/// One HTTP request as any program makes it, without the token of the daemon's: status and body.
async fn http(address: SocketAddr, request: &str, headers: &str, body: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let text = format!(
        "{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(STUCK, stream.read_to_string(&mut answer)).await.expect("no end").unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

async fn confirm(address: SocketAddr, token: &str, body: &Value) -> (u16, Value) {
    let json = "Content-Type: application/json\r\n";
    http(address, &format!("POST /confirm/{token}"), json, &body.to_string()).await
}

#[tokio::test]
async fn somebody_elsewhere_is_told_in_time_and_answers_once_by_the_token() {
    let (mut scene, letterbox) = with_letterbox().await;
    let run = scene.start("writer", json!({})).await;
    let question = scene.question(&run).await;
    scene.still_open_after(seconds(29), &question).await;
    assert_eq!(letterbox.letters(), [json!(null); 0]);
    scene.pass(seconds(2)).await;
    let letter = letterbox.letter(1).await;
    assert_eq!(letter["type"], "confirmation.requested");
    assert_eq!(letter["confirmation"]["confirmationId"], question["confirmationId"]);
    assert_eq!(letter["confirmation"]["details"]["newContent"], "one\n");
    assert_eq!(letter["confirmation"]["state"], "queued");
    // Once, however long it takes.
    scene.still_open_after(seconds(3_600), &question).await;
    let answered = use_token(&mut scene, &token(&letter), "allowOnce").await;
    assert_eq!(answered["result"]["confirmationId"], question["confirmationId"], "{answered}");
    assert_eq!(scene.over(&question).await, by_token("allowOnce"));
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    // Used, it says what it said, and nothing else.
    let again = use_token(&mut scene, &token(&letter), "allowOnce").await;
    assert_eq!(
        (&again["result"]["seq"], &again["result"]["replayed"]),
        (&answered["result"]["seq"], &json!(true))
    );
    let other = use_token(&mut scene, &token(&letter), "deny").await;
    assert_eq!(refusal(&other), (ALREADY.to_owned(), by_token("allowOnce")));
    assert_eq!(scene.calls(&run, "write_file").await, ["success"]);
    assert_eq!(scene.logged("file.changed").await.len(), 1);
    assert_eq!(letterbox.letters().len(), 1);
    scene.end([]).await;
}

#[tokio::test]
async fn nobody_elsewhere_is_told_of_what_was_answered_in_time_or_has_somebody_there() {
    let (mut scene, letterbox) = with_letterbox().await;
    let run = scene.start("writer", json!({})).await;
    let question = scene.question(&run).await;
    scene.still_open_after(seconds(29), &question).await;
    scene.answer(&question, "deny").await;
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    scene.pass(seconds(60)).await;
    let mut ann = scene.person("ann").await;
    let session = scene.session().await;
    ann.attach(&session).await;
    let run = scene.start_in(&session, "writer", json!({})).await;
    let question = scene.question(&run).await;
    scene.looked(&question).await;
    scene.still_open_after(seconds(3_600), &question).await;
    ann.answer(&question, "deny").await;
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    // What it had set off has ended when the daemon has.
    let _house = std::sync::Arc::clone(&scene.house.dir);
    scene.end([ann]).await;
    assert_eq!(letterbox.letters(), [json!(null); 0]);
}

#[tokio::test]
async fn a_token_answers_no_other_question() {
    let (mut scene, letterbox) = with_letterbox().await;
    let run = scene.start("two", json!({})).await;
    let questions = scene.questions(&run, 2).await;
    scene.looked(&questions[0]).await;
    scene.pass(seconds(31)).await;
    let letters = [letterbox.letter(1).await, letterbox.letter(2).await];
    let is_first =
        |letter: &&Value| letter["confirmation"]["confirmationId"] == questions[0]["confirmationId"];
    let first = token(letters.iter().find(is_first).unwrap());
    let second = token(letters.iter().find(|letter| !is_first(letter)).unwrap());
    assert_ne!(first, second);
    // Named beside it, and put together from both.
    let params = json!({
        "token": first, "confirmationId": questions[1]["confirmationId"], "outcome": "allowOnce",
    });
    let (kind, error) = scene.script.refused("confirmation/respond", params).await;
    assert_eq!(kind, "INVALID_PARAMS", "{error}");
    let (subject, _) = second.rsplit_once('.').unwrap();
    let (_, code) = first.rsplit_once('.').unwrap();
    for forged in [format!("{subject}.{code}"), format!("{first}x"), first[..first.len() - 4].to_owned()] {
        let params = json!({ "token": forged, "outcome": "allowOnce" });
        let (kind, error) = scene.script.refused("confirmation/respond", params).await;
        assert_eq!(kind, "FORBIDDEN", "{error}");
    }
    for question in &questions {
        assert_eq!(scene.get(question).await["state"], "queued");
    }
    use_token(&mut scene, &first, "allowOnce").await;
    assert_eq!(scene.over(&questions[0]).await, by_token("allowOnce"));
    scene.looked(&questions[1]).await;
    assert_eq!(scene.get(&questions[1]).await["state"], "queued");
    use_token(&mut scene, &second, "deny").await;
    assert_eq!(scene.over(&questions[1]).await, by_token("deny"));
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    let written = (scene.read("a.txt"), scene.read("b.txt"));
    let expected = match questions[0]["details"]["newContent"] == "a\n" {
        true => (Some("a\n".to_owned()), None),
        false => (None, Some("b\n".to_owned())),
    };
    assert_eq!(written, expected);
    scene.end([]).await;
}

#[tokio::test]
async fn a_token_says_nothing_about_a_question_that_has_changed_and_a_new_one_is_sent() {
    let (mut scene, letterbox) = with_letterbox().await;
    let run = scene.start("writer", json!({})).await;
    let question = scene.question(&run).await;
    scene.looked(&question).await;
    scene.pass(seconds(31)).await;
    let old = token(&letterbox.letter(1).await);
    fs::write(scene.house.work().join("note.txt"), "mine\n").unwrap();
    for _ in 0..2 {
        let answered = use_token(&mut scene, &old, "allowOnce").await;
        let error = &answered["error"]["data"];
        assert_eq!(error["kind"], "CONFIRMATION_STALE", "{answered}");
        assert_eq!(error["details"]["confirmation"]["details"]["oldContent"], "mine\n");
    }
    assert_eq!(scene.read("note.txt").as_deref(), Some("mine\n"));
    let letter = letterbox.letter(2).await;
    assert_eq!(letter["confirmation"]["confirmationId"], question["confirmationId"]);
    assert_eq!(letter["confirmation"]["details"]["oldContent"], "mine\n");
    assert_ne!(token(&letter), old);
    use_token(&mut scene, &token(&letter), "allowOnce").await;
    assert_eq!(scene.over(&question).await, by_token("allowOnce"));
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    assert_eq!(scene.read("note.txt").as_deref(), Some("one\n"));
    // It is over, whatever the token was bound to.
    let late = use_token(&mut scene, &old, "allowOnce").await;
    assert_eq!(refusal(&late), (ALREADY.to_owned(), by_token("allowOnce")));
    scene.end([]).await;
}

#[tokio::test]
async fn a_token_outlives_the_daemon_that_made_it() {
    let (mut scene, letterbox) = with_letterbox().await;
    let run = scene.start("writer", json!({})).await;
    let question = scene.question(&run).await;
    scene.looked(&question).await;
    scene.pass(seconds(31)).await;
    let token = token(&letterbox.letter(1).await);
    let mut scene = scene.down_for(seconds(600)).await;
    let shown = scene.script.call("confirmation/get", json!({ "token": token })).await;
    assert_eq!(shown["confirmation"]["confirmationId"], question["confirmationId"]);
    let answered = use_token(&mut scene, &token, "allowOnce").await;
    assert_eq!(answered["result"]["resolution"]["name"], "token", "{answered}");
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    let mut scene = scene.restart().await;
    let again = use_token(&mut scene, &token, "allowOnce").await;
    assert_eq!(again["result"]["replayed"], true, "{again}");
    assert_eq!(scene.calls(&run, "write_file").await, ["success"]);
    scene.end([]).await;
}

#[tokio::test]
async fn a_token_answers_by_http_without_any_other() {
    let (mut scene, letterbox) = with_letterbox().await;
    let address = on_tcp(&scene).await;
    let run = scene.start("writer", json!({})).await;
    let question = scene.question(&run).await;
    scene.looked(&question).await;
    scene.pass(seconds(31)).await;
    let letter = letterbox.letter(1).await;
    let token = token(&letter);
    assert_eq!(letter["confirmUrl"], format!("http://{address}/confirm/{token}"));
    let allow = json!({ "outcome": "allowOnce" });
    let path = format!("POST /confirm/{token}");
    // A page that a browser shows can do none of these without being asked about first.
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    assert_eq!(http(address, &path, form, "outcome=allowOnce").await.0, 415);
    assert_eq!(http(address, &path, "", &allow.to_string()).await.0, 415);
    assert_eq!(http(address, &format!("GET /confirm/{token}"), "", "").await.0, 405);
    assert_eq!(confirm(address, &token, &json!(["allowOnce"])).await.0, 400);
    assert_eq!(confirm(address, &token, &json!({})).await.0, 400);
    assert_eq!(confirm(address, &token, &json!({ "outcome": "yes" })).await.0, 400);
    assert_eq!(confirm(address, "made.up.x", &allow).await.0, 403);
    assert_eq!(confirm(address, &format!("{token}x"), &allow).await.0, 403);
    // The token of a question opens nothing else.
    let bearer = format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n");
    let status = r#"{"jsonrpc":"2.0","id":1,"method":"daemon/status"}"#;
    assert_eq!(http(address, "POST /rpc", &bearer, status).await.0, 401);
    // Nor does the one in the body count.
    let body = json!({ "outcome": "allowOnce", "token": token });
    assert_eq!(confirm(address, "made.up.x", &body).await.0, 403);
    let body = json!({ "outcome": "modify", "content": "two\n" });
    let (status, error) = confirm(address, &token, &body).await;
    assert_eq!((status, &error["error"]["data"]["kind"]), (409, &json!("OUTCOME_NOT_OFFERED")));
    scene.looked(&question).await;
    assert_eq!(scene.get(&question).await["state"], "queued");
    let (status, first) = confirm(address, &token, &allow).await;
    assert_eq!((status, &first["resolution"]["outcome"]), (200, &json!("allowOnce")), "{first}");
    assert_eq!(scene.over(&question).await, by_token("allowOnce"));
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    let (status, again) = confirm(address, &token, &allow).await;
    assert_eq!((status, &again["seq"], &again["replayed"]), (200, &first["seq"], &json!(true)));
    let (status, late) = confirm(address, &token, &json!({ "outcome": "deny", "message": "no" })).await;
    assert_eq!((status, refusal(&late)), (409, (ALREADY.to_owned(), by_token("allowOnce"))));
    assert_eq!(scene.logged("file.changed").await.len(), 1);
    assert_eq!(scene.read("note.txt").as_deref(), Some("one\n"));
    scene.end([]).await;
}

/// A web address of the owner's.
struct Hook(TcpListener);

struct Posted {
    head: String,
    body: String,
}

impl Hook {
    fn at(house: &mut House) -> Hook {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let listener = TcpListener::from_std(listener).unwrap();
        let secret = house.dir.path().join("secret");
        fs::write(&secret, format!("{SECRET}\n")).unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        let approval = &mut house.config.approval;
        approval.webhook_url.value = Some(format!("http://{}/hook", listener.local_addr().unwrap()));
        approval.webhook_secret.value = Some(KeySource::File(secret));
        approval.notify_after.value = seconds(30);
        Hook(listener)
    }

    /// The next that is posted, which is taken.
    async fn next(&self) -> Posted {
        let (mut stream, _) = timeout(STUCK, self.0.accept()).await.expect("nobody posted").unwrap();
        let mut bytes = Vec::new();
        let posted = loop {
            let read = timeout(STUCK, stream.read_buf(&mut bytes)).await.expect("half a post").unwrap();
            assert_ne!(read, 0, "half a post");
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let posted = Posted { head: head.to_owned(), body: body.to_owned() };
            if posted.header("content-length").parse::<usize>().unwrap() <= body.len() {
                break posted;
            }
        };
        stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").await.unwrap();
        stream.shutdown().await.unwrap();
        posted
    }
}

impl Posted {
    fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.unwrap_or_else(|| panic!("no {name}: {}", self.head)).1.trim()
    }

    /// What was told, if whoever knows the secret signed it.
    fn verified(&self) -> Value {
        let parts = [self.header(TIMESTAMP_HEADER).as_bytes(), b".", self.body.as_bytes()];
        let code = hex(&hmac_sha256(SECRET.as_bytes(), &parts));
        assert_eq!(self.header(SIGNATURE_HEADER), format!("sha256={code}"));
        assert!(self.head.starts_with("POST /hook HTTP/1.1\r\n"), "{}", self.head);
        assert_eq!(self.header("content-type"), "application/json");
        serde_json::from_str(&self.body).unwrap()
    }
}

async fn with_hook() -> (Scene, Hook) {
    let mut hook = None;
    let furnish = |mut house: House| {
        hook = Some(Hook::at(&mut house));
        house
    };
    let scene = Scene::with(furnish).await;
    (scene, hook.unwrap())
}

#[tokio::test]
async fn a_webhook_is_told_signed_and_without_the_token_where_nothing_takes_it_back() {
    let (mut scene, hook) = with_hook().await;
    let run = scene.start("writer", json!({})).await;
    let question = scene.question(&run).await;
    scene.looked(&question).await;
    scene.pass(seconds(31)).await;
    let posted = hook.next().await;
    let told = posted.verified();
    assert_eq!(told["type"], "confirmation.requested");
    assert_eq!(told["confirmation"]["confirmationId"], question["confirmationId"]);
    assert_eq!((told.get("token"), told.get("confirmUrl")), (None, None));
    // The time is the daemon's, in seconds.
    assert_eq!(posted.header(TIMESTAMP_HEADER), "1700000031");
    scene.answer(&question, "deny").await;
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    scene.end([]).await;
}

#[tokio::test]
async fn a_webhook_has_the_way_to_answer_where_the_daemon_serves_it() {
    let (mut scene, hook) = with_hook().await;
    let address = on_tcp(&scene).await;
    let run = scene.start("writer", json!({})).await;
    let question = scene.question(&run).await;
    scene.looked(&question).await;
    scene.pass(seconds(31)).await;
    let told = hook.next().await.verified();
    let token = token(&told);
    assert_eq!(told["confirmUrl"], format!("http://{address}/confirm/{token}"));
    let (status, answered) =
        confirm(address, &token, &json!({ "outcome": "deny", "message": "not now" })).await;
    assert_eq!((status, &answered["resolution"]["outcome"]), (200, &json!("deny")), "{answered}");
    assert_eq!(scene.over(&question).await, by_token("deny"));
    assert_eq!(scene.ended(&run).await["reason"], "GOAL");
    assert!(scene.model_was_told("writer").contains("not now"));
    assert_eq!(scene.read("note.txt"), None);
    scene.end([]).await;
}
