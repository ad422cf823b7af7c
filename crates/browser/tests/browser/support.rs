//! A site, a browser and a cell in a few lines.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, Write as _},
    path::Path,
    time::Duration,
};

use pinhole_browser::{Browser, BrowserConfig, CapturedCheckpoint, CellOutcome, CellPlan, run_cell};
use pinhole_core::{CellFailure, Profile, Sha256Digest, Slug};
use pinhole_scenario::{Format, Scenario};
use pinhole_testkit::Site;
use tempfile::TempDir;

pub(crate) const HEAD: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>T</title>";

/// A site of one page at `/`; the directory lives as long as the site is used.
pub(crate) struct Page {
    pub(crate) site: Site,
    _root: TempDir,
}

impl Page {
    pub(crate) fn new(body: &str) -> Self {
        let root = TempDir::new().unwrap();
        let site = Site::from_dir(root.path());
        site.set_override("/", format!("{HEAD}{body}"));
        Self { site, _root: root }
    }
}

pub(crate) async fn browser() -> Browser {
    Browser::launch(&BrowserConfig::default()).await.expect("Chromium is installed and starts")
}

pub(crate) fn scenario(rest: &str) -> Scenario {
    let text = format!("schema: pinhole.scenario.v1\ntitle: Test\n{rest}");
    pinhole_scenario::parse(&text, Format::Yaml).unwrap_or_else(|error| panic!("{error:?}\n{text}"))
}

/// A plan that a test may change before it is run.
pub(crate) struct Run {
    pub(crate) scenario: Scenario,
    pub(crate) profile: Profile,
    pub(crate) base: url::Url,
    pub(crate) deadline: Duration,
    pub(crate) step_deadline: Duration,
    pub(crate) known: BTreeMap<Slug, Sha256Digest>,
    pub(crate) headers: Vec<(String, String)>,
}

impl Run {
    pub(crate) fn new(site: &Site, rest: &str) -> Self {
        Self {
            scenario: scenario(rest),
            profile: Profile::default(),
            base: url::Url::parse(&site.origin()).unwrap(),
            deadline: Duration::from_secs(60),
            step_deadline: Duration::from_secs(15),
            known: BTreeMap::new(),
            headers: Vec::new(),
        }
    }

    pub(crate) async fn on(&self, browser: &Browser) -> CellOutcome {
        let plan = CellPlan {
            scenario: &self.scenario,
            profile: &self.profile,
            base_url: &self.base,
            allowed_hosts: &[],
            headers: &self.headers,
            deadline: self.deadline,
            step_deadline: self.step_deadline,
            known_pictures: &self.known,
            proxy: None,
        };
        run_cell(browser, &plan).await
    }
}

/// The only checkpoint of a cell that did not fail.
pub(crate) fn only(outcome: CellOutcome) -> CapturedCheckpoint {
    assert_eq!(outcome.failure, None);
    assert_eq!(outcome.failed_assertions, []);
    let [checkpoint] = outcome.checkpoints.try_into().expect("one checkpoint");
    checkpoint
}

pub(crate) fn failure(outcome: CellOutcome) -> CellFailure {
    outcome.failure.expect("the cell fails")
}

pub(crate) fn pixels(png: &[u8]) -> image::RgbaImage {
    image::load_from_memory_with_format(png, image::ImageFormat::Png).unwrap().to_rgba8()
}

/// Opens the page and pictures all of it.
pub(crate) const WHOLE_PAGE: &str = "steps: [{ navigate: / }, { capture: { name: page } }]";

/// Process ids of a process group that are still there.
pub(crate) fn group_members(group: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| group_of(*pid) == Some(group)).collect()
}

fn group_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name may hold anything; the fields after its closing parenthesis are state, parent and group.
    stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
}

/// The directory that a running browser was given.
pub(crate) fn directory_of(browser: &Browser) -> std::path::PathBuf {
    let line = fs::read(format!("/proc/{}/cmdline", browser.pid())).unwrap();
    let line = String::from_utf8_lossy(&line).into_owned();
    let profile = line.split(['\0', ' ']).find_map(|part| part.strip_prefix("--user-data-dir=")).unwrap();
    Path::new(profile).parent().unwrap().to_owned()
}

/// A server whose answers for paths that begin with `/cut` end before the length that they announce.
pub(crate) struct CutShort {
    address: std::net::SocketAddr,
    thread: std::thread::JoinHandle<()>,
}

impl CutShort {
    pub(crate) fn stop(self) {
        let mut last = std::net::TcpStream::connect(self.address).unwrap();
        last.write_all(b"GET /stop HTTP/1.1\r\n\r\n").unwrap();
        self.thread.join().unwrap();
    }
}

pub(crate) fn cut_short() -> (url::Url, CutShort) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            let _read = std::io::BufReader::new(&stream).read_line(&mut line);
            let path = line.split(' ').nth(1).unwrap_or_default();
            let (kind, body) = match path {
                "/stop" => return,
                "/cut.css" => ("text/css", "p{color:red}"),
                "/cut.png" => ("image/png", "\u{89}PNG"),
                "/style" => ("text/html", "<!doctype html><link rel=stylesheet href=/cut.css><p>Text"),
                "/picture" => ("text/html", "<!doctype html><p>Text<img src=/cut.png>"),
                _ => ("text/html", "<!doctype html><p>Text"),
            };
            let length = body.len() + if path.starts_with("/cut") { 1000 } else { 0 };
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            let _gone = stream.write_all((head + body).as_bytes());
        }
    });
    (url::Url::parse(&format!("http://{address}/")).unwrap(), CutShort { address, thread })
}
