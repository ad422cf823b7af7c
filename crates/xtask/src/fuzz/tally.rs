//! What the calls came to, by operation: a fuzzer that only ever meets 404 has tried nothing.

use std::{collections::BTreeMap, fs, path::Path};

use crate::Outcome;

/// Operations that never succeed here, and why.
const UNSUCCESSFUL: &[(&str, &str)] =
    &[("promote_catalog_line", "there are no two lines of which one has what the other has not")];

/// The answers of one operation, by status.
type Answers = BTreeMap<u16, u32>;

/// Prints how often each operation was answered how, and refuses one that never succeeded.
///
/// Each line of the file is an operation and a status, with a tab in between.
pub(super) fn judge(file: &Path) -> Outcome {
    let text = fs::read_to_string(file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
    let tally = tally(&text)?;
    for (operation, answers) in &tally {
        let answers: Vec<_> = answers.iter().map(|(status, count)| format!("{status}: {count}")).collect();
        println!("    {operation:32} {}", answers.join(", "));
    }
    match unsuccessful(&tally).as_slice() {
        [] => Ok(()),
        names => Err(format!("operations that never succeeded: {}", names.join(", "))),
    }
}

fn tally(text: &str) -> Outcome<BTreeMap<&str, Answers>> {
    let mut tally = BTreeMap::<_, Answers>::new();
    for line in text.lines() {
        let pair = line.split_once('\t').and_then(|(operation, status)| Some((operation, status.parse().ok()?)));
        let (operation, status) = pair.ok_or_else(|| format!("no line of a tally: {line}"))?;
        *tally.entry(operation).or_default().entry(status).or_default() += 1;
    }
    Ok(tally)
}

fn unsuccessful<'a>(tally: &BTreeMap<&'a str, Answers>) -> Vec<&'a str> {
    let excused = |name: &str| UNSUCCESSFUL.iter().any(|(operation, _)| *operation == name);
    let failed = tally.iter().filter(|(_, answers)| !answers.keys().any(|status| (200..400).contains(status)));
    failed.map(|(name, _)| *name).filter(|name| !excused(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_that_never_succeeded_is_named() {
        let tally = tally("get_run\t404\nget_run\t200\nget_case\t404\nget_case\t404\n").unwrap();
        assert_eq!(tally["get_case"], Answers::from([(404, 2)]));
        assert_eq!(unsuccessful(&tally), ["get_case"]);
    }

    #[test]
    fn what_is_no_tally_is_refused() {
        assert!(super::tally("get_run 404").is_err());
        assert!(super::tally("get_run\tmany").is_err());
    }
}
