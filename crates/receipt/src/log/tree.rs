//! The tree, in tiles of 256 hashes: appending to it and proving from it without ever reading all of it.
//!
//! Whoever keeps the tiles calls a function with those at hand; it answers with what it was asked for or with the tiles
//! that it needs besides. Tiles that do not belong to the root are found out, so that a damaged store gives no proof.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use pinhole_core::{Error, Result, Sha256Digest};
use tlog_tiles::{
    Error as TreeError, HASH_SIZE, Hash, HashReader, Tile, TileHashReader, TileReader, prove_record, prove_tree,
    stored_hash_index, stored_hashes_for_record_hash, tree_hash,
};

use super::{ConsistencyProof, EMPTY_ROOT, InclusionProof, MAX_LOG_SIZE, leaf_hash};

/// Height of a tile: the one of C2SP.
const TILE_HEIGHT: u8 = 8;
/// Hashes in a full tile.
pub const TILE_WIDTH: u64 = 1 << TILE_HEIGHT;

/// Where the log's tree stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogHead {
    /// Number of leaves.
    pub size: u64,
    /// The root over them.
    pub root: Sha256Digest,
}

impl LogHead {
    /// A log without leaves.
    pub const EMPTY: Self = Self { size: 0, root: EMPTY_ROOT };
}

/// Which tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TileId {
    /// Its level, from 0: that of the leaves.
    pub level: u8,
    /// Its place within the level, from 0.
    pub number: u64,
}

/// Tiles at hand. Of a tile that grew, the widest form is kept.
#[derive(Clone, Debug, Default)]
pub struct Tiles(pub(super) BTreeMap<TileId, Vec<u8>>);

impl Tiles {
    /// Adds a tile's hashes, 32 bytes each.
    pub fn insert(&mut self, id: TileId, hashes: Vec<u8>) {
        self.0.insert(id, hashes);
    }
}

/// An answer, or what it takes to give it.
#[derive(Debug)]
pub enum NeededTiles<T> {
    /// The answer.
    None(T),
    /// Tiles to be handed in besides, at least one; then the same question is to be asked again.
    Some(Vec<TileId>),
}

/// A log that has grown.
#[derive(Debug)]
pub struct Grown {
    /// Where it stands now.
    pub head: LogHead,
    /// Every tile that is new or wider.
    pub tiles: Vec<(TileId, Vec<u8>)>,
}

/// Appends entries.
pub fn append(tiles: &Tiles, head: LogHead, entries: &[Sha256Digest]) -> Result<NeededTiles<Grown>> {
    let size = head.size + entries.len() as u64;
    if size > MAX_LOG_SIZE {
        return Err(Error::internal("the log has no room for more leaves"));
    }
    let source = Source::new(tiles);
    let reader = Growing { old: Reader::new(&source, head), old_count: first_new(head.size), new: RefCell::default() };
    let grown = grow(&reader, head.size, entries).and_then(|()| {
        let root = tree_hash(size, &reader)?;
        let new_tiles = Tile::new_tiles(TILE_HEIGHT, head.size, size);
        let data = new_tiles.iter().map(|tile| Ok((id_of(tile), tile.read_data(&reader)?)));
        let tiles = data.collect::<Result<Vec<_>, TreeError>>()?;
        Ok(Grown { head: LogHead { size, root: digest(root) }, tiles })
    });
    source.answer(grown)
}

/// The root that the log had at `size` leaves.
pub fn root_at(tiles: &Tiles, head: LogHead, size: u64) -> Result<NeededTiles<Sha256Digest>> {
    within(size, head.size)?;
    if size == head.size {
        return Ok(NeededTiles::None(head.root));
    }
    let source = Source::new(tiles);
    source.answer(tree_hash(size, &Reader::new(&source, head)).map(digest))
}

/// Proves that `leaf` is in the tree of the first `size` leaves.
pub fn prove_inclusion(tiles: &Tiles, head: LogHead, size: u64, leaf: u64) -> Result<NeededTiles<InclusionProof>> {
    within(size, head.size)?;
    if leaf >= size {
        return Err(Error::internal("a leaf beyond the tree that it is to be proved in"));
    }
    let source = Source::new(tiles);
    let proof = prove_record(size, leaf, &Reader::new(&source, head));
    source.answer(proof.map(|hashes| InclusionProof { leaf, size, hashes: hashes.into_iter().map(digest).collect() }))
}

/// Proves that the tree of `second` leaves begins with that of `first` leaves.
pub fn prove_consistency(
    tiles: &Tiles,
    head: LogHead,
    first: u64,
    second: u64,
) -> Result<NeededTiles<ConsistencyProof>> {
    within(second, head.size)?;
    within(first, second)?;
    if first == 0 {
        return Ok(NeededTiles::None(ConsistencyProof { first, second, hashes: Vec::new() }));
    }
    let source = Source::new(tiles);
    let proof = prove_tree(second, first, &Reader::new(&source, head));
    source.answer(proof.map(|hashes| ConsistencyProof {
        first,
        second,
        hashes: hashes.into_iter().map(digest).collect(),
    }))
}

fn within(size: u64, limit: u64) -> Result<()> {
    if size <= limit { Ok(()) } else { Err(Error::internal("a tree larger than the log")) }
}

fn digest(hash: Hash) -> Sha256Digest {
    Sha256Digest::from_bytes(hash.0)
}

fn id_of(tile: &Tile) -> TileId {
    TileId { level: tile.level(), number: tile.level_index() }
}

/// Computes the hashes that appending stores, in their order.
fn grow(reader: &Growing<'_>, size: u64, entries: &[Sha256Digest]) -> Result<(), TreeError> {
    for (leaf, entry) in (size..).zip(entries) {
        let hashes = stored_hashes_for_record_hash(leaf, Hash(*leaf_hash(*entry).as_bytes()), reader)?;
        let mut new = reader.new.borrow_mut();
        for (index, hash) in (stored_hash_index(0, leaf)..).zip(hashes) {
            new.insert(index, hash);
        }
    }
    Ok(())
}

/// Hashes before this one are of the tree of `size` leaves.
fn first_new(size: u64) -> u64 {
    stored_hash_index(0, size)
}

/// The tiles at hand, and which were asked for in vain.
struct Source<'a> {
    tiles: &'a Tiles,
    missing: RefCell<BTreeSet<TileId>>,
}

impl<'a> Source<'a> {
    fn new(tiles: &'a Tiles) -> Self {
        Self { tiles, missing: RefCell::default() }
    }

    fn answer<T>(&self, outcome: Result<T, TreeError>) -> Result<NeededTiles<T>> {
        let missing = self.missing.take();
        match outcome {
            Ok(answer) => Ok(NeededTiles::None(answer)),
            Err(_) if !missing.is_empty() => Ok(NeededTiles::Some(missing.into_iter().collect())),
            Err(error) => Err(Error::internal(format!("the stored tree of the transparency log: {error}"))),
        }
    }
}

impl TileReader for Source<'_> {
    fn height(&self) -> u8 {
        TILE_HEIGHT
    }

    fn read_tiles(&self, tiles: &[Tile]) -> Result<Vec<Vec<u8>>, TreeError> {
        let data = |tile: &Tile| match self.tiles.0.get(&id_of(tile)) {
            // A tile that is narrower than it should be does not belong to the root.
            Some(found) => found.get(..tile.width() as usize * HASH_SIZE).map(<[u8]>::to_vec),
            None => {
                self.missing.borrow_mut().insert(id_of(tile));
                None
            }
        };
        // All are looked for, so that one more question brings the answer.
        let found: Vec<_> = tiles.iter().map(data).collect();
        found.into_iter().collect::<Option<_>>().ok_or(TreeError::InvalidTile)
    }

    fn save_tiles(&self, _: &[Tile], _: &[Vec<u8>]) {}
}

/// Reads hashes of a tree that has leaves or none; the library's reader knows only the former.
struct Reader<'a>(Option<TileHashReader<'a>>);

impl<'a> Reader<'a> {
    fn new(source: &'a Source<'_>, head: LogHead) -> Self {
        Self((head.size > 0).then(|| TileHashReader::new(head.size, Hash(*head.root.as_bytes()), source)))
    }
}

impl HashReader for Reader<'_> {
    fn read_hashes(&self, indexes: &[u64]) -> Result<Vec<Hash>, TreeError> {
        match &self.0 {
            _ if indexes.is_empty() => Ok(Vec::new()),
            Some(reader) => reader.read_hashes(indexes),
            None => Err(TreeError::IndexesNotInTree),
        }
    }
}

/// A tree while it grows: hashes that were there, and hashes that are new.
struct Growing<'a> {
    old: Reader<'a>,
    old_count: u64,
    new: RefCell<HashMap<u64, Hash>>,
}

impl HashReader for Growing<'_> {
    fn read_hashes(&self, indexes: &[u64]) -> Result<Vec<Hash>, TreeError> {
        let old: Vec<_> = indexes.iter().copied().filter(|index| *index < self.old_count).collect();
        let mut old = self.old.read_hashes(&old)?.into_iter();
        let new = self.new.borrow();
        let hash = |index: &u64| if *index < self.old_count { old.next() } else { new.get(index).copied() };
        indexes.iter().map(hash).collect::<Option<_>>().ok_or(TreeError::IndexesNotInTree)
    }
}
