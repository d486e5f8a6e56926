//! What is an open text, and who hears that it grows?

use futures_util::FutureExt as _;

use super::*;

#[tokio::test]
async fn growth_of_a_text_is_told_to_those_who_watch_its_session() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let watch = store.live().watch(&[SessionId::from("s")]);
    let (bystander, follower) = (
        store.live().watch(&[SessionId::from("other")]),
        store.follow(LogFilter::session(SessionId::from("s")), EventSeq(0)),
    );
    let writer = store.live().open(SessionId::from("s"), RunId::from("r"), "r#1.1".to_owned(), EventSeq(0));
    let appender = writer.appender();
    watch.grown().await;
    appender.push_text("a").unwrap();
    appender.push_text("b").unwrap();
    // Growth while nobody waits is told, once.
    watch.grown().await;
    for waits in [watch.grown().boxed(), bystander.grown().boxed(), follower.wait().boxed()] {
        assert!(waits.now_or_never().is_none());
    }
    drop((watch, bystander, follower, writer));
    close(store, tracker).await;
}

#[tokio::test]
async fn open_text_grows_until_it_is_frozen_and_is_gone_with_its_writer() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let writer = store.live().open(SessionId::from("s"), RunId::from("r"), "r#1.1".to_owned(), EventSeq(1));
    let appender = writer.appender();
    appender.push_text("h\u{e9}").unwrap();
    appender.push_thought("hm").unwrap();
    let text = store.live().get("r#1.1").unwrap();
    assert_eq!((text.text_after(1), text.thought_after(0)), ("\u{e9}".to_owned(), "hm".to_owned()));
    assert_eq!(writer.freeze(), ("h\u{e9}".to_owned(), "hm".to_owned()));
    appender.push_text("too late").unwrap();
    assert_eq!(text.text_after(3), "");
    drop(writer);
    assert!(store.live().is_empty());
    close(store, tracker).await;
}

#[tokio::test]
async fn a_text_that_is_made_anew_grows_where_it_had_come_to() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let writer = store.live().open(SessionId::from("s"), RunId::from("r"), "call".to_owned(), EventSeq(1));
    let (one, other) = (writer.appender(), writer.appender());
    let text = store.live().get("call").unwrap();
    one.grow_to("h\u{e9} ho").unwrap();
    other.grow_to("h\u{e9}").unwrap();
    assert_eq!(text.text_after(0), "h\u{e9} ho");
    other.grow_to("h\u{e9} ho\u{e9}").unwrap();
    assert_eq!(text.text_after(3), " ho\u{e9}");
    writer.freeze();
    other.grow_to("h\u{e9} ho\u{e9}!").unwrap();
    other.grow_to("h\u{e9} ho\u{e9}!").unwrap();
    assert_eq!(text.text_after(3), " ho\u{e9}");
    writer.thaw();
    assert_eq!(text.text_after(3), " ho\u{e9}!");
    assert_eq!(other.grow_to(&"x".repeat(crate::MAX_LIVE_BYTES + 1)), Err(crate::TooLong));
    drop(writer);
    close(store, tracker).await;
}
