//! What may settings say about models: which does what, what names stand for, how much they take in and what they cost?
//! (spec 04; spec 12, `models`)

use std::collections::BTreeMap;

use jsonc_parser::ast::Value;
use serde_json::{Value as Json, json};

use super::{
    LayeredSetting,
    entries::{EntryLocation, EntryShape, ObjectFields, object_schema},
    mistake::{SettingMistake, found},
    sampling,
    shapes::{IntegerShape, NameShape, NumberShape, SettingShape, ShapeError, plain},
};
use protocol::{FileProblemCode, ModelRef, SamplingSettings, TokenPrice, UsdAmount};

/// An alias is a word.
const MAX_ALIAS_CHARS: usize = 64;
/// The longest name of a model, `entry/model`, with room for stars.
const MAX_PATTERN_CHARS: usize = 300;
/// Dollars for a million tokens at most, a dollar a token: what is more is a slip.
const MOST_DOLLARS: f64 = 1e6;
/// Names that mean something already, wherever a model is named.
const RESERVED: &[&str] = &["auto", "dictated", "inherit", "offline", "replay"];

#[derive(Debug, Clone, PartialEq)]
pub struct ModelSettings {
    /// For agents that name no model. Nothing is chosen silently: without it such a run answers `NO_MODEL`.
    pub default: LayeredSetting<Option<ModelRef>>,
    /// For checks and classifiers. `None` = there are none that would ask it.
    pub small: LayeredSetting<Option<ModelRef>>,
    /// For summaries of long contexts. `None` = the small one, else the run's own.
    pub compression: LayeredSetting<Option<ModelRef>>,
    /// In this order, for a run whose model is out of quota or down.
    pub fallback: LayeredSetting<Vec<ModelRef>>,
    pub auto: AutoSettings,
    pub aliases: LayeredSetting<BTreeMap<String, ModelAlias>>,
    /// Tokens, by `entry/model`, a bare id, or a pattern of one of these.
    pub context_window: LayeredSetting<BTreeMap<String, u64>>,
    /// By the same.
    pub prices: LayeredSetting<BTreeMap<String, TokenPrice>>,
}

/// The tiers that the model `auto` chooses from.
#[derive(Debug, Clone, PartialEq)]
pub struct AutoSettings {
    pub fast: LayeredSetting<Option<ModelRef>>,
    pub strong: LayeredSetting<Option<ModelRef>>,
}

/// What a name of the user's own stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAlias {
    /// Never an alias.
    pub model: ModelRef,
    pub sampling: SamplingSettings,
}

impl Default for ModelSettings {
    fn default() -> ModelSettings {
        ModelSettings {
            default: LayeredSetting::default_of(None),
            small: LayeredSetting::default_of(None),
            compression: LayeredSetting::default_of(None),
            fallback: LayeredSetting::default_of(Vec::new()),
            auto: AutoSettings {
                fast: LayeredSetting::default_of(None),
                strong: LayeredSetting::default_of(None),
            },
            aliases: LayeredSetting::default_of(BTreeMap::new()),
            context_window: LayeredSetting::default_of(BTreeMap::new()),
            prices: LayeredSetting::default_of(BTreeMap::new()),
        }
    }
}

/// Shape of one of `models.aliases`.
pub(super) struct AliasShape;

const MODEL: &str = "model";
const MODEL_EXPECTED: &str = "a model's name, e.g. \"gemini/gemini-2.5-pro\"";

impl EntryShape for AliasShape {
    type Out = ModelAlias;

    fn name_problem(&self, name: &str) -> Option<String> {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.:".contains(letter);
        if name.is_empty() || MAX_ALIAS_CHARS < name.len() || !name.chars().all(is_letter) {
            return Some(format!("an alias is 1 to {MAX_ALIAS_CHARS} letters, digits, `-`, `_`, `.` or `:`"));
        }
        let first = name.split(':').next().unwrap_or_default();
        RESERVED
            .contains(&first)
            .then(|| format!("`{name}` is no name for an alias: it means something already"))
    }

    fn read(
        &self,
        entry: &EntryLocation<'_>,
        value: &Value<'_>,
        mistakes: &mut Vec<SettingMistake>,
    ) -> Option<ModelAlias> {
        let known: Vec<&str> = [MODEL].into_iter().chain(sampling::FIELDS).collect();
        let mut fields =
            ObjectFields::open(&entry.path, value, (&known, "an object with `model`"), mistakes)?;
        let model = fields.need(MODEL, &NameShape, MODEL_EXPECTED);
        let sampling = sampling::read(&mut fields);
        let model = model?;
        let place = fields.get(MODEL)?;
        let problem = match model.as_str() {
            name if entry.names.contains(&name) => Some(format!(
                "{name:?} is an alias itself, and an alias names no other; say the model as `entry/model`"
            )),
            "auto" | "inherit" => Some(format!("an alias stands for one model; {model:?} is none")),
            _ => None,
        };
        if let Some(problem) = problem {
            fields.refuse(MODEL, place, FileProblemCode::BadValue, &problem);
            return None;
        }
        Some(ModelAlias { model: ModelRef::from(model), sampling })
    }

    fn schema(&self) -> Json {
        let mut properties = sampling::schema();
        let mut model = NameShape.schema();
        model["description"] = json!("The model; no alias.");
        properties.insert(MODEL.to_owned(), model);
        object_schema(properties, &[MODEL])
    }

    fn schema_of_names(&self) -> Json {
        let reserved = format!("^({})(:.*)?$", RESERVED.join("|"));
        json!({ "pattern": format!("^[A-Za-z0-9_.:-]{{1,{MAX_ALIAS_CHARS}}}$"), "not": { "pattern": reserved } })
    }
}

/// As a file would say it.
pub(super) fn aliases_shown(aliases: &BTreeMap<String, ModelAlias>) -> Json {
    let shown = aliases.iter().map(|(name, ModelAlias { model, sampling })| {
        let mut fields = sampling::shown(sampling);
        fields.insert(MODEL.to_owned(), json!(model));
        (name.clone(), Json::Object(fields))
    });
    Json::Object(shown.collect())
}

/// Shape of one of `models.contextWindow`.
pub(super) struct WindowShape;

const TOKENS: IntegerShape = IntegerShape { least: 1, most: u64::MAX };

impl EntryShape for WindowShape {
    type Out = u64;

    fn name_problem(&self, name: &str) -> Option<String> {
        pattern_problem(name)
    }

    fn read(
        &self,
        entry: &EntryLocation<'_>,
        value: &Value<'_>,
        mistakes: &mut Vec<SettingMistake>,
    ) -> Option<u64> {
        let code = match TOKENS.read(value) {
            Ok(tokens) => return Some(tokens),
            Err(ShapeError::WrongType) => FileProblemCode::WrongType,
            Err(_) => FileProblemCode::BadValue,
        };
        let message = format!(
            "`{}`: expected a whole number of tokens, at least 1, found {}",
            entry.path,
            found(value)
        );
        mistakes.push(SettingMistake::error(value, code, message));
        None
    }

    fn schema(&self) -> Json {
        TOKENS.schema()
    }

    fn schema_of_names(&self) -> Json {
        schema_of_patterns()
    }
}

/// Shape of one of `models.prices`.
pub(super) struct PriceShape;

const PRICES: [&str; 5] = [
    "inputPerMillion",
    "cachedInputPerMillion",
    "cacheWritePerMillion",
    "outputPerMillion",
    "thoughtPerMillion",
];

impl EntryShape for PriceShape {
    type Out = TokenPrice;

    fn name_problem(&self, name: &str) -> Option<String> {
        pattern_problem(name)
    }

    fn read(
        &self,
        entry: &EntryLocation<'_>,
        value: &Value<'_>,
        mistakes: &mut Vec<SettingMistake>,
    ) -> Option<TokenPrice> {
        let expected = "an object with `inputPerMillion` and `outputPerMillion`";
        let mut fields = ObjectFields::open(&entry.path, value, (&PRICES, expected), mistakes)?;
        let expected = "a number of US dollars from 0 to 1000000";
        let [input, cached_input, cache_write, output, thought] = PRICES;
        let input = fields.need(input, &DollarShape, expected);
        let cached_input = fields.take(cached_input, &DollarShape, expected);
        let cache_write = fields.take(cache_write, &DollarShape, expected);
        let output = fields.need(output, &DollarShape, expected);
        let thought = fields.take(thought, &DollarShape, expected);
        let (input, output) = (input?, output?);
        let (cached_input, cache_write) = (cached_input.unwrap_or(input), cache_write.unwrap_or(input));
        Some(TokenPrice { input, cached_input, cache_write, output, thought: thought.unwrap_or(output) })
    }

    fn schema(&self) -> Json {
        let meanings = [
            "US dollars for a million tokens of requests.",
            "For those of them that the provider's cache served; when missing, as the others.",
            "For those of them that the provider put into its cache; when missing, as the others. Anthropic takes a quarter \
             more than for others.",
            "For a million tokens of replies.",
            "For a million tokens of thought; when missing, as those of replies.",
        ];
        let properties = PRICES.into_iter().zip(meanings).map(|(field, meaning)| {
            let mut schema = DollarShape.schema();
            schema["description"] = json!(meaning);
            (field.to_owned(), schema)
        });
        object_schema(properties.collect(), &[PRICES[0], PRICES[3]])
    }

    fn schema_of_names(&self) -> Json {
        schema_of_patterns()
    }
}

/// As a file would say it, with what was left out.
pub(super) fn prices_shown(prices: &BTreeMap<String, TokenPrice>) -> Json {
    let shown = prices.iter().map(|(name, price)| {
        let TokenPrice { input, cached_input, cache_write, output, thought } = price;
        let amounts = [input, cached_input, cache_write, output, thought];
        let fields = PRICES.into_iter().zip(amounts);
        let fields = fields.map(|(field, amount)| (field.to_owned(), plain(amount.dollars())));
        (name.clone(), Json::Object(fields.collect()))
    });
    Json::Object(shown.collect())
}

struct DollarShape;

const AMOUNT: NumberShape = NumberShape { least: 0.0, is_above_zero: false, most: MOST_DOLLARS };

impl SettingShape for DollarShape {
    type Out = UsdAmount;

    fn read(&self, value: &Value<'_>) -> Result<UsdAmount, ShapeError> {
        UsdAmount::from_dollars(AMOUNT.read(value)?).ok_or(ShapeError::BadValue)
    }

    fn schema(&self) -> Json {
        AMOUNT.schema()
    }
}

fn pattern_problem(name: &str) -> Option<String> {
    let is_letter = |letter: char| !letter.is_whitespace() && !letter.is_control();
    let is_pattern = !name.is_empty() && name.len() <= MAX_PATTERN_CHARS && name.chars().all(is_letter);
    (!is_pattern).then(|| {
        "expected `entry/model`, a model's bare id, or a pattern of one of these with `*`, without blanks"
            .to_owned()
    })
}

fn schema_of_patterns() -> Json {
    json!({ "pattern": format!("^\\S{{1,{MAX_PATTERN_CHARS}}}$") })
}
