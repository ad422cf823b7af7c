//! Properties of comparison over generated pictures, against a plain reference that looks at one pixel at a time.

use pinhole_compare::{
    Account, Comparison, DecodeLimits, Picture, Rect, RegionKind, Rules, Verdict, compare, decode_png,
    difference_picture, encode_png,
};
use proptest::prelude::*;

/// Few colours, so that equal pixels are common; two differ only where it does not show.
const COLOURS: [[u8; 4]; 5] = [[255; 4], [0, 0, 0, 255], [200, 0, 0, 128], [1, 2, 3, 0], [4, 5, 6, 0]];

fn picture(max_side: u32) -> impl Strategy<Value = Picture> {
    (1..=max_side, 1..=max_side).prop_flat_map(|(width, height)| {
        let pixel = prop::sample::select(COLOURS.as_slice());
        prop::collection::vec(pixel, (width * height) as usize)
            .prop_map(move |pixels| Picture::new(width, height, pixels.concat()).unwrap())
    })
}

/// A picture, and one of the same size with a few rectangles painted over, so that regions have room between them.
fn edited_pair() -> impl Strategy<Value = (Picture, Picture)> {
    let edit = (rect(150), prop::sample::select(COLOURS.as_slice()));
    (1_u32..150, 1_u32..150, prop::collection::vec(edit, 0..6)).prop_map(|(width, height, edits)| {
        let plain = vec![[255; 4]; (width * height) as usize];
        let painted = |(x, y): (u32, u32)| {
            let last = edits.iter().rev().find(|(rect, _)| rect.contains(x, y));
            last.map_or([255; 4], |(_, colour)| *colour)
        };
        let pixels: Vec<_> = (0..height).flat_map(|y| (0..width).map(move |x| painted((x, y)))).collect();
        let picture = |pixels: &[[u8; 4]]| Picture::new(width, height, pixels.concat()).unwrap();
        (picture(&plain), picture(&pixels))
    })
}

fn pair() -> impl Strategy<Value = (Picture, Picture)> {
    prop_oneof![(picture(40), picture(40)), edited_pair()]
}

fn rect(max: u32) -> impl Strategy<Value = Rect> {
    (0..max, 0..max, 0..max / 3, 0..max / 3).prop_map(|(x, y, width, height)| Rect { x, y, width, height })
}

fn rules() -> impl Strategy<Value = Rules> {
    let rects = || prop::collection::vec(rect(60), 0..4);
    (0_u64..40, prop::option::of(0.0..1.0), rects(), rects()).prop_map(|(pixels, ratio, ignored, masked)| Rules {
        max_changed_pixels: pixels,
        max_changed_ratio: ratio,
        ignored,
        masked,
    })
}

/// The account and the changed pixels, found the slow way.
fn reference(baseline: &Picture, candidate: &Picture, rules: &Rules) -> (Account, Vec<(u32, u32)>) {
    let (mut account, mut changed) = (Account::default(), Vec::new());
    let (width, height) = (baseline.width().max(candidate.width()), baseline.height().max(candidate.height()));
    for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
        let covered = |rects: &[Rect]| rects.iter().any(|rect| rect.contains(x, y));
        let class = match (baseline.pixel(x, y), candidate.pixel(x, y)) {
            (Some(_), Some(_)) if covered(&rules.masked) => &mut account.masked,
            (Some(_), Some(_)) if covered(&rules.ignored) => &mut account.ignored,
            (Some([.., 0]), Some([.., 0])) => &mut account.equal,
            (Some(a), Some(b)) if a == b => &mut account.equal,
            (Some(_), Some(_)) => {
                changed.push((x, y));
                &mut account.changed
            }
            _ => &mut account.outside_common_area,
        };
        *class += 1;
    }
    (account, changed)
}

fn content(comparison: &Comparison) -> impl Iterator<Item = &pinhole_compare::Region> {
    comparison.regions.iter().filter(|region| region.kind == RegionKind::Content)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_reference_agrees((baseline, candidate) in pair(), rules in rules()) {
        let result = compare(&baseline, &candidate, &rules);
        let (account, changed) = reference(&baseline, &candidate, &rules);
        prop_assert_eq!(result.account, account);
        let width = u64::from(baseline.width().max(candidate.width()));
        prop_assert_eq!(account.total(), width * u64::from(baseline.height().max(candidate.height())));

        let ratio_holds = rules.max_changed_ratio.is_none_or(|r| account.changed as f64 <= r * account.compared() as f64);
        let same_size = result.size_baseline == result.size_candidate;
        let matched = same_size && account.changed <= rules.max_changed_pixels && ratio_holds;
        prop_assert_eq!(result.verdict == Verdict::Matched, matched);

        prop_assert_eq!(result.regions_omitted, 0);
        prop_assert_eq!(content(&result).map(|region| region.changed_pixels).sum::<u64>(), account.changed);
        for (x, y) in &changed {
            prop_assert!(content(&result).any(|region| region.rect.contains(*x, *y)), "{}, {} is in no region", x, y);
        }
    }

    #[test]
    fn regions_are_tight_and_in_order((baseline, candidate) in pair(), rules in rules()) {
        let result = compare(&baseline, &candidate, &rules);
        let (_, changed) = reference(&baseline, &candidate, &rules);
        prop_assert!(result.regions.is_sorted_by_key(|region| (region.rect.y, region.rect.x)));
        for Rect { x, y, width, height } in content(&result).map(|region| region.rect) {
            let sides = [
                Rect { x, y, width: 1, height },
                Rect { x, y, width, height: 1 },
                Rect { x: x + width - 1, y, width: 1, height },
                Rect { x, y: y + height - 1, width, height: 1 },
            ];
            prop_assert!(sides.iter().all(|side| changed.iter().any(|(x, y)| side.contains(*x, *y))));
        }
        for region in result.regions.iter().filter(|region| region.kind != RegionKind::Content) {
            let only = if region.kind == RegionKind::Added { (&candidate, &baseline) } else { (&baseline, &candidate) };
            let Rect { x, y, .. } = region.rect;
            for (x, y) in [(x, y), (region.rect.right() - 1, region.rect.bottom() - 1)] {
                prop_assert!(only.0.pixel(x, y).is_some() && only.1.pixel(x, y).is_none());
            }
            prop_assert_eq!(region.changed_pixels, region.rect.area());
        }
    }

    #[test]
    fn a_picture_matches_itself(picture in picture(40), rules in rules()) {
        let result = compare(&picture, &picture, &rules);
        prop_assert_eq!(result.verdict, Verdict::Matched);
        prop_assert_eq!((result.account.changed, result.account.outside_common_area), (0, 0));
        prop_assert!(result.regions.is_empty());
    }

    #[test]
    fn the_order_of_the_pictures_matters_only_for_what_is_new((a, b) in pair(), rules in rules()) {
        let (there, mut back) = (compare(&a, &b, &rules), compare(&b, &a, &rules));
        prop_assert_eq!((there.verdict, there.account), (back.verdict, back.account));
        for region in &mut back.regions {
            region.kind = match region.kind {
                RegionKind::Added => RegionKind::Removed,
                RegionKind::Removed => RegionKind::Added,
                kind => kind,
            };
        }
        prop_assert_eq!(there.regions, back.regions);
    }

    #[test]
    fn equal_pictures_match(a in picture(2), b in picture(2)) {
        if a == b {
            prop_assert_eq!(compare(&a, &b, &Rules::default()).verdict, Verdict::Matched);
        }
    }

    #[test]
    fn files_hold_the_picture(picture in picture(40)) {
        let bytes = encode_png(&picture).unwrap();
        prop_assert_eq!(decode_png(&bytes, &DecodeLimits::default()), Ok(picture));
    }

    #[test]
    fn the_difference_picture_shows_each_changed_pixel((baseline, candidate) in pair(), rules in rules()) {
        let result = compare(&baseline, &candidate, &rules);
        let drawing = difference_picture(&baseline, &candidate, &result, &rules);
        let (_, changed) = reference(&baseline, &candidate, &rules);
        prop_assert_eq!(drawing.width(), baseline.width().max(candidate.width()));
        prop_assert_eq!(drawing.height(), baseline.height().max(candidate.height()));
        let is_red = |[red, green, blue, _]: [u8; 4]| red >= 160 && green <= 80 && blue <= 120;
        let red = drawing.pixels().as_chunks().0.iter().filter(|pixel| is_red(**pixel)).count();
        prop_assert_eq!(red, changed.len());
        for (x, y) in changed {
            prop_assert!(drawing.pixel(x, y).is_some_and(is_red));
        }
    }
}
