//! How are the questions of a run put? What whoever starts it says, and the settings where they are silent (spec 06).

use serde_json::json;

use super::super::settings_in_force::SettingsInForce;
use config::ApprovalSettings;
use protocol::{ApprovalMode, ApprovalParams, ErrorKind, OnDetached, Risk, RpcError};

/// The request with what the settings say filled in. The mode is left to the session when the request names none.
pub(super) fn approval(
    settings: &SettingsInForce,
    asked: ApprovalParams,
) -> Result<ApprovalParams, RpcError> {
    let in_force = settings.get();
    filled(&in_force.config.approval, asked)
}

fn filled(settings: &ApprovalSettings, asked: ApprovalParams) -> Result<ApprovalParams, RpcError> {
    let mut wrong = Vec::new();
    if asked.mode == Some(ApprovalMode::Yolo) && !settings.allow_yolo.value {
        wrong.push(("/approval/mode".to_owned(), "`yolo` needs the setting `approval.allowYolo`"));
    }
    for (at, _) in asked.auto_approve.iter().enumerate().filter(|(_, risk)| **risk == Risk::Critical) {
        wrong.push((
            format!("/approval/autoApprove/{at}"),
            "a critical call is never approved without being asked about",
        ));
    }
    if !wrong.is_empty() {
        let list: Vec<_> = wrong
            .iter()
            .map(|(pointer, message)| json!({ "pointer": pointer, "message": message }))
            .collect();
        let said: Vec<String> =
            wrong.iter().map(|(pointer, message)| format!("{pointer}: {message}")).collect();
        return Err(RpcError::new(ErrorKind::InvalidParams, said.join("; "))
            .with_details(json!({ "violations": list })));
    }
    let usual = settings.on_detached.value.unwrap_or(match asked.headless {
        true => OnDetached::Deny,
        false => OnDetached::Wait,
    });
    let deadline = settings.deadline.value.map(|it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX));
    Ok(ApprovalParams {
        audience: asked.audience.or_else(|| Some(settings.audience.value.clone())),
        on_detached: asked.on_detached.or(Some(usual)),
        deadline_ms: asked.deadline_ms.or(deadline),
        on_deadline: asked.on_deadline.or(Some(settings.on_deadline.value)),
        ..asked
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use config::{DaemonConfig, LayeredSetting, SettingLayer};
    use protocol::{Audience, OnDeadline};

    fn settings(change: impl FnOnce(&mut ApprovalSettings)) -> ApprovalSettings {
        let mut settings = DaemonConfig::default().approval;
        change(&mut settings);
        settings
    }

    fn set<T>(value: T) -> LayeredSetting<T> {
        LayeredSetting { value, origin: SettingLayer::User }
    }

    #[test]
    fn what_is_asked_comes_before_the_settings_and_those_before_what_is_usual() {
        let asked =
            |on_detached, headless| ApprovalParams { on_detached, headless, ..ApprovalParams::default() };
        let cases = [
            (None, None, false, OnDetached::Wait),
            (None, None, true, OnDetached::Deny),
            (Some(OnDetached::Park), None, false, OnDetached::Park),
            (Some(OnDetached::Fail), None, true, OnDetached::Fail),
            (Some(OnDetached::Fail), Some(OnDetached::Wait), true, OnDetached::Wait),
        ];
        for (setting, request, headless, expected) in cases {
            let settings = settings(|it| it.on_detached = set(setting));
            let filled = filled(&settings, asked(request, headless)).unwrap();
            assert_eq!(filled.on_detached, Some(expected), "{setting:?} {request:?} {headless}");
            assert_eq!(filled.headless, headless);
        }
        let settings = settings(|it| {
            it.audience = set(Audience::InitiatorFirst { grace_ms: 5 });
            it.deadline = set(Some(Duration::from_secs(1)));
            it.on_deadline = set(OnDeadline::Park);
        });
        let whole = filled(&settings, ApprovalParams::default()).unwrap();
        assert_eq!(whole.audience, Some(Audience::InitiatorFirst { grace_ms: 5 }));
        assert_eq!(
            (whole.deadline_ms, whole.on_deadline, whole.mode),
            (Some(1_000), Some(OnDeadline::Park), None)
        );
        let own = ApprovalParams {
            audience: Some(Audience::All),
            deadline_ms: Some(7),
            on_deadline: Some(OnDeadline::CancelRun),
            on_detached: Some(OnDetached::Wait),
            mode: Some(ApprovalMode::Plan),
            auto_approve: vec![Risk::High],
            headless: false,
        };
        assert_eq!(filled(&settings, own.clone()).unwrap(), own);
    }

    #[test]
    fn what_may_not_be_asked_is_said_at_once() {
        let asked = ApprovalParams {
            mode: Some(ApprovalMode::Yolo),
            auto_approve: vec![Risk::Low, Risk::Critical],
            ..ApprovalParams::default()
        };
        let error = filled(&settings(|_| ()), asked.clone()).unwrap_err();
        let pointers: Vec<_> = error.data.details.unwrap()["violations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["pointer"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(pointers, ["/approval/mode", "/approval/autoApprove/1"]);
        let asked = ApprovalParams { auto_approve: vec![Risk::Low], ..asked };
        assert!(filled(&settings(|it| it.allow_yolo = set(true)), asked).is_ok());
    }
}
