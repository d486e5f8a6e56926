//! What does the next daemon have to be told, when the one that a client spoke with goes away? Who the client is, and what it asked
//! and was not answered. And the client: that what the daemon asked is not asked any more.

use serde_json::{Map, Value, json};

/// What a client is told whose message is longer than one may be.
pub(super) const TOO_LONG: &str =
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message has at most 4194304 bytes"}}"#;
/// The same of one that is no JSON.
const NO_JSON: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this is no JSON"}}"#;
/// Said by a daemon that cannot answer because it ends; the next one will.
const PASSING: &str = "SHUTTING_DOWN";

/// Requests that were taken back and are remembered: a daemon that goes away may not have heard of it.
const MOST_TAKEN_BACK: usize = 64;

/// What becomes of a line of the client.
#[derive(Debug, PartialEq)]
pub(super) enum ClientLineAction {
    /// The daemon gets it.
    Pass(Vec<u8>),
    /// The client gets this instead.
    Answer(Vec<u8>),
    Nothing,
}

/// What was said so far, as far as it still matters.
#[derive(Default)]
pub(super) struct BridgeConversation {
    /// How the client began, and whether it was answered.
    beginning: Option<(Value, Vec<u8>, bool)>,
    /// That it has understood the answer.
    ready: Option<Vec<u8>>,
    /// The client's requests that are not answered, in order.
    open: Vec<BridgeRequest>,
    /// Lines of the client so far.
    said: u64,
    /// The daemon's requests that the client has not answered, by the ids that the client knows. A daemon counts its own from
    /// the beginning, so those of one must not be taken for another's.
    asked: Map<String, Value>,
    /// The answer to the beginning was given before, and comes once more.
    is_again: bool,
}

/// One request of the client.
struct BridgeRequest {
    id: Value,
    line: Vec<u8>,
    /// Which of the client's lines it was.
    number: u64,
    /// How it was taken back, and which line that was.
    taken_back: Option<(Vec<u8>, u64)>,
}

impl BridgeConversation {
    /// Takes a line of the client.
    pub fn said(&mut self, line: Vec<u8>) -> ClientLineAction {
        let Ok(message) = serde_json::from_slice::<Value>(&line) else {
            return ClientLineAction::Answer(NO_JSON.as_bytes().to_vec());
        };
        self.said += 1;
        let method = message.get("method").and_then(Value::as_str);
        match (method, message.get("id")) {
            (Some(method), Some(id)) => {
                if method == "initialize" && self.beginning.is_none() {
                    self.beginning = Some((id.clone(), line.clone(), false));
                } else {
                    let (id, line) = (id.clone(), line.clone());
                    self.open.push(BridgeRequest { id, line, number: self.said, taken_back: None });
                }
            }
            (Some("notifications/initialized"), None) => self.ready = Some(line.clone()),
            (Some("notifications/cancelled"), None) => {
                let id = message.pointer("/params/requestId");
                self.takes_back(id, &line);
            }
            (None, Some(id)) => return self.answered_by_client(id.clone(), message),
            _ => {}
        }
        ClientLineAction::Pass(line)
    }

    /// One that is taken back is mostly not answered. It stays until it is known that the daemon has heard of it.
    fn takes_back(&mut self, id: Option<&Value>, line: &[u8]) {
        let said = self.said;
        if let Some(request) = self.open.iter_mut().find(|request| Some(&request.id) == id)
            && request.taken_back.is_none()
        {
            request.taken_back = Some((line.to_vec(), said));
        }
        let taken_back = |request: &BridgeRequest| request.taken_back.is_some();
        if self.open.iter().filter(|request| taken_back(request)).count() > MOST_TAKEN_BACK
            && let Some(oldest) = self.open.iter().position(taken_back)
        {
            self.open.remove(oldest);
        }
    }

    /// An answer goes to the daemon that asked, by the id that it gave.
    fn answered_by_client(&mut self, id: Value, mut message: Value) -> ClientLineAction {
        let known = id.as_str().and_then(|id| self.asked.remove(id));
        match known {
            Some(id) => {
                message["id"] = id;
                ClientLineAction::Pass(message.to_string().into_bytes())
            }
            // To a daemon that is gone, or to nothing.
            None => ClientLineAction::Nothing,
        }
    }

    /// Takes a line of the daemon's connection of this number; answers what the client gets.
    pub fn answered(&mut self, number: u64, line: Vec<u8>) -> Option<Vec<u8>> {
        let Ok(mut message) = serde_json::from_slice::<Value>(&line) else { return Some(line) };
        let method = message.get("method").and_then(Value::as_str);
        match (method, message.get("id")) {
            (Some(_), Some(id)) => {
                let known = format!("{number}:{id}");
                self.asked.insert(known.clone(), id.clone());
                message["id"] = known.into();
                Some(message.to_string().into_bytes())
            }
            (Some("notifications/cancelled"), None) => {
                let id = message.pointer_mut("/params/requestId")?;
                let known = format!("{number}:{id}");
                // One that the client has answered is nothing to it.
                self.asked.remove(&known)?;
                *id = known.into();
                Some(message.to_string().into_bytes())
            }
            (None, Some(id)) => {
                let id = id.clone();
                self.closes(&id, &message).then_some(line)
            }
            _ => Some(line),
        }
    }

    /// Whether an answer is for the client.
    fn closes(&mut self, id: &Value, message: &Value) -> bool {
        let is_passing = message.pointer("/error/data/kind").and_then(Value::as_str) == Some(PASSING);
        if let Some((beginning, _, is_answered)) = &mut self.beginning
            && beginning == id
            && (!*is_answered || self.is_again)
        {
            let is_first = !*is_answered;
            if !is_passing {
                *is_answered = true;
                self.is_again = false;
            }
            return is_first && !is_passing;
        }
        let Some(at) = self.open.iter().position(|request| &request.id == id) else { return true };
        if is_passing {
            return false;
        }
        let answered = self.open.remove(at);
        // Lines are heard in their order, so what was taken back before this was asked is heard of.
        self.open.retain(|request| {
            request.taken_back.as_ref().is_none_or(|(_, number)| answered.number < *number)
        });
        true
    }

    /// The daemon is gone: what it asked is taken back.
    pub fn lost(&mut self) -> Vec<Vec<u8>> {
        let asked = std::mem::take(&mut self.asked);
        let taken_back = asked.into_iter().map(|(id, _)| {
            let params =
                json!({ "requestId": id, "reason": "the daemon is started again, and asks once more" });
            let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
            message.to_string().into_bytes()
        });
        taken_back.collect()
    }

    /// What the next daemon is told.
    pub fn again(&mut self) -> Vec<Vec<u8>> {
        self.is_again = self.beginning.as_ref().is_some_and(|(_, _, is_answered)| *is_answered);
        let beginning = self.beginning.iter().map(|(_, line, _)| line);
        // To one that was not told who asks it means nothing.
        let ready = self.ready.iter().filter(|_| self.beginning.is_some());
        let taken_back = |request: &BridgeRequest| request.taken_back.as_ref().map(|(line, _)| line.clone());
        let open = self.open.iter().flat_map(|it| [Some(it.line.clone()), taken_back(it)]).flatten();
        beginning.chain(ready).cloned().chain(open).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(message: Value) -> Vec<u8> {
        message.to_string().into_bytes()
    }

    fn request(id: Value, method: &str) -> Vec<u8> {
        line(json!({"jsonrpc": "2.0", "id": id, "method": method}))
    }

    fn answer(id: Value) -> Vec<u8> {
        line(json!({"jsonrpc": "2.0", "id": id, "result": {}}))
    }

    /// A conversation that has begun.
    fn begun() -> BridgeConversation {
        let mut conversation = BridgeConversation::default();
        let ready = line(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(
            conversation.said(request(json!(0), "initialize")),
            ClientLineAction::Pass(request(json!(0), "initialize"))
        );
        assert_eq!(conversation.answered(0, answer(json!(0))), Some(answer(json!(0))));
        assert_eq!(conversation.said(ready.clone()), ClientLineAction::Pass(ready));
        conversation
    }

    #[test]
    fn the_next_daemon_is_told_who_asks_and_what_was_not_answered() {
        let mut conversation = begun();
        conversation.said(request(json!(1), "tools/list"));
        conversation.said(request(json!("a"), "tools/call"));
        conversation.said(request(json!(2), "tools/call"));
        assert_eq!(conversation.answered(0, answer(json!(1))), Some(answer(json!(1))));
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
        conversation.said(line(cancel));
        // It ends, and says so: the next one will answer.
        let passing = json!({"jsonrpc": "2.0", "id": "a", "error": {"code": -31006, "message": "", "data": {"kind": "SHUTTING_DOWN"}}});
        assert_eq!(conversation.answered(0, line(passing)), None);
        assert_eq!(conversation.lost(), [] as [Vec<u8>; 0]);
        let again: Vec<Value> =
            conversation.again().iter().map(|line| serde_json::from_slice(line).unwrap()).collect();
        let methods: Vec<&Value> = again.iter().map(|message| &message["method"]).collect();
        let ended = ["tools/call", "notifications/cancelled"];
        assert_eq!(methods[..3], ["initialize", "notifications/initialized", "tools/call"]);
        assert_eq!(methods[3..], ended, "it may not have heard that this is taken back");
        assert_eq!((&again[2]["id"], &again[3]["id"]), (&json!("a"), &json!(2)));
        // The client was told before who answers.
        assert_eq!(conversation.answered(1, answer(json!(0))), None);
        assert_eq!(conversation.answered(1, answer(json!("a"))), Some(answer(json!("a"))));
        assert_eq!(conversation.again().len(), 4);
    }

    /// By the client.
    fn take_back(id: Value) -> Vec<u8> {
        line(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}))
    }

    #[test]
    fn what_is_taken_back_is_told_again_until_a_daemon_has_heard_of_it() {
        let mut conversation = begun();
        conversation.said(request(json!(1), "tools/call"));
        conversation.said(request(json!(2), "tools/call"));
        assert_eq!(conversation.said(take_back(json!(1))), ClientLineAction::Pass(take_back(json!(1))));
        conversation.said(request(json!(3), "tools/call"));
        let call = |id: u64| request(json!(id), "tools/call");
        let open = |conversation: &mut BridgeConversation| conversation.again()[2..].to_vec();
        assert_eq!(open(&mut conversation), [call(1), take_back(json!(1)), call(2), call(3)]);
        // Asked before it was taken back: this says nothing of it.
        conversation.answered(1, answer(json!(2)));
        assert_eq!(open(&mut conversation), [call(1), take_back(json!(1)), call(3)]);
        conversation.answered(2, answer(json!(3)));
        assert_eq!(open(&mut conversation), [] as [Vec<u8>; 0]);
        // One that is answered all the same is over, too.
        conversation.said(call(4));
        conversation.said(take_back(json!(4)));
        assert_eq!(conversation.answered(2, answer(json!(4))), Some(answer(json!(4))));
        assert_eq!(open(&mut conversation), [] as [Vec<u8>; 0]);
    }

    #[test]
    fn of_what_is_taken_back_only_so_much_is_remembered() {
        let mut conversation = begun();
        for id in 0..1_000 {
            conversation.said(request(json!(id), "tools/call"));
            conversation.said(take_back(json!(id)));
        }
        assert_eq!(conversation.again().len(), 2 + 2 * MOST_TAKEN_BACK);
    }

    #[test]
    fn nobody_is_told_that_the_client_is_ready_who_was_not_told_who_it_is() {
        let mut conversation = BridgeConversation::default();
        conversation.said(line(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})));
        assert_eq!(conversation.again(), [] as [Vec<u8>; 0]);
    }

    #[test]
    fn a_beginning_that_was_not_answered_is_answered_by_the_next_daemon() {
        let mut conversation = BridgeConversation::default();
        conversation.said(request(json!(0), "initialize"));
        conversation.lost();
        assert_eq!(conversation.again(), [request(json!(0), "initialize")]);
        assert_eq!(conversation.answered(1, answer(json!(0))), Some(answer(json!(0))));
    }

    #[test]
    fn what_one_daemon_asks_is_never_answered_to_another() {
        let mut conversation = begun();
        let asked = |conversation: &mut BridgeConversation, number| -> Value {
            let line = conversation.answered(number, request(json!(0), "elicitation/create")).unwrap();
            serde_json::from_slice::<Value>(&line).unwrap()["id"].clone()
        };
        let first = asked(&mut conversation, 0);
        let taken_back: Value = serde_json::from_slice(&conversation.lost()[0]).unwrap();
        assert_eq!(taken_back["params"]["requestId"], first);
        conversation.again();
        let second = asked(&mut conversation, 1);
        assert_ne!(first, second);
        assert_eq!(conversation.said(answer(first)), ClientLineAction::Nothing);
        assert_eq!(conversation.said(answer(second.clone())), ClientLineAction::Pass(answer(json!(0))));
        assert_eq!(conversation.said(answer(second)), ClientLineAction::Nothing);
    }

    #[test]
    fn what_a_daemon_takes_back_is_taken_back_by_the_id_that_the_client_knows() {
        let mut conversation = begun();
        let take_back =
            line(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}}));
        assert_eq!(conversation.answered(0, take_back.clone()), None);
        conversation.answered(0, request(json!(0), "elicitation/create"));
        let told: Value = serde_json::from_slice(&conversation.answered(0, take_back).unwrap()).unwrap();
        assert_eq!(told["params"]["requestId"], "0:0");
    }

    #[test]
    fn what_is_no_json_is_answered_and_goes_no_further() {
        let mut conversation = begun();
        assert_eq!(conversation.said(b"{".to_vec()), ClientLineAction::Answer(NO_JSON.as_bytes().to_vec()));
    }
}
