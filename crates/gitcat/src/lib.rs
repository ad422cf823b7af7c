//! Publishing a catalog to Git: look, commit, push and read back. The only crate that names git2.
//!
//! [`run`] is one operation of the child process `pinhole git-helper`: a request in, an answer out, nothing kept but
//! the scratch repository. It never overwrites what others pushed: every push states the head that it replaces and
//! must descend from it. A commit is a pure function of its request, so that a retry after a lost answer pushes the
//! same commit again instead of a second one. Total deadlines are the parent's: it kills the child with its group.
//! Servers are spoken to over HTTPS and SSH; how each is known and who we are to it comes with the request.

mod access;
mod ancestry;
mod clone;
mod failure;
mod history;
mod local;
mod process;
mod push;
mod remote;
mod sign;
#[cfg(test)]
mod tests;
mod tree;
mod wire;

pub use clone::LocalClone;
pub use local::{checkout, create};
pub use sign::CommitKey;
pub use wire::{
    Author, CommitId, Draft, FailureKind, GitAnswer, GitRequest, MadeCommit, Marker, Operation, PushOutcome,
};

use failure::Failure;
use process::Certificates;
use remote::Remote;

/// Does what `request` asks. `commit_key` is needed for [`Operation::Commit`] and used for nothing else.
///
/// Certificates that the request names hold for the whole process, which is to be one operation's own.
pub fn run(request: GitRequest, commit_key: Option<&CommitKey>) -> GitAnswer {
    answer(request, commit_key).unwrap_or_else(Failure::into_answer)
}

fn answer(request: GitRequest, commit_key: Option<&CommitKey>) -> Result<GitAnswer, Failure> {
    let certificates = request.access.certificate_authorities.as_deref();
    process::isolate(certificates.map(|pem| Certificates { pem, folder: &request.scratch }).as_ref())?;
    let remote = Remote::open(&request)?;
    match request.operation {
        Operation::Look { marker, known_commits, expected_head, earlier } => {
            history::look(&remote, marker, &known_commits, expected_head, &earlier)
        }
        Operation::Commit(draft) => tree::commit(&remote, &draft, commit_key),
        Operation::Push { commit, expected_head } => push::push(&remote, commit, expected_head),
        Operation::ReadBack { commit, expected_head } => history::read_back(&remote, commit, expected_head),
    }
}
