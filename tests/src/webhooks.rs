//! Webhooks, delivered by a sender that is not ours, and the master keys that their secrets and others are sealed under.

use std::fs;

use pinhole_testkit::{Engine, Site};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Finished, Project, Server, Setup, send_webhook};

const SCENARIO: &str = "\
schema: pinhole.scenario.v1
title: The cart
steps:
  - navigate: /cart.html
  - capture: { name: cart }
";
/// Letters of more than one byte, and white space that a parser would drop: the signature is over bytes.
const BODY: &str = "{ \"type\": \"deployed\",\r\n  \"what\": \"Käse \u{1F9C0}\" }\n";

/// A server with a project and webhooks of it.
struct Ground {
    project: Project,
    server: Server,
    _site: Site,
}

impl Ground {
    async fn new(engine: Engine) -> Self {
        let site = Site::named("demo");
        let server = Server::start(Setup { engine, ..Setup::default() }).await;
        let project = Project::prepare(&server, &site, SCENARIO).await;
        Self { project, server, _site: site }
    }

    fn input() -> Value {
        let run = Project::start_command(&json!({ "none": true }));
        json!({ "title": "Deployments", "run": run, "enabled": true })
    }

    /// A webhook, with its secret.
    async fn webhook(&self) -> Value {
        self.project.author.post_keyed("/api/v1/automations/webhooks", "webhook", &Self::input()).await.expect(201)
    }

    /// The webhook with another secret, beside which the first is taken for a while.
    async fn with_another_secret(&self, webhook: &Value) -> Value {
        let mut input = Self::input();
        input["rotate_secret"] = "keep_previous".into();
        let path = format!("/api/v1/automations/webhooks/{}", webhook["id"].as_str().unwrap());
        self.put(&path, webhook["version"].as_u64().unwrap(), &input).await
    }

    async fn put(&self, path: &str, version: u64, body: &Value) -> Value {
        let request = self.project.author.request(Method::PUT, path).header("If-Match", format!("\"{version}\""));
        Answer::of(request.json(body)).await.expect(200)
    }

    fn send(&self, webhook: &Value, secrets: &[&Value], id: &str) -> (u16, Value) {
        let url = self.server.url().join(webhook["path"].as_str().unwrap()).unwrap();
        let secrets: Vec<&str> = secrets.iter().map(|shown| shown["secret"].as_str().unwrap()).collect();
        send_webhook(url.as_str(), &secrets, id, BODY)
    }

    /// Puts the secret `BUYER` of the environment.
    async fn put_secret(&self) {
        let listed = self.project.author.get("/api/v1/environments?project=shop").await.expect(200);
        let environment = &listed["environments"][0];
        let path = format!("/api/v1/environments/{}", environment["id"].as_str().unwrap());
        let seen = self.project.author.get(&path).await.expect(200);
        let mut document = seen["document"].clone();
        document["secrets"] = json!([{ "name": "BUYER", "origins": ["https://shop.example"], "field": "#password" }]);
        self.put(&path, environment["latest_revision"].as_u64().unwrap(), &json!({ "document": document })).await;
        self.put(&format!("{path}/secrets/BUYER"), 0, &json!({ "value": "hush" })).await;
    }

    /// Puts a remote with a credential.
    async fn put_remote(&self) {
        let token = self.server.token("root", &["--admin"]);
        let given = json!({ "password": { "user": "ci", "password": "hush" } });
        let remote = json!({ "url": "https://git.example/a.git", "branches": ["main"], "credential": given });
        let client = self.server.client(Some(&token));
        let request = client.request(Method::PUT, "/api/v1/remotes/origin").header("If-Match", "\"0\"");
        Answer::of(request.json(&remote)).await.expect(200);
    }

    fn keys(&self) -> String {
        fs::read_to_string(self.server.data_dir().join("keys/master.key")).unwrap()
    }

    fn write_keys(&self, keys: &str) {
        fs::write(self.server.data_dir().join("keys/master.key"), keys).unwrap();
    }

    /// Rotates the master key; gives the id of the present one, and what else was said.
    fn rotate(&self) -> (String, String) {
        let finished = Finished::of(&mut self.server.command_of(&["key", "rotate-master"]));
        (finished.expect(0).trim().to_owned(), finished.stderr)
    }
}

#[tokio::test]
async fn a_sender_that_is_not_ours_is_understood() {
    let ground = Ground::new(Engine::Sqlite).await;
    let first = ground.webhook().await;
    let (status, body) = ground.send(&first, &[&first], "msg_1");
    assert_eq!((status, &body["id"], &body["replayed"]), (201, &json!("msg_1"), &json!(false)), "{body:#}");
    let run = ground.project.look(body["run_id"].as_str().unwrap()).await;
    assert_eq!(run["trigger"], "webhook", "{run:#}");
    let (status, again) = ground.send(&first, &[&first], "msg_1");
    assert_eq!((status, &again["run_id"], &again["replayed"]), (200, &body["run_id"], &json!(true)), "{again:#}");

    let second = ground.with_another_secret(&first).await;
    for (id, secrets) in [("msg_2", &[&second][..]), ("msg_3", &[&first]), ("msg_4", &[&second, &first])] {
        assert_eq!(ground.send(&first, secrets, id).0, 201, "{id}");
    }
    let foreign = json!({ "secret": "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=" });
    let (status, refused) = ground.send(&first, &[&foreign], "msg_5");
    assert_eq!((status, &refused["code"]), (401, &json!("unauthenticated")), "{refused:#}");
    let runs = ground.project.author.get("/api/v1/runs?project=shop").await.expect(200);
    assert_eq!(runs["runs"].as_array().unwrap().len(), 4, "{runs:#}");
}

#[tokio::test]
async fn after_a_rotation_the_earlier_master_key_is_needed_no_more_on_sqlite() {
    after_a_rotation_the_earlier_master_key_is_needed_no_more(Engine::Sqlite).await;
}

#[tokio::test]
async fn after_a_rotation_the_earlier_master_key_is_needed_no_more_on_postgres() {
    after_a_rotation_the_earlier_master_key_is_needed_no_more(Engine::Postgres).await;
}

async fn after_a_rotation_the_earlier_master_key_is_needed_no_more(engine: Engine) {
    let mut ground = Ground::new(engine).await;
    let first = ground.webhook().await;
    let second = ground.with_another_secret(&first).await;
    ground.put_secret().await;
    ground.put_remote().await;
    // As a rotation leaves it that was killed after its first step: it goes on, and makes no further key.
    let keys = format!("phm_{}\n{}", "5a".repeat(32), ground.keys());
    ground.write_keys(&keys);
    let (id, said) = ground.rotate();
    assert_eq!(ground.keys(), keys);
    assert!(
        said.contains("1 secrets of environments and those of 1 webhooks and 1 Git remotes are sealed anew"),
        "{said}"
    );
    assert_eq!(ground.send(&first, &[&first], "msg_running").0, 201, "the running server reads the new key by itself");

    ground.server.stop();
    ground.write_keys(keys.lines().next().unwrap());
    ground.server.run().await;
    for (message, secret) in [("msg_old", &first), ("msg_new", &second)] {
        let (status, body) = ground.send(&first, &[secret], message);
        assert_eq!(status, 201, "{body:#}");
    }
    // With nothing left over it makes a key, and opens everything once more with the only one there was.
    let (next, said) = ground.rotate();
    assert_ne!(next, id);
    assert_eq!(ground.keys().lines().count(), 2);
    assert!(
        said.contains("1 secrets of environments and those of 1 webhooks and 1 Git remotes are sealed anew"),
        "{said}"
    );
    assert_eq!(ground.send(&first, &[&second], "msg_next").0, 201);
}
