//! Bearer tokens: how one is made and shown. Whose tokens a call may touch is decided in the files below.

mod own;
mod service;

use std::{collections::BTreeSet, time::Duration};

use pinhole_contract::{LifetimeDays, Limit, NewTokenView, TokenList, TokenView};
use pinhole_core::{Error, Name, PrincipalClass, Result, Scope, Sha256Digest, TokenId};
use pinhole_store::{Principal, Token};
use serde_json::json;

pub(crate) use self::{
    own::{create as create_own, list as list_own, revoke as revoke_own},
    service::{create as create_of_service, list as list_of_services, revoke as revoke_of_service},
};
use crate::{idempotency::KeyedCall, page, secret::with_checksum, unit::Unit};

/// What a token is made for.
pub(crate) struct Wanted<'a> {
    pub(crate) label: Option<&'a Name>,
    pub(crate) scope: &'a Scope,
    pub(crate) lifetime: Duration,
}

/// Adds a token of `principal` with 256 random bits; answers with its secret, which is stored nowhere.
pub(crate) async fn insert(
    unit: &mut Unit,
    principal: &Principal,
    wanted: &Wanted<'_>,
    random: &[u8; 32],
) -> Result<(Token, String)> {
    let prefix = match principal.class {
        PrincipalClass::User => "phu",
        PrincipalClass::Service => "phs",
    };
    let secret = with_checksum(prefix, random);
    let token = Token {
        id: TokenId::from_uuid(unit.uuid()),
        principal_id: principal.id,
        secret_sha256: Sha256Digest::of(secret.as_bytes()),
        scope: wanted.scope.clone(),
        created_at: unit.now(),
        expires_at: unit.now().plus(wanted.lifetime),
        revoked_at: None,
        label: wanted.label.cloned(),
        last_used_at: None,
    };
    unit.insert_token(&token).await?;
    let detail = json!({ "principal": principal.id, "scope": token.scope, "expires_at": token.expires_at });
    unit.audit(None, Some(token.id.to_string()), detail).await?;
    Ok((token, secret))
}

/// Ends a token; one that has ended stays as it is.
pub(crate) async fn revoke(unit: &mut Unit, token: Token) -> Result<TokenView> {
    if unit.revoke_token(token.id).await? {
        unit.audit(None, Some(token.id.to_string()), json!({ "principal": token.principal_id })).await?;
    } else {
        unit.unaudited();
    }
    unit.token(token.id).await?.map(token_view).ok_or_else(Error::not_found)
}

/// Refuses a scope that names a permission twice.
fn check_scope_shape(scope: &Scope) -> Result<()> {
    let Scope::Only(permissions) = scope else { return Ok(()) };
    let mut seen = BTreeSet::new();
    match permissions.iter().position(|permission| !seen.insert(permission)) {
        Some(index) => Err(Error::invalid(format!("scope.only[{index}]"), "expected different permissions")),
        None => Ok(()),
    }
}

fn lifetime(days: LifetimeDays) -> Duration {
    Duration::from_secs(u64::from(days.get()) * 24 * 3600)
}

/// Makes the token that the first call with its key asks for, and shows its secret.
async fn issue(
    unit: &mut Unit,
    call: KeyedCall,
    (owner, wanted): (&Principal, &Wanted<'_>),
    random: &[u8; 32],
) -> Result<NewTokenView> {
    let (token, secret) = insert(unit, owner, wanted, random).await?;
    unit.remember(call, token.id).await?;
    Ok(NewTokenView { token: token_view(token), secret: Some(secret), replayed: false })
}

/// The token that an earlier call made. Its secret was shown then.
async fn replay(unit: &mut Unit, id: &str) -> Result<NewTokenView> {
    let token = unit.token(id.parse()?).await?.ok_or_else(Error::not_found)?;
    Ok(NewTokenView { token: token_view(token), secret: None, replayed: true })
}

fn token_list(mut found: Vec<Token>, limit: Limit) -> TokenList {
    let next_cursor = page::cut(&mut found, limit, |token| token.id);
    TokenList { tokens: found.into_iter().map(token_view).collect(), next_cursor }
}

pub(crate) fn token_view(token: Token) -> TokenView {
    let Token { id, principal_id, scope, created_at, expires_at, revoked_at, label, last_used_at, secret_sha256: _ } =
        token;
    TokenView { id, principal_id, label, scope, created_at, expires_at, revoked_at, last_used_at }
}
