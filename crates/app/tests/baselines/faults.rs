//! Consumption that fails at one of its steps: nothing of it stays, nothing takes its place, and the same call does it
//! all when the fault is gone.

use std::sync::Arc;

use pinhole_app::{App, Parts, Settings};
use pinhole_blobs::Blobs;
use pinhole_core::{Actor, Outcome, Result, Role};
use pinhole_jobs::WakeSender;
use pinhole_testkit::{Engine, SeededIds};
use serde_json::{Value, json};

use crate::{
    dump::changed,
    lifecycle::Owned,
    path::{Path, consumption, darker},
    rows::on_both_engines,
    support::{Bench, GOOD},
};

on_both_engines! {
    a_consumption_that_fails_at_any_step_changes_nothing
    a_gated_end_that_fails_at_any_step_changes_nothing
}

/// Every write of a consumption, by table and kind.
const CONSUMPTION: [(&str, &str); 9] = [
    ("catalog_lines", "INSERT"),
    ("baseline_entries", "UPDATE"),
    ("baseline_entries", "INSERT"),
    ("candidates", "UPDATE"),
    ("approvals", "UPDATE"),
    ("catalog_revisions", "INSERT"),
    ("idempotency_keys", "INSERT"),
    ("audit", "INSERT"),
    ("events", "INSERT"),
];

/// Every write of an end that a gate was asked for.
const GATED_END: [(&str, &str); 7] = [
    ("catalog_lines", "INSERT"),
    ("baseline_entries", "UPDATE"),
    ("approvals", "UPDATE"),
    ("catalog_revisions", "INSERT"),
    ("idempotency_keys", "INSERT"),
    ("audit", "INSERT"),
    ("events", "INSERT"),
];

impl Bench {
    /// Lets every write of this kind to the table fail.
    fn break_writes(&self, table: &str, kind: &str) {
        self.change_schema(&match self.database.engine() {
            Engine::Sqlite => {
                format!("CREATE TRIGGER fault BEFORE {kind} ON {table} BEGIN SELECT RAISE(ABORT, 'a fault'); END")
            }
            Engine::Postgres => format!(
                "CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS \
                 $$ BEGIN RAISE EXCEPTION 'a fault'; END $$; \
                 CREATE TRIGGER fault BEFORE {kind} ON {table} FOR EACH ROW EXECUTE FUNCTION fault()"
            ),
        });
    }

    fn mend_writes(&self, table: &str) {
        self.change_schema(&match self.database.engine() {
            Engine::Sqlite => "DROP TRIGGER fault".to_owned(),
            Engine::Postgres => format!("DROP TRIGGER fault ON {table}; DROP FUNCTION fault"),
        });
    }

    /// Waits for what is still being rolled back, and lets that go on meanwhile.
    fn change_schema(&self, statement: &str) {
        tokio::task::block_in_place(|| self.sql(statement));
    }

    /// The same application in a process that has no statement key.
    fn without_key(&self, blobs: &std::path::Path) -> App {
        App::new(Parts {
            store: self.app.store().clone(),
            blobs: Blobs::local(blobs).unwrap(),
            ids: Arc::new(SeededIds::new(99)),
            keyring: None,
            log: None,
            sealer: None,
            wake: WakeSender::new(),
            settings: Settings::default(),
        })
    }

    /// Calls with each of the faults in turn, without the key, and then with none.
    async fn through_faults(&self, faults: &[(&str, &str)], actor: &Actor, operation: &str, input: &Value) -> Value {
        let before = self.dump();
        let unchanged = |what: &str, outcome: Result<Value>| {
            let error = outcome.expect_err(what);
            assert_eq!(error.code().as_str(), "internal", "{what}: {error:?}");
            let after = self.dump();
            assert_eq!(changed(&before, &after), [""; 0], "{operation} without {what}");
        };
        for (table, kind) in faults {
            self.break_writes(table, kind);
            let outcome = self.call(actor, operation, input.clone()).await;
            self.mend_writes(table);
            unchanged(&format!("{kind} on {table}"), outcome);
        }
        let blobs = tempfile::TempDir::with_prefix("pinhole-blobs-").unwrap();
        let Value::Object(members) = input.clone() else { panic!("an input is an object") };
        let keyless = self.without_key(blobs.path());
        let outcome = pinhole_app::operations()[operation].call(&keyless, actor, members).await;
        unchanged("the statement key", outcome.map(|reply| reply.body));
        self.call(actor, operation, input.clone()).await.unwrap()
    }
}

async fn a_consumption_that_fails_at_any_step_changes_nothing(engine: Engine) {
    let path = Path::on(engine).await;
    path.materialised(GOOD, 0).await;
    let approval = path.requested(darker(50)).await;
    let approval = path.decide(&approval, Outcome::Approve).await.unwrap();
    let mut input = consumption(&approval, 1);
    input["idempotency_key"] = "same".into();
    let made = path.bench.through_faults(&CONSUMPTION, &path.maker, "consume_baseline_approval", &input).await;
    assert_eq!((&made["revision"], &made["replayed"]), (&json!(2), &json!(false)));
    assert_eq!(path.state(&approval).await, "consumed");
}

async fn a_gated_end_that_fails_at_any_step_changes_nothing(engine: Engine) {
    for operation in ["retire_baseline", "invalidate_baseline"] {
        let owned = Owned::on(engine).await;
        let cart = owned.entry("cart").await;
        let approved = owned.gate(operation, &cart, Outcome::Approve).await;
        let input = json!({
            "entry_id": cart["id"], "reason": "no longer shown", "expected_version": 1,
            "approval_id": approved["id"], "idempotency_key": "same",
        });
        let done = owned.bench().through_faults(&GATED_END, &owned.owner, operation, &input).await;
        assert_eq!((&done["outcome"], &done["revision"]), (&json!("completed"), &json!(2)));
        assert_eq!(owned.path.state(&approved).await, "consumed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_consumption_falls_back_to_no_other_approval() {
    let path = Path::on(Engine::Sqlite).await;
    let items = path.items(GOOD).await;
    // Two approvals of the very same intent: one denied, one approved.
    let [denied, approved] = [path.request(items.clone()).await.unwrap(), path.request(items).await.unwrap()];
    assert_eq!(denied["intent_digest"], approved["intent_digest"]);
    let denied = path.decide(&denied, Outcome::Deny).await.unwrap();
    path.decide(&approved, Outcome::Approve).await.unwrap();
    let before = path.bench.dump();
    for actor in [&path.maker, &path.bench.service("keeper", &[Role::Owner, Role::Author]).await] {
        let outcome = path.bench.keyed(actor, "consume_baseline_approval", consumption(&denied, 0)).await;
        assert_eq!(outcome.unwrap_err().reason(), Some("not_approved"));
    }
    let after = path.bench.dump();
    for table in ["approvals", "candidates", "baseline_entries", "catalog_lines", "catalog_revisions"] {
        assert_eq!(before[table], after[table], "{table}");
    }
}
