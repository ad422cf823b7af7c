//! Scenarios: validate, create, submit a revision, read, list, archive.

use pinhole_core::{Blake3Digest, IdempotencyKey, Permission, ScenarioId, Sha256Digest, Slug, Timestamp, Title};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cursor, Idempotency, Limit, Method, Operation, Spec, Surfaces, Who, bounded};

/// How a scenario's source is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceFormat {
    /// YAML.
    #[default]
    Yaml,
    /// JSON.
    Json,
}

/// Check a scenario without storing it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidateScenario {
    /// The project whose author the caller is.
    pub project: Slug,
    /// The scenario's text in YAML or JSON, at most 256 KiB: `schema: pinhole.scenario.v1`, a `title`, and `steps`, a list
    /// of maps with one key each. The first is `navigate: /path`; then, in any order, `click: LOCATOR`,
    /// `fill: { into: LOCATOR, value: TEXT }`, `press: { key: Enter }`, `wait_for: CONDITION`, `assert: CONDITION` and
    /// `capture: { name: NAME }`, which takes the picture. A LOCATOR is one of `{ css: … }`, `{ role: …, name: … }`,
    /// `{ text: … }`, `{ label: … }`; a CONDITION such as `{ visible: LOCATOR }` or `{ url: { equals: /path } }`.
    #[serde(deserialize_with = "bounded::text::<0, 262_144, _>")]
    #[schemars(length(max = 262_144))]
    pub source: String,
    /// How it is written.
    #[serde(default)]
    pub format: SourceFormat,
}

/// One mistake in a scenario.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DiagnosticView {
    /// Path of the member, such as `steps[2].capture.name`.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What is wrong and what to do.
    pub message: String,
}

/// What validation found.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ValidationView {
    /// Whether it could be submitted.
    pub valid: bool,
    /// The digest that a revision of it would have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Blake3Digest>,
    /// Every mistake found, at most 50.
    pub diagnostics: Vec<DiagnosticView>,
}

impl Operation for ValidateScenario {
    type Output = ValidationView;
    const SPEC: Spec = Spec {
        name: "validate_scenario",
        summary: "Check a scenario and tell every mistake with line and column; nothing is stored.",
        permission: Some(Permission::ScenarioWrite),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/scenarios/validate",
    };
}

/// Make a scenario with its first revision.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateScenario {
    /// The project.
    pub project: Slug,
    /// Its name in URLs.
    pub slug: Slug,
    /// The scenario's text, at most 256 KiB; `validate_scenario` says what it looks like.
    #[serde(deserialize_with = "bounded::text::<0, 262_144, _>")]
    #[schemars(length(max = 262_144))]
    pub source: String,
    /// How it is written.
    #[serde(default)]
    pub format: SourceFormat,
    /// One key for one intent.
    #[serde(default, skip_serializing)]
    pub idempotency_key: Option<IdempotencyKey>,
}

/// A scenario at its head, or at the revision that was asked for.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioView {
    /// Its id.
    pub id: ScenarioId,
    /// Its project.
    pub project: Slug,
    /// Its name in URLs.
    pub slug: Slug,
    /// Counts moves of the head and archiving; the expected version of the next change.
    pub version: u32,
    /// The head's identity.
    pub head_digest: Blake3Digest,
    /// The identity of the revision that is shown.
    pub digest: Blake3Digest,
    /// SHA-256 of the same bytes.
    pub sha256: Sha256Digest,
    /// Its title.
    pub title: Title,
    /// The revision in canonical form.
    pub document: serde_json::Value,
    /// When the scenario was made.
    pub created_at: Timestamp,
    /// Since when no run of it can be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Timestamp>,
    /// True when an earlier call with the same key made it.
    #[serde(default)]
    pub replayed: bool,
}

impl Operation for CreateScenario {
    type Output = ScenarioView;
    const SPEC: Spec = Spec {
        name: "create_scenario",
        summary: "Make a scenario with its first revision.",
        permission: Some(Permission::ScenarioWrite),
        who: Who::Any,
        idempotency: Idempotency::Keyed,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/scenarios",
    };
}

/// Submit a new revision; the head moves to it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitScenarioRevision {
    /// The scenario.
    pub scenario_id: ScenarioId,
    /// The scenario's text, at most 256 KiB; `validate_scenario` says what it looks like.
    #[serde(deserialize_with = "bounded::text::<0, 262_144, _>")]
    #[schemars(length(max = 262_144))]
    pub source: String,
    /// How it is written.
    #[serde(default)]
    pub format: SourceFormat,
    /// The version that the caller has seen.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

impl Operation for SubmitScenarioRevision {
    type Output = ScenarioView;
    const SPEC: Spec = Spec {
        name: "submit_scenario_revision",
        summary: "Submit a new, immutable revision of a scenario; its head moves to it.",
        permission: Some(Permission::ScenarioWrite),
        who: Who::Any,
        idempotency: Idempotency::Cas,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/scenarios/{scenario_id}/revisions",
    };
}

/// Read a scenario at its head, or at one of its revisions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetScenario {
    /// The scenario.
    pub scenario_id: ScenarioId,
    /// The identity of a revision; the head when left out.
    #[serde(default)]
    pub digest: Option<Blake3Digest>,
}

impl Operation for GetScenario {
    type Output = ScenarioView;
    const SPEC: Spec = Spec {
        name: "get_scenario",
        summary: "Read a scenario at its head, or at one of its revisions.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/scenarios/{scenario_id}",
    };
}

/// List the scenarios of a project, by slug.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListScenarios {
    /// The project.
    pub project: Slug,
    /// How many.
    #[serde(default)]
    pub limit: Limit,
    /// From where.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// A scenario in a list: without its document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ListedScenarioView {
    /// Its id.
    pub id: ScenarioId,
    /// Its name in URLs.
    pub slug: Slug,
    /// Counts moves of the head and archiving.
    pub version: u32,
    /// The head's identity.
    pub head_digest: Blake3Digest,
    /// The head's title.
    pub title: Title,
    /// When the scenario was made.
    pub created_at: Timestamp,
    /// Since when no run of it can be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Timestamp>,
}

/// One page of scenarios.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioList {
    /// The scenarios.
    pub scenarios: Vec<ListedScenarioView>,
    /// Where the next page starts; null on the last.
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListScenarios {
    type Output = ScenarioList;
    const SPEC: Spec = Spec {
        name: "list_scenarios",
        summary: "List the scenarios of a project with their heads, archived ones too.",
        permission: Some(Permission::Read),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Get,
        path: "/scenarios",
    };
}

/// Archive a scenario: no run of it can be started any more. What it has is kept.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArchiveScenario {
    /// The scenario.
    pub scenario_id: ScenarioId,
    /// The version that the caller has seen.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

impl Operation for ArchiveScenario {
    type Output = ScenarioView;
    const SPEC: Spec = Spec {
        name: "archive_scenario",
        summary: "Archive a scenario: no run of it can be started any more; its runs and baselines stay.",
        permission: Some(Permission::ScenarioWrite),
        who: Who::Any,
        idempotency: Idempotency::Cas,
        surfaces: Surfaces::RestAndMcp,
        method: Method::Post,
        path: "/scenarios/{scenario_id}/archive",
    };
}
