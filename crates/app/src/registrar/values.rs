//! Extracted values: taken in and compared. Like a picture, they are hashed, read and stored by the registrar itself.

use std::collections::BTreeMap;

use pinhole_blobs::StagingFolder;
use pinhole_compare::{ValueChange, ValueComparison, compare_values};
use pinhole_contract::ComparisonView;
use pinhole_core::{
    ArtifactKind, BaselineKind, CheckpointVerdict, Error, Result, RulesFacts, Sha256Digest, StagedExtract,
    canonical_json, canonical_json_digest,
};
use pinhole_scenario::{Extract, ValueSource};
use pinhole_store::Receipt;
use serde_json::Value;

use super::{Registration, compare::Compared, intake::TakenCheckpoint};
use crate::App;

/// The greatest file of values: 100 texts of the greatest length.
const MAX_VALUES_BYTES: u64 = 8 << 20;
/// Characters of one text at most.
const MAX_TEXT_CHARS: usize = 10_000;

type Values = BTreeMap<String, Value>;

impl App {
    pub(super) async fn take_extract(
        &self,
        registration: &Registration,
        folder: &StagingFolder,
        staged: &StagedExtract,
        (extract, baseline): (&Extract, Option<&Receipt>),
    ) -> Result<TakenCheckpoint> {
        let wrong = |reason: &str| Error::invalid(staged.name.as_str(), reason);
        if staged.not_evidence.len() > super::intake::MAX_REASONS {
            return Err(wrong("more reasons than an extract can have"));
        }
        if staged.render.profile != registration.cell.profile {
            return Err(wrong("the profile is not the cell's"));
        }
        if staged.values.kind != ArtifactKind::Values {
            return Err(wrong("the values are of another kind"));
        }
        let bytes = self.read_once(folder, &staged.values, MAX_VALUES_BYTES).await?;
        let values = parse(&bytes, extract).map_err(|error| error.within(staged.name.as_str()))?;
        let digest = Sha256Digest::of(&bytes);
        let rules = RulesFacts { capture: extract.rules() };
        let mut taken = TakenCheckpoint {
            name: staged.name.clone(),
            kind: BaselineKind::Structured,
            captured_at: staged.captured_at,
            content: self.keep(ArtifactKind::Values, bytes).await?,
            pixel_digest: digest,
            render_digest: canonical_json_digest(&staged.render)?,
            render: staged.render.clone(),
            rules_digest: canonical_json_digest(&rules)?,
            rules,
            not_evidence: staged.not_evidence.clone(),
            compared: Compared::not_evidence(),
        };
        if taken.not_evidence.is_empty() {
            taken.compared = self.compare_values(&taken, &values, baseline).await?;
        }
        Ok(taken)
    }

    async fn compare_values(
        &self,
        taken: &TakenCheckpoint,
        values: &Values,
        baseline: Option<&Receipt>,
    ) -> Result<Compared> {
        let Some(baseline) = baseline else { return Ok(Compared::bare(CheckpointVerdict::New, None)) };
        let reference = Some(baseline.id);
        if baseline.render_sha256 != taken.render_digest || baseline.rules_sha256 != taken.rules_digest {
            return Ok(Compared::bare(CheckpointVerdict::Incomparable, reference));
        }
        let before: Values = serde_json::from_slice(&self.content_of(baseline).await?).map_err(Error::internal)?;
        let comparison = compare_values(&before, values);
        let verdict = match comparison.differences.is_empty() {
            true => CheckpointVerdict::Matched,
            false => CheckpointVerdict::Changed,
        };
        let comparison = Some(view(&comparison)?);
        Ok(Compared { comparison, ..Compared::bare(verdict, reference) })
    }
}

/// The values of the file, when they are in canonical form and exactly those that the scenario asks for.
fn parse(bytes: &[u8], extract: &Extract) -> Result<Values> {
    let wrong = |reason: &str| Error::invalid("values", reason);
    let values: Values = serde_json::from_slice(bytes).map_err(|_| wrong("no object of values in JSON"))?;
    if canonical_json(&values)? != bytes {
        return Err(wrong("not in canonical form"));
    }
    let asked = |(name, source): (&pinhole_core::Slug, &ValueSource)| match (source, values.get(name.as_str())) {
        (ValueSource::Count(_), Some(Value::Number(number))) => number.is_u64(),
        (ValueSource::Count(_), _) => false,
        (_, Some(Value::String(text))) => text.chars().nth(MAX_TEXT_CHARS).is_none(),
        _ => false,
    };
    if values.len() == extract.values.len() && extract.values.iter().all(asked) {
        return Ok(values);
    }
    Err(wrong("not the values that the scenario asks for"))
}

/// Differences stand where changed regions do.
fn view(comparison: &ValueComparison<Value>) -> Result<ComparisonView> {
    let count = |kind| comparison.differences.iter().filter(|found| found.kind == kind).count() as u64;
    let account = [
        ("equal", comparison.equal),
        ("added", count(ValueChange::Added)),
        ("removed", count(ValueChange::Removed)),
        ("changed", count(ValueChange::Changed)),
    ];
    let region = |found| serde_json::to_value(found).map_err(Error::internal);
    Ok(ComparisonView {
        metric: comparison.metric.into(),
        size_baseline: None,
        size_candidate: None,
        account: account.map(|(name, count)| (name.to_owned(), count)).into(),
        regions: comparison.differences.iter().map(region).collect::<Result<_>>()?,
        regions_omitted: 0,
    })
}
