//! `pinhole try` on pages that nobody wrote for it: HTML documentation from a Debian package, served on loopback.

mod documentation;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    thread,
};

use pinhole_testkit::{Site, free_port};
use tempfile::TempDir;

use crate::{
    harness::{Finished, pinhole},
    pictures::{Region, coloured, differing, regions},
};
use documentation::Documentation;

/// `try` processes at a time. Each has a browser.
const AT_ONCE: usize = 2;
/// Pages for every change.
const FEW: usize = 12;
/// Pages with PINHOLE_FULL=1.
const MANY: usize = 60;
/// A colour that no page has, for finding where a word stands.
const MARK: [u8; 3] = [255, 0, 253];

/// A directory for captures, and `try` on it.
struct Captures(TempDir);

impl Captures {
    fn new() -> Self {
        Self(TempDir::with_prefix("pinhole-try-").unwrap())
    }

    fn of(&self, url: &str) -> Finished {
        self.with(url, &[])
    }

    fn with(&self, url: &str, options: &[&Path]) -> Finished {
        let mut command = pinhole();
        command.arg("try").arg(url).arg("--data-dir").arg(self.0.path().join("data"));
        command.args(options.iter().flat_map(|file| [Path::new("--scenario"), file]));
        Finished::of(&mut command)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

/// The file that the line with `what` names, at its end.
fn named(text: &str, what: &str) -> PathBuf {
    let line = text.lines().find_map(|line| line.split_once(what));
    PathBuf::from(line.unwrap_or_else(|| panic!("no {what:?} in:\n{text}")).1)
}

#[test]
fn every_page_is_the_same_the_second_time() {
    let documentation = Documentation::installed();
    let site = Site::from_dir(&documentation.root);
    let full = std::env::var_os("PINHOLE_FULL").is_some_and(|value| value == "1");
    let pages = documentation.pages(if full { MANY } else { FEW });
    let captured: BTreeSet<Vec<u8>> = thread::scope(|scope| {
        let site = &site;
        let shares = pages.chunks(pages.len().div_ceil(AT_ONCE));
        let threads: Vec<_> = shares.map(|share| scope.spawn(|| capture_twice(site, share))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(captured.len(), pages.len(), "different pages have different pictures");
}

/// Gives the pictures.
fn capture_twice(site: &Site, pages: &[String]) -> Vec<Vec<u8>> {
    let captures = Captures::new();
    let capture = |page: &String| {
        let url = site.url(page);
        let first = captures.of(&url);
        let picture = fs::read(named(first.expect(0), ": first capture: ")).unwrap();
        let loaded = site.hits(page);
        assert!(loaded > 0, "{page} was not loaded");
        let second = captures.of(&url);
        let again = fs::read(named(second.expect(0), ": the same as before: ")).unwrap();
        assert!(site.hits(page) > loaded, "{page} was not loaded again");
        assert!(picture == again, "{page}: the second picture has other bytes");
        picture
    };
    pages.iter().map(capture).collect()
}

/// The letters of one word are turned round, which keeps the rest of the page where it is.
#[test]
fn a_word_that_changed_is_found_where_it_stands() {
    let documentation = Documentation::installed();
    let site = Site::from_dir(&documentation.root);
    let (page, text) = documentation.page_with_a_word();
    let word = documentation::word(&text).unwrap();
    let url = site.url(&page);
    let with = |instead: &str| [&text[..word.start], instead, &text[word.end..]].concat();

    let [red, green, blue] = MARK;
    let mark = format!("<span style=\"background: rgb({red} {green} {blue})\">{}</span>", &text[word.clone()]);
    site.set_override(&page, with(&mark));
    let captures = Captures::new();
    let marked = captures.of(&url);
    let pixels = coloured(&named(marked.expect(0), ": first capture: "), MARK);
    let place = Region::around(pixels).expect("the marked word is in the picture");
    site.reset(&page);

    let captures = Captures::new();
    captures.of(&url).expect(0);
    let turned: String = text[word.clone()].chars().rev().collect();
    site.set_override(&page, with(&turned));
    let changed = captures.of(&url);
    let told = changed.expect(1);
    let (now, before) = (named(told, ": CHANGED: "), named(told, "  before: "));
    assert!(named(told, "  difference: ").is_file(), "{told}");
    let regions = regions(told);
    let pixels = differing(&before, &now);
    let in_word: Vec<_> = pixels.iter().filter(|pixel| place.holds(**pixel)).collect();
    assert!(!in_word.is_empty(), "the word at {place:?} did not change");
    let found = |pixel: &(u32, u32)| regions.iter().any(|region| region.holds(*pixel));
    assert!(pixels.iter().all(found), "{regions:?} do not hold every pixel that changed");
    let beyond = |region: &&Region| region.y + region.height < place.y || region.y > place.y + place.height;
    assert_eq!(regions.iter().filter(beyond).count(), 0, "{regions:?} leave the line of {place:?}");

    // What was captured last is what the next capture is compared with.
    assert!(captures.of(&url).expect(0).contains(": the same as before: "));
}

#[test]
fn an_error_page_proves_nothing() {
    let site = Site::named("demo");
    let refused = Captures::new().of(&site.url("/no-such-page.html"));
    assert!(refused.expect(3).contains(": not evidence: "), "{}", refused.stdout);
}

#[test]
fn a_page_that_is_not_there_fails() {
    let captures = Captures::new();
    let failed = captures.of(&format!("http://127.0.0.1:{}/", free_port()));
    assert!(failed.expect(2).contains("failed in step 1 (navigation_failed)"), "{}", failed.stdout);
    assert!(!captures.0.path().join("data/pictures").exists());
}

#[test]
fn an_assertion_that_does_not_hold_fails() {
    let site = Site::named("demo");
    let captures = Captures::new();
    let scenario = |total: &str| {
        format!(
            "schema: pinhole.scenario.v1\ntitle: The total\nsteps:\n  - navigate: /cart.html\n  \
             - assert: {{ text: {{ of: {{ css: \"#total\" }}, equals: \"{total}\" }} }}\n  - capture: {{ name: cart }}\n"
        )
    };
    let right = captures.write("right.yaml", &scenario("€ 129.90"));
    assert!(captures.with(&site.url("/"), &[&right]).expect(0).contains("cart@default: first capture: "));
    let wrong = captures.write("wrong.yaml", &scenario("€ 1.00"));
    let failed = captures.with(&site.url("/"), &[&wrong]);
    assert!(failed.expect(2).contains("step 2: "), "{}", failed.stdout);
    assert!(failed.stdout.contains("€ 129.90"), "what was there instead is told: {}", failed.stdout);
}

#[test]
fn help_tells_the_four_exit_statuses() {
    let help = Finished::of(pinhole().args(["try", "--help"]));
    let statuses = help.expect(0).split_once("Exit status:").expect("a table of exit statuses").1;
    let words = ["same", "changed", "failed", "not evidence"];
    for (status, word) in words.into_iter().enumerate() {
        let line = statuses.lines().find(|line| line.trim_start().starts_with(&format!("{status}  ")));
        assert!(line.is_some_and(|line| line.contains(word)), "{status} {word}: {statuses}");
    }
}
