//! What does an input cut off?

use super::{MachineInput, RunMachine, RunPhase, TurnStage};

impl RunMachine {
    /// True if all that is asked beside the turns ends with this input. The grace turn that a time limit grants waits for some of it.
    pub fn is_ended_by(&self, input: &MachineInput) -> bool {
        match input {
            MachineInput::TimeSpent { .. } => self.is_time_spent() && self.is_grace(),
            _ => self.is_stopped_by(input),
        }
    }

    /// True if this input ends what is under way: a model that is writing is cut off, and hooks wait for no answer any more. The
    /// driver then hands in what there is.
    pub fn is_stopped_by(&self, input: &MachineInput) -> bool {
        match input {
            MachineInput::Cancel { .. } => true,
            MachineInput::TimeSpent { .. } => self.is_time_spent(),
            _ => false,
        }
    }

    /// The stream that the model is asked to write.
    pub fn open_stream(&self) -> Option<String> {
        let is_asking = matches!(self.phase, RunPhase::Thinking { stage: TurnStage::Asking, .. });
        self.ask().filter(|_| is_asking).map(|ask| ask.stream(&self.terms.run))
    }
}
