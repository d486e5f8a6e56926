//! A YAML text as a tree whose every node knows its place.
//!
//! Built from the parser's events and not through serde, because a problem must name line and column of any
//! node, and because `version: 1.10` must stay the text that was written. YAML 1.2 core schema; tags beyond it
//! are refused, never executed. Bounded in nodes, bytes and depth, what aliases repeat included.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Number, Value};
use serde_saphyr::granit_parser::{
    ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag, options,
};

use config::{TextPosition, one_based};

/// Most nodes of one text. A large agent has a few hundred.
const MOST_NODES: usize = 20_000;

/// Most bytes of scalars, repeated ones counted each time: four times the largest file.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Deepest nesting; JSON Schemas rarely reach ten. Bounds recursion here and in all who walk the tree.
const DEEPEST: usize = 64;

/// A node and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct YamlNode {
    pub mark: TextPosition,
    pub content: YamlContent,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum YamlContent {
    /// `is_plain`: written without quotes, so it may mean a number, a boolean or nothing.
    Scalar {
        text: String,
        is_plain: bool,
    },
    List(Vec<YamlNode>),
    /// In the order of the text; keys are unique.
    Map(Vec<(YamlKey, YamlNode)>),
}

/// A key of a map.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct YamlKey {
    pub mark: TextPosition,
    pub text: String,
}

/// The reason why a text is no usable YAML.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct YamlError {
    pub mark: TextPosition,
    pub message: String,
    pub fix: Option<&'static str>,
    /// It is YAML, but more of it than is read; to read it otherwise would be to guess at what an attacker wants.
    pub is_beyond_bounds: bool,
}

impl YamlNode {
    /// True if it says nothing: an empty value, `~` or `null`.
    pub fn is_null(&self) -> bool {
        matches!(self.to_scalar(), Some(Value::Null))
    }

    /// True if it asks for nothing: an empty list or map, `false`, or no value at all.
    pub fn says_nothing(&self) -> bool {
        match &self.content {
            YamlContent::Scalar { .. } => self.is_null() || self.to_scalar() == Some(Value::Bool(false)),
            YamlContent::List(items) => items.is_empty(),
            YamlContent::Map(entries) => entries.is_empty(),
        }
    }

    /// The text of a scalar, however it is written.
    pub fn as_raw_text(&self) -> Option<&str> {
        match &self.content {
            YamlContent::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// What a scalar means under the core schema; `None` for lists and maps.
    pub fn to_scalar(&self) -> Option<Value> {
        match &self.content {
            YamlContent::Scalar { text, is_plain: true } => Some(resolve(text)),
            YamlContent::Scalar { text, is_plain: false } => Some(Value::String(text.clone())),
            _ => None,
        }
    }

    /// The tree as JSON.
    pub fn to_json(&self) -> Value {
        match &self.content {
            YamlContent::Scalar { .. } => self.to_scalar().unwrap_or(Value::Null),
            YamlContent::List(nodes) => nodes.iter().map(YamlNode::to_json).collect(),
            YamlContent::Map(entries) => {
                let entries = entries.iter().map(|(key, node)| (key.text.clone(), node.to_json()));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }

    /// The node that a JSON pointer leads to, or the last one on the way that exists.
    pub fn at_pointer(&self, pointer: &str) -> &YamlNode {
        let mut node = self;
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let next = match &node.content {
                YamlContent::Map(entries) => {
                    entries.iter().find(|(key, _)| key.text == step).map(|(_, node)| node)
                }
                YamlContent::List(nodes) => step.parse().ok().and_then(|index: usize| nodes.get(index)),
                YamlContent::Scalar { .. } => None,
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }
}

/// Reads one document. The tree is there unless the text is no YAML at all; repeated keys are errors, too, but
/// leave the rest readable. `first_line` is the number of the text's first line in its file.
pub(super) fn parse(text: &str, first_line: u32) -> (Option<YamlNode>, Vec<YamlError>) {
    let options = options! {
        disallow_directives: true,
        emit_comments: false,
        flow_nesting_limit: DEEPEST,
        block_nesting_limit: DEEPEST,
    };
    let mut builder = Builder {
        parser: Parser::new_from_str_with_options(text, options),
        first_line,
        anchors: HashMap::new(),
        nodes: 0,
        bytes: 0,
        errors: Vec::new(),
    };
    match builder.document() {
        Ok(root) => (root, builder.errors),
        Err(error) => {
            builder.errors.push(error);
            (None, builder.errors)
        }
    }
}

/// A finished node with an anchor, and what repeating it costs.
struct AnchoredNode {
    node: YamlNode,
    nodes: usize,
    bytes: usize,
    height: usize,
}

struct Builder<'a> {
    parser: Parser<'a, StrInput<'a>>,
    first_line: u32,
    anchors: HashMap<usize, AnchoredNode>,
    nodes: usize,
    bytes: usize,
    errors: Vec<YamlError>,
}

impl<'a> Builder<'a> {
    fn document(&mut self) -> Result<Option<YamlNode>, YamlError> {
        let mut root = None;
        loop {
            let Some((event, span)) = self.next_event()? else { return Ok(root) };
            if event.is_node() {
                let mark = self.mark(&span);
                let (node, _) = self.node(event, mark, 0)?;
                if root.is_some() {
                    return Err(error(mark, "holds more than one YAML document".to_owned()));
                }
                root = Some(node);
            }
        }
    }

    fn next_event(&mut self) -> Result<Option<(Event<'a>, Span)>, YamlError> {
        match self.parser.next_event() {
            Some(Ok(next)) => Ok(Some(next)),
            Some(Err(scan_error)) => Err(self.syntax_error(&scan_error)),
            None => Ok(None),
        }
    }

    /// Reads the node that `event` begins; the number is its height, 0 for a leaf.
    fn node(
        &mut self,
        event: Event<'a>,
        mark: TextPosition,
        depth: usize,
    ) -> Result<(YamlNode, usize), YamlError> {
        if let Event::Alias(id) = event {
            return self.repeat(id, mark, depth);
        }
        let (nodes_before, bytes_before) = (self.nodes, self.bytes);
        let (anchor, tag) = (event.anchor_id(), event.tag().cloned());
        let is_text_by_tag = self.check_tag(tag.as_ref(), mark)?;
        self.charge(1, 0, mark)?;
        let (content, height) = match event {
            Event::Scalar(text, style, ..) => {
                self.charge(0, text.len(), mark)?;
                let is_plain = style == ScalarStyle::Plain && !is_text_by_tag;
                (YamlContent::Scalar { text: text.into_owned(), is_plain }, 0)
            }
            Event::SequenceStart(..) => self.list(mark, depth)?,
            Event::MappingStart(..) => self.map(mark, depth)?,
            _ => return Err(error(mark, "holds something unexpected here".to_owned())),
        };
        let node = YamlNode { mark, content };
        if let Some(id) = anchor {
            let (nodes, bytes) = (self.nodes - nodes_before, self.bytes - bytes_before);
            self.charge(nodes, bytes, mark)?;
            self.anchors.insert(id, AnchoredNode { node: node.clone(), nodes, bytes, height });
        }
        Ok((node, height))
    }

    fn list(&mut self, mark: TextPosition, depth: usize) -> Result<(YamlContent, usize), YamlError> {
        let (mut nodes, mut height) = (Vec::new(), 0);
        loop {
            let (event, span) = self.next_inside(mark)?;
            if event == Event::SequenceEnd {
                return Ok((YamlContent::List(nodes), height + 1));
            }
            let (node, node_height) = self.node(event, self.mark(&span), depth + 1)?;
            height = height.max(node_height);
            nodes.push(node);
        }
    }

    fn map(&mut self, mark: TextPosition, depth: usize) -> Result<(YamlContent, usize), YamlError> {
        let (mut entries, mut height) = (Vec::new(), 0);
        let mut seen = HashSet::new();
        loop {
            let (event, span) = self.next_inside(mark)?;
            if event == Event::MappingEnd {
                return Ok((YamlContent::Map(entries), height + 1));
            }
            let (key, _) = self.node(event, self.mark(&span), depth + 1)?;
            let (event, span) = self.next_inside(mark)?;
            let (value, value_height) = self.node(event, self.mark(&span), depth + 1)?;
            height = height.max(value_height);
            let YamlContent::Scalar { text, .. } = key.content else {
                self.errors
                    .push(error(key.mark, "a key must be one word or text, not a list or map".to_owned()));
                continue;
            };
            if seen.insert(text.clone()) {
                entries.push((YamlKey { mark: key.mark, text }, value));
            } else {
                self.errors.push(error(key.mark, format!("the key `{text}` stands here a second time")));
            }
        }
    }

    fn next_inside(&mut self, mark: TextPosition) -> Result<(Event<'a>, Span), YamlError> {
        self.next_event()?.ok_or_else(|| error(mark, "is not finished".to_owned()))
    }

    /// An alias: a copy of what its anchor names, paid for like the original.
    fn repeat(
        &mut self,
        id: usize,
        mark: TextPosition,
        depth: usize,
    ) -> Result<(YamlNode, usize), YamlError> {
        let Some(anchored) = self.anchors.get(&id) else {
            return Err(error(mark, "this alias stands inside the very node it names".to_owned()));
        };
        let (nodes, bytes, height) = (anchored.nodes, anchored.bytes, anchored.height);
        if depth + height > DEEPEST {
            return Err(error(mark, format!("is nested deeper than {DEEPEST} levels")));
        }
        self.charge(nodes, bytes, mark)?;
        Ok((self.anchors[&id].node.clone(), height))
    }

    fn charge(&mut self, nodes: usize, bytes: usize, mark: TextPosition) -> Result<(), YamlError> {
        self.nodes += nodes;
        self.bytes += bytes;
        if self.nodes > MOST_NODES {
            let message = format!("has more than {MOST_NODES} nodes, those that aliases repeat included");
            return Err(YamlError { is_beyond_bounds: true, ..error(mark, message) });
        }
        if self.bytes > MOST_BYTES {
            let message = "has too much text, what aliases repeat included".to_owned();
            return Err(YamlError { is_beyond_bounds: true, ..error(mark, message) });
        }
        Ok(())
    }

    /// `!!str` makes a text of anything; the other core tags say what is so anyway; no other tag is taken.
    fn check_tag(&mut self, tag: Option<&Tag>, mark: TextPosition) -> Result<bool, YamlError> {
        match tag.map(|tag| (tag.core_suffix(), tag)) {
            None => Ok(false),
            Some((Some(suffix), _)) => Ok(suffix == "str"),
            Some((None, tag)) => {
                let message = format!("the tag `{}` is not supported", tag.original());
                let fix = Some("remove it, or put the text in quotes");
                Err(YamlError { fix, ..error(mark, message) })
            }
        }
    }

    fn mark(&self, span: &Span) -> TextPosition {
        self.mark_at(span.start.line(), span.start.col())
    }

    fn mark_at(&self, line: usize, column: usize) -> TextPosition {
        let line = one_based(line.saturating_sub(1)).saturating_add(self.first_line).saturating_sub(1);
        TextPosition { line, column: one_based(column) }
    }

    fn syntax_error(&self, scan_error: &ScanError) -> YamlError {
        let fix = match scan_error.kind() {
            ErrorKind::MappingValueNotAllowed => Some("put a text that holds `: ` in quotes"),
            ErrorKind::UnexpectedCharacter { .. } => {
                Some("put a text that begins with `@` or a backtick in quotes")
            }
            ErrorKind::UnknownAnchor | ErrorKind::MissingAnchorOrAliasName => {
                Some("put a text that begins with `*` in quotes")
            }
            _ => None,
        };
        let mark = self.mark_at(scan_error.marker().line(), scan_error.marker().col());
        YamlError { fix, ..error(mark, format!("is not YAML: {}", scan_error.info())) }
    }
}

fn error(mark: TextPosition, message: String) -> YamlError {
    YamlError { mark, message, fix: None, is_beyond_bounds: false }
}

/// The meaning of a plain scalar under the core schema of YAML 1.2: `no` is a text, `012` is twelve.
fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    to_number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

/// The number that a text spells, if it spells one.
pub(super) fn to_number(text: &str) -> Option<Number> {
    let radix = |prefix, radix| i64::from_str_radix(text.strip_prefix(prefix)?, radix).ok();
    if let Some(number) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return Some(number.into());
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let starts_like_a_number =
        digits.strip_prefix('.').unwrap_or(digits).starts_with(|c: char| c.is_ascii_digit());
    let is_spelled_like_one =
        digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
    if !starts_like_a_number || !is_spelled_like_one {
        return None;
    }
    let unsigned_plus = text.strip_prefix('+').unwrap_or(text);
    if let Ok(number) = unsigned_plus.parse::<i64>() {
        return Some(number.into());
    }
    if let Ok(number) = unsigned_plus.parse::<u64>() {
        return Some(number.into());
    }
    Number::from_f64(unsigned_plus.parse().ok()?)
}

#[cfg(test)]
mod tests;
