//! What was a client told of open questions, and what is news? Whether it is asked, and who reads them.

use std::collections::{HashMap, HashSet};

use super::super::confirmation_router::ClientConfirmationView;
use protocol::{Claim, ConfirmationId, ConfirmationRecord};

/// Of one subscription. As large as there are open questions of which it is about.
#[derive(Default)]
pub(super) struct ConfirmationFeed {
    /// Those that this client was told are for it.
    offered: HashSet<ConfirmationId>,
    claims: HashMap<ConfirmationId, Claim>,
}

/// What a client is told beside the log.
#[derive(Debug, PartialEq)]
pub(super) enum ConfirmationNews {
    /// The question is for it now, and it does not know.
    Offered(ConfirmationId),
    /// Somebody else reads it now, or nobody does.
    Claim(ConfirmationId, Option<Claim>),
}

impl ConfirmationFeed {
    /// The client was told that a question is for it, or that it is not.
    pub fn tells(&mut self, id: &ConfirmationId, offered: bool) {
        match offered {
            true => self.offered.insert(id.clone()),
            false => self.offered.remove(id),
        };
    }

    /// The client was away: what is for it is to be told again.
    pub fn offers_again(&mut self) {
        self.offered.clear();
    }

    /// The client was shown a question as it stands.
    pub fn shows(&mut self, record: &ConfirmationRecord) {
        let id = &record.confirmation.confirmation_id;
        self.tells(id, record.offered);
        match &record.claim {
            Some(claim) => self.claims.insert(id.clone(), claim.clone()),
            None => self.claims.remove(id),
        };
    }

    /// The question is over, and the client was told so.
    pub fn forget(&mut self, id: &ConfirmationId) {
        self.offered.remove(id);
        self.claims.remove(id);
    }

    /// What the client does not know, at most `limit` pieces; and whether there is more.
    pub fn news(&mut self, seen: Vec<ClientConfirmationView>, limit: usize) -> (Vec<ConfirmationNews>, bool) {
        let mut news = Vec::new();
        for ClientConfirmationView { id, offered, claim } in seen {
            if limit <= news.len() {
                return (news, true);
            }
            // That it is not asked any more a client knows best: it went away, or can show less. When it comes back, it
            // is told again.
            if !offered {
                self.offered.remove(&id);
            } else if self.offered.insert(id.clone()) {
                // With the question comes who reads it.
                match claim {
                    Some(claim) => self.claims.insert(id.clone(), claim),
                    None => self.claims.remove(&id),
                };
                news.push(ConfirmationNews::Offered(id));
                continue;
            }
            if self.claims.get(&id) != claim.as_ref() {
                match &claim {
                    Some(claim) => self.claims.insert(id.clone(), claim.clone()),
                    None => self.claims.remove(&id),
                };
                news.push(ConfirmationNews::Claim(id, claim));
            }
        }
        (news, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::Timestamp;

    fn seen(id: &str, offered: bool, until: Option<i64>) -> ClientConfirmationView {
        let claim =
            until.map(|at| Claim { client_id: None, name: None, until: Timestamp(at), answered: false });
        ClientConfirmationView { id: id.into(), offered, claim }
    }

    fn told(news: (Vec<ConfirmationNews>, bool)) -> String {
        let piece = |news: &ConfirmationNews| match news {
            ConfirmationNews::Offered(id) => format!("{id} offered"),
            ConfirmationNews::Claim(id, claim) => {
                format!("{id} {:?}", claim.as_ref().map(|claim| claim.until.0))
            }
        };
        let mut pieces: Vec<String> = news.0.iter().map(piece).collect();
        pieces.extend(news.1.then(|| "more".to_owned()));
        pieces.join(", ")
    }

    #[test]
    fn a_client_is_told_once_and_again_when_it_comes_back() {
        let mut questions = ConfirmationFeed::default();
        type Step<'a> = (&'a [(bool, Option<i64>)], &'a str);
        let steps: [Step; 8] = [
            (&[(false, None), (true, None)], "b offered"),
            (&[(false, None), (true, None)], ""),
            (&[(false, Some(1)), (true, Some(2))], "a Some(1), b Some(2)"),
            (&[(true, Some(1)), (true, Some(3))], "a offered, b Some(3)"),
            (&[(false, None), (false, Some(3))], "a None"),
            (&[(true, None), (true, Some(3))], "a offered, b offered"),
            (&[(true, None), (true, None)], "b None"),
            (&[(true, None), (true, None)], ""),
        ];
        for (step, (states, expected)) in steps.into_iter().enumerate() {
            let ids = ["a", "b"].into_iter().zip(states);
            let seen = ids.map(|(id, (offered, claim))| seen(id, *offered, *claim)).collect();
            assert_eq!(told(questions.news(seen, 9)), expected, "step {step}");
        }
    }

    #[test]
    fn what_is_too_much_at_once_comes_later() {
        let mut questions = ConfirmationFeed::default();
        let all = || ["a", "b", "c"].map(|id| seen(id, true, None)).into();
        questions.tells(&"b".into(), true);
        assert_eq!(told(questions.news(all(), 1)), "a offered, more");
        assert_eq!(told(questions.news(all(), 1)), "c offered");
        questions.forget(&"a".into());
        assert_eq!(told(questions.news(all(), 1)), "a offered, more");
        assert_eq!(told(questions.news(all(), 1)), "");
        questions.offers_again();
        assert_eq!(told(questions.news(all(), 9)), "a offered, b offered, c offered");
    }
}
