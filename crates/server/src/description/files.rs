//! The files of `docs/contract`, with the same bytes wherever they are made.

use pinhole_contract::specs;
use serde_json::{Map, Value};

use super::{openapi, tools};

/// A file of the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractFile {
    /// Its path below the contract's folder, with slashes.
    pub path: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// Every file of the contract, in a stable order.
pub fn contract_files() -> Vec<ContractFile> {
    let mut files = vec![
        ContractFile::json("openapi.json", openapi::document()),
        ContractFile::json("tool-contracts.schema.json", tools::document()),
    ];
    for operation in specs() {
        let (name, schemas) = (operation.spec.name, (operation.schemas)());
        files.push(ContractFile::json(&format!("schemas/{name}.input.json"), schemas.input.to_value()));
        files.push(ContractFile::json(&format!("schemas/{name}.output.json"), schemas.output.to_value()));
    }
    files
}

impl ContractFile {
    /// A file with `document` in it.
    pub fn json(path: &str, document: Value) -> Self {
        Self { path: path.to_owned(), bytes: json_bytes(document) }
    }
}

/// `document` as indented JSON with sorted names: the order of an object's members in memory depends on how the program
/// was built.
pub(super) fn json_bytes(document: Value) -> Vec<u8> {
    format!("{:#}\n", sorted(document)).into_bytes()
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.into_iter().map(|(name, member)| (name, sorted(member))).collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Object(Map::from_iter(members))
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        scalar => scalar,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_sorted_at_any_depth() {
        let text = String::from_utf8(json_bytes(json!({ "b": [{ "d": 1, "c": 2 }], "a": 1 }))).unwrap();
        let order: Vec<_> = text.chars().filter(|c| ('a'..='d').contains(c)).collect();
        assert_eq!(order, ['a', 'b', 'c', 'd'], "{text}");
        assert!(text.ends_with("}\n"));
    }

    #[test]
    fn every_operation_has_its_files_and_every_schema_is_one() {
        let files = contract_files();
        let paths: BTreeSet<_> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths.len(), files.len());
        assert_eq!(files.len(), 2 + 2 * specs().len());
        for file in files.iter().filter(|file| file.path != "openapi.json") {
            let schema: Value = serde_json::from_slice(&file.bytes).unwrap();
            assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{}", file.path);
            jsonschema::meta::validate(&schema).unwrap_or_else(|error| panic!("{}: {error}", file.path));
            jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{}: {error}", file.path));
        }
    }
}
