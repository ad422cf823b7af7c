//! Git remotes over REST: every misuse is refused by name, and no answer holds a credential.

use axum::{body::Body, http::Request};
use pinhole_testkit::{SshKey, certificate};
use serde_json::{Value, json};

use crate::world::{Answer, World};

const TOKEN: &str = "plaintext-of-a-token-48151623";
/// Of nobody.
const HOST_KEY: &str = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const SSH: &str = "ssh://git@git.example/shop.git";

async fn put(world: &World, token: &str, slug: &str, version: Option<u32>, members: &Value) -> Answer {
    let mut body = json!({ "url": "https://git.example/shop.git", "branches": ["main", "release/*"] });
    for (name, value) in members.as_object().unwrap() {
        body[name] = value.clone();
    }
    let mut request = Request::put(format!("/api/v1/remotes/{slug}"))
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json");
    if let Some(version) = version {
        request = request.header("if-match", format!("\"{version}\""));
    }
    world.send(request.body(Body::from(body.to_string())).unwrap()).await
}

#[tokio::test]
async fn whatever_is_no_server_that_may_be_published_to_is_refused() {
    let world = World::new().await;
    for url in [
        format!("https://ci:{TOKEN}@git.example/a"),
        format!("https://{TOKEN}@git.example/a"),
        format!("ssh://git:{TOKEN}@git.example/a"),
        format!("https://git.example/a?token={TOKEN}"),
        "http://git.example/a".into(),
        "git://git.example/a".into(),
        "file:///srv/a.git".into(),
        "/srv/a.git".into(),
        "../a.git".into(),
        "git@git.example:a.git".into(),
        "ext::sh -c 'touch /tmp/a'".into(),
        "ssh://-oProxyCommand=touch/a".into(),
        "ssh://-oProxyCommand/a".into(),
        "ssh://-l@git.example/a".into(),
        "ssh://git.example/a';id;'".into(),
        "https://-u/a".into(),
        "https://git.example:0/a".into(),
        "x".repeat(2001),
    ] {
        let refused = put(&world, &world.token, "origin", Some(0), &json!({ "url": url })).await;
        assert_eq!(refused.status(), 422, "{url}: {}", refused.text());
        assert_eq!(refused.json()["details"]["field"], "url", "{}", refused.text());
        assert!(!refused.text().contains(TOKEN), "{}", refused.text());
    }
    let listed = world.get("/api/v1/remotes", &world.token).await;
    assert_eq!(listed.json()["remotes"], json!([]));
}

#[tokio::test]
async fn what_does_not_go_with_the_url_is_refused_by_name() {
    let world = World::new().await;
    let (key, encrypted) = (SshKey::made_with(&["-t", "ed25519"]), SshKey::made_with(&["-t", "ed25519", "-N", TOKEN]));
    let password = json!({ "password": { "user": "ci", "password": TOKEN } });
    let ssh = |credential: Value| json!({ "url": SSH, "host_key": HOST_KEY, "credential": credential });
    let with_key = |text: &str| ssh(json!({ "ssh_key": { "private_key": text } }));
    for (members, field) in [
        (json!({ "credential": { "ssh_key": { "private_key": key.private } } }), "credential"),
        (ssh(password.clone()), "credential"),
        (json!({ "credential": TOKEN }), "credential"),
        (json!({ "credential": { "password": TOKEN } }), "credential"),
        (json!({ "credential": { "keep": true, "none": true } }), "credential"),
        (with_key(&key.public), "credential.ssh_key.private_key"),
        (with_key(&encrypted.private), "credential.ssh_key.private_key"),
        (with_key(&key.private[..200]), "credential.ssh_key.private_key"),
        (json!({ "url": SSH }), "host_key"),
        (json!({ "url": SSH, "host_key": "MD5:16:27:ac" }), "host_key"),
        (json!({ "url": SSH, "host_key": key.public }), "host_key"),
        (json!({ "host_key": HOST_KEY }), "host_key"),
        (json!({ "certificate_authorities": "none" }), "certificate_authorities"),
        (json!({ "certificate_authorities": key.private }), "certificate_authorities"),
        (
            json!({ "url": SSH, "host_key": HOST_KEY, "certificate_authorities": certificate().0 }),
            "certificate_authorities",
        ),
        (json!({ "branches": ["main", "-f"] }), "branches[1]"),
        (json!({ "branches": ["a/*/b"] }), "branches[0]"),
        (json!({ "branches": ["refs/../x"] }), "branches[0]"),
        (json!({ "branches": [""] }), "branches"),
        (json!({ "branches": vec!["main"; 51] }), "branches"),
        (json!({ "colour": "red" }), "colour"),
    ] {
        let refused = put(&world, &world.token, "origin", Some(0), &members).await;
        assert_eq!(refused.status(), 422, "{members}: {}", refused.text());
        assert_eq!(refused.json()["details"]["field"], field, "{}", refused.text());
        for secret in [TOKEN, key.private.lines().nth(1).unwrap()] {
            assert!(!refused.text().contains(secret), "{}", refused.text());
        }
    }
}

#[tokio::test]
async fn only_an_administrator_who_saw_the_present_version_changes_a_remote() {
    let world = World::new().await;
    let given = json!({ "credential": { "password": { "user": "ci", "password": TOKEN } } });
    let stranger = put(&world, &world.stranger, "origin", Some(0), &given).await;
    assert_eq!((stranger.status(), &stranger.json()["code"]), (403.try_into().unwrap(), &json!("permission_denied")));
    assert_eq!(world.get("/api/v1/remotes", &world.stranger).await.status(), 403);
    assert_eq!(put(&world, &world.token, "origin", None, &given).await.status(), 428);
    let made = put(&world, &world.token, "origin", Some(0), &given).await;
    assert_eq!((made.status(), &made.json()["version"]), (200.try_into().unwrap(), &json!(1)), "{}", made.text());
    world.app.put_remote(&"local".parse().unwrap(), "/srv/a.git", &["main".into()]).await.unwrap();
    let elsewhere = json!({ "url": "https://git.evil/shop.git", "credential": { "keep": true } });
    for (slug, version, members, reason) in [
        ("origin", 0, &given, "stale_version"),
        ("origin", 7, &given, "stale_version"),
        ("origin", 1, &json!({}), "credential_unsaid"),
        ("origin", 1, &elsewhere, "credential_needed"),
        ("local", 1, &given, "configured"),
        ("another", 0, &elsewhere, "no_credential"),
    ] {
        let refused = put(&world, &world.token, slug, Some(version), members).await;
        assert_eq!(refused.status(), 409, "{members}: {}", refused.text());
        assert_eq!(refused.json()["details"]["reason"], reason, "{}", refused.text());
    }
    let listed = world.get("/api/v1/remotes", &world.token).await;
    assert_eq!(listed.json()["remotes"][0], made.json());
    let audit = world.get("/api/v1/admin/audit?limit=200", &world.token).await;
    assert!(audit.text().contains("put_remote") && audit.text().contains("\"user\":\"ci\""), "{}", audit.text());
    for text in [made.text(), listed.text(), audit.text()] {
        assert!(!text.contains(TOKEN), "{text}");
    }
}
