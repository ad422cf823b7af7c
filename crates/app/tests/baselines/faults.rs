//! Calls that fail at one of their steps: nothing of them stays, nothing takes their place, and the same call does it all
//! when the fault is gone.

use std::{collections::BTreeSet, sync::Arc};

use pinhole_app::{App, Parts, Settings};
use pinhole_blobs::Blobs;
use pinhole_core::{Actor, Outcome, Result, Role};
use pinhole_jobs::WakeSender;
use pinhole_testkit::{Engine, SeededIds};
use serde_json::{Value, json};

use crate::{
    dump::changed,
    lifecycle::Owned,
    lines::RELEASE,
    path::{Path, consumption, darker, id, reason},
    rows::on_both_engines,
    support::{Bench, GOOD, PROJECT},
};

on_both_engines! {
    a_consumption_that_fails_at_any_step_changes_nothing
    a_decision_that_fails_at_any_step_changes_nothing
    a_gated_end_that_fails_at_any_step_changes_nothing
    an_end_that_fails_at_any_step_changes_nothing
    a_promotion_that_fails_at_any_step_changes_nothing
    a_request_to_publish_that_fails_at_any_step_changes_nothing
}

/// A kind of write to a table.
type Write = (&'static str, &'static str);

/// What every audited change writes.
const AUDITED: [Write; 3] = [("audit", "INSERT"), ("events", "INSERT"), ("log_entries", "INSERT")];

/// What every further revision of a line writes.
const REVISION: [Write; 4] = [
    ("catalog_lines", "INSERT"),
    ("baseline_entries", "UPDATE"),
    ("catalog_revisions", "INSERT"),
    ("idempotency_keys", "INSERT"),
];

/// A call with every write that it makes, beside those of [`AUDITED`].
struct Call<'a> {
    actor: &'a Actor,
    operation: &'a str,
    input: Value,
    writes: Vec<Write>,
    /// Whether it signs a statement.
    signs: bool,
}

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

    /// Calls with each write failing in turn, where it signs also without the key, and then with no fault.
    async fn through_faults(&self, call: Call<'_>) -> Value {
        let Call { actor, operation, input, writes, signs } = call;
        let before = self.dump();
        let unchanged = |what: &str, outcome: Result<Value>| {
            let error = outcome.expect_err(what);
            assert_eq!(error.code().as_str(), "internal", "{operation} without {what}: {error:?}");
            let after = self.dump();
            assert_eq!(changed(&before, &after), [""; 0], "{operation} without {what}");
        };
        let writes: Vec<_> = writes.into_iter().chain(AUDITED).collect();
        for (table, kind) in &writes {
            self.break_writes(table, kind);
            let outcome = self.call(actor, operation, input.clone()).await;
            self.mend_writes(table);
            unchanged(&format!("{kind} on {table}"), outcome);
        }
        if signs {
            let blobs = tempfile::TempDir::with_prefix("pinhole-blobs-").unwrap();
            let Value::Object(members) = input.clone() else { panic!("an input is an object") };
            let keyless = self.without_key(blobs.path());
            let outcome = pinhole_app::operations()[operation].call(&keyless, actor, members).await;
            unchanged("the statement key", outcome.map(|reply| reply.body));
        }
        let done = self.call(actor, operation, input).await.unwrap();
        let after = self.dump();
        let jobs = |table: &str| table.eq_ignore_ascii_case("jobs") || table == "apalis.jobs";
        let written: BTreeSet<_> =
            changed(&before, &after).into_iter().map(|table| if jobs(table) { "{jobs}" } else { table }).collect();
        assert_eq!(written, writes.iter().map(|(table, _)| *table).collect(), "every table of {operation}");
        done
    }
}

async fn a_consumption_that_fails_at_any_step_changes_nothing(engine: Engine) {
    let path = Path::on(engine).await;
    path.materialised(GOOD, 0).await;
    let approval = path.requested(darker(50)).await;
    let approval = path.decide(&approval, Outcome::Approve).await.unwrap();
    let mut input = consumption(&approval, 1);
    input["idempotency_key"] = "same".into();
    let own = [("baseline_entries", "INSERT"), ("candidates", "UPDATE"), ("approvals", "UPDATE")];
    let writes = REVISION.into_iter().chain(own).collect();
    let (actor, operation) = (&path.maker, "consume_baseline_approval");
    let made = path.bench.through_faults(Call { actor, operation, input, writes, signs: true }).await;
    assert_eq!((&made["revision"], &made["replayed"]), (&json!(2), &json!(false)));
    assert_eq!(path.state(&approval).await, "consumed");
}

async fn a_decision_that_fails_at_any_step_changes_nothing(engine: Engine) {
    let path = Path::on(engine).await;
    let (name, why) = ("Anna".parse().unwrap(), reason("as agreed"));
    for (outcome, state) in [(Outcome::Deny, "denied"), (Outcome::Approve, "approved")] {
        let approval = path.requested(GOOD).await;
        let ticket = path.bench.app.create_decision_ticket(&name, id(&approval), outcome, &why).await.unwrap();
        let input = json!({
            "approval_id": approval["id"], "outcome": outcome, "reason": why, "ticket": ticket.secret,
            "expected_version": 1,
        });
        let writes = vec![("tickets", "UPDATE"), ("decisions", "INSERT"), ("approvals", "UPDATE")];
        let (actor, operation) = (&path.approver, "decide_approval");
        let decided = path.bench.through_faults(Call { actor, operation, input, writes, signs: true }).await;
        assert_eq!(decided["state"], state);
    }
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
        let writes = REVISION.into_iter().chain([("approvals", "UPDATE")]).collect();
        let call = Call { actor: &owned.owner, operation, input, writes, signs: true };
        let done = owned.bench().through_faults(call).await;
        assert_eq!((&done["outcome"], &done["revision"]), (&json!("completed"), &json!(2)));
        assert_eq!(owned.path.state(&approved).await, "consumed");
    }
}

async fn an_end_that_fails_at_any_step_changes_nothing(engine: Engine) {
    let owned = Owned::on(engine).await;
    owned.bench().person("Otto", &[Role::Owner]).await;
    let human = owned.session("Otto").await;
    for (expected, operation, checkpoint) in [(1, "retire_baseline", "cart"), (2, "invalidate_baseline", "total")] {
        let entry = owned.entry(checkpoint).await;
        let input = json!({
            "entry_id": entry["id"], "reason": "no longer shown", "expected_version": expected,
            "idempotency_key": operation,
        });
        let call = Call { actor: &human, operation, input, writes: REVISION.to_vec(), signs: true };
        let done = owned.bench().through_faults(call).await;
        assert_eq!((&done["outcome"], &done["revision"]), (&json!("completed"), &json!(expected + 1)));
    }
}

async fn a_promotion_that_fails_at_any_step_changes_nothing(engine: Engine) {
    let path = Path::on(engine).await;
    path.materialised(GOOD, 0).await;
    path.fork(1).await;
    path.changed_on(RELEASE, "cart", darker(60), 1).await;
    let keeper = path.bench.service("keeper", &[Role::Owner]).await;
    let input = json!({ "project": PROJECT, "from": RELEASE, "revision": 2, "idempotency_key": "same" });
    let tables = ["candidates", "approvals", "approval_items", "idempotency_keys"];
    let writes = tables.map(|table| (table, "INSERT")).to_vec();
    let call = Call { actor: &keeper, operation: "promote_catalog_line", input, writes, signs: false };
    assert_eq!(path.bench.through_faults(call).await["state"], "pending");
}

async fn a_request_to_publish_that_fails_at_any_step_changes_nothing(engine: Engine) {
    let path = Path::on(engine).await;
    path.materialised(GOOD, 0).await;
    let publisher = path.bench.service("publisher", &[Role::Publisher]).await;
    path.bench.app.put_remote(&"origin".parse().unwrap(), "file:///nowhere.git", &["*".into()]).await.unwrap();
    let input = json!({
        "project": PROJECT, "remote": "origin", "branch": "baselines", "expected_head": { "commit": null },
        "expected_version": 1, "idempotency_key": "same",
    });
    let tables = ["publications", "publication_attempts", "idempotency_keys", "{jobs}"];
    let writes = tables.map(|table| (table, "INSERT")).to_vec();
    let call = Call { actor: &publisher, operation: "publish_baseline_catalog", input, writes, signs: false };
    assert_eq!(path.bench.through_faults(call).await["state"], "queued");
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
