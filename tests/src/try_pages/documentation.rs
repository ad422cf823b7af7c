//! HTML documentation that a Debian package has put on this machine, and pages of it. It must not change any file.

use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

/// Sizes of pages that are taken, in bytes: more than a stub, less than a book.
const SIZES: Range<u64> = 3_000..40_000;
/// Letters of a word that is seen to change.
const LETTERS: Range<usize> = 6..16;

/// One package's pages.
pub(super) struct Documentation {
    /// The directory to serve.
    pub(super) root: PathBuf,
    /// Names of pages in it, in alphabetical order.
    names: Vec<String>,
}

impl Documentation {
    /// That of the first package that is there.
    pub(super) fn installed() -> Self {
        let packages = fs::read_dir("/usr/share/doc").map(|entries| entries.flatten().collect::<Vec<_>>());
        let mut roots: Vec<PathBuf> = packages.unwrap_or_default().iter().map(|entry| entry.path()).collect();
        roots.retain(|path| named(path, "postgresql-doc-") || named(path, "python3"));
        roots.sort();
        let found =
            roots.iter().map(|path| Self::at(&path.join("html"))).find(|found| found.names.len() >= super::MANY);
        found.expect("HTML documentation is missing: run `apt-get install postgresql-doc` or `python3-doc` first")
    }

    fn at(root: &Path) -> Self {
        let entries = fs::read_dir(root).map(|entries| entries.flatten().collect::<Vec<_>>()).unwrap_or_default();
        let is_page = |path: &Path| {
            path.extension().is_some_and(|extension| extension == "html")
                && fs::metadata(path).is_ok_and(|file| file.is_file() && SIZES.contains(&file.len()))
        };
        let pages = entries.iter().filter(|entry| is_page(&entry.path()));
        let mut names: Vec<_> = pages.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        Self { root: root.to_owned(), names }
    }

    /// Paths of `count` pages from all over the book.
    pub(super) fn pages(&self, count: usize) -> Vec<String> {
        (0..count).map(|index| format!("/{}", self.names[index * self.names.len() / count])).collect()
    }

    /// The path and text of a page with a word that can be turned round.
    pub(super) fn page_with_a_word(&self) -> (String, String) {
        let read = |name: &String| Some((format!("/{name}"), fs::read_to_string(self.root.join(name)).ok()?));
        let mut pages = self.names.iter().filter_map(read);
        pages.find(|(_, text)| word(text).is_some()).expect("a page with a paragraph that has a word")
    }
}

/// The first long word of plain letters in a paragraph that reads differently from its end.
pub(super) fn word(text: &str) -> Option<Range<usize>> {
    let mut paragraphs = text.match_indices("<p>").map(|(at, tag)| at + tag.len());
    paragraphs.find_map(|start| {
        let words = text[start..].split('<').next()?;
        let mut at = start;
        words.split(' ').find_map(|word| {
            let place = at..at + word.len();
            at = place.end + 1;
            let plain = LETTERS.contains(&word.len()) && word.bytes().all(|letter| letter.is_ascii_lowercase());
            (plain && word.bytes().ne(word.bytes().rev())).then_some(place)
        })
    })
}

fn named(path: &Path, prefix: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
}
