//! `review_visual_baseline`: a person accepts or rejects captures. Each disposition is bound to the digests of the
//! picture, the renderer and the rules, and never changes; the newest of a capture counts.

use std::collections::BTreeSet;

use pinhole_contract::{ReviewView, ReviewVisualBaseline, ReviewsView};
use pinhole_core::{
    Actor, Disposition, Error, Name, Permission, ReceiptId, Result, ReviewId, RunId, Sha256Digest, Slug, Via,
    canonical_json_digest,
};
use pinhole_receipt::ReviewDisposition;
use pinhole_store::{Receipt, Review, Run};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use crate::{App, authority::DecisionClaim, idempotency::Keyed, runs, unit::Unit};

/// The most receipts in one call.
const MAX_RECEIPTS: usize = 200;

/// What a person looked at, by the digests that a review is bound to.
#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
struct Reviewed {
    receipt: ReceiptId,
    capture_digest: Sha256Digest,
    render_digest: Sha256Digest,
    rules_digest: Sha256Digest,
}

pub(crate) async fn review_visual(app: &App, actor: &Actor, command: ReviewVisualBaseline) -> Result<ReviewsView> {
    check_shape(&command.receipts)?;
    let command = &command;
    app.write(actor, "review_visual_baseline", move |unit, _| {
        Box::pin(async move {
            let (run, receipts) = load(unit, &command.receipts).await?;
            if let Some(ids) = unit.replayed(command.idempotency_key.as_ref(), command).await? {
                unit.unaudited();
                return replay(unit, &ids).await;
            }
            let claim = DecisionClaim {
                ticket: command.ticket.as_deref(),
                object: run.id.to_string(),
                version: run.version,
                intent: intent_digest(&receipts)?,
                outcome: command.disposition.as_str(),
                reason: &command.reason,
            };
            let via = unit.human_authority(&claim).await?;
            let call = match unit.keyed(command.idempotency_key.as_ref(), command).await? {
                Keyed::First(call) => call,
                Keyed::Replay(_) => return Err(Error::internal("a replay that was not seen as one")),
            };
            check_evidence(command.disposition, &receipts)?;
            let reviews = insert(unit, command, &run, &receipts, via).await?;
            let ids: Vec<_> = reviews.iter().map(|review| review.id.to_string()).collect();
            unit.remember(call, ids.join(" ")).await?;
            let detail = json!({ "reviews": ids, "disposition": command.disposition, "via": via });
            unit.audit_with_event("run.reviewed", run.pins.project, run.id, detail).await?;
            Ok(ReviewsView { reviews: reviews.into_iter().map(review_view).collect(), replayed: false })
        })
    })
    .await
}

/// The bounds that the schema states.
pub(super) fn check_shape(receipts: &[ReceiptId]) -> Result<()> {
    if receipts.is_empty() || receipts.len() > MAX_RECEIPTS {
        return Err(Error::invalid("receipts", format!("expected 1 to {MAX_RECEIPTS} receipts")));
    }
    let mut seen = BTreeSet::new();
    match receipts.iter().position(|receipt| !seen.insert(receipt)) {
        Some(index) => Err(Error::invalid(format!("receipts[{index}]"), "expected different receipts")),
        None => Ok(()),
    }
}

/// The receipts in the order of the call and their one run, if the actor may review in its environment.
pub(super) async fn load(unit: &mut Unit, ids: &[ReceiptId]) -> Result<(Run, Vec<Receipt>)> {
    let receipts = receipts(unit, ids).await?;
    let mut authorised = Vec::new();
    for id in runs_of(&receipts) {
        authorised.push(runs::authorised(unit, id, Permission::ReviewWrite).await?);
    }
    let receipts = receipts.into_iter().collect::<Option<_>>().ok_or_else(Error::not_found)?;
    // Told only now: a receipt in a hidden run must look like none at all.
    Ok((one_run(authorised)?, receipts))
}

/// What there is of the receipts, in the order of `ids`.
pub(super) async fn receipts(unit: &mut Unit, ids: &[ReceiptId]) -> Result<Vec<Option<Receipt>>> {
    let mut receipts = Vec::with_capacity(ids.len());
    for id in ids {
        receipts.push(unit.receipt(*id).await?);
    }
    Ok(receipts)
}

/// Their runs, each once and in order. A receipt that is missing has one too, which nobody may see.
fn runs_of(receipts: &[Option<Receipt>]) -> Vec<RunId> {
    let nowhere = RunId::from_uuid(Uuid::nil());
    let mut seen = BTreeSet::new();
    let runs = receipts.iter().map(|receipt| receipt.as_ref().map_or(nowhere, |receipt| receipt.run_id));
    runs.filter(|run| seen.insert(*run)).collect()
}

pub(super) fn one_run(mut runs: Vec<Run>) -> Result<Run> {
    match (runs.pop(), runs.is_empty()) {
        (Some(run), true) => Ok(run),
        _ => Err(Error::invalid("receipts", "expected the receipts of one run")),
    }
}

/// What a decision on these captures names, in whatever order they come.
pub(super) fn intent_digest(receipts: &[Receipt]) -> Result<Sha256Digest> {
    let reviewed: BTreeSet<_> = receipts
        .iter()
        .map(|receipt| Reviewed {
            receipt: receipt.id,
            capture_digest: receipt.capture_sha256,
            render_digest: receipt.render_sha256,
            rules_digest: receipt.rules_sha256,
        })
        .collect();
    canonical_json_digest(&reviewed)
}

fn check_evidence(disposition: Disposition, receipts: &[Receipt]) -> Result<()> {
    let worthless = receipts.iter().find(|receipt| !receipt.not_evidence.is_empty());
    match (disposition, worthless) {
        (Disposition::Accept, Some(receipt)) => {
            let message = format!("{} is not evidence and cannot be accepted: its receipt says why", receipt.id);
            Err(Error::conflict("not_evidence", message))
        }
        _ => Ok(()),
    }
}

async fn insert(
    unit: &mut Unit,
    command: &ReviewVisualBaseline,
    run: &Run,
    receipts: &[Receipt],
    via: Via,
) -> Result<Vec<Review>> {
    let project = unit.project(run.pins.project).await?.ok_or_else(|| Error::internal("a run without its project"))?;
    let actor = unit.actor().principal;
    let reviewer = unit.principal(actor).await?.ok_or_else(Error::unauthenticated)?;
    let mut reviews = Vec::with_capacity(receipts.len());
    for receipt in receipts {
        let review = disposition(unit, command, receipt, (&project.slug, &reviewer.name), via)?;
        unit.insert_review(&review).await?;
        reviews.push(review);
    }
    Ok(reviews)
}

fn disposition(
    unit: &Unit,
    command: &ReviewVisualBaseline,
    receipt: &Receipt,
    (project, reviewer): (&Slug, &Name),
    via: Via,
) -> Result<Review> {
    let statement = ReviewDisposition {
        review: ReviewId::from_uuid(unit.uuid()),
        project: project.clone(),
        receipt: receipt.id,
        capture_digest: receipt.capture_sha256,
        render_digest: receipt.render_sha256,
        rules_digest: receipt.rules_sha256,
        disposition: command.disposition,
        reason: command.reason.clone(),
        principal: unit.actor().principal,
        publication_name: reviewer.clone(),
        via,
        decided_at: unit.now(),
    };
    Ok(Review {
        id: statement.review,
        project_id: receipt.project_id,
        receipt_id: receipt.id,
        disposition: statement.disposition,
        reason: command.reason.clone(),
        capture_sha256: receipt.capture_sha256,
        render_sha256: receipt.render_sha256,
        rules_sha256: receipt.rules_sha256,
        reviewer: statement.principal,
        via,
        envelope: unit.signed(&statement)?,
        created_at: unit.now(),
    })
}

/// Every review that the first call made. A replay decides nothing, so it asks for no authority beyond the grants: the
/// ticket of the first call was used up by it.
async fn replay(unit: &mut Unit, ids: &str) -> Result<ReviewsView> {
    let mut reviews = Vec::new();
    for id in ids.split(' ') {
        let review = unit.review(id.parse()?).await?.ok_or_else(|| Error::internal("a call without its reviews"))?;
        reviews.push(review_view(review));
    }
    Ok(ReviewsView { reviews, replayed: true })
}

/// A review as views show it.
pub(crate) fn review_view(review: Review) -> ReviewView {
    ReviewView {
        id: review.id,
        receipt_id: review.receipt_id,
        disposition: review.disposition,
        reason: review.reason,
        capture_digest: review.capture_sha256,
        render_digest: review.render_sha256,
        rules_digest: review.rules_sha256,
        reviewer: review.reviewer,
        created_at: review.created_at,
    }
}
