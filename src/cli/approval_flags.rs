//! How shall a run's questions be put? The flags of `subagent run` about it (spec 06, 12).

use clap::{Args, ValueEnum};

use super::mode::ModeWord;
use protocol::{ApprovalParams, OnDetached, Risk};

#[derive(Args)]
pub(super) struct ApprovalArguments {
    /// Allow calls of these risks (`low,medium`) unless a rule asks; only a rule can allow `critical`
    #[arg(long = "approve", value_enum, value_name = "RISK", value_delimiter = ',', help_heading = HEADING)]
    approved: Vec<RiskWord>,
    /// How freely tool calls run if no rule decides [default: the session's]
    #[arg(long, value_enum, help_heading = HEADING)]
    mode: Option<ModeWord>,
    /// Ask nobody: deny at once what needs a person, unless --on-detached says otherwise
    #[arg(long, help_heading = HEADING)]
    headless: bool,
    /// What happens to a question while nobody can be asked [default: the settings', `deny` with --headless]
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
    /// Wait for the next client that attaches
    Wait,
    /// Deny it, and tell the model why
    Deny,
    /// End the run UNATTENDED, exit code 9
    Fail,
    /// Park the run until it is answered or unparked
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
