//! `POST /confirm/<token>`: how does somebody answer a question who has no client? By the token of a notification alone
//! (spec 06, "Routing", 5).
//!
//! It is the method `confirmation/respond` by another door: the token stands in the path, the rest of the parameters in
//! the body.

use std::fmt;

use hyper::{
    Request, StatusCode,
    body::{Bytes, Incoming},
};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::{Map, Value, json, value::RawValue};

use super::{HttpAnswer, HttpRequestHandler, json as with_json, refusal};
use crate::rpc::errors::internal_error;
use protocol::{ConfirmationGet, ConfirmationRespond, ErrorKind, RpcError, RpcMethod as _};

/// What comes before the token.
pub(super) const PATH: &str = "/confirm/";

/// Bytes of an answer, with the words for the agent that it may have.
const LONGEST_ANSWER: usize = 64 << 10;

#[derive(Deserialize)]
struct ConfirmationResponse {
    result: Option<Box<RawValue>>,
    error: Option<RpcError>,
}

/// An object with each of its fields once: of two answers nobody could tell which one was meant.
struct AnswerFields(Map<String, Value>);

impl<'de> Deserialize<'de> for AnswerFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AnswerFields, D::Error> {
        deserializer.deserialize_map(AnswerFieldsVisitor)
    }
}

struct AnswerFieldsVisitor;

impl<'de> Visitor<'de> for AnswerFieldsVisitor {
    type Value = AnswerFields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<AnswerFields, A::Error> {
        let mut once = Map::new();
        while let Some((name, value)) = fields.next_entry::<String, Value>()? {
            if once.contains_key(&name) {
                return Err(A::Error::custom(format!("`{name}` stands there twice")));
            }
            once.insert(name, value);
        }
        Ok(AnswerFields(once))
    }
}

impl HttpRequestHandler {
    pub(super) async fn confirm(&self, token: &str, request: Request<Incoming>) -> HttpAnswer {
        let body = match self.body_of_at_most(request, LONGEST_ANSWER).await {
            Ok(body) => body,
            Err(answer) => return *answer,
        };
        // First, so that nobody without a token is worth the time to read what they send.
        if let Err(error) = self.is_known(token).await {
            return refused(&error);
        }
        let mut params = match serde_json::from_slice(&body) {
            Ok(AnswerFields(params)) => params,
            Err(error) => {
                let error =
                    RpcError::new(ErrorKind::ParseError, format!("the body is no JSON object: {error}"))
                        .with_hint(
                            r#"send {"outcome": "allowOnce"} or {"outcome": "deny", "message": "why"}"#,
                        );
                return refusal(StatusCode::BAD_REQUEST, &error);
            }
        };
        if let Err(answer) = self.look().await {
            return *answer;
        }
        params.insert("token".to_owned(), token.into());
        let message =
            json!({ "jsonrpc": "2.0", "id": 1, "method": ConfirmationRespond::NAME, "params": params });
        let response = match self.exchange(&Bytes::from(message.to_string()), None).await {
            Ok(Some(response)) => serde_json::from_str::<ConfirmationResponse>(response.get()),
            Ok(None) => return refused(&internal_error(&"an answer to a question was not answered")),
            Err(answer) => return *answer,
        };
        match response {
            Ok(ConfirmationResponse { result: Some(result), .. }) => with_json(StatusCode::OK, &result),
            Ok(ConfirmationResponse { error: Some(error), .. }) => refused(&error),
            Ok(_) => refused(&internal_error(&"a response without result and error")),
            Err(error) => refused(&internal_error(&error)),
        }
    }
}

impl HttpRequestHandler {
    /// Whether the token is one of this daemon's: before that is known nobody looks where the request comes from.
    async fn is_known(&self, token: &str) -> Result<(), RpcError> {
        let params = json!({ "token": token });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": ConfirmationGet::NAME, "params": params });
        let response = match self.exchange(&Bytes::from(message.to_string()), None).await {
            Ok(Some(response)) => serde_json::from_str::<ConfirmationResponse>(response.get()),
            Ok(None) | Err(_) => return Err(internal_error(&"a token could not be looked at")),
        };
        match response {
            Ok(ConfirmationResponse { error: Some(error), .. }) => Err(error),
            Ok(ConfirmationResponse { result: Some(_), .. }) => Ok(()),
            Ok(_) => Err(internal_error(&"a response without result and error")),
            Err(error) => Err(internal_error(&error)),
        }
    }
}

fn refused(error: &RpcError) -> HttpAnswer {
    refusal(status(error.data.kind), error)
}

fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::ParseError | ErrorKind::InvalidRequest | ErrorKind::InvalidParams => {
            StatusCode::BAD_REQUEST
        }
        ErrorKind::Forbidden => StatusCode::FORBIDDEN,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::ConfirmationAlreadyResolved
        | ErrorKind::ConfirmationStale
        | ErrorKind::OutcomeNotOffered
        | ErrorKind::RunNotActive => StatusCode::CONFLICT,
        ErrorKind::ShuttingDown | ErrorKind::StorageFull | ErrorKind::RequestCancelled => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
