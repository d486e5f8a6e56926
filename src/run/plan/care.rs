//! What is done beside a run's turns, and with which models: from settings to what the run carries (spec 04).

use super::{ModelRoles, PlanError, RunDefaults};
use crate::{
    models::{Models, ResolvedModel},
    project::Project,
    protocol::{ModelRef, NamedModel, RunCare, RunLimits, RunTask, Tiers, WindowSource},
};

/// Stands for a model that is chosen by what is asked for (spec 04, "Routing").
pub(super) const AUTO: &str = "auto";

/// What a run carries of its models.
#[derive(Debug, Clone, Default)]
pub(in crate::run) struct Cared {
    pub task: RunTask,
    pub care: RunCare,
    /// Tokens that fit a request.
    pub window: u64,
    /// What is odd about it.
    pub warnings: Vec<String>,
}

/// Who chooses a run's model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    Named,
    /// It is `auto`; what is resolved is the default.
    Auto,
}

impl Cared {
    pub(super) fn new(
        model: &ResolvedModel,
        choice: Choice,
        max_context: Option<u64>,
        project: &Project,
        (models, defaults): (&Models, &RunDefaults),
    ) -> Cared {
        let own = || within(model.named(), max_context);
        let mut warnings = Vec::new();
        let mut named = |setting: &str, model: &Option<ModelRef>| {
            let model = model.as_ref()?;
            match models.named(model) {
                // What a recording's model took in stands in it, and only the run's own was opened.
                Ok(named) if named.name == own().name => {
                    Some(NamedModel { context_window: own().context_window, ..named })
                }
                Ok(named) => Some(within(named, max_context)),
                Err(error) => {
                    warnings.push(format!("`{setting}`: {error}; the run goes without it"));
                    None
                }
            }
        };
        let ModelRoles { small, compression, fallback, fast, strong } = &defaults.roles;
        let small = named("models.small", small);
        let summariser = named("models.compression", compression).or_else(|| small.clone());
        let fallback =
            fallback.iter().filter_map(|model| named("models.fallback", &Some(model.clone()))).collect();
        let auto = (choice == Choice::Auto).then(|| Tiers {
            fast: named("models.auto.fast", fast).unwrap_or_else(own),
            strong: named("models.auto.strong", strong).unwrap_or_else(own),
        });
        if auto.is_some() && small.is_none() {
            let why =
                "the model is `auto`, and no `models.small` is set that could choose one; the default serves";
            warnings.push(why.to_owned());
        }
        // A recording, or a model of this process, takes what it gets.
        let is_served = model.name.contains('/') && !model.name.starts_with("replay");
        if is_served && model.window.from == WindowSource::Assumed {
            warnings.push(format!(
                "the context window of {} is not known; {} tokens are assumed (`models.contextWindow` says it)",
                model.name, model.window.tokens
            ));
        }
        let compression = defaults.compression.in_workspace(&project.settings);
        let care = RunCare {
            compress_at: compression.enabled.then_some(compression.threshold),
            summariser,
            auto: auto.filter(|_| small.is_some()),
            small,
            fallback,
            loop_calls: defaults.loops.calls,
            loop_text: defaults.loops.text,
            loop_judge: defaults.loops.judge,
            next_speaker: defaults.next_speaker_check,
        };
        Cared { task: RunTask::Work, care, window: own().context_window, warnings }
    }
}

/// A limit on what nobody knows is none: the run does not start.
pub(super) fn check_price(model: &ResolvedModel, limits: &RunLimits) -> Result<(), PlanError> {
    match (limits.max_cost, model.price) {
        (Some(_), None) => Err(PlanError::NoPrice { model: model.name.clone() }),
        _ => Ok(()),
    }
}

fn within(named: NamedModel, max_context: Option<u64>) -> NamedModel {
    let context_window = max_context.map_or(named.context_window, |most| most.min(named.context_window));
    NamedModel { context_window, ..named }
}
