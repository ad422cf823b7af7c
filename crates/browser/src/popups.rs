//! The browser's own events: windows that pages open are closed, crashed renderers are told to their page.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use chromiumoxide::cdp::browser_protocol::target::{CloseTargetParams, SetDiscoverTargetsParams};
use serde_json::Value;

use crate::{
    browser::BROWSER_CALL,
    client::{Client, Event, Listener},
    error::CallError,
    watch::Watch,
};

/// The pages of running cells by target id, and what becomes of every other target.
pub(crate) struct Popups {
    client: Client,
    pages: Mutex<HashMap<String, Arc<Watch>>>,
}

impl Popups {
    /// Starts to hear of every target of the browser.
    pub(crate) async fn watch(client: &Client) -> Result<Arc<Self>, CallError> {
        let popups = Arc::new(Self { client: client.clone(), pages: Mutex::default() });
        client.listen(None, Arc::clone(&popups) as Arc<dyn Listener>);
        client.call(SetDiscoverTargetsParams::new(true), BROWSER_CALL).await?;
        Ok(popups)
    }

    pub(crate) fn add(&self, target: &str, watch: Arc<Watch>) {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).insert(target.to_owned(), watch);
    }

    pub(crate) fn remove(&self, target: &str) {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).remove(target);
    }

    fn page(&self, target: &str) -> Option<Arc<Watch>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner).get(target).cloned()
    }
}

impl Listener for Popups {
    fn on_event(&self, event: &Event) {
        let text = |pointer: &str| event.params.pointer(pointer).and_then(Value::as_str);
        match event.method.as_str() {
            "Target.targetCreated" => {
                let (Some(id), Some(opener)) = (text("/targetInfo/targetId"), text("/targetInfo/openerId")) else {
                    return;
                };
                if text("/targetInfo/type") == Some("page") {
                    self.client.tell(None, &CloseTargetParams::new(id.to_owned()));
                    if let Some(watch) = self.page(opener) {
                        watch.popup_closed();
                    }
                }
            }
            "Target.targetCrashed" => {
                if let Some(watch) = text("/targetId").and_then(|id| self.page(id)) {
                    watch.renderer_crashed();
                }
            }
            _ => {}
        }
    }

    fn on_gone(&self) {
        for watch in self.pages.lock().unwrap_or_else(PoisonError::into_inner).values() {
            watch.browser_gone();
        }
    }
}
