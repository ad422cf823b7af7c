//! Git remotes: those of the server's own configuration, which alone may name paths of its machine, and those that an
//! administrator puts.

use pinhole_contract::{ListRemotes, PutRemote, RemoteList, RemoteView};
use pinhole_core::{Actor, Error, LineName, RemoteId, Result, Slug};
use pinhole_store::Remote;
use serde_json::json;
use url::Url;

use crate::{App, idempotency::expect_version, page};

impl App {
    /// Adds a Git remote from the server's own configuration, or changes the one with this slug.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn put_remote(&self, slug: &Slug, url: &str, branches: &[String]) -> Result<()> {
        let actor = self.system_actor();
        self.write(&actor, "put_remote", move |unit, _| {
            Box::pin(async move {
                let found = unit.remote_by_slug(slug).await?;
                let same = |found: &Remote| found.is_configured && found.url == url && found.branches == branches;
                if found.as_ref().is_some_and(same) {
                    unit.unaudited();
                    return Ok(());
                }
                let remote = Remote {
                    id: RemoteId::from_uuid(unit.uuid()),
                    slug: slug.clone(),
                    url: url.to_owned(),
                    branches: branches.to_vec(),
                    version: found.map_or(0, |found| found.version) + 1,
                    is_configured: true,
                    created_at: unit.now(),
                };
                unit.put_remote(&remote).await?;
                unit.audit(None, Some(slug.to_string()), json!({ "branches": branches, "configured": true })).await
            })
        })
        .await
    }
}

pub(crate) async fn put(app: &App, actor: &Actor, command: PutRemote) -> Result<RemoteView> {
    let url = &check_url(&command.url)?;
    check_branches(&command.branches)?;
    let command = &command;
    app.write(actor, "put_remote", move |unit, _| {
        Box::pin(async move {
            unit.authorise_admin().await?;
            let found = unit.remote_by_slug(&command.slug).await?;
            let present = found.as_ref().map_or(0, |found| found.version);
            expect_version(command.expected_version, present)?;
            if found.is_some_and(|found| found.is_configured) {
                let message = format!("the server's own configuration names {}: change it there", command.slug);
                return Err(Error::conflict("configured", message));
            }
            let remote = Remote {
                id: RemoteId::from_uuid(unit.uuid()),
                slug: command.slug.clone(),
                url: url.clone(),
                branches: command.branches.clone(),
                version: present + 1,
                is_configured: false,
                created_at: unit.now(),
            };
            unit.put_remote(&remote).await?;
            let detail = json!({ "url": remote.url, "branches": remote.branches, "version": remote.version });
            unit.audit(None, Some(remote.slug.to_string()), detail).await?;
            let stored = unit.remote_by_slug(&command.slug).await?;
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

fn view(remote: Remote) -> RemoteView {
    let Remote { id, slug, url, branches, version, is_configured, created_at } = remote;
    RemoteView { id, slug, url: without_credentials(&url), branches, version, configured: is_configured, created_at }
}

/// What the configuration names may hold some; the file is the operator's, the answer is not.
fn without_credentials(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else { return text.to_owned() };
    // Fails only for URLs that cannot hold any.
    let _ = url.set_password(None);
    if url.scheme() != "ssh" {
        let _ = url.set_username("");
    }
    url.set_query(None);
    url.into()
}

/// The written form of a URL that may come from outside.
fn check_url(text: &str) -> Result<String> {
    let wrong = |reason: &str| Err(Error::invalid("url", reason));
    let Ok(url) = Url::parse(text) else {
        return wrong("expected an https:// or ssh:// URL: paths belong into the server's own configuration");
    };
    if !matches!(url.scheme(), "https" | "ssh") || url.host_str().is_none_or(str::is_empty) {
        return wrong("expected an https:// or ssh:// URL: paths belong into the server's own configuration");
    }
    // Over SSH the user names the service, not a person, and is no credential.
    if url.password().is_some() || url.scheme() == "https" && !url.username().is_empty() {
        return wrong("expected no user and password: URLs are shown and logged");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return wrong("expected no query and fragment");
    }
    Ok(url.into())
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_urls_without_credentials_come_from_outside() {
        for right in
            ["https://git.example/shop/catalog.git", "ssh://git@git.example/shop.git", "ssh://git.example:22/a"]
        {
            assert_eq!(check_url(right).unwrap(), right);
        }
        for wrong in [
            "",
            "/srv/catalog.git",
            "file:///srv/catalog.git",
            "git@git.example:shop.git",
            "http://git.example/a",
            "git://git.example/a",
            "https://user@git.example/a",
            "https://u:p@git.example/a",
            "ssh://git:p@git.example/a",
            "https://git.example/a?token=1",
            "https://git.example/a#b",
            "https://",
        ] {
            assert!(check_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn branches_are_named_as_publications_name_them() {
        for right in ["main", "release/*", "rel-*", "*"] {
            assert!(is_branch_pattern(right), "{right}");
        }
        for wrong in ["", "/x", "a//b", "a/*/b", "**", "a b", "refs/../x", "-a"] {
            assert!(!is_branch_pattern(wrong), "{wrong}");
        }
    }

    #[test]
    fn what_the_configuration_names_is_shown_without_credentials() {
        assert_eq!(without_credentials("https://u:hunter2@git.example/a?token=1"), "https://git.example/a");
        assert_eq!(without_credentials("/srv/catalog.git"), "/srv/catalog.git");
    }

    proptest! {
        #[test]
        fn a_url_that_is_let_through_holds_no_password(text in "(https|ssh)://[ -~]{0,40}") {
            if let Ok(stored) = check_url(&text) {
                let url = Url::parse(&stored).unwrap();
                prop_assert!(url.password().is_none() && url.query().is_none());
                prop_assert!(matches!(url.scheme(), "https" | "ssh"));
                prop_assert_eq!(check_url(&stored).unwrap(), stored);
            }
        }
    }
}
