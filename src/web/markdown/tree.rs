//! How does HTML become a tree that is bounded in size, and is built in bounded time?
//!
//! The parser of HTML compares each tag with all that are open, and opens formatting again in each block. So a page of
//! nested tags costs the square of its length, and one of formatting multiplies. Between the tokens and the tree stands a
//! gate that lets no tag through while too many are open, and nothing once there are too many nodes.

use std::{borrow::Cow, cell::Cell};

use html5ever::{
    Attribute, QualName,
    buffer_queue::BufferQueue,
    interface::{ElementFlags, NodeOrText, QuirksMode, TokenizerResult, Tracer, TreeSink},
    tendril::StrTendril,
    tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts},
    tree_builder::{TreeBuilder, TreeBuilderOpts},
};
use markup5ever_rcdom::{Handle, RcDom};

/// Nodes of a page. Long articles have some ten thousand; beyond, memory and the converter's time are the limit.
const MAX_NODES: usize = 200_000;
/// Elements and formatting that are open at once. Browsers go 512 deep.
const MAX_OPEN: usize = 512;
/// What is open is counted after so many tags.
const COUNT_EVERY: usize = 32;
/// Attributes of an element: those of interest are among the first.
const MAX_ATTRIBUTES: usize = 64;
/// Bytes that are read at once, between looks at whether anybody still waits.
const PIECE_BYTES: usize = 64 * 1024;

/// Elements whose content is no HTML: without their tag it would pass for text.
const RAW: &[&str] = &[
    "iframe",
    "noembed",
    "noframes",
    "noscript",
    "plaintext",
    "script",
    "style",
    "textarea",
    "title",
    "xmp",
];

/// A page's tree.
pub(super) struct PageTree {
    pub document: Handle,
    /// Something of the page is not in it.
    pub is_cut: bool,
}

pub(super) fn parse(html: &str, is_unwanted: &dyn Fn() -> bool) -> PageTree {
    // Text that needs a script to be seen is for whoever runs none, and says so mostly; it is no HTML then.
    let options =
        TreeBuilderOpts { scripting_enabled: true, drop_doctype: true, ..TreeBuilderOpts::default() };
    let gate = TokenGate {
        builder: TreeBuilder::new(CountingSink::default(), options),
        since_count: Cell::new(0),
        is_deep: Cell::new(false),
        is_cut: Cell::new(false),
    };
    let tokenizer = Tokenizer::new(gate, TokenizerOpts::default());
    let queue = BufferQueue::default();
    let mut rest = html;
    while !rest.is_empty() && !is_unwanted() && !tokenizer.sink.is_full() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        queue.push_back(StrTendril::from_slice(piece));
        // It stops after each script, for somebody who would run it.
        while !matches!(tokenizer.feed(&queue), TokenizerResult::Done) {}
        rest = after;
    }
    tokenizer.end();
    let gate = tokenizer.sink;
    let is_cut = gate.is_cut.get() || !rest.is_empty();
    PageTree { document: gate.builder.sink.finish().document, is_cut }
}

/// Lets tokens through to the tree.
struct TokenGate {
    builder: TreeBuilder<Handle, CountingSink>,
    since_count: Cell<usize>,
    /// Too many elements are open.
    is_deep: Cell<bool>,
    is_cut: Cell<bool>,
}

impl TokenGate {
    fn is_full(&self) -> bool {
        MAX_NODES <= self.builder.sink.n_nodes.get()
    }

    /// True if the tag may open an element.
    fn may_open(&self, tag: &Tag) -> bool {
        self.since_count.set(self.since_count.get() + 1);
        if COUNT_EVERY <= self.since_count.get() {
            self.since_count.set(0);
            let counter = OpenElementCounter::default();
            self.builder.trace_handles(&counter);
            self.is_deep.set(MAX_OPEN <= counter.0.get());
        }
        !self.is_deep.get() || RAW.contains(&&*tag.name)
    }
}

impl TokenSink for TokenGate {
    type Handle = Handle;

    fn process_token(&self, mut token: Token, line_number: u64) -> TokenSinkResult<Handle> {
        if self.is_full() && token != Token::EOFToken {
            self.is_cut.set(true);
            return TokenSinkResult::Continue;
        }
        match &mut token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => {
                if !self.may_open(tag) {
                    return TokenSinkResult::Continue;
                }
                tag.attrs.truncate(MAX_ATTRIBUTES);
            }
            Token::CommentToken(_) | Token::ParseError(_) => return TokenSinkResult::Continue,
            _ => {}
        }
        match self.builder.process_token(token, line_number) {
            // It is text already, whatever it says of its letters.
            TokenSinkResult::EncodingIndicator(_) => TokenSinkResult::Continue,
            result => result,
        }
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// Counts what is open.
#[derive(Default)]
struct OpenElementCounter(Cell<usize>);

impl Tracer for OpenElementCounter {
    type Handle = Handle;

    fn trace_handle(&self, _: &Handle) {
        self.0.set(self.0.get() + 1);
    }
}

/// A tree that knows how large it is, and keeps no list of what is wrong with the page.
#[derive(Default)]
struct CountingSink {
    dom: RcDom,
    n_nodes: Cell<usize>,
}

impl CountingSink {
    fn count(&self) {
        self.n_nodes.set(self.n_nodes.get() + 1);
    }

    fn count_text(&self, child: &NodeOrText<Handle>) {
        if let NodeOrText::AppendText(_) = child {
            self.count();
        }
    }
}

impl TreeSink for CountingSink {
    type Handle = Handle;
    type Output = RcDom;
    type ElemName<'a> = <RcDom as TreeSink>::ElemName<'a>;

    fn finish(self) -> RcDom {
        self.dom
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        self.dom.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> Self::ElemName<'a> {
        self.dom.elem_name(target)
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> Handle {
        self.count();
        self.dom.create_element(name, attrs, flags)
    }

    fn create_comment(&self, text: StrTendril) -> Handle {
        self.count();
        self.dom.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> Handle {
        self.count();
        self.dom.create_pi(target, data)
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.count_text(&child);
        self.dom.append(parent, child);
    }

    fn append_based_on_parent_node(&self, element: &Handle, previous: &Handle, child: NodeOrText<Handle>) {
        self.count_text(&child);
        self.dom.append_based_on_parent_node(element, previous, child);
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &Handle) -> Handle {
        self.dom.get_template_contents(target)
    }

    fn same_node(&self, x: &Handle, y: &Handle) -> bool {
        self.dom.same_node(x, y)
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.dom.set_quirks_mode(mode);
    }

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        self.count_text(&child);
        self.dom.append_before_sibling(sibling, child);
    }

    fn add_attrs_if_missing(&self, target: &Handle, attrs: Vec<Attribute>) {
        self.dom.add_attrs_if_missing(target, attrs);
    }

    fn remove_from_parent(&self, target: &Handle) {
        self.dom.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        self.dom.reparent_children(node, new_parent);
    }

    fn is_mathml_annotation_xml_integration_point(&self, target: &Handle) -> bool {
        self.dom.is_mathml_annotation_xml_integration_point(target)
    }
}
