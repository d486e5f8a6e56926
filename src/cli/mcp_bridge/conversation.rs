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

/// What becomes of a line of the client.
#[derive(Debug, PartialEq)]
pub(super) enum Heard {
    /// The daemon gets it.
    Pass(Vec<u8>),
    /// The client gets this instead.
    Answer(Vec<u8>),
    Nothing,
}

/// What was said so far, as far as it still matters.
#[derive(Default)]
pub(super) struct Conversation {
    /// How the client began, and whether it was answered.
    beginning: Option<(Value, Vec<u8>, bool)>,
    /// That it has understood the answer.
    ready: Option<Vec<u8>>,
    /// The client's requests that are not answered, in order.
    open: Vec<(Value, Vec<u8>)>,
    /// The daemon's requests that the client has not answered, by the ids that the client knows. A daemon counts its own from
    /// the beginning, so those of one must not be taken for another's.
    asked: Map<String, Value>,
    /// The answer to the beginning was given before, and comes once more.
    is_again: bool,
}

impl Conversation {
    /// Takes a line of the client.
    pub fn said(&mut self, line: Vec<u8>) -> Heard {
        let Ok(message) = serde_json::from_slice::<Value>(&line) else {
            return Heard::Answer(NO_JSON.as_bytes().to_vec());
        };
        let method = message.get("method").and_then(Value::as_str);
        match (method, message.get("id")) {
            (Some(method), Some(id)) => {
                if method == "initialize" && self.beginning.is_none() {
                    self.beginning = Some((id.clone(), line.clone(), false));
                } else {
                    self.open.push((id.clone(), line.clone()));
                }
            }
            (Some("notifications/initialized"), None) => self.ready = Some(line.clone()),
            (Some("notifications/cancelled"), None) => {
                let id = message.pointer("/params/requestId");
                self.open.retain(|(open, _)| Some(open) != id);
            }
            (None, Some(id)) => return self.answered_by_client(id.clone(), message),
            _ => {}
        }
        Heard::Pass(line)
    }

    /// An answer goes to the daemon that asked, by the id that it gave.
    fn answered_by_client(&mut self, id: Value, mut message: Value) -> Heard {
        let known = id.as_str().and_then(|id| self.asked.remove(id));
        match known {
            Some(id) => {
                message["id"] = id;
                Heard::Pass(message.to_string().into_bytes())
            }
            // To a daemon that is gone, or to nothing.
            None => Heard::Nothing,
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
        if is_passing && self.open.iter().any(|(open, _)| open == id) {
            return false;
        }
        self.open.retain(|(open, _)| open != id);
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
        let open = self.open.iter().map(|(_, line)| line);
        beginning.chain(&self.ready).chain(open).cloned().collect()
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
    fn begun() -> Conversation {
        let mut conversation = Conversation::default();
        let ready = line(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(
            conversation.said(request(json!(0), "initialize")),
            Heard::Pass(request(json!(0), "initialize"))
        );
        assert_eq!(conversation.answered(0, answer(json!(0))), Some(answer(json!(0))));
        assert_eq!(conversation.said(ready.clone()), Heard::Pass(ready));
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
        assert_eq!(methods, ["initialize", "notifications/initialized", "tools/call"]);
        assert_eq!(again[2]["id"], "a");
        // The client was told before who answers.
        assert_eq!(conversation.answered(1, answer(json!(0))), None);
        assert_eq!(conversation.answered(1, answer(json!("a"))), Some(answer(json!("a"))));
        assert_eq!(conversation.again().len(), 2);
    }

    #[test]
    fn a_beginning_that_was_not_answered_is_answered_by_the_next_daemon() {
        let mut conversation = Conversation::default();
        conversation.said(request(json!(0), "initialize"));
        conversation.lost();
        assert_eq!(conversation.again(), [request(json!(0), "initialize")]);
        assert_eq!(conversation.answered(1, answer(json!(0))), Some(answer(json!(0))));
    }

    #[test]
    fn what_one_daemon_asks_is_never_answered_to_another() {
        let mut conversation = begun();
        let asked = |conversation: &mut Conversation, number| -> Value {
            let line = conversation.answered(number, request(json!(0), "elicitation/create")).unwrap();
            serde_json::from_slice::<Value>(&line).unwrap()["id"].clone()
        };
        let first = asked(&mut conversation, 0);
        let taken_back: Value = serde_json::from_slice(&conversation.lost()[0]).unwrap();
        assert_eq!(taken_back["params"]["requestId"], first);
        conversation.again();
        let second = asked(&mut conversation, 1);
        assert_ne!(first, second);
        assert_eq!(conversation.said(answer(first)), Heard::Nothing);
        assert_eq!(conversation.said(answer(second.clone())), Heard::Pass(answer(json!(0))));
        assert_eq!(conversation.said(answer(second)), Heard::Nothing);
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
        assert_eq!(conversation.said(b"{".to_vec()), Heard::Answer(NO_JSON.as_bytes().to_vec()));
    }
}
