//! Tests over whole trees and envelopes.

use std::{collections::BTreeMap, fs, os::unix::fs::symlink, path::Path};

use pinhole_core::{Disposition, EntryState, NotEvidence, Outcome, Signer as _};
use proptest::prelude::*;

use crate::{
    CaptureReceipt, CatalogRevision, Envelope, EnvelopeSignature, Jwk, Jwks, KeyStatus, KeyUse, PAYLOAD_TYPE,
    Predicate as _, PublicKey, RevisionCause, TrustedKeys, VerifyError,
    fixture::{self, Files, Parts, envelope, files, id, key, parts, picture, second, slug, trust, trust_with_log},
    log::{Checkpoint, LogReport},
    manifest, pae, read_tree, render, sign, verify, verify_catalog, verify_receipt, verify_statements,
};

fn trusted() -> TrustedKeys {
    trust_with_log(&key(7), KeyUse::Statement, KeyStatus::Active)
}

fn refused(files: &Files) -> VerifyError {
    verify_catalog(files, &trusted()).unwrap_err()
}

/// What is wrong with a tree whose third entry was changed before everything was signed rightly.
fn refused_entry(change: impl FnOnce(&mut Parts)) -> String {
    refused(&render(&second(change, &key(7))).unwrap().files).to_string()
}

#[test]
fn pae_is_as_the_dsse_protocol_defines_it() {
    assert_eq!(
        pae("http://example.com/HelloWorld", b"hello world"),
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    );
    // Lengths are of bytes, not characters.
    assert_eq!(pae("é", "ü".as_bytes()), "DSSEv1 2 é 2 ü".as_bytes());
    assert_eq!(pae("", b""), b"DSSEv1 0  0 ");
}

#[test]
fn the_thumbprint_is_that_of_rfc_8037_appendix_a_3() {
    let x = [
        0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e, 0xe1,
        0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a,
    ];
    let key = PublicKey::from_bytes(x);
    assert_eq!(key.key_id, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    assert_eq!(Jwk::new(&key, KeyUse::Statement, KeyStatus::Active).x, "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
}

#[test]
fn the_right_tree_verifies_and_is_what_it_was_made_of() {
    let report = verify_catalog(&files(), &trusted()).unwrap();
    assert_eq!((report.project, report.revision), (slug("shop"), 2));
    assert_eq!((report.entries, report.active_entries, report.statements), (3, 3, 14));
    assert_eq!(report.publications, [id("pub", 1), id("pub", 2)]);
    assert_eq!(report.manifest_digest, manifest(&second(|_| {}, &key(7))).unwrap());
}

#[test]
fn one_revision_on_two_branches_verifies_on_both() {
    let mut input = second(|_| {}, &key(7));
    let one = render(&input).unwrap().files;
    input.publications = vec![fixture::marker(&input, 9)];
    input.log.clear();
    fixture::Log::default().publish(&mut input, 9);
    let other = render(&input).unwrap().files;
    assert_ne!(one, other);
    assert_eq!(one["manifest.json"], other["manifest.json"]);
    assert!(verify_catalog(&other, &trusted()).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn one_changed_byte_anywhere_is_refused(file: prop::sample::Index, offset: prop::sample::Index, mask in 1_u8..) {
        let mut files = files();
        let path = file.get(&files.keys().cloned().collect::<Vec<_>>()).clone();
        let bytes = files.get_mut(&path).unwrap();
        let offset = offset.index(bytes.len());
        bytes[offset] ^= mask;
        prop_assert!(verify_catalog(&files, &trusted()).is_err(), "{path} at {offset}");
    }

    #[test]
    fn one_changed_byte_of_an_envelope_is_refused(offset: prop::sample::Index, mask in 1_u8..) {
        let mut bytes = envelope(&parts(1, "cart", 1).receipt, &key(7));
        let offset = offset.index(bytes.len());
        bytes[offset] ^= mask;
        prop_assert!(verify_receipt(&bytes, &trusted(), None).is_err(), "at {offset}");
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes: Vec<u8>) {
        prop_assert!(Envelope::from_bytes(&bytes).is_err());
        prop_assert!(TrustedKeys::from_json(&bytes).is_err());
    }
}

#[test]
fn every_file_cut_or_extended_by_a_byte_is_refused() {
    for path in files().keys() {
        let mut cut = files();
        cut.get_mut(path).unwrap().pop();
        assert_eq!(refused(&cut).path().split(':').next(), Some(path.as_str()));
        let mut extended = files();
        extended.get_mut(path).unwrap().push(b'\n');
        assert_eq!(refused(&extended).path().split(':').next(), Some(path.as_str()));
    }
}

#[test]
fn a_removed_or_renamed_file_is_refused() {
    for path in files().keys() {
        let mut renamed = files();
        let bytes = renamed.remove(path).unwrap();
        // Without a file of proofs, statements have none.
        if !path.starts_with("log/proofs/") {
            assert_eq!(refused(&renamed).path(), path);
        }
        // The last digit before the first extension, so that the new name has the form of the old one.
        let (stem, extension) =
            path.rsplit_once('/').map_or(path.split_at(1), |_| path.split_at(path.find('.').unwrap_or(path.len())));
        let (stem, last) = stem.split_at(stem.len() - 1);
        let name = format!("{stem}{}{extension}", if last == "4" { "5" } else { "4" });
        assert!(renamed.insert(name, bytes).is_none());
        refused(&renamed);
    }
}

#[test]
fn an_added_file_is_refused_and_named() {
    let entry = files()["baselines/staging/checkout/visual/cart@default.json"].clone();
    let spare = envelope(&parts(8, "spare", 8).receipt, &key(7));
    for (path, bytes) in [
        ("README.md", b"hello".to_vec()),
        ("receipts/readme.txt", b"hello".to_vec()),
        ("log/checkpoint", b"hello".to_vec()),
        ("log/other", b"hello".to_vec()),
        ("log/proofs/pub_0198c1aa000070000000000000000008-1.json", b"{}".to_vec()),
        ("baselines/staging/checkout/visual/other@default.json", entry),
        ("receipts/08/rcp_0198c1aa000070000000000000000008.dsse.json", spare.clone()),
        ("revisions/3.dsse.json", spare.clone()),
        ("revisions/01.dsse.json", spare.clone()),
        ("publications/pub_0198c1aa000070000000000000000008.json", spare),
    ] {
        let mut files = files();
        files.insert(path.into(), bytes);
        assert_eq!(refused(&files).path(), path);
    }
}

#[test]
fn json_of_another_form_is_refused_even_where_nothing_else_tells() {
    let mut files = files();
    let path = "publications/pub_0198c1aa000070000000000000000002.json";
    let text = String::from_utf8(files[path].clone()).unwrap();
    files.insert(path.into(), text.replace(',', ", ").into_bytes());
    assert_eq!(refused(&files), VerifyError::new(path, "the JSON is not in canonical form"));
}

#[test]
fn another_key_a_revoked_one_and_one_for_another_use_are_refused() {
    let verify = |keys| verify_catalog(&files(), &keys).map_err(|error| error.reason().to_owned());
    let of = |purpose, status| trust_with_log(&key(7), purpose, status);
    assert!(verify(trust_with_log(&key(8), KeyUse::Statement, KeyStatus::Active)).unwrap_err().contains("trusted key"));
    assert!(verify(of(KeyUse::Statement, KeyStatus::Revoked)).unwrap_err().contains("revoked"));
    assert!(verify(of(KeyUse::Commit, KeyStatus::Active)).unwrap_err().contains("another use"));
    assert!(verify(of(KeyUse::Log, KeyStatus::Active)).unwrap_err().contains("another use"));
    assert!(verify(of(KeyUse::Statement, KeyStatus::Retired)).is_ok());
}

#[test]
fn two_keys_that_overlap_are_enough_for_a_verifier_that_knows_one() {
    let statement = parts(1, "cart", 1).receipt.statement().unwrap();
    let mut envelope = sign(&statement, &key(7)).unwrap();
    let second = key(8);
    let sig = second.sign(&pae(PAYLOAD_TYPE, &envelope.payload)).unwrap();
    envelope.signatures.push(EnvelopeSignature { keyid: second.key_id().into(), sig });
    for known in [7, 8] {
        let verified = verify(&envelope, &trust(&key(known), KeyUse::Statement, KeyStatus::Active)).unwrap();
        assert_eq!(verified.to_bytes().unwrap(), envelope.payload);
    }
    envelope.signatures[1].sig[0] ^= 1;
    let both = [7, 8].map(|seed| Jwk::new(key(seed).public_key(), KeyUse::Statement, KeyStatus::Active));
    let both = TrustedKeys::from_jwks(&Jwks { keys: both.into() }).unwrap();
    assert_eq!(verify(&envelope, &both).unwrap_err().path(), "signatures[1]");
}

#[test]
fn a_key_set_must_name_its_keys_rightly() {
    let set = |change: fn(&mut Jwk)| {
        let mut jwk = Jwk::new(key(7).public_key(), KeyUse::Statement, KeyStatus::Active);
        change(&mut jwk);
        TrustedKeys::from_json(&Jwks { keys: vec![jwk] }.to_bytes().unwrap()).err().map(|error| error.to_string())
    };
    assert_eq!(set(|_| {}), None);
    assert!(set(|jwk| jwk.kid = key(8).key_id().into()).unwrap().contains("thumbprint"));
    assert!(set(|jwk| jwk.alg = "EdDSA".into()).unwrap().contains("alg"));
    assert!(set(|jwk| jwk.x.push('A')).unwrap().contains("32 bytes"));
    // The neutral element: everything is signed by it.
    let mut neutral = [0; 32];
    neutral[0] = 1;
    let weak = Jwk::new(&PublicKey::from_bytes(neutral), KeyUse::Statement, KeyStatus::Active);
    assert!(TrustedKeys::from_jwks(&Jwks { keys: vec![weak] }).err().unwrap().reason().contains("weak"));
    let twice = vec![Jwk::new(key(7).public_key(), KeyUse::Statement, KeyStatus::Active); 2];
    assert!(TrustedKeys::from_jwks(&Jwks { keys: twice }).err().unwrap().reason().contains("twice"));
}

#[test]
fn an_entry_that_its_statements_do_not_support_is_refused() {
    let wrong = |change: fn(&mut Parts), reason: &str| {
        let actual = refused_entry(change);
        assert!(actual.contains(reason), "{actual}");
    };
    wrong(|p| p.review.disposition = Disposition::Reject, "does not accept");
    wrong(|p| p.review.receipt = id("rcp", 1), "another capture");
    wrong(|p| p.receipt.checkpoint = slug("cart"), "another scenario, environment, checkpoint");
    wrong(|p| p.receipt.pins.environment_slug = slug("live"), "another scenario, environment");
    wrong(|p| p.receipt.not_evidence.push(NotEvidence::OneColour), "not evidence");
    wrong(|p| p.receipt.project = slug("other"), "of project other");
    wrong(|p| p.entry.pixel_digest = p.entry.capture_digest, "other pixel");
    wrong(|p| p.entry.capture_digest = p.entry.pixel_digest, "another capture");
    wrong(|p| p.entry.review = None, "without a review");
    wrong(|p| p.decisions.clear(), "no decision");
    wrong(|p| p.decisions.truncate(1), "fewer persons");
    wrong(|p| p.decisions[1].principal = p.decisions[0].principal, "fewer persons");
    wrong(|p| p.decisions[1].outcome = Outcome::Deny, "denies");
    wrong(|p| p.decisions[1].quorum = 1, "different intents or quorums");
    wrong(
        |p| {
            p.decisions[1].intent.policy_revision = 2;
            p.decisions[1].intent_digest = pinhole_core::canonical_json_digest(&p.decisions[1].intent).unwrap();
        },
        "different intents",
    );
    wrong(|p| p.entry.approval = id("apr", 1), "does not hold this entry");
    wrong(
        |p| {
            for decision in &mut p.decisions {
                decision.intent.items[0].capture_digest = p.entry.pixel_digest;
                decision.intent_digest = pinhole_core::canonical_json_digest(&decision.intent).unwrap();
            }
        },
        "does not hold this entry",
    );
}

#[test]
fn a_retired_entry_stays_with_its_evidence_and_a_superseded_one_is_not_published() {
    let files = render(&second(|p| p.entry.state = EntryState::Retired, &key(7))).unwrap().files;
    assert_eq!(verify_catalog(&files, &trusted()).unwrap().active_entries, 2);
    let signer = key(7);
    let mut superseded = parts(1, "cart", 1);
    superseded.entry.state = EntryState::Superseded;
    let cause = RevisionCause::Consumed { approval: id("apr", 1) };
    assert!(manifest(&fixture::input(&[superseded], &Files::new(), cause, &signer)).is_err());
}

#[test]
fn a_fork_continues_the_chain_of_the_line_that_it_left() {
    let signer = key(7);
    let digest = fixture::second(|_| {}, &signer).revision.digest().unwrap();
    let fork = |change: fn(&mut Parts)| {
        let mut part = parts(1, "cart", 1);
        part.entry.key.line = "release/2".parse().unwrap();
        change(&mut part);
        let cause = RevisionCause::Forked { line: "main".parse().unwrap(), revision: 2, digest };
        let mut input = fixture::input(&[part], &Files::new(), cause, &signer);
        fixture::seal(&mut input, &signer);
        input.publications = vec![fixture::marker(&input, 1)];
        fixture::Log::default().publish(&mut input, 1);
        verify_catalog(&render(&input).unwrap().files, &trusted())
    };
    let report = fork(|_| {}).unwrap();
    let origin = report.forked_from.unwrap();
    assert_eq!((report.revision, origin.line.as_str(), origin.revision, origin.digest), (1, "main", 2, digest));
    assert!(fork(|part| part.entry.key.profile = slug("phone")).is_err());
}

#[test]
fn what_a_fork_approves_itself_must_be_approved_for_it() {
    let signer = key(7);
    let second = |line_of_approval: &str| {
        let of_line = |part: &mut Parts| part.entry.key.line = "release/2".parse().unwrap();
        let mut came_along = parts(1, "cart", 1);
        of_line(&mut came_along);
        let digest = fixture::second(|_| {}, &signer).revision.digest().unwrap();
        let cause = RevisionCause::Forked { line: "main".parse().unwrap(), revision: 2, digest };
        let mut first = fixture::input(&[came_along.clone()], &Files::new(), cause, &signer);
        fixture::seal(&mut first, &signer);
        let earlier: Files =
            first.revisions.iter().map(|(number, bytes)| (number.to_string(), bytes.clone())).collect();
        let mut own = parts(3, "done", 3);
        of_line(&mut own);
        for decision in &mut own.decisions {
            decision.intent.items[0].key.line = line_of_approval.parse().unwrap();
            decision.intent_digest = pinhole_core::canonical_json_digest(&decision.intent).unwrap();
        }
        let cause = RevisionCause::Consumed { approval: own.entry.approval };
        let mut input = fixture::input(&[came_along, own], &earlier, cause, &signer);
        fixture::seal(&mut input, &signer);
        verify_statements(&render(&input).unwrap().files, &trusted())
    };
    assert_eq!(second("release/2").unwrap().active_entries, 2);
    let error = second("main").unwrap_err();
    assert!(error.reason().contains("does not hold this entry"), "{error}");
}

#[test]
fn the_chain_must_be_whole() {
    let signer = key(7);
    // The second revision with the first one's number on another previous digest.
    let mut input = second(|_| {}, &signer);
    input.revision.previous_digest = Some(input.revision.entries_digest);
    input.publications.clear();
    fixture::seal(&mut input, &signer);
    let error = refused(&render(&input).unwrap().files);
    assert_eq!(error.path(), "revisions/2.dsse.json");
    assert!(error.reason().contains("previous digest"));
}

#[test]
fn rendering_something_else_than_was_signed_is_refused() {
    let signer = key(7);
    let mut more = second(|_| {}, &signer);
    more.envelopes.insert("rcp_0198c1aa000070000000000000000008".into(), envelope(&parts(8, "x", 8).receipt, &signer));
    assert!(format!("{:?}", render(&more).unwrap_err()).contains("another tree"));
    let mut fewer = second(|_| {}, &signer);
    fewer.envelopes.remove("rcp_0198c1aa000070000000000000000001");
    assert!(format!("{:?}", render(&fewer).unwrap_err()).contains("missing"));
    let mut other = second(|_| {}, &signer);
    other.entries[0].state = EntryState::Retired;
    assert!(format!("{:?}", render(&other).unwrap_err()).contains("entries digest"));
}

#[test]
fn a_predicate_that_says_something_else_than_its_statement_is_refused() {
    let statement = parts(1, "cart", 1).receipt.statement().unwrap();
    assert!(CaptureReceipt::from_statement(&statement).is_ok());
    assert_eq!(CatalogRevision::from_statement(&statement).unwrap_err().path(), "predicateType");
    let changed = |change: fn(&mut crate::Statement)| {
        let mut statement = statement.clone();
        change(&mut statement);
        CaptureReceipt::from_statement(&statement).unwrap_err()
    };
    assert_eq!(changed(|s| s.subject[0].name = "x.png".into()).path(), "subject");
    assert_eq!(changed(|s| s.subject.clear()).path(), "subject");
    assert!(changed(|s| s.predicate["extra"] = true.into()).reason().contains("does not know"));
    assert_eq!(changed(|s| s.predicate["render"]["stabiliser"] = 2.into()).path(), "render_digest");
    assert_eq!(changed(|s| s.predicate["artifacts"] = serde_json::json!([])).path(), "artifacts");
}

#[test]
fn a_receipt_is_verified_with_the_artifacts_at_hand() {
    let bytes = envelope(&parts(1, "cart", 1).receipt, &key(7));
    let name = "art_0198c1aa000070000000000000000001.png";
    let alone = verify_receipt(&bytes, &trusted(), None).unwrap();
    assert!(alone.matching.is_empty() && alone.absent.contains(name));
    let with = |name: &str, bytes_: Vec<u8>| {
        verify_receipt(&bytes, &trusted(), Some(&BTreeMap::from([(name.into(), bytes_)])))
    };
    assert!(with(name, picture(1)).unwrap().matching.contains(name));
    assert_eq!(with(name, picture(2)).unwrap_err().path(), name);
    assert_eq!(with("other.png", picture(1)).unwrap_err().path(), "other.png");
}

/// What the tree shows of the log, and the note of an earlier publication.
fn published_log() -> (LogReport, Checkpoint) {
    let report = verify_catalog(&files(), &trusted()).unwrap().log.unwrap();
    let earlier = *report.roots.first_key_value().unwrap().0;
    let first = Checkpoint { size: earlier, root: report.roots[&earlier], origin: report.checkpoint.origin.clone() };
    (report, first)
}

#[test]
fn a_tree_continues_the_checkpoints_of_earlier_publications_and_no_others() {
    let (report, first) = published_log();
    assert_eq!(report.roots.len(), 2);
    for earlier in [&first, &report.checkpoint] {
        report.continues(earlier).unwrap();
    }
    let other_root = report.checkpoint.root;
    for (earlier, reason) in [
        (Checkpoint { root: other_root, ..first.clone() }, "other entries"),
        (Checkpoint { size: 1_000_000, ..first.clone() }, "taken back"),
        (Checkpoint { size: first.size + 1, ..first.clone() }, "no proof"),
        (Checkpoint { origin: "pinhole.dev/log/2".into(), ..first.clone() }, "of the log"),
    ] {
        let error = report.continues(&earlier).unwrap_err();
        assert!(error.reason().contains(reason), "{error}");
    }
}

#[test]
fn a_statement_that_the_log_has_not_is_refused() {
    let mut log = fixture::Log::default();
    let mut input = second(|_| {}, &key(7));
    // Another revision of the same number got into the log.
    let own = input.revisions.insert(2, envelope(&parts(8, "x", 8).receipt, &key(7))).unwrap();
    input.log.clear();
    log.publish(&mut input, 1);
    input.revisions.insert(2, own);
    let error = refused(&render(&input).unwrap().files);
    assert!(error.path().ends_with("revisions/2.dsse.json") && error.reason().contains("does not hold"), "{error}");
}

#[test]
fn a_log_that_was_begun_anew_between_publications_is_refused() {
    let mut input = second(|_| {}, &key(7));
    let (newest, rest): (Files, Files) = input.log.clone().into_iter().partition(|(path, _)| path.contains("02-1"));
    assert_eq!((newest.len(), rest.len()), (1, 2));
    // The second publication's file from another log that is longer.
    let mut other = fixture::Log::default();
    other.append(&[pinhole_core::Sha256Digest::of(b"something else")]);
    let mut alone = second(|_| {}, &key(7));
    alone.log.clear();
    other.publish(&mut alone, 2);
    input.log = rest;
    input.log.extend(alone.log);
    let error = refused(&render(&input).unwrap().files);
    assert!(error.path().starts_with("log/proofs/"), "{error}");
}

fn write_tree(folder: &Path) {
    for (path, bytes) in files() {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn a_checkout_is_read_without_what_is_not_ours() {
    let folder = tempfile::tempdir().unwrap();
    assert!(read_tree(folder.path()).is_err(), "an empty folder is no catalog");
    write_tree(folder.path());
    fs::create_dir(folder.path().join(".git")).unwrap();
    fs::write(folder.path().join(".git/config"), "x").unwrap();
    fs::write(folder.path().join("README.md"), "x").unwrap();
    symlink("README.md", folder.path().join("LINK")).unwrap();
    assert_eq!(read_tree(folder.path()).unwrap(), files());
}

#[test]
fn links_and_strangers_within_our_folders_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_tree(folder.path());
    fs::write(folder.path().join("receipts/notes.txt"), "x").unwrap();
    assert_eq!(refused(&read_tree(folder.path()).unwrap()).path(), "receipts/notes.txt");
    fs::remove_file(folder.path().join("receipts/notes.txt")).unwrap();
    symlink("/etc/hostname", folder.path().join("publications/link.json")).unwrap();
    assert_eq!(read_tree(folder.path()).unwrap_err().path(), "publications/link.json");
    fs::remove_file(folder.path().join("publications/link.json")).unwrap();
    fs::rename(folder.path().join("receipts"), folder.path().join("away")).unwrap();
    symlink("away", folder.path().join("receipts")).unwrap();
    assert_eq!(read_tree(folder.path()).unwrap_err().path(), "receipts");
}
