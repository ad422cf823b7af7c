//! The paths at which tiles are served: `<level>/<number>` and `entries/<number>`, with `.p/<width>` behind a tile that is
//! not full. The number is written in groups of three digits, all but the last with an `x` in front of them.

use tlog_tiles::Tile;

use super::TILE_WIDTH;

/// Greatest level: no tree that we accept has tiles above it.
const MAX_LEVEL: u8 = 7;

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TilePath {
    /// The level of a tile of hashes; `None` for entries.
    pub level: Option<u8>,
    /// The tile's place within its level, from 0.
    pub number: u64,
    /// How many of its hashes or entries, 1 to 256.
    pub width: u16,
}

impl TilePath {
    /// Reads what follows `tile/`; `None` for every other form than the one that such a tile has.
    pub fn parse(path: &str) -> Option<Self> {
        let (kind, number) = path.split_once('/')?;
        let level = if kind == "entries" { None } else { Some(decimal(kind, MAX_LEVEL.into())?) };
        if let Some((_, width)) = number.split_once(".p/") {
            // The library would panic over a tile without hashes.
            decimal(width, TILE_WIDTH - 1).filter(|width| *width > 0)?;
        }
        let kind = if level.is_some() { kind } else { "data" };
        let tile = Tile::from_path(&format!("tile/8/{kind}/{number}")).ok()?;
        Some(Self {
            level: level.map(|_| tile.level()),
            number: tile.level_index(),
            width: u16::try_from(tile.width()).ok()?,
        })
    }
}

/// A number without leading zeros, up to `max`.
fn decimal(text: &str, max: u64) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number <= max && number.to_string() == text).then_some(number)
}
