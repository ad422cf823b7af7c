//! What each step is bound to: the server's own captures, exact digests, one intent, all of its items.

use std::{collections::BTreeSet, time::Duration};

use pinhole_core::{
    Actor, ApprovalId, BaselineKey, CandidateId, CandidateState, Disposition, Outcome, RequestId, ReviewId, Role,
    Sha256Digest,
};
use pinhole_store::{Candidate, Review};
use pinhole_testkit::Engine;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    lines::RELEASE,
    path::{DAY, Path, consumption, darker, id, reason},
    support::{GOOD, PROJECT, SCENARIO, refused},
};

impl Path {
    /// Captures one checkpoint and has it accepted; answers what is requested of it.
    pub(crate) async fn item(&self, environment: &str, checkpoint: &str, shade: u8) -> Value {
        let receipt = self.bench.capture(&self.maker, environment, darker(shade)).await.receipts[checkpoint];
        let review = self.review(&[receipt], Disposition::Accept).await["reviews"][0]["id"].clone();
        let candidate = self.candidate(receipt).await.unwrap();
        json!({ "candidate_id": candidate["id"], "review_id": review })
    }

    async fn request_with(&self, members: Value) -> Value {
        let mut input = json!({ "project": PROJECT });
        input.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        self.bench.keyed(&self.maker, "request_baseline_approval", input).await.unwrap()
    }

    async fn stored(&self, candidate: &Value) -> Candidate {
        let mut tx = self.bench.app.store().begin_read().await.unwrap();
        tx.candidate(candidate.as_str().unwrap().parse().unwrap()).await.unwrap().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_a_client_says_of_a_picture_becomes_a_candidate() {
    let path = Path::on(Engine::Sqlite).await;
    let receipt = path.capture(GOOD).await.receipts["cart"];
    let digest = Sha256Digest::of(b"mine");
    for members in [
        json!({ "sha256": digest }),
        json!({ "capture_digest": digest }),
        json!({ "path": "baselines/cart.png" }),
        json!({ "picture": "iVBORw0KGgo=" }),
        json!({ "artifact_id": "art_00000000000000000000000000000001" }),
        json!({ "receipt_id": digest }),
        json!({ "receipt_id": "art_00000000000000000000000000000001" }),
        json!({ "receipt_id": null }),
    ] {
        for operation in ["capture_visual_baseline", "capture_baseline"] {
            let mut input = json!({ "receipt_id": receipt });
            input.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            let (code, _) = refused(path.bench.keyed(&path.maker, operation, input).await);
            assert_eq!(code, "invalid_arguments", "{operation} {members}");
        }
    }
    assert_eq!(path.bench.counts_of("candidates"), 0);
    // A receipt that the server registered is of one kind.
    let outcome = path.bench.keyed(&path.maker, "capture_baseline", json!({ "receipt_id": receipt })).await;
    assert_eq!(refused(outcome), ("conflict", "other_kind".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_counts_for_exactly_the_digests_that_it_is_bound_to() {
    let path = Path::on(Engine::Sqlite).await;
    let item = path.item("staging", "cart", 10).await;
    let id: ReviewId = item["review_id"].as_str().unwrap().parse().unwrap();
    let mut tx = path.bench.app.store().begin_read().await.unwrap();
    let review = tx.review(id).await.unwrap().unwrap();
    let receipt = tx.receipt(review.receipt_id).await.unwrap().unwrap();
    drop(tx);
    let seen = (review.capture_sha256, review.render_sha256, review.rules_sha256);
    assert_eq!(seen, (receipt.capture_sha256, receipt.render_sha256, receipt.rules_sha256));
    let changes: [fn(&mut Review); 3] = [
        |review| review.capture_sha256 = Sha256Digest::of(b"other"),
        |review| review.render_sha256 = Sha256Digest::of(b"other"),
        |review| review.rules_sha256 = Sha256Digest::of(b"other"),
    ];
    for (number, change) in (1..).zip(changes) {
        let mut other = Review { id: ReviewId::from_uuid(Uuid::from_u128(number)), ..review.clone() };
        change(&mut other);
        let mut tx = path.bench.app.store().begin_write().await.unwrap();
        tx.insert_review(&other).await.unwrap();
        tx.commit().await.unwrap();
        let items = json!([{ "candidate_id": item["candidate_id"], "review_id": other.id }]);
        assert_eq!(refused(path.request(items).await), ("conflict", "other_capture".into()), "change {number}");
    }
    path.request(json!([item])).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_member_of_an_intent_changes_its_digest() {
    let path = Path::on(Engine::Sqlite).await;
    for remote in ["one", "two"] {
        path.bench.app.put_remote(&remote.parse().unwrap(), "file:///nowhere.git", &["*".into()]).await.unwrap();
    }
    let (cart, total) = (path.item("staging", "cart", 10).await, path.item("staging", "total", 10).await);
    let receipt = path.stored(&cart["candidate_id"]).await.receipt_id.unwrap();
    let twin = path.candidate(receipt).await.unwrap()["id"].clone();
    let twin = json!({ "candidate_id": twin, "review_id": cart["review_id"] });
    let to = |remote: &str, branch: &str| json!({ "remote": remote, "branch": branch });
    let mut requests = Vec::new();
    for members in [
        json!({ "items": [cart] }),
        json!({ "items": [total] }),
        json!({ "items": [cart, total] }),
        json!({ "items": [twin] }),
        json!({ "items": [cart], "release_label": "2026-01" }),
        json!({ "items": [cart], "release_label": "2026-02" }),
        json!({ "items": [cart], "publication": to("one", "x") }),
        json!({ "items": [cart], "publication": to("one", "y") }),
        json!({ "items": [cart], "publication": to("two", "x") }),
    ] {
        requests.push(path.request_with(members).await);
    }
    // Another review of the same capture, another policy, another entry in the key's place, another line.
    let review = path.review(&[receipt], Disposition::Accept).await["reviews"][0]["id"].clone();
    let reviewed = json!({ "candidate_id": cart["candidate_id"], "review_id": review });
    requests.push(path.request_with(json!({ "items": [reviewed] })).await);
    let policy = json!({ "project": PROJECT, "quorum": 1, "two_persons": "off", "expected_version": 0 });
    let begun = path.bench.app.begin_session(path.bench.owner.principal, "test").await.unwrap();
    let request = RequestId::from_uuid(Uuid::nil());
    let owner = path.bench.app.authenticate_session(&begun.secret, request).await.unwrap();
    path.bench.call(&owner, "update_baseline_policy", policy).await.unwrap();
    requests.push(path.request_with(json!({ "items": [reviewed] })).await);
    path.changed_on("main", "cart", darker(90), 0).await;
    requests.push(path.request_with(json!({ "items": [reviewed] })).await);
    path.fork(1).await;
    let on_line = json!({ "receipt_id": receipt, "line": RELEASE });
    let on_line = path.bench.keyed(&path.maker, "capture_visual_baseline", on_line).await.unwrap();
    let on_line = json!({ "candidate_id": on_line["id"], "review_id": review });
    requests.push(path.request_with(json!({ "items": [on_line], "line": RELEASE })).await);

    let digests: BTreeSet<_> = requests.iter().map(|approval| approval["intent_digest"].to_string()).collect();
    assert_eq!(digests.len(), requests.len(), "{digests:?}");
    // What was asked for twice alike is one intent, and yet two approvals, of which each is for itself.
    let last = path.request_with(json!({ "items": [on_line], "line": RELEASE })).await;
    assert_eq!(last["intent_digest"], requests.last().unwrap()["intent_digest"]);
    assert_ne!(last["id"], requests.last().unwrap()["id"]);
    let approved = path.decide(&last, Outcome::Approve).await.unwrap();
    for other in &requests[..requests.len() - 1] {
        let mut input = consumption(&approved, 1);
        input["intent_digest"] = other["intent_digest"].clone();
        let outcome = path.bench.keyed(&path.maker, "consume_baseline_approval", input).await;
        assert_eq!(refused(outcome), ("conflict", "other_intent".into()));
    }
    path.consume(&approved, 1).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_items_are_consumed_together_or_not_at_all() {
    let path = Path::on(Engine::Sqlite).await;
    let item = path.item("staging", "cart", 10).await;
    let model = path.stored(&item["candidate_id"]).await;
    // Of one capture, for as many keys: what an item is does not matter here.
    let mut tx = path.bench.app.store().begin_write().await.unwrap();
    let mut items = Vec::new();
    for number in 0..500_u32 {
        let checkpoint = format!("view-{number}").parse().unwrap();
        let candidate = Candidate {
            id: CandidateId::from_uuid(Uuid::from_u128(number.into())),
            key: BaselineKey { checkpoint, ..model.key.clone() },
            ..model.clone()
        };
        tx.insert_candidate(&candidate).await.unwrap();
        items.push(json!({ "candidate_id": candidate.id, "review_id": item["review_id"] }));
    }
    tx.commit().await.unwrap();
    let all = path.request(items.clone().into()).await.unwrap();
    let one = path.request(json!([items[321]])).await.unwrap();
    let [all, one] =
        [path.decide(&all, Outcome::Approve).await.unwrap(), path.decide(&one, Outcome::Approve).await.unwrap()];
    path.consume(&one, 0).await.unwrap();
    assert_eq!(refused(path.consume(&all, 1).await), ("conflict", "superseded".into()));
    assert_eq!(path.bench.counts_of("baseline_entries"), 1);
    let kept = path.stored(&items[0]["candidate_id"]).await;
    assert_eq!(kept.state, CandidateState::Ready);

    items.remove(321);
    let rest = path.request(items.into()).await.unwrap();
    let rest = path.decide(&rest, Outcome::Approve).await.unwrap();
    let made = path.consume(&rest, 1).await.unwrap();
    assert_eq!((&made["revision"], &made["entries"]), (&json!(2), &json!(500)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_needs_a_live_grant_fresh_authority_and_a_reason() {
    let path = Path::on(Engine::Sqlite).await;
    let approval = path.requested(GOOD).await;
    let (app, bench) = (&path.bench.app, &path.bench);
    let begun = app.begin_session(path.approver.principal, "test").await.unwrap();
    let session = app.authenticate_session(&begun.secret, path.approver.request).await.unwrap();
    let decision = |members: Value| {
        let mut input = json!({
            "approval_id": approval["id"], "outcome": "approve", "reason": "as agreed", "expected_version": 1,
        });
        input.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        input
    };
    for wrong in
        [json!({ "reason": null }), json!({ "reason": " " }), json!({ "reason": "" }), json!({ "outcome": "maybe" })]
    {
        let (code, _) = refused(bench.call(&session, "decide_approval", decision(wrong.clone())).await);
        assert_eq!(code, "invalid_arguments", "{wrong}");
    }
    bench.clock.advance(Duration::from_secs(15 * 60 + 1));
    let outcome = bench.call(&session, "decide_approval", decision(json!({}))).await;
    assert_eq!(refused(outcome), ("permission_denied", "human_authority".into()));
    // A ticket of a moment ago does not outlive the grant.
    let (name, yes) = ("Anna".parse().unwrap(), Outcome::Approve);
    let ticket = app.create_decision_ticket(&name, id(&approval), yes, &reason("as agreed")).await.unwrap();
    app.revoke_grant(&name, &PROJECT.parse().unwrap(), None, Role::Approver).await.unwrap();
    app.grant(&name, &PROJECT.parse().unwrap(), None, Role::Viewer).await.unwrap();
    let outcome = bench.call(&path.approver, "decide_approval", decision(json!({ "ticket": ticket.secret }))).await;
    assert_eq!(refused(outcome), ("permission_denied", "approval.decide".into()));
    assert_eq!((path.state(&approval).await, bench.counts_of("decisions")), (json!("pending"), 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_ends_with_its_candidate_and_not_with_what_others_do() {
    for engine in Engine::ALL {
        let path = Path::on(engine).await;
        let (cart, live) = (path.item("staging", "cart", 10).await, path.item("live", "cart", 10).await);
        let [one, two, three, elsewhere] = [
            path.request(json!([cart])).await.unwrap(),
            path.request(json!([cart])).await.unwrap(),
            path.request(json!([cart])).await.unwrap(),
            path.request(json!([live])).await.unwrap(),
        ];
        let one = path.decide(&one, Outcome::Approve).await.unwrap();
        let two = path.decide(&two, Outcome::Approve).await.unwrap();
        path.consume(&one, 0).await.unwrap();
        // The candidate is used up, wherever else it was asked for.
        for outcome in [path.consume(&two, 1).await, path.decide(&three, Outcome::Approve).await] {
            let error = outcome.unwrap_err();
            assert_eq!(error.reason(), Some("superseded"));
            assert!(error.message().contains("consumed"), "{error}");
        }
        assert_eq!((path.state(&two).await, path.state(&three).await), (json!("superseded"), json!("superseded")));
        // Another key's request is decided and consumed as if nothing had been.
        let elsewhere = path.decide(&elsewhere, Outcome::Approve).await.unwrap();
        assert_eq!(path.consume(&elsewhere, 1).await.unwrap()["revision"], 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_persons_are_neither_the_requester_nor_an_author_nor_the_owner_of_a_service_that_is() {
    for engine in Engine::ALL {
        let path = Path::on(engine).await;
        let bench = &path.bench;
        let bert = bench.person("Bert", &[Role::Approver, Role::Author, Role::Owner]).await;
        let own = async |service: &Actor, owner: &Actor| {
            let input = json!({ "principal_id": service.principal, "owner_id": owner.principal });
            bench.call(&bench.owner, "update_principal", input).await
        };
        let denied = ("permission_denied", "two_persons".to_owned());
        // Two approvers, so that two persons are asked for; the service that captures belongs to nobody yet.
        let [first, second] = [path.requested(darker(1)).await, path.requested(darker(2)).await];
        assert_eq!(path.decide(&first, Outcome::Approve).await.unwrap()["state"], "approved");
        assert_eq!(own(&path.maker, &path.approver).await.unwrap()["owner_id"], json!(path.approver.principal));
        assert_eq!(refused(path.decide(&second, Outcome::Approve).await), denied);
        assert_eq!(path.decide_as(&bert, "Bert", &second, Outcome::Approve).await.unwrap()["state"], "approved");
        // As author of one item among several, whoever requests them.
        let items = json!([path.item("staging", "cart", 3).await]);
        let keeper = bench.service("keeper", &[Role::Author, Role::Owner]).await;
        let input = json!({ "project": PROJECT, "items": items });
        let mixed = bench.keyed(&keeper, "request_baseline_approval", input.clone()).await.unwrap();
        assert_eq!(refused(path.decide(&mixed, Outcome::Approve).await), denied);
        // As requester by a service, and in person.
        own(&keeper, &bert).await.unwrap();
        assert_eq!(refused(path.decide_as(&bert, "Bert", &mixed, Outcome::Approve).await), denied);
        let by_hand = bench.keyed(&bert, "request_baseline_approval", input).await.unwrap();
        assert_eq!(refused(path.decide_as(&bert, "Bert", &by_hand, Outcome::Approve).await), denied);

        for (service, owner) in [(&path.approver, &bert), (&path.maker, &keeper)] {
            assert_eq!(refused(own(service, owner).await).0, "invalid_arguments", "a user owns a service");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_consumption_says_is_materialized_and_nowhere_published() {
    let path = Path::on(Engine::Sqlite).await;
    path.bench.app.put_remote(&"origin".parse().unwrap(), "file:///nowhere.git", &["*".into()]).await.unwrap();
    let item = path.item("staging", "cart", 10).await;
    let to = json!({ "remote": "origin", "branch": "baselines" });
    let approval = path.request_with(json!({ "items": [item], "publication": to })).await;
    let approval = path.decide(&approval, Outcome::Approve).await.unwrap();
    let before = path.bench.dump();
    let made = path.consume(&approval, 0).await.unwrap();
    assert_eq!(made["outcome"], "materialized");
    assert!(!made.to_string().contains("publish"), "{made}");
    // Not even where the intent binds a branch is anything queued for it, or said to have been.
    let after = path.bench.dump();
    assert_eq!(after["publications"], before["publications"]);
    for table in ["events", "audit", "catalog_revisions"] {
        for row in after[table].iter().filter(|row| !before[table].contains(row)) {
            assert!(!row.contains("published"), "{table}: {row}");
        }
    }
    let read = path.bench.call(&path.maker, "get_approval", json!({ "approval_id": approval["id"] })).await.unwrap();
    assert_eq!(read["state"], "consumed");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_expires_before_and_after_it_is_decided() {
    let path = Path::on(Engine::Sqlite).await;
    let [pending, approved] = [path.requested(darker(1)).await, path.requested(darker(2)).await];
    path.bench.clock.advance(6 * DAY);
    let approved = path.decide(&approved, Outcome::Approve).await.unwrap();
    path.bench.clock.advance(DAY);
    // A decision does not lengthen it.
    assert_eq!(refused(path.consume(&approved, 0).await), ("conflict", "expired".into()));
    assert_eq!(refused(path.decide(&pending, Outcome::Deny).await), ("conflict", "expired".into()));
    for approval in [&pending, &approved] {
        let id: ApprovalId = id(approval);
        let mut tx = path.bench.app.store().begin_read().await.unwrap();
        assert_eq!(tx.approval(id).await.unwrap().unwrap().state.as_str(), "expired");
    }
    assert_eq!(path.bench.counts_of("decisions"), 1, "on {SCENARIO}");
}
