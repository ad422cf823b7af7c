//! Runs one step of a command, with its title, command line and duration printed.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::Outcome;

/// Prints `title`, does `work` and prints how long it took.
pub(crate) fn step<T>(title: &str, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    println!("==> {title}");
    let started = Instant::now();
    let outcome = work();
    let word = if outcome.is_ok() { "done" } else { "failed" };
    println!("    {title}: {word} in {}", seconds(started.elapsed()));
    outcome
}

/// Runs a command as a step; any exit status but 0 is an error.
pub(crate) fn run(title: &str, command: &mut Command) -> Outcome {
    step(&format!("{title}: {}", line(command)), || {
        let status = command.status().map_err(|e| format!("cannot run {}: {e}", line(command)))?;
        if status.success() { Ok(()) } else { Err(format!("{title} failed ({status})")) }
    })
}

/// Runs a command quietly and returns what it printed.
pub(crate) fn output(command: &mut Command) -> Outcome<String> {
    let output = command.output().map_err(|e| format!("cannot run {}: {e}", line(command)))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} failed ({}):\n{text}", line(command), output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{} printed something that is not UTF-8", line(command)))
}

/// The command as one would type it: a program on everybody's path by its name, and no quotes, since no argument of
/// ours needs them.
pub(crate) fn line(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_stem().filter(|name| *name == "cargo").unwrap_or(program.as_os_str());
    let words = [name].into_iter().chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_is_an_error_that_names_it() {
        assert!(run("good", &mut Command::new("true")).is_ok());
        assert!(run("bad", &mut Command::new("false")).unwrap_err().contains("bad failed (exit status: 1)"));
        assert!(run("none", &mut Command::new("/nonexistent")).unwrap_err().contains("cannot run /nonexistent"));
    }

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        assert_eq!(line(Command::new("/toolchain/bin/cargo").args(["fmt", "--all"])), "cargo fmt --all");
        assert_eq!(line(Command::new("target/debug/pinhole").arg("demo")), "target/debug/pinhole demo");
    }
}
