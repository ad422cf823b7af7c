//! An installation with one project and somebody who may do everything in it, and the worker's settings.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use pinhole_app::{App, Settings, operations};
use pinhole_core::{Actor, Error, Name, PrincipalClass, PublicationId, RequestId, Role, Scope, Slug};
use pinhole_core::{Ids as _, RandomIds};
use pinhole_receipt::TrustedKeys;
use pinhole_runtime::{Config, Installation};
use pinhole_testkit::{Database, Engine};
use pinhole_worker_publication::{PublicationSettings, publish};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long anything may take on a machine that is busy with other tests.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
/// The program that tests start as the child.
const HELPER: &str = env!("CARGO_BIN_EXE_pinhole-worker-publication");

pub(crate) struct World {
    pub(crate) app: App,
    pub(crate) ada: Actor,
    pub(crate) settings: PublicationSettings,
    pub(crate) keys: TrustedKeys,
    pub(crate) folder: TempDir,
    // After what uses it.
    database: Database,
}

impl World {
    pub(crate) async fn new(engine: Engine) -> Self {
        Self::with_lease(engine, Duration::from_secs(2)).await
    }

    pub(crate) async fn with_lease(engine: Engine, lease: Duration) -> Self {
        Self::with(engine, Settings { lease, min_free_percent: 0.0, ..Settings::default() }).await
    }

    pub(crate) async fn with(engine: Engine, settings: Settings) -> Self {
        let database = tokio::task::spawn_blocking(move || Database::on(engine)).await.unwrap();
        let folder = TempDir::with_prefix("pinhole-publication-").unwrap();
        let config = Config {
            data_dir: folder.path().join("data"),
            database_url: Some(database.url().to_owned()),
            ..Config::default()
        };
        let installation = Installation::open(&config, settings, true).await.unwrap();
        let settings = worker_settings(&installation);
        let app = installation.app;
        let ada = principal(&app, "ada").await;
        let keys = TrustedKeys::from_jwks(&app.public_keys().unwrap()).unwrap();
        let world = Self { app, ada, settings, keys, folder, database };
        world.prepare().await;
        world
    }

    async fn prepare(&self) {
        self.done("create_project", json!({ "slug": "shop", "title": "The shop", "idempotency_key": "shop" })).await;
        let (ada, shop): (Name, Slug) = (name("ada"), "shop".parse().unwrap());
        for role in Role::ALL {
            self.app.grant(&ada, &shop, None, *role).await.unwrap();
        }
        self.make_remote("remote.git");
        self.put_remote("origin", &self.remote_path()).await;
        self.prepare_baselines().await;
    }

    pub(crate) async fn put_remote(&self, slug: &str, path: &Path) {
        let branches = ["catalog".to_owned(), "release/*".to_owned()];
        self.app.put_remote(&slug.parse().unwrap(), path.to_str().unwrap(), &branches).await.unwrap();
    }

    pub(crate) fn database_url(&self) -> &str {
        self.database.url()
    }

    /// Calls an operation as Ada.
    pub(crate) async fn call(&self, operation: &str, input: Value) -> Result<Value, Error> {
        self.call_as(&self.ada, operation, input).await
    }

    pub(crate) async fn call_as(&self, actor: &Actor, operation: &str, input: Value) -> Result<Value, Error> {
        let Value::Object(input) = input else { panic!("{input}") };
        operations()[operation].call(&self.app, actor, input).await.map(|reply| reply.body)
    }

    /// Calls an operation as Ada, who may.
    pub(crate) async fn done(&self, operation: &str, input: Value) -> Value {
        self.call(operation, input).await.unwrap_or_else(|error| panic!("{operation}: {error:?}"))
    }

    /// What asks for the publication of `revision`.
    pub(crate) fn request(&self, revision: u32, expected_head: Value) -> Value {
        json!({ "project": "shop", "remote": "origin", "branch": "catalog", "expected_head": expected_head,
            "expected_version": revision, "idempotency_key": key() })
    }

    /// Asks for the publication of `revision`.
    pub(crate) async fn ask(&self, revision: u32, expected_head: Value) -> PublicationId {
        let asked = self.done("publish_baseline_catalog", self.request(revision, expected_head)).await;
        assert_eq!(asked["state"], "queued");
        asked["id"].as_str().unwrap().parse().unwrap()
    }

    /// Asks for a further attempt.
    pub(crate) async fn ask_again(
        &self,
        id: PublicationId,
        revision: u32,
        expected_head: Value,
    ) -> Result<Value, Error> {
        let mut request = self.request(revision, expected_head);
        request["publication_id"] = json!(id);
        self.call("publish_baseline_catalog", request).await
    }

    /// One try of the worker; answers with what became of the publication.
    pub(crate) async fn try_once(&self, id: PublicationId) -> Value {
        self.try_with(&self.settings, id).await
    }

    /// One try with other settings.
    pub(crate) async fn try_with(&self, settings: &PublicationSettings, id: PublicationId) -> Value {
        publish(&self.app, settings, id).await.unwrap();
        self.get(id).await
    }

    pub(crate) async fn get(&self, id: PublicationId) -> Value {
        self.done("get_publication", json!({ "publication_id": id })).await
    }

    /// Asks for the publication of `revision` onto the branch's present head, and has it done.
    pub(crate) async fn published(&self, revision: u32) -> PublicationId {
        let id = self.ask(revision, json!({ "commit": self.head() })).await;
        let view = self.try_once(id).await;
        assert_eq!(view["state"], "published", "{view}");
        id
    }

    /// Settings whose child runs `script` in the place of the program; `$REAL git-helper` is the program.
    pub(crate) fn scripted(&self, script: &str) -> PublicationSettings {
        // The shell reads the file named by its argument: a fresh executable might be busy in another test's fork.
        let scratch = self.folder.path().join(key());
        std::fs::create_dir(&scratch).unwrap();
        std::fs::write(scratch.join("git-helper"), format!("REAL='{HELPER}'\ninput=$(/bin/cat)\n{script}\n")).unwrap();
        PublicationSettings { helper: "/bin/sh".into(), scratch, ..self.settings.clone() }
    }

    /// A path in the test's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// What a worker of an installation is given.
pub(crate) fn worker_settings(installation: &Installation) -> PublicationSettings {
    PublicationSettings {
        helper: HELPER.into(),
        commit_key: installation.data.commit_key(),
        scratch: installation.data.git(),
        deadline: Duration::from_secs(30),
    }
}

/// A user who has signed in by a token. Ada administers the installation.
pub(crate) async fn principal(app: &App, who: &str) -> Actor {
    app.ensure_principal(PrincipalClass::User, &name(who), who == "ada").await.unwrap();
    let token = app.create_token(&name(who), &Scope::All, Duration::from_secs(3600)).await.unwrap();
    app.authenticate(&token.secret, RequestId::from_uuid(RandomIds.uuid())).await.unwrap()
}

pub(crate) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// A fresh idempotency key.
pub(crate) fn key() -> String {
    RandomIds.uuid().to_string()
}
