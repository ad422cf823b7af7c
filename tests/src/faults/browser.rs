//! Browsers that are killed in the middle of a cell, and pages that never come to an end.

use std::{
    fs,
    time::{Duration, Instant},
};

use pinhole_testkit::wait_for;
use rustix::process::Signal;

use super::{PAGE, PATIENCE, Stage, attempts, outcomes, send, text, worker_of};
use crate::harness::{Setup, children, command_line, descendants, has_ended};

#[tokio::test]
async fn a_killed_browser_is_replaced_and_a_cell_that_always_kills_it_ends() {
    let mut stage = Stage::set(Setup::default()).await;
    let (run, browser) = stage.hang("once").await;
    stage.site.reset(PAGE);
    send(browser, Signal::KILL);
    let run = stage.ends_right(&run, &["failed", "submitted"]).await;
    let worker = worker_of(&attempts(&run)[0]);
    for attempt in attempts(&run) {
        assert_eq!(worker_of(attempt), worker, "the worker outlives its browser");
    }
    assert_eq!(text(&attempts(&run)[0]["failure"]["reason"]), "browser_crashed", "{run:#}");

    let mut asked = stage.site.hits(PAGE);
    let (run, mut browser) = stage.hang("always").await;
    for attempt in 1..=3 {
        asked += 1;
        assert_eq!(stage.site.hits(PAGE), asked, "attempt {attempt}");
        send(browser, Signal::KILL);
        if attempt < 3 {
            browser = stage.waiting(asked).await;
        }
    }
    let run = stage.project.ended(&run).await;
    assert_eq!(run["state"], "failed", "{run:#}");
    assert_eq!(outcomes(&run), ["failed", "failed", "submitted"], "{run:#}");
    assert_eq!(text(&run["cells"][0]["failure"]["reason"]), "browser_crashed", "{run:#}");
    for attempt in &attempts(&run)[..2] {
        assert_eq!(text(&attempt["failure"]["reason"]), "browser_crashed", "{run:#}");
    }
    assert_eq!(stage.site.hits(PAGE), asked, "nobody tries it again");

    stage.site.reset(PAGE);
    let next = stage.start("next").await;
    let next = stage.ends_right(&next, &["submitted"]).await;
    assert_eq!(worker_of(&attempts(&next)[0]), worker);
}

/// A page that hangs as soon as it is loaded.
const HANGS_ON_LOAD: &str = "<!doctype html><title>Loop</title><button id=go>Go</button>
<script>addEventListener('load', () => setTimeout(() => { for (;;); }))</script>";
/// A page that hangs when its button is clicked.
const HANGS_ON_CLICK: &str = "<!doctype html><title>Loop</title><button id=go onclick='for (;;);'>Go</button>";
/// A page whose button does nothing.
const GOOD: &str = "<!doctype html><title>No loop</title><button id=go>Go</button>";
const CLICKING: &str = "\
schema: pinhole.scenario.v1
title: A button
steps:
  - navigate: /index.html
  - click: { css: '#go' }
  - capture: { name: clicked }
";
/// Processor time that no page of these tests needs unless it hangs.
const LONG: Duration = Duration::from_secs(3);
/// A step has 30 s; the rest is for the start of a browser and its end.
const HUNG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn an_endless_loop_ends_with_its_step() {
    let mut stage = Stage::with(Setup::default(), CLICKING, &["clicked"]).await;
    endless_loop(&mut stage, HANGS_ON_LOAD).await;
    if std::env::var_os("PINHOLE_FULL").is_some_and(|value| value == "1") {
        endless_loop(&mut stage, HANGS_ON_CLICK).await;
    }
}

/// The run on `page` fails in time with a typed reason, what hung is gone, and the same worker goes on cleanly.
async fn endless_loop(stage: &mut Stage, page: &'static str) {
    let worker = stage.server.workers()[0];
    stage.site.set_override(PAGE, page);
    let started = Instant::now();
    let run = stage.start(&format!("loop-of-{}-bytes", page.len())).await;
    let hung = wait_for(PATIENCE, "a page's process computes and computes", async || {
        let family = children(worker).into_iter().flat_map(descendants);
        family.filter(|pid| command_line(*pid).contains("--type=renderer")).find(|pid| computed(*pid) > LONG)
    })
    .await;
    let run = stage.project.ended(&run).await;
    assert!(started.elapsed() < HUNG, "{:?}", started.elapsed());
    assert_eq!(run["state"], "failed", "{run:#}");
    assert_eq!(text(&run["cells"][0]["failure"]["reason"]), "step_deadline", "{run:#}");
    assert_eq!(outcomes(&run), ["submitted"], "a page that hangs is not tried again: {run:#}");
    assert!(has_ended(hung), "the page's process is still there");

    stage.site.set_override(PAGE, GOOD);
    let next = stage.start(&format!("after-loop-of-{}-bytes", page.len())).await;
    let next = stage.ends_right(&next, &["submitted"]).await;
    assert_eq!(worker_of(&attempts(&next)[0]), worker);
}

/// Processor time that a process has used: fields 14 and 15 of proc_pid_stat(5), in hundredths of a second.
fn computed(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ');
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
