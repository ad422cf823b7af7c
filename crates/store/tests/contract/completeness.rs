//! No public method of the store without a case: the crate's sources are compared with those of this suite.

use std::{collections::BTreeSet, fs, path::Path};

/// The public methods in the `impl` blocks of `Tx` and `Store`, as a case calls them.
fn methods(source: &str) -> Vec<String> {
    let mut methods = Vec::new();
    let mut receiver = None;
    for line in source.lines() {
        if let Some(owner) = line.strip_prefix("impl ").and_then(|rest| rest.strip_suffix(" {")) {
            receiver = match owner {
                "Tx" => Some("tx."),
                "Store" => Some("store."),
                _ => None,
            };
        } else if line == "}" {
            receiver = None;
        }
        let signature = line.strip_prefix("    pub ").map(|rest| rest.strip_prefix("async ").unwrap_or(rest));
        let name = signature.and_then(|rest| rest.strip_prefix("fn ")).and_then(|rest| rest.split(['(', '<']).next());
        if let (Some(receiver), Some(name)) = (receiver, name) {
            // `Store::open` is the one that has nothing to be called on.
            let receiver = if name == "open" { "Store::" } else { receiver };
            methods.push(format!("{receiver}{name}("));
        }
    }
    methods
}

/// Those of `methods` that no source calls. Line comments do not count, nor do line breaks within a call.
fn without_a_case(methods: &[String], sources: &[String]) -> BTreeSet<String> {
    let code: String = sources
        .iter()
        .flat_map(|source| source.lines())
        .map(|line| line.split("//").next().unwrap_or_default())
        .flat_map(str::chars)
        .filter(|c| !c.is_whitespace())
        .collect();
    methods.iter().filter(|method| !code.contains(*method)).cloned().collect()
}

/// The Rust files of a directory of this crate, this one aside.
fn sources(directory: &str) -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter(|path| path.file_name() != Path::new(file!()).file_name())
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

#[test]
fn every_public_method_has_a_case() {
    let methods: Vec<_> = sources("src").iter().flat_map(|source| methods(source)).collect();
    // The listing itself works: it knows both types, and methods that are async and that are not.
    for known in ["tx.commit(", "tx.now(", "tx.claim_cell(", "store.begin_write(", "store.migrate(", "Store::open("] {
        assert!(methods.iter().any(|method| method == known), "{known} is not among {methods:?}");
    }
    let missing = without_a_case(&methods, &sources("tests/contract"));
    assert!(missing.is_empty(), "add a case to crates/store/tests/contract for: {missing:#?}");
}

#[test]
fn a_method_without_a_case_is_found() {
    let source = "
impl Tx {
    pub async fn called_over_lines(&mut self) {}
    pub async fn only_in_a_comment(&mut self) {}
    pub async fn never<T>(&mut self) {}
    pub(crate) async fn internal(&mut self) {}
}
impl Other {
    pub fn elsewhere(&self) {}
}
impl Store {
    pub fn never(&self) {}
}";
    let cases = ["let x = tx\n    .called_over_lines().await; // tx.only_in_a_comment(".to_owned()];
    let missing = without_a_case(&methods(source), &cases);
    assert_eq!(
        missing.iter().map(String::as_str).collect::<Vec<_>>(),
        ["store.never(", "tx.never(", "tx.only_in_a_comment("]
    );
}
