//! Changes of several hooks to one request, reply or result: whose counts? A less trusted place never takes back what a more trusted
//! one made of it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::HookOrigin;

/// Everything that hooks changed so far, by the trust of the place that each stands in: the system's is 0.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RankedChanges {
    request: BTreeMap<String, RankedValue>,
    response: Option<RankedValue>,
    output: Option<RankedValue>,
    tools: BTreeMap<u8, Vec<String>>,
}

#[derive(Debug, Clone, PartialEq)]
struct RankedValue {
    rank: u8,
    value: Value,
}

/// Two hooks of the same place want different things, and neither is what the other one made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictingChange(pub String);

fn rank(origin: &HookOrigin) -> u8 {
    match origin {
        HookOrigin::System => 0,
        HookOrigin::User => 1,
        HookOrigin::Project { .. } => 2,
        HookOrigin::Agent { .. } => 3,
    }
}

impl RankedChanges {
    /// Takes in fields of a request. Those that are as they were shown are no change.
    pub fn request(
        &mut self,
        origin: &HookOrigin,
        given: Value,
        shown: &Value,
    ) -> Result<Option<Value>, ConflictingChange> {
        let Value::Object(given) = given else { return Ok(None) };
        for (key, value) in given {
            if shown.get(&key) == Some(&value) {
                continue;
            }
            let known = self.request.remove(&key);
            let what = format!("`{key}` of a request");
            self.request.insert(key, stricter(known, RankedValue { rank: rank(origin), value }, &what)?);
        }
        let fields = self.request.iter().map(|(key, it)| (key.clone(), it.value.clone()));
        let fields: Map<String, Value> = fields.collect();
        Ok((!fields.is_empty()).then_some(Value::Object(fields)))
    }

    /// Takes in a reply in place of the model's.
    pub fn response(
        &mut self,
        origin: &HookOrigin,
        given: Value,
        shown: Option<&Value>,
    ) -> Result<Option<Value>, ConflictingChange> {
        if !shown.is_some_and(|shown| says_the_same(&given, shown)) {
            let given = RankedValue { rank: rank(origin), value: given };
            self.response = Some(stricter(self.response.take(), given, "a model's answer")?);
        }
        Ok(self.response.as_ref().map(|it| it.value.clone()))
    }

    /// Takes in a text in place of a tool's result. Of one place the last counts.
    pub fn output(&mut self, origin: &HookOrigin, given: Value) -> Value {
        let given = RankedValue { rank: rank(origin), value: given };
        let counts = match self.output.take() {
            Some(known) if known.rank < given.rank => known,
            _ => given,
        };
        self.output.insert(counts).value.clone()
    }

    /// True if a more trusted place than this one has put something in place of the result.
    pub fn outranks_output(&self, origin: &HookOrigin) -> bool {
        self.output.as_ref().is_some_and(|known| known.rank < rank(origin))
    }

    /// Takes in tools that may be declared: any of those that hooks of one place name, and of those only what each place names.
    pub fn tools(&mut self, origin: &HookOrigin, names: Vec<String>) -> Vec<String> {
        let of_place = self.tools.entry(rank(origin)).or_default();
        for name in names {
            if !of_place.contains(&name) {
                of_place.push(name);
            }
        }
        let mut places = self.tools.values();
        let first = places.next().cloned().unwrap_or_default();
        places.fold(first, |all, place| all.into_iter().filter(|name| place.contains(name)).collect())
    }
}

/// True if a reply has no other text than the one that was shown, in whichever of its forms: then it takes back no change of others.
fn says_the_same(given: &Value, shown: &Value) -> bool {
    let (Some(was), texts) = (shown.get("text").and_then(text_of), forms_of(given)) else {
        return given == shown;
    };
    match texts.is_empty() {
        true => given == shown,
        false => texts.iter().all(|text| text.as_ref() == Some(&was)),
    }
}

/// The text of a reply in each form that it is said in; `None` = it is no text.
fn forms_of(reply: &Value) -> Vec<Option<String>> {
    let text = reply.get("text").filter(|text| !text.is_null()).map(text_of);
    let candidates = reply.get("candidates").filter(|it| !it.is_null());
    let candidate = candidates.map(|it| it.pointer("/0/content/parts").and_then(text_of));
    text.into_iter().chain(candidate).collect()
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => parts.iter().map(text_of).collect(),
        Value::Object(part) => part.get("text").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    }
}

/// The change of the more trusted place.
fn stricter(
    known: Option<RankedValue>,
    given: RankedValue,
    what: &str,
) -> Result<RankedValue, ConflictingChange> {
    match known {
        None => Ok(given),
        Some(known) if known.rank < given.rank || known.value == given.value => Ok(known),
        Some(known) if given.rank < known.rank => Ok(given),
        Some(_) => Err(ConflictingChange(format!(
            "hooks of one place change {what} in different ways: put what they do into one hook"
        ))),
    }
}
