//! `cargo xtask test`: what continuous integration checks, in the order of how soon it can fail.
//!
//! Every Cargo step takes the whole workspace, so that all of them share one set of features and thus one build.

use std::process::{Command, Stdio};

use clap::Args;

use crate::{Outcome, codegen, conformance, fuzz, packages, step, tidy, workspace};

#[derive(Args)]
pub(crate) struct Test {
    /// Also what takes too long for every change (sets PINHOLE_FULL=1 for the tests).
    #[arg(long)]
    full: bool,
    /// Install missing system packages (as root).
    #[arg(long)]
    install: bool,
}

impl Test {
    pub(crate) fn run(self) -> Outcome {
        packages::ensure(
            &packages::DEMO.iter().chain(packages::TEST).chain(packages::conformance()).collect::<Vec<_>>(),
            self.install,
        )?;
        step::run("format", workspace::cargo().args(["fmt", "--all", "--check"]))?;
        step::step("tidy", tidy::run)?;
        let lints = ["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"];
        step::run("lints", workspace::cargo().args(lints))?;
        // Tests start the product's programs; building the tests alone would not make those.
        step::run("build", workspace::cargo().args(["build", "--workspace", "--bins", "--tests"]))?;
        step::step("generated files", codegen::check)?;
        for (title, arguments) in runs(has_nextest()) {
            step::run(title, self.environment(workspace::cargo().args(*arguments)))?;
        }
        conformance::check(self.full)?;
        fuzz::check(if self.full { 50 } else { 1 })
    }

    fn environment<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        if self.full { command.env("PINHOLE_FULL", "1") } else { command.env_remove("PINHOLE_FULL") }
    }
}

/// The title and Cargo arguments of a step.
type Run = (&'static str, &'static [&'static str]);

/// What runs the tests. Examples in documentation come first, so that the last line is the summary that says most.
fn runs(nextest: bool) -> &'static [Run] {
    const EXAMPLES: Run = ("examples", &["test", "--workspace", "--doc"]);
    // Cargo's own runner would repeat the examples unless told which targets to take.
    const CARGO: Run = ("tests", &["test", "--workspace", "--bins", "--lib", "--tests", "--no-fail-fast"]);
    const NEXTEST: Run = ("tests", &["nextest", "run", "--workspace", "--no-fail-fast"]);
    if nextest { &[EXAMPLES, NEXTEST] } else { &[EXAMPLES, CARGO] }
}

fn has_nextest() -> bool {
    let mut probe = workspace::cargo();
    probe.args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}
