//! The log against a plain computation of RFC 6962 by its definition, and against changes of every byte.

use pinhole_core::{LogRecordKind, Sha256Digest};
use proptest::prelude::*;

use super::{
    Checkpoint, ConsistencyProof, EMPTY_ROOT, InclusionProof, LogHead, TilePath, Tiles, append, leaf_hash, log_entry,
    prove_consistency, prove_inclusion, root_at, verifier_key,
};
use crate::{
    KeyStatus, KeyUse, TrustedKeys,
    fixture::{Log, key, trust},
};

impl Log {
    fn of(count: u64) -> Self {
        let mut log = Self::default();
        log.append(&entries(0, count));
        log
    }
}

fn entries(from: u64, to: u64) -> Vec<Sha256Digest> {
    let record = |number: u64| Sha256Digest::of(&number.to_be_bytes());
    (from..to).map(|number| log_entry(LogRecordKind::Audit, record(number))).collect()
}

/// The Merkle tree hash as RFC 6962 defines it, section 2.1.
fn defined(leaves: &[Sha256Digest]) -> Sha256Digest {
    match leaves {
        [] => Sha256Digest::of(b""),
        [leaf] => Sha256Digest::of_parts(&[&[0], leaf.as_bytes()]),
        _ => {
            let mut middle = 1;
            while middle * 2 < leaves.len() {
                middle *= 2;
            }
            let (left, right) = leaves.split_at(middle);
            Sha256Digest::of_parts(&[&[1], defined(left).as_bytes(), defined(right).as_bytes()])
        }
    }
}

#[test]
fn the_root_is_the_one_that_the_definition_gives() {
    let mut log = Log::default();
    assert_eq!((log.head().root, EMPTY_ROOT), (defined(&[]), defined(&[])));
    let all = entries(0, 700);
    let mut size = 0;
    for step in [1, 1, 1, 4, 0, 249, 1, 255, 100, 88] {
        log.append(&all[size..size + step]);
        size += step;
        assert_eq!(log.head(), LogHead { size: size as u64, root: defined(&all[..size]) }, "at {size}");
    }
    assert_eq!(leaf_hash(all[0]), defined(&all[..1]));
}

#[test]
fn every_leaf_and_every_earlier_size_is_proved() {
    let (log, all) = (Log::of(530), entries(0, 530));
    for size in [1_u64, 2, 3, 255, 256, 257, 511, 512, 513, 530] {
        let root = log.ask(|tiles, head| root_at(tiles, head, size));
        assert_eq!(root, defined(&all[..size as usize]));
        for leaf in (0..size).step_by(37).chain([size - 1]) {
            let proof = log.ask(|tiles, head| prove_inclusion(tiles, head, size, leaf));
            proof.verify(root, all[leaf as usize]).unwrap();
        }
        for first in (0..=size).step_by(53).chain([size]) {
            let proof = log.ask(|tiles, head| prove_consistency(tiles, head, first, size));
            proof.verify(defined(&all[..first as usize]), root).unwrap();
        }
    }
}

#[test]
fn a_tile_that_does_not_belong_to_the_root_gives_no_proof() {
    let mut log = Log::of(300);
    log.tiles.values_mut().for_each(|hashes| hashes[7] ^= 1);
    let mut tiles = Tiles::default();
    log.tiles.iter().for_each(|(id, hashes)| tiles.insert(*id, hashes.clone()));
    let head = log.head();
    let error = prove_inclusion(&tiles, head, 300, 5).unwrap_err();
    assert!(format!("{error:?}").contains("inconsistent"), "{error:?}");
    assert!(append(&tiles, head, &entries(300, 301)).is_err());
}

#[test]
fn an_entry_depends_on_kind_and_record() {
    let (one, other) = (Sha256Digest::of(b"1"), Sha256Digest::of(b"2"));
    assert_ne!(log_entry(LogRecordKind::Audit, one), log_entry(LogRecordKind::Audit, other));
    assert_ne!(log_entry(LogRecordKind::Audit, one), log_entry(LogRecordKind::Review, one));
    // Written out, because others compute it too.
    let written = Sha256Digest::of_parts(&[b"pinhole.dev/log-entry/v1\0audit\0", one.as_bytes()]);
    assert_eq!(log_entry(LogRecordKind::Audit, one), written);
}

fn trusted() -> TrustedKeys {
    trust(&key(9), KeyUse::Log, KeyStatus::Active)
}

fn checkpoint() -> (Checkpoint, String) {
    let checkpoint = Checkpoint { origin: "pinhole.dev/log/1".into(), size: 530, root: Log::of(530).head().root };
    let note = checkpoint.sign(&key(9)).unwrap();
    (checkpoint, note)
}

#[test]
fn a_checkpoint_is_a_signed_note() {
    let (checkpoint, note) = checkpoint();
    let lines: Vec<_> = note.split('\n').collect();
    assert_eq!((lines[0], lines[1], lines[3], lines[5]), ("pinhole.dev/log/1", "530", "", ""));
    assert!(lines[4].starts_with("\u{2014} pinhole.dev/log/1 "));
    assert_eq!(Checkpoint::verify(note.as_bytes(), &trusted()).unwrap(), checkpoint);
    assert!(verifier_key("pinhole.dev/log/1", &key(9).public_key().bytes).starts_with("pinhole.dev/log/1+"));
}

#[test]
fn the_signature_of_a_witness_is_left_alone_and_counts_for_nothing() {
    let (checkpoint, note) = checkpoint();
    let mut by_witness = Checkpoint { origin: "witness.example".into(), ..checkpoint.clone() }.sign(&key(5)).unwrap();
    let line = by_witness.split_off(by_witness.find('\u{2014}').unwrap());
    let both = format!("{note}{line}");
    assert_eq!(Checkpoint::verify(both.as_bytes(), &trusted()).unwrap(), checkpoint);
    let alone = format!("{}{line}", &note[..note.find('\u{2014}').unwrap()]);
    let error = Checkpoint::verify(alone.as_bytes(), &trusted()).unwrap_err();
    assert!(error.reason().starts_with("no signature is by a trusted log key"), "{error}");
}

#[test]
fn a_checkpoint_by_a_key_for_something_else_or_a_revoked_one_is_refused() {
    let (_, note) = checkpoint();
    for keys in [
        trust(&key(9), KeyUse::Statement, KeyStatus::Active),
        trust(&key(9), KeyUse::Log, KeyStatus::Revoked),
        trust(&key(8), KeyUse::Log, KeyStatus::Active),
    ] {
        assert!(Checkpoint::verify(note.as_bytes(), &keys).is_err());
    }
}

#[test]
fn tile_paths_have_one_form() {
    let path = |level, number, width| Some(TilePath { level, number, width });
    assert_eq!(TilePath::parse("0/000"), path(Some(0), 0, 256));
    assert_eq!(TilePath::parse("1/x001/x234/067"), path(Some(1), 1_234_067, 256));
    assert_eq!(TilePath::parse("0/001.p/7"), path(Some(0), 1, 7));
    assert_eq!(TilePath::parse("entries/000.p/255"), path(None, 0, 255));
    for wrong in [
        "",
        "/",
        "0",
        "0/",
        "0/0",
        "0/00",
        "00/000",
        "-1/000",
        "8/000",
        "64/000",
        "255/000",
        "0/000.p/0",
        "0/000.p/256",
        "0/000.p/01",
        "0/000.p/",
        "0/001/000",
        "0/x000/001",
        "data/000",
        "entries",
        "entries/x",
        "0/000.p/7/8",
        "0/x999/x999/x999/x999/x999/x999/x999/999",
        "0/../000",
        "\u{e9}/000",
    ] {
        assert_eq!(TilePath::parse(wrong), None, "{wrong}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn one_changed_byte_of_a_checkpoint_is_refused(offset: prop::sample::Index, mask in 1_u8..) {
        let mut note = checkpoint().1.into_bytes();
        let offset = offset.index(note.len());
        note[offset] ^= mask;
        prop_assert!(Checkpoint::verify(&note, &trusted()).is_err(), "at {offset}");
    }

    #[test]
    fn a_changed_proof_leaf_or_root_is_refused(
        size in 2_u64..600, at: prop::sample::Index, hash: prop::sample::Index, byte in 0_usize..32, mask in 1_u8..,
    ) {
        let log = Log::of(size);
        let (leaf, root) = (at.index(size as usize) as u64, log.head().root);
        let entry = entries(leaf, leaf + 1)[0];
        let change = |digest: Sha256Digest| {
            let mut bytes = *digest.as_bytes();
            bytes[byte] ^= mask;
            Sha256Digest::from_bytes(bytes)
        };
        let inclusion = log.ask(|tiles, head| prove_inclusion(tiles, head, size, leaf));
        let changed = |change: &dyn Fn(&mut InclusionProof)| {
            let mut proof = inclusion.clone();
            change(&mut proof);
            proof.verify(root, entry)
        };
        prop_assert!(inclusion.verify(root, entry).is_ok());
        prop_assert!(inclusion.verify(change(root), entry).is_err());
        prop_assert!(inclusion.verify(root, change(entry)).is_err());
        let one = hash.index(inclusion.hashes.len());
        let of_one = |proof: &mut InclusionProof| proof.hashes[one] = change(proof.hashes[one]);
        prop_assert!(changed(&of_one).is_err());
        prop_assert!(changed(&|proof| proof.hashes.push(root)).is_err());
        let shortened = |proof: &mut InclusionProof| proof.hashes.truncate(inclusion.hashes.len() - 1);
        prop_assert!(changed(&shortened).is_err());
        prop_assert!(changed(&|proof| proof.leaf ^= 1).is_err());

        let (first, all) = (leaf + 1, entries(0, size));
        let earlier = defined(&all[..first as usize]);
        let consistency = log.ask(|tiles, head| prove_consistency(tiles, head, first, size));
        prop_assert!(consistency.verify(earlier, root).is_ok());
        prop_assert!(consistency.verify(change(earlier), root).is_err());
        prop_assert!(consistency.verify(earlier, change(root)).is_err());
        if !consistency.hashes.is_empty() {
            let one = hash.index(consistency.hashes.len());
            let mut proof = consistency;
            proof.hashes[one] = change(proof.hashes[one]);
            prop_assert!(proof.verify(earlier, root).is_err());
        }
    }

    #[test]
    fn no_proof_makes_a_verifier_panic(leaf: u64, size: u64, count in 0_usize..80) {
        let hashes = vec![EMPTY_ROOT; count];
        let inclusion = InclusionProof { leaf, size, hashes: hashes.clone() };
        prop_assert!(inclusion.verify(EMPTY_ROOT, EMPTY_ROOT).is_err());
        let consistency = ConsistencyProof { first: leaf.max(1), second: size, hashes };
        prop_assert!(consistency.verify(EMPTY_ROOT, EMPTY_ROOT).is_err() || leaf.max(1) == size && count == 0);
    }
}
