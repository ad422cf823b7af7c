//! A web site on loopback that a test changes while it runs: files of a directory, switches, overrides and misbehaviour.
//!
//! It serves from a thread and runtime of its own, so that it answers also while the test blocks. It must not interpret
//! what it serves.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    convert::Infallible,
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
    thread::JoinHandle,
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures::{StreamExt as _, stream};
use tokio::{net::TcpListener, sync::oneshot};

use crate::content_type;

/// The folder of a site that holds one folder per switch.
const SWITCHES: &str = "@switch";

/// The pause between two bytes of an endless answer.
const TRICKLE: Duration = Duration::from_millis(50);

/// What a path does instead of, or before, serving its file.
#[derive(Clone, Debug)]
pub enum Behaviour {
    /// Answers with this status code and a line of text.
    Status(u16),
    /// Redirects to this address with status 302.
    Redirect(String),
    /// Waits this long, then serves what the path would have served.
    Slow(Duration),
    /// Answers with this body under this media type.
    Body(&'static str, Bytes),
    /// Takes the request and never answers.
    Silent,
    /// Answers at once with the head of an HTML page, then sends a byte every 50 ms without end.
    Endless,
}

/// A running site; dropping it stops it and closes its connections.
#[derive(Debug)]
pub struct Site {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    root: PathBuf,
    state: Mutex<SiteState>,
}

#[derive(Debug, Default)]
struct SiteState {
    switches: BTreeSet<String>,
    overrides: BTreeMap<String, Bytes>,
    behaviours: BTreeMap<String, Behaviour>,
    hits: HashMap<String, usize>,
}

impl Site {
    /// The fixture site `fixtures/sites/<name>`.
    pub fn named(name: &str) -> Self {
        Self::from_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sites").join(name))
    }

    /// The files of any directory. `/` and paths that end with it mean the `index.html` there.
    pub fn from_dir(root: impl AsRef<Path>) -> Self {
        let root = root.as_ref();
        let root = root.canonicalize().unwrap_or_else(|e| panic!("no site at {}: {e}", root.display()));
        let shared = Arc::new(Shared { root, state: Mutex::default() });
        let (stop, stopped) = oneshot::channel();
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        listener.set_nonblocking(true).expect("a listener can be non-blocking");
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let thread = std::thread::Builder::new().name("site".into()).spawn(move || serve(listener, router, stopped));
        Self { address, shared, stop: Some(stop), thread: Some(thread.expect("a thread can be started")) }
    }

    /// `http://127.0.0.1:<port>`, without a slash at the end.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address of `path`, which begins with a slash.
    pub fn url(&self, path: &str) -> String {
        assert!(path.starts_with('/'), "a path begins with a slash: {path:?}");
        self.origin() + path
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Turns a switch: while it is on, the files under `@switch/<name>/` of the site lie over the others. Of several
    /// switches that are on, the first in alphabetical order that has the file gives it.
    pub fn set_switch(&self, name: &str, on: bool) {
        let folder = self.shared.root.join(SWITCHES).join(name);
        assert!(folder.is_dir(), "the site has no switch {name:?}: no directory {}", folder.display());
        let mut state = self.shared.lock();
        if on {
            state.switches.insert(name.to_owned())
        } else {
            state.switches.remove(name)
        };
    }

    /// Serves these bytes at `path` instead of the file, if there is one.
    pub fn set_override(&self, path: &str, bytes: impl Into<Bytes>) {
        self.shared.lock().overrides.insert(key(path), bytes.into());
    }

    /// Gives `path` a behaviour, for every method.
    pub fn set_behaviour(&self, path: &str, behaviour: Behaviour) {
        self.shared.lock().behaviours.insert(key(path), behaviour);
    }

    /// Takes override and behaviour of `path` away.
    pub fn reset(&self, path: &str) {
        let mut state = self.shared.lock();
        state.overrides.remove(&key(path));
        state.behaviours.remove(&key(path));
    }

    /// What `path` serves now, without a request.
    pub fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.shared.content(&key(path)).map(|bytes| bytes.to_vec())
    }

    /// How many requests there have been for `path`, whatever their query.
    pub fn hits(&self, path: &str) -> usize {
        self.shared.lock().hits.get(&key(path)).copied().unwrap_or(0)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// Serves until the sender of `stopped` is dropped. Dropping the runtime then ends answers that never would.
fn serve(listener: std::net::TcpListener, router: Router, stopped: oneshot::Receiver<Infallible>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be built");
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener).expect("the listener is non-blocking");
        tokio::select! {
            served = axum::serve(listener, router) => served.expect("serving ends only by being stopped"),
            _ = stopped => {}
        }
    });
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let key = key(request.uri().path());
    let behaviour = {
        let mut state = shared.lock();
        *state.hits.entry(key.clone()).or_default() += 1;
        state.behaviours.get(&key).cloned()
    };
    match behaviour {
        None => file(&shared, &key),
        Some(Behaviour::Slow(wait)) => {
            tokio::time::sleep(wait).await;
            file(&shared, &key)
        }
        Some(Behaviour::Status(code)) => {
            let status = StatusCode::from_u16(code).unwrap_or_else(|_| panic!("{code} is no status code"));
            (status, format!("{status}\n")).into_response()
        }
        Some(Behaviour::Redirect(to)) => (StatusCode::FOUND, [(header::LOCATION, to)]).into_response(),
        Some(Behaviour::Body(media_type, bytes)) => body(media_type, bytes),
        Some(Behaviour::Silent) => std::future::pending().await,
        Some(Behaviour::Endless) => body("text/html; charset=utf-8", endless()),
    }
}

fn file(shared: &Shared, key: &str) -> Response {
    match shared.content(key) {
        Some(bytes) => body(content_type(key), bytes),
        None => (StatusCode::NOT_FOUND, format!("no file for {key}\n")).into_response(),
    }
}

/// An answer that nobody may cache, since a switch may change it.
fn body(media_type: &'static str, body: impl Into<Body>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (headers, body.into()).into_response()
}

/// The head of a page, then one space after another.
fn endless() -> Body {
    let head = Bytes::from_static(b"<!doctype html><title>Endless</title><p>Endless");
    let spaces = stream::unfold((), async |()| {
        tokio::time::sleep(TRICKLE).await;
        Some((Bytes::from_static(b" "), ()))
    });
    Body::from_stream(stream::iter([head]).chain(spaces).map(Ok::<_, Infallible>))
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, SiteState> {
        self.state.lock().expect("nothing panics while it holds the state")
    }

    fn content(&self, key: &str) -> Option<Bytes> {
        let relative = relative(key)?;
        let state = self.lock();
        if let Some(bytes) = state.overrides.get(key) {
            return Some(bytes.clone());
        }
        let layers = state.switches.iter().map(|name| self.root.join(SWITCHES).join(name));
        layers.chain([self.root.clone()]).find_map(|layer| fs::read(layer.join(&relative)).ok()).map(Bytes::from)
    }
}

/// The path of the file that a request path means, decoded.
fn key(path: &str) -> String {
    let path = decode(path);
    if path.ends_with('/') { path + "index.html" } else { path }
}

/// The same path below a site's directory; none when it would leave it or names the switches' folder.
fn relative(key: &str) -> Option<PathBuf> {
    let path = PathBuf::from(key.trim_start_matches('/'));
    let inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    (inside && !path.starts_with(SWITCHES)).then_some(path)
}

/// Decodes `%XX`; what does not decode to UTF-8 names no file of ours and is replaced.
fn decode(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escape = (first == b'%').then(|| tail.get(..2)).flatten();
        let escape = escape.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(escape.unwrap_or(first));
        rest = if escape.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::TcpStream,
    };

    use tempfile::TempDir;

    use super::*;

    /// Sends a request for `path` as it is; a browser would tidy it first.
    fn connect(site: &Site, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(site.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n").unwrap();
        stream
    }

    fn get(site: &Site, path: &str) -> String {
        let mut answer = String::new();
        connect(site, path).read_to_string(&mut answer).unwrap();
        answer
    }

    fn site() -> (TempDir, Site) {
        let root = TempDir::new().unwrap();
        fs::create_dir_all(root.path().join("site/@switch/sale")).unwrap();
        fs::write(root.path().join("secret.txt"), "outside").unwrap();
        fs::write(root.path().join("site/index.html"), "plain").unwrap();
        fs::write(root.path().join("site/two words.css"), "style").unwrap();
        fs::write(root.path().join("site/@switch/sale/index.html"), "sale").unwrap();
        let site = Site::from_dir(root.path().join("site"));
        (root, site)
    }

    #[test]
    fn a_switch_lies_over_the_files_and_an_override_over_both() {
        let (_root, site) = site();
        assert!(get(&site, "/").ends_with("plain"));
        site.set_switch("sale", true);
        assert!(get(&site, "/index.html?utm=1").ends_with("sale"));
        site.set_override("/", "override");
        assert!(get(&site, "/").ends_with("override"));
        site.reset("/");
        site.set_switch("sale", false);
        assert!(get(&site, "/").ends_with("plain"));
        assert_eq!(site.hits("/"), 4);
    }

    /// The demo and its documentation rest on this switch: it has to change the cart and nothing else.
    #[test]
    fn the_demo_shop_changes_its_price() {
        let site = Site::named("demo");
        let pages = ["/", "/style.css", "/cart.html"];
        let before = pages.map(|page| site.read(page).unwrap());
        site.set_switch("new-price", true);
        let after = pages.map(|page| site.read(page).unwrap());
        assert_eq!(before[..2], after[..2]);
        let total = |page: &[u8]| String::from_utf8_lossy(page).contains(r#"id="total">€ 139.90<"#);
        assert!(!total(&before[2]) && total(&after[2]));
    }

    #[test]
    fn media_types_and_escapes_are_right() {
        let (_root, site) = site();
        let answer = get(&site, "/two%20words.css").to_ascii_lowercase();
        assert!(answer.contains("content-type: text/css; charset=utf-8\r\n") && answer.ends_with("style"), "{answer}");
    }

    #[test]
    fn nothing_outside_and_no_switch_file_is_served() {
        let (_root, site) = site();
        for path in ["/../secret.txt", "/%2e%2e/secret.txt", "/@switch/sale/index.html", "/none.html"] {
            assert!(get(&site, path).starts_with("HTTP/1.1 404 "), "{path}");
        }
    }

    #[test]
    fn a_path_can_misbehave() {
        let (_root, site) = site();
        site.set_behaviour("/", Behaviour::Status(503));
        assert!(get(&site, "/").starts_with("HTTP/1.1 503 "));
        site.set_behaviour("/", Behaviour::Redirect("/elsewhere".into()));
        assert!(get(&site, "/").contains("location: /elsewhere\r\n"));
        site.set_behaviour("/", Behaviour::Slow(Duration::from_millis(1)));
        assert!(get(&site, "/").ends_with("plain"));
    }

    #[test]
    fn dropping_the_site_ends_answers_that_never_would() {
        let (_root, site) = site();
        site.set_behaviour("/endless", Behaviour::Endless);
        site.set_behaviour("/silent", Behaviour::Silent);
        let (mut endless, mut silent) = (connect(&site, "/endless"), connect(&site, "/silent"));
        let mut seen = String::new();
        while !seen.contains("<p>Endless\r\n1\r\n \r\n1\r\n \r\n") {
            let mut chunk = [0; 512];
            let length = endless.read(&mut chunk).unwrap();
            assert_ne!(length, 0, "ended after {seen:?}");
            seen += str::from_utf8(&chunk[..length]).unwrap();
        }
        drop(site);
        // Closed or reset, but not open: a read that times out would be `WouldBlock`.
        for stream in [&mut endless, &mut silent] {
            let end = stream.read_to_end(&mut Vec::new());
            assert!(end.as_ref().err().is_none_or(|e| e.kind() != std::io::ErrorKind::WouldBlock), "{end:?}");
        }
    }
}
