//! `request_baseline_approval`: what can be asked for together.

use pinhole_core::{Disposition, PrincipalClass, Role, Sha256Digest};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    path::{Path, darker},
    support::{GOOD, PROJECT, refused},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_request_binds_sorted_items_and_what_they_replace() {
    let path = Path::on(Engine::Sqlite).await;
    let Value::Array(mut items) = path.items(GOOD).await else { panic!("items") };
    items.reverse();
    let approval = path.request(items.into()).await.unwrap();
    let bound = approval["intent"]["items"].as_array().unwrap();
    assert_eq!((&bound[0]["key"]["checkpoint"], &bound[1]["key"]["checkpoint"]), (&json!("cart"), &json!("total")));
    assert_eq!(bound[0]["current_entry"], Value::Null);
    let digest = pinhole_core::canonical_json_digest(&approval["intent"]).unwrap();
    assert_eq!(approval["intent_digest"], json!(digest));
    assert_eq!((&approval["state"], &approval["version"]), (&json!("pending"), &json!(1)));

    path.materialised(darker(1), 0).await;
    let approval = path.requested(darker(2)).await;
    let read = json!({ "project": PROJECT, "revision": "latest" });
    let revision = path.bench.call(&path.maker, "get_catalog_revision", read).await.unwrap();
    assert_eq!(approval["intent"]["items"][0]["current_entry"], revision["entries"][0]["digest"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn items_are_ready_candidates_with_their_newest_accepting_review() {
    let path = Path::on(Engine::Sqlite).await;
    let items = path.items(GOOD).await;
    let swapped = json!([
        { "candidate_id": items[0]["candidate_id"], "review_id": items[1]["review_id"] },
    ]);
    assert_eq!(refused(path.request(swapped).await), ("conflict", "other_capture".into()));
    let unknown = json!([
        { "candidate_id": items[0]["candidate_id"], "review_id": "rev_00000000000000000000000000000000" },
    ]);
    assert_eq!(refused(path.request(unknown).await), ("not_found", String::new()));

    let captured = path.capture(darker(5)).await;
    let receipt = captured.receipts["cart"];
    let unreviewed = json!([{ "candidate_id": path.candidate(captured.receipts["total"]).await.unwrap()["id"] }]);
    assert_eq!(refused(path.request(unreviewed).await), ("conflict", "not_reviewed".into()));
    let accepted = path.review(&[receipt], Disposition::Accept).await["reviews"][0]["id"].clone();
    let candidate = path.candidate(receipt).await.unwrap();
    let rejected = path.review(&[receipt], Disposition::Reject).await["reviews"][0]["id"].clone();
    let item = |review: &Value| json!([{ "candidate_id": candidate["id"], "review_id": review }]);
    assert_eq!(refused(path.request(item(&accepted)).await), ("conflict", "review_not_newest".into()));
    assert_eq!(refused(path.request(item(&rejected)).await), ("conflict", "not_accepted".into()));
    // The newest one is meant where none is named.
    assert_eq!(refused(path.request(item(&Value::Null)).await), ("conflict", "not_accepted".into()));
    let newest = path.review(&[receipt], Disposition::Accept).await["reviews"][0]["id"].clone();
    let approval = path.request(item(&Value::Null)).await.unwrap();
    assert_eq!(approval["intent"]["items"][0]["review"], newest);

    let approval = path.request(items.clone()).await.unwrap();
    let approval = path.decide(&approval, pinhole_core::Outcome::Approve).await.unwrap();
    path.consume(&approval, 0).await.unwrap();
    assert_eq!(refused(path.request(items).await), ("conflict", "candidate_not_ready".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn items_are_over_different_keys_of_one_line() {
    let path = Path::on(Engine::Sqlite).await;
    let (one, two) = (path.items(GOOD).await, path.items(darker(5)).await);
    let same_key = json!([one[0], two[0]]);
    assert_eq!(refused(path.request(same_key).await), ("conflict", "same_key".into()));
    for wrong in [json!([]), json!([one[0], one[0]]), Value::Array(vec![one[0].clone(); 501])] {
        assert_eq!(refused(path.request(wrong).await).0, "invalid_arguments");
    }
    let mut tx = path.bench.app.store().begin_write().await.unwrap();
    let project = tx.project_by_slug(&PROJECT.parse().unwrap()).await.unwrap().unwrap().id;
    tx.advance_catalog_line(project, &"release".parse().unwrap(), 0, Sha256Digest::of(b"")).await.unwrap();
    tx.commit().await.unwrap();
    let input = json!({ "project": PROJECT, "line": "release", "items": one });
    let outcome = path.bench.keyed(&path.maker, "request_baseline_approval", input).await;
    assert_eq!(refused(outcome), ("conflict", "other_line".into()));
    let publication = json!({ "remote": "nowhere", "branch": "baselines" });
    let input = json!({ "project": PROJECT, "items": one, "publication": publication });
    let outcome = path.bench.keyed(&path.maker, "request_baseline_approval", input).await;
    assert_eq!(refused(outcome), ("conflict", "no_such_remote".into()));
    path.bench.app.put_remote(&"elsewhere".parse().unwrap(), "/srv/catalog.git", &["main".into()]).await.unwrap();
    let publication = json!({ "remote": "elsewhere", "branch": "baselines" });
    let input = json!({ "project": PROJECT, "items": one, "publication": publication });
    let outcome = path.bench.keyed(&path.maker, "request_baseline_approval", input).await;
    assert_eq!(refused(outcome), ("conflict", "branch_not_allowed".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_author_or_an_owner_requests_and_reads() {
    let path = Path::on(Engine::Sqlite).await;
    let items = path.items(GOOD).await;
    let input = json!({ "project": PROJECT, "items": items });
    let colleague = path.bench.person("Cleo", &[Role::Author]).await;
    let outcome = path.bench.keyed(&colleague, "request_baseline_approval", input.clone()).await;
    assert_eq!(refused(outcome), ("permission_denied", "owner".into()));
    let outcome = path.bench.keyed(&path.bench.owner, "request_baseline_approval", input.clone()).await;
    assert_eq!(refused(outcome), ("permission_denied", "baseline.write".into()));
    let owner = path.bench.person("Oscar", &[Role::Author, Role::Owner]).await;
    let approval = path.bench.keyed(&owner, "request_baseline_approval", input.clone()).await.unwrap();

    let elsewhere = path.bench.principal(PrincipalClass::User, "Liv", Some("live"), &[Role::Author]).await;
    let outcome = path.bench.keyed(&elsewhere, "request_baseline_approval", input).await;
    assert_eq!(refused(outcome), ("not_found", String::new()));
    let read = json!({ "approval_id": approval["id"] });
    let outcome = path.bench.call(&elsewhere, "get_approval", read.clone()).await;
    assert_eq!(refused(outcome), ("not_found", String::new()));
    assert_eq!(path.bench.call(&path.reviewer, "get_approval", read).await.unwrap()["id"], approval["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_gives_the_first_request() {
    let path = Path::on(Engine::Sqlite).await;
    let items = path.items(GOOD).await;
    let mut input = json!({ "project": PROJECT, "items": items, "idempotency_key": "same" });
    let call = async |input: &Value| path.bench.call(&path.maker, "request_baseline_approval", input.clone()).await;
    let first = call(&input).await.unwrap();
    let mut expected = first.clone();
    expected["replayed"] = true.into();
    assert_eq!(call(&input).await.unwrap(), expected);
    input["release_label"] = "another".into();
    let error = call(&input).await.unwrap_err();
    assert_eq!((error.reason(), error.details().first_id.as_deref()), (Some("changed_intent"), first["id"].as_str()));
}
