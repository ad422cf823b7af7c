//! The end of the server in the middle of a run, by force and in order; the next start finishes what was begun.

use std::{collections::BTreeSet, time::Duration};

use pinhole_testkit::wait_until;

use super::{PAGE, Stage, all_ended};
use crate::harness::{Setup, descendants};

/// Within this time of the server's death its workers end, and their browsers with them.
const ALONE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_killed_server_takes_browsers_along_and_its_successor_finishes_the_run() {
    let mut stage = Stage::set(Setup::default()).await;
    let (run, browser) = stage.hang("first").await;
    let family: BTreeSet<u32> = descendants(stage.server.pid()).into_iter().collect();
    assert!(family.contains(&browser) && family.len() > 2, "{family:?}");
    stage.server.kill();
    wait_until(ALONE, "the workers and their browsers end by themselves", async || {
        all_ended(&family) && stage.server.browser_directories().is_empty()
    })
    .await;
    stage.site.reset(PAGE);
    stage.server.run().await;
    stage.ends_right(&run, &["lost", "submitted"]).await;
}

/// [`Server::stop`](crate::harness::Server::stop) asserts that it ends in time with status 0 and leaves nothing.
#[tokio::test]
async fn a_server_that_is_told_to_end_does_so_in_the_middle_of_a_run() {
    let mut stage = Stage::set(Setup::default()).await;
    let (run, _) = stage.hang("first").await;
    stage.server.stop();
    stage.site.reset(PAGE);
    stage.server.run().await;
    stage.ends_right(&run, &["lost", "submitted"]).await;
}
