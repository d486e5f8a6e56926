//! What is looked at in an agent, one line a check (spec 02, "Validation").

use std::path::Path;

use super::{super::super::discovery::foreign_known, AgentMethods, hooks_of};
use project::Project;
use protocol::{
    AgentCheck, AgentDefinition, AgentFormat, CheckOutcome, FileProblem,
    FileProblemCode::{
        self, BadJson, BadToml, BadValue, BadYaml, DuplicateName, MissingField, NoFrontMatter, TooLarge,
        UnknownField, UnknownTool, Unreadable, Unsupported, WrongType,
    },
    ProblemSeverity, SandboxProfile,
};
use skills::SkillState;

/// The checks that the file's problems answer, and which problems belong to each.
const OF_FILE: &[(&str, &[FileProblemCode])] = &[
    ("the file can be read", &[Unreadable, TooLarge]),
    ("front matter is valid YAML", &[NoFrontMatter, BadYaml, BadJson, BadToml]),
    ("required fields are present", &[MissingField]),
    ("types are right", &[WrongType]),
    ("values are right: templates name declared inputs, schemas are valid", &[BadValue]),
    ("every field is known", &[UnknownField]),
    ("no other agent of the place has its name", &[DuplicateName]),
];

/// So many of them must pass before the others mean anything.
const N_TO_READ: usize = 2;

/// Every check of one agent. What needs a definition is left out for a file without one. May read a recording or fetch
/// a key, so it blocks.
pub fn of(
    definition: Option<&AgentDefinition>,
    problems: &[FileProblem],
    state: &AgentMethods,
    project: &Project,
) -> Vec<AgentCheck> {
    let mut checks: Vec<AgentCheck> = OF_FILE
        .iter()
        .map(|(check, codes)| {
            let found = problems.iter().filter(|problem| codes.contains(&problem.code));
            let is_error = found.clone().any(|problem| problem.severity == ProblemSeverity::Error);
            let findings: Vec<String> = found.map(ToString::to_string).collect();
            let outcome = match (findings.is_empty(), is_error) {
                (true, _) => CheckOutcome::Pass,
                (false, false) => CheckOutcome::Warn,
                (false, true) => CheckOutcome::Fail,
            };
            AgentCheck { check: (*check).to_owned(), outcome, findings }
        })
        .collect();
    // What stands in a file that cannot be read was not looked at.
    let read = checks.iter().take(N_TO_READ).position(|check| check.outcome == CheckOutcome::Fail);
    if let Some(failed) = read {
        checks.truncate(failed + 1);
    }
    let Some(definition) = definition else { return checks };
    let overriding = state.executor.overriding(definition);
    let definition = overriding.as_ref().unwrap_or(definition);
    let check = |check: &str, worst: CheckOutcome, findings: Vec<String>| AgentCheck {
        check: check.to_owned(),
        outcome: if findings.is_empty() { CheckOutcome::Pass } else { worst },
        findings,
    };
    let foreign = foreign_known(&state.discovery, project);
    let toolset = state.executor.toolset(definition, project, foreign);
    // What another product's file names need not be here.
    let is_own = definition.format == AgentFormat::Own;
    let worst =
        |does_not_exist: bool| if is_own && does_not_exist { CheckOutcome::Fail } else { CheckOutcome::Warn };
    let is_missing = toolset.missing_of(&definition.tools).next().is_some();
    let tools = toolset.warnings_of(&definition.tools);
    let of_file = problems.iter().filter(|problem| problem.code == UnknownTool).map(ToString::to_string);
    checks.push(check(
        "every tool in allow and deny exists, and patterns match something",
        worst(is_missing),
        of_file.chain(tools).collect(),
    ));
    if let Some(listed) = &definition.mcp.servers {
        let names = state.mcp.hub.names(&project.roots);
        let unknown = listed.iter().filter(|name| !names.contains(*name));
        let unknown = unknown.map(|name| format!("`mcp.servers`: no settings name a server `{name}` here"));
        checks.push(check("the MCP servers it lists are configured", worst(true), unknown.collect()));
    }
    if !definition.skills.is_empty() {
        let catalog = project.skills.catalog();
        let is_ready = |name: &String| catalog.get(name).is_some_and(|it| it.state == SkillState::Ready);
        let missing = definition.skills.iter().filter(|name| !is_ready(name));
        let missing = missing.map(|name| format!("`skills`: no skill `{name}` can be used here"));
        checks.push(check("the skills it names can be used", worst(true), missing.collect()));
    }
    if definition.hooks.is_some() {
        let path = problems.first().map(|it| it.path.clone());
        let file = path.or_else(|| project.catalog.path(&definition.name).map(Path::to_owned));
        let (grave, others) = hooks_of(definition, &file.unwrap_or_default(), project, state);
        let worst = if grave.is_empty() { CheckOutcome::Warn } else { worst(true) };
        let found = grave.iter().chain(&others).map(ToString::to_string).collect();
        checks.push(check("its hooks can be read, and each means an event and a tool", worst, found));
    }
    let is_unknown = definition.model.name.is_some() && state.executor.model_problem(definition).is_some();
    let model = state.executor.model_warning(definition);
    checks.push(check("the model is known", worst(is_unknown), model.into_iter().collect()));
    let unsupported = problems.iter().filter(|problem| problem.code == Unsupported).map(ToString::to_string);
    checks.push(check("it asks for nothing that is not held to", CheckOutcome::Fail, unsupported.collect()));
    let sandbox = too_wide(definition, state.settings.get().config.sandbox.profile.value);
    checks.push(check(
        "its commands are confined no less than the settings say",
        CheckOutcome::Warn,
        sandbox.into_iter().collect(),
    ));
    let output = state.executor.completion_declaration(definition).err().map(|error| error.to_string());
    checks.push(check(
        "the output schema is a valid JSON Schema",
        CheckOutcome::Fail,
        output.into_iter().collect(),
    ));
    let is_empty = definition.prompt.trim().is_empty() && !definition.prompt_modules;
    let body = is_empty.then(|| "the body is the system prompt; there is none".to_owned());
    checks.push(check("the body is not empty", CheckOutcome::Fail, body.into_iter().collect()));
    checks
}

/// What an agent's file says of the sandbox that the settings do not let it have.
fn too_wide(definition: &AgentDefinition, allowed: SandboxProfile) -> Option<String> {
    let wanted = definition.sandbox.filter(|wanted| allowed < *wanted)?;
    Some(format!(
        "`sandbox: {}` opens nothing: the setting `sandbox.profile` is `{}`, and an agent's file can only confine its commands \
         more closely",
        wanted.as_str(),
        allowed.as_str()
    ))
}
