//! Tests of the language through its public face.

mod examples;
mod properties;
mod refusals;

use crate::{Diagnostics, Format, Scenario, parse};

/// A scenario of YAML steps.
fn with_steps(steps: &str) -> String {
    format!("schema: pinhole.scenario.v1\ntitle: Test\nsteps:\n{steps}")
}

/// A scenario whose one more member or step stands in line 6.
fn with_step(step: &str) -> String {
    with_steps(&format!("  - navigate: /\n  - capture: {{ name: a }}\n  - {step}\n"))
}

fn yaml(text: &str) -> Result<Scenario, Diagnostics> {
    parse(text, Format::Yaml)
}

/// The one problem of a text as `path line:column message`.
fn only_problem(text: &str) -> String {
    let diagnostics = yaml(text).expect_err(text);
    let [problem] = diagnostics.problems.as_slice() else { panic!("{text}: {diagnostics}") };
    format!("{} {}:{} {}", problem.path, problem.line, problem.column, problem.message)
}
