//! Which programs do tools stand on that need not be there? A note: what is missing is no fault.

use std::{env, ffi::OsStr, fs, os::unix::fs::PermissionsExt as _, path::Path};

use super::{DaemonExamination, DoctorFinding, blocking, told};

/// What reads the text of a PDF.
const PDF_READER: &str = "pdftotext";

pub(super) async fn check(state: &DaemonExamination) -> DoctorFinding {
    let path = state.settings.sources.environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, value)| value.clone()).unwrap_or_default();
    let programs = state.programs.children.owner_programs().clone();
    let looked = tokio::task::spawn_blocking(move || (programs.changed(), programs.astray())).await;
    let (changed, astray) = match looked {
        Ok(looked) => looked,
        Err(error) => return DoctorFinding::failed(format!("they could not be looked at: {error}")),
    };
    if let Some(file) = changed.first() {
        let message = format!(
            "{} is another file than when it was noted: what the settings run it for is not done",
            file.display()
        );
        return DoctorFinding::failed(message).with_hint(
            "look who changed it; if it is right, `subagent trust --programs` acknowledges it as it is now",
        );
    }
    if !astray.is_empty() {
        return DoctorFinding::failed(told(astray.into_iter()))
            .with_hint("keep it where no agent works, such as in ~/.config/subagentd, and name it by its full path there");
    }
    blocking(move || match has(PDF_READER, &path) {
        true => DoctorFinding::ok(format!("{PDF_READER} is there")),
        false => {
            let text = format!("nothing that is needed is missing; {PDF_READER} is optional: it lets models read PDFs that cannot");
            DoctorFinding::ok(text).with_hint("for that, install the package `poppler-utils`")
        }
    })
    .await
}

/// True if a file of that name in one of these folders can be executed.
fn has(program: &str, path: &OsStr) -> bool {
    let is_program = |file: &Path| {
        fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    env::split_paths(path).any(|folder| folder.is_absolute() && is_program(&folder.join(program)))
}
