//! What did a run ask people, what did they decide, and which files did it change?

use serde::Deserialize;
use serde_json::Value;

use crate::{
    ListingFormat, OutputWriter, ProcessIo,
    ending::RunOutcome,
    failure::CommandFailure,
    human, ids,
    link::DaemonLink,
    message::show_message,
    paging, palette,
    progress::people::{FileChangedView, FileRestoredView},
    question::ConfirmationView,
    run::unreadable,
    safe_text,
    sessions::history::ContextChangeView,
    text_color::TextColor,
};
use protocol::{
    ConfirmationList, ConfirmationListParams, EventFilter, EventSeq, EventsList, EventsListParams, RunGet,
    RunId, RunIdParams, Timestamp,
};

/// The kind of the events of skills.
const SKILL_ACTIVATED: &str = "skill.activated";

/// Questions and changes of one run that are shown; more is for `subagent rpc`.
const SHOWN_MAX: u32 = 500;

/// What is read of a record beside how it stands.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RunShowView {
    #[serde(flatten)]
    ending: RunOutcome,
    session_id: String,
    model: String,
    prompt: Option<String>,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
}

/// An event about a file, a skill or the run's context.
#[derive(Deserialize)]
struct RunEventView {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    data: Value,
}

/// A skill that the run's model had the text of.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ActivatedSkillView {
    name: String,
    folder: String,
    call_id: Option<String>,
}

pub(super) fn show_run(
    run_id: RunId,
    format: ListingFormat,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let answer = link.ask_value::<RunGet>(&RunIdParams { run_id: run_id.clone() })?;
    if format == ListingFormat::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let shown = RunShowView::deserialize(&answer).map_err(unreadable)?;
    let params = ConfirmationListParams {
        run_id: Some(run_id.clone()),
        resolved: true,
        limit: SHOWN_MAX,
        ..ConfirmationListParams::default()
    };
    let listed = link.ask_value::<ConfirmationList>(&params)?;
    let asked: Vec<ConfirmationView> = paging::entries(&listed, "confirmations")?;
    let filter = EventFilter {
        run_id: Some(run_id),
        types: ["file.changed", "file.restored", "context.compressed", "context.cleared", "skill.activated"]
            .map(str::to_owned)
            .to_vec(),
        ..EventFilter::default()
    };
    let params = EventsListParams { filter, from: EventSeq(0), log_id: None, limit: SHOWN_MAX, wait_ms: 0 };
    let events = link.ask_value::<EventsList>(&params)?;
    let told: Vec<RunEventView> = paging::entries(&events, "events")?;
    let stdout = &mut surroundings.stdout;
    let text = draw(&shown, &asked, &told, stdout);
    stdout.write_drawn(&text)?;
    if listed.get("nextCursor").is_some() || told.len() as u64 >= u64::from(SHOWN_MAX) {
        let text = format!("only the first {SHOWN_MAX} questions and changes are shown");
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", &text);
    }
    Ok(0)
}

fn draw(
    shown: &RunShowView,
    asked: &[ConfirmationView],
    told: &[RunEventView],
    stdout: &OutputWriter,
) -> String {
    let line = |text: &str| safe_text::line(text, usize::MAX);
    let ending = &shown.ending;
    let mut text = String::new();
    let mut field = |label: &str, value: &str| {
        text.push_str(&format!("{label:9}  {}\n", line(value)));
    };
    field("run", &ending.run_id);
    field("session", &shown.session_id);
    field("agent", &format!("{}, {}", ending.agent, shown.model));
    if let Some(prompt) = &shown.prompt {
        field("prompt", prompt);
    }
    field("state", &ending.summary());
    field("started", &human::moment_or_dash(shown.started_at));
    field("ended", &human::moment_or_dash(shown.ended_at));
    let skills = told.iter().filter(|event| event.kind == SKILL_ACTIVATED);
    for skill in skills.map(|event| ActivatedSkillView::deserialize(&event.data).unwrap_or_default()) {
        let how = if skill.call_id.is_some() { "asked for by the model" } else { "given with the run" };
        field("skill", &format!("{}, {how}: {}", skill.name, skill.folder));
    }
    for why in [ending.trouble(), ending.message().map(str::to_owned)].into_iter().flatten() {
        field("", &why);
    }
    if !asked.is_empty() {
        text.push_str(&format!("\n{}\n", stdout.paint(TextColor::Bold, "questions")));
    }
    for asked in asked {
        let how = match &asked.resolution {
            Some(decided) => decided.describe(None),
            None => format!("{}, `subagent approve` or `deny` answers it", asked.state.as_str()),
        };
        let id = ids::shortest(asked.confirmation_id.as_str());
        // One about the run itself is of no tool.
        let tool = if asked.tool.is_empty() { "the run itself".to_owned() } else { line(&asked.tool) };
        let (risk, how) = (line(&asked.risk), line(&how));
        let risk = palette::ink(&asked.risk).map_or(risk.clone(), |ink| stdout.paint(ink, &risk));
        text.push_str(&format!("{id}  {tool}, risk {risk}: {}\n  {how}\n", line(&asked.title)));
    }
    let changes = told.iter().filter(|event| event.kind != SKILL_ACTIVATED);
    let (files, contexts): (Vec<&RunEventView>, Vec<&RunEventView>) =
        changes.partition(|event| event.kind.starts_with("file."));
    if !contexts.is_empty() {
        text.push_str(&format!("\n{}\n", stdout.paint(TextColor::Bold, "context")));
    }
    for event in contexts {
        text.extend(
            ContextChangeView::of_event(&event.kind, &event.data).map(|it| format!("{}\n", it.told())),
        );
    }
    if !files.is_empty() {
        text.push_str(&format!("\n{}\n", stdout.paint(TextColor::Bold, "files")));
    }
    for event in files {
        let change = FileChangedView::deserialize(&event.data).unwrap_or_default();
        let what = match event.kind.as_str() {
            "file.changed" => change.describe(),
            _ => FileRestoredView::deserialize(&event.data).unwrap_or_default().describe(),
        };
        text.push_str(&format!("{}  call {}\n", line(&what), line(&change.call_id)));
    }
    text
}
