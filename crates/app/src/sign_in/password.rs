//! Passwords: signing in with one, proving again who one is, and choosing another.

use std::time::Duration;

use pinhole_core::{Actor, Error, Name, PrincipalClass, PrincipalId, Result, SessionId, Sha256Digest};
use serde_json::json;

use super::hash::check_new;
use crate::{
    App,
    sessions::{NewSession, Proof, begin},
    unit::Unit,
};

/// Wrong passwords under one name until it is refused, whoever it is and whether it exists.
const MAX_FAILURES: u32 = 10;
/// How long they count, from the first one.
const FAILURE_WINDOW: Duration = Duration::from_secs(15 * 60);

/// An attempt that has been counted: what the password is compared with.
#[derive(Clone)]
struct Attempt {
    user: Option<PrincipalId>,
    hash: Option<String>,
}

impl App {
    /// Begins a session of the user with this name and password. `address` is where the call came from, for the audit
    /// log; `previous` is the secret of the session that the browser had, which ends.
    ///
    /// # Errors
    /// `unauthenticated` for a name and password that do not belong together, whatever the reason; `limit_exceeded`
    /// after ten wrong ones in a quarter of an hour under one name, for names that do not exist as for others.
    pub async fn sign_in_with_password(
        &self,
        name: &str,
        password: &str,
        address: &str,
        previous: Option<&str>,
    ) -> Result<NewSession> {
        let key = Sha256Digest::of(name.as_bytes());
        let attempt = self.attempt(&self.system_actor(), name, key).await?;
        let right = self.hashing().verify(password, attempt.hash.clone()).await?;
        let (Some(user), Some(hash), true) = (attempt.user, attempt.hash, right) else { return Err(wrong()) };
        let secret = self.session_secret()?;
        let (actor, secret, hash) = (self.system_actor(), &secret, &hash);
        self.write(&actor, "sign_in", move |unit, _| {
            Box::pin(async move {
                // It may have been changed while this one was compared.
                if unit.password_of(user).await?.as_ref() != Some(hash) {
                    return Err(wrong());
                }
                unit.clear_sign_in_failures(key).await?;
                end_previous(unit, previous).await?;
                let proof = Proof { method: "password", proved_at: unit.now() };
                begin(unit, user, &proof, secret, address).await
            })
        })
        .await
    }

    /// Proves again who the user of a session is, and gives the session a new secret.
    ///
    /// # Errors
    /// As [`App::sign_in_with_password`]; `permission_denied` for an actor that is no session.
    pub async fn reauthenticate_with_password(&self, actor: &Actor, password: &str) -> Result<NewSession> {
        let hash = self.prove(actor, password).await?;
        let secret = self.session_secret()?;
        let (secret, hash) = (&secret, &hash);
        self.write(actor, "reauthenticate", move |unit, _| {
            Box::pin(async move {
                let id = unit.authorise_session().await?;
                let user = unit.actor().principal;
                if unit.password_of(user).await?.as_ref() != Some(hash) {
                    return Err(wrong());
                }
                clear_failures_of(unit, user).await?;
                renew(unit, id, secret, "password").await
            })
        })
        .await
    }

    /// Gives the user of a session another password. `current` is the old one; a session that was authenticated a
    /// short while ago needs none. Every other session of the user ends, and this one gets a new secret.
    ///
    /// # Errors
    /// `invalid_arguments` for a new password that is too short or too long; as
    /// [`App::reauthenticate_with_password`] for a wrong old one; `permission_denied` with reason `human_authority`
    /// without it in a session that is not fresh.
    pub async fn change_password(&self, actor: &Actor, current: Option<&str>, new: &str) -> Result<NewSession> {
        check_new("new_password", new)?;
        let proved = match current {
            Some(current) => Some(self.prove(actor, current).await?),
            None => {
                let fresh = self.read(actor, "change_password", |unit, _| Box::pin(unit.fresh_session()));
                fresh.await?;
                None
            }
        };
        let (hash, secret) = (self.new_hash(new).await?, self.session_secret()?);
        let (hash, secret, proved) = (&hash, &secret, &proved);
        self.write(actor, "change_password", move |unit, _| {
            Box::pin(async move {
                let id = unit.authorise_session().await?;
                let user = unit.actor().principal;
                match proved {
                    Some(old) if unit.password_of(user).await?.as_ref() != Some(old) => return Err(wrong()),
                    Some(_) => {}
                    None => unit.fresh_session().await?,
                }
                clear_failures_of(unit, user).await?;
                unit.put_password(user, hash).await?;
                unit.end_sign_in_links_of(user).await?;
                unit.end_other_sessions_of(user, id).await?;
                renew(unit, id, secret, "password").await
            })
        })
        .await
    }

    /// The hash of a new password with a fresh salt.
    pub(super) async fn new_hash(&self, password: &str) -> Result<String> {
        let mut salt = [0; 16];
        self.ids().fill(&mut salt)?;
        self.hashing().hash(password, salt).await
    }

    /// That the actor's user knows their password; gives its hash.
    async fn prove(&self, actor: &Actor, password: &str) -> Result<String> {
        let session = self.read(actor, "prove_password", |unit, _| {
            Box::pin(async move {
                unit.authorise_session().await?;
                let user = unit.actor().principal;
                unit.principal(user).await
            })
        });
        let user = session.await?.ok_or_else(Error::unauthenticated)?;
        let attempt = self.attempt(actor, user.name.as_str(), again_key(user.id)).await?;
        if !self.hashing().verify(password, attempt.hash.clone()).await? {
            return Err(wrong());
        }
        attempt.hash.ok_or_else(wrong)
    }

    /// Counts an attempt before it is made, so that many at once are no more than one after the other; a right password
    /// clears the count.
    async fn attempt(&self, actor: &Actor, name: &str, key: Sha256Digest) -> Result<Attempt> {
        self.write(actor, "attempt_sign_in", move |unit, _| {
            Box::pin(async move {
                let now = unit.now();
                unit.forget_sign_in_failures(now.minus(FAILURE_WINDOW)).await?;
                let before = unit.sign_in_failures(key).await?;
                if let Some(before) = before.filter(|before| before.failures >= MAX_FAILURES) {
                    let left = before.window_began_at.plus(FAILURE_WINDOW).since(now);
                    let seconds = u32::try_from(left.as_secs() + 1).unwrap_or(u32::MAX);
                    return Err(Error::rate_limited(seconds)
                        .with_message("too many wrong passwords under this name: wait, or have a sign-in link made"));
                }
                unit.count_sign_in_failure(key).await?;
                if before.is_some_and(|before| before.failures + 1 == MAX_FAILURES) {
                    unit.audit(None, None, json!({ "name_sha256": key, "failures": MAX_FAILURES })).await?;
                }
                // Nothing else of an attempt is worth keeping for ever.
                unit.unaudited();
                let found = match name.parse::<Name>() {
                    Ok(name) => unit.principal_by_name(&name).await?,
                    Err(_) => None,
                };
                // The same queries for a missing user as for any other.
                let nobody = PrincipalId::from_uuid(uuid::Uuid::nil());
                let hash = unit.password_of(found.as_ref().map_or(nobody, |found| found.id)).await?;
                let user = found.filter(|found| found.class == PrincipalClass::User && found.disabled_at.is_none());
                Ok(Attempt { user: user.map(|user| user.id), hash })
            })
        })
        .await
    }
}

/// Ends the session that a browser had before this sign-in, whoever's it was.
pub(super) async fn end_previous(unit: &mut Unit, previous: Option<&str>) -> Result<()> {
    let Some(previous) = previous else { return Ok(()) };
    if let Some(session) = unit.session_by_secret(Sha256Digest::of(previous.as_bytes())).await? {
        unit.end_session(session.id).await?;
    }
    Ok(())
}

/// Gives the session a new secret after a proof of who its user is.
pub(super) async fn renew(unit: &mut Unit, id: SessionId, secret: &str, method: &str) -> Result<NewSession> {
    if !unit.renew_session(id, Sha256Digest::of(secret.as_bytes())).await? {
        return Err(Error::unauthenticated());
    }
    let session = unit.session(id).await?.ok_or_else(Error::unauthenticated)?;
    unit.audit(None, Some(id.to_string()), json!({ "method": method })).await?;
    Ok(NewSession { secret: secret.to_owned(), id, expires_at: session.expires_at })
}

/// Forgets the wrong passwords of a user, under the name and in sessions.
pub(super) async fn clear_failures_of(unit: &mut Unit, user: PrincipalId) -> Result<()> {
    unit.clear_sign_in_failures(again_key(user)).await?;
    if let Some(user) = unit.principal(user).await? {
        unit.clear_sign_in_failures(Sha256Digest::of(user.name.as_str().as_bytes())).await?;
    }
    Ok(())
}

/// What wrong passwords in a user's own sessions are counted under: not the name, under which anybody can try, so that
/// no stranger keeps somebody who is signed in from deciding. No name has these bytes.
fn again_key(user: PrincipalId) -> Sha256Digest {
    Sha256Digest::of_parts(&[&[0xff], user.to_string().as_bytes()])
}

fn wrong() -> Error {
    Error::unauthenticated().with_message("the name or the password is wrong")
}
