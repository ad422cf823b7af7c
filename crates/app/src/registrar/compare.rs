//! Comparing one registered picture with its pinned baseline. As little is decoded as the digests allow.

use std::collections::BTreeMap;

use pinhole_compare::{Comparison, Picture, Rect, Rules, Verdict, compare, difference_picture, encode_png};
use pinhole_contract::ComparisonView;
use pinhole_core::{ArtifactKind, ArtifactRef, CheckpointVerdict, Error, ReceiptId, Result, StagedCheckpoint};
use pinhole_scenario::Capture;
use pinhole_store::Receipt;

use super::intake::{TakenCheckpoint, decode};
use crate::App;

/// What a comparison came to.
pub(crate) struct Compared {
    pub(crate) verdict: CheckpointVerdict,
    pub(crate) baseline: Option<ReceiptId>,
    pub(crate) comparison: Option<ComparisonView>,
    pub(crate) difference: Option<ArtifactRef>,
}

impl Compared {
    pub(super) fn bare(verdict: CheckpointVerdict, baseline: Option<ReceiptId>) -> Self {
        Self { verdict, baseline, comparison: None, difference: None }
    }

    /// For a capture that proves nothing and is compared with nothing.
    pub(super) fn not_evidence() -> Self {
        Self::bare(CheckpointVerdict::NotEvidence, None)
    }
}

impl App {
    pub(super) async fn compare_checkpoint(
        &self,
        taken: &TakenCheckpoint,
        picture: Picture,
        baseline: Option<&Receipt>,
        checkpoint: &StagedCheckpoint,
        capture: &Capture,
    ) -> Result<Compared> {
        let Some(baseline) = baseline else { return Ok(Compared::bare(CheckpointVerdict::New, None)) };
        let reference = Some(baseline.id);
        if baseline.render_sha256 != taken.render_digest || baseline.rules_sha256 != taken.rules_digest {
            return Ok(Compared::bare(CheckpointVerdict::Incomparable, reference));
        }
        let rules = rules(checkpoint, capture);
        if baseline.pixel_digest == taken.pixel_digest {
            let comparison = spawn(move || compare(&picture, &picture, &rules)).await?;
            let comparison = Some(view(&comparison)?);
            return Ok(Compared { comparison, ..Compared::bare(CheckpointVerdict::Matched, reference) });
        }
        let before = self.picture_of(baseline).await?;
        let (comparison, difference) = spawn(move || {
            let comparison = compare(&before, &picture, &rules);
            let changed = comparison.verdict == Verdict::Changed;
            let difference = changed.then(|| encode_png(&difference_picture(&before, &picture, &comparison, &rules)));
            (comparison, difference)
        })
        .await?;
        let verdict = match comparison.verdict {
            Verdict::Matched => CheckpointVerdict::Matched,
            Verdict::Changed => CheckpointVerdict::Changed,
        };
        let difference = match difference.transpose().map_err(Error::internal)? {
            Some(bytes) => Some(self.keep(ArtifactKind::Difference, bytes).await?),
            None => None,
        };
        Ok(Compared { verdict, baseline: reference, comparison: Some(view(&comparison)?), difference })
    }

    async fn picture_of(&self, receipt: &Receipt) -> Result<Picture> {
        decode(self.content_of(receipt).await?).await.map_err(Error::internal)
    }

    /// The bytes of a receipt's picture, or of its file of values.
    pub(super) async fn content_of(&self, receipt: &Receipt) -> Result<Vec<u8>> {
        let id = receipt.picture_id;
        let mut tx = self.store().begin_read().await?;
        let artifact = tx.artifact(id).await?.ok_or_else(|| Error::internal("a receipt without its content"))?;
        drop(tx);
        self.blobs().get(artifact.reference.blake3).await.map_err(Error::internal)
    }
}

/// Computes on a thread that may be busy.
pub(super) async fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(Error::internal)
}

fn rules(checkpoint: &StagedCheckpoint, capture: &Capture) -> Rules {
    let rect = |[x, y, width, height]: &[u32; 4]| Rect { x: *x, y: *y, width: *width, height: *height };
    let stated = &capture.compare;
    // Zero is also what is meant when only a ratio is stated.
    let pixels =
        (stated.max_changed_pixels > 0 || stated.max_changed_ratio.is_none()).then_some(stated.max_changed_pixels);
    Rules {
        ignored: checkpoint.ignored.iter().map(rect).collect(),
        masked: checkpoint.masked.iter().map(rect).collect(),
        ..Rules::tolerating(pixels, stated.max_changed_ratio)
    }
}

fn view(comparison: &Comparison) -> Result<ComparisonView> {
    let account: BTreeMap<String, u64> =
        serde_json::from_value(serde_json::to_value(comparison.account).map_err(Error::internal)?)
            .map_err(Error::internal)?;
    let region = |region| serde_json::to_value(region).map_err(Error::internal);
    Ok(ComparisonView {
        metric: comparison.metric.into(),
        size_baseline: Some(comparison.size_baseline),
        size_candidate: Some(comparison.size_candidate),
        account,
        regions: comparison.regions.iter().map(region).collect::<Result<_>>()?,
        regions_omitted: comparison.regions_omitted,
    })
}
