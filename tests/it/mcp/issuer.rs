//! A server that wants people to sign in, and who signs them in to it: by hand, on this machine's loopback, so that it can
//! misbehave.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// What it knows, and how it behaves.
#[derive(Default)]
pub struct Desk {
    pub mode: &'static str,
    /// Tokens that are good.
    pub access: BTreeSet<String>,
    pub refresh: Option<String>,
    /// Challenge and redirect of each code.
    codes: BTreeMap<String, (String, String)>,
    issued: usize,
    /// Methods and paths, in the order in which they came.
    asked: Vec<String>,
    refused: usize,
    base: String,
}

impl Desk {
    fn issue(&mut self) -> Value {
        self.issued += 1;
        let (access, refresh) =
            (format!("access-token-number-{}", self.issued), format!("refresh-token-number-{}", self.issued));
        self.access.insert(access.clone());
        self.refresh = Some(refresh.clone());
        json!({ "access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh })
    }
}

/// It listens until it is dropped.
pub struct Issuer {
    /// Of the server.
    pub url: String,
    pub desk: Arc<Mutex<Desk>>,
    _tasks: JoinSet<()>,
}

impl Issuer {
    pub async fn start() -> Issuer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let desk = Arc::new(Mutex::new(Desk { base: base.clone(), ..Desk::default() }));
        let mut tasks = JoinSet::new();
        let own = Arc::clone(&desk);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(serve(stream, Arc::clone(&own)));
            }
        });
        Issuer { url: format!("{base}/mcp"), desk, _tasks: tasks }
    }

    /// How often this was asked for.
    pub fn count(&self, asked: &str) -> usize {
        self.desk().asked.iter().filter(|it| it.starts_with(asked)).count()
    }

    /// How often somebody was not let in.
    pub fn refused(&self) -> usize {
        self.desk().refused
    }

    pub fn desk(&self) -> std::sync::MutexGuard<'_, Desk> {
        self.desk.lock().unwrap()
    }
}

/// What a browser gets there: head and body.
pub async fn get(url: &str) -> String {
    let url = url::Url::parse(url).unwrap();
    let address = (url.host_str().unwrap().to_owned(), url.port().unwrap());
    let mut stream = TcpStream::connect(address).await.unwrap();
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    stream.write_all(format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

/// Where a browser is sent to from there.
pub async fn sent_to(url: &str) -> String {
    let answer = get(url).await;
    let location = answer.lines().find_map(|line| line.strip_prefix("location: "));
    location.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

async fn serve(mut stream: TcpStream, desk: Arc<Mutex<Desk>>) {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    let (head, body) = loop {
        let length = stream.read(&mut piece).await.unwrap_or(0);
        if length == 0 {
            return;
        }
        request.extend_from_slice(&piece[..length]);
        let text = String::from_utf8_lossy(&request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let wanted =
            head.to_lowercase().lines().find_map(|it| it.strip_prefix("content-length: ")?.parse().ok());
        if wanted.unwrap_or(0) <= body.len() {
            break (head.to_owned(), body.to_owned());
        }
    };
    let (status, more, body) = answer(&head, &body, &mut desk.lock().unwrap());
    let length = body.len();
    let reply =
        format!("HTTP/1.1 {status}\r\nconnection: close\r\n{more}content-length: {length}\r\n\r\n{body}");
    drop(stream.write_all(reply.as_bytes()).await);
}

type Reply = (&'static str, String, String);

fn answer(head: &str, body: &str, desk: &mut Desk) -> Reply {
    let mut words = head.split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    desk.asked.push(format!("{method} {path}"));
    let json = |value: Value| ("200 OK", "content-type: application/json\r\n".to_owned(), value.to_string());
    let refused = || {
        (
            "400 Bad Request",
            "content-type: application/json\r\n".to_owned(),
            r#"{"error":"invalid_grant"}"#.to_owned(),
        )
    };
    let pairs: BTreeMap<String, String> =
        url::form_urlencoded::parse(if query.is_empty() { body } else { query }.as_bytes())
            .into_owned()
            .collect();
    let word = |name: &str| pairs.get(name).cloned().unwrap_or_default();
    let base = desk.base.clone();
    match path {
        "/mcp" => mcp(method, head, body, desk),
        "/.well-known/oauth-protected-resource/mcp" => {
            let resource = if desk.mode == "wrong-resource" {
                "https://bank.example/mcp".to_owned()
            } else {
                format!("{base}/mcp")
            };
            let issuer = if desk.mode == "plain" { "http://issuer.example".to_owned() } else { base };
            json(
                json!({ "resource": resource, "authorization_servers": [issuer], "scopes_supported": ["read"] }),
            )
        }
        "/.well-known/oauth-authorization-server" => {
            let mut told = json!({
                "issuer": base, "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
                "registration_endpoint": format!("{base}/register"), "revocation_endpoint": format!("{base}/revoke"),
                "code_challenge_methods_supported": ["S256"], "authorization_response_iss_parameter_supported": true,
            });
            match desk.mode {
                "wrong-issuer" => told["issuer"] = json!("https://bank.example"),
                "token-elsewhere" => told["token_endpoint"] = json!("https://bank.example/token"),
                "plain-authorize" => told["authorization_endpoint"] = json!("http://bank.example/authorize"),
                "no-pkce" => told["code_challenge_methods_supported"] = json!(["plain"]),
                "huge" => told["padding"] = json!("x".repeat(1 << 20)),
                "redirects" => {
                    return ("302 Found", format!("location: {base}/elsewhere\r\n"), String::new());
                }
                _ => (),
            }
            json(told)
        }
        "/register" => {
            let told: Value = serde_json::from_str(body).unwrap();
            assert!(told["redirect_uris"][0].as_str().unwrap().starts_with("http://127.0.0.1:"), "{told}");
            json(json!({ "client_id": "client-of-the-tests", "token_endpoint_auth_method": "none" }))
        }
        "/authorize" => {
            assert_eq!(
                (word("code_challenge_method"), word("response_type")),
                ("S256".to_owned(), "code".to_owned())
            );
            assert_eq!((word("resource"), word("scope")), (format!("{base}/mcp"), "read".to_owned()));
            let code = format!("code-{}", desk.codes.len());
            desk.codes.insert(code.clone(), (word("code_challenge"), word("redirect_uri")));
            let mut back = url::Url::parse(&word("redirect_uri")).unwrap();
            back.query_pairs_mut()
                .append_pair("code", &code)
                .append_pair("state", &word("state"))
                .append_pair("iss", &base);
            ("302 Found", format!("location: {back}\r\n"), String::new())
        }
        "/token" if word("grant_type") == "authorization_code" => {
            let Some((challenge, redirect)) = desk.codes.remove(&word("code")) else { return refused() };
            let is_right = URL_SAFE_NO_PAD.encode(Sha256::digest(word("code_verifier"))) == challenge
                && redirect == word("redirect_uri")
                && word("client_id") == "client-of-the-tests"
                && word("resource") == format!("{base}/mcp");
            if is_right { json(desk.issue()) } else { refused() }
        }
        "/token" => match Some(word("refresh_token")) == desk.refresh {
            true => json(desk.issue()),
            false => refused(),
        },
        "/revoke" => {
            desk.refresh = None;
            desk.access.clear();
            json(json!({}))
        }
        _ => ("404 Not Found", String::new(), String::new()),
    }
}

fn mcp(method: &str, head: &str, body: &str, desk: &mut Desk) -> Reply {
    let token = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        value.strip_prefix("Bearer ").filter(|_| name.eq_ignore_ascii_case("authorization"))
    });
    if desk.mode != "open" && !token.is_some_and(|token| desk.access.contains(token)) {
        desk.refused += 1;
        let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", desk.base);
        let challenge = format!("www-authenticate: Bearer error=\"x\", resource_metadata=\"{metadata}\"\r\n");
        return ("401 Unauthorized", challenge, String::new());
    }
    let message: Value = serde_json::from_str(body).unwrap_or_default();
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-06-18", "capabilities": { "tools": {} }, "serverInfo": { "name": "far", "version": "3" },
        }),
        Some("tools/list") => json!({ "tools": [{ "name": "whoami" }] }),
        // One that tells what it should not.
        Some("tools/call") => {
            json!({ "content": [{ "type": "text", "text": format!("you are {}", token.unwrap_or("nobody")) }] })
        }
        Some("ping") => json!({}),
        _ if method == "GET" => return ("405 Method Not Allowed", String::new(), String::new()),
        _ => return ("202 Accepted", String::new(), String::new()),
    };
    let body = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string();
    ("200 OK", "content-type: application/json\r\n".to_owned(), body)
}
