//! Why an operation failed, and what libgit2's errors mean for whoever tries again.

use git2::{ErrorClass, ErrorCode};

use crate::{FailureKind, GitAnswer};

/// Greatest number of characters of a message from outside.
const MAX_CHARS: usize = 500;

/// A failed operation.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: FailureKind,
    why: String,
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, why: impl AsRef<str>) -> Self {
        Self { kind, why: one_line(why.as_ref()) }
    }

    pub(crate) fn invalid(why: impl AsRef<str>) -> Self {
        Self::new(FailureKind::Invalid, why)
    }

    pub(crate) fn configuration(why: impl AsRef<str>) -> Self {
        Self::new(FailureKind::Configuration, why)
    }

    /// Puts what was being done before the reason.
    pub(crate) fn while_(self, doing: &str) -> Self {
        Self::new(self.kind, format!("{doing}: {}", self.why))
    }

    pub(crate) fn kind(&self) -> FailureKind {
        self.kind
    }

    pub(crate) fn why(&self) -> &str {
        &self.why
    }

    pub(crate) fn into_answer(self) -> GitAnswer {
        GitAnswer::Failed { kind: self.kind, why: self.why }
    }
}

impl From<git2::Error> for Failure {
    /// What is not known to be permanent is taken to be transient: attempts are bounded, and a look comes first.
    fn from(error: git2::Error) -> Self {
        let kind = match (error.code(), error.class()) {
            (ErrorCode::Auth | ErrorCode::Certificate | ErrorCode::Owner | ErrorCode::BareRepo, _) => {
                FailureKind::Configuration
            }
            (ErrorCode::InvalidSpec | ErrorCode::Invalid, _) => FailureKind::Invalid,
            (ErrorCode::NotFound, ErrorClass::Repository | ErrorClass::Os | ErrorClass::Http) => {
                FailureKind::Configuration
            }
            (ErrorCode::NotFound | ErrorCode::HashsumMismatch, ErrorClass::Odb | ErrorClass::Zlib) => {
                FailureKind::Scratch
            }
            (_, ErrorClass::Http | ErrorClass::Net | ErrorClass::Ssh | ErrorClass::Ssl) => of_server(error.message()),
            _ => FailureKind::Transient,
        };
        Self::new(kind, error.message())
    }
}

/// What a server's refusal means. libgit2 has numbers for few of them, so its words and those of Git's servers count.
fn of_server(message: &str) -> FailureKind {
    /// How libgit2 begins to tell of a status of HTTP.
    const STATUS: &str = "unexpected http status code: ";
    /// Statuses between 400 and 499 that pass: a request that was too slow, too early, or one too many.
    const PASSING: [u16; 3] = [408, 425, 429];
    const PERMANENT: [&str; 16] = [
        // libgit2: a server that is not known, a credential that is no key, another protocol, and redirects.
        "certificate is invalid",
        "does not match certificate",
        "failed to authenticate",
        "invalid content-type",
        "no content-type",
        "wrong version number",
        "cannot redirect",
        "unexpected redirect",
        "too many redirects",
        // Git, GitHub, GitLab: what is not there, or not for us.
        "does not appear to be a git repository",
        "repository not exported",
        "not found",
        "could not be found",
        "permission denied",
        "access denied",
        "write access to repository not granted",
    ];
    let message = message.to_lowercase();
    let status = message.strip_prefix(STATUS).and_then(|status| status.trim().parse::<u16>().ok());
    let permanent = match status {
        Some(status) => (400..500).contains(&status) && !PASSING.contains(&status),
        None => PERMANENT.iter().any(|words| message.contains(words)),
    };
    if permanent { FailureKind::Configuration } else { FailureKind::Transient }
}

/// Text from outside without control characters, at most [`MAX_CHARS`] long.
pub(crate) fn one_line(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    clean.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_say_means_what_may_help() {
        for (message, permanent) in [
            ("unexpected http status code: 401", true),
            ("unexpected http status code: 403", true),
            ("unexpected http status code: 413", true),
            ("unexpected http status code: 408", false),
            ("unexpected http status code: 429", false),
            ("unexpected http status code: 502", false),
            ("invalid content-type: 'text/html'", true),
            ("the SSL certificate is invalid", true),
            ("ERROR: Repository not found.", true),
            ("fatal: '/srv/x.git' does not appear to be a git repository", true),
            ("remote: The project you were looking for could not be found", true),
            ("git@host: Permission denied (publickey).", true),
            ("early EOF", false),
            ("the remote end hung up unexpectedly", false),
            ("SSL error: received early EOF", false),
            ("failed to connect to 127.0.0.1: Connection refused", false),
        ] {
            assert_eq!(of_server(message) == FailureKind::Configuration, permanent, "{message}");
        }
    }
}
