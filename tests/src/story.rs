//! `pinhole demo --check` as a user starts it, on both databases, and `pinhole verify` on what it leaves.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use pinhole_testkit::{Database, Engine};
use tempfile::TempDir;

use crate::{
    harness::{Finished, pinhole},
    pictures::{Region, differing, regions},
};

#[test]
fn the_story_ends_well_on_sqlite() {
    play(Engine::Sqlite);
}

#[test]
fn the_story_ends_well_on_postgres() {
    play(Engine::Postgres);
}

fn play(engine: Engine) {
    let directory = TempDir::with_prefix("pinhole-story-").unwrap();
    let data = directory.path().join("demo");
    let mut command = pinhole();
    command.args(["demo", "--check", "--data-dir"]).arg(&data);
    let database = (engine == Engine::Postgres).then(Database::postgres);
    if let Some(database) = &database {
        command.env("PINHOLE_DATABASE_URL", database.url());
    }
    let demo = Finished::of(&mut command);
    let story = demo.expect(0);
    assert!(story.contains("verdict \"changed\""), "{story}");
    assert!(story.contains("shop: matched") && story.contains("cart: changed"), "{story}");
    assert!(story.ends_with("The story ended as it should.\n"), "{story}");
    assert_eq!(data.join("pinhole.db").exists(), engine == Engine::Sqlite);
    check_the_change(story);
    check_the_verdicts(story);
    verify_again(&data);
}

/// The regions that were told are those in which the pictures that were named differ.
fn check_the_change(story: &str) {
    let file = |what: &str| {
        let line = story.lines().find_map(|line| line.trim().strip_prefix(what));
        PathBuf::from(line.unwrap_or_else(|| panic!("no {what:?} in:\n{story}")))
    };
    let (before, now, difference) = (file("before: "), file("now: "), file("difference: "));
    assert!(image::open(&difference).unwrap().width() > 0);
    let differing: BTreeSet<_> = differing(&before, &now);
    let regions = regions(story);
    assert!(!differing.is_empty() && !regions.is_empty(), "{story}");
    let told = |region: &Region| differing.iter().any(|pixel| region.holds(*pixel));
    assert!(regions.iter().all(told), "a region without a difference: {regions:?}");
    let found = |pixel: &(u32, u32)| regions.iter().any(|region| region.holds(*pixel));
    assert!(differing.iter().all(found), "a difference outside of every region: {regions:?}");
}

/// `verify` said yes twice, and no after each of three alterations.
fn check_the_verdicts(story: &str) {
    let saying = |word: &str| story.lines().filter(|line| line.contains(word)).count();
    assert_eq!((saying("    yes: "), saying("altered, no: ")), (2, 3), "{story}");
    for what in ["picture altered, no: ", "receipt altered, no: ", "catalog altered, no: "] {
        assert_eq!(saying(what), 1, "{story}");
    }
}

/// The altered files are refused by the real command too; with the byte as it was, they are good again.
fn verify_again(data: &Path) {
    let keys = data.join("receipt-keys.json");
    let (receipt, picture) = (data.join("receipt.dsse.json"), data.join("receipt-picture.png"));
    let verify_receipt = || {
        let mut command = pinhole();
        command.args(["verify", "receipt"]).arg(&receipt).arg("--picture").arg(&picture).arg("--keys").arg(&keys);
        Finished::of(&mut command)
    };
    assert!(verify_receipt().expect(1).starts_with("NOT valid: "));
    alter(&receipt);
    assert!(verify_receipt().expect(1).starts_with("NOT valid: "), "the picture is still altered");
    alter(&picture);
    assert!(verify_receipt().expect(0).starts_with("valid: receipt rcp_"));

    let verify_catalog = || {
        let mut command = pinhole();
        command.args(["verify", "catalog"]).arg(data.join("checkout")).arg("--keys").arg(&keys);
        Finished::of(&mut command)
    };
    let wrong = verify_catalog();
    let altered = wrong.expect(1).strip_prefix("NOT valid: ").and_then(|rest| rest.split(':').next());
    alter(&data.join("checkout").join(altered.expect("the altered file is named")));
    assert!(verify_catalog().expect(0).starts_with("valid: catalog shop line main revision 1: 2 active entries"));
}

/// Flips the bit that the story flips.
fn alter(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
}
