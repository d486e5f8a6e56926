//! Does what real pages say become Markdown that can be read? `UPDATE_EXPECT=1 cargo test --test it web::pages` writes what
//! each page becomes; `pages/README.md` says where they are from.

use std::{fs, path::PathBuf};

use expect_test::expect_file;
use subagentd::web::{PageContent, WebPage};
use url::Url;

/// The corpus is about pages of all sorts.
const LEAST_PAGES: usize = 50;

/// Every page here has something to say.
const LEAST_CHARS: usize = 300;

#[test]
fn real_pages_become_markdown() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/web/pages");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .filter_map(|entry| {
            entry.unwrap().file_name().to_str().unwrap().strip_suffix(".html").map(str::to_owned)
        })
        .collect();
    names.sort_unstable();
    assert!(LEAST_PAGES <= names.len(), "{} pages", names.len());
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    for name in names {
        assert!(readme.contains(&format!("`{name}`")), "README.md does not say where {name} is from");
        let url = Url::parse(&format!("https://pages.example/{name}.html")).unwrap();
        let bytes = fs::read(folder.join(format!("{name}.html"))).unwrap();
        let page = WebPage::read(url, Some("text/html"), bytes);
        let PageContent::Text { title, text, encoding, is_cut } = page.content else {
            panic!("{name} is no text")
        };
        assert!(!is_cut, "{name}");
        assert!(LEAST_CHARS <= text.chars().count(), "{name} has nothing to read");
        let title = title.unwrap_or_default();
        expect_file![folder.join(format!("{name}.md"))]
            .assert_eq(&format!("{title} ({encoding})\n\n{text}\n"));
    }
}
