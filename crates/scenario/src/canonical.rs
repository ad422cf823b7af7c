//! The stored form of a scenario and what is derived from a scenario: cells, captures, rules and the JSON Schema.

use pinhole_core::{Blake3Digest, Error, Profile, Result, Sha256Digest, Slug, Title, canonical_json};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{
    capture::Capture,
    extract::Extract,
    model::{Cell, Scenario, SchemaTag, Step},
    parse::{Format, parse},
    text::Target,
};

/// A scenario as it is stored: its canonical bytes, their digests and its title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanonicalScenario {
    /// Canonical JSON (RFC 8785).
    pub bytes: Vec<u8>,
    /// The revision's identity.
    pub digest: Blake3Digest,
    /// For signed statements.
    pub sha256: Sha256Digest,
    /// The scenario's title, as the bytes have it.
    pub title: Title,
}

impl Scenario {
    /// The stored form.
    pub fn canonical(&self) -> Result<CanonicalScenario> {
        let bytes = canonical_json(self)?;
        let (digest, sha256) = (Blake3Digest::of(&bytes), Sha256Digest::of(&bytes));
        Ok(CanonicalScenario { bytes, digest, sha256, title: self.title.clone() })
    }

    /// Reads the stored form back.
    ///
    /// # Errors
    /// `invalid_arguments` when the bytes are no scenario, or one that is not in canonical form: one scenario has one
    /// digest.
    pub fn from_canonical(bytes: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(bytes).map_err(|_| Error::invalid("", "the scenario is not UTF-8"))?;
        let scenario = parse(text, Format::Json)?;
        if canonical_json(&scenario)? != bytes {
            return Err(Error::invalid("", "the scenario is not in canonical form"));
        }
        Ok(scenario)
    }

    /// The cells of a run, one for each row of the matrix, or one named `default`.
    ///
    /// # Errors
    /// `invalid_arguments` when a profile breaks a bound; the field names row and member.
    pub fn cells(&self) -> Result<Vec<Cell>> {
        let base = Profile::default().with(&self.profile);
        base.check().map_err(|error| error.within("profile"))?;
        if self.matrix.is_empty() {
            return Ok(vec![Cell { name: "default".parse()?, profile: base }]);
        }
        let cell = |(index, row): (usize, &crate::model::MatrixRow)| {
            let profile = base.clone().with(&row.profile);
            profile.check().map_err(|error| error.within(&format!("matrix[{index}]")))?;
            Ok(Cell { name: row.name.clone(), profile })
        };
        self.matrix.iter().enumerate().map(cell).collect()
    }

    /// The captures, in the order of the steps.
    pub fn captures(&self) -> impl Iterator<Item = &Capture> {
        self.steps.iter().filter_map(|step| match step {
            Step::Capture(capture) => Some(capture),
            _ => None,
        })
    }

    /// The extracts, in the order of the steps.
    pub fn extracts(&self) -> impl Iterator<Item = &Extract> {
        self.steps.iter().filter_map(|step| match step {
            Step::Extract(extract) => Some(extract),
            _ => None,
        })
    }

    /// The scenario that captures one whole page.
    ///
    /// # Errors
    /// `invalid_arguments` when `target` is no path or address that `navigate` takes.
    pub fn single_page(target: &str, name: Slug) -> Result<Self> {
        let target: Target = target.parse().map_err(|error: Error| error.within("navigate"))?;
        Ok(Self {
            schema: SchemaTag,
            title: name.as_str().parse()?,
            tags: Vec::new(),
            profile: Default::default(),
            matrix: Vec::new(),
            ready: Vec::new(),
            evidence: Vec::new(),
            steps: vec![Step::Navigate(target), Step::Capture(Capture::page(name))],
        })
    }
}

impl<'de> Deserialize<'de> for Scenario {
    /// Reads a scenario that stands inside other JSON, by the same rules as [`parse`].
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        parse(&value.to_string(), Format::Json).map_err(de::Error::custom)
    }
}

impl Capture {
    /// The capture step without its name: what the rules digest is taken over. Defaults are left out.
    pub fn rules(&self) -> serde_json::Value {
        without_name(self)
    }
}

impl Extract {
    /// The extract step without its name: what the rules digest is taken over.
    pub fn rules(&self) -> serde_json::Value {
        without_name(self)
    }
}

fn without_name(step: &impl Serialize) -> serde_json::Value {
    let mut rules = serde_json::to_value(step).unwrap_or_default();
    if let Some(members) = rules.as_object_mut() {
        members.remove("name");
    }
    rules
}

/// The JSON Schema (2020-12) of the language, for editors. It takes every scenario that [`parse`] takes; rules across
/// members, such as unique names, are the parser's alone.
pub fn json_schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Scenario).to_value();
    forbid_null(&mut schema);
    schema
}

/// Takes `null` out of every choice: the derive allows it for optional members, the language nowhere.
fn forbid_null(schema: &mut serde_json::Value) {
    let null = serde_json::json!({ "type": "null" });
    if let Some(members) = schema.as_object_mut() {
        if let Some(types) = members.get_mut("type").and_then(serde_json::Value::as_array_mut) {
            types.retain(|name| name != "null");
        }
        if let Some(choices) = members.get_mut("anyOf").and_then(serde_json::Value::as_array_mut) {
            choices.retain(|choice| *choice != null);
        }
        members.values_mut().for_each(forbid_null);
    } else if let Some(items) = schema.as_array_mut() {
        items.iter_mut().for_each(forbid_null);
    }
}
