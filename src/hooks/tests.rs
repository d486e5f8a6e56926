//! What all tests of this crate make hooks of.

use std::{path::Path, sync::Arc};

use serde_json::{Value, json};

use super::*;
use protocol::{AgentName, ApprovalMode, CallId, RunId, SessionId, ToolName};
use trust::TrustRecords;

mod printed;
mod published;
mod strictness;

/// A workspace with a user's settings beside it.
pub struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Bench {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        for name in ["w", "home", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Bench { folder }
    }

    pub fn root(&self) -> String {
        trust::canonical(&self.folder.path().join("w")).unwrap()
    }

    /// Writes the user's settings.
    pub fn user(&self, hooks: &Value) {
        let text = json!({ "hooks": hooks }).to_string();
        std::fs::write(self.folder.path().join("settings.json"), text).unwrap();
    }

    /// Writes the user's settings as they are.
    pub fn user_text(&self, text: &str) {
        std::fs::write(self.folder.path().join("settings.json"), text).unwrap();
    }

    /// Writes a file of the workspace.
    pub fn project(&self, path: &str, text: &str) {
        let path = Path::new(&self.root()).join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn places(&self) -> HookPlaces {
        HookPlaces {
            user_file: Some(self.folder.path().join("settings.json")),
            home: self.folder.path().join("home"),
            roots: vec![self.root()],
            ..HookPlaces::default()
        }
    }

    pub fn read(&self, trust: &TrustRecords) -> HookPlacesRead {
        read_hooks(&self.places(), &[], trust)
    }

    pub fn workspace(&self) -> HookWorkspace {
        HookWorkspace {
            roots: vec![self.root().into()],
            temporary: self.folder.path().join("tmp"),
            transcript: self.folder.path().join("t.jsonl"),
            settings: HookSettings::default(),
            redactor: redact::Redactor::none(),
        }
    }
}

pub fn firing(facts: HookFacts) -> HookFiring {
    HookFiring {
        firing_id: "f1".to_owned(),
        attempt: 1,
        facts,
        session_id: SessionId::from("s1"),
        run_id: Some(RunId::from("r1")),
        root_run_id: Some(RunId::from("r1")),
        is_child: false,
        agent: Some(AgentName::from("generalist")),
        agent_path: vec![AgentName::from("generalist")],
        model: Some("m".to_owned()),
        turn_id: Some("t1".to_owned()),
        mode: ApprovalMode::Default,
        is_headless: false,
        skills: Arc::new([]),
        background: Vec::new(),
    }
}

pub fn call(tool: &str, arguments: Value) -> HookedCall {
    HookedCall {
        call_id: CallId::from("c1"),
        tool: ToolName::from(tool),
        mcp: None,
        answered_by: None,
        arguments,
        accesses: Vec::new(),
        page: None,
    }
}

pub fn bash(command: &str) -> HookFacts {
    HookFacts::PreToolUse { call: call("run_shell_command", json!({ "command": command })) }
}

/// A call that ended with this text.
pub fn result(tool: &str, text: &str) -> HookedResult {
    HookedResult {
        call: call(tool, json!({})),
        text: text.to_owned(),
        has_more_than_text: false,
        data: None,
        error: None,
        is_interrupt: false,
        duration_ms: 1,
    }
}
