//! The tile mask: which 16 × 16 tiles hold changed pixels, how many, and where in the tile.
//!
//! Only tiles with a change are kept, so equal pictures cost one row of tiles.

/// Pixels along a tile's side.
pub(crate) const TILE_SIDE: u32 = 16;

/// A tile with at least one changed pixel, and the box of those pixels with its last column and row included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    /// Column of tiles.
    pub(crate) column: u32,
    /// Row of tiles.
    pub(crate) row: u32,
    pub(crate) left: u32,
    pub(crate) top: u32,
    pub(crate) right: u32,
    pub(crate) bottom: u32,
    /// Changed pixels, 1 to 256.
    pub(crate) changed: u32,
}

/// Collects changed pixels, given in reading order.
pub(crate) struct TileMask {
    /// The row of tiles at work; `None` where nothing has changed so far.
    open: Vec<Option<Tile>>,
    open_row: u32,
    done: Vec<Tile>,
}

impl TileMask {
    /// For pictures of this width.
    pub(crate) fn new(width: u32) -> Self {
        Self { open: vec![None; width.div_ceil(TILE_SIDE) as usize], open_row: 0, done: Vec::new() }
    }

    /// Adds a changed pixel inside the width; its row is not above that of the last one.
    pub(crate) fn add(&mut self, x: u32, y: u32) {
        let (column, row) = (x / TILE_SIDE, y / TILE_SIDE);
        if row != self.open_row {
            self.close_row();
            self.open_row = row;
        }
        let fresh = Tile { column, row, left: x, top: y, right: x, bottom: y, changed: 0 };
        let tile = self.open[column as usize].get_or_insert(fresh);
        tile.left = tile.left.min(x);
        tile.right = tile.right.max(x);
        tile.bottom = y;
        tile.changed += 1;
    }

    /// The tiles with a change, by row and then by column.
    pub(crate) fn finish(mut self) -> Vec<Tile> {
        self.close_row();
        self.done
    }

    fn close_row(&mut self) {
        self.done.extend(self.open.iter_mut().filter_map(Option::take));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_keeps_the_real_box_of_its_pixels() {
        let mut mask = TileMask::new(40);
        for (x, y) in [(20, 1), (3, 2), (17, 5), (39, 5), (3, 33)] {
            mask.add(x, y);
        }
        let tile =
            |column, row, left, top, right, bottom, changed| Tile { column, row, left, top, right, bottom, changed };
        assert_eq!(
            mask.finish(),
            [
                tile(0, 0, 3, 2, 3, 2, 1),
                tile(1, 0, 17, 1, 20, 5, 2),
                tile(2, 0, 39, 5, 39, 5, 1),
                tile(0, 2, 3, 33, 3, 33, 1)
            ]
        );
    }
}
