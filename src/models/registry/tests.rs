//! Names that mean a model, and names that do not.

use std::{io::Write, sync::Arc};

use super::{super::offline::Offline, Models, ResolveError};

fn refusal(name: &str) -> ResolveError {
    match Models::new().resolve(&name.into()) {
        Ok(_) => panic!("{name} means a model"),
        Err(error) => error,
    }
}

#[test]
fn an_unknown_model_names_the_ways_out() {
    for name in ["gemini-2.5-pro", "", "Offline", "replay", "local/llama"] {
        let error = refusal(name);
        assert_eq!(error, ResolveError::NoModel { model: name.to_owned() });
        for way_out in ["--model offline", "--model replay:FILE", "models.default"] {
            assert!(error.hint().contains(way_out), "{way_out}");
        }
    }
}

#[test]
fn a_bad_recording_is_told_with_file_and_line() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"\n{}\n").unwrap();
    let path = file.path().display();
    let error = refusal(&format!("replay:{path}")).to_string();
    assert!(error.starts_with(&format!("the recording {path} line 2: ")), "{error}");
    let error = refusal("replay+strict:/nowhere/at/all").to_string();
    assert!(error.starts_with("the recording /nowhere/at/all cannot be read: "), "{error}");
}

#[test]
fn given_models_come_first_and_names_are_kept() {
    let models = Models::new().with_model("mine", Arc::new(Offline));
    assert_eq!(models.resolve(&"mine".into()).map(|resolved| resolved.name), Ok("mine".to_owned()));
    assert_eq!(models.resolve(&"offline".into()).map(|resolved| resolved.name), Ok("offline".to_owned()));
}
