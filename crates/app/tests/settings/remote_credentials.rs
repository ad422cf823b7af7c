//! Credentials of Git remotes: given, kept, removed, sealed anew, and found nowhere.

use std::sync::Arc;

use pinhole_app::{App, Parts, Resealed, Settings};
use pinhole_blobs::Blobs;
use pinhole_core::{RemoteAccess, RemoteCredential, Result};
use pinhole_jobs::WakeSender;
use pinhole_seal::MasterKeys;
use pinhole_testkit::{Engine, SeededIds, SshKey, certificate};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    rows::on_both_engines,
    secrets::{OTHER_KEY, everything},
    support::{Bench, MASTER_KEY, refused},
};

on_both_engines! {
    a_credential_stays_with_its_server
    what_a_remote_is_known_by_fits_its_url
    a_credential_is_found_nowhere
    credentials_are_sealed_anew_under_another_key
    the_configuration_seals_what_its_files_hold_once
}

const PASSWORD: &str = "plaintext-of-a-token-48151623";
/// Of nobody.
const HOST_KEY: &str = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const HTTPS: &str = "https://git.example/shop.git";
const SSH: &str = "ssh://git@git.example/shop.git";

fn password() -> Value {
    json!({ "password": { "user": "ci", "password": PASSWORD } })
}

/// Puts the remote `origin` as its owner, with these members besides.
pub(crate) async fn put(bench: &Bench, version: u32, members: Value) -> Result<Value> {
    let mut input = json!({ "slug": "origin", "url": HTTPS, "branches": ["main"], "expected_version": version });
    for (name, value) in members.as_object().unwrap() {
        input[name] = value.clone();
    }
    bench.call(&bench.owner, "put_remote", input).await
}

async fn a_credential_stays_with_its_server(engine: Engine) {
    let bench = Bench::on(engine).await;
    let missing = put(&bench, 0, json!({ "credential": { "keep": true } })).await;
    assert_eq!(refused(missing), ("conflict", "no_credential".into()));
    let made = put(&bench, 0, json!({ "credential": password() })).await.unwrap();
    let shown = &made["credential"];
    assert_eq!((&shown["kind"], &shown["user"]), (&json!("password"), &json!("ci")), "{made}");
    let unsaid = put(&bench, 1, json!({ "branches": ["release/*"] })).await;
    assert_eq!(refused(unsaid), ("conflict", "credential_unsaid".into()));
    let keep = |members: Value| {
        let mut members = members;
        members["credential"] = json!({ "keep": true });
        members
    };
    for elsewhere in [
        json!({ "url": "https://git.example.evil/shop.git" }),
        json!({ "url": "https://git.example:8443/shop.git" }),
        json!({ "url": SSH, "host_key": HOST_KEY }),
        json!({ "certificate_authorities": certificate().0 }),
    ] {
        let outcome = put(&bench, 1, keep(elsewhere.clone())).await;
        assert_eq!(refused(outcome), ("conflict", "credential_needed".into()), "{elsewhere}");
    }
    let same = keep(json!({ "url": "https://GIT.example:443/other.git", "branches": ["*"] }));
    let kept = put(&bench, 1, same).await.unwrap();
    assert_eq!((&kept["credential"], &kept["url"]), (shown, &json!("https://git.example/other.git")));
    let moved = json!({ "url": "https://new.example/shop.git", "credential": password() });
    assert_eq!(put(&bench, 2, moved).await.unwrap()["credential"]["user"], "ci");
    let removed = put(&bench, 3, json!({ "credential": { "none": true } })).await.unwrap();
    assert_eq!(removed.get("credential"), None);
    assert_eq!(put(&bench, 4, json!({})).await.unwrap()["version"], 5, "nothing is left to be said");

    let key = SshKey::made_with(&["-t", "ed25519"]);
    let given = json!({ "ssh_key": { "private_key": key.private } });
    let ssh = put(&bench, 5, json!({ "url": SSH, "host_key": HOST_KEY, "credential": given })).await.unwrap();
    let shown = &ssh["credential"];
    assert_eq!((&shown["kind"], &shown["fingerprint"]), (&json!("ssh_key"), &json!(key.fingerprint)), "{ssh}");
    assert!(key.public.starts_with(shown["public_key"].as_str().unwrap()));
    let other = HOST_KEY.replace("AA", "BA");
    let outcome = put(&bench, 6, keep(json!({ "url": SSH, "host_key": other }))).await;
    assert_eq!(refused(outcome), ("conflict", "credential_needed".into()));
    let listed = bench.call(&bench.owner, "list_remotes", json!({})).await.unwrap();
    assert_eq!(listed["remotes"][0], ssh);
}

async fn what_a_remote_is_known_by_fits_its_url(engine: Engine) {
    let bench = Bench::on(engine).await;
    let key = SshKey::made_with(&["-t", "ed25519"]);
    let ssh_key = json!({ "ssh_key": { "private_key": key.private } });
    let (certificate, digest) = certificate();
    let secret = |user: &str, password: &str| json!({ "password": { "user": user, "password": password } });
    for (members, field) in [
        (json!({ "url": SSH }), "host_key"),
        (json!({ "host_key": HOST_KEY }), "host_key"),
        (json!({ "url": SSH, "host_key": "MD5:00:11:22" }), "host_key"),
        (json!({ "url": SSH, "host_key": HOST_KEY.to_lowercase() }), "host_key"),
        (json!({ "url": SSH, "host_key": format!("{}B", &HOST_KEY[..49]) }), "host_key"),
        (
            json!({ "url": SSH, "host_key": HOST_KEY, "certificate_authorities": certificate }),
            "certificate_authorities",
        ),
        (json!({ "certificate_authorities": "-----BEGIN CERTIFICATE-----" }), "certificate_authorities"),
        (json!({ "certificate_authorities": key.private }), "certificate_authorities"),
        (json!({ "credential": ssh_key }), "credential"),
        (json!({ "url": SSH, "host_key": HOST_KEY, "credential": password() }), "credential"),
        (json!({ "credential": secret("a:b", "x") }), "credential.password.user"),
        (json!({ "credential": secret("ci", "x\ny") }), "credential.password.password"),
        (json!({ "credential": PASSWORD }), "credential"),
        (
            json!({ "url": SSH, "host_key": HOST_KEY, "credential": { "ssh_key": { "private_key": key.public } } }),
            "credential.ssh_key.private_key",
        ),
    ] {
        let error = put(&bench, 0, members.clone()).await.expect_err("it does not fit");
        assert_eq!(error.details().field.as_deref(), Some(field), "{members}: {error}");
        assert!(!format!("{error:?}").contains(PASSWORD), "{error:?}");
    }
    let made = put(&bench, 0, json!({ "certificate_authorities": certificate })).await.unwrap();
    assert_eq!(made["certificate_authorities"], json!([format!("sha256:{digest}")]));
}

async fn a_credential_is_found_nowhere(engine: Engine) {
    let bench = Bench::on(engine).await;
    let key = SshKey::made_with(&["-t", "ed25519"]);
    let body: Vec<_> = key.private.lines().filter(|line| !line.starts_with('-')).skip(1).collect();
    let ssh_key = json!({ "ssh_key": { "private_key": key.private } });
    let mut told = String::new();
    for (version, members) in [
        (7, json!({ "credential": password() })),
        (0, json!({ "credential": PASSWORD })),
        (0, json!({ "credential": { "password": PASSWORD } })),
        (0, json!({ "credential": { "password": { "user": ["ci"], "password": PASSWORD } } })),
        (0, json!({ "url": format!("https://ci:{PASSWORD}@git.example/a"), "credential": { "none": true } })),
        (0, json!({ "credential": ssh_key })),
        (0, json!({ "certificate_authorities": key.private })),
        (0, json!({ "url": SSH, "host_key": PASSWORD })),
        (0, json!({ "credential": password() })),
        (1, json!({ "url": SSH, "host_key": HOST_KEY, "credential": ssh_key })),
        (2, json!({ "credential": password() })),
    ] {
        match put(&bench, version, members).await {
            Ok(view) => told += &view.to_string(),
            Err(error) => told += &format!("{error:?} {:?}", error.details()),
        }
    }
    told += &bench.call(&bench.owner, "list_remotes", json!({})).await.unwrap().to_string();
    assert!(told.contains(&key.fingerprint) && told.contains("\"version\":3"), "the last three were stored: {told}");
    let rows = everything(&bench.database);
    assert!(rows.contains("put_remote") && rows.contains(HOST_KEY), "the audit log is among the rows");
    for (place, text) in [("answers", told), ("rows", rows)] {
        for secret in body.iter().copied().chain([PASSWORD]) {
            assert!(!text.contains(secret), "{secret} is in the {place}");
        }
    }
}

/// The application with other master keys.
pub(crate) fn with_keys(bench: &Bench, blobs: &TempDir, keys: &str) -> App {
    let ids = Arc::new(SeededIds::new(7));
    App::new(Parts {
        store: bench.app.store().clone(),
        blobs: Blobs::local(blobs.path()).unwrap(),
        sealer: Some(Arc::new(MasterKeys::given(keys, ids.clone()).unwrap())),
        ids,
        keyring: None,
        log: None,
        wake: WakeSender::new(),
        settings: Settings::default(),
    })
}

async fn credentials_are_sealed_anew_under_another_key(engine: Engine) {
    let (bench, blobs) = (Bench::on(engine).await, TempDir::with_prefix("pinhole-blobs-").unwrap());
    // Sealed at its first version, and kept through another.
    put(&bench, 0, json!({ "credential": password() })).await.unwrap();
    put(&bench, 1, json!({ "credential": { "keep": true }, "branches": ["*"] })).await.unwrap();
    let both = with_keys(&bench, &blobs, &format!("{OTHER_KEY} {MASTER_KEY}"));
    assert!(both.has_secrets_to_reseal().await.unwrap());
    assert_eq!(both.reseal_secrets().await.unwrap(), Resealed { remotes: 1, ..Resealed::default() });
    assert!(!both.has_secrets_to_reseal().await.unwrap());
    assert_eq!(both.reseal_secrets().await.unwrap(), Resealed::default());
    let listed = bench.call(&bench.owner, "list_remotes", json!({})).await.unwrap();
    assert_eq!(
        (&listed["remotes"][0]["version"], &listed["remotes"][0]["credential"]["user"]),
        (&json!(2), &json!("ci"))
    );
}

async fn the_configuration_seals_what_its_files_hold_once(engine: Engine) {
    let bench = Bench::on(engine).await;
    let slug = "origin".parse().unwrap();
    let credential = |password: &str| RemoteCredential::Password { user: "ci".into(), password: password.into() };
    let access = |password: &str| RemoteAccess { credential: Some(credential(password)), ..RemoteAccess::default() };
    let put = async |password: &str| {
        bench.app.put_configured_remote(&slug, HTTPS, &["main".into()], &access(password)).await.unwrap();
        let listed = bench.call(&bench.owner, "list_remotes", json!({})).await.unwrap();
        listed["remotes"][0]["version"].as_u64().unwrap()
    };
    assert_eq!(put(PASSWORD).await, 1);
    assert_eq!(put(PASSWORD).await, 1, "nothing changed");
    assert_eq!(put("another").await, 2);
    assert!(!everything(&bench.database).contains(PASSWORD));
    for wrong in ["http://git.example/a", "https://ci:x@git.example/a", "git://git.example/a", "a/b", "ext::sh -c id"] {
        let outcome = bench.app.put_remote(&slug, wrong, &["main".into()]).await;
        assert_eq!(outcome.unwrap_err().details().field.as_deref(), Some("url"), "{wrong}");
    }
}
