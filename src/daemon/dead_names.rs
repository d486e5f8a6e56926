//! Which names in the settings mean nothing, and which settings do nothing without another?
//!
//! All of it only warns: what a name means may come later, and a run that needs it says so itself. Keys are not looked for.

use std::path::PathBuf;

use tokio::task::JoinError;

use super::{
    redaction::without_secrets, settings_in_force::SettingsInForce, workspace_sources::WorkspaceSources,
};
use agents::{AgentCatalog, AgentLookup};
use config::{DaemonConfig, SetAt, SettingLayer, nearest, problem};
use models::ModelRegistry;
use protocol::{AgentName, FileProblem, FileProblemCode, ModelRef, ProblemSeverity};

/// What stands for a model, or for none, and is no name of one.
const NO_NAMES: [&str; 2] = ["auto", "inherit"];

/// Of the settings in force, without secrets.
pub(super) async fn dead_names_in_force(
    settings: &SettingsInForce,
    workspaces: &WorkspaceSources,
) -> Result<Vec<FileProblem>, JoinError> {
    let project = workspaces.project(Vec::new()).await?;
    let in_force = settings.get();
    let found = dead_names(&in_force.config, &in_force.models, &project.catalog);
    Ok(without_secrets(found, &settings.redactor.get()))
}

/// Of these settings. `agents` are those that are there whatever the workspace is.
pub(super) fn dead_names(
    config: &DaemonConfig,
    models: &ModelRegistry,
    agents: &AgentCatalog,
) -> Vec<FileProblem> {
    let mut search = UnusedNameCheck { config, models, problems: Vec::new() };
    search.look_at_models();
    search.look_at_patterns();
    search.look_at_agents(agents);
    search.look_at_idle_settings();
    search.problems
}

struct UnusedNameCheck<'a> {
    config: &'a DaemonConfig,
    models: &'a ModelRegistry,
    problems: Vec<FileProblem>,
}

impl UnusedNameCheck<'_> {
    fn look_at_models(&mut self) {
        let models = &self.config.models;
        let roles = [
            ("models.default", &models.default),
            ("models.small", &models.small),
            ("models.compression", &models.compression),
            ("models.auto.fast", &models.auto.fast),
            ("models.auto.strong", &models.auto.strong),
        ];
        for (key, role) in roles {
            if let Some(name) = &role.value {
                self.look_at_model(key, key, name);
            }
        }
        for name in &models.fallback.value {
            self.look_at_model("models.fallback", "models.fallback", name);
        }
        for (alias, stands_for) in &models.aliases.value {
            self.look_at_model("models.aliases", &format!("models.aliases.{alias}"), &stands_for.model);
        }
        for (agent, said) in &self.config.agents.overrides.value {
            if let Some(name) = &said.model.name {
                self.look_at_model("agents.overrides", &format!("agents.overrides.{agent}.model"), name);
            }
        }
    }

    fn look_at_model(&mut self, key: &str, place: &str, name: &ModelRef) {
        // What an alias stands for is looked at once, where it stands.
        let is_alias = self.config.models.aliases.value.contains_key(name.as_str());
        if is_alias || NO_NAMES.contains(&name.as_str()) {
            return;
        }
        if let Err(error) = self.models.named(name) {
            let aliases = self.config.models.aliases.value.keys();
            let near = nearest(name.as_str(), aliases.map(String::as_str));
            self.warn(key, format!("`{place}`: {error}"), near);
        }
    }

    /// Windows and prices whose entry is nearly one that there is. Of others nobody can tell: ids have slashes, too.
    fn look_at_patterns(&mut self) {
        let entries = self.models.entries();
        let windows = self.config.models.context_window.value.keys().map(|it| ("models.contextWindow", it));
        let prices = self.config.models.prices.value.keys().map(|it| ("models.prices", it));
        for (key, pattern) in windows.chain(prices) {
            let Some((entry, id)) = pattern.split_once('/') else { continue };
            if entry.contains('*') || entries.iter().any(|known| known == entry) {
                continue;
            }
            if let Some(near) = nearest(entry, entries.iter().map(String::as_str)) {
                let message = format!("`{key}`: `{pattern}`: there is no provider entry `{entry}`");
                self.warn(key, message, Some(&format!("{near}/{id}")));
            }
        }
    }

    fn look_at_agents(&mut self, agents: &AgentCatalog) {
        let settings = &self.config.agents;
        let mut look_at = |key: &str, name: &AgentName| {
            if let AgentLookup::Unknown { nearest } = agents.find(name) {
                let message =
                    format!("`{key}`: there is no agent `{name}`, unless a workspace has one of its own");
                self.warn(key, message, nearest.as_ref().map(AgentName::as_str));
            }
        };
        look_at("agents.default", &settings.default.value);
        for name in settings.overrides.value.keys() {
            look_at("agents.overrides", &AgentName::from(name.as_str()));
        }
    }

    /// What somebody set and nothing comes of.
    fn look_at_idle_settings(&mut self) {
        let models = &self.config.models;
        if models.small.value.is_none() {
            let chooses = models.auto.fast.value.is_some() || models.auto.strong.value.is_some();
            let judge = &self.config.loop_detection.judge;
            // It is on where nobody said so, and then nobody waits for it.
            let wants_judge = judge.value && judge.origin != SettingLayer::Default;
            let waits = [
                ("loopDetection.judge", wants_judge, "looks whether a run goes in circles"),
                ("models.auto", chooses, "chooses between its tiers, so `auto` is `models.default`"),
                ("nextSpeakerCheck", self.config.next_speaker_check.value, "is asked who speaks next"),
            ];
            for (key, is_set, what) in waits {
                if is_set {
                    self.warn(
                        key,
                        format!("`{key}`: no `models.small` is set, and no other model {what}"),
                        None,
                    );
                }
            }
        }
        let default = models.default.value.as_ref().filter(|name| !NO_NAMES.contains(&name.as_str()));
        if self.config.run.max_cost.value.is_some()
            && let Some(default) = default
            && self.models.has_known_cost(default) == Ok(false)
        {
            let key = "run.maxCostUsd";
            let message = format!(
                "`{key}`: `models.prices` has no price of {default}, so that its runs are refused: nobody could tell when the \
                 limit is reached"
            );
            self.warn(key, message, None);
        }
    }

    fn warn(&mut self, key: &str, message: String, near: Option<&str>) {
        // Of a section the first that is set.
        let within = format!("{key}.");
        let mut set_at = self.config.set_at.iter();
        let place = set_at.find(|(set, _)| *set == key || set.starts_with(&within)).map(|(_, place)| place);
        let (path, mark) = match place {
            Some(SetAt::File { path, mark }) => (path.clone(), Some(*mark)),
            Some(elsewhere) => (elsewhere.told().into(), None),
            None => (PathBuf::from("settings"), None),
        };
        let found = problem(&path, mark, FileProblemCode::BadValue, message);
        let fix = near.map(|near| format!("did you mean `{near}`?"));
        self.problems.push(FileProblem { severity: ProblemSeverity::Warning, fix, ..found });
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use agents::AgentPlaces;
    use config::{ConfigPlaces, ConfigSources};
    use sys::children::ChildProcesses;
    use trust::TrustRecords;

    fn check(settings: &str, expected: Expect) {
        let dir = tempfile::tempdir().unwrap();
        let user = dir.path().join("settings.json");
        std::fs::write(&user, settings).unwrap();
        let (config, problems) =
            DaemonConfig::load(&ConfigSources::files(ConfigPlaces { user, system: dir.path().join("none") }));
        assert_eq!(problems, [], "{settings}");
        let models = ModelRegistry::configured(&config.providers, ChildProcesses::default(), |_| None);
        let models = models.with_settings(&config.models);
        let agents = AgentCatalog::load(
            &AgentPlaces::of_user(dir.path().join("agents")),
            &[],
            &TrustRecords::default(),
        );
        let told = dead_names(&config, &models, &agents);
        assert!(told.iter().all(|it| it.severity == ProblemSeverity::Warning));
        let told: Vec<String> = told.iter().map(ToString::to_string).collect();
        let folder = format!("{}/", dir.path().display());
        expected.assert_eq(&told.join("\n").replace(&folder, ""));
    }

    #[test]
    fn names_that_mean_something_are_no_problem() {
        check(
            r#"{
                "models": {
                    "default": "quick", "small": "gemini-2.5-flash", "compression": "local/x", "fallback": ["offline"],
                    "auto": { "fast": "replay:/a/file", "strong": "openai/gpt-5" },
                    "aliases": { "quick": { "model": "gemini/gemini-2.5-flash" } },
                    "prices": {
                        "gemini-*": { "inputPerMillion": 1, "outputPerMillion": 1 },
                        "meta-llama/*": { "inputPerMillion": 1, "outputPerMillion": 1 }
                    },
                    "contextWindow": { "local/*": 9, "*/x": 9 }
                },
                "providers": { "local": { "kind": "openai", "baseUrl": "http://127.0.0.1:1/v1" } },
                "agents": { "default": "generalist", "overrides": { "generalist": { "model": "inherit" } } },
                "run": { "maxCostUsd": 1 },
                "nextSpeakerCheck": true
            }"#,
            expect![[""]],
        );
    }

    #[test]
    fn names_that_mean_nothing_are_told_with_the_nearest() {
        check(
            r#"{
                "models": {
                    "default": "gemni/gemini-2.5-pro", "small": "quik", "compression": "llama",
                    "fallback": ["openai/gpt-5", "local/x"],
                    "auto": { "fast": "quick", "strong": "locl/x" },
                    "aliases": { "quick": { "model": "antropic/claude" } },
                    "prices": { "gemni/*": { "inputPerMillion": 1, "outputPerMillion": 1 } },
                    "contextWindow": { "opnai/gpt-5": 9 }
                },
                "agents": {
                    "default": "generlist",
                    "overrides": { "scout": {}, "codebase-investigater": { "model": "nobody/x" } }
                }
            }"#,
            expect![[r#"
                settings.json:3:32: `models.default`: no model is named `gemni/gemini-2.5-pro` here: there is no provider entry `gemni`; did you mean `gemini`?
                settings.json:3:65: `models.small`: no model is named `quik` here (did you mean `quick`?)
                settings.json:3:88: `models.compression`: no model is named `llama` here
                settings.json:5:58: `models.auto.strong`: no model is named `locl/x` here: there is no provider entry `locl`
                settings.json:4:33: `models.fallback`: no model is named `local/x` here: there is no provider entry `local`
                settings.json:6:32: `models.aliases.quick`: no model is named `antropic/claude` here: there is no provider entry `antropic`; did you mean `anthropic`?
                settings.json:12:34: `agents.overrides.codebase-investigater.model`: no model is named `nobody/x` here: there is no provider entry `nobody`
                settings.json:8:38: `models.contextWindow`: `opnai/gpt-5`: there is no provider entry `opnai` (did you mean `openai/gpt-5`?)
                settings.json:7:31: `models.prices`: `gemni/*`: there is no provider entry `gemni` (did you mean `gemini/*`?)
                settings.json:11:32: `agents.default`: there is no agent `generlist`, unless a workspace has one of its own (did you mean `generalist`?)
                settings.json:12:34: `agents.overrides`: there is no agent `codebase-investigater`, unless a workspace has one of its own (did you mean `codebase-investigator`?)
                settings.json:12:34: `agents.overrides`: there is no agent `scout`, unless a workspace has one of its own"#]],
        );
    }

    #[test]
    fn settings_that_wait_for_another_are_told() {
        check(
            r#"{
                "models": { "default": "openai/gpt-5", "auto": { "fast": "openai/gpt-5-mini" } },
                "run": { "maxCostUsd": 1 },
                "nextSpeakerCheck": true,
                "loopDetection": { "judge": true }
            }"#,
            expect![[r#"
                settings.json:5:45: `loopDetection.judge`: no `models.small` is set, and no other model looks whether a run goes in circles
                settings.json:2:74: `models.auto`: no `models.small` is set, and no other model chooses between its tiers, so `auto` is `models.default`
                settings.json:4:37: `nextSpeakerCheck`: no `models.small` is set, and no other model is asked who speaks next
                settings.json:3:40: `run.maxCostUsd`: `models.prices` has no price of openai/gpt-5, so that its runs are refused: nobody could tell when the limit is reached"#]],
        );
    }
}
