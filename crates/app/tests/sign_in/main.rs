//! Passwords, links and sessions over time.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where its preparation fails")]

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the bench serves other suites, too")]
mod support;

use std::time::Duration;

use pinhole_app::{IdentityPolicy, NewSession, ProvenIdentity};
use pinhole_core::{Actor, Code, Error, Ids as _, PrincipalClass, RandomIds, RequestId, Timestamp};
use pinhole_testkit::Engine;
use serde_json::{Value, json};
use support::Bench;

const PASSWORD: &str = "correct horse battery";
const MINUTE: Duration = Duration::from_secs(60);

async fn bench(engine: Engine) -> Bench {
    let bench = Bench::on(engine).await;
    let link = bench.app.create_sign_in_link(&"Olga".parse().unwrap()).await.unwrap();
    bench.app.use_sign_in_link(&link.secret, PASSWORD, "test", None).await.unwrap();
    bench
}

async fn sign_in(bench: &Bench, name: &str, password: &str) -> Result<String, Error> {
    bench.app.sign_in_with_password(name, password, "test", None).await.map(|session| session.secret)
}

async fn actor_of(bench: &Bench, secret: &str) -> Actor {
    bench.app.authenticate_session(secret, RequestId::from_uuid(RandomIds.uuid())).await.unwrap()
}

async fn goes_on(bench: &Bench, secret: &str) -> bool {
    bench.app.authenticate_session(secret, RequestId::from_uuid(RandomIds.uuid())).await.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_wrong_passwords_are_enough_on_sqlite() {
    ten_wrong_passwords_are_enough(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_wrong_passwords_are_enough_on_postgres() {
    ten_wrong_passwords_are_enough(Engine::Postgres).await;
}

async fn ten_wrong_passwords_are_enough(engine: Engine) {
    let bench = bench(engine).await;
    for name in ["Olga", "nobody"] {
        for _ in 0..10 {
            assert_eq!(sign_in(&bench, name, "wrong").await.unwrap_err().code(), Code::Unauthenticated);
        }
        let error = sign_in(&bench, name, PASSWORD).await.unwrap_err();
        assert_eq!((error.code(), error.reason()), (Code::LimitExceeded, Some("rate")), "{name}");
        assert!((800..=901).contains(&error.details().retry_after_s.unwrap()), "{:?}", error.details());
    }
    if engine == Engine::Sqlite {
        bench.clock.advance(15 * MINUTE);
        sign_in(&bench, "Olga", PASSWORD).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_right_password_clears_the_count() {
    let bench = bench(Engine::Sqlite).await;
    for _ in 0..3 {
        for _ in 0..9 {
            sign_in(&bench, "Olga", "wrong").await.unwrap_err();
        }
        sign_in(&bench, "Olga", PASSWORD).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_attempts_at_once_no_more_are_made_than_of_one_after_the_other() {
    for engine in Engine::ALL {
        let bench = bench(engine).await;
        let attempts = (0..30).map(|_| sign_in(&bench, "Olga", "wrong"));
        let outcomes = futures::future::join_all(attempts).await;
        let codes: Vec<_> = outcomes.into_iter().map(|outcome| outcome.unwrap_err().code()).collect();
        // Some may find the database or the hash too busy: they try nothing either.
        let made = codes.iter().filter(|code| **code == Code::Unauthenticated).count();
        assert!((1..=10).contains(&made) && codes.contains(&Code::LimitExceeded), "{codes:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_to_prove_it_again_count_together() {
    for engine in Engine::ALL {
        let bench = bench(engine).await;
        let secret = sign_in(&bench, "Olga", PASSWORD).await.unwrap();
        let session = actor_of(&bench, &secret).await;
        let again = async |password| bench.app.reauthenticate_with_password(&session, password).await.map(drop);
        let change = async |password| bench.app.change_password(&session, Some(password), "seventeen sparrows").await;
        for _ in 0..5 {
            assert_eq!(again("wrong").await.unwrap_err().code(), Code::Unauthenticated);
            assert_eq!(change("wrong").await.err().unwrap().code(), Code::Unauthenticated);
        }
        for refused in [again(PASSWORD).await.err(), change(PASSWORD).await.err()] {
            assert_eq!(refused.map(|error| error.code()), Some(Code::LimitExceeded));
        }
        // Whoever is locked out has a link made, as the refusal says.
        let link = bench.app.create_sign_in_link(&"Olga".parse().unwrap()).await.unwrap();
        bench.app.use_sign_in_link(&link.secret, PASSWORD, "test", None).await.unwrap();
        sign_in(&bench, "Olga", PASSWORD).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn proving_it_again_renews_the_secret_and_the_authority_but_not_the_end() {
    let bench = bench(Engine::Sqlite).await;
    let begun = bench.app.sign_in_with_password("Olga", PASSWORD, "test", None).await.unwrap();
    let authority = async |secret: &str| {
        let actor = actor_of(&bench, secret).await;
        bench.call(&actor, "whoami", json!({})).await.unwrap()["human_authority_until"].clone()
    };
    let mut secrets = vec![begun.secret];
    for _ in 0..2 {
        bench.clock.advance(20 * MINUTE);
        let latest = &secrets[secrets.len() - 1];
        assert!(authority(latest).await.is_null());
        let session = actor_of(&bench, latest).await;
        let renewed = bench.app.reauthenticate_with_password(&session, PASSWORD).await.unwrap();
        assert_eq!((renewed.id, renewed.expires_at), (begun.id, begun.expires_at));
        assert!(authority(&renewed.secret).await.is_string());
        for earlier in &secrets {
            assert!(!goes_on(&bench, earlier).await);
        }
        secrets.push(renewed.secret);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_when_it_is_left_alone() {
    let bench = bench(Engine::Sqlite).await;
    let secret = sign_in(&bench, "Olga", PASSWORD).await.unwrap();
    bench.clock.advance(30 * MINUTE);
    assert!(goes_on(&bench, &secret).await);
    bench.clock.advance(Duration::from_micros(1));
    assert!(!goes_on(&bench, &secret).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_ends_after_a_day() {
    let bench = bench(Engine::Sqlite).await;
    let link = bench.app.create_sign_in_link(&"Olga".parse().unwrap()).await.unwrap();
    bench.clock.advance(24 * 60 * MINUTE - Duration::from_micros(1));
    bench.app.look_at_sign_in_link(&link.secret).await.unwrap();
    bench.clock.advance(Duration::from_micros(1));
    assert_eq!(bench.app.look_at_sign_in_link(&link.secret).await.unwrap_err().code(), Code::NotFound);
    let used = bench.app.use_sign_in_link(&link.secret, PASSWORD, "test", None).await;
    assert_eq!(used.err().map(|error| error.code()), Some(Code::NotFound));
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_keep_nobody_from_proving_again() {
    let bench = bench(Engine::Sqlite).await;
    let session = actor_of(&bench, &sign_in(&bench, "Olga", PASSWORD).await.unwrap()).await;
    for _ in 0..10 {
        sign_in(&bench, "Olga", "wrong").await.unwrap_err();
    }
    assert_eq!(sign_in(&bench, "Olga", PASSWORD).await.unwrap_err().reason(), Some("rate"));
    let renewed = bench.app.reauthenticate_with_password(&session, PASSWORD).await.unwrap();
    // Whoever has the session and not the password gets no more tries than anybody else.
    let session = actor_of(&bench, &renewed.secret).await;
    for _ in 0..10 {
        let wrong = bench.app.reauthenticate_with_password(&session, "wrong").await;
        assert_eq!(wrong.err().map(|error| error.code()), Some(Code::Unauthenticated));
    }
    let more = bench.app.reauthenticate_with_password(&session, PASSWORD).await;
    assert_eq!(more.err().map(|error| error.code()), Some(Code::LimitExceeded));
}

/// Signs `subject` in at a provider that says when it saw a proof.
async fn identify(bench: &Bench, subject: &str, proved_at: Option<Timestamp>, reviewer: bool) -> NewSession {
    let identity = ProvenIdentity {
        issuer: "https://id.example".into(),
        subject: subject.into(),
        preferred_name: Some(subject.into()),
        groups: Some(if reviewer { vec!["reviewers".into()] } else { Vec::new() }),
        proved_at,
    };
    let groups = [("reviewers".to_owned(), "Reviewers".parse().unwrap())].into();
    let policy = IdentityPolicy { create_users: true, groups };
    bench.app.sign_in_with_identity(&identity, &policy, "test", None).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_proof_of_a_moment_ago_makes_a_session_fresh() {
    let bench = bench(Engine::Sqlite).await;
    let now = bench.app.store().begin_read().await.unwrap().now();
    for (proved_at, is_fresh) in [
        (Some(now), true),
        (Some(now.minus(14 * MINUTE)), true),
        // The provider knew the person from this morning, and asked for nothing.
        (Some(now.minus(16 * MINUTE)), false),
        (None, false),
    ] {
        let session = identify(&bench, "mia", proved_at, false).await;
        let me = bench.call(&actor_of(&bench, &session.secret).await, "whoami", json!({})).await.unwrap();
        assert_eq!(me["human_authority_until"].is_string(), is_fresh, "{proved_at:?}: {me}");
    }
    // A provider whose clock is ahead makes it last no longer.
    let session = identify(&bench, "mia", Some(now.plus(60 * MINUTE)), false).await;
    let me = bench.call(&actor_of(&bench, &session.secret).await, "whoami", json!({})).await.unwrap();
    assert_eq!(me["human_authority_until"], json!(now.plus(15 * MINUTE)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_provider_changes_is_audited_and_counts_as_a_change() {
    for engine in Engine::ALL {
        let bench = bench(engine).await;
        identify(&bench, "mia", None, true).await;
        let groups = bench.call(&bench.owner, "list_groups", json!({})).await.unwrap();
        let group = &groups["groups"][0];
        let seen = bench.call(&bench.owner, "get_group", json!({ "group_id": group["id"] })).await.unwrap();
        let people = bench.call(&bench.owner, "list_principals", json!({})).await.unwrap();
        let mia = people["principals"].as_array().unwrap().iter().find(|one| one["name"] == "mia").unwrap();
        assert_eq!(seen["members"], json!([mia["id"]]));
        for made in [&mia["id"], &group["id"]] {
            let rows = bench.call(&bench.owner, "list_audit", json!({ "object": made })).await.unwrap();
            let is_named = |row: &Value| row["detail"]["name"].is_string() && row["operation"] == "sign_in";
            assert!(rows["entries"].as_array().unwrap().iter().any(is_named), "{rows}");
        }

        // She leaves the group at the provider; whoever saw her in it before does not put her back.
        identify(&bench, "mia", None, false).await;
        let put = json!({
            "group_id": group["id"], "members": seen["members"], "expected_version": seen["version"],
        });
        let stale = bench.call(&bench.owner, "put_group_members", put).await.unwrap_err();
        assert_eq!(stale.reason(), Some("stale_version"), "{engine:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_without_a_way_in_is_none() {
    let bench = bench(Engine::Sqlite).await;
    let name = "admin".parse().unwrap();
    let id = bench.app.ensure_principal(PrincipalClass::User, &name, true).await.unwrap();
    let olga = json!({ "principal_id": bench.owner.principal, "admin": false });
    let refused = bench.call(&bench.owner, "update_principal", olga.clone()).await.unwrap_err();
    assert_eq!(refused.reason(), Some("last_admin"));
    let link = bench.app.create_sign_in_link(&name).await.unwrap();
    let used = bench.app.use_sign_in_link(&link.secret, PASSWORD, "test", None).await.unwrap();
    assert_eq!(actor_of(&bench, &used.secret).await.principal, id);
    bench.call(&bench.owner, "update_principal", olga).await.unwrap();
}
