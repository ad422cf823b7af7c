//! Opening cases: the same failure is the same case until that has ended.

use futures::future::join_all;
use pinhole_core::{Actor, Error, PrincipalClass, Role};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    rows::on_both_engines,
    support::{Bench, GOOD, Look, refused},
};

on_both_engines! {
    a_failure_opens_a_case
    the_same_failure_adds_an_episode
    another_failure_is_another_case
    many_at_once_open_one_case
    after_its_end_a_failure_opens_another
    there_has_to_be_a_failure
    it_changes_nothing_else
    what_is_hidden_does_not_exist
}

/// A run that fails in its third step.
const FAILING: Look = Look { fails: true, ..GOOD };

/// A bench with somebody who starts runs and looks into their failures.
pub(crate) struct Office {
    pub(crate) bench: Bench,
    pub(crate) agent: Actor,
}

impl Office {
    pub(crate) async fn on(engine: Engine) -> Self {
        let bench = Bench::on(engine).await;
        let agent = bench.service("agent", &[Role::Operator]).await;
        Self { bench, agent }
    }

    /// The id of a run that went like `look`.
    pub(crate) async fn run(&self, environment: &str, look: Look) -> Value {
        json!(self.bench.capture(&self.agent, environment, look).await.run)
    }

    pub(crate) async fn open(&self, run: &Value) -> Result<Value, Error> {
        self.bench.keyed(&self.agent, "open_investigation", json!({ "run_id": run, "queue": "triage" })).await
    }

    /// A case about a fresh failure.
    pub(crate) async fn opened(&self) -> Value {
        let run = self.run("staging", FAILING).await;
        self.open(&run).await.unwrap()
    }

    /// Calls an operation on a case at the version that was read.
    pub(crate) async fn at_version(&self, operation: &str, case: &Value, mut input: Value) -> Result<Value, Error> {
        input["case_id"] = case["id"].clone();
        input["expected_version"] = case["version"].clone();
        self.bench.call(&self.agent, operation, input).await
    }

    /// Claims a case and ends it.
    pub(crate) async fn disposed(&self, case: &Value) -> Value {
        let claimed = self.at_version("claim_investigation", case, json!({})).await.unwrap();
        let end = json!({ "disposition": "defect", "reason": "the button is gone" });
        self.at_version("dispose_investigation", &claimed, end).await.unwrap()
    }

    pub(crate) async fn look(&self, case: &Value) -> Value {
        self.bench.call(&self.agent, "get_investigation", json!({ "case_id": case["id"] })).await.unwrap()
    }
}

async fn a_failure_opens_a_case(engine: Engine) {
    let office = Office::on(engine).await;
    let run = office.run("staging", FAILING).await;
    let case = office.open(&run).await.unwrap();
    assert_eq!((&case["state"], &case["version"], &case["episodes"]), (&json!("open"), &json!(1), &json!(1)));
    assert_eq!(case["queue"], json!({ "name": "triage", "waiting": 1, "claimed": 0, "version": 1 }));
    assert_eq!(case["opened_by"], json!(office.agent.principal));
    let summary = case["summary"].as_str().unwrap();
    assert!(summary.starts_with("target_missing in default"), "{summary}");
    let found = office.look(&case).await;
    assert_eq!((&found["latest_episodes"][0]["run_id"], &found["listed_findings"]), (&run, &json!([])));
    let listed = office.bench.call(&office.agent, "list_investigations", json!({ "project": "shop", "state": "open" }));
    assert_eq!(listed.await.unwrap(), json!({ "cases": [case], "next_cursor": null }));
}

async fn the_same_failure_adds_an_episode(engine: Engine) {
    let office = Office::on(engine).await;
    let first = office.opened().await;
    let second = office.opened().await;
    assert_eq!((&second["id"], &second["version"], &second["episodes"]), (&first["id"], &json!(2), &json!(2)));
    assert_eq!(second["queue"], first["queue"], "one case waits");
    // The same run once more says nothing new.
    let run = office.look(&first).await["latest_episodes"][0]["run_id"].clone();
    let again = office.open(&run).await.unwrap();
    assert_eq!((&again["id"], &again["version"], &again["episodes"]), (&first["id"], &json!(2), &json!(2)));
    // Also while somebody works on it.
    office.at_version("claim_investigation", &again, json!({})).await.unwrap();
    let third = office.opened().await;
    assert_eq!((&third["id"], &third["state"], &third["episodes"]), (&first["id"], &json!("claimed"), &json!(3)));
    // With one key it is one call.
    let input = json!({ "run_id": run, "queue": "triage", "idempotency_key": "same" });
    office.bench.call(&office.agent, "open_investigation", input.clone()).await.unwrap();
    let replayed = office.bench.call(&office.agent, "open_investigation", input.clone()).await.unwrap();
    assert_eq!((&replayed["id"], &replayed["replayed"]), (&first["id"], &json!(true)));
    let mut changed = input;
    changed["queue"] = "other".into();
    let outcome = office.bench.call(&office.agent, "open_investigation", changed).await;
    assert_eq!(refused(outcome), ("conflict", "changed_intent".into()));
}

async fn another_failure_is_another_case(engine: Engine) {
    let office = Office::on(engine).await;
    let failed = office.opened().await;
    for (environment, look) in [("live", FAILING), ("staging", Look { not_evidence: true, ..GOOD }), ("staging", GOOD)]
    {
        let run = office.run(environment, look).await;
        let case = office.open(&run).await.unwrap();
        assert_ne!(case["signature"], failed["signature"]);
        assert_ne!(case["id"], failed["id"]);
    }
}

async fn many_at_once_open_one_case(engine: Engine) {
    let office = Office::on(engine).await;
    let mut runs = Vec::new();
    for _ in 0..6 {
        runs.push(office.run("staging", FAILING).await);
    }
    let cases: Vec<Value> = join_all(runs.iter().map(|run| office.open(run))).await.into_iter().flatten().collect();
    assert!(!cases.is_empty() && cases.iter().all(|case| case["id"] == cases[0]["id"]));
    for run in &runs {
        // Whom the database turned away calls again.
        office.open(run).await.unwrap();
    }
    let found = office.look(&cases[0]).await;
    assert_eq!((&found["episodes"], &found["version"], &found["queue"]["waiting"]), (&json!(6), &json!(6), &json!(1)));
}

async fn after_its_end_a_failure_opens_another(engine: Engine) {
    let office = Office::on(engine).await;
    let first = office.opened().await;
    office.disposed(&first).await;
    let second = office.opened().await;
    assert_ne!(second["id"], first["id"]);
    assert_eq!((&second["signature"], &second["episodes"]), (&first["signature"], &json!(1)));
    assert_eq!(office.look(&first).await["episodes"], 1);
}

async fn there_has_to_be_a_failure(engine: Engine) {
    let office = Office::on(engine).await;
    let going = office.bench.start(&office.agent, "staging", json!({ "none": true })).await;
    assert_eq!(refused(office.open(&going["id"]).await), ("conflict", "not_ended".into()));
    let run = office.run("staging", GOOD).await;
    let id = run.as_str().unwrap();
    for (change, reason) in [("verdict = 'passed'", "no_failure"), ("state = 'cancelled'", "no_failure")] {
        office.bench.sql(&format!("UPDATE runs SET {change} WHERE id = '{id}'"));
        assert_eq!(refused(office.open(&run).await), ("conflict", reason.into()), "{change}");
    }
    assert_eq!(office.bench.sql("SELECT count(*) FROM cases").trim(), "0");
    assert_eq!(office.bench.sql("SELECT count(*) FROM investigation_queues").trim(), "0");
}

async fn it_changes_nothing_else(engine: Engine) {
    let office = Office::on(engine).await;
    let run = office.run("staging", FAILING).await;
    let before = office.bench.sql("SELECT * FROM runs; SELECT * FROM receipts; SELECT * FROM baseline_entries");
    let counts = office.bench.counts();
    let case = office.open(&run).await.unwrap();
    let found = office.at_version("add_finding", &case, json!({ "text": "The button is gone." })).await.unwrap();
    office.disposed(&found).await;
    let after = office.bench.sql("SELECT * FROM runs; SELECT * FROM receipts; SELECT * FROM baseline_entries");
    assert_eq!(after, before);
    let more = [("audit".to_owned(), 4), ("idempotency_keys".to_owned(), 1)];
    assert_eq!(office.bench.more_than(&counts), more);
}

async fn what_is_hidden_does_not_exist(engine: Engine) {
    let office = Office::on(engine).await;
    let bench = &office.bench;
    let case = office.opened().await;
    let run = office.look(&case).await["latest_episodes"][0]["run_id"].clone();
    let elsewhere = bench.principal(PrincipalClass::Service, "elsewhere", Some("live"), &[Role::Operator]).await;
    let stranger = bench.service("stranger", &[]).await;
    let viewer = bench.service("viewer", &[Role::Viewer, Role::Reviewer]).await;
    for (actor, expected) in [
        (&elsewhere, ("not_found", "")),
        (&stranger, ("not_found", "")),
        (&viewer, ("permission_denied", "investigation.write")),
    ] {
        let opened = bench.keyed(actor, "open_investigation", json!({ "run_id": run, "queue": "triage" })).await;
        let (code, reason) = refused(opened);
        assert_eq!((code, reason.as_str()), expected);
        for (operation, mut input) in [
            ("get_investigation", json!({})),
            ("claim_investigation", json!({ "expected_version": 1 })),
            ("add_finding", json!({ "expected_version": 1, "text": "x" })),
            ("dispose_investigation", json!({ "expected_version": 1, "disposition": "flaky", "reason": "x" })),
        ] {
            input["case_id"] = case["id"].clone();
            let (code, reason) = refused(bench.call(actor, operation, input).await);
            assert_eq!((code, reason.as_str()), expected, "{operation}");
        }
    }
    let listed = bench.call(&elsewhere, "list_investigations", json!({ "project": "shop" })).await.unwrap();
    assert_eq!(listed["cases"], json!([]));
    assert_eq!(office.look(&case).await["version"], 1);
}
