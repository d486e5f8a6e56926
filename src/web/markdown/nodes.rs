//! How are nodes of a page's tree made, changed and joined?

use std::rc::Rc;

use html5ever::{Attribute, LocalName, QualName, ns, tendril::StrTendril};
use markup5ever_rcdom::{Handle, Node, NodeData};

use super::names::{is_block, is_named, name_of};

/// Adds a node to those that are kept. Neighbours that say the same in the same way become one: texts, and formatting of a
/// text alone. The converter would do the latter itself, in a time that grows with the square.
pub(super) fn keep(parent: &Handle, kept: &mut Vec<Handle>, node: Handle) {
    if let Some(last) = kept.last() {
        if let (NodeData::Text { contents: before }, NodeData::Text { contents: after }) =
            (&last.data, &node.data)
        {
            before.borrow_mut().push_slice(&after.borrow());
            return;
        }
        if are_alike(last, &node)
            && let (Some(before), Some(after)) = (only_text(last), only_text(&node))
            && let (NodeData::Text { contents: before }, NodeData::Text { contents: after }) =
                (&before.data, &after.data)
        {
            before.borrow_mut().push_slice(&after.borrow());
            return;
        }
    }
    node.parent.set(Some(Rc::downgrade(parent)));
    kept.push(node);
}

/// Of the same formatting.
fn are_alike(a: &Handle, b: &Handle) -> bool {
    const SAME: &[&[&str]] = &[&["i", "em"], &["b", "strong"]];
    let (Some(name), Some(other)) = (name_of(a), name_of(b)) else { return false };
    let is_formatting = !is_block(name) && &**name != "a";
    is_formatting && (name == other || SAME.iter().any(|names| is_named(a, names) && is_named(b, names)))
}

pub(super) fn only_text(node: &Handle) -> Option<Handle> {
    match node.children.borrow().as_slice() {
        [only] if matches!(only.data, NodeData::Text { .. }) => Some(only.clone()),
        _ => None,
    }
}

/// Drops attributes that Markdown has no place for.
pub(super) fn bare(node: &Handle) {
    if let NodeData::Element { attrs, .. } = &node.data {
        const KEPT: &[&str] = &["class", "colspan", "href", "id", "role", "start"];
        attrs.borrow_mut().retain(|attr| KEPT.contains(&&*attr.name.local));
    }
}

pub(super) fn set_attributes(node: &Handle, attributes: Vec<Attribute>) {
    if let NodeData::Element { attrs, .. } = &node.data {
        *attrs.borrow_mut() = attributes;
    }
}

pub(super) fn attr(name: LocalName, value: String) -> Attribute {
    Attribute { name: QualName::new(None, ns!(), name), value: StrTendril::from(value) }
}

pub(super) fn element(name: LocalName, attributes: Vec<Attribute>) -> Handle {
    Node::new(NodeData::Element {
        name: QualName::new(None, ns!(html), name),
        attrs: attributes.into(),
        template_contents: None.into(),
        mathml_annotation_xml_integration_point: false,
    })
}

pub(super) fn text_node(text: &str) -> Handle {
    Node::new(NodeData::Text { contents: StrTendril::from(text).into() })
}
