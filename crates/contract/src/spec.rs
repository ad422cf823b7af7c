//! What an operation is, and the one list of them.

use pinhole_core::{Permission, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, transform::RecursiveTransform};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::{ErrorBody, parse};

/// An operation: the command type is its input, `Output` its success.
pub trait Operation: DeserializeOwned + JsonSchema + Send + 'static {
    /// What success returns.
    type Output: Serialize + JsonSchema + Send;
    /// Everything else about it.
    const SPEC: Spec;
}

/// The declaration of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Its stable name; the MCP tool has the same.
    pub name: &'static str,
    /// One sentence for people and agents.
    pub summary: &'static str,
    /// What the caller needs on the object; `None` when being authenticated is enough.
    pub permission: Option<Permission>,
    /// Which principals may call it at all.
    pub who: Who,
    /// How repeats behave.
    pub idempotency: Idempotency,
    /// Where it is offered.
    pub surfaces: Surfaces,
    /// REST method.
    pub method: Method,
    /// REST path below `/api/v1`, with `{name}` for members that the path gives.
    pub path: &'static str,
}

/// Which principals may call an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// Users and services.
    Any,
    /// Users in a browser session; no token, whatever its scope.
    Session,
    /// Only human authority: a user's fresh session or decision ticket.
    Human,
}

/// Idempotency classes of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Idempotency {
    /// Changes nothing.
    Read,
    /// Reaches the same state however often it is called.
    Natural,
    /// Needs `idempotency_key`.
    Keyed,
    /// Needs `expected_version`.
    Cas,
    /// Needs both.
    KeyedCas,
}

/// Where an operation is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Surfaces {
    /// REST and MCP.
    RestAndMcp,
    /// REST only.
    RestOnly,
}

/// REST methods in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Reads.
    Get,
    /// Creates and acts.
    Post,
    /// Replaces.
    Put,
    /// Removes.
    Delete,
}

/// An operation in the list, with its types erased to schemas.
#[derive(Clone, Copy)]
pub struct OperationSpec {
    /// The declaration.
    pub spec: Spec,
    /// Makes the schemas.
    pub schemas: fn() -> Schemas,
    /// Refuses what is no command of it, as a call does before anything else.
    pub check: fn(Value) -> Result<()>,
}

/// JSON Schemas (2020-12) of an operation.
pub struct Schemas {
    /// Of the command.
    pub input: Schema,
    /// Of success.
    pub output: Schema,
}

/// An operation as `list_operations` shows it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OperationView {
    /// Its stable name.
    pub name: String,
    /// One sentence.
    pub summary: String,
    /// What the caller needs on the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission: Option<Permission>,
    /// Which principals may call it.
    pub who: Who,
    /// How repeats behave.
    pub idempotency: Idempotency,
    /// Where it is offered.
    pub surfaces: Surfaces,
    /// REST method.
    pub method: Method,
    /// REST path.
    pub path: String,
}

impl From<&Spec> for OperationView {
    fn from(spec: &Spec) -> Self {
        Self {
            name: spec.name.into(),
            summary: spec.summary.into(),
            permission: spec.permission,
            who: spec.who,
            idempotency: spec.idempotency,
            surfaces: spec.surfaces,
            method: spec.method,
            path: format!("/api/v1{}", spec.path),
        }
    }
}

impl OperationSpec {
    /// The list's line for the operation whose command is `O`.
    pub const fn of<O: Operation>() -> Self {
        Self { spec: O::SPEC, schemas: schemas::<O>, check: parse::check::<O> }
    }
}

fn schemas<O: Operation>() -> Schemas {
    let schema = |make: fn(SchemaGenerator) -> Schema, settings: SchemaSettings| make(settings.into_generator());
    Schemas {
        input: schema(|generator| generator.into_root_schema_for::<O>(), settings()),
        output: schema(|generator| generator.into_root_schema_for::<O::Output>(), settings().for_serialize()),
    }
}

/// The schema of the error body.
pub fn error_schema() -> Schema {
    settings().for_serialize().into_generator().into_root_schema_for::<ErrorBody>()
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12()
        .with_transform(RecursiveTransform(bound_integers))
        .with_transform(RecursiveTransform(split_null))
}

/// Writes "this or null" as two alternatives: not every reader of schemas knows lists of types.
fn split_null(schema: &mut Schema) {
    let Some([Value::String(kind), Value::String(null)]) =
        schema.get("type").and_then(Value::as_array).map(Vec::as_slice)
    else {
        return;
    };
    if null != "null" {
        return;
    }
    let (kind, Some(members)) = (kind.clone(), schema.as_object_mut()) else { return };
    let (outer, mut inner): (Map<String, Value>, Map<String, Value>) = std::mem::take(members)
        .into_iter()
        .partition(|(name, _)| ["title", "description", "default", "readOnly", "writeOnly"].contains(&name.as_str()));
    inner.insert("type".into(), kind.into());
    *members = outer;
    members.insert("anyOf".into(), json!([inner, { "type": "null" }]));
}

/// Says in words of JSON Schema what the formats of integers mean; no validator knows those.
fn bound_integers(schema: &mut Schema) {
    let greatest = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => u64::from(u8::MAX),
        Some("uint16") => u64::from(u16::MAX),
        Some("uint32") => u64::from(u32::MAX),
        Some("uint64" | "uint" | "int64" | "double" | "float") => {
            schema.remove("format");
            return;
        }
        _ => return,
    };
    schema.remove("format");
    if schema.get("maximum").is_none() {
        schema.insert("maximum".into(), greatest.into());
    }
}

macro_rules! operations {
    ($($command:ty,)*) => {
        /// Every operation, in the order of the contract.
        pub const fn specs() -> &'static [OperationSpec] {
            const { &[$(OperationSpec::of::<$command>()),*] }
        }
    };
}

operations! {
    crate::Whoami,
    crate::ListOperations,
    crate::ListMyTokens,
    crate::CreateMyToken,
    crate::RevokeMyToken,
    crate::ListMySessions,
    crate::RevokeMySession,
    crate::CreateDecisionTicket,
    crate::GetReadiness,
    crate::CreateProject,
    crate::GetProject,
    crate::ListProjects,
    crate::GetBaselinePolicy,
    crate::UpdateBaselinePolicy,
    crate::CreateEnvironment,
    crate::UpdateEnvironment,
    crate::GetEnvironment,
    crate::ListEnvironments,
    crate::ApproveHostPatterns,
    crate::PutEnvironmentSecret,
    crate::DeleteEnvironmentSecret,
    crate::ListEnvironmentSecrets,
    crate::PutRemote,
    crate::ListRemotes,
    crate::ValidateScenario,
    crate::CreateScenario,
    crate::SubmitScenarioRevision,
    crate::ListScenarios,
    crate::GetScenario,
    crate::ArchiveScenario,
    crate::StartScenarioRun,
    crate::GetScenarioRun,
    crate::ListScenarioRuns,
    crate::CancelScenarioRun,
    crate::GetScenarioRunResult,
    crate::GetScenarioArtifact,
    crate::GetCaptureReceipt,
    crate::CaptureBaseline,
    crate::CaptureVisualBaseline,
    crate::ReviewVisualBaseline,
    crate::RequestBaselineApproval,
    crate::ListApprovals,
    crate::GetApproval,
    crate::DecideApproval,
    crate::ConsumeBaselineApproval,
    crate::Rebaseline,
    crate::RetireBaseline,
    crate::InvalidateBaseline,
    crate::ListBaselines,
    crate::GetBaseline,
    crate::ListCatalogRevisions,
    crate::GetCatalogRevision,
    crate::ListCatalogLines,
    crate::GetCatalogLine,
    crate::ForkCatalogLine,
    crate::PromoteCatalogLine,
    crate::PublishBaselineCatalog,
    crate::GetPublication,
    crate::ListPublications,
    crate::GetLogProof,
    crate::GetLogConsistency,
    crate::GrantRole,
    crate::RevokeRole,
    crate::ListGrants,
    crate::CreatePrincipal,
    crate::ListPrincipals,
    crate::UpdatePrincipal,
    crate::CreateGroup,
    crate::ListGroups,
    crate::GetGroup,
    crate::PutGroupMembers,
    crate::CreateServiceToken,
    crate::ListServiceTokens,
    crate::RevokeServiceToken,
    crate::ListAudit,
    crate::ListSigningKeys,
    crate::CreateSchedule,
    crate::UpdateSchedule,
    crate::GetSchedule,
    crate::ListSchedules,
    crate::DeleteSchedule,
    crate::CreateWebhook,
    crate::UpdateWebhook,
    crate::GetWebhook,
    crate::ListWebhooks,
    crate::DeleteWebhook,
    crate::CreateCiDispatch,
    crate::UpdateCiDispatch,
    crate::GetCiDispatch,
    crate::ListCiDispatches,
    crate::DeleteCiDispatch,
    crate::DispatchCi,
    crate::OpenInvestigation,
    crate::ClaimInvestigation,
    crate::AddFinding,
    crate::DisposeInvestigation,
    crate::ListInvestigations,
    crate::GetInvestigation,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_routes_are_unique() {
        let names: BTreeSet<_> = specs().iter().map(|o| o.spec.name).collect();
        let routes: BTreeSet<_> = specs().iter().map(|o| (format!("{:?}", o.spec.method), o.spec.path)).collect();
        assert_eq!(names.len(), specs().len());
        assert_eq!(routes.len(), specs().len());
    }

    #[test]
    fn inputs_are_strict_objects_that_name_their_path_members() {
        for operation in specs() {
            let schema = (operation.schemas)().input.to_value();
            let name = operation.spec.name;
            assert_eq!(schema["type"], "object", "{name}");
            assert_eq!(schema["additionalProperties"], false, "{name}");
            for member in operation.spec.path.split('/').filter_map(|part| part.strip_prefix('{')) {
                let member = member.trim_end_matches('}');
                assert!(schema["properties"][member].is_object(), "{name}: {member}");
            }
            let has = |member: &str| schema["properties"][member].is_object();
            let class = operation.spec.idempotency;
            let keyed = matches!(class, Idempotency::Keyed | Idempotency::KeyedCas);
            let cas = matches!(class, Idempotency::Cas | Idempotency::KeyedCas);
            assert_eq!(has("idempotency_key"), keyed, "{name}");
            assert_eq!(has("expected_version"), cas, "{name}");
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            for member in ["idempotency_key", "expected_version"] {
                assert!(!required.contains(&member.into()), "{name}: {member} is optional in the schema");
            }
        }
    }

    #[test]
    fn lists_have_a_cursor_and_a_limit_and_name_the_next_page() {
        // Cursors are sealed at these names of these operations, and nowhere else.
        for operation in specs() {
            let schemas = (operation.schemas)();
            let (input, output) = (schemas.input.to_value(), schemas.output.to_value());
            let name = operation.spec.name;
            let paged = input["properties"]["cursor"].is_object();
            assert_eq!(input["properties"]["limit"].is_object(), paged, "{name}");
            assert_eq!(output["properties"]["next_cursor"].is_object(), paged, "{name}");
            assert!(!paged || operation.spec.idempotency == Idempotency::Read, "{name} is no read");
        }
    }

    #[test]
    fn outputs_have_an_object_root() {
        for operation in specs() {
            let schema = (operation.schemas)().output.to_value();
            assert_eq!(schema["type"], "object", "{}", operation.spec.name);
        }
    }
}
