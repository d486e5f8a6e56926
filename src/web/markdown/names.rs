//! Which elements of HTML are what to somebody who reads?

use html5ever::LocalName;
use markup5ever_rcdom::{Handle, NodeData};

/// Elements that stand on lines of their own (CommonMark, "HTML blocks").
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "base",
    "basefont",
    "blockquote",
    "body",
    "caption",
    "center",
    "col",
    "colgroup",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "frame",
    "frameset",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "iframe",
    "legend",
    "li",
    "link",
    "main",
    "menu",
    "menuitem",
    "nav",
    "noframes",
    "ol",
    "optgroup",
    "option",
    "p",
    "param",
    "pre",
    "script",
    "search",
    "section",
    "style",
    "summary",
    "table",
    "tbody",
    "td",
    "textarea",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "track",
    "ul",
];

/// Elements that say nothing to a reader of text.
const SILENT: &[&str] = &[
    "applet", "area", "audio", "base", "basefont", "button", "canvas", "col", "colgroup", "datalist",
    "dialog", "embed", "frame", "head", "iframe", "input", "link", "map", "meta", "meter", "noembed",
    "noframes", "noscript", "object", "optgroup", "option", "param", "progress", "rp", "script", "select",
    "source", "style", "svg", "template", "textarea", "title", "track", "video",
];

pub(super) fn is_block(name: &str) -> bool {
    BLOCKS.contains(&name)
}

pub(super) fn is_silent(name: &str) -> bool {
    SILENT.contains(&name)
}

/// The name of an element; `None` for anything else.
pub(super) fn name_of(node: &Handle) -> Option<&LocalName> {
    match &node.data {
        NodeData::Element { name, .. } => Some(&name.local),
        _ => None,
    }
}

pub(super) fn is_named(node: &Handle, names: &[&str]) -> bool {
    name_of(node).is_some_and(|name| names.contains(&&**name))
}

/// An attribute's value.
pub(super) fn attribute(node: &Handle, wanted: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else { return None };
    let attrs = attrs.borrow();
    attrs.iter().find(|attr| &*attr.name.local == wanted).map(|attr| attr.value.to_string())
}

/// Every text below a node, in order, up to so many bytes.
pub(super) fn text_of(node: &Handle, most: usize) -> String {
    let mut text = String::new();
    let mut left = vec![node.clone()];
    while let Some(node) = left.pop() {
        if most <= text.len() {
            break;
        }
        if let NodeData::Text { contents } = &node.data {
            text.push_str(&contents.borrow());
        }
        left.extend(node.children.borrow().iter().rev().cloned());
    }
    text.truncate(text.floor_char_boundary(most));
    text
}
