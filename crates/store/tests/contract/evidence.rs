//! Artifacts, receipts, checkpoint results and run results.

use pinhole_core::{ArtifactKind, CheckpointVerdict, NotEvidence};
use pinhole_store::{Artifact, CheckpointResult, Receipt, RunResult, SignedStatements};
use pinhole_testkit::Engine;
use serde_json::json;

use crate::{
    rows::{AWKWARD, Captured, slug},
    support::{Fixture, assert_exists, assert_same, at, id, on_both_engines},
};

on_both_engines! {
    artifacts
    receipts
    receipts_of_a_run_are_those_with_a_result
    checkpoint_results_follow_the_matrix
    a_run_has_one_result
}

fn result_of(captured: &Captured, receipt: &Receipt, ordinal: u32) -> CheckpointResult {
    CheckpointResult {
        run_id: captured.run.id,
        cell_id: receipt.cell_id,
        ordinal,
        checkpoint: receipt.checkpoint.clone(),
        profile: receipt.profile.clone(),
        receipt_id: receipt.id,
        verdict: CheckpointVerdict::New,
        baseline_receipt_id: None,
        comparison: None,
        difference_id: None,
    }
}

async fn artifacts(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let captured = fixture.captured(&ground).await;
    let elsewhere = fixture.captured(&ground).await;
    let console =
        Artifact { checkpoint: None, ..fixture.artifact(&captured.run, &captured.cell, ArtifactKind::Console) };
    let mut tx = fixture.write().await;
    tx.insert_artifact(&console).await.unwrap();
    assert_same(tx.artifact(console.reference.id).await.unwrap(), Some(console.clone()));
    assert!(tx.artifact(id!(fixture, ArtifactId)).await.unwrap().is_none());
    assert_same(tx.artifacts_of(captured.run.id).await.unwrap(), vec![captured.artifact.clone(), console]);
    assert_same(tx.artifacts_of(elsewhere.run.id).await.unwrap(), vec![elsewhere.artifact]);
    assert_exists(tx.insert_artifact(&captured.artifact).await);
}

async fn receipts(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    assert!(!fixture.read().await.has_receipts().await.unwrap());
    let captured = fixture.captured(&ground).await;
    let void = Receipt {
        not_evidence: vec![
            NotEvidence::WrongLocation { url: AWKWARD.into() },
            NotEvidence::SizeDisagrees { expected: [1280, 800], actual: [1, u32::MAX] },
        ],
        envelope: AWKWARD.into(),
        ..fixture.receipt(&captured.artifact, "void")
    };
    let mut tx = fixture.write().await;
    tx.insert_receipt(&void).await.unwrap();
    assert_same(tx.receipt(captured.receipt.id).await.unwrap(), Some(captured.receipt.clone()));
    assert_same(tx.receipt(void.id).await.unwrap(), Some(void));
    assert!(tx.has_receipts().await.unwrap());
    let signed = Receipt {
        envelope: r#"{"signatures":[{"keyid":"a_b-c","sig":""}]}"#.into(),
        ..fixture.receipt(&captured.artifact, "signed")
    };
    tx.insert_receipt(&signed).await.unwrap();
    let expected = SignedStatements { receipts: 1, ..SignedStatements::default() };
    assert_same(tx.signed_statements("a_b-c").await.unwrap(), expected);
    assert_same(tx.signed_statements("a_b").await.unwrap(), SignedStatements::default());
    assert!(tx.receipt(id!(fixture, ReceiptId)).await.unwrap().is_none());
    // One attempt has one receipt for a checkpoint.
    assert_exists(tx.insert_receipt(&fixture.receipt(&captured.artifact, "cart")).await);
}

async fn receipts_of_a_run_are_those_with_a_result(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let (captured, elsewhere) = (fixture.captured(&ground).await, fixture.captured(&ground).await);
    let (lost, second) = (fixture.receipt(&captured.artifact, "lost"), fixture.receipt(&captured.artifact, "second"));
    let mut tx = fixture.write().await;
    tx.insert_receipt(&lost).await.unwrap();
    tx.insert_receipt(&second).await.unwrap();
    assert!(tx.receipts_of(captured.run.id).await.unwrap().is_empty());
    for (receipt, captured, ordinal) in
        [(&second, &captured, 0), (&captured.receipt, &captured, 1), (&elsewhere.receipt, &elsewhere, 0)]
    {
        tx.insert_checkpoint_result(&result_of(captured, receipt, ordinal)).await.unwrap();
    }
    assert_same(tx.receipts_of(captured.run.id).await.unwrap(), vec![captured.receipt.clone(), second]);
}

async fn checkpoint_results_follow_the_matrix(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let captured = fixture.captured(&ground).await;
    let wide = fixture.cell(captured.run.id, 1);
    let wide_artifact = fixture.artifact(&captured.run, &wide, ArtifactKind::Picture);
    let difference = fixture.artifact(&captured.run, &captured.cell, ArtifactKind::Difference);
    let (wide_receipt, second) =
        (fixture.receipt(&wide_artifact, "cart"), fixture.receipt(&captured.artifact, "payment"));
    let compared = CheckpointResult {
        profile: slug("wide"),
        verdict: CheckpointVerdict::Changed,
        baseline_receipt_id: Some(captured.receipt.id),
        comparison: Some(json!({ "differing": 4_294_967_296_u64, "note": AWKWARD })),
        difference_id: Some(difference.reference.id),
        ..result_of(&captured, &wide_receipt, 0)
    };
    let expected = vec![result_of(&captured, &captured.receipt, 0), result_of(&captured, &second, 1), compared];

    let mut tx = fixture.write().await;
    tx.insert_cell(&wide).await.unwrap();
    for artifact in [&wide_artifact, &difference] {
        tx.insert_artifact(artifact).await.unwrap();
    }
    for receipt in [&wide_receipt, &second] {
        tx.insert_receipt(receipt).await.unwrap();
    }
    let run = captured.run.id;
    assert!(tx.checkpoint_results(run, 0, 10).await.unwrap().is_empty());
    for result in expected.iter().rev() {
        tx.insert_checkpoint_result(result).await.unwrap();
    }
    assert_same(tx.checkpoint_results(run, 0, 10).await.unwrap(), expected.clone());
    assert_same(tx.checkpoint_results(run, 1, 1).await.unwrap(), expected[1..2].to_vec());
    assert_same(tx.checkpoint_results(run, 2, 10).await.unwrap(), expected[2..].to_vec());
    assert!(tx.checkpoint_results(run, 3, 10).await.unwrap().is_empty());
    assert!(tx.checkpoint_results(id!(fixture, RunId), 0, 10).await.unwrap().is_empty());
    assert_exists(tx.insert_checkpoint_result(&expected[0]).await);
}

async fn a_run_has_one_result(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let run = fixture.captured(&ground).await.run;
    let result = RunResult { run_id: run.id, envelope: AWKWARD.into(), created_at: at(70) };
    let mut tx = fixture.write().await;
    assert!(tx.run_result(run.id).await.unwrap().is_none());
    tx.insert_run_result(&result).await.unwrap();
    assert_same(tx.run_result(run.id).await.unwrap(), Some(result.clone()));
    assert_exists(tx.insert_run_result(&RunResult { envelope: "{}".into(), ..result }).await);
}
