//! `cargo xtask demo`: packages, build, then `pinhole demo` in our place.

use std::{os::unix::process::CommandExt as _, process::Command};

use clap::Args;

use crate::{Outcome, packages, step, workspace};

#[derive(Args)]
pub(crate) struct Demo {
    /// Install missing system packages (as root).
    #[arg(long)]
    install: bool,
    /// Stop at the end of the story instead of leaving the server up.
    #[arg(long)]
    check: bool,
    /// Further arguments of `pinhole demo`.
    #[arg(last = true)]
    rest: Vec<String>,
}

impl Demo {
    pub(crate) fn run(self) -> Outcome {
        packages::ensure(&packages::DEMO.iter().collect::<Vec<_>>(), self.install)?;
        step::run("build", workspace::cargo().args(["build", "--package", "pinhole"]))?;
        let mut pinhole = Command::new(workspace::metadata()?.target_directory.join("debug/pinhole"));
        pinhole.arg("demo").args(self.check.then_some("--check")).args(self.rest).current_dir(workspace::root());
        println!("==> {}", step::line(&pinhole));
        // Replaces this process, so that signals reach Pinhole and its exit status is ours.
        let error = pinhole.exec();
        Err(format!("cannot run {}: {error}", step::line(&pinhole)))
    }
}
