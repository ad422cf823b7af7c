//! Git remotes of the installation. Credentials go in and never come out: no view, error or debug text holds one.

use pinhole_core::{Permission, RemoteId, Sha256Digest, Slug, Timestamp, True};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Value};

use crate::{Cursor, Idempotency, Limit, Method, Operation, SecretValue, Spec, Surfaces, Who, bounded};

/// Add a Git remote, or change it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PutRemote {
    /// Its name.
    pub slug: Slug,
    /// Where it is: an `https://` or `ssh://` URL without password, query and fragment.
    #[serde(deserialize_with = "bounded::text::<1, 2000, _>")]
    #[schemars(length(min = 1, max = 2000))]
    pub url: String,
    /// Branches that may be published to, at most 50; a trailing `*` matches any rest. Without any the remote is closed:
    /// nothing more is published to it, and what waits for it ends in conflict.
    #[serde(deserialize_with = "bounded::branches")]
    #[schemars(length(max = 50), inner(length(min = 1, max = 200)))]
    pub branches: Vec<String>,
    /// What becomes of the credential that the server is shown. May be left out where none is stored; where one is, a
    /// call says what becomes of it, so that no edit loses it or takes it along to another server.
    #[serde(default)]
    pub credential: Option<RemoteCredentialChange>,
    /// The SSH server's host key, needed for an `ssh://` URL and for no other: `SHA256:` and 43 characters, as
    /// `ssh-keygen -l` shows it.
    #[serde(default, deserialize_with = "bounded::optional_host_key")]
    #[schemars(regex(pattern = "^SHA256:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]$"))]
    pub host_key: Option<String>,
    /// Certificates in PEM, at most 50, by which the server of an `https://` URL is known in place of those of the
    /// system.
    #[serde(default, deserialize_with = "bounded::optional_text::<1, 65536, _>")]
    #[schemars(length(min = 1, max = 65536))]
    pub certificate_authorities: Option<String>,
    /// Its present version; 0 for a new one.
    #[serde(default)]
    pub expected_version: Option<u32>,
}

/// What becomes of a remote's credential.
#[derive(Clone, Debug, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RemoteCredentialChange {
    /// The one that is stored stays. Refused when the server is another (scheme, host or port) or is known otherwise
    /// (host key or certificates): then it has to be given anew.
    Keep(True),
    /// There is none; one that is stored is removed.
    None(True),
    /// For an `https://` URL.
    Password {
        /// The user, without a colon.
        #[schemars(length(min = 1, max = 200))]
        user: String,
        /// The password or an access token.
        password: SecretValue,
    },
    /// For an `ssh://` URL; the user is the URL's.
    SshKey {
        /// An unencrypted Ed25519, ECDSA or RSA key, in the form of OpenSSH or PEM.
        private_key: SecretValue,
    },
}

impl<'de> Deserialize<'de> for RemoteCredentialChange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Value::deserialize(deserializer)?;
        // By hand, because a derived parser quotes what it does not expect: a secret in the wrong place.
        Self::read(given).ok_or_else(|| D::Error::custom(EXPECTED))
    }
}

const EXPECTED: &str = "expected one of {\"keep\": true}, {\"none\": true}, {\"password\": {\"user\": …, \"password\": …}} \
                        and {\"ssh_key\": {\"private_key\": …}}, where the user has 1 to 200 characters and a secret 1 to \
                        16384 bytes";

impl RemoteCredentialChange {
    fn read(given: Value) -> Option<Self> {
        let (kind, value) = only(given)?;
        match (kind.as_str(), value) {
            ("keep", Value::Bool(true)) => Some(Self::Keep(True)),
            ("none", Value::Bool(true)) => Some(Self::None(True)),
            ("password", Value::Object(mut members)) => {
                let user = members.remove("user")?.as_str()?.to_owned();
                let password = secret(&mut members, "password")?;
                let fits = members.is_empty() && (1..=200).contains(&user.chars().count());
                fits.then_some(Self::Password { user, password })
            }
            ("ssh_key", Value::Object(mut members)) => {
                let private_key = secret(&mut members, "private_key")?;
                members.is_empty().then_some(Self::SshKey { private_key })
            }
            _ => None,
        }
    }
}

/// The one member of an object.
fn only(value: Value) -> Option<(String, Value)> {
    let Value::Object(members) = value else { return None };
    if members.len() == 1 { members.into_iter().next() } else { None }
}

fn secret(members: &mut Map<String, Value>, name: &str) -> Option<SecretValue> {
    serde_json::from_value(members.remove(name)?).ok()
}

/// A Git remote.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RemoteView {
    /// Its id.
    pub id: RemoteId,
    /// Its name.
    pub slug: Slug,
    /// Where it is, without credentials.
    pub url: String,
    /// Branches that may be published to; none when it is closed.
    pub branches: Vec<String>,
    /// What the server is shown; absent when it lets everybody in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<RemoteCredentialView>,
    /// The SSH server's host key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_key: Option<String>,
    /// SHA-256 of the certificates by which an HTTPS server is known; none when these are those of the system.
    pub certificate_authorities: Vec<Sha256Digest>,
    /// Counts changes.
    pub version: u32,
    /// Whether the server's own configuration names it; such a one changes there alone.
    pub configured: bool,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A remote's credential, without what is secret of it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RemoteCredentialView {
    /// What it is.
    pub kind: RemoteCredentialKind,
    /// The user of a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The public half of a key as a line that a Git server takes; absent where the key's form does not hold it apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
    /// The public half's fingerprint, as `ssh-keygen -l` shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// When it was given.
    pub set_at: Timestamp,
}

/// The kinds of credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RemoteCredentialKind {
    /// A user and a password or access token, over HTTPS.
    Password,
    /// A private key, over SSH.
    SshKey,
}

impl Operation for PutRemote {
    type Output = RemoteView;
    const SPEC: Spec = Spec {
        name: "put_remote",
        summary: "Add a Git remote, or change it.",
        permission: Some(Permission::Admin),
        who: Who::Any,
        idempotency: Idempotency::Cas,
        surfaces: Surfaces::RestOnly,
        method: Method::Put,
        path: "/remotes/{slug}",
    };
}

/// List the Git remotes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRemotes {
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// Where to go on.
    #[serde(default)]
    pub cursor: Option<Cursor>,
}

/// Remotes, the oldest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RemoteList {
    /// The remotes.
    pub remotes: Vec<RemoteView>,
    /// Where the next page starts, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<Cursor>,
}

impl Operation for ListRemotes {
    type Output = RemoteList;
    const SPEC: Spec = Spec {
        name: "list_remotes",
        summary: "List the Git remotes, the oldest first.",
        permission: Some(Permission::Admin),
        who: Who::Any,
        idempotency: Idempotency::Read,
        surfaces: Surfaces::RestOnly,
        method: Method::Get,
        path: "/remotes",
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_refusal_and_no_debug_text_quotes_a_credential() {
        for wrong in [
            json!("hunter2"),
            json!(["hunter2"]),
            json!({}),
            json!({ "hunter2": true }),
            json!({ "keep": "hunter2" }),
            json!({ "keep": false }),
            json!({ "keep": true, "none": true }),
            json!({ "password": "hunter2" }),
            json!({ "password": { "user": "ci" } }),
            json!({ "password": { "user": "", "password": "hunter2" } }),
            json!({ "password": { "user": "x".repeat(201), "password": "hunter2" } }),
            json!({ "password": { "user": "ci", "password": "hunter2", "token": 1 } }),
            json!({ "password": { "user": "ci", "password": "hunter2".repeat(3000) } }),
            json!({ "ssh_key": { "private_key": ["hunter2"] } }),
            json!({ "ssh_key": { "private_key": "hunter2", "hunter2": 1 } }),
        ] {
            let error = serde_json::from_value::<RemoteCredentialChange>(wrong).unwrap_err().to_string();
            assert!(error.contains("expected one of") && !error.contains("hunter2"), "{error}");
        }
        for right in [
            json!({ "password": { "user": "ci", "password": "hunter2" } }),
            json!({ "ssh_key": { "private_key": "hunter2" } }),
        ] {
            let change: RemoteCredentialChange = serde_json::from_value(right).unwrap();
            assert!(!format!("{change:?}").contains("hunter2"), "{change:?}");
        }
    }
}
