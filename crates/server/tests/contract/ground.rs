//! What the cases stand on: an application with a project that has been through the whole baseline path once, another
//! project of somebody else, and the router over it. Clock and ids are the test's own, so that two grounds are alike.

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use axum::Router;
use pinhole_app::App;
use pinhole_core::{Actor, Disposition, Name, Outcome, PrincipalClass, ReceiptId, Role, Scope, SessionId, TokenId};
use pinhole_server::{RateLimits, ServerSettings, router};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    path::{Path, consumption},
    support::{Captured, GOOD, PROJECT},
};

/// A project that nobody of `shop` has a part in.
pub(crate) const OTHER_PROJECT: &str = "other";
/// The remote that publications go to; nothing works on them.
pub(crate) const REMOTE: &str = "origin";
/// A scenario's text.
pub(crate) const SOURCE: &str =
    "schema: pinhole.scenario.v1\ntitle: Start\nsteps:\n  - navigate: /\n  - capture: { name: start }\n";

/// A scenario that reads a value.
const VALUES: &str = "schema: pinhole.scenario.v1\ntitle: Total\nsteps:\n  - navigate: /\n  - extract: \
    { name: total, values: { rows: { count: { css: tr } } } }\n";

/// How long tokens of the ground last.
const TOKEN: Duration = Duration::from_secs(30 * 24 * 3600);

/// The ground.
pub(crate) struct Ground {
    pub(crate) path: Path,
    pub(crate) router: Router,
    /// A registered run.
    pub(crate) captured: Captured,
    /// An approval that was consumed.
    pub(crate) approval: Value,
    /// A publication that waits for its worker.
    pub(crate) publication: Value,
    serial: AtomicU32,
}

impl Ground {
    pub(crate) async fn on(engine: Engine) -> Self {
        let path = Path::on(engine).await;
        let (app, bench) = (&path.bench.app, &path.bench);
        app.put_remote(&REMOTE.parse().unwrap(), "file:///nowhere.git", &["release/*".into()]).await.unwrap();
        bench.keyed(&bench.owner, "create_project", json!({ "slug": OTHER_PROJECT, "title": "Other" })).await.unwrap();
        let captured = path.capture(GOOD).await;
        let (approval, _) = path.materialised(GOOD, 0).await;
        let publisher = bench.person("Paul", &[Role::Publisher]).await;
        let publication = bench.keyed(&publisher, "publish_baseline_catalog", publication_of(1, "release/first"));
        let publication = publication.await.unwrap();
        app.sequence_log().await.unwrap();
        let router = router(app.clone(), ServerSettings { limits: unlimited(), ..ServerSettings::default() });
        Self { path, router, captured, approval, publication, serial: AtomicU32::new(0) }
    }

    pub(crate) fn app(&self) -> &App {
        &self.path.bench.app
    }

    /// A name that nothing else has.
    pub(crate) fn fresh(&self, what: &str) -> String {
        format!("{what}-{}", self.number())
    }

    /// A number that nothing else has, from 0.
    pub(crate) fn number(&self) -> u32 {
        self.serial.fetch_add(1, Ordering::SeqCst)
    }

    /// Makes a principal with these roles in a project.
    pub(crate) async fn enrol(&self, class: PrincipalClass, name: &str, admin: bool, project: &str, roles: &[Role]) {
        let (name, project): (Name, _) = (name.parse().unwrap(), project.parse().unwrap());
        self.app().ensure_principal(class, &name, admin).await.unwrap();
        for role in roles {
            self.app().grant(&name, &project, None, *role).await.unwrap();
        }
    }

    /// Makes a principal without any role; answers its name and id.
    pub(crate) async fn principal(&self, class: PrincipalClass) -> (String, String) {
        let name = self.fresh("somebody");
        let id = self.app().ensure_principal(class, &name.parse().unwrap(), false).await.unwrap();
        (name, id.to_string())
    }

    /// The id of a token that somebody gets.
    pub(crate) async fn token_of(&self, name: &str) -> TokenId {
        self.app().create_token(&name.parse().unwrap(), &Scope::All, TOKEN).await.unwrap().id
    }

    /// The id of a session that somebody begins.
    pub(crate) async fn session_of(&self, name: &str) -> SessionId {
        let mut tx = self.app().store().begin_read().await.unwrap();
        let user = tx.principal_by_name(&name.parse().unwrap()).await.unwrap().unwrap();
        drop(tx);
        // A service has no sessions; the session of a person is as good a name for something that is not its own.
        let user = if user.class == PrincipalClass::User { user.id } else { self.path.reviewer.principal };
        self.app().begin_session(user, "password").await.unwrap().id
    }

    /// What the maker of baselines is called with, as somebody who may read.
    pub(crate) async fn call(&self, operation: &str, input: Value) -> Value {
        self.path.bench.call(&self.path.maker, operation, input).await.unwrap()
    }

    /// One of the registered receipts.
    pub(crate) fn receipt(&self) -> ReceiptId {
        *self.captured.receipts.values().next().unwrap()
    }

    /// A receipt of a run of its own.
    pub(crate) async fn new_receipt(&self) -> ReceiptId {
        let captured = self.path.capture(GOOD).await;
        *captured.receipts.values().next().unwrap()
    }

    /// A receipt of extracted values, of a scenario of its own.
    pub(crate) async fn new_values(&self) -> ReceiptId {
        let scenario = self.fresh("values");
        let input = json!({ "project": PROJECT, "slug": scenario, "source": VALUES });
        self.path.bench.keyed(&self.path.maker, "create_scenario", input).await.unwrap();
        let order = json!({
            "project": PROJECT, "scenario": scenario, "revision": { "head": true }, "environment": "staging",
            "environment_revision": { "latest": true }, "baseline": { "none": true },
        });
        let run = self.path.bench.keyed(&self.path.maker, "start_scenario_run", order).await.unwrap();
        *self.path.bench.finish(&run, GOOD).await.receipts.values().next().unwrap()
    }

    /// The picture of one of the receipts.
    pub(crate) async fn artifact(&self) -> Value {
        let result = self.call("get_scenario_run_result", json!({ "run_id": self.captured.run })).await;
        result["checkpoints"][0]["picture"]["id"].clone()
    }

    /// The id of an environment of the project.
    pub(crate) async fn environment(&self, slug: &str) -> String {
        let mut tx = self.app().store().begin_read().await.unwrap();
        let project = tx.project_by_slug(&PROJECT.parse().unwrap()).await.unwrap().unwrap();
        tx.environment_by_slug(project.id, &slug.parse().unwrap()).await.unwrap().unwrap().id.to_string()
    }

    /// A scenario of its own.
    pub(crate) async fn scenario(&self) -> Value {
        let input = json!({ "project": PROJECT, "slug": self.fresh("scenario"), "source": SOURCE });
        self.path.bench.keyed(&self.path.maker, "create_scenario", input).await.unwrap()
    }

    /// The id of the active entry of the checkpoint that new receipts are of.
    pub(crate) async fn entry(&self) -> Value {
        if let Some(active) = self.active_entry().await {
            return active;
        }
        // An earlier call ended it.
        self.path.materialised(GOOD, self.head().await).await;
        self.active_entry().await.unwrap()
    }

    async fn active_entry(&self) -> Option<Value> {
        let list = self.call("list_baselines", json!({ "project": PROJECT, "state": "active" })).await;
        let entries = list["baselines"].as_array().unwrap();
        entries.iter().find(|entry| entry["key"]["checkpoint"] == "cart").map(|entry| entry["id"].clone())
    }

    /// What an entry is asked to end with, for a reason of its own. For a token that asks for an approval.
    pub(crate) async fn ending(&self) -> Value {
        let reason = self.fresh("reason");
        json!({ "entry_id": self.entry().await, "reason": reason, "expected_version": self.head().await })
    }

    /// The revision of the line `main`.
    pub(crate) async fn head(&self) -> u32 {
        let input = json!({ "project": PROJECT, "revision": "latest", "limit": 1 });
        let revision = self.call("get_catalog_revision", input).await["revision"].as_u64().unwrap();
        revision.try_into().unwrap()
    }

    /// What an approval of one new capture is requested with by its author, or by the maker.
    pub(crate) async fn request(&self, author: Option<&Actor>) -> Value {
        let receipt = self.new_receipt().await;
        let candidate = json!({ "receipt_id": receipt });
        let candidate = self
            .path
            .bench
            .keyed(author.unwrap_or(&self.path.maker), "capture_visual_baseline", candidate)
            .await
            .unwrap();
        let review = self.path.review(&[receipt], Disposition::Accept).await["reviews"][0]["id"].clone();
        json!({ "project": PROJECT, "items": [{ "candidate_id": candidate["id"], "review_id": review }] })
    }

    /// A pending approval of one new capture.
    pub(crate) async fn pending(&self, author: Option<&Actor>) -> Value {
        let request = self.request(author).await;
        self.path.bench.keyed(author.unwrap_or(&self.path.maker), "request_baseline_approval", request).await.unwrap()
    }

    /// What an approved request is consumed with by its author, or by the maker.
    pub(crate) async fn consumption(&self, author: Option<&Actor>) -> Value {
        let approval = self.pending(author).await;
        let approval = self.path.decide(&approval, Outcome::Approve).await.unwrap();
        consumption(&approval, self.head().await)
    }

    /// What a line of its own is promoted with, which has an entry that `main` has not.
    pub(crate) async fn promotion(&self) -> Value {
        let (bench, line) = (&self.path.bench, self.fresh("release/line"));
        let fork = json!({ "project": PROJECT, "line": line, "revision": self.head().await });
        bench.keyed(&bench.owner, "fork_catalog_line", fork).await.unwrap();
        let receipt = self.new_receipt().await;
        let candidate = json!({ "receipt_id": receipt, "line": line });
        let candidate = bench.keyed(&self.path.maker, "capture_visual_baseline", candidate).await.unwrap();
        let review = self.path.review(&[receipt], Disposition::Accept).await["reviews"][0]["id"].clone();
        let items = json!([{ "candidate_id": candidate["id"], "review_id": review }]);
        let request = json!({ "project": PROJECT, "line": line, "items": items });
        let approval = bench.keyed(&self.path.maker, "request_baseline_approval", request).await.unwrap();
        let approval = self.path.decide(&approval, Outcome::Approve).await.unwrap();
        self.path.consume(&approval, 1).await.unwrap();
        json!({ "project": PROJECT, "from": line, "revision": 2 })
    }

    /// What the present revision is published with, to a branch of its own.
    pub(crate) async fn publication(&self) -> Value {
        publication_of(self.head().await, &self.fresh("release/branch"))
    }

    /// How many rows each table has.
    pub(crate) fn counts(&self) -> BTreeMap<String, i64> {
        let bench = &self.path.bench;
        let tables = match bench.database.engine() {
            Engine::Sqlite => "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
            Engine::Postgres => {
                "SELECT schemaname || '.' || tablename FROM pg_tables WHERE schemaname IN ('public', 'apalis')"
            }
        };
        let tables = bench.sql(tables);
        let count = |table: &str| format!("SELECT '{table}', count(*) FROM {table}");
        let counts = bench.sql(&tables.lines().map(count).collect::<Vec<_>>().join(" UNION ALL "));
        let pair = |line: &str| line.split_once('|').map(|(table, count)| (table.to_owned(), count.parse().unwrap()));
        counts.lines().map(|line| pair(line).unwrap()).collect()
    }
}

fn publication_of(revision: u32, branch: &str) -> Value {
    json!({
        "project": PROJECT,
        "remote": REMOTE,
        "branch": branch,
        "expected_head": { "commit": null },
        "expected_version": revision,
    })
}

/// Everybody may call as fast as a test does.
fn unlimited() -> RateLimits {
    let many = NonZeroU32::MAX;
    RateLimits {
        principal_per_second: many,
        principal_burst: many,
        stranger_per_second: many,
        stranger_burst: many,
        sign_ins_per_minute: many,
    }
}
