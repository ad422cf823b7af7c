//! The pages, as people use them with a real browser: signing in, looking at pictures, reviewing, deciding, signing out.

use std::time::Duration;

use chromiumoxide::cdp::browser_protocol::network::CookieSameSite;
use pinhole_testkit::{Site, free_port, wait_for};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, OidcProvider, PASSWORD, Person, Project, Server, Setup};

/// How long pictures may take.
const PICTURES_THERE: Duration = Duration::from_secs(30);
const SESSION: &str = "__Host-pinhole";
const SCENARIO: &str = "\
schema: pinhole.scenario.v1
title: The cart
steps:
  - navigate: /cart.html
  - capture: { name: cart }
";
/// How many pictures of the page have been loaded.
const PICTURES: &str = "[...document.images].filter((picture) => picture.complete && picture.naturalWidth > 0).length";

#[tokio::test]
async fn people_sign_in_look_review_decide_and_sign_out() {
    let port = free_port();
    let (configuration, _secret) = OidcProvider::configuration(port, "create_users = true\n");
    let server = Server::start(Setup { configuration, ..Setup::default() }).await;
    let _provider = OidcProvider::real(port, server.at("/api/v1/session/oidc/callback").as_str());
    let site = Site::named("demo");
    let project = Project::prepare(&server, &site, SCENARIO).await;
    let before = project.run("before", &json!({ "none": true })).await;
    site.set_switch("new-price", true);
    let after = project.run("after", &json!({ "receipt": before["checkpoints"][0]["receipt_id"] })).await;

    let rob = Person::new().await;
    review(&server, &rob, &after).await;
    let approval = ask(&project, &after).await;
    let alice = Person::new().await;
    decide(&server, &alice, &approval).await;
    for person in [rob, alice] {
        sign_out(&server, &person).await;
        person.leave().await;
    }
}

/// Rob chooses a password, signs in with it and accepts what he sees on the page of a run.
async fn review(server: &Server, rob: &Person, result: &Value) {
    let run = format!("/runs/{}", result["run_id"].as_str().unwrap());
    rob.go(server.at(&server.sign_in_link("rob"))).await;
    for field in ["#password", "#again"] {
        rob.fill(field, PASSWORD).await;
    }
    rob.follow("main button").await;
    sign_out(server, rob).await;
    rob.go(server.at(&run)).await;
    rob.fill("#name", "rob").await;
    rob.fill("#password", PASSWORD).await;
    rob.follow("main button").await;
    assert_eq!(rob.path().await, run, "signing in leads to where one wanted to go");

    let cookie = rob.cookie(SESSION).await.unwrap();
    assert!(cookie.http_only && cookie.secure && cookie.session, "{cookie:?}");
    assert_eq!((cookie.path.as_str(), cookie.domain.as_str()), ("/", "127.0.0.1"));
    assert_eq!(cookie.same_site, Some(CookieSameSite::Lax));
    assert_eq!(rob.evaluate::<String>("document.cookie").await.unwrap(), "", "no script sees it");

    let text = rob.text().await;
    assert!(["changed", "Baseline", "New picture", "Difference"].iter().all(|word| text.contains(word)), "{text}");
    // The last ones are loaded when they are scrolled to.
    rob.evaluate::<bool>("document.images[2].scrollIntoView() === undefined").await.unwrap();
    wait_for(PICTURES_THERE, "three pictures are there", async || {
        (rob.evaluate(PICTURES).await == Some(3)).then_some(())
    })
    .await;
    rob.click("input[name=receipts]").await;
    rob.fill("#reason", "the new price\nis right").await;
    rob.follow("button[value=accept]").await;
    let text = rob.text().await;
    assert!(text.contains("rob") && text.contains("the new price\nis right"), "{text}");
}

/// The author asks for approval of what was reviewed, and gives the page's path.
async fn ask(project: &Project, result: &Value) -> String {
    let receipt = &result["checkpoints"][0]["receipt_id"];
    let candidate = json!({ "receipt_id": receipt });
    let candidate = project.author.post_keyed("/api/v1/baselines/capture-visual", "candidate", &candidate).await;
    let request = json!({ "project": "shop", "items": [{ "candidate_id": candidate.expect(201)["id"] }] });
    let approval = project.author.post_keyed("/api/v1/approvals", "approval", &request).await.expect(201);
    format!("/approvals/{}", approval["id"].as_str().unwrap())
}

/// Alice signs in at the provider, proves again who she is, and approves what she sees.
async fn decide(server: &Server, alice: &Person, approval: &str) {
    alice.go(server.at(approval)).await;
    at_the_provider(alice).await;
    assert_eq!(alice.path().await, approval);
    assert!(alice.text().await.contains("nothing here that you may see"), "{}", alice.text().await);
    server.grant("alice", "approver", "shop");

    let before = alice.cookie(SESSION).await.unwrap();
    alice.go(server.at(&format!("/re-authenticate?return_to={approval}"))).await;
    at_the_provider(alice).await;
    assert_eq!(alice.path().await, approval);
    assert_ne!(alice.cookie(SESSION).await.unwrap().value, before.value, "a proof gives the session another secret");
    assert_eq!(status(server, &before.value).await, 401);

    let text = alice.text().await;
    assert!(["pending", "the new price\nis right", "Candidate"].iter().all(|word| text.contains(word)), "{text}");
    alice.fill("#reason", "so it was ordered").await;
    alice.follow("button[value=approve]").await;
    let text = alice.text().await;
    assert!(["approved", "alice", "by session", "so it was ordered"].iter().all(|word| text.contains(word)), "{text}");
    assert!(alice.evaluate::<bool>("document.querySelector('#decide') === null").await.unwrap(), "it is decided");
}

/// From the link on a page of the server to the provider, and back.
async fn at_the_provider(alice: &Person) {
    alice.follow("a.button").await;
    alice.fill("input[name=login]", "alice").await;
    alice.follow("button").await;
}

/// Signs out; what the browser had opens nothing any more.
async fn sign_out(server: &Server, person: &Person) {
    let cookie = person.cookie(SESSION).await.unwrap();
    assert_eq!(status(server, &cookie.value).await, 200);
    person.follow("header button").await;
    assert!(person.text().await.contains("You are signed out"));
    assert!(person.cookie(SESSION).await.is_none());
    assert_eq!(status(server, &cookie.value).await, 401);
}

/// How a call with this session's cookie is answered.
async fn status(server: &Server, secret: &str) -> u16 {
    let request =
        server.client(None).request(Method::GET, "/api/v1/me").header("Cookie", format!("{SESSION}={secret}"));
    Answer::of(request).await.status.as_u16()
}
