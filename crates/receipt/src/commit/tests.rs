//! Commits that are signed rightly and say something wrong, which nobody without the commit key can make.

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
