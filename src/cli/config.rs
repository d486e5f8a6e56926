//! `subagent config`: which settings are in force, and where was each set?

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Format, Surroundings,
    failure::Failure,
    link::Link,
    paging,
    status::not_running,
    table::{self, Cell, cell, free, whole},
};
use crate::protocol::{ConfigGet, ConfigGetParams};

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
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(super) fn config(
    verb: &ConfigVerb,
    link: &mut Link,
    surroundings: &mut Surroundings,
) -> Result<u8, Failure> {
    let ConfigVerb::Get(ConfigGetArguments { keys, format }) = verb;
    // The settings of a daemon that is started to be asked are in nobody's way.
    let mut client = link.dialer().connect().map_err(not_running)?;
    let params = ConfigGetParams { keys: (!keys.is_empty()).then(|| keys.clone()) };
    let answer: Value = client.call_as::<ConfigGet, _>(&params)?;
    match format {
        Format::Json => paging::print_json(&answer, surroundings)?,
        Format::Table => {
            let settings: Vec<Setting> = paging::entries(&answer, "settings")?;
            let rows: Vec<[Cell; 3]> = settings.iter().map(row).collect();
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
struct Setting {
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

fn row(setting: &Setting) -> [Cell; 3] {
    [cell(&setting.key), cell(&setting.value.to_string()), cell(&place(setting))]
}

fn place(setting: &Setting) -> String {
    let at = |number: Option<u64>| number.map(|number| format!(":{number}")).unwrap_or_default();
    match setting {
        Setting { file: Some(file), line, column, .. } => format!("{file}{}{}", at(*line), at(*column)),
        Setting { variable: Some(variable), .. } => format!("${variable}"),
        Setting { flag: Some(flag), .. } => flag.clone(),
        Setting { origin, .. } => origin.clone(),
    }
}
