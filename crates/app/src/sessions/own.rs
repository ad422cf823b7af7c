//! A person's own sessions, seen and ended in one of them.

use pinhole_contract::{ListMySessions, RevokeMySession, SessionList, SessionView};
use pinhole_core::{Actor, Error, Result, SessionId};
use pinhole_store::Session;
use serde_json::json;

use crate::{App, authority::SESSION_IDLE, page};

pub(crate) async fn list(app: &App, actor: &Actor, command: ListMySessions) -> Result<SessionList> {
    let before = page::position::<SessionId>(command.cursor.as_ref())?;
    app.read(actor, "list_my_sessions", move |unit, _| {
        Box::pin(async move {
            let current = unit.authorise_session().await?;
            let (principal, limit) = (unit.actor().principal, page::to_load(command.limit));
            let used_since = unit.now().minus(SESSION_IDLE);
            let mut found = unit.sessions_of(principal, used_since, before, limit).await?;
            let next_cursor = page::cut(&mut found, command.limit, |session| session.id);
            let sessions = found.into_iter().map(|session| session_view(session, current)).collect();
            Ok(SessionList { sessions, next_cursor })
        })
    })
    .await
}

pub(crate) async fn revoke(app: &App, actor: &Actor, command: RevokeMySession) -> Result<SessionView> {
    app.write(actor, "revoke_my_session", move |unit, _| {
        Box::pin(async move {
            let current = unit.authorise_session().await?;
            let principal = unit.actor().principal;
            let found = unit.session(command.session_id).await?;
            let session = found.filter(|session| session.principal_id == principal).ok_or_else(Error::not_found)?;
            if unit.end_session(session.id).await? {
                unit.audit(None, Some(session.id.to_string()), json!({})).await?;
            } else {
                unit.unaudited();
            }
            let session = unit.session(session.id).await?.ok_or_else(Error::not_found)?;
            Ok(session_view(session, current))
        })
    })
    .await
}

fn session_view(session: Session, current: SessionId) -> SessionView {
    SessionView {
        id: session.id,
        method: session.method,
        created_at: session.created_at,
        reauthenticated_at: session.reauthenticated_at,
        last_used_at: session.last_used_at,
        expires_at: session.expires_at,
        ended_at: session.ended_at,
        current: session.id == current,
    }
}
