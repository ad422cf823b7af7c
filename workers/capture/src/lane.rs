//! Lanes: one browser each, launched when first needed, used by one cell after another, and replaced when it is spoilt
//! or old.

use std::sync::Arc;

use pinhole_browser::{Browser, BrowserConfig, BrowserError};
use pinhole_core::{Error, Result};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

/// Cells after which a browser is replaced: it grows slowly.
const RECYCLE_AFTER: u32 = 200;

/// The lanes of a worker process.
pub(crate) struct Lanes {
    config: BrowserConfig,
    idle: Mutex<Vec<Lane>>,
    free: Arc<Semaphore>,
}

/// A browser at rest.
struct Lane {
    browser: Browser,
    cells: u32,
}

/// A browser in use. Dropping it without [`Lanes::give_back`] kills the browser.
pub(crate) struct Taken {
    pub(crate) browser: Browser,
    cells: u32,
    _permit: OwnedSemaphorePermit,
}

impl Lanes {
    pub(crate) fn new(config: BrowserConfig, count: usize) -> Self {
        Self { config, idle: Mutex::new(Vec::new()), free: Arc::new(Semaphore::new(count)) }
    }

    /// Waits for a lane and sees that it has a browser.
    pub(crate) async fn take(&self) -> Result<Result<Taken, BrowserError>> {
        let permit = Arc::clone(&self.free).acquire_owned().await.map_err(Error::internal)?;
        let idle = self.idle.lock().await.pop();
        let (browser, cells) = match idle {
            Some(lane) if lane.browser.is_healthy() => (lane.browser, lane.cells),
            other => {
                if let Some(lane) = other {
                    lane.browser.close().await;
                }
                match Browser::launch(&self.config).await {
                    Ok(browser) => (browser, 0),
                    Err(error) => return Ok(Err(error)),
                }
            }
        };
        Ok(Ok(Taken { browser, cells, _permit: permit }))
    }

    /// Gives a browser back after a cell; it is closed when it is spoilt or old.
    pub(crate) async fn give_back(&self, taken: Taken) {
        let Taken { browser, cells, _permit: permit } = taken;
        if browser.is_healthy() && cells + 1 < RECYCLE_AFTER {
            self.idle.lock().await.push(Lane { browser, cells: cells + 1 });
        } else {
            browser.close().await;
        }
        drop(permit);
    }

    /// Closes the browsers at rest.
    pub(crate) async fn close(&self) {
        for lane in self.idle.lock().await.drain(..) {
            lane.browser.close().await;
        }
    }
}
