//! How a Git server is reached beside its URL: who we are to it, and how it is known. It travels to the child process
//! that speaks to the server, and is never shown: `Debug` tells what there is and not what it says.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a Git server is told and asked for. Nothing is needed for a repository on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteAccess {
    /// Who we are; `None` for a server that lets everybody in.
    pub credential: Option<RemoteCredential>,
    /// The server's SSH host key: `SHA256:` and base64 without padding, as `ssh-keygen -l` shows it. Without it no SSH
    /// server is believed.
    pub host_key: Option<String>,
    /// Certificates in PEM by which an HTTPS server is known, in place of those of the system.
    pub certificate_authorities: Option<String>,
}

impl RemoteAccess {
    /// Whether `text` is the written form of an SSH host key: `SHA256:` and 32 bytes in base64 without padding, of which
    /// the last character holds four bits.
    #[must_use]
    pub fn is_host_key(text: &str) -> bool {
        let Some((last, rest)) = text.strip_prefix("SHA256:").and_then(|digest| digest.as_bytes().split_last()) else {
            return false;
        };
        let is_digit = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
        rest.len() == 42 && rest.iter().all(is_digit) && b"AEIMQUYcgkosw048".contains(last)
    }
}

/// Who we are to a Git server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RemoteCredential {
    /// For HTTPS: a user, and a password or an access token.
    Password {
        /// The user.
        user: String,
        /// The password or token.
        password: String,
    },
    /// For SSH: the user is the URL's.
    SshKey {
        /// An unencrypted private key, in the form of OpenSSH or PEM.
        private_key: String,
    },
}

impl RemoteCredential {
    /// Greatest size of a private key in bytes; no password of ours has more.
    pub const MAX_SECRET_BYTES: usize = 16 * 1024;
}

impl fmt::Debug for RemoteCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Password { .. } => "Password",
            Self::SshKey { .. } => "SshKey",
        })
    }
}
