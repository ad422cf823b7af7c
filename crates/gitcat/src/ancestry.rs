//! What a head has behind it, when the scratch repository has a part of that only. More is fetched in steps, where an
//! answer needs it, and no answer is given that the missing part could change.
//!
//! Parents are read from the commits themselves: libgit2 shows a commit at the edge of what was fetched as one without
//! parents.

use std::{
    collections::{HashSet, VecDeque},
    slice,
};

use git2::{Odb, Oid};

use crate::{
    failure::Failure,
    remote::{Address, Remote},
};

/// How many commits of each line of history are fetched from a server one step after the other. The last is all of
/// them: the number by which Git itself says so.
const DEPTHS: [i32; 4] = [50, 1_000, 10_000, i32::MAX];

/// What a search has come to.
enum Search {
    Found(Oid),
    Nowhere,
    /// Nothing yet, and there are parents that were not fetched.
    Cut,
}

/// The history behind a head of the remote, as far as it was fetched.
pub(crate) struct Ancestry<'a> {
    remote: &'a Remote,
    head: Oid,
    odb: Odb<'a>,
    deeper: slice::Iter<'static, i32>,
}

impl<'a> Ancestry<'a> {
    pub(crate) fn of(remote: &'a Remote, head: Oid) -> Result<Self, Failure> {
        let deeper = match remote.address {
            // All that there is was fetched with the head.
            Address::Local(_) => [].iter(),
            Address::Server(_) => DEPTHS.iter(),
        };
        Ok(Self { remote, head, odb: remote.scratch.odb()?, deeper })
    }

    /// The one of `wanted` that is the head or the nearest of its ancestors. Not searched is what is behind `floor`.
    pub(crate) fn find(&mut self, wanted: &[Oid], floor: Option<Oid>) -> Result<Option<Oid>, Failure> {
        if wanted.is_empty() {
            return Ok(None);
        }
        loop {
            match self.search(wanted, floor)? {
                Search::Found(found) => return Ok(Some(found)),
                Search::Cut if self.deepen()? => {}
                Search::Nowhere | Search::Cut => return Ok(None),
            }
        }
    }

    /// Fetches `commit`, an ancestor; false when it is not to be had.
    pub(crate) fn bring(&mut self, commit: Oid) -> Result<bool, Failure> {
        while !self.odb.exists(commit) {
            if !self.deepen()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The first parent of a fetched commit, fetched as well; `None` when it has none that is to be had.
    pub(crate) fn first_parent(&mut self, commit: Oid) -> Result<Option<Oid>, Failure> {
        match self.parents(commit)?.first() {
            Some(parent) if self.bring(*parent)? => Ok(Some(*parent)),
            _ => Ok(None),
        }
    }

    fn search(&self, wanted: &[Oid], floor: Option<Oid>) -> Result<Search, Failure> {
        let mut known = HashSet::from([self.head]);
        let mut queue = VecDeque::from([self.head]);
        let mut cut = false;
        while let Some(commit) = queue.pop_front() {
            if wanted.contains(&commit) {
                return Ok(Search::Found(commit));
            }
            if floor == Some(commit) {
                continue;
            }
            if self.odb.exists(commit) {
                queue.extend(self.parents(commit)?.into_iter().filter(|parent| known.insert(*parent)));
            } else {
                cut = true;
            }
        }
        Ok(if cut { Search::Cut } else { Search::Nowhere })
    }

    fn parents(&self, commit: Oid) -> Result<Vec<Oid>, Failure> {
        let object = self.odb.read(commit)?;
        let header = object.data().split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
        let parents = header.filter_map(|line| std::str::from_utf8(line.strip_prefix(b"parent ")?).ok());
        Ok(parents.map(Oid::from_str).collect::<Result<_, _>>()?)
    }

    /// Takes one step; false when all has been fetched.
    fn deepen(&mut self) -> Result<bool, Failure> {
        let Some(depth) = self.deeper.next() else { return Ok(false) };
        self.remote.deepen(self.head, *depth)?;
        Ok(true)
    }
}
