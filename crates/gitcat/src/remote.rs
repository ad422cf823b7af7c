//! A remote and the scratch repository: addresses, heads and fetches.

use std::path::{Path, PathBuf};

use git2::{AutotagOption, FetchOptions, Oid, RemoteRedirect, Repository, RepositoryInitOptions};

use crate::{FailureKind, GitRequest, failure::Failure};

/// Where a remote is.
pub(crate) enum Address {
    /// A bare repository on this machine.
    Local(PathBuf),
    /// A server that speaks Git's own protocol.
    Server(String),
}

impl Address {
    /// Refuses credentials in the URL, because URLs are shown and logged, and schemes that this build cannot speak.
    fn parse(url: &str) -> Result<Self, Failure> {
        let path = url.strip_prefix("file://").unwrap_or(url);
        if path.starts_with('/') {
            return if path.contains('%') && path != url {
                Err(Failure::configuration("write the path itself instead of a file: URL with escapes"))
            } else {
                Ok(Self::Local(path.into()))
            };
        }
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| Failure::configuration("expected an absolute path, or a file:, https: or ssh: URL"))?;
        let host = rest.split('/').next().unwrap_or_default();
        if host.contains(':') && host.contains('@') || scheme != "ssh" && host.contains('@') {
            return Err(Failure::configuration("the URL holds credentials: name them by reference instead"));
        }
        let version = git2::Version::get();
        let spoken = match scheme {
            "https" => version.https(),
            "ssh" => version.ssh(),
            // Without encryption: for the tests of what servers answer, never for a real remote.
            "git" => cfg!(test),
            _ => false,
        };
        if spoken {
            Ok(Self::Server(url.into()))
        } else {
            Err(Failure::configuration(format!("this build cannot speak {scheme}: to a Git server")))
        }
    }

    /// What libgit2 calls it.
    pub(crate) fn as_url(&self) -> Result<&str, Failure> {
        match self {
            Self::Local(path) => path.to_str().ok_or_else(|| Failure::configuration("the path is not UTF-8")),
            Self::Server(url) => Ok(url),
        }
    }
}

/// A branch of a remote, and the scratch repository that stands between.
pub(crate) struct Remote {
    pub(crate) address: Address,
    pub(crate) scratch: Repository,
    /// `refs/heads/…` there.
    pub(crate) branch: String,
    /// Where the scratch repository keeps the head that it saw last, so that the next fetch is short.
    tracking: String,
}

impl Remote {
    pub(crate) fn open(request: &GitRequest) -> Result<Self, Failure> {
        let address = Address::parse(&request.url)?;
        if let Address::Local(path) = &address {
            // libgit2 takes a path without a repository for a URL of a strange scheme.
            Repository::open(path).map_err(|error| Failure::configuration(error.message()).while_("the remote"))?;
        }
        Ok(Self {
            address,
            scratch: open_scratch(&request.scratch)?,
            branch: format!("refs/heads/{}", request.branch),
            tracking: format!("refs/pinhole/heads/{}", request.branch),
        })
    }

    /// The branch's head after fetching everything that it holds; `None` when there is no such branch.
    pub(crate) fn fetch(&self) -> Result<Option<Oid>, Failure> {
        let mut remote = self.scratch.remote_anonymous(self.address.as_url()?)?;
        let connection = remote
            .connect_auth(git2::Direction::Fetch, None, None)
            .map_err(|error| Failure::from(error).while_("connecting to the remote"))?;
        let head = connection.list()?.iter().find(|head| head.name() == self.branch).map(git2::RemoteHead::oid);
        drop(connection);
        let Some(head) = head else { return Ok(None) };
        if !self.scratch.odb()?.exists(head) {
            self.download(&mut remote).map_err(|failure| failure.while_("fetching the branch"))?;
        }
        // Between the two connections the branch may have been rewritten; then the objects are not here.
        self.scratch.find_commit(head).map_err(|_| {
            Failure::new(FailureKind::Transient, "the branch moved, or its head is no commit: look again")
        })?;
        self.scratch.reference(&self.tracking, head, true, "seen on the remote")?;
        Ok(Some(head))
    }

    fn download(&self, remote: &mut git2::Remote<'_>) -> Result<(), Failure> {
        let mut options = FetchOptions::new();
        options.download_tags(AutotagOption::None).update_fetchhead(false).follow_redirects(RemoteRedirect::None);
        // Without a destination: which commit the branch has is decided by what the remote listed, not by a local ref.
        remote.fetch(&[self.branch.as_str()], Some(&mut options), None)?;
        Ok(())
    }

    /// Whether `commit` is `head` or an ancestor of it.
    pub(crate) fn is_on(&self, head: Oid, commit: Oid) -> Result<bool, Failure> {
        if head == commit {
            return Ok(true);
        }
        if self.scratch.find_commit(commit).is_err() {
            return Ok(false);
        }
        Ok(self.scratch.graph_descendant_of(head, commit)?)
    }
}

fn open_scratch(path: &Path) -> Result<Repository, Failure> {
    let opened = if path.join("HEAD").exists() {
        Repository::open_bare(path)
    } else {
        // No template: it could bring hooks and settings.
        let mut options = RepositoryInitOptions::new();
        options.bare(true).no_reinit(true).external_template(false).mkpath(true);
        Repository::init_opts(path, &options)
    };
    opened.map_err(|error| Failure::new(FailureKind::Scratch, format!("the scratch repository: {}", error.message())))
}
