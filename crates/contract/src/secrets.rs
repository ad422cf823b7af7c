//! Secrets of environments. Their values go in and never come out: no view, error or debug text holds one.

use std::{borrow::Cow, fmt};

use pinhole_core::{EnvironmentId, Permission, PrincipalId, SecretName, Timestamp};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

use crate::{Idempotency, Method, Operation, Spec, Surfaces, Who};

/// The value of a secret: 1 byte to 16 KiB of text. It is never serialised, and `Debug` does not show it.
#[derive(Clone)]
pub struct SecretValue(String);

impl SecretValue {
    /// The greatest length in bytes.
    pub const MAX_BYTES: usize = 16 * 1024;

    /// The value itself, to be sealed at once.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretValue(…)")
    }
}

/// What every wrong value is told: the usual refusals quote what they found.
const EXPECTED: &str = "expected a text of 1 to 16384 bytes";

impl<'de> Deserialize<'de> for SecretValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) if (1..=Self::MAX_BYTES).contains(&text.len()) => Ok(Self(text)),
            _ => Err(D::Error::custom(EXPECTED)),
        }
    }
}

impl JsonSchema for SecretValue {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SecretValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": Self::MAX_BYTES, "writeOnly": true })
    }
}

/// Put the value of a secret that the environment declares.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PutEnvironmentSecret {
    /// The environment.
    pub environment_id: EnvironmentId,
    /// The secret's name.
    pub name: SecretName,
    /// Its value.
    pub value: SecretValue,
    /// Its present version; 0 when it has no value.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

/// A secret, without its value.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentSecretView {
    /// Its name.
    pub name: SecretName,
    /// Counts changes; it goes on after a deletion, so that no version number means two values.
    pub version: u32,
    /// Who put it.
    pub changed_by: PrincipalId,
    /// When.
    pub changed_at: Timestamp,
}

impl Operation for PutEnvironmentSecret {
    type Output = EnvironmentSecretView;
    const SPEC: Spec = Spec {
        name: "put_environment_secret",
        summary: "Put the value of a secret that the environment declares; it is never shown again.",
        permission: Some(Permission::SecretWrite),
        who: Who::Any,
        idempotency: Idempotency::Cas,
        surfaces: Surfaces::RestOnly,
        method: Method::Put,
        path: "/environments/{environment_id}/secrets/{name}",
    };
}

/// Delete a secret of an environment.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteEnvironmentSecret {
    /// The environment.
    pub environment_id: EnvironmentId,
    /// The secret's name.
    pub name: SecretName,
    /// Its present version.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

impl Operation for DeleteEnvironmentSecret {
    type Output = EnvironmentSecretView;
    const SPEC: Spec = Spec {
        name: "delete_environment_secret",
        summary: "Delete a secret of an environment.",
        permission: Some(Permission::SecretWrite),
        who: Who::Any,
        idempotency: Idempotency::Cas,
        surfaces: Surfaces::RestOnly,
        method: Method::Delete,
        path: "/environments/{environment_id}/secrets/{name}",
    };
}

/// List the secrets of an environment.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListEnvironmentSecrets {
    /// The environment.
    pub environment_id: EnvironmentId,
}

/// The secrets of an environment by name, at most 200, never their values.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentSecretList {
    /// The environment.
    pub environment_id: EnvironmentId,
    /// The secrets.
    pub secrets: Vec<EnvironmentSecretView>,
}

impl Operation for ListEnvironmentSecrets {
    type Output = EnvironmentSecretList;
    const SPEC: Spec = Spec {
        name: "list_environment_secrets",
        summary: "List the names and versions of an environment's secrets, never their values.",
        permission: Some(Permission::SecretWrite),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestOnly,
        method: Method::Get,
        path: "/environments/{environment_id}/secrets",
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_refusal_and_no_debug_text_quotes_a_value() {
        for wrong in ["48151623", "-48151623", "48151623.5", "[48151623]", r#"{"a":48151623}"#, "null", "true", r#""""#]
        {
            let error = serde_json::from_str::<SecretValue>(wrong).unwrap_err().to_string();
            assert!(error.contains("expected a text") && !error.contains("48151623"), "{error}");
        }
        let long = format!("\"{}\"", "x".repeat(SecretValue::MAX_BYTES + 1));
        assert!(serde_json::from_str::<SecretValue>(&long).is_err());
        let value: SecretValue = serde_json::from_str(r#""hunter2""#).unwrap();
        assert!(!format!("{value:?}").contains("hunter2"));
        assert_eq!(value.expose(), "hunter2");
    }
}
