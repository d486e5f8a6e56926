//! Which model answers: of those that are named by a request, by an agent and by the settings?

use super::PlanError;
use crate::resources::{RunDefaults, RunResources};
use models::{ModelRegistry, ResolveError, ResolvedModel};
use protocol::{AgentDefinition, AgentName, ModelRef};

/// What files of other products call models, and which is meant where no alias of the settings says otherwise.
const SHORT_NAMES: [(&str, &str); 3] = [
    ("sonnet", "anthropic/claude-sonnet-4-5"),
    ("opus", "anthropic/claude-opus-4-5"),
    ("haiku", "anthropic/claude-haiku-4-5"),
];

/// Stands for a model that is chosen by what is asked for (spec 04, "Routing").
pub(super) const AUTO: &str = "auto";

/// Who chooses a run's model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelChooser {
    Named,
    /// It is `auto`; what is resolved is the default.
    Auto,
}

pub(super) struct ChosenModel {
    pub model: ResolvedModel,
    pub choice: ModelChooser,
    /// What the file names instead, and cannot be had.
    pub unresolved: Option<UnresolvedModel>,
}

/// A model that a file of another product names and that is not to be had here. It keeps no agent from running: the model
/// answers that would answer for an agent that names none, and the run says so (spec 02, "Foreign files", 6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnresolvedModel {
    agent: AgentName,
    name: ModelRef,
    problem: ResolveError,
}

impl UnresolvedModel {
    /// `instead` is the model that answers.
    pub(crate) fn warning(&self, instead: &str) -> String {
        let UnresolvedModel { agent, name, problem } = self;
        // An alias has no slash.
        let mend = match name.as_str().contains('/') {
            true => format!("`agents.overrides.{agent}.model` in the settings names another"),
            false => format!("`models.aliases.{name}.model` in the settings says what it means"),
        };
        format!("`model: {name}`: {problem}; {instead} answers instead ({mend})")
    }
}

impl ChosenModel {
    /// Of a root run. Reads a recording or looks for a key, so it may block.
    pub(super) fn for_root(
        asked: Option<ModelRef>,
        definition: &AgentDefinition,
        supplies: &RunResources,
    ) -> Result<ChosenModel, PlanError> {
        let (models, defaults) = (&supplies.models, &supplies.defaults);
        let default = || {
            let name = defaults.model.as_ref().ok_or(PlanError::NoModel)?;
            models.resolve(name).map_err(PlanError::from)
        };
        let (name, is_asked) = match asked {
            Some(name) => (Some(name), true),
            None => (definition.model.name.clone(), false),
        };
        let named = |model| ChosenModel { model, choice: ModelChooser::Named, unresolved: None };
        Ok(match name {
            None => named(default()?),
            Some(name) if name.as_str() == AUTO => {
                ChosenModel { model: default()?, choice: ModelChooser::Auto, unresolved: None }
            }
            Some(name) if is_asked => named(models.resolve(&name)?),
            Some(name) => match of_file(&name, definition, defaults, models, ModelRegistry::resolve)? {
                Ok(model) => named(model),
                // Without a model that could answer instead, what the file names is what is missing.
                Err(unresolved) if defaults.model.is_none() => return Err(unresolved.problem.into()),
                Err(unresolved) => ChosenModel { unresolved: Some(unresolved), ..named(default()?) },
            },
        })
    }

    /// Of a run that answers a call of one with this model. May block as the other.
    pub(super) fn for_child(
        definition: &AgentDefinition,
        inherited: &ResolvedModel,
        supplies: &RunResources,
    ) -> Result<ChosenModel, PlanError> {
        let (models, defaults) = (&supplies.models, &supplies.defaults);
        let named = |model| ChosenModel { model, choice: ModelChooser::Named, unresolved: None };
        let resolved = |name: &ModelRef| match *name.as_str() == *inherited.name {
            true => Ok(inherited.clone()),
            false => models.resolve(name),
        };
        Ok(match &definition.model.name {
            Some(name) if name.as_str() == AUTO => {
                let default = defaults.model.as_ref();
                let model = default.map_or_else(|| Ok(inherited.clone()), resolved)?;
                ChosenModel { model, choice: ModelChooser::Auto, unresolved: None }
            }
            Some(name) if *name.as_str() != *inherited.name => {
                match of_file(name, definition, defaults, models, ModelRegistry::resolve)? {
                    Ok(model) => named(model),
                    Err(unresolved) => {
                        ChosenModel { unresolved: Some(unresolved), ..named(inherited.clone()) }
                    }
                }
            }
            _ => named(inherited.clone()),
        })
    }
}

/// How a root run would call its model, as far as that can be told without its key; empty while none is named.
pub(crate) fn model_name(
    asked: Option<ModelRef>,
    definition: &AgentDefinition,
    supplies: &RunResources,
) -> String {
    let own = definition.model.name.clone().filter(|name| name.as_str() != AUTO);
    let Some(name) = asked.or(own).or_else(|| supplies.defaults.model.clone()) else { return String::new() };
    supplies.models.named(&name).map_or_else(|_| name.as_str().to_owned(), |named| named.name)
}

/// What a definition names, looked up by `resolve`; `Ok(Err)` = another model answers instead.
fn of_file<T>(
    name: &ModelRef,
    definition: &AgentDefinition,
    defaults: &RunDefaults,
    models: &ModelRegistry,
    resolve: impl Fn(&ModelRegistry, &ModelRef) -> Result<T, ResolveError>,
) -> Result<Result<T, UnresolvedModel>, ResolveError> {
    let is_theirs = !definition.format.is_own() || definition.imported_from.is_some();
    // What the user wrote is meant as it stands there: whose model an agent's is, and what a name means.
    if !is_theirs || defaults.names_model_of(&definition.name) || models.is_alias(name.as_str()) {
        return resolve(models, name).map(Ok);
    }
    let lowered = name.as_str().to_lowercase();
    if models.is_alias(&lowered) {
        return resolve(models, &ModelRef::from(lowered)).map(Ok);
    }
    let problem = match resolve(models, name) {
        Ok(model) => return Ok(Ok(model)),
        Err(problem) if is_missing(&problem) => problem,
        Err(problem) => return Err(problem),
    };
    let short = SHORT_NAMES.iter().find(|(short, _)| short.eq_ignore_ascii_case(name.as_str()));
    let problem = match short.map(|(_, meant)| resolve(models, &ModelRef::from(*meant))) {
        None => problem,
        Some(Ok(model)) => return Ok(Ok(model)),
        Some(Err(problem)) if is_missing(&problem) => problem,
        Some(Err(problem)) => return Err(problem),
    };
    Ok(Err(UnresolvedModel { agent: definition.name.clone(), name: name.clone(), problem }))
}

/// True if nobody ever said how to reach it, rather than something being wrong with what was said.
fn is_missing(problem: &ResolveError) -> bool {
    match problem {
        ResolveError::NoModel { .. } | ResolveError::NoEntry { .. } | ResolveError::NoKey { .. } => true,
        ResolveError::UnusableKey { .. }
        | ResolveError::BadProvider { .. }
        | ResolveError::BadRecording { .. } => false,
    }
}

/// Whether keys are looked for, which may block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyLookup {
    AtNames,
    AtKeys,
}

/// Whether the model that a definition names is to be had; what else answers is the inner error. `definition` is overridden
/// already.
pub(crate) fn look_for_model(
    definition: &AgentDefinition,
    look: KeyLookup,
    defaults: &RunDefaults,
    models: &ModelRegistry,
) -> Result<Result<(), UnresolvedModel>, ResolveError> {
    let Some(name) = definition.model.name.as_ref().filter(|name| name.as_str() != AUTO) else {
        return Ok(Ok(()));
    };
    of_file(name, definition, defaults, models, |models, name| match look {
        KeyLookup::AtNames => models.named(name).map(drop),
        KeyLookup::AtKeys => models.resolve(name).map(drop),
    })
}
