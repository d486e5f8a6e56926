//! What a model says, in the form of each provider: one vocabulary, so that a scenario is written once for all.

use serde_json::{Value, json};
use subagentd::config::ProviderKind;

use super::{Answer, Judge, ProviderServer, anthropic, gemini, openai, openai_responses};

mod events;

/// A provider's wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Gemini,
    OpenAi,
    OpenAiResponses,
    Anthropic,
}

/// One reply.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// Comes with a signature, where there is such a thing.
    pub thought: &'static str,
    pub text: String,
    pub calls: Vec<Call>,
    pub why: Why,
}

#[derive(Debug, Clone)]
pub struct Call {
    pub id: &'static str,
    pub name: &'static str,
    /// As the model wrote them: JSON, as a rule.
    pub arguments: String,
}

/// Why the model ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Why {
    #[default]
    Done,
    /// There was no room for more.
    Length,
    /// What it said is withheld.
    Withheld,
}

pub fn call(id: &'static str, name: &'static str, arguments: &Value) -> Call {
    Call { id, name, arguments: arguments.to_string() }
}

impl Wire {
    pub const ALL: [Wire; 4] = [Wire::Gemini, Wire::OpenAi, Wire::OpenAiResponses, Wire::Anthropic];

    pub fn kind(self) -> ProviderKind {
        match self {
            Wire::Gemini => ProviderKind::Gemini,
            Wire::OpenAi => ProviderKind::OpenAi,
            Wire::OpenAiResponses => ProviderKind::OpenAiResponses,
            Wire::Anthropic => ProviderKind::Anthropic,
        }
    }

    /// As people write `kind` in the settings.
    pub fn name(self) -> &'static str {
        self.kind().as_str()
    }

    /// A model that thinks.
    pub fn model(self) -> &'static str {
        match self {
            Wire::Gemini => "gemini-2.5-pro",
            Wire::OpenAi => "gpt-5.1",
            Wire::OpenAiResponses => "gpt-5.1",
            Wire::Anthropic => "claude-haiku-4-5",
        }
    }

    /// What stands in front of the API's own paths.
    pub fn base_path(self) -> &'static str {
        match self {
            Wire::Gemini | Wire::Anthropic => "",
            Wire::OpenAi | Wire::OpenAiResponses => "/v1",
        }
    }

    /// A server that judges by this provider's rules.
    pub async fn server(self, script: impl IntoIterator<Item = Answer>) -> ProviderServer {
        let judge: Box<dyn Judge> = match self {
            Wire::Gemini => Box::<gemini::Judge>::default(),
            Wire::OpenAi => Box::new(openai::Judge::new(true)),
            Wire::OpenAiResponses => Box::<openai_responses::Judge>::default(),
            Wire::Anthropic => Box::<anthropic::Judge>::default(),
        };
        ProviderServer::start(judge, script).await
    }

    pub fn says(self, said: &Said) -> Answer {
        Answer::chunks(self.events(said))
    }

    pub fn text(self, text: &str) -> Answer {
        self.says(&Said { text: text.to_owned(), ..Said::default() })
    }

    pub fn calls(self, calls: impl IntoIterator<Item = Call>) -> Answer {
        self.says(&Said { calls: calls.into_iter().collect(), ..Said::default() })
    }

    /// What a request has, as the provider counts it; `None` = it does not count.
    pub fn counts(self, tokens: u64) -> Option<Answer> {
        match self {
            Wire::Gemini => Some(Answer::json(json!({ "totalTokens": tokens, "promptTokensDetails": [] }))),
            Wire::Anthropic => Some(Answer::json(json!({ "input_tokens": tokens }))),
            Wire::OpenAi | Wire::OpenAiResponses => None,
        }
    }

    /// The end of an agent that completes by a call.
    pub fn done(self) -> Answer {
        self.calls([call("call_done", "complete_task", &json!({ "result": "finished" }))])
    }

    /// The events of one reply, each as its JSON.
    pub fn events(self, said: &Said) -> Vec<String> {
        match self {
            Wire::Gemini => events::gemini(said),
            Wire::OpenAi => events::openai(said),
            Wire::OpenAiResponses => events::openai_responses(said),
            Wire::Anthropic => events::anthropic(said),
        }
    }

    /// The reply's events up to and with the one that says why it ended: what may still come is left out.
    pub fn up_to_its_reason(self, said: &Said) -> Answer {
        let (mut events, reason) = self.events_and_reason(said);
        events.truncate(reason + 1);
        Answer::chunks(events)
    }

    /// The reply's events before the one that says why it ended.
    pub fn before_its_reason(self, said: &Said) -> Answer {
        let (mut events, reason) = self.events_and_reason(said);
        events.truncate(reason);
        Answer::chunks(events)
    }

    fn events_and_reason(self, said: &Said) -> (Vec<String>, usize) {
        let mark = match self {
            Wire::Gemini => "\"finishReason\":\"",
            Wire::OpenAi => "\"finish_reason\":\"",
            Wire::OpenAiResponses => "\"type\":\"response.completed\"",
            Wire::Anthropic => "\"stop_reason\":\"",
        };
        let events = self.events(said);
        let reason = events.iter().position(|event| event.contains(mark)).expect("every reply has a reason");
        (events, reason)
    }

    /// A well-formed reply in which nothing is said, nor why.
    pub fn empty(self) -> Answer {
        match self {
            Wire::Gemini => Answer::chunks([
                json!({ "candidates": [], "usageMetadata": { "promptTokenCount": 1 } }).to_string(),
            ]),
            Wire::OpenAi => Answer::chunks([
                json!({ "choices": [], "usage": { "prompt_tokens": 1, "completion_tokens": 0 } }).to_string(),
                "[DONE]".to_owned(),
            ]),
            Wire::OpenAiResponses | Wire::Anthropic => self.says(&Said::default()),
        }
    }

    /// The provider's own name for a refusal.
    pub fn error_name(self, status: u16) -> &'static str {
        match (self, status) {
            (Wire::Gemini, 400 | 413) => "INVALID_ARGUMENT",
            (Wire::Gemini, 401) => "UNAUTHENTICATED",
            (Wire::Gemini, 403) => "PERMISSION_DENIED",
            (Wire::Gemini, 404) => "NOT_FOUND",
            (Wire::Gemini, 408) => "DEADLINE_EXCEEDED",
            (Wire::Gemini, 409) => "ABORTED",
            (Wire::Gemini, 429) => "RESOURCE_EXHAUSTED",
            (Wire::Gemini, 503 | 529) => "UNAVAILABLE",
            (Wire::Gemini, _) => "INTERNAL",
            (Wire::OpenAi | Wire::OpenAiResponses, 429) => "requests",
            (Wire::OpenAi | Wire::OpenAiResponses, 500..) => "server_error",
            (Wire::OpenAi | Wire::OpenAiResponses, _) => "invalid_request_error",
            (Wire::Anthropic, 401) => "authentication_error",
            (Wire::Anthropic, 403) => "permission_error",
            (Wire::Anthropic, 404) => "not_found_error",
            (Wire::Anthropic, 413) => "request_too_large",
            (Wire::Anthropic, 429) => "rate_limit_error",
            (Wire::Anthropic, 503 | 529) => "overloaded_error",
            (Wire::Anthropic, 500..) => "api_error",
            (Wire::Anthropic, _) => "invalid_request_error",
        }
    }

    fn error_body(self, status: u16, message: &str) -> Value {
        let name = self.error_name(status);
        match self {
            Wire::Gemini => json!({ "error": { "code": status, "message": message, "status": name } }),
            Wire::OpenAi | Wire::OpenAiResponses => {
                json!({ "error": { "message": message, "type": name, "param": null, "code": null } })
            }
            Wire::Anthropic => {
                json!({ "type": "error", "error": { "type": name, "message": message }, "request_id": "req_1" })
            }
        }
    }

    /// A refusal in the provider's form.
    pub fn refuses(self, status: u16, message: &str) -> Answer {
        let body = self.error_body(status, message).to_string();
        Answer::status(status, body).header("content-type", "application/json")
    }

    /// 429 with a wait of 41.5 s in its body, in the way that the provider has for that.
    pub fn limits_in_its_body(self) -> Answer {
        let mut body = self.error_body(429, "Slow down.");
        match self {
            Wire::Gemini => {
                body["error"]["details"] = json!([
                    { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "41.5s" },
                ]);
            }
            Wire::OpenAi | Wire::OpenAiResponses => {
                body["error"]["message"] = "Slow down. Please try again in 41.5s.".into();
            }
            // It has none.
            Wire::Anthropic => (),
        }
        Answer::status(429, body.to_string()).header("content-type", "application/json")
    }

    /// A reply that begins and then says that the provider failed.
    pub fn fails_in_the_middle(self) -> Answer {
        let half = Said { text: "Half of it".to_owned(), ..Said::default() };
        let (mut events, reason) = self.events_and_reason(&half);
        events.truncate(reason);
        events.push(match self {
            Wire::OpenAiResponses => json!({ "type": "response.failed", "response": {
                "error": { "code": "server_error", "message": "Overloaded." },
            } })
            .to_string(),
            _ => self.error_body(503, "Overloaded.").to_string(),
        });
        Answer::chunks(events)
    }

    /// The thoughts that a request gives back, each with whether it is signed.
    pub fn thoughts_in(self, body: &Value) -> Vec<(String, bool)> {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match self {
            Wire::Gemini => list(&body["contents"])
                .iter()
                .flat_map(|content| list(&content["parts"]))
                .filter(|part| part["thought"] == true || part["thoughtSignature"].is_string())
                .map(|part| (text(&part["text"]), part["thoughtSignature"].is_string()))
                .collect(),
            Wire::OpenAi => list(&body["messages"])
                .iter()
                .filter(|message| message["reasoning_content"].is_string())
                .map(|message| (text(&message["reasoning_content"]), false))
                .collect(),
            Wire::OpenAiResponses => list(&body["input"])
                .iter()
                .filter(|item| item["type"] == "reasoning")
                .map(|item| (text(&item["summary"][0]["text"]), item["encrypted_content"].is_string()))
                .collect(),
            Wire::Anthropic => list(&body["messages"])
                .iter()
                .flat_map(|message| list(&message["content"]))
                .filter(|block| block["type"] == "thinking")
                .map(|block| (text(&block["thinking"]), block["signature"].is_string()))
                .collect(),
        }
    }
}
