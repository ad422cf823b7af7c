//! Where else runs may find an environment's application: asked for by the environment, approved by an administrator
//! for one revision, and then open to the caller of a run.

use pinhole_contract::{ApproveHostPatterns, EnvironmentDocument, HostPatternsView};
use pinhole_core::{Actor, Error, HostPattern, Result};
use pinhole_store::EnvironmentRevision;
use serde_json::json;
use url::Url;

use super::{document::check_base_url, document_of, latest};
use crate::{App, idempotency::expect_version, unit::Unit};

pub(crate) async fn approve(app: &App, actor: &Actor, command: ApproveHostPatterns) -> Result<HostPatternsView> {
    let command = &command;
    app.write(actor, "approve_host_patterns", move |unit, _| {
        Box::pin(async move {
            // An administrator needs no grant for this, and is told nothing but the patterns.
            unit.authorise_admin().await?;
            let found = unit.environment(command.environment_id).await?.ok_or_else(Error::not_found)?;
            expect_version(command.expected_version, found.head_revision)?;
            let document = document_of(&latest(unit, &found).await?)?;
            check_requested(&document, &command.patterns)?;
            let (by, revision) = (unit.actor().principal, found.head_revision);
            for pattern in &command.patterns {
                unit.approve_host_pattern(found.id, revision, pattern, by).await?;
            }
            let detail = json!({ "revision": revision, "patterns": command.patterns });
            unit.audit(Some(found.project_id), Some(found.id.to_string()), detail).await?;
            let mut approved = unit.approved_host_patterns(found.id, revision).await?;
            approved.sort();
            Ok(HostPatternsView { environment_id: found.id, revision, approved_host_patterns: approved })
        })
    })
    .await
}

fn check_requested(document: &EnvironmentDocument, patterns: &[HostPattern]) -> Result<()> {
    match patterns.iter().find(|pattern| !document.host_patterns.contains(pattern)) {
        None => Ok(()),
        Some(pattern) => {
            let message = format!("the latest revision does not ask for {pattern}: approve what it asks for");
            Err(Error::conflict("not_requested", message))
        }
    }
}

/// Refuses a base URL that no approved pattern of the revision covers.
pub(crate) async fn check_override(unit: &mut Unit, revision: &EnvironmentRevision, base_url: &str) -> Result<()> {
    let url = check_base_url(base_url)?;
    let approved = unit.approved_host_patterns(revision.environment_id, revision.revision).await?;
    if approved.iter().any(|pattern| covers(pattern, &url)) {
        return Ok(());
    }
    let message = format!(
        "base_url: no approved host pattern of revision {} covers it: have an administrator approve one",
        revision.revision
    );
    Err(Error::permission_denied("host_pattern").with_message(message))
}

fn covers(pattern: &HostPattern, url: &Url) -> bool {
    let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
    pattern.matches(url.scheme(), host, port)
}
