//! The store's contract: every public method of the crate on SQLite and on PostgreSQL, with the same expectations.
//!
//! Each test below an [`support::on_both_engines`] runs once for each engine on a database of its own. A transaction is
//! called `tx` (or something that ends in `tx`) and a store `store`, by which [`completeness`] finds out which methods
//! have a case.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that meets an error has to fail")]

mod automations;
mod baselines;
mod catalog;
mod cell_ends;
mod cell_model;
mod cells;
mod completeness;
mod evidence;
mod identity;
mod investigations;
mod lists;
mod log;
mod migrations;
mod principals;
mod projects;
mod publications;
mod records;
mod rows;
mod runs;
mod settings;
mod sign_in;
mod support;
mod transactions;
