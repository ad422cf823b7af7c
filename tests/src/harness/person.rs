//! A person at a browser: follows links, fills in forms, presses buttons, and sees what the page shows.

use std::time::Duration;

use chromiumoxide::{
    Browser, BrowserConfig, Page,
    cdp::{
        browser_protocol::{input::InsertTextParams, network::Cookie},
        js_protocol::runtime::EvaluateParams,
    },
};
use futures::StreamExt as _;
use pinhole_testkit::wait_for;
use serde::de::DeserializeOwned;
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// The browser that Pinhole itself drives.
const BROWSER: &str = "/usr/lib/chromium/chromium-headless-shell";
/// How long a page may take.
const PAGE: Duration = Duration::from_secs(30);
/// Stays in the window until another page is loaded.
const MARK: &str = "window.before = true";

/// A browser of one person, with cookies of its own. [`Person::leave`] ends it.
pub(crate) struct Person {
    browser: Browser,
    page: Page,
    events: JoinHandle<()>,
    _profile: TempDir,
}

impl Person {
    /// Opens a browser.
    pub(crate) async fn new() -> Self {
        let profile = TempDir::with_prefix("pinhole-person-").unwrap();
        let config = BrowserConfig::builder().chrome_executable(BROWSER).user_data_dir(profile.path());
        // The only pages that it opens are those of the tests.
        let config = config.no_sandbox().viewport(None).window_size(1280, 1000).build().unwrap();
        let (browser, mut events) = Browser::launch(config).await.unwrap();
        let events = tokio::spawn(async move { while events.next().await.is_some() {} });
        let page = browser.new_page("about:blank").await.unwrap();
        Self { browser, page, events, _profile: profile }
    }

    /// Types an address.
    pub(crate) async fn go(&self, url: impl AsRef<str>) {
        self.page.goto(url.as_ref()).await.unwrap();
        self.arrived().await;
    }

    /// Types into the field that `selector` finds.
    pub(crate) async fn fill(&self, selector: &str, text: &str) {
        self.click(selector).await;
        self.page.execute(InsertTextParams::new(text)).await.unwrap();
    }

    /// Clicks on what `selector` finds, without waiting for another page.
    pub(crate) async fn click(&self, selector: &str) {
        let target = self.page.find_element(selector).await.unwrap_or_else(|error| panic!("{selector}: {error}"));
        target.click().await.unwrap();
    }

    /// Clicks on a link or a button and waits for the page that it leads to.
    pub(crate) async fn follow(&self, selector: &str) {
        self.evaluate::<bool>(MARK).await.unwrap();
        self.click(selector).await;
        self.arrived().await;
    }

    /// The path of the page.
    pub(crate) async fn path(&self) -> String {
        self.evaluate("location.pathname").await.unwrap()
    }

    /// What stands on the page.
    pub(crate) async fn text(&self) -> String {
        self.evaluate("document.body.innerText").await.unwrap()
    }

    /// What a script finds on the page; none while one page goes and another comes.
    pub(crate) async fn evaluate<T: DeserializeOwned>(&self, script: &str) -> Option<T> {
        let script = EvaluateParams::builder().expression(script).return_by_value(true).await_promise(true).build();
        let answer = self.page.execute(script.unwrap()).await.ok()?;
        serde_json::from_value(answer.result.result.value.clone()?).ok()
    }

    /// The cookie of this name that the browser sends to the page's server.
    pub(crate) async fn cookie(&self, name: &str) -> Option<Cookie> {
        self.page.get_cookies().await.unwrap().into_iter().find(|cookie| cookie.name == name)
    }

    /// Ends the browser.
    pub(crate) async fn leave(mut self) {
        self.browser.close().await.unwrap();
        self.browser.wait().await.unwrap();
        self.events.abort();
    }

    /// Waits until another page is there, with its pictures.
    async fn arrived(&self) {
        let there = "document.readyState === 'complete' && window.before === undefined";
        wait_for(PAGE, "the page is there", async || self.evaluate(there).await.filter(|there: &bool| *there)).await;
    }
}
