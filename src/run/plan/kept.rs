//! What does the log keep of an agent's definition?

use protocol::AgentDefinition;
use redact::Redactor;

/// A definition as the log keeps it: what it says was filled in before.
pub fn redacted(definition: &AgentDefinition, redactor: &Redactor) -> AgentDefinition {
    let mut definition = definition.clone();
    definition.title = redactor.owned(definition.title);
    definition.description = definition.description.map(|text| redactor.owned(text));
    definition.prompt = redactor.owned(definition.prompt);
    definition.query = redactor.owned(definition.query);
    for input in &mut definition.inputs {
        input.description = input.description.take().map(|text| redactor.owned(text));
        redactor.value(&mut input.schema);
        if let Some(default) = &mut input.default {
            redactor.value(default);
        }
    }
    for narrowing in &mut definition.narrowings {
        narrowing.about = narrowing.about.take().map(|text| redactor.owned(text));
    }
    for trigger in &mut definition.triggers {
        let texts = trigger.keywords.iter_mut().chain(&mut trigger.intent).chain(&mut trigger.regex);
        texts.for_each(|text| *text = redactor.owned(std::mem::take(text)));
    }
    for message in &mut definition.initial_messages {
        message.text = redactor.owned(std::mem::take(&mut message.text));
    }
    if let Some(hooks) = &mut definition.hooks {
        redactor.value(hooks);
    }
    for server in definition.mcp.own.values_mut() {
        server.hide(&|text| redactor.owned(text));
    }
    if let Some(output) = &mut definition.output {
        output.description = output.description.take().map(|text| redactor.owned(text));
        redactor.value(&mut output.schema);
    }
    definition
}
