//! Words of `subagent run` that stand for words of the wire.

use clap::ValueEnum;

use protocol::{IfBusy, OnBudget};

/// What happens once a budget is used up.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum OnBudgetWord {
    /// One last turn, then end
    End,
    /// Ask a person whether the run may have more
    Ask,
}

/// What becomes of a run whose agent is busy.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum IfBusyWord {
    /// Wait until it has ended
    Queue,
    /// Send the prompt to the busy run, and follow it
    Steer,
    /// Cancel the busy run first
    Interrupt,
    /// Fail
    Reject,
}

impl From<IfBusyWord> for IfBusy {
    fn from(word: IfBusyWord) -> IfBusy {
        match word {
            IfBusyWord::Queue => IfBusy::Queue,
            IfBusyWord::Steer => IfBusy::Steer,
            IfBusyWord::Interrupt => IfBusy::Interrupt,
            IfBusyWord::Reject => IfBusy::Reject,
        }
    }
}

impl From<OnBudgetWord> for OnBudget {
    fn from(word: OnBudgetWord) -> OnBudget {
        match word {
            OnBudgetWord::End => OnBudget::End,
            OnBudgetWord::Ask => OnBudget::Ask,
        }
    }
}
