//! Identities at a provider: a sign-in that is begun there and ended once, and what its proof is worth here.
//!
//! An identity is (issuer, subject), never a name or an e-mail: those change hands.

use std::{collections::BTreeMap, time::Duration};

use pinhole_core::{Actor, Error, Name, PrincipalClass, PrincipalId, Result, SessionId, Sha256Digest, Timestamp};
use pinhole_store::OidcFlow;
use serde_json::json;

use super::password::{end_previous, renew};
use crate::{
    App,
    admin::principal,
    groups, principals,
    sessions::{NewSession, Proof, begin},
    unit::Unit,
};

/// How long somebody may take at the provider.
const FLOW_LIFETIME: Duration = Duration::from_secs(10 * 60);

/// A sign-in as it is begun: what is sent to the provider, or only its digest.
pub struct NewFlow<'a> {
    /// The state that the provider gives back.
    pub state: &'a str,
    /// What the identity token must name.
    pub nonce: &'a str,
    /// The PKCE verifier.
    pub verifier: &'a str,
    /// The local path to go on to.
    pub return_to: &'a str,
}

/// A begun sign-in, taken up once.
#[derive(Clone)]
pub struct OpenFlow {
    /// What the identity token must name.
    pub nonce: String,
    /// The PKCE verifier.
    pub verifier: String,
    /// Whether it is a re-authentication.
    pub session: Option<SessionId>,
    /// The local path to go on to.
    pub return_to: String,
    /// When it was begun.
    pub begun_at: Timestamp,
}

/// Who a provider proved somebody to be.
#[derive(Clone, Debug)]
pub struct ProvenIdentity {
    /// The provider.
    pub issuer: String,
    /// Its opaque name of them.
    pub subject: String,
    /// What they would like to be called; used for new users only.
    pub preferred_name: Option<String>,
    /// The values of the group claim; none when the provider was not asked.
    pub groups: Option<Vec<String>>,
    /// When they last proved it to the provider, where it says so. A provider that knows somebody from before asks for
    /// nothing, so that a sign-in alone is no fresh proof.
    pub proved_at: Option<Timestamp>,
}

/// What the configuration says of identities.
#[derive(Clone, Debug, Default)]
pub struct IdentityPolicy {
    /// Whether an unknown identity makes a new user.
    pub create_users: bool,
    /// Values of the group claim and the groups whose membership follows them.
    pub groups: BTreeMap<String, Name>,
}

impl App {
    /// Remembers a sign-in that is begun at the provider; a re-authentication of `session` when there is one.
    ///
    /// # Errors
    /// `unauthenticated` when that session has ended.
    pub async fn begin_flow(&self, session: Option<&Actor>, flow: &NewFlow<'_>) -> Result<()> {
        let again = session.is_some();
        let actor = session.cloned().unwrap_or_else(|| self.system_actor());
        self.write(&actor, "begin_oidc_sign_in", move |unit, _| {
            Box::pin(async move {
                let session_id = if again { Some(unit.authorise_session().await?) } else { None };
                let now = unit.now();
                unit.forget_oidc_flows(now).await?;
                let row = OidcFlow {
                    state_sha256: Sha256Digest::of(flow.state.as_bytes()),
                    nonce: flow.nonce.to_owned(),
                    verifier: flow.verifier.to_owned(),
                    session_id,
                    return_to: flow.return_to.to_owned(),
                    created_at: now,
                    expires_at: now.plus(FLOW_LIFETIME),
                    used_at: None,
                };
                unit.insert_oidc_flow(&row).await?;
                // Nobody has signed in yet; how it ends is audited.
                unit.unaudited();
                Ok(())
            })
        })
        .await
    }

    /// Takes up a begun sign-in with the provider's answer. It cannot be taken up again, whatever becomes of it.
    ///
    /// # Errors
    /// `unauthenticated` for a state that is unknown, used or too old; it does not say which.
    pub async fn take_flow(&self, state: &str) -> Result<OpenFlow> {
        let (actor, state) = (self.system_actor(), Sha256Digest::of(state.as_bytes()));
        self.write(&actor, "take_oidc_sign_in", move |unit, _| {
            Box::pin(async move {
                let unknown =
                    || Error::unauthenticated().with_message("this sign-in was ended or took too long: begin it again");
                let flow = unit.oidc_flow(state).await?.ok_or_else(unknown)?;
                if flow.expires_at <= unit.now() || !unit.use_oidc_flow(state).await? {
                    return Err(unknown());
                }
                unit.unaudited();
                let OidcFlow { nonce, verifier, session_id, return_to, created_at, .. } = flow;
                Ok(OpenFlow { nonce, verifier, session: session_id, return_to, begun_at: created_at })
            })
        })
        .await
    }

    /// Begins a session of the user with this identity, and makes the user where `policy` says so.
    ///
    /// # Errors
    /// `permission_denied` with reason `unknown_identity` for an identity that no user has, `unauthenticated` for a
    /// disabled user.
    pub async fn sign_in_with_identity(
        &self,
        identity: &ProvenIdentity,
        policy: &IdentityPolicy,
        address: &str,
        previous: Option<&str>,
    ) -> Result<NewSession> {
        let (actor, secret) = (self.system_actor(), self.session_secret()?);
        let secret = &secret;
        self.write(&actor, "sign_in", move |unit, _| {
            Box::pin(async move {
                let known = unit.principal_by_identity(&identity.issuer, &identity.subject).await?;
                let user = match known {
                    Some(user) => user,
                    None if policy.create_users => create_user(unit, identity).await?,
                    None => return Err(unknown_identity(identity)),
                };
                end_previous(unit, previous).await?;
                let proof =
                    Proof { method: "oidc", proved_at: identity.proved_at.unwrap_or(Timestamp::from_micros(0)) };
                let session = begin(unit, user, &proof, secret, address).await?;
                follow_groups(unit, user, identity, policy).await?;
                Ok(session)
            })
        })
        .await
    }

    /// Proves again who the user of a session is, and gives the session a new secret. `flow` is the session that the
    /// proof was begun for.
    ///
    /// # Errors
    /// `unauthenticated` for another session, a session that ended, or somebody else's identity.
    pub async fn reauthenticate_with_identity(
        &self,
        actor: &Actor,
        flow: SessionId,
        identity: &ProvenIdentity,
    ) -> Result<NewSession> {
        let secret = self.session_secret()?;
        let secret = &secret;
        self.write(actor, "reauthenticate", move |unit, _| {
            Box::pin(async move {
                let id = unit.authorise_session().await?;
                let known = unit.principal_by_identity(&identity.issuer, &identity.subject).await?;
                if id != flow || known != Some(unit.actor().principal) {
                    let message = "the provider says that you are somebody else than the user of this session";
                    return Err(Error::unauthenticated().with_message(message));
                }
                renew(unit, id, secret, "oidc").await
            })
        })
        .await
    }

    /// Lets an identity sign in as the user of this name, from the server's own machine.
    ///
    /// # Errors
    /// `not_found` without such a user, `conflict` when the identity is somebody's.
    pub async fn link_identity(&self, name: &Name, issuer: &str, subject: &str) -> Result<()> {
        let actor = self.system_actor();
        self.write(&actor, "link_identity", move |unit, _| {
            Box::pin(async move {
                let user = principal(unit, name).await?;
                if user.class != PrincipalClass::User {
                    return Err(Error::invalid("name", "expected a user"));
                }
                unit.insert_identity(issuer, subject, user.id).await?;
                unit.audit(None, Some(user.id.to_string()), json!({ "issuer": issuer, "subject": subject })).await
            })
        })
        .await
    }
}

fn unknown_identity(identity: &ProvenIdentity) -> Error {
    let ProvenIdentity { issuer, subject, .. } = identity;
    Error::permission_denied("unknown_identity").with_message(format!(
        "nobody here signs in as {subject} of {issuer}: an administrator can link that identity to a user"
    ))
}

/// A user for an identity that nobody has.
async fn create_user(unit: &mut Unit, identity: &ProvenIdentity) -> Result<PrincipalId> {
    let name = free_name(unit, identity).await?;
    let user = principals::insert(unit, PrincipalClass::User, &name, false, None).await?;
    unit.insert_identity(&identity.issuer, &identity.subject, user.id).await?;
    Ok(user.id)
}

/// A name that nobody has. Names are published, so that an e-mail gives no more than its first part; and a name that
/// is taken is nobody else's to share.
async fn free_name(unit: &mut Unit, identity: &ProvenIdentity) -> Result<Name> {
    let wished = identity.preferred_name.as_deref().unwrap_or_default();
    let wished: String = wished.split('@').next().unwrap_or_default().trim().chars().take(80).collect();
    let wished = if wished.parse::<Name>().is_ok() { wished } else { "user".into() };
    let taken = unit.principal_by_name(&wished.parse()?).await?.is_some();
    if !taken && wished != "user" {
        return wished.parse();
    }
    let digest = Sha256Digest::of(format!("{}\n{}", identity.issuer, identity.subject).as_bytes()).hex();
    format!("{wished} {}", &digest[..12]).parse()
}

/// Makes the membership in the groups of the mapping follow the provider's word.
async fn follow_groups(
    unit: &mut Unit,
    user: PrincipalId,
    identity: &ProvenIdentity,
    policy: &IdentityPolicy,
) -> Result<()> {
    let Some(claimed) = &identity.groups else { return Ok(()) };
    // Two values of the claim may stand for one group.
    let mut wanted: BTreeMap<&Name, bool> = BTreeMap::new();
    for (value, group) in &policy.groups {
        *wanted.entry(group).or_default() |= claimed.contains(value);
    }
    for (name, wanted) in wanted {
        let group = match unit.group_by_name(name).await? {
            Some(group) => group.id,
            None if wanted => groups::insert(unit, name).await?.id,
            None => continue,
        };
        let changed = if wanted {
            unit.add_group_member(group, user).await?
        } else {
            unit.remove_group_member(group, user).await?
        };
        if !changed {
            continue;
        }
        let detail = json!({ "group": group, "principal": user, "member": wanted, "by": "group claim" });
        unit.audit(None, Some(group.to_string()), detail).await?;
    }
    Ok(())
}
