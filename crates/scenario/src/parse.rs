//! From text to scenario: bounds on the text, then the reader of its format, then the decoder.

use pinhole_core::canonical_json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    decode::Read,
    diagnostics::{Diagnostics, Path, Position, Problems},
    json,
    model::Scenario,
    yaml,
};

/// The greatest size of a scenario in bytes, as written and in canonical form.
pub const MAX_BYTES: usize = 256 * 1024;

/// How a scenario is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// YAML 1.2 without anchors, aliases, merge keys, tags and further documents.
    Yaml,
    /// JSON.
    Json,
}

/// Reads a scenario and checks every rule of the language.
///
/// # Errors
/// All problems of the syntax, or, when it has none, all of the content.
pub fn parse(text: &str, format: Format) -> Result<Scenario, Diagnostics> {
    let mut problems = Problems::default();
    let scenario = read(text, format, &mut problems);
    match scenario {
        Some(scenario) if problems.is_empty() => Ok(scenario),
        _ => {
            if problems.is_empty() {
                // Every `None` of a reader comes with a problem; this keeps the promise that the list is not empty.
                problems.add(START, &Path::Root, "not a scenario");
            }
            Err(problems.into())
        }
    }
}

const START: Position = Position { line: 1, column: 1 };

fn read(text: &str, format: Format, problems: &mut Problems) -> Option<Scenario> {
    if text.len() > MAX_BYTES {
        problems.add(START, &Path::Root, format!("expected at most {MAX_BYTES} bytes, found {}", text.len()));
        return None;
    }
    let node = match format {
        Format::Yaml => yaml::read(text, problems),
        Format::Json => json::read(text, problems),
    }?;
    if !problems.is_empty() {
        return None;
    }
    let scenario = Scenario::read(&node, &Path::Root, problems)?;
    // Escapes can make the canonical form the longer one, and what is stored must be readable again.
    let size = canonical_json(&scenario).map_or(usize::MAX, |bytes| bytes.len());
    if size > MAX_BYTES {
        problems.add(START, &Path::Root, format!("expected at most {MAX_BYTES} bytes in canonical form, found {size}"));
    }
    Some(scenario)
}
