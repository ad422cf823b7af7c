//! Webhooks: what is signed with their secret starts one run, and everything else is one refusal.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use pinhole_app::{App, Parts, Settings, SignedDelivery, operations};
use pinhole_blobs::Blobs;
use pinhole_contract::DeliveredView;
use pinhole_core::{Actor, Error, RequestId, Result, Sealer, Timestamp};
use pinhole_jobs::WakeSender;
use pinhole_testkit::{Engine, SeededIds};
use serde_json::{Value, json};
use sha2::Sha256;
use tempfile::TempDir;

use crate::{
    bench::{Keepers, selectors, with},
    rows::on_both_engines,
    support::refused,
};

on_both_engines! {
    a_signed_delivery_starts_one_run
    everything_else_is_one_refusal
    a_repeated_id_answers_the_first_result
    secrets_are_shown_once_and_replaced
    a_refused_delivery_is_told_in_the_ledger
    it_is_kept_like_a_schedule
}

/// Seals so that a test sees what was sealed for what.
struct Plain;

impl Sealer for Plain {
    fn prefix(&self) -> Result<String> {
        Ok("plain.".into())
    }

    fn seal(&self, secret: &[u8], context: &str) -> Result<String> {
        Ok(format!("sealed:{context}:{}", BASE64_STANDARD.encode(secret)))
    }

    fn open(&self, sealed: &str, context: &str) -> Result<Vec<u8>> {
        let encoded = sealed.strip_prefix(&format!("sealed:{context}:")).ok_or_else(|| Error::internal(sealed))?;
        BASE64_STANDARD.decode(encoded).map_err(Error::internal)
    }
}

/// Keepers whose application can seal.
struct Hooks {
    keepers: Keepers,
    app: App,
    _blobs: TempDir,
}

impl Hooks {
    async fn on(engine: Engine) -> Self {
        let keepers = Keepers::on(engine).await;
        let blobs = TempDir::with_prefix("pinhole-blobs-").unwrap();
        let app = App::new(Parts {
            store: keepers.bench.app.store().clone(),
            blobs: Blobs::local(blobs.path()).unwrap(),
            ids: Arc::new(SeededIds::new(7)),
            keyring: None,
            log: None,
            sealer: Some(Arc::new(Plain)),
            wake: WakeSender::new(),
            settings: Settings { min_free_percent: 0.0, ..Settings::default() },
        });
        Self { keepers, app, _blobs: blobs }
    }

    async fn call(&self, actor: &Actor, operation: &str, input: Value) -> Result<Value> {
        let Value::Object(input) = input else { panic!("an input is an object") };
        operations()[operation].call(&self.app, actor, input).await.map(|reply| reply.body)
    }

    async fn webhook(&self, enabled: bool) -> Value {
        let mut input = input(enabled);
        input["idempotency_key"] = self.keepers.bench.fresh_key().into();
        self.call(&self.keepers.olaf, "create_webhook", input).await.unwrap()
    }

    async fn update(&self, webhook: &Value, mut input: Value) -> Value {
        input["webhook_id"] = webhook["id"].clone();
        input["expected_version"] = webhook["version"].clone();
        self.call(&self.keepers.olaf, "update_webhook", input).await.unwrap()
    }

    async fn look(&self, webhook: &Value) -> Value {
        let input = json!({ "webhook_id": webhook["id"] });
        self.call(&self.keepers.petra, "get_webhook", input).await.unwrap()
    }

    async fn now(&self) -> Timestamp {
        now(&self.app).await
    }

    async fn deliver(&self, letter: &Letter) -> Result<DeliveredView> {
        letter.deliver(&self.app).await
    }

    async fn letter(&self, shown: &Value, id: &str) -> Letter {
        Letter::of_now(&self.app, shown, id).await
    }
}

/// The database's time.
async fn now(app: &App) -> Timestamp {
    app.store().begin_read().await.unwrap().now()
}

/// A delivery on its way.
#[derive(Clone)]
pub(crate) struct Letter {
    webhook: String,
    id: String,
    timestamp: String,
    signature: String,
    body: Vec<u8>,
}

impl Letter {
    /// A delivery of now, signed with the secret that a view shows.
    pub(crate) async fn of_now(app: &App, shown: &Value, id: &str) -> Self {
        let at = now(app).await.as_micros() / 1_000_000;
        Self::new(shown, id, &at.to_string(), b"{\"type\":\"deployed\"}")
    }

    pub(crate) async fn deliver(&self, app: &App) -> Result<DeliveredView> {
        let Self { webhook, id, timestamp, signature, body } = self;
        let signed = SignedDelivery { webhook, id, timestamp, signature, body };
        let verified = app.verify_delivery(&signed).await?;
        app.deliver(&verified, RequestId::from_uuid(uuid::Uuid::nil())).await
    }

    fn new(shown: &Value, id: &str, timestamp: &str, body: &[u8]) -> Self {
        let secret = shown["secret"].as_str().unwrap().strip_prefix("whsec_").unwrap();
        let mut code = Hmac::<Sha256>::new_from_slice(&BASE64_STANDARD.decode(secret).unwrap()).unwrap();
        code.update(&[format!("{id}.{timestamp}.").as_bytes(), body].concat());
        Self {
            webhook: shown["id"].as_str().unwrap().to_owned(),
            id: id.to_owned(),
            timestamp: timestamp.to_owned(),
            signature: format!("v1,{}", BASE64_STANDARD.encode(code.finalize().into_bytes())),
            body: body.to_vec(),
        }
    }
}

fn input(enabled: bool) -> Value {
    json!({ "title": "Deployments", "run": selectors(), "enabled": enabled })
}

async fn a_signed_delivery_starts_one_run(engine: Engine) {
    let hooks = Hooks::on(engine).await;
    let made = hooks.webhook(true).await;
    assert_eq!(made["path"], json!(format!("/api/v1/hooks/{}", made["id"].as_str().unwrap())));
    let delivered = hooks.deliver(&hooks.letter(&made, "msg_1").await).await.unwrap();
    assert!(!delivered.replayed);
    let run = json!({ "run_id": delivered.run_id });
    let run = hooks.keepers.bench.call(&hooks.keepers.petra, "get_scenario_run", run).await.unwrap();
    assert_eq!((&run["trigger"], &run["created_by"]), (&json!("webhook"), &json!(hooks.keepers.olaf.principal)));
    let delivery = &hooks.look(&made).await["deliveries"][0];
    assert_eq!((&delivery["key"], &delivery["run_id"]), (&json!("msg_1"), &run["id"]));
    assert_eq!((hooks.keepers.runs(), hooks.keepers.bench.jobs()), (1, 1));
}

async fn everything_else_is_one_refusal(engine: Engine) {
    let hooks = Hooks::on(engine).await;
    let (made, other) = (hooks.webhook(true).await, hooks.webhook(true).await);
    let good = hooks.letter(&made, "msg_1").await;
    let seconds = hooks.now().await.as_micros() / 1_000_000;
    let aged = |by: i64| Letter::new(&made, "msg_1", &(seconds + by).to_string(), &good.body);
    let mut wrong = vec![aged(-310), aged(310), Letter::new(&made, "msg.1", &good.timestamp, &good.body)];
    wrong.push(Letter { webhook: other["id"].as_str().unwrap().into(), ..good.clone() });
    wrong.push(Letter { webhook: "whk_00000000000000000000000000000000".into(), ..good.clone() });
    wrong.push(Letter { webhook: "x".repeat(5000), ..good.clone() });
    wrong.push(Letter { id: "msg_2".into(), ..good.clone() });
    wrong.push(Letter { id: String::new(), ..good.clone() });
    wrong.push(Letter { timestamp: (seconds + 1).to_string(), ..good.clone() });
    wrong.push(Letter { timestamp: String::new(), ..good.clone() });
    wrong.push(Letter { signature: String::new(), ..good.clone() });
    wrong.push(Letter { signature: good.signature.replace("v1,", "v1a,"), ..good.clone() });
    wrong.push(Letter { body: b"{\"type\":\"deployed\" }".to_vec(), ..good.clone() });
    let deleted = hooks.webhook(true).await;
    wrong.push(hooks.letter(&deleted, "msg_1").await);
    let version = json!({ "webhook_id": deleted["id"], "expected_version": 1 });
    hooks.call(&hooks.keepers.olaf, "delete_webhook", version).await.unwrap();
    let mut refusals = std::collections::BTreeSet::new();
    for letter in &wrong {
        let error = hooks.deliver(letter).await.unwrap_err();
        assert_eq!(error.code().as_str(), "unauthenticated", "{} {}", letter.id, letter.timestamp);
        refusals.insert(format!("{error} {:?}", error.details()));
    }
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert_eq!(hooks.keepers.runs(), 0);
    assert_eq!(hooks.keepers.bench.sql("SELECT count(*) FROM automation_deliveries").trim(), "0");
    hooks.deliver(&good).await.unwrap();
}

async fn a_repeated_id_answers_the_first_result(engine: Engine) {
    let hooks = Hooks::on(engine).await;
    let made = hooks.webhook(true).await;
    let letter = hooks.letter(&made, "msg_1").await;
    let all = futures::future::join_all((0..6).map(|_| hooks.deliver(&letter))).await;
    let answers: Vec<_> = all.into_iter().flatten().collect();
    assert!(!answers.is_empty() && answers.iter().all(|answer| answer.run_id == answers[0].run_id));
    // Whatever it says this time: the sender tries again with another body and time.
    let seconds = (hooks.now().await.as_micros() / 1_000_000 + 5).to_string();
    let again = hooks.deliver(&Letter::new(&made, "msg_1", &seconds, b"other")).await.unwrap();
    assert!(again.replayed && again.run_id == answers[0].run_id);
    assert_eq!(hooks.keepers.runs(), 1);
    // The id belongs to this webhook alone.
    let other = hooks.webhook(true).await;
    assert!(!hooks.deliver(&hooks.letter(&other, "msg_1").await).await.unwrap().replayed);
}

async fn secrets_are_shown_once_and_replaced(engine: Engine) {
    let hooks = Hooks::on(engine).await;
    let first = hooks.webhook(true).await;
    assert!(hooks.look(&first).await["secret"].is_null());
    let stored = hooks.keepers.bench.sql("SELECT secrets FROM automations");
    let sealed_for = format!("sealed:webhook/{}/1:", first["id"].as_str().unwrap());
    assert!(stored.contains(&sealed_for), "{stored}");
    let audit = hooks.keepers.bench.sql("SELECT * FROM audit");
    let secret = first["secret"].as_str().unwrap().strip_prefix("whsec_").unwrap();
    assert!(!audit.contains(secret));

    let unchanged = hooks.update(&first, input(true)).await;
    assert!(unchanged["secret"].is_null());
    hooks.deliver(&hooks.letter(&first, "msg_1").await).await.unwrap();
    let rotate = |how: &str| {
        let mut input = input(true);
        input["rotate_secret"] = how.into();
        input
    };
    let second = hooks.update(&unchanged, rotate("keep_previous")).await;
    assert!(second["secret"].is_string() && second["secret"] != first["secret"]);
    assert!(second["previous_secret_until"].is_string());
    hooks.deliver(&hooks.letter(&first, "msg_2").await).await.unwrap();
    hooks.deliver(&hooks.letter(&second, "msg_3").await).await.unwrap();
    if engine == Engine::Sqlite {
        hooks.keepers.bench.clock.advance(Duration::from_secs(24 * 3600 + 1));
        hooks.deliver(&hooks.letter(&first, "msg_4").await).await.unwrap_err();
        hooks.deliver(&hooks.letter(&second, "msg_5").await).await.unwrap();
    }
    let third = hooks.update(&second, rotate("immediately")).await;
    for old in [&first, &second] {
        hooks.deliver(&hooks.letter(old, "msg_6").await).await.unwrap_err();
    }
    hooks.deliver(&hooks.letter(&third, "msg_6").await).await.unwrap();
}

async fn a_refused_delivery_is_told_in_the_ledger(engine: Engine) {
    let hooks = Hooks::on(engine).await;
    let off = hooks.webhook(false).await;
    let letter = hooks.letter(&off, "msg_1").await;
    for _ in 0..2 {
        let error = hooks.deliver(&letter).await.unwrap_err();
        assert_eq!((error.code().as_str(), error.reason()), ("conflict", None), "the sender learns no more");
    }
    let found = hooks.look(&off).await;
    assert_eq!(
        (&found["deliveries"][0]["outcome"], found["deliveries"].as_array().unwrap().len()),
        (&json!("refused"), 1)
    );
    assert_eq!(found["deliveries"][0]["refusal"]["details"]["reason"], "disabled");

    let on = hooks.webhook(true).await;
    hooks.keepers.revoke("Olaf").await;
    let error = hooks.deliver(&hooks.letter(&on, "msg_1").await).await.unwrap_err();
    assert_eq!(error.code().as_str(), "permission_denied");
    assert_eq!(hooks.look(&on).await["deliveries"][0]["refusal"]["details"]["reason"], "run.start");
    assert_eq!(hooks.keepers.runs(), 0);
}

async fn it_is_kept_like_a_schedule(engine: Engine) {
    let hooks = Hooks::on(engine).await;
    let made = hooks.webhook(true).await;
    for enabled in [true, false] {
        let mut wrong = with(input(enabled), "/run/scenario", json!("nothing"));
        wrong["webhook_id"] = made["id"].clone();
        wrong["expected_version"] = 1.into();
        let updated = hooks.call(&hooks.keepers.olaf, "update_webhook", wrong.clone()).await;
        assert_eq!(refused(updated), ("not_found", String::new()));
    }
    let mut same = input(true);
    same["idempotency_key"] = "same".into();
    let first = hooks.call(&hooks.keepers.olaf, "create_webhook", same.clone()).await.unwrap();
    let again = hooks.call(&hooks.keepers.olaf, "create_webhook", same).await.unwrap();
    assert_eq!((&again["id"], &again["replayed"]), (&first["id"], &json!(true)));
    assert!(again["secret"].is_null(), "it was shown");
    let listed = hooks.call(&hooks.keepers.petra, "list_webhooks", json!({ "project": "shop" })).await.unwrap();
    let ids: Vec<_> = listed["webhooks"].as_array().unwrap().iter().map(|found| found["id"].clone()).collect();
    assert_eq!(ids, [first["id"].clone(), made["id"].clone()]);
    let stranger = hooks.keepers.bench.person("Eve", &[]).await;
    let hidden = hooks.call(&stranger, "get_webhook", json!({ "webhook_id": made["id"] })).await;
    assert_eq!(refused(hidden), ("not_found", String::new()));
}
