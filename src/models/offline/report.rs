//! What was found? Turns the ranking into a report whose every location is a line that was read.

use super::{
    objective::SearchObjective,
    places::{self, ReportLocation},
    ranking::{FileRanking, RankedFile},
    transcript::OfflineTranscript,
};

/// Places the summary names beside the best one.
const SUMMARY_PLACES: usize = 4;

pub(super) const NO_MODEL_NOTE: &str = "No language model was involved: rules searched for the question's words and ranked \
     the places where they are defined and stand together, so check the places before relying on them.";

/// What an investigation found.
#[derive(Debug)]
pub(super) struct InvestigationReport {
    pub(super) summary: String,
    pub(super) trace: Vec<String>,
    pub(super) locations: Vec<ReportLocation>,
}

impl InvestigationReport {
    pub(super) fn new(objective: &SearchObjective, transcript: &OfflineTranscript) -> InvestigationReport {
        let ranking = FileRanking::new(objective, transcript);
        let files = ranking.files();
        let mut locations = places::of_files(&files, transcript);
        if locations.is_empty() {
            locations = places::entry_points(transcript);
        }
        let summary = summary(objective, transcript, &locations);
        InvestigationReport { summary, trace: trace(objective, transcript, &files), locations }
    }

    /// For people and for a `result` that is one text.
    pub(super) fn to_markdown(&self) -> String {
        let mut text = format!("{}\n", self.summary);
        if !self.locations.is_empty() {
            text.push_str("\n**Locations**\n\n");
            for location in &self.locations {
                text.push_str(&format!("- `{}`: {}\n", location.file_path(), location.reasoning()));
            }
        }
        text.push_str("\n**Steps**\n\n");
        for step in &self.trace {
            text.push_str(&format!("- {step}\n"));
        }
        text
    }
}

fn summary(
    objective: &SearchObjective,
    transcript: &OfflineTranscript,
    locations: &[ReportLocation],
) -> String {
    let named = |locations: &[ReportLocation]| {
        let named = locations.iter().take(SUMMARY_PLACES);
        named.map(ReportLocation::in_short).collect::<Vec<String>>().join("; ")
    };
    let mut summary = match locations.split_first() {
        Some(_) if objective.terms.is_empty() => {
            format!(
                "The question has no word to search for; these are places to begin: {}.",
                named(locations)
            )
        }
        Some((best, others)) => {
            let mut text = format!("Best match: {}", best.in_short());
            if !best.symbols.is_empty() {
                text.push_str(&format!(", defining {}", best.symbols.join(", ")));
            }
            if !best.terms.is_empty() {
                text.push_str(&format!(
                    "; these words of the question stand together there: {}",
                    best.terms.join(", ")
                ));
            }
            text.push('.');
            if !others.is_empty() {
                text.push_str(&format!(" Next: {}.", named(others)));
            }
            text
        }
        None if objective.terms.is_empty() => {
            "The question has no word that could be searched for.".to_owned()
        }
        None => "Nothing was found that answers the question.".to_owned(),
    };
    let missing: Vec<&str> = objective
        .terms
        .iter()
        .filter(|term| !term.is_pair() && !term.is_weak())
        .filter(|term| transcript.counts.get(&term.pattern).is_some_and(|counts| counts.is_empty()))
        .map(|term| term.label.as_str())
        .collect();
    if !missing.is_empty() {
        summary.push_str(&format!(" Found in no file: {}.", missing.join(", ")));
    }
    if let Some(failure) = transcript.failures.first() {
        summary.push_str(&format!(
            " {} tool calls failed, the first with: {failure}",
            transcript.failures.len()
        ));
    }
    format!("{summary}\n\n{NO_MODEL_NOTE}")
}

fn trace(objective: &SearchObjective, transcript: &OfflineTranscript, files: &[RankedFile]) -> Vec<String> {
    let words: Vec<String> = objective
        .terms
        .iter()
        .filter_map(|term| {
            let counts = transcript.counts.get(&term.pattern)?;
            (!counts.is_empty()).then(|| format!("{} ({})", term.label, counts.len()))
        })
        .collect();
    let mut trace = vec![match words.is_empty() {
        true if objective.terms.is_empty() => "Found no word in the question to search for.".to_owned(),
        true => "Searched the question's words; none was found.".to_owned(),
        false => format!("Counted the files that have the question's words: {}.", words.join(", ")),
    }];
    if !transcript.searched.is_empty() {
        let searched: Vec<&str> = transcript.searched.iter().map(String::as_str).collect();
        trace.push(format!(
            "Looked into the likeliest files for those words and for definitions: {}.",
            searched.join(", ")
        ));
    }
    let read: Vec<String> = files
        .iter()
        .filter_map(|file| Some((file, transcript.read.get(&file.path)?)))
        .map(|(file, lines)| format!("{} ({} lines)", file.path, lines.len()))
        .collect();
    if !read.is_empty() {
        trace.push(format!(
            "Read the places where rare words and definitions stand together, best file first: {}.",
            read.join(", ")
        ));
    }
    trace
}
