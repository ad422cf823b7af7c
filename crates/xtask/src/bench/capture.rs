//! `cargo xtask bench capture`: full-page captures of the harness's pages, by its isolated limit and by Pinhole, in turn.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum as _};

use super::{
    Mode, Plan, clear,
    harness::{Harness, Rounds},
    phases, queued, report, server, setup,
};
use crate::{Outcome, packages, step, workspace};

#[derive(Args)]
pub(crate) struct Capture {
    /// The measuring harness.
    #[arg(long, value_name = "DIR", default_value = "../shared/bench")]
    harness: PathBuf,
    /// Captures in a round.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=1000))]
    captures: u16,
    /// Rounds of each; the order is reversed every other one.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Captures at the same time, with a browser for each.
    #[arg(long, value_delimiter = ',', default_value = "1,2", value_parser = clap::value_parser!(u32).range(1..=16))]
    lanes: Vec<u32>,
    /// What the captures are compared with; all of it when left out.
    #[arg(long, value_delimiter = ',')]
    mode: Vec<Mode>,
    /// Measure the unoptimised build.
    #[arg(long)]
    debug: bool,
    /// Measure this program instead of building one.
    #[arg(long, value_name = "FILE", conflicts_with = "debug")]
    program: Option<PathBuf>,
    /// Install missing system packages (as root).
    #[arg(long)]
    install: bool,
}

impl Capture {
    pub(crate) fn run(self) -> Outcome {
        packages::ensure(&packages::DEMO.iter().collect::<Vec<_>>(), self.install)?;
        let target = workspace::metadata()?.target_directory;
        let harness = workspace::root().join(&self.harness);
        let harness = Harness::prepare(&harness, target.join("bench/harness"))?;
        let pinhole = self.build(&target)?;
        let work = target.join("bench/capture");
        clear(&work)?;
        let port = server::free_port()?;
        let token = step::step("a scenario and a receipt for each page", || {
            let _site = harness.site(port)?;
            setup::prepare(&pinhole, &work, port)
        })?;
        let modes = if self.mode.is_empty() { Mode::value_variants() } else { &self.mode };
        let (mut rates, mut queues) = (Vec::new(), Vec::new());
        let mut tables = Vec::new();
        for &mode in modes {
            let plan = Plan { pinhole: pinhole.clone(), work: work.clone(), token: token.clone(), mode };
            let figures = self.measure(&harness, &plan, port)?;
            rates.extend(report::rates(mode, &figures));
            for &lanes in &self.lanes {
                let title = format!("all at once, {}, {lanes} lane(s)", mode.name());
                let measured = step::step(&title, || {
                    let _site = harness.site(port)?;
                    queued::measure(&plan, lanes, usize::from(self.captures), self.rounds)
                })?;
                queues.extend(report::queued(mode, lanes, &measured, &figures));
            }
            tables.push(format!("\nPhases of a capture, {}:", mode.name()));
            tables.extend(report::phases(&phases::read(&work, mode.name())?));
        }
        println!("\nOne after another in each lane:\n\n{}\n{}", report::RATES_HEAD, rates.join("\n"));
        println!("\nAll admitted at once:\n\n{}\n{}", report::QUEUED_HEAD, queues.join("\n"));
        println!("{}", tables.join("\n"));
        Ok(())
    }

    fn build(&self, target: &Path) -> Outcome<PathBuf> {
        if let Some(program) = &self.program {
            return std::path::absolute(program).map_err(|e| format!("{}: {e}", program.display()));
        }
        let mut build = workspace::cargo();
        build.args(["build", "--package", "pinhole"]).args((!self.debug).then_some("--release"));
        step::run("build", &mut build)?;
        Ok(target.join(if self.debug { "debug" } else { "release" }).join("pinhole"))
    }

    fn measure(&self, harness: &Harness, plan: &Plan, port: u16) -> Outcome<Vec<super::harness::Figures>> {
        let file = plan.work.join(format!("plan-{}.json", plan.mode.name()));
        let json = serde_json::to_vec(plan).map_err(|e| e.to_string())?;
        fs::write(&file, json).map_err(|e| format!("{}: {e}", file.display()))?;
        let executable = std::env::current_exe().map_err(|e| format!("where this program is: {e}"))?;
        // A line for the shell, which knows how many lanes the harness wants.
        let lanes = "--lanes \"$CAP_CONCURRENCY\"";
        let product = format!("'{}' bench driver --plan '{}' {lanes}", executable.display(), file.display());
        harness.measure(&Rounds {
            product: &product,
            captures: usize::from(self.captures),
            lanes: &self.lanes,
            rounds: self.rounds,
            port,
            figures: &plan.work.join(format!("figures-{}.json", plan.mode.name())),
        })
    }
}
