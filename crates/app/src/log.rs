//! The transparency log: every committed audit row, receipt, review, decision, catalog revision and publication receipt
//! becomes a leaf of one append-only tree, whose signed checkpoints say that nothing before them was taken back.
//!
//! Records enter the log in their own transactions, where they get a row without a leaf. One sequencer at a time gives
//! leaves to what is committed, stores the tree, and only then signs. It has no actor and writes no audit row, because
//! what it does would be a record of the log again. It must not sign over a tree that it has not compared with what was
//! signed before.

mod anew;
mod export;
mod outside;
mod prove;
mod public;
mod read;
mod sequence;
mod tiles;

use std::sync::Arc;

use pinhole_core::{Error, Result, Signer, Witness};
use pinhole_receipt::{Jwk, Jwks, KeyStatus, KeyUse, PublicKey, TrustedKeys, log::LogHead};
use pinhole_store::LogState;

pub(crate) use prove::Prover;
pub(crate) use read::{consistency, proof};
pub(crate) use sequence::COMPARE_EVERY;

use crate::App;

/// What a process that may sign checkpoints has besides.
#[derive(Clone)]
pub struct LogPorts {
    /// The log's own key.
    pub signer: Arc<dyn Signer>,
    /// What was signed before, kept outside of the database.
    pub witness: Arc<dyn Witness>,
}

impl App {
    /// The log's ports; an internal error in a process that has none.
    fn log_ports(&self) -> Result<&LogPorts> {
        self.inner.log.as_ref().ok_or_else(|| Error::internal("this process has no log key"))
    }

    /// Whether this process may sign checkpoints.
    pub(crate) fn signs_log(&self) -> bool {
        self.inner.log.is_some()
    }

    /// The key of the log, to tell its own checkpoints from others.
    pub(crate) fn log_keys(&self) -> Result<TrustedKeys> {
        let key = PublicKey::from_bytes(self.log_ports()?.signer.public_key());
        let keys = vec![Jwk::new(&key, KeyUse::Log, KeyStatus::Active)];
        TrustedKeys::from_jwks(&Jwks { keys }).map_err(Error::internal)
    }
}

fn head_of(state: &LogState) -> LogHead {
    LogHead { size: state.size, root: state.root }
}
