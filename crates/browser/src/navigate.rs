//! Opens addresses and waits for documents. Only `http` and `https` addresses of the environment's hosts are opened.

use std::time::{Duration, Instant};

use chromiumoxide::cdp::browser_protocol::page::NavigateParams;
use pinhole_core::FailureReason;
use url::Url;

use crate::{
    error::Fault,
    hosts::{Hosts, without_query},
    tab::Tab,
};

/// How long a parsed document may hold up its `load` event, by a picture that never ends for instance.
const LOAD_PATIENCE: Duration = Duration::from_secs(15);

/// Opens `url` and waits until its document is loaded.
pub(crate) async fn navigate(tab: &Tab, hosts: &Hosts, url: &Url, deadline: Instant) -> Result<(), Fault> {
    let place = without_query(url.as_str());
    if !matches!(url.scheme(), "http" | "https") {
        let message = format!("{place} is neither http nor https");
        return Err(Fault::new(FailureReason::PolicyDenied, message));
    }
    if !hosts.allows(url) {
        let message = format!("{place} is not on a host that the environment allows");
        return Err(Fault::new(FailureReason::EgressDenied, message));
    }
    let failed = |why: &str| Fault::new(FailureReason::NavigationFailed, format!("{place} was not opened: {why}"));
    let limit = deadline.saturating_duration_since(Instant::now());
    let answer = tab.call(NavigateParams::new(url.as_str()), limit).await?;
    if answer.is_download == Some(true) {
        return Err(failed("it is a download"));
    }
    let loader = answer.loader_id.map(|loader| loader.as_ref().to_owned());
    if let Some(why) = answer.error_text.filter(|why| !why.is_empty()) {
        // An error status with an empty body: the document is an error page and the capture will say so.
        let answered = loader.as_deref().is_some_and(|loader| tab.watch.answered(loader));
        if !(why == "net::ERR_HTTP_RESPONSE_CODE_FAILURE" && answered) {
            return Err(failed(&why));
        }
    }
    match loader {
        // Another fragment of the same document.
        None => Ok(()),
        Some(loader) => await_document(tab, Some(&loader), deadline).await,
    }
}

/// Waits for the load event of the document, or of whatever is loading; a parsed one is waited for with less
/// patience than one that has not come yet.
pub(crate) async fn await_document(tab: &Tab, loader: Option<&str>, deadline: Instant) -> Result<(), Fault> {
    let patience = Instant::now() + LOAD_PATIENCE.min(deadline.saturating_duration_since(Instant::now()) / 2);
    let loaded = tab.watch.loaded(loader);
    tokio::pin!(loaded);
    loop {
        let past_patience = Instant::now() >= patience;
        if past_patience && tab.watch.is_parsed(loader) {
            tab.watch.note("the document was still loading when the worker went on");
            return Ok(());
        }
        let until = if past_patience { Instant::now() + Duration::from_millis(100) } else { patience };
        tokio::select! {
            () = &mut loaded => return Ok(()),
            () = tokio::time::sleep_until(until.min(deadline).into()) => {}
        }
        if Instant::now() >= deadline {
            return Err(Fault::new(FailureReason::StepDeadline, "the document did not load in time"));
        }
    }
}
