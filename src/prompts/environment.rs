//! What does every agent read of where and when it works?

/// The section `# Environment`, which ends each system prompt but for what a session appends. `today` is a date.
pub fn environment(today: &str, roots: &[String]) -> String {
    let mut text = format!("# Environment\n- date: {today}\n- platform: {}\n", std::env::consts::OS);
    if !roots.is_empty() {
        text.push_str(&format!("- workspace: {}\n", roots.join(", ")));
    }
    text
}
