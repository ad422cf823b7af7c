//! The pass over both pictures that puts every pixel into its class and names the changed ones.
//!
//! It is the one place that decides whether two pixels differ: a finer metric belongs here and nowhere else.

use crate::{
    Account, Picture, Rules,
    cover::{Cover, CoverRow, CoverRows},
    picture::{PIXEL_BYTES, Pixel},
};

/// Pixels in a piece of a row that is skipped when both pictures hold the same bytes.
const RUN_PIXELS: usize = 16;

/// The sizes that two pictures have together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Width of the area that both pictures have.
    pub(crate) common_width: u32,
    /// Height of the area that both pictures have.
    pub(crate) common_height: u32,
    /// Width of the canvas that holds both.
    pub(crate) width: u32,
    /// Height of the canvas that holds both.
    pub(crate) height: u32,
}

impl Frame {
    pub(crate) fn of(baseline: &Picture, candidate: &Picture) -> Self {
        Self {
            common_width: baseline.width().min(candidate.width()),
            common_height: baseline.height().min(candidate.height()),
            width: baseline.width().max(candidate.width()),
            height: baseline.height().max(candidate.height()),
        }
    }

    /// Pixels of the canvas that not both pictures have.
    fn outside(&self) -> u64 {
        let canvas = u64::from(self.width) * u64::from(self.height);
        canvas - u64::from(self.common_width) * u64::from(self.common_height)
    }
}

/// Whether two pixels differ: any sample, unless both are fully transparent and so look alike.
pub(crate) fn differs(a: Pixel, b: Pixel) -> bool {
    a != b && (a[3] != 0 || b[3] != 0)
}

/// Accounts for every pixel and calls `on_changed` with column and row of each changed one, in reading order.
pub(crate) fn scan(
    baseline: &Picture,
    candidate: &Picture,
    rules: &Rules,
    mut on_changed: impl FnMut(u32, u32),
) -> Account {
    let frame = Frame::of(baseline, candidate);
    let row_bytes = frame.common_width as usize * PIXEL_BYTES;
    let mut covers = CoverRows::new(rules, frame.common_width);
    let mut account = Account { outside_common_area: frame.outside(), ..Account::default() };
    for y in 0..frame.common_height {
        let cover = covers.at(y);
        let (a, b) = (&baseline.row(y)[..row_bytes], &candidate.row(y)[..row_bytes]);
        let changed = if a == b { 0 } else { scan_row(a, b, cover, |x| on_changed(x, y)) };
        account.masked += cover.masked;
        account.ignored += cover.ignored;
        account.changed += changed;
        account.equal += u64::from(frame.common_width) - cover.masked - cover.ignored - changed;
    }
    account
}

/// Finds the changed pixels of one row and returns how many there are.
fn scan_row(a: &[u8], b: &[u8], cover: &CoverRow, mut on_changed: impl FnMut(u32)) -> u64 {
    let mut changed = 0;
    let runs = a.chunks(RUN_PIXELS * PIXEL_BYTES).zip(b.chunks(RUN_PIXELS * PIXEL_BYTES));
    let cells = cover.cells.chunks(RUN_PIXELS);
    for (run, ((a, b), cells)) in runs.zip(cells).enumerate() {
        if a == b {
            continue;
        }
        let pairs = a.as_chunks().0.iter().zip(b.as_chunks().0);
        for (offset, ((a, b), cell)) in pairs.zip(cells).enumerate() {
            if *cell == Cover::Free && differs(*a, *b) {
                changed += 1;
                // A row holds at most u32::MAX pixels, so the column fits.
                on_changed((run * RUN_PIXELS + offset) as u32);
            }
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_pixels_come_in_reading_order() {
        let plain = Picture::filled(40, 3, [0, 0, 0, 255]);
        let mut marked = plain.clone();
        for (x, y) in [(39, 0), (0, 2), (16, 2), (15, 2)] {
            marked.row_mut(y)[x] = [1, 0, 0, 255];
        }
        let mut seen = Vec::new();
        let account = scan(&plain, &marked, &Rules::default(), |x, y| seen.push((x, y)));
        assert_eq!(seen, [(39, 0), (0, 2), (15, 2), (16, 2)]);
        assert_eq!((account.changed, account.equal), (4, 116));
    }

    #[test]
    fn transparency_decides_only_when_both_are_clear() {
        assert!(!differs([1, 2, 3, 0], [4, 5, 6, 0]));
        assert!(differs([1, 2, 3, 0], [1, 2, 3, 1]));
        assert!(differs([1, 2, 3, 255], [1, 2, 4, 255]));
        assert!(!differs([1, 2, 3, 9], [1, 2, 3, 9]));
    }
}
