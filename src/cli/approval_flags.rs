//! How shall a run's questions be put? The flags of `subagent run` about it (spec 06, 12).

use clap::{Args, ValueEnum};

use super::mode::ModeWord;
use crate::protocol::{ApprovalParams, OnDetached, Risk};

#[derive(Args)]
pub(super) struct ApprovalArguments {
    /// Allow calls of just these risks (`low,medium`) that no rule asks about; `critical` only a rule can allow
    #[arg(long = "approve", value_enum, value_name = "RISK", value_delimiter = ',', help_heading = HEADING)]
    approved: Vec<RiskWord>,
    /// How freely calls run where no rule speaks [default: the session's]
    #[arg(long, value_enum, help_heading = HEADING)]
    mode: Option<ModeWord>,
    /// Nobody is asked: what needs a person is denied at once, unless --on-detached says otherwise
    #[arg(long, help_heading = HEADING)]
    headless: bool,
    /// What becomes of a question while nobody can be asked [default: the settings', `deny` with --headless]
    #[arg(long, value_enum, value_name = "WHAT", help_heading = HEADING)]
    on_detached: Option<OnDetachedWord>,
}

const HEADING: &str = "Questions";

/// Risks that can be approved beforehand.
#[derive(Clone, Copy, ValueEnum)]
enum RiskWord {
    Low,
    Medium,
    High,
}

#[derive(Clone, Copy, ValueEnum)]
enum OnDetachedWord {
    /// It waits for the next client that attaches
    Wait,
    /// It is denied, and the model is told why
    Deny,
    /// The run ends UNATTENDED, exit code 9
    Fail,
    /// The run is parked until it is answered, or unparked
    Park,
}

impl ApprovalArguments {
    pub(super) fn is_headless(&self) -> bool {
        self.headless
    }

    /// What is not given stays as the session and the settings say.
    pub(super) fn params(&self) -> ApprovalParams {
        let risk = |word: &RiskWord| match word {
            RiskWord::Low => Risk::Low,
            RiskWord::Medium => Risk::Medium,
            RiskWord::High => Risk::High,
        };
        ApprovalParams {
            headless: self.headless,
            mode: self.mode.map(ModeWord::mode),
            auto_approve: self.approved.iter().map(risk).collect(),
            on_detached: self.on_detached.map(|word| match word {
                OnDetachedWord::Wait => OnDetached::Wait,
                OnDetachedWord::Deny => OnDetached::Deny,
                OnDetachedWord::Fail => OnDetached::Fail,
                OnDetachedWord::Park => OnDetached::Park,
            }),
            ..ApprovalParams::default()
        }
    }
}
