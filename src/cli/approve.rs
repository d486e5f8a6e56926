//! `subagent approve` and `subagent deny`: answers a question from any terminal, or by a token.
//!
//! The question is fetched first and shown, and the answer carries the digest of what was shown: when it changed in
//! between, nothing is decided.

use clap::{Args, ValueEnum};
use serde_json::Value;

use super::{
    OutputWriter, ProcessIo, ReportFormat, consent,
    failure::CommandFailure,
    human, ids,
    link::DaemonLink,
    message::show_message,
    paging, person,
    question::{
        ConfirmationView, Details, OutcomeChoice, ResolutionView,
        card::{self, CardLayout},
        done,
        panel::{self, ConfirmationPanel, PanelPage},
        read_answer,
    },
    safe_text,
    screen::{WRAP_OFF, WRAP_ON},
    table,
    text_color::TextColor,
    width,
};
use protocol::{
    BudgetLimits, ConfirmationGet, ConfirmationGetParams, ConfirmationId, ConfirmationOutcome,
    ConfirmationRespond, ConfirmationRespondParams, ErrorKind, GrantScope, QuestionAnswer, UsdAmount,
};

#[derive(Args)]
pub(super) struct ConfirmationSelector {
    /// A question's id, or the beginning of it; `subagent approvals` lists them [default: the only one that is open]
    #[arg(value_name = "ID")]
    question: Option<String>,
    /// The token of a notification, which names its question
    #[arg(long, value_name = "TOKEN", conflicts_with = "question")]
    token: Option<String>,
    /// Show the whole question, even if it does not fit the screen
    #[arg(long)]
    whole: bool,
    /// What stdout gets: a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

/// What shows all of a question's subject.
const WHOLE: &str = "--whole shows all";

/// Rows of the terminal that are for the line in which one answers, and for what the shell writes above.
const ROWS_BELOW: usize = 3;

#[derive(Args)]
pub(super) struct ApproveArguments {
    #[command(flatten)]
    question: ConfirmationSelector,
    /// Also allow similar calls from now on; the command shows which
    #[arg(long, value_enum, value_name = "WHERE")]
    always: Option<GrantScopeWord>,
    /// Which calls --always covers, if there is a choice [default: the narrowest]
    #[arg(long, value_enum, value_name = "WHICH", requires = "always")]
    grant: Option<GrantExtentWord>,
    /// Do not ask me to confirm; works only with the whole id
    #[arg(long)]
    yes: bool,
    /// The answer to what the agent asks: a text, or an option's number. Once for each of several questions
    #[arg(long = "answer", value_name = "TEXT", conflicts_with = "always")]
    answers: Vec<String>,
    /// New total limit in tokens, for a run that has used up its budget
    #[arg(long, value_name = "N", conflicts_with_all = ["always", "answers"])]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: Option<u64>,
    /// New total limit in US dollars, for a run that has used up its budget
    #[arg(long, value_name = "USD", value_parser = parse_dollars, conflicts_with_all = ["always", "answers"])]
    max_cost: Option<UsdAmount>,
}

/// US dollars above 0, as on the command line.
pub(super) fn parse_dollars(text: &str) -> Result<UsdAmount, String> {
    let cost = UsdAmount::from_decimal(text.strip_prefix('$').unwrap_or(text));
    cost.filter(|cost| *cost != UsdAmount::ZERO)
        .ok_or_else(|| "expected US dollars above 0, e.g. 0.50".to_owned())
}

#[derive(Args)]
pub(super) struct DenyArguments {
    #[command(flatten)]
    question: ConfirmationSelector,
    /// Why, for the model
    #[arg(short, long, value_name = "WHY")]
    message: Option<String>,
}

/// Where calls like it are allowed from now on.
#[derive(Clone, Copy, ValueEnum)]
enum GrantScopeWord {
    Session,
    Project,
    User,
}

/// Which later calls are allowed, too.
#[derive(Clone, Copy, ValueEnum)]
enum GrantExtentWord {
    /// This very call
    Call,
    /// Commands that begin with the same words
    Words,
    /// Changes of this file
    File,
    /// Changes in its folder and below
    Folder,
    /// All edits of low risk in this session
    Edits,
}

impl GrantExtentWord {
    fn grant(self) -> GrantScope {
        match self {
            GrantExtentWord::Call => GrantScope::Call,
            GrantExtentWord::Words => GrantScope::Words,
            GrantExtentWord::File => GrantScope::File,
            GrantExtentWord::Folder => GrantScope::Folder,
            GrantExtentWord::Edits => GrantScope::Edits,
        }
    }
}

pub(super) fn approve(
    arguments: &ApproveArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let me = introduce(link, surroundings)?;
    let asked = fetch(&arguments.question, link)?;
    let choice = chosen(&asked, arguments);
    let seen = show(&asked, choice.as_ref(), &arguments.question, surroundings);
    let asked = still_open(asked, me.as_deref())?;
    if let Some(why) = asked.bars_consent() {
        let id = ids::shortest(asked.confirmation_id.as_str());
        return Err(CommandFailure::new(why)
            .or_hint(format!("`subagent deny {id}`, or `subagent stop` and try again")));
    }
    let limits = Some(BudgetLimits { max_tokens: arguments.max_tokens, max_cost: arguments.max_cost })
        .filter(|limits| *limits != BudgetLimits::default());
    let (outcome, answers) = match asked.details() {
        Details::Budget(_) if limits.is_some() => (ConfirmationOutcome::Modify, Vec::new()),
        _ if limits.is_some() => {
            return Err(CommandFailure::usage("this does not ask for more of a budget")
                .or_hint("leave --max-tokens and --max-cost out to allow it"));
        }
        Details::Questions(questions) => {
            let answers = &arguments.answers;
            if answers.len() != questions.len() {
                let needed = human::count(questions.len() as u64, "answer");
                let what =
                    format!("this is a question of the agent: it takes {needed}, not {}", answers.len());
                return Err(CommandFailure::usage(what)
                    .or_hint("give --answer TEXT once for each question, in order"));
            }
            let answers: Result<Vec<QuestionAnswer>, CommandFailure> = questions
                .iter()
                .zip(answers)
                .map(|(question, answer)| {
                    let unfit =
                        |why| CommandFailure::usage(format!("--answer {answer:?} does not fit: {why}"));
                    read_answer(question, answer).map_err(|why| unfit(why).or_hint("the question is above"))
                })
                .collect();
            (ConfirmationOutcome::Answer, answers?)
        }
        _ if !arguments.answers.is_empty() => {
            return Err(CommandFailure::usage("this asks for leave, not for an answer")
                .or_hint("leave --answer out to allow it, or `subagent deny` it"));
        }
        _ => (arguments.always.map_or(ConfirmationOutcome::AllowOnce, GrantScopeWord::outcome), Vec::new()),
    };
    // What is not offered in words that are known here is never taken for consent.
    if !asked.offers(outcome) {
        let what =
            format!("`{}` is not offered for this question; offered: {}", outcome.as_str(), asked.offered());
        return Err(CommandFailure::new(what)
            .or_hint("see `subagent approve --help`; `subagent deny` is always possible"));
    }
    if arguments.always.is_some() && choice.is_none() && 0 < asked.details().cut_bytes() {
        return Err(CommandFailure::new(
            "the diff is too long to be seen whole, so it is allowed once at most",
        )
        .or_hint("leave --always out"));
    }
    let grant = arguments.grant.map(GrantExtentWord::grant);
    if grant.is_some() && choice.is_none() {
        return Err(CommandFailure::new("this extent is not offered for this question")
            .or_hint("leave --grant out for the narrowest; `?` at the question lists what each allows"));
    }
    agree(&asked, choice.as_ref(), arguments, &seen, surroundings)?;
    let params = ConfirmationRespondParams { answers, limits, grant, ..asked.answered(outcome) };
    respond(params, &asked, &arguments.question, me.as_deref(), link, surroundings)
}

pub(super) fn deny(
    arguments: &DenyArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let me = introduce(link, surroundings)?;
    let asked = fetch(&arguments.question, link)?;
    show(&asked, None, &arguments.question, surroundings);
    let asked = still_open(asked, me.as_deref())?;
    let params = ConfirmationRespondParams {
        message: arguments.message.clone(),
        ..asked.answered(ConfirmationOutcome::Deny)
    };
    respond(params, &asked, &arguments.question, me.as_deref(), link, surroundings)
}

/// Tells the daemon who answers, and learns as whom it knows them.
fn introduce(link: &mut DaemonLink, surroundings: &mut ProcessIo) -> Result<Option<String>, CommandFailure> {
    let introduction = person::answering(surroundings)?;
    let me = introduction.client_id.as_ref().map(|id| id.as_str().to_owned());
    link.open_as(introduction, &mut surroundings.stderr)?;
    Ok(me)
}

impl GrantScopeWord {
    fn outcome(self) -> ConfirmationOutcome {
        match self {
            GrantScopeWord::Session => ConfirmationOutcome::AllowSession,
            GrantScopeWord::Project => ConfirmationOutcome::AllowProject,
            GrantScopeWord::User => ConfirmationOutcome::AllowUser,
        }
    }
}

/// Allows nothing that this person has not seen: who gives the whole id has seen the question elsewhere, and everybody else
/// is asked here. What is of high risk, or holds longer than for this call, is asked about in any case where somebody sits.
fn agree(
    asked: &ConfirmationView,
    choice: Option<&OutcomeChoice>,
    arguments: &ApproveArguments,
    seen: &Seen,
    surroundings: &mut ProcessIo,
) -> Result<(), CommandFailure> {
    let words = choice.filter(|choice| choice.outlives_call()).map(OutcomeChoice::in_words);
    let was_seen = arguments.question.names_it_whole();
    let is_asked =
        !was_seen || (!arguments.yes && choice.is_some_and(|choice| asked.wants_second_key(choice)));
    let id = &asked.confirmation_id;
    if is_asked && surroundings.has_person() && !surroundings.stderr.is_for_programs {
        if seen.is_too_small {
            let what = "the terminal is too small to show what this is about; nothing was decided";
            return Err(
                CommandFailure::new(what).or_hint("make it larger (at least 30×8), or see all with --whole")
            );
        }
        let question = question(asked, choice, seen.unseen);
        let how = format!("press y and then Enter; from a script, `subagent approve {id}`");
        return consent::confirm(&question, &how, surroundings);
    }
    if !was_seen {
        let what = match arguments.question.question {
            Some(_) => "the beginning of an id is not enough where nobody can be asked; nothing was decided",
            None => "which question is meant must be said where nobody can be asked; nothing was decided",
        };
        return Err(CommandFailure::usage(what)
            .or_hint(format!("if you have read what stands above: subagent approve {id}")));
    }
    if let Some(words) = words {
        show_message(&mut surroundings.stderr, TextColor::Yellow, "rule", &words);
    }
    Ok(())
}

impl ConfirmationSelector {
    /// Whether whoever typed this had the question before them: its id alone tells it apart from all others.
    fn names_it_whole(&self) -> bool {
        self.token.is_some() || self.question.as_deref().is_some_and(|text| !ids::is_beginning(text))
    }

    fn find(&self, link: &mut DaemonLink) -> Result<ConfirmationId, CommandFailure> {
        match &self.question {
            Some(text) => ids::find_question(text, link),
            None => ids::only_question(link),
        }
    }
}

/// What is asked of whoever approves: what lasts, and what of it they have not seen.
fn question(asked: &ConfirmationView, choice: Option<&OutcomeChoice>, unseen: usize) -> String {
    let rows =
        (0 < unseen).then(|| format!("{} of it were not shown; {WHOLE}", human::count(unseen as u64, "row")));
    let words = choice.filter(|choice| choice.outlives_call()).map(OutcomeChoice::in_words);
    let words = words.unwrap_or_else(|| "answer it so?".to_owned());
    let parts: Vec<String> = asked.out_of_sight().into_iter().chain(rows).chain([words]).collect();
    parts.join("; ")
}

/// The choice that is meant, if it is offered.
fn chosen(asked: &ConfirmationView, arguments: &ApproveArguments) -> Option<OutcomeChoice> {
    let outcome = arguments.always.map_or(ConfirmationOutcome::AllowOnce, GrantScopeWord::outcome);
    let grant = arguments.grant.map(GrantExtentWord::grant);
    let is_meant =
        |choice: &OutcomeChoice| choice.outcome == outcome && (grant.is_none() || choice.grant == grant);
    asked.choices().into_iter().find(is_meant)
}

/// The question as it is now.
fn fetch(which: &ConfirmationSelector, link: &mut DaemonLink) -> Result<ConfirmationView, CommandFailure> {
    let confirmation_id = match which.token {
        Some(_) => None,
        None => Some(which.find(link)?),
    };
    let params = ConfirmationGetParams { confirmation_id, token: which.token.clone() };
    let answer = link.ask_value::<ConfirmationGet>(&params)?;
    paging::view(answer.get("confirmation").unwrap_or(&Value::Null))
}

/// One that is over is no question any more.
fn still_open(asked: ConfirmationView, me: Option<&str>) -> Result<ConfirmationView, CommandFailure> {
    match &asked.resolution {
        Some(decided) => Err(over(&asked, decided, me)),
        None => Ok(asked),
    }
}

/// How much of a question stands on the screen.
#[derive(Default)]
struct Seen {
    /// Rows that say something, and are not there.
    unseen: usize,
    is_too_small: bool,
}

/// Shows the question on stderr: all of it, or as much as the terminal has room for above what is asked then.
fn show(
    asked: &ConfirmationView,
    choice: Option<&OutcomeChoice>,
    which: &ConfirmationSelector,
    surroundings: &mut ProcessIo,
) -> Seen {
    let stderr = &mut surroundings.stderr;
    if stderr.is_for_programs {
        return Seen::default();
    }
    let height = surroundings.keyboard.rows().filter(|_| stderr.is_terminal && !which.whole);
    // It tells a number of rows at most, whatever that will be.
    let below = consent::rows(&question(asked, choice, usize::from(u16::MAX)), stderr).len() + ROWS_BELOW;
    let (rows, seen) = drawn(asked, height.map(|height| height.saturating_sub(below)), stderr);
    // Each row is as wide as the terminal at most; one that the terminal counts wider is cut there.
    let (off, on) = if stderr.is_live { (WRAP_OFF, WRAP_ON) } else { ("", "") };
    // The answer counts as well when nobody can see this.
    let _ = stderr.write(&format!("{off}{}\n{on}", rows.join("\n")));
    seen
}

/// All of the question, or as much of it as there is room for.
fn drawn(asked: &ConfirmationView, room: Option<usize>, stderr: &OutputWriter) -> (Vec<String>, Seen) {
    let look = CardLayout { columns: stderr.width, rows: None, has_color: stderr.has_color };
    let whole = card::draw(asked, None, look);
    let is_long = room.is_some_and(|room| room < whole.len());
    // What an agent asks is answered in order, so all of it is needed.
    if !is_long || matches!(asked.details(), Details::Questions(_)) {
        return (whole, Seen::default());
    }
    // The panel leaves room for the line in which one answers, and one above it.
    let look = CardLayout { rows: room.map(|room| room + 2), ..look };
    let reason = card::draw_reason(asked, look);
    let panel = |below: &[String]| {
        let (view, flag) = (PanelPage::Subject, Some(WHOLE));
        panel::draw(&ConfirmationPanel { asked, place: None, at_question: 0, below, view, flag }, look)
    };
    let drawn = Some(panel(&reason)).filter(|drawn| !drawn.is_too_small);
    let drawn = drawn.unwrap_or_else(|| panel(&[]));
    (drawn.rows, Seen { unseen: drawn.unseen, is_too_small: drawn.is_too_small })
}

/// Says who ended it, where and when: somebody else's answer counted, and this one does not.
fn over(asked: &ConfirmationView, decided: &ResolutionView, me: Option<&str>) -> CommandFailure {
    let id = ids::shortest(asked.confirmation_id.as_str());
    let when = decided.at.map(|at| format!(", {}", human::moment(at))).unwrap_or_default();
    let how = safe_text::line(&decided.describe(me), usize::MAX);
    CommandFailure::new(format!("question {id} is over: {how}{when}; nothing was changed"))
        .or_hint("`subagent approvals` lists what is open")
}

fn respond(
    params: ConfirmationRespondParams,
    asked: &ConfirmationView,
    which: &ConfirmationSelector,
    me: Option<&str>,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let params = match &which.token {
        // It is bound to the question as it was when somebody was told of it: nothing else is to be said.
        Some(token) => ConfirmationRespondParams {
            token: Some(token.clone()),
            confirmation_id: None,
            digest: None,
            ..params
        },
        None => params,
    };
    if asked.is_answered() {
        let waits = format!("{}, and your answer waits until they have", asked.answer_said());
        show_message(&mut surroundings.stderr, TextColor::Yellow, "note", &waits);
    }
    // An answer that got lost may be given again: the daemon takes one, and answers the same client the same.
    let gives_up = &mut || (surroundings.interrupts)() > 0;
    let answer = link.ask_patiently::<ConfirmationRespond>(&params, gives_up).map_err(|error| {
        // Somebody was quicker.
        let late = error.refusal().filter(|refusal| refusal.is(ErrorKind::ConfirmationAlreadyResolved));
        let decided = late.and_then(|refusal| refusal.details.as_ref()?.get("resolution").cloned());
        let decided: Option<ResolutionView> = decided.and_then(|decided| paging::view(&decided).ok());
        match decided {
            Some(decided) => over(asked, &decided, me),
            None => CommandFailure::from(error),
        }
    })?;
    let decided: Option<ResolutionView> = answer.get("resolution").map(paging::view).transpose()?;
    let words = || {
        let title = width::cut(&safe_text::exact(&asked.title), table::TEXT_CHARACTERS);
        let id = ids::shortest(asked.confirmation_id.as_str());
        let how = match &decided {
            Some(decided) => safe_text::line(&decided.describe_own(), usize::MAX),
            None => done(params.outcome).to_owned(),
        };
        format!("question {id}: {how} · {title}")
    };
    paging::tell(&answer, which.format, words, surroundings)?;
    Ok(0)
}
