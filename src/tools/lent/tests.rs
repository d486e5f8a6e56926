//! Who lends what to whom, and whether a client was away.

use serde_json::json;

use super::lenders::{ClientToolRegistry, ClientToolState, ToolRegistrationError};
use protocol::{ClientId, OnDisconnect, RegisteredClientTool, Risk, SessionId, ToolDeclaration, ToolKind};

fn tool(name: &str, client: &str, session: Option<&str>) -> RegisteredClientTool {
    RegisteredClientTool {
        declaration: ToolDeclaration {
            name: name.into(),
            title: name.to_owned(),
            description: client.to_owned(),
            kind: ToolKind::Read,
            risk: Risk::Safe,
            parameters: json!({}),
        },
        client: client.into(),
        session: session.map(SessionId::from),
        on_disconnect: OnDisconnect::Fail,
        timeout_ms: 1_000,
    }
}

fn lend(lenders: &ClientToolRegistry, client: &str, session: Option<&str>, connection: u64, names: &[&str]) {
    let tools = names.iter().map(|name| tool(name, client, session)).collect();
    let session = session.map(SessionId::from);
    lenders.lend(&ClientId::from(client), session.as_ref(), connection, tools).unwrap();
}

fn shown(lenders: &ClientToolRegistry, session: Option<&str>) -> String {
    let tools = lenders.tools_for(session.map(SessionId::from).as_ref(), &|_| true);
    let shown = tools.iter().map(|tool| format!("{}:{}", tool.declaration.name, tool.client));
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_session_sees_what_is_lent_to_it_before_what_is_lent_to_all_and_the_newest_before_older_ones() {
    let lenders = ClientToolRegistry::default();
    lend(&lenders, "a", None, 1, &["z", "both"]);
    lend(&lenders, "b", None, 2, &["both", "m"]);
    lend(&lenders, "c", Some("s"), 3, &["m", "own"]);
    assert_eq!(shown(&lenders, None), "both:b m:b z:a");
    assert_eq!(shown(&lenders, Some("s")), "both:b m:c own:c z:a");
    assert_eq!(shown(&lenders, Some("t")), "both:b m:b z:a");
    // Again: in place of the set, and newer than the others.
    lend(&lenders, "a", None, 1, &["both"]);
    assert_eq!(shown(&lenders, None), "both:a m:b");
    lend(&lenders, "a", None, 1, &[]);
    assert_eq!(shown(&lenders, None), "both:b m:b");
    lenders.leave(2);
    assert_eq!(shown(&lenders, Some("s")), "m:c own:c");
}

#[test]
fn a_client_that_was_away_is_told_from_one_that_only_said_it_again() {
    let lenders = ClientToolRegistry::default();
    let known = tool("x", "a", None);
    assert_eq!(lenders.state(&known, None), ClientToolState::Away);
    lend(&lenders, "a", None, 1, &["x"]);
    let ClientToolState::Lent { generation } = lenders.state(&known, None) else { panic!("it is lent") };
    // Again, by the same connection and by another one of the client.
    for connection in [1, 2] {
        lend(&lenders, "a", None, connection, &["x", "y"]);
        assert_eq!(lenders.state(&known, None), ClientToolState::Lent { generation });
    }
    // What the first lent, the second has taken over.
    lenders.leave(1);
    assert_eq!(lenders.state(&known, None), ClientToolState::Lent { generation });
    lenders.leave(2);
    assert_eq!(lenders.state(&known, None), ClientToolState::Away);
    lend(&lenders, "a", None, 3, &["x"]);
    assert!(
        matches!(lenders.state(&known, None), ClientToolState::Lent { generation: other } if other != generation)
    );
    lend(&lenders, "a", None, 3, &["y"]);
    assert_eq!(lenders.state(&known, None), ClientToolState::Withdrawn);
    // To a session is another thing than to all.
    assert_eq!(lenders.state(&tool("y", "a", Some("s")), None), ClientToolState::Away);
}

#[test]
fn what_a_newer_connection_took_over_comes_back_when_it_goes() {
    let lenders = ClientToolRegistry::default();
    lend(&lenders, "a", None, 1, &["x", "y"]);
    let known = tool("y", "a", None);
    let before = lenders.state(&known, None);
    lend(&lenders, "a", None, 2, &["x"]);
    assert_eq!(
        (shown(&lenders, None).as_str(), lenders.state(&known, None)),
        ("x:a", ClientToolState::Withdrawn)
    );
    lenders.leave(2);
    // Its client was there all the time.
    assert_eq!((shown(&lenders, None).as_str(), lenders.state(&known, None)), ("x:a y:a", before));
    lenders.leave(1);
    assert_eq!(lenders.state(&known, None), ClientToolState::Away);
}

#[test]
fn all_clients_together_lend_a_session_so_much_and_no_more() {
    let names: Vec<String> = (0..100).map(|n| format!("t{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let lenders = ClientToolRegistry::default();
    for client in ["a", "b", "c", "d"] {
        lend(&lenders, client, None, 1, &names);
    }
    lend(&lenders, "e", Some("s"), 2, &names);
    let more = |client: &str, session: Option<&str>| {
        let session = session.map(SessionId::from);
        lenders.lend(&client.into(), session.as_ref(), 3, vec![tool("more", client, None)])
    };
    let refused = more("f", None).unwrap_err();
    assert!(matches!(refused, ToolRegistrationError::Tools { tools: 501, .. }), "{refused}");
    assert!(more("f", Some("s")).is_err());
    // Another session has room; and in place of what is lent there is, too.
    more("f", Some("t")).unwrap();
    more("e", Some("s")).unwrap();
    more("f", None).unwrap();
    let mut large = tool("large", "g", None);
    large.declaration.description = "x".repeat(1 << 20);
    let refused = lenders.lend(&"g".into(), None, 4, vec![large]).unwrap_err();
    assert!(matches!(refused, ToolRegistrationError::Tools { tools: 403, .. }), "{refused}");
}

#[test]
fn a_connection_lends_to_so_many_sessions_and_no_more() {
    let lenders = ClientToolRegistry::default();
    for n in 0..256 {
        lend(&lenders, "a", Some(&format!("s{n}")), 1, &["x"]);
    }
    let more = SessionId::from("more");
    assert_eq!(lenders.lend(&"a".into(), Some(&more), 1, Vec::new()), Err(ToolRegistrationError::Sessions));
    // One that is there may be replaced, and another connection has room.
    lend(&lenders, "a", Some("s0"), 1, &["y"]);
    lend(&lenders, "a", Some("more"), 2, &["x"]);
}
