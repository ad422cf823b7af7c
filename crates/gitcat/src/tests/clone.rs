//! What a clone tells of its commits and files, and a commit that is made again with its first signature.

use std::fs;

use super::site::{Site, draft};
use crate::{CommitId, CommitKey, Draft, GitAnswer, LocalClone, MadeCommit, Operation, run};

fn other_key() -> CommitKey {
    use ed25519_dalek::pkcs8::EncodePrivateKey as _;
    let pem = ed25519_dalek::SigningKey::from_bytes(&[8; 32]).to_pkcs8_pem(Default::default()).unwrap();
    CommitKey::from_pkcs8_pem(&pem).unwrap()
}

fn made(site: &Site, draft: Draft, key: &CommitKey) -> MadeCommit {
    match run(site.request(Operation::Commit(draft)), Some(key)) {
        GitAnswer::Committed(made) => made,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_commit_is_made_again_as_it_was_although_the_key_is_another() {
    let site = Site::new();
    let first = made(&site, draft(None, &[]), &super::site::key());
    let again = made(&site, Draft { made: Some(first.clone()), ..draft(None, &[]) }, &other_key());
    assert_eq!(again, first);
    // Of something else there is no commit yet: the signature does not fit.
    let other = Draft { made: Some(first.clone()), ..draft(None, &[("revisions/1.dsse.json", "x")]) };
    let other = made(&site, other, &other_key());
    assert!(other.commit != first.commit && other.signature != first.signature);
}

#[test]
fn bare_and_other_clones_show_the_same_and_a_folder_is_none() {
    let site = Site::new();
    let commit = site.publish(draft(None, &[("receipts/01/rcp_1.dsse.json", "one")]));
    let foreign = site.foreign_commit("README.md");
    let remote = site.remote();
    site.git(&["clone", "--quiet", remote.to_str().unwrap(), "clone"]);
    let work = site.folder.path().join("clone");
    for (path, has_work_tree) in [(&remote, false), (&work, true)] {
        let clone = LocalClone::open(path).unwrap().unwrap();
        assert_eq!((clone.has_work_tree(), clone.is_shallow()), (has_work_tree, false));
        assert_eq!(clone.head().unwrap(), foreign);
        assert_eq!(clone.tip(&"main".parse().unwrap()).unwrap(), foreign);
        assert!(clone.tip(&"none".parse().unwrap()).is_err());
        assert_eq!(clone.catalog(commit).unwrap(), clone.catalog(foreign).unwrap());
        assert!(clone.commit(commit).unwrap().starts_with(b"tree "));
        let files = clone.files(foreign).unwrap();
        assert!(files.contains_key("receipts/01/rcp_1.dsse.json") && !files.contains_key("README.md"));
        assert_eq!(clone.file(foreign, "README.md").unwrap().unwrap(), b"foreign\n");
        assert_eq!(clone.file(foreign, "receipts").unwrap(), None);
        let missing: CommitId = "1".repeat(40).parse().unwrap();
        assert!(clone.commit(missing).is_err() && clone.files(missing).is_err());
    }
    fs::rename(work.join(".git"), work.join("git")).unwrap();
    assert!(LocalClone::open(&work).unwrap().is_none());
    fs::create_dir(work.join(".git")).unwrap();
    assert!(LocalClone::open(&work).is_err(), "a broken repository is not a folder of files");
}

#[test]
fn files_lie_beside_a_clone_whatever_its_configuration_says() {
    let site = Site::new();
    site.publish(draft(None, &[]));
    let remote = site.remote();
    site.git(&["clone", "--quiet", remote.to_str().unwrap(), "clone"]);
    site.git(&["config", "--file", "clone/.git/config", "core.bare", "true"]);
    let work = site.folder.path().join("clone");
    assert!(LocalClone::open(&work).unwrap().unwrap().has_work_tree());
    fs::write(remote.join("catalog.json"), "{}").unwrap();
    assert!(LocalClone::open(&remote).unwrap().unwrap().has_work_tree());
    fs::remove_file(remote.join("catalog.json")).unwrap();
    assert!(!LocalClone::open(&remote).unwrap().unwrap().has_work_tree());
}

#[test]
fn a_shallow_clone_says_so() {
    let site = Site::new();
    site.publish(draft(None, &[]));
    site.foreign_commit("README.md");
    let remote = format!("file://{}", site.remote().display());
    site.git(&["clone", "--quiet", "--depth=1", &remote, "shallow"]);
    assert!(LocalClone::open(&site.folder.path().join("shallow")).unwrap().unwrap().is_shallow());
}

#[test]
fn what_is_no_plain_file_is_refused_among_the_catalogs() {
    let site = Site::new();
    site.publish(draft(None, &[]));
    let remote = site.remote();
    site.git(&["clone", "--quiet", remote.to_str().unwrap(), "work"]);
    let work = site.folder.path().join("work");
    fs::create_dir(work.join("receipts")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", work.join("receipts/link")).unwrap();
    site.git(&["-C", "work", "add", "."]);
    site.git(&["-C", "work", "commit", "--quiet", "-m", "Link"]);
    let clone = LocalClone::open(&work).unwrap().unwrap();
    let error = clone.files(clone.head().unwrap()).unwrap_err();
    assert!(error.message().starts_with("receipts/link"), "{error}");
}
