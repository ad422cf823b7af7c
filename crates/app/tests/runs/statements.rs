//! Signed receipts and results: that they verify, and say what the rows and the bytes say.

use pinhole_core::{Sha256Digest, canonical_json};
use pinhole_receipt::{CaptureReceipt, Envelope, Predicate, RunResult, Subject, verify};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    path::Path,
    pictures::file,
    rows::on_both_engines,
    support::Bench,
    worker::{TWO_CELLS, order_with},
};

on_both_engines! {
    receipts_name_the_bytes_and_the_pins
    the_result_names_its_receipts
}

/// The statement of an envelope whose signature holds.
pub(crate) fn signed<P: Predicate>(bench: &Bench, envelope: &Value) -> P {
    let envelope = Envelope::from_bytes(&canonical_json(envelope).unwrap()).unwrap();
    P::from_statement(&verify(&envelope, &bench.keys).unwrap()).unwrap()
}

async fn receipts_name_the_bytes_and_the_pins(engine: Engine) {
    let path = Path::on(engine).await;
    let run = path.run_of(TWO_CELLS).await;
    let bytes = file(3);
    let result = path.bench.complete(&run, &bytes).await;
    for (index, checkpoint) in result["checkpoints"].as_array().unwrap().iter().enumerate() {
        let input = json!({ "receipt_id": checkpoint["receipt_id"] });
        let view = path.bench.call(&path.bench.owner, "get_capture_receipt", input).await.unwrap();
        let receipt: CaptureReceipt = signed(&path.bench, &view["envelope"]);
        assert_eq!(json!(receipt.receipt), checkpoint["receipt_id"]);
        assert_eq!((json!(receipt.run), json!(receipt.pins)), (run["id"].clone(), run["pins"].clone()));
        assert_eq!(
            (json!(receipt.cell), json!(receipt.profile)),
            (run["cells"][index]["id"].clone(), checkpoint["profile"].clone())
        );
        assert_eq!((receipt.attempt, receipt.worker.as_str(), receipt.checkpoint.as_str()), (1, "worker-1", "home"));
        let picture = receipt.content().unwrap().1;
        assert_eq!((picture.sha256, picture.size_bytes), (Sha256Digest::of(&bytes), bytes.len() as u64));
        assert_eq!(json!(picture.id), checkpoint["picture"]["id"]);
        assert_eq!(json!(receipt.render_digest), checkpoint["render_digest"]);
        assert_eq!(json!(receipt.rules_digest), checkpoint["rules_digest"]);
        assert_eq!(json!(receipt.render.profile), run["cells"][index]["profile"]);
        let stored = path.bench.app.artifact_content(&path.bench.owner, picture.id).await.unwrap();
        assert_eq!(stored.read().await.unwrap(), bytes);
    }
    let [one, two] = &result["checkpoints"].as_array().unwrap()[..] else { panic!("{result}") };
    assert_ne!(one["render_digest"], two["render_digest"], "the profile is part of it");
    // One altered byte, and it is no longer signed.
    let input = json!({ "receipt_id": one["receipt_id"] });
    let view = path.bench.call(&path.bench.owner, "get_capture_receipt", input).await.unwrap();
    let text = String::from_utf8(canonical_json(&view["envelope"]).unwrap()).unwrap();
    let place = text.find("payload\":\"").unwrap() + 40;
    let other = if text.as_bytes()[place] == b'A' { "B" } else { "A" };
    let altered = format!("{}{other}{}", &text[..place], &text[place + 1..]);
    let verdict = Envelope::from_bytes(altered.as_bytes()).and_then(|envelope| verify(&envelope, &path.bench.keys));
    assert!(verdict.is_err());
}

async fn the_result_names_its_receipts(engine: Engine) {
    let path = Path::on(engine).await;
    let first = path.run_of(TWO_CELLS).await;
    path.bench.complete(&first, &file(3)).await;
    let order = order_with("probe", "baseline", json!({ "receipt": "previous" }));
    let run = path.bench.keyed(&path.maker, "start_scenario_run", order).await.unwrap();
    let result = path.bench.complete(&run, &file(4)).await;
    let statement: RunResult = signed(&path.bench, &result["statement"]);
    assert_eq!((json!(statement.run), json!(statement.pins)), (run["id"].clone(), run["pins"].clone()));
    assert_eq!((json!(statement.state), json!(statement.verdict)), (json!("completed"), json!("changed")));
    assert_eq!(statement.verdicts, json!({ "home@desktop": "changed", "home@phone": "changed" }));
    let checkpoints = result["checkpoints"].as_array().unwrap();
    let mut subjects = vec![Subject::sha256("scenario/probe".to_owned(), statement.pins.scenario_sha256)];
    for (checkpoint, reference) in checkpoints.iter().zip(&statement.receipts) {
        let name = format!("home@{}", checkpoint["profile"].as_str().unwrap());
        assert_eq!(statement.accounts[name], checkpoint["comparison"]["account"]);
        assert_eq!(json!(reference.receipt), checkpoint["receipt_id"]);
        let input = json!({ "receipt_id": checkpoint["receipt_id"] });
        let view = path.bench.call(&path.bench.owner, "get_capture_receipt", input).await.unwrap();
        let envelope = Envelope::from_bytes(&canonical_json(&view["envelope"]).unwrap()).unwrap();
        assert_eq!(reference.payload_sha256, envelope.payload_sha256());
        subjects.push(Subject::sha256(reference.receipt.to_string(), reference.payload_sha256));
    }
    assert_eq!(statement.receipts.len(), checkpoints.len());
    assert_eq!(statement.subjects(), subjects);
}
