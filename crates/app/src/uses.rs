//! When credentials were last used. A call only notes it in memory; the sweeper writes what was noted, so that no call
//! waits for a write. What a process that crashed had noted is lost, and the next use is noted again.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use pinhole_core::{Result, SessionId, Timestamp, TokenId};
use pinhole_store::{Session, Token};

use crate::App;

/// A token's last use is written when the one before is as long ago as this.
const TOKEN_STEP: Duration = Duration::from_secs(5 * 60);
/// A session's last use is written when the one before is as long ago as this: it decides when the session ends.
const SESSION_STEP: Duration = Duration::from_secs(60);
/// The most credentials that are noted between two sweeps; of more, the next use is noted.
const MAX_NOTED: usize = 10_000;

/// Credentials that were used since the last sweep.
#[derive(Clone, Default)]
pub(crate) struct Uses(Arc<Mutex<Noted>>);

#[derive(Default)]
struct Noted {
    tokens: BTreeSet<TokenId>,
    sessions: BTreeSet<SessionId>,
}

impl Uses {
    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl App {
    pub(crate) fn note_token_use(&self, token: &Token, now: Timestamp) {
        if token.last_used_at.is_some_and(|last| now.since(last) < TOKEN_STEP) {
            return;
        }
        let mut noted = self.uses.noted();
        if noted.tokens.len() < MAX_NOTED {
            noted.tokens.insert(token.id);
        }
    }

    pub(crate) fn note_session_use(&self, session: &Session, now: Timestamp) {
        if now.since(session.last_used_at) < SESSION_STEP {
            return;
        }
        let mut noted = self.uses.noted();
        if noted.sessions.len() < MAX_NOTED {
            noted.sessions.insert(session.id);
        }
    }

    /// Writes the uses that were noted. They are forgotten also when that fails: the next use is noted again.
    pub(crate) async fn write_uses(&self) -> Result<()> {
        let Noted { tokens, sessions } = std::mem::take(&mut *self.uses.noted());
        if tokens.is_empty() && sessions.is_empty() {
            return Ok(());
        }
        let (tokens, sessions) = (&tokens, &sessions);
        self.bookkeeping("write_uses", move |unit, _| {
            Box::pin(async move {
                for token in tokens {
                    unit.touch_token(*token).await?;
                }
                for session in sessions {
                    unit.touch_session(*session).await?;
                }
                Ok(())
            })
        })
        .await
    }
}
