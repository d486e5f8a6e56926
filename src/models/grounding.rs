//! What does a reply stand on, when the provider let its model read the web? (spec 05, `web_fetch` and `web_search`)

/// What a provider lets its model do by itself while it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderTool {
    /// Reads the pages whose addresses stand in the request.
    UrlContext,
    /// Searches the web.
    Search,
}

/// What the provider says of it. All of it is a stranger's word.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplyGrounding {
    /// Pages that it went to, and what became of each.
    pub visits: Vec<PageVisit>,
    /// Pages that it names for what the reply says.
    pub sources: Vec<GroundingSource>,
    pub supports: Vec<GroundedSpan>,
}

/// A page that the provider went to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageVisit {
    pub url: String,
    /// In the provider's words.
    pub status: String,
    pub is_read: bool,
}

/// A page that is named for something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroundingSource {
    pub url: String,
    pub title: String,
}

/// Up to where in the text which sources stand behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroundedSpan {
    /// In bytes of the text.
    pub end: usize,
    /// What it is about: the end of the text up to there.
    pub text: String,
    /// Places in `sources`.
    pub sources: Vec<usize>,
}

impl ReplyGrounding {
    /// Takes in what a later piece of the same reply says: a list that comes again is told anew.
    pub fn absorb(&mut self, later: ReplyGrounding) {
        let ReplyGrounding { visits, sources, supports } = later;
        if !visits.is_empty() {
            self.visits = visits;
        }
        if !sources.is_empty() {
            self.sources = sources;
        }
        if !supports.is_empty() {
            self.supports = supports;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.visits.is_empty() && self.sources.is_empty() && self.supports.is_empty()
    }

    /// The text with the numbers of its sources, from 1, behind what they stand for. What does not fit the text is left out.
    pub fn cited(&self, text: &str) -> String {
        let mut places: Vec<(usize, String)> =
            self.supports.iter().filter_map(|it| self.citation(it, text)).collect();
        places.sort_by_key(|(end, _)| *end);
        let (mut cited, mut from) = (String::with_capacity(text.len() + places.len() * 4), 0);
        for (end, numbers) in places {
            cited.push_str(&text[from..end]);
            cited.push_str(&numbers);
            from = end;
        }
        cited.push_str(&text[from..]);
        cited
    }

    fn citation(&self, support: &GroundedSpan, text: &str) -> Option<(usize, String)> {
        let GroundedSpan { end, text: about, sources } = support;
        let before = text.get(..*end)?;
        // Providers count in bytes, and do not all count the same text.
        let is_here = !about.is_empty() && before.ends_with(about.as_str());
        let numbers: String =
            sources.iter().filter(|at| **at < self.sources.len()).map(|at| format!("[{}]", at + 1)).collect();
        (is_here && !numbers.is_empty()).then(|| (*end, format!(" {numbers}")))
    }
}
