//! Browser sessions: how one begins after a proof of who the user is, is renewed by another proof, and ends.

mod own;

use std::time::Duration;

use pinhole_core::{Actor, Error, PrincipalClass, PrincipalId, Result, SessionId, Sha256Digest, Timestamp};
use pinhole_store::Session;
use serde_json::json;

pub(crate) use self::own::{list as list_own, revoke as revoke_own};
use crate::{App, unit::Unit};

/// How long a session lasts at most.
const LIFETIME: Duration = Duration::from_secs(12 * 3600);

/// A fresh session. The secret goes into the cookie and is stored nowhere else.
#[derive(Clone)]
pub struct NewSession {
    /// The cookie's value.
    pub secret: String,
    /// The session's row.
    pub id: SessionId,
    /// When it ends whatever happens.
    pub expires_at: Timestamp,
}

impl App {
    /// Begins a session of a user who has proved by `method` who they are.
    ///
    /// # Errors
    /// `unauthenticated` when there is no such user or it is disabled.
    pub async fn begin_session(&self, user: PrincipalId, method: &str) -> Result<NewSession> {
        let (actor, secret) = (self.system_actor(), self.session_secret()?);
        let secret = &secret;
        self.write(&actor, "sign_in", move |unit, _| {
            Box::pin(async move {
                let proof = Proof { method, proved_at: unit.now() };
                begin(unit, user, &proof, secret, "local").await
            })
        })
        .await
    }

    /// A fresh secret for a session.
    pub(crate) fn session_secret(&self) -> Result<String> {
        self.new_secret("phn")
    }

    /// Ends the actor's own session; a token's actor has none.
    ///
    /// # Errors
    /// `unauthenticated` when it has ended already.
    pub async fn end_own_session(&self, actor: &Actor) -> Result<()> {
        self.write(actor, "sign_out", move |unit, _| {
            Box::pin(async move {
                let id = unit.authorise_session().await?;
                unit.end_session(id).await?;
                unit.audit(None, Some(id.to_string()), json!({})).await
            })
        })
        .await
    }
}

/// How a user proved who they are, and when.
pub(crate) struct Proof<'a> {
    pub(crate) method: &'a str,
    pub(crate) proved_at: Timestamp,
}

/// Begins a session within the transaction that saw the proof. `address` is where the call came from.
pub(crate) async fn begin(
    unit: &mut Unit,
    user: PrincipalId,
    proof: &Proof<'_>,
    secret: &str,
    address: &str,
) -> Result<NewSession> {
    let principal = unit.principal(user).await?.ok_or_else(Error::unauthenticated)?;
    if principal.class != PrincipalClass::User || principal.disabled_at.is_some() {
        return Err(Error::unauthenticated());
    }
    let now = unit.now();
    let session = Session {
        id: SessionId::from_uuid(unit.uuid()),
        principal_id: user,
        secret_sha256: Sha256Digest::of(secret.as_bytes()),
        method: proof.method.to_owned(),
        created_at: now,
        // No clock but ours makes a proof last longer.
        reauthenticated_at: proof.proved_at.min(now),
        last_used_at: now,
        expires_at: now.plus(LIFETIME),
        ended_at: None,
    };
    unit.insert_session(&session).await?;
    let detail = json!({ "principal": user, "method": proof.method, "address": address });
    unit.audit(None, Some(session.id.to_string()), detail).await?;
    Ok(NewSession { secret: secret.to_owned(), id: session.id, expires_at: session.expires_at })
}
