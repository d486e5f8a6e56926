//! What is said to whoever cannot have what they asked for? For people: what is wrong, and what to do; for programs a word.

use serde_json::json;

use super::{git::GitError, source_url::RemoteRepository};
use crate::wire_errors::internal;
use protocol::{ErrorKind, RpcError};
use web::WebError;

/// What is known to git's messages (with `LC_ALL=C`), the word for it, and what to do. The first that fits counts.
const KNOWN: [(&[&str], &str, &str, &str); 9] = [
    (
        &["Could not resolve host", "Name or service not known", "Temporary failure in name resolution"],
        "noSuchHost",
        "names a host that nobody knows",
        "look whether it is spelled well, and whether this machine is online",
    ),
    (
        &["Host key verification failed"],
        "refused",
        "is on a host whose key ssh does not know yet",
        "connect to it once with ssh, and look at its key",
    ),
    (
        &[
            "terminal prompts disabled",
            "could not read Username",
            "could not read Password",
            "Authentication failed",
            "Permission denied (",
            "HTTP Basic: Access denied",
        ],
        "needsPassword",
        "is not there, or asks for a password or a key that git does not have here",
        "look at the URL; let git know what it needs (a credential helper, ssh-agent) until `git ls-remote URL` asks nothing",
    ),
    (
        &[
            "couldn't find remote ref",
            "not our ref",
            "no matching remote head",
            "Server does not allow request",
        ],
        "notFound",
        "has no such branch, tag or commit",
        "name a branch, a tag or all 40 digits of a commit behind the `#`",
    ),
    (
        &["dubious ownership"],
        "refused",
        "belongs to another user of this machine, whom git does not trust",
        "git's setting safe.directory trusts it; or clone it yourself and import the folder",
    ),
    (
        &[
            "does not appear to be a git repository",
            "Repository not found",
            "not found",
            "does not exist",
            "not a git repository",
            "No such file or directory",
        ],
        "notFound",
        "is no repository",
        "look whether it is spelled well; of a private one git must know how to get in",
    ),
    (
        &["transport '", "not allowed"],
        "refused",
        "leads to a transport that is not used here",
        "look at git's settings url.*.insteadOf",
    ),
    (
        &["SSL certificate problem", "server certificate verification failed"],
        "refused",
        "is on a host that cannot prove who it is",
        "look whether the URL is spelled well, and which certificates this machine trusts",
    ),
    (
        &[
            "Failed to connect",
            "Connection refused",
            "Connection timed out",
            "Could not connect",
            "Connection reset",
            "Operation too slow",
            "Connection closed",
            "early EOF",
            "unexpected disconnect",
        ],
        "unreachable",
        "cannot be reached, or was cut off",
        "try again in a while",
    ),
];

/// Characters of what git says that are shown.
const SHOWN: usize = 200;

/// What a URL does not give. `reason` is for programs, in `details.reason`.
pub fn refused(reason: &'static str, shown: &str, message: String) -> RpcError {
    let kind = match reason {
        "refused" | "needsPassword" => ErrorKind::Forbidden,
        "tooLarge" => ErrorKind::LimitExceeded,
        _ => ErrorKind::NotFound,
    };
    let mut error = RpcError::new(kind, format!("{shown} {message}; nothing was written"))
        .with_details(json!({ "reason": reason }));
    error.data.retryable = ["timedOut", "unreachable"].contains(&reason);
    error
}

pub fn too_large(shown: &str, message: &str) -> RpcError {
    refused("tooLarge", shown, message.to_owned())
        .with_hint("fetch it yourself, take out what you want, and import the folder")
}

pub fn of_git(error: GitError, repository: &RemoteRepository, shown: &str) -> RpcError {
    match error {
        GitError::Missing => refused(
            "noGit",
            shown,
            "is a repository, and there is no program `git` here".to_owned(),
        )
        .with_hint(
            "install git where the daemon finds it (PATH), or download the files and import the folder",
        ),
        GitError::TooLarge { bytes } => {
            too_large(shown, &format!("is larger than the {} MiB that are fetched", bytes >> 20))
        }
        GitError::Broken(error) if error.kind() == std::io::ErrorKind::StorageFull => {
            RpcError::new(ErrorKind::StorageFull, "there is no room for what is to be fetched")
        }
        GitError::Broken(error) => internal("git could not be used", &error),
        GitError::Failed(said) => of_words(&said, repository, shown),
    }
}

fn of_words(said: &str, repository: &RemoteRepository, shown: &str) -> RpcError {
    if said.contains("No space left on device") {
        return RpcError::new(ErrorKind::StorageFull, "there is no room for what is to be fetched");
    }
    let known = KNOWN.iter().find(|(signs, ..)| signs.iter().any(|sign| said.contains(sign)));
    if let Some((_, reason, message, hint)) = known {
        // Without a name it has no commit at all.
        let is_empty = *message == KNOWN[3].2 && repository.reference.is_none();
        let message = if is_empty { "has no commit yet" } else { message };
        return refused(reason, shown, message.to_owned()).with_hint(*hint);
    }
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines().find(|line| line.starts_with("fatal:")).or_else(|| lines().next_back());
    let line: String =
        line.unwrap_or("and did not say why").chars().filter(|it| !it.is_control()).take(SHOWN).collect();
    refused("unreachable", shown, format!("could not be fetched; git said: {line}"))
        .with_hint("`git ls-remote URL` says more; a folder that you have cloned can be imported as well")
}

pub fn of_web(error: &WebError, shown: &str) -> RpcError {
    let (reason, message, hint) = match error {
        WebError::BadUrl(what) => ("badUrl", format!("cannot be fetched: the URL {what}"), "look at the URL"),
        WebError::Refused { .. } => (
            "refused",
            format!("is not fetched: {error}"),
            "open the host, if it is yours; or download the file and import it",
        ),
        WebError::NoSuchHost { .. } => (
            "noSuchHost",
            "names a host that nobody knows".to_owned(),
            "look whether it is spelled well, and whether this machine is online",
        ),
        WebError::Unreachable { reason, .. } => {
            ("unreachable", format!("cannot be reached: {reason}"), "try again in a while")
        }
        WebError::Moved { location, .. } => {
            let mut location = location.clone();
            // There may be a key in it.
            location.set_query(None);
            ("moved", format!("has moved to {location}"), "name that URL, if it is what you want")
        }
        WebError::TooManyRedirects(_) => ("moved", format!("leads nowhere: {error}"), "name the file itself"),
        WebError::Status { status: 401 | 403, .. } => (
            "needsPassword",
            "is not there, or only for those who log in".to_owned(),
            "look at the URL; download the file yourself, or name its repository, for which git may know a key",
        ),
        WebError::Status { status: 404 | 410, .. } => {
            ("notFound", "is not there".to_owned(), "look whether it is spelled well")
        }
        WebError::Status { .. } => ("unreachable", format!("did not come: {error}"), "try again in a while"),
        WebError::TooLarge { .. } => (
            "tooLarge",
            "is larger than the 1024 KiB that an agent's file may hold".to_owned(),
            "name a smaller file, or a repository (git+https://…)",
        ),
        WebError::TimedOut { seconds } => {
            ("timedOut", format!("did not come whole within {seconds} s"), "try again in a while")
        }
        WebError::Broken(_) | WebError::Unreadable(_) => {
            ("unreachable", format!("did not come as it should: {error}"), "try again in a while")
        }
    };
    refused(reason, shown, message).with_hint(hint)
}
