//! What the installation has lately been seen to do.

use pinhole_core::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Idempotency, Method, Operation, Spec, Surfaces, Who};

/// What has the installation lately been seen to do?
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetReadiness {}

/// What was last tried of each kind; null for what never was. Nothing here is concluded from baselines or catalogs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReadinessView {
    /// An object was written, read and deleted.
    pub storage: Option<ProbeView>,
    /// A browser took a picture of a built-in page.
    pub capture: Option<ProbeView>,
    /// A publication came to an end.
    pub publication: Option<ProbeView>,
    /// The transparency log was compared with what was signed before, and took in what was committed.
    pub log: Option<ProbeView>,
}

/// One thing that was tried.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProbeView {
    /// When it ended.
    pub at: Timestamp,
    /// `ok` or `failed`; for a publication the state that it ended in.
    pub outcome: String,
    /// What went wrong, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Operation for GetReadiness {
    type Output = ReadinessView;
    const SPEC: Spec = Spec {
        name: "get_readiness",
        summary: "Tell when storage, capture, publication and the transparency log were last tried, and how it went.",
        permission: None,
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/readiness",
    };
}
