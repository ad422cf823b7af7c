//! Secrets of environments: put, replaced, deleted, opened by nobody but the application, and found nowhere.

use std::{
    io,
    process::Command,
    sync::{Arc, Mutex, PoisonError},
};

use pinhole_app::{App, Parts, Resealed, Settings};
use pinhole_blobs::Blobs;
use pinhole_core::{EnvironmentId, Role, SecretName};
use pinhole_jobs::WakeSender;
use pinhole_seal::MasterKeys;
use pinhole_testkit::{Database, Engine, SeededIds};
use serde_json::{Value, json};
use tempfile::TempDir;
use tracing_subscriber::fmt::MakeWriter;

use crate::{
    rows::on_both_engines,
    support::{Bench, MASTER_KEY, refused},
};

on_both_engines! {
    a_secret_is_put_replaced_and_deleted_by_version
    a_secret_needs_a_declaration_and_the_right
    a_value_is_found_nowhere
    secrets_are_sealed_anew_under_another_key
}

const VALUE: &str = "plaintext-of-a-secret-48151623";
const NUMBER: u64 = 48_151_623_421_357;
pub(crate) const OTHER_KEY: &str = "phm_2222222222222222222222222222222222222222222222222222222222222222";

/// `staging`, which declares some secrets.
async fn declared(bench: &Bench, names: &[&str]) -> Value {
    let declare = |name: &&str| json!({ "name": name, "origins": ["https://login.example"], "field": "#password" });
    let secrets: Vec<_> = names.iter().map(declare).collect();
    bench.revise_staging(json!({ "secrets": secrets })).await.unwrap()["id"].clone()
}

fn input(environment: &Value, name: &str, value: impl Into<Value>, version: impl Into<Value>) -> Value {
    json!({
        "environment_id": environment, "name": name, "value": value.into(), "expected_version": version.into(),
    })
}

async fn open(app: &App, environment: &Value, name: &str) -> Option<(u32, String)> {
    let environment: EnvironmentId = environment.as_str().unwrap().parse().unwrap();
    let name: SecretName = name.parse().unwrap();
    let opened = app.open_environment_secret(environment, &name).await.unwrap()?;
    Some((opened.version, opened.expose().to_owned()))
}

async fn a_secret_is_put_replaced_and_deleted_by_version(engine: Engine) {
    let bench = Bench::on(engine).await;
    let staging = declared(&bench, &["BUYER"]).await;
    let put = async |value: &str, version: Value| {
        bench.call(&bench.owner, "put_environment_secret", input(&staging, "BUYER", value, version)).await
    };
    assert_eq!(open(&bench.app, &staging, "BUYER").await, None);
    assert_eq!(refused(put("one", json!(null)).await), ("precondition_required", "expected_version".into()));
    assert_eq!(refused(put("one", json!(1)).await), ("conflict", "stale_version".into()));
    assert_eq!(put("one", json!(0)).await.unwrap()["version"], 1);
    assert_eq!(open(&bench.app, &staging, "BUYER").await, Some((1, "one".into())));
    assert_eq!(refused(put("two", json!(0)).await), ("conflict", "stale_version".into()));
    assert_eq!(put("two", json!(1)).await.unwrap()["version"], 2);
    let listed = json!({ "environment_id": staging });
    let listed = bench.call(&bench.owner, "list_environment_secrets", listed).await.unwrap();
    assert_eq!(listed["secrets"].as_array().unwrap().len(), 1);
    assert_eq!((&listed["secrets"][0]["name"], &listed["secrets"][0]["version"]), (&json!("BUYER"), &json!(2)));

    let delete = |version: u32| json!({ "environment_id": staging, "name": "BUYER", "expected_version": version });
    let stale = bench.call(&bench.owner, "delete_environment_secret", delete(1)).await;
    assert_eq!(refused(stale), ("conflict", "stale_version".into()));
    bench.call(&bench.owner, "delete_environment_secret", delete(2)).await.unwrap();
    assert_eq!(open(&bench.app, &staging, "BUYER").await, None);
    let again = bench.call(&bench.owner, "delete_environment_secret", delete(3)).await;
    assert_eq!(refused(again), ("not_found", String::new()));
    // A new value is new for the caller, and its number has meant no other value.
    assert_eq!(put("four", json!(0)).await.unwrap()["version"], 4);
    assert_eq!(open(&bench.app, &staging, "BUYER").await, Some((4, "four".into())));
}

async fn a_secret_needs_a_declaration_and_the_right(engine: Engine) {
    let bench = Bench::on(engine).await;
    let staging = declared(&bench, &["BUYER"]).await;
    let author = bench.person("Arthur", &[Role::Author, Role::Operator, Role::Approver]).await;
    let outcome = bench.call(&author, "put_environment_secret", input(&staging, "BUYER", VALUE, 0)).await;
    assert_eq!(refused(outcome), ("permission_denied", "secret.write".into()));
    let outcome = bench.call(&author, "list_environment_secrets", json!({ "environment_id": staging })).await;
    assert_eq!(refused(outcome), ("permission_denied", "secret.write".into()));
    let outcome = bench.call(&bench.owner, "put_environment_secret", input(&staging, "SELLER", VALUE, 0)).await;
    assert_eq!(refused(outcome), ("conflict", "not_declared".into()));
}

async fn a_value_is_found_nowhere(engine: Engine) {
    let logs = Logs::default();
    // The first of a process alone; a runner that gives each test a process checks the logs of each.
    let first = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(logs.clone())
        .try_init();
    tracing::info!("the logs are kept");
    assert!(first.is_err() || logs.text().contains("the logs are kept"));
    let bench = Bench::on(engine).await;
    let staging = declared(&bench, &["BUYER", "NUMBER"]).await;
    let mut told = String::new();
    let mut extra = input(&staging, "BUYER", VALUE, 0);
    extra["colour"] = VALUE.into();
    let calls = [
        input(&staging, "BUYER", VALUE, Value::Null),
        input(&staging, "BUYER", VALUE, 7),
        input(&staging, "BUYER", format!("{VALUE}{}", "x".repeat(16 * 1024)), 0),
        input(&staging, "SELLER", VALUE, 0),
        input(&staging, "NUMBER", NUMBER, 0),
        input(&staging, "NUMBER", json!([VALUE]), 0),
        input(&staging, "NUMBER", json!({ VALUE: NUMBER }), 0),
        input(&json!("env_00000000000000000000000000000001"), "BUYER", VALUE, 0),
        extra,
        input(&staging, "BUYER", VALUE, 0),
        input(&staging, "BUYER", VALUE, 0),
        input(&staging, "BUYER", format!("{VALUE}-2"), 1),
    ];
    for call in calls {
        match bench.call(&bench.owner, "put_environment_secret", call).await {
            Ok(view) => told += &view.to_string(),
            Err(error) => told += &format!("{error:?} {:?}", error.details()),
        }
    }
    let listed = bench.call(&bench.owner, "list_environment_secrets", json!({ "environment_id": staging })).await;
    told += &listed.unwrap().to_string();
    let opened = open(&bench.app, &staging, "BUYER").await;
    assert_eq!(opened, Some((2, format!("{VALUE}-2"))), "the value was stored");
    let rows = everything(&bench.database);
    assert!(rows.contains("put_environment_secret"), "the audit log is among the rows");
    for (place, text) in [("answers", told), ("rows", rows), ("logs", logs.text())] {
        for value in [VALUE, "48151623421357"] {
            assert!(!text.contains(value), "{value} is in the {place}");
        }
    }
}

async fn secrets_are_sealed_anew_under_another_key(engine: Engine) {
    let bench = Bench::on(engine).await;
    let names: Vec<_> = (0..50).map(|n| format!("S{n}")).collect();
    let staging = declared(&bench, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    for name in &names {
        bench.call(&bench.owner, "put_environment_secret", input(&staging, name, name.as_str(), 0)).await.unwrap();
    }
    let folder = TempDir::new().unwrap();
    let with = |keys: &str| {
        let ids = Arc::new(SeededIds::new(7));
        let sealer = MasterKeys::given(keys, ids.clone()).unwrap();
        App::new(Parts {
            store: bench.app.store().clone(),
            blobs: Blobs::local(folder.path()).unwrap(),
            ids,
            keyring: None,
            log: None,
            sealer: Some(Arc::new(sealer)),
            wake: WakeSender::new(),
            settings: Settings::default(),
        })
    };
    let both = with(&format!("{OTHER_KEY} {MASTER_KEY}"));
    assert!(both.has_secrets_to_reseal().await.unwrap());
    assert_eq!(both.reseal_secrets().await.unwrap(), Resealed { environment_secrets: 50, ..Resealed::default() });
    assert_eq!(both.reseal_secrets().await.unwrap(), Resealed::default());
    assert!(!both.has_secrets_to_reseal().await.unwrap());
    let new = with(OTHER_KEY);
    assert_eq!(open(&new, &staging, "S7").await, Some((1, "S7".into())));
    // The old key alone opens none of them any more.
    let environment: EnvironmentId = staging.as_str().unwrap().parse().unwrap();
    let refused = bench.app.open_environment_secret(environment, &"S7".parse().unwrap()).await.unwrap_err();
    assert_eq!(refused.code().as_str(), "internal");
}

/// Every row of a database as text.
pub(crate) fn everything(database: &Database) -> String {
    let url = database.url();
    let mut dump = match database.engine() {
        Engine::Sqlite => {
            let path = url.strip_prefix("sqlite://").and_then(|rest| rest.strip_suffix("?mode=rwc")).unwrap();
            let mut shell = Command::new("sqlite3");
            shell.args(["-batch", "-cmd", ".timeout 10000", path, ".dump"]);
            shell
        }
        Engine::Postgres => {
            // The server's own words, so that no dump program of the same version is needed.
            let query = "SELECT query_to_xml(format('SELECT * FROM %I.%I', schemaname, tablename), true, false, '') \
                         FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')";
            let mut shell = Command::new("psql");
            shell.args(["--no-psqlrc", "--set=ON_ERROR_STOP=1", "-qAtc", query, url]);
            shell
        }
    };
    let output = dump.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Everything that was logged.
#[derive(Clone, Default)]
struct Logs(Arc<Mutex<Vec<u8>>>);

impl Logs {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl io::Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Logs {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
