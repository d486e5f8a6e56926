//! What pages say, and pages that are made to harm.

use url::Url;

use super::to_markdown;

fn markdown(html: &str) -> String {
    let base = Url::parse("https://example.com/docs/page.html").unwrap();
    to_markdown(html, Some(&base), &|| false).text
}

#[track_caller]
fn check(html: &str, expected: &str) {
    assert_eq!(markdown(html), expected, "{html}");
}

#[test]
fn words_stay_and_what_does_not_show_goes() {
    check("<p>Hello <b>you</b> and <em>you</em>.", "Hello **you** and *you*.");
    check("<script>alert(1)</script><style>p{}</style><p>Text<noscript><img></noscript>", "Text");
    check("<template><p>x</template><svg><title>t</title><text>x</text></svg><p>y", "y");
    check("<p hidden>a</p><p style='display: none'>b</p><div aria-hidden=true>c</div><p>d", "d");
    check("<select><option>a</select><button>b</button><p>c", "c");
    check("a<br>b", "a\nb");
    check(
        "10<sup>6</sup> bytes<sup><a href='#n'>1</a></sup>",
        "10^6 bytes[1](https://example.com/docs/page.html#n)",
    );
    check("<ul><li><button>x</button><li>b</ul><pre> <script>1</script></pre>", "- b");
    check("<h2><a href='#own'>Own</a></h2><pre>a <a href=x>b</a></pre>", "## Own\n\n```\na b\n```");
}

#[test]
fn menus_go_only_where_the_page_says_what_its_content_is() {
    check("<nav>Menu</nav><p>Text</p><footer>Foot</footer>", "Menu\n\nText\n\nFoot");
    check(
        "<header>Site</header><nav>Menu</nav><main><header>Title</header><p>Text</main><footer>Foot</footer>",
        "Title\n\nText",
    );
    let words = "word ".repeat(60);
    let page = format!("<div>Cookies?</div><div><main><h1>T</h1><p>{words}</main><p>More</div><p>Foot");
    check(&page, &format!("# T\n\n{}", words.trim()));
    check(&page.replace(&words, "few"), "Cookies?\n\n# T\n\nfew\n\nMore\n\nFoot");
    check("<div role=navigation>Menu</div><article>Text<nav>Sub</nav></article>", "Text");
}

#[test]
fn links_lead_where_they_lead_from_the_page() {
    check("<a href='a/b.html'>x</a>", "[x](https://example.com/docs/a/b.html)");
    check(
        "<a href='/r'>x</a> <a href='//o.example/'>y</a>",
        "[x](https://example.com/r) [y](https://o.example/)",
    );
    check("<base href='/b/'><a href='c'>x</a>", "[x](https://example.com/b/c)");
    check("<a href='#s'>x</a>", "[x](https://example.com/docs/page.html#s)");
    check("<a href='javascript:alert(1)'>x</a> <a name=y>y</a> <a href='data:text/html,z'>z</a>", "x y z");
    check("<h2>Title<a class=headerlink href='#t'>¶</a></h2>", "## Title");
    check(
        "<img src=i.png alt='A  cat'> <img src=j.png> <img src='data:image/png;base64,AA' alt=dot>",
        "![A cat](https://example.com/docs/i.png) dot",
    );
}

#[test]
fn code_stays_as_it_is_and_says_its_language() {
    check("<pre>a\n  b &lt;c&gt;\n</pre>", "```\na\n  b <c>\n```");
    check("<pre><code class='language-rust'>fn main() {}\n</code></pre>", "```rust\nfn main() {}\n```");
    check(
        "<div class='highlight-python'><pre><span class=k>def</span> f():\n    pass\n</pre></div>",
        "```python\ndef f():\n    pass\n```",
    );
    check("<pre>a<br>b</pre>", "```\na\nb\n```");
    check("<p>Press <kbd>Ctrl</kbd> or <code>x_y</code>", "Press `Ctrl` or `x_y`");
}

#[test]
fn tables_are_tables_where_they_are() {
    check("<table><tr><th>a<th>b<tr><td>1<td>x|y</table>", "| a | b |\n| --- | --- |\n| 1 | x\\|y |");
    check("<table><tr><td>a<td>b<tr><td>1<td>2</table>", "|  |  |\n| --- | --- |\n| a | b |\n| 1 | 2 |");
    check("<table><tr><td><p>Left</p><td><h2>Right</h2></table>", "Left\n\n## Right");
    check(
        "<table><tr><td>a<td><table><tr><td>b<td>c</table></table>",
        "a\n\n|  |  |\n| --- | --- |\n| b | c |",
    );
}

#[test]
fn a_page_that_is_nested_without_end_harms_nobody() {
    for tag in
        ["div", "span", "b", "a href=x", "ul><li", "blockquote", "table><tr><td", "p", "font size=1", "math"]
    {
        let html = format!("{}<p>the end", format!("<{tag}>").repeat(100_000));
        let read = to_markdown(&html, None, &|| false);
        assert!(
            read.is_cut || read.text.contains("the end"),
            "{tag}: {:?}",
            &read.text[..100.min(read.text.len())]
        );
    }
}

#[test]
fn a_page_that_multiplies_is_cut() {
    let formatting: String = (0..100).map(|n| format!("<font size={n}>")).collect();
    let html = format!("<p>{formatting}{}", "</p><p>x".repeat(100_000));
    let read = to_markdown(&html, None, &|| false);
    assert!(read.is_cut);
    assert!(read.text.contains('x'));
}

#[test]
fn a_million_neighbours_are_read_in_one_go() {
    for tag in ["i", "em", "b", "code", "span", "q"] {
        let html = format!("<p><{tag}>{}</{tag}>", "x".repeat(80)).repeat(1);
        let html = html + &format!("<{tag}>{}</{tag}>", "y".repeat(80)).repeat(60_000);
        let read = to_markdown(&html, None, &|| false);
        assert!(read.text.len() > 1_000_000, "{tag}: {}", read.text.len());
    }
    let html = "<p>".to_owned() + &"<i>x</i><em>y</em>".repeat(40_000);
    assert_eq!(to_markdown(&html, None, &|| false).text.len(), 80_002);
}

#[test]
fn nothing_is_read_for_nobody() {
    let html = "<p>word ".repeat(1_000_000);
    let read = to_markdown(&html, None, &|| true);
    assert_eq!((read.text.as_str(), read.is_cut), ("", true));
}

/// What a page becomes is not many times the page, whatever it repeats.
#[test]
fn a_small_page_becomes_no_large_text() {
    let url = Url::parse(&format!("https://example.com/{}/", "u".repeat(7_900))).unwrap();
    let long = "a".repeat(40_000);
    let lines = "x\n".repeat(500_000);
    let links = "<a href=x>y</a> ".repeat(20_000);
    let pages = [
        // A base that is longer than any address counts for nothing.
        (format!("<base href='http://h.example/{long}/'>{links}"), "y"),
        (format!("<base href='http://h.example/{}/'>{links}", &long[..8_000]), "y"),
        (links.clone(), "y"),
        ("<img src=x alt=y> ".repeat(20_000), "y"),
        // Formatting that is opened again in each paragraph.
        (format!("<a href='/{}'>{}", &long[..7_000], "<p>y".repeat(20_000)), "y"),
        (format!("<a href='{long}'>{}", "<p>y".repeat(20_000)), "y"),
        // Signs before each line.
        (format!("before{}<pre>{lines}</pre>", "<blockquote>".repeat(90)), "before"),
        (format!("before{}<pre>{lines}</pre>", "<ul><li>".repeat(45)), "before"),
        (format!("before{}<pre>{lines}</pre>", "<ol start=1000000000><li>".repeat(45)), "before"),
        (format!("before{}<code>{lines}</code>", "<blockquote>".repeat(90)), "before"),
        (format!("before{}{}", "<blockquote>".repeat(90), "<p>y".repeat(20_000)), "before"),
        (format!("before{}{}", "<ol start=1000000000><li>".repeat(45), "<p>y".repeat(20_000)), "before"),
    ];
    for (html, words) in pages {
        let read = to_markdown(&html, Some(&url), &|| false);
        let shown = &html[..html.floor_char_boundary(60)];
        assert!(read.text.len() <= 5 * html.len(), "{shown}: {} becomes {}", html.len(), read.text.len());
        assert!(read.text.contains(words), "{shown}");
    }
}

#[test]
fn a_link_that_would_be_too_much_is_its_words_and_the_page_says_that_something_is_missing() {
    let base = Url::parse(&format!("https://example.com/{}/", "u".repeat(1_000))).unwrap();
    let few = to_markdown(&"<p><a href=x>word</a>".repeat(60), Some(&base), &|| false);
    assert_eq!((few.text.matches("](https://").count(), few.is_cut), (60, false));
    let many = to_markdown(&"<p><a href=x>word</a>".repeat(100), Some(&base), &|| false);
    let n_links = many.text.matches("](https://").count();
    assert!((60..70).contains(&n_links), "{n_links}");
    assert_eq!((many.text.matches("word").count(), many.is_cut), (100, true));
    let long = format!("<base href='https://o.example/{}/'><a href=x>word</a>", "b".repeat(10_000));
    let page = Url::parse("https://example.com/a/").unwrap();
    assert_eq!(to_markdown(&long, Some(&page), &|| false).text, "[word](https://example.com/a/x)");
}

/// Whoever gives up is heard wherever the work is: after so many questions it ends.
#[test]
fn reading_ends_soon_after_nobody_waits_any_more() {
    let html = "<p><a href=x>word</a>".repeat(20_000);
    let all = std::cell::Cell::new(0_usize);
    let asked = |limit: usize| {
        all.set(0);
        let read = to_markdown(&html, None, &|| {
            all.set(all.get() + 1);
            limit < all.get()
        });
        (all.get(), read.text)
    };
    let (whole, _) = asked(usize::MAX);
    assert!(60_000 < whole, "it is asked at every element: {whole}");
    for limit in [whole / 4, whole / 2, whole - 10] {
        let (n, text) = asked(limit);
        assert!(n <= limit + 50, "{n} questions after the answer was no at {limit}");
        assert_eq!(text, "");
    }
}
