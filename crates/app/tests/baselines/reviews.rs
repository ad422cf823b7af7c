//! `review_visual_baseline`: who may review what, and with which ticket.

use std::time::Duration;

use pinhole_app::{NewTicket, Settings};
use pinhole_core::{Actor, Disposition, PrincipalClass, ReceiptId, Result, Role};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    path::{Path, reason},
    support::{Bench, Captured, GOOD, Look, refused},
};

fn input(receipts: &[ReceiptId], ticket: Option<&str>) -> Value {
    json!({ "receipts": receipts, "disposition": "accept", "reason": "fine", "ticket": ticket })
}

fn all(captured: &Captured) -> Vec<ReceiptId> {
    captured.receipts.values().copied().collect()
}

impl Path {
    async fn review_as(&self, actor: &Actor, input: Value) -> Result<Value> {
        self.bench.keyed(actor, "review_visual_baseline", input).await
    }

    /// Rita's ticket to accept these captures because they are fine.
    async fn ticket(&self, receipts: &[ReceiptId]) -> String {
        self.make_ticket("Rita", receipts).await.unwrap().secret
    }

    async fn make_ticket(&self, name: &str, receipts: &[ReceiptId]) -> Result<NewTicket> {
        let name = name.parse().unwrap();
        self.bench.app.create_review_ticket(&name, receipts, Disposition::Accept, &reason("fine")).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_service_reviews_whatever_its_grants() {
    let path = Path::on(Engine::Sqlite).await;
    let receipts = all(&path.capture(GOOD).await);
    let service = path.bench.service("agent", Role::ALL).await;
    let ticket = path.ticket(&receipts).await;
    for ticket in [None, Some(ticket.as_str())] {
        let outcome = path.review_as(&service, input(&receipts, ticket)).await;
        assert_eq!(refused(outcome), ("permission_denied", "human_authority".into()));
    }
    let ticket = path.make_ticket("agent", &receipts).await;
    assert_eq!(ticket.err().unwrap().reason(), Some("human_authority"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_is_for_one_person_one_object_one_outcome_and_one_time() {
    let path = Path::on(Engine::Sqlite).await;
    let captured = path.capture(GOOD).await;
    let (receipts, ticket_refused) = (all(&captured), ("permission_denied", "decision_ticket".to_owned()));
    let outcome = path.review_as(&path.reviewer, input(&receipts, None)).await;
    assert_eq!(refused(outcome), ("permission_denied", "human_authority".into()));

    let ticket = path.ticket(&receipts).await;
    let other = path.bench.person("Rob", &[Role::Reviewer]).await;
    assert_eq!(refused(path.review_as(&other, input(&receipts, Some(&ticket))).await), ticket_refused);
    let fewer = input(&receipts[..1], Some(&ticket));
    assert_eq!(refused(path.review_as(&path.reviewer, fewer).await), ticket_refused);
    for (member, value) in [("disposition", "reject"), ("reason", "another")] {
        let mut wrong = input(&receipts, Some(&ticket));
        wrong[member] = value.into();
        assert_eq!(refused(path.review_as(&path.reviewer, wrong).await), ticket_refused, "{member}");
    }
    let mistyped = format!("{ticket}0");
    assert_eq!(refused(path.review_as(&path.reviewer, input(&receipts, Some(&mistyped))).await), ticket_refused);
    // None of the refusals used it up; its use does, in whatever order the captures come.
    let turned: Vec<_> = receipts.iter().rev().copied().collect();
    let reviews = path.review_as(&path.reviewer, input(&turned, Some(&ticket))).await.unwrap();
    assert_eq!(reviews["reviews"][0]["receipt_id"], json!(turned[0]));
    assert_eq!(refused(path.review_as(&path.reviewer, input(&receipts, Some(&ticket))).await), ticket_refused);

    let late = path.ticket(&receipts).await;
    path.bench.clock.advance(Duration::from_secs(600));
    assert_eq!(refused(path.review_as(&path.reviewer, input(&receipts, Some(&late))).await), ticket_refused);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_session_needs_no_ticket_and_a_stale_one_does_not_review() {
    let path = Path::on(Engine::Sqlite).await;
    let receipts = all(&path.capture(GOOD).await);
    let begun = path.bench.app.begin_session(path.reviewer.principal, "password").await.unwrap();
    let session = path.bench.app.authenticate_session(&begun.secret, path.reviewer.request).await.unwrap();
    path.review_as(&session, input(&receipts, None)).await.unwrap();
    path.bench.clock.advance(Duration::from_secs(15 * 60 + 1));
    let outcome = path.review_as(&session, input(&receipts, None)).await;
    assert_eq!(refused(outcome), ("permission_denied", "human_authority".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_can_switch_local_tickets_off() {
    let bench = Bench::with(Engine::Sqlite, Settings { local_tickets: false, ..Settings::default() }).await;
    let maker = bench.service("builder", &[Role::Operator]).await;
    bench.person("Rita", &[Role::Reviewer]).await;
    let receipts = all(&bench.capture(&maker, "staging", GOOD).await);
    let name = "Rita".parse().unwrap();
    let ticket = bench.app.create_review_ticket(&name, &receipts, Disposition::Accept, &reason("fine")).await;
    assert_eq!(ticket.err().unwrap().reason(), Some("local_tickets"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_is_of_different_visible_captures_of_one_run() {
    let path = Path::on(Engine::Sqlite).await;
    let (one, two) = (path.capture(GOOD).await, path.capture(GOOD).await);
    let receipts = all(&one);
    let mixed = [one.receipts["cart"], two.receipts["cart"]];
    for wrong in [&[][..], &[receipts[0], receipts[0]], &[receipts[0]; 201], &mixed] {
        let (code, _) = refused(path.review_as(&path.reviewer, input(wrong, None)).await);
        assert_eq!(code, "invalid_arguments", "{} receipts", wrong.len());
    }
    for wrong in [&[][..], &mixed] {
        assert!(path.make_ticket("Rita", wrong).await.is_err(), "{} receipts", wrong.len());
    }
    let elsewhere = path.bench.principal(PrincipalClass::User, "Liv", Some("live"), &[Role::Reviewer]).await;
    assert_eq!(refused(path.review_as(&elsewhere, input(&receipts, None)).await), ("not_found", String::new()));
    // A receipt in an environment that she does not see changes nothing about that.
    let maker = path.bench.service("live-builder", &[Role::Operator]).await;
    let live = path.bench.capture(&maker, "live", GOOD).await;
    let mixed = [live.receipts["cart"], receipts[0]];
    assert_eq!(refused(path.review_as(&elsewhere, input(&mixed, None)).await), ("not_found", String::new()));
    let outcome = path.review_as(&path.maker, input(&receipts, None)).await;
    assert_eq!(refused(outcome), ("permission_denied", "review.write".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_proves_nothing_can_be_rejected_but_not_accepted() {
    let path = Path::on(Engine::Sqlite).await;
    let receipts = all(&path.capture(Look { not_evidence: true, ..GOOD }).await);
    let ticket = path.ticket(&receipts).await;
    let outcome = path.review_as(&path.reviewer, input(&receipts, Some(&ticket))).await;
    assert_eq!(refused(outcome), ("conflict", "not_evidence".into()));
    assert_eq!(path.review(&receipts, Disposition::Reject).await["reviews"][0]["disposition"], "reject");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_gives_all_first_reviews_without_another_ticket() {
    let path = Path::on(Engine::Sqlite).await;
    let receipts = all(&path.capture(GOOD).await);
    let ticket = path.ticket(&receipts).await;
    let mut call = input(&receipts, Some(&ticket));
    let outcome = path.bench.call(&path.reviewer, "review_visual_baseline", call.clone()).await;
    assert_eq!(refused(outcome), ("precondition_required", "idempotency_key".into()));
    call["idempotency_key"] = "same".into();
    let first = path.bench.call(&path.reviewer, "review_visual_baseline", call.clone()).await.unwrap();
    assert_eq!(first["reviews"].as_array().unwrap().len(), 2);
    let again = path.bench.call(&path.reviewer, "review_visual_baseline", call.clone()).await.unwrap();
    assert_eq!(again, json!({ "reviews": first["reviews"], "replayed": true }));

    call["receipts"] = json!(receipts[..1]);
    call["ticket"] = path.ticket(&receipts[..1]).await.into();
    let error = path.bench.call(&path.reviewer, "review_visual_baseline", call.clone()).await.unwrap_err();
    assert_eq!(error.reason(), Some("changed_intent"));
    assert_eq!(error.details().first_id.as_deref(), first["reviews"][0]["id"].as_str());
    // A repeat is authorised anew.
    call["receipts"] = json!(receipts);
    let (name, project) = ("Rita".parse().unwrap(), crate::support::PROJECT.parse().unwrap());
    path.bench.app.revoke_grant(&name, &project, None, Role::Reviewer).await.unwrap();
    let outcome = path.bench.call(&path.reviewer, "review_visual_baseline", call).await;
    assert_eq!(refused(outcome), ("not_found", String::new()));
}
