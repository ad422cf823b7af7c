//! The transparency log: proofs that it has a record, and that it never took anything back.

use pinhole_core::{LogRecordId, LogRecordKind, Permission, Sha256Digest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Idempotency, Method, Operation, Spec, Surfaces, Who};

/// Prove that the transparency log has a record.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetLogProof {
    /// The id of an audit row, receipt, review or decision, of a run for its result, of a publication for its receipt; or
    /// the digest of a catalog revision.
    pub record_id: LogRecordId,
}

/// A proof of inclusion (RFC 6962) under the newest checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LogProofView {
    /// The record.
    pub record_id: LogRecordId,
    /// What it is in the log.
    pub kind: LogRecordKind,
    /// SHA-256 of the record: of a signed statement's envelope, or of an audit row's canonical JSON.
    pub sha256: Sha256Digest,
    /// The entry of the log: SHA-256 over `pinhole.dev/log-entry/v1`, a zero byte, the kind, a zero byte, and the bytes of
    /// `sha256`. The leaf's hash is the one of RFC 6962 over its 32 bytes.
    pub entry: Sha256Digest,
    /// The leaf, from 0.
    pub leaf: u64,
    /// Number of leaves under the checkpoint.
    pub size: u64,
    /// The audit path, from the leaf's neighbour up; base64.
    pub hashes: Vec<String>,
    /// The checkpoint, a signed note (C2SP tlog-checkpoint).
    pub checkpoint: String,
}

impl Operation for GetLogProof {
    type Output = LogProofView;
    const SPEC: Spec = Spec {
        name: "get_log_proof",
        summary: "Prove that the transparency log has a receipt, review, decision, revision, result or audit row.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/log/records/{record_id}",
    };
}

/// Prove that the transparency log only ever grew.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetLogConsistency {
    /// Number of leaves of the earlier checkpoint.
    pub first: u64,
    /// Number of leaves of the later one; left out for the newest.
    #[serde(default)]
    pub second: Option<u64>,
}

/// A proof of consistency (RFC 6962).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LogConsistencyView {
    /// Number of leaves of the earlier tree.
    pub first: u64,
    /// Number of leaves of the later tree.
    pub second: u64,
    /// The proof; base64.
    pub hashes: Vec<String>,
    /// The newest checkpoint, a signed note (C2SP tlog-checkpoint).
    pub checkpoint: String,
}

impl Operation for GetLogConsistency {
    type Output = LogConsistencyView;
    const SPEC: Spec = Spec {
        name: "get_log_consistency",
        summary: "Prove that the transparency log of one size begins with all of what it was at an earlier size.",
        permission: None,
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/log/consistency",
    };
}
