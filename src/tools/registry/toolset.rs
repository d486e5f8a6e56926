//! What may one run call, and what becomes of a call it asks for?

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;
use serde_json::Value;

use super::{ToolRegistry, own_name};
use crate::{Invocation, PrepareContext, Tool, nearest, panicked, parameters, spellings};
use protocol::{COMPLETE_TASK, ToolDeclaration, ToolError, ToolErrorType, ToolName, ToolSelection};

/// The tools of one run. What is not in it does not exist for that run.
#[derive(Clone)]
pub struct RunToolset {
    registry: ToolRegistry,
    selected: Vec<Arc<dyn Tool>>,
    /// Of the definition and of the settings.
    denied: Vec<ToolName>,
    /// Each with the entry that it is about, if it is about one.
    warnings: Vec<(Option<ToolName>, String)>,
    told: Vec<String>,
}

/// Whether a run may call a name.
pub enum ToolLookup<'a> {
    Found(&'a Arc<dyn Tool>),
    /// There is such a tool, but not for this run.
    NotAllowed,
    Unknown,
}

/// A call a model asked for, made ready or refused.
pub struct ToolsetCall {
    /// The canonical name, as events carry it.
    pub name: ToolName,
    /// Canonical arguments, as events carry them; the model's own stay in its history.
    pub arguments: Value,
    /// The same as rules see them: where an argument is a path, the place that it leads to, as [`crate::Workspace::shown`] has
    /// it. However a model spells a path, and whatever links it goes through, a rule about a folder is about what is in it.
    /// The same goes for URLs, see [`Invocation::show_to_rules`].
    pub judged: Value,
    /// `None` when the run has no such tool.
    pub tool: Option<Arc<dyn Tool>>,
    pub outcome: Result<Box<dyn Invocation>, ToolError>,
}

impl RunToolset {
    pub(super) fn new(
        registry: ToolRegistry,
        selected: Vec<Arc<dyn Tool>>,
        denied: Vec<ToolName>,
        warnings: Vec<(Option<ToolName>, String)>,
    ) -> RunToolset {
        let told = warnings.iter().map(|(_, text)| text.clone()).collect();
        RunToolset { registry, selected, denied, warnings, told }
    }

    /// What the selection named in vain.
    pub fn warnings(&self) -> &[String] {
        &self.told
    }

    /// The same without what only others than `own` named, e.g. the settings.
    pub fn warnings_of<'a>(&'a self, own: &'a ToolSelection) -> impl Iterator<Item = String> + 'a {
        let is_own = |entry: &ToolName| own.allow.iter().flatten().chain(&own.deny).any(|it| it == entry);
        let meant = self.warnings.iter().filter(move |(entry, _)| entry.as_ref().is_none_or(is_own));
        meant.map(|(_, text)| text.clone())
    }

    /// Those of them about names in this selection that no tool has; patterns are none.
    pub fn missing_of<'a>(&'a self, own: &'a ToolSelection) -> impl Iterator<Item = String> + 'a {
        let is_own = |entry: &ToolName| own.allow.iter().flatten().chain(&own.deny).any(|it| it == entry);
        let missing = self.warnings.iter().filter(move |(entry, _)| {
            entry.as_ref().is_some_and(|entry| is_own(entry) && !entry.as_str().contains('*'))
        });
        missing.map(|(_, text)| text.clone())
    }

    /// With one more.
    #[must_use]
    pub fn with_warning(mut self, warning: String) -> RunToolset {
        self.told.push(warning.clone());
        self.warnings.push((None, warning));
        self
    }

    /// Without those about entries whose tools are not here, but may come.
    #[must_use]
    pub fn expecting(mut self, may_come: impl Fn(&ToolName) -> bool) -> RunToolset {
        self.warnings.retain(|(entry, _)| !entry.as_ref().is_some_and(&may_come));
        self.told = self.warnings.iter().map(|(_, text)| text.clone()).collect();
        self
    }

    /// With these words about entries that were named in vain.
    #[must_use]
    pub fn explained(mut self, why: impl Fn(&ToolName) -> Option<String>) -> RunToolset {
        for (entry, text) in &mut self.warnings {
            if let Some(why) = entry.as_ref().and_then(&why) {
                *text = why;
            }
        }
        self.told = self.warnings.iter().map(|(_, text)| text.clone()).collect();
        self
    }

    /// What the model is told, in the registry's order; the run adds `complete_task` at the end.
    pub fn declarations(&self) -> impl Iterator<Item = &ToolDeclaration> {
        self.selected.iter().map(|tool| tool.declaration())
    }

    /// The tools themselves, in the same order.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.selected.iter()
    }

    /// The canonical name of what a model wrote.
    pub fn canonical(&self, name: &ToolName) -> ToolName {
        self.registry.canonical(name)
    }

    /// Other names of a tool, by which rules may mean it.
    pub fn aliases(&self, canonical: &ToolName) -> Vec<&'static str> {
        spellings::aliases_of(canonical.as_str())
    }

    /// The tool of this name or alias, if this run has it.
    pub fn lookup(&self, name: &ToolName) -> ToolLookup<'_> {
        let canonical = self.canonical(name);
        match self.selected.iter().find(|tool| tool.declaration().name == canonical) {
            Some(tool) => ToolLookup::Found(tool),
            None if self.registry.get(&canonical).is_some() => ToolLookup::NotAllowed,
            None => ToolLookup::Unknown,
        }
    }

    /// Maps names, then lets the tool check the arguments. Every refusal is data for the model. For the
    /// built-in tools the future is ready when it is first polled.
    pub async fn prepare(&self, name: &ToolName, arguments: Value, cx: &PrepareContext) -> ToolsetCall {
        let canonical = self.canonical(name);
        let error = match self.lookup(&canonical) {
            ToolLookup::Found(tool) => return prepare_with(tool, canonical, arguments, cx).await,
            ToolLookup::NotAllowed => self.not_allowed(&canonical),
            ToolLookup::Unknown => self.not_registered(name),
        };
        ToolsetCall { name: canonical, judged: arguments.clone(), arguments, tool: None, outcome: Err(error) }
    }

    fn not_allowed(&self, name: &ToolName) -> ToolError {
        let is_meant = |entry: &&ToolName| spellings::entry_matches(entry.as_str(), name.as_str());
        let message = match self.denied.iter().find(is_meant) {
            Some(entry) => format!(
                "`{name}` is excluded by `{entry}`, in the settings or in its agent's tools.deny (`subagent tools` says which); {}",
                self.allowed_text()
            ),
            None => format!("`{name}` is not allowed in this run; {}", self.allowed_text()),
        };
        ToolError { kind: ToolErrorType::ToolNotAllowed, message }
    }

    fn not_registered(&self, name: &ToolName) -> ToolError {
        let meant = match nearest(name.as_str(), self.selected.iter().map(own_name)) {
            Some(meant) => format!("; did you mean `{meant}`?"),
            None => "; ".to_owned() + &self.allowed_text(),
        };
        ToolError {
            kind: ToolErrorType::ToolNotRegistered,
            message: format!("there is no tool `{name}`{meant}"),
        }
    }

    fn allowed_text(&self) -> String {
        let names: Vec<&str> = self.selected.iter().map(own_name).chain([COMPLETE_TASK]).collect();
        format!("allowed are {}", names.join(", "))
    }
}

async fn prepare_with(
    tool: &Arc<dyn Tool>,
    name: ToolName,
    arguments: Value,
    cx: &PrepareContext,
) -> ToolsetCall {
    let arguments = parameters::canonical_arguments(&tool.declaration().parameters, arguments);
    let preparing = async { tool.prepare(arguments.clone(), cx).await };
    let outcome = AssertUnwindSafe(preparing).catch_unwind().await;
    let outcome = outcome.unwrap_or_else(|panic| Err(panicked(panic.as_ref())));
    let mut judged = as_rules_see(&arguments, tool.path_arguments(), cx);
    if let Ok(invocation) = &outcome {
        invocation.show_to_rules(&mut judged);
    }
    ToolsetCall { name, arguments, judged, tool: Some(Arc::clone(tool)), outcome }
}

fn as_rules_see(arguments: &Value, paths: &[&str], cx: &PrepareContext) -> Value {
    let mut judged = arguments.clone();
    for name in paths {
        let Some(argument) = judged.get_mut(*name) else { continue };
        // What leads nowhere was refused when the call was prepared.
        if let Some(Ok((workspace, place))) = argument.as_str().map(|path| cx.place_to_read(path)) {
            *argument = workspace.shown(&place).into();
        }
    }
    judged
}
