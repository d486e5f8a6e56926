//! Which files that somebody's settings name lie where a view shows another folder?
//!
//! A command sees a `/tmp` of its own. A program below it that a person named for a server or for a workspace's tools is seen
//! where it lies all the same, and with it what it is made of: the folder around it, read-only. What the daemon hides stays
//! hidden, and so does the rest of `/tmp`.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::{CommandLaunch, hidden::TEMPORARY};

/// What settings name of a command, and not the model that wants it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedCommandParts {
    /// A program and its arguments.
    pub words: Vec<String>,
    /// Variables that say where parts of it lie, as `PYTHONPATH` does: what they were set to.
    pub values: Vec<String>,
    /// True if the folder is named in which it runs.
    pub directory: bool,
}

/// The reason why something is not there for whoever is started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamedPathError {
    #[error("its program {} lies in what is kept from everything that is started here; put it elsewhere", .0.display())]
    Hidden(PathBuf),
    #[error(
        "its folder {} is another one for everything that is started here, a temporary one of its own; give it a folder below",
        .0.display()
    )]
    Replaced(PathBuf),
}

/// What is to be shown where it lies, read-only. Reads the file system.
pub fn seen(launch: &CommandLaunch, hidden: &[PathBuf]) -> Result<Vec<PathBuf>, NamedPathError> {
    let path = launch.environment.get("PATH").map(OsStr::new);
    let mut seen = path.map(on_path).unwrap_or_default();
    let NamedCommandParts { words, values, directory: names_directory } = &launch.named;
    let Some(program) = words.first() else { return Ok(seen) };
    let directory = &launch.directory;
    let is_hidden = |path: &Path| hidden.iter().any(|hidden| path.starts_with(hidden));
    let is_of_root = |path: &Path| launch.roots.iter().any(|root| path.starts_with(root));
    let program = match program.contains('/') {
        true => Some(directory.join(program)),
        false => path.and_then(|path| {
            std::env::split_paths(path).map(|folder| folder.join(program)).find(|file| file.is_file())
        }),
    };
    if let Some(real) = program.as_ref().and_then(|file| file.canonicalize().ok()).filter(|it| is_hidden(it))
    {
        return Err(NamedPathError::Hidden(real));
    }
    let is_whole = TEMPORARY.iter().any(|place| directory == Path::new(place));
    if *names_directory && is_whole && !is_of_root(directory) {
        return Err(NamedPathError::Replaced(directory.to_owned()));
    }
    let arguments = words.iter().skip(1).flat_map(|word| {
        // As in `--config=/tmp/x`.
        let value = word.split_once('=').map(|(_, value)| value);
        [Some(word.as_str()), value].into_iter().flatten()
    });
    let arguments = arguments.filter(|word| !word.is_empty()).map(|word| directory.join(word));
    let values =
        values.iter().flat_map(|value| value.split(':')).map(PathBuf::from).filter(|it| it.is_absolute());
    for path in program.into_iter().chain([directory.clone()]).chain(arguments).chain(values) {
        // What a link leads to decides, so that no link shows what is hidden. Both names are used.
        let Ok(real) = path.canonicalize() else { continue };
        if is_hidden(&real) {
            continue;
        }
        let lying = [real, path].into_iter().filter(|path| is_replaced(path) && !is_of_root(path));
        seen.extend(lying.filter_map(|path| place_of(&path)));
    }
    seen.sort();
    seen.dedup();
    Ok(seen)
}

/// What is shown below `/tmp` and its like of what settings name there, without what the daemon hides. Reads the file system.
pub fn seen_below_temporary(launch: &CommandLaunch, hidden: &[PathBuf]) -> Vec<PathBuf> {
    let by_path = launch.environment.get("PATH").map(OsStr::new).map(on_path).unwrap_or_default();
    let mut seen = seen(launch, hidden).unwrap_or_default();
    seen.retain(|folder| !by_path.contains(folder));
    seen
}

/// The folders of `PATH` that a view would show as others: whoever set it wants what lies there to be found.
fn on_path(path: &OsStr) -> Vec<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| is_replaced(folder) && folder.is_dir());
    folders.filter(|folder| is_narrow(folder)).collect()
}

fn is_replaced(path: &Path) -> bool {
    TEMPORARY.iter().any(|place| path.starts_with(place))
}

/// What is shown of a file or folder that was named: the folder itself, or the one around the file, where that is no more than
/// what belongs to it. Programs in a `bin` have theirs beside it.
fn place_of(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return is_narrow(path).then(|| path.to_owned());
    }
    let folder = path.parent().filter(|folder| is_narrow(folder));
    let whole = folder.filter(|it| it.ends_with("bin")).and_then(Path::parent).filter(|it| is_narrow(it));
    Some(whole.or(folder).unwrap_or(path).to_owned())
}

/// True if a folder has no other's temporary files in it.
fn is_narrow(folder: &Path) -> bool {
    let own = std::env::temp_dir();
    TEMPORARY.iter().map(Path::new).chain([own.as_path()]).all(|place| !place.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;
    use crate::{CommandEnvironment, SandboxRules};

    fn launch(words: &[&str], values: &[String], directory: &Path, path: &str) -> CommandLaunch {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let mut environment = CommandEnvironment::default();
        environment.set("PATH", path);
        CommandLaunch {
            words: owned(&["sh"]),
            named: NamedCommandParts { words: owned(words), values: values.to_vec(), directory: true },
            directory: directory.to_owned(),
            environment,
            roots: vec![directory.to_owned()],
            known_roots: Vec::new(),
            temporary: PathBuf::from("/tmp"),
            read_only: Vec::new(),
            stays: Vec::new(),
            sockets: Vec::new(),
            readable: Vec::new(),
            own_data: None,
            rules: SandboxRules::default(),
            terminal: None,
            input: Vec::new(),
        }
    }

    #[test]
    fn what_is_named_is_seen_where_it_lies_with_what_it_is_made_of_but_no_secret() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let place = folder.path().canonicalize().unwrap();
        for name in ["venv/bin", "site", "secrets", "work", "bare"] {
            fs::create_dir_all(place.join(name)).unwrap();
        }
        for name in
            ["venv/bin/serve", "site/main.py", "site/data.json", "secrets/key", "bare/tool", "work/own"]
        {
            fs::write(place.join(name), "x").unwrap();
        }
        symlink(place.join("secrets/key"), place.join("site/link")).unwrap();
        let hidden = [place.join("secrets")];
        let word = |name: &str| place.join(name).to_string_lossy().into_owned();
        let (data, bare) = (format!("--data={}", word("site/data.json")), [format!("{}:/usr", word("bare"))]);
        let (key, link, own, path) =
            (word("secrets/key"), word("site/link"), word("work/own"), word("venv/bin"));
        let words = ["serve", &data, &key, &link, "missing", &own];
        let asked = launch(&words, &bare, &place.join("work"), &path);
        // Of the link only its name is there, beside the data; where it leads is hidden.
        let shown = ["bare", "site", "venv", "venv/bin"].map(|name| place.join(name));
        assert_eq!(seen(&asked, &hidden).unwrap(), shown);
        // The folder that is on the `PATH` is shown to all.
        assert_eq!(seen_below_temporary(&asked, &hidden), shown[..3]);
        let asked = launch(&[&key], &[], &place.join("work"), &path);
        assert_eq!(seen(&asked, &hidden).unwrap_err(), NamedPathError::Hidden(place.join("secrets/key")));
        // What a model names is not looked at.
        let asked = launch(&[], &[], &place.join("work"), "/usr/bin");
        assert_eq!(seen(&asked, &[]).unwrap(), Vec::<PathBuf>::new());
    }

    #[test]
    fn the_temporary_folder_itself_is_never_shown() {
        let file = tempfile::NamedTempFile::new_in("/tmp").unwrap();
        let name = file.path().to_str().unwrap();
        let mut asked = launch(&["/bin/sh", name, "/tmp"], &[], Path::new("/"), "/usr/bin:/tmp:/tmp/nowhere");
        asked.roots.clear();
        assert_eq!(seen(&asked, &[]).unwrap(), [file.path().canonicalize().unwrap()]);
        asked.directory = PathBuf::from("/tmp");
        let told = seen(&asked, &[]).unwrap_err().to_string();
        assert!(told.contains("a temporary one of its own"), "{told}");
        // Where nobody chose it, its own is as good.
        asked.named.directory = false;
        assert!(seen(&asked, &[]).is_ok());
    }
}
