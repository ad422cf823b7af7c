//! What an operation answers that may need an approval first: done, or not done and waiting for a person.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::json;

use crate::ApprovalView;

/// The answer of an operation that can be gated; `outcome` tells which it is. Only `completed` means done: after
/// `approval_required` the operation is called again with the same arguments and the approval's id.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Gated<T> {
    /// Done.
    Completed(T),
    /// Nothing was done: a person has to approve first.
    ApprovalRequired {
        /// What has to be approved.
        approval: Box<ApprovalView>,
    },
}

/// The schema of success. That of what waits for an approval is the same for every operation, so the transports add it.
impl<T: JsonSchema> JsonSchema for Gated<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Completed{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        let object = schema.ensure_object();
        if let Some(properties) = object.get_mut("properties").and_then(|value| value.as_object_mut()) {
            properties.insert("outcome".into(), json!({ "type": "string", "const": "completed" }));
        }
        if let Some(required) = object.get_mut("required").and_then(|value| value.as_array_mut()) {
            required.push("outcome".into());
        }
        schema
    }
}
