//! Runs: admission, and reading them and their results.

mod admission;
mod list;
mod result;
mod view;

pub(crate) use admission::{FIRST_REQUEUE, Trigger, start, start_as};
pub(crate) use list::{list, visible_environments};
pub(crate) use result::result;
pub(crate) use view::{authorised, get};
