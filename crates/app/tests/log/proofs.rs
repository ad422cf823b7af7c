//! Proofs of single records for those who may read them, and of the log's growth for everybody who may sign in.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use pinhole_core::{Actor, LogRecordKind, Role, Sha256Digest};
use pinhole_receipt::log::{Checkpoint, ConsistencyProof, InclusionProof, log_entry};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    path::{Path, darker},
    rows::on_both_engines,
    support::{Bench, GOOD, refused},
};

on_both_engines! {
    every_kind_of_record_is_proved_to_those_who_may_read_it
    a_record_is_proved_when_it_is_in_the_log
    an_audit_row_is_proved_to_those_who_may_list_it
    the_log_is_proved_to_grow
    everybody_reads_tiles_and_entries
}

/// Checks a proof as somebody would who has nothing but the record and the log's key.
#[track_caller]
fn check(bench: &Bench, proof: &Value, kind: LogRecordKind, record: &[u8]) {
    let checkpoint = checkpoint(bench, proof);
    let inclusion = InclusionProof {
        leaf: proof["leaf"].as_u64().unwrap(),
        size: proof["size"].as_u64().unwrap(),
        hashes: hashes(proof),
    };
    assert_eq!((inclusion.size, &proof["kind"]), (checkpoint.size, &json!(kind)));
    inclusion.verify(checkpoint.root, log_entry(kind, Sha256Digest::of(record))).unwrap();
    assert!(inclusion.verify(checkpoint.root, log_entry(kind, Sha256Digest::of(b"another"))).is_err());
}

fn checkpoint(bench: &Bench, answer: &Value) -> Checkpoint {
    Checkpoint::verify(answer["checkpoint"].as_str().unwrap().as_bytes(), &bench.keys).unwrap()
}

fn hashes(answer: &Value) -> Vec<Sha256Digest> {
    let hash = |text: &Value| BASE64_STANDARD.decode(text.as_str().unwrap()).unwrap().try_into().unwrap();
    answer["hashes"].as_array().unwrap().iter().map(|text| Sha256Digest::from_bytes(hash(text))).collect()
}

async fn proof(bench: &Bench, actor: &Actor, record: &str) -> pinhole_core::Result<Value> {
    bench.call(actor, "get_log_proof", json!({ "record_id": record })).await
}

async fn every_kind_of_record_is_proved_to_those_who_may_read_it(engine: Engine) {
    let path = Path::on(engine).await;
    let bench = &path.bench;
    path.materialised(GOOD, 0).await;
    bench.app.sequence_log().await.unwrap();
    let stranger = bench.person("Eve", &[]).await;
    for (kind, ids, envelopes) in [
        (LogRecordKind::CaptureReceipt, "SELECT id FROM receipts", "SELECT envelope FROM receipts"),
        (LogRecordKind::RunResult, "SELECT run_id FROM run_results", "SELECT envelope FROM run_results"),
        (LogRecordKind::Review, "SELECT id FROM reviews", "SELECT envelope FROM reviews"),
        (LogRecordKind::Decision, "SELECT id FROM decisions", "SELECT envelope FROM decisions"),
        (
            LogRecordKind::CatalogRevision,
            "SELECT sha256 FROM catalog_revisions",
            "SELECT envelope FROM catalog_revisions",
        ),
    ] {
        let (ids, envelopes) = (bench.sql(&format!("{ids} ORDER BY 1")), bench.sql(&format!("{envelopes} ORDER BY 1")));
        let mut envelopes: Vec<_> = envelopes.lines().collect();
        assert!(!envelopes.is_empty(), "{kind}");
        for id in ids.lines() {
            let proof = proof(bench, &path.maker, id).await.unwrap();
            let digest: Sha256Digest = proof["sha256"].as_str().unwrap().parse().unwrap();
            let place = envelopes.iter().position(|envelope| Sha256Digest::of(envelope.as_bytes()) == digest);
            check(bench, &proof, kind, envelopes.remove(place.unwrap()).as_bytes());
            let hidden = refused(self::proof(bench, &stranger, id).await);
            assert_eq!(hidden.0, "not_found", "{kind}");
        }
        assert!(envelopes.is_empty());
    }
    for missing in ["rcp_", "run_", "rev_", "dec_", "pub_", "aud_"] {
        let refusal = refused(proof(bench, &path.maker, &format!("{missing}{}", "7".repeat(32))).await);
        assert_eq!(refusal.0, "not_found", "{missing}");
    }
}

async fn a_record_is_proved_when_it_is_in_the_log(engine: Engine) {
    let path = Path::on(engine).await;
    let captured = path.capture(GOOD).await;
    let receipt = captured.receipts.values().next().unwrap().to_string();
    path.bench.app.sequence_log().await.unwrap();
    let later = path.capture(darker(90)).await.receipts.values().next().unwrap().to_string();
    proof(&path.bench, &path.maker, &receipt).await.unwrap();
    let early = refused(proof(&path.bench, &path.maker, &later).await);
    assert_eq!((early.0, early.1.as_str()), ("conflict", "not_logged"));
    path.bench.app.sequence_log().await.unwrap();
    proof(&path.bench, &path.maker, &later).await.unwrap();
}

async fn an_audit_row_is_proved_to_those_who_may_list_it(engine: Engine) {
    let bench = Bench::on(engine).await;
    let owner = bench.person("Otto", &[Role::Owner]).await;
    let viewer = bench.person("Vera", &[Role::Viewer]).await;
    bench.app.sequence_log().await.unwrap();
    let listed = bench.call(&bench.owner, "list_audit", json!({ "limit": 200 })).await.unwrap();
    let find = |of_project: bool| {
        let mut entries = listed["entries"].as_array().unwrap().iter();
        entries.find(|entry| entry["project_id"].is_null() != of_project).unwrap()["id"].as_str().unwrap()
    };
    let mut tx = bench.app.store().begin_read().await.unwrap();
    for (id, for_owner) in [(find(true), true), (find(false), false)] {
        let row = tx.audit_row(id.parse().unwrap()).await.unwrap().unwrap().canonical().unwrap();
        check(&bench, &proof(&bench, &bench.owner, id).await.unwrap(), LogRecordKind::Audit, &row);
        assert_eq!(proof(&bench, &owner, id).await.is_ok(), for_owner);
        let refusal = refused(proof(&bench, &viewer, id).await).0;
        assert_eq!(refusal, if for_owner { "permission_denied" } else { "not_found" });
    }
}

async fn the_log_is_proved_to_grow(engine: Engine) {
    let bench = Bench::on(engine).await;
    bench.app.sequence_log().await.unwrap();
    let first = bench.checked_log().await;
    for number in 0..5 {
        let project = json!({ "slug": format!("p-{number}"), "title": "P" });
        bench.keyed(&bench.owner, "create_project", project).await.unwrap();
    }
    bench.app.sequence_log().await.unwrap();
    let stranger = bench.person("Eve", &[]).await;
    let ask = async |input: Value| bench.call(&stranger, "get_log_consistency", input).await;
    let answer = ask(json!({ "first": first.size })).await.unwrap();
    let second = checkpoint(&bench, &answer);
    assert_eq!(answer["second"], second.size);
    let proof = ConsistencyProof { first: first.size, second: second.size, hashes: hashes(&answer) };
    proof.verify(first.root, second.root).unwrap();
    assert!(proof.verify(second.root, second.root).is_err());
    for wrong in [json!({ "first": 2, "second": 1 }), json!({ "first": second.size + 1000 })] {
        assert_eq!(refused(ask(wrong).await).1, "log_size");
    }
}

async fn everybody_reads_tiles_and_entries(engine: Engine) {
    let bench = Bench::on(engine).await;
    bench.app.sequence_log().await.unwrap();
    let size = bench.checked_log().await.size;
    let (tile, entries) = (format!("0/000.p/{size}"), format!("entries/000.p/{size}"));
    let (tile, entries) = (bench.app.log_tile(&tile).await.unwrap(), bench.app.log_tile(&entries).await.unwrap());
    assert_eq!((tile.len(), entries.len()), (size as usize * 32, size as usize * 34));
    for (leaf, entry) in tile.chunks(32).zip(entries.chunks(34)) {
        assert_eq!(entry[..2], [0, 32]);
        assert_eq!(Sha256Digest::of_parts(&[&[0], &entry[2..]]).as_bytes(), leaf);
    }
    for missing in [format!("0/000.p/{}", size + 1), "1/000".into(), "entries/001.p/1".into(), "0/../x".into()] {
        assert_eq!(bench.app.log_tile(&missing).await.unwrap_err().code().as_str(), "not_found", "{missing}");
    }
    assert!(bench.app.log_verifier_key().await.unwrap().starts_with("pinhole.dev/log/"));
}
