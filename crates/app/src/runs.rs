//! Runs: admission, cancelling, and reading them and their results.

mod admission;
mod cancel;
mod list;
mod result;
mod view;

pub(crate) use admission::{Admissible, FIRST_REQUEUE, Trigger, admissible, start, start_as};
pub(crate) use cancel::cancel;
pub(crate) use list::{list, visible_environments};
pub(crate) use result::result;
pub(crate) use view::{authorised, authorised_part, get, view_of as run_view};
