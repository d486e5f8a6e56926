//! The file in which hooks read what was said in a run's context: a line for each message, in the form of Claude Code. Blocks.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
    sync::Arc,
};

use serde_json::{Value, json};

use super::scene::HookScene;
use protocol::{ContextMessage, MessagePart, MessageRole};

/// Everything that was written so far.
#[derive(Default)]
pub(super) struct HookTranscript {
    written: Vec<Arc<ContextMessage>>,
}

impl HookTranscript {
    /// Writes what is new. Where older messages are not what they were, e.g. after a compression, all are written anew.
    pub fn bring_up_to(&mut self, path: &Path, scene: &HookScene, cwd: &str) -> io::Result<()> {
        let goes_on = path.exists()
            && self.written.len() <= scene.messages.len()
            && self.written.iter().zip(scene.messages.iter()).all(|(was, is)| Arc::ptr_eq(was, is));
        let from = if goes_on { self.written.len() } else { 0 };
        let mut text = String::new();
        for message in &scene.messages[from..] {
            text.push_str(&line(message, scene, cwd).to_string());
            text.push('\n');
        }
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        // Until all of it stands there, nothing is known of the file.
        self.written.clear();
        if goes_on {
            OpenOptions::new().append(true).open(path)?.write_all(text.as_bytes())?;
        } else {
            let draft = path.with_extension("draft");
            // Left by a daemon that died while it wrote.
            match fs::remove_file(&draft) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => (),
            }
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
            file.write_all(text.as_bytes())?;
            fs::rename(&draft, path)?;
        }
        self.written = scene.messages.to_vec();
        Ok(())
    }
}

fn line(message: &ContextMessage, scene: &HookScene, cwd: &str) -> Value {
    let (kind, role) = match message.role {
        MessageRole::Model => ("assistant", "assistant"),
        MessageRole::User | MessageRole::Tool => ("user", "user"),
    };
    let content: Vec<Value> = message.parts.iter().filter_map(|part| block(part, Path::new(cwd))).collect();
    let mut told = json!({ "role": role, "content": content });
    if message.role == MessageRole::Model {
        told["model"] = json!(scene.model);
    }
    json!({
        "type": kind,
        "sessionId": scene.session,
        "cwd": cwd,
        "isSidechain": scene.is_child,
        "message": told,
    })
}

/// `root`: where relative paths of calls begin.
fn block(part: &MessagePart, root: &Path) -> Option<Value> {
    Some(match part {
        MessagePart::Text { text } => json!({ "type": "text", "text": text }),
        MessagePart::Thought { text, .. } => json!({ "type": "thinking", "thinking": text }),
        MessagePart::ToolCall(call) => {
            // As hooks are told of it: who looks for edits looks for `Edit`.
            let (name, input) = hooks::in_claude_codes_words(call, root);
            json!({ "type": "tool_use", "id": call.call_id, "name": name, "input": input })
        }
        MessagePart::ToolResult { call_id, parts, is_error, .. } => {
            let text: String = parts.iter().filter_map(MessagePart::as_text).collect();
            json!({ "type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": is_error })
        }
        MessagePart::InlineData { .. } | MessagePart::File { .. } => return None,
    })
}
