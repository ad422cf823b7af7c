//! Changes of a published tree that somebody without a key could make, at random.

use std::collections::BTreeMap;

use pinhole_core::{Sha256Digest, canonical_json};
use serde_json::{Value, json};

use crate::chance::Random;

pub(crate) type Files = BTreeMap<String, Vec<u8>>;
/// Changes something, and says what; none when it would have changed nothing.
pub(crate) type Change = fn(&Random, &mut Files) -> Option<String>;

/// Every kind of change, with its name.
pub(crate) const KINDS: [(&str, Change); 11] = [
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

impl Random {
    fn path(&self, files: &Files) -> String {
        files.keys().nth(self.below(files.len())).unwrap().clone()
    }

    fn path_where(&self, files: &Files, wanted: impl Fn(&str) -> bool) -> String {
        let paths: Vec<_> = files.keys().filter(|path| wanted(path)).collect();
        paths[self.below(paths.len())].clone()
    }
}

fn flip(random: &Random, files: &mut Files) -> Option<String> {
    let path = random.path(files);
    flip_in(random, files.get_mut(&path)?);
    Some(path)
}

pub(crate) fn flip_in(random: &Random, bytes: &mut [u8]) {
    let at = random.below(bytes.len());
    bytes[at] ^= 1 << random.below(8);
}

fn cut_or_append(random: &Random, files: &mut Files) -> Option<String> {
    let path = random.path(files);
    let bytes = files.get_mut(&path)?;
    match random.below(3) {
        0 => bytes.truncate(random.below(bytes.len())),
        1 => bytes.push(b'\n'),
        _ => bytes.insert(random.below(bytes.len()), b' '),
    }
    Some(path)
}

fn delete(random: &Random, files: &mut Files) -> Option<String> {
    let path = random.path(files);
    files.remove(&path)?;
    Some(path)
}

/// Another name that a file could have: a digit or letter of it is another, or it is in another folder.
fn other_name(random: &Random, files: &Files, path: &str) -> Option<String> {
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

fn rename(random: &Random, files: &mut Files) -> Option<String> {
    let path = random.path(files);
    let name = other_name(random, files, &path)?;
    let bytes = files.remove(&path)?;
    files.insert(name.clone(), bytes);
    Some(format!("{path} to {name}"))
}

fn add(random: &Random, files: &mut Files) -> Option<String> {
    let path = random.path(files);
    let name = other_name(random, files, &path)?;
    let bytes = if random.below(2) == 0 { files[&path].clone() } else { random.number().to_be_bytes().to_vec() };
    files.insert(name.clone(), bytes);
    Some(name)
}

fn swap_files(random: &Random, files: &mut Files) -> Option<String> {
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

fn swap_signatures(random: &Random, files: &mut Files) -> Option<String> {
    let (one, other) = (random.path_where(files, is_envelope), random.path_where(files, is_envelope));
    let (mut first, mut second) = (json_of(files, &one), json_of(files, &other));
    std::mem::swap(&mut first["signatures"], &mut second["signatures"]);
    let changed = put(files, &one, &first);
    (put(files, &other, &second) && changed && one != other).then(|| format!("{one} and {other}"))
}

fn change_key_id(random: &Random, files: &mut Files) -> Option<String> {
    let path = random.path_where(files, is_envelope);
    let mut envelope = json_of(files, &path);
    let mut id: Vec<u8> = envelope["signatures"][0]["keyid"].as_str().unwrap().bytes().collect();
    let at = random.below(id.len());
    id[at] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef0123456789-_"[random.below(44)];
    envelope["signatures"][0]["keyid"] = String::from_utf8(id).unwrap().into();
    put(files, &path, &envelope).then_some(path)
}

/// Changes one value within a document that stays in canonical form.
fn change_value(random: &Random, files: &mut Files) -> Option<String> {
    let path = random.path_where(files, |path| path.ends_with(".json"));
    let mut document = json_of(files, &path);
    change_within(random, &mut document);
    put(files, &path, &document).then_some(path)
}

fn change_within(random: &Random, value: &mut Value) {
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

fn change_leaf(random: &Random, leaf: &mut Value) {
    *leaf = match leaf {
        Value::String(text) if !text.is_empty() && random.below(4) > 0 => {
            let mut characters: Vec<char> = text.chars().collect();
            let at = random.below(characters.len());
            characters[at] = char::from(b"0123456789abcdefAZ"[random.below(18)]);
            characters.into_iter().collect::<String>().into()
        }
        Value::Number(number) => json!(number.as_u64().unwrap_or_default() + 1 + random.below(3) as u64),
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

fn flip_and_list(random: &Random, files: &mut Files) -> Option<String> {
    let path = random.path_where(files, |path| path != "manifest.json");
    flip_in(random, files.get_mut(&path)?);
    list(files);
    Some(path)
}

fn add_and_list(random: &Random, files: &mut Files) -> Option<String> {
    let added = add(random, files)?;
    list(files);
    Some(added)
}
