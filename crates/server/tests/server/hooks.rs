//! Deliveries to webhooks as they arrive over HTTP: what is signed starts one run, and everything else is one refusal.

use std::{
    io,
    num::NonZeroU32,
    path::Path,
    sync::{Arc, Mutex},
};

use axum::{body::Body, http::Request};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use pinhole_core::{Clock as _, Ids as _, RandomIds, SystemClock};
use pinhole_server::{RateLimits, ServerSettings};
use serde_json::{Value, json};
use sha2::Sha256;
use tracing_subscriber::{filter::LevelFilter, fmt::MakeWriter};

use crate::world::{Answer, World};

/// The greatest body of a delivery, in bytes.
const MAX_BYTES: usize = 64 * 1024;
const BODY: &[u8] = b"{\"type\":\"deployed\"}";

/// A delivery on its way. A header may be missing or come twice.
#[derive(Clone)]
struct Letter {
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Letter {
    /// A delivery of now.
    fn new(webhook: &Value, id: &str, body: &[u8]) -> Self {
        Self::at(now(), webhook, id, body)
    }

    /// A delivery signed at this time, in seconds since the Unix epoch, with the secret that a view shows.
    fn at(seconds: u64, webhook: &Value, id: &str, body: &[u8]) -> Self {
        let headers = vec![
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", seconds.to_string()),
            ("webhook-signature", signature(webhook, id, &seconds.to_string(), body)),
        ];
        Self { path: webhook["path"].as_str().unwrap().to_owned(), headers, body: body.to_vec() }
    }

    /// With another value of a header.
    fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.iter_mut().filter(|header| header.0 == name).for_each(|header| value.clone_into(&mut header.1));
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|header| header.0 != name);
        self
    }

    /// With one more header.
    fn and(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    fn value(&self, name: &str) -> &str {
        &self.headers.iter().find(|header| header.0 == name).unwrap().1
    }
}

fn now() -> u64 {
    u64::try_from(SystemClock.now().as_micros() / 1_000_000).unwrap()
}

fn signature(webhook: &Value, id: &str, timestamp: &str, body: &[u8]) -> String {
    let secret = webhook["secret"].as_str().unwrap().strip_prefix("whsec_").unwrap();
    let mut code = Hmac::<Sha256>::new_from_slice(&BASE64_STANDARD.decode(secret).unwrap()).unwrap();
    code.update(&[format!("{id}.{timestamp}.").as_bytes(), body].concat());
    format!("v1,{}", BASE64_STANDARD.encode(code.finalize().into_bytes()))
}

fn run() -> Value {
    json!({ "project": "shop", "scenario": "front", "revision": { "head": true }, "environment": "web",
        "environment_revision": { "latest": true }, "baseline": { "none": true } })
}

impl World {
    async fn with_scenario(settings: ServerSettings) -> Self {
        let world = Self::with(settings).await;
        world.prepare().await;
        world
    }

    /// A webhook of `front`, with its secret.
    async fn webhook(&self, enabled: bool) -> Value {
        let input = json!({ "title": "Deployments", "run": run(), "enabled": enabled,
            "idempotency_key": RandomIds.uuid().to_string() });
        let made = self.post("/api/v1/automations/webhooks", &self.token, &input).await;
        assert_eq!(made.status(), 201, "{}", made.text());
        made.json()
    }

    /// The webhook as its keeper reads it now.
    async fn look(&self, webhook: &Value) -> Answer {
        let path = format!("/api/v1/automations/webhooks/{}", webhook["id"].as_str().unwrap());
        self.get(&path, &self.token).await
    }

    async fn deliver(&self, letter: &Letter) -> Answer {
        let request = Request::post(&letter.path);
        let request = letter.headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        self.send(request.body(Body::from(letter.body.clone())).unwrap()).await
    }

    async fn runs(&self) -> Vec<Value> {
        let listed = self.get("/api/v1/runs?project=shop", &self.token).await;
        listed.json()["runs"].as_array().unwrap().clone()
    }
}

#[tokio::test]
async fn a_delivery_starts_a_run_and_its_repeat_answers_the_same() {
    let world = World::with_scenario(ServerSettings::default()).await;
    let webhook = world.webhook(true).await;
    let letter = Letter::new(&webhook, "msg_1", BODY);
    let first = world.deliver(&letter).await;
    assert_eq!(first.status(), 201, "{}", first.text());
    let mut expected = first.json();
    assert_eq!((&expected["id"], &expected["replayed"]), (&json!("msg_1"), &json!(false)));

    // Senders that got no answer send the same again, signed at another time.
    let later = Letter::at(now() + 5, &webhook, "msg_1", BODY);
    expected["replayed"] = true.into();
    for repeat in [&letter, &later] {
        let answer = world.deliver(repeat).await;
        assert_eq!((answer.status().as_u16(), answer.json()), (200, expected.clone()));
    }
    let runs = world.runs().await;
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert_eq!((&runs[0]["id"], &runs[0]["trigger"]), (&expected["run_id"], &json!("webhook")));
    let another = world.deliver(&Letter::new(&webhook, "msg_2", BODY)).await;
    assert_eq!(another.status(), 201, "{}", another.text());
    assert_eq!(world.runs().await.len(), 2);
}

#[tokio::test]
async fn whatever_is_not_verified_is_refused_alike() {
    let world = World::with_scenario(ServerSettings::default()).await;
    let (webhook, other, deleted) = (world.webhook(true).await, world.webhook(true).await, world.webhook(true).await);
    let path = format!("/api/v1/automations/webhooks/{}", deleted["id"].as_str().unwrap());
    let delete = Request::delete(&path).header("authorization", format!("Bearer {}", world.token));
    let gone = world.send(delete.header("if-match", "\"1\"").body(Body::empty()).unwrap()).await;
    assert_eq!(gone.status(), 200, "{}", gone.text());

    let good = Letter::new(&webhook, "msg_1", BODY);
    let to = |path: &str| Letter { path: path.to_owned(), ..good.clone() };
    let wrong = [
        to("/api/v1/hooks/whk_00000000000000000000000000000000"),
        to("/api/v1/hooks/nothing"),
        to(other["path"].as_str().unwrap()),
        Letter::new(&deleted, "msg_1", BODY),
        good.clone().with("webhook-signature", &signature(&other, "msg_1", good.value("webhook-timestamp"), BODY)),
        good.clone().with("webhook-signature", "v1,"),
        good.clone().with("webhook-signature", "v1,AAAA"),
        good.clone().with("webhook-signature", good.value("webhook-signature").trim_start_matches("v1,")),
        good.clone().with("webhook-signature", &good.value("webhook-signature").replace("v1,", "v1a,")),
        good.clone().with("webhook-id", "msg_2"),
        good.clone().with("webhook-timestamp", &(now() + 1000).to_string()),
        good.clone().without("webhook-signature"),
        good.clone().without("webhook-id"),
        good.clone().without("webhook-timestamp"),
        good.clone().and("webhook-signature", good.value("webhook-signature")),
        good.clone().and("webhook-id", "msg_1"),
        Letter::at(now() - 310, &webhook, "msg_1", BODY),
        Letter::at(now() + 310, &webhook, "msg_1", BODY),
        Letter { body: b"{\"type\": \"deployed\"}".to_vec(), ..good.clone() },
        // A token says nothing at this door.
        good.clone().without("webhook-signature").and("authorization", &format!("Bearer {}", world.token)),
    ];
    let mut told = Vec::new();
    for letter in &wrong {
        let answer = world.deliver(letter).await;
        assert_eq!(answer.status(), 401, "{} {:?}", letter.path, letter.headers);
        let mut headers = answer.head.headers.clone();
        assert!(headers.remove("x-request-id").is_some() && headers.contains_key("www-authenticate"));
        // The length of the body is that of its request id, which is always the same.
        told.push((answer.error(), headers));
    }
    assert!(told.iter().all(|one| *one == told[0]) && told.len() == wrong.len(), "{told:#?}");
    assert!(world.runs().await.is_empty());
    assert_eq!(world.look(&webhook).await.json()["deliveries"], json!([]));
    assert_eq!(world.deliver(&good).await.status(), 201, "nothing used the id up");
}

#[tokio::test]
async fn while_a_secret_is_replaced_either_signature_is_enough() {
    let world = World::with_scenario(ServerSettings::default()).await;
    let first = world.webhook(true).await;
    let path = format!("/api/v1/automations/webhooks/{}", first["id"].as_str().unwrap());
    let rotate = async |how: &str, version: u32| {
        let body = json!({ "title": "Deployments", "run": run(), "enabled": true, "rotate_secret": how });
        let request = Request::put(&path)
            .header("authorization", format!("Bearer {}", world.token))
            .header("content-type", "application/json")
            .header("if-match", format!("\"{version}\""));
        let answer = world.send(request.body(Body::from(body.to_string())).unwrap()).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
        answer.json()
    };
    let second = rotate("keep_previous", 1).await;
    let status = async |id: &str, signed: &[&Value]| {
        let letter = Letter::new(signed[0], id, BODY);
        let timestamp = letter.value("webhook-timestamp").to_owned();
        let all: Vec<_> = signed.iter().map(|webhook| signature(webhook, id, &timestamp, BODY)).collect();
        world.deliver(&letter.with("webhook-signature", &all.join(" "))).await.status().as_u16()
    };
    assert_eq!(status("old", &[&first]).await, 201);
    assert_eq!(status("new", &[&second]).await, 201);
    let third = rotate("immediately", 2).await;
    assert_eq!(status("both", &[&first, &second]).await, 401, "neither is taken any more");
    // A sender that changes its own secret signs with both.
    assert_eq!(status("among", &[&second, &third]).await, 201);
}

#[tokio::test]
async fn a_body_is_bytes_within_a_bound() {
    let world = World::with_scenario(ServerSettings::default()).await;
    let webhook = world.webhook(true).await;
    for (number, body) in [&b""[..], b"no JSON \xff\x00", b"{\"a\":1,\"a\":2}", &[b'x'; MAX_BYTES]].iter().enumerate() {
        let letter = Letter::new(&webhook, &format!("msg_{number}"), body);
        let answer = world.deliver(&letter.and("content-type", "text/plain")).await;
        assert_eq!(answer.status(), 201, "{number}: {}", answer.text());
    }
    // Whoever sends it learns no more of one that is there than of one that is not.
    let large = Letter::new(&webhook, "msg_large", &[b'x'; MAX_BYTES + 1]);
    let nowhere = Letter { path: "/api/v1/hooks/nothing".into(), ..large.clone() };
    let (large, nowhere) = (world.deliver(&large).await, world.deliver(&nowhere).await);
    assert_eq!((large.status().as_u16(), large.json()["details"]["limit"].as_u64()), (413, Some(MAX_BYTES as u64)));
    assert_eq!(large.error(), nowhere.error());
    assert_eq!(world.runs().await.len(), 4);
}

#[tokio::test]
async fn one_that_is_switched_off_starts_nothing_and_says_so_in_its_ledger() {
    let world = World::with_scenario(ServerSettings::default()).await;
    let webhook = world.webhook(false).await;
    let letter = Letter::new(&webhook, "msg_1", BODY);
    for _ in 0..2 {
        let answer = world.deliver(&letter).await;
        assert_eq!((answer.status().as_u16(), answer.json()["code"].as_str()), (409, Some("conflict")));
        assert!(!answer.text().contains("switched off"), "its keeper reads that, not its sender: {}", answer.text());
    }
    assert!(world.runs().await.is_empty());
    let deliveries = world.look(&webhook).await.json()["deliveries"].clone();
    assert_eq!(deliveries.as_array().unwrap().len(), 1, "{deliveries:#}");
    assert_eq!(deliveries[0]["refusal"]["details"]["reason"], "disabled");
}

#[tokio::test]
async fn who_is_refused_often_has_to_wait_and_who_is_believed_has_a_bucket_of_its_own() {
    let number = |number: u32| NonZeroU32::new(number).unwrap();
    // The buckets fill so slowly that nothing comes back while this runs.
    let limits = RateLimits {
        stranger_per_second: number(1),
        stranger_burst: number(3),
        principal_per_second: number(1),
        principal_burst: number(20),
        ..RateLimits::default()
    };
    let world = World::with_scenario(ServerSettings { limits, ..ServerSettings::default() }).await;
    let webhook = world.webhook(true).await;
    let wrong = Letter::new(&webhook, "msg_1", BODY).with("webhook-signature", "v1,AAAA");
    let limited = until_limited(&world, async |_| wrong.clone(), 401).await;
    assert_eq!(limited.header("www-authenticate"), "");
    assert_eq!(world.deliver(&Letter::new(&webhook, "msg_1", BODY)).await.status(), 201, "it is no stranger");
    until_limited(&world, async |number| Letter::new(&webhook, &format!("msg_more_{number}"), BODY), 201).await;
}

/// Delivers until the answer is that of a rate limit, which it is soon; `before` is the status of all answers before.
async fn until_limited(world: &World, letter: impl AsyncFn(usize) -> Letter, before: u16) -> Answer {
    for number in 0..200 {
        let answer = world.deliver(&letter(number).await).await;
        if answer.status() == 429 {
            assert_eq!(answer.json()["details"]["reason"], "rate", "{}", answer.text());
            assert!(answer.header("retry-after").parse::<u32>().is_ok_and(|seconds| seconds > 0));
            return answer;
        }
        assert_eq!(answer.status(), before, "{number}: {}", answer.text());
    }
    panic!("nothing limits it");
}

#[tokio::test]
async fn its_secret_is_shown_once_and_found_nowhere() {
    let logs = Logs::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).with_writer(logs.clone()).finish();
    // Of this thread, which is the only one of the test's runtime.
    let listening = tracing::subscriber::set_default(subscriber);
    let world = World::with_scenario(ServerSettings::default()).await;
    let webhook = world.webhook(true).await;
    let taken = world.deliver(&Letter::new(&webhook, "msg_taken", BODY)).await;
    let refused = world.deliver(&Letter::new(&webhook, "msg_2", BODY).with("webhook-signature", "v1,AAAA")).await;
    assert_eq!((taken.status().as_u16(), refused.status().as_u16()), (201, 401));
    drop(listening);
    let mut told = [taken.text(), refused.text(), world.look(&webhook).await.text()].concat();
    for path in ["/api/v1/automations/webhooks?project=shop", "/api/v1/admin/audit?project=shop"] {
        let answer = world.get(path, &world.token).await;
        assert_eq!(answer.status(), 200, "{path}: {}", answer.text());
        told += &answer.text();
    }
    let secret = webhook["secret"].as_str().unwrap().trim_start_matches("whsec_");
    let key = BASE64_STANDARD.decode(secret).unwrap();
    let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    // What is there in each place, so that the search is known to find something.
    for (place, bytes, there) in [
        ("the answers", told.into_bytes(), "deliver_webhook"),
        ("the data directory", files_of(&world.data_dir()), "msg_taken"),
        ("the logs", logs.bytes(), "unauthenticated"),
    ] {
        let holds = |form: &[u8]| bytes.windows(form.len()).any(|part| part == form);
        assert!(holds(there.as_bytes()), "{there} is not in {place}");
        assert!(![secret.as_bytes(), &key, digits.as_bytes()].iter().any(|form| holds(form)), "it is in {place}");
    }
}

/// The bytes of every file under `folder`, the database with its journal among them.
fn files_of(folder: &Path) -> Vec<u8> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_of(&path) } else { std::fs::read(&path).unwrap() }).collect()
}

/// Everything that was logged.
#[derive(Clone, Default)]
struct Logs(Arc<Mutex<Vec<u8>>>);

impl Logs {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl io::Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
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
