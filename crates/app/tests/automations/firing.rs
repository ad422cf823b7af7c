//! Schedules that are due: one run for each time, whoever looks and whenever somebody ends.

use std::time::Duration;

use futures::future::join_all;
use pinhole_core::Role;
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    bench::{Keepers, every_ten_minutes, update, with},
    rows::on_both_engines,
    support::{PROJECT, SCENARIO},
};

on_both_engines! {
    a_due_schedule_starts_one_run
    many_that_look_at_once_start_one_run
    what_does_not_end_is_done_again
    times_that_passed_start_one_run
    rights_that_end_stop_the_schedule
    who_changes_a_schedule_answers_for_it
    what_cannot_run_is_told
    what_is_off_starts_nothing
}

const TEN_MINUTES: Duration = Duration::from_secs(600);

impl Keepers {
    async fn fire(&self) {
        self.bench.app.fire_due_schedules().await.unwrap();
    }

    /// The newest delivery of a schedule after its next time.
    async fn fired(&self, schedule: &Value) -> Value {
        self.pass(TEN_MINUTES);
        self.fire().await;
        self.look(schedule).await["deliveries"][0].clone()
    }
}

async fn a_due_schedule_starts_one_run(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let made = keepers.schedule(&keepers.olaf, every_ten_minutes()).await;
    keepers.fire().await;
    assert_eq!(keepers.runs(), 0, "its time has not come");
    keepers.pass(TEN_MINUTES);
    let due = keepers.look(&made).await["next_at"].clone();
    keepers.fire().await;
    let after = keepers.look(&made).await;
    let delivery = &after["deliveries"][0];
    assert_eq!((&delivery["key"], &delivery["outcome"], &delivery["missed"]), (&due, &json!("started"), &json!(0)));
    assert_eq!(after["version"], 1, "no person changed it");
    assert!(after["next_at"].as_str().unwrap() > due.as_str().unwrap());

    let run = json!({ "run_id": delivery["run_id"] });
    let run = keepers.bench.call(&keepers.petra, "get_scenario_run", run).await.unwrap();
    assert_eq!((&run["trigger"], &run["created_by"]), (&json!("schedule"), &json!(keepers.olaf.principal)));
    assert_eq!((&run["pins"]["scenario_slug"], &run["state"]), (&json!(SCENARIO), &json!("queued")));
    keepers.fire().await;
    assert_eq!((keepers.runs(), keepers.bench.jobs()), (1, 1), "the next time has not come");

    let mut tx = keepers.bench.app.store().begin_read().await.unwrap();
    let audit = tx.audit_of(made["id"].as_str().unwrap()).await.unwrap();
    let operations: Vec<_> = audit.iter().map(|row| row.operation.as_str()).collect();
    assert_eq!(operations, ["create_schedule", "fire_schedule"]);
    assert_eq!(audit[1].detail["run"], run["id"]);
}

async fn many_that_look_at_once_start_one_run(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    for _ in 0..3 {
        keepers.schedule(&keepers.olaf, every_ten_minutes()).await;
    }
    keepers.pass(TEN_MINUTES);
    // Somebody whom the database turned away looks again.
    join_all((0..8).map(|_| keepers.bench.app.fire_due_schedules())).await;
    keepers.fire().await;
    assert_eq!(keepers.runs(), 3);
    assert_eq!(keepers.bench.sql("SELECT count(*) FROM automation_deliveries").trim(), "3");
}

async fn what_does_not_end_is_done_again(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let made = keepers.schedule(&keepers.olaf, every_ten_minutes()).await;
    keepers.pass(TEN_MINUTES);
    let before = (keepers.look(&made).await, keepers.bench.counts());
    // The ledger is written last: when that fails, it is as if nobody had looked.
    keepers.bench.sql("ALTER TABLE automation_deliveries RENAME TO gone");
    keepers.bench.app.fire_due_schedules().await.unwrap_err();
    keepers.bench.sql("ALTER TABLE gone RENAME TO automation_deliveries");
    assert_eq!((keepers.look(&made).await, keepers.bench.counts()), before);
    keepers.fire().await;
    assert_eq!(keepers.runs(), 1);
    assert_eq!(keepers.look(&made).await["deliveries"][0]["key"], before.0["next_at"]);
}

async fn times_that_passed_start_one_run(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let made = keepers.schedule(&keepers.olaf, every_ten_minutes()).await;
    keepers.pass(6 * TEN_MINUTES);
    let due = keepers.look(&made).await["next_at"].clone();
    keepers.fire().await;
    let deliveries = keepers.look(&made).await["deliveries"].clone();
    assert_eq!((deliveries.as_array().unwrap().len(), &deliveries[0]["key"]), (1, &due));
    assert_eq!(deliveries[0]["missed"], 5);
    assert_eq!(keepers.runs(), 1);
}

async fn rights_that_end_stop_the_schedule(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let made = keepers.schedule(&keepers.olaf, every_ten_minutes()).await;
    keepers.revoke("Olaf").await;
    let delivery = keepers.fired(&made).await;
    assert_eq!((&delivery["outcome"], &delivery["run_id"]), (&json!("refused"), &json!(null)));
    let denied = json!(["permission_denied", "run.start"]);
    assert_eq!(json!([delivery["refusal"]["code"], delivery["refusal"]["details"]["reason"]]), denied);
    // What it may see is not enough.
    let (name, project) = ("Olaf".parse().unwrap(), PROJECT.parse().unwrap());
    keepers.bench.app.grant(&name, &project, None, Role::Viewer).await.unwrap();
    assert_eq!(keepers.fired(&made).await["refusal"]["code"], "permission_denied");
    assert_eq!((keepers.runs(), keepers.bench.jobs()), (0, 0));

    keepers.grant("Olaf").await;
    assert_eq!(keepers.fired(&made).await["outcome"], "started");
    // Nobody runs anything for somebody who may not sign in any more.
    keepers.bench.sql("UPDATE principals SET disabled_at = 1 WHERE name = 'Olaf'");
    assert_eq!(keepers.fired(&made).await["refusal"]["code"], "permission_denied");
    assert_eq!(keepers.runs(), 1);
}

async fn who_changes_a_schedule_answers_for_it(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let made = keepers.schedule(&keepers.olaf, every_ten_minutes()).await;
    let input = with(every_ten_minutes(), "/title", json!("Mine now"));
    keepers.bench.call(&keepers.petra, "update_schedule", update(&made, input)).await.unwrap();
    keepers.revoke("Olaf").await;
    let delivery = keepers.fired(&made).await;
    assert_eq!(delivery["outcome"], "started");
    let run = keepers.bench.call(&keepers.petra, "get_scenario_run", json!({ "run_id": delivery["run_id"] })).await;
    assert_eq!(run.unwrap()["created_by"], json!(keepers.petra.principal));
}

async fn what_cannot_run_is_told(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let made = keepers.schedule(&keepers.olaf, every_ten_minutes()).await;
    keepers.bench.sql(&format!("UPDATE scenarios SET archived_at = 1 WHERE slug = '{SCENARIO}'"));
    let delivery = keepers.fired(&made).await;
    assert_eq!(
        json!([delivery["refusal"]["code"], delivery["refusal"]["details"]["reason"]]),
        json!(["conflict", "archived"])
    );
    keepers.bench.sql("UPDATE scenarios SET archived_at = NULL");
    // A fault of ours in one schedule holds up neither it nor the others.
    let other = keepers.schedule(&keepers.olaf, every_ten_minutes()).await;
    keepers.bench.sql("UPDATE environment_revisions SET document = 'broken'");
    assert_eq!(keepers.fired(&made).await["refusal"]["code"], "internal");
    assert_eq!(keepers.look(&other).await["deliveries"][0]["refusal"]["message"], "internal error");
    assert_eq!(keepers.runs(), 0);
}

async fn what_is_off_starts_nothing(engine: Engine) {
    let keepers = Keepers::on(engine).await;
    let off = with(every_ten_minutes(), "/enabled", json!(false));
    let off = keepers.schedule(&keepers.olaf, off).await;
    let deleted = keepers.schedule(&keepers.olaf, every_ten_minutes()).await;
    let version = json!({ "schedule_id": deleted["id"], "expected_version": 1 });
    keepers.bench.call(&keepers.olaf, "delete_schedule", version).await.unwrap();
    keepers.pass(TEN_MINUTES);
    keepers.fire().await;
    assert_eq!(keepers.runs(), 0);
    // Switched on, its time is one that comes, not one that has passed.
    let on = keepers.bench.call(&keepers.olaf, "update_schedule", update(&off, every_ten_minutes())).await.unwrap();
    keepers.fire().await;
    assert_eq!(keepers.runs(), 0);
    assert_eq!(keepers.fired(&on).await["outcome"], "started");
}
