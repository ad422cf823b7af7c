//! Who we are to a server, and how it is known. A credential is given once, a server is known by what the remote names
//! for it, and no file of the user's is asked. It must not let a secret into any message.

use std::cell::{Cell, RefCell};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD},
};
use git2::{CertificateCheckStatus, Cred, CredentialType, ErrorClass, ErrorCode, RemoteCallbacks, cert::Cert};
use pinhole_core::{RemoteAccess, RemoteCredential};

use crate::failure::Failure;

/// The user of an SSH server whose URL names none.
const SSH_USER: &str = "git";

/// What one connection has asked for, and why it was refused.
pub(crate) struct Handshake<'a> {
    access: &'a RemoteAccess,
    url: &'a str,
    /// Whether the credential was given: a server that asks again does not take it.
    given: Cell<bool>,
    /// libgit2 passes on the number of an error of ours and not always its words.
    refused: RefCell<Option<Failure>>,
}

impl<'a> Handshake<'a> {
    pub(crate) fn new(access: &'a RemoteAccess, url: &'a str) -> Self {
        Self { access, url, given: Cell::new(false), refused: RefCell::new(None) }
    }

    /// The callbacks of one connection, to which others can be added.
    pub(crate) fn callbacks(&self) -> RemoteCallbacks<'_> {
        let mut callbacks = RemoteCallbacks::new();
        callbacks
            .credentials(|url, user, kinds| self.credential(url, user, kinds).map_err(|failure| self.refuse(failure)));
        callbacks.certificate_check(|certificate, _| self.certificate(certificate));
        callbacks
    }

    /// Why the connection failed.
    pub(crate) fn failure(&self, error: git2::Error) -> Failure {
        let message = self.redact(error.message());
        self.refused.take().unwrap_or_else(|| match error.code() {
            // In the middle of an operation libgit2 does not ask again.
            ErrorCode::Auth => Failure::configuration(format!("the server refuses the credential: {message}")),
            code => git2::Error::new(code, error.class(), message).into(),
        })
    }

    /// `text` without the secrets, should a server have repeated one.
    pub(crate) fn redact(&self, text: &str) -> String {
        let secrets = match &self.access.credential {
            None => Vec::new(),
            Some(RemoteCredential::Password { user, password }) => {
                vec![password.clone(), STANDARD.encode(format!("{user}:{password}"))]
            }
            Some(RemoteCredential::SshKey { private_key }) => private_key.lines().map(str::to_owned).collect(),
        };
        let secrets = secrets.iter().filter(|secret| !secret.is_empty());
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }

    fn refuse(&self, failure: Failure) -> git2::Error {
        let error = git2::Error::new(ErrorCode::User, ErrorClass::Callback, failure.why());
        self.refused.replace(Some(failure));
        error
    }

    fn credential(&self, url: &str, user: Option<&str>, kinds: CredentialType) -> Result<Cred, Failure> {
        if kinds.contains(CredentialType::USERNAME) {
            return Ok(Cred::username(SSH_USER)?);
        }
        if !is_same(url, self.url) {
            return Err(Failure::configuration("the server redirects to another address: name that one"));
        }
        if self.given.replace(true) {
            let why = "the server refuses the credential: check that it is right, has not expired and may do this";
            return Err(Failure::configuration(why));
        }
        match &self.access.credential {
            None => Err(Failure::configuration("the server asks for a credential, and the remote has none")),
            Some(RemoteCredential::Password { user, password })
                if is_https(self.url) && kinds.contains(CredentialType::USER_PASS_PLAINTEXT) =>
            {
                Ok(Cred::userpass_plaintext(user, password)?)
            }
            Some(RemoteCredential::SshKey { private_key }) if kinds.contains(CredentialType::SSH_MEMORY) => {
                Ok(Cred::ssh_key_from_memory(user.unwrap_or(SSH_USER), None, private_key, None)?)
            }
            Some(_) => Err(Failure::configuration(
                "the server does not take this kind of credential: HTTPS takes a user with a password, SSH a key",
            )),
        }
    }

    /// Certificates are for OpenSSL to judge, host keys for us. Of several host keys a server shows the one that libssh2
    /// asks for first: Ed25519, then ECDSA, then RSA.
    fn certificate(&self, certificate: &Cert<'_>) -> Result<CertificateCheckStatus, git2::Error> {
        if certificate.as_x509().is_some() {
            return Ok(CertificateCheckStatus::CertificatePassthrough);
        }
        let key = certificate.as_hostkey();
        let shown =
            key.and_then(|key| key.hash_sha256()).map(|hash| format!("SHA256:{}", STANDARD_NO_PAD.encode(hash)));
        let kind = key.and_then(|key| key.hostkey_type()).map_or("unknown", |kind| kind.name());
        let why = match (&self.access.host_key, shown) {
            (Some(pinned), Some(shown)) if *pinned == shown => return Ok(CertificateCheckStatus::CertificateOk),
            (Some(pinned), Some(shown)) => {
                format!("the server shows the host key {shown} ({kind}), and the remote names {pinned}")
            }
            (None, Some(shown)) => {
                format!(
                    "the server shows the host key {shown} ({kind}), and the remote names none: name it if it is right"
                )
            }
            (_, None) => "the server shows no host key".to_owned(),
        };
        Err(self.refuse(Failure::configuration(why)))
    }
}

fn is_https(url: &str) -> bool {
    url.starts_with("https://")
}

/// Whether libgit2 still speaks to where it was sent: it follows a redirect to another path or port of the same host,
/// and that is seen only where a credential is asked for afterwards.
fn is_same(asking: &str, url: &str) -> bool {
    let plain = |url: &str| {
        let url = url.replacen(":443/", "/", 1).replacen(":22/", "/", 1);
        url.trim_end_matches('/').to_ascii_lowercase()
    };
    plain(asking) == plain(url)
}
