//! Commits that are signed rightly and say something wrong, which nobody without the commit key can make; and branches
//! with many merges.

use std::cell::Cell;

use pinhole_core::{Signer as _, canonical_json};

use super::*;
use crate::{
    Jwk, Jwks, KeyStatus, PublicKey,
    fixture::{Files, files, id, key},
};

const TREE: &str = "tree 1111111111111111111111111111111111111111\n";
const PERSON: &str = "Pinhole <catalog@pinhole.invalid> 1764504000 +0000";

/// A branch of one commit, with the catalog of the tests in it.
struct Branch {
    commit: Vec<u8>,
    files: Files,
}

impl History for Branch {
    fn commit(&self, _: &str) -> Result<Vec<u8>, VerifyError> {
        Ok(self.commit.clone())
    }

    fn catalog(&self, id: &str) -> Result<String, VerifyError> {
        Ok(if id == "tip" { "catalog".into() } else { String::new() })
    }

    fn file(&self, _: &str, path: &str) -> Result<Option<Vec<u8>>, VerifyError> {
        Ok(self.files.get(path).cloned())
    }
}

/// The catalog of the tests with the marker of its second publication alone.
fn published() -> (Files, PublicationMarker) {
    let mut files = files();
    files.remove(&marker_path(id("pub", 1)));
    let marker = read_canonical(&files, &marker_path(id("pub", 2))).unwrap();
    (files, marker)
}

fn right_message(marker: &PublicationMarker) -> String {
    commit_message(marker.publication, &marker.project, &marker.line, marker.revision, marker.digest)
}

fn content(person: &str, message: &str) -> String {
    format!("{TREE}author {person}\ncommitter {person}\n\n{message}")
}

/// The commit with this content, signed with key `seed`.
fn signed(content: &str, seed: u8) -> Vec<u8> {
    let signer = key(seed);
    let signature = signer.sign(&sshsig::signed(content.as_bytes())).unwrap();
    let armoured = sshsig::armoured(&signer.public_key().bytes, &signature).replace('\n', "\n ");
    let (head, message) = content.split_once("\n\n").unwrap();
    format!("{head}\ngpgsig {armoured}\n\n{message}").into_bytes()
}

fn keys(status: KeyStatus) -> TrustedKeys {
    let key = PublicKey::from_bytes(key(5).public_key().bytes);
    TrustedKeys::from_jwks(&Jwks { keys: vec![Jwk::new(&key, KeyUse::Commit, status)] }).unwrap()
}

fn verified(commit: Vec<u8>, files: &Files) -> Result<HistoryReport, VerifyError> {
    let branch = Branch { commit, files: files.clone() };
    verify_history(&branch, "tip", files, &keys(KeyStatus::Active))
}

#[test]
fn a_commit_of_a_publication_has_one_form() {
    let (files, marker) = published();
    let message = right_message(&marker);
    let right = content(PERSON, &message);
    assert_eq!(verified(signed(&right, 5), &files).unwrap(), HistoryReport { publications: 1, others: 0 });
    let other_digest = Sha256Digest::of(b"x").to_string();
    for (wrong, told) in [
        (message.replace("Revision: 2", "Revision: 1"), "Catalog-Revision"),
        (message.replace(&marker.digest.to_string(), &other_digest), "Catalog-Digest"),
        (message.replace("Publication-Id: ", "Publication: "), "Publication-Id"),
        (message.replace("pub_", "pub_0"), "Publication-Id"),
        (message.replace("Publish catalog", "Publish"), "message"),
        (format!("{message}Reviewed-by: nobody\n"), "message"),
        (format!("{message}Catalog-Revision: 2\n"), "Catalog-Revision"),
        (message.replace(&marker.publication.to_string(), &id::<PublicationId>("pub", 7).to_string()), "pub_"),
    ] {
        let error = verified(signed(&content(PERSON, &wrong), 5), &files).unwrap_err().to_string();
        assert!(error.contains(told), "{wrong}: {error}");
    }
    for person in [
        PERSON.replace("Pinhole", "Someone"),
        PERSON.replace("catalog@", "other@"),
        PERSON.replace("+0000", "+0100"),
        PERSON.replace("1764504000", "01764504000"),
    ] {
        let error = verified(signed(&content(&person, &message), 5), &files).unwrap_err().to_string();
        assert!(error.contains("form"), "{person}: {error}");
    }
    for wrong in [
        right.replace("committer Pinhole", "committer Someone"),
        right.replace("\n\nPublish", "\nencoding x\n\nPublish"),
        right.replace("author", "parent 2222\nparent 3333\nauthor"),
    ] {
        let error = verified(signed(&wrong, 5), &files).unwrap_err().to_string();
        assert!(error.contains("form"), "{wrong}: {error}");
    }
}

#[test]
fn a_commit_by_no_trusted_commit_key_is_refused() {
    let (files, marker) = published();
    let right = content(PERSON, &right_message(&marker));
    let error = verified(right.clone().into_bytes(), &files).unwrap_err();
    assert!(error.reason().contains("is not signed"), "{error}");
    let error = verified(signed(&right, 6), &files).unwrap_err();
    assert!(error.reason().contains(&key(6).public_key().key_id), "{error}");
    let branch = Branch { commit: signed(&right, 5), files: files.clone() };
    let revoked = verify_history(&branch, "tip", &files, &keys(KeyStatus::Revoked)).unwrap_err();
    assert!(revoked.reason().contains("revoked"), "{revoked}");
    verify_history(&branch, "tip", &files, &keys(KeyStatus::Retired)).unwrap();
}

#[test]
fn a_marker_without_its_commit_is_refused() {
    let (mut files, marker) = published();
    let commit = signed(&content(PERSON, &right_message(&marker)), 5);
    let more = PublicationMarker { publication: id("pub", 9), ..marker };
    files.insert(more.path(), canonical_json(&more).unwrap());
    assert_eq!(verified(commit, &files).unwrap_err().path(), more.path());
}

/// A branch on which one publication follows another, and where many merge what they made of the first one.
struct Merges {
    /// The commits and what their catalogs are called.
    commits: BTreeMap<String, (Vec<u8>, &'static str)>,
    files: Files,
    reads: Cell<usize>,
}

impl History for Merges {
    fn commit(&self, id: &str) -> Result<Vec<u8>, VerifyError> {
        self.reads.set(self.reads.get() + 1);
        Ok(self.commits[id].0.clone())
    }

    fn catalog(&self, id: &str) -> Result<String, VerifyError> {
        self.reads.set(self.reads.get() + 1);
        Ok(self.commits[id].1.to_owned())
    }

    fn file(&self, _: &str, path: &str) -> Result<Option<Vec<u8>>, VerifyError> {
        Ok(self.files.get(path).cloned())
    }
}

/// The commit of somebody else.
fn foreign(parents: &[&str]) -> Vec<u8> {
    let parents: String = parents.iter().map(|parent| format!("parent {parent}\n")).collect();
    format!("{TREE}{parents}author {PERSON}\ncommitter {PERSON}\n\nWrite a note\n").into_bytes()
}

impl Merges {
    /// `count` merges, each of a commit on the first publication. The tip is the last one.
    fn new(count: usize) -> (Self, String) {
        let (mut files, marker) = published();
        let second = PublicationMarker { publication: id("pub", 9), ..marker.clone() };
        files.insert(second.path(), canonical_json(&second).unwrap());
        let of_first = content(PERSON, &right_message(&marker));
        let of_second = content(PERSON, &right_message(&second)).replacen("author", "parent first\nauthor", 1);
        let mut commits = BTreeMap::from([
            ("first".to_owned(), (signed(&of_first, 5), "one")),
            ("second".to_owned(), (signed(&of_second, 5), "two")),
        ]);
        let mut tip = "second".to_owned();
        for number in 0..count {
            let (side, merge) = (format!("side-{number}"), format!("merge-{number}"));
            commits.insert(side.clone(), (foreign(&["first"]), "one"));
            commits.insert(merge.clone(), (foreign(&[&side, &tip]), "two"));
            tip = merge;
        }
        (Self { commits, files, reads: Cell::new(0) }, tip)
    }

    fn verified(&self, tip: &str) -> Result<HistoryReport, VerifyError> {
        verify_history(self, tip, &self.files, &keys(KeyStatus::Active))
    }
}

#[test]
fn merges_cost_no_more_the_more_there_are() {
    const COUNT: usize = 500;
    let (branch, tip) = Merges::new(COUNT);
    let report = branch.verified(&tip).unwrap();
    assert_eq!(report, HistoryReport { publications: 2, others: 2 * COUNT });
    assert!(branch.reads.get() < 20 * 2 * COUNT, "{} reads", branch.reads.get());
}

#[test]
fn a_merge_that_keeps_an_older_catalog_is_found_among_many() {
    let (mut branch, tip) = Merges::new(20);
    branch.commits.insert("back".into(), (foreign(&[&tip, "side-7"]), "one"));
    let error = branch.verified("back").unwrap_err();
    assert!(error.path().contains("back") && error.reason().contains("commit second and takes it back"), "{error}");
}

#[test]
fn merges_without_end_are_refused() {
    let (branch, tip) = Merges::new(3);
    let mut walk = Walk::new(&branch);
    walk.steps = MAX_STEPS - 4;
    assert_eq!(walk.published_by("side-1").unwrap(), "first");
    let error = walk.published_by(&tip).unwrap_err();
    assert!(error.reason().contains("so many merges"), "{error}");
}
