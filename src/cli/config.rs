//! `subagent config`: which settings are in force, and where was each set?

use clap::{Args, Subcommand};

use super::{Format, Surroundings, failure::Failure, link::Link, safe_text, status::not_running, table};
use crate::protocol::{ConfigGet, ConfigGetParams, SettingOrigin, SettingValue};

/// The widest a value gets; `--format json` has the whole.
const VALUE_CHARACTERS: usize = 60;
/// The widest a place gets: paths are worth reading to their end.
const PLACE_CHARACTERS: usize = 300;

#[derive(Subcommand)]
pub(super) enum ConfigVerb {
    /// Show the settings the daemon goes by, each with where it was set; starts no daemon
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
    let answer = client.call::<ConfigGet>(&params)?;
    match format {
        Format::Json => surroundings.stdout.write_json_of(&answer)?,
        Format::Table => {
            let rows: Vec<[String; 3]> = answer.settings.iter().map(row).collect();
            let drawn = table::draw(["key", "value", "set by"], &rows, &surroundings.stdout);
            surroundings.stdout.write(&drawn)?;
        }
    }
    Ok(0)
}

fn row(setting: &SettingValue) -> [String; 3] {
    let value = safe_text::line(&setting.value.to_string(), VALUE_CHARACTERS);
    [table::cell(&setting.key), value, safe_text::line(&place(setting), PLACE_CHARACTERS)]
}

fn place(setting: &SettingValue) -> String {
    let at = |number: Option<u32>| number.map(|number| format!(":{number}")).unwrap_or_default();
    if let Some(file) = &setting.file {
        return format!("{}{}{}", file.display(), at(setting.line), at(setting.column));
    }
    if let Some(variable) = &setting.variable {
        return format!("${variable}");
    }
    if let Some(flag) = &setting.flag {
        return flag.clone();
    }
    let word = match setting.origin {
        SettingOrigin::Default => "default",
        SettingOrigin::System => "system",
        SettingOrigin::User => "user",
        SettingOrigin::Environment => "environment",
        SettingOrigin::Flag => "flag",
    };
    word.to_owned()
}
