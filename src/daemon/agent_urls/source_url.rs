//! What does a URL ask for from which agents are imported: one file, or a repository?

use url::Url;

use web::WebTarget;

/// Longer URLs are data, not addresses.
const LONGEST: usize = 4 * 1024;
/// Longer names of branches and tags no file system can hold.
const LONGEST_REFERENCE: usize = 255;

/// What a URL asks for, as far as it tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceUrl {
    File(WebTarget),
    Repository(RemoteRepository),
}

/// A repository that git can fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteRepository {
    /// As git takes it. Never begins with `-`, and holds no password.
    pub address: String,
    /// Transports that git may use for it (`GIT_ALLOW_PROTOCOL`): a rewritten URL (`insteadOf`) may lead from https to ssh, but
    /// nothing from elsewhere to this machine.
    pub transports: &'static str,
    /// A branch, a tag or a whole commit id; `None` = what the repository shows first.
    pub reference: Option<String>,
}

const REMOTE: &str = "https:ssh";
const LOCAL: &str = "file";

impl SourceUrl {
    /// An error says what is wrong, and never repeats the URL: there may be a password in it.
    pub fn parse(text: &str) -> Result<SourceUrl, String> {
        let text = text.trim();
        if text.is_empty() || LONGEST < text.len() || text.chars().any(char::is_control) {
            return Err(format!("must be a URL of one line and at most {LONGEST} bytes"));
        }
        let (text, is_git) = match text.strip_prefix("git+") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        if !text.contains("://") && text.starts_with("git@") {
            return short(text);
        }
        let url = Url::parse(text).map_err(|error| format!("is none: {error}"))?;
        match url.scheme() {
            "https" if is_git || url.path().trim_end_matches('/').ends_with(".git") => https(url),
            "https" => WebTarget::of(url)
                .map(SourceUrl::File)
                .map_err(|error| format!("{error}; {}", without(&error))),
            "ssh" => ssh(url),
            "file" => file(url),
            "http" | "git" => Err(
                "is not protected on its way, so anybody there could change what comes; name it with https"
                    .to_owned(),
            ),
            other => {
                Err(format!("begins with `{other}:`; https, ssh, file and git@HOST:PATH can be fetched"))
            }
        }
    }

    /// For people and logs: without what could be a secret.
    pub fn shown(&self) -> String {
        match self {
            SourceUrl::File(target) => match target.url().query() {
                None => target.to_string(),
                Some(_) => {
                    let mut url = target.url().clone();
                    url.set_query(None);
                    format!("{url}?…")
                }
            },
            SourceUrl::Repository(RemoteRepository { address, reference, .. }) => match reference {
                None => address.clone(),
                Some(reference) => format!("{address}#{reference}"),
            },
        }
    }
}

fn without(error: &web::BadUrl) -> &'static str {
    match error {
        web::BadUrl::Credentials => {
            "download the file yourself, or name its repository (git+https://… asks git's own credential helper)"
        }
        _ => "name an agent's file, or a repository (git+https://…)",
    }
}

fn https(mut url: Url) -> Result<SourceUrl, String> {
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "has a user or a password in it, which others would see; let git's credential helper know them"
                .to_owned(),
        );
    }
    if url.query().is_some() {
        return Err("has a `?` in it, which no repository's URL needs".to_owned());
    }
    let reference = reference(url.fragment())?;
    url.set_fragment(None);
    Ok(repository(url.to_string(), REMOTE, reference))
}

fn ssh(mut url: Url) -> Result<SourceUrl, String> {
    if url.password().is_some() {
        return Err("has a password in it, which others would see; ssh takes keys".to_owned());
    }
    let host = url.host_str().unwrap_or_default();
    // What begins so would be an option of ssh's.
    if host.is_empty()
        || [host, url.username()].iter().any(|part| part.starts_with('-') || part.contains('%'))
    {
        return Err("names no host that ssh could reach".to_owned());
    }
    if url.query().is_some() {
        return Err("has a `?` in it, which no repository's URL needs".to_owned());
    }
    let reference = reference(url.fragment())?;
    url.set_fragment(None);
    Ok(repository(url.to_string(), REMOTE, reference))
}

fn file(mut url: Url) -> Result<SourceUrl, String> {
    if url.host_str().is_some_and(|host| !host.is_empty()) || url.path().len() < 2 || url.query().is_some() {
        return Err("must be file:// and the absolute path of a repository".to_owned());
    }
    let reference = reference(url.fragment())?;
    url.set_fragment(None);
    Ok(repository(url.to_string(), LOCAL, reference))
}

/// `git@host:path`, as forges show it.
fn short(text: &str) -> Result<SourceUrl, String> {
    let (address, fragment) = match text.split_once('#') {
        Some((address, fragment)) => (address, Some(fragment)),
        None => (text, None),
    };
    let parts = address.strip_prefix("git@").and_then(|rest| rest.split_once(':'));
    let is_plain =
        |text: &str| !text.is_empty() && !text.starts_with('-') && !text.contains(char::is_whitespace);
    let is_host = |host: &str| host.chars().all(|it| it.is_ascii_alphanumeric() || ".-".contains(it));
    if !parts.is_some_and(|(host, path)| is_plain(host) && is_host(host) && is_plain(path)) {
        return Err("must be git@HOST:PATH".to_owned());
    }
    Ok(repository(address.to_owned(), REMOTE, reference(fragment)?))
}

fn repository(address: String, transports: &'static str, reference: Option<String>) -> SourceUrl {
    SourceUrl::Repository(RemoteRepository { address, transports, reference })
}

/// A name that git allows (`git check-ref-format`), and that means nothing else to `git fetch`.
fn reference(fragment: Option<&str>) -> Result<Option<String>, String> {
    let Some(fragment) = fragment.filter(|fragment| !fragment.is_empty()) else { return Ok(None) };
    let is_odd =
        |letter: char| letter.is_whitespace() || letter.is_control() || "~^:?*[\\%@{}".contains(letter);
    let is_bad = fragment.starts_with(['-', '+', '/', '.'])
        || fragment.ends_with(['/', '.'])
        || fragment.contains("..")
        || fragment.contains("//")
        || fragment.contains(is_odd);
    match is_bad || LONGEST_REFERENCE < fragment.len() {
        false => Ok(Some(fragment.to_owned())),
        true => Err("must have a branch, a tag or a whole commit id behind the `#`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_a_file_or_a_repository_or_is_refused() {
        let cases = [
            ("https://Example.com/a/x.md", "file https://example.com/a/x.md"),
            ("https://example.com/raw?id=3", "file https://example.com/raw?…"),
            ("https://example.com/x.md#top", "file https://example.com/x.md"),
            ("https://example.com/o/r.git", "https:ssh https://example.com/o/r.git"),
            ("https://example.com/o/r.git/#v1.2", "https:ssh https://example.com/o/r.git/#v1.2"),
            ("git+https://example.com/o/r#feature/a-b", "https:ssh https://example.com/o/r#feature/a-b"),
            ("ssh://git@example.com:2222/o/r", "https:ssh ssh://git@example.com:2222/o/r"),
            ("git+ssh://example.com/o/r#main", "https:ssh ssh://example.com/o/r#main"),
            ("git@example.com:o/r.git#main", "https:ssh git@example.com:o/r.git#main"),
            ("git+file:///srv/r", "file file:///srv/r"),
            ("file:///srv/a b#x", "file file:///srv/a%20b#x"),
            ("http://example.com/x.md", "is not protected on its way"),
            ("git://example.com/r.git", "is not protected on its way"),
            ("git+http://example.com/r", "is not protected on its way"),
            ("git+ext::sh", "begins with `ext:`"),
            ("ext::sh -c id", "begins with `ext:`"),
            ("ftp://example.com/x.md", "begins with `ftp:`"),
            ("https://user:secret@example.com/x.md", "has a user or a password"),
            ("https://secret@example.com/r.git", "has a user or a password"),
            ("ssh://git:secret@example.com/r", "has a password"),
            ("ssh://-oProxyCommand=id/r", "names no host"),
            ("ssh://-l@example.com/r", "names no host"),
            ("git@-oProxyCommand=id:r", "must be git@HOST:PATH"),
            ("git@example.com:-r", "must be git@HOST:PATH"),
            ("git@example.com", "must be git@HOST:PATH"),
            ("https://example.com/r.git#--upload-pack=id", "must have a branch"),
            ("https://example.com/r.git#+a", "must have a branch"),
            ("https://example.com/r.git#a:b", "must have a branch"),
            ("https://example.com/r.git#a..b", "must have a branch"),
            ("https://example.com/r.git?x=secret", "has a `?`"),
            ("file://host/r", "must be file://"),
            ("file:///", "must be file://"),
            ("/srv/r", "is none"),
            ("", "must be a URL"),
            ("https://example.com/a\nb", "must be a URL"),
        ];
        for (text, expected) in cases {
            let told = match SourceUrl::parse(text) {
                Ok(url @ SourceUrl::File(_)) => format!("file {}", url.shown()),
                Ok(SourceUrl::Repository(repository)) => {
                    let transports = repository.transports;
                    format!("{transports} {}", SourceUrl::Repository(repository).shown())
                }
                Err(told) => told,
            };
            assert!(told.starts_with(expected), "{text}: {told}");
            assert!(!told.contains("secret"), "{text}: {told}");
        }
    }
}
