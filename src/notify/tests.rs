//! Are commands and web addresses told within bounds, and is what they are told signed?

use std::{fs, sync::Mutex};

use futures_util::future::BoxFuture;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use super::*;
use protocol::Timestamp;
use sys::{
    children::ChildProcesses,
    clock::{ManualClock, SystemClock},
};

/// Longer than any machine needs; reached only by a defect.
const STUCK: Duration = Duration::from_secs(60);

fn sh(script: &str) -> Vec<String> {
    ["sh", "-c", script].map(str::to_owned).into()
}

fn system() -> Arc<dyn Clock> {
    SystemClock::new()
}

#[test]
fn codes_are_those_of_rfc_4231() {
    let cases: [(&[u8], &[u8], &str); 3] = [
        (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
        (
            b"Jefe",
            b"what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        (
            &[0xaa; 131],
            b"Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        ),
    ];
    for (key, message, code) in cases {
        assert_eq!(hex(&hmac_sha256(key, &[message])), code);
        let (beginning, rest) = message.split_at(3);
        assert_eq!(hex(&hmac_sha256(key, &[beginning, b"", rest])), code, "parts are one message");
    }
}

#[tokio::test]
async fn a_command_reads_all_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("told");
    // More than a pipe holds.
    let told = "question ".repeat(50_000);
    run(&ChildProcesses::default(), &system(), &sh(&format!("cat > {}", place.display())), told.as_bytes())
        .await
        .unwrap();
    assert_eq!(fs::read_to_string(place).unwrap(), told);
}

#[tokio::test]
async fn a_command_that_does_not_read_is_judged_by_its_end() {
    let told = vec![b'x'; 1 << 20];
    assert_eq!(run(&ChildProcesses::default(), &system(), &sh("exit 0"), &told).await, Ok(()));
    let failed =
        run(&ChildProcesses::default(), &system(), &sh("exit 3"), &told).await.unwrap_err().to_string();
    assert!(failed.ends_with("failed with exit status: 3"), "{failed}");
    let missing = run(&ChildProcesses::default(), &system(), &["/no/such/program".to_owned()], &told)
        .await
        .unwrap_err()
        .to_string();
    assert!(missing.ends_with("cannot be run: entity not found"), "{missing}");
}

/// Waits for the file in which a command says its number.
async fn number_in(place: &std::path::Path) -> String {
    let saying = async {
        loop {
            match fs::read_to_string(place) {
                Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
                _ => tokio::task::yield_now().await,
            }
        }
    };
    timeout(STUCK, saying).await.expect("the command never began")
}

/// Waits until there is no such process, or only what is left of it.
async fn gone(number: &str) {
    let going = async {
        while let Ok(stat) = fs::read_to_string(format!("/proc/{number}/stat"))
            && !stat.contains(") Z ")
        {
            tokio::task::yield_now().await;
        }
    };
    timeout(STUCK, going).await.expect("the process lives on");
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_with_all_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("number");
    let clock = ManualClock::starting_at(Timestamp(1_000_000));
    let (given, words) =
        (clock.clone() as Arc<dyn Clock>, format!("sleep 1000 & echo $! > {}; wait", place.display()));
    let mut running = tokio::task::JoinSet::new();
    running.spawn(async move { run(&ChildProcesses::default(), &given, &sh(&words), b"").await });
    let number = number_in(&place).await;
    clock.advance(Duration::from_secs(30));
    let failed = timeout(STUCK, running.join_next()).await.unwrap().unwrap().unwrap().unwrap_err();
    assert!(failed.to_string().ends_with("took more than 30 s and was ended"), "{failed}");
    gone(&number).await;
}

#[tokio::test]
async fn a_command_ends_when_nobody_waits_for_it_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("number");
    let words = format!("sleep 1000 & echo $! > {}; wait", place.display());
    let mut running = tokio::task::JoinSet::new();
    running.spawn(async move { run(&ChildProcesses::default(), &system(), &sh(&words), b"").await });
    let number = number_in(&place).await;
    running.shutdown().await;
    gone(&number).await;
}

/// Takes one request and answers it; says its head and body.
async fn answer(listener: &TcpListener, status: &str) -> (String, Vec<u8>) {
    let (mut stream, _) = timeout(STUCK, listener.accept()).await.expect("nobody asks").unwrap();
    let request = read_request(&mut stream).await;
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).await.unwrap();
    request
}

async fn read_request(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut piece).await.unwrap();
        assert_ne!(read, 0, "the request was cut");
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, _)) = text.split_once("\r\n\r\n") else { continue };
        let length = header(head, "content-length").parse::<usize>().unwrap();
        if bytes.len() == head.len() + 4 + length {
            return (head.to_owned(), bytes[head.len() + 4..].to_vec());
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> &'a str {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(field, _)| field.eq_ignore_ascii_case(name)).unwrap_or_else(|| panic!("{name}: {head}")).1
}

async fn hook() -> (TcpListener, WebhookTarget) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook?for=me", listener.local_addr().unwrap());
    (listener, WebhookTarget { url, secret: b"a secret".to_vec() })
}

#[tokio::test]
async fn what_is_posted_is_signed_with_its_time() {
    let (listener, hook) = hook().await;
    let clock: Arc<dyn Clock> = ManualClock::starting_at(Timestamp(1_700_000_000_900_000));
    let (posted, (head, body)) =
        tokio::join!(hook.post(&clock, br#"{"a":1}"#.to_vec()), answer(&listener, "204 No Content"));
    assert_eq!(posted, Ok(()));
    assert!(head.starts_with("POST /hook?for=me HTTP/1.1\r\n"), "{head}");
    assert_eq!((header(&head, TIMESTAMP_HEADER), body.as_slice()), ("1700000000", br#"{"a":1}"#.as_slice()));
    let signed = hmac_sha256(b"a secret", &[br#"1700000000.{"a":1}"#]);
    assert_eq!(header(&head, SIGNATURE_HEADER), format!("sha256={}", hex(&signed)));
    assert!(!head.contains("a secret"), "{head}");
}

/// Pauses are over at once, and no try takes too long.
struct Hurried {
    paused: Mutex<Vec<Duration>>,
}

impl Clock for Hurried {
    fn now(&self) -> Timestamp {
        Timestamp(1_700_000_000_000_000).plus(self.monotonic())
    }

    fn monotonic(&self) -> Duration {
        self.paused.lock().unwrap().iter().sum()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        if duration == Duration::from_secs(10) {
            return Box::pin(std::future::pending());
        }
        self.paused.lock().unwrap().push(duration);
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_signed_anew() {
    let (listener, hook) = hook().await;
    let clock: Arc<dyn Clock> = Arc::new(Hurried { paused: Mutex::default() });
    let answering = async {
        let mut times = Vec::new();
        for status in ["503 Busy", "429 Too Many", "200 OK"] {
            times.push(header(&answer(&listener, status).await.0, TIMESTAMP_HEADER).to_owned());
        }
        times
    };
    let (posted, times) = tokio::join!(hook.post(&clock, b"{}".to_vec()), answering);
    assert_eq!(posted, Ok(()));
    assert_eq!(times, ["1700000000", "1700000002", "1700000017"]);
}

#[tokio::test]
async fn what_does_not_pass_is_given_up() {
    let (listener, hook) = hook().await;
    drop(listener);
    let clock: Arc<dyn Clock> = Arc::new(Hurried { paused: Mutex::default() });
    let error = hook.post(&clock, b"{}".to_vec()).await.unwrap_err().to_string();
    assert!(error.contains("cannot be reached: ") && error.ends_with(", 3 times"), "{error}");
    assert_eq!(clock.monotonic(), Duration::from_secs(17));
}

#[tokio::test]
async fn what_is_refused_is_not_tried_again_and_a_redirect_is_not_followed() {
    for status in ["403 Forbidden", "302 Found\r\nLocation: http://127.0.0.1:1/"] {
        let (listener, hook) = hook().await;
        let clock = system();
        let (posted, _) = tokio::join!(hook.post(&clock, b"{}".to_vec()), answer(&listener, status));
        let error = posted.unwrap_err().to_string();
        assert!(error.starts_with("127.0.0.1 (setting approval.webhook.url) answered "), "{error}");
        assert!(!error.contains("for=me"), "{error}");
    }
}
