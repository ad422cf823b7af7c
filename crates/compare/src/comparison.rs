//! The comparison of two pictures and what it reports.

use serde::{Deserialize, Serialize};

use crate::{Account, Picture, Region, Rules, regions, scan::scan, tiles::TileMask};

/// Name and version of the metric that decides whether two pixels differ: any of red, green, blue and alpha, unless
/// both pixels are fully transparent. It goes with every result, since results of different metrics do not compare.
pub const METRIC: &str = "exact-rgba-1";

/// Whether the rules let the pictures pass as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Same size, and no more changed pixels than the rules tolerate.
    Matched,
    /// Another size, or more changed pixels than the rules tolerate.
    Changed,
}

/// The outcome of [`compare`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// What the rules make of the account.
    pub verdict: Verdict,
    /// Every pixel of the canvas by the rule that took it.
    pub account: Account,
    /// Where the changes are, by row and then column; at most [`crate::MAX_REGIONS`]. They are there in a match too,
    /// when the rules tolerated changed pixels.
    pub regions: Vec<Region>,
    /// How many smaller regions are left out of `regions`; their pixels are in the account all the same.
    pub regions_omitted: u32,
    /// Width and height of the baseline, in pixels.
    pub size_baseline: [u32; 2],
    /// Width and height of the candidate, in pixels.
    pub size_candidate: [u32; 2],
    /// The metric's name, [`METRIC`].
    pub metric: &'static str,
}

/// Compares two pictures under rules.
///
/// The pictures lie on one canvas with their top left corners together; neither is scaled or cropped. Time is linear
/// in the pixels. Beside the pictures it holds a row of flags and about 100 bytes for each changed tile of 16 × 16
/// pixels.
pub fn compare(baseline: &Picture, candidate: &Picture, rules: &Rules) -> Comparison {
    let mut mask = TileMask::new(baseline.width().min(candidate.width()));
    let account = scan(baseline, candidate, rules, |x, y| mask.add(x, y));
    let found = regions::find(baseline, candidate, &mask.finish());
    let same_size = account.outside_common_area == 0;
    let passes = same_size && rules.tolerate(account.changed, account.compared());
    Comparison {
        verdict: if passes { Verdict::Matched } else { Verdict::Changed },
        account,
        regions: found.regions,
        regions_omitted: found.omitted,
        size_baseline: [baseline.width(), baseline.height()],
        size_candidate: [candidate.width(), candidate.height()],
        metric: METRIC,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MAX_REGIONS, Rect, RegionKind};

    const WHITE: [u8; 4] = [255; 4];

    fn with_box(picture: &Picture, rect: Rect, colour: [u8; 4]) -> Picture {
        let mut picture = picture.clone();
        for y in rect.y..rect.bottom() {
            picture.row_mut(y)[rect.x as usize..rect.right() as usize].fill(colour);
        }
        picture
    }

    #[test]
    fn a_box_is_found_where_it_is() {
        let page = Picture::filled(200, 100, WHITE);
        let rect = Rect { x: 33, y: 7, width: 50, height: 21 };
        let result = compare(&page, &with_box(&page, rect, [0, 0, 0, 255]), &Rules::default());
        assert_eq!(result.verdict, Verdict::Changed);
        assert_eq!(result.regions, [Region { rect, kind: RegionKind::Content, changed_pixels: 1050 }]);
        assert_eq!(result.account, Account { changed: 1050, equal: 18_950, ..Account::default() });
    }

    #[test]
    fn rules_take_out_pixels_and_say_so() {
        let page = Picture::filled(100, 100, WHITE);
        let changed = with_box(&page, Rect { x: 10, y: 10, width: 20, height: 10 }, [0, 0, 0, 255]);
        let rules = Rules {
            ignored: vec![Rect { x: 10, y: 10, width: 20, height: 8 }],
            masked: vec![Rect { x: 0, y: 17, width: 100, height: 2 }],
            max_changed_pixels: 20,
            ..Rules::default()
        };
        let result = compare(&page, &changed, &rules);
        assert_eq!(result.verdict, Verdict::Matched);
        let expected = Account { masked: 200, ignored: 140, changed: 20, equal: 9640, ..Account::default() };
        assert_eq!(result.account, expected);
        assert_eq!(result.regions.len(), 1, "tolerated changes are still shown");
        let stricter = Rules { max_changed_pixels: 19, ..rules };
        assert_eq!(compare(&page, &changed, &stricter).verdict, Verdict::Changed);
    }

    #[test]
    fn another_size_is_a_change_that_no_rule_hides() {
        let (short, tall) = (Picture::filled(10, 8, WHITE), Picture::filled(10, 12, WHITE));
        let all = Rect { x: 0, y: 0, width: 99, height: 99 };
        let rules = Rules { ignored: vec![all], ..Rules::tolerating(None, Some(1.0)) };
        let result = compare(&short, &tall, &rules);
        assert_eq!(result.verdict, Verdict::Changed);
        assert_eq!((result.account.ignored, result.account.outside_common_area), (80, 40));
        let rect = Rect { x: 0, y: 8, width: 10, height: 4 };
        assert_eq!(result.regions, [Region { rect, kind: RegionKind::Added, changed_pixels: 40 }]);
        assert_eq!(compare(&tall, &short, &rules).regions[0].kind, RegionKind::Removed);
    }

    #[test]
    fn wider_and_taller_pictures_leave_a_corner_that_neither_has() {
        let result = compare(&Picture::filled(10, 4, WHITE), &Picture::filled(6, 9, WHITE), &Rules::default());
        assert_eq!(result.account, Account { equal: 24, outside_common_area: 66, ..Account::default() });
        let removed = Rect { x: 6, y: 0, width: 4, height: 4 };
        let added = Rect { x: 0, y: 4, width: 6, height: 5 };
        assert_eq!(
            result.regions,
            [
                Region { rect: removed, kind: RegionKind::Removed, changed_pixels: 16 },
                Region { rect: added, kind: RegionKind::Added, changed_pixels: 30 }
            ]
        );
    }

    #[test]
    fn the_largest_regions_are_kept_in_order() {
        let page = Picture::filled(1000, 1000, WHITE);
        let mut dotted = page.clone();
        for (x, y) in (0..20).flat_map(|y| (0..20).map(move |x| (x * 50, y * 50))) {
            let side = if y >= 500 { 2 } else { 1 };
            dotted = with_box(&dotted, Rect { x, y, width: side, height: side }, [0, 0, 0, 255]);
        }
        let result = compare(&page, &dotted, &Rules::default());
        assert_eq!((result.regions.len(), result.regions_omitted), (MAX_REGIONS, 200));
        assert!(result.regions.iter().all(|region| region.changed_pixels == 4));
        assert!(result.regions.is_sorted_by_key(|region| (region.rect.y, region.rect.x)));
        assert_eq!(result.account.changed, 200 + 800);
    }
}
