//! Human authority, for every operation that asks for it: everybody who must not get through, and the ones who do.

use std::collections::BTreeSet;

use pinhole_app::Settings;
use pinhole_contract::{Who, specs};
use pinhole_core::{Actor, Role, Sha256Digest, TicketId};
use pinhole_store::Ticket;
use pinhole_testkit::Engine;
use serde_json::json;

use crate::{
    cases::{Case, Target},
    path::Path,
    people::{MINUTE, assert_refused, uuid},
};

/// The people and the target of one case.
struct Stage {
    case: Case,
    path: Path,
    target: Target,
    /// The personal token of somebody who has the role, and nothing else.
    token: Actor,
    /// A fresh session of the same person.
    session: Actor,
}

impl Stage {
    async fn of(case: Case, engine: Engine) -> Self {
        let path = Path::on(engine).await;
        let token = path.bench.person("Hanna", &[case.role()]).await;
        let session = path.bench.session_of(token.principal).await;
        let target = case.target(&path).await;
        Self { case, path, target, token, session }
    }

    /// That the call is refused, whatever else was right.
    async fn refused(&self, actor: &Actor, ticket: Option<&str>, code: &str, reason: &str) {
        let outcome = self.case.call(&self.path.bench, actor, &self.target, ticket).await;
        assert_refused(outcome, code, reason);
    }

    /// A ticket of the person for `target`, made in the session.
    async fn ticket(&self, target: &Target) -> Option<String> {
        let made = self.case.ticket()?.call(&self.path.bench, &self.session, target, None).await.unwrap();
        Some(made["secret"].as_str().unwrap().to_owned())
    }

    /// A ticket like a good one but for what `change` does to it.
    async fn other_ticket(&self, change: impl FnOnce(&mut Ticket)) -> String {
        let good = self.ticket(&self.target).await.unwrap();
        let secret = format!("ticket {}", self.path.bench.fresh_key());
        let mut tx = self.path.bench.app.store().begin_write().await.unwrap();
        let mut ticket = tx.ticket_by_secret(Sha256Digest::of(good.as_bytes())).await.unwrap().unwrap();
        ticket.id = TicketId::from_uuid(uuid(&self.path.bench));
        ticket.secret_sha256 = Sha256Digest::of(secret.as_bytes());
        change(&mut ticket);
        tx.insert_ticket(&ticket).await.unwrap();
        tx.commit().await.unwrap();
        secret
    }
}

#[test]
fn every_operation_that_needs_human_authority_has_a_case() {
    let needed: BTreeSet<_> = specs()
        .iter()
        .filter(|operation| operation.spec.who == Who::Human)
        .map(|operation| operation.spec.name)
        .collect();
    let covered: BTreeSet<_> = Case::ALL.into_iter().map(Case::operation).collect();
    assert_eq!(covered, needed, "add a case to crates/app/tests/identity/cases.rs");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_person_who_proved_it_a_moment_ago_gets_through() {
    for engine in Engine::ALL {
        for case in Case::ALL {
            let stage = Stage::of(case, engine).await;
            let service = stage.path.bench.service("agent", Role::ALL).await;
            let stale = stage.path.bench.session_proved(stage.token.principal, 15 * MINUTE + MINUTE / 60).await;
            let ticket = stage.ticket(&stage.target).await;
            for actor in [&service, &stage.token, &stale] {
                stage.refused(actor, None, "permission_denied", "human_authority").await;
            }
            if let Some(ticket) = &ticket {
                // Neither a service nor a session that is not fresh can use what was made for a person's token.
                for actor in [&service, &stale] {
                    stage.refused(actor, Some(ticket), "permission_denied", "human_authority").await;
                }
            }
            // None of the refusals changed anything: the same call passes.
            let session = stage.path.bench.session_proved(stage.token.principal, 14 * MINUTE).await;
            case.call(&stage.path.bench, &session, &stage.target, None).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_is_for_one_person_object_version_intent_outcome_and_time() {
    for engine in Engine::ALL {
        for case in Case::ALL.into_iter().filter(|case| case.ticket().is_some()) {
            let stage = Stage::of(case, engine).await;
            let bench = &stage.path.bench;
            let good = stage.ticket(&stage.target).await.unwrap();
            let other = bench.person("Hugo", &[case.role()]).await;
            stage.refused(&other, Some(&good), "permission_denied", "decision_ticket").await;
            let elsewhere = stage.ticket(&case.target(&stage.path).await).await.unwrap();
            let now = bench.app.store().begin_read().await.unwrap().now();
            let wrong = [
                elsewhere,
                stage.other_ticket(|ticket| ticket.object_version += 1).await,
                stage.other_ticket(|ticket| ticket.intent_sha256 = Sha256Digest::of(b"another")).await,
                stage.other_ticket(|ticket| ticket.outcome = "reject".into()).await,
                stage.other_ticket(|ticket| ticket.reason = "another".parse().unwrap()).await,
                stage.other_ticket(|ticket| ticket.expires_at = now).await,
                format!("{good}0"),
            ];
            for ticket in &wrong {
                stage.refused(&stage.token, Some(ticket), "permission_denied", "decision_ticket").await;
            }
            // The good one still passes, once.
            case.call(bench, &stage.token, &stage.target, Some(&good)).await.unwrap();
            stage.refused(&stage.token, Some(&good), "permission_denied", "decision_ticket").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_went_a_moment_ago_is_no_authority() {
    for engine in Engine::ALL {
        for case in Case::ALL {
            let stage = Stage::of(case, engine).await;
            let ticket = stage.ticket(&stage.target).await;
            stage.path.bench.take("Hanna", case.role()).await;
            stage.refused(&stage.session, None, "not_found", "").await;
            stage.refused(&stage.token, ticket.as_deref(), "not_found", "").await;
            // With another role the object is seen, and still not decided.
            stage.path.bench.person("Hanna", &[Role::Viewer]).await;
            let (code, reason) =
                crate::support::refused(case.call(&stage.path.bench, &stage.session, &stage.target, None).await);
            assert_eq!(code, "permission_denied");
            assert!(["review.write", "approval.decide", "policy.write"].contains(&reason.as_str()), "{reason}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_is_shown_once_and_says_how_the_decision_was_made() {
    let stage = Stage::of(Case::Decide, Engine::Sqlite).await;
    let bench = &stage.path.bench;
    let approval = stage.path.requested(crate::path::darker(40)).await;
    let input = json!({
        "decision": { "approval": { "approval_id": approval["id"], "outcome": "deny" } },
        "reason": "no",
        "idempotency_key": "one",
    });
    let first = bench.call(&stage.session, "create_decision_ticket", input.clone()).await.unwrap();
    let again = bench.call(&stage.session, "create_decision_ticket", input).await.unwrap();
    assert_eq!((&again["id"], &again["replayed"], &again["secret"]), (&first["id"], &json!(true), &json!(null)));
    let call = json!({
        "approval_id": approval["id"], "outcome": "deny", "reason": "no", "expected_version": 1,
        "ticket": first["secret"],
    });
    let decided = bench.call(&stage.token, "decide_approval", call).await.unwrap();
    assert_eq!(decided["decisions"][0]["via"], "ticket");
    let late = json!({
        "decision": { "approval": { "approval_id": approval["id"], "outcome": "approve" } },
        "reason": "yes",
    });
    assert_refused(bench.keyed(&stage.session, "create_decision_ticket", late).await, "conflict", "not_pending");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_can_switch_tickets_of_sessions_off() {
    let settings = Settings { session_tickets: false, ..Settings::default() };
    let bench = crate::support::Bench::with(Engine::Sqlite, settings).await;
    let maker = bench.service("builder", &[Role::Operator]).await;
    let session = bench.person_in_session("Hanna", &[Role::Reviewer]).await;
    let receipts: Vec<_> =
        bench.capture(&maker, "staging", crate::support::GOOD).await.receipts.into_values().collect();
    let decision = json!({ "review": { "receipts": receipts, "disposition": "accept" } });
    let outcome =
        bench.keyed(&session, "create_decision_ticket", json!({ "decision": decision, "reason": "ok" })).await;
    assert_refused(outcome, "permission_denied", "session_tickets");
    let wrong = json!({ "review": { "receipts": [], "disposition": "accept" } });
    let outcome = bench.keyed(&session, "create_decision_ticket", json!({ "decision": wrong, "reason": "ok" })).await;
    assert_eq!(outcome.unwrap_err().details().field.as_deref(), Some("decision.review.receipts"));
}
