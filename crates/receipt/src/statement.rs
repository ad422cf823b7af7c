//! in-toto Statement v1: what a signature is over. Source: in-toto attestation framework, `spec/v1/statement.md`.

use pinhole_core::{Result, Sha256Digest, canonical_json};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::VerifyError;

/// The value of `_type`.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// Greatest number of subjects: the receipts of a run at its own limits.
const MAX_SUBJECTS: usize = 10_000;

/// What a statement is about, found by digest and never by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// A name for people and for pairing with files.
    pub name: String,
    /// Its digests.
    pub digest: DigestSet,
}

impl Subject {
    /// A subject that is known by its SHA-256.
    pub fn sha256(name: impl Into<String>, digest: Sha256Digest) -> Self {
        Self { name: name.into(), digest: DigestSet { sha256: Some(digest), git_commit: None } }
    }

    /// A subject that is a Git commit, by its object id in hexadecimal.
    pub fn git_commit(name: impl Into<String>, commit: impl Into<String>) -> Self {
        Self { name: name.into(), digest: DigestSet { sha256: None, git_commit: Some(commit.into()) } }
    }
}

/// Digests of one subject; at least one. Written as bare hexadecimal, as in-toto asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DigestSet {
    /// SHA-256.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "to_hex",
        deserialize_with = "from_hex"
    )]
    pub sha256: Option<Sha256Digest>,
    /// Object id of a Git commit.
    #[serde(default, rename = "gitCommit", skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<String>,
}

/// An in-toto statement. [`crate::Predicate::statement`] makes the ones that we sign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Always [`STATEMENT_TYPE`].
    #[serde(rename = "_type")]
    pub kind: String,
    /// What it is about; at least one.
    pub subject: Vec<Subject>,
    /// The URI that says what `predicate` means.
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    /// What is said.
    pub predicate: serde_json::Value,
}

impl Statement {
    /// The payload: canonical JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        canonical_json(self)
    }

    /// Reads a payload; refuses every byte form but the canonical one.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, VerifyError> {
        let statement: Self = serde_json::from_slice(bytes)
            .map_err(|error| VerifyError::new("payload", format!("this is no statement: {error}")))?;
        if statement.kind != STATEMENT_TYPE {
            return Err(VerifyError::new("_type", format!("expected {STATEMENT_TYPE}")));
        }
        if statement.subject.is_empty() || statement.subject.len() > MAX_SUBJECTS {
            return Err(VerifyError::new("subject", format!("expected 1 to {MAX_SUBJECTS} subjects")));
        }
        if statement.subject.iter().any(|s| s.digest.sha256.is_none() && s.digest.git_commit.is_none()) {
            return Err(VerifyError::new("subject", "a subject has no digest"));
        }
        let canonical = statement.to_bytes().map_err(|error| VerifyError::from_error("payload", &error))?;
        if canonical != bytes {
            return Err(VerifyError::new("payload", "the JSON is not in canonical form"));
        }
        Ok(statement)
    }
}

fn to_hex<S: Serializer>(digest: &Option<Sha256Digest>, serializer: S) -> Result<S::Ok, S::Error> {
    digest.map(|digest| digest.hex()).serialize(serializer)
}

fn from_hex<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Sha256Digest>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Sha256Digest::from_hex(&text).map(Some).map_err(|error| serde::de::Error::custom(error.message()))
}
