//! The secrets of webhooks under another master key: sealed anew in steps, after which the earlier key opens nothing.

use std::sync::Arc;

use pinhole_app::{App, Parts, Resealed, Settings};
use pinhole_blobs::Blobs;
use pinhole_core::{AutomationId, RandomIds};
use pinhole_jobs::WakeSender;
use pinhole_seal::MasterKeys;
use pinhole_store::{Automation, SealedSecret, WebhookSecrets};
use pinhole_testkit::Engine;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    bench::{Keepers, selectors},
    rows::on_both_engines,
    support::MASTER_KEY,
    webhooks::Letter,
};

on_both_engines! {
    webhooks_are_sealed_anew_and_go_on_where_that_stopped
}

const OTHER_KEY: &str = "phm_2222222222222222222222222222222222222222222222222222222222222222";
/// More than one transaction seals anew.
const WEBHOOKS: u32 = 101;

/// The application with other master keys.
fn with(keepers: &Keepers, blobs: &TempDir, keys: &str) -> App {
    let ids = Arc::new(RandomIds);
    App::new(Parts {
        store: keepers.bench.app.store().clone(),
        blobs: Blobs::local(blobs.path()).unwrap(),
        sealer: Some(Arc::new(MasterKeys::given(keys, ids.clone()).unwrap())),
        ids,
        keyring: None,
        log: None,
        wake: WakeSender::new(),
        settings: Settings { min_free_percent: 0.0, ..Settings::default() },
    })
}

async fn stored(app: &App, webhook: &Value) -> Automation {
    let id = AutomationId::Webhook(webhook["id"].as_str().unwrap().parse().unwrap());
    app.store().begin_read().await.unwrap().automation(id).await.unwrap().unwrap()
}

async fn store(app: &App, webhook: &Automation, secrets: &WebhookSecrets) {
    let mut tx = app.store().begin_write().await.unwrap();
    tx.reseal_webhook(webhook.id, secrets).await.unwrap();
    tx.commit().await.unwrap();
}

async fn webhooks_are_sealed_anew_and_go_on_where_that_stopped(engine: Engine) {
    let (keepers, blobs) = (Keepers::on(engine).await, TempDir::with_prefix("pinhole-blobs-").unwrap());
    let input = json!({ "title": "Deployments", "run": selectors(), "enabled": true });
    let mut made = Vec::new();
    for _ in 0..WEBHOOKS {
        made.push(keepers.bench.keyed(&keepers.olaf, "create_webhook", input.clone()).await.unwrap());
    }
    let first = made[0].clone();
    let mut change = input;
    change["webhook_id"] = first["id"].clone();
    change["expected_version"] = 1.into();
    change["rotate_secret"] = "keep_previous".into();
    let second = keepers.bench.call(&keepers.olaf, "update_webhook", change).await.unwrap();

    // One that opens under no key ends it, after what came before in the order of ids.
    made.sort_by_key(|webhook| webhook["id"].as_str().unwrap().to_owned());
    let both = with(&keepers, &blobs, &format!("{OTHER_KEY} {MASTER_KEY}"));
    let last = stored(&both, &made[made.len() - 1]).await;
    let good = last.secrets.clone().unwrap();
    let current = SealedSecret { sealed: "v1.0000000000000000.AAAA".into(), ..good.current.clone() };
    store(&both, &last, &WebhookSecrets { current, ..good.clone() }).await;
    assert_eq!(both.reseal_secrets().await.unwrap_err().code().as_str(), "internal");
    assert!(both.has_secrets_to_reseal().await.unwrap());
    store(&both, &last, &good).await;
    assert_eq!(both.reseal_secrets().await.unwrap(), Resealed { webhooks: 1, ..Resealed::default() });
    assert!(!both.has_secrets_to_reseal().await.unwrap());
    assert_eq!(both.reseal_secrets().await.unwrap(), Resealed::default());

    let new = with(&keepers, &blobs, OTHER_KEY);
    for (id, shown) in [("msg_1", &first), ("msg_2", &second), ("msg_3", &made[made.len() - 1])] {
        let letter = Letter::of_now(&new, shown, id).await;
        letter.deliver(&new).await.unwrap();
        assert_eq!(letter.deliver(&keepers.bench.app).await.unwrap_err().code().as_str(), "internal", "{id}");
    }
    let versions = [stored(&new, &first).await.version, stored(&new, &made[1]).await.version];
    assert_eq!(versions, [2, 1], "nobody changed anything");
}
