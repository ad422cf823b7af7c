//! `promote_catalog_line`: asks a person to approve what one line has, for another. The request goes the same way as
//! every other: candidates of the entries' receipts, their newest reviews, one intent.
//!
//! A key may be carried when the source line has known what became of it on the target: because both have its entry from
//! the same revision, or because the entry came from the source line. Whatever else the target, or a line that it was
//! forked from, has done to a key was done since the fork, and no stale line takes it back.

use std::collections::{BTreeMap, BTreeSet};

use pinhole_contract::{ApprovalView, PromoteCatalogLine};
use pinhole_core::{
    Actor, ApprovalId, ApprovalIntent, BaselineKey, CandidateId, CandidateState, EnvironmentId, Error, LineName,
    LineOrigin, Permission, ProjectId, Result,
};
use pinhole_store::{Candidate, Entry};

use super::{
    approval::{approval_view, open},
    candidate::check_line,
    intent::{Terms, bind, check_remote, item},
    line::lineage,
    policy::Policy,
    proposal,
    revision::Head,
};
use crate::{
    App,
    idempotency::{Keyed, expect_version},
    unit::Unit,
};

/// The most items in one approval, as the contract has it for a request.
const MAX_ITEMS: usize = 500;
/// In how many entries two lines may differ: those that are carried, and as many as a call can leave out by name.
const MAX_DIFFERENT: u32 = 2500;

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
            let (intent, environments) = propose(unit, command, carried, &head, &policy).await?;
            let approval = open(unit, project, intent, policy.lifetime, &environments).await?;
            unit.remember(call, approval.id).await?;
            approval_view(unit, approval).await
        })
    })
    .await
}

/// The entries that go to the target line, in the order of their paths.
async fn carried(unit: &mut Unit, project: ProjectId, command: &PromoteCatalogLine, head: &Head) -> Result<Vec<Entry>> {
    let PromoteCatalogLine { from, line, .. } = command;
    let different = unit.entries_missing_on(project, from, line, MAX_DIFFERENT + 1).await?;
    if different.len() > MAX_DIFFERENT as usize {
        let message = format!("{from} and {line} differ in more than {MAX_DIFFERENT} entries: fork {from} instead");
        return Err(Error::conflict("too_many_items", message));
    }
    let left_out = left_out(unit, project, command).await?;
    let mut target = Target::read(unit, project, command, head).await?;
    let (mut carried, mut changed) = (Vec::new(), Vec::new());
    for entry in different {
        let path = entry.key.path();
        if left_out.contains(path.as_str()) {
            continue;
        }
        if target.changed(unit, &entry.key, &path).await? {
            changed.push(path);
        } else {
            carried.push(entry);
        }
    }
    check(command, carried.len(), changed)?;
    Ok(carried)
}

/// The paths that stay behind, each of an active entry.
async fn left_out<'a>(
    unit: &mut Unit,
    project: ProjectId,
    command: &'a PromoteCatalogLine,
) -> Result<BTreeSet<&'a str>> {
    for (index, path) in command.leave_out.iter().enumerate() {
        if !unit.is_active_path(project, &command.from, path).await? {
            return Err(Error::invalid(format!("leave_out[{index}]"), "the line has no active entry with this path"));
        }
    }
    Ok(command.leave_out.iter().map(String::as_str).collect())
}

fn check(command: &PromoteCatalogLine, carried: usize, changed: Vec<String>) -> Result<()> {
    let PromoteCatalogLine { from, line, .. } = command;
    if !changed.is_empty() {
        let message = format!(
            "{} of line {line}, or of a line that it comes from, changed since {from} was forked, the first at {}: leave \
             them out by name",
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

/// The line that items are carried to, and what the other line has known of it.
struct Target<'a> {
    command: &'a PromoteCatalogLine,
    project: ProjectId,
    /// Paths whose active entry the source line, or one that it comes from, has had too: the same evidence under the same
    /// approval, so that what was approved anew is not taken for what it was before.
    known: BTreeSet<String>,
    /// Paths whose newest entry ended without the source line knowing, on the target or on a line that it comes from.
    ended: BTreeSet<String>,
    /// Whether an approval carried items from the source line.
    from_source: BTreeMap<ApprovalId, bool>,
}

impl<'a> Target<'a> {
    async fn read(unit: &mut Unit, project: ProjectId, command: &'a PromoteCatalogLine, head: &Head) -> Result<Self> {
        let PromoteCatalogLine { from, line, .. } = command;
        let (mut known, mut seen) = (BTreeSet::new(), BTreeMap::new());
        for (ancestor, revision) in lineage(unit, project, from, head).await? {
            known.extend(unit.active_paths_known_to(project, line, &ancestor, revision).await?);
            seen.insert(ancestor, revision);
        }
        let mut newest_ends = BTreeMap::new();
        let now = Head::of(unit, project, line).await?;
        for (ancestor, revision) in lineage(unit, project, line, &now).await? {
            // A fork has every key that was active, so that only what had ended is looked for further back.
            for (path, until) in unit.ended_paths(project, &ancestor, revision).await? {
                let was_seen = seen.get(&ancestor).is_some_and(|seen| *seen >= until);
                newest_ends.entry(path).or_insert(was_seen);
            }
        }
        let ended = newest_ends.into_iter().filter(|(_, was_seen)| !was_seen).map(|(path, _)| path).collect();
        Ok(Self { command, project, known, ended, from_source: BTreeMap::new() })
    }

    /// Whether the target has done something at `path` that the source line does not know of.
    async fn changed(&mut self, unit: &mut Unit, key: &BaselineKey, path: &str) -> Result<bool> {
        let key = BaselineKey { line: self.command.line.clone(), ..key.clone() };
        let Some(entry) = unit.active_entry(self.project, &key).await? else { return Ok(self.ended.contains(path)) };
        Ok(!self.known.contains(path) && !self.is_from_source(unit, entry.approval_id).await?)
    }

    async fn is_from_source(&mut self, unit: &mut Unit, id: ApprovalId) -> Result<bool> {
        if let Some(known) = self.from_source.get(&id) {
            return Ok(*known);
        }
        let approval = unit.approval(id).await?.ok_or_else(|| Error::internal("an entry without approval"))?;
        let is_from_source = approval.intent.promoted_from.is_some_and(|origin| origin.line == self.command.from);
        self.from_source.insert(id, is_from_source);
        Ok(is_from_source)
    }
}

/// Opens a candidate for each entry, and binds them with their newest reviews.
async fn propose(
    unit: &mut Unit,
    command: &PromoteCatalogLine,
    carried: Vec<Entry>,
    head: &Head,
    policy: &Policy,
) -> Result<(ApprovalIntent, Vec<EnvironmentId>)> {
    let mut items = Vec::with_capacity(carried.len());
    for entry in carried {
        let candidate = candidate(unit, &command.line, &entry).await?;
        proposal::add(unit, &candidate).await?;
        let named = |error: Error| {
            let message = format!("{}: {}", entry.key.path(), error.message());
            error.with_message(message)
        };
        items.push(item(unit, &command.line, &candidate, None).await.map_err(named)?);
    }
    let terms = Terms {
        line: &command.line,
        release_label: command.release_label.as_ref(),
        publication: command.publication.as_ref(),
        promoted_from: Some(LineOrigin { line: command.from.clone(), revision: head.revision, digest: head.digest()? }),
    };
    bind(terms, items, policy)
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
