//! How is a field called, and does it take something away?

/// True if a field of another product may take something away: of two, neither may be lost.
pub(super) fn is_restricting(name: &str) -> bool {
    matches!(name, "tools" | "disallowedTools" | "permission" | "permissionMode" | "hooks")
}

/// `max_turns` and `max-turns` → `maxTurns`; `maxCost` is an old name (spec 02).
pub(super) fn camel_case(key: &str) -> String {
    let mut name = String::with_capacity(key.len());
    let mut starts_word = false;
    for character in key.chars() {
        match character {
            '_' | '-' => starts_word = !name.is_empty(),
            _ if starts_word => {
                name.extend(character.to_uppercase());
                starts_word = false;
            }
            _ => name.push(character),
        }
    }
    if name == "maxCost" { "maxCostUsd".to_owned() } else { name }
}
