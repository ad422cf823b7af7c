//! `pinhole verify catalog`: a published catalog as files, and where there is a clone, as the commits of a branch.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::Args;
use pinhole_core::{Error, LineName, LineOrigin, Result};
use pinhole_receipt::{
    CatalogReport, History, HistoryReport, TrustedKeys, VerifyError, log::Checkpoint, read_tree,
    signed_by_revoked_keys, verify_catalog, verify_history,
};
use pinhole_worker_publication::{CommitId, LocalClone};

use super::{checkpoint, trusted};
use crate::admin::parse;

type Files = BTreeMap<String, Vec<u8>>;
type Checked<T> = std::result::Result<T, VerifyError>;

/// Statements that are named when a revoked key signed them.
const MAX_NAMED: usize = 10;

/// Which commit of a clone is looked at; what is checked out when nothing is named.
#[derive(Args, Default)]
pub(crate) struct Tip {
    /// The branch of the clone that is looked at, instead of what is checked out.
    #[arg(long, value_name = "NAME", value_parser = parse::<LineName>, conflicts_with = "commit")]
    branch: Option<LineName>,
    /// The commit of the clone that is looked at, instead of what is checked out.
    #[arg(long, value_name = "ID", value_parser = parse::<CommitId>)]
    commit: Option<CommitId>,
}

impl Tip {
    /// Whether what is checked out is meant.
    fn is_checked_out(&self) -> bool {
        self.branch.is_none() && self.commit.is_none()
    }

    fn of(&self, clone: &LocalClone) -> Result<CommitId> {
        match (&self.branch, self.commit) {
            (_, Some(commit)) => Ok(commit),
            (Some(branch), None) => clone.tip(branch),
            (None, None) => clone.head(),
        }
    }
}

/// What there is to be looked at.
pub(super) struct Place {
    /// The catalog's files: of the commit, or of the folder where there is no clone.
    pub(super) files: Files,
    /// The clone and its commit.
    commits: Option<(LocalClone, CommitId)>,
    /// Why the commits are not looked at, when they are not.
    unseen: &'static str,
    folder: PathBuf,
    /// Whether the files that lie there must be those of the commit.
    has_work_tree: bool,
}

impl Place {
    /// Reads the catalog at `directory`.
    pub(super) fn read(directory: &Path, tip: &Tip) -> Result<Checked<Self>> {
        let clone = LocalClone::open(directory)?;
        let shallow = clone.as_ref().is_some_and(LocalClone::is_shallow);
        let folder = directory.to_owned();
        let Some(clone) = clone.filter(|clone| !shallow || !clone.has_work_tree() || !tip.is_checked_out()) else {
            if !tip.is_checked_out() {
                return Err(Error::invalid(directory.display().to_string(), "is no clone: it has no branch or commit"));
            }
            let unseen = if shallow { "the clone is shallow" } else { "this is no clone" };
            let files = read_tree(directory);
            return Ok(files.map(|files| Self { files, commits: None, unseen, folder, has_work_tree: false }));
        };
        if shallow {
            let message = "the clone is shallow: run `git fetch --unshallow` in it, for its commits to be checked";
            return Err(Error::conflict("shallow_clone", message));
        }
        let commit = tip.of(&clone)?;
        let has_work_tree = clone.has_work_tree() && tip.is_checked_out();
        let files = clone.files(commit).map_err(|error| unreadable(commit, &error));
        let empty = |files: &Files| files.is_empty().then(|| at(commit, "there is no catalog in it"));
        Ok(files.and_then(|files| match empty(&files) {
            Some(wrong) => Err(wrong),
            None => Ok(Self { files, commits: Some((clone, commit)), unseen: "", folder, has_work_tree }),
        }))
    }

    /// Verifies the files, and the commits where there are any.
    pub(super) fn verify(&self, keys: &TrustedKeys) -> Checked<(CatalogReport, Option<HistoryReport>)> {
        if self.has_work_tree {
            self.compare_with_work_tree()?;
        }
        let report = verify_catalog(&self.files, keys).map_err(|wrong| self.with_revoked(wrong, keys))?;
        let Some((clone, commit)) = &self.commits else { return Ok((report, None)) };
        let history = verify_history(&Commits(clone), &commit.to_string(), &self.files, keys)?;
        Ok((report, Some(history)))
    }

    /// What is checked out is what the commit holds.
    fn compare_with_work_tree(&self) -> Checked<()> {
        let found = read_tree(&self.folder)?;
        let paths = self.files.keys().chain(found.keys());
        match paths.into_iter().find(|path| self.files.get(*path) != found.get(*path)) {
            Some(path) => Err(VerifyError::new(path, "what is checked out is not what the commit holds")),
            None => Ok(()),
        }
    }

    /// Says what a revoked key has signed of the catalog, when that may be why it is not valid.
    fn with_revoked(&self, wrong: VerifyError, keys: &TrustedKeys) -> VerifyError {
        let revoked = signed_by_revoked_keys(&self.files, keys);
        if revoked.is_empty() {
            return wrong;
        }
        let named: Vec<_> = revoked.iter().take(MAX_NAMED).map(String::as_str).collect();
        let more = if revoked.len() > MAX_NAMED { " and more" } else { "" };
        let reason = format!(
            "{}; {} statements of this catalog are signed with revoked keys and would have to be made and signed anew: \
             {}{more}",
            wrong.reason(),
            revoked.len(),
            named.join(", ")
        );
        VerifyError::new(wrong.path(), reason)
    }
}

/// Checks a catalog, and that its log continues an earlier one; the text says what it holds and what was not looked at.
pub(crate) fn catalog(directory: &Path, keys: &Path, earlier: Option<&Path>, tip: &Tip) -> Result<Checked<String>> {
    let keys = trusted(keys)?;
    let earlier = earlier.map(checkpoint).transpose()?;
    let place = match Place::read(directory, tip)? {
        Ok(place) => place,
        Err(wrong) => return Ok(Err(wrong)),
    };
    let checked = place.verify(&keys).and_then(|(report, history)| {
        let continued = continued(&report, earlier.as_deref(), &keys)?;
        Ok((report, history, continued))
    });
    Ok(checked.map(|(report, history, continued)| {
        let log = report.log.as_ref().map_or(0, |log| log.checkpoint.size);
        let origin = report.forked_from.as_ref().map_or_else(String::new, |origin| {
            let LineOrigin { line, revision, digest } = origin;
            format!("; it was forked from line {line} revision {revision}, {digest}, which is not in this tree")
        });
        format!(
            "catalog {} line {} revision {}: {} active entries, {} signed statements, all of them in the log of {log} \
             entries{continued}{origin}; {}",
            report.project,
            report.line,
            report.revision,
            report.active_entries,
            report.statements,
            place.commits_told(history.as_ref())
        )
    }))
}

impl Place {
    fn commits_told(&self, history: Option<&HistoryReport>) -> String {
        let (Some(HistoryReport { publications, others }), Some((_, commit))) = (history, &self.commits) else {
            return format!("{}: commit signatures and trailers were not looked at", self.unseen);
        };
        let by_others = match others {
            0 => String::new(),
            others => format!(", {others} by others that leave the catalog alone"),
        };
        format!("commits up to {commit}: {publications} signed ones of publications{by_others}")
    }
}

/// Says that the log of a verified catalog continues an earlier checkpoint, when there is one to compare with.
fn continued(report: &CatalogReport, earlier: Option<&[u8]>, keys: &TrustedKeys) -> Checked<String> {
    let (Some(note), Some(log)) = (earlier, &report.log) else { return Ok(String::new()) };
    let earlier = Checkpoint::verify(note, keys).map_err(|error| error.within("the earlier checkpoint"))?;
    log.continues(&earlier)?;
    Ok(format!(", which continues the earlier one of {}", earlier.size))
}

/// A clone as verification asks for it.
struct Commits<'a>(&'a LocalClone);

impl History for Commits<'_> {
    fn commit(&self, id: &str) -> Checked<Vec<u8>> {
        read(id, |commit| self.0.commit(commit))
    }

    fn catalog(&self, id: &str) -> Checked<String> {
        read(id, |commit| self.0.catalog(commit))
    }

    fn file(&self, id: &str, path: &str) -> Checked<Option<Vec<u8>>> {
        read(id, |commit| self.0.file(commit, path))
    }
}

fn read<T>(id: &str, work: impl FnOnce(CommitId) -> Result<T>) -> Checked<T> {
    let commit: CommitId = id.parse().map_err(|_| VerifyError::new("", format!("{id} is no id of a commit")))?;
    work(commit).map_err(|error| VerifyError::new("", error.message()))
}

fn unreadable(commit: CommitId, error: &Error) -> VerifyError {
    at(commit, error.message())
}

fn at(commit: CommitId, reason: &str) -> VerifyError {
    VerifyError::new(format!("commit {commit}"), reason)
}
