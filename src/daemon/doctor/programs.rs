//! Which programs do tools stand on that need not be there? A note: what is missing is no fault.

use std::{env, ffi::OsStr, fs, os::unix::fs::PermissionsExt as _, path::Path};

use super::{super::state::DaemonContext, DoctorFinding, blocking};

/// What reads the text of a PDF.
const PDF_READER: &str = "pdftotext";

pub(super) async fn check(state: &DaemonContext) -> DoctorFinding {
    let path = state.sources.environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, value)| value.clone()).unwrap_or_default();
    let programs = state.children.owner_programs().clone();
    let changed = tokio::task::spawn_blocking(move || programs.changed()).await.unwrap_or_default();
    if let Some(file) = changed.first() {
        let message = format!(
            "{} is another file than when it was noted: what the settings run it for is not done",
            file.display()
        );
        return DoctorFinding::failed(message).with_hint(
            "look who changed it; if it is right, `subagent trust --programs` acknowledges it as it is now",
        );
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
