//! Whatever is changed about a published catalog, verification finds it: its files at random, and its commits.
//!
//! The seed is printed, and `PINHOLE_SEED` repeats it. `PINHOLE_FULL` tries some thirty times as much.

use std::collections::BTreeMap;

use pinhole_core::{Ids as _, RandomIds, Sha256Digest, canonical_json};
use pinhole_gitcat::LocalClone;
use pinhole_receipt::{History, HistoryReport, TrustedKeys, VerifyError, verify_catalog, verify_history};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::world::World;

type Files = BTreeMap<String, Vec<u8>>;
/// Changes something, and says what; none when it would have changed nothing.
type Change = fn(&mut Random, &mut Files) -> Option<String>;

/// Tries of each kind of change.
const TRIES: usize = 300;
const CHECKPOINTS: [&str; 12] = ["c01", "c02", "c03", "c04", "c05", "c06", "c07", "c08", "c09", "c10", "c11", "c12"];
const KINDS: [(&str, Change); 11] = [
    ("flipped bit", flip),
    ("other length", cut_or_append),
    ("deleted file", delete),
    ("renamed file", rename),
    ("added file", add),
    ("swapped files", swap_files),
    ("swapped signatures", swap_signatures),
    ("other key id", change_key_id),
    ("other value", change_value),
    ("flipped bit with a manifest that knows it", flip_and_list),
    ("added file with a manifest that knows it", add_and_list),
];

/// A source of numbers that its seed decides (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    fn path(&mut self, files: &Files) -> String {
        files.keys().nth(self.below(files.len())).unwrap().clone()
    }

    fn path_where(&mut self, files: &Files, wanted: impl Fn(&str) -> bool) -> String {
        let paths: Vec<_> = files.keys().filter(|path| wanted(path)).collect();
        paths[self.below(paths.len())].clone()
    }
}

fn flip(random: &mut Random, files: &mut Files) -> Option<String> {
    let path = random.path(files);
    flip_in(random, files.get_mut(&path)?);
    Some(path)
}

fn flip_in(random: &mut Random, bytes: &mut [u8]) {
    let at = random.below(bytes.len());
    bytes[at] ^= 1 << random.below(8);
}

fn cut_or_append(random: &mut Random, files: &mut Files) -> Option<String> {
    let path = random.path(files);
    let bytes = files.get_mut(&path)?;
    match random.below(3) {
        0 => bytes.truncate(random.below(bytes.len())),
        1 => bytes.push(b'\n'),
        _ => bytes.insert(random.below(bytes.len()), b' '),
    }
    Some(path)
}

fn delete(random: &mut Random, files: &mut Files) -> Option<String> {
    let path = random.path(files);
    files.remove(&path)?;
    Some(path)
}

/// Another name that a file could have: a digit or letter of it is another, or it is in another folder.
fn other_name(random: &mut Random, files: &Files, path: &str) -> Option<String> {
    let mut name: Vec<u8> = path.bytes().collect();
    match random.below(3) {
        0 => {
            let at = random.below(name.len());
            name[at] = b"0123456789abcdef-_./"[random.below(20)];
        }
        1 => name.insert(random.below(name.len()), b"0123456789abcdef/"[random.below(17)]),
        _ => {
            let other = random.path(files);
            let (folder, _) = other.rsplit_once('/')?;
            let file = path.rsplit('/').next()?;
            name = format!("{folder}/{file}").into_bytes();
        }
    }
    let name = String::from_utf8(name).unwrap();
    (!files.contains_key(&name)).then_some(name)
}

fn rename(random: &mut Random, files: &mut Files) -> Option<String> {
    let path = random.path(files);
    let name = other_name(random, files, &path)?;
    let bytes = files.remove(&path)?;
    files.insert(name.clone(), bytes);
    Some(format!("{path} to {name}"))
}

fn add(random: &mut Random, files: &mut Files) -> Option<String> {
    let path = random.path(files);
    let name = other_name(random, files, &path)?;
    let bytes = if random.below(2) == 0 { files[&path].clone() } else { random.next().to_be_bytes().to_vec() };
    files.insert(name.clone(), bytes);
    Some(name)
}

fn swap_files(random: &mut Random, files: &mut Files) -> Option<String> {
    let (one, other) = (random.path(files), random.path(files));
    let (first, second) = (files[&one].clone(), files[&other].clone());
    if first == second {
        return None;
    }
    files.insert(one.clone(), second);
    files.insert(other.clone(), first);
    Some(format!("{one} and {other}"))
}

fn is_envelope(path: &str) -> bool {
    path.ends_with(".dsse.json")
}

fn json_of(files: &Files, path: &str) -> Value {
    serde_json::from_slice(&files[path]).unwrap()
}

/// Writes a document in its canonical form; false when it is what it was.
fn put(files: &mut Files, path: &str, value: &Value) -> bool {
    let bytes = canonical_json(value).unwrap();
    files.insert(path.to_owned(), bytes.clone()) != Some(bytes)
}

fn swap_signatures(random: &mut Random, files: &mut Files) -> Option<String> {
    let (one, other) = (random.path_where(files, is_envelope), random.path_where(files, is_envelope));
    let (mut first, mut second) = (json_of(files, &one), json_of(files, &other));
    std::mem::swap(&mut first["signatures"], &mut second["signatures"]);
    let changed = put(files, &one, &first);
    (put(files, &other, &second) && changed && one != other).then(|| format!("{one} and {other}"))
}

fn change_key_id(random: &mut Random, files: &mut Files) -> Option<String> {
    let path = random.path_where(files, is_envelope);
    let mut envelope = json_of(files, &path);
    let mut id: Vec<u8> = envelope["signatures"][0]["keyid"].as_str().unwrap().bytes().collect();
    let at = random.below(id.len());
    id[at] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef0123456789-_"[random.below(44)];
    envelope["signatures"][0]["keyid"] = String::from_utf8(id).unwrap().into();
    put(files, &path, &envelope).then_some(path)
}

/// Changes one value within a document that stays in canonical form.
fn change_value(random: &mut Random, files: &mut Files) -> Option<String> {
    let path = random.path_where(files, |path| path.ends_with(".json"));
    let mut document = json_of(files, &path);
    change_within(random, &mut document);
    put(files, &path, &document).then_some(path)
}

fn change_within(random: &mut Random, value: &mut Value) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let at = random.below(members.len());
            let member = members.values_mut().nth(at);
            change_within(random, member.unwrap());
        }
        Value::Array(items) if !items.is_empty() => {
            let at = random.below(items.len());
            change_within(random, &mut items[at]);
        }
        _ => change_leaf(random, value),
    }
}

fn change_leaf(random: &mut Random, leaf: &mut Value) {
    *leaf = match leaf {
        Value::String(text) if !text.is_empty() && random.below(4) > 0 => {
            let mut characters: Vec<char> = text.chars().collect();
            let at = random.below(characters.len());
            characters[at] = char::from(b"0123456789abcdefAZ"[random.below(18)]);
            characters.into_iter().collect::<String>().into()
        }
        Value::Number(number) => json!(number.as_u64().unwrap_or_default() + 1 + random.next() % 3),
        Value::Null => json!(1),
        _ => Value::Null,
    };
}

/// What somebody does who has no key but knows the form: the manifest lists what the files are now.
fn list(files: &mut Files) {
    let mut manifest = json_of(files, "manifest.json");
    let unlisted = |path: &str| {
        path == "manifest.json"
            || path == "revisions/2.dsse.json"
            || path.starts_with("publications/")
            || path.starts_with("log/")
    };
    let listed = files.iter().filter(|(path, _)| !unlisted(path));
    manifest["files"] = listed.map(|(path, bytes)| (path.clone(), json!(Sha256Digest::of(bytes)))).collect();
    put(files, "manifest.json", &manifest);
}

fn flip_and_list(random: &mut Random, files: &mut Files) -> Option<String> {
    let path = random.path_where(files, |path| path != "manifest.json");
    flip_in(random, files.get_mut(&path)?);
    list(files);
    Some(path)
}

fn add_and_list(random: &mut Random, files: &mut Files) -> Option<String> {
    let added = add(random, files)?;
    list(files);
    Some(added)
}

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

fn seed() -> u64 {
    let given = std::env::var("PINHOLE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| RandomIds.uuid().as_u64_pair().0);
    println!("PINHOLE_SEED={seed}");
    seed
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
    let mut random = Random(seed());
    for (kind, change) in KINDS {
        let mut changed = 0;
        while changed < tries() {
            let mut other = files.clone();
            let Some(what) = change(&mut random, &mut other) else { continue };
            changed += 1;
            assert_ne!(other, files, "{kind}: {what}");
            assert!(verify_catalog(&other, &world.keys).is_err(), "{kind}, {what}: it was not found");
        }
    }
}

/// Takes a line of a commit's message or header for another.
fn change_line(random: &mut Random, commit: &[u8], all: &[Vec<u8>]) -> Vec<u8> {
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
    let mut random = Random(seed());
    let mut changed = 0;
    while changed < 4 * tries() {
        let which = random.below(ids.len());
        let mut bytes = all[which].clone();
        if random.below(2) == 0 {
            flip_in(&mut random, &mut bytes);
        } else {
            bytes = change_line(&mut random, &bytes, &all);
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
    fn foreign_first_commit(&self) -> String {
        let work = self.checkout();
        std::fs::write(work.join("README.md"), "ours\n").unwrap();
        self.git(&work, &["add", "README.md"]);
        self.git(&work, &["commit", "--quiet", "-m", "Begin"]);
        self.git(&work, &["push", "--quiet", "origin", "HEAD:refs/heads/catalog"]);
        self.head().unwrap()
    }
}
