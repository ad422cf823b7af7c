//! The capture canary: now and then a browser of this worker takes a picture of a built-in page, and how that went is
//! recorded. It shows that captures are possible here, whether or not anybody has asked for one.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use pinhole_app::App;
use pinhole_browser::{CellOutcome, CellPlan, run_cell};
use pinhole_core::{Error, Profile, Result};
use pinhole_scenario::{Format, Scenario};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::lane::Lanes;

/// Wait before the first canary, so that work that is queued at the start goes first.
const FIRST: Duration = Duration::from_secs(15);
/// Wait between two canaries.
const BETWEEN: Duration = Duration::from_secs(600);
/// How long one may take.
const DEADLINE: Duration = Duration::from_secs(60);
/// How long the page's server waits for a request and its answer to be taken.
const REQUEST: Duration = Duration::from_secs(10);

const SCENARIO: &str =
    "schema: pinhole.scenario.v1\ntitle: Canary\nsteps:\n  - navigate: /\n  - capture: { name: canary }\n";
const PAGE: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<!doctype html><title>Canary</title>\
    <style>body{background:#ffd}</style><h1>Pinhole</h1>";

/// Sends canaries until `stop`.
pub(crate) async fn watch(app: App, lanes: Arc<Lanes>, stop: CancellationToken) {
    let mut wait = FIRST;
    while stop.run_until_cancelled(sleep(wait)).await.is_some() {
        wait = BETWEEN;
        let Some(failure) = stop.run_until_cancelled(Box::pin(send(&lanes))).await else { return };
        if let Some(failure) = &failure {
            tracing::warn!(failure, "the capture canary failed");
        }
        if let Err(error) = app.record_capture_canary(failure.as_deref()).await {
            tracing::warn!(?error, "the capture canary could not be recorded");
        }
    }
}

/// Takes a picture of the built-in page; answers what went wrong, in words that name no path of this machine.
pub(crate) async fn send(lanes: &Lanes) -> Option<String> {
    match picture(lanes).await {
        Ok(outcome) => fault(&outcome),
        Err(error) => {
            tracing::warn!(?error, "the capture canary could not be sent");
            Some("the browser could not be started, or the built-in page not be served".into())
        }
    }
}

async fn picture(lanes: &Lanes) -> Result<CellOutcome> {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(Error::internal)?;
    let address = listener.local_addr().map_err(Error::internal)?;
    let base_url: Url = format!("http://{address}/").parse().map_err(Error::internal)?;
    let scenario = scenario()?;
    let taken = lanes.take().await?.map_err(|error| Error::internal(error.to_string()))?;
    let plan = CellPlan {
        scenario: &scenario,
        profile: &Profile::default(),
        base_url: &base_url,
        allowed_hosts: &[],
        headers: &[],
        deadline: DEADLINE,
        step_deadline: DEADLINE,
        known_pictures: &BTreeMap::new(),
        proxy: None,
    };
    // The server ends with the picture.
    let outcome = tokio::select! {
        outcome = run_cell(&taken.browser, &plan) => outcome,
        () = serve(listener) => CellOutcome::default(),
    };
    lanes.give_back(taken).await;
    Ok(outcome)
}

fn scenario() -> Result<Scenario> {
    pinhole_scenario::parse(SCENARIO, Format::Yaml)
        .map_err(|errors| Error::internal(format!("the canary's scenario is refused: {errors:?}")))
}

fn fault(outcome: &CellOutcome) -> Option<String> {
    match (&outcome.failure, outcome.checkpoints.as_slice()) {
        (Some(failure), _) => Some(format!("{}: the picture could not be taken", failure.reason)),
        (None, [checkpoint]) if checkpoint.not_evidence.is_empty() => None,
        (None, [checkpoint]) => Some(format!("the picture is no evidence: {:?}", checkpoint.not_evidence)),
        (None, _) => Some("there was no picture".into()),
    }
}

/// Answers every request with the page. A browser also opens connections that it never uses, and these hold up none.
async fn serve(listener: TcpListener) {
    let mut answers = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        answers.spawn(timeout(REQUEST, answer(stream)));
    }
}

async fn answer(mut stream: TcpStream) {
    let mut head = [0; 4096];
    // What is asked for makes no difference, and neither does an answer that is not taken.
    if stream.read(&mut head).await.is_ok_and(|read| read > 0) {
        let _ = stream.write_all(PAGE.as_bytes()).await;
    }
}

#[cfg(test)]
mod tests {
    use pinhole_browser::BrowserConfig;

    use super::*;

    #[tokio::test]
    async fn a_browser_takes_the_picture_and_one_that_does_not_start_is_told() {
        let lanes = Lanes::new(BrowserConfig::default(), 1);
        assert_eq!(send(&lanes).await, None);
        assert_eq!(send(&lanes).await, None, "the lane can be used again");
        lanes.close().await;
        let missing = BrowserConfig { executable: "/nonexistent/chromium".into(), ..BrowserConfig::default() };
        let told = send(&Lanes::new(missing, 1)).await.unwrap();
        assert!(told.contains("could not be started") && !told.contains("nonexistent"), "{told}");
    }
}
