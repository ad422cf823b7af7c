//! Pages of lists: where one starts, whether another follows, and the one form that a cursor has outside.
//!
//! A use case knows bare positions. What callers see and send is sealed here, for all operations alike: the position
//! with a code over it, the caller, the operation and everything else that was asked for. A cursor opens the list that
//! gave it, for the principal that it was given to, and nothing else. The code proves where a position came from; it is
//! no authority, and each page is authorised on its own.

use std::str::FromStr;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use pinhole_contract::{Cursor, Limit};
use pinhole_core::{Actor, Error, PrincipalId, Result, canonical_json};
use serde_json::{Map, Value};
use sha2::Sha256;

use crate::App;

/// Members of a list's input that say which page of it is meant, not what is listed.
const PLACES: [&str; 2] = ["cursor", "limit"];
/// Length of the code in bytes; a guess passes once in 2^128.
const CODE_BYTES: usize = 16;
/// What the statement key signs to make the cursors' key. It is no statement, so nothing that is published reveals it.
const KEY_LABEL: &[u8] = b"pinhole.cursor-key.v1";

/// One list as one caller asked for it: what a cursor belongs to.
pub(crate) struct Listing {
    principal: PrincipalId,
    operation: &'static str,
    filter: Map<String, Value>,
}

impl Listing {
    /// The list that `input` asks `operation` for. A member that is null counts as left out.
    pub(crate) fn of(actor: &Actor, operation: &'static str, input: &Map<String, Value>) -> Self {
        let filter = input.iter().filter(|(name, value)| !PLACES.contains(&name.as_str()) && !value.is_null());
        let filter = filter.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { principal: actor.principal, operation, filter }
    }

    /// Puts the position into `input` in place of the sealed cursor, if there is one.
    ///
    /// # Errors
    /// `invalid_arguments` when no earlier page of this list gave it to this principal.
    pub(crate) fn open(&self, app: &App, input: &mut Map<String, Value>) -> Result<()> {
        let Some(Value::String(cursor)) = input.get_mut("cursor") else { return Ok(()) };
        *cursor = self.opened(&app.cursor_key()?, cursor)?;
        Ok(())
    }

    /// Seals the position that a view names as its next page, if it names one.
    pub(crate) fn seal(&self, app: &App, view: &mut Value) -> Result<()> {
        let Some(Value::String(position)) = view.get_mut("next_cursor") else { return Ok(()) };
        *position = self.sealed(&app.cursor_key()?, position)?;
        Ok(())
    }

    fn opened(&self, key: &[u8], cursor: &str) -> Result<String> {
        let opened = BASE64_URL_SAFE_NO_PAD.decode(cursor.as_bytes()).map_err(|_| bad_cursor())?;
        let (code, position) = opened.split_at_checked(CODE_BYTES).ok_or_else(bad_cursor)?;
        let position = str::from_utf8(position).map_err(|_| bad_cursor())?;
        self.code(key, position)?.verify_truncated_left(code).map_err(|_| bad_cursor())?;
        Ok(position.to_owned())
    }

    fn sealed(&self, key: &[u8], position: &str) -> Result<String> {
        let code = self.code(key, position)?.finalize().into_bytes();
        let sealed = code.iter().take(CODE_BYTES).chain(position.as_bytes());
        Ok(BASE64_URL_SAFE_NO_PAD.encode(sealed.copied().collect::<Vec<u8>>()))
    }

    fn code(&self, key: &[u8], position: &str) -> Result<Hmac<Sha256>> {
        let bound = canonical_json(&(self.principal, self.operation, &self.filter, position))?;
        let mut code = Hmac::<Sha256>::new_from_slice(key).map_err(Error::internal)?;
        code.update(&bound);
        Ok(code)
    }
}

impl App {
    /// The key of the codes in cursors: a signature that only the holder of the statement key can make, and always the
    /// same, so that every process of an installation opens what another sealed. With another statement key, lists that
    /// are being read begin anew.
    fn cursor_key(&self) -> Result<Vec<u8>> {
        self.signer()?.sign(KEY_LABEL)
    }
}

/// The position that an opened cursor stands for; `None` at the beginning.
///
/// # Errors
/// `invalid_arguments` when it is none that this list gives.
pub(crate) fn position<T: FromStr>(cursor: Option<&Cursor>) -> Result<Option<T>> {
    cursor.map(|cursor| cursor.as_str().parse()).transpose().map_err(|_| bad_cursor())
}

/// What a cursor is told that no earlier page gave.
pub(crate) fn bad_cursor() -> Error {
    Error::invalid("cursor", "expected a cursor that an earlier page of this list gave you, with the same filter")
}

/// How many items to load for a page: one more than it holds tells whether another follows.
pub(crate) const fn to_load(limit: Limit) -> u32 {
    limit.get() + 1
}

/// Cuts what was loaded to the page; answers where the next one starts, if another follows: at what `position` makes of
/// the last item on this one.
pub(crate) fn cut<T, P: ToString>(found: &mut Vec<T>, limit: Limit, position: impl FnOnce(&T) -> P) -> Option<Cursor> {
    let more = found.len() > limit.get() as usize;
    found.truncate(limit.get() as usize);
    found.last().filter(|_| more).map(|last| Cursor::new(position(last).to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::Index};
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    const KEY: &[u8] = b"a key";

    fn listing(principal: u128, operation: &'static str, project: &str) -> Listing {
        let filter = Map::from_iter([("project".to_owned(), json!(project))]);
        Listing { principal: PrincipalId::from_uuid(Uuid::from_u128(principal)), operation, filter }
    }

    proptest! {
        #[test]
        fn a_cursor_opens_as_it_was_sealed_and_for_nothing_else(position in ".{0,40}", project in "[a-z]{1,8}") {
            let own = listing(1, "list_runs", &project);
            let cursor = own.sealed(KEY, &position).unwrap();
            prop_assert_eq!(own.opened(KEY, &cursor).unwrap(), position);
            for (other, key) in [
                (listing(2, "list_runs", &project), KEY),
                (listing(1, "list_scenarios", &project), KEY),
                (listing(1, "list_runs", &format!("{project}a")), KEY),
                (listing(1, "list_runs", &project), b"another key"),
            ] {
                prop_assert!(other.opened(key, &cursor).is_err());
            }
        }

        #[test]
        fn a_changed_cursor_is_refused(position in ".{0,40}", place in any::<Index>(), bit in 0..8_u8) {
            let own = listing(1, "list_runs", "shop");
            let mut bytes = BASE64_URL_SAFE_NO_PAD.decode(own.sealed(KEY, &position).unwrap()).unwrap();
            let changed = place.index(bytes.len());
            bytes[changed] ^= 1 << bit;
            prop_assert!(own.opened(KEY, &BASE64_URL_SAFE_NO_PAD.encode(bytes)).is_err());
        }

        #[test]
        fn no_cursor_is_too_odd(text in "[A-Za-z0-9_-]{0,60}|.{0,40}", bytes in vec(any::<u8>(), 0..40)) {
            let own = listing(1, "list_runs", "shop");
            prop_assert!(own.opened(KEY, &text).is_err());
            prop_assert!(own.opened(KEY, &BASE64_URL_SAFE_NO_PAD.encode(bytes)).is_err());
        }
    }
}
