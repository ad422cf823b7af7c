//! What pages and machines do wrong, each with a typed failure in time and a clean next run.

use std::time::{Duration, Instant};

use pinhole_core::FailureReason;
use pinhole_testkit::{Behaviour, wait_until};
use rustix::process::{Pid, Signal};

use crate::support::{Page, Run, WHOLE_PAGE, browser, directory_of, failure, group_members, only};

#[tokio::test]
async fn a_killed_browser_is_a_crash_at_once_and_leaves_nothing() {
    let (browser, page) = (browser().await, Page::new("<img src=/never>"));
    page.site.set_behaviour("/never", Behaviour::Silent);
    let (pid, directory) = (browser.pid(), directory_of(&browser));
    let mut run = Run::new(&page.site, WHOLE_PAGE);
    run.step_deadline = Duration::from_secs(30);
    let kill = async {
        while page.site.hits("/never") == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        rustix::process::kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
        Instant::now()
    };
    let (outcome, killed) = tokio::join!(run.on(&browser), kill);
    assert!(killed.elapsed() < Duration::from_secs(2));
    let failure = failure(outcome);
    assert_eq!((failure.reason, failure.step), (FailureReason::BrowserCrashed, Some(0)));
    assert!(!browser.is_healthy());
    let again = run.on(&browser).await.failure.unwrap();
    assert_eq!(again.reason, FailureReason::BrowserCrashed);
    browser.close().await;
    assert_eq!(group_members(pid), [] as [u32; 0]);
    assert!(!directory.exists());
}

#[tokio::test]
async fn an_endless_loop_ends_at_the_steps_deadline_and_the_next_run_is_clean() {
    let browser = browser().await;
    let good = Page::new("<p>Good");
    let before = renderers(browser.pid()).len();
    for body in [
        "<script>for(;;);</script>",
        "<p>Loads<script>onload=()=>{for(;;);}</script>",
        "<p>Micro<script>(function f(){Promise.resolve().then(f)})()</script>",
    ] {
        let page = Page::new(body);
        let mut run = Run::new(&page.site, WHOLE_PAGE);
        run.step_deadline = Duration::from_millis(1500);
        let started = Instant::now();
        let failure = failure(run.on(&browser).await);
        assert_eq!(failure.reason, FailureReason::StepDeadline, "{body}: {}", failure.message);
        assert!(started.elapsed() < Duration::from_secs(9), "{body}: {:?}", started.elapsed());
        assert!(browser.is_healthy());
        only(Run::new(&good.site, WHOLE_PAGE).on(&browser).await);
    }
    // A renderer in a loop does not end by being asked; Chromium keeps one spare.
    wait_until(Duration::from_secs(10), "no renderer loops on", async || renderers(browser.pid()).len() <= before + 1)
        .await;
    browser.close().await;
}

#[tokio::test]
async fn a_crashed_renderer_is_named_and_the_browser_goes_on() {
    let browser = browser().await;
    let page = Page::new("<p>Stays");
    page.site.set_behaviour("/slow", Behaviour::Silent);
    page.site.set_override("/", "<!doctype html><p>Waits<img src=/slow>");
    let run = Run::new(&page.site, WHOLE_PAGE);
    let before = renderers(browser.pid());
    let kill = async {
        while page.site.hits("/slow") == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for pid in renderers(browser.pid()).into_iter().filter(|pid| !before.contains(pid)) {
            rustix::process::kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::KILL).unwrap();
        }
    };
    let (outcome, ()) = tokio::join!(run.on(&browser), kill);
    let failure = failure(outcome);
    assert_eq!(failure.reason, FailureReason::RendererCrashed, "{}", failure.message);
    let good = Page::new("<p>Good");
    only(Run::new(&good.site, WHOLE_PAGE).on(&browser).await);
    browser.close().await;
}

fn renderers(group: u32) -> Vec<u32> {
    let line = |pid: u32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let is_renderer = |pid: &u32| String::from_utf8_lossy(&line(*pid)).contains("--type=renderer");
    group_members(group).into_iter().filter(is_renderer).collect()
}

#[tokio::test]
async fn addresses_that_lead_nowhere_or_elsewhere_are_refused() {
    let (browser, page, other) = (browser().await, Page::new("<p>Home"), Page::new("<p>Other"));
    page.site.set_behaviour("/away", Behaviour::Redirect(other.site.url("/")));
    let navigate =
        |to: &str| Run::new(&page.site, &format!("steps: [{{ navigate: '{to}' }}, {{ capture: {{ name: page }} }}]"));
    let outside = failure(navigate(&other.site.url("/")).on(&browser).await);
    assert_eq!(outside.reason, FailureReason::EgressDenied);
    assert_eq!(other.site.hits("/"), 0);
    assert_eq!(failure(navigate("/away").on(&browser).await).reason, FailureReason::EgressDenied);
    let origin = other.site.origin();
    drop(other);
    let mut dead = navigate("/");
    dead.base = url::Url::parse(&origin).unwrap();
    let refused = failure(dead.on(&browser).await);
    assert_eq!(refused.reason, FailureReason::NavigationFailed);
    assert!(refused.message.contains("ERR_CONNECTION_REFUSED"), "{}", refused.message);
    browser.close().await;
}

#[tokio::test]
async fn dialogs_popups_and_downloads_do_not_stop_a_cell() {
    let page = Page::new(
        "<p id=o></p><script>const p=open('/popup');o.textContent=confirm('Sure?')+' '+prompt('Name?');\
         const a=document.createElement('a');a.href='/file.bin';a.click();\
         Notification.requestPermission().then(r=>{document.title=r});</script>",
    );
    page.site.set_override("/popup", "<p>Popup");
    page.site.set_override("/file.bin", "bytes");
    let rest = "steps: [{ navigate: / }, { assert: { text: { of: { css: '#o' }, equals: 'false null' } } }, { assert: { title: { equals: denied } } }, { capture: { name: page } }]";
    let browser = browser().await;
    let outcome = Run::new(&page.site, rest).on(&browser).await;
    let console = String::from_utf8(outcome.console.clone()).unwrap();
    assert!(console.contains("dialog (confirm) was dismissed"), "{console}");
    assert!(console.contains("a window that the page opened was closed"), "{console}");
    assert!(console.contains("/file.bin was refused"), "{console}");
    only(outcome);
    let forever = Page::new("<script>for(;;)alert(1)</script>");
    let loops = failure(Run::new(&forever.site, WHOLE_PAGE).on(&browser).await);
    assert_eq!(loops.reason, FailureReason::LimitExceeded);
    browser.close().await;
}

#[tokio::test]
async fn a_page_beyond_the_limits_is_refused_by_name() {
    let (browser, page) = (browser().await, Page::new("<div style='height:20000px'>"));
    assert_eq!(failure(Run::new(&page.site, WHOLE_PAGE).on(&browser).await).reason, FailureReason::CaptureTooLarge);
    browser.close().await;
}

#[tokio::test]
async fn the_cells_own_deadline_holds() {
    let (browser, page) = (browser().await, Page::new("<img src=/never>"));
    page.site.set_behaviour("/never", Behaviour::Silent);
    let mut run = Run::new(&page.site, WHOLE_PAGE);
    run.deadline = Duration::from_millis(800);
    assert_eq!(failure(run.on(&browser).await).reason, FailureReason::CellDeadline);
    browser.close().await;
}

#[tokio::test]
async fn a_stopped_browser_is_given_up_and_killed() {
    let (browser, page) = (browser().await, Page::new("<p>Never"));
    let group = browser.pid();
    let run = Run { step_deadline: Duration::from_secs(1), ..Run::new(&page.site, WHOLE_PAGE) };
    only(run.on(&browser).await);
    rustix::process::kill_process_group(Pid::from_raw(group.cast_signed()).unwrap(), Signal::STOP).unwrap();
    let run = Run { deadline: Duration::from_secs(2), ..run };
    let failure = failure(run.on(&browser).await);
    assert_eq!(failure.reason, FailureReason::BrowserCrashed, "{}", failure.message);
    assert!(!browser.is_healthy());
    browser.close().await;
    assert_eq!(group_members(group), [] as [u32; 0]);
}

#[tokio::test]
async fn a_profile_that_the_browser_does_not_know_is_named() {
    let (browser, page) = (browser().await, Page::new("<p>Never"));
    let mut run = Run::new(&page.site, WHOLE_PAGE);
    run.profile.timezone = "Mars/Olympus".into();
    let failure = failure(run.on(&browser).await);
    assert_eq!(failure.reason, FailureReason::NavigationFailed);
    assert!(failure.message.contains("timezone"), "{}", failure.message);
    assert!(browser.is_healthy());
    browser.close().await;
}

#[tokio::test]
async fn a_cell_that_is_dropped_takes_its_context_with_it() {
    let (browser, page) = (browser().await, Page::new("<img src=/never>"));
    page.site.set_behaviour("/never", Behaviour::Silent);
    let before = renderers(browser.pid());
    let run = Run::new(&page.site, WHOLE_PAGE);
    let started = wait_until(Duration::from_secs(10), "the page is open", async || page.site.hits("/never") > 0);
    tokio::select! {
        outcome = run.on(&browser) => panic!("ended by itself: {:?}", outcome.failure),
        () = started => assert_ne!(renderers(browser.pid()), before),
    }
    // Chromium keeps a spare renderer, so that the number may be one more than at first.
    wait_until(Duration::from_secs(10), "the renderer is gone", async || {
        renderers(browser.pid()).len() <= before.len() + 1
    })
    .await;
    assert!(browser.is_healthy());
    page.site.set_override("/", "<!doctype html><p>Good");
    only(run.on(&browser).await);
    browser.close().await;
}
