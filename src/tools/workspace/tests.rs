//! Does the boundary hold? Paths in disguise, races, odd names, roots.

use std::{
    collections::BTreeSet,
    fs,
    io::Read,
    os::unix::{ffi::OsStrExt, fs::symlink},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::fs::Mode;

use super::*;
use crate::tests::{os_path, path_bytes};

struct Fixture {
    folder: tempfile::TempDir,
    workspace: Workspace,
}

impl Fixture {
    fn new(opener: Option<PathOpener>) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("ws");
        fs::create_dir_all(root.join("sub/deep")).unwrap();
        fs::write(root.join("a.txt"), "inside").unwrap();
        fs::write(root.join("sub/b.txt"), "inside").unwrap();
        fs::write(folder.path().join("secret"), "outside").unwrap();
        fs::create_dir(folder.path().join("ws-twin")).unwrap();
        fs::write(folder.path().join("ws-twin/secret"), "outside").unwrap();
        symlink("../secret", root.join("file-link")).unwrap();
        symlink(folder.path(), root.join("folder-link")).unwrap();
        symlink("chain-2", root.join("chain-1")).unwrap();
        symlink("sub/chain-3", root.join("chain-2")).unwrap();
        symlink("../../secret", root.join("sub/chain-3")).unwrap();
        symlink("/proc/self/root", root.join("magic")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("../missing", root.join("dangling-outside")).unwrap();
        symlink("sub/b.txt", root.join("good-link")).unwrap();
        symlink(root.join("sub"), root.join("good-absolute")).unwrap();
        symlink("..", root.join("sub/up")).unwrap();
        let workspace = Workspace::open_with(&[root], opener, None).unwrap();
        Fixture { folder, workspace }
    }

    fn both() -> [Fixture; 2] {
        [Fixture::new(Some(PathOpener::Openat2)), Fixture::new(Some(PathOpener::StepByStep))]
    }

    fn root(&self) -> &Path {
        self.workspace.roots().next().unwrap()
    }

    fn read(&self, path: &str) -> Result<String, ToolErrorType> {
        let place = self.workspace.resolve(path).map_err(|error| error.kind)?;
        match self.workspace.open_place(&place).map_err(|error| error.kind)? {
            OpenedPath::File { mut file, .. } => {
                let mut text = String::new();
                file.read_to_string(&mut text).unwrap();
                Ok(text)
            }
            other => panic!("{path} is {other:?}"),
        }
    }
}

#[test]
fn a_path_outside_is_refused_in_every_disguise() {
    for fixture in Fixture::both() {
        let outside = fixture.folder.path().canonicalize().unwrap();
        let root = fixture.root().display();
        let disguises = [
            "..".to_owned(),
            "../secret".to_owned(),
            "../missing".to_owned(),
            "sub/../../secret".to_owned(),
            "./a/./../../secret".to_owned(),
            "sub/up/../secret".to_owned(),
            format!("{}/secret", outside.display()),
            format!("{root}/../secret"),
            format!("{root}-twin/secret"),
            "/etc/passwd".to_owned(),
            "//etc/passwd".to_owned(),
            "/".to_owned(),
            "file-link".to_owned(),
            "file-link/".to_owned(),
            "folder-link/secret".to_owned(),
            "folder-link/".to_owned(),
            "folder-link/.".to_owned(),
            "chain-1".to_owned(),
            "loop".to_owned(),
            "dangling-outside".to_owned(),
            "/proc/self/root/etc/passwd".to_owned(),
            "/proc/self/cwd/../../../../../../etc/passwd".to_owned(),
            format!("/proc/self/root{root}/a.txt"),
            "magic/etc/passwd".to_owned(),
            "a.txt\0".to_owned(),
            "\0/../../etc/passwd".to_owned(),
            "~".to_owned(),
            "~/secret".to_owned(),
            "~root/.profile".to_owned(),
            "file:///etc/passwd".to_owned(),
            format!("file://{root}/a.txt"),
            path_bytes(b"../secret"),
            path_bytes(b"/etc/passwd"),
            path_bytes(b"a\0b"),
            "x/".repeat(3000),
        ];
        for path in disguises {
            assert_eq!(fixture.read(&path), Err(ToolErrorType::PathNotInWorkspace), "{path:?}");
        }
    }
}

#[test]
fn paths_inside_work_also_through_links() {
    for fixture in Fixture::both() {
        let root = fixture.root().display();
        let paths = [
            "a.txt".to_owned(),
            "./a.txt".to_owned(),
            "sub/../a.txt".to_owned(),
            "sub/up/a.txt".to_owned(),
            "good-link".to_owned(),
            "good-absolute/b.txt".to_owned(),
            "../ws/a.txt".to_owned(),
            "folder-link/ws/a.txt".to_owned(),
            format!("{root}/a.txt"),
            format!("{root}//sub/./b.txt"),
            path_bytes(b"a.txt"),
        ];
        for path in paths {
            assert_eq!(fixture.read(&path), Ok("inside".to_owned()), "{path}");
        }
    }
}

#[test]
fn what_is_missing_inside_is_not_found() {
    for fixture in Fixture::both() {
        for path in ["nope", "nope/deeper", "a.txt/b", &"n".repeat(300), "sub/~"] {
            assert_eq!(fixture.read(path), Err(ToolErrorType::FileNotFound), "{path}");
        }
        assert_eq!(fixture.read(""), Err(ToolErrorType::InvalidToolParams));
        assert_eq!(fixture.read("path-bytes:%%"), Err(ToolErrorType::InvalidToolParams));
    }
}

#[test]
fn what_lies_outside_is_not_told_apart() {
    let fixture = Fixture::new(None);
    let message = |path: &str| fixture.workspace.resolve(path).unwrap_err().message.replace(path, "PATH");
    assert_eq!(message("../secret"), message("../nothing-here"));
    assert_eq!(message("/etc/passwd"), message("/etc/no-such-file/x"));
}

#[test]
fn a_folder_swapped_for_a_link_after_the_look_is_not_followed() {
    for fixture in Fixture::both() {
        let place = fixture.workspace.resolve("sub/secret").unwrap();
        let last = fixture.workspace.resolve("a.txt").unwrap();
        fs::rename(fixture.root().join("sub"), fixture.root().join("moved")).unwrap();
        symlink(fixture.folder.path(), fixture.root().join("sub")).unwrap();
        fs::remove_file(fixture.root().join("a.txt")).unwrap();
        symlink("../secret", fixture.root().join("a.txt")).unwrap();
        for place in [place, last] {
            assert!(fixture.workspace.open_place(&place).is_err());
            assert!(fixture.workspace.open_folder(&place).is_err());
            assert!(fixture.workspace.facts(&place).is_err());
        }
    }
}

#[test]
fn a_race_of_folder_and_link_never_reads_outside() {
    for fixture in Fixture::both() {
        let root = fixture.root().to_owned();
        fs::create_dir(root.join("real")).unwrap();
        fs::write(root.join("real/secret"), "inside").unwrap();
        symlink(fixture.folder.path(), root.join("fake")).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for name in ["real", "fake"] {
                        fs::rename(root.join(name), root.join("switch")).unwrap();
                        fs::rename(root.join("switch"), root.join(name)).unwrap();
                    }
                }
            });
            // Each try sees one state for the look and perhaps another for the opening.
            let read: BTreeSet<String> =
                (0..3000).filter_map(|_| fixture.read("switch/secret").ok()).collect();
            done.store(true, Ordering::Relaxed);
            assert!(read.iter().all(|text| text == "inside"), "{read:?}");
        });
    }
}

#[test]
fn what_is_no_file_is_described_and_opening_it_does_not_wait() {
    for fixture in Fixture::both() {
        let fifo = fixture.root().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(fixture.root().join("socket")).unwrap();
        let what =
            |path: &str| fixture.workspace.open_place(&fixture.workspace.resolve(path).unwrap()).unwrap();
        assert!(matches!(what("fifo"), OpenedPath::Special("a FIFO")));
        assert!(matches!(what("socket"), OpenedPath::Special("a socket")));
        assert!(matches!(what("sub"), OpenedPath::Folder(_)));
    }
}

#[test]
fn bad_roots_are_all_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let odd = folder.path().join(os_path(b"odd\xff"));
    fs::create_dir(&odd).unwrap();
    let to_odd = folder.path().join("to-odd");
    symlink(&odd, &to_odd).unwrap();
    let roots = [
        folder.path().to_owned(),
        file.clone(),
        folder.path().join("missing"),
        PathBuf::from("relative"),
        odd.clone(),
        to_odd.clone(),
    ];
    let Err(WorkspaceError::BadRoots(bad)) = Workspace::open(&roots) else { panic!("must fail") };
    let problems: Vec<_> = bad.iter().map(|root| (root.path.clone(), root.problem.as_str())).collect();
    assert_eq!(
        problems,
        [
            (file, "it is not a folder"),
            (folder.path().join("missing"), "there is no such folder"),
            (PathBuf::from("relative"), "it is not an absolute path"),
            (odd, "its name is not UTF-8"),
            (to_odd, "it leads to a folder whose name is not UTF-8"),
        ]
    );
    assert!(matches!(Workspace::open(&[]), Err(WorkspaceError::NoRoots)));
}

#[test]
fn an_absolute_path_picks_its_root_and_a_relative_one_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    for name in ["one", "two", "two/inner"] {
        fs::create_dir_all(base.join(name)).unwrap();
        fs::write(base.join(name).join("who"), name).unwrap();
    }
    let roots = [base.join("one"), base.join("two"), base.join("two/inner"), base.join("one")];
    let workspace = Workspace::open(&roots).unwrap();
    assert_eq!(workspace.roots().count(), 3, "a root given twice is one");
    let shown = |path: &str| workspace.shown(&workspace.resolve(path).unwrap());
    assert_eq!(shown("who"), "who");
    assert_eq!(shown("../two/who"), base.join("two/who").to_str().unwrap());
    assert_eq!(shown(base.join("one/who").to_str().unwrap()), "who");
    let inner = workspace.resolve(base.join("two/inner/who").to_str().unwrap()).unwrap();
    assert_eq!((inner.root, inner.relative()), (2, Path::new("who")));
    assert_eq!(shown("."), ".");
}

#[test]
fn the_whole_file_system_can_be_a_root() {
    let fixture = Fixture::new(None);
    let workspace = Workspace::open(&[PathBuf::from("/")]).unwrap();
    let path = fixture.root().join("good-link");
    let place = workspace.resolve(path.to_str().unwrap()).unwrap();
    assert_eq!(workspace.absolute(&place), fixture.root().join("sub/b.txt"));
    assert!(matches!(workspace.open_place(&place), Ok(OpenedPath::File { size: 6, .. })));
    assert!(workspace.resolve("/proc/self/root/etc").is_err());
    assert_eq!(workspace.absolute(&workspace.resolve("/").unwrap()), Path::new("/"));
}

#[test]
fn a_deep_tree_can_be_read_to_its_bottom() {
    for fixture in Fixture::both() {
        let deep: PathBuf = std::iter::repeat_n("folder", 300).collect();
        fs::create_dir_all(fixture.root().join(&deep)).unwrap();
        let file = deep.join("file");
        fs::write(fixture.root().join(&file), "inside").unwrap();
        assert_eq!(fixture.read(file.to_str().unwrap()), Ok("inside".to_owned()));
    }
}

#[test]
fn names_that_are_no_text_are_shown_with_their_bytes_and_found_by_them() {
    let fixture = Fixture::new(None);
    for bytes in [&b"caf\xe9"[..], b"two\nlines"] {
        fs::write(fixture.root().join(os_path(bytes)), "inside").unwrap();
        let path = path_bytes(bytes);
        assert_eq!(fixture.read(&path), Ok("inside".to_owned()));
        let place = fixture.workspace.resolve(&path).unwrap();
        let shown = fixture.workspace.shown(&place);
        assert!(shown.ends_with(&format!(" [{path}]")) && !shown.contains('\n'), "{shown:?}");
        assert!(fixture.workspace.access_path(&place).to_str().is_some());
    }
    let absolute = fixture.root().join(os_path(b"caf\xe9"));
    assert_eq!(fixture.read(&path_bytes(absolute.as_os_str().as_bytes())), Ok("inside".to_owned()));
}

#[test]
fn renaming_the_root_does_not_move_the_boundary() {
    let fixture = Fixture::new(None);
    let place = fixture.workspace.resolve("a.txt").unwrap();
    let root = fixture.root().to_owned();
    fs::rename(&root, root.with_file_name("renamed")).unwrap();
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a.txt"), "another folder of the same name").unwrap();
    let Ok(OpenedPath::File { size, .. }) = fixture.workspace.open_place(&place) else { panic!("must open") };
    assert_eq!(size, 6);
}

#[test]
fn neighbours_are_opened_no_less_carefully_than_one_alone() {
    for fixture in Fixture::both() {
        let root = fixture.root();
        for path in ["near/a", "near/b", "near/c", "near/deep/d", "top"] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), path).unwrap();
        }
        let workspace = &fixture.workspace;
        let place = |path: &str| workspace.resolve(path).unwrap();
        let places = ["near/a", "near/b", "near/c", "near/deep/d", "top", "near"].map(place);
        let [a, b, c, d, top, near] = &places;
        let mut neighbours = workspace.neighbours();
        let mut read = |place: &WorkspacePath| match neighbours.open(place) {
            Ok(OpenedPath::File { mut file, size }) => {
                let mut text = String::new();
                file.read_to_string(&mut text).unwrap();
                assert_eq!((size, neighbours.facts(place).unwrap().size), (text.len() as u64, size));
                Ok(text)
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error),
        };
        assert_eq!(read(a), Ok("near/a".to_owned()));
        assert_eq!(read(d), Ok("near/deep/d".to_owned()));
        assert_eq!(read(top), Ok("top".to_owned()));
        // What was a file when it was listed is a link now, or a FIFO, or gone.
        fs::remove_file(root.join("near/b")).unwrap();
        std::os::unix::fs::symlink(root.join("../outside.txt"), root.join("near/b")).unwrap();
        assert_eq!(read(b), Err(Errno::LOOP));
        fs::remove_file(root.join("near/c")).unwrap();
        assert_eq!(read(c), Err(Errno::NOENT));
        let mode = Mode::from_bits_retain(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, root.join("near/c"), FileType::Fifo, mode, 0).unwrap();
        assert!(matches!(workspace.neighbours().open(c), Ok(OpenedPath::Special("a FIFO"))));
        assert!(matches!(workspace.neighbours().open(near), Ok(OpenedPath::Folder(_))));
        assert!(matches!(workspace.neighbours().open(&place(".")), Ok(OpenedPath::Folder(_))));
        // The folder itself leads outside now.
        fs::rename(root.join("near/deep"), root.join("near/moved")).unwrap();
        std::os::unix::fs::symlink(root.parent().unwrap(), root.join("near/deep")).unwrap();
        assert!(workspace.neighbours().open(d).is_err());
        assert!(workspace.neighbours().facts(d).is_err());
    }
}
