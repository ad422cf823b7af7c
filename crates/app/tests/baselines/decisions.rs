//! `decide_approval`: who decides, on which version, and what a denial leaves alone.

use pinhole_core::{Disposition, Outcome, PrincipalClass, Role};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    dump::changed,
    path::{DAY, Path, darker, id, reason},
    support::{GOOD, PROJECT, authenticate, refused},
};

#[tokio::test(flavor = "multi_thread")]
async fn no_service_decides_and_no_token_without_its_ticket() {
    let path = Path::on(Engine::Sqlite).await;
    let approval = path.requested(GOOD).await;
    let service = path.bench.service("agent", Role::ALL).await;
    let input = |ticket: Option<&str>| {
        json!({
            "approval_id": approval["id"], "outcome": "approve", "reason": "as agreed", "ticket": ticket,
            "expected_version": 1,
        })
    };
    let (name, yes) = ("Anna".parse().unwrap(), Outcome::Approve);
    let ticket = path.bench.app.create_decision_ticket(&name, id(&approval), yes, &reason("as agreed")).await.unwrap();
    for ticket in [None, Some(ticket.secret.as_str())] {
        let outcome = path.bench.call(&service, "decide_approval", input(ticket)).await;
        assert_eq!(refused(outcome), ("permission_denied", "human_authority".into()));
    }
    let outcome = path.bench.call(&path.approver, "decide_approval", input(None)).await;
    assert_eq!(refused(outcome), ("permission_denied", "human_authority".into()));
    let other = path.requested(darker(7)).await;
    let mut wrong = input(Some(&ticket.secret));
    wrong["approval_id"] = other["id"].clone();
    let outcome = path.bench.call(&path.approver, "decide_approval", wrong).await;
    assert_eq!(refused(outcome), ("permission_denied", "decision_ticket".into()));
    let outcome = path.bench.call(&path.reviewer, "decide_approval", input(Some(&ticket.secret))).await;
    assert_eq!(refused(outcome), ("permission_denied", "approval.decide".into()));
    path.bench.call(&path.approver, "decide_approval", input(Some(&ticket.secret))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_is_on_the_present_version_of_a_pending_request() {
    let path = Path::on(Engine::Sqlite).await;
    let approval = path.requested(GOOD).await;
    let (name, yes) = ("Anna".parse().unwrap(), Outcome::Approve);
    let ticket = path.bench.app.create_decision_ticket(&name, id(&approval), yes, &reason("ok")).await.unwrap();
    let mut input =
        json!({ "approval_id": approval["id"], "outcome": "approve", "reason": "ok", "ticket": ticket.secret });
    let outcome = path.bench.call(&path.approver, "decide_approval", input.clone()).await;
    assert_eq!(refused(outcome), ("precondition_required", "expected_version".into()));
    let decided = path.decide(&approval, Outcome::Approve).await.unwrap();
    assert_eq!((&decided["state"], &decided["version"]), (&json!("approved"), &json!(2)));
    assert_eq!(decided["decisions"][0]["via"], "local_ticket");
    input["expected_version"] = 1.into();
    let outcome = path.bench.call(&path.approver, "decide_approval", input).await;
    assert_eq!(refused(outcome), ("conflict", "stale_version".into()));
    let again = path.decide(&decided, Outcome::Deny).await;
    assert_eq!(refused(again), ("conflict", "not_pending".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_persons_apply_as_soon_as_there_are_two_approvers() {
    let path = Path::on(Engine::Sqlite).await;
    // A role in two environments is still one person's.
    for environment in ["staging", "live"] {
        path.bench.principal(PrincipalClass::User, "Anna", Some(environment), &[Role::Approver]).await;
    }
    let author = path.bench.person("Anna", &[Role::Author]).await;
    let items = path.items(GOOD).await;
    let request = async || {
        let receipt = path.capture(darker(8)).await.receipts["cart"];
        let review = path.review(&[receipt], Disposition::Accept).await["reviews"][0]["id"].clone();
        let input = json!({ "receipt_id": receipt });
        let candidate = path.bench.keyed(&author, "capture_visual_baseline", input).await.unwrap();
        let items = json!([{ "candidate_id": candidate["id"], "review_id": review }]);
        let input = json!({ "project": PROJECT, "items": items });
        path.bench.keyed(&author, "request_baseline_approval", input).await.unwrap()
    };
    let (alone, own) = (request().await, request().await);
    assert_eq!(path.decide(&alone, Outcome::Approve).await.unwrap()["state"], "approved");
    let second = path.bench.person("Bert", &[Role::Approver]).await;
    assert_eq!(refused(path.decide(&own, Outcome::Approve).await), ("permission_denied", "two_persons".into()));
    assert_eq!(path.decide_as(&second, "Bert", &own, Outcome::Approve).await.unwrap()["state"], "approved");
    // What others made she decides as before.
    let others = path.request(items).await.unwrap();
    assert_eq!(path.decide(&others, Outcome::Approve).await.unwrap()["state"], "approved");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_stays_counted_when_its_person_loses_the_role() {
    let path = Path::on(Engine::Sqlite).await;
    let bert = path.bench.person("Bert", &[Role::Approver]).await;
    let olga = authenticate(&path.bench.app, "Olga").await;
    let session = path.bench.app.begin_session(olga.principal, "test").await.unwrap();
    let olga = path.bench.app.authenticate_session(&session.secret, olga.request).await.unwrap();
    let policy = json!({ "project": PROJECT, "quorum": 2, "expected_version": 0 });
    path.bench.call(&olga, "update_baseline_policy", policy).await.unwrap();
    let mut voted = Vec::new();
    for checkpoint in ["cart", "total", "total"] {
        let items = json!([path.item("staging", checkpoint, 10).await]);
        let asked = path.request(items).await.unwrap();
        let once = path.decide(&asked, Outcome::Approve).await.unwrap();
        assert_eq!(once["state"], "pending", "two have to");
        voted.push(once);
    }
    let [kept, objected, rejected] = &voted[..] else { panic!("three") };
    let (anna, project) = ("Anna".parse().unwrap(), PROJECT.parse().unwrap());
    path.bench.app.revoke_grant(&anna, &project, None, Role::Approver).await.unwrap();
    let next = path.requested(darker(30)).await;
    assert_eq!(refused(path.decide(&next, Outcome::Approve).await).0, "not_found", "it was her only role");

    // What she decided stays decided; who thinks otherwise denies, or has the capture rejected.
    let approved = path.decide_as(&bert, "Bert", kept, Outcome::Approve).await.unwrap();
    assert_eq!((&approved["state"], approved["decisions"].as_array().unwrap().len()), (&json!("approved"), 2));
    assert_eq!(path.consume(&approved, 0).await.unwrap()["revision"], 1);
    assert_eq!(path.decide_as(&bert, "Bert", objected, Outcome::Deny).await.unwrap()["state"], "denied");
    let rejected = path.decide_as(&bert, "Bert", rejected, Outcome::Approve).await.unwrap();
    let candidate = rejected["intent"]["items"][0]["candidate"].as_str().unwrap().parse().unwrap();
    let mut tx = path.bench.app.store().begin_read().await.unwrap();
    let receipt = tx.candidate(candidate).await.unwrap().unwrap().receipt_id.unwrap();
    drop(tx);
    path.review(&[receipt], Disposition::Reject).await;
    assert_eq!(refused(path.consume(&rejected, 1).await), ("conflict", "superseded".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_ran_out_is_recorded_as_expired() {
    let path = Path::on(Engine::Sqlite).await;
    let approval = path.requested(GOOD).await;
    path.bench.clock.advance(7 * DAY);
    assert_eq!(path.state(&approval).await, "expired");
    assert_eq!(refused(path.decide(&approval, Outcome::Approve).await), ("conflict", "expired".into()));
    let input = json!({ "approval_id": approval["id"] });
    let recorded = path.bench.call(&path.maker, "get_approval", input).await.unwrap();
    assert_eq!((&recorded["state"], &recorded["version"]), (&json!("expired"), &json!(2)));
    assert_eq!(recorded["decisions"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_capture_was_reviewed_again_is_superseded() {
    let path = Path::on(Engine::Sqlite).await;
    let captured = path.capture(GOOD).await;
    let receipt = captured.receipts["cart"];
    let review = path.review(&[receipt], Disposition::Accept).await["reviews"][0]["id"].clone();
    let candidate = path.candidate(receipt).await.unwrap();
    let items = json!([{ "candidate_id": candidate["id"], "review_id": review }]);
    let approval = path.request(items).await.unwrap();
    path.review(&[receipt], Disposition::Reject).await;
    assert_eq!(refused(path.decide(&approval, Outcome::Approve).await), ("conflict", "superseded".into()));
    assert_eq!(path.state(&approval).await, "superseded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_changes_its_own_rows_alone() {
    for engine in Engine::ALL {
        let path = Path::on(engine).await;
        path.materialised(GOOD, 0).await;
        publish(&path).await;
        let approval = path.requested(darker(3)).await;
        let before = path.bench.dump();
        assert!(before.iter().any(|(table, rows)| table.ends_with("obs") && !rows.is_empty()), "there are jobs");
        let denied = path.decide(&approval, Outcome::Deny).await.unwrap();
        assert_eq!(denied["state"], "denied");
        let after = path.bench.dump();
        // Candidates, reviews, entries, revisions, publications and jobs are none of them.
        assert_eq!(changed(&before, &after), ["approvals", "audit", "decisions", "events", "log_entries", "tickets"]);
        let rows =
            [("approvals", 0), ("decisions", 1), ("events", 1), ("audit", 2), ("log_entries", 3), ("tickets", 1)];
        for (table, more) in rows {
            assert_eq!(after[table].len(), before[table].len() + more, "{table}");
        }
        let outcome = path.consume(&denied, 1).await;
        assert_eq!(refused(outcome), ("conflict", "not_approved".into()));
        // The items themselves are as good as before.
        let items: Value = denied["intent"]["items"].as_array().unwrap().iter().map(item).collect();
        let again = path.request(items).await.unwrap();
        assert_eq!(path.decide(&again, Outcome::Approve).await.unwrap()["state"], "approved");
    }
}

/// Queues a publication, so that there is one to be left alone.
async fn publish(path: &Path) {
    let publisher = path.bench.service("publisher", &[Role::Publisher]).await;
    path.bench.app.put_remote(&"origin".parse().unwrap(), "file:///nowhere.git", &["*".into()]).await.unwrap();
    let input = json!({
        "project": PROJECT, "remote": "origin", "branch": "baselines", "expected_head": { "commit": null },
        "expected_version": 1,
    });
    path.bench.keyed(&publisher, "publish_baseline_catalog", input).await.unwrap();
}

fn item(item: &Value) -> Value {
    json!({ "candidate_id": item["candidate"], "review_id": item["review"] })
}
