//! Is what the command is given what the daemon looked at?
//!
//! Between the daemon's look and the moment in which a folder is mounted or allowed, a command that goes on may have put a link
//! there. What was opened does not change any more, so it is looked at afterwards.

use std::os::fd::AsFd;

use rustix::{
    fs::{AtFlags, StatxAttributes, StatxFlags, fstat, statx},
    io::Errno,
};

use super::{
    super::guarded::{FileIdentity, open_without_links},
    FixedPlace,
};

/// Refuses what is not as it was.
pub fn check(all: &[FixedPlace]) -> Result<(), String> {
    all.iter().try_for_each(|fixed| check_one(fixed, open_without_links(&fixed.path)))
}

/// The same of something that was opened, if it is one of these.
pub fn check_opened(all: &[FixedPlace], path: &std::path::Path, opened: impl AsFd) -> Result<(), String> {
    match all.iter().find(|fixed| fixed.path == path) {
        Some(fixed) => check_one(fixed, Ok(opened)),
        None => Ok(()),
    }
}

fn check_one(fixed: &FixedPlace, opened: Result<impl AsFd, Errno>) -> Result<(), String> {
    let is_same = opened.and_then(|opened| {
        let is_it = FileIdentity::of_stat(&fstat(&opened)?) == fixed.id;
        Ok(is_it && (!fixed.is_mounted || is_mount(&opened)?))
    });
    match is_same {
        Ok(true) => Ok(()),
        Ok(false) | Err(Errno::LOOP | Errno::NOENT | Errno::NOTDIR) => Err(format!(
            "{} is not what it was a moment ago: something replaces it, by a link say; nothing was run",
            fixed.path.display()
        )),
        Err(error) => Err(format!("{} cannot be looked at: {error}", fixed.path.display())),
    }
}

/// True if it is where something is mounted. Kernels before 5.8 do not say, and are believed.
fn is_mount(opened: impl AsFd) -> Result<bool, Errno> {
    let told = statx(opened, c"", AtFlags::EMPTY_PATH, StatxFlags::empty())?;
    let (known, attributes) = (told.stx_attributes_mask, told.stx_attributes);
    Ok(!known.contains(StatxAttributes::MOUNT_ROOT) || attributes.contains(StatxAttributes::MOUNT_ROOT))
}
