//! Schedules in the bench's project, and time that passes for them.

use std::time::Duration;

use pinhole_core::{Actor, Role};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::support::{Bench, PROJECT, SCENARIO, authenticate};

/// A bench with people who keep automations.
pub(crate) struct Keepers {
    pub(crate) bench: Bench,
    /// An operator of the whole project.
    pub(crate) olaf: Actor,
    /// Another one.
    pub(crate) petra: Actor,
}

impl Keepers {
    pub(crate) async fn on(engine: Engine) -> Self {
        let bench = Bench::on(engine).await;
        let olaf = bench.person("Olaf", &[Role::Operator]).await;
        let petra = bench.person("Petra", &[Role::Operator]).await;
        Self { bench, olaf, petra }
    }

    /// Makes a schedule.
    pub(crate) async fn schedule(&self, actor: &Actor, input: Value) -> Value {
        self.bench.keyed(actor, "create_schedule", input).await.unwrap()
    }

    /// The schedule as an operator reads it now.
    pub(crate) async fn look(&self, schedule: &Value) -> Value {
        self.bench.call(&self.petra, "get_schedule", json!({ "schedule_id": schedule["id"] })).await.unwrap()
    }

    /// Lets so much time pass for every schedule; the clock of PostgreSQL cannot be moved, so there the past is.
    pub(crate) fn pass(&self, time: Duration) {
        match self.bench.database.engine() {
            Engine::Sqlite => drop(self.bench.clock.advance(time)),
            Engine::Postgres => {
                let micros = time.as_micros();
                self.bench.sql(&format!(
                    "UPDATE automations SET next_at = next_at - {micros}; \
                     UPDATE automation_deliveries SET at = at - {micros}, delivery_key = 'earlier-' || delivery_key"
                ));
            }
        }
    }

    /// How many runs there are.
    pub(crate) fn runs(&self) -> i64 {
        self.bench.counts()["runs"]
    }

    /// Takes a role in the project away.
    pub(crate) async fn revoke(&self, name: &str) {
        let (name, project) = (name.parse().unwrap(), PROJECT.parse().unwrap());
        self.bench.app.revoke_grant(&name, &project, None, Role::Operator).await.unwrap();
    }

    /// Gives it.
    pub(crate) async fn grant(&self, name: &str) {
        let (name, project) = (name.parse().unwrap(), PROJECT.parse().unwrap());
        self.bench.app.grant(&name, &project, None, Role::Operator).await.unwrap();
    }

    /// Adds a scenario to the project.
    pub(crate) async fn scenario(&self, slug: &str, source: &str) {
        let writer = authenticate(&self.bench.app, "Wanda").await;
        let input = json!({ "project": PROJECT, "slug": slug, "source": source });
        self.bench.keyed(&writer, "create_scenario", input).await.unwrap();
    }
}

/// The selectors of the bench's scenario in staging.
pub(crate) fn selectors() -> Value {
    json!({
        "project": PROJECT,
        "scenario": SCENARIO,
        "revision": { "head": true },
        "environment": "staging",
        "environment_revision": { "latest": true },
        "baseline": { "none": true },
    })
}

/// A schedule for every tenth minute.
pub(crate) fn every_ten_minutes() -> Value {
    json!({ "title": "Often", "run": selectors(), "cron": "*/10 * * * *", "time_zone": "UTC", "enabled": true })
}

/// The same with one member in another form.
pub(crate) fn with(mut input: Value, pointer: &str, value: Value) -> Value {
    *input.pointer_mut(pointer).unwrap() = value;
    input
}

/// What changes `schedule` to `input`, at the version that was read.
pub(crate) fn update(schedule: &Value, mut input: Value) -> Value {
    input["schedule_id"] = schedule["id"].clone();
    input["expected_version"] = schedule["version"].clone();
    input
}
