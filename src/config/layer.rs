//! Reads one layer of settings into the configuration: a file, a variable, a flag. Takes what is good, tells all that
//! is not.
//!
//! What is mistaken keeps the value of the layers below. When settings are read anew it keeps the value it had instead:
//! a slip in a file must not change a daemon that runs.

use std::path::{Path, PathBuf};

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Object, ObjectProp, StringLit, Value},
    common::{Range, Ranged},
    parse_to_ast,
};

use super::{
    DaemonConfig, LayeredSetting, SetAt, SettingLayer, TextPosition, UNREADABLE_FILE_EFFECT, UnheldSetting,
    UnknownPromptModule, decode, hooks,
    keys::{KEYS, SettingKey},
    mistake::{SettingMistake, found, kind_of},
    nearest, one_based, problem,
    prompt::MODULES_SECTION,
    providers, read_bounded,
    shapes::ShapeError,
    unheld::effect,
};
use protocol::{FileProblem, FileProblemCode, ProblemSeverity};

/// Settings larger than this are no settings; it bounds what a slip can cost.
pub(super) const LARGEST_FILE: u64 = 1024 * 1024;

/// What must not be shown. A mistake in it is no detail.
const HIDDEN: &str = "redaction.patterns";

/// Names the schema for editors; no setting.
pub(super) const SCHEMA: &str = "$schema";

/// JSON with comments and trailing commas, and nothing else that JSON does not have.
pub(super) const DIALECT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// What layers are read into.
pub(super) struct LayerReading<'a> {
    pub config: DaemonConfig,
    pub problems: Vec<FileProblem>,
    /// The settings in force until now, when they are read anew.
    pub previous: Option<&'a DaemonConfig>,
}

/// Which word stands for a setting that is given as a text of its own.
#[derive(Clone, Copy)]
pub(super) enum InlineSource<'a> {
    /// A variable of the environment.
    Variable(&'a str),
    /// A flag of the command line, with its key.
    Flag(&'a str),
}

impl InlineSource<'_> {
    fn set_at(self) -> SetAt {
        match self {
            InlineSource::Variable(name) => SetAt::Variable(name.to_owned()),
            InlineSource::Flag(flag) => SetAt::Flag(flag.to_owned()),
        }
    }

    fn origin(self) -> SettingLayer {
        match self {
            InlineSource::Variable(_) => SettingLayer::Environment,
            InlineSource::Flag(_) => SettingLayer::Flag,
        }
    }

    pub fn path(self) -> PathBuf {
        match self {
            InlineSource::Variable(name) | InlineSource::Flag(name) => PathBuf::from(name),
        }
    }
}

impl LayerReading<'_> {
    /// Reads the file at `path`, if there is one.
    pub fn file(&mut self, path: &Path, origin: SettingLayer) {
        let bytes = match read_bounded(path, LARGEST_FILE) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return,
            Err(found) => return self.lost(origin, found),
        };
        let text = match decode(path, &bytes) {
            Ok(text) => text,
            Err(found) => return self.lost(origin, found),
        };
        self.file_text(path, text, origin);
    }

    /// The same for a text that is going to stand there.
    pub fn file_text(&mut self, path: &Path, text: &str, origin: SettingLayer) {
        let value = match parse_to_ast(text, &CollectOptions::default(), &DIALECT) {
            Ok(parsed) => parsed.value,
            Err(error) => return self.lost(origin, no_json(path, &error)),
        };
        match value {
            None => {}
            Some(Value::Object(object)) => {
                LayerText { path, text, origin, given: None, reading: self }.read_object(&object, "");
            }
            Some(other) => {
                let message = format!("expected an object with settings, found {}", kind_of(&other));
                let mark = TextPosition::at(text, other.range().start);
                self.lost(origin, problem(path, Some(mark), FileProblemCode::WrongType, message));
            }
        }
    }

    /// Reads one setting from a text of its own: a text setting as it stands, all others as JSON.
    pub fn given(&mut self, key: &str, text: &str, given: InlineSource<'_>) {
        let path = given.path();
        let is_text = find(key).is_some_and(|key| (key.is_text)());
        let parsed;
        let value = if is_text {
            let range = Range { start: 0, end: text.len() };
            Value::StringLit(StringLit { range, value: text.into() })
        } else {
            parsed = parse_to_ast(text, &CollectOptions::default(), &DIALECT);
            match parsed {
                Ok(parsed) => match parsed.value {
                    Some(value) => value,
                    None => {
                        let message = format!("`{key}`: expected {}, found nothing", expected(key));
                        self.problems.push(problem(&path, None, FileProblemCode::BadValue, message));
                        return self.keep(key);
                    }
                },
                Err(error) => {
                    let mut found = no_json(&path, &error);
                    found.message = format!("`{key}`: expected {}: {}", expected(key), error.kind());
                    found.code = FileProblemCode::BadValue;
                    self.problems.push(found);
                    return self.keep(key);
                }
            }
        };
        let origin = given.origin();
        let mut layer = LayerText { path: &path, text, origin, given: Some(given), reading: self };
        layer.read_value(&value, key);
    }

    /// A whole layer cannot be read: what it set keeps its value.
    fn lost(&mut self, origin: SettingLayer, found: FileProblem) {
        // As whoever reads hooks tells it, so that it is told once.
        let fix = found.fix.or_else(|| Some(UNREADABLE_FILE_EFFECT.to_owned()));
        self.problems.push(FileProblem { fix, ..found });
        let Some(previous) = self.previous else {
            self.config.redaction.is_whole = false;
            return;
        };
        let of_layer: Vec<String> = previous
            .shown()
            .into_iter()
            .filter(|shown| shown.origin == origin)
            .map(|shown| shown.key)
            .collect();
        for key in of_layer {
            self.keep(&key);
        }
    }

    /// The setting, or the settings below a section, keep the values they have. The mistake in it was told last.
    fn keep(&mut self, path: &str) {
        let section = format!("{path}.");
        let mut kept = KEYS.iter().filter(|key| key.path == path || key.path.starts_with(&section));
        let Some(previous) = self.previous else {
            self.config.redaction.is_whole &= kept.all(|key| key.path != HIDDEN);
            if let Some(problem) = self.problems.last_mut()
                && let Some(unheld) = UnheldSetting::of_mistake(path, problem)
            {
                self.config.unheld.push(unheld);
            }
            return;
        };
        let still = previous.unheld.iter().filter(|it| it.key == path || it.key.starts_with(&section));
        self.config.unheld.extend(still.cloned());
        for key in kept {
            (key.keep)(&mut self.config, previous);
            keep_place(&mut self.config, previous, key.path);
        }
        for (name, entry) in &previous.providers {
            let key = format!("{}.{name}", providers::SECTION);
            if key == path || path == providers::SECTION {
                self.config.providers.insert(name.clone(), entry.clone());
                keep_place(&mut self.config, previous, &key);
            }
        }
    }
}

fn keep_place(config: &mut DaemonConfig, previous: &DaemonConfig, key: &str) {
    match previous.set_at.get(key) {
        Some(place) => config.set_at.insert(key.to_owned(), place.clone()),
        None => config.set_at.remove(key),
    };
}

pub(super) struct LayerText<'a, 'r, 'p> {
    pub path: &'a Path,
    pub text: &'a str,
    pub origin: SettingLayer,
    /// `None` = a file.
    pub given: Option<InlineSource<'a>>,
    pub reading: &'r mut LayerReading<'p>,
}

/// The message about a key that stands twice in an object.
pub(super) fn set_twice(path: &str) -> String {
    match path {
        // Readers of hooks take neither: people read the first, most programs the last.
        hooks::SECTION => format!(
            "`{path}` is set twice; no hook of it runs, and what it guards is refused, until it stands once"
        ),
        _ => format!("`{path}` is set twice; the first one counts"),
    }
}

impl LayerText<'_, '_, '_> {
    /// Recursion ends: the parser bounds the nesting, and only known sections are entered.
    fn read_object(&mut self, object: &Object<'_>, prefix: &str) {
        for (position, property) in object.properties.iter().enumerate() {
            let path = format!("{prefix}{}", property.name.as_str());
            let is_repeated = object.properties[..position]
                .iter()
                .any(|earlier| earlier.name.as_str() == property.name.as_str());
            if is_repeated {
                let message = set_twice(&path);
                self.report(property.range.start, FileProblemCode::BadValue, message);
            } else {
                self.read_property(property, &path);
            }
        }
    }

    fn read_property(&mut self, property: &ObjectProp<'_>, path: &str) {
        let place = property.value.range().start;
        let section = format!("{path}.");
        let is_section = KEYS.iter().any(|key| key.path.starts_with(&section));
        match (is_section, &property.value) {
            (true, Value::Object(object)) => self.read_object(object, &section),
            (true, other) => {
                let message = format!("`{path}`: expected an object, found {}", found(other));
                self.report(place, FileProblemCode::WrongType, message);
                self.reading.keep(path);
            }
            (false, value) if find(path).is_some() || path == providers::SECTION => {
                self.read_value(value, path);
            }
            (false, _) if path == SCHEMA => {}
            // An event, which is read, and told if it is none, where hooks are.
            (false, _) if path.split_once('.').is_some_and(|(section, _)| section == hooks::SECTION) => {}
            (false, _) => self.report_unknown(property.range.start, path),
        }
    }

    pub fn read_value(&mut self, value: &Value<'_>, path: &str) {
        let place = value.range().start;
        let Some(key) = find(path) else {
            return self.read_providers(value);
        };
        let code = match (key.set)(&mut self.reading.config, value, self.origin) {
            Ok(()) => return self.note_place(path, place),
            Err(ShapeError::WrongType) => FileProblemCode::WrongType,
            Err(ShapeError::BadValue) => FileProblemCode::BadValue,
            Err(ShapeError::BadElements(elements)) => {
                for element in elements {
                    let message = format!("`{path}`: an element {}", element.reason);
                    self.report(element.offset, FileProblemCode::BadValue, message);
                }
                self.note_place(path, place);
                return self.reading.keep(path);
            }
            Err(ShapeError::Mistakes(mistakes)) => {
                let is_any_error = mistakes.iter().any(|mistake| mistake.severity == ProblemSeverity::Error);
                self.report_all(mistakes);
                self.note_place(path, place);
                // As it was as a whole: half of the old entries and half of the new are nobody's settings.
                if is_any_error {
                    self.reading.keep(path);
                }
                return;
            }
        };
        self.report(place, code, format!("`{path}`: expected {}, found {}", key.expected, found(value)));
        self.reading.keep(path);
    }

    fn read_providers(&mut self, value: &Value<'_>) {
        let (entries, mistakes) = providers::read(value);
        if entries.is_none() {
            self.reading.keep(providers::SECTION);
        }
        for entry in entries.into_iter().flatten() {
            let key = format!("{}.{}", providers::SECTION, entry.name);
            let is_mistaken = entry.settings.is_none();
            let known = self.reading.previous.and_then(|previous| previous.providers.get(&entry.name));
            if is_mistaken && known.is_some_and(|known| known.value.is_some()) {
                self.reading.keep(&key);
                continue;
            }
            let setting = LayeredSetting { value: entry.settings, origin: self.origin };
            self.reading.config.providers.insert(entry.name, setting);
            self.note_place(&key, entry.offset);
        }
        self.report_all(mistakes);
    }

    fn report_all(&mut self, mistakes: Vec<SettingMistake>) {
        for mistake in mistakes {
            let found = problem(self.path, self.mark(mistake.offset), mistake.code, mistake.message);
            let found = FileProblem { severity: mistake.severity, fix: mistake.fix, ..found };
            self.reading.problems.push(found);
        }
    }

    fn note_place(&mut self, key: &str, offset: usize) {
        let place = match self.given {
            Some(given) => given.set_at(),
            None => SetAt::File { path: self.path.to_owned(), mark: TextPosition::at(self.text, offset) },
        };
        self.reading.config.set_at.insert(key.to_owned(), place);
    }

    /// A variable or a flag is one line, mostly one word: only what stands within it has a place worth telling.
    fn mark(&self, offset: usize) -> Option<TextPosition> {
        (self.given.is_none() || offset != 0).then(|| TextPosition::at(self.text, offset))
    }

    pub fn report(&mut self, offset: usize, code: FileProblemCode, message: String) {
        let found = problem(self.path, self.mark(offset), code, message);
        self.reading.problems.push(found);
    }

    fn report_unknown(&mut self, offset: usize, path: &str) {
        let is_module = self.note_module(offset, path);
        let message = match is_module {
            true => format!(
                "`{path}`: the system prompt has no such module; agents with its modules do not start"
            ),
            false => format!("there is no setting `{path}` in this version; {}", effect(path)),
        };
        let mut unknown = problem(self.path, self.mark(offset), FileProblemCode::UnknownField, message);
        if !is_module {
            unknown.severity = ProblemSeverity::Warning;
        }
        unknown.fix = nearest_key(path).map(|key| format!("did you mean `{key}`?"));
        self.reading.config.unheld.extend(UnheldSetting::of(path, &unknown));
        self.reading.problems.push(unknown);
    }
}

impl LayerText<'_, '_, '_> {
    /// Keeps a name below `prompt.modules` that no module has; whether it is one.
    pub fn note_module(&mut self, offset: usize, path: &str) -> bool {
        let Some(name) = path.strip_prefix(MODULES_SECTION) else { return false };
        let TextPosition { line, column, .. } = TextPosition::at(self.text, offset);
        let place = format!("{}:{line}:{column}", self.path.display());
        self.reading.config.prompt.unknown_modules.push(UnknownPromptModule { name: name.to_owned(), place });
        true
    }
}

pub(super) fn find(path: &str) -> Option<&'static SettingKey> {
    KEYS.iter().find(|key| key.path == path)
}

fn expected(path: &str) -> &'static str {
    find(path).map_or("an object with entries", |key| key.expected)
}

pub(super) fn no_json(path: &Path, error: &jsonc_parser::errors::ParseError) -> FileProblem {
    let mark = TextPosition {
        line: one_based(error.line_display().saturating_sub(1)),
        column: one_based(error.column_display().saturating_sub(1)),
    };
    let message = format!("is not JSON with comments: {}", error.kind());
    problem(path, Some(mark), FileProblemCode::BadJson, message)
}

/// The nearest setting: by its whole path, else by its last word, which catches a setting in the wrong section.
pub(super) fn nearest_key(path: &str) -> Option<&'static str> {
    let last_word = |path: &'static str| path.rsplit('.').next().unwrap_or(path);
    let sections = KEYS.iter().filter_map(|key| key.path.split('.').next());
    let paths = KEYS.iter().map(|key| key.path);
    if let Some(key) = nearest(path, sections.chain(paths).chain([providers::SECTION])) {
        return Some(key);
    }
    let wanted = path.rsplit('.').next()?;
    let word = nearest(wanted, KEYS.iter().map(|key| last_word(key.path)))?;
    KEYS.iter().find(|key| last_word(key.path) == word).map(|key| key.path)
}
