//! The one list of cases: for each operation a function that makes a fresh valid target and names the input for it.

mod automations;
mod baselines;
mod identity;
mod projects;
mod runs;
mod settings;

use std::{collections::BTreeSet, pin::Pin};

use pinhole_contract::{Idempotency, Spec, specs};
use pinhole_core::{Permission, ReceiptId};
use serde_json::{Value, from_value};

use crate::{
    callers::{Caller, Expect},
    doors::spec_of,
    ground::Ground,
};

type Input = for<'a> fn(&'a Ground, &'a Caller) -> Pin<Box<dyn Future<Output = Value> + Send + 'a>>;

/// How an operation is called validly.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) operation: &'static str,
    pub(crate) place: Place,
    input: Input,
}

impl Case {
    pub(crate) fn spec(&self) -> &'static Spec {
        &spec_of(self.operation).spec
    }

    /// The declaration with what the case's own object asks for, where the table's line cannot say it.
    pub(crate) fn needs(&self) -> Spec {
        let permission = match self.operation {
            // A ticket is for whoever might decide.
            "create_decision_ticket" => Some(Permission::ApprovalDecide),
            // A list of nothing is no refusal.
            "list_projects" => None,
            _ => self.spec().permission,
        };
        Spec { permission, ..*self.spec() }
    }

    /// What a caller may expect.
    pub(crate) fn expects(&self, caller: &Caller) -> Expect {
        caller.expects(&self.needs(), self.place)
    }

    /// Whether people have another operation for the same.
    pub(crate) fn is_for_services(&self) -> bool {
        self.operation == "dispatch_ci"
    }

    /// An input that succeeds when the caller may call it: everything that it needs is made first, with a fresh key. No
    /// two inputs of a keyed operation mean the same.
    pub(crate) async fn input(&self, ground: &Ground, caller: &Caller) -> Value {
        let mut input = (self.input)(ground, caller).await;
        if matches!(self.spec().idempotency, Idempotency::Keyed | Idempotency::KeyedCas) {
            input["idempotency_key"] = ground.fresh("case").into();
        }
        input
    }
}

/// Where the object that an operation is checked on lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In no project.
    Nowhere,
    /// In the project `shop` as a whole.
    Project,
    /// In each environment of the project that the caller may do this in.
    Lists,
    /// In the environment of the project that the cases' runs are of.
    Environment,
    /// In an environment that the case makes, where whoever has a role in that one has it too.
    NewEnvironment,
}

impl Place {
    /// Whether it is in one environment.
    pub(crate) fn is_in_environment(self) -> bool {
        matches!(self, Self::Environment | Self::NewEnvironment)
    }
}

/// The ticket with which `who` may call an operation over either transport that needs human authority; such a call has
/// the ticket's secret in it.
pub(crate) async fn with_ticket(ground: &Ground, who: &str, operation: &str, mut input: Value) -> Value {
    let member = |name: &str| input[name].clone();
    let (who, reason) = (who.parse().unwrap(), from_value(member("reason")).unwrap());
    let ticket = match operation {
        "review_visual_baseline" => {
            let receipts: Vec<ReceiptId> = from_value(member("receipts")).unwrap();
            let disposition = from_value(member("disposition")).unwrap();
            ground.app().create_review_ticket(&who, &receipts, disposition, &reason).await
        }
        "decide_approval" => {
            let (approval, outcome) = (from_value(member("approval_id")), from_value(member("outcome")));
            ground.app().create_decision_ticket(&who, approval.unwrap(), outcome.unwrap(), &reason).await
        }
        other => panic!("no ticket is made for {other}"),
    };
    input["ticket"] = ticket.unwrap().secret.into();
    input
}

/// Pairs operations with their places and inputs.
macro_rules! declare {
    ($($operation:literal in $place:ident => |$ground:pat_param, $caller:pat_param| $input:expr,)*) => {
        /// The cases of this group.
        pub(super) const CASES: &[$crate::cases::Case] = &[$($crate::cases::Case {
            operation: $operation,
            place: $crate::cases::Place::$place,
            input: |$ground, $caller| Box::pin(async move { $input }),
        }),*];
    };
}
use declare;

/// Every case, in the order of the contract's table.
///
/// # Panics
/// When an operation has no case or two.
pub(crate) fn cases() -> Vec<Case> {
    let cases: Vec<Case> =
        [identity::CASES, settings::CASES, projects::CASES, runs::CASES, baselines::CASES, automations::CASES].concat();
    let names: BTreeSet<_> = cases.iter().map(|case| case.operation).collect();
    assert_eq!(names.len(), cases.len(), "an operation has two cases");
    let missing: Vec<_> = specs().iter().map(|o| o.spec.name).filter(|name| !names.contains(name)).collect();
    assert!(missing.is_empty(), "operations without a case in tests/contract/cases: {missing:?}");
    let case = |name: &str| cases.iter().find(|case| case.operation == name).copied();
    specs().iter().filter_map(|operation| case(operation.spec.name)).collect()
}

#[test]
fn every_operation_has_a_case() {
    assert_eq!(cases().len(), specs().len());
}
