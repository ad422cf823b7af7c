//! Actors by each kind of credential, whose rows a test makes as it needs them.

use std::time::Duration;

use pinhole_core::{
    Actor, Ids as _, PrincipalClass, PrincipalId, RequestId, Result, Role, Scope, SessionId, Sha256Digest,
};
use pinhole_store::Session;
use pinhole_testkit::SeededIds;
use serde_json::{Value, json};

use crate::support::{Bench, PROJECT};

pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

pub(crate) fn request() -> RequestId {
    RequestId::from_uuid(SeededIds::default().uuid())
}

/// Code and reason of a refusal, as texts to compare with.
#[track_caller]
pub(crate) fn assert_refused(outcome: Result<Value>, code: &str, reason: &str) {
    let (found, why) = crate::support::refused(outcome);
    assert_eq!((found, why.as_str()), (code, reason));
}

impl Bench {
    /// A session that began a moment ago.
    pub(crate) async fn session_of(&self, principal: PrincipalId) -> Actor {
        let begun = self.app.begin_session(principal, "password").await.unwrap();
        self.app.authenticate_session(&begun.secret, request()).await.unwrap()
    }

    /// A session in use whose last proof of who the user is was `age` ago, on both engines.
    pub(crate) async fn session_proved(&self, principal: PrincipalId, age: Duration) -> Actor {
        let secret = format!("session {}", self.fresh_key());
        let mut tx = self.app.store().begin_write().await.unwrap();
        let now = tx.now();
        let session = Session {
            id: SessionId::from_uuid(uuid(self)),
            principal_id: principal,
            secret_sha256: Sha256Digest::of(secret.as_bytes()),
            method: "password".into(),
            created_at: now.minus(age),
            reauthenticated_at: now.minus(age),
            last_used_at: now,
            expires_at: now.plus(HOUR),
            ended_at: None,
        };
        tx.insert_session(&session).await.unwrap();
        tx.commit().await.unwrap();
        self.app.authenticate_session(&secret, request()).await.unwrap()
    }

    /// A session of a new person with these roles.
    pub(crate) async fn person_in_session(&self, name: &str, roles: &[Role]) -> Actor {
        let person = self.person(name, roles).await;
        self.session_of(person.principal).await
    }

    /// A token of a principal, with a scope.
    pub(crate) async fn token_of(&self, name: &str, scope: Scope) -> Actor {
        let token = self.app.create_token(&name.parse().unwrap(), &scope, HOUR).await.unwrap();
        self.app.authenticate(&token.secret, request()).await.unwrap()
    }

    /// Takes a role in the whole project away, on the server's own machine.
    pub(crate) async fn take(&self, name: &str, role: Role) {
        self.app.revoke_grant(&name.parse().unwrap(), &PROJECT.parse().unwrap(), None, role).await.unwrap();
    }

    /// Whether the actor may read the project now.
    pub(crate) async fn reads(&self, actor: &Actor) -> Result<Value> {
        self.call(actor, "get_project", json!({ "project": PROJECT })).await
    }

    /// A user without any role.
    pub(crate) async fn stranger(&self, name: &str) -> PrincipalId {
        self.app.ensure_principal(PrincipalClass::User, &name.parse().unwrap(), false).await.unwrap()
    }
}

/// An id that no other row has: the bench's own source is inside the application.
pub(crate) fn uuid(bench: &Bench) -> uuid::Uuid {
    let number = bench.fresh_key();
    let digest = Sha256Digest::of(number.as_bytes()).hex();
    format!("ffff{}", &digest[..28]).parse().unwrap()
}
