//! The scenario language `pinhole.scenario.v1`: parse, validate, canonical form and digest.
//!
//! Text comes in as YAML or JSON and is stored as canonical JSON (RFC 8785), whose BLAKE3 digest is the identity of a
//! scenario revision. Everything here is pure: it must not read files, open pages or know how a step is carried out.

mod canonical;
mod capture;
mod condition;
mod decode;
mod diagnostics;
mod extract;
mod json;
mod locator;
mod model;
mod parse;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod yaml;

pub use canonical::{CanonicalScenario, json_schema};
pub use capture::{Antialiasing, Area, Capture, CompareRules};
pub use condition::{AttributeCondition, Condition, CountCondition, TextCondition, TextMatch};
pub use diagnostics::{Diagnostic, Diagnostics};
pub use extract::{AttributeSource, Extract, ValueSource};
pub use locator::{By, Locator, Role};
pub use model::{Cell, EvidenceKind, Fill, MatrixRow, Press, Scenario, SchemaTag, Step};
pub use parse::{Format, MAX_BYTES, parse};
pub use text::{AttributeName, KeyChord, Modifier, Target, Text, Value};
