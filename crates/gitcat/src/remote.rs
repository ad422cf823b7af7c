//! A remote and the scratch repository: addresses, heads and fetches.

use std::path::{Path, PathBuf};

use git2::{
    AutotagOption, Direction, FetchOptions, Oid, RemoteHead, RemoteRedirect, Repository, RepositoryInitOptions,
    RepositoryOpenFlags,
};
use pinhole_core::RemoteAccess;

use crate::{FailureKind, GitRequest, access::Handshake, failure::Failure};

/// The depth of a fetch that brings one commit with its tree.
const HEAD_ALONE: i32 = 1;

/// No folder in which a search for a repository ends: none is searched for.
const NO_CEILING: [&str; 0] = [];

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
        let user = rest.split('/').next().and_then(|host| host.rsplit_once('@')).map(|(user, _)| user);
        if user.is_some_and(|user| scheme != "ssh" || user.contains(':')) {
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
    /// How a server is known, and who we are to it.
    pub(crate) access: RemoteAccess,
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
            access: request.access.clone(),
            scratch: open_scratch(&request.scratch)?,
            branch: format!("refs/heads/{}", request.branch),
            tracking: format!("refs/pinhole/heads/{}", request.branch),
        })
    }

    /// The branch's head after fetching what it holds; `None` when there is no such branch. From a server comes the
    /// head's tree alone; a repository on this machine can only be asked for its history as well.
    pub(crate) fn fetch(&self) -> Result<Option<Oid>, Failure> {
        self.fetch_to(None)
    }

    /// Fetches the newest `depth` commits of each line of history behind `head`, which must still be the branch's.
    pub(crate) fn deepen(&self, head: Oid, depth: i32) -> Result<(), Failure> {
        match self.fetch_to(Some(depth))? {
            Some(now) if now == head => Ok(()),
            _ => Err(Failure::new(FailureKind::Transient, "the branch moved while its history was read: look again")),
        }
    }

    fn fetch_to(&self, depth: Option<i32>) -> Result<Option<Oid>, Failure> {
        let url = self.address.as_url()?;
        let handshake = Handshake::new(&self.access, url);
        let mut remote = self.scratch.remote_anonymous(url)?;
        let mut connection = remote
            .connect_auth(Direction::Fetch, Some(handshake.callbacks()), None)
            .map_err(|error| handshake.failure(error).while_("connecting to the remote"))?;
        let head = connection.list()?.iter().find(|head| head.name() == self.branch).map(RemoteHead::oid);
        let Some(head) = head else { return Ok(None) };
        if depth.is_some() || !self.scratch.odb()?.exists(head) {
            let mut options = FetchOptions::new();
            options.remote_callbacks(handshake.callbacks()).follow_redirects(RemoteRedirect::None);
            options.download_tags(AutotagOption::None).update_fetchhead(false);
            if matches!(self.address, Address::Server(_)) {
                options.depth(depth.unwrap_or(HEAD_ALONE));
            }
            // Without a destination: which commit the branch has is decided by what the remote listed, not by a local
            // ref.
            let fetched = connection.remote().download(&[self.branch.as_str()], Some(&mut options));
            fetched.map_err(|error| handshake.failure(error).while_("fetching the branch"))?;
        }
        self.scratch.find_commit(head).map_err(|_| {
            Failure::new(FailureKind::Transient, "the branch moved, or its head is no commit: look again")
        })?;
        self.scratch.reference(&self.tracking, head, true, "seen on the remote")?;
        Ok(Some(head))
    }
}

fn open_scratch(path: &Path) -> Result<Repository, Failure> {
    // `Repository::open_bare` would not read where the fetched history ends, and walks would run into what is not there.
    let flags = RepositoryOpenFlags::BARE | RepositoryOpenFlags::NO_SEARCH;
    let opened =
        if path.join("HEAD").exists() { Repository::open_ext(path, flags, NO_CEILING) } else { init_scratch(path) };
    opened.map_err(|error| Failure::new(FailureKind::Scratch, format!("the scratch repository: {}", error.message())))
}

fn init_scratch(path: &Path) -> Result<Repository, git2::Error> {
    // No template: it could bring hooks and settings.
    let mut options = RepositoryInitOptions::new();
    options.bare(true).no_reinit(true).external_template(false).mkpath(true);
    let repository = Repository::init_opts(path, &options)?;
    // A connection that is not made for a fetch or a push takes this from here alone.
    repository.config()?.set_bool("http.followRedirects", false)?;
    Ok(repository)
}
