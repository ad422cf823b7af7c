//! Every kind of PNG decodes to the right colours.

use pinhole_compare::{DecodeLimits, Picture, decode_png, encode_png};

use crate::build::{Header, file};

const GREY: u8 = 0;
const RGB: u8 = 2;
const PALETTE: u8 = 3;
const GREY_ALPHA: u8 = 4;
const RGBA: u8 = 6;

/// Decodes a picture of one row.
fn row(width: u32, colour: u8, depth: u8, extra: &[(&[u8; 4], &[u8])], samples: &[u8]) -> Vec<[u8; 4]> {
    let header = Header { width, height: 1, depth, colour, interlace: 0 };
    let rows = [&[0], samples].concat();
    let picture = decode_png(&file(header, extra, &rows), &DecodeLimits::default()).unwrap();
    (0..width).map(|x| picture.pixel(x, 0).unwrap()).collect()
}

#[test]
fn eight_bit_samples_are_taken_as_they_are() {
    assert_eq!(row(2, RGBA, 8, &[], &[1, 2, 3, 4, 5, 6, 7, 8]), [[1, 2, 3, 4], [5, 6, 7, 8]]);
    assert_eq!(row(2, RGB, 8, &[], &[1, 2, 3, 5, 6, 7]), [[1, 2, 3, 255], [5, 6, 7, 255]]);
    assert_eq!(row(2, GREY, 8, &[], &[9, 200]), [[9, 9, 9, 255], [200, 200, 200, 255]]);
    assert_eq!(row(2, GREY_ALPHA, 8, &[], &[9, 1, 200, 0]), [[9, 9, 9, 1], [200, 200, 200, 0]]);
}

#[test]
fn sixteen_bit_samples_are_rounded() {
    // 0x0180 / 257 = 1.494 and 0x0182 / 257 = 1.502.
    assert_eq!(row(2, GREY, 16, &[], &[0x01, 0x80, 0x01, 0x82]), [[1, 1, 1, 255], [2, 2, 2, 255]]);
    assert_eq!(row(1, RGB, 16, &[], &[0, 0, 0x7F, 0xFF, 0xFF, 0xFF]), [[0, 127, 255, 255]]);
    assert_eq!(row(1, GREY_ALPHA, 16, &[], &[0xFF, 0xFF, 0x80, 0x80]), [[255, 255, 255, 128]]);
    assert_eq!(row(1, RGBA, 16, &[], &[1, 1, 2, 2, 3, 3, 4, 4]), [[1, 2, 3, 4]]);
}

#[test]
fn small_grey_samples_spread_over_the_range() {
    assert_eq!(row(3, GREY, 1, &[], &[0b1010_0000]), [[255; 4], [0, 0, 0, 255], [255; 4]]);
    assert_eq!(row(2, GREY, 2, &[], &[0b0110_0000]), [[85, 85, 85, 255], [170, 170, 170, 255]]);
    assert_eq!(row(2, GREY, 4, &[], &[0x1F]), [[17, 17, 17, 255], [255; 4]]);
}

#[test]
fn palette_entries_carry_their_transparency() {
    let colours: &[u8] = &[10, 20, 30, 40, 50, 60, 70, 80, 90];
    let plain = row(3, PALETTE, 2, &[(b"PLTE", colours)], &[0b0001_1000]);
    assert_eq!(plain, [[10, 20, 30, 255], [40, 50, 60, 255], [70, 80, 90, 255]]);
    let clear = row(3, PALETTE, 8, &[(b"PLTE", colours), (b"tRNS", &[0, 128])], &[0, 1, 2]);
    assert_eq!(clear, [[10, 20, 30, 0], [40, 50, 60, 128], [70, 80, 90, 255]]);
}

#[test]
fn a_transparent_colour_becomes_alpha() {
    let grey = row(2, GREY, 8, &[(b"tRNS", &[0, 7])], &[7, 8]);
    assert_eq!(grey, [[7, 7, 7, 0], [8, 8, 8, 255]]);
    let rgb = row(2, RGB, 8, &[(b"tRNS", &[0, 1, 0, 2, 0, 3])], &[1, 2, 3, 1, 2, 4]);
    assert_eq!(rgb, [[1, 2, 3, 0], [1, 2, 4, 255]]);
    // With sixteen bits the whole sample must agree, not only what is left of it.
    let wide = row(2, GREY, 16, &[(b"tRNS", &[0x80, 0x80])], &[0x80, 0x80, 0x80, 0x81]);
    assert_eq!(wide, [[128, 128, 128, 0], [128, 128, 128, 255]]);
}

#[test]
fn interlaced_rows_find_their_places() {
    // The pass of each pixel in a square of eight (PNG, section 8.1).
    const PASSES: [&[u8; 8]; 8] =
        [b"16462646", b"77777777", b"56565656", b"77777777", b"36463646", b"77777777", b"56565656", b"77777777"];
    for (width, height) in [(1, 1), (3, 5), (4, 4), (8, 8), (17, 11), (5, 1), (1, 9)] {
        let colour = |x: u32, y: u32| [x as u8, y as u8, (x * y) as u8];
        let mut rows = Vec::new();
        for pass in b'1'..=b'7' {
            for y in 0..height {
                let in_pass = |x: &u32| PASSES[y as usize % 8][*x as usize % 8] == pass;
                let samples: Vec<u8> = (0..width).filter(in_pass).flat_map(|x| colour(x, y)).collect();
                if !samples.is_empty() {
                    rows.push(0);
                    rows.extend(samples);
                }
            }
        }
        let bytes = file(Header { width, height, depth: 8, colour: RGB, interlace: 1 }, &[], &rows);
        let picture = decode_png(&bytes, &DecodeLimits::default()).unwrap();
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            let [red, green, blue] = colour(x, y);
            assert_eq!(picture.pixel(x, y), Some([red, green, blue, 255]), "{x}, {y} of {width} by {height}");
        }
    }
}

#[test]
fn metadata_changes_no_sample() {
    let extra: [(&[u8; 4], &[u8]); 2] = [(b"gAMA", &[0, 0, 0xB1, 0x8F]), (b"tEXt", b"Comment\0made by hand")];
    assert_eq!(row(1, RGB, 8, &extra, &[1, 2, 3]), [[1, 2, 3, 255]]);
}

#[test]
fn a_picture_survives_writing_and_reading() {
    let pixels: Vec<u8> = (0..300 * 200 * 4).map(|i: u32| (i ^ i >> 7) as u8).collect();
    let picture = Picture::new(300, 200, pixels).unwrap();
    let read = decode_png(&encode_png(&picture).unwrap(), &DecodeLimits::default()).unwrap();
    assert!(read == picture);
}
