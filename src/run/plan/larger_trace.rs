//! Of which larger trace is a run part, as whoever starts it says (spec 10, "Context goes through")?

use protocol::TraceContext;

use super::RunPlan;

impl RunPlan {
    /// Joins the trace that whoever starts it named. What is no name of one changes nothing but for a warning.
    pub(super) fn is_part_of(&mut self, traceparent: Option<&str>) {
        match traceparent.map(str::parse::<TraceContext>) {
            Some(Ok(context)) => self.traceparent = Some(context),
            Some(Err(error)) => {
                let warning = format!("the run's trace is one of its own: `traceparent` is {error}");
                self.prompt_warnings.push(warning);
            }
            None => {}
        }
    }
}
