//! The whole path on both databases, with every signature and the tree that would be published.

use pinhole_receipt::{
    ApprovalDecision, CatalogInput, CatalogRevision, Envelope, Predicate, ReviewDisposition, entries_digest, manifest,
    verify, verify_statements,
};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    path::{Path, darker, id},
    support::{Bench, GOOD, PROJECT},
};

/// The statement of an envelope whose signature holds.
fn signed<P: Predicate>(bench: &Bench, envelope: &str) -> P {
    let envelope = Envelope::from_bytes(envelope.as_bytes()).unwrap();
    P::from_statement(&verify(&envelope, &bench.keys).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_becomes_a_signed_revision_on_both_databases() {
    for engine in Engine::ALL {
        let path = Path::on(engine).await;
        let (approval, view) = path.materialised(GOOD, 0).await;
        assert_eq!(view["outcome"], "materialized");
        assert_eq!((&view["revision"], &view["entries"], &view["replayed"]), (&json!(1), &json!(2), &json!(false)));
        assert!(!view.to_string().contains("publish"), "{view}");
        assert_eq!(path.state(&approval).await, "consumed");

        let (_, second) = path.materialised(darker(99), 1).await;
        assert_eq!((&second["revision"], &second["entries"]), (&json!(2), &json!(2)));
        check_statements(&path, &approval).await;
        check_revisions(&path, &view, &second).await;
        check_tree(&path).await;
    }
}

/// Every statement verifies and says what the rows say.
async fn check_statements(path: &Path, approval: &Value) {
    let mut tx = path.bench.app.store().begin_read().await.unwrap();
    for item in approval["intent"]["items"].as_array().unwrap() {
        let review = tx.review(item["review"].as_str().unwrap().parse().unwrap()).await.unwrap().unwrap();
        let statement: ReviewDisposition = signed(&path.bench, &review.envelope);
        assert_eq!(statement.review, review.id);
        assert_eq!(json!(statement.capture_digest), item["capture_digest"]);
        assert_eq!((statement.publication_name.as_str(), review.via.as_str()), ("Rita", "local_ticket"));
    }
    let decisions = tx.decisions_of(id(approval)).await.unwrap();
    let [decision] = &decisions[..] else { panic!("{decisions:?}") };
    let statement: ApprovalDecision = signed(&path.bench, &decision.envelope);
    assert_eq!(json!(statement.intent), approval["intent"]);
    assert_eq!(json!(statement.intent_digest), approval["intent_digest"]);
    assert_eq!((statement.version, statement.quorum, statement.two_persons), (1, 1, false));
    assert_eq!(statement.publication_name.as_str(), "Anna");
}

/// Revisions are chained, and the first reads the same after the second.
async fn check_revisions(path: &Path, first: &Value, second: &Value) {
    let read = async |revision: Value, limit: u32, cursor: Value| {
        let input = json!({ "project": PROJECT, "revision": revision, "limit": limit, "cursor": cursor });
        path.bench.call(&path.maker, "get_catalog_revision", input).await.unwrap()
    };
    let (one, two) = (read(json!(1), 200, Value::Null).await, read(json!("latest"), 200, Value::Null).await);
    assert_eq!((&one["digest"], &two["digest"]), (&first["digest"], &second["digest"]));
    assert_eq!((&one["previous_digest"], &two["previous_digest"]), (&Value::Null, &one["digest"]));
    assert_eq!(one["entries"][0]["state"], "superseded");
    assert_eq!(two["entries"][0]["state"], "active");
    assert_ne!(one["entries"][0]["digest"], two["entries"][0]["digest"]);
    for revision in [&one, &two] {
        let statement: CatalogRevision = signed(&path.bench, &canonical(&revision["envelope"]));
        assert_eq!(json!(statement.digest), revision["digest"]);
        assert_eq!(json!(statement.revision.cause), revision["cause"]);
    }
    let page = read(json!(2), 1, Value::Null).await;
    let next = read(json!(2), 1, page["next_cursor"].clone()).await;
    assert_eq!(json!([page["entries"][0], next["entries"][0]]), two["entries"]);
    assert_eq!(next["next_cursor"], Value::Null);
}

/// The manifest that each revision signs is that of the tree which its rows give, also after a later revision.
async fn check_tree(path: &Path) {
    let mut tx = path.bench.app.store().begin_read().await.unwrap();
    let project = tx.project_by_slug(&PROJECT.parse().unwrap()).await.unwrap().unwrap().id;
    let line = "main".parse().unwrap();
    let stored = tx.catalog_revisions_to(project, &line, 2).await.unwrap();
    for revision in &stored {
        let number = revision.revision;
        let statement: CatalogRevision = signed(&path.bench, &revision.envelope);
        let mut entries = Vec::new();
        for entry in tx.entries_at(project, &line, number, None, None, 100).await.unwrap() {
            assert_eq!(entry.sha256, pinhole_core::Sha256Digest::of(entry.document.as_bytes()));
            entries.push(serde_json::from_str(&entry.document).unwrap());
        }
        assert_eq!(statement.revision.entries_digest, entries_digest(&entries).unwrap());
        let envelopes = tx.envelopes_to(project, &line, number).await.unwrap();
        let input = CatalogInput {
            revision: statement.revision,
            entries,
            envelopes: envelopes.into_iter().map(|(id, envelope)| (id, envelope.into_bytes())).collect(),
            revisions: stored.iter().map(|found| (found.revision, found.envelope.clone().into_bytes())).collect(),
            publications: Vec::new(),
            log: std::collections::BTreeMap::new(),
        };
        assert_eq!(revision.manifest_sha256, manifest(&input).unwrap());
        let tree = pinhole_receipt::render(&input).unwrap();
        let report = verify_statements(&tree.files, &path.bench.keys).unwrap();
        assert_eq!((report.revision, report.active_entries), (number, 2));
    }
}

/// An envelope's one byte form.
fn canonical(envelope: &Value) -> String {
    String::from_utf8(pinhole_core::canonical_json(envelope).unwrap()).unwrap()
}
