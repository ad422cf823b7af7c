//! What a lying worker submits is refused, with the reason, and leaves no receipt and no artifact.

use pinhole_core::{
    ArtifactKind, CellFailure, FailedAssertion, FailureReason, NotEvidence, Sha256Digest, StagedArtifact, Submission,
};
use pinhole_testkit::Engine;
use serde_json::json;

use crate::{
    path::Path,
    pictures::{blank, file, promising},
    rows::on_both_engines,
    support::SCENARIO,
    worker::order,
};

on_both_engines! {
    lies_about_a_submission_are_refused
    files_that_are_no_pictures_are_refused
    evidence_that_is_none_is_refused
    the_truth_is_taken
}

impl Path {
    /// That a submission is refused for a reason that has these words, and is not recorded.
    async fn refuses(&self, what: &str, words: &str, file: &[u8], tell: impl Fn(&mut Submission)) {
        let bench = &self.bench;
        let run = bench.keyed(&self.maker, "start_scenario_run", order(SCENARIO)).await.unwrap();
        let claim = bench.claim(&run, 0).await;
        let mut submission = bench.shoot(&claim, file).await;
        tell(&mut submission);
        let before = bench.counts();
        bench.hand_in(&claim.lease, &submission).await;
        let expected = [("audit", 1), ("events", 1), ("run_results", 1), ("{jobs}", 1)];
        assert_eq!(bench.more_than(&before), expected.map(|(table, more)| (table.to_owned(), more)), "{what}");
        let seen = bench.run(&run["id"]).await;
        let failure = &seen["cells"][0]["failure"];
        assert_eq!((&seen["state"], &failure["reason"]), (&json!("failed"), &json!("registration_refused")), "{what}");
        let message = failure["message"].as_str().unwrap();
        assert!(message.contains(words), "{what}: {message}");
        let result = bench.result(&run["id"]).await;
        assert_eq!((&result["checkpoints"], &result["evidence"]), (&json!([]), &json!([])), "{what}");
    }
}

/// Of what, the words of the refusal, and the lie.
type Lie = (&'static str, &'static str, fn(&mut Submission));

const LIES: &[Lie] = &[
    ("digest", "but the bytes have sha256:", |told| told.checkpoints[1].picture.sha256 = Sha256Digest::of(b"x")),
    ("size", "bytes, but", |told| told.checkpoints[1].picture.size_bytes += 1),
    ("missing file", "no longer stored", |told| told.checkpoints[1].picture.name = "nothing".into()),
    ("file elsewhere", "letters, digits and hyphens", |told| told.checkpoints[1].picture.name = "../x".into()),
    ("kind", "of another kind", |told| told.checkpoints[0].picture.kind = ArtifactKind::Difference),
    ("unknown checkpoint", "in their order", |told| told.checkpoints[1].name = "basket".parse().unwrap()),
    ("missing checkpoint", "in their order", |told| drop(told.checkpoints.pop())),
    ("no checkpoint", "in their order", |told| told.checkpoints.clear()),
    ("extra checkpoint", "in their order", |told| told.checkpoints.push(told.checkpoints[0].clone())),
    ("very many checkpoints", "in their order", |told| told.checkpoints = vec![told.checkpoints[0].clone(); 500]),
    ("repeated checkpoint", "in their order", |told| told.checkpoints[1].name = told.checkpoints[0].name.clone()),
    ("another order", "in their order", |told| told.checkpoints.reverse()),
    ("wrong checkpoint before a failure", "in their order", |told| {
        told.checkpoints.remove(0);
        told.failure = Some(failure("gone"));
    }),
    ("profile", "profile is not the cell's", |told| told.checkpoints[1].render.profile.scale = 2.0),
    ("masks", "more rectangles", |told| told.checkpoints[1].masked = vec![[0, 0, 1, 1]; 1001]),
    ("ignores", "more rectangles", |told| told.checkpoints[1].ignored = vec![[0, 0, 1, 1]; 1001]),
    ("a mask that nobody asked for", "no rule for", |told| told.checkpoints[1].masked = vec![[0, 0, 1, 1]]),
    ("an ignore that nobody asked for", "no rule for", |told| told.checkpoints[1].ignored = vec![[0, 0, 1, 1]]),
    ("reasons", "or reasons", |told| told.checkpoints[1].not_evidence = vec![NotEvidence::FontsNotReady; 201]),
    ("a picture as evidence", "picture is no evidence", |told| told.evidence.push(told.checkpoints[0].picture.clone())),
    ("evidence", "more than 10", |told| told.evidence = vec![told.checkpoints[0].picture.clone(); 11]),
    ("assertions", "more or longer", |told| told.failed_assertions = vec![assertion("no"); 201]),
    ("an assertion", "more or longer", |told| told.failed_assertions = vec![assertion(&"n".repeat(501))]),
    ("a failure", "longer than 2000", |told| told.failure = Some(failure(&"n".repeat(2001)))),
];

fn failure(message: &str) -> CellFailure {
    CellFailure { reason: FailureReason::TargetMissing, step: Some(2), message: message.into() }
}

fn assertion(message: &str) -> FailedAssertion {
    FailedAssertion { step: 0, message: message.into() }
}

async fn lies_about_a_submission_are_refused(engine: Engine) {
    let path = Path::on(engine).await;
    for (what, words, tell) in LIES {
        path.refuses(what, words, &file(1), tell).await;
    }
}

async fn files_that_are_no_pictures_are_refused(engine: Engine) {
    let path = Path::on(engine).await;
    let good = file(1);
    for (what, words, bytes) in [
        ("nothing", "does not begin with the PNG signature", Vec::new()),
        ("a page", "does not begin with the PNG signature", b"<html>".to_vec()),
        ("half a picture", "", good[..good.len() / 2].to_vec()),
        ("no end", "", good[..good.len() - 12].to_vec()),
        ("a bomb", "too large", promising(good.clone(), 100_000, 100_000)),
        ("a wider bomb", "too large", promising(good.clone(), 0x7FFF_FFFF, 1)),
        ("more rows than there are", "", promising(good.clone(), 40, 31)),
    ] {
        path.refuses(what, words, &bytes, |_| {}).await;
    }
}

async fn evidence_that_is_none_is_refused(engine: Engine) {
    let path = Path::on(engine).await;
    let evidence = |kind, bytes: &[u8]| {
        // Staged as a picture's file, and told of as evidence.
        let (size_bytes, sha256) = (bytes.len() as u64, Sha256Digest::of(bytes));
        StagedArtifact { kind, name: "picture-cart".into(), size_bytes, sha256 }
    };
    let bytes = file(1);
    for kind in [ArtifactKind::Picture, ArtifactKind::Difference] {
        path.refuses("kind", "is no evidence", &bytes, |told| told.evidence.push(evidence(kind, &bytes))).await;
    }
    let wrong = |kind| {
        let mut wrong = evidence(kind, &bytes);
        wrong.sha256 = Sha256Digest::of(b"x");
        wrong
    };
    for kind in [ArtifactKind::Console, ArtifactKind::FailurePicture] {
        path.refuses("digest", "but the bytes have", &bytes, |told| told.evidence.push(wrong(kind))).await;
    }
    let run = path.bench.keyed(&path.maker, "start_scenario_run", order(SCENARIO)).await.unwrap();
    let claim = path.bench.claim(&run, 0).await;
    let mut submission = path.bench.shoot(&claim, &bytes).await;
    let long = vec![b' '; (4 << 20) + 1];
    submission.evidence.push(path.bench.app.stage(&claim.lease, ArtifactKind::Console, "console", long).await.unwrap());
    path.bench.hand_in(&claim.lease, &submission).await;
    let failure = &path.bench.run(&run["id"]).await["cells"][0]["failure"];
    assert_eq!(failure["reason"], "registration_refused");
    assert!(failure["message"].as_str().unwrap().contains("4194304"), "{failure}");
}

async fn the_truth_is_taken(engine: Engine) {
    let path = Path::on(engine).await;
    let bench = &path.bench;
    let run = bench.keyed(&path.maker, "start_scenario_run", order(SCENARIO)).await.unwrap();
    let claim = bench.claim(&run, 0).await;
    let mut submission = bench.shoot(&claim, &file(1)).await;
    submission.checkpoints.pop();
    submission.failure = Some(failure(&"ü".repeat(2000)));
    submission.failed_assertions = vec![assertion(&"ü".repeat(500))];
    let console = bench.app.stage(&claim.lease, ArtifactKind::Console, "console", b"{}".to_vec()).await.unwrap();
    let picture = bench.app.stage(&claim.lease, ArtifactKind::FailurePicture, "failure", blank()).await.unwrap();
    submission.evidence = vec![console, picture];
    bench.hand_in(&claim.lease, &submission).await;
    let seen = bench.run(&run["id"]).await;
    assert_eq!((&seen["state"], &seen["cells"][0]["failure"]["reason"]), (&json!("failed"), &json!("target_missing")));
    assert_eq!(seen["cells"][0]["failed_assertions"][0]["step"], 0);
    let result = bench.result(&run["id"]).await;
    assert_eq!(result["checkpoints"].as_array().unwrap().len(), 1, "what came before the failure is kept");
    let mut kinds: Vec<_> = result["evidence"].as_array().unwrap().iter().map(|found| found["kind"].clone()).collect();
    kinds.sort_by_key(ToString::to_string);
    assert_eq!(kinds, [json!("console"), json!("failure_picture")]);
}
