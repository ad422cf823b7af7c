//! Every operation through REST and through MCP of both eras on stores that are alike: the same results and refusals, and
//! the same audit rows, events and jobs.

use pinhole_contract::{Idempotency, Spec, Surfaces, Who};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    callers::{Caller, Credential, Expect, Kind, callers},
    cases::{Case, cases, with_ticket},
    doors::{Answer, Door},
    ground::Ground,
};

/// A door with a store of its own behind it.
struct Side {
    door: Door,
    ground: Ground,
    callers: Vec<Caller>,
}

/// One call, as each side makes it.
struct Call {
    what: &'static str,
    credential: Credential,
    input: Value,
    /// The code that it is refused with, or `ok`.
    says: &'static str,
}

#[tokio::test]
async fn both_transports_say_and_do_the_same() {
    let mut sides = Vec::new();
    for door in [Door::Rest, Door::Initialized, Door::Stateless] {
        let ground = Ground::on(Engine::Sqlite).await;
        let callers = callers(&ground).await;
        sides.push(Side { door, ground, callers });
    }
    let (mut compared, mut operations) = (0, 0);
    for case in cases().into_iter().filter(|case| case.spec().surfaces == Surfaces::RestAndMcp) {
        compared += compare(&sides, case).await;
        operations += 1;
    }
    println!("{compared} calls of {operations} operations compared at {} doors", sides.len());
}

/// Makes each call of the case on each side; answers how many there were.
async fn compare(sides: &[Side], case: Case) -> usize {
    let mut calls = Vec::new();
    for side in sides {
        calls.push(side.calls(case).await);
    }
    for index in 0..calls[0].len() {
        let mut first = None;
        for (side, calls) in sides.iter().zip(&calls) {
            let call = &calls[index];
            let answer = side.ground.through(side.door, case.operation, &call.credential, &call.input).await;
            let what = format!("{} {} at {:?} with {}", case.operation, call.what, side.door, call.input);
            assert_eq!(answer.said(), call.says, "{what}: {}", answer.body);
            assert_eq!(answer.status, status(side.door, case.spec(), &answer), "{what}: {}", answer.body);
            let outcome = (&call.input, answer.body, side.journal());
            let first = first.get_or_insert_with(|| outcome.clone());
            assert_eq!(*first, outcome, "{what}");
        }
    }
    calls[0].len()
}

impl Side {
    /// Every refusal that an operation of this class can be met with, then its success and a repeat of it.
    async fn calls(&self, case: Case) -> Vec<Call> {
        let spec = case.spec();
        let caller = self.caller(&case);
        let mut input = case.input(&self.ground, caller).await;
        if spec.who == Who::Human {
            input = with_ticket(&self.ground, &caller.name, case.operation, input).await;
        }
        let call = |what, input: &Value, says| Call {
            what,
            credential: caller.credential.clone(),
            input: input.clone(),
            says,
        };
        let without = |member: &str| {
            let mut input = input.clone();
            input.as_object_mut().unwrap().remove(member);
            input
        };
        let with = |member: &str, value: Value| {
            let mut input = input.clone();
            input[member] = value;
            input
        };
        let mut calls = vec![call("with an unknown member", &with("colour", json!(1)), "invalid_arguments")];
        for (kind, what) in [
            (Kind::Stranger, "by a stranger"),
            (Kind::Unscoped, "without scope"),
            (Kind::Revoked, "with a revoked token"),
        ] {
            let other = self.of(kind);
            let says = match case.expects(other) {
                Expect::Allowed => continue,
                Expect::Unauthenticated => "unauthenticated",
                Expect::NotFound => "not_found",
                Expect::PermissionDenied => "permission_denied",
            };
            calls.push(Call { credential: other.credential.clone(), ..call(what, &input, says) });
        }
        let class = spec.idempotency;
        let (keyed, cas) = (is_keyed(class), is_cas(class));
        if keyed {
            calls.push(call("without a key", &without("idempotency_key"), "precondition_required"));
        }
        if cas {
            calls.push(call("without a version", &without("expected_version"), "precondition_required"));
            // A ticket is for one version and no other.
            let says = if spec.who == Who::Human { "permission_denied" } else { "conflict" };
            calls.push(call("with a stale version", &with("expected_version", json!(4_000_000_000_u32)), says));
        }
        calls.push(call("as it should be", &input, "ok"));
        match class {
            Idempotency::Read | Idempotency::Natural | Idempotency::Keyed | Idempotency::KeyedCas => {
                calls.push(call("once more", &input, "ok"));
            }
            Idempotency::Cas if spec.who == Who::Human => {
                calls.push(call("with a used ticket", &input, "permission_denied"));
            }
            Idempotency::Cas => calls.push(call("once more", &input, "conflict")),
        }
        calls
    }

    /// Somebody who may, by a token; a person where a ticket has to be theirs.
    fn caller(&self, case: &Case) -> &Caller {
        let needs = case.needs();
        let human = needs.who == Who::Human;
        let without_ticket = Spec { who: Who::Any, ..needs };
        let able = |caller: &&Caller| match human {
            true => caller.expects(&without_ticket, case.place) == Expect::Allowed && !caller.is_service(),
            false => case.expects(caller) == Expect::Allowed,
        };
        let mut tokens = self.callers.iter().filter(|caller| matches!(caller.credential, Credential::Bearer(_)));
        tokens.find(able).unwrap()
    }

    fn of(&self, kind: Kind) -> &Caller {
        self.callers.iter().find(|caller| caller.kind == kind).unwrap()
    }

    /// What was written for others to read: audit rows, events and jobs.
    fn journal(&self) -> String {
        self.ground.path.bench.sql(
            "SELECT at, principal_id, operation, project_id, object_id, detail FROM audit ORDER BY rowid DESC LIMIT 20; \
             SELECT id, at, kind, project_id, object_id, payload FROM events ORDER BY rowid DESC LIMIT 20; \
             SELECT count(*) FROM audit; SELECT count(*) FROM events; \
             SELECT job_type, CAST(job AS TEXT) FROM {jobs} ORDER BY rowid DESC LIMIT 20; SELECT count(*) FROM {jobs}",
        )
    }
}

/// The status that the contract gives an answer: on MCP only authentication has one of its own.
fn status(door: Door, spec: &Spec, answer: &Answer) -> u16 {
    match answer.said() {
        "unauthenticated" => 401,
        _ if door != Door::Rest => 200,
        "ok" if answer.is_pending() => 202,
        "ok" if is_keyed(spec.idempotency) && answer.body["replayed"] != true => 201,
        "ok" => 200,
        "invalid_arguments" => 422,
        "permission_denied" => 403,
        "not_found" => 404,
        "conflict" => 409,
        "precondition_required" => 428,
        other => panic!("{other}"),
    }
}

pub(crate) fn is_keyed(class: Idempotency) -> bool {
    matches!(class, Idempotency::Keyed | Idempotency::KeyedCas)
}

pub(crate) fn is_cas(class: Idempotency) -> bool {
    matches!(class, Idempotency::Cas | Idempotency::KeyedCas)
}
