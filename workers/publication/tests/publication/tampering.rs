//! Whatever is changed about a published catalog, verification finds it: its files at random, and its commits.
//!
//! The seed is printed, and `PINHOLE_SEED` repeats it. `PINHOLE_FULL` tries some thirty times as much.

use pinhole_gitcat::LocalClone;
use pinhole_receipt::{History, HistoryReport, TrustedKeys, VerifyError, verify_catalog, verify_history};
use pinhole_testkit::Engine;
use serde_json::json;

use crate::{
    chance::{Random, seed},
    changes::{KINDS, flip_in},
    world::World,
};

/// Tries of each kind of change.
const TRIES: usize = 300;
const CHECKPOINTS: [&str; 12] = ["c01", "c02", "c03", "c04", "c05", "c06", "c07", "c08", "c09", "c10", "c11", "c12"];
/// The commits of a clone, of which one may be said to have other bytes.
struct Commits<'a> {
    clone: &'a LocalClone,
    changed: Option<(String, Vec<u8>)>,
}

impl History for Commits<'_> {
    fn commit(&self, id: &str) -> Result<Vec<u8>, VerifyError> {
        match &self.changed {
            Some((changed, bytes)) if changed == id => Ok(bytes.clone()),
            _ => read(self.clone.commit(id.parse().map_err(|_| wrong("no id of a commit"))?)),
        }
    }

    fn catalog(&self, id: &str) -> Result<String, VerifyError> {
        read(self.clone.catalog(id.parse().map_err(|_| wrong("no id of a commit"))?))
    }

    fn file(&self, id: &str, path: &str) -> Result<Option<Vec<u8>>, VerifyError> {
        read(self.clone.file(id.parse().map_err(|_| wrong("no id of a commit"))?, path))
    }
}

fn read<T>(result: pinhole_core::Result<T>) -> Result<T, VerifyError> {
    result.map_err(|error| wrong(error.message()))
}

fn wrong(reason: &str) -> VerifyError {
    VerifyError::new("", reason)
}

/// Verifies the branch of the remote, its files and its commits, with the keys as they are published now.
pub(crate) fn commits_valid(world: &World) -> Result<HistoryReport, VerifyError> {
    let keys = TrustedKeys::from_jwks(&world.app.public_keys().unwrap()).unwrap();
    let clone = LocalClone::open(&world.remote_path()).unwrap().unwrap();
    let tip = clone.tip(&"catalog".parse().unwrap()).unwrap();
    let files = read(clone.files(tip))?;
    verify_catalog(&files, &keys)?;
    verify_history(&Commits { clone: &clone, changed: None }, &tip.to_string(), &files, &keys)
}

fn tries() -> usize {
    if std::env::var_os("PINHOLE_FULL").is_some() { TRIES * 30 } else { TRIES }
}

/// Two revisions with many entries, published through the real worker.
async fn published() -> World {
    let world = World::new(Engine::Sqlite).await;
    let captures: String = CHECKPOINTS.iter().map(|name| format!("  - capture: {{ name: {name} }}\n")).collect();
    let source = format!("schema: pinhole.scenario.v1\ntitle: Many\nsteps:\n  - navigate: /\n{captures}");
    let scenario = json!({ "project": "shop", "slug": "many", "idempotency_key": "many", "source": source });
    world.done("create_scenario", scenario).await;
    for number in [1, 2] {
        world.revision_of("many", &CHECKPOINTS, number).await;
        world.published(number).await;
    }
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn no_change_of_the_files_survives() {
    let world = published().await;
    let files = world.files();
    assert_eq!(verify_catalog(&files, &world.keys).unwrap().active_entries, CHECKPOINTS.len());
    let random = Random::new(seed());
    for (kind, change) in KINDS {
        let mut changed = 0;
        while changed < tries() {
            let mut other = files.clone();
            let Some(what) = change(&random, &mut other) else { continue };
            changed += 1;
            assert_ne!(other, files, "{kind}: {what}");
            assert!(verify_catalog(&other, &world.keys).is_err(), "{kind}, {what}: it was not found");
        }
    }
}

/// Takes a line of a commit's message or header for another.
fn change_line(random: &Random, commit: &[u8], all: &[Vec<u8>]) -> Vec<u8> {
    let text = String::from_utf8(commit.to_vec()).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = random.below(lines.len());
    match random.below(4) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[at].clone()),
        2 => {
            let other = String::from_utf8(all[random.below(all.len())].clone()).unwrap();
            lines[at] = other.lines().nth(at).unwrap_or("Reviewed-by: nobody").to_owned();
        }
        _ => lines.push(format!("Catalog-Revision: {}", random.below(9))),
    }
    lines.join("\n").into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_change_of_a_commit_survives() {
    let world = published().await;
    assert_eq!(commits_valid(&world).unwrap(), HistoryReport { publications: 2, others: 0 });
    let clone = LocalClone::open(&world.remote_path()).unwrap().unwrap();
    let (tip, files) = (world.head().unwrap(), world.files());
    let ids = world.commits();
    let all: Vec<_> = ids.iter().map(|id| clone.commit(id.parse().unwrap()).unwrap()).collect();
    let random = Random::new(seed());
    let mut changed = 0;
    while changed < tries() {
        let which = random.below(ids.len());
        let mut bytes = all[which].clone();
        if random.below(2) == 0 {
            flip_in(&random, &mut bytes);
        } else {
            bytes = change_line(&random, &bytes, &all);
        }
        if bytes == all[which] {
            continue;
        }
        changed += 1;
        let told = String::from_utf8_lossy(&bytes).into_owned();
        let commits = Commits { clone: &clone, changed: Some((ids[which].clone(), bytes)) };
        assert!(verify_history(&commits, &tip, &files, &world.keys).is_err(), "it was not found:\n{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn others_may_commit_beside_the_catalog_and_nothing_else() {
    let world = World::new(Engine::Sqlite).await;
    world.revision(1).await;
    let first = world.foreign_first_commit();
    let id = world.ask(1, json!({ "commit": first })).await;
    assert_eq!(world.try_once(id).await["state"], "published");
    // A person who had not seen the publication commits and merges.
    let work = world.checkout();
    world.git(&work, &["checkout", "--quiet", "-b", "side", &first]);
    std::fs::write(work.join("NOTES.md"), "beside\n").unwrap();
    world.git(&work, &["add", "NOTES.md"]);
    world.git(&work, &["commit", "--quiet", "-m", "Write a note"]);
    world.git(&work, &["merge", "--quiet", "-m", "Merge the catalog", "origin/catalog"]);
    world.git(&work, &["push", "--quiet", "origin", "HEAD:refs/heads/catalog"]);
    assert_eq!(commits_valid(&world).unwrap(), HistoryReport { publications: 1, others: 3 });
    let head = world.foreign_commit("receipts/notes.txt");
    let error = commits_valid(&world).unwrap_err();
    assert!(error.to_string().contains("receipts/notes.txt"), "{error}");
    // What was wrong is put right by hand, and the branch still tells that somebody else changed the catalog.
    let work = world.checkout();
    world.git(&work, &["revert", "--no-edit", "HEAD"]);
    world.git(&work, &["push", "--quiet", "origin", "HEAD:refs/heads/catalog"]);
    let error = commits_valid(&world).unwrap_err();
    assert!(error.reason().contains("is not signed"), "{error}");
    assert!(error.path().contains(&head) || error.path().contains(&world.head().unwrap()), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_that_takes_a_publication_back_is_found() {
    let world = World::new(Engine::Sqlite).await;
    for number in [1, 2] {
        world.revision(number).await;
        world.published(number).await;
    }
    let (second, first) = (world.commits().remove(0), world.commits().remove(1));
    let work = world.checkout();
    world.git(&work, &["checkout", "--quiet", "-b", "side", &first]);
    world.git(&work, &["merge", "--quiet", "--strategy=ours", "-m", "Merge nothing", "origin/catalog"]);
    world.git(&work, &["push", "--quiet", "origin", "HEAD:refs/heads/catalog"]);
    let error = commits_valid(&world).unwrap_err();
    assert!(error.reason().contains(&second) && error.reason().contains("takes it back"), "{error}");
}

impl World {
    /// A branch that a person has begun.
    pub(crate) fn foreign_first_commit(&self) -> String {
        let work = self.checkout();
        std::fs::write(work.join("README.md"), "ours\n").unwrap();
        self.git(&work, &["add", "README.md"]);
        self.git(&work, &["commit", "--quiet", "-m", "Begin"]);
        self.git(&work, &["push", "--quiet", "origin", "HEAD:refs/heads/catalog"]);
        self.head().unwrap()
    }
}
