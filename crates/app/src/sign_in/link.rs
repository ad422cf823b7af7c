//! Links that let a user choose a password, once: how somebody signs in first, or again after forgetting it.

use std::time::Duration;

use pinhole_core::{Error, Name, PrincipalClass, Result, Sha256Digest, Timestamp};
use pinhole_store::{Principal, SignInLink};
use serde_json::json;

use super::{
    hash::check_new,
    password::{clear_failures_of, end_previous},
};
use crate::{
    App,
    admin::principal,
    sessions::{NewSession, Proof, begin},
    unit::Unit,
};

/// How long a link lasts.
const LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// A fresh link. The secret is shown once and stored nowhere.
#[derive(Clone)]
pub struct NewLink {
    /// What follows `/sign-in/link/` in the address.
    pub secret: String,
    /// When it ends.
    pub expires_at: Timestamp,
}

impl App {
    /// Makes a link for the user of this name, from the server's own machine. Older links of theirs end.
    ///
    /// # Errors
    /// `not_found` without such a principal, `invalid_arguments` for a service or somebody disabled.
    pub async fn create_sign_in_link(&self, name: &Name) -> Result<NewLink> {
        let secret = self.new_secret("phl")?;
        let (actor, secret) = (self.system_actor(), &secret);
        self.write(&actor, "create_sign_in_link", move |unit, _| {
            Box::pin(async move {
                let user = principal(unit, name).await?;
                if user.class != PrincipalClass::User || user.disabled_at.is_some() {
                    return Err(Error::invalid("name", "expected a user who may sign in"));
                }
                unit.end_sign_in_links_of(user.id).await?;
                let link = SignInLink {
                    secret_sha256: Sha256Digest::of(secret.as_bytes()),
                    principal_id: user.id,
                    created_at: unit.now(),
                    expires_at: unit.now().plus(LIFETIME),
                    used_at: None,
                };
                unit.insert_sign_in_link(&link).await?;
                unit.audit(None, Some(user.id.to_string()), json!({ "expires_at": link.expires_at })).await?;
                Ok(NewLink { secret: secret.clone(), expires_at: link.expires_at })
            })
        })
        .await
    }

    /// Whether anybody administers the installation.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn has_administrator(&self) -> Result<bool> {
        let actor = self.system_actor();
        self.read(&actor, "has_administrator", |unit, _| Box::pin(async move { unit.has_administrator().await })).await
    }

    /// The name of the user whom a link is for. Looking does not use it up.
    ///
    /// # Errors
    /// `not_found` for a link that does not exist, was used or has ended; it does not say which.
    pub async fn look_at_sign_in_link(&self, secret: &str) -> Result<Name> {
        let (actor, secret) = (self.system_actor(), Sha256Digest::of(secret.as_bytes()));
        let found = self.read(&actor, "look_at_sign_in_link", move |unit, _| Box::pin(user_of(unit, secret)));
        Ok(found.await?.name)
    }

    /// Uses a link up: its user has the password from here on, every session of theirs ends, and a new one begins.
    ///
    /// # Errors
    /// As [`App::look_at_sign_in_link`]; `invalid_arguments` for a password that is too short or too long.
    pub async fn use_sign_in_link(
        &self,
        secret: &str,
        password: &str,
        address: &str,
        previous: Option<&str>,
    ) -> Result<NewSession> {
        check_new("password", password)?;
        // Before the slow hash, which is for those with a link.
        self.look_at_sign_in_link(secret).await?;
        let (hash, session_secret) = (self.new_hash(password).await?, self.session_secret()?);
        let (actor, secret) = (self.system_actor(), Sha256Digest::of(secret.as_bytes()));
        let (hash, session_secret) = (&hash, &session_secret);
        self.write(&actor, "use_sign_in_link", move |unit, _| {
            Box::pin(async move {
                let user = user_of(unit, secret).await?.id;
                unit.end_sign_in_links_of(user).await?;
                clear_failures_of(unit, user).await?;
                unit.put_password(user, hash).await?;
                unit.end_sessions_of(user).await?;
                end_previous(unit, previous).await?;
                let proof = Proof { method: "link", proved_at: unit.now() };
                begin(unit, user, &proof, session_secret, address).await
            })
        })
        .await
    }
}

/// The user of a link that is still good.
async fn user_of(unit: &mut Unit, secret: Sha256Digest) -> Result<Principal> {
    let ended = || Error::not_found().with_message("this link was used or has ended: have another made");
    let link = unit.sign_in_link(secret).await?.ok_or_else(ended)?;
    let user = unit.principal(link.principal_id).await?.ok_or_else(ended)?;
    if link.used_at.is_some() || link.expires_at <= unit.now() || user.disabled_at.is_some() {
        return Err(ended());
    }
    Ok(user)
}
