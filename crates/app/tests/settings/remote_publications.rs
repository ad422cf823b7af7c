//! What publications are told of a remote: its credential opened for their worker alone, and an end that can be taken up
//! again when an administrator closes the remote or moves it.

use pinhole_app::{App, PublicationWork};
use pinhole_core::{Actor, PublicationId, RemoteCredential, Role};
use pinhole_store::Remote;
use pinhole_testkit::{Engine, certificate};
use serde_json::{Value, json};

use crate::{
    path::Path,
    remote_credentials::put,
    rows::on_both_engines,
    support::{GOOD, PROJECT, refused},
};

on_both_engines! {
    a_worker_is_given_the_credential_and_shows_nothing_of_it
    a_credential_that_does_not_open_is_tried_again
    a_closed_remote_takes_no_publication
    a_remote_that_was_moved_has_to_be_looked_at_again
}

const PASSWORD: &str = "plaintext-of-a-token-48151623";

/// A revision, the remote `origin` with a credential, and somebody who publishes.
struct Ground {
    path: Path,
    publisher: Actor,
}

impl Ground {
    async fn on(engine: Engine) -> Self {
        let path = Path::on(engine).await;
        path.materialised(GOOD, 0).await;
        let publisher = path.bench.person("Paul", &[Role::Publisher]).await;
        let ground = Self { path, publisher };
        ground.put(0, json!({})).await;
        ground
    }

    fn app(&self) -> &App {
        &self.path.bench.app
    }

    async fn put(&self, version: u32, mut members: Value) {
        let given = json!({ "password": { "user": "ci", "password": PASSWORD } });
        members.as_object_mut().unwrap().entry("credential").or_insert(given);
        put(&self.path.bench, version, members).await.unwrap();
    }

    async fn publish(&self, members: Value) -> pinhole_core::Result<Value> {
        let mut input = json!({
            "project": PROJECT, "remote": "origin", "branch": "main", "expected_head": { "commit": null },
            "expected_version": 1,
        });
        for (name, value) in members.as_object().unwrap() {
            input[name] = value.clone();
        }
        self.path.bench.keyed(&self.publisher, "publish_baseline_catalog", input).await
    }

    async fn asked(&self) -> PublicationId {
        self.publish(json!({})).await.unwrap()["id"].as_str().unwrap().parse().unwrap()
    }

    async fn look(&self, id: PublicationId) -> Value {
        let input = json!({ "publication_id": id });
        self.path.bench.call(&self.publisher, "get_publication", input).await.unwrap()
    }

    async fn claimed(&self, id: PublicationId) -> PublicationWork {
        self.app().claim_publication(id).await.unwrap().expect("a publication to work on")
    }

    /// Claims the publication, which ends instead, and says how.
    async fn ended(&self, id: PublicationId) -> (String, String) {
        assert!(self.app().claim_publication(id).await.unwrap().is_none());
        let view = self.look(id).await;
        (view["state"].as_str().unwrap().to_owned(), view["detail"].as_str().unwrap().to_owned())
    }

    /// Changes the row without any operation, as somebody could who writes into the database.
    async fn tamper(&self, change: impl FnOnce(&mut Remote)) {
        let mut tx = self.app().store().begin_write().await.unwrap();
        let mut remote = tx.remote_by_slug(&"origin".parse().unwrap()).await.unwrap().unwrap();
        change(&mut remote);
        tx.put_remote(&remote).await.unwrap();
        tx.commit().await.unwrap();
    }
}

async fn a_worker_is_given_the_credential_and_shows_nothing_of_it(engine: Engine) {
    let ground = Ground::on(engine).await;
    let (certificate, _) = certificate();
    ground.put(1, json!({ "certificate_authorities": certificate })).await;
    let work = ground.claimed(ground.asked().await).await;
    let credential = RemoteCredential::Password { user: "ci".into(), password: PASSWORD.into() };
    assert_eq!(work.remote_access.credential, Some(credential));
    assert_eq!(work.remote_access.certificate_authorities, Some(certificate));
    assert!(!format!("{work:?}").contains(PASSWORD));
}

async fn a_credential_that_does_not_open_is_tried_again(engine: Engine) {
    let ground = Ground::on(engine).await;
    let id = ground.asked().await;
    let mut good = None;
    ground
        .tamper(|remote| {
            good = remote.credential.clone();
            remote.credential.as_mut().unwrap().sealed = "v1.0000000000000000.AAAA".into();
        })
        .await;
    let (state, detail) = ground.ended(id).await;
    assert_eq!(state, "committing", "{detail}");
    assert!(detail.starts_with("try 1 of 12: the credential of the remote origin does not open"), "{detail}");
    // Nor does it open for a server that nobody gave it for.
    ground
        .tamper(|remote| {
            remote.credential = good.clone();
            remote.host_key = Some("SHA256:evil".into());
        })
        .await;
    let (_, detail) = ground.ended(id).await;
    assert!(detail.starts_with("try 2 of 12: the credential"), "{detail}");
    ground.tamper(|remote| remote.host_key = None).await;
    let work = ground.claimed(id).await;
    assert!(work.remote_access.credential.is_some(), "it goes on when the row is right again");
}

async fn a_closed_remote_takes_no_publication(engine: Engine) {
    let ground = Ground::on(engine).await;
    let (id, closed) = (ground.asked().await, json!({ "branches": [], "credential": { "none": true } }));
    let work = ground.claimed(id).await;
    ground.put(1, closed.clone()).await;
    assert!(!ground.app().record_commit(&work, &"a".repeat(40), "a signature").await.unwrap(), "nothing may be pushed");
    let view = ground.look(id).await;
    assert_eq!(view["state"], "conflict", "{view}");
    assert!(view["detail"].as_str().unwrap().contains("origin is closed"), "{view}");
    let outcome = ground.publish(json!({ "branch": "other" })).await;
    assert_eq!(refused(outcome), ("conflict", "remote_closed".into()));
    let again = json!({ "publication_id": id });
    assert_eq!(refused(ground.publish(again.clone()).await), ("conflict", "remote_closed".into()));
    // Opened again, it takes what was asked for; closed while that waits, it ends it before any worker has it.
    ground.put(2, json!({})).await;
    ground.publish(again.clone()).await.unwrap();
    ground.put(3, closed).await;
    assert_eq!(ground.ended(id).await.0, "conflict");
    ground.put(4, json!({})).await;
    ground.publish(again).await.unwrap();
    assert!(ground.claimed(id).await.remote_access.credential.is_some());
}

async fn a_remote_that_was_moved_has_to_be_looked_at_again(engine: Engine) {
    let ground = Ground::on(engine).await;
    let id = ground.asked().await;
    ground.put(1, json!({ "url": "https://new.example/shop.git" })).await;
    let (state, detail) = ground.ended(id).await;
    assert_eq!(state, "conflict");
    assert!(detail.contains("was moved after this was asked for"), "{detail}");
    ground.publish(json!({ "publication_id": id })).await.unwrap();
    assert_eq!(ground.claimed(id).await.remote_url, "https://new.example/shop.git");
    // What changes nothing about the place changes nothing for what waits.
    let other = ground.publish(json!({ "branch": "main" })).await;
    assert_eq!(refused(other), ("conflict", "exists".into()));
}
