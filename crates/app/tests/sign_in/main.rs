//! Passwords, links and sessions over time.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where its preparation fails")]

#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the bench serves other suites, too")]
mod support;

use std::time::Duration;

use pinhole_core::{Code, Error, Ids as _, RandomIds, RequestId};
use pinhole_testkit::Engine;
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
