//! The measuring harness: a copy of it that can be installed into, its site, and its rounds. It knows what it measures
//! with; we only name the drivers.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde::Deserialize;

use crate::{Outcome, step};

/// The harness's driver that captures in new contexts the fastest way found: the *isolated limit*.
pub(super) const LIMIT: &str = "raw-many-ctx-cbor-fast";
/// The harness's driver that runs `CAP_CMD`.
pub(super) const PRODUCT: &str = "product";
/// The harness's pages.
pub(super) const PAGES: [&str; 13] = [
    "index",
    "dashboard",
    "article",
    "fonts",
    "canvas",
    "sticky-lazy",
    "tall",
    "animations",
    "frames",
    "login",
    "late-xhr",
    "table",
    "components",
];

/// That many pages in turn.
pub(super) fn pages(count: usize) -> Vec<&'static str> {
    PAGES.iter().copied().cycle().take(count).collect()
}

/// What the harness says of one driver at one number of lanes; a figure a round.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Figures {
    /// Lanes.
    pub(super) conc: u32,
    pub(super) driver: String,
    /// Captures per second.
    pub(super) rate: Vec<f64>,
    /// CPU seconds for each capture in the driver's browsers and programs; null where the machine cannot account.
    pub(super) cpu: Vec<Option<f64>>,
    /// CPU seconds for each capture in the harness itself, which is the client of its own drivers.
    #[serde(rename = "self")]
    pub(super) client: Vec<f64>,
    /// Milliseconds of a capture.
    pub(super) p50: f64,
    pub(super) p95: f64,
    /// Cores that somebody else had.
    pub(super) other: Vec<f64>,
}

/// What to measure.
pub(super) struct Rounds<'a> {
    /// The command of the driver [`PRODUCT`].
    pub(super) product: &'a str,
    pub(super) captures: usize,
    pub(super) lanes: &'a [u32],
    pub(super) rounds: u32,
    /// Where the site listens.
    pub(super) port: u16,
    /// Where the figures go.
    pub(super) figures: &'a Path,
}

pub(super) struct Harness {
    directory: PathBuf,
}

impl Harness {
    /// Copies the harness from `source` to `directory` and installs what it needs there.
    pub(super) fn prepare(source: &Path, directory: PathBuf) -> Outcome<Self> {
        if !source.join("capture_bench.mjs").is_file() {
            return Err(format!("{} has no capture_bench.mjs; name the harness by --harness", source.display()));
        }
        for program in ["node", "npm"] {
            step::output(Command::new(program).arg("--version"))
                .map_err(|e| format!("{e}; the harness needs Node 20 with npm"))?;
        }
        copy(source, &directory)?;
        if !directory.join("node_modules").is_dir() {
            let mut install = Command::new("npm");
            install.args(["install", "--no-audit", "--no-fund"]).current_dir(&directory);
            // The browsers come from the system.
            install.env("PUPPETEER_SKIP_DOWNLOAD", "1").env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
            step::run("harness", &mut install)?;
        }
        Ok(Self { directory })
    }

    /// Starts the site by itself.
    pub(super) fn site(&self, port: u16) -> Outcome<Site> {
        let mut command = Command::new("node");
        command.arg("site/server.mjs").env("PORT", port.to_string()).current_dir(&self.directory);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut site = Site(child.map_err(|e| format!("cannot run {}: {e}", step::line(&command)))?);
        let output = site.0.stdout.take().ok_or("the site has no output")?;
        // It prints its port once it listens.
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).map_err(|e| format!("the site does not start: {e}"))?;
        if line.trim() == port.to_string() { Ok(site) } else { Err(format!("the site does not listen on port {port}")) }
    }

    /// Measures the limit and the product in turn, and prints the harness's own table.
    pub(super) fn measure(&self, rounds: &Rounds<'_>) -> Outcome<Vec<Figures>> {
        let lanes: Vec<_> = rounds.lanes.iter().map(u32::to_string).collect();
        let mut bench = Command::new("node");
        bench.arg("capture_bench.mjs").current_dir(&self.directory);
        bench.arg(format!("--drivers={LIMIT},{PRODUCT}")).arg(format!("--base={LIMIT}"));
        bench.arg(format!("--pages={}", pages(rounds.captures).join(","))).arg(format!("--conc={}", lanes.join(",")));
        bench.arg(format!("--rounds={}", rounds.rounds)).arg(format!("--json={}", rounds.figures.display()));
        bench.env("CAP_CMD", rounds.product).env("SITE_PORT", rounds.port.to_string());
        let title = format!("{} rounds of {} captures by each", rounds.rounds, rounds.captures);
        step::step(&title, || match bench.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("the harness failed ({status})")),
            Err(error) => Err(format!("cannot run node: {error}")),
        })?;
        let text = fs::read_to_string(rounds.figures).map_err(|e| format!("the harness left no figures: {e}"))?;
        serde_json::from_str(&text).map_err(|e| format!("the harness's figures cannot be read: {e}"))
    }
}

/// The running site; it is ended when dropped.
pub(super) struct Site(Child);

impl Drop for Site {
    fn drop(&mut self) {
        let _killed = self.0.kill();
        let _ended = self.0.wait();
    }
}

/// Copies a directory's files, but not what was installed or measured in it.
fn copy(from: &Path, to: &Path) -> Outcome {
    let failed = |error: std::io::Error| format!("cannot copy {} to {}: {error}", from.display(), to.display());
    fs::create_dir_all(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (name, path) = (entry.file_name(), entry.path());
        if path.is_dir() {
            if !["node_modules", "results", "target"].iter().any(|skipped| name == *skipped) {
                copy(&path, &to.join(name))?;
            }
        } else {
            // Contents only: what is read-only there must be writable here the next time.
            let bytes = fs::read(&path).map_err(failed)?;
            fs::write(to.join(name), bytes).map_err(failed)?;
        }
    }
    Ok(())
}
