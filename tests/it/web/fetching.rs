//! What is fetched, and what is refused?

use std::{io::Write as _, sync::Arc};

use flate2::{Compression, write::GzEncoder};
use subagentd::{
    config::AllowedHost,
    protocol::Timestamp,
    sys::clock::{ManualClock, SystemClock},
    web::{PageContent, WebError, WebPage, WebRules, WebTarget},
};
use tokio::task::JoinSet;

use super::{
    net::{Net, Through},
    site::{Reply, Site},
};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// What a path of the public site answers. `victim` is a server that nobody may reach.
fn answer(path: &str, victim: u16) -> Reply {
    let html = "text/html; charset=utf-8";
    let redirect = |location: &str| Reply::redirect(&location.replace("VICTIM", &victim.to_string()));
    match path {
        "/" => Reply::page(html, "<title>Home</title><p>Hello, <b>world</b>"),
        "/json" => Reply::page("application/json", "{\"a\": [1, 2]}"),
        "/latin1" => Reply::page("text/html; charset=utf-8", b"<p>Gr\xfc\xdfe aus K\xf6ln"),
        "/utf16" => Reply::page("text/plain; charset=latin1", b"\xff\xfeH\0i\0"),
        "/gzip" => Reply::with("content-type: text/plain\r\ncontent-encoding: gzip", gzip(b"packed")),
        "/chunked" => Reply::with(
            "content-type: text/plain\r\ntransfer-encoding: chunked",
            "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        ),
        "/pdf" => Reply::page("application/pdf", b"%PDF-1.7 and so on"),
        "/empty" => Reply::page(html, ""),
        "/untyped" => Reply::with("content-length: 9", "some text"),
        "/204" => Reply::status("204 No Content", "", ""),
        "/304" => Reply::status("304 Not Modified", "", ""),
        "/404" => Reply::status("404 Not Found", "content-length: 4", "gone"),
        "/500" => Reply::status("500 Internal Server Error", "content-length: 0", ""),
        "/599" => Reply::status("599 Whatever", "content-length: 0", ""),
        // Longer than it is.
        "/promises" => Reply::with("content-type: text/plain\r\ncontent-length: 100", "ten bytes."),
        // Shorter than it is.
        "/more" => Reply::with("content-type: text/plain\r\ncontent-length: 3", "ten bytes."),
        "/cut-chunk" => Reply::with("content-type: text/plain\r\ntransfer-encoding: chunked", "ff\r\nabc"),
        "/cut-head" => Reply::Bytes(b"HTTP/1.1 200 OK\r\ncontent-ty".to_vec()),
        "/cut-at-once" => Reply::Bytes(Vec::new()),
        "/no-http" => Reply::Bytes(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()),
        "/two-lengths" => Reply::with("content-length: 3\r\ncontent-length: 5", "abcde"),
        "/bad-length" => Reply::with("content-length: many", "abcde"),
        "/head-without-end" => {
            Reply::Endless(b"HTTP/1.1 200 OK\r\n".to_vec(), format!("x: {}\r\n", "y".repeat(1000)).into())
        }
        "/line-without-end" => Reply::Endless(b"HTTP/1.1 200 OK\r\nx: ".to_vec(), vec![b'y'; 1000]),
        "/many-lines" => Reply::with(&vec!["x: y"; 200].join("\r\n"), ""),
        "/11mb-promised" => Reply::with("content-type: text/plain\r\ncontent-length: 11000000", ""),
        "/11mb" => Reply::with("content-type: text/plain", vec![b'x'; 11_000_000]),
        "/10mb" => Reply::with("content-type: text/plain", vec![b'x'; 10_000_000]),
        "/without-end" => Reply::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'x'; 64 << 10]),
        "/bomb" => {
            Reply::with("content-type: text/html\r\ncontent-encoding: gzip", gzip(&vec![b' '; 64 << 20]))
        }
        "/no-gzip" => Reply::with("content-type: text/html\r\ncontent-encoding: gzip", "<p>plain"),
        "/cut-gzip" => Reply::with("content-encoding: gzip", &gzip(&[b'x'; 5000])[..20]),
        "/brotli" => Reply::with("content-type: text/html\r\ncontent-encoding: br", "x"),
        "/hop" => redirect("/"),
        "/relative" => redirect("json?x#y"),
        "/hops5" => redirect("/hops4"),
        "/hops4" => redirect("/hops3"),
        "/hops3" => redirect("/hops2"),
        "/hops2" => redirect("/hop"),
        "/hops6" => redirect("/hops5"),
        "/round" => redirect("/round"),
        "/nowhere" => Reply::status("302 Found", "content-length: 0", ""),
        "/to-loopback" => redirect("http://127.0.0.1:VICTIM/"),
        "/to-decimal" => redirect("http://2130706433:VICTIM/"),
        "/to-name" => redirect("http://local.example:VICTIM/"),
        "/to-other" => redirect("http://second.example/"),
        "/to-www" => redirect("http://www.site.example/"),
        "/to-port" => redirect("http://site.example:8080/"),
        "/to-tls" => redirect("https://site.example/"),
        "/to-file" => redirect("file:///etc/passwd"),
        "/to-password" => redirect("http://user:pass@site.example/"),
        "/to-port0" => redirect("http://site.example:0/"),
        "/to-nonsense" => redirect("http://[::"),
        "/to-rebound" => redirect("http://rebound.example/"),
        _ => Reply::status("404 Not Found", "content-length: 0", ""),
    }
}

/// Names with all sorts of addresses. 93.184.216.34 is the public site.
fn net(site: &Site, second: &Site) -> Net {
    let public = "93.184.216.34";
    Net::new()
        .route("93.184.216.34:80", site.address)
        .route("93.184.216.35:80", second.address)
        .route("[2606:4700:4700::1111]:80", site.address)
        .name("site.example", &[public])
        .name("www.site.example", &[public])
        .name("second.example", &["93.184.216.35"])
        .name("six.example", &["2606:4700:4700::1111"])
        .name("xn--bcher-kva.example", &[public])
        // The first two do not answer.
        .name("tries.example", &["93.184.216.40", "2606:4700:4700::1", public])
        .name("dead.example", &["93.184.216.40"])
        .name("local.example", &["127.0.0.1"])
        .name("localhost", &["127.0.0.1", "::1"])
        .name("private.example", &["10.1.2.3"])
        .name("metadata.example", &["169.254.169.254"])
        .name("mapped.example", &["::ffff:127.0.0.1"])
        .name("nat64.example", &["64:ff9b::7f00:1"])
        .name("sixtofour.example", &["2002:7f00:1::"])
        .name("unique.example", &["fd00:ec2::254"])
        .name("both.example", &[public, "127.0.0.1"])
        .name("zero.example", &["0.0.0.0"])
        .name("empty.example", &[])
        .name_that_changes("rebound.example", &[&[public], &["127.0.0.1"]])
}

/// The outcome in a line.
fn line(fetched: &Result<WebPage, WebError>) -> String {
    match fetched {
        Ok(WebPage {
            url,
            status,
            mime_type,
            content: PageContent::Text { title, text, encoding, .. },
            ..
        }) => {
            let title = title.as_ref().map(|title| format!(" [{title}]")).unwrap_or_default();
            let shown: String = text.chars().take(40).collect();
            format!("{url} {status} {mime_type} {encoding}{title} {shown:?}")
        }
        Ok(WebPage { url, status, mime_type, bytes, content: PageContent::Other }) => {
            format!("{url} {status} {mime_type} {bytes} bytes")
        }
        Err(error) => format!("{}: {error}", error.kind()),
    }
}

async fn scene() -> (Site, Site, Site, Through) {
    let victim = Site::start(|_| Reply::page("text/plain", "the secret")).await;
    let port = victim.address.port();
    let site = Site::start(move |path| answer(path, port)).await;
    let second = Site::start(|_| Reply::page("text/plain", "second")).await;
    let through = Through::new(net(&site, &second), SystemClock::new());
    (site, second, victim, through)
}

#[tokio::test]
async fn pages_are_read_as_what_they_are() {
    let (_site, _second, _victim, through) = scene().await;
    let ten_mb = "http://site.example/10mb 200 text/plain UTF-8 \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"";
    let cases = [
        ("http://site.example/", "http://site.example/ 200 text/html UTF-8 [Home] \"Hello, **world**\""),
        ("http://site.example./#top", "http://site.example/ 200 text/html UTF-8 [Home] \"Hello, **world**\""),
        ("http://six.example/", "http://six.example/ 200 text/html UTF-8 [Home] \"Hello, **world**\""),
        (
            "http://bücher.example/",
            "http://xn--bcher-kva.example/ 200 text/html UTF-8 [Home] \"Hello, **world**\"",
        ),
        ("http://tries.example/", "http://tries.example/ 200 text/html UTF-8 [Home] \"Hello, **world**\""),
        (
            "http://93.184.216.34/json",
            "http://93.184.216.34/json 200 application/json UTF-8 \"{\\\"a\\\": [1, 2]}\"",
        ),
        (
            "http://site.example/latin1",
            "http://site.example/latin1 200 text/html windows-1252 \"Grüße aus Köln\"",
        ),
        ("http://site.example/utf16", "http://site.example/utf16 200 text/plain UTF-16LE \"Hi\""),
        ("http://site.example/gzip", "http://site.example/gzip 200 text/plain UTF-8 \"packed\""),
        ("http://site.example/chunked", "http://site.example/chunked 200 text/plain UTF-8 \"abcde\""),
        ("http://site.example/pdf", "http://site.example/pdf 200 application/pdf 18 bytes"),
        ("http://site.example/empty", "http://site.example/empty 200 text/html UTF-8 \"\""),
        ("http://site.example/untyped", "http://site.example/untyped 200 text/plain UTF-8 \"some text\""),
        ("http://site.example/204", "http://site.example/204 204 text/plain UTF-8 \"\""),
        ("http://site.example/more", "http://site.example/more 200 text/plain UTF-8 \"ten\""),
        ("http://site.example/10mb", ten_mb),
        ("http://site.example/hop", "http://site.example/ 200 text/html UTF-8 [Home] \"Hello, **world**\""),
        ("http://site.example/hops5", "http://site.example/ 200 text/html UTF-8 [Home] \"Hello, **world**\""),
        ("http://site.example/relative", "http://site.example/json?x 404"),
    ];
    for (url, expected) in cases {
        let found = line(&through.fetch(url, &WebRules::default()).await);
        match expected.strip_suffix(" 404") {
            // The query makes it another path.
            Some(_) => assert_eq!(found, "status: the server answered 404 Not Found", "{url}"),
            None => assert_eq!(found, expected, "{url}"),
        }
    }
}

#[tokio::test]
async fn what_is_no_page_is_told_as_what_it_is() {
    let (_site, _second, _victim, through) = scene().await;
    let too_large = "tooLarge: it is larger than 10 MB";
    let cut = "broken: the server's answer was cut off";
    let packed = "broken: the server's answer is not compressed as it says";
    let head = "broken: the server's answer has a head of more than 65536 bytes or 128 lines";
    let cases = [
        ("http://site.example/304", "status: the server answered 304 Not Modified"),
        ("http://site.example/404", "status: the server answered 404 Not Found"),
        ("http://site.example/500", "status: the server answered 500 Internal Server Error"),
        ("http://site.example/599", "status: the server answered 599"),
        ("http://site.example/promises", cut),
        ("http://site.example/cut-chunk", cut),
        ("http://site.example/cut-head", cut),
        ("http://site.example/cut-at-once", cut),
        ("http://site.example/no-http", "broken: the server's answer is no HTTP"),
        ("http://site.example/two-lengths", "broken: the server's answer is no HTTP"),
        ("http://site.example/bad-length", "broken: the server's answer is no HTTP"),
        ("http://site.example/head-without-end", head),
        ("http://site.example/line-without-end", head),
        ("http://site.example/many-lines", head),
        ("http://site.example/11mb-promised", too_large),
        ("http://site.example/11mb", too_large),
        ("http://site.example/without-end", too_large),
        ("http://site.example/bomb", too_large),
        ("http://site.example/no-gzip", packed),
        ("http://site.example/cut-gzip", packed),
        (
            "http://site.example/brotli",
            "broken: the server's answer is compressed as `br`, which was not asked for",
        ),
        ("http://site.example/hops6", "tooManyRedirects: more than 5 redirects"),
        ("http://site.example/round", "tooManyRedirects: more than 5 redirects"),
        (
            "http://site.example/nowhere",
            "broken: the server's answer is a redirect (302 Found) that leads nowhere",
        ),
        (
            "http://nobody.example/",
            "noSuchHost: there is no address for the name nobody.example: no such name",
        ),
        (
            "http://empty.example/",
            "noSuchHost: there is no address for the name empty.example: the resolver knows none",
        ),
        ("http://dead.example/", "unreachable: dead.example cannot be reached: connection refused"),
        ("http://site.example:81/", "unreachable: site.example cannot be reached: connection refused"),
    ];
    for (url, expected) in cases {
        assert_eq!(line(&through.fetch(url, &WebRules::default()).await), expected, "{url}");
    }
}

/// Each of these leads to the victim, which listens on this machine, or to where a victim could.
#[tokio::test]
async fn nothing_connects_to_an_address_that_was_not_checked() {
    let (_site, second, victim, through) = scene().await;
    let urls = [
        "http://127.0.0.1:VICTIM/",
        "http://127.0.0.1.:VICTIM/",
        "http://127.1:VICTIM/",
        "http://2130706433:VICTIM/",
        "http://0x7f000001:VICTIM/",
        "http://0x7f.1:VICTIM/",
        "http://017700000001:VICTIM/",
        "http://0177.0.0.1:VICTIM/",
        "http://①②⑦.⓪.⓪.①:VICTIM/",
        "http://%31%32%37.0.0.1:VICTIM/",
        "http://0:VICTIM/",
        "http://0.0.0.0:VICTIM/",
        "http://[::]:VICTIM/",
        "http://[::1]:VICTIM/",
        "http://[::ffff:127.0.0.1]:VICTIM/",
        "http://[::ffff:7f00:1]:VICTIM/",
        "http://[::127.0.0.1]:VICTIM/",
        "http://[64:ff9b::127.0.0.1]:VICTIM/",
        "http://[2002:7f00:1::]:VICTIM/",
        "http://[fe80::1]:VICTIM/",
        "http://localhost:VICTIM/",
        "http://localhost.:VICTIM/",
        "http://LOCALHOST:VICTIM/",
        "http://local.example:VICTIM/",
        "http://mapped.example:VICTIM/",
        "http://nat64.example:VICTIM/",
        "http://sixtofour.example:VICTIM/",
        "http://zero.example:VICTIM/",
        "http://unique.example/",
        "http://private.example/",
        "http://metadata.example/latest/meta-data/",
        "http://169.254.169.254/latest/meta-data/",
        "http://both.example:VICTIM/",
        "https://local.example:VICTIM/",
    ];
    for url in urls {
        let url = url.replace("VICTIM", &victim.address.port().to_string());
        let found = line(&through.fetch(&url, &WebRules::default()).await);
        assert!(found.starts_with("refused: "), "{url}: {found}");
        assert!(found.contains("tools.webFetch.allowHosts"), "{url}: {found}");
    }
    assert_eq!(through.net.connected(), [], "refused before anything is connected to");

    for path in
        ["to-loopback", "to-decimal", "to-name", "to-other", "to-www", "to-port", "to-tls", "to-rebound"]
    {
        let url = format!("http://site.example/{path}");
        let found = line(&through.fetch(&url, &WebRules::default()).await);
        match path {
            // The host's own upgrade is followed; nothing listens there.
            "to-tls" => assert_eq!(found, "unreachable: site.example cannot be reached: connection refused"),
            _ => assert!(found.starts_with("moved: it has moved to http://"), "{path}: {found}"),
        }
    }
    for path in ["to-file", "to-password", "to-port0", "to-nonsense"] {
        let url = format!("http://site.example/{path}");
        let found = line(&through.fetch(&url, &WebRules::default()).await);
        assert!(
            found.starts_with("broken: the server's answer is a redirect to a URL that "),
            "{path}: {found}"
        );
        assert!(!found.contains("pass@"), "{found}");
    }
    let beyond: Vec<_> =
        through.net.connected().into_iter().filter(|it| it.ip().to_string() != "93.184.216.34").collect();
    assert_eq!(beyond, [], "only the public site was reached");
    assert_eq!((second.connections(), victim.connections()), (0, 0));
}

#[tokio::test]
async fn a_name_that_changes_its_mind_reaches_nothing_unchecked() {
    let (site, _second, victim, through) = scene().await;
    let rules = WebRules::default();
    // The address that was looked at is the one that is connected to: it is not asked for again.
    assert!(line(&through.fetch("http://rebound.example/", &rules).await).contains("Hello"));
    assert_eq!(through.net.times_resolved("rebound.example"), 1);
    let port = victim.address.port();
    for url in ["http://rebound.example/".to_owned(), format!("http://rebound.example:{port}/")] {
        assert!(line(&through.fetch(&url, &rules).await).starts_with("refused: "), "{url}");
    }
    assert_eq!((site.connections(), victim.connections()), (1, 0));
}

/// A name that is public at the first look and private where the redirect leads, which is the same host.
#[tokio::test]
async fn each_hop_is_looked_at_like_the_first() {
    let (_site, _second, victim, _) = scene().await;
    let site = Site::start(|_| Reply::redirect("/again")).await;
    let net = Net::new()
        .route("93.184.216.34:80", site.address)
        .name_that_changes("rebound.example", &[&["93.184.216.34"], &["93.184.216.34"], &["127.0.0.1"]]);
    let through = Through::new(net, SystemClock::new());
    let found = line(&through.fetch("http://rebound.example/", &WebRules::default()).await);
    assert!(
        found.starts_with("refused: rebound.example leads to 127.0.0.1, which is this machine's own"),
        "{found}"
    );
    assert_eq!((site.connections(), victim.connections()), (2, 0));
    assert_eq!(through.net.times_resolved("rebound.example"), 3);
}

#[tokio::test]
async fn the_settings_open_hosts_and_nothing_beside_them() {
    let (_site, _second, victim, through) = scene().await;
    let port = victim.address.port();
    let with = |hosts: &[String]| WebRules {
        allowed: hosts.iter().map(|host| AllowedHost::parse(host).unwrap()).collect(),
        search: None,
    };
    let opened = [
        (format!("127.0.0.1:{port}"), "127.0.0.1", true),
        ("127.0.0.1".to_owned(), "2130706433", true),
        ("*.example".to_owned(), "local.example", true),
        ("local.example".to_owned(), "local.example.", true),
        ("local.example".to_owned(), "127.0.0.1", false),
        ("127.0.0.1".to_owned(), "local.example", false),
        ("127.0.0.1:1".to_owned(), "127.0.0.1", false),
        ("example".to_owned(), "local.example", false),
        ("127.0.0.1".to_owned(), "[::ffff:127.0.0.1]", false),
    ];
    let mut expected = 0;
    for (allowed, host, is_open) in opened {
        let found = line(
            &through.fetch(&format!("http://{host}:{port}/"), &with(std::slice::from_ref(&allowed))).await,
        );
        assert_eq!(found.contains("the secret"), is_open, "{allowed} {host}: {found}");
        expected += usize::from(is_open);
    }
    assert_eq!(victim.connections(), expected);
}

#[tokio::test]
async fn what_is_asked_says_nothing_of_whoever_asks() {
    let (site, _second, _victim, through) = scene().await;
    through.fetch("http://site.example/hop?q=%20x", &WebRules::default()).await.unwrap_err();
    through.fetch("http://site.example/hop", &WebRules::default()).await.unwrap();
    for path in ["/hop?q=%20x", "/hop", "/"] {
        let request = site.request().await;
        let mut lines = request.split("\r\n");
        assert_eq!(lines.next(), Some(format!("GET {path} HTTP/1.1").as_str()));
        let mut names: Vec<&str> =
            lines.filter_map(|line| line.split_once(':')).map(|(name, _)| name).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "accept-encoding", "connection", "host", "user-agent"], "{request}");
        assert!(request.contains("host: site.example\r\n"), "{request}");
    }
}

/// Which page of a host it is may matter to a rule, so whoever asks is asked about each.
#[tokio::test]
async fn a_redirect_is_followed_to_where_somebody_said_yes_to() {
    let (site, _second, _victim, through) = scene().await;
    let rules = WebRules::default();
    let fetched = through.fetch_with("http://site.example/hop", &rules, &|_| false).await;
    assert_eq!(
        line(&fetched),
        "moved: it has moved to http://site.example/ (status 302); fetch that URL if it is what you want"
    );
    assert_eq!(site.connections(), 1, "nothing is asked of a page that nobody said yes to");
    let all_but_one = |next: &WebTarget| !next.to_string().ends_with("/hop");
    let fetched = through.fetch_with("http://site.example/hops3", &rules, &all_but_one).await;
    assert!(line(&fetched).starts_with("moved: it has moved to http://site.example/hop "), "{fetched:?}");
    assert_eq!(site.connections(), 3);
}

/// An address that swallows what is sent to it, before one that answers.
#[tokio::test]
async fn a_dead_address_does_not_use_up_the_time_of_a_living_one() {
    let site = Site::start(|_| Reply::page("text/plain", "alive")).await;
    let dead = ["2606:4700:4700::1", "2606:4700:4700::2", "2606:4700:4700::3", "2606:4700:4700::4"];
    let cases: [(&[&str], usize); 3] = [
        (&[dead[0], "93.184.216.34"], 1),
        // The other version's turn comes before all of the first are tried.
        (&[dead[0], dead[1], dead[2], dead[3], "93.184.216.34"], 1),
        (&["93.184.216.40", dead[0], dead[1], "93.184.216.34"], 1),
    ];
    for (addresses, n_waits) in cases {
        let mut net = Net::new().name("site.example", addresses).route("93.184.216.34:80", site.address);
        for address in dead {
            net = net.silent(&format!("[{address}]:80"));
        }
        let clock = ManualClock::starting_at(Timestamp(0));
        let through = Arc::new(Through::new(net, clock.clone()));
        let mut fetching = JoinSet::new();
        let fetches = Arc::clone(&through);
        fetching.spawn(async move { fetches.fetch("http://site.example/", &WebRules::default()).await });
        for _ in 0..n_waits {
            through.net.waited_for().await;
            clock.advance(std::time::Duration::from_secs(2));
        }
        let fetched = fetching.join_next().await.unwrap().unwrap();
        assert!(line(&fetched).ends_with("\"alive\""), "{addresses:?}: {fetched:?}");
    }
    // Where nothing answers at all, the last address has what is left of the time for all.
    let net = Net::new()
        .name("site.example", &dead[..2])
        .silent(&format!("[{}]:80", dead[0]))
        .silent(&format!("[{}]:80", dead[1]));
    let clock = ManualClock::starting_at(Timestamp(0));
    let through = Arc::new(Through::new(net, clock.clone()));
    let mut fetching = JoinSet::new();
    let fetches = Arc::clone(&through);
    fetching.spawn(async move { fetches.fetch("http://site.example/", &WebRules::default()).await });
    for seconds in [2, 8] {
        through.net.waited_for().await;
        clock.advance(std::time::Duration::from_secs(seconds));
    }
    let fetched = fetching.join_next().await.unwrap().unwrap();
    assert_eq!(line(&fetched), "unreachable: site.example cannot be reached: connecting took more than 10 s");
}

#[tokio::test]
async fn a_refusal_says_which_address_it_is_and_what_opens_it() {
    let (_site, _second, _victim, through) = scene().await;
    let cases = [
        (
            "http://127.0.0.1:1/x",
            "127.0.0.1 is this machine's own address; the setting tools.webFetch.allowHosts opens it (\"127.0.0.1:1\")",
        ),
        (
            "http://[::1]:1/",
            "::1 is this machine's own address; the setting tools.webFetch.allowHosts opens it (\"[::1]:1\")",
        ),
        (
            "http://private.example/",
            "private.example leads to 10.1.2.3, which is of a private network; the setting tools.webFetch.allowHosts opens \
             it (\"private.example:80\")",
        ),
    ];
    for (url, expected) in cases {
        let error = through.fetch(url, &WebRules::default()).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
        let named = expected.split('"').nth(1).unwrap();
        let rules = WebRules { allowed: [AllowedHost::parse(named).unwrap()].into(), search: None };
        let error = through.fetch(url, &rules).await.unwrap_err();
        assert_eq!(error.kind(), "unreachable", "{named} opens it: {error}");
    }
}

#[tokio::test]
async fn letters_that_act_are_no_part_of_a_page() {
    let site = Site::start(|path| match path {
        "/text" => Reply::page("text/plain", "a\x1b[31mb\u{202e}c\u{e0041}\r\n\td"),
        _ => Reply::page("text/html; charset=utf-8", "<title>T\u{202e}&#27;x</title><p>a&#x202e;b&#27;[31mc"),
    })
    .await;
    let net = Net::new().route("93.184.216.34:80", site.address);
    let through = Through::new(net, SystemClock::new());
    let expected = [
        ("text", "http://93.184.216.34/text 200 text/plain UTF-8 \"a[31mbc\\n\\td\""),
        ("html", "http://93.184.216.34/html 200 text/html UTF-8 [Tx] \"ab"),
    ];
    for (path, expected) in expected {
        let found = line(&through.fetch(&format!("http://93.184.216.34/{path}"), &WebRules::default()).await);
        assert!(found.starts_with(expected), "{found}");
        assert!(!found.contains("\\u{"), "{found}");
    }
}

/// Slow drips: bytes come, but never the last.
#[tokio::test]
async fn time_is_bounded_however_slowly_something_comes() {
    let slow = ["head", "body", "redirect"];
    for which in slow {
        let site = Site::start(move |_| match which {
            "head" => Reply::Hangs(b"HTTP/1.1 200 OK\r\nx".to_vec()),
            "body" => Reply::Hangs(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<p>a".to_vec()),
            _ => Reply::Hangs(b"HTTP/1.1 302 Found\r\nlocation: /x".to_vec()),
        })
        .await;
        let clock = ManualClock::starting_at(Timestamp(0));
        let net = Net::new().route("93.184.216.34:80", site.address).name("site.example", &["93.184.216.34"]);
        let through = Arc::new(Through::new(net, clock.clone()));
        let mut fetching = JoinSet::new();
        let fetches = Arc::clone(&through);
        fetching.spawn(async move { fetches.fetch("http://site.example/", &WebRules::default()).await });
        site.request().await;
        clock.advance(std::time::Duration::from_secs(31));
        let fetched = fetching.join_next().await.unwrap().unwrap();
        assert_eq!(line(&fetched), "timedOut: it took more than 30 s", "{which}");
    }
}
