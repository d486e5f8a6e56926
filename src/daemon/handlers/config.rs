//! `config/get`.

use std::sync::Arc;

use serde_json::json;

use super::super::rpc::{MethodHandlers, RpcCaller};
use crate::{daemon_services::DaemonServices, settings_in_force::SettingsInForce};
use config::{NoSuchSetting, SetAt, SettingLayer, ShownSetting};
use protocol::{
    ConfigGet, ConfigGetParams, ConfigGetResult, ErrorKind, RpcError, SettingOrigin, SettingValue,
};
use redact::Redactor;

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let mut api = api.given(Arc::clone(&services.settings));
    api.cancellable::<ConfigGet, _, _>(get);
}

async fn get(
    settings: Arc<SettingsInForce>,
    _: RpcCaller,
    params: ConfigGetParams,
) -> Result<ConfigGetResult, RpcError> {
    let in_force = settings.get();
    let redactor = settings.redactor.get();
    let shown = match &params.keys {
        None => in_force.config.shown(),
        Some(keys) => in_force.config.shown_of(keys).map_err(|error| unknown(error, &redactor))?,
    };
    Ok(ConfigGetResult { settings: shown.into_iter().map(|shown| on_the_wire(shown, &redactor)).collect() })
}

fn unknown(error: NoSuchSetting, redactor: &Redactor) -> RpcError {
    let refused = RpcError::new(ErrorKind::NotFound, redactor.owned(error.to_string()));
    match error.nearest {
        Some(nearest) => refused
            .with_hint(format!("did you mean `{nearest}`?"))
            .with_details(json!({ "didYouMean": nearest })),
        None => refused.with_hint("without `keys` all settings are answered"),
    }
}

fn on_the_wire(shown: ShownSetting, redactor: &Redactor) -> SettingValue {
    let ShownSetting { key, mut value, origin, set_at } = shown;
    redactor.value(&mut value);
    let mut setting = SettingValue {
        key: redactor.owned(key),
        value,
        origin: origin_on_the_wire(origin),
        file: None,
        line: None,
        column: None,
        variable: None,
        flag: None,
    };
    match set_at {
        None => (),
        Some(SetAt::File { path, mark }) => {
            (setting.file, setting.line, setting.column) = (Some(path), Some(mark.line), Some(mark.column));
        }
        Some(SetAt::Variable(name)) => setting.variable = Some(name),
        Some(SetAt::Flag(flag)) => setting.flag = Some(flag),
    }
    setting
}

fn origin_on_the_wire(origin: SettingLayer) -> SettingOrigin {
    match origin {
        SettingLayer::Default => SettingOrigin::Default,
        SettingLayer::System => SettingOrigin::System,
        SettingLayer::User => SettingOrigin::User,
        SettingLayer::Environment => SettingOrigin::Environment,
        SettingLayer::Flag => SettingOrigin::Flag,
    }
}
