//! Signed statements, keys, and the catalog tree with its verification.
//!
//! Statements are in-toto v1 in DSSE envelopes, signed with Ed25519. Everything here is a pure function of its
//! arguments except the key files in [`SigningKey::load_or_create`] and the checkout reader [`read_tree`]; nothing
//! here asks the network, a database or a clock, so `pinhole verify` needs nothing but the bytes and the keys.
//! Trust always comes from the caller's [`TrustedKeys`] and never from what is verified.

mod approval;
mod catalog;
mod checkout;
mod commit;
mod envelope;
mod error;
mod evidence;
#[cfg(test)]
mod fixture;
mod jwks;
mod keys;
pub mod log;
mod predicate;
mod receipt;
mod sshsig;
mod statement;
#[cfg(test)]
mod tests;
mod verify;

pub use approval::{Behind, VerifiedApproval, verify_approval};
pub use catalog::{
    CatalogEntry, CatalogInput, CatalogTree, PublicationMarker, TreeStatement, entries_digest, manifest, render,
};
pub use checkout::read_tree;
pub use commit::{COMMITTER_EMAIL, COMMITTER_NAME, History, HistoryReport, commit_message, verify_history};
pub use envelope::{Envelope, EnvelopeSignature, MAX_ENVELOPE_BYTES, PAYLOAD_TYPE, pae, sign, verify};
pub use error::VerifyError;
pub use jwks::{Jwk, Jwks, KeyStatus, KeyUse, PublicKey, TrustedKeys};
pub use keys::SigningKey;
pub use predicate::{
    ApprovalDecision, CaptureReceipt, CatalogRevision, Predicate, PublicationReceipt, ReceiptReference,
    ReviewDisposition, RevisionCause, RevisionContent, RunResult, predicate_type,
};
pub use receipt::{VerifiedReceipt, verify_receipt};
pub use sshsig::signing_key;
pub use statement::{DigestSet, STATEMENT_TYPE, Statement, Subject};
pub use verify::{CatalogReport, signed_by_revoked_keys, verify_catalog, verify_statements};
