//! Rules on the text of single files.

use crate::tidy::Violation;

/// The longest Rust file; a longer one holds two things.
const MAX_LINES: usize = 500;

/// Files that may be longer, each with the reason.
const LONGER: &[(&str, &str)] = &[];

/// What must not stand in Rust code. Written in two halves, since this file is code too.
const UNFINISHED: &[(&str, &str)] = &[
    (concat!("to", "do!("), "finish it, or return an error that says what is missing"),
    (concat!("unimplemen", "ted!("), "finish it, or return an error that says what is missing"),
    (concat!("db", "g!("), "remove it, or use tracing"),
    (concat!("#[ig", "nore"), "let the test run, or delete it; long ones look at PINHOLE_FULL"),
];

/// Directories of one person's machine, which mean nothing on another's.
const PRIVATE: &[&str] = &[concat!("/ro", "ot/"), concat!("/wo", "rk/")];

/// Checks one file; `path` is relative to the root of the repository.
pub(super) fn check(path: &str, text: &str) -> Vec<Violation> {
    let mut violations = private_paths(path, text);
    if path.ends_with(".rs") {
        violations.extend(header(path, text));
        violations.extend(length(path, text));
        violations.extend(unfinished(path, text));
    }
    violations
}

/// Each module says first what it is for; so do the modules that only hold tests.
fn header(path: &str, text: &str) -> Option<Violation> {
    let has = text.starts_with("//! ");
    (!has).then(|| Violation::new(path, "opens without a `//!` header: say what the module is for and must not do"))
}

fn length(path: &str, text: &str) -> Option<Violation> {
    let lines = text.lines().count();
    let excused = LONGER.iter().any(|(file, _)| *file == path);
    (lines > MAX_LINES && !excused)
        .then(|| Violation::new(path, format!("has {lines} lines, more than {MAX_LINES}; split it by subject")))
}

fn unfinished(path: &str, text: &str) -> Vec<Violation> {
    let found = |line: &str| UNFINISHED.iter().find(|(word, _)| line.contains(word));
    numbered(text)
        .filter_map(|(number, line)| found(line).map(|(word, advice)| (number, word, advice)))
        .map(|(number, word, advice)| Violation::new(format!("{path}:{number}"), format!("has `{word}`: {advice}")))
        .collect()
}

fn private_paths(path: &str, text: &str) -> Vec<Violation> {
    numbered(text)
        .filter(|(_, line)| PRIVATE.iter().any(|directory| begins_a_path(line, directory)))
        .map(|(number, _)| Violation::new(format!("{path}:{number}"), "names a directory of one machine"))
        .collect()
}

/// Whether `directory` stands in `line` as the beginning of a path, not within another path or address.
fn begins_a_path(line: &str, directory: &str) -> bool {
    line.match_indices(directory).any(|(index, _)| {
        let before = line[..index].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || "/._-}$".contains(c)))
    })
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> Vec<String> {
        check(path, text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_module_opens_with_its_purpose() {
        assert_eq!(problems("a.rs", "//! Adds.\n\npub fn add() {}\n"), [""; 0]);
        assert!(problems("a.rs", "use std::fmt;\n//! Late.\n")[0].starts_with("a.rs: opens without"));
        assert_eq!(problems("a.sql", "select 1;\n"), [""; 0]);
    }

    #[test]
    fn a_long_file_is_refused() {
        let line = "//! Long.\n";
        assert_eq!(problems("a.rs", &line.repeat(MAX_LINES)), [""; 0]);
        assert!(problems("a.rs", &line.repeat(MAX_LINES + 1))[0].contains("501 lines"));
    }

    #[test]
    fn unfinished_work_is_refused_with_its_line() {
        for (word, _) in UNFINISHED {
            let found = problems("a.rs", &format!("//! A.\nfn f() {{ {word} }}\n"));
            assert!(found.len() == 1 && found[0].starts_with("a.rs:2: "), "{word}: {found:?}");
        }
    }

    #[test]
    fn a_path_of_one_machine_is_refused_anywhere() {
        for directory in PRIVATE {
            assert_eq!(problems("README.md", &format!("see `{directory}notes`\n")).len(), 1, "{directory}");
            assert_eq!(problems("README.md", &format!("see https://example.org{directory}a\n")), [""; 0]);
            assert_eq!(problems("README.md", &format!("in $HOME{directory} and target{directory}\n")), [""; 0]);
        }
    }
}
