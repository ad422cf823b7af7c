//! An application on a real database with people, services, and captures that no browser took: pictures are made here
//! and go through claim, staging, submission and registration as a worker's do.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use pinhole_app::{App, Keyring, Lease, LogPorts, Parts, Settings, operations};
use pinhole_blobs::Blobs;
use pinhole_compare::{Picture, encode_png};
use pinhole_core::{
    Actor, ArtifactKind, CellFailure, CellId, Error, FailureReason, Ids, NotEvidence, PrincipalClass, Profile,
    ReceiptId, RequestId, Result, Role, RunId, Scope, Signer, Slug, StagedCheckpoint, StagedExtract, Submission,
    canonical_json,
};
use pinhole_jobs::WakeSender;
use pinhole_receipt::{Jwk, Jwks, KeyStatus, KeyUse, SigningKey, TrustedKeys};
use pinhole_scenario::{Extract, ValueSource};
use pinhole_seal::MasterKeys;
use pinhole_store::Store;
use pinhole_testkit::{Database, Engine, FakeClock, FakeWitness, SeededIds, worker};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The project that every bench has.
pub(crate) const PROJECT: &str = "shop";
/// Its environments.
pub(crate) const ENVIRONMENTS: [&str; 2] = ["staging", "live"];
/// Its scenario, with the checkpoints `cart` and `total`.
pub(crate) const SCENARIO: &str = "checkout";

/// What every bench seals secrets under.
pub(crate) const MASTER_KEY: &str = "phm_1111111111111111111111111111111111111111111111111111111111111111";

const SOURCE: &str = "schema: pinhole.scenario.v1\ntitle: Checkout\nsteps:\n  - navigate: /cart\n  - capture: { name: cart }\n  - capture: { name: total }\n";

/// An application with one project, two environments and one scenario.
pub(crate) struct Bench {
    pub(crate) app: App,
    /// The application's time on SQLite; PostgreSQL has its own.
    pub(crate) clock: FakeClock,
    pub(crate) keys: TrustedKeys,
    /// What the sequencer of the transparency log remembers outside of the database.
    pub(crate) witness: FakeWitness,
    /// An administrator and owner of the project, with no other role.
    pub(crate) owner: Actor,
    key: AtomicU32,
    _blobs: TempDir,
    pub(crate) database: Database,
}

/// Keys that never change.
struct FixedKeys {
    statement: Arc<dyn Signer>,
    public: Jwks,
}

impl Keyring for FixedKeys {
    fn statement(&self) -> Result<Arc<dyn Signer>> {
        Ok(Arc::clone(&self.statement))
    }

    fn public(&self) -> Result<Jwks> {
        Ok(self.public.clone())
    }
}

/// What the pictures of a run look like, and how it goes.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    /// Colour of the one square that pictures differ in.
    pub(crate) shade: u8,
    /// Whether the worker says that the pictures prove nothing.
    pub(crate) not_evidence: bool,
    /// Whether the cell fails after the first checkpoint.
    pub(crate) fails: bool,
}

/// A plain, good run.
pub(crate) const GOOD: Look = Look { shade: 10, not_evidence: false, fails: false };

impl Look {
    fn not_evidence(self) -> Vec<NotEvidence> {
        if self.not_evidence { vec![NotEvidence::FontsNotReady] } else { Vec::new() }
    }
}

/// A registered run.
pub(crate) struct Captured {
    pub(crate) run: RunId,
    /// By checkpoint.
    pub(crate) receipts: BTreeMap<String, ReceiptId>,
}

impl Bench {
    pub(crate) async fn on(engine: Engine) -> Self {
        Self::with(engine, Settings::default()).await
    }

    pub(crate) async fn with(engine: Engine, settings: Settings) -> Self {
        Self::keeping(engine, settings, TempDir::with_prefix("pinhole-blobs-").unwrap()).await
    }

    /// With its objects in `blobs`.
    pub(crate) async fn keeping(engine: Engine, settings: Settings, blobs: TempDir) -> Self {
        let database = Database::on(engine);
        let clock = FakeClock::default();
        let store = Store::open(database.url(), Arc::new(clock.clone())).await.unwrap();
        store.migrate().await.unwrap();
        pinhole_jobs::migrate(&store).await.unwrap();
        let ids = SeededIds::default();
        let key = SigningKey::generate(|bytes| ids.fill(bytes)).unwrap();
        let log_key = SigningKey::generate(|bytes| ids.fill(bytes)).unwrap();
        let published = [(&key, KeyUse::Statement), (&log_key, KeyUse::Log)];
        let published = published.map(|(key, purpose)| Jwk::new(key.public_key(), purpose, KeyStatus::Active));
        let public = Jwks { keys: published.into() };
        let keys = TrustedKeys::from_jwks(&public).unwrap();
        let witness = FakeWitness::default();
        let ids = Arc::new(ids);
        let sealer = MasterKeys::given(MASTER_KEY, Arc::clone(&ids) as Arc<dyn Ids>).unwrap();
        let app = App::new(Parts {
            store,
            blobs: Blobs::local(blobs.path()).unwrap(),
            ids,
            keyring: Some(Arc::new(FixedKeys { statement: Arc::new(key), public })),
            sealer: Some(Arc::new(sealer)),
            log: Some(LogPorts { signer: Arc::new(log_key), witness: Arc::new(witness.clone()) }),
            wake: WakeSender::new(),
            settings: Settings { min_free_percent: 0.0, ..settings },
        });
        app.ensure_principal(PrincipalClass::User, &"Olga".parse().unwrap(), true).await.unwrap();
        let owner = authenticate(&app, "Olga").await;
        let bench = Self { app, clock, keys, witness, owner, key: AtomicU32::new(0), _blobs: blobs, database };
        bench.fill().await;
        bench
    }

    async fn fill(&self) {
        let project = json!({ "slug": PROJECT, "title": "Shop" });
        self.keyed(&self.owner, "create_project", project).await.unwrap();
        for slug in ENVIRONMENTS {
            let document = json!({ "base_url": format!("http://{slug}.example/"), "allowed_hosts": [] });
            let environment = json!({ "project": PROJECT, "slug": slug, "document": document });
            self.keyed(&self.owner, "create_environment", environment).await.unwrap();
        }
        let writer = self.principal(PrincipalClass::User, "Wanda", None, &[Role::Author]).await;
        let scenario = json!({ "project": PROJECT, "slug": SCENARIO, "source": SOURCE });
        self.keyed(&writer, "create_scenario", scenario).await.unwrap();
    }

    /// A person with these roles in the whole project.
    pub(crate) async fn person(&self, name: &str, roles: &[Role]) -> Actor {
        self.principal(PrincipalClass::User, name, None, roles).await
    }

    /// A service with these roles in the whole project.
    pub(crate) async fn service(&self, name: &str, roles: &[Role]) -> Actor {
        self.principal(PrincipalClass::Service, name, None, roles).await
    }

    /// A principal with these roles in one environment, or in the whole project.
    pub(crate) async fn principal(
        &self,
        class: PrincipalClass,
        name: &str,
        environment: Option<&str>,
        roles: &[Role],
    ) -> Actor {
        let project = PROJECT.parse().unwrap();
        let environment: Option<Slug> = environment.map(|slug| slug.parse().unwrap());
        let principal = name.parse().unwrap();
        self.app.ensure_principal(class, &principal, false).await.unwrap();
        for role in roles {
            self.app.grant(&principal, &project, environment.as_ref(), *role).await.unwrap();
        }
        authenticate(&self.app, name).await
    }

    /// Calls an operation.
    pub(crate) async fn call(&self, actor: &Actor, operation: &str, input: Value) -> Result<Value> {
        let Value::Object(input) = input else { panic!("an input is an object") };
        operations()[operation].call(&self.app, actor, input).await.map(|reply| reply.body)
    }

    /// Calls an operation with an idempotency key that no other call has.
    pub(crate) async fn keyed(&self, actor: &Actor, operation: &str, mut input: Value) -> Result<Value> {
        input["idempotency_key"] = self.fresh_key().into();
        self.call(actor, operation, input).await
    }

    pub(crate) fn fresh_key(&self) -> String {
        format!("key-{}", self.key.fetch_add(1, Ordering::SeqCst))
    }

    /// Starts a run of the scenario and registers its captures.
    pub(crate) async fn capture(&self, actor: &Actor, environment: &str, look: Look) -> Captured {
        let run = self.start(actor, environment, json!({ "none": true })).await;
        self.finish(&run, look).await
    }

    /// Starts a run of the scenario.
    pub(crate) async fn start(&self, actor: &Actor, environment: &str, baseline: Value) -> Value {
        let input = json!({
            "project": PROJECT,
            "scenario": SCENARIO,
            "revision": { "head": true },
            "environment": environment,
            "environment_revision": { "latest": true },
            "baseline": baseline,
        });
        self.keyed(actor, "start_scenario_run", input).await.unwrap()
    }

    /// Does what a worker and the registrar do for a started run.
    pub(crate) async fn finish(&self, run: &Value, look: Look) -> Captured {
        for cell in run["cells"].as_array().unwrap() {
            let cell: CellId = cell["id"].as_str().unwrap().parse().unwrap();
            let claim = self.app.claim(cell, "worker-1").await.unwrap().unwrap();
            let mut checkpoints = Vec::new();
            for capture in claim.scenario.captures() {
                checkpoints.push(self.stage(&claim.lease, &capture.name, &claim.profile, look).await);
                if look.fails {
                    break;
                }
            }
            let mut extracts = Vec::new();
            for extract in claim.scenario.extracts().filter(|_| !look.fails) {
                extracts.push(self.stage_values(&claim.lease, extract, &claim.profile, look).await);
            }
            let failure = look.fails.then(|| CellFailure {
                reason: FailureReason::TargetMissing,
                step: Some(2),
                message: "nothing there".into(),
            });
            let submission = Submission { extracts, failure, ..worker::submission(checkpoints) };
            assert!(self.app.submit(&claim.lease, &submission).await.unwrap());
            self.app.register(cell, claim.lease.attempt).await.unwrap();
        }
        self.captured(run["id"].as_str().unwrap().parse().unwrap()).await
    }

    async fn stage(&self, lease: &Lease, name: &Slug, profile: &Profile, look: Look) -> StagedCheckpoint {
        let bytes = encode_png(&picture(name, look.shade)).unwrap();
        let picture = self.app.stage(lease, ArtifactKind::Picture, &format!("picture-{name}"), bytes).await.unwrap();
        let checkpoint = worker::checkpoint(name, picture, [SIDE, SIDE], profile);
        StagedCheckpoint { not_evidence: look.not_evidence(), ..checkpoint }
    }

    /// Values that go with the look's shade.
    async fn stage_values(&self, lease: &Lease, extract: &Extract, profile: &Profile, look: Look) -> StagedExtract {
        let value = |source: &ValueSource| match source {
            ValueSource::Count(_) => json!(look.shade),
            _ => json!(look.shade.to_string()),
        };
        let values: BTreeMap<_, _> = extract.values.iter().map(|(name, source)| (name, value(source))).collect();
        let (bytes, file) = (canonical_json(&values).unwrap(), format!("values-{}", extract.name));
        let staged = self.app.stage(lease, ArtifactKind::Values, &file, bytes).await.unwrap();
        StagedExtract { not_evidence: look.not_evidence(), ..worker::extract(&extract.name, staged, profile) }
    }

    /// The receipts of a run, as Pinhole itself sees them.
    pub(crate) async fn captured(&self, run: RunId) -> Captured {
        let mut tx = self.app.store().begin_read().await.unwrap();
        let receipts = tx.receipts_of(run).await.unwrap();
        let receipts = receipts.into_iter().map(|receipt| (receipt.checkpoint.to_string(), receipt.id)).collect();
        Captured { run, receipts }
    }
}

/// A fresh token's actor.
pub(crate) async fn authenticate(app: &App, name: &str) -> Actor {
    let token = app.create_token(&name.parse().unwrap(), &Scope::All, Duration::from_secs(30 * 24 * 3600)).await;
    let request = RequestId::from_uuid(SeededIds::default().uuid());
    app.authenticate(&token.unwrap().secret, request).await.unwrap()
}

/// Code and reason of a refusal.
#[track_caller]
pub(crate) fn refused(outcome: Result<Value>) -> (&'static str, String) {
    let error: Error = outcome.expect_err("the call is refused");
    (error.code().as_str(), error.reason().or(error.details().field.as_deref()).unwrap_or_default().to_owned())
}

const SIDE: u32 = 16;

/// White with one square; checkpoints differ in its place.
fn picture(name: &Slug, shade: u8) -> Picture {
    let row = name.as_str().len();
    let pixel = |index: usize| {
        let (x, y) = (index % SIDE as usize, index / SIDE as usize);
        if x < 4 && y < row { [shade, 0, 0, 255] } else { [255, 255, 255, 255] }
    };
    Picture::new(SIDE, SIDE, (0..(SIDE * SIDE) as usize).flat_map(pixel).collect()).unwrap()
}
