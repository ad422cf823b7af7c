//! Audit rows, domain events and idempotency keys.

use pinhole_core::{IdempotencyKey, PrincipalClass};
use pinhole_store::{AuditRow, EventRow, IdempotentCall};
use pinhole_testkit::Engine;
use serde_json::json;

use crate::{
    rows::{AWKWARD, sha256},
    support::{Fixture, assert_exists, assert_same, at, id, on_both_engines},
};

on_both_engines! {
    audit_rows_are_read_by_object
    events_wait_until_they_are_delivered
    an_idempotency_key_is_used_once
    what_a_call_made_is_replaced_for_it_alone
}

async fn audit_rows_are_read_by_object(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let row = |micros, object: Option<&str>| AuditRow {
        id: id!(fixture, AuditId),
        at: at(micros),
        principal_id: id!(fixture, PrincipalId),
        operation: "start_scenario_run".into(),
        project_id: object.map(|_| id!(fixture, ProjectId)),
        object_id: object.map(str::to_owned),
        request_id: id!(fixture, RequestId),
        detail: json!({ "note": AWKWARD, "count": 3, "nothing": null }),
    };
    let (late, early, other, none) =
        (row(2, Some("run_1")), row(1, Some("run_1")), row(0, Some("run_2")), row(3, None));
    let mut tx = fixture.write().await;
    for row in [&late, &early, &other, &none] {
        tx.insert_audit(row).await.unwrap();
    }
    assert_same(tx.audit_of("run_1").await.unwrap(), vec![early, late.clone()]);
    assert_same(tx.audit_of("run_2").await.unwrap(), vec![other]);
    assert!(tx.audit_of("").await.unwrap().is_empty());
    assert_exists(tx.insert_audit(&late).await);
}

async fn events_wait_until_they_are_delivered(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let row = |micros, object: &str| EventRow {
        id: id!(fixture, EventId),
        at: at(micros),
        kind: "run.completed".into(),
        project_id: id!(fixture, ProjectId),
        object_id: object.into(),
        payload: json!({ "run": object, "verdict": "changed" }),
    };
    let (late, early, same_instant, delivered) = (row(2, "run_1"), row(1, "run_2"), row(2, "run_3"), row(0, "run_4"));
    let mut tx = fixture.write().await;
    for row in [&late, &early, &same_instant, &delivered] {
        tx.insert_event(row).await.unwrap();
    }
    tx.commit().await.unwrap();
    fixture.execute("UPDATE events SET delivered_at = 1 WHERE object_id = 'run_4'").await;
    let mut tx = fixture.write().await;
    assert_same(tx.pending_events().await.unwrap(), vec![early, late.clone(), same_instant]);
    assert_exists(tx.insert_event(&late).await);
}

async fn an_idempotency_key_is_used_once(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (ada, bob) = (fixture.principal(PrincipalClass::User, "ada"), fixture.principal(PrincipalClass::User, "bob"));
    let key: IdempotencyKey = "it's-\"mine\"".parse().unwrap();
    let call = IdempotentCall { intent_sha256: sha256("intent"), object_id: "cnd_1 cnd_2".into() };
    let mut tx = fixture.write().await;
    assert!(tx.idempotent_call(ada.id, "start", &key).await.unwrap().is_none());
    tx.insert_idempotent_call(ada.id, "start", &key, &call).await.unwrap();
    let found = tx.idempotent_call(ada.id, "start", &key).await.unwrap().unwrap();
    assert_eq!(found.first_object(), "cnd_1");
    assert_same(found, call.clone());

    // Another person, operation or key is another call.
    let other: IdempotencyKey = "IT'S-\"MINE\"".parse().unwrap();
    for (principal, operation, key) in [(bob.id, "start", &key), (ada.id, "cancel", &key), (ada.id, "start", &other)] {
        assert!(tx.idempotent_call(principal, operation, key).await.unwrap().is_none());
        tx.insert_idempotent_call(principal, operation, key, &call).await.unwrap();
    }
    let changed = IdempotentCall { intent_sha256: sha256("changed"), object_id: "cnd_3".into() };
    assert_exists(tx.insert_idempotent_call(ada.id, "start", &key, &changed).await);
}

async fn what_a_call_made_is_replaced_for_it_alone(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ada = fixture.principal(PrincipalClass::User, "ada").id;
    let (key, other): (IdempotencyKey, IdempotencyKey) = ("mine".parse().unwrap(), "other".parse().unwrap());
    let call = IdempotentCall { intent_sha256: sha256("intent"), object_id: "apr_1".into() };
    let mut tx = fixture.write().await;
    assert!(!tx.replace_idempotent_object(ada, "retire", &key, "bse_1").await.unwrap());
    for key in [&key, &other] {
        tx.insert_idempotent_call(ada, "retire", key, &call).await.unwrap();
    }
    assert!(tx.replace_idempotent_object(ada, "retire", &key, "bse_1").await.unwrap());
    let replaced = IdempotentCall { object_id: "bse_1".into(), ..call.clone() };
    assert_same(tx.idempotent_call(ada, "retire", &key).await.unwrap(), Some(replaced));
    assert_same(tx.idempotent_call(ada, "retire", &other).await.unwrap(), Some(call));
}
