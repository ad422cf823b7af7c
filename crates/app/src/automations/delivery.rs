//! Deliveries: an automation starts a run by the same admission as a call, and the ledger says what came of it. Both are
//! written together, so that a delivery happens once or not at all.

use std::collections::BTreeMap;

use pinhole_core::{
    Actor, Authority, Code, DeliveryKey, DeliveryOutcome, Error, Permission, PrincipalClass, RequestId, Result,
};
use pinhole_store::{Automation, Delivery, Refusal, Run};
use serde_json::json;

use super::change::check_persons;
use crate::{
    App,
    readiness::check_space,
    runs::{Trigger, admissible},
    unit::Unit,
};

/// Who starts the runs of an automation: its principal, without a person and without a credential.
pub(super) fn actor_of(app: &App, automation: &Automation) -> Actor {
    Actor {
        principal: automation.runs_as,
        class: PrincipalClass::Service,
        authority: Authority::Automation,
        request: RequestId::from_uuid(app.ids().uuid()),
    }
}

/// Starts a run of the automation on behalf of the unit's actor. `space` is what the file system said before.
///
/// # Errors
/// As for `start_scenario_run`; a refusal comes before any row is written.
pub(super) async fn start(
    unit: &mut Unit,
    automation: &Automation,
    trigger: Trigger,
    space: &Result<Option<f64>>,
) -> Result<Run> {
    let place = (automation.project_id, Some(automation.environment_id));
    // To the ledger's readers the environment is no secret, so that lost sight of it is a lost right.
    let hidden = |error: Error| match error.code() {
        Code::NotFound | Code::Unauthenticated => Error::permission_denied(Permission::RunStart.as_str()),
        _ => error,
    };
    unit.authorise(place.0, place.1, Permission::RunStart).await.map_err(hidden)?;
    let admissible = admissible(unit, &automation.selectors, &[Permission::RunStart]).await?;
    check_space(unit.app().settings(), space)?;
    check_persons(&admissible)?;
    admissible.queue(unit, trigger).await
}

/// Whether an error is the last word on a delivery, rather than a fault that a repeat may not meet. A refused row is
/// none: on PostgreSQL nothing more can be written in its transaction.
pub(super) fn is_final(error: &Error) -> bool {
    error.reason() != Some("exists")
        && matches!(
            error.code(),
            Code::PermissionDenied | Code::NotFound | Code::Conflict | Code::InvalidArguments | Code::LimitExceeded
        )
}

/// The refusal that an error is told as.
pub(super) fn refusal_of(error: &Error) -> Refusal {
    Refusal { code: error.code(), message: error.message().to_owned(), details: error.details().clone() }
}

/// Writes what came of a delivery to the ledger, with its audit row.
pub(super) async fn record(
    unit: &mut Unit,
    automation: &Automation,
    key: DeliveryKey,
    came: Result<&Run, Refusal>,
    (missed, labels): (u32, BTreeMap<String, String>),
) -> Result<Delivery> {
    let outcome = if came.is_ok() { DeliveryOutcome::Started } else { DeliveryOutcome::Refused };
    let run_id = came.as_ref().ok().map(|run| run.id);
    let delivery = Delivery {
        automation_id: automation.id,
        key,
        at: unit.now(),
        outcome,
        run_id,
        refusal: came.err(),
        missed,
        labels,
    };
    unit.insert_delivery(&delivery).await.map_err(|error| match error.code() {
        // Another transaction was first with this delivery: run again and see what it came to.
        Code::Conflict => Error::transient(error),
        _ => error,
    })?;
    let detail = json!({
        "delivery": delivery.key, "outcome": outcome, "run": run_id, "missed": missed,
        "code": delivery.refusal.as_ref().map(|refusal| refusal.code),
    });
    unit.audit(Some(automation.project_id), Some(automation.id.to_string()), detail).await?;
    Ok(delivery)
}
