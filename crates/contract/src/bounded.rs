//! Bounds of texts and lists that have no type of their own: the parser enforces what the schema says, with lengths in
//! characters as JSON Schema counts them.

use pinhole_core::{RemoteAccess, Scope};
use serde::{Deserialize, Deserializer, de::Error};

/// A text of `MIN` to `MAX` characters.
pub(crate) fn text<'de, const MIN: usize, const MAX: usize, D>(deserializer: D) -> Result<String, D::Error>
where
    D: Deserializer<'de>,
{
    checked::<MIN, MAX, _>(String::deserialize(deserializer)?)
}

/// The same, or null.
pub(crate) fn optional_text<'de, const MIN: usize, const MAX: usize, D>(
    deserializer: D,
) -> Result<Option<String>, D::Error>
where
    D: Deserializer<'de>,
{
    Option::<String>::deserialize(deserializer)?.map(checked::<MIN, MAX, _>).transpose()
}

/// At most `MANY` texts of 1 to `MAX` characters.
pub(crate) fn texts<'de, const MANY: usize, const MAX: usize, D>(deserializer: D) -> Result<Vec<String>, D::Error>
where
    D: Deserializer<'de>,
{
    list::<0, MANY, String, _>(deserializer)?.into_iter().map(checked::<1, MAX, _>).collect()
}

/// At most 50 names of branches, each of at most 200 characters.
pub(crate) fn branches<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    list::<0, 50, String, _>(deserializer)?.into_iter().map(checked::<1, 200, _>).collect()
}

/// 1 to 10 origins, each of at most 255 characters.
pub(crate) fn origins<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    list::<1, 10, String, _>(deserializer)?.into_iter().map(checked::<1, 255, _>).collect()
}

/// A list of `MIN` to `MAX` items.
pub(crate) fn list<'de, const MIN: usize, const MAX: usize, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    let items = Vec::<T>::deserialize(deserializer)?;
    if (MIN..=MAX).contains(&items.len()) {
        return Ok(items);
    }
    Err(D::Error::custom(format_args!("expected {MIN} to {MAX} items")))
}

/// A number of `MIN` to `MAX`, or null.
pub(crate) fn optional_number<'de, const MIN: u32, const MAX: u32, D>(deserializer: D) -> Result<Option<u32>, D::Error>
where
    D: Deserializer<'de>,
{
    let number = Option::<u32>::deserialize(deserializer)?;
    if number.is_none_or(|number| (MIN..=MAX).contains(&number)) {
        return Ok(number);
    }
    Err(D::Error::custom(format_args!("expected {MIN} to {MAX}")))
}

/// A scope of at most 50 permissions.
pub(crate) fn scope<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Scope, D::Error> {
    match Scope::deserialize(deserializer)? {
        Scope::Only(permissions) if permissions.len() > 50 => Err(D::Error::custom("expected at most 50 permissions")),
        scope => Ok(scope),
    }
}

/// A commit id of Git (SHA-1, the only object format that is published to), or null.
pub(crate) fn optional_commit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let commit = Option::<String>::deserialize(deserializer)?;
    let is_commit = |text: &String| text.len() == 40 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if commit.as_ref().is_none_or(is_commit) {
        return Ok(commit);
    }
    Err(D::Error::custom("expected 40 lower-case hexadecimal digits, or null"))
}

/// An SSH host key as `ssh-keygen -l` shows it, or null.
pub(crate) fn optional_host_key<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let key = Option::<String>::deserialize(deserializer)?;
    if key.as_deref().is_none_or(RemoteAccess::is_host_key) {
        return Ok(key);
    }
    Err(D::Error::custom("expected SHA256: and 43 characters of base64, as ssh-keygen -l shows it"))
}

fn checked<const MIN: usize, const MAX: usize, E: Error>(text: String) -> Result<String, E> {
    if (MIN..=MAX).contains(&text.chars().count()) {
        return Ok(text);
    }
    Err(E::custom(format_args!("expected {MIN} to {MAX} characters")))
}
