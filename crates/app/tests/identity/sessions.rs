//! Sessions: how long they go on, and how their owner sees and ends them.

use pinhole_testkit::Engine;
use serde_json::json;

use crate::{
    people::{HOUR, MINUTE, assert_refused, request},
    support::Bench,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_when_it_is_left_alone_for_half_an_hour() {
    let bench = Bench::on(Engine::Sqlite).await;
    let begun = bench.app.begin_session(bench.owner.principal, "password").await.unwrap();
    bench.clock.advance(30 * MINUTE);
    let session = bench.app.authenticate_session(&begun.secret, request()).await.unwrap();
    bench.reads(&session).await.unwrap();
    // What was noted counts only once it is written.
    bench.app.sweep().await.unwrap();
    bench.clock.advance(30 * MINUTE);
    let session = bench.app.authenticate_session(&begun.secret, request()).await.unwrap();
    bench.clock.advance(MINUTE / 60);
    assert!(bench.app.authenticate_session(&begun.secret, request()).await.is_err());
    // A call that was authenticated before is refused too.
    assert_refused(bench.reads(&session).await, "unauthenticated", "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_after_twelve_hours_however_much_it_is_used() {
    let bench = Bench::on(Engine::Sqlite).await;
    let begun = bench.app.begin_session(bench.owner.principal, "password").await.unwrap();
    for _ in 0..12 * 60 / 20 - 1 {
        bench.clock.advance(20 * MINUTE);
        bench.app.authenticate_session(&begun.secret, request()).await.unwrap();
        bench.app.sweep().await.unwrap();
    }
    assert_eq!(
        bench.app.authenticate_session(&begun.secret, request()).await.unwrap().principal,
        bench.owner.principal
    );
    bench.clock.advance(20 * MINUTE);
    assert!(bench.app.authenticate_session(&begun.secret, request()).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_sees_and_ends_their_own_sessions() {
    for engine in Engine::ALL {
        let bench = Bench::on(engine).await;
        let user = bench.stranger("Sam").await;
        let (first, second) = (bench.session_of(user).await, bench.session_of(user).await);
        let other = bench.session_of(bench.owner.principal).await;
        let seen = bench.call(&second, "list_my_sessions", json!({})).await.unwrap();
        let current: Vec<_> = seen["sessions"].as_array().unwrap().iter().map(|session| &session["current"]).collect();
        assert_eq!(current, [&json!(true), &json!(false)]);
        let page = bench.call(&second, "list_my_sessions", json!({ "limit": 1 })).await.unwrap();
        let input = json!({ "limit": 1, "cursor": page["next_cursor"] });
        let next = bench.call(&second, "list_my_sessions", input).await.unwrap();
        assert_eq!(json!([page["sessions"][0], next["sessions"][0]]), seen["sessions"]);
        assert_eq!(next["next_cursor"], json!(null));

        let input = json!({ "session_id": seen["sessions"][1]["id"] });
        assert_refused(bench.call(&other, "revoke_my_session", input.clone()).await, "not_found", "");
        for _ in 0..2 {
            let ended = bench.call(&second, "revoke_my_session", input.clone()).await.unwrap();
            assert_ne!(ended["ended_at"], json!(null));
        }
        assert_refused(bench.call(&first, "whoami", json!({})).await, "unauthenticated", "");
        let left = bench.call(&second, "list_my_sessions", json!({})).await.unwrap();
        assert_eq!(left["sessions"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoami_tells_the_credential_and_how_long_it_has_human_authority() {
    let bench = Bench::on(Engine::Sqlite).await;
    let session = bench.session_of(bench.owner.principal).await;
    let me = bench.call(&session, "whoami", json!({})).await.unwrap();
    assert_eq!((&me["credential"]["kind"], &me["admin"]), (&json!("session"), &json!(true)));
    assert_eq!(me["human_authority_until"], "2026-01-01T00:15:00.000000Z");
    assert_eq!(me["credential"]["expires_at"], "2026-01-01T12:00:00.000000Z");
    bench.clock.advance(15 * MINUTE + MINUTE / 60);
    let me = bench.call(&session, "whoami", json!({})).await.unwrap();
    assert_eq!(me["human_authority_until"], json!(null));
    let me = bench.call(&bench.owner, "whoami", json!({})).await.unwrap();
    assert_eq!((&me["credential"]["kind"], &me["credential"]["scope"]), (&json!("token"), &json!("all")));
    assert_eq!((&me["human_authority_until"], &me["groups"]), (&json!(null), &json!([])));
    bench.clock.advance(30 * 24 * HOUR);
    assert_refused(bench.call(&bench.owner, "whoami", json!({})).await, "unauthenticated", "");
}
