//! What does every agent read of where and when it works?

/// The section `# Environment`, which ends each system prompt but for what a session appends. `today` is a date.
pub fn environment(today: &str, roots: &[String]) -> String {
    let mut text = format!("# Environment\n- date: {today}\n- platform: {}\n", std::env::consts::OS);
    if !roots.is_empty() {
        let named: Vec<String> = roots.iter().map(|root| in_one_line(root)).collect();
        text.push_str(&format!("- workspace: {}\n", named.join(", ")));
    }
    text
}

/// A folder's path as it is; one whose characters would break the line, hide in it, or make two folders of one, in quotes with escapes.
/// Whoever wrote an archive named its folders, and what they named is no line of a system prompt.
fn in_one_line(root: &str) -> String {
    let breaks = |letter: char| {
        letter.is_control()
            || matches!(letter, '"' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if root.contains(breaks) || root.contains(", ") { format!("{root:?}") } else { root.to_owned() }
}
