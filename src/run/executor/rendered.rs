//! What would a run be told, if it began now?

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;

use super::RunExecutor;
use crate::{
    child::CallableAgents,
    compaction::{TokenEstimator, weigh_text},
    plan::{self, ImportRules, PlanError, PromptExtent, PromptSubject, RunPrompt},
    resources::RunResources,
    unblocked,
};
use memory::{MemoryFile, MemoryImport};
use project::Project;
use prompts::PromptPart;
use protocol::{AgentDefinition, ModelRef};
use tools::{ForeignToolset, Workspace};

/// A run that nobody starts.
pub struct PromptQuery {
    pub definition: Arc<AgentDefinition>,
    pub project: Arc<Project>,
    /// Absolute; none = there is no workspace.
    pub roots: Vec<PathBuf>,
    pub foreign: ForeignToolset,
    pub model: Option<ModelRef>,
    pub is_headless: bool,
    /// What its session has system prompts end with.
    pub append: Option<String>,
}

/// What it would be told.
#[derive(Debug, Clone)]
pub struct RenderedPrompt {
    pub system: String,
    /// Before the history.
    pub context: Option<String>,
    pub parts: Vec<WeighedPart>,
    /// Of both, about.
    pub tokens: u64,
    pub warnings: Vec<String>,
    /// The modules, as a file that could stand in their place.
    pub exported: Option<String>,
}

/// The part that stands around the others.
const FRAME: &str = "frame";
const FRAME_SOURCE: &str = "the daemon: what stands between and around the parts";

/// A part, and what it takes of a window, in tokens.
#[derive(Debug, Clone)]
pub struct WeighedPart {
    pub part: PromptPart,
    pub tokens: u64,
}

impl RunExecutor {
    /// Puts together what a root run of this definition would be told. Reads files; starts nothing and looks for no key.
    pub async fn render(&self, query: PromptQuery) -> Result<RenderedPrompt, PlanError> {
        let supplies = self.supplies();
        supplies.commands.sandbox.mechanism().await;
        let now = self.shared.clock.now();
        let telling = move || {
            let today = plan::date(now);
            query.tell(&today, &supplies)
        };
        let told = unblocked(telling).await?;
        let estimator = TokenEstimator::default();
        let tokens = |text: &str| estimator.tokens(weigh_text(text));
        let context = told.context.map(|message| message.text());
        let whole = tokens(&told.system) + context.as_deref().map_or(0, tokens);
        let parts = told.parts.into_iter().map(|part| WeighedPart { tokens: tokens(&part.text), part });
        let mut parts: Vec<WeighedPart> = parts.collect();
        // Whoever adds up the parts comes to the whole.
        let summed: u64 = parts.iter().map(|it| it.tokens).sum();
        if let Some(rest) = whole.checked_sub(summed).filter(|rest| *rest != 0) {
            parts.push(WeighedPart {
                part: PromptPart::new(FRAME, FRAME_SOURCE, String::new()),
                tokens: rest,
            });
        }
        Ok(RenderedPrompt {
            tokens: whole,
            parts,
            system: told.system,
            context,
            warnings: told.warnings,
            exported: told.exported,
        })
    }
}

/// The memory files of a workspace, the farthest first.
#[derive(Debug, Clone)]
pub struct FoundMemory {
    /// Each with what it takes of a window, in tokens.
    pub files: Vec<(MemoryFile, u64)>,
    /// The file into which facts of the user are written.
    pub user_file: PathBuf,
    pub project_file: Option<PathBuf>,
    pub warnings: Vec<String>,
}

impl RunExecutor {
    /// Everything that the workspace's memory files import and that nobody is told before it is trusted. Reads files.
    pub async fn memory_imports_waiting(&self, project: &Arc<Project>) -> Vec<MemoryImport> {
        let (supplies, project) = (self.supplies(), Arc::clone(project));
        unblocked(move || {
            let trusted = project.as_if_trusted();
            let told =
                plan::memory(&project, &supplies, &ImportRules::of_anybody(&project, &supplies)).imports;
            let later =
                plan::memory(&trusted, &supplies, &ImportRules::of_anybody(&trusted, &supplies)).imports;
            later.into_iter().filter(|import| import.left.is_none() && !told.contains(import)).collect()
        })
        .await
    }

    /// Looks for memory files, whoever would be told of them. Reads files.
    pub async fn memory(&self, project: &Arc<Project>) -> FoundMemory {
        let (supplies, project) = (self.supplies(), Arc::clone(project));
        unblocked(move || {
            let imports = ImportRules::of_anybody(&project, &supplies);
            let mut found = plan::memory(&project, &supplies, &imports);
            let (below, warnings) = plan::memory_below(&project, &supplies, &imports);
            found.files.extend(below);
            found.warnings.extend(warnings);
            let rules = plan::memory_rules(&project, &supplies);
            let counting = |folder: &Path, names: &[String]| {
                let there = names.iter().map(|name| folder.join(name)).find(|path| path.is_file());
                there.unwrap_or_else(|| folder.join(names.first().map_or("AGENTS.md", String::as_str)))
            };
            let estimator = TokenEstimator::default();
            let weighed = |file: MemoryFile| {
                let tokens = estimator.tokens(weigh_text(&file.text));
                (file, tokens)
            };
            FoundMemory {
                files: found.files.into_iter().map(weighed).collect(),
                user_file: counting(supplies.own_files.memory_folder(), &rules.names),
                project_file: project
                    .roots
                    .first()
                    .map(|root| counting(Path::new(root), rules.names_in_project())),
                warnings: found.warnings,
            }
        })
        .await
    }
}

impl PromptQuery {
    fn tell(self, today: &str, supplies: &RunResources) -> Result<RunPrompt, PlanError> {
        let PromptQuery { definition, project, roots, foreign, model, is_headless, append } = self;
        let definition = supplies.defaults.overridden(definition);
        let callables = CallableAgents::of(&definition, &project.catalog);
        let toolset = plan::toolset(&definition, &callables, &project, &foreign, supplies);
        let workspace = match roots.as_slice() {
            [] => None,
            roots => Some(supplies.own_files.close(Workspace::open_known(roots)?)),
        };
        let model = plan::model_name(model, &definition, supplies);
        let roots: Vec<String> = roots.iter().map(|root| root.to_string_lossy().into_owned()).collect();
        let mut values = plan::daemon_values(today, &roots, &model);
        for input in &definition.inputs {
            let unknown = || Value::from(format!("${{{}}}", input.name));
            values.insert(input.name.clone(), input.default.clone().unwrap_or_else(unknown));
        }
        let commands = supplies.defaults.commands.clone().for_agent(definition.sandbox);
        let imports = ImportRules::of_agent(&definition, &project, supplies);
        let subject = PromptSubject {
            definition: &definition,
            toolset: &toolset,
            callables: &callables,
            project: &project,
            workspace: workspace.as_ref(),
            roots: &roots,
            model: &model,
            commands: &commands,
            is_interactive: !is_headless,
            extent: &PromptExtent::Whole { append, skills: Vec::new(), is_first: false },
            imports: &imports,
            supplies,
        };
        let mut told = subject.tell(&values, today)?;
        told.warnings.extend(plan::untold_prompts(&definition, &project, supplies));
        if !definition.omits_memory {
            let (below, warnings) = plan::memory_below(&project, supplies, &imports);
            told.parts.extend(below.iter().filter_map(plan::memory_left));
            told.warnings.extend(warnings.into_iter().map(|text| supplies.redactor.owned(text)));
        }
        Ok(told)
    }
}
