//! Compares the log with what was signed before and is known outside of the database. A database from an older backup
//! would otherwise begin another continuation of the same log, and both would be signed.

use pinhole_core::{Error, Result};
use pinhole_receipt::log::{Checkpoint, Tiles, root_at};
use pinhole_store::{LogState, Tx};

use super::{head_of, sequence::present, tiles::ask};
use crate::App;

impl App {
    /// Refuses unless the log is what a checkpoint says, or its continuation; `place` says where that was found.
    ///
    /// # Errors
    /// `conflict` with reason `log_behind` or `log_forked`.
    pub(crate) async fn compare_log(&self, earlier: &Checkpoint, place: &str) -> Result<()> {
        let mut tx = self.store().begin_read().await?;
        let state = present(&mut tx).await?;
        compare(&mut tx, &state, earlier, place).await
    }
}

/// Refuses unless the log is `earlier` or its continuation; `place` says where that was found.
///
/// # Errors
/// `conflict` with reason `log_behind` when the log is shorter or another one, `log_forked` when it has something else
/// in the place of what was signed.
async fn compare(tx: &mut Tx, state: &LogState, earlier: &Checkpoint, place: &str) -> Result<()> {
    let Checkpoint { origin, size, root } = earlier;
    if *origin != state.origin && tx.is_ended_log(origin).await? {
        return Ok(());
    }
    if *origin != state.origin || *size > state.size {
        return Err(behind(state, earlier, place));
    }
    let (head, size) = (head_of(state), *size);
    let own = ask(tx, &mut Tiles::default(), move |tiles| root_at(tiles, head, size)).await?;
    if own == *root { Ok(()) } else { Err(forked(state, earlier, place)) }
}

fn behind(state: &LogState, earlier: &Checkpoint, place: &str) -> Error {
    let message = format!(
        "the transparency log in the database is {} with {} leaves, and {place} has a checkpoint of {} over {}: the \
         database is older than what was signed. Restore a newer one, or begin another log when there is none; nothing \
         is signed or published until then",
        state.origin, state.size, earlier.origin, earlier.size
    );
    Error::conflict("log_behind", message)
}

fn forked(state: &LogState, earlier: &Checkpoint, place: &str) -> Error {
    let message = format!(
        "the transparency log in the database has other leaves than the checkpoint over {} leaves of {} that {place} \
         has: it went on from an older backup. Restore the right database, or begin another log when there is none; \
         nothing is signed or published until then",
        earlier.size, state.origin
    );
    Error::conflict("log_forked", message)
}
