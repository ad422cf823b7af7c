//! `promote_catalog_line`: asks a person to approve what one line has, for another. The request goes the same way as
//! every other: candidates of the entries' receipts, their newest reviews, one intent.
//!
//! A key may be carried when the source line has known the target's entry of it: because both have it from the same
//! revision, or because it came from the source line. Whatever else the target has for a key was put there since the
//! fork, and no stale line takes its place.

use std::collections::{BTreeMap, BTreeSet};

use pinhole_contract::{ApprovalView, PromoteCatalogLine};
use pinhole_core::{
    Actor, ApprovalId, ApprovalIntent, ApprovalItem, ApprovalKind, BaselineKey, BaselineKind, CandidateId,
    CandidateState, EntryState, EnvironmentId, Error, LineName, LineOrigin, Permission, ProjectId, ReceiptId, Result,
};
use pinhole_store::{Candidate, Entry};

use super::{
    approval::{approval_view, open},
    candidate::{check_line, receipt_of},
    line::lineage,
    policy::Policy,
    request::{accepting_review, check_remote},
    revision::Head,
};
use crate::{
    App,
    idempotency::{Keyed, expect_version},
    unit::Unit,
};

/// The most items in one approval, as the contract has it for a request.
const MAX_ITEMS: usize = 500;

pub(crate) async fn promote(app: &App, actor: &Actor, command: PromoteCatalogLine) -> Result<ApprovalView> {
    if command.from == command.line {
        return Err(Error::invalid("line", "expected another line than the one that items are carried from"));
    }
    let command = &command;
    app.write(actor, "promote_catalog_line", move |unit, _| {
        Box::pin(async move {
            let project = unit.authorised_project(&command.project, Permission::LineWrite).await?.id;
            let call = match unit.keyed(command.idempotency_key.as_ref(), command).await? {
                Keyed::First(call) => call,
                Keyed::Replay(id) => {
                    let approval = unit.approval(id.parse()?).await?.ok_or_else(Error::not_found)?;
                    return Ok(ApprovalView { replayed: true, ..approval_view(unit, approval).await? });
                }
            };
            check_line(unit, project, &command.from).await?;
            check_line(unit, project, &command.line).await?;
            let head = Head::of(unit, project, &command.from).await?;
            expect_version(Some(command.revision), head.revision)?;
            check_remote(unit, command.publication.as_ref()).await?;
            let carried = carried(unit, project, command, &head).await?;
            let policy = Policy::present(unit, project).await?;
            let (intent, environments) = propose(unit, command, carried, &head, policy.revision).await?;
            let approval = open(unit, project, intent, policy.lifetime, &environments).await?;
            unit.remember(call, approval.id).await?;
            approval_view(unit, approval).await
        })
    })
    .await
}

/// What a line has, or had, at a key: evidence and approval together, so that evidence which was approved anew is not
/// taken for what it was before.
type Known = BTreeSet<(String, ReceiptId, ApprovalId)>;

fn known(entry: &Entry) -> (String, ReceiptId, ApprovalId) {
    (entry.key.path(), entry.receipt_id, entry.approval_id)
}

/// The entries that go to the target line, in the order of their paths.
async fn carried(unit: &mut Unit, project: ProjectId, command: &PromoteCatalogLine, head: &Head) -> Result<Vec<Entry>> {
    let mut target = Target::read(unit, project, command, head).await?;
    let source = unit.entries_at(project, &command.from, head.revision, None, None, u32::MAX).await?;
    let paths: BTreeSet<_> = source.iter().map(|entry| entry.key.path()).collect();
    if let Some(index) = command.leave_out.iter().position(|path| !paths.contains(path)) {
        return Err(Error::invalid(format!("leave_out[{index}]"), "the line has no active entry with this path"));
    }
    let (mut carried, mut changed) = (Vec::new(), Vec::new());
    for entry in source {
        let path = entry.key.path();
        if command.leave_out.contains(&path) || target.has(&path, entry.receipt_id) {
            continue;
        }
        if target.changed(unit, &path).await? {
            changed.push(path);
        } else {
            carried.push(entry);
        }
    }
    check(command, carried.len(), changed)?;
    Ok(carried)
}

fn check(command: &PromoteCatalogLine, carried: usize, changed: Vec<String>) -> Result<()> {
    let PromoteCatalogLine { from, line, .. } = command;
    if !changed.is_empty() {
        let message = format!(
            "{} of line {line} changed since {from} was forked, the first at {}: leave them out by name",
            changed.len(),
            changed.first().map_or("", String::as_str),
        );
        return Err(Error::conflict_of("changed_since_fork", message, changed));
    }
    if carried == 0 {
        let message = format!("{line} has everything that {from} has, except for what is left out");
        return Err(Error::conflict("nothing_to_promote", message));
    }
    if carried > MAX_ITEMS {
        let message =
            format!("{carried} entries would be carried, and one approval has at most {MAX_ITEMS}: leave some out");
        return Err(Error::conflict("too_many_items", message));
    }
    Ok(())
}

/// The line that items are carried to, and what the other line has known.
struct Target<'a> {
    from: &'a LineName,
    /// The newest entry of every key, whatever its state.
    newest: BTreeMap<String, Entry>,
    known: Known,
    /// Up to which revision the source line has known all of the target, when it descends from it.
    descends_from: Option<u32>,
    /// Whether an approval carried items from the source line.
    from_source: BTreeMap<ApprovalId, bool>,
}

impl<'a> Target<'a> {
    async fn read(unit: &mut Unit, project: ProjectId, command: &'a PromoteCatalogLine, head: &Head) -> Result<Self> {
        let PromoteCatalogLine { from, line, .. } = command;
        let (mut known_entries, mut descends_from) = (Known::new(), None);
        for (ancestor, revision) in lineage(unit, project, from, head).await? {
            known_entries.extend(unit.entries_to(project, &ancestor, revision).await?.iter().map(known));
            if ancestor == *line {
                descends_from = Some(revision);
            }
        }
        let mut newest: BTreeMap<String, Entry> = BTreeMap::new();
        let now = Head::of(unit, project, line).await?;
        for entry in unit.entries_to(project, line, now.revision).await? {
            let before = newest.get(&entry.key.path());
            if before.is_none_or(|before| before.since_revision < entry.since_revision) {
                newest.insert(entry.key.path(), entry);
            }
        }
        Ok(Self { from, newest, known: known_entries, descends_from, from_source: BTreeMap::new() })
    }

    /// Whether the active entry is of this capture already.
    fn has(&self, path: &str, receipt: ReceiptId) -> bool {
        let newest = self.newest.get(path);
        newest.is_some_and(|entry| entry.state == EntryState::Active && entry.receipt_id == receipt)
    }

    /// Whether what the target has at `path` is unknown to the source line.
    async fn changed(&mut self, unit: &mut Unit, path: &str) -> Result<bool> {
        let Some(entry) = self.newest.get(path) else { return Ok(false) };
        if entry.state != EntryState::Active {
            // That it ended is known to a line that was forked later.
            return Ok(entry.until_revision > self.descends_from);
        }
        if self.known.contains(&known(entry)) {
            return Ok(false);
        }
        let approval = entry.approval_id;
        let from_source = match self.from_source.get(&approval) {
            Some(from_source) => *from_source,
            None => {
                let found =
                    unit.approval(approval).await?.ok_or_else(|| Error::internal("an entry without approval"))?;
                let origin = found.intent.promoted_from;
                origin.is_some_and(|origin| origin.line == *self.from)
            }
        };
        self.from_source.insert(approval, from_source);
        Ok(!from_source)
    }
}

/// Opens a candidate for each entry, and binds them with their newest reviews.
async fn propose(
    unit: &mut Unit,
    command: &PromoteCatalogLine,
    carried: Vec<Entry>,
    head: &Head,
    policy_revision: u32,
) -> Result<(ApprovalIntent, Vec<EnvironmentId>)> {
    let mut items = Vec::with_capacity(carried.len());
    for entry in carried {
        let path = entry.key.path();
        let named = |error: Error| {
            let message = format!("{path}: {}", error.message());
            error.with_message(message)
        };
        items.push((item(unit, &command.line, &entry).await.map_err(named)?, entry.environment_id));
    }
    items.sort_by(|(a, _), (b, _)| a.key.cmp(&b.key));
    let (items, environments) = items.into_iter().unzip();
    let intent = ApprovalIntent {
        kind: ApprovalKind::Baseline,
        items,
        line: command.line.clone(),
        policy_revision,
        release_label: command.release_label.clone(),
        publication: command.publication.clone(),
        reason: None,
        promoted_from: Some(LineOrigin { line: command.from.clone(), revision: head.revision, digest: head.digest()? }),
    };
    Ok((intent, environments))
}

async fn item(unit: &mut Unit, line: &LineName, entry: &Entry) -> Result<ApprovalItem> {
    let candidate = candidate(unit, line, entry).await?;
    let (capture_digest, review) = match entry.key.kind {
        BaselineKind::Visual => {
            let newest = unit.newest_review(entry.receipt_id).await?;
            let review = newest.ok_or_else(|| Error::internal("a picture that was approved unseen"))?.id;
            (accepting_review(unit, &candidate, Some(review)).await?.capture_sha256, Some(review))
        }
        BaselineKind::Structured | BaselineKind::Performance => {
            (receipt_of(unit, &candidate).await?.capture_sha256, None)
        }
    };
    unit.insert_candidate(&candidate).await?;
    let current = unit.active_entry(candidate.project_id, &candidate.key).await?;
    Ok(ApprovalItem {
        key: candidate.key,
        candidate: Some(candidate.id),
        capture_digest,
        review,
        current_entry: current.map(|entry| entry.sha256),
    })
}

/// The entry's capture, proposed for the other line. Its author stays who proposed it first, so that nobody decides on a
/// capture of their own because another person carried it.
async fn candidate(unit: &mut Unit, line: &LineName, entry: &Entry) -> Result<Candidate> {
    let receipt = unit.receipt(entry.receipt_id).await?;
    let receipt = receipt.ok_or_else(|| Error::internal("an entry without its receipt"))?;
    let author = unit.author_of_item(entry.approval_id, &entry.key.path()).await?;
    Ok(Candidate {
        id: CandidateId::from_uuid(unit.uuid()),
        project_id: entry.project_id,
        environment_id: entry.environment_id,
        key: BaselineKey { line: line.clone(), ..entry.key.clone() },
        run_id: receipt.run_id,
        receipt_id: Some(receipt.id),
        replaces: None,
        reason: None,
        state: CandidateState::Ready,
        author: author.unwrap_or(unit.actor().principal),
        created_at: unit.now(),
    })
}
