//! What of a page's tree is for somebody who reads, and in which form is it converted well?
//!
//! Goes through the tree without recursion, however deep it is, and leaves one that is shallow: what does not show, what only
//! helps to get about, and what is formatting of formatting is gone.

use std::{collections::VecDeque, mem, rc::Rc};

use html5ever::{LocalName, local_name, tendril::StrTendril};
use markup5ever_rcdom::{Handle, NodeData};
use url::Url;

use super::{
    budget::MarkdownBudget,
    names::{attribute, is_block, is_named, is_silent, name_of, text_of},
    nodes::{attr, bare, element, keep, only_text, set_attributes, text_node},
};
use crate::target::MAX_URL_BYTES;

/// Levels of elements that are kept; text below stays, its elements do not. Pages have some thirty, and the converter
/// needs a few KiB of stack for each.
const MAX_DEPTH: usize = 100;
/// What has less text than this is not all that a page says, whatever it is called.
const LEAST_MAIN_BYTES: usize = 200;
/// Signs before each line of a quotation, and of an item of a list without numbers.
const MARK_BYTES: usize = 2;
/// Signs before each line of an item with a number, at most: the number has up to ten digits.
const NUMBER_BYTES: usize = 12;
/// A title is a line, but whoever shows it looks for secrets in it before it is cut to one.
const MAX_TITLE_BYTES: usize = 4_000;
/// Signs that stand for a link to the place where they stand.
const PERMALINKS: &[&str] = &[
    "",
    "#",
    "¶",
    "§",
    "🔗",
    "\u{200b}",
    "link",
    "Link to this heading",
    "permalink",
    "Skip to main content",
    "Skip to content",
];
/// Programming languages by the classes that highlighters set, beside `language-`.
const LANGUAGE_CLASSES: &[&str] = &["language-", "lang-", "highlight-source-", "highlight-", "sourceCode "];

/// What was found out on the way.
pub(super) struct TidyResult {
    pub title: Option<String>,
    /// Something was left out because it would have made too much of the page.
    pub is_cut: bool,
}

/// `page_bytes` is how large the page was. `is_unwanted` is asked at every element, and ends it.
pub(super) fn tidy(
    document: &Handle,
    page: Option<&Url>,
    page_bytes: usize,
    is_unwanted: &dyn Fn() -> bool,
) -> TidyResult {
    let Outline { title, base, has_main, mains } = Outline::of(document, is_unwanted);
    if let [main] = mains.as_slice()
        && LEAST_MAIN_BYTES <= text_of(main, LEAST_MAIN_BYTES).len()
    {
        // Out of the tree first: a tree that is dropped empties all that is in it, also what somebody else holds.
        let before = main.parent.replace(Some(Rc::downgrade(document))).and_then(|parent| parent.upgrade());
        if let Some(before) = before {
            before.children.borrow_mut().retain(|child| !Rc::ptr_eq(child, main));
        }
        *document.children.borrow_mut() = vec![main.clone()];
    }
    let base = match (page, base) {
        (Some(page), Some(base)) => Some(joined(page, &base).unwrap_or_else(|| page.clone())),
        (page, _) => page.cloned(),
    };
    let rules = TidyRules { base, has_main, budget: MarkdownBudget::of(page_bytes), is_unwanted };
    let start = document.clone();
    let mut left = vec![TidyElement {
        node: start,
        depth: 0,
        indent: 0,
        is_in_main: false,
        is_pre: false,
        language: None,
    }];
    while let Some(place) = left.pop() {
        rules.tidy(&place);
        if is_unwanted() {
            break;
        }
        let language = language_of(&place.node).or_else(|| place.language.clone());
        for child in place.node.children.borrow().iter().rev().filter(|child| name_of(child).is_some()) {
            left.push(TidyElement {
                node: child.clone(),
                depth: place.depth + 1,
                indent: place.indent + indent_of(child, &place.node),
                is_in_main: place.is_in_main || is_main(child),
                is_pre: place.is_pre || is_named(&place.node, &["pre"]),
                language: language.clone(),
            });
        }
    }
    TidyResult { title, is_cut: rules.budget.is_spent() }
}

/// Where an address leads from another; `None` for what is no address, or too long to be asked for by anybody.
fn joined(base: &Url, href: &str) -> Option<Url> {
    let is_short = href.len() <= MAX_URL_BYTES;
    is_short.then(|| base.join(href).ok()).flatten().filter(|url| url.as_str().len() <= MAX_URL_BYTES)
}

/// What the converter puts before each line that is in this element, in bytes.
fn indent_of(node: &Handle, parent: &Handle) -> usize {
    match name_of(node).map(|name| &**name) {
        Some("blockquote") => MARK_BYTES,
        Some("li") if is_named(parent, &["ol"]) => NUMBER_BYTES,
        Some("li") => MARK_BYTES,
        _ => 0,
    }
}

/// What a look over the whole page tells.
struct Outline {
    title: Option<String>,
    /// As the page has it, of `<base>`.
    base: Option<String>,
    /// It says which part of it is its content.
    has_main: bool,
    /// What it calls the main part, without those of parts.
    mains: Vec<Handle>,
}

impl Outline {
    fn of(document: &Handle, is_unwanted: &dyn Fn() -> bool) -> Outline {
        let mut outline = Outline { title: None, base: None, has_main: false, mains: Vec::new() };
        let mut left = vec![document.clone()];
        while let Some(node) = left.pop().filter(|_| !is_unwanted()) {
            // The title of a drawing is another.
            if is_named(&node, &["svg"]) {
                continue;
            }
            if outline.title.is_none() && is_named(&node, &["title"]) {
                let words = text_of(&node, MAX_TITLE_BYTES);
                let words: Vec<&str> = words.split_whitespace().collect();
                outline.title = Some(words.join(" ")).filter(|title| !title.is_empty());
            }
            if outline.base.is_none() && is_named(&node, &["base"]) {
                outline.base = attribute(&node, "href");
            }
            outline.has_main |= is_main(&node);
            if is_main(&node) && !is_named(&node, &["article"]) && !is_hidden(&node) {
                outline.mains.push(node.clone());
            }
            left.extend(node.children.borrow().iter().rev().cloned());
        }
        outline
    }
}

fn is_main(node: &Handle) -> bool {
    is_named(node, &["main", "article"]) || attribute(node, "role").as_deref() == Some("main")
}

/// The class of highlighters that names a language.
fn language_of(node: &Handle) -> Option<StrTendril> {
    if !is_named(node, &["pre", "code", "div", "figure"]) {
        return None;
    }
    let classes = attribute(node, "class")?;
    let mut found = LANGUAGE_CLASSES.iter().filter_map(|prefix| {
        let start = classes.find(prefix).filter(|at| *at == 0 || classes[..*at].ends_with(' '))?;
        let name = classes[start + prefix.len()..].split(' ').next()?;
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "+#.-_".contains(letter);
        let is_fit = !name.is_empty() && name.len() <= 20 && name.chars().all(is_name);
        (is_fit && !["none", "default", "notranslate", "text"].contains(&name))
            .then(|| StrTendril::from(name))
    });
    found.next()
}

/// An element whose children are looked at.
struct TidyElement {
    node: Handle,
    depth: usize,
    /// Bytes before each line in it.
    indent: usize,
    /// It is the page's content, or a part of it.
    is_in_main: bool,
    /// Blanks and line ends in it are as they are.
    is_pre: bool,
    /// Of the code in it.
    language: Option<StrTendril>,
}

struct TidyRules<'a> {
    /// What links are relative to.
    base: Option<Url>,
    has_main: bool,
    budget: MarkdownBudget,
    is_unwanted: &'a dyn Fn() -> bool,
}

/// What becomes of a child.
enum NodeAction {
    Stays,
    Goes,
    /// Its children stay in its place.
    Opens,
    /// A text stands for it.
    Says(&'static str),
}

impl TidyRules<'_> {
    /// Makes the children of an element simple. Their own children come later.
    fn tidy(&self, place: &TidyElement) {
        let parent = &place.node;
        let mut left: VecDeque<Handle> = mem::take(&mut *parent.children.borrow_mut()).into();
        let mut kept: Vec<Handle> = Vec::with_capacity(left.len());
        let is_pre = place.is_pre || is_named(parent, &["pre"]);
        while let Some(child) = left.pop_front().filter(|_| !(self.is_unwanted)()) {
            let fate = match &child.data {
                NodeData::Text { contents } => self.fate_of_text(&contents.borrow(), place),
                NodeData::Element { .. } => match self.fate(&child, place, is_pre) {
                    // It may stand on a line of its own; what is in it may do without.
                    NodeAction::Stays if !self.budget.take(place.indent) => NodeAction::Opens,
                    fate => fate,
                },
                _ => NodeAction::Goes,
            };
            match fate {
                NodeAction::Stays => keep(parent, &mut kept, child),
                NodeAction::Goes => {}
                NodeAction::Says(text) => keep(parent, &mut kept, text_node(text)),
                NodeAction::Opens => {
                    // Words of blocks that are opened must not run together.
                    let is_block = name_of(&child).is_some_and(|name| is_block(name));
                    let around = if is_block { Some(if is_pre { "\n" } else { " " }) } else { None };
                    let inner = mem::take(&mut *child.children.borrow_mut());
                    around.into_iter().for_each(|text| left.push_front(text_node(text)));
                    inner.into_iter().rev().for_each(|it| left.push_front(it));
                    around.into_iter().for_each(|text| left.push_front(text_node(text)));
                }
            }
        }
        if is_named(parent, &["pre"]) {
            kept = vec![self.code(parent, kept, place)];
        }
        *parent.children.borrow_mut() = kept;
    }

    /// Code keeps its lines, and each of them is indented. Other text has none.
    fn fate_of_text(&self, text: &str, place: &TidyElement) -> NodeAction {
        if place.indent == 0 || !is_named(&place.node, &["code"]) {
            return NodeAction::Stays;
        }
        let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        match self.budget.take(lines.saturating_mul(place.indent)) {
            true => NodeAction::Stays,
            false => NodeAction::Goes,
        }
    }

    fn fate(&self, child: &Handle, place: &TidyElement, is_pre: bool) -> NodeAction {
        let Some(name) = name_of(child) else { return NodeAction::Goes };
        if &**name == "math" {
            // Whoever wrote it may have said it in words, or in TeX.
            return match attribute(child, "alttext") {
                Some(text) => {
                    *child.children.borrow_mut() = vec![text_node(&text)];
                    NodeAction::Opens
                }
                None => NodeAction::Opens,
            };
        }
        if is_silent(name) || is_hidden(child) || self.is_for_getting_about(child, place) {
            return NodeAction::Goes;
        }
        if &**name == "pre" && is_blank(child) {
            return NodeAction::Goes;
        }
        if &**name == "br" && is_pre {
            return NodeAction::Says("\n");
        }
        if MAX_DEPTH <= place.depth {
            return NodeAction::Opens;
        }
        match &**name {
            "code" if is_pre && is_named(&place.node, &["pre"]) => NodeAction::Stays,
            // Code has no links, and nothing else in it.
            _ if is_pre => NodeAction::Opens,
            "a" => self.link(child, place),
            "img" => self.image(child),
            "sup" => {
                // `10<sup>6</sup>` is another number without a sign.
                let power = text_of(child, 20);
                if only_text(child).is_some()
                    && power.chars().all(|it| it.is_ascii_alphanumeric() || "+-−".contains(it))
                {
                    *child.children.borrow_mut() = vec![text_node(&format!("^{power}"))];
                }
                NodeAction::Opens
            }
            // Nothing that Markdown has a sign for.
            "span" | "font" | "label" | "wbr" | "nobr" | "picture" | "abbr" | "u" | "small" | "big"
            | "bdi" | "bdo" | "time" | "data" | "ins" | "annotation-xml" | "semantics" => NodeAction::Opens,
            "kbd" | "samp" | "tt" => self.renamed(child, local_name!("code")),
            _ => {
                bare(child);
                NodeAction::Stays
            }
        }
    }

    /// Headers, footers and menus are told from content where a page says what its content is.
    fn is_for_getting_about(&self, child: &Handle, place: &TidyElement) -> bool {
        if !self.has_main {
            return false;
        }
        let role = attribute(child, "role");
        let role = role.as_deref().unwrap_or_default();
        let is_menu = is_named(child, &["nav"]) || ["navigation", "search"].contains(&role);
        let is_frame = is_named(child, &["header", "footer"]) || ["banner", "contentinfo"].contains(&role);
        is_menu || (is_frame && !place.is_in_main)
    }

    /// A link with an absolute address; without one, its words.
    fn link(&self, child: &Handle, place: &TidyElement) -> NodeAction {
        let href = attribute(child, "href");
        let words = text_of(child, 100);
        let words = words.trim();
        if href.as_deref().is_some_and(|href| href.starts_with('#')) && PERMALINKS.contains(&words) {
            return NodeAction::Goes;
        }
        // A heading that leads to itself.
        let is_own = href
            .as_deref()
            .is_some_and(|href| href == "#" || (href.starts_with('#') && is_heading(&place.node)));
        if is_own && !words.is_empty() {
            return NodeAction::Opens;
        }
        let has_image =
            text_of(child, 1).is_empty() && child.children.borrow().iter().any(|it| name_of(it).is_some());
        if words.is_empty() && !has_image {
            return NodeAction::Goes;
        }
        match href.and_then(|href| self.absolute(&href)) {
            Some(href) => {
                set_attributes(child, vec![attr(local_name!("href"), href)]);
                NodeAction::Stays
            }
            None => NodeAction::Opens,
        }
    }

    /// An image that is somewhere and is said to show something.
    fn image(&self, child: &Handle) -> NodeAction {
        let alt = attribute(child, "alt").unwrap_or_default();
        let alt: Vec<&str> = alt.split_whitespace().collect();
        let alt = alt.join(" ");
        if alt.is_empty() {
            return NodeAction::Goes;
        }
        match attribute(child, "src").and_then(|src| self.absolute(&src)) {
            Some(src) => {
                let attributes = vec![attr(local_name!("src"), src), attr(local_name!("alt"), alt)];
                set_attributes(child, attributes);
                NodeAction::Stays
            }
            None => {
                *child.children.borrow_mut() = vec![text_node(&alt)];
                NodeAction::Opens
            }
        }
    }

    /// `None` for what leads nowhere outside a browser, and once the page's links have become too much.
    fn absolute(&self, href: &str) -> Option<String> {
        if self.budget.is_spent() {
            return None;
        }
        let href = href.trim();
        let href = match &self.base {
            Some(base) => {
                let url = joined(base, href)?;
                let is_for_others = matches!(url.scheme(), "http" | "https" | "mailto" | "ftp" | "tel");
                is_for_others.then(|| String::from(url))?
            }
            None if href.starts_with("javascript:") || MAX_URL_BYTES < href.len() => return None,
            None => href.to_owned(),
        };
        self.budget.take(href.len()).then_some(href)
    }

    /// The same element by another name.
    fn renamed(&self, child: &Handle, name: LocalName) -> NodeAction {
        let inner = mem::take(&mut *child.children.borrow_mut());
        let renamed = element(name, Vec::new());
        for it in inner {
            it.parent.set(Some(Rc::downgrade(&renamed)));
            renamed.children.borrow_mut().push(it);
        }
        renamed.parent.set(Some(Rc::downgrade(child)));
        *child.children.borrow_mut() = vec![renamed];
        NodeAction::Opens
    }

    /// All that is in a `<pre>`, as code in a language.
    fn code(&self, parent: &Handle, inside: Vec<Handle>, place: &TidyElement) -> Handle {
        let mut language = language_of(parent);
        let code = element(local_name!("code"), Vec::new());
        for node in inside {
            if !is_named(&node, &["code"]) {
                keep(&code, &mut code.children.borrow_mut(), node);
                continue;
            }
            language = language_of(&node).or(language);
            for it in mem::take(&mut *node.children.borrow_mut()) {
                keep(&code, &mut code.children.borrow_mut(), it);
            }
        }
        if let Some(language) = language.or_else(|| place.language.clone()) {
            set_attributes(&code, vec![attr(local_name!("class"), format!("language-{language}"))]);
        }
        code.parent.set(Some(Rc::downgrade(parent)));
        code
    }
}

fn is_blank(node: &Handle) -> bool {
    let mut left = vec![node.clone()];
    while let Some(node) = left.pop() {
        match &node.data {
            NodeData::Text { contents } if !contents.borrow().trim().is_empty() => return false,
            _ if name_of(&node).is_some_and(|name| is_silent(name)) => continue,
            _ => left.extend(node.children.borrow().iter().cloned()),
        }
    }
    true
}

fn is_heading(node: &Handle) -> bool {
    is_named(node, &["h1", "h2", "h3", "h4", "h5", "h6"])
}

/// True if it is not shown to whoever looks at the page.
fn is_hidden(node: &Handle) -> bool {
    let style = attribute(node, "style").unwrap_or_default().to_ascii_lowercase();
    let style: String = style.split_whitespace().collect();
    attribute(node, "hidden").is_some()
        || attribute(node, "aria-hidden").as_deref() == Some("true")
        || style.contains("display:none")
        || style.contains("visibility:hidden")
}
