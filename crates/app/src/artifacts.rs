//! Artifacts and receipts: metadata, and bytes for those who may see them at the moment of asking.

use std::ops::Range;

use pinhole_blobs::{Blobs, ByteStream};
use pinhole_contract::{ArtifactView, ContentRef, GetCaptureReceipt, GetScenarioArtifact, ReceiptView};
use pinhole_core::{Actor, ArtifactId, Error, Permission, Result};
use pinhole_store::Artifact;

use crate::{App, runs, unit::Unit};

/// An artifact that the actor may read now: its metadata, and the way to its bytes.
pub struct ArtifactContent {
    /// The metadata.
    pub view: ArtifactView,
    artifact: Artifact,
    blobs: Blobs,
}

impl ArtifactContent {
    /// The bytes, or a range of them.
    ///
    /// # Errors
    /// `gone` when retention removed them, `provider_unavailable` when the storage does not answer.
    pub async fn open(&self, range: Option<Range<u64>>) -> Result<ByteStream> {
        Ok(self.blobs.open(self.artifact.reference.blake3, range).await?.1)
    }

    /// All of the bytes in memory, checked against their digest.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub async fn read(&self) -> Result<Vec<u8>> {
        self.blobs.get(self.artifact.reference.blake3).await
    }
}

impl App {
    /// Authorises one download of an artifact.
    ///
    /// # Errors
    /// As for `get_scenario_artifact`.
    pub async fn artifact_content(&self, actor: &Actor, id: ArtifactId) -> Result<ArtifactContent> {
        let artifact = self
            .read(actor, "get_artifact_content", move |unit, _| Box::pin(async move { authorised(unit, id).await }))
            .await?;
        Ok(ArtifactContent { view: artifact_view(&artifact), artifact, blobs: self.blobs().clone() })
    }
}

pub(crate) async fn get(app: &App, actor: &Actor, command: GetScenarioArtifact) -> Result<ArtifactView> {
    app.read(actor, "get_scenario_artifact", move |unit, _| {
        Box::pin(async move { authorised(unit, command.artifact_id).await.map(|artifact| artifact_view(&artifact)) })
    })
    .await
}

pub(crate) async fn receipt(app: &App, actor: &Actor, command: GetCaptureReceipt) -> Result<ReceiptView> {
    app.read(actor, "get_capture_receipt", move |unit, _| {
        Box::pin(async move {
            let receipt = unit.receipt(command.receipt_id).await?;
            let (_, receipt) = runs::authorised_part(unit, receipt, |found| found.run_id, Permission::Read).await?;
            let envelope = serde_json::from_str(&receipt.envelope).map_err(Error::internal)?;
            Ok(ReceiptView { id: receipt.id, envelope })
        })
    })
    .await
}

async fn authorised(unit: &mut Unit, id: ArtifactId) -> Result<Artifact> {
    let artifact = unit.artifact(id).await?;
    let (_, artifact) = runs::authorised_part(unit, artifact, |found| found.run_id, Permission::Read).await?;
    Ok(artifact)
}

/// An artifact as views show it.
pub(crate) fn artifact_view(artifact: &Artifact) -> ArtifactView {
    let reference = &artifact.reference;
    let extension = reference.kind.extension();
    let file_name = match &artifact.checkpoint {
        Some(checkpoint) => format!("{checkpoint}-{}.{extension}", reference.kind),
        None => format!("{}.{extension}", reference.kind),
    };
    ArtifactView {
        id: reference.id,
        kind: reference.kind,
        size_bytes: reference.size_bytes,
        sha256: reference.sha256,
        media_type: reference.kind.media_type().into(),
        file_name,
        content: ContentRef { path: format!("/api/v1/artifacts/{}/content", reference.id) },
    }
}
