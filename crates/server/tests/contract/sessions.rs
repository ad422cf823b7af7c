//! Sessions through their cookie, at an operation on REST, at bytes and at a page: whatever ends one, the very next call
//! misses it.

use std::time::Duration;

use axum::{body::Body, http::Request};
use pinhole_app::NewSession;
use pinhole_core::{PrincipalClass, PrincipalId, Role};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    callers::{Credential, session},
    doors::Door,
    ground::Ground,
    support::PROJECT,
};

const NAME: &str = "Fay";
const PASSWORD: &str = "correct horse battery";
const MINUTE: Duration = Duration::from_secs(60);

const OPEN: [u16; 3] = [200; 3];
const CLOSED: [u16; 3] = [401; 3];

/// Somebody who may read, and what they look at.
struct Reader {
    ground: Ground,
    user: PrincipalId,
    paths: [String; 3],
}

impl Reader {
    async fn on(engine: Engine) -> Self {
        let ground = Ground::on(engine).await;
        ground.enrol(PrincipalClass::User, NAME, false, PROJECT, &[Role::Viewer]).await;
        let user = ground.app().ensure_principal(PrincipalClass::User, &NAME.parse().unwrap(), false).await.unwrap();
        let artifact = ground.artifact().await;
        let paths = [
            "/api/v1/me".to_owned(),
            format!("/api/v1/artifacts/{}/content", artifact.as_str().unwrap()),
            format!("/runs/{}", ground.captured.run),
        ];
        Self { ground, user, paths }
    }

    async fn begin(&self) -> NewSession {
        self.ground.app().begin_session(self.user, "password").await.unwrap()
    }

    /// What each look answers.
    async fn looks(&self, session: &NewSession) -> [u16; 3] {
        let credential = Credential::Session(session.secret.clone());
        let mut answers = [0; 3];
        for (path, answer) in self.paths.iter().zip(&mut answers) {
            let request = Request::get(path).header("host", "localhost").body(Body::empty()).unwrap();
            *answer = self.ground.send(&credential, request).await.status;
        }
        answers
    }

    /// Calls an operation in a session and says what it answered.
    async fn call(&self, credential: &Credential, operation: &str, input: Value) -> String {
        self.ground.through(Door::Rest, operation, credential, &input).await.said().to_owned()
    }
}

#[tokio::test]
async fn one_that_was_ended_is_missed_by_the_next_call_on_sqlite() {
    one_that_was_ended_is_missed_by_the_next_call(Engine::Sqlite).await;
}

#[tokio::test]
async fn one_that_was_ended_is_missed_by_the_next_call_on_postgres() {
    one_that_was_ended_is_missed_by_the_next_call(Engine::Postgres).await;
}

async fn one_that_was_ended_is_missed_by_the_next_call(engine: Engine) {
    let reader = Reader::on(engine).await;
    let (ground, app) = (&reader.ground, reader.ground.app());
    let (kept, revoked, left) = (reader.begin().await, reader.begin().await, reader.begin().await);
    for session in [&kept, &revoked, &left] {
        assert_eq!(reader.looks(session).await, OPEN);
    }
    let own = Credential::Session(kept.secret.clone());
    assert_eq!(reader.call(&own, "revoke_my_session", json!({ "session_id": revoked.id })).await, "ok");
    let sign_out = Request::delete("/api/v1/session").header("host", "localhost").body(Body::empty()).unwrap();
    assert_eq!(ground.send(&Credential::Session(left.secret.clone()), sign_out).await.status, 200);
    for (session, looks) in [(&revoked, CLOSED), (&left, CLOSED), (&kept, OPEN)] {
        assert_eq!(reader.looks(session).await, looks);
    }

    // A link is for who has lost a session to somebody, too.
    let link = app.create_sign_in_link(&NAME.parse().unwrap()).await.unwrap();
    let (kept, before) = (app.use_sign_in_link(&link.secret, PASSWORD, "test", None).await.unwrap(), kept);
    assert_eq!((reader.looks(&before).await, reader.looks(&kept).await), (CLOSED, OPEN));

    ground.enrol(PrincipalClass::User, "Ada", true, PROJECT, &[]).await;
    let admin = session(ground, "Ada").await;
    let change = |disabled: bool| json!({ "principal_id": reader.user, "disabled": disabled });
    for disabled in [true, false] {
        assert_eq!(reader.call(&admin, "update_principal", change(disabled)).await, "ok");
        assert_eq!(reader.looks(&kept).await, CLOSED, "it stays ended when its user comes back");
    }
    assert_eq!(reader.looks(&reader.begin().await).await, OPEN);
}

#[tokio::test]
async fn one_that_is_left_alone_for_half_an_hour_is_missed_by_the_next_call() {
    let reader = Reader::on(Engine::Sqlite).await;
    let session = reader.begin().await;
    for _ in 0..2 {
        reader.ground.path.bench.clock.advance(30 * MINUTE);
        assert_eq!(reader.looks(&session).await, OPEN);
        // What was noted counts once it is written.
        reader.ground.app().sweep().await.unwrap();
    }
    reader.ground.path.bench.clock.advance(30 * MINUTE + Duration::from_micros(1));
    assert_eq!(reader.looks(&session).await, CLOSED);
}

#[tokio::test]
async fn one_of_twelve_hours_is_missed_by_the_next_call_however_much_it_was_used() {
    let reader = Reader::on(Engine::Sqlite).await;
    let session = reader.begin().await;
    for _ in 0..12 * 60 / 30 - 1 {
        reader.ground.path.bench.clock.advance(30 * MINUTE);
        assert_eq!(reader.looks(&session).await, OPEN);
        reader.ground.app().sweep().await.unwrap();
    }
    reader.ground.path.bench.clock.advance(30 * MINUTE - Duration::from_micros(1));
    assert_eq!(reader.looks(&session).await, OPEN);
    reader.ground.path.bench.clock.advance(Duration::from_micros(1));
    assert_eq!(reader.looks(&session).await, CLOSED);
}
