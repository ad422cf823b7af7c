//! Whether this process could serve a call now, and what the installation has lately been seen to do. Only what was
//! tried out counts as seen.

use std::time::Duration;

use pinhole_contract::{GetReadiness, ProbeView, ReadinessView};
use pinhole_core::{Actor, Error, ProbeKind, Result};
use pinhole_store::Probe;
use tokio::time::timeout;

use crate::{App, Settings, log::COMPARE_EVERY, unit::Unit};

/// How long the storage may take to answer a probe.
const STORAGE_LIMIT: Duration = Duration::from_secs(10);
/// A sequencer that has not come to an end for so long has stopped; it looks at least once in [`COMPARE_EVERY`].
const LOG_SILENCE: Duration = Duration::from_secs(5 * COMPARE_EVERY.as_secs());
/// What a probe that went well is recorded as.
pub(crate) const OK: &str = "ok";
/// What one that did not is recorded as.
const FAILED: &str = "failed";

/// What was looked at, and how it went.
#[derive(Debug)]
pub struct Readiness {
    /// A row could be read.
    pub database: Result<()>,
    /// The storage has room for what admission would let in.
    pub storage: Result<()>,
    /// The transparency log continues what was signed before.
    pub log: Result<()>,
}

impl App {
    /// Looks now; nothing is remembered.
    pub async fn readiness(&self, actor: &Actor) -> Readiness {
        let database = self
            .read(actor, "readiness", |unit, _| {
                Box::pin(async move {
                    let id = unit.actor().principal;
                    unit.principal(id).await.map(drop)
                })
            })
            .await;
        let storage = check_space(self.settings(), &self.blobs().free_space_percent());
        Readiness { database, storage, log: self.log_probe(actor).await }
    }

    /// What the sequencer last found, unless that is long ago. Before its first look nothing is known to be wrong.
    async fn log_probe(&self, actor: &Actor) -> Result<()> {
        let found = self.read(actor, "readiness", |unit, _| Box::pin(last_log_probe(unit))).await?;
        let Some((probe, age)) = found else { return Ok(()) };
        if probe.outcome != OK {
            return Err(Error::unavailable("log", probe.detail.unwrap_or(probe.outcome)));
        }
        if age > LOG_SILENCE {
            let message = format!("nothing has been taken into the transparency log for {} s", age.as_secs());
            return Err(Error::unavailable("log", message));
        }
        Ok(())
    }

    /// Writes, reads and deletes an object of no meaning, and records how that went.
    ///
    /// # Errors
    /// Those of the database; that the storage failed is recorded and no error.
    pub async fn probe_storage(&self) -> Result<()> {
        let name = self.ids().uuid().simple().to_string();
        let outcome = match timeout(STORAGE_LIMIT, self.blobs().probe(&name)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Error::unavailable("storage", "the object storage does not answer in time")),
        };
        if let Err(error) = &outcome {
            tracing::warn!(?error, "the storage probe failed");
        }
        let told = outcome.err().map(|error| error.message().to_owned());
        self.record_own_probe(ProbeKind::Storage, told.as_deref()).await
    }

    /// Records that a browser of a capture worker took a picture of a built-in page, or why it did not.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn record_capture_canary(&self, failure: Option<&str>) -> Result<()> {
        self.record_own_probe(ProbeKind::Capture, failure).await
    }

    pub(crate) async fn record_own_probe(&self, kind: ProbeKind, failure: Option<&str>) -> Result<()> {
        let outcome = if failure.is_some() { FAILED } else { OK };
        self.bookkeeping("record_probe", move |unit, _| Box::pin(record_probe(unit, kind, outcome, failure))).await
    }
}

/// Replaces the last probe of this kind. Its detail is for everybody who may sign in: it names no project.
pub(crate) async fn record_probe(unit: &mut Unit, kind: ProbeKind, outcome: &str, detail: Option<&str>) -> Result<()> {
    const MAX_CHARS: usize = 500;
    let detail = detail.map(|text| text.chars().take(MAX_CHARS).collect());
    let probe = Probe { kind, at: unit.now(), outcome: outcome.to_owned(), detail };
    unit.put_probe(&probe).await
}

/// The sequencer's last look, and how long ago that was.
async fn last_log_probe(unit: &mut Unit) -> Result<Option<(Probe, Duration)>> {
    let now = unit.now();
    let last = unit.probes().await?.into_iter().find(|probe| probe.kind == ProbeKind::Log);
    Ok(last.map(|probe| {
        let age = now.since(probe.at);
        (probe, age)
    }))
}

pub(crate) async fn get(app: &App, actor: &Actor, _: GetReadiness) -> Result<ReadinessView> {
    app.read(actor, "get_readiness", |unit, _| {
        Box::pin(async move {
            unit.check_credential().await?;
            let probes = unit.probes().await?;
            let last = |kind| probes.iter().find(|probe| probe.kind == kind).map(view);
            Ok(ReadinessView {
                storage: last(ProbeKind::Storage),
                capture: last(ProbeKind::Capture),
                publication: last(ProbeKind::Publication),
                log: last(ProbeKind::Log),
            })
        })
    })
    .await
}

fn view(probe: &Probe) -> ProbeView {
    ProbeView { at: probe.at, outcome: probe.outcome.clone(), detail: probe.detail.clone() }
}

/// Refuses when the storage has no room for what admission would let in; `space` is its free share in percent.
///
/// # Errors
/// `provider_unavailable` with reason `free_space` when it has not, `storage` when it does not say.
pub(crate) fn check_space(settings: &Settings, space: &Result<Option<f64>>) -> Result<()> {
    match space {
        Ok(Some(percent)) if *percent < settings.min_free_percent => {
            Err(Error::unavailable("free_space", "the storage is almost full: nothing is admitted until there is room"))
        }
        Ok(_) => Ok(()),
        Err(error) => {
            Err(Error::unavailable("storage", "the storage cannot be looked at: check that its disk is there")
                .with_source(error.to_string()))
        }
    }
}
