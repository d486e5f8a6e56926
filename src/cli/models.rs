//! `subagent models`: which models are there, and does one answer?

use std::time::Duration;

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::Value;

use super::{
    ListingFormat, ProcessIo, ReportFormat,
    failure::{CommandFailure, EXIT_FAILED},
    link::DaemonLink,
    paging,
    table::{self, TableCell, cell, free, whole},
};
use protocol::{ModelRef, ModelsList, ModelsListParams, ModelsTest, ModelsTestParams, UsdAmount};

/// The daemon gives a model under test 30 s, and providers a few seconds each for their lists.
const PATIENCE: Duration = Duration::from_secs(45);

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct ModelsArguments {
    #[command(subcommand)]
    verb: Option<ModelsVerb>,
    #[command(flatten)]
    listing: ModelsListArguments,
}

#[derive(Subcommand)]
enum ModelsVerb {
    /// List the models that the providers have
    List(ModelsListArguments),
    /// Ask a model one short question: does it answer, how fast, does it call tools? May cost a little; exits 1
    /// without an answer
    Test(ModelsTestArguments),
}

#[derive(Args)]
pub(super) struct ModelsListArguments {
    /// Ask the providers again instead of using the cached list
    #[arg(long)]
    refresh: bool,
    /// Only models of this entry of `providers`
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

#[derive(Args)]
pub(super) struct ModelsTestArguments {
    /// The model: ENTRY/ID, a bare id, or an alias
    model: String,
    /// What stdout gets: the answer for people, or the daemon's
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

pub(super) fn models(
    ModelsArguments { verb, listing }: &ModelsArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    match verb {
        None => list(listing, link, surroundings),
        Some(ModelsVerb::List(arguments)) => list(arguments, link, surroundings),
        Some(ModelsVerb::Test(arguments)) => test(arguments, link, surroundings),
    }
}

/// What `models/list` tells, as far as it is shown; whatever a daemon does not tell is left out.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ModelsListReply {
    entries: Vec<ProviderView>,
    aliases: Vec<ModelAliasView>,
    default: Option<String>,
    small: Option<String>,
    offline: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ProviderView {
    name: String,
    kind: Option<String>,
    base_url: Option<String>,
    models: Vec<ModelView>,
    truncated: bool,
    problem: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ModelView {
    model: String,
    title: Option<String>,
    window: Option<u64>,
    /// Open: what is not known is shown as it came.
    window_from: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ModelAliasView {
    name: String,
    model: String,
}

fn list(
    ModelsListArguments { refresh, entry, format }: &ModelsListArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let mut client = link.dial(&mut surroundings.stderr)?.with_patience(PATIENCE);
    let params = ModelsListParams { refresh: *refresh, entry: entry.clone() };
    let answer: Value = client.call_as::<ModelsList, _>(&params)?;
    if let ListingFormat::Json = format {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let ModelsListReply { entries, aliases, default, small, offline } = paging::view(&answer)?;
    let rows: Vec<[TableCell; 3]> = entries.iter().flat_map(|entry| &entry.models).map(row).collect();
    if !rows.is_empty() {
        let columns = [whole("MODEL"), whole("WINDOW"), free("TITLE")];
        surroundings.stdout.write(&table::draw(columns, &rows, &surroundings.stdout))?;
    }
    let mut told = String::new();
    for alias in &aliases {
        told.push_str(&format!("{} is {}\n", alias.name, alias.model));
    }
    for (name, role) in [(default, "the default"), (small, "the small model"), (offline, "always there")] {
        told.extend(name.map(|name| format!("{name} is {role}\n")));
    }
    if !told.is_empty() {
        surroundings.stdout.write_text(&told)?;
    }
    let mut untold = String::new();
    for entry in &entries {
        let place = entry.base_url.as_deref().or(entry.kind.as_deref()).unwrap_or("settings with mistakes");
        untold.extend(entry.problem.as_ref().map(|problem| format!("{} ({place}): {problem}\n", entry.name)));
        if entry.truncated {
            untold.push_str(&format!("{} ({place}) has more models than are shown\n", entry.name));
        }
    }
    if !untold.is_empty() {
        surroundings.stderr.write_text(&untold)?;
    }
    Ok(0)
}

fn row(model: &ModelView) -> [TableCell; 3] {
    let window = match (model.window, model.window_from.as_str()) {
        (None, _) => String::new(),
        (Some(tokens), "assumed") => format!("{tokens}?"),
        (Some(tokens), _) => tokens.to_string(),
    };
    [cell(&model.model), cell(&window), cell(model.title.as_deref().unwrap_or_default())]
}

/// What `models/test` tells.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ModelsTestReply {
    model: String,
    /// Whoever does not say so answered.
    reachable: Option<bool>,
    latency_ms: u64,
    first_token_ms: Option<u64>,
    tool_calls: bool,
    window: u64,
    window_from: String,
    cost: Option<UsdAmount>,
    problem: Option<String>,
}

fn test(
    ModelsTestArguments { model, format }: &ModelsTestArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let mut client = link.dial(&mut surroundings.stderr)?.with_patience(PATIENCE);
    let params = ModelsTestParams { model: ModelRef::from(model.clone()) };
    let answer: Value = client.call_as::<ModelsTest, _>(&params)?;
    let tested: ModelsTestReply = paging::view(&answer)?;
    let is_reachable = tested.reachable.unwrap_or(true);
    let exit_code = if is_reachable { 0 } else { EXIT_FAILED };
    if let ReportFormat::Json = format {
        paging::print_json(&answer, surroundings)?;
        return Ok(exit_code);
    }
    let ModelsTestReply { model, latency_ms, first_token_ms, window, window_from, .. } = &tested;
    let mut told = match (is_reachable, first_token_ms) {
        (true, Some(first)) => {
            format!("{model} answered in {latency_ms} ms, the first of it in {first} ms\n")
        }
        (true, None) => format!("{model} answered in {latency_ms} ms\n"),
        (false, _) => format!("{model} did not answer ({latency_ms} ms)\n"),
    };
    if is_reachable {
        let calls = if tested.tool_calls { "calls tools" } else { "did not call the tool it was asked to" };
        told.push_str(&format!("  tools   {calls}\n"));
    }
    told.push_str(&format!("  window  {window} tokens ({window_from})\n"));
    told.extend(tested.cost.map(|cost| format!("  cost    {cost}\n")));
    told.extend(tested.problem.map(|problem| format!("  problem {problem}\n")));
    surroundings.stdout.write_text(&told)?;
    Ok(exit_code)
}
