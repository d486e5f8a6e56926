//! What does a workspace look like at a glance? Its first entries, level by level, each in the order of its names.

use std::{collections::VecDeque, sync::Arc};

use super::{EntryKind, FolderEntry, IgnoreRules, Workspace, WorkspacePath, list};

/// Entries of one folder below a root: a folder of hundreds of files says no more than its first ones.
const MOST_OF_FOLDER: usize = 50;
/// Told by nobody: it is the repository, not what is in it.
const REPOSITORY: &str = ".git";

struct OutlineNode {
    place: WorkspacePath,
    /// As output shows it.
    name: String,
    is_folder: bool,
    children: Vec<usize>,
    /// Entries that there was no room for.
    more: usize,
    /// There was no room to look into it.
    is_closed: bool,
}

/// The tree of all roots with at most this many entries, ignored ones left out; one entry a line, two blanks a level. Links are
/// not followed. Nearer entries come before deeper ones where there is not room for all.
pub fn outline(workspace: &Workspace, most: usize) -> String {
    let mut nodes: Vec<OutlineNode> = Vec::new();
    let mut folders: VecDeque<(usize, Arc<IgnoreRules>)> = VecDeque::new();
    let roots: Vec<(String, WorkspacePath)> = workspace
        .roots()
        .filter_map(|root| {
            let place = workspace.place_at(root)?;
            Some((workspace.shown_absolute(&place), place))
        })
        .collect();
    let n_roots = roots.len();
    for (at, (name, place)) in roots.into_iter().enumerate() {
        folders.push_back((at, IgnoreRules::above(workspace, &place, true)));
        let (children, more, is_closed) = (Vec::new(), 0, false);
        nodes.push(OutlineNode { place, name, is_folder: true, children, more, is_closed });
    }
    let mut room = most;
    while let Some((at, above)) = folders.pop_front() {
        if room == 0 {
            nodes[at].is_closed = true;
            continue;
        }
        let folder = nodes[at].place.clone();
        // One that cannot be read looks like an empty one: whoever lists it is told why.
        let Ok(listing) = list(workspace, &folder, &above) else { continue };
        let is_shown = |entry: &&FolderEntry| !entry.is_ignored && entry.name != REPOSITORY;
        let mut entries: Vec<&FolderEntry> = listing.entries.iter().filter(is_shown).collect();
        entries.sort_by_key(|entry| entry.kind != EntryKind::Folder);
        let most_here = if at < n_roots { room } else { room.min(MOST_OF_FOLDER) };
        nodes[at].more = entries.len().saturating_sub(most_here);
        for entry in entries.into_iter().take(most_here) {
            let place = folder.child(&entry.name);
            let name = workspace.shown_name(&place);
            let is_folder = entry.kind == EntryKind::Folder;
            let child = nodes.len();
            if is_folder {
                folders.push_back((child, Arc::clone(&listing.rules)));
            }
            nodes[at].children.push(child);
            let (children, more, is_closed) = (Vec::new(), 0, false);
            nodes.push(OutlineNode { place, name, is_folder, children, more, is_closed });
            room -= 1;
        }
    }
    let mut text = String::new();
    for root in 0..n_roots {
        push(&nodes, root, 0, &mut text);
    }
    text
}

/// Recursion ends: a node is below the one that found it, and there are no more nodes than lines.
fn push(nodes: &[OutlineNode], at: usize, depth: usize, text: &mut String) {
    let OutlineNode { name, is_folder, children, more, is_closed, .. } = &nodes[at];
    let indent = "  ".repeat(depth);
    let ending = match (is_folder, is_closed) {
        (false, _) => "",
        (true, false) => "/",
        (true, true) => "/ …",
    };
    text.push_str(&format!("{indent}{name}{ending}\n"));
    for child in children {
        push(nodes, *child, depth + 1, text);
    }
    if *more != 0 {
        text.push_str(&format!("{indent}  … {more} more\n"));
    }
}
