//! What does a model's work cost? Money as the log and the wire have it, and the prices it comes from (spec 04, "Usage and
//! cost").

use std::{
    borrow::Cow,
    fmt,
    iter::Sum,
    ops::{Add, AddAssign},
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::Usage;

/// Nano-dollars in a dollar.
const NANOS: f64 = 1e9;
const DOLLAR: u64 = 1_000_000_000;
/// Prices are told for so many tokens.
const TOKENS_PRICED: u128 = 1_000_000;

/// An amount of US dollars, kept in whole billionths so that sums are exact; on the wire `{"amount": "0.0123", "currency": "USD"}`
/// (spec 01: money is a decimal string plus currency).
///
/// What a model costs whose price nobody told is no `UsdAmount` of zero, but none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UsdAmount {
    nanos: u64,
}

impl UsdAmount {
    pub const ZERO: UsdAmount = UsdAmount { nanos: 0 };

    /// From billionths of a dollar.
    pub const fn from_nanos(nanos: u64) -> UsdAmount {
        UsdAmount { nanos }
    }

    /// Rounded to the nearest billionth; `None` for what is no amount: below zero, no number, or too large.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within the bounds that are checked"
    )]
    pub fn from_dollars(dollars: f64) -> Option<UsdAmount> {
        let nanos = (dollars * NANOS).round();
        // The first number that is too large: 2^64, which as a float is exact.
        let is_amount = (0.0..18_446_744_073_709_551_616.0).contains(&nanos);
        is_amount.then_some(UsdAmount { nanos: nanos as u64 })
    }

    /// The same of a limit that somebody wrote, which is above zero: what is finer than is counted is a billionth, and never nothing.
    pub fn limit_from_dollars(dollars: f64) -> Option<UsdAmount> {
        UsdAmount::from_dollars(dollars).map(|amount| amount.max(UsdAmount { nanos: 1 }))
    }

    /// In billionths of a dollar.
    pub const fn nanos(self) -> u64 {
        self.nanos
    }

    /// Exactly, as `0.25`: as many digits behind the point as it needs.
    pub fn decimal(self) -> String {
        let (dollars, rest) = (self.nanos / DOLLAR, self.nanos % DOLLAR);
        let rest = format!("{rest:09}");
        match rest.trim_end_matches('0') {
            "" => dollars.to_string(),
            rest => format!("{dollars}.{rest}"),
        }
    }

    /// The other way; `None` for what is no such number, is finer than a billionth, or too large.
    pub fn from_decimal(text: &str) -> Option<UsdAmount> {
        let (dollars, rest) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
        if !is_number(dollars) || !is_number(rest) || DECIMALS < rest.len() {
            return None;
        }
        let rest: u64 = format!("{rest:0<9}").parse().ok()?;
        let nanos = dollars.parse::<u64>().ok()?.checked_mul(DOLLAR)?.checked_add(rest)?;
        Some(UsdAmount { nanos })
    }

    /// Up to two million dollars it leads back to the very amount, and beyond to fifteen digits of it.
    #[allow(clippy::cast_precision_loss, reason = "said in the doc")]
    pub fn dollars(self) -> f64 {
        self.nanos as f64 / NANOS
    }
}

impl Add for UsdAmount {
    type Output = UsdAmount;

    fn add(self, other: UsdAmount) -> UsdAmount {
        UsdAmount { nanos: self.nanos.saturating_add(other.nanos) }
    }
}

impl AddAssign for UsdAmount {
    fn add_assign(&mut self, other: UsdAmount) {
        *self = *self + other;
    }
}

impl Sum for UsdAmount {
    fn sum<I: Iterator<Item = UsdAmount>>(costs: I) -> UsdAmount {
        costs.fold(UsdAmount::ZERO, Add::add)
    }
}

impl fmt::Display for UsdAmount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "${}", self.decimal())
    }
}

/// An amount as it is written on the wire.
#[derive(Serialize, Deserialize)]
#[serde(expecting = "expected money like {\"amount\": \"0.25\", \"currency\": \"USD\"}")]
struct Money {
    amount: String,
    currency: String,
}

const CURRENCY: &str = "USD";
/// Digits behind the point: those of a billionth.
const DECIMALS: usize = 9;

impl Serialize for UsdAmount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Money { amount: self.decimal(), currency: CURRENCY.to_owned() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for UsdAmount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<UsdAmount, D::Error> {
        let Money { amount, currency } = Money::deserialize(deserializer)?;
        if currency != CURRENCY {
            return Err(D::Error::custom(format!("`currency` is {currency:?}, and only \"USD\" is known")));
        }
        UsdAmount::from_decimal(&amount).ok_or_else(|| {
            D::Error::custom(format!(
                "`amount` is {amount:?}, and not dollars like \"0.25\", with {DECIMALS} digits behind the point at most"
            ))
        })
    }
}

impl JsonSchema for UsdAmount {
    fn schema_name() -> Cow<'static, str> {
        "Cost".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "amount": { "type": "string", "pattern": "^[0-9]{1,10}(\\.[0-9]{1,9})?$" },
                "currency": { "const": CURRENCY },
            },
            "required": ["amount", "currency"],
            "description": "An amount of money: dollars as a decimal number in a string, to nine places.",
        })
    }
}

/// What a model's tokens cost, each kind for a million of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenPrice {
    /// Of the request, but for those that came from the provider's cache or went into it.
    pub input: UsdAmount,
    /// Of the request, served from the provider's cache.
    pub cached_input: UsdAmount,
    /// Of the request, put into the provider's cache.
    pub cache_write: UsdAmount,
    /// Of the reply, but for thoughts.
    pub output: UsdAmount,
    pub thought: UsdAmount,
}

impl TokenPrice {
    /// What this much costs, rounded to the nearest billionth of a dollar.
    pub fn cost(&self, usage: &Usage) -> UsdAmount {
        // A provider that counts more cached tokens than tokens has miscounted the former.
        let cached = usage.cached_tokens.min(usage.prompt_tokens);
        let written = usage.cache_write_tokens.min(usage.prompt_tokens - cached);
        let of = |tokens: u64, price: UsdAmount| u128::from(tokens) * u128::from(price.nanos);
        let kinds = [
            of(usage.prompt_tokens - cached - written, self.input),
            of(cached, self.cached_input),
            of(written, self.cache_write),
            of(usage.output_tokens, self.output),
            of(usage.thought_tokens, self.thought),
        ];
        let sum = kinds.into_iter().fold(0_u128, u128::saturating_add);
        let nanos = sum.saturating_add(TOKENS_PRICED / 2) / TOKENS_PRICED;
        UsdAmount { nanos: u64::try_from(nanos).unwrap_or(u64::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dollars(dollars: f64) -> UsdAmount {
        UsdAmount::from_dollars(dollars).unwrap()
    }

    #[test]
    fn amounts_come_back_from_the_wire_as_they_were() {
        for nanos in [0, 1, 999, 1_250_000, 123_456_789, 1_000_000_000, 2_199_999_999_999_999] {
            let cost = UsdAmount::from_nanos(nanos);
            let text = serde_json::to_string(&cost).unwrap();
            assert_eq!(serde_json::from_str::<UsdAmount>(&text).unwrap(), cost, "{text}");
        }
        let wire = serde_json::to_value(dollars(0.1 + 0.2)).unwrap();
        assert_eq!(wire, serde_json::json!({ "amount": "0.3", "currency": "USD" }));
        for (amount, nanos) in [("2", 2_000_000_000), ("007.50", 7_500_000_000), ("0.000000001", 1)] {
            assert_eq!(UsdAmount::from_decimal(amount), Some(UsdAmount::from_nanos(nanos)), "{amount}");
        }
        for bad in ["", ".", "1.", ".5", "-0.1", "+1", "1e3", "0.0000000001", "99999999999", "1,5", " 1"] {
            assert_eq!(UsdAmount::from_decimal(bad), None, "{bad}");
        }
        for bad in ["0.1", "null", r#"{"amount":"1"}"#, r#"{"amount":"1","currency":"EUR"}"#] {
            assert!(serde_json::from_str::<UsdAmount>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sums_are_exact_and_never_overflow() {
        let tenth = dollars(0.1);
        assert_eq!([tenth; 10].into_iter().sum::<UsdAmount>(), dollars(1.0));
        let mut most = UsdAmount::from_nanos(u64::MAX);
        most += tenth;
        assert_eq!(most, UsdAmount::from_nanos(u64::MAX));
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let price = TokenPrice {
            input: dollars(2.0),
            cached_input: dollars(0.5),
            cache_write: dollars(2.5),
            output: dollars(8.0),
            thought: dollars(4.0),
        };
        let usage = |prompt, cached, output, thought| Usage {
            prompt_tokens: prompt,
            cached_tokens: cached,
            output_tokens: output,
            thought_tokens: thought,
            ..Usage::default()
        };
        let writing = |written, usage: Usage| Usage { cache_write_tokens: written, ..usage };
        let cases = [
            (usage(0, 0, 0, 0), 0),
            (usage(1_000_000, 0, 0, 0), 2_000_000_000),
            // Cached tokens are part of the request's.
            (usage(1_000_000, 400_000, 0, 0), 1_400_000_000),
            (usage(10, 100, 0, 0), 5_000),
            // As are those that the cache is to keep.
            (writing(100_000, usage(1_000_000, 400_000, 0, 0)), 1_450_000_000),
            (writing(100, usage(10, 4, 0, 0)), 17_000),
            (usage(0, 0, 1_000, 500), 10_000_000),
            (usage(1, 0, 1, 1), 14_000),
        ];
        for (usage, nanos) in cases {
            assert_eq!(price.cost(&usage).nanos(), nanos, "{usage:?}");
        }
        // A third of a billionth is none, two thirds are one.
        let cheap = TokenPrice { input: UsdAmount::from_nanos(333_333), ..price };
        assert_eq!(cheap.cost(&usage(1, 0, 0, 0)).nanos(), 0);
        assert_eq!(cheap.cost(&usage(2, 0, 0, 0)).nanos(), 1);
        assert_eq!(price.cost(&usage(u64::MAX, 0, u64::MAX, u64::MAX)).nanos(), u64::MAX);
    }
}
