//! Regions: the places that a person has to look at, made of neighbouring changed tiles and of the strips by which one
//! picture is larger than the other.

use serde::{Deserialize, Serialize};

use crate::{Picture, Rect, scan::Frame, tiles::Tile};

/// The most regions that a comparison reports.
pub const MAX_REGIONS: usize = 200;

/// Changes with at most this many columns between them belong together: letters of a word and words of a line.
const JOIN_COLUMNS: u32 = 12;

/// Changes with at most this many rows between them belong together: lines of a paragraph, but not separate blocks.
const JOIN_ROWS: u32 = 8;

/// What happened in a region. Callers should be ready for every kind; an exact comparison produces `Content`, `Added`
/// and `Removed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionKind {
    /// Both pictures have the area and show different things there.
    Content,
    /// Only the candidate has it.
    Added,
    /// Only the baseline has it.
    Removed,
    /// The same content at another place.
    Moved,
    /// The same shapes in other colours.
    Recoloured,
    /// Scattered differences without a shape, as rendering leaves them.
    Noise,
}

/// A rectangle that holds changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// The smallest rectangle that holds the region's changed pixels, in pixels of the canvas.
    pub rect: Rect,
    /// What happened there.
    pub kind: RegionKind,
    /// How many of its pixels are changed or, for `Added` and `Removed`, are in one picture only. Boxes may overlap,
    /// but each pixel counts in one region alone.
    pub changed_pixels: u64,
}

/// Everything found, cut to the bound.
pub(crate) struct Found {
    pub(crate) regions: Vec<Region>,
    pub(crate) omitted: u32,
}

/// All regions of a comparison by row and then column. Strips are always kept; of the rest, those with the most
/// changed pixels.
pub(crate) fn find(baseline: &Picture, candidate: &Picture, tiles: &[Tile]) -> Found {
    let mut regions = strips(baseline, candidate);
    let mut content = cluster(tiles);
    let room = MAX_REGIONS - regions.len();
    let omitted = content.len().saturating_sub(room);
    if omitted > 0 {
        content.sort_unstable_by_key(|region| (u64::MAX - region.changed_pixels, place(region)));
        content.truncate(room);
    }
    regions.append(&mut content);
    regions.sort_by_key(place);
    Found { regions, omitted: u32::try_from(omitted).unwrap_or(u32::MAX) }
}

fn place(region: &Region) -> (u32, u32, u32, u32) {
    (region.rect.y, region.rect.x, region.rect.height, region.rect.width)
}

/// The areas that only one picture has: beside the common area and below it. The corner below right belongs to the
/// strip below when one picture has it, and to no region when neither has.
fn strips(baseline: &Picture, candidate: &Picture) -> Vec<Region> {
    let frame = Frame::of(baseline, candidate);
    let strip = |rect: Rect, added: bool| Region {
        rect,
        kind: if added { RegionKind::Added } else { RegionKind::Removed },
        changed_pixels: rect.area(),
    };
    let mut strips = Vec::new();
    if frame.width > frame.common_width {
        let width = frame.width - frame.common_width;
        let rect = Rect { x: frame.common_width, y: 0, width, height: frame.common_height };
        strips.push(strip(rect, candidate.width() > baseline.width()));
    }
    if frame.height > frame.common_height {
        let added = candidate.height() > baseline.height();
        let width = if added { candidate.width() } else { baseline.width() };
        let height = frame.height - frame.common_height;
        strips.push(strip(Rect { x: 0, y: frame.common_height, width, height }, added));
    }
    strips
}

/// Joins neighbouring tiles. `tiles` is ordered by row and then column.
///
/// The joining distances are below a tile's side, so only the eight tiles around a tile can be near it.
fn cluster(tiles: &[Tile]) -> Vec<Region> {
    let mut groups = Groups::new(tiles.len());
    let mut above = 0..0;
    let mut start = 0;
    for line in tiles.chunk_by(|a, b| a.row == b.row) {
        for (index, tile) in (start..).zip(line) {
            if index > start && near(&tiles[index - 1], tile) {
                groups.join(index - 1, index);
            }
            let first = above.start + tiles[above.clone()].partition_point(|other| other.column + 1 < tile.column);
            for other in (first..above.end).take_while(|other| tiles[*other].column <= tile.column + 1) {
                if near(&tiles[other], tile) {
                    groups.join(other, index);
                }
            }
        }
        above = start..start + line.len();
        start = above.end;
    }
    boxes(tiles, &mut groups)
}

/// Whether the changed pixels of two tiles are close enough to belong together.
fn near(a: &Tile, b: &Tile) -> bool {
    gap(a.left, a.right, b.left, b.right) <= JOIN_COLUMNS && gap(a.top, a.bottom, b.top, b.bottom) <= JOIN_ROWS
}

/// Pixels strictly between two spans with included ends; 0 when they touch or overlap.
fn gap(a_start: u32, a_end: u32, b_start: u32, b_end: u32) -> u32 {
    a_start.max(b_start).saturating_sub(a_end.min(b_end)).saturating_sub(1)
}

/// One region for each group, as the box around its tiles' boxes.
fn boxes(tiles: &[Tile], groups: &mut Groups) -> Vec<Region> {
    let mut merged: Vec<(Tile, u64)> = Vec::new();
    let mut slots: Vec<Option<usize>> = vec![None; tiles.len()];
    for (index, tile) in tiles.iter().enumerate() {
        let root = groups.root(index);
        let slot = *slots[root].get_or_insert_with(|| {
            merged.push((*tile, 0));
            merged.len() - 1
        });
        let (all, changed) = &mut merged[slot];
        all.left = all.left.min(tile.left);
        all.top = all.top.min(tile.top);
        all.right = all.right.max(tile.right);
        all.bottom = all.bottom.max(tile.bottom);
        *changed += u64::from(tile.changed);
    }
    let region = |(all, changed_pixels): (Tile, u64)| {
        let (width, height) = (all.right - all.left + 1, all.bottom - all.top + 1);
        Region { rect: Rect { x: all.left, y: all.top, width, height }, kind: RegionKind::Content, changed_pixels }
    };
    merged.into_iter().map(region).collect()
}

/// Disjoint sets over indices, with path halving; the smaller index leads, which is all the balance needed here.
struct Groups {
    parents: Vec<usize>,
}

impl Groups {
    fn new(len: usize) -> Self {
        Self { parents: (0..len).collect() }
    }

    fn root(&mut self, mut index: usize) -> usize {
        while self.parents[index] != index {
            self.parents[index] = self.parents[self.parents[index]];
            index = self.parents[index];
        }
        index
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b)] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiles::TileMask;

    fn cluster_of(pixels: &[(u32, u32)]) -> Vec<Rect> {
        let mut mask = TileMask::new(400);
        let mut pixels = pixels.to_vec();
        pixels.sort_by_key(|(x, y)| (*y, *x));
        pixels.iter().for_each(|(x, y)| mask.add(*x, *y));
        cluster(&mask.finish()).iter().map(|region| region.rect).collect()
    }

    #[test]
    fn nearby_changes_join_wherever_the_grid_lies() {
        for shift in 0..16 {
            let x = 100 + shift;
            assert_eq!(cluster_of(&[(x, 50), (x + 13, 50)]), [Rect { x, y: 50, width: 14, height: 1 }]);
            assert_eq!(cluster_of(&[(50, x), (50, x + 9)]), [Rect { x: 50, y: x, width: 1, height: 10 }]);
        }
    }

    #[test]
    fn distant_changes_stay_apart() {
        for shift in 0..16 {
            let x = 100 + shift;
            assert_eq!(cluster_of(&[(x, 50), (x + 16, 50)]).len(), 2);
            assert_eq!(cluster_of(&[(50, x), (50, x + 16)]).len(), 2);
        }
    }

    #[test]
    fn a_ring_is_one_region() {
        let ring: Vec<_> = (0..=200).flat_map(|i| [(i, 0), (i, 200), (0, i), (200, i)]).collect();
        let mut ring = ring;
        ring.sort_unstable();
        ring.dedup();
        assert_eq!(cluster_of(&ring), [Rect { x: 0, y: 0, width: 201, height: 201 }]);
    }

    #[test]
    fn arms_that_meet_below_are_one_region() {
        let arms: Vec<_> = (0..100).flat_map(|i| [(i, i), (200 - i, i)]).chain([(100, 100)]).collect();
        assert_eq!(cluster_of(&arms), [Rect { x: 0, y: 0, width: 201, height: 101 }]);
    }
}
