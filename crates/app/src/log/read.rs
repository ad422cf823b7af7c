//! Proofs for those who may read the record that is proved. What may be read decides the record's own object; the log
//! itself hides nothing but what its leaves are of.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use pinhole_contract::{GetLogConsistency, GetLogProof, LogConsistencyView, LogProofView};
use pinhole_core::{
    Actor, ApprovalId, AuditId, Code, DecisionId, Error, LogRecordId, LogRecordKind, Permission, ProjectId, ReceiptId,
    Result, ReviewId, Sha256Digest,
};
use pinhole_receipt::log::log_entry;
use pinhole_store::{AuditRow, CatalogRevision, Publication, revision_record_id};
use uuid::Uuid;

use super::Prover;
use crate::{App, authority::Place, baselines, runs, unit::Unit};

pub(crate) async fn proof(app: &App, actor: &Actor, command: GetLogProof) -> Result<LogProofView> {
    app.read(actor, "get_log_proof", move |unit, _| {
        Box::pin(async move {
            let (kind, name) = authorised(unit, command.record_id).await?;
            let mut prover = Prover::new(unit).await?;
            let proof = prover.prove(unit, kind, &name).await?;
            let entry = unit.log_entry(kind, &name).await?;
            let sha256 = entry.and_then(|entry| entry.sha256);
            let sha256 = sha256.ok_or_else(|| Error::internal("a leaf without its digest"))?;
            Ok(LogProofView {
                record_id: command.record_id,
                kind,
                sha256,
                entry: log_entry(kind, sha256),
                leaf: proof.leaf,
                size: proof.size,
                hashes: encode(&proof.hashes),
                checkpoint: prover.checkpoint().to_owned(),
            })
        })
    })
    .await
}

pub(crate) async fn consistency(app: &App, actor: &Actor, command: GetLogConsistency) -> Result<LogConsistencyView> {
    app.read(actor, "get_log_consistency", move |unit, _| {
        Box::pin(async move {
            unit.check_credential().await?;
            let mut prover = Prover::new(unit).await?;
            let (first, second) = (command.first, command.second.unwrap_or(prover.size()));
            if first > second || second > prover.size() {
                let message = format!("expected numbers of leaves in order, up to {}", prover.size());
                return Err(Error::conflict("log_size", message));
            }
            let proof = prover.prove_consistency(unit, first, second).await?;
            let checkpoint = prover.checkpoint().to_owned();
            Ok(LogConsistencyView { first, second, hashes: encode(&proof.hashes), checkpoint })
        })
    })
    .await
}

fn encode(hashes: &[Sha256Digest]) -> Vec<String> {
    hashes.iter().map(|hash| BASE64_STANDARD.encode(hash.as_bytes())).collect()
}

/// What the record is called in the log, if the actor may read it.
async fn authorised(unit: &mut Unit, id: LogRecordId) -> Result<(LogRecordKind, String)> {
    let name = match id {
        LogRecordId::Audit(id) => audit_row(unit, id).await?.id.to_string(),
        LogRecordId::Receipt(id) => receipt(unit, id).await?,
        LogRecordId::Result(id) => runs::authorised(unit, id, Permission::Read).await?.id.to_string(),
        LogRecordId::Review(id) => review(unit, id).await?,
        LogRecordId::Decision(id) => decision(unit, id).await?,
        LogRecordId::Revision(digest) => revision(unit, digest).await?,
        LogRecordId::Publication(id) => {
            let publication = unit.publication(id).await?;
            let place_of = |found: &Publication| Place::project(found.project_id);
            unit.authorised(publication, place_of, Permission::Read).await?.id.to_string()
        }
    };
    Ok((kind_of(id), name))
}

fn kind_of(id: LogRecordId) -> LogRecordKind {
    match id {
        LogRecordId::Audit(_) => LogRecordKind::Audit,
        LogRecordId::Receipt(_) => LogRecordKind::CaptureReceipt,
        LogRecordId::Result(_) => LogRecordKind::RunResult,
        LogRecordId::Review(_) => LogRecordKind::Review,
        LogRecordId::Decision(_) => LogRecordKind::Decision,
        LogRecordId::Revision(_) => LogRecordKind::CatalogRevision,
        LogRecordId::Publication(_) => LogRecordKind::PublicationReceipt,
    }
}

async fn receipt(unit: &mut Unit, id: ReceiptId) -> Result<String> {
    let receipt = unit.receipt(id).await?;
    let (_, receipt) = runs::authorised_part(unit, receipt, |found| found.run_id, Permission::Read).await?;
    Ok(receipt.id.to_string())
}

/// A review may be read by whoever may read the capture that it is of.
async fn review(unit: &mut Unit, id: ReviewId) -> Result<String> {
    let review = unit.review(id).await?;
    receipt(unit, review.map_or_else(|| ReceiptId::from_uuid(Uuid::nil()), |review| review.receipt_id)).await?;
    Ok(id.to_string())
}

/// A decision may be read by whoever may read the approval that it is on.
async fn decision(unit: &mut Unit, id: DecisionId) -> Result<String> {
    let decision = unit.decision(id).await?;
    let approval = decision.map_or_else(|| ApprovalId::from_uuid(Uuid::nil()), |decision| decision.approval_id);
    baselines::authorised_approval(unit, approval, Permission::Read).await?;
    Ok(id.to_string())
}

async fn revision(unit: &mut Unit, digest: Sha256Digest) -> Result<String> {
    let revision = unit.catalog_revision_by_digest(digest).await?;
    let place_of = |found: &CatalogRevision| Place::project(found.project_id);
    let CatalogRevision { project_id, line, revision, .. } =
        unit.authorised(revision, place_of, Permission::Read).await?;
    Ok(revision_record_id(project_id, &line, revision))
}

/// An audit row is for those who may list it: an administrator, and the owner of its project.
async fn audit_row(unit: &mut Unit, id: AuditId) -> Result<AuditRow> {
    let row = unit.audit_row(id).await?;
    let of_project = row.clone().filter(|row| row.project_id.is_some());
    let nil = ProjectId::from_uuid(Uuid::nil());
    let place_of = |row: &AuditRow| Place::project(row.project_id.unwrap_or(nil));
    let refused = match unit.authorised(of_project, place_of, Permission::AuditRead).await {
        Err(error) if matches!(error.code(), Code::NotFound | Code::PermissionDenied) => error,
        outcome => return outcome,
    };
    match unit.authorise_admin().await {
        Ok(()) => row.ok_or_else(Error::not_found),
        Err(error) if error.code() == Code::PermissionDenied => Err(refused),
        Err(error) => Err(error),
    }
}
