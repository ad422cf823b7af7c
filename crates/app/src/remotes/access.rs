//! How a remote is reached: what is checked of it when it is given, and the credential, sealed at rest and opened for the
//! worker that publishes alone.
//!
//! A credential is sealed for the remote, the version at which it was given, and the server: it opens for no other, so
//! that nobody who writes into the database can have it sent elsewhere. No error here quotes one.

use pinhole_contract::{RemoteCredentialKind, RemoteCredentialView};
use pinhole_core::{Error, RemoteAccess, RemoteCredential, Result, Sha256Digest};
use pinhole_store::{CredentialFacts, Remote, SealedCredential};
use serde_json::{Value, json};

use super::{
    address::{Transport, server},
    certificates, ssh_key,
};
use crate::{App, reseal::sealed_anew, unit::Unit};

/// Greatest length of a user and a password in characters.
const MAX_USER: usize = 200;
const MAX_PASSWORD: usize = 4096;

/// What is given with a URL, in the form in which it is stored.
///
/// # Errors
/// `invalid_arguments` that names the member: what does not go with the URL, or is of no use.
pub(super) fn checked(url: &str, access: RemoteAccess) -> Result<RemoteAccess> {
    let RemoteAccess { credential, host_key, certificate_authorities } = access;
    let transport = Transport::of(url);
    match (&host_key, transport) {
        (None, Transport::Ssh) => {
            let reason = "an ssh:// URL needs it: without it no server is believed. Ask the server's keeper, or run \
                          ssh-keyscan HOST | ssh-keygen -lf - and compare";
            return Err(Error::invalid("host_key", reason));
        }
        (Some(key), Transport::Ssh) if !RemoteAccess::is_host_key(key) => {
            return Err(Error::invalid("host_key", "expected SHA256: and 43 characters, as ssh-keygen -l shows it"));
        }
        (Some(_), Transport::Https | Transport::Local) => {
            return Err(Error::invalid("host_key", "only an ssh:// URL has one"));
        }
        _ => {}
    }
    let certificate_authorities = match certificate_authorities {
        None => None,
        Some(_) if transport != Transport::Https => {
            return Err(Error::invalid("certificate_authorities", "only an https:// URL has them"));
        }
        Some(text) => Some(certificates::check(&text)?),
    };
    let credential = credential.map(|credential| checked_credential(transport, credential)).transpose()?;
    Ok(RemoteAccess { credential, host_key, certificate_authorities })
}

fn checked_credential(transport: Transport, credential: RemoteCredential) -> Result<RemoteCredential> {
    match (credential, transport) {
        (RemoteCredential::Password { user, password }, Transport::Https) => {
            let is_plain = |text: &str, max: usize| {
                (1..=max).contains(&text.chars().count()) && !text.chars().any(char::is_control)
            };
            if !is_plain(&user, MAX_USER) || user.contains(':') {
                let reason = "expected 1 to 200 characters, none of them a colon or a control character";
                return Err(Error::invalid("credential.password.user", reason));
            }
            if !is_plain(&password, MAX_PASSWORD) {
                let reason = "expected 1 to 4096 characters, none of them a line's end or another control character";
                return Err(Error::invalid("credential.password.password", reason));
            }
            Ok(RemoteCredential::Password { user, password })
        }
        (RemoteCredential::SshKey { private_key }, Transport::Ssh) => {
            let field = "credential.ssh_key.private_key";
            if private_key.len() > RemoteCredential::MAX_SECRET_BYTES {
                return Err(Error::invalid(field, "expected at most 16384 bytes"));
            }
            Ok(RemoteCredential::SshKey { private_key: ssh_key::check(field, &private_key)?.text })
        }
        (_, Transport::Https) => Err(Error::invalid("credential", "an https:// URL takes a user with a password")),
        (_, Transport::Ssh) => Err(Error::invalid("credential", "an ssh:// URL takes a private key")),
        (_, Transport::Local) => Err(Error::invalid("credential", "a path of this machine takes none")),
    }
}

/// Seals a checked credential for `remote` at its version.
pub(super) fn seal(unit: &Unit, remote: &Remote, credential: &RemoteCredential) -> Result<SealedCredential> {
    let facts = match credential {
        RemoteCredential::Password { user, .. } => CredentialFacts::Password { user: user.clone() },
        RemoteCredential::SshKey { private_key } => {
            CredentialFacts::SshKey { public_key: ssh_key::check("private_key", private_key)?.public_key }
        }
    };
    let text = serde_json::to_vec(credential).map_err(Error::internal)?;
    let sealed = unit.app().sealer()?.seal(&text, &context(remote, remote.version))?;
    Ok(SealedCredential { facts, sealed, version: remote.version, set_at: unit.now() })
}

/// How `remote` is reached, with its credential opened.
///
/// # Errors
/// `conflict` with reason `credential_sealed` when it does not open.
pub(crate) fn open(app: &App, remote: &Remote) -> Result<RemoteAccess> {
    let opened = |stored: &SealedCredential| {
        let bytes = app.sealer()?.open(&stored.sealed, &context(remote, stored.version))?;
        serde_json::from_slice::<RemoteCredential>(&bytes).map_err(|_| Error::internal("a credential of no known form"))
    };
    let credential = remote.credential.as_ref().map(opened).transpose().map_err(|error| {
        let message = format!(
            "the credential of the remote {} does not open: its master key is missing, or it was sealed for another \
             server; restore the key, or give the credential anew",
            remote.slug
        );
        Error::conflict("credential_sealed", message).with_source(error)
    })?;
    let (host_key, certificate_authorities) = (remote.host_key.clone(), remote.certificate_authorities.clone());
    Ok(RemoteAccess { credential, host_key, certificate_authorities })
}

/// Seals the credentials of at most `limit` remotes anew that are not sealed under the present master key, and answers how
/// many.
pub(crate) async fn reseal_some(unit: &mut Unit, limit: u32) -> Result<u32> {
    let app = unit.app().clone();
    let sealer = app.sealer()?;
    let mut count = 0;
    for remote in unit.remotes_sealed_otherwise(&sealer.prefix()?, limit).await? {
        let Some(stored) = &remote.credential else { continue };
        let anew = sealed_anew(sealer, &stored.sealed, &context(&remote, stored.version)).map_err(|error| {
            let message = format!(
                "the credential of the remote {} does not open: restore its master key, or give or remove the credential; \
                 then run this again",
                remote.slug
            );
            Error::conflict("credential_sealed", message).with_source(error)
        })?;
        unit.reseal_remote(remote.id, &anew).await?;
        count += 1;
    }
    Ok(count)
}

/// What a server is known by: a credential that was given for one goes to no other.
pub(super) fn known_by(remote: &Remote) -> Sha256Digest {
    let Remote { url, host_key, certificate_authorities, .. } = remote;
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    let parts = [server(url).unwrap_or_default(), text(host_key), text(certificate_authorities)];
    Sha256Digest::of(parts.join("\n").as_bytes())
}

/// What a sealed credential belongs to: it opens for nothing else.
fn context(remote: &Remote, version: u32) -> String {
    format!("remote/{}/{version}/{}", remote.id, known_by(remote))
}

pub(super) fn view(stored: SealedCredential) -> RemoteCredentialView {
    let set_at = stored.set_at;
    match stored.facts {
        CredentialFacts::Password { user } => RemoteCredentialView {
            kind: RemoteCredentialKind::Password,
            user: Some(user),
            public_key: None,
            fingerprint: None,
            set_at,
        },
        CredentialFacts::SshKey { public_key } => RemoteCredentialView {
            kind: RemoteCredentialKind::SshKey,
            user: None,
            fingerprint: public_key.as_deref().and_then(ssh_key::fingerprint),
            public_key,
            set_at,
        },
    }
}

/// What an audit row says of how a remote is reached.
pub(super) fn detail(remote: &Remote) -> Value {
    let certificates = remote.certificate_authorities.as_deref().map(certificates::fingerprints);
    let credential =
        remote.credential.as_ref().map(|stored| json!({ "facts": stored.facts, "version": stored.version }));
    json!({ "host_key": remote.host_key, "certificate_authorities": certificates, "credential": credential })
}
