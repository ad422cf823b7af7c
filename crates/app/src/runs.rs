//! Runs: admission, and reading them and their results.

mod admission;
mod list;
mod result;
mod view;

pub(crate) use admission::{FIRST_REQUEUE, start};
pub(crate) use list::list;
pub(crate) use result::result;
pub(crate) use view::{authorised, get};
