//! One page in a browser context of its own: made with the profile applied, asked through an isolated world, and
//! thrown away with everything that it stored. It knows nothing of steps.

use std::{
    fmt::Write as _,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use chromiumoxide::{
    Command,
    cdp::{
        browser_protocol::{
            browser::{BrowserContextId, SetDownloadBehaviorBehavior, SetDownloadBehaviorParams},
            emulation::{
                MediaFeature, SetDeviceMetricsOverrideParams, SetEmulatedMediaParams, SetLocaleOverrideParams,
                SetTimezoneOverrideParams, SetTouchEmulationEnabledParams, SetUserAgentOverrideParams,
            },
            log, network,
            page::{self, CreateIsolatedWorldParams, FrameId, SetLifecycleEventsEnabledParams},
            target::{
                AttachToTargetParams, CreateBrowserContextParams, CreateTargetParams, DisposeBrowserContextParams,
                SetAutoAttachParams, TargetId,
            },
        },
        js_protocol::runtime::{self, EvaluateParams, ExecutionContextId},
    },
    types::{Method, MethodId},
};
use pinhole_core::Profile;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{
    browser::{BROWSER_CALL, Browser},
    client::Client,
    error::CallError,
    hosts::Hosts,
    watch::Watch,
};

/// The scripts that are put into a new world before the first question.
const SCRIPTS: &str = concat!(include_str!("page/find.js"), "\n", include_str!("page/still.js"), "\n");

/// A question that the page did not answer.
#[derive(Debug)]
pub(crate) enum AskError {
    /// The document went away: ask the next one.
    Navigated,
    /// The command itself failed.
    Call(CallError),
    /// Our script threw, which a page can cause only by being very unusual.
    Script(String),
}

/// A page and its context. Dropping it asks the browser to dispose of the context; [`Tab::dispose`] also waits.
pub(crate) struct Tab {
    client: Client,
    context: BrowserContextId,
    target: TargetId,
    session: String,
    pub(crate) watch: Arc<Watch>,
    world: Mutex<Option<ExecutionContextId>>,
    popups: Arc<crate::popups::Popups>,
    disposed: AtomicBool,
}

impl Tab {
    /// Makes a context and a blank page that shows `profile` and whose requests carry `headers`. `proxy` is the address of the cell's egress proxy.
    pub(crate) async fn open(
        browser: &Browser,
        profile: &Profile,
        hosts: Hosts,
        headers: &[(String, String)],
        proxy: Option<&str>,
    ) -> Result<Self, CallError> {
        let client = browser.client.clone();
        let mut context = CreateBrowserContextParams::builder().dispose_on_detach(true);
        if let Some(proxy) = proxy {
            // Chromium goes past a proxy for loopback addresses unless told not to.
            context = context.proxy_server(proxy).proxy_bypass_list("<-loopback>");
        }
        let context = client.call(context.build(), BROWSER_CALL).await?.browser_context_id;
        let unfinished = Unfinished { client: &client, context: Some(context.clone()) };
        let mut blank = CreateTargetParams::new("about:blank");
        blank.browser_context_id = Some(context.clone());
        let target = client.call(blank, BROWSER_CALL).await?.target_id;
        let mut attach = AttachToTargetParams::new(target.clone());
        attach.flatten = Some(true);
        let session = String::from(client.call(attach, BROWSER_CALL).await?.session_id);
        // The id of a page's main frame is the id of its target.
        let frame = target.as_ref().to_owned();
        let mut agent = SetUserAgentOverrideParams::new(browser.user_agent.as_str());
        agent.accept_language = Some(profile.locale.clone());
        let headers: Map<String, Value> =
            headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        let headers = network::SetExtraHttpHeadersParams::new(network::Headers::new(headers));
        let watch = Watch::new(client.clone(), session.clone(), frame, hosts, agent.clone(), headers.clone());
        client.listen(Some(&session), Arc::clone(&watch) as Arc<dyn crate::client::Listener>);
        browser.popups.add(target.as_ref(), Arc::clone(&watch));
        unfinished.finish();
        let tab = Self {
            client,
            context,
            target,
            session,
            watch,
            world: Mutex::new(None),
            popups: Arc::clone(&browser.popups),
            disposed: AtomicBool::new(false),
        };
        tab.prepare(profile, agent, headers).await?;
        Ok(tab)
    }

    /// Everything that must hold before the first byte of a page, sent in one go.
    async fn prepare(
        &self,
        profile: &Profile,
        agent: SetUserAgentOverrideParams,
        headers: network::SetExtraHttpHeadersParams,
    ) -> Result<(), CallError> {
        let mut metrics = SetDeviceMetricsOverrideParams::new(
            i64::from(profile.viewport.width),
            i64::from(profile.viewport.height),
            profile.scale,
            profile.touch,
        );
        metrics.dont_set_visible_size = Some(false);
        let mut touch = SetTouchEmulationEnabledParams::new(profile.touch);
        touch.max_touch_points = Some(if profile.touch { 5 } else { 1 });
        let media = SetEmulatedMediaParams::builder()
            .feature(MediaFeature::new("prefers-color-scheme", profile.color_scheme.as_str()))
            .feature(MediaFeature::new("prefers-reduced-motion", "reduce"))
            .build();
        let locale = SetLocaleOverrideParams::builder().locale(profile.locale.as_str()).build();
        let mut workers = SetAutoAttachParams::new(true, true);
        workers.flatten = Some(true);
        let mut downloads = SetDownloadBehaviorParams::new(SetDownloadBehaviorBehavior::Deny);
        downloads.browser_context_id = Some(self.context.clone());
        let permissions = GrantNothing { permissions: [], context: self.context.clone() };
        futures::try_join!(
            self.call(page::EnableParams::default(), BROWSER_CALL),
            self.call(SetLifecycleEventsEnabledParams::new(true), BROWSER_CALL),
            self.call(network::EnableParams::default(), BROWSER_CALL),
            self.call(network::SetBypassServiceWorkerParams::new(true), BROWSER_CALL),
            self.call(headers, BROWSER_CALL),
            self.call(runtime::EnableParams::default(), BROWSER_CALL),
            self.call(log::EnableParams::default(), BROWSER_CALL),
            self.call(metrics, BROWSER_CALL),
            self.call(touch, BROWSER_CALL),
            self.call(media, BROWSER_CALL),
            self.call(locale, BROWSER_CALL),
            self.call(SetTimezoneOverrideParams::new(profile.timezone.as_str()), BROWSER_CALL),
            self.call(agent, BROWSER_CALL),
            self.call(workers, BROWSER_CALL),
            self.client.call(downloads, BROWSER_CALL),
            self.client.call(permissions, BROWSER_CALL),
        )?;
        Ok(())
    }

    /// Sends a command to the page and waits at most `limit`.
    pub(crate) async fn call<C: Command>(&self, command: C, limit: Duration) -> Result<C::Response, CallError> {
        self.client.call_in(Some(&self.session), command, limit).await
    }

    /// The answer of `pinhole.FUNCTION(ARGUMENTS…)` in the isolated world of the shown document.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        function: &str,
        arguments: &[&dyn erased::Json],
        limit: Duration,
    ) -> Result<T, AskError> {
        let mut expression = format!("pinhole.{function}(");
        for argument in arguments {
            let _ = write!(expression, "{},", argument.json());
        }
        expression.push(')');
        let value = self.evaluate(expression, limit).await?;
        serde_json::from_value(value).map_err(|error| AskError::Script(error.to_string()))
    }

    async fn evaluate(&self, expression: String, limit: Duration) -> Result<Value, AskError> {
        let known = *self.world.lock().unwrap_or_else(PoisonError::into_inner);
        let (world, expression) = match known {
            Some(world) => (world, expression),
            None => (self.new_world(limit).await?, format!("{SCRIPTS}{expression}")),
        };
        let mut evaluate = EvaluateParams::new(expression);
        evaluate.context_id = Some(world);
        evaluate.await_promise = Some(true);
        evaluate.return_by_value = Some(true);
        let answer = match self.call(evaluate, limit).await {
            Ok(answer) => answer,
            Err(CallError::Refused(_)) => {
                *self.world.lock().unwrap_or_else(PoisonError::into_inner) = None;
                return Err(AskError::Navigated);
            }
            Err(error) => return Err(AskError::Call(error)),
        };
        if let Some(thrown) = answer.exception_details {
            let said = thrown.exception.and_then(|object| object.description).unwrap_or(thrown.text);
            return Err(AskError::Script(crate::error::clip(&said, 500)));
        }
        *self.world.lock().unwrap_or_else(PoisonError::into_inner) = Some(world);
        Ok(answer.result.value.unwrap_or(Value::Null))
    }

    async fn new_world(&self, limit: Duration) -> Result<ExecutionContextId, AskError> {
        let mut world = CreateIsolatedWorldParams::new(FrameId::from(self.target.as_ref().to_owned()));
        world.world_name = Some("pinhole".into());
        match self.call(world, limit).await {
            Ok(answer) => Ok(answer.execution_context_id),
            Err(CallError::Refused(_)) => Err(AskError::Navigated),
            Err(error) => Err(AskError::Call(error)),
        }
    }

    /// Runs `pinhole.FUNCTION()` without waiting for it.
    pub(crate) fn tell(&self, function: &str) {
        let known = *self.world.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(world) = known {
            let mut evaluate = EvaluateParams::new(format!("pinhole.{function}()"));
            evaluate.context_id = Some(world);
            self.client.tell(Some(&self.session), &evaluate);
        }
    }

    /// Throws the context away and waits for it; false when the browser did not answer.
    pub(crate) async fn dispose(self) -> bool {
        self.disposed.store(true, Ordering::Release);
        let dispose = DisposeBrowserContextParams::new(self.context.clone());
        self.client.call(dispose, Duration::from_secs(5)).await.is_ok()
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        self.client.unlisten(&self.session);
        self.popups.remove(self.target.as_ref());
        if !self.disposed.load(Ordering::Acquire) {
            self.client.tell(None, &DisposeBrowserContextParams::new(self.context.clone()));
        }
    }
}

/// A context whose page is not there yet; disposed of unless it is finished.
struct Unfinished<'a> {
    client: &'a Client,
    context: Option<BrowserContextId>,
}

impl Unfinished<'_> {
    fn finish(mut self) {
        self.context = None;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(context) = self.context.take() {
            self.client.tell(None, &DisposeBrowserContextParams::new(context));
        }
    }
}

/// `Browser.grantPermissions`, which the library leaves out as deprecated: it rejects whatever it does not grant.
#[derive(Debug, Serialize)]
struct GrantNothing {
    permissions: [String; 0],
    #[serde(rename = "browserContextId")]
    context: BrowserContextId,
}

impl Method for GrantNothing {
    fn identifier(&self) -> MethodId {
        "Browser.grantPermissions".into()
    }
}

impl Command for GrantNothing {
    type Response = Value;
}

/// Arguments of any serialisable type in one list.
pub(crate) mod erased {
    use super::Serialize;

    /// Something that can be written as a JSON text.
    pub(crate) trait Json: Sync {
        fn json(&self) -> String;
    }

    impl<T: Serialize + Sync> Json for T {
        fn json(&self) -> String {
            // JSON is a subset of JavaScript's expressions (ECMA-262, since 2019).
            serde_json::to_string(self).unwrap_or_else(|_| "null".into())
        }
    }
}
