//! What is done beside a run's turns, and with which models: from settings to what the run carries (spec 04).

use super::{
    PlanError, RunPlan,
    model::{ModelChooser, UnresolvedModel},
};
use crate::{
    compaction::{TokenEstimator, weigh, weigh_text},
    resources::{ModelRoles, RunDefaults},
};
use models::{ModelRegistry, ResolvedModel};
use project::Project;
use protocol::{
    ModelRef, ModelTiers, NamedModel, RunLimits, RunSafeguards, RunTask, ToolError, ToolErrorType,
    WindowSource,
};

/// What a run carries of its models.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelPlan {
    pub task: RunTask,
    pub care: RunSafeguards,
    /// Tokens that fit a request.
    pub window: u64,
    /// What is odd about it.
    pub warnings: Vec<String>,
    /// The models that it may come to ask of which nobody said what they cost.
    pub unpriced: Vec<String>,
}

impl ModelPlan {
    pub(super) fn new(
        (model, choice, unresolved): (&ResolvedModel, ModelChooser, Option<&UnresolvedModel>),
        max_context: Option<u64>,
        project: &Project,
        (models, defaults): (&ModelRegistry, &RunDefaults),
    ) -> ModelPlan {
        let own = || within(model.named(), max_context);
        let mut warnings: Vec<String> =
            unresolved.map(|it| it.warning(&format!("`{}`", model.name))).into_iter().collect();
        let mut unpriced = Vec::new();
        let mut note_price = |model: &str| {
            let is_known = models.has_known_cost(&ModelRef::from(model)).unwrap_or(false);
            if !is_known && !unpriced.iter().any(|it| it == model) {
                unpriced.push(model.to_owned());
            }
        };
        if model.price.is_none() {
            note_price(&model.name);
        }
        let mut named = |setting: &str, model: &Option<ModelRef>| {
            let model = model.as_ref()?;
            match models.named(model) {
                Ok(named) => {
                    note_price(&named.name);
                    // What a recording's model took in stands in it, and only the run's own was opened.
                    let own = own();
                    Some(match named.name == own.name {
                        true => NamedModel { sampling: named.sampling, ..own },
                        false => within(named, max_context),
                    })
                }
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
        let auto = (choice == ModelChooser::Auto).then(|| ModelTiers {
            fast: named("models.auto.fast", fast).unwrap_or_else(own),
            strong: named("models.auto.strong", strong).unwrap_or_else(own),
        });
        if auto.is_some() && small.is_none() {
            let why =
                "the model is `auto`, and no `models.small` is set that could choose one; the default serves";
            warnings.push(why.to_owned());
        }
        // A recording, or a model of this process, takes what it gets.
        if model.is_served() && model.window.from == WindowSource::Assumed {
            warnings.push(format!(
                "the context window of {} is not known; {} tokens are assumed; set the real number in `models.contextWindow`",
                model.name, model.window.tokens
            ));
        }
        let compression = defaults.compression.in_workspace(&project.settings);
        let care = RunSafeguards {
            compress_at: compression.enabled.then_some(compression.threshold),
            summariser,
            auto: auto.filter(|_| small.is_some()),
            small,
            fallback,
            sampling: model.sampling,
            loop_calls: defaults.loops.calls,
            loop_text: defaults.loops.text,
            loop_judge: defaults.loops.judge,
            next_speaker: defaults.next_speaker_check,
        };
        ModelPlan { task: RunTask::Work, care, window: own().context_window, warnings, unpriced }
    }

    /// A limit on what nobody knows is none: the run does not start.
    pub(super) fn check_prices(&self, limits: &RunLimits) -> Result<(), PlanError> {
        match limits.max_cost {
            Some(_) if !self.unpriced.is_empty() => Err(PlanError::NoPrice { models: self.unpriced.clone() }),
            _ => Ok(()),
        }
    }
}

impl RunPlan {
    /// What a called agent is to be told must fit its model: what does not at the first request never will (spec 04, "Context
    /// window").
    pub(crate) fn fits_its_window(&self) -> Result<(), ToolError> {
        let messages = self.seed.messages.iter().map(weigh).sum();
        let tokens = TokenEstimator::default().tokens(weigh_text(&self.seed.system) + messages);
        let window = self.model_plan.window;
        if tokens <= window {
            return Ok(());
        }
        let (agent, model) = (&self.seed.definition.name, &self.resources.model.name);
        let message = format!(
            "{agent} was to be told about {tokens} tokens, and the window of {model} takes {window}; tell it less, or where \
             to find it"
        );
        Err(ToolError { kind: ToolErrorType::ContextTooLarge, message })
    }
}

fn within(named: NamedModel, max_context: Option<u64>) -> NamedModel {
    let context_window = max_context.map_or(named.context_window, |most| most.min(named.context_window));
    NamedModel { context_window, ..named }
}
