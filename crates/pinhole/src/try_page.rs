//! `pinhole try`: one page or scenario, captured without a server and compared with the last time.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use pinhole_app::{App, TryRun};
use pinhole_contract::{ArtifactView, CheckpointView, RunResultView, RunView};
use pinhole_core::{BaselineKind, CheckpointVerdict, Error, Result, RunState, RunVerdict, Slug};
use pinhole_runtime::{BrowserSettings, CaptureSettings, Config};
use pinhole_scenario::{Format, Scenario};
use url::Url;

use crate::{
    exit::{Exit, say},
    file,
    node::Node,
};

/// Between two looks at a run that goes on.
const LOOK: Duration = Duration::from_millis(25);

/// Capture one page or scenario without a server, and compare it with the last time.
///
/// A capture is the reference of the next one, unless its scenario failed or it proves nothing. Nothing that `try` captures can become a
/// baseline.
#[derive(Args)]
pub(crate) struct Try {
    /// The page, or where the scenario's relative addresses start.
    #[arg(value_parser = address)]
    url: Url,
    /// A scenario (YAML, or JSON by its name) instead of the one page.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Where captures are kept between times.
    #[arg(long, value_name = "DIR", default_value = ".pinhole")]
    data_dir: PathBuf,
    /// The browser program.
    #[arg(long, value_name = "FILE")]
    browser: Option<PathBuf>,
}

impl Try {
    pub(crate) async fn run(self) -> Result<Exit> {
        let target = self.target()?;
        let mut browser = BrowserSettings::default();
        if let Some(executable) = &self.browser {
            browser.executable.clone_from(executable);
        }
        let config = Config {
            data_dir: self.data_dir.clone(),
            capture: CaptureSettings { processes: 1, lanes: 1 },
            browser,
            ..Config::default()
        };
        let node = Node::start(&config, true).await?;
        let outcome = capture(&node.installation.app, &target, &self.data_dir).await;
        node.stop().await;
        outcome
    }

    /// What to run: the page's scenario, or the named one over the URL.
    fn target(&self) -> Result<TryRun> {
        if !is_page(&self.url) {
            return Err(Error::invalid("URL", NO_PAGE));
        }
        if !self.url.username().is_empty() || self.url.password().is_some() {
            return Err(Error::invalid("URL", "expected no user and password: the address is kept in receipts"));
        }
        let mut base = self.url.clone();
        base.set_fragment(None);
        base.set_query(None);
        let scenario = match &self.scenario {
            Some(file) => read_scenario(file)?,
            None => {
                let target = match self.url.query() {
                    Some(query) => format!("{}?{query}", self.url.path()),
                    None => self.url.path().to_owned(),
                };
                base.set_path("/");
                Scenario::single_page(&target, "page".parse()?)?
            }
        };
        Ok(TryRun { name: name_of(&self.url, self.scenario.as_deref())?, base_url: base, scenario })
    }
}

/// What is said of another address.
const NO_PAGE: &str = "expected an address that begins with http:// or https://";

fn is_page(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.host_str().is_some()
}

fn address(text: &str) -> std::result::Result<Url, String> {
    Url::parse(text).ok().filter(is_page).ok_or_else(|| NO_PAGE.to_owned())
}

fn read_scenario(file: &Path) -> Result<Scenario> {
    let wrong = |why: String| Error::invalid(file.display().to_string(), why);
    let text = String::from_utf8(file::read(file, pinhole_scenario::MAX_BYTES as u64)?);
    let text = text.map_err(|_| wrong("expected UTF-8".into()))?;
    let json = file.extension().is_some_and(|extension| extension == "json");
    let format = if json { Format::Json } else { Format::Yaml };
    pinhole_scenario::parse(&text, format).map_err(|problems| wrong(problems.to_string()))
}

/// The same page or scenario file has the same name each time, whatever else is in the directory.
fn name_of(url: &Url, scenario: Option<&Path>) -> Result<Slug> {
    let mut identity = url.clone();
    identity.set_fragment(None);
    let file = scenario.map(|file| file.display().to_string()).unwrap_or_default();
    let digest = pinhole_core::Sha256Digest::of(format!("{identity}\0{file}").as_bytes());
    format!("try-{}", &digest.hex()[..24]).parse()
}

async fn capture(app: &App, target: &TryRun, data_dir: &Path) -> Result<Exit> {
    let run = app.start_try_run(target).await?;
    let run = finished(app, run).await?;
    let result = app.try_result(run.id).await?;
    let pictures = data_dir.join("pictures").join(target.name.as_str());
    for checkpoint in &result.checkpoints {
        tell(app, checkpoint, &pictures).await?;
    }
    for cell in &run.cells {
        for assertion in &cell.failed_assertions {
            say!("{}: step {}: {}", cell.name, assertion.step + 1, assertion.message);
        }
        if let Some(failure) = &cell.failure {
            let step = failure.step.map(|step| format!(" in step {}", step + 1)).unwrap_or_default();
            say!("{}: failed{step} ({}): {}", cell.name, failure.reason, failure.message);
        }
    }
    Ok(exit_of(&result))
}

async fn finished(app: &App, mut run: RunView) -> Result<RunView> {
    while !run.state.is_terminal() {
        tokio::time::sleep(LOOK).await;
        run = app.try_run(run.id).await?;
    }
    Ok(run)
}

/// The exit status of a result: what is worst in it.
fn exit_of(result: &RunResultView) -> Exit {
    match (result.state, result.verdict) {
        (RunState::Completed, Some(RunVerdict::FailedAssertion)) => Exit::Failed,
        (RunState::Completed, Some(RunVerdict::NotEvidence | RunVerdict::Incomparable)) => Exit::NotEvidence,
        (RunState::Completed, Some(RunVerdict::Changed)) => Exit::Changed,
        (RunState::Completed, Some(_)) => Exit::Success,
        _ => Exit::Failed,
    }
}

async fn tell(app: &App, checkpoint: &CheckpointView, directory: &Path) -> Result<()> {
    let name = format!("{}@{}", checkpoint.checkpoint, checkpoint.profile);
    let extension = checkpoint.picture.kind.extension();
    let picture = export(app, &checkpoint.picture, &directory.join(format!("{name}.{extension}"))).await?;
    match checkpoint.verdict {
        CheckpointVerdict::New => say!("{name}: first capture: {picture}"),
        CheckpointVerdict::Matched => say!("{name}: the same as before: {picture}"),
        CheckpointVerdict::Incomparable => {
            say!("{name}: cannot be compared, the renderer or the capture's rules changed: {picture}");
        }
        CheckpointVerdict::NotEvidence => {
            let reasons: Vec<_> = checkpoint.not_evidence.iter().map(ToString::to_string).collect();
            say!("{name}: not evidence: {}: {picture}", reasons.join("; "));
        }
        CheckpointVerdict::Changed => {
            say!("{name}: CHANGED: {picture}");
            if let Some(baseline) = &checkpoint.baseline {
                let path = export(app, baseline, &directory.join(format!("{name}-before.{extension}"))).await?;
                say!("  before: {path}");
            }
            if let Some(difference) = &checkpoint.difference {
                let path = export(app, difference, &directory.join(format!("{name}-difference.png"))).await?;
                say!("  difference: {path}");
            }
            tell_regions(checkpoint);
        }
    }
    Ok(())
}

/// Names the changed regions, or the changed values.
pub(crate) fn tell_regions(checkpoint: &CheckpointView) {
    let Some(comparison) = &checkpoint.comparison else { return };
    if checkpoint.kind == BaselineKind::Structured {
        for field in &comparison.regions {
            say!("  {}: {} before, {} now", field["field"], field["before"], field["after"]);
        }
        return;
    }
    let changed = comparison.account.get("changed").copied().unwrap_or_default();
    let regions = comparison.regions.len() + comparison.regions_omitted as usize;
    say!("  {changed} pixels changed in {regions} {}", if regions == 1 { "region" } else { "regions" });
    for region in comparison.regions.iter().take(20) {
        let rect = &region["rect"];
        say!(
            "  region {} at x {} y {}, {} wide, {} high",
            region["kind"].as_str().unwrap_or("?"),
            rect["x"],
            rect["y"],
            rect["width"],
            rect["height"]
        );
    }
}

async fn export(app: &App, artifact: &ArtifactView, path: &Path) -> Result<String> {
    let bytes = app.try_artifact(artifact.id).await?;
    file::write(path, &bytes)?;
    Ok(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Result<TryRun> {
        let url = url.parse().unwrap();
        Try { url, scenario: None, data_dir: ".pinhole".into(), browser: None }.target()
    }

    #[test]
    fn an_address_is_a_page_of_the_web_and_holds_no_secret() {
        assert_eq!(target("http://h/a?b#c").unwrap().base_url.as_str(), "http://h/");
        for wrong in ["file:///etc/passwd", "http://user:word@h/", "http://user@h/", "data:text/html,x"] {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }
}
