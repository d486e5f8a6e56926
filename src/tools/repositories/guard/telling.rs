//! In which words are the log, the person and whoever was ended told of what was put right?

use crate::repositories::state::{MendedPart, MendedPlace};

/// Words for the log, and for whoever is told why something was ended.
pub fn words(mended: &MendedPlace) -> String {
    let path = mended.path.display();
    let what = match &mended.what {
        MendedPart::Way => format!("`{path}`, by which git tells which repository it has, was changed"),
        MendedPart::Setting(danger) => {
            format!("settings by which git runs something came into `{path}` ({danger})")
        }
        MendedPart::Hook => format!("`{path}`, a hook that git runs, was changed"),
        MendedPart::NewRepository => {
            format!("`{path}` made a repository of a folder, and git would run something by it")
        }
        MendedPart::Exchanged(danger) => {
            format!(
                "another folder came in the place of the repository `{path}`, and git would run something by it ({danger})"
            )
        }
    };
    match &mended.done {
        Ok(()) => what,
        Err(error) => format!("{what}, and could not be put right: {error}"),
    }
}

pub fn tell(mended: &MendedPlace) {
    match &mended.done {
        Ok(()) => tracing::warn!("a program of an agent was not let have its way: {}", words(mended)),
        Err(_) => tracing::error!("a program of an agent did harm: {}", words(mended)),
    }
}
