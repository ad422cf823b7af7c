//! Candidates, reviews, approvals and decisions.

use pinhole_core::{ApprovalState, CandidateState, Disposition, Outcome, PrincipalId, Via};
use pinhole_store::{Approval, Candidate, Decision, Receipt, Review};
use pinhole_testkit::Engine;

use crate::{
    rows::{AWKWARD, Ground, key, line, sha256},
    support::{Fixture, assert_exists, assert_same, at, id, on_both_engines},
};

on_both_engines! {
    candidates
    a_capture_makes_a_candidate_ready_or_unusable
    candidates_of_an_approval_come_in_its_order
    the_newest_review_counts
    approvals_move_from_the_version_that_was_read
    decisions_are_one_for_each_person
}

pub(crate) fn review(fixture: &Fixture, ground: &Ground, receipt: &Receipt, micros: i64) -> Review {
    Review {
        id: id!(fixture, ReviewId),
        project_id: ground.project.id,
        receipt_id: receipt.id,
        disposition: Disposition::Accept,
        reason: AWKWARD.parse().unwrap(),
        capture_sha256: sha256("capture"),
        render_sha256: sha256("render"),
        rules_sha256: sha256("rules"),
        reviewer: ground.principal.id,
        via: Via::Ticket,
        envelope: "{\"review\":1}".into(),
        created_at: at(micros),
    }
}

pub(crate) fn decision(fixture: &Fixture, approval: &Approval, by: PrincipalId, micros: i64) -> Decision {
    Decision {
        id: id!(fixture, DecisionId),
        approval_id: approval.id,
        project_id: approval.project_id,
        outcome: Outcome::Approve,
        reason: AWKWARD.parse().unwrap(),
        principal_id: by,
        via: Via::Session,
        envelope: "{\"decision\":1}".into(),
        created_at: at(micros),
    }
}

async fn candidates(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let receipt = fixture.captured(&ground).await.receipt;
    let candidate = fixture.candidate(&ground, &receipt, key("main", "cart"));
    // Two people may propose for one key.
    let other = fixture.candidate(&ground, &receipt, key("main", "cart"));
    let mut tx = fixture.write().await;
    for candidate in [&candidate, &other] {
        tx.insert_candidate(candidate).await.unwrap();
        assert_same(tx.candidate(candidate.id).await.unwrap(), Some(candidate.clone()));
    }
    let unknown = id!(fixture, CandidateId);
    assert!(tx.candidate(unknown).await.unwrap().is_none());

    let (ready, consumed, withdrawn) = (CandidateState::Ready, CandidateState::Consumed, CandidateState::Withdrawn);
    assert!(!tx.move_candidate(candidate.id, CandidateState::Capturing, ready).await.unwrap());
    assert!(!tx.move_candidate(unknown, ready, consumed).await.unwrap());
    assert!(tx.move_candidate(candidate.id, ready, consumed).await.unwrap());
    assert!(!tx.move_candidate(candidate.id, ready, withdrawn).await.unwrap());
    let expected = Candidate { state: consumed, ..candidate.clone() };
    assert_same(tx.candidate(candidate.id).await.unwrap(), Some(expected));
    assert_same(tx.candidate(other.id).await.unwrap(), Some(other));
    assert_exists(tx.insert_candidate(&candidate).await);
}

async fn a_capture_makes_a_candidate_ready_or_unusable(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let captured = fixture.captured(&ground).await;
    let (run, receipt) = (captured.run.id, captured.receipt);
    let ready = fixture.candidate(&ground, &receipt, key("main", "cart"));
    let capturing = |reason: Option<&str>| Candidate {
        state: CandidateState::Capturing,
        receipt_id: None,
        reason: reason.map(|text| text.parse().unwrap()),
        ..fixture.candidate(&ground, &receipt, key("main", "cart"))
    };
    let (good, bad) = (capturing(Some(AWKWARD)), capturing(None));
    let mut tx = fixture.write().await;
    for candidate in [&ready, &good, &bad] {
        tx.insert_candidate(candidate).await.unwrap();
        assert_same(tx.candidate(candidate.id).await.unwrap(), Some(candidate.clone()));
    }
    assert_same(tx.capturing_candidates_of(run).await.unwrap(), vec![good.clone(), bad.clone()]);
    assert!(tx.capturing_candidates_of(id!(fixture, RunId)).await.unwrap().is_empty());
    assert!(tx.end_capture(good.id, Some(receipt.id)).await.unwrap());
    assert!(tx.end_capture(bad.id, None).await.unwrap());
    for ended in [ready.id, good.id, bad.id, id!(fixture, CandidateId)] {
        assert!(!tx.end_capture(ended, Some(receipt.id)).await.unwrap());
    }
    let expected = Candidate { state: CandidateState::Ready, receipt_id: Some(receipt.id), ..good.clone() };
    assert_same(tx.candidate(good.id).await.unwrap(), Some(expected));
    let expected = Candidate { state: CandidateState::Unusable, ..bad.clone() };
    assert_same(tx.candidate(bad.id).await.unwrap(), Some(expected));
    assert!(tx.capturing_candidates_of(run).await.unwrap().is_empty());
}

async fn candidates_of_an_approval_come_in_its_order(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let receipt = fixture.captured(&ground).await.receipt;
    let candidate = |checkpoint| fixture.candidate(&ground, &receipt, key("main", checkpoint));
    let (first, second, third) = (candidate("a"), candidate("b"), candidate("c"));
    let approval = fixture.approval(&ground, &line("main"), &[&third, &first]);
    let other = fixture.approval(&ground, &line("main"), &[&first, &second]);
    let mut tx = fixture.write().await;
    for candidate in [&first, &second, &third] {
        tx.insert_candidate(candidate).await.unwrap();
    }
    assert!(tx.candidates_of(approval.id).await.unwrap().is_empty());
    tx.insert_approval(&approval, &[ground.environment.id; 2]).await.unwrap();
    tx.insert_approval(&other, &[ground.environment.id; 2]).await.unwrap();
    assert_same(tx.candidates_of(approval.id).await.unwrap(), vec![third, first.clone()]);
    assert_same(tx.candidates_of(other.id).await.unwrap(), vec![first, second]);
}

async fn the_newest_review_counts(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let receipt = fixture.captured(&ground).await.receipt;
    let late = review(&fixture, &ground, &receipt, 20);
    let early = review(&fixture, &ground, &receipt, 10);
    let tie = Review { disposition: Disposition::Reject, ..review(&fixture, &ground, &receipt, 20) };
    let mut tx = fixture.write().await;
    assert!(tx.newest_review(receipt.id).await.unwrap().is_none());
    for (review, newest) in [(&early, &early), (&late, &late), (&tie, &tie)] {
        tx.insert_review(review).await.unwrap();
        assert_same(tx.review(review.id).await.unwrap(), Some(review.clone()));
        assert_same(tx.newest_review(receipt.id).await.unwrap(), Some(newest.clone()));
    }
    // One that is older than those before it changes nothing.
    tx.insert_review(&review(&fixture, &ground, &receipt, 15)).await.unwrap();
    assert_same(tx.newest_review(receipt.id).await.unwrap(), Some(tie.clone()));
    assert!(tx.review(id!(fixture, ReviewId)).await.unwrap().is_none());
    assert!(tx.newest_review(id!(fixture, ReceiptId)).await.unwrap().is_none());
    assert_exists(tx.insert_review(&tie).await);
}

async fn approvals_move_from_the_version_that_was_read(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let receipt = fixture.captured(&ground).await.receipt;
    let candidate = fixture.candidate(&ground, &receipt, key("release/2-1", "cart"));
    let approval = fixture.approval(&ground, &line("release/2-1"), &[&candidate]);
    let other = fixture.approval(&ground, &line("release/2-1"), &[&candidate]);
    let mut tx = fixture.write().await;
    tx.insert_candidate(&candidate).await.unwrap();
    tx.insert_approval(&approval, &[ground.environment.id; 2]).await.unwrap();
    tx.insert_approval(&other, &[ground.environment.id; 2]).await.unwrap();
    assert_same(tx.approval(approval.id).await.unwrap(), Some(approval.clone()));
    assert!(tx.approval(id!(fixture, ApprovalId)).await.unwrap().is_none());
    let (path, elsewhere) = (candidate.key.path(), key("main", "total").path());
    assert_eq!(tx.author_of_item(approval.id, &path).await.unwrap(), Some(candidate.author));
    assert_eq!(tx.author_of_item(approval.id, &elsewhere).await.unwrap(), None);
    assert_eq!(tx.author_of_item(id!(fixture, ApprovalId), &path).await.unwrap(), None);

    let (approved, consumed) = (ApprovalState::Approved, ApprovalState::Consumed);
    assert!(!tx.move_approval(approval.id, 2, approved, None).await.unwrap());
    assert!(!tx.move_approval(id!(fixture, ApprovalId), 1, approved, None).await.unwrap());
    assert!(tx.move_approval(approval.id, 1, approved, None).await.unwrap());
    assert!(!tx.move_approval(approval.id, 1, ApprovalState::Denied, None).await.unwrap());
    assert!(tx.move_approval(approval.id, 2, consumed, Some(7)).await.unwrap());
    let expected = Approval { version: 3, state: consumed, consumed_revision: Some(7), ..approval.clone() };
    assert_same(tx.approval(approval.id).await.unwrap(), Some(expected));
    assert_same(tx.approval(other.id).await.unwrap(), Some(other));
    assert_exists(tx.insert_approval(&approval, &[ground.environment.id; 2]).await);
}

async fn decisions_are_one_for_each_person(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let receipt = fixture.captured(&ground).await.receipt;
    let candidate = fixture.candidate(&ground, &receipt, key("main", "cart"));
    let approval = fixture.approval(&ground, &line("main"), &[&candidate]);
    let (ada, bob) = (ground.principal.id, id!(fixture, PrincipalId));
    let late = decision(&fixture, &approval, ada, 20);
    let early = Decision { outcome: Outcome::Deny, ..decision(&fixture, &approval, bob, 10) };
    let mut tx = fixture.write().await;
    tx.insert_candidate(&candidate).await.unwrap();
    tx.insert_approval(&approval, &[ground.environment.id; 2]).await.unwrap();
    assert!(tx.decisions_of(approval.id).await.unwrap().is_empty());
    tx.insert_decision(&late).await.unwrap();
    tx.insert_decision(&early).await.unwrap();
    assert_same(tx.decision(late.id).await.unwrap(), Some(late.clone()));
    assert!(tx.decision(id!(fixture, DecisionId)).await.unwrap().is_none());
    assert_same(tx.decisions_of(approval.id).await.unwrap(), vec![early, late]);
    assert!(tx.decisions_of(id!(fixture, ApprovalId)).await.unwrap().is_empty());
    assert_exists(tx.insert_decision(&decision(&fixture, &approval, ada, 30)).await);
}
