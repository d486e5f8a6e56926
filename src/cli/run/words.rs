//! Words of `subagent run` that stand for words of the wire.

use clap::ValueEnum;

use crate::protocol::{IfBusy, OnBudget};

/// What happens once a budget is used up.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum OnBudgetWord {
    /// One last turn, then the end
    End,
    /// A person is asked whether the run may have more
    Ask,
}

/// What becomes of a run whose agent is busy.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum IfBusyWord {
    /// Wait until it is over
    Queue,
    /// Say the prompt to that run, and follow it
    Steer,
    /// Cancel that run, and come next
    Interrupt,
    /// Give up
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
