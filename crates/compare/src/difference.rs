//! The difference picture: the candidate in pale grey, with everything that changed drawn over it for a person to see.

use std::ops::Range;

use crate::{
    Comparison, Picture, Rect, RegionKind, Rules,
    cover::{Cover, CoverRows},
    picture::Pixel,
    scan::{Frame, scan},
};

/// Above this many pixels of canvas, areas that one picture alone has are drawn only in part.
const MAX_WHOLE_PIXELS: u64 = 256_000_000;

/// How far such an area is then drawn, in pixels.
const PART_SIDE: u32 = 256;

/// Stripes of an area that not both pictures have: pixels from one to the next, and how many of them are drawn.
const STRIPE_PERIOD: u32 = 20;
const STRIPE_WIDTH: u32 = 2;

/// Clear pixels between a region and its outline, and the outline's own width.
const OUTLINE_DISTANCE: u32 = 4;
const OUTLINE_WIDTH: u32 = 2;

/// An outline is at least this wide and high inside, so that a single pixel is found on a large page.
const OUTLINE_MIN_SIDE: u32 = 24;

// Red against blue and orange stays apart for people who see few colours, and dark red on pale grey does by lightness.
// Changed pixels run from dark to bright red with the candidate, so that new text in a changed area can be read.
const CHANGED_DARK: Pixel = [160, 0, 40, 255];
const CHANGED_BRIGHT: Pixel = [255, 80, 120, 255];
const CONTENT_OUTLINE: Pixel = [90, 0, 30, 255];
const ADDED: Pixel = [0, 90, 210, 255];
const REMOVED: Pixel = [215, 110, 0, 255];
const NEITHER: Pixel = [150, 150, 150, 255];
const IGNORED_TINT: Pixel = [198, 220, 240, 255];
const MASKED_TINT: Pixel = [214, 204, 238, 255];
const PAPER: Pixel = [255, 255, 255, 255];

/// Draws what [`compare`](crate::compare) found. `comparison` must be of the same pictures and rules.
///
/// The picture has the size of the canvas. The candidate is pale grey; changed pixels are red, darker where the
/// candidate is darker, and each region has an outline; ignored areas are tinted blue and masked ones violet. What only
/// the candidate has is striped in blue, what only the baseline has in orange, and a corner that neither has in grey.
/// Where the canvas would have more than 256 million pixels, the areas that not both pictures have are drawn only up to
/// 256 pixels from the common area.
pub fn difference_picture(baseline: &Picture, candidate: &Picture, comparison: &Comparison, rules: &Rules) -> Picture {
    let frame = Frame::of(baseline, candidate);
    let (width, height) = drawn_size(&frame);
    let mut drawing = Picture::filled(width, height, PAPER);
    paint_faded(&mut drawing, baseline);
    paint_faded(&mut drawing, candidate);
    tint_uncompared(&mut drawing, &frame, rules);
    paint_stripes(&mut drawing, &frame, baseline, candidate);
    for region in &comparison.regions {
        match region.kind {
            RegionKind::Added => outline(&mut drawing, &region.rect, ADDED, Side::Inside),
            RegionKind::Removed => outline(&mut drawing, &region.rect, REMOVED, Side::Inside),
            RegionKind::Content | RegionKind::Moved | RegionKind::Recoloured | RegionKind::Noise => {
                outline(&mut drawing, &region.rect, CONTENT_OUTLINE, Side::Outside);
            }
        }
    }
    // Last, so that no outline hides a changed pixel.
    scan(baseline, candidate, rules, |x, y| {
        let pixel = candidate.row(y).as_chunks().0[x as usize];
        drawing.row_mut(y)[x as usize] = reddened(pixel);
    });
    drawing
}

fn drawn_size(frame: &Frame) -> (u32, u32) {
    if u64::from(frame.width) * u64::from(frame.height) <= MAX_WHOLE_PIXELS {
        return (frame.width, frame.height);
    }
    let part = |whole: u32, common: u32| whole.min(common.saturating_add(PART_SIDE));
    (part(frame.width, frame.common_width), part(frame.height, frame.common_height))
}

/// Paints a picture in pale grey as far as the drawing reaches.
fn paint_faded(drawing: &mut Picture, picture: &Picture) {
    for y in 0..picture.height().min(drawing.height()) {
        let pixels = picture.row(y).as_chunks().0;
        drawing.row_mut(y).iter_mut().zip(pixels).for_each(|(target, pixel)| *target = faded(*pixel));
    }
}

/// The pixel on white paper, as grey, at under half of its contrast.
fn faded(pixel: Pixel) -> Pixel {
    // Two fifths of at most 255.
    let grey = u8::MAX - (u32::from(ink(pixel)) * 2 / 5) as u8;
    [grey, grey, grey, u8::MAX]
}

/// The pixel on white paper, in red: bright where it is light.
fn reddened(pixel: Pixel) -> Pixel {
    let ink = u32::from(ink(pixel));
    // A mean of two values up to 255 is at most 255.
    let mix = |bright: u8, dark: u8| ((u32::from(bright) * (255 - ink) + u32::from(dark) * ink) / 255) as u8;
    std::array::from_fn(|i| mix(CHANGED_BRIGHT[i], CHANGED_DARK[i]))
}

/// How dark the pixel is on white paper, from 0 for white to 255 for black.
fn ink([red, green, blue, alpha]: Pixel) -> u8 {
    // The weights of Rec. 601 in 256ths: they add up to 256, so the mean is at most 255.
    let luma = (77 * u32::from(red) + 150 * u32::from(green) + 29 * u32::from(blue)) / 256;
    ((255 - luma) * u32::from(alpha) / 255) as u8
}

/// Tints what the rules took out, with the candidate still to be seen.
fn tint_uncompared(drawing: &mut Picture, frame: &Frame, rules: &Rules) {
    let mut covers = CoverRows::new(rules, frame.common_width);
    for y in 0..frame.common_height {
        let cover = covers.at(y);
        if cover.masked + cover.ignored == 0 {
            continue;
        }
        for (target, cell) in drawing.row_mut(y).iter_mut().zip(&cover.cells) {
            match cell {
                Cover::Free => {}
                Cover::Ignored => *target = multiplied(*target, IGNORED_TINT),
                Cover::Masked => *target = multiplied(*target, MASKED_TINT),
            }
        }
    }
}

/// The colour of a sheet of `tint` laid over `pixel`.
fn multiplied(pixel: Pixel, tint: Pixel) -> Pixel {
    // A product of two values up to 255, divided by 255, is at most 255.
    std::array::from_fn(|i| (u32::from(pixel[i]) * u32::from(tint[i]) / 255) as u8)
}

/// Stripes what not both pictures have.
fn paint_stripes(drawing: &mut Picture, frame: &Frame, baseline: &Picture, candidate: &Picture) {
    let has = |picture: &Picture, x: u32, y: u32| x < picture.width() && y < picture.height();
    for y in 0..drawing.height() {
        let first = if y < frame.common_height { frame.common_width } else { 0 };
        for (x, target) in (0_u32..).zip(drawing.row_mut(y)).skip(first as usize) {
            if x.wrapping_add(y) % STRIPE_PERIOD < STRIPE_WIDTH {
                *target = match (has(baseline, x, y), has(candidate, x, y)) {
                    (false, true) => ADDED,
                    (true, false) => REMOVED,
                    _ => NEITHER,
                };
            }
        }
    }
}

/// Where an outline lies.
enum Side {
    /// Round the rectangle at a distance, to cover none of it.
    Outside,
    /// Along the rectangle's own edge, to cover nothing beside it.
    Inside,
}

/// Draws a frame for `rect`. What would lie beyond the drawing's edge is left out.
fn outline(drawing: &mut Picture, rect: &Rect, colour: Pixel, side: Side) {
    let line = i64::from(OUTLINE_WIDTH);
    let pad = |length: u32| match side {
        Side::Outside => i64::from(OUTLINE_DISTANCE.max(OUTLINE_MIN_SIDE.saturating_sub(length) / 2)),
        Side::Inside => -line,
    };
    let (pad_x, pad_y) = (pad(rect.width), pad(rect.height));
    let (left, right) = (i64::from(rect.x) - pad_x, i64::from(rect.right()) + pad_x);
    let (top, bottom) = (i64::from(rect.y) - pad_y, i64::from(rect.bottom()) + pad_y);
    fill(drawing, left - line..right + line, top - line..top, colour);
    fill(drawing, left - line..right + line, bottom..bottom + line, colour);
    fill(drawing, left - line..left, top..bottom, colour);
    fill(drawing, right..right + line, top..bottom, colour);
}

/// Fills the part of a rectangle that is inside the drawing.
fn fill(drawing: &mut Picture, columns: Range<i64>, rows: Range<i64>, colour: Pixel) {
    let columns = inside(columns, drawing.width());
    for y in inside(rows, drawing.height()) {
        drawing.row_mut(y)[columns.start as usize..columns.end as usize].fill(colour);
    }
}

/// The part of a span from 0 to below `end`; an empty span when there is none.
fn inside(span: Range<i64>, end: u32) -> Range<u32> {
    // After the clamp both ends are within 0 and a u32.
    let clamped = |at: i64| at.clamp(0, end.into()) as u32;
    clamped(span.start)..clamped(span.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare;

    const WHITE: Pixel = [255; 4];

    fn draw(baseline: &Picture, candidate: &Picture, rules: &Rules) -> Picture {
        difference_picture(baseline, candidate, &compare(baseline, candidate, rules), rules)
    }

    #[test]
    fn changed_pixels_stand_out_and_the_rest_is_pale() {
        let page = Picture::filled(120, 80, [0, 0, 0, 255]);
        let mut other = page.clone();
        other.row_mut(40)[60] = WHITE;
        let drawing = draw(&page, &other, &Rules::default());
        assert_eq!(drawing.pixel(60, 40), Some(CHANGED_BRIGHT), "it is white in the candidate");
        assert_eq!(drawing.pixel(0, 0), Some([153, 153, 153, 255]), "black keeps two fifths of its contrast");
        let outline = (0..120).filter(|x| drawing.pixel(*x, 40) == Some(CONTENT_OUTLINE)).collect::<Vec<_>>();
        assert_eq!(outline, [47, 48, 72, 73]);
    }

    #[test]
    fn every_changed_pixel_is_seen_even_where_outlines_cross() {
        let page = Picture::filled(100, 60, WHITE);
        let mut other = page.clone();
        for (x, y) in [(0, 0), (99, 59), (30, 20), (47, 20), (30, 37), (99, 0)] {
            other.row_mut(y)[x] = [0, 0, 0, 255];
        }
        let drawing = draw(&page, &other, &Rules::default());
        let red = (0..60).flat_map(|y| (0..100).map(move |x| (x, y)));
        assert_eq!(red.filter(|(x, y)| drawing.pixel(*x, *y) == Some(CHANGED_DARK)).count(), 6);
    }

    #[test]
    fn areas_of_one_picture_are_striped_in_their_colour() {
        let (wide, tall) = (Picture::filled(90, 40, WHITE), Picture::filled(40, 90, WHITE));
        let drawing = draw(&wide, &tall, &Rules::default());
        assert_eq!((drawing.width(), drawing.height()), (90, 90));
        // A multiple of the period lies on a stripe.
        assert_eq!(drawing.pixel(70, 10), Some(REMOVED));
        assert_eq!(drawing.pixel(10, 70), Some(ADDED));
        assert_eq!(drawing.pixel(70, 70), Some(NEITHER));
        assert_eq!(drawing.pixel(10, 10), Some(PAPER), "the common area has no stripes");
    }

    #[test]
    fn what_is_not_compared_is_tinted() {
        let page = Picture::filled(20, 10, WHITE);
        let rules = Rules {
            ignored: vec![Rect { x: 0, y: 0, width: 5, height: 10 }],
            masked: vec![Rect { x: 15, y: 0, width: 50, height: 10 }],
            ..Rules::default()
        };
        let drawing = draw(&page, &page, &rules);
        assert_eq!(drawing.pixel(4, 9), Some(IGNORED_TINT));
        assert_eq!(drawing.pixel(5, 9), Some(PAPER));
        assert_eq!(drawing.pixel(15, 9), Some(MASKED_TINT));
    }

    #[test]
    fn a_canvas_without_bound_is_drawn_in_part() {
        let (wide, tall) = (Picture::filled(40_000, 2, WHITE), Picture::filled(2, 40_000, WHITE));
        let drawing = draw(&wide, &tall, &Rules::default());
        assert_eq!((drawing.width(), drawing.height()), (258, 258));
    }
}
