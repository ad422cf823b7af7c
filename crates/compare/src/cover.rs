//! Which pixels of a row the rules take out, row by row, without a mask of the whole picture in memory.

use crate::{Rect, Rules};

/// What the rules say of a pixel in the common area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cover {
    /// It is compared.
    Free,
    /// In the picture, not compared.
    Ignored,
    /// Painted over.
    Masked,
}

/// One row's cover.
pub(crate) struct CoverRow {
    /// One entry for each pixel of the row.
    pub(crate) cells: Vec<Cover>,
    /// How many are masked.
    pub(crate) masked: u64,
    /// How many are ignored.
    pub(crate) ignored: u64,
}

/// Gives the cover of rows in ascending order. Rows between two rectangle edges are alike, so a row is worked out only
/// at an edge.
pub(crate) struct CoverRows<'r> {
    rules: &'r Rules,
    row: CoverRow,
    /// The first row that `row` does not hold for.
    valid_until: u32,
}

impl<'r> CoverRows<'r> {
    /// For rows of `width` pixels, from row 0 on.
    pub(crate) fn new(rules: &'r Rules, width: u32) -> Self {
        let cells = vec![Cover::Free; width as usize];
        Self { rules, row: CoverRow { cells, masked: 0, ignored: 0 }, valid_until: 0 }
    }

    /// The cover of row `y`; no later call may ask for a row above it.
    pub(crate) fn at(&mut self, y: u32) -> &CoverRow {
        if y >= self.valid_until {
            self.rebuild(y);
        }
        &self.row
    }

    fn rebuild(&mut self, y: u32) {
        self.row.cells.fill(Cover::Free);
        // Masked last: it wins where both apply.
        paint(&mut self.row.cells, &self.rules.ignored, y, Cover::Ignored);
        paint(&mut self.row.cells, &self.rules.masked, y, Cover::Masked);
        let count = |wanted| self.row.cells.iter().filter(|cell| **cell == wanted).count() as u64;
        (self.row.masked, self.row.ignored) = (count(Cover::Masked), count(Cover::Ignored));
        let edges = self.rules.ignored.iter().chain(&self.rules.masked).flat_map(|rect| [rect.y, rect.bottom()]);
        self.valid_until = edges.filter(|edge| *edge > y).min().unwrap_or(u32::MAX);
    }
}

fn paint(cells: &mut [Cover], rects: &[Rect], y: u32, cover: Cover) {
    for rect in rects.iter().filter(|rect| rect.y <= y && y < rect.bottom()) {
        let end = (rect.right() as usize).min(cells.len());
        let start = (rect.x as usize).min(end);
        cells[start..end].fill(cover);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_between_edges_follow_the_rectangles() {
        let rules = Rules {
            ignored: vec![Rect { x: 1, y: 1, width: 3, height: 2 }],
            masked: vec![Rect { x: 3, y: 2, width: 90, height: 1 }],
            ..Rules::default()
        };
        let mut rows = CoverRows::new(&rules, 5);
        use Cover::{Free as F, Ignored as I, Masked as M};
        assert_eq!(rows.at(0).cells, [F, F, F, F, F]);
        assert_eq!(rows.at(1).cells, [F, I, I, I, F]);
        assert_eq!(rows.at(2).cells, [F, I, I, M, M]);
        assert_eq!((rows.at(2).masked, rows.at(2).ignored), (2, 2));
        assert_eq!(rows.at(3).cells, [F, F, F, F, F]);
        assert_eq!((rows.at(3).masked, rows.at(3).ignored), (0, 0));
    }
}
