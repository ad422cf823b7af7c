//! Putting a job into its queue, as part of a transaction. It must not wake anyone: the transaction may yet fail.

use std::time::Duration;

use apalis::prelude::TaskBuilder;
use pinhole_core::{Error, Result};
use pinhole_store::{Connection, Tx};

use crate::Job;

/// Queues `job`, to be delivered not before `delay` has passed (in whole seconds), if and when `tx` is committed.
///
/// Nothing is unique here: a job that was queued twice is delivered twice. Wake the runners with
/// [`WakeSender::wake`](crate::WakeSender::wake) after the commit, or they notice at their next poll.
///
/// # Errors
/// Those of a statement in `tx`; the transaction must then be given up.
pub async fn enqueue<J: Job>(tx: &mut Tx, job: &J, delay: Duration) -> Result<()> {
    let queue = J::QUEUE.name();
    // One attempt: whether there is another is for the domain row to say.
    let task = TaskBuilder::new(serde_json::to_vec(job).map_err(Error::internal)?).max_attempts(1);
    let now = u64::try_from(tx.now().as_micros()).unwrap_or_default() / 1_000_000;
    match tx.connection() {
        // Compared with this machine's clock when it is fetched, so it is that clock which counts.
        Connection::Sqlite(connection) => {
            let task = task.run_after(delay).build();
            apalis_sqlite::queries::push_tasks(connection, queue, &[task]).await.map_err(|e| match e {
                apalis_sqlite::Error::Database(e) => pinhole_store::database_error(e),
                other => Error::internal(other),
            })
        }
        // Compared with the database's clock.
        Connection::Postgres(connection) => {
            let task = task.run_at_timestamp(now.saturating_add(delay.as_secs())).build();
            apalis_postgres::queries::push_tasks(connection, queue, vec![task]).await.map_err(|e| match e {
                apalis_postgres::Error::Database(e) => pinhole_store::database_error(e),
                other => Error::internal(other),
            })
        }
    }
}
