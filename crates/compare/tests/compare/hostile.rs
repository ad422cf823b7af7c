//! Files made to do harm get a typed refusal.

use pinhole_compare::{DecodeError, DecodeLimits, Picture, decode_png, encode_png};
use proptest::prelude::*;

use crate::build::{Header, chunk, file};

const SIGNATURE_AND_HEADER: usize = 8 + 25;

fn decode(bytes: &[u8]) -> Result<Picture, DecodeError> {
    decode_png(bytes, &DecodeLimits::default())
}

fn rgba(width: u32, height: u32) -> Header {
    Header { width, height, depth: 8, colour: 6, interlace: 0 }
}

/// A good file of 3 by 2 pixels.
fn good() -> Vec<u8> {
    file(rgba(3, 2), &[(b"tEXt", b"Comment\0hello")], &[0; 26])
}

fn is_corrupt(result: &Result<Picture, DecodeError>) -> bool {
    matches!(result, Err(DecodeError::Corrupt { .. }))
}

#[test]
fn what_is_not_png_is_said_to_be_so() {
    for bytes in [b"".as_slice(), b"GIF89a\x01\0\x01\0", b"\xFF\xD8\xFF\xE0\0\x10JFIF\0", b"\x89PNG\n\x1a\n"] {
        assert_eq!(decode(bytes), Err(DecodeError::NotPng));
    }
}

#[test]
fn absurd_sizes_are_refused_by_the_header() {
    for (width, height) in [(0x7FFF_FFFF, 0x7FFF_FFFF), (100_001, 1), (1, 100_001), (16_000, 8_001)] {
        let result = decode(&file(rgba(width, height), &[], &[0; 9]));
        assert!(matches!(result, Err(DecodeError::TooLarge { .. })), "{width} by {height}: {result:?}");
    }
    for (width, height) in [(0, 1), (1, 0), (0x8000_0000, 1), (1, u32::MAX)] {
        assert!(is_corrupt(&decode(&file(rgba(width, height), &[], &[0; 9]))), "{width} by {height}");
    }
}

#[test]
fn the_callers_limits_hold() {
    let bytes = good();
    let limits = DecodeLimits::default();
    let exact = DecodeLimits { max_bytes: bytes.len() as u64, max_pixels: 6, max_side: 3 };
    assert!(decode_png(&bytes, &exact).is_ok());
    for limits in [
        DecodeLimits { max_bytes: bytes.len() as u64 - 1, ..limits },
        DecodeLimits { max_pixels: 5, ..limits },
        DecodeLimits { max_side: 2, ..limits },
    ] {
        let result = decode_png(&bytes, &limits);
        assert!(matches!(result, Err(DecodeError::TooLarge { .. })), "{limits:?}: {result:?}");
    }
}

#[test]
fn image_data_must_fit_the_size() {
    assert!(is_corrupt(&decode(&file(rgba(10_000, 10_000), &[], &[0; 100]))), "far too little to expand to it");
    assert!(is_corrupt(&decode(&file(rgba(3, 3), &[], &[0; 26]))), "one row short");
    assert!(is_corrupt(&decode(&file(Header { interlace: 1, ..rgba(3, 3) }, &[], &[0; 30]))), "a pass short");
    let mut none = good()[..SIGNATURE_AND_HEADER].to_vec();
    none.extend(chunk(b"IEND", &[]));
    assert!(is_corrupt(&decode(&none)), "no image data");
}

#[test]
fn animations_are_refused() {
    let control = [0, 0, 0, 2, 0, 0, 0, 0];
    assert_eq!(decode(&file(rgba(1, 1), &[(b"acTL", &control)], &[0; 5])), Err(DecodeError::Animated));
    // Also where the control chunk hides behind the image data.
    let mut late = file(rgba(1, 1), &[], &[0; 5]);
    late.truncate(late.len() - 12);
    late.extend(chunk(b"acTL", &control));
    late.extend(chunk(b"IEND", &[]));
    assert_eq!(decode(&late), Err(DecodeError::Animated));
}

#[test]
fn nothing_may_follow_the_end() {
    let mut bytes = good();
    bytes.extend(b"PK\x03\x04");
    assert_eq!(decode(&bytes), Err(DecodeError::TrailingData { bytes: 4 }));
}

#[test]
fn a_header_must_come_first_and_once() {
    let mut swapped = good()[..8].to_vec();
    swapped.extend(chunk(b"IDAT", &[]));
    swapped.extend(&good()[8..]);
    assert!(is_corrupt(&decode(&swapped)));
    let again = good()[16..29].to_vec();
    assert!(is_corrupt(&decode(&file(rgba(3, 2), &[(b"IHDR", &again)], &[0; 26]))));
}

#[test]
fn colour_types_and_depths_that_do_not_exist_are_refused() {
    for (colour, depth) in [(0, 3), (1, 8), (2, 4), (3, 16), (4, 1), (5, 8), (6, 2), (7, 8), (6, 0), (255, 255)] {
        let header = Header { colour, depth, ..rgba(1, 1) };
        assert!(is_corrupt(&decode(&file(header, &[], &[0; 9]))), "{colour}, {depth}");
    }
    let bad_interlace = Header { interlace: 2, ..rgba(1, 1) };
    assert!(is_corrupt(&decode(&file(bad_interlace, &[], &[0; 5]))));
    let no_palette = Header { colour: 3, ..rgba(1, 1) };
    assert!(is_corrupt(&decode(&file(no_palette, &[], &[0; 2]))));
}

#[test]
fn palettes_that_are_not_whole_entries_are_refused() {
    let indexed = Header { width: 1, height: 1, depth: 8, colour: 3, interlace: 0 };
    for (length, right) in [(0, false), (1, false), (2, false), (3, true), (5, false), (768, true), (771, false)] {
        let palette = vec![9; length];
        let result = decode(&file(indexed, &[(b"PLTE", &palette)], &[0, 0]));
        assert_eq!(result.is_ok(), right, "{length}: {result:?}");
        assert_eq!(is_corrupt(&result), !right, "{length}: {result:?}");
    }
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let bytes = good();
    for len in 1..bytes.len() {
        assert_eq!(decode(&bytes[..len]), Err(DecodeError::Truncated), "cut to {len} bytes");
    }
}

#[test]
fn every_flipped_byte_is_noticed() {
    let bytes = good();
    assert!(decode(&bytes).is_ok());
    for (at, mask) in (0..bytes.len()).flat_map(|at| [1, 0x20, 0x80, 0xFF].map(|mask| (at, mask))) {
        let mut flipped = bytes.clone();
        flipped[at] ^= mask;
        assert!(decode(&flipped).is_err(), "byte {at} changed by {mask:#04x} went unnoticed");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(decode(&bytes).is_err());
    }

    #[test]
    fn arbitrary_chunks_with_right_checksums_never_panic(
        header in (1_u32..40, 1_u32..40, any::<u8>(), any::<u8>(), 0_u8..2),
        chunks in prop::collection::vec((0_usize..9, prop::collection::vec(any::<u8>(), 0..60)), 0..4),
        rows in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        const KINDS: [&[u8; 4]; 9] =
            [b"PLTE", b"tRNS", b"gAMA", b"cHRM", b"iCCP", b"zTXt", b"sBIT", b"pHYs", b"IDAT"];
        let (width, height, depth, colour, interlace) = header;
        let header = Header { width, height, depth: 1 << (depth % 5), colour: colour % 7, interlace };
        let extra: Vec<_> = chunks.iter().map(|(kind, data)| (KINDS[*kind], data.as_slice())).collect();
        if let Ok(picture) = decode(&file(header, &extra, &rows)) {
            prop_assert_eq!((picture.width(), picture.height()), (width, height));
        }
    }

    #[test]
    fn damage_in_a_compressed_file_is_noticed(at in any::<prop::sample::Index>(), mask in 1_u8..) {
        let pixels = (0..64 * 64 * 4_u32).map(|i| (i / 9) as u8).collect();
        let mut bytes = encode_png(&Picture::new(64, 64, pixels).unwrap()).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= mask;
        prop_assert!(decode(&bytes).is_err());
    }
}
