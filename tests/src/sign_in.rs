//! How people sign in: the first administrator's link, and a provider of identities with everything that it may answer.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt as _};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use pinhole_testkit::free_port;
use reqwest::{Method, Url, header};
use serde_json::{Value, json};

use crate::harness::{Answer, Finished, OIDC_SECRET, OidcProvider, Server, Setup};

/// A browser: it keeps cookies for each server and follows redirects only when told.
#[derive(Default)]
struct Browser {
    cookies: BTreeMap<String, BTreeMap<String, String>>,
}

impl Browser {
    async fn get(&mut self, url: &Url) -> Answer {
        let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let jar = self.cookies.entry(url.authority().to_owned()).or_default();
        let cookies: Vec<_> = jar.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = http.request(Method::GET, url.clone()).header("Accept", "text/html");
        let answer = Answer::of(request.header("Cookie", cookies.join("; "))).await;
        for line in answer.headers.get_all(header::SET_COOKIE) {
            let (name, value) = line.to_str().unwrap().split(';').next().unwrap().split_once('=').unwrap();
            if value.is_empty() {
                jar.remove(name)
            } else {
                jar.insert(name.to_owned(), value.to_owned())
            };
        }
        answer
    }

    /// Follows redirects from `url` until one leads to the callback, which is not followed. `login` is whom the provider
    /// takes the person for.
    async fn led_to_callback(&mut self, start: &Url, login: &str) -> Url {
        let mut url = start.clone();
        for _ in 0..10 {
            if url.path().starts_with("/interaction/") {
                url.query_pairs_mut().append_pair("login", login);
            }
            let answer = self.get(&url).await;
            assert_eq!(answer.status, 303, "{url}: {}", answer.text());
            url = url.join(answer.header("location")).unwrap();
            if url.path() == "/api/v1/session/oidc/callback" {
                return url;
            }
        }
        panic!("it goes round and round");
    }

    /// Who this browser is to the server.
    async fn me(&mut self, base: &Url) -> Answer {
        self.get(&base.join("/api/v1/me").unwrap()).await
    }
}

/// A server that trusts the issuer on `port`.
async fn server(port: u16, more: &str) -> (Server, Url) {
    let (configuration, _secret) = OidcProvider::configuration(port, more);
    let server = Server::start(Setup { capture_processes: 0, configuration, ..Setup::default() }).await;
    let base = server.url();
    (server, base)
}

fn start(base: &Url) -> Url {
    base.join("/api/v1/session/oidc?return_to=%2Fruns%3Fproject%3Dshop").unwrap()
}

#[tokio::test]
async fn a_person_signs_in_at_a_real_provider() {
    let port = free_port();
    let more = "group_claim = 'groups'\ncreate_users = true\ngroups = { reviewers = 'Reviewers' }\n";
    let (server, base) = server(port, more).await;
    let _provider = OidcProvider::real(port, base.join("/api/v1/session/oidc/callback").unwrap().as_str());
    let mut browser = Browser::default();
    let callback = browser.led_to_callback(&start(&base), "alice").await;
    let before = browser.cookies.clone();
    let signed_in = browser.get(&callback).await;
    assert_eq!(signed_in.status, 303, "{}", signed_in.text());
    assert_eq!(signed_in.header("location"), "/runs?project=shop");
    let me = browser.me(&base).await.expect(200);
    // The name is published, so that no e-mail becomes one.
    assert_eq!((&me["name"], &me["class"], &me["admin"]), (&json!("alice"), &json!("user"), &json!(false)), "{me}");
    assert_eq!(me["groups"][0]["name"], "Reviewers", "{me}");
    assert!(me["human_authority_until"].is_string(), "the provider says that the proof is fresh: {me}");

    // The same answer again, even with the cookie of the sign-in: code and state count once.
    let mut replaying = Browser { cookies: before };
    let replayed = replaying.get(&callback).await;
    assert_eq!(replayed.status, 401, "{}", replayed.text());
    assert!(replayed.header("content-type").starts_with("text/html"));
    assert_eq!(replaying.me(&base).await.status, 401);

    // A used code with the state of another sign-in.
    let code = callback.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
    let mut second = browser.led_to_callback(&start(&base), "alice").await;
    let pairs: Vec<(String, String)> = second.query_pairs().into_owned().collect();
    second.query_pairs_mut().clear().extend_pairs(
        pairs.iter().map(|(name, value)| (name.as_str(), if name == "code" { &code } else { value.as_str() })),
    );
    assert_eq!(browser.get(&second).await.status, 401);

    // The second time the same person is the same user.
    let mut elsewhere = Browser::default();
    let callback = elsewhere.led_to_callback(&start(&base), "alice").await;
    assert_eq!(elsewhere.get(&callback).await.status, 303);
    assert_eq!(elsewhere.me(&base).await.expect(200)["id"], me["id"]);
    assert!(!server.log_text().contains(OIDC_SECRET) && !server.log_text().contains(&code));
}

#[tokio::test]
async fn answers_that_belong_to_no_sign_in_here_are_refused() {
    let port = free_port();
    let (server, base) = server(port, "").await;
    let _provider = OidcProvider::real(port, base.join("/api/v1/session/oidc/callback").unwrap().as_str());
    // Another browser brings the answer.
    let callback = Browser::default().led_to_callback(&start(&base), "alice").await;
    assert_eq!(Browser::default().get(&callback).await.status, 401);
    // A state that was never given out.
    let mut browser = Browser::default();
    let mut callback = browser.led_to_callback(&start(&base), "alice").await;
    callback.set_query(Some("code=x&state=other"));
    assert_eq!(browser.get(&callback).await.status, 401);
    // The provider refuses. It knows each browser again that signed in before.
    let mut browser = Browser::default();
    let refused = browser.led_to_callback(&start(&base), "mallory").await;
    let refused = browser.get(&refused).await;
    assert_eq!(refused.status, 401);
    assert!(refused.text().contains("access_denied"), "{}", refused.text());
    // Nobody here has that identity, and nobody is made.
    let mut browser = Browser::default();
    let unknown = browser.led_to_callback(&start(&base), "bob").await;
    let unknown = browser.get(&unknown).await;
    assert_eq!(unknown.status, 403, "{}", unknown.text());
    assert!(unknown.text().contains("bob of"), "{}", unknown.text());
    // Until an administrator says who it is.
    server.token("robert", &[]);
    let issuer = OidcProvider::issuer_on(port);
    let mut link = server.command_of(&["admin", "link-identity", "robert"]);
    Finished::of(link.args(["--issuer", &issuer, "--subject", "bob"])).expect(0);
    let callback = browser.led_to_callback(&start(&base), "bob").await;
    assert_eq!(browser.get(&callback).await.status, 303);
    assert_eq!(browser.me(&base).await.expect(200)["name"], "robert");
}

#[tokio::test]
async fn forged_identity_tokens_are_refused() {
    let port = free_port();
    let (_server, base) = server(port, "create_users = true\n").await;
    let forger = OidcProvider::forger(port);
    for (wishes, iss, status) in [
        (json!({}), Some(forger.issuer()), 303),
        (json!({ "azp": "pinhole" }), Some(forger.issuer()), 303),
        (json!({ "nonce": "wrong" }), Some(forger.issuer()), 401),
        (json!({ "nonce": null }), Some(forger.issuer()), 401),
        (json!({ "iss": "http://127.0.0.1:1" }), Some(forger.issuer()), 401),
        (json!({ "aud": "somebody" }), Some(forger.issuer()), 401),
        (json!({ "aud": ["pinhole", "somebody"] }), Some(forger.issuer()), 401),
        (json!({ "azp": "somebody" }), Some(forger.issuer()), 401),
        (json!({ "exp": 1_000_000_000 }), Some(forger.issuer()), 401),
        (json!({ "key": "other" }), Some(forger.issuer()), 401),
        (json!({ "alg": "none" }), Some(forger.issuer()), 401),
        (json!({ "alg": "HS256" }), Some(forger.issuer()), 401),
        (json!({}), Some("http://127.0.0.1:1"), 401),
        (json!({}), None, 401),
    ] {
        let address = format!("{wishes} answered by {iss:?}");
        let (status_found, text) = forged(&base, wishes, iss, None).await;
        assert_eq!(status_found, status, "{address}: {text}");
    }
}

/// Begins a sign-in, or a re-authentication of `browser`, and brings back an identity token as wished.
async fn forged(base: &Url, mut wishes: Value, iss: Option<&str>, browser: Option<&mut Browser>) -> (u16, String) {
    let mut fresh = Browser::default();
    let again = browser.is_some();
    let browser = browser.unwrap_or(&mut fresh);
    let mut url = start(base);
    if again {
        url.query_pairs_mut().append_pair("reauthenticate", "true");
    }
    let begun = browser.get(&url).await;
    assert_eq!(begun.status, 303, "{}", begun.text());
    let authorize = Url::parse(begun.header("location")).unwrap();
    let query: BTreeMap<_, _> = authorize.query_pairs().into_owned().collect();
    assert_eq!(query["code_challenge_method"], "S256");
    assert_eq!(query["max_age"], if again { "0" } else { "43200" });
    let given = wishes.as_object_mut().unwrap();
    given.entry("nonce").or_insert_with(|| query["nonce"].clone().into());
    let mut callback = base.join("/api/v1/session/oidc/callback").unwrap();
    let code = URL_SAFE_NO_PAD.encode(wishes.to_string());
    callback.query_pairs_mut().append_pair("code", &code).append_pair("state", &query["state"]);
    if let Some(iss) = iss {
        callback.query_pairs_mut().append_pair("iss", iss);
    }
    let answer = browser.get(&callback).await;
    (answer.status.as_u16(), answer.text())
}

#[tokio::test]
async fn proving_again_needs_a_fresh_proof_by_the_same_person() {
    let port = free_port();
    let (server, base) = server(port, "create_users = true\n").await;
    let forger = OidcProvider::forger(port);
    let issuer = Some(forger.issuer());
    let mut browser = Browser::default();
    // A sign-in as such asks for no fresh proof.
    let begun = browser.get(&start(&base)).await;
    let authorize = Url::parse(begun.header("location")).unwrap();
    let query: BTreeMap<_, _> = authorize.query_pairs().into_owned().collect();
    let mut callback = base.join("/api/v1/session/oidc/callback").unwrap();
    let code = URL_SAFE_NO_PAD.encode(json!({ "nonce": query["nonce"] }).to_string());
    callback.query_pairs_mut().append_pair("code", &code).append_pair("state", &query["state"]);
    callback.query_pairs_mut().append_pair("iss", forger.issuer());
    assert_eq!(browser.get(&callback).await.status, 303);
    assert_eq!(browser.me(&base).await.expect(200)["human_authority_until"], json!(null));
    let old = browser.cookies.clone();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    for (wishes, status) in [
        (json!({}), 401),
        (json!({ "auth_time": now - 600 }), 401),
        (json!({ "auth_time": now, "sub": "somebody else" }), 401),
        (json!({ "auth_time": now }), 303),
    ] {
        let told = wishes.to_string();
        let (found, text) = forged(&base, wishes, issuer, Some(&mut browser)).await;
        assert_eq!(found, status, "{told}: {text}");
    }
    assert!(browser.me(&base).await.expect(200)["human_authority_until"].is_string());
    // The proof gave the session another secret.
    assert_eq!(browser.me(&base).await.status, 200);
    assert_eq!(Browser { cookies: old }.me(&base).await.status, 401);
    // Whoever is disabled is signed out, and does not come in again.
    let me = browser.me(&base).await.expect(200);
    let admin = server.client(Some(&server.token("root", &["--admin"])));
    let path = format!("/api/v1/admin/principals/{}", me["id"].as_str().unwrap());
    Answer::of(admin.request(Method::PUT, &path).json(&json!({ "disabled": true }))).await.expect(200);
    assert_eq!(browser.me(&base).await.status, 401);
    assert_eq!(forged(&base, json!({}), issuer, None).await.0, 401);
}

#[tokio::test]
async fn the_first_administrator_gets_a_link_in_a_file() {
    let mut server = Server::start(Setup { capture_processes: 0, ..Setup::default() }).await;
    let file = server.data_dir().join("first-admin-sign-in");
    // A start that ended between the administrator and the file, or a link that nobody used in time.
    server.kill();
    fs::remove_file(&file).unwrap();
    server.run().await;
    let link = fs::read_to_string(&file).unwrap().trim().to_owned();
    for private in ["first-admin-sign-in", "pinhole.db", "pinhole.db-wal", "pinhole.db-shm"] {
        let facts = fs::metadata(server.data_dir().join(private)).unwrap();
        assert_eq!(facts.permissions().mode() & 0o777, 0o600, "{private}");
    }
    assert!(server.log_text().contains(file.to_str().unwrap()));
    let secret = link.rsplit('/').next().unwrap();
    assert!(!server.log_text().contains(secret));
    let path = Url::parse(&link).unwrap().path().to_owned();
    // Looking does not use it up.
    for _ in 0..2 {
        assert!(server.client(None).get(&path).await.text().contains("Choose a password"));
    }
    let cookie = server.use_sign_in_link(&path).await;
    let me = server.client(None).request(Method::GET, "/api/v1/me").header("Cookie", &cookie);
    let me = Answer::of(me).await.expect(200);
    assert_eq!((&me["name"], &me["admin"]), (&json!("admin"), &json!(true)));
    assert_eq!(server.client(None).get(&path).await.status, 404);
    // A later link ends the one before, and is never in the log.
    let (first, second) = (server.sign_in_link("admin"), server.sign_in_link("admin"));
    assert_eq!(server.client(None).get(&first).await.status, 404);
    assert_eq!(server.client(None).get(&second).await.status, 200);
    assert!(!server.log_text().contains(second.rsplit('/').next().unwrap()));
}
