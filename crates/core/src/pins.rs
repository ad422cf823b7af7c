//! Selectors (what a caller asks for) and pins (the exact, immutable references that they were resolved to).

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Blake3Digest, EnvironmentId, LineName, ProjectId, ReceiptId, ScenarioId, Sha256Digest, Slug};

/// Which scenario revision: a digest, or the present head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ScenarioSelector {
    /// Exactly this revision.
    Digest(Blake3Digest),
    /// The head at admission; must be `true`.
    Head(True),
}

/// Which environment revision: a number, or the latest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum EnvironmentSelector {
    /// Exactly this revision.
    Revision(u32),
    /// The latest at admission; must be `true`.
    Latest(True),
}

/// Which baseline to compare with: `{line, revision | latest, of_environment?}`, `{receipt}` or `{none: true}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BaselineSelectorForm", into = "BaselineSelectorForm")]
pub enum BaselineSelector {
    /// A revision of a catalog line.
    Line {
        /// The line.
        name: LineName,
        /// The revision.
        revision: LineRevision,
        /// The environment whose entries are compared with; the run's own when left out.
        of_environment: Option<Slug>,
    },
    /// A receipt of the same project, as a reference only.
    Receipt(ReceiptSelector),
    /// Nothing, on purpose.
    None,
}

/// The members of a baseline selector as they are written.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BaselineSelectorForm {
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    line: Option<LineName>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    revision: Option<u32>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    latest: Option<True>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    of_environment: Option<Slug>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    receipt: Option<ReceiptSelector>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    none: Option<True>,
}

/// A member that is there has a value: null is none, and the schema has no place for it.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl TryFrom<BaselineSelectorForm> for BaselineSelector {
    type Error = &'static str;

    fn try_from(form: BaselineSelectorForm) -> Result<Self, Self::Error> {
        let BaselineSelectorForm { line, revision, latest, of_environment, receipt, none } = form;
        match (line, revision, latest, of_environment, receipt, none) {
            (Some(name), Some(number), None, of_environment, None, None) => {
                Ok(Self::Line { name, revision: LineRevision::Number(number), of_environment })
            }
            (Some(name), None, Some(True), of_environment, None, None) => {
                Ok(Self::Line { name, revision: LineRevision::Latest, of_environment })
            }
            (None, None, None, None, Some(receipt), None) => Ok(Self::Receipt(receipt)),
            (None, None, None, None, None, Some(True)) => Ok(Self::None),
            _ => Err("expected {line, revision}, {line, latest: true}, {receipt} or {none: true}"),
        }
    }
}

impl From<BaselineSelector> for BaselineSelectorForm {
    fn from(selector: BaselineSelector) -> Self {
        match selector {
            BaselineSelector::Line { name, revision, of_environment } => Self {
                line: Some(name),
                revision: match revision {
                    LineRevision::Number(number) => Some(number),
                    LineRevision::Latest => None,
                },
                latest: (revision == LineRevision::Latest).then_some(True),
                of_environment,
                ..Self::default()
            },
            BaselineSelector::Receipt(receipt) => Self { receipt: Some(receipt), ..Self::default() },
            BaselineSelector::None => Self { none: Some(True), ..Self::default() },
        }
    }
}

impl JsonSchema for BaselineSelector {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BaselineSelector".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let (line, slug) = (generator.subschema_for::<LineName>(), generator.subschema_for::<Slug>());
        let receipt = generator.subschema_for::<ReceiptSelector>();
        let of_line = |member: &str, schema: serde_json::Value| {
            serde_json::json!({
                "type": "object",
                "properties": { "line": line, member: schema, "of_environment": slug },
                "required": ["line", member],
                "additionalProperties": false,
            })
        };
        schemars::json_schema!({ "oneOf": [
            of_line("revision", serde_json::json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX })),
            of_line("latest", serde_json::json!({ "type": "boolean", "const": true })),
            { "type": "object", "properties": { "receipt": receipt }, "required": ["receipt"],
              "additionalProperties": false },
            { "type": "object", "properties": { "none": { "type": "boolean", "const": true } }, "required": ["none"],
              "additionalProperties": false },
        ] })
    }
}

/// Which receipt is the reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ReceiptSelector {
    /// The receipts of the newest completed run of the same scenario and environment; the text `previous`.
    Previous(Previous),
    /// Exactly this receipt.
    Id(ReceiptId),
}

/// The word `previous`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Previous {
    /// The only value.
    #[serde(rename = "previous")]
    Previous,
}

/// Which revision of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineRevision {
    /// Exactly this revision.
    Number(u32),
    /// The latest at admission.
    Latest,
}

/// What a run is to be started from: every selector of `start_scenario_run`. None has a default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSelectors {
    /// The project.
    pub project: Slug,
    /// The scenario.
    pub scenario: Slug,
    /// Which revision of it: `{digest}` or `{head: true}`.
    pub revision: ScenarioSelector,
    /// The environment.
    pub environment: Slug,
    /// Which revision of it: `{revision}` or `{latest: true}`.
    pub environment_revision: EnvironmentSelector,
    /// What to compare with.
    pub baseline: BaselineSelector,
}

/// The JSON value `true`, so that a selector cannot say `false`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "bool", into = "bool")]
pub struct True;

impl TryFrom<bool> for True {
    type Error = &'static str;

    fn try_from(value: bool) -> Result<Self, Self::Error> {
        value.then_some(Self).ok_or("expected true")
    }
}

impl From<True> for bool {
    fn from(_: True) -> Self {
        true
    }
}

impl JsonSchema for True {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "True".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "boolean", "const": true })
    }
}

/// The baseline that a run compares with, for ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum BaselinePin {
    /// Nothing: every checkpoint is `new`.
    None {
        /// Why: the caller said `none`, the line was empty, or there was no previous run.
        because: NoBaseline,
    },
    /// A catalog revision.
    Line {
        /// The line.
        name: LineName,
        /// The revision's number.
        revision: u32,
        /// The revision's digest.
        digest: Sha256Digest,
        /// The environment whose entries are compared with.
        environment: EnvironmentId,
    },
    /// Receipts as references.
    Receipts {
        /// At most one for each checkpoint and profile.
        receipts: Vec<ReceiptId>,
    },
}

crate::form::text_enum! {
    /// Why no baseline is pinned.
    NoBaseline {
        /// The caller asked for none.
        Requested = "requested",
        /// The line has no revision yet.
        EmptyLine = "empty_line",
        /// There is no earlier completed run.
        NoPreviousRun = "no_previous_run",
    }
}

impl BaselinePin {
    /// Whether a run with this pin is at best `needs_baseline`.
    pub const fn is_reference_only(&self) -> bool {
        !matches!(self, Self::Line { .. })
    }
}

/// Everything that a run is pinned to, resolved before anything is queued. Never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    /// The project.
    pub project: ProjectId,
    /// The scenario.
    pub scenario: ScenarioId,
    /// Its slug at admission.
    pub scenario_slug: Slug,
    /// BLAKE3 of the scenario revision's canonical bytes.
    pub scenario_digest: Blake3Digest,
    /// SHA-256 of the same bytes.
    pub scenario_sha256: Sha256Digest,
    /// The environment.
    pub environment: EnvironmentId,
    /// Its slug at admission.
    pub environment_slug: Slug,
    /// The environment's revision.
    pub environment_revision: u32,
    /// SHA-256 of the environment revision's canonical bytes.
    pub environment_sha256: Sha256Digest,
    /// Where relative URLs start.
    pub base_url: String,
    /// The baseline.
    pub baseline: BaselinePin,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn baseline_selectors_have_one_form_each() {
        for text in [
            r#"{"line":"main","revision":3}"#,
            r#"{"line":"main","latest":true,"of_environment":"staging"}"#,
            r#"{"receipt":"previous"}"#,
            r#"{"receipt":"rcp_00000000000000000000000000000001"}"#,
            r#"{"none":true}"#,
        ] {
            let selector: BaselineSelector = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&selector).unwrap(), text);
        }
        for wrong in [
            "{}",
            r#"{"line":"main"}"#,
            r#"{"line":"main","latest":false}"#,
            r#"{"line":"main","latest":true,"revision":1}"#,
            r#"{"none":true,"receipt":"previous"}"#,
            r#"{"receipt":"x"}"#,
            r#"{"newest":true}"#,
        ] {
            assert!(serde_json::from_str::<BaselineSelector>(wrong).is_err(), "{wrong}");
        }
    }
}
