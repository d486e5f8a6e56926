//! `subagent trust SKILL`: may one skill of a trusted folder count, as it is now?

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::{
    super::{ProcessIo, consent, failure::CommandFailure, link::DaemonLink, paging, sheet::Sheet},
    DIGEST_CHARACTERS, HOW, SKILL, TrustArguments, WorkspaceTrustView,
};
use protocol::{
    SkillsGet, SkillsGetParams, TrustedFile, WorkspaceOpen, WorkspaceOpenParams, WorkspaceParam,
    WorkspaceTrust, WorkspaceTrustParams,
};

/// The owner of skills that are to be trusted.
const PROJECT: &str = "project";

/// The answer to `skills/get`, as far as it says what is to be trusted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SkillToTrustView {
    skill: SkillPlaceView,
    /// Of the same name; missing where there are none.
    #[serde(default)]
    others: Vec<SkillPlaceView>,
    body: String,
    file_count: u64,
}

#[derive(Deserialize)]
struct SkillPlaceView {
    description: String,
    folder: String,
    scope: String,
}

/// Asks about one skill; `None` = there is none of this name.
pub(super) fn trust_skill(
    name: &str,
    workspace: &WorkspaceParam,
    arguments: &TrustArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<Option<u8>, CommandFailure> {
    // First what would be acknowledged, then what is shown of it: what changes in between is refused.
    let opened = WorkspaceOpenParams { workspace: workspace.clone() };
    let opened = link.ask_slowly::<WorkspaceOpen>(&opened, &mut surroundings.stderr)?;
    let opened: WorkspaceTrustView = paging::view(opened.get("workspace").unwrap_or(&Value::Null))?;
    let of = |name: Option<String>, folder: Option<String>| SkillsGetParams {
        name,
        folder,
        workspace: Some(workspace.clone()),
    };
    let Ok(mut found) = link.ask_value::<SkillsGet>(&of(Some(name.to_owned()), None)) else {
        return Ok(None);
    };
    let first: SkillToTrustView = paging::view(&found)?;
    // The one that counts may be the person's own: this is about the folder's.
    let others = first.others.iter().find(|other| other.scope == PROJECT);
    if let Some(other) = others.filter(|_| first.skill.scope != PROJECT) {
        found = link.ask_value::<SkillsGet>(&of(None, Some(other.folder.clone())))?;
    }
    let SkillToTrustView { skill, body, file_count, .. } = paging::view(&found)?;
    if skill.scope != PROJECT {
        let what = format!("{name} is no skill of this folder, but of {}: it counts already", skill.folder);
        return Err(CommandFailure::usage(what).or_hint("`subagent skills list` shows them all"));
    }
    if !opened.trusted {
        let what = format!("{name} is a skill of a folder that nobody has trusted");
        return Err(
            CommandFailure::usage(what).or_hint("`subagent trust` shows all that it brings along, and asks")
        );
    }
    let lies_there = |path: &str| {
        opened.roots.iter().any(|root| Path::new(root).join(path).starts_with(Path::new(&skill.folder)))
    };
    let Some(file) = opened.files.iter().find(|file| file.kind == SKILL && lies_there(&file.path)) else {
        let what = format!("{name} cannot be acknowledged as it is");
        return Err(CommandFailure::new(what).or_hint(format!("`subagent skills show {name}` says why")));
    };
    if file.acknowledged {
        let words = || format!("{name} is acknowledged already, as it is now");
        paging::tell(&found, arguments.format, words, surroundings)?;
        return Ok(Some(0));
    }
    let mut sheet = Sheet::of(&surroundings.stderr);
    sheet.text(&body);
    let digest: String = file.digest.chars().take(DIGEST_CHARACTERS).collect();
    let state = if file.changed { "changed since it was acknowledged" } else { "not seen yet" };
    sheet.facts([
        ("folder", skill.folder.clone()),
        (
            "",
            format!(
                "{state} · {digest} · {file_count} more {}",
                if file_count == 1 { "file" } else { "files" }
            ),
        ),
        ("told", skill.description.clone()),
    ]);
    sheet.facts(file.effects.iter().map(|effect| ("effect", effect.clone())));
    let question = format!("May models be told of the skill {name}, as it is now?");
    let question = sheet.show(&question, arguments.whole || arguments.yes, surroundings)?;
    if !arguments.yes {
        consent::confirm(&question, HOW, surroundings)?;
    }
    let files = vec![TrustedFile { path: file.path.clone(), digest: file.digest.clone() }];
    let params = WorkspaceTrustParams { workspace: workspace.clone(), trusted: true, files };
    let answer = link.ask_slowly::<WorkspaceTrust>(&params, &mut surroundings.stderr)?;
    let words = || format!("{name} counts, as it is now; when one of its files changes you are asked again");
    paging::tell(&answer, arguments.format, words, surroundings)?;
    Ok(Some(0))
}
