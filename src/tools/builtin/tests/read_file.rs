//! What read_file says.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::{
    OutputLimits,
    tests::{Bench, SECRET, assert_hidden, path_bytes, redactor},
};
use protocol::{MessagePart, ResourceAccess, ToolErrorType};

async fn check(bytes: &[u8], arguments: Value, expected: Expect) {
    let bench = Bench::new(&[]);
    bench.write("file", bytes);
    let mut arguments = arguments;
    arguments["path"] = "file".into();
    expected.assert_eq(&bench.text("read_file", arguments).await);
}

#[tokio::test]
async fn a_text_is_given_as_it_is() {
    check(b"one\n  two\r\n\nfour\n", json!({}), expect![["one\n  two\r\n\nfour\n"]]).await;
    check(b"no line end", json!({}), expect!["no line end"]).await;
    check(b"", json!({}), expect!["[the file is empty]"]).await;
}

#[tokio::test]
async fn a_part_says_which_and_how_to_read_on() {
    let text = "a\nb\nc\nd\n".as_bytes();
    check(
        text,
        json!({"limit": 2}),
        expect![[r#"
            [lines 1-2 of 4; read on with offset: 2]
            a
            b
        "#]],
    )
    .await;
    check(
        text,
        json!({"offset": 2, "limit": 9}),
        expect![[r#"
            [lines 3-4 of 4]
            c
            d
        "#]],
    )
    .await;
    check(text, json!({"limit": 4}), expect!["a\nb\nc\nd\n"]).await;
    check(text, json!({"offset": 4}), expect!["[nothing from offset 4 on: the file has 4 lines]"]).await;
    check(text, json!({"offset": 4000}), expect!["[nothing from offset 4000 on: the file has 4 lines]"])
        .await;
}

#[tokio::test]
async fn two_thousand_lines_are_the_default() {
    let bench = Bench::new(&[("file", &"x\n".repeat(2500))]);
    let text = bench.text("read_file", json!({"path": "file"})).await;
    assert_eq!(text.lines().next(), Some("[lines 1-2000 of 2500; read on with offset: 2000]"));
    assert_eq!(text.lines().count(), 2001);
    let rest = bench.text("read_file", json!({"path": "file", "offset": 2000})).await;
    assert_eq!(rest.lines().next(), Some("[lines 2001-2500 of 2500]"));
    assert_eq!(rest.lines().count(), 501);
}

#[tokio::test]
async fn a_long_line_is_cut_with_a_mark() {
    let line = "é".repeat(2001);
    let bench = Bench::new(&[("file", &format!("{line}\nnext\n"))]);
    let text = bench.text("read_file", json!({"path": "file"})).await;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "[long lines cut: 1; grep shows parts of them]");
    assert_eq!(lines[1], format!("{}[… cut: 2000 of 2001 characters]", "é".repeat(2000)));
    assert_eq!(lines[2], "next");
}

#[tokio::test]
async fn the_output_limit_cuts_at_a_line_and_reading_on_reaches_the_end() {
    let mut bench = Bench::new(&[]);
    let all: Vec<String> = (0..500).map(|line| format!("line {line} {}", "x".repeat(line % 90))).collect();
    bench.write("file", all.join("\n"));
    bench.output = OutputLimits { max_chars: 5_000 };
    let (mut offset, mut read) = (0, Vec::new());
    while offset < all.len() {
        let text = bench.text("read_file", json!({"path": "file", "offset": offset})).await;
        assert!(text.chars().count() <= 5_000);
        let (note, shown) = text.split_once('\n').unwrap();
        let lines: Vec<String> = shown.lines().map(str::to_owned).collect();
        offset += lines.len();
        read.extend(lines);
        assert_eq!(note.contains(&format!("read on with offset: {offset}]")), offset < all.len(), "{note}");
        assert_eq!(note.contains("output limit"), offset < all.len(), "{note}");
    }
    assert_eq!(read, all);
}

#[tokio::test]
async fn a_tiny_output_limit_still_gets_on() {
    let mut bench = Bench::new(&[("file", &format!("{}\nb\n", "a".repeat(1500)))]);
    bench.output = OutputLimits { max_chars: 1_000 };
    let text = bench.text("read_file", json!({"path": "file"})).await;
    assert!(text.starts_with("[lines 1-1 of 2, as many as fit the output limit; "), "{text}");
    assert!(
        text.contains("read on with offset: 1]") && text.contains("[… cut: 650 of 1500 characters]"),
        "{text}"
    );
}

#[tokio::test]
async fn every_common_encoding_is_read() {
    let utf16 = |text: &str, little: bool| -> Vec<u8> {
        let bytes = |unit: u16| if little { unit.to_le_bytes() } else { unit.to_be_bytes() };
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(bytes).collect()
    };
    check(b"\xef\xbb\xbfcaf\xc3\xa9", json!({}), expect!["café"]).await;
    check(&utf16("café 🦀\n", true), json!({}), expect![["[decoded from UTF-16LE]\ncafé 🦀\n"]]).await;
    check(&utf16("café 🦀\n", false), json!({}), expect![["[decoded from UTF-16BE]\ncafé 🦀\n"]]).await;
    check(
        b"Le caf\xe9 de la cr\xe8me, voil\xe0 tr\xe8s bient\xf4t\n",
        json!({}),
        expect![["[decoded from windows-1252]\nLe café de la crème, voilà très bientôt\n"]],
    )
    .await;
    check(
        "Grüße und Küsse \u{1f980}"
            .as_bytes()
            .iter()
            .chain(b"\xff\n")
            .copied()
            .collect::<Vec<_>>()
            .as_slice(),
        json!({}),
        expect![["[decoded from UTF-8 with invalid bytes]\nGrüße und Küsse 🦀\u{fffd}\n"]],
    )
    .await;
}

#[tokio::test]
async fn binary_files_are_described() {
    check(
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        json!({}),
        expect!["[`file` is a binary file: image/png without its end, 16 bytes; its content is not shown]"],
    )
    .await;
    check(
        b"%PDF-1.7\n1 0 obj\n",
        json!({}),
        expect!["[`file` is a binary file: application/pdf, 17 bytes; its content is not shown: this model takes no PDF, and its text cannot be had: pdftotext is run in a sandbox only, and there is none: no command can be run here]"],
    )
    .await;
    check(
        b"a\0b",
        json!({}),
        expect!["[`file` is a binary file: application/octet-stream, 3 bytes; its content is not shown]"],
    )
    .await;
    check(
        b"\xff\xd8\xff\xe0 JFIF",
        json!({}),
        expect!["[`file` is a binary file: image/jpeg without its end, 9 bytes; its content is not shown]"],
    )
    .await;
    // Magic numbers that are words.
    check(b"BM is not a bitmap here", json!({}), expect!["BM is not a bitmap here"]).await;
    check(b"<svg xmlns='x'/>", json!({}), expect!["<svg xmlns='x'/>"]).await;
}

/// Images as small as they can be, whole as far as reading them goes.
fn images() -> Vec<(&'static str, Vec<u8>)> {
    let mut webp = b"RIFF\x16\0\0\0WEBPVP8 ".to_vec();
    webp.resize(30, 0);
    let mut bmp = b"BM\x1a\0\0\0\0\0\0\0\x1a\0\0\0\x0c\0\0\0".to_vec();
    bmp.resize(26, 0);
    vec![
        ("image/png", png(70)),
        ("image/jpeg", b"\xff\xd8\xff\xe0\0\x10JFIF\0\xff\xda\0\xff\xd9".to_vec()),
        ("image/gif", b"GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0;".to_vec()),
        ("image/webp", webp),
        ("image/bmp", bmp),
    ]
}

/// Something with the beginning and the end of a PNG, `size` bytes long.
pub fn png(size: usize) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.resize(size - 12, 0);
    bytes.extend(b"\0\0\0\0IEND\xaeB`\x82");
    bytes
}

#[tokio::test]
async fn an_image_is_handed_over_as_one_and_people_see_its_name_alone() {
    for (mime, bytes) in images() {
        let bench = Bench::new(&[]);
        bench.write("a picture", &bytes);
        let result = bench.call("read_file", json!({"path": "a picture"})).await;
        let [text, image] = &result.llm_content[..] else { panic!("{mime}: {:?}", result.llm_content) };
        let expected = format!("[`a picture` is an image: {mime}, {} bytes]", bytes.len());
        assert_eq!(text.as_text(), Some(expected.as_str()));
        let data = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &bytes);
        assert_eq!(*image, MessagePart::InlineData { mime_type: mime.to_owned(), data: data.clone() });
        assert!(!result.return_display.unwrap().contains(&data));
        assert_eq!(result.data, Some(json!({"mimeType": mime, "bytes": bytes.len()})));
        // Half of it is described, or providers would refuse the run's requests from then on.
        bench.write("half", &bytes[..bytes.len() - 4]);
        let half = bench.call("read_file", json!({"path": "half"})).await;
        assert_eq!(half.llm_content.len(), 1, "{mime}");
    }
}

/// Beginnings by which these formats are told.
fn sounds() -> [(&'static str, Vec<u8>); 6] {
    [
        ("audio/wav", b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0".to_vec()),
        ("audio/mpeg", b"ID3\x04\0\0\0\0\0\0\xff\xfb\x90\0".to_vec()),
        ("audio/aiff", b"FORM\0\0\0\x10AIFFCOMM\0\0".to_vec()),
        ("audio/aac", b"\xff\xf1\x50\x80\0\x1f\xfc\0".to_vec()),
        ("audio/ogg", b"OggS\0\x02\0\0\0\0\0\0\0\0".to_vec()),
        ("audio/flac", b"fLaC\0\0\0\x22\0\0".to_vec()),
    ]
}

#[tokio::test]
async fn a_sound_is_handed_over_to_a_model_that_takes_it_and_described_to_others() {
    for (mime, bytes) in sounds() {
        let mut bench = Bench::new(&[]);
        bench.write("a sound", &bytes);
        let told = bench.text("read_file", json!({"path": "a sound"})).await;
        let size = bytes.len();
        let why = "its content is not shown: this model takes no sound";
        assert_eq!(told, format!("[`a sound` is a binary file: {mime}, {size} bytes; {why}]"));
        bench.media.audio = true;
        let result = bench.call("read_file", json!({"path": "a sound"})).await;
        let [text, sound] = &result.llm_content[..] else { panic!("{mime}: {:?}", result.llm_content) };
        assert_eq!(text.as_text(), Some(format!("[`a sound` is a sound: {mime}, {size} bytes]").as_str()));
        assert!(matches!(sound, MessagePart::InlineData { mime_type, .. } if mime_type == mime), "{mime}");
        // One that is too large would be refused, with every later request of the run.
        let file = std::fs::File::options().write(true).open(bench.root().join("a sound")).unwrap();
        file.set_len(3_932_161).unwrap();
        let result = bench.call("read_file", json!({"path": "a sound"})).await;
        assert_eq!(result.error.unwrap().kind, ToolErrorType::FileTooLarge, "{mime}");
    }
}

/// A page that says something, in the format's own letters.
pub(super) fn pdf(says: &str) -> Vec<u8> {
    let shows = format!("BT /F1 24 Tf 72 700 Td ({says}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{shows}\nendstream", shows.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut text = "%PDF-1.4\n".to_owned();
    let mut places = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        places.push(text.len());
        text.push_str(&format!("{} 0 obj\n{object}\nendobj\n", index + 1));
    }
    let index = text.len();
    text.push_str("xref\n0 6\n0000000000 65535 f \n");
    for place in places {
        text.push_str(&format!("{place:010} 00000 n \n"));
    }
    text.push_str(&format!("trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n{index}\n%%EOF\n"));
    text.into_bytes()
}

#[tokio::test]
async fn a_pdf_is_handed_over_to_a_model_that_takes_it_unless_it_would_be_refused() {
    let mut bench = Bench::new(&[]);
    bench.media.pdf = true;
    let whole = pdf("Good day");
    bench.write("whole.pdf", &whole);
    let result = bench.call("read_file", json!({"path": "whole.pdf"})).await;
    let [text, document] = &result.llm_content[..] else { panic!("{:?}", result.llm_content) };
    let expected = format!("[`whole.pdf` is a PDF: application/pdf, {} bytes]", whole.len());
    assert_eq!(text.as_text(), Some(expected.as_str()));
    assert!(matches!(document, MessagePart::InlineData { mime_type, .. } if mime_type == "application/pdf"));

    let told = async |bytes: &[u8]| {
        bench.write("x.pdf", bytes);
        bench.text("read_file", json!({"path": "x.pdf"})).await
    };
    let locked =
        String::from_utf8(whole.clone()).unwrap().replace("/Root 1 0 R", "/Root 1 0 R /Encrypt 9 0 R");
    let no_text = "and its text cannot be had: pdftotext is run in a sandbox only, and there is none: no command can be run here";
    let described = |size: usize, why: &str| {
        format!(
            "[`x.pdf` is a binary file: application/pdf, {size} bytes; its content is not shown: {why}, {no_text}]"
        )
    };
    let half = &whole[..whole.len() - 10];
    assert_eq!(told(half).await, described(half.len(), "it has no end: it is broken or was cut"));
    assert_eq!(told(locked.as_bytes()).await, described(locked.len(), "it is encrypted"));
    let mut large = whole.clone();
    large.splice(9..9, vec![b'%'; 3_932_160]);
    let why = "models get PDFs of at most 3932160 bytes";
    assert_eq!(told(&large).await, described(large.len(), why));
    bench.media.pdf = false;
    bench.write("x.pdf", &whole);
    let text = bench.text("read_file", json!({"path": "x.pdf"})).await;
    assert_eq!(text, described(whole.len(), "this model takes no PDF"));
}

#[tokio::test]
async fn an_image_that_is_too_large_for_a_model_is_refused() {
    const MOST: usize = 3_932_160;
    let bench = Bench::new(&[]);
    bench.write("most.png", png(MOST));
    let most = bench.call("read_file", json!({"path": "most.png"})).await;
    let MessagePart::InlineData { data, .. } = &most.llm_content[1] else { panic!("no image") };
    assert_eq!(data.len(), 5 * 1024 * 1024);
    bench.write("more.png", png(MOST + 1));
    let more = bench.call("read_file", json!({"path": "more.png"})).await;
    expect!["FILE_TOO_LARGE: `more.png` is an image of 3932161 bytes; models get images of at most 3932160. A smaller copy of it can be read"]
        .assert_eq(more.llm_content[0].as_text().unwrap());
    assert_eq!(more.llm_content.len(), 1);
}

#[tokio::test]
async fn a_large_file_is_read_beside_the_executor_and_a_huge_one_is_refused() {
    let bench = Bench::new(&[]);
    bench.write("large", "x\n".repeat(300_000));
    let text = bench.text("read_file", json!({"path": "large", "offset": 299_999})).await;
    assert_eq!(text, "[lines 300000-300000 of 300000]\nx\n");
    // Sparse: refused by its size, before anything is read.
    let file = std::fs::File::create(bench.root().join("huge")).unwrap();
    file.set_len(20 * 1024 * 1024 + 1).unwrap();
    let result = bench.call("read_file", json!({"path": "huge"})).await;
    assert_eq!(result.error.unwrap().kind, ToolErrorType::FileTooLarge);
    file.set_len(20 * 1024 * 1024).unwrap();
    let result = bench.call("read_file", json!({"path": "huge"})).await;
    assert_eq!(result.error, None);
}

#[tokio::test]
async fn what_cannot_be_read_is_an_error_that_says_why() {
    let bench = Bench::new(&[("folder/x", "")]);
    let kind = async |path: &str| bench.call("read_file", json!({"path": path})).await.error.unwrap().kind;
    assert_eq!(kind("folder").await, ToolErrorType::TargetIsDirectory);
    assert_eq!(kind("missing").await, ToolErrorType::FileNotFound);
    assert_eq!(kind("../x").await, ToolErrorType::PathNotInWorkspace);
    let result = bench.call("read_file", json!({"path": "folder/x", "offset": -1, "limit": 0})).await;
    assert_eq!(
        result.error.unwrap().message,
        "/offset: -1 is less than the minimum of 0\n/limit: 0 is less than the minimum of 1"
    );
}

#[tokio::test]
async fn a_fifo_does_not_hang() {
    let bench = Bench::new(&[]);
    let fifo = bench.root().join("fifo");
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let text = bench.text("read_file", json!({"path": "fifo"})).await;
    assert_eq!(text, "[`fifo` is a FIFO, not a file; it was not read]");
    assert_eq!(bench.text("grep", json!({"pattern": "x"})).await, "No match for /x/.");
    assert_eq!(
        bench.text("grep", json!({"pattern": "x", "path": "fifo"})).await,
        "No match for /x/ in fifo."
    );
    assert!(bench.text("list_directory", json!({})).await.starts_with("fifo\t(neither file nor folder)"));
}

#[tokio::test]
async fn a_file_written_after_the_call_was_prepared_is_read() {
    let bench = Bench::new(&[]);
    let invocation = bench.prepare("read_file", json!({"path": "new/file"})).await.unwrap();
    bench.write("new/file", "hello");
    let permit = crate::Permit::mint("c1".into(), invocation.accesses().to_vec());
    let result = crate::run(invocation, permit, bench.call_context()).await;
    assert_eq!(result.llm_content[0].as_text(), Some("hello"));
}

#[tokio::test]
async fn accesses_name_the_real_file_and_can_be_logged() {
    let bench = Bench::new(&[("a.txt", "")]);
    bench.write(crate::tests::os_path(b"caf\xe9"), "");
    bench.link("link", "a.txt");
    let invocation =
        bench.prepare("read_file", json!({"path": "link", "offset": 4, "limit": 2})).await.unwrap();
    assert_eq!(invocation.accesses(), [ResourceAccess::Read { path: bench.root().join("a.txt") }]);
    assert_eq!(invocation.description(), "a.txt, lines 5-6");
    assert_eq!(invocation.locations()[0].line, Some(5));
    let odd = bench.prepare("read_file", json!({"path": path_bytes(b"caf\xe9")})).await.unwrap();
    serde_json::to_string(odd.accesses()).unwrap();
}

#[tokio::test]
async fn a_secret_where_a_line_is_cut_is_hidden_whole() {
    for before in (1_900..2_010).step_by(5) {
        let line = format!("{}{SECRET}{}", "a".repeat(before), "b".repeat(100));
        let mut bench = Bench::new(&[("file", &format!("{line}\nnext\n"))]);
        bench.redactor = redactor();
        assert_hidden(&bench.text("read_file", json!({"path": "file"})).await);
        // Cut by the budget.
        bench.output = OutputLimits { max_chars: before };
        assert_hidden(&bench.text("read_file", json!({"path": "file"})).await);
        let many = bench.text("read_many_files", json!({"include": ["file"]})).await;
        assert!(many.contains("aaa"), "{many}");
        assert_hidden(&many);
    }
}

#[tokio::test]
async fn a_cut_line_without_a_secret_reads_as_it_would_unwatched() {
    let line = "no secret here ".repeat(200);
    let mut bench = Bench::new(&[("file", &format!("{line}\r\nnext\n"))]);
    let unwatched = bench.text("read_file", json!({"path": "file"})).await;
    bench.redactor = redactor();
    assert_eq!(bench.text("read_file", json!({"path": "file"})).await, unwatched);
}
