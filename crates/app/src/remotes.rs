//! Git remotes: those of the server's own configuration, which alone may name paths of its machine, and those that an
//! administrator puts.
//!
//! A credential is sealed within the transaction that stores it and is in no audit row, event, error or answer. No edit
//! sends one to another server than the one that it was given for.

mod access;
mod address;
mod certificates;
mod pem;
mod ssh_key;
#[cfg(test)]
mod tests;

use pinhole_contract::{ListRemotes, PutRemote, RemoteCredentialChange, RemoteList, RemoteView};
use pinhole_core::{Actor, Error, LineName, RemoteAccess, RemoteCredential, RemoteId, Result, Slug};
use pinhole_store::{Remote, SealedCredential};
use serde_json::json;

use crate::{App, idempotency::expect_version, page, unit::Unit};

pub(crate) use access::{open as open_access, reseal_some};

impl App {
    /// Adds a Git remote of the server's own configuration that is reached without a credential, or changes the one with
    /// this slug.
    ///
    /// # Errors
    /// Those of [`App::put_configured_remote`].
    pub async fn put_remote(&self, slug: &Slug, url: &str, branches: &[String]) -> Result<()> {
        self.put_configured_remote(slug, url, branches, &RemoteAccess::default()).await
    }

    /// Adds a Git remote of the server's own configuration, or changes the one with this slug. Its credential is sealed
    /// in the database like any other.
    ///
    /// # Errors
    /// Those of [`check_remote`] and of the database; `internal` for a credential in a process without a master key.
    pub async fn put_configured_remote(
        &self,
        slug: &Slug,
        url: &str,
        branches: &[String],
        access: &RemoteAccess,
    ) -> Result<()> {
        let (url, access) = (&address::configured(url)?, &access::checked(url, access.clone())?);
        check_branches(branches)?;
        let actor = self.system_actor();
        self.write(&actor, "put_remote", move |unit, _| {
            Box::pin(async move {
                let found = unit.remote_by_slug(slug).await?;
                let same = |found: &Remote| {
                    let opened = access::open(unit.app(), found);
                    let same_place = found.url == *url && found.branches == branches;
                    found.is_configured && same_place && opened.is_ok_and(|opened| opened == *access)
                };
                if found.as_ref().is_some_and(same) {
                    unit.unaudited();
                    return Ok(());
                }
                let mut remote =
                    Remote { is_configured: true, ..next(unit, found.as_ref(), (slug, url, branches), access) };
                if let Some(credential) = &access.credential {
                    remote.credential = Some(access::seal(unit, &remote, credential)?);
                }
                store(unit, &remote).await
            })
        })
        .await
    }
}

/// Whether the server's own configuration may name such a remote.
///
/// # Errors
/// `invalid_arguments` that names the member and quotes nothing that is secret.
pub fn check_remote(url: &str, branches: &[String], access: &RemoteAccess) -> Result<()> {
    access::checked(&address::configured(url)?, access.clone())?;
    check_branches(branches)
}

/// What a call says becomes of the credential.
enum Change {
    Unsaid,
    Keep,
    Remove,
    Give(RemoteCredential),
}

pub(crate) async fn put(app: &App, actor: &Actor, command: PutRemote) -> Result<RemoteView> {
    let PutRemote { slug, url, branches, credential, host_key, certificate_authorities, expected_version } = command;
    let url = address::from_outside(&url)?;
    check_branches(&branches)?;
    let change = change(credential);
    let given = if let Change::Give(credential) = &change { Some(credential.clone()) } else { None };
    let access = access::checked(&url, RemoteAccess { credential: given, host_key, certificate_authorities })?;
    let (slug, url, branches, change, access) = (&slug, &url, &branches[..], &change, &access);
    app.write(actor, "put_remote", move |unit, _| {
        Box::pin(async move {
            unit.authorise_admin().await?;
            let found = unit.remote_by_slug(slug).await?;
            expect_version(expected_version, found.as_ref().map_or(0, |found| found.version))?;
            if found.as_ref().is_some_and(|found| found.is_configured) {
                let message = format!("the server's own configuration names {slug}: change it there");
                return Err(Error::conflict("configured", message));
            }
            let mut remote = next(unit, found.as_ref(), (slug, url, branches), access);
            remote.credential = credential_after(unit, found.as_ref(), &remote, change, access)?;
            store(unit, &remote).await?;
            let stored = unit.remote_by_slug(slug).await?;
            stored.map(view).ok_or_else(|| Error::internal("a remote that was just put is not there"))
        })
    })
    .await
}

pub(crate) async fn list(app: &App, actor: &Actor, command: ListRemotes) -> Result<RemoteList> {
    let after = page::position::<RemoteId>(command.cursor.as_ref())?;
    let limit = command.limit;
    app.read(actor, "list_remotes", move |unit, _| {
        Box::pin(async move {
            unit.authorise_admin().await?;
            let mut found = unit.list_remotes(after, page::to_load(limit)).await?;
            let next_cursor = page::cut(&mut found, limit, |remote| remote.id);
            Ok(RemoteList { remotes: found.into_iter().map(view).collect(), next_cursor })
        })
    })
    .await
}

fn change(credential: Option<RemoteCredentialChange>) -> Change {
    match credential {
        None => Change::Unsaid,
        Some(RemoteCredentialChange::Keep(_)) => Change::Keep,
        Some(RemoteCredentialChange::None(_)) => Change::Remove,
        Some(RemoteCredentialChange::Password { user, password }) => {
            Change::Give(RemoteCredential::Password { user, password: password.expose().to_owned() })
        }
        Some(RemoteCredentialChange::SshKey { private_key }) => {
            Change::Give(RemoteCredential::SshKey { private_key: private_key.expose().to_owned() })
        }
    }
}

/// The next version of the remote that was found, or the first; without a credential.
fn next(
    unit: &Unit,
    found: Option<&Remote>,
    (slug, url, branches): (&Slug, &str, &[String]),
    access: &RemoteAccess,
) -> Remote {
    let (id, version, created_at) = match found {
        Some(found) => (found.id, found.version + 1, found.created_at),
        None => (RemoteId::from_uuid(unit.uuid()), 1, unit.now()),
    };
    Remote {
        id,
        slug: slug.clone(),
        url: url.to_owned(),
        branches: branches.to_vec(),
        host_key: access.host_key.clone(),
        certificate_authorities: access.certificate_authorities.clone(),
        credential: None,
        version,
        is_configured: false,
        created_at,
    }
}

/// The credential of the remote `after` the change.
fn credential_after(
    unit: &Unit,
    before: Option<&Remote>,
    after: &Remote,
    change: &Change,
    access: &RemoteAccess,
) -> Result<Option<SealedCredential>> {
    let stored = before.and_then(|before| Some((before, before.credential.clone()?)));
    match (change, stored) {
        (Change::Give(_), _) => {
            access.credential.as_ref().map(|credential| access::seal(unit, after, credential)).transpose()
        }
        (Change::Remove, _) | (Change::Unsaid, None) => Ok(None),
        (Change::Unsaid, Some(_)) => {
            let message =
                "the remote has a credential: say with credential whether to keep it, to remove it, or give one";
            Err(Error::conflict("credential_unsaid", message))
        }
        (Change::Keep, None) => Err(Error::conflict("no_credential", "the remote has no credential to keep")),
        (Change::Keep, Some((before, stored))) if access::known_by(before) == access::known_by(after) => {
            Ok(Some(stored))
        }
        (Change::Keep, Some(_)) => {
            let message = "the credential was given for another server, or one that was known by another host key or \
                           other certificates: give it anew";
            Err(Error::conflict("credential_needed", message))
        }
    }
}

async fn store(unit: &mut Unit, remote: &Remote) -> Result<()> {
    unit.put_remote(remote).await?;
    let detail = json!({
        "url": address::without_credentials(&remote.url),
        "branches": remote.branches,
        "version": remote.version,
        "configured": remote.is_configured,
        "access": access::detail(remote),
    });
    unit.audit(None, Some(remote.slug.to_string()), detail).await
}

fn view(remote: Remote) -> RemoteView {
    let certificates = remote.certificate_authorities.as_deref().map(certificates::fingerprints);
    RemoteView {
        id: remote.id,
        slug: remote.slug,
        url: address::without_credentials(&remote.url),
        branches: remote.branches,
        credential: remote.credential.map(access::view),
        host_key: remote.host_key,
        certificate_authorities: certificates.unwrap_or_default(),
        version: remote.version,
        configured: remote.is_configured,
        created_at: remote.created_at,
    }
}

fn check_branches(branches: &[String]) -> Result<()> {
    match branches.iter().position(|branch| !is_branch_pattern(branch)) {
        None => Ok(()),
        Some(index) => {
            let reason = "expected the name of a branch as publications name it, with a trailing * for any rest";
            Err(Error::invalid(format!("branches[{index}]"), reason))
        }
    }
}

fn is_branch_pattern(pattern: &str) -> bool {
    let example = match pattern.strip_suffix('*') {
        Some(start) => format!("{start}x"),
        None => pattern.to_owned(),
    };
    example.parse::<LineName>().is_ok()
}
