//! What a person looks at before a decision: whose it is, the pictures that it is about, what was said of them before,
//! and whether this person may decide at all.
//!
//! It must not decide, and shows nothing to anybody who may not read what it belongs to.

use std::collections::BTreeMap;

use pinhole_contract::{ArtifactView, ReviewView};
use pinhole_core::{
    Actor, ApprovalId, ApprovalItem, ArtifactId, Code, Error, Name, Permission, PrincipalId, ProjectId, ReceiptId,
    Result, RunId, Slug,
};
use pinhole_store::{Candidate, Receipt};

use crate::{
    App,
    artifacts::artifact_view,
    baselines::{self, Requested},
    runs,
    unit::Unit,
};

/// The most results of a run among which a capture's own is looked for.
const RESULTS: u32 = 5000;

/// What was said of captures of a run.
pub struct RunEvidence {
    /// The run's project.
    pub project: Slug,
    /// Whether the actor's grants let it review them; human authority is asked for when it does.
    pub may_review: bool,
    /// The newest review of each capture that has one.
    pub reviews: BTreeMap<ReceiptId, ReviewView>,
    /// The names of who started the run and who reviewed.
    pub names: BTreeMap<PrincipalId, Name>,
}

/// What an approval is about.
pub struct ApprovalEvidence {
    /// The approval's project.
    pub project: Slug,
    /// Whether the actor's grants let it decide; human authority is asked for when it does.
    pub may_decide: bool,
    /// The items asked for, in the order of the intent.
    pub items: Vec<ItemEvidence>,
    /// The names of who asked, who decided and who reviewed.
    pub names: BTreeMap<PrincipalId, Name>,
}

/// One item of an approval.
pub struct ItemEvidence {
    /// What would become the entry; none where an entry is to end.
    pub candidate: Option<CandidateEvidence>,
    /// The picture of the entry that would be replaced or end, as long as that entry is active.
    pub current: Option<ArtifactView>,
    /// The difference between both pictures, when the candidate's run compared just them.
    pub difference: Option<ArtifactView>,
}

/// A candidate for an entry.
pub struct CandidateEvidence {
    /// Who proposed it.
    pub author: PrincipalId,
    /// The run that captured it.
    pub run: RunId,
    /// Its receipt.
    pub receipt: ReceiptId,
    /// Its picture.
    pub picture: ArtifactView,
    /// The newest review of it.
    pub review: Option<ReviewView>,
}

impl App {
    /// The newest reviews of captures of a run. Receipts of other runs are left out.
    ///
    /// # Errors
    /// As for `get_scenario_run`.
    pub async fn run_evidence(&self, actor: &Actor, run: RunId, receipts: &[ReceiptId]) -> Result<RunEvidence> {
        self.read(actor, "get_run_evidence", move |unit, _| {
            Box::pin(async move {
                let run = runs::authorised(unit, run, Permission::Read).await?;
                let reviewer = runs::authorised(unit, run.id, Permission::ReviewWrite).await;
                let may_review = is_allowed(reviewer.map(|_| ()))?;
                let (mut reviews, mut people) = (BTreeMap::new(), vec![run.created_by]);
                for id in receipts {
                    let receipt = unit.receipt(*id).await?.filter(|receipt| receipt.run_id == run.id);
                    let Some(review) = review_of(unit, receipt.as_ref()).await? else { continue };
                    people.push(review.reviewer);
                    reviews.insert(*id, review);
                }
                Ok(RunEvidence {
                    project: slug(unit, run.pins.project).await?,
                    may_review,
                    reviews,
                    names: names(unit, &people).await?,
                })
            })
        })
        .await
    }

    /// What `limit` items of an approval from number `from` on are about.
    ///
    /// # Errors
    /// As for `get_approval`.
    pub async fn approval_evidence(
        &self,
        actor: &Actor,
        id: ApprovalId,
        from: usize,
        limit: usize,
    ) -> Result<ApprovalEvidence> {
        self.read(actor, "get_approval_evidence", move |unit, _| {
            Box::pin(async move {
                let requested = baselines::authorised_approval(unit, id, Permission::Read).await?;
                let approver = baselines::authorised_approval(unit, id, Permission::ApprovalDecide).await;
                let may_decide = is_allowed(approver.map(|_| ()))?;
                let mut people = vec![requested.approval.requested_by];
                people.extend(unit.decisions_of(id).await?.iter().map(|decision| decision.principal_id));
                let mut items = Vec::new();
                let Requested { approval, candidates } = &requested;
                for (index, item) in approval.intent.items.iter().enumerate().skip(from).take(limit) {
                    let item = item_evidence(unit, approval.project_id, item, candidates.get(index)).await?;
                    if let Some(candidate) = &item.candidate {
                        people.push(candidate.author);
                        people.extend(candidate.review.as_ref().map(|review| review.reviewer));
                    }
                    items.push(item);
                }
                Ok(ApprovalEvidence {
                    project: slug(unit, requested.approval.project_id).await?,
                    may_decide,
                    items,
                    names: names(unit, &people).await?,
                })
            })
        })
        .await
    }
}

/// Whether a grant covers it; what else went wrong stays an error.
fn is_allowed(outcome: Result<()>) -> Result<bool> {
    match outcome {
        Ok(()) => Ok(true),
        Err(error) if error.code() == Code::PermissionDenied => Ok(false),
        Err(error) => Err(error),
    }
}

async fn item_evidence(
    unit: &mut Unit,
    project: ProjectId,
    item: &ApprovalItem,
    candidate: Option<&Candidate>,
) -> Result<ItemEvidence> {
    // Another entry than the one that the intent names is none that this is about.
    let entry = unit.active_entry(project, &item.key).await?.filter(|entry| Some(entry.sha256) == item.current_entry);
    let before = match entry {
        Some(entry) => Some(unit.receipt(entry.receipt_id).await?.ok_or_else(|| missing("receipt"))?),
        None => None,
    };
    let current = match &before {
        Some(receipt) => Some(picture(unit, receipt.picture_id).await?),
        None => None,
    };
    let (mut difference, mut shown) = (None, None);
    if let Some(candidate) = candidate {
        let id = candidate.receipt_id.ok_or_else(|| missing("receipt"))?;
        let receipt = unit.receipt(id).await?.ok_or_else(|| missing("receipt"))?;
        if let Some(before) = &before {
            difference = difference_of(unit, &receipt, before.id).await?;
        }
        shown = Some(CandidateEvidence {
            author: candidate.author,
            run: receipt.run_id,
            receipt: receipt.id,
            picture: picture(unit, receipt.picture_id).await?,
            review: review_of(unit, Some(&receipt)).await?,
        });
    }
    Ok(ItemEvidence { candidate: shown, current, difference })
}

/// The difference picture of a capture, when its own run compared it with that of `before`.
async fn difference_of(unit: &mut Unit, receipt: &Receipt, before: ReceiptId) -> Result<Option<ArtifactView>> {
    let results = unit.checkpoint_results(receipt.run_id, 0, RESULTS).await?;
    let own = results.into_iter().find(|result| result.receipt_id == receipt.id);
    let compared = own.filter(|result| result.baseline_receipt_id == Some(before));
    match compared.and_then(|result| result.difference_id) {
        Some(id) => picture(unit, id).await.map(Some),
        None => Ok(None),
    }
}

async fn picture(unit: &mut Unit, id: ArtifactId) -> Result<ArtifactView> {
    Ok(artifact_view(&unit.artifact(id).await?.ok_or_else(|| missing("picture"))?))
}

async fn review_of(unit: &mut Unit, receipt: Option<&Receipt>) -> Result<Option<ReviewView>> {
    let Some(receipt) = receipt else { return Ok(None) };
    Ok(unit.newest_review(receipt.id).await?.map(baselines::review_view))
}

async fn slug(unit: &mut Unit, id: ProjectId) -> Result<Slug> {
    Ok(unit.project(id).await?.ok_or_else(|| missing("project"))?.slug)
}

async fn names(unit: &mut Unit, people: &[PrincipalId]) -> Result<BTreeMap<PrincipalId, Name>> {
    let mut names = BTreeMap::new();
    for id in people {
        if !names.contains_key(id)
            && let Some(principal) = unit.principal(*id).await?
        {
            names.insert(*id, principal.name);
        }
    }
    Ok(names)
}

fn missing(what: &str) -> Error {
    Error::internal(format!("evidence without its {what}"))
}
