//! `cargo xtask tidy`: the rules of the source tree that neither compiler nor lints can check.
//!
//! Each rule is a pure function from what it looks at to violations, so that its tests need no tree. It must not change
//! a file: it says what is wrong and what to do.

mod arrows;
mod libraries;
mod migrations;
mod named_tests;
mod sources;

use std::fmt;

use crate::{Outcome, step, workspace};

/// One thing to put right.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Violation {
    /// A file, with a line where there is one, or a package.
    place: String,
    /// What is wrong and what to do instead.
    problem: String,
}

impl Violation {
    fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { place: place.into(), problem: problem.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// Checks the whole tree and prints every violation.
pub(crate) fn run() -> Outcome {
    let metadata = workspace::metadata()?;
    let files = files()?;
    let mut violations = arrows::check(&metadata.packages);
    violations.extend(libraries::check(&metadata.packages));
    violations.extend(migrations::check(&files));
    let mut texts = Vec::new();
    for file in files {
        // Deleted but not yet committed, or not text: nothing for us.
        if let Ok(text) = std::fs::read_to_string(workspace::root().join(&file)) {
            violations.extend(sources::check(&file, &text));
            texts.push((file, text));
        }
    }
    violations.extend(named_tests::check(&texts));
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => Ok(()),
        count => Err(format!("tidy found {count} violation(s), listed above")),
    }
}

/// The files of the repository, and new ones that are not ignored, relative to its root.
fn files() -> Outcome<Vec<String>> {
    let mut git = std::process::Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(workspace::root());
    Ok(step::output(&mut git)?.split_terminator('\0').map(str::to_owned).collect())
}
