//! Do skills have fields that are nearly called like one that counts? Of `disable_model_invocation` somebody believes that it keeps models away.

use std::path::PathBuf;

use super::{super::redaction::without_secrets, DaemonExamination, DoctorFinding, of_problems};
use protocol::FileProblem;
use skills::{Skill, SkillState};

/// `workspace`: canonical folders whose skills are looked at, too.
pub(super) async fn check(state: &DaemonExamination, workspace: &[String]) -> DoctorFinding {
    let roots = workspace.iter().map(PathBuf::from).collect();
    let project = match state.workspaces.project(roots).await {
        Ok(project) => project,
        Err(error) => return DoctorFinding::failed(format!("they could not be looked at: {error}")),
    };
    let redactor = state.settings.redactor.get();
    let looked = tokio::task::spawn_blocking(move || {
        let catalog = project.skills.catalog();
        let ready: Vec<&Skill> = catalog.all().filter(|skill| skill.state == SkillState::Ready).collect();
        let misspelled = ready.iter().flat_map(|skill| skill.file().misspelled()).cloned();
        let misspelled: Vec<FileProblem> = misspelled.collect();
        (ready.len(), without_secrets(misspelled, &redactor))
    });
    match looked.await {
        Ok((count, misspelled)) => {
            let all_well = match count {
                0 => "there are none".to_owned(),
                1 => "the one that models may use has no misspelled field".to_owned(),
                count => format!("none of the {count} that models may use has a misspelled field"),
            };
            let hint = "a field that is spelled otherwise has no effect: correct it, and see `subagent skills validate NAME`";
            of_problems("the skills have", misspelled, &all_well, hint)
        }
        Err(error) => DoctorFinding::failed(format!("they could not be looked at: {error}")),
    }
}
