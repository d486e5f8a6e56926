//! How much does what weigh, and does a real count correct it?

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::*;
use protocol::{Risk, ToolDeclaration, ToolKind};

fn tokens(weight: TokenEstimate) -> u64 {
    TokenEstimator::default().tokens(weight)
}

fn image(bytes: &[u8]) -> u64 {
    data("image/png", bytes)
}

/// What the data adds to a message that has nothing else in it.
fn data(mime_type: &str, bytes: &[u8]) -> u64 {
    let part = MessagePart::InlineData { mime_type: mime_type.to_owned(), data: STANDARD.encode(bytes) };
    let with = weigh(&message(MessageRole::User, vec![part]));
    let without = weigh(&message(MessageRole::User, vec![MessagePart::text("")]));
    tokens(with.saturating_sub(without))
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 6, 0, 0, 0, 1, 2, 3, 4]);
    bytes
}

#[test]
fn a_text_weighs_by_its_characters() {
    assert_eq!(weigh_text(""), TokenEstimate::default());
    assert_eq!(weigh_text("four").hundredths(), 100);
    assert_eq!(weigh_text("é").hundredths(), 130);
    assert_eq!(weigh_text("漢字🦀").hundredths(), 390);
    assert_eq!(weigh_text("aé\n漢").hundredths(), 310);
}

#[test]
fn everything_in_a_message_weighs() {
    let empty = weigh(&message(MessageRole::Model, Vec::new()));
    assert!(TokenEstimate::default() < empty);
    let parts = [
        MessagePart::text("x"),
        MessagePart::Thought { text: "x".to_owned(), signature: None },
        call("c1", json!({})),
        result_of("c1", vec![MessagePart::text("x")], false),
        MessagePart::File { mime_type: "application/pdf".to_owned(), uri: "gs://x".to_owned() },
        MessagePart::InlineData { mime_type: "application/pdf".to_owned(), data: "AAAA".to_owned() },
    ];
    let mut last = empty;
    for n_parts in 1..=parts.len() {
        let weight = weigh(&message(MessageRole::Model, parts[..n_parts].to_vec()));
        assert!(last < weight, "{:?} weighs nothing", parts[n_parts - 1]);
        last = weight;
    }
    let weight = |part: MessagePart| weigh(&message(MessageRole::Model, vec![part])).hundredths();
    let thought = |text: &str, signature: Option<&str>| {
        weight(MessagePart::Thought { text: text.to_owned(), signature: signature.map(str::to_owned) })
    };
    assert_eq!(thought("abcd", None), thought("", None) + 100);
    assert_eq!(thought("abcd", Some("12345678")), thought("abcd", None) + 200);
    // The name is longer by as much as `{"a":"é"}` is, which has nine characters, than `{}`.
    assert_eq!(weight(call("c", json!({ "a": "é" }))), weight(call("c", json!({}))) + 6 * 25 + 130);
    let told = |text: &str| weight(result_of("c", vec![MessagePart::text(text)], false));
    assert_eq!(told("abcd"), told("") + 100);
}

#[test]
fn an_images_weight_is_that_of_its_tiles() {
    let check =
        |width, height, tiles: u64| assert_eq!(image(&png(width, height)), 258 * tiles, "{width}×{height}");
    check(1, 1, 1);
    check(384, 384, 1);
    check(385, 384, 1);
    check(768, 768, 1);
    check(769, 768, 2);
    check(1920, 1080, 6);
    check(3072, 3072, 16);
    check(100, 60_000, 4);
    check(u32::MAX, u32::MAX, 16);
    // No sides are no image.
    check(0, 100, 4);
}

#[test]
fn sides_are_read_from_every_form_of_image() {
    // 800×10 is two tiles, in every form.
    assert_eq!(image(b"GIF89a\x20\x03\x0a\x00\x00\x00\x00"), 516);
    let lossy = b"RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x20\x03\x0a\x00";
    assert_eq!(image(lossy), 516);
    let packed = (799_u32 | 9 << 14).to_le_bytes();
    let lossless = [b"RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f".as_slice(), &packed].concat();
    assert_eq!(image(&lossless), 516);
    let extended = b"RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x1f\x03\x00\x09\x00\x00";
    assert_eq!(image(extended), 516);
    let mut jpeg = b"\xff\xd8\xff\xe1\xff\xff".to_vec();
    jpeg.extend([0; 0xffff - 2]);
    jpeg.extend(b"\xff\xff\xff\xc4\x00\x04\x00\x00\xff\xc2\x00\x11\x08\x00\x0a\x03\x20\x03");
    assert_eq!(image(&jpeg), 516);
}

#[test]
fn what_is_no_image_that_can_be_read_counts_as_a_usual_one() {
    for bytes in [
        &b""[..],
        b"\x89PNG",
        b"\xff\xd8\xff\xda\x00\x02",
        b"\xff\xd8\xff\xe0",
        b"GIF89a",
        b"RIFF1234WEBPVP8L",
        b"BM1234567",
    ] {
        assert_eq!(image(bytes), 4 * 258, "{bytes:?}");
    }
    let part = MessagePart::InlineData { mime_type: "image/png".to_owned(), data: "no base64".to_owned() };
    let weight = weigh(&message(MessageRole::User, vec![part]));
    assert!(TokenEstimate::tokens(4 * 258) < weight);
}

#[test]
fn images_cut_anywhere_are_read_without_harm() {
    let whole = [
        png(10, 10),
        b"RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x1f\x03\x00\x09\x00\x00".to_vec(),
        b"\xff\xd8\xff\xe0\x00\x04\x00\x00\xff\xc2\x00\x11\x08\x00\x0a\x03\x20\x03".to_vec(),
    ];
    for bytes in whole {
        for end in 0..bytes.len() {
            assert!(258 <= image(&bytes[..end]));
        }
    }
}

#[test]
fn other_data_weighs_by_its_bytes() {
    assert_eq!(data("application/pdf", &[0; 10]), 258);
    assert_eq!(data("audio/mpeg", &[0; 1024 * 1024]), 5 * 1024);
    assert_eq!(data("text/plain", &[b'x'; 400]), 100);
}

#[test]
fn tools_weigh_with_their_descriptions_and_parameters() {
    let tool = |description: &str, parameters: Value| ToolDeclaration {
        name: "t".into(),
        title: "For people alone".to_owned(),
        description: description.to_owned(),
        kind: ToolKind::Read,
        risk: Risk::Safe,
        parameters,
    };
    let bare = weigh_tools(&[tool("", json!({}))]).hundredths();
    assert_eq!(weigh_tools(&[tool("four", json!({}))]).hundredths(), bare + 100);
    assert_eq!(weigh_tools(&[tool("", json!({ "ab": 1 }))]).hundredths(), bare + 150);
    assert_eq!(weigh_tools(&[tool("", json!({})), tool("", json!({}))]).hundredths(), 2 * bare);
    assert_eq!(weigh_tools(&[]), TokenEstimate::default());
}

#[test]
fn an_estimate_is_corrected_by_the_last_real_count() {
    let mut estimator = TokenEstimator::default();
    assert_eq!(estimator.tokens(TokenEstimate::tokens(1_000)), 1_000);
    estimator.learn(TokenEstimate::tokens(1_000), 1_500);
    assert_eq!(estimator.tokens(TokenEstimate::tokens(1_000)), 1_500);
    estimator.learn(TokenEstimate::tokens(1_000), 500);
    assert_eq!(estimator.tokens(TokenEstimate::tokens(1_000)), 500);
    assert_eq!(estimator.weight(500), TokenEstimate::tokens(1_000));
    // What is no count teaches nothing.
    estimator.learn(TokenEstimate::tokens(1_000), 0);
    estimator.learn(TokenEstimate::default(), 7);
    assert_eq!(estimator.tokens(TokenEstimate::tokens(1_000)), 500);
}

#[test]
fn no_count_makes_estimates_absurd() {
    let mut estimator = TokenEstimator::default();
    estimator.learn(TokenEstimate::tokens(1), u64::MAX);
    assert_eq!(estimator.tokens(TokenEstimate::tokens(1_000)), 4_000);
    estimator.learn(TokenEstimate::tokens(u64::MAX), 1);
    assert_eq!(estimator.tokens(TokenEstimate::tokens(1_000)), 250);
}

#[test]
fn tokens_are_rounded_up_and_never_overflow() {
    assert_eq!(tokens(weigh_text("x")), 1);
    assert_eq!(tokens(TokenEstimate::default()), 0);
    let most = TokenEstimate::tokens(u64::MAX);
    assert_eq!(most + most, most);
    assert_eq!([most, most].into_iter().sum::<TokenEstimate>(), most);
    assert_eq!(tokens(most), u64::MAX.div_ceil(100));
    let mut sum = most;
    sum += TokenEstimate::tokens(1);
    assert_eq!(sum, most);
    assert_eq!(TokenEstimator::default().weight(u64::MAX), most);
}
