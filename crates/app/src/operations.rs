//! The list of operations as erased calls: one JSON object in, one JSON object out, the same for every transport.

use std::{collections::BTreeMap, sync::LazyLock};

use pinhole_contract::{self as contract, Idempotency, Operation, OperationSpec};
use pinhole_core::{Actor, Error, Result};
use serde_json::{Map, Value};

use crate::{
    App, artifacts, audit, automations, baselines, environments, grants, groups, investigations, keys, log,
    page::Listing, principals, projects, publications, readiness, remotes, runs, scenarios, sessions, tokens,
    unit::BoxFuture, who,
};

type Call = Box<dyn for<'a> Fn(&'a App, &'a Actor, Map<String, Value>) -> BoxFuture<'a, Result<Reply>> + Send + Sync>;

/// One operation: its declaration and its implementation.
pub struct Entry {
    /// The declaration.
    pub operation: OperationSpec,
    call: Call,
}

/// What an operation answers when it is not refused.
#[derive(Debug)]
pub struct Reply {
    /// The view.
    pub body: Value,
    /// Which kind of answer it is.
    pub kind: ReplyKind,
}

/// The kinds of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// Done.
    Completed,
    /// Done, and a new object was made.
    Created,
    /// Not done: a person has to approve first.
    ApprovalRequired,
}

impl Entry {
    /// An operation that `use_case` does.
    pub fn of<O, F>(use_case: F) -> Self
    where
        O: Operation,
        F: for<'a> Fn(&'a App, &'a Actor, O) -> BoxFuture<'a, Result<O::Output>> + Send + Sync + 'static,
    {
        let call: Call = Box::new(move |app, actor, mut input| {
            let listing = (O::SPEC.idempotency == Idempotency::Read).then(|| Listing::of(actor, O::SPEC.name, &input));
            let opened = listing.as_ref().map_or(Ok(()), |listing| listing.open(app, &mut input));
            let command = opened.and_then(|()| contract::parse::<O>(input));
            let running = command.map(|command| use_case(app, actor, command));
            Box::pin(async move {
                let view = running?.await?;
                let mut body = serde_json::to_value(view).map_err(Error::internal)?;
                if let Some(listing) = listing {
                    listing.seal(app, &mut body)?;
                }
                Ok(Reply { kind: kind_of(O::SPEC.idempotency, &body), body })
            })
        });
        Self { operation: OperationSpec::of::<O>(), call }
    }

    /// Runs the operation with `input` on behalf of `actor`.
    ///
    /// # Errors
    /// `invalid_arguments` with the member's path when `input` does not fit the command; else what the use case
    /// refuses.
    pub async fn call(&self, app: &App, actor: &Actor, input: Map<String, Value>) -> Result<Reply> {
        (self.call)(app, actor, input).await
    }
}

/// Every operation by name.
pub fn operations() -> &'static BTreeMap<&'static str, Entry> {
    static OPERATIONS: LazyLock<BTreeMap<&'static str, Entry>> =
        LazyLock::new(|| table().into_iter().map(|entry| (entry.operation.spec.name, entry)).collect());
    &OPERATIONS
}

/// Pairs a command with its use case.
macro_rules! entries {
    ($($command:ident => $use_case:path,)*) => {
        vec![$(Entry::of::<contract::$command, _>(|app, actor, command| Box::pin($use_case(app, actor, command)))),*]
    };
}

fn table() -> Vec<Entry> {
    entries! {
        Whoami => who::whoami,
        ListOperations => who::list_operations,
        ListMyTokens => tokens::list_own,
        CreateMyToken => tokens::create_own,
        RevokeMyToken => tokens::revoke_own,
        ListMySessions => sessions::list_own,
        RevokeMySession => sessions::revoke_own,
        CreateDecisionTicket => baselines::create_ticket,
        GetReadiness => readiness::get,
        CreateProject => projects::create_project,
        GetProject => projects::get_project,
        ListProjects => projects::list_projects,
        GetBaselinePolicy => baselines::get_policy,
        UpdateBaselinePolicy => baselines::update_policy,
        CreateEnvironment => environments::create,
        UpdateEnvironment => environments::update,
        GetEnvironment => environments::get,
        ListEnvironments => environments::list,
        ApproveHostPatterns => environments::approve_host_patterns,
        PutEnvironmentSecret => environments::put_secret,
        DeleteEnvironmentSecret => environments::delete_secret,
        ListEnvironmentSecrets => environments::list_secrets,
        PutRemote => remotes::put,
        ListRemotes => remotes::list,
        ValidateScenario => scenarios::validate,
        CreateScenario => scenarios::create,
        SubmitScenarioRevision => scenarios::submit_revision,
        ListScenarios => scenarios::list,
        GetScenario => scenarios::get,
        ArchiveScenario => scenarios::archive,
        StartScenarioRun => runs::start,
        GetScenarioRun => runs::get,
        ListScenarioRuns => runs::list,
        CancelScenarioRun => runs::cancel,
        GetScenarioRunResult => runs::result,
        GetScenarioArtifact => artifacts::get,
        GetCaptureReceipt => artifacts::receipt,
        CaptureBaseline => baselines::capture_structured,
        CaptureVisualBaseline => baselines::capture_visual,
        ReviewVisualBaseline => baselines::review_visual,
        RequestBaselineApproval => baselines::request,
        ListApprovals => baselines::list_approvals,
        GetApproval => baselines::get_approval,
        DecideApproval => baselines::decide,
        ConsumeBaselineApproval => baselines::consume,
        Rebaseline => baselines::rebaseline,
        RetireBaseline => baselines::retire,
        InvalidateBaseline => baselines::invalidate,
        ListBaselines => baselines::list_entries,
        GetBaseline => baselines::get_entry,
        ListCatalogRevisions => baselines::list_revisions,
        GetCatalogRevision => baselines::get_revision,
        ListCatalogLines => baselines::list_lines,
        GetCatalogLine => baselines::get_line,
        ForkCatalogLine => baselines::fork,
        PromoteCatalogLine => baselines::promote,
        PublishBaselineCatalog => publications::publish,
        GetPublication => publications::get,
        ListPublications => publications::list,
        GetLogProof => log::proof,
        GetLogConsistency => log::consistency,
        GrantRole => grants::grant,
        RevokeRole => grants::revoke,
        ListGrants => grants::list,
        CreatePrincipal => principals::create,
        ListPrincipals => principals::list,
        UpdatePrincipal => principals::update,
        CreateGroup => groups::create,
        ListGroups => groups::list,
        GetGroup => groups::get,
        PutGroupMembers => groups::put_members,
        CreateServiceToken => tokens::create_of_service,
        ListServiceTokens => tokens::list_of_services,
        RevokeServiceToken => tokens::revoke_of_service,
        ListAudit => audit::list,
        ListSigningKeys => keys::list,
        CreateSchedule => automations::create_schedule,
        UpdateSchedule => automations::update_schedule,
        GetSchedule => automations::get_schedule,
        ListSchedules => automations::list_schedules,
        DeleteSchedule => automations::delete_schedule,
        CreateWebhook => automations::create_webhook,
        UpdateWebhook => automations::update_webhook,
        GetWebhook => automations::get_webhook,
        ListWebhooks => automations::list_webhooks,
        DeleteWebhook => automations::delete_webhook,
        CreateCiDispatch => automations::create_ci_dispatch,
        UpdateCiDispatch => automations::update_ci_dispatch,
        GetCiDispatch => automations::get_ci_dispatch,
        ListCiDispatches => automations::list_ci_dispatches,
        DeleteCiDispatch => automations::delete_ci_dispatch,
        DispatchCi => automations::dispatch_ci,
        OpenInvestigation => investigations::open,
        ClaimInvestigation => investigations::claim,
        AddFinding => investigations::add_finding,
        DisposeInvestigation => investigations::dispose,
        ListInvestigations => investigations::list,
        GetInvestigation => investigations::get,
    }
}

/// What can be gated says so itself. A keyed operation makes an object, unless it found the one that an earlier call made.
fn kind_of(class: Idempotency, body: &Value) -> ReplyKind {
    if body.get("outcome").is_some_and(|outcome| outcome == "approval_required") {
        return ReplyKind::ApprovalRequired;
    }
    let keyed = matches!(class, Idempotency::Keyed | Idempotency::KeyedCas);
    if keyed && body.get("replayed") != Some(&Value::Bool(true)) { ReplyKind::Created } else { ReplyKind::Completed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_declared_operation_is_implemented() {
        for operation in contract::specs() {
            assert!(operations().contains_key(operation.spec.name), "{}", operation.spec.name);
        }
        assert_eq!(operations().len(), contract::specs().len());
    }
}
