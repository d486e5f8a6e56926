//! How may a person answer who has no client? By a token that is bound to one question as it was asked.
//!
//! A token carries what it is bound to, and a code that only this daemon can make: nothing is kept of those that were
//! given out. It can be used once, since a question is answered once, and says nothing about a question that has changed.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use subtle::ConstantTimeEq as _;

use notify::hmac_sha256;
use protocol::ConfirmationId;
use sys::key_file::{self, KeyFileError};

/// What tokens are made with lies in this file of the state folder.
pub(crate) const KEY_FILE: &str = "confirm.key";
/// Begins every code, so that the key signs nothing that could mean something else.
const PURPOSE: &[u8] = b"subagentd confirm 1";
/// How digests of questions begin.
const DIGEST_PREFIX: &str = "sha256:";

/// Makes and checks tokens.
pub(crate) struct ConfirmationTokens {
    key_file: PathBuf,
    /// Held while the key is made: of two made at once one would be lost, and what it signed worth nothing.
    making: Mutex<()>,
}

/// The reason why a token proves nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    /// Made up, cut off, or of another daemon.
    #[error("the token is not one of this daemon's")]
    Wrong,
    /// It cannot be told.
    #[error(transparent)]
    Key(#[from] KeyFileError),
}

impl ConfirmationTokens {
    pub fn new(state_dir: &std::path::Path) -> ConfirmationTokens {
        ConfirmationTokens { key_file: state_dir.join(KEY_FILE), making: Mutex::new(()) }
    }

    /// The token that answers this question as it is. Reads a small file.
    pub fn make(&self, id: &ConfirmationId, digest: &str) -> Result<String, KeyFileError> {
        let key = {
            let _one_at_a_time = self.making.lock().unwrap_or_else(PoisonError::into_inner);
            key_file::read_or_make(&self.key_file)?
        };
        let digest = digest.strip_prefix(DIGEST_PREFIX).unwrap_or(digest);
        Ok(format!("{id}.{digest}.{}", URL_SAFE_NO_PAD.encode(code(&key, id.as_str(), digest))))
    }

    /// The question that a token is bound to, and the digest it had. Reads a small file.
    pub fn check(&self, token: &str) -> Result<(ConfirmationId, String), TokenError> {
        // Without a key there has never been a token.
        let key = key_file::read(&self.key_file)?.ok_or(TokenError::Wrong)?;
        let mut parts = token.splitn(3, '.');
        let (Some(id), Some(digest), Some(shown)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(TokenError::Wrong);
        };
        let shown = URL_SAFE_NO_PAD.decode(shown).map_err(|_| TokenError::Wrong)?;
        // In constant time, so that a wrong code does not tell how much of it is right.
        if !bool::from(shown.ct_eq(&code(&key, id, digest))) {
            return Err(TokenError::Wrong);
        }
        Ok((ConfirmationId::from(id), format!("{DIGEST_PREFIX}{digest}")))
    }
}

fn code(key: &str, id: &str, digest: &str) -> [u8; 32] {
    // Neither part can hold a dot, so that no two pairs are one text: ids are UUIDs, digests are hexadecimal.
    hmac_sha256(key.as_bytes(), &[PURPOSE, b".", id.as_bytes(), b".", digest.as_bytes()])
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    const DIGEST: &str = "sha256:f02705883d94ef76ea68b98f0c15a0a91a1058b3a20eb30681c464ea4ebae59f";

    #[test]
    fn a_token_names_what_it_is_bound_to_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = ConfirmationTokens::new(folder.path());
        let id = ConfirmationId::from("0193a5f0-7b2c-7000-8000-000000000001");
        let token = tokens.make(&id, DIGEST).unwrap();
        assert_eq!(tokens.check(&token).unwrap(), (id.clone(), DIGEST.to_owned()));
        // After a restart too.
        assert_eq!(ConfirmationTokens::new(folder.path()).check(&token).unwrap().0, id);
        let mode = fs::metadata(folder.path().join(KEY_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let (bound, code) = token.rsplit_once('.').unwrap();
        let other = tokens.make(&ConfirmationId::from("0193a5f0-7b2c-7000-8000-000000000002"), DIGEST);
        let older = tokens.make(&id, "sha256:00");
        for wrong in [
            String::new(),
            "x".to_owned(),
            bound.to_owned(),
            format!("{bound}."),
            format!("{bound}.{}", &code[..code.len() - 1]),
            format!("{bound}.{code}A"),
            format!("{bound}0.{code}"),
            format!("{}.{code}", other.unwrap().rsplit_once('.').unwrap().0),
            format!("{}.{code}", older.unwrap().rsplit_once('.').unwrap().0),
            token.replace(".f02", "f.02"),
        ] {
            assert!(matches!(tokens.check(&wrong), Err(TokenError::Wrong)), "{wrong}");
        }
    }

    #[test]
    fn tokens_that_are_made_at_once_are_all_of_one_key() {
        /// Each in a state folder without a key.
        const ROUNDS: usize = 50;
        for _ in 0..ROUNDS {
            let folder = tempfile::tempdir().unwrap();
            let (tokens, start) = (ConfirmationTokens::new(folder.path()), std::sync::Barrier::new(4));
            let make = |n: usize| {
                start.wait();
                tokens.make(&ConfirmationId::from(n.to_string().as_str()), DIGEST).unwrap()
            };
            let made: Vec<String> = std::thread::scope(|scope| {
                let making: Vec<_> = (0..4).map(|n| scope.spawn(move || make(n))).collect();
                making.into_iter().map(|it| it.join().unwrap()).collect()
            });
            for token in made {
                tokens.check(&token).unwrap();
            }
        }
    }

    #[test]
    fn tokens_of_another_key_are_wrong_and_a_key_that_others_may_know_is_not_used() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let id = ConfirmationId::from("c");
        let (ours, theirs) = (ConfirmationTokens::new(one.path()), ConfirmationTokens::new(other.path()));
        let token = ours.make(&id, DIGEST).unwrap();
        assert!(matches!(theirs.check(&token), Err(TokenError::Wrong)), "there is no key");
        theirs.make(&id, DIGEST).unwrap();
        assert!(matches!(theirs.check(&token), Err(TokenError::Wrong)));
        let key_file = one.path().join(KEY_FILE);
        fs::set_permissions(&key_file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(ours.check(&token), Err(TokenError::Key(KeyFileError::Unsafe { .. }))));
        assert!(ours.make(&id, DIGEST).is_err());
    }
}
