//! The tests that `docs/known-faults.md` names are there: a document of what is tested must not outlive its tests.

use std::collections::BTreeSet;

use crate::tidy::Violation;

/// The document.
const FAULTS: &str = "docs/known-faults.md";

/// Every test that the last column of a table in the document names and no source has. `sources` are paths with texts.
pub(super) fn check(sources: &[(String, String)]) -> Vec<Violation> {
    let Some((_, document)) = sources.iter().find(|(path, _)| path == FAULTS) else { return Vec::new() };
    let rust = sources.iter().filter(|(path, _)| path.ends_with(".rs"));
    let functions: BTreeSet<_> = rust.flat_map(|(_, text)| text.lines().filter_map(function)).collect();
    let rows = document.lines().zip(1..).filter(|(line, _)| line.starts_with('|'));
    let mut violations = Vec::new();
    for (row, number) in rows {
        let tests = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        for name in tests.split('`').skip(1).step_by(2).filter(|name| !functions.contains(name)) {
            let problem = format!("names a test `{name}`, which is not there: name the one that took its place");
            violations.push(Violation::new(format!("{FAULTS}:{number}"), problem));
        }
    }
    violations
}

/// The name of the function that begins in a line.
fn function(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("async ").unwrap_or(line);
    line.strip_prefix("fn ")?.split('(').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_not_there_is_told_with_its_line() {
        let document = "| kind | what | tests |\n|---|---|---|\n| a `b` | says `c` | `here`, `there`, `gone` |\n";
        let tests = "#[test]\nfn here() {}\n    async fn there(engine: Engine) {\n";
        let sources = [(FAULTS, document), ("tests/a.rs", tests)];
        let found = check(&sources.map(|(path, text)| (path.to_owned(), text.to_owned())));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].to_string().starts_with("docs/known-faults.md:3: names a test `gone`"), "{}", found[0]);
    }
}
