//! `consume_baseline_approval`: turns one approved intent into one catalog revision, once. All items go in or none, and
//! the line moves only from the revision that the caller named.

use pinhole_contract::{ConsumeBaselineApproval, Materialized, MaterializedView};
use pinhole_core::{
    Actor, ApprovalItem, ApprovalState, BaselineEntryId, CandidateState, EntryState, Error, Permission, Result,
};
use pinhole_receipt::{CatalogEntry, RevisionCause};
use pinhole_store::{Approval, Candidate, CatalogRevision};
use serde_json::json;

use super::{
    approval::{Requested, authorised, end, ended, move_on},
    authorise_authorship,
    candidate::receipt_of,
    catalog::published_entries,
    revision::{self, Head},
};
use crate::{
    App,
    idempotency::{Keyed, expect_version},
    unit::Unit,
};

pub(crate) async fn consume(app: &App, actor: &Actor, command: ConsumeBaselineApproval) -> Result<MaterializedView> {
    let command = &command;
    let consumed = app.write(actor, "consume_baseline_approval", move |unit, _| {
        Box::pin(async move {
            let requested = authorised(unit, command.approval_id, Permission::BaselineWrite).await?;
            let approval = &requested.approval;
            authorise_authorship(unit, approval.project_id, &requested.candidates).await?;
            if command.idempotency_key.is_some() && command.expected_version.is_none() {
                return Err(Error::precondition_required("expected_version"));
            }
            let call = match unit.keyed(command.idempotency_key.as_ref(), command).await? {
                Keyed::First(call) => call,
                Keyed::Replay(_) => {
                    return materialized(unit, approval, true).await.map(Ok);
                }
            };
            let head = Head::of(unit, approval.project_id, &approval.line).await?;
            expect_version(command.expected_version, head.revision)?;
            if let Some(refusal) = refuse(unit, command, &requested).await? {
                return Ok(Err(refusal));
            }
            let revision = materialize(unit, &requested, &head).await?;
            unit.remember(call, approval.id).await?;
            record(unit, approval, &revision).await?;
            let approval = unit.approval(approval.id).await?.ok_or_else(Error::not_found)?;
            materialized(unit, &approval, false).await.map(Ok)
        })
    });
    consumed.await.flatten()
}

/// Why this approval cannot be consumed; what ended it meanwhile is recorded.
async fn refuse(unit: &mut Unit, command: &ConsumeBaselineApproval, requested: &Requested) -> Result<Option<Error>> {
    let approval = &requested.approval;
    if !approval.intent.kind.is_baseline() {
        let kind = approval.intent.kind;
        let message = format!("the approval is to {kind} a baseline: call that operation again with it");
        return Err(Error::conflict("other_kind", message));
    }
    if command.intent_digest != approval.intent_sha256 {
        return Err(Error::conflict("other_intent", "the approval is for another intent: read it again"));
    }
    match approval.state {
        ApprovalState::Approved => match ended(unit, requested).await? {
            Some(ended) => end(unit, approval, ended).await.map(Some),
            None => Ok(None),
        },
        state => Err(Error::conflict(
            "not_approved",
            format!("the approval is {state}: only an approved one can be consumed"),
        )),
    }
}

/// Writes entries and the signed revision, and moves the line.
async fn materialize(unit: &mut Unit, requested: &Requested, head: &Head) -> Result<CatalogRevision> {
    let Requested { approval, candidates } = requested;
    let (project, line, number) = (approval.project_id, &approval.line, head.next());
    let mut entries = published_entries(unit, project, line, head.revision).await?;
    let mut fresh = Vec::with_capacity(candidates.len());
    for (item, candidate) in approval.intent.items.iter().zip(candidates) {
        let entry = entry(unit, approval, item, candidate).await?;
        entries.insert(entry.key.clone(), entry.clone());
        fresh.push(entry);
    }
    let cause = RevisionCause::Consumed { approval: approval.id };
    let content = revision::begin(unit, project, line, head, &entries, cause).await?;
    for (entry, candidate) in fresh.into_iter().zip(candidates) {
        unit.end_active_entry(project, &entry.key, EntryState::Superseded, number).await?;
        revision::insert_entry(unit, (project, candidate.environment_id), entry, number).await?;
        if !unit.move_candidate(candidate.id, CandidateState::Ready, CandidateState::Consumed).await? {
            return Err(Error::transient("a candidate changed beneath its transaction"));
        }
    }
    move_on(unit, approval, ApprovalState::Consumed, Some(number)).await?;
    revision::end(unit, project, content).await
}

async fn entry(
    unit: &mut Unit,
    approval: &Approval,
    item: &ApprovalItem,
    candidate: &Candidate,
) -> Result<CatalogEntry> {
    let receipt = receipt_of(unit, candidate).await?;
    Ok(CatalogEntry {
        id: BaselineEntryId::from_uuid(unit.uuid()),
        key: item.key.clone(),
        state: EntryState::Active,
        capture_digest: item.capture_digest,
        pixel_digest: receipt.pixel_digest,
        render_digest: receipt.render_sha256,
        rules_digest: receipt.rules_sha256,
        receipt: receipt.id,
        review: item.review,
        approval: approval.id,
    })
}

async fn record(unit: &mut Unit, approval: &Approval, revision: &CatalogRevision) -> Result<()> {
    let detail = json!({
        "line": revision.line,
        "revision": revision.revision,
        "digest": revision.sha256,
        "approval": approval.id,
        "intent": approval.intent_sha256,
    });
    unit.audit_with_event("catalog.revision", approval.project_id, approval.id, detail).await
}

/// What a consumed approval became, read again.
async fn materialized(unit: &mut Unit, approval: &Approval, replayed: bool) -> Result<MaterializedView> {
    let number = approval.consumed_revision.ok_or_else(|| Error::internal("a consumption without its revision"))?;
    let revision = unit.catalog_revision(approval.project_id, &approval.line, number).await?;
    let revision = revision.ok_or_else(|| Error::internal("a consumption without its revision"))?;
    Ok(MaterializedView {
        outcome: Materialized::Materialized,
        approval_id: approval.id,
        line: revision.line,
        revision: number,
        digest: revision.sha256,
        entries: unit.count_entries_at(approval.project_id, &approval.line, number).await?,
        replayed,
    })
}
