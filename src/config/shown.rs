//! What is set, where, and what is another value than before?

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::{
    DaemonConfig, SetAt, SettingLayer,
    keys::{ChangeTiming, KEYS, SettingKey},
    layer::nearest_key,
    providers,
};

/// Whose values are not all shown.
const MCP_SERVERS: &str = "mcpServers";

/// A setting as those who ask see it.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownSetting {
    pub key: String,
    /// As a file would say it. Of a provider's key only the place.
    pub value: Json,
    pub origin: SettingLayer,
    /// `None` for what nobody set.
    pub set_at: Option<SetAt>,
}

/// Nothing is called like that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no setting `{key}`")]
pub struct NoSuchSetting {
    pub key: String,
    pub nearest: Option<String>,
}

/// Keys whose values differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingChanges {
    /// They count from now on.
    pub at_once: Vec<String>,
    /// They count when the daemon starts the next time.
    pub at_start: Vec<String>,
}

impl DaemonConfig {
    /// Every setting, in the order of the table, then the providers by name.
    pub fn shown(&self) -> Vec<ShownSetting> {
        let keys = KEYS.iter().map(|key| {
            let (value, origin) = (key.get)(self);
            self.row(key.path.to_owned(), value, origin)
        });
        let none = self.providers.is_empty();
        let section = none.then(|| self.row(providers::SECTION.to_owned(), json!({}), SettingLayer::Default));
        let entries = self.providers.iter().map(|(name, entry)| {
            let key = format!("{}.{name}", providers::SECTION);
            self.row(key, providers::shown(entry.value.as_ref()), entry.origin)
        });
        keys.chain(section).chain(entries).collect()
    }

    /// The settings of these names: keys, or sections of keys.
    pub fn shown_of(&self, names: &[String]) -> Result<Vec<ShownSetting>, NoSuchSetting> {
        let all = self.shown();
        let mut wanted = BTreeSet::new();
        for name in names {
            let section = format!("{name}.");
            let is_meant = |shown: &ShownSetting| shown.key == *name || shown.key.starts_with(&section);
            let found: Vec<usize> = (0..all.len()).filter(|at| is_meant(&all[*at])).collect();
            if found.is_empty() {
                let entries = all.iter().map(|shown| shown.key.as_str());
                let nearest = nearest_key(name).or_else(|| super::nearest(name, entries));
                return Err(NoSuchSetting { key: name.clone(), nearest: nearest.map(str::to_owned) });
            }
            wanted.extend(found);
        }
        Ok(wanted.into_iter().map(|at| all[at].clone()).collect())
    }

    /// What `self` sets otherwise than `before`.
    pub fn changes_since(&self, before: &DaemonConfig) -> SettingChanges {
        self.changes_of(KEYS, before)
    }

    pub(super) fn changes_of(&self, keys: &[SettingKey], before: &DaemonConfig) -> SettingChanges {
        let mut changes = SettingChanges::default();
        for key in keys.iter().filter(|key| (key.get)(self).0 != (key.get)(before).0) {
            let changed = match key.counts {
                ChangeTiming::AtOnce => &mut changes.at_once,
                ChangeTiming::AtStart => &mut changes.at_start,
            };
            changed.push(key.path.to_owned());
        }
        let servers = keys.iter().any(|key| key.path == MCP_SERVERS);
        let is_told = changes.at_once.iter().any(|path| path == MCP_SERVERS);
        if servers && !is_told && self.mcp.servers.value != before.mcp.servers.value {
            // Compared as they are, too: values that may be secrets are not shown.
            changes.at_once.push(MCP_SERVERS.to_owned());
        }
        let names: BTreeSet<&String> = self.providers.keys().chain(before.providers.keys()).collect();
        // Compared as they are: what is shown of two commands may be the same.
        let value =
            |config: &DaemonConfig, name: &String| config.providers.get(name).map(|it| it.value.clone());
        let differing = names.into_iter().filter(|name| value(self, name) != value(before, name));
        changes.at_once.extend(differing.map(|name| format!("{}.{name}", providers::SECTION)));
        changes
    }

    fn row(&self, key: String, value: Json, origin: SettingLayer) -> ShownSetting {
        let set_at = self.set_at.get(&key).cloned();
        ShownSetting { key, value, origin, set_at }
    }
}
