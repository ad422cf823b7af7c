//! Passwords, links and sessions over time.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where its preparation fails")]

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the bench serves other suites, too")]
mod support;

use std::time::Duration;

use pinhole_core::{Actor, Code, Error, Ids as _, RandomIds, RequestId};
use pinhole_testkit::Engine;
use serde_json::json;
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
async fn attempts_to_prove_it_again_count_like_those_to_sign_in() {
    for engine in Engine::ALL {
        let bench = bench(engine).await;
        let secret = sign_in(&bench, "Olga", PASSWORD).await.unwrap();
        let session = actor_of(&bench, &secret).await;
        let again = async |password| bench.app.reauthenticate_with_password(&session, password).await.map(drop);
        let change = async |password| bench.app.change_password(&session, Some(password), "seventeen sparrows").await;
        for _ in 0..3 {
            assert_eq!(again("wrong").await.unwrap_err().code(), Code::Unauthenticated);
            assert_eq!(change("wrong").await.err().unwrap().code(), Code::Unauthenticated);
            assert_eq!(sign_in(&bench, "Olga", "wrong").await.unwrap_err().code(), Code::Unauthenticated);
        }
        assert_eq!(again("wrong").await.unwrap_err().code(), Code::Unauthenticated);
        for refused in
            [again(PASSWORD).await.err(), change(PASSWORD).await.err(), sign_in(&bench, "Olga", PASSWORD).await.err()]
        {
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
