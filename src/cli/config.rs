//! `subagent config`: which settings are in force, and where was each set?

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::Value;

use super::{
    ListingFormat, ProcessIo,
    failure::CommandFailure,
    link::DaemonLink,
    paging,
    status::look,
    table::{self, TableCell, cell, free, whole},
};
use protocol::{ConfigGet, ConfigGetParams};

#[derive(Subcommand)]
pub(super) enum ConfigVerb {
    /// Show settings, each with where it was set; starts no daemon
    Get(ConfigGetArguments),
}

#[derive(Args)]
pub(super) struct ConfigGetArguments {
    /// Keys, e.g. run.maxTurns, or sections of them, e.g. run [default: all]
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

pub(super) fn config(
    verb: &ConfigVerb,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let ConfigVerb::Get(ConfigGetArguments { keys, format }) = verb;
    // The settings of a daemon that is started to be asked are in nobody's way.
    let mut client = look(link)?;
    let params = ConfigGetParams { keys: (!keys.is_empty()).then(|| keys.clone()) };
    let answer: Value = client.call_as::<ConfigGet, _>(&params)?;
    match format {
        ListingFormat::Json => paging::print_json(&answer, surroundings)?,
        ListingFormat::Table => {
            let settings: Vec<ConfigSettingView> = paging::entries(&answer, "settings")?;
            let rows: Vec<[TableCell; 3]> = settings.iter().map(row).collect();
            let columns = [whole("KEY"), free("VALUE"), free("SET BY")];
            let drawn = table::draw(columns, &rows, &surroundings.stdout);
            surroundings.stdout.write(&drawn)?;
        }
    }
    Ok(0)
}

/// One setting, as `config/get` tells it; whatever a daemon does not tell is left out.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ConfigSettingView {
    key: String,
    value: Value,
    /// Open: what is not known is shown as it came.
    origin: String,
    file: Option<String>,
    line: Option<u64>,
    column: Option<u64>,
    variable: Option<String>,
    flag: Option<String>,
}

fn row(setting: &ConfigSettingView) -> [TableCell; 3] {
    [cell(&setting.key), cell(&setting.value.to_string()), cell(&place(setting)).cut_in_front()]
}

fn place(setting: &ConfigSettingView) -> String {
    let at = |number: Option<u64>| number.map(|number| format!(":{number}")).unwrap_or_default();
    match setting {
        ConfigSettingView { file: Some(file), line, column, .. } => {
            format!("{file}{}{}", at(*line), at(*column))
        }
        ConfigSettingView { variable: Some(variable), .. } => format!("${variable}"),
        ConfigSettingView { flag: Some(flag), .. } => flag.clone(),
        ConfigSettingView { origin, .. } => origin.clone(),
    }
}
