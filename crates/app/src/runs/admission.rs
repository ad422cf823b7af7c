//! Admission: selectors become pins, and run, cells, audit row and jobs are written in one transaction. When
//! anything fails, nothing is queued.

use std::time::Duration;

use pinhole_contract::{EnvironmentDocument, RunView, StartScenarioRun};
use pinhole_core::{
    ActionRule, Actor, BaselineKind, BaselinePin, BaselineSelector, CellId, EnvironmentSelector, Error, LineName,
    LineRevision, NoBaseline, Permission, Pins, PrincipalClass, ReceiptSelector, Result, RunId, RunSelectors, RunState,
    ScenarioSelector, Sha256Digest, Slug,
};
use pinhole_jobs::CaptureJob;
use pinhole_scenario::Scenario as ScenarioDocument;
use pinhole_store::{Cell, Environment, Project, Run, Scenario, ScenarioRevision};
use serde_json::json;
use url::Url;

use super::view::{authorised_part, view_of};
use crate::{
    App,
    baselines::check_line,
    environments::{allowed_hosts, check_base_url, check_override, document_of},
    idempotency::Keyed,
    readiness::check_space,
    unit::Unit,
};

/// When the sweeper queues a cell's job again if no worker has taken it.
pub(crate) const FIRST_REQUEUE: Duration = Duration::from_secs(10);

/// What may be run: authorised, with its selectors resolved to pins, and within the static policy.
pub(crate) struct Admissible {
    pub(crate) project: Project,
    pub(crate) pins: Pins,
    document: ScenarioDocument,
    archived: bool,
}

/// What starts a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// A call of `start_scenario_run`.
    Call,
    /// A schedule.
    Schedule,
    /// A webhook.
    Webhook,
    /// A CI dispatch.
    Ci,
    /// `pinhole try`: its captures can never become baselines.
    Try,
}

impl Trigger {
    /// The text in the run's row.
    pub(crate) const TRY: &'static str = "try";
}

pub(crate) async fn start(app: &App, actor: &Actor, command: StartScenarioRun) -> Result<RunView> {
    start_as(app, actor, command, Trigger::Call).await
}

pub(crate) async fn start_as(app: &App, actor: &Actor, command: StartScenarioRun, trigger: Trigger) -> Result<RunView> {
    if let Some(base_url) = &command.base_url {
        check_base_url(base_url)?;
    }
    // Not for the caller to know before it is authorised, and cheap: a look at the file system, no I/O on its behalf.
    let space = &app.blobs().free_space_percent();
    let (selectors, key) = (&RunSelectors::from(&command), command.idempotency_key.as_ref());
    let base_url = command.base_url.as_deref();
    app.write(actor, "start_scenario_run", move |unit, _| {
        Box::pin(async move {
            let admissible = admissible_at(unit, selectors, base_url, &[Permission::RunStart]).await?;
            check_space(unit.app().settings(), space)?;
            let call = match unit.keyed(key, &admissible.pins).await? {
                Keyed::First(call) => call,
                Keyed::Replay(id) => {
                    let run = unit.run(id.parse()?).await?.ok_or_else(Error::not_found)?;
                    return Ok(RunView { replayed: true, ..view_of(unit, run).await? });
                }
            };
            let run = admissible.queue(unit, trigger).await?;
            unit.remember(call, run.id).await?;
            view_of(unit, run).await
        })
    })
    .await
}

/// Everything of admission that comes before the idempotency key: authority with each of `needs` on the environment,
/// selectors to pins, static policy. It changes no row.
pub(crate) async fn admissible(unit: &mut Unit, selectors: &RunSelectors, needs: &[Permission]) -> Result<Admissible> {
    admissible_at(unit, selectors, None, needs).await
}

/// As [`admissible`], with the application somewhere else than the environment says when `base_url` is given.
async fn admissible_at(
    unit: &mut Unit,
    selectors: &RunSelectors,
    base_url: Option<&str>,
    needs: &[Permission],
) -> Result<Admissible> {
    let resolved = resolve(unit, selectors, base_url, needs).await?;
    let document = ScenarioDocument::from_canonical(resolved.revision.canonical.as_bytes())?;
    check_actions(&document, &resolved.environment)?;
    check_hosts(&document, &resolved)?;
    let Resolved { project, archived, pins, .. } = resolved;
    Ok(Admissible { project, pins, document, archived })
}

impl Admissible {
    /// The state rule: a repeat of a call that was admitted before it came to hold still finds its run.
    ///
    /// # Errors
    /// `conflict` when the scenario is archived.
    pub(crate) fn check_state(&self) -> Result<()> {
        if self.archived {
            return Err(Error::conflict("archived", "the scenario is archived: no run of it can be started"));
        }
        Ok(())
    }

    /// Whether a step waits for a person, whom nobody brings along where no person starts the run.
    pub(crate) fn needs_person(&self) -> bool {
        self.document.steps.iter().any(pinhole_scenario::Step::needs_person)
    }

    /// Whether the run will capture this checkpoint, of this kind, in a matrix row of this name.
    pub(crate) fn captures(&self, checkpoint: &Slug, profile: &Slug, kind: BaselineKind) -> Result<bool> {
        let captured = match kind {
            BaselineKind::Visual => self.document.captures().any(|capture| capture.name == *checkpoint),
            BaselineKind::Structured => self.document.extracts().any(|extract| extract.name == *checkpoint),
            BaselineKind::Performance => false,
        };
        Ok(captured && self.document.cells()?.iter().any(|cell| cell.name == *profile))
    }

    /// Queues a run of it, with its cells, jobs, audit row and event.
    ///
    /// # Errors
    /// Those of [`Admissible::check_state`], before any row is written.
    pub(crate) async fn queue(self, unit: &mut Unit, trigger: Trigger) -> Result<Run> {
        self.check_state()?;
        let project = self.project.id;
        let cells = self.document.cells()?.len();
        let run = insert(unit, self.pins, &self.document, trigger).await?;
        let detail = json!({ "pins": run.pins, "cells": cells });
        unit.audit(Some(project), Some(run.id.to_string()), detail).await?;
        unit.event("run.queued", project, run.id.to_string(), json!({ "run": run.id })).await?;
        Ok(run)
    }
}

/// Everything that the selectors were resolved to.
struct Resolved {
    project: Project,
    archived: bool,
    revision: ScenarioRevision,
    environment: EnvironmentDocument,
    pins: Pins,
}

async fn insert(unit: &mut Unit, pins: Pins, document: &ScenarioDocument, trigger: Trigger) -> Result<Run> {
    let trigger = match (trigger, unit.actor().class) {
        (Trigger::Try, _) => Trigger::TRY,
        (Trigger::Schedule, _) => "schedule",
        (Trigger::Webhook, _) => "webhook",
        (Trigger::Ci, _) => "ci",
        (Trigger::Call, PrincipalClass::User) => "user",
        (Trigger::Call, PrincipalClass::Service) => "service",
    };
    let run = Run {
        id: RunId::from_uuid(unit.uuid()),
        pins,
        trigger: trigger.into(),
        state: RunState::Queued,
        verdict: None,
        version: 1,
        created_by: unit.actor().principal,
        created_at: unit.now(),
        finished_at: None,
    };
    unit.insert_run(&run).await?;
    for (ordinal, cell) in (0..).zip(document.cells()?) {
        let cell = Cell {
            id: CellId::from_uuid(unit.uuid()),
            run_id: run.id,
            ordinal,
            name: cell.name,
            profile: cell.profile,
            state: RunState::Queued,
            attempt: 0,
            claim_token: None,
            due_at: unit.now().plus(FIRST_REQUEUE),
            not_before: unit.now(),
            register_tries: 0,
            submission: None,
            failed_assertions: Vec::new(),
            failure: None,
            created_at: unit.now(),
            finished_at: None,
        };
        unit.insert_cell(&cell).await?;
        unit.enqueue(&CaptureJob { cell: cell.id }, Duration::ZERO).await?;
    }
    Ok(run)
}

async fn resolve(
    unit: &mut Unit,
    command: &RunSelectors,
    base_url: Option<&str>,
    needs: &[Permission],
) -> Result<Resolved> {
    let project = unit.authorised_project(&command.project, Permission::Read).await?;
    let environment = unit.authorised_environment(project.id, &command.environment, Permission::Read).await?;
    for permission in needs {
        unit.authorise(project.id, Some(environment.id), *permission).await?;
    }
    let scenario = unit.scenario_by_slug(project.id, &command.scenario).await?.ok_or_else(Error::not_found)?;
    let digest = match &command.revision {
        ScenarioSelector::Digest(digest) => *digest,
        ScenarioSelector::Head(_) => scenario.head_digest,
    };
    let revision = unit.scenario_revision(scenario.id, digest).await?.ok_or_else(Error::not_found)?;
    let number = match command.environment_revision {
        EnvironmentSelector::Revision(number) => number,
        EnvironmentSelector::Latest(_) => environment.head_revision,
    };
    let at = unit.environment_revision(environment.id, number).await?.ok_or_else(Error::not_found)?;
    let document = document_of(&at)?;
    if let Some(base_url) = base_url {
        check_override(unit, &at, base_url).await?;
    }
    let baseline = resolve_baseline(unit, &project, &scenario, &environment, &command.baseline).await?;
    let pins = Pins {
        project: project.id,
        scenario: scenario.id,
        scenario_slug: scenario.slug,
        scenario_digest: revision.digest,
        scenario_sha256: revision.sha256,
        environment: environment.id,
        environment_slug: environment.slug,
        environment_revision: at.revision,
        environment_sha256: at.sha256,
        base_url: base_url.unwrap_or(&document.base_url).to_owned(),
        baseline,
    };
    Ok(Resolved { project, archived: scenario.archived_at.is_some(), revision, environment: document, pins })
}

async fn resolve_baseline(
    unit: &mut Unit,
    project: &Project,
    scenario: &Scenario,
    environment: &Environment,
    selector: &BaselineSelector,
) -> Result<BaselinePin> {
    match selector {
        BaselineSelector::None => Ok(BaselinePin::None { because: NoBaseline::Requested }),
        BaselineSelector::Line { name, revision, of_environment } => {
            let of = match of_environment {
                None => environment.id,
                Some(slug) => unit.authorised_environment(project.id, slug, Permission::Read).await?.id,
            };
            match resolve_line(unit, project, name, *revision).await? {
                None => Ok(BaselinePin::None { because: NoBaseline::EmptyLine }),
                Some((number, digest)) => {
                    Ok(BaselinePin::Line { name: name.clone(), revision: number, digest, environment: of })
                }
            }
        }
        BaselineSelector::Receipt(ReceiptSelector::Previous(_)) => {
            let Some(run) = unit.newest_completed_run(scenario.id, environment.id).await? else {
                return Ok(BaselinePin::None { because: NoBaseline::NoPreviousRun });
            };
            let receipts = unit.receipts_of(run.id).await?;
            let evidence = receipts.into_iter().filter(|receipt| receipt.not_evidence.is_empty());
            Ok(BaselinePin::Receipts { receipts: evidence.map(|receipt| receipt.id).collect() })
        }
        BaselineSelector::Receipt(ReceiptSelector::Id(id)) => {
            // One of another project looks like none at all.
            let receipt = unit.receipt(*id).await?.filter(|receipt| receipt.project_id == project.id);
            let (_, receipt) = authorised_part(unit, receipt, |found| found.run_id, Permission::Read).await?;
            Ok(BaselinePin::Receipts { receipts: vec![receipt.id] })
        }
    }
}

/// The line's revision and digest; `None` when `latest` of a line that has none.
///
/// # Errors
/// `conflict` when there is no such line, so that a mistyped name is not taken for one that is still empty.
async fn resolve_line(
    unit: &mut Unit,
    project: &Project,
    name: &LineName,
    revision: LineRevision,
) -> Result<Option<(u32, Sha256Digest)>> {
    let number = match revision {
        LineRevision::Number(number) => number,
        LineRevision::Latest => {
            check_line(unit, project.id, name).await?;
            match unit.catalog_line(project.id, name).await? {
                Some(line) if line.head_revision > 0 => line.head_revision,
                _ => return Ok(None),
            }
        }
    };
    let found = unit.catalog_revision(project.id, name, number).await?.ok_or_else(Error::not_found)?;
    Ok(Some((found.revision, found.sha256)))
}

/// Refuses a scenario that does what the environment denies.
fn check_actions(document: &ScenarioDocument, environment: &EnvironmentDocument) -> Result<()> {
    for (index, step) in document.steps.iter().enumerate() {
        let class = step.class();
        // What waits for a person is not stored, and would be denied here rather than done unasked.
        if environment.decision_policy.rule(class) != ActionRule::Allow {
            let message = format!("not allowed: steps[{index}].{}: the environment denies {class}", step.name());
            return Err(Error::permission_denied("policy_denied").with_message(message));
        }
    }
    Ok(())
}

/// Refuses a scenario that would navigate to a host which the environment does not list.
fn check_hosts(document: &ScenarioDocument, resolved: &Resolved) -> Result<()> {
    let base = Url::parse(&resolved.pins.base_url).map_err(Error::internal)?;
    let allowed = allowed_hosts(&resolved.environment);
    for (index, step) in document.steps.iter().enumerate() {
        let pinhole_scenario::Step::Navigate(target) = step else { continue };
        let url = target.resolve(&base)?;
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or_default();
        if url.origin() != base.origin() && !allowed.contains(&(host.to_owned(), port)) {
            let reason = format!("steps[{index}].navigate: {host} is not among the environment's allowed hosts");
            return Err(Error::conflict("host_not_allowed", reason));
        }
    }
    Ok(())
}
