//! Pages of lists: where one starts, and whether another follows.

use std::str::FromStr;

use pinhole_contract::{Cursor, Limit};
use pinhole_core::{Error, Result};

/// The position that a cursor stands for; `None` at the beginning.
///
/// # Errors
/// `invalid_arguments` when it is none that this list gives.
pub(crate) fn position<T: FromStr>(cursor: Option<&Cursor>) -> Result<Option<T>> {
    cursor.map(|cursor| cursor.as_str().parse()).transpose().map_err(|_| bad_cursor())
}

/// What a cursor is told that no earlier page gave.
pub(crate) fn bad_cursor() -> Error {
    Error::invalid("cursor", "expected a cursor as an earlier page gave it")
}

/// How many items to load for a page: one more than it holds tells whether another follows.
pub(crate) const fn to_load(limit: Limit) -> u32 {
    limit.get() + 1
}

/// Cuts what was loaded to the page; answers whether another follows.
pub(crate) fn cut<T>(found: &mut Vec<T>, limit: Limit) -> bool {
    let more = found.len() > limit.get() as usize;
    found.truncate(limit.get() as usize);
    more
}
