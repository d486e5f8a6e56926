//! Settings and hooks of a repository: what is put back of them, beside others that may have changed them, too?

use std::path::PathBuf;

use super::{
    super::{
        folder::kind_in,
        hooks::{self, BegunHooks},
        settings::new_danger,
    },
    MendedPart, MendedPlace, RepositoryState, SettingsState, WatchedRepository,
};

impl SettingsState {
    /// The danger that a text is beside this one.
    fn danger_of(&self, after: Option<&str>, named: &[String]) -> Option<String> {
        match after {
            Some(after) => new_danger(self.text.as_deref().unwrap_or_default(), after, named),
            None => Some("it cannot be read".to_owned()),
        }
    }
}

impl WatchedRepository {
    /// Puts settings and hooks back by which git would run what it did not before. What was so when the command began is left to the
    /// others that go on.
    pub fn put_settings_back(&self, named: &[String], roots: &[PathBuf]) -> Vec<MendedPlace> {
        let mut mended = Vec::new();
        let goes_on = self.begun.as_ref().is_some_and(|begun| begun.goes_on);
        for (at, settings) in self.state.settings.iter().enumerate() {
            let after = settings.text_now(&self.folder);
            let is_there = kind_in(&self.folder, &settings.name).is_some();
            let begun = self.begun.as_ref().and_then(|begun| begun.state.settings.get(at));
            let was_so = begun.is_some_and(|begun| begun.is_still(after.as_deref(), is_there));
            if settings.is_still(after.as_deref(), is_there) || (was_so && goes_on) {
                continue;
            }
            let base = begun.filter(|_| goes_on).unwrap_or(settings);
            if let Some(danger) = base.danger_of(after.as_deref(), named) {
                // What was there when the command began may be what another was allowed to make.
                let is_allowed = |begun: &&SettingsState| {
                    let text = begun.text.as_deref();
                    begun.link == settings.link && text.is_some() && settings.danger_of(text, named).is_none()
                };
                let done = begun.filter(is_allowed).unwrap_or(settings).put_back(&self.folder);
                let path = self.state.path.join(&settings.name);
                mended.push(MendedPlace {
                    path,
                    what: MendedPart::Setting(danger),
                    done,
                    is_attack: !was_so,
                });
            }
        }
        if self.state.hooks_link.is_none() {
            let begun = self.begun.as_ref().map(|begun| BegunHooks { hooks: &begun.state.hooks, goes_on });
            let hooks = hooks::put_back((&self.state.path, &self.folder), &self.state.hooks, begun, roots);
            mended.extend(hooks.into_iter().map(|hook| MendedPlace {
                path: hook.path,
                what: MendedPart::Hook,
                done: hook.done,
                is_attack: !hook.was_so,
            }));
        }
        mended
    }

    /// The state that is left to others when the command has ended: as it was before, with what was allowed since.
    pub fn settled(mut self, named: &[String]) -> RepositoryState {
        for settings in &mut self.state.settings {
            if let Some(after) = settings.text_now(&self.folder)
                && settings.danger_of(Some(&after), named).is_none()
            {
                (settings.text, settings.is_there) = (Some(after), true);
            }
        }
        self.state
    }
}
