//! What does a page of HTML say, as Markdown?
//!
//! A page is somebody else's, so it may be made to harm: nested deeper than any stack, made of tags that multiply, or of a
//! million that are compared with each other. The tree is built within bounds (`tree.rs`), made simple without recursion
//! (`tidy.rs`), in which all that is added to it is counted (`budget.rs`), and only then converted by `htmd`, which walks it
//! recursively.

use htmd::{
    HtmlToMarkdown,
    options::{BrStyle, BulletListMarker, HrStyle, Options},
};
use url::Url;

mod budget;
mod lines;
mod names;
mod nodes;
mod table;
#[cfg(test)]
mod tests;
mod tidy;
mod tree;

/// A page that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkdownPage {
    pub title: Option<String>,
    pub text: String,
    /// The page was too large or too complicated to be shown whole.
    pub is_cut: bool,
}

/// The page's words, links made absolute against its own address. `is_unwanted` is asked often, and what is then returned is
/// not used. Takes time: about a second for the largest page.
pub fn to_markdown(html: &str, base: Option<&Url>, is_unwanted: &dyn Fn() -> bool) -> MarkdownPage {
    let tree::PageTree { document, is_cut } = tree::parse(html, is_unwanted);
    let tidy::TidyResult { title, is_cut: is_short } = tidy::tidy(&document, base, html.len(), is_unwanted);
    let is_cut = is_cut || is_short;
    if is_unwanted() {
        return MarkdownPage { title, text: String::new(), is_cut: true };
    }
    let options = Options {
        hr_style: HrStyle::Dashes,
        br_style: BrStyle::TwoSpaces,
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let converter =
        HtmlToMarkdown::builder().options(options).add_handler(vec!["table"], table::markdown).build();
    let text = lines::tidy(&converter.tree_to_markdown(&document));
    MarkdownPage { title, text, is_cut }
}
