//! `retire_baseline` and `invalidate_baseline`: an entry ends with a new catalog revision. What is pinned to older
//! revisions stays as it is.
//!
//! An owner with human authority does it at once. For everybody else the call asks for an approval, unless the policy
//! switches that off, and changes nothing; the same call with that approval, once given, consumes it and ends the entry in
//! one transaction.

use pinhole_contract::{EndedBaselineView, Gated, InvalidateBaseline, RetireBaseline};
use pinhole_core::{
    Actor, ApprovalId, ApprovalIntent, ApprovalItem, ApprovalKind, ApprovalState, BaselineEntryId, EntryState, Error,
    IdempotencyKey, Permission, Reason, Result, canonical_json_digest,
};
use pinhole_receipt::{CatalogEntry, RevisionCause};
use pinhole_store::{Approval, CatalogRevision, Entry};
use serde_json::json;

use super::{
    approval::{self, Requested, approval_view, move_on},
    catalog::published_entries,
    entry,
    policy::Policy,
    revision::{self, Head},
};
use crate::{
    App,
    idempotency::{Keyed, expect_version},
    unit::Unit,
};

/// What both operations are asked.
struct Ending {
    kind: ApprovalKind,
    entry: BaselineEntryId,
    reason: Reason,
    approval: Option<ApprovalId>,
    expected_version: Option<u32>,
    key: Option<IdempotencyKey>,
}

pub(crate) async fn retire(app: &App, actor: &Actor, command: RetireBaseline) -> Result<Gated<EndedBaselineView>> {
    let RetireBaseline { entry_id, reason, approval_id, expected_version, idempotency_key } = command;
    let (kind, entry, approval, key) = (ApprovalKind::Retire, entry_id, approval_id, idempotency_key);
    let ending = Ending { kind, entry, reason, approval, expected_version, key };
    end_entry(app, actor, "retire_baseline", ending).await
}

pub(crate) async fn invalidate(
    app: &App,
    actor: &Actor,
    command: InvalidateBaseline,
) -> Result<Gated<EndedBaselineView>> {
    let InvalidateBaseline { entry_id, reason, approval_id, expected_version, idempotency_key } = command;
    let (kind, entry, approval, key) = (ApprovalKind::Invalidate, entry_id, approval_id, idempotency_key);
    let ending = Ending { kind, entry, reason, approval, expected_version, key };
    end_entry(app, actor, "invalidate_baseline", ending).await
}

async fn end_entry(
    app: &App,
    actor: &Actor,
    operation: &'static str,
    ending: Ending,
) -> Result<Gated<EndedBaselineView>> {
    let ending = &ending;
    app.write(actor, operation, move |unit, _| Box::pin(end_within(unit, ending))).await.flatten()
}

/// What an end rests on.
enum Basis {
    /// The approval that the call comes with.
    Given(Box<Requested>),
    /// The person who calls, or else an approval that the call asks for under this policy.
    Caller(Policy),
}

/// Ends the entry or asks for it. A refusal that is a value leaves a record, which an error would take back.
async fn end_within(unit: &mut Unit, ending: &Ending) -> Result<Result<Gated<EndedBaselineView>>> {
    let entry = entry::authorised(unit, ending.entry, Permission::BaselineRetire).await?;
    let basis = basis(unit, ending, &entry).await?;
    if ending.key.is_some() && ending.expected_version.is_none() {
        return Err(Error::precondition_required("expected_version"));
    }
    let intent = json!({ "entry": entry.id, "reason": ending.reason, "expected_version": ending.expected_version });
    let call = match unit.keyed(ending.key.as_ref(), &intent).await? {
        Keyed::First(call) => Some(call),
        Keyed::Replay(first) => match first.parse::<ApprovalId>() {
            // The first call asked for the approval; this one comes with it.
            Ok(_) if matches!(basis, Basis::Given(_)) => None,
            Ok(asked) => return replay_question(unit, asked).await.map(Ok),
            Err(_) => return ended_view(unit, entry.id, true).await.map(Ok),
        },
    };
    let head = Head::of(unit, entry.project_id, &entry.key.line).await?;
    expect_version(ending.expected_version, head.revision)?;
    if entry.state != EntryState::Active {
        let message = format!("the baseline is {}: only an active one can end", entry.state);
        return Err(Error::conflict("not_active", message));
    }
    let asked = match &basis {
        Basis::Given(given) => {
            if let Some(refusal) = refuse(unit, ending, &entry, given).await? {
                return Ok(Err(refusal));
            }
            complete(unit, ending, &entry, &head, Some(&given.approval)).await?;
            None
        }
        Basis::Caller(_) if unit.has_fresh_session() => {
            complete(unit, ending, &entry, &head, None).await?;
            None
        }
        Basis::Caller(policy) => Some(ask(unit, ending, &entry, policy).await?),
    };
    let made = asked.as_ref().map_or_else(|| entry.id.to_string(), |asked| asked.id.to_string());
    match call {
        Some(call) => unit.remember(call, made).await?,
        None => unit.remember_instead(ending.key.as_ref(), made).await?,
    }
    match asked {
        Some(asked) => Ok(Ok(Gated::ApprovalRequired { approval: Box::new(approval_view(unit, asked).await?) })),
        None => ended_view(unit, entry.id, false).await.map(Ok),
    }
}

/// What the call rests on, as far as the caller may know of it.
async fn basis(unit: &mut Unit, ending: &Ending, entry: &Entry) -> Result<Basis> {
    if let Some(id) = ending.approval {
        return Ok(Basis::Given(Box::new(approval::authorised(unit, id, Permission::Read).await?)));
    }
    let policy = Policy::present(unit, entry.project_id).await?;
    if !policy.gate {
        // Nobody can be asked, so that only a person may.
        unit.fresh_session().await?;
    }
    Ok(Basis::Caller(policy))
}

/// What a person decides on: the end of exactly this entry for this reason.
fn intent_of(ending: &Ending, entry: &Entry, policy_revision: u32) -> Result<ApprovalIntent> {
    let document: CatalogEntry = serde_json::from_str(&entry.document).map_err(Error::internal)?;
    let item = ApprovalItem {
        key: entry.key.clone(),
        candidate: None,
        capture_digest: document.capture_digest,
        review: entry.review_id,
        current_entry: Some(entry.sha256),
    };
    Ok(ApprovalIntent {
        kind: ending.kind,
        items: vec![item],
        line: entry.key.line.clone(),
        policy_revision,
        release_label: None,
        publication: None,
        reason: Some(ending.reason.clone()),
        promoted_from: None,
    })
}

async fn ask(unit: &mut Unit, ending: &Ending, entry: &Entry, policy: &Policy) -> Result<Approval> {
    let intent = intent_of(ending, entry, policy.revision)?;
    approval::open(unit, entry.project_id, intent, policy.lifetime, &[entry.environment_id]).await
}

async fn replay_question(unit: &mut Unit, asked: ApprovalId) -> Result<Gated<EndedBaselineView>> {
    let approval = unit.approval(asked).await?.ok_or_else(Error::not_found)?;
    let mut view = approval_view(unit, approval).await?;
    view.replayed = true;
    Ok(Gated::ApprovalRequired { approval: Box::new(view) })
}

/// Why the approval does not let the entry end; what ended the approval meanwhile is recorded.
async fn refuse(unit: &mut Unit, ending: &Ending, entry: &Entry, requested: &Requested) -> Result<Option<Error>> {
    let approval = &requested.approval;
    let wanted = canonical_json_digest(&intent_of(ending, entry, approval.policy_revision)?)?;
    if approval.project_id != entry.project_id || approval.intent_sha256 != wanted {
        return Err(Error::conflict("other_intent", "the approval is for another entry, act or reason"));
    }
    if approval.state != ApprovalState::Approved {
        let message = format!("the approval is {}: only an approved one lets the baseline end", approval.state);
        return Err(Error::conflict("not_approved", message));
    }
    match approval::ended(unit, requested).await? {
        Some(ended) => approval::end(unit, approval, ended).await.map(Some),
        None => Ok(None),
    }
}

/// Ends the entry with a signed revision, and consumes the approval if there is one.
async fn complete(
    unit: &mut Unit,
    ending: &Ending,
    entry: &Entry,
    head: &Head,
    approval: Option<&Approval>,
) -> Result<()> {
    let (project, line) = (entry.project_id, &entry.key.line);
    let (principal, reason) = (unit.actor().principal, ending.reason.clone());
    let consumed = approval.map(|approval| approval.id);
    let (state, cause) = match ending.kind {
        ApprovalKind::Retire => {
            (EntryState::Retired, RevisionCause::Retired { entry: entry.id, principal, reason, approval: consumed })
        }
        ApprovalKind::Invalidate => {
            let cause = RevisionCause::Invalidated { entry: entry.id, principal, reason, approval: consumed };
            (EntryState::Invalidated, cause)
        }
        ApprovalKind::Baseline => return Err(Error::internal("no end of an entry")),
    };
    let mut entries = published_entries(unit, project, line, head.revision).await?;
    match entries.get_mut(&entry.key) {
        Some(published) if published.id == entry.id => published.state = state,
        _ => return Err(Error::internal("an active entry that its line does not show")),
    }
    let content = revision::begin(unit, project, line, head, &entries, cause).await?;
    if !unit.end_active_entry(project, &entry.key, state, head.next()).await? {
        return Err(Error::transient("an entry changed beneath its transaction"));
    }
    if let Some(approval) = approval {
        move_on(unit, approval, ApprovalState::Consumed, Some(head.next())).await?;
    }
    let revision = revision::end(unit, project, content).await?;
    record(unit, entry, &revision).await
}

async fn record(unit: &mut Unit, entry: &Entry, revision: &CatalogRevision) -> Result<()> {
    let detail = json!({
        "line": revision.line,
        "revision": revision.revision,
        "digest": revision.sha256,
        "cause": revision.cause,
    });
    unit.audit_with_event("catalog.revision", entry.project_id, entry.id, detail).await
}

/// What became of the entry, read again.
async fn ended_view(unit: &mut Unit, id: BaselineEntryId, replayed: bool) -> Result<Gated<EndedBaselineView>> {
    let gone = || Error::internal("an ended entry without its revision");
    let entry = unit.entry(id).await?.ok_or_else(gone)?;
    let number = entry.until_revision.ok_or_else(gone)?;
    let revision = unit.catalog_revision(entry.project_id, &entry.key.line, number).await?.ok_or_else(gone)?;
    Ok(Gated::Completed(EndedBaselineView {
        baseline: entry::view(entry)?,
        revision: number,
        digest: revision.sha256,
        cause: revision.cause,
        replayed,
    }))
}
