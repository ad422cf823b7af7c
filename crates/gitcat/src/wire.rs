//! What goes to the child process and comes back, as JSON.

use std::{collections::BTreeMap, fmt, path::PathBuf, str::FromStr};

use pinhole_core::{Error, LineName, PublicationId, RemoteAccess, Sha256Digest};
use serde::{Deserialize, Serialize};

/// One operation on one branch of one remote.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GitRequest {
    /// An absolute path, or a `file:`, `https:` or `ssh:` URL without credentials.
    pub url: String,
    /// How the server there is reached.
    pub access: RemoteAccess,
    /// The branch, without `refs/heads/`.
    pub branch: LineName,
    /// Folder of a bare repository for the objects on their way; made when it is missing. It may be deleted between
    /// publications, and must be when an answer says [`FailureKind::Scratch`].
    pub scratch: PathBuf,
    /// What to do.
    pub operation: Operation,
}

/// What to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case", deny_unknown_fields)]
pub enum Operation {
    /// Finds the branch's head, and whether a publication is on it already.
    Look {
        /// The publication whose marker file to look for.
        marker: PublicationId,
        /// Commits that earlier attempts may have pushed, at most 100.
        known_commits: Vec<CommitId>,
        /// The head that the publication is to replace. The known commits are not looked for behind it: whoever named
        /// it has seen what is there. With `None` they are looked for in all of the history.
        expected_head: Option<CommitId>,
        /// Other publications whose marker files are to be looked for at the head, at most 1,000.
        earlier: Vec<PublicationId>,
    },
    /// Makes the commit in the scratch repository.
    Commit(Draft),
    /// Pushes a commit that [`Operation::Commit`] made.
    Push {
        /// The commit.
        commit: CommitId,
        /// The head that it replaces, its parent; `None` when the branch does not exist.
        expected_head: Option<CommitId>,
    },
    /// Reads what the branch holds. Bytes that the scratch repository has are not asked for again: name an empty one
    /// to have all of them come from the remote.
    ReadBack {
        /// The commit that should be on the branch.
        commit: CommitId,
        /// The head that it replaced, if that is known: it is not looked for behind that.
        expected_head: Option<CommitId>,
    },
}

/// A commit to make: all that its id depends on, beside the key.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// The parent; `None` for the first commit of a branch.
    pub expected_head: Option<CommitId>,
    /// The complete catalog: path to base64 of the bytes. Catalog files of the parent that are not among them go, all
    /// other files stay.
    pub files: BTreeMap<String, String>,
    /// The message with its trailers.
    pub message: String,
    /// Author and committer.
    pub author: Author,
    /// Both dates: seconds since the Unix epoch, in UTC.
    pub at_s: i64,
    /// The commit that an earlier try made of the same: it is made again with its signature, also after the key was
    /// rotated.
    pub made: Option<MadeCommit>,
}

/// A commit that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MadeCommit {
    /// Its id.
    pub commit: CommitId,
    /// Its armoured signature, which the id depends on.
    pub signature: String,
}

/// Who a commit is by.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Author {
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub enum GitAnswer {
    /// To [`Operation::Look`].
    Look {
        /// The branch's head; `None` when there is no such branch.
        head: Option<CommitId>,
        /// Where the publication is on the branch.
        found: Option<Marker>,
        /// The checkpoint of the transparency log at the head, when there is a file in its place that can be one.
        log_checkpoint: Option<String>,
        /// SHA-256 of the marker files of the earlier publications that have one at the head.
        markers: BTreeMap<PublicationId, Sha256Digest>,
    },
    /// To [`Operation::Commit`].
    Committed(MadeCommit),
    /// To [`Operation::Push`].
    Push {
        /// What the remote said.
        outcome: PushOutcome,
    },
    /// To [`Operation::ReadBack`].
    ReadBack {
        /// Whether the commit is the head or an ancestor of it.
        on_branch: bool,
        /// The branch's head.
        head: Option<CommitId>,
        /// SHA-256 of the catalog's files at the commit; empty when it is not on the branch.
        files: BTreeMap<String, Sha256Digest>,
    },
    /// To any of them. After a failed push the branch may have moved all the same: look before trying again.
    Failed {
        /// What may help.
        kind: FailureKind,
        /// Why, at most 500 characters.
        why: String,
    },
}

/// A publication that is on the branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marker {
    /// The commit: a known one, or the oldest one that holds the marker file without a break up to the head.
    pub commit: CommitId,
    /// SHA-256 of the marker file at the head; `None` when the file is gone and only the commit is known.
    pub marker: Option<Sha256Digest>,
}

/// What came of a push.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case", deny_unknown_fields)]
pub enum PushOutcome {
    /// The branch was moved to the commit.
    Pushed,
    /// The branch held the commit before.
    UpToDate,
    /// The remote refuses; trying again is no use.
    Rejected {
        /// What it said, at most 500 characters.
        why: String,
        /// Whether it was a known rule of the remote: a protected branch, a rule set, a hook.
        policy: bool,
    },
    /// The branch holds something else than the expected head.
    Stale {
        /// The head that it has; `None` when it does not exist, or was moved at the same moment.
        head: Option<CommitId>,
    },
    /// It may work later. The branch may have moved all the same: look before trying again.
    Transient {
        /// What went wrong, at most 500 characters.
        why: String,
    },
}

/// What may help against a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Trying again later.
    Transient,
    /// Another configuration of the remote.
    Configuration,
    /// Another request: this one is wrong and will stay so.
    Invalid,
    /// Deleting the scratch repository.
    Scratch,
}

/// The id of a commit: 40 lower-case hexadecimal digits (SHA-1, the only object format here).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitId(git2::Oid);

impl CommitId {
    pub(crate) const fn new(oid: git2::Oid) -> Self {
        Self(oid)
    }

    pub(crate) const fn oid(self) -> git2::Oid {
        self.0
    }
}

impl FromStr for CommitId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::invalid("commit", "expected 40 lower-case hexadecimal digits");
        if text.len() != 40 || !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(wrong());
        }
        git2::Oid::from_str(text).map(Self).map_err(|_| wrong())
    }
}

impl TryFrom<String> for CommitId {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<CommitId> for String {
    fn from(commit: CommitId) -> Self {
        commit.to_string()
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
