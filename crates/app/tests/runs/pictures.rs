//! Pictures of a page that no browser showed, good files of them and bad ones.

use pinhole_compare::{Picture, encode_png};

pub(crate) const WIDTH: u32 = 40;
pub(crate) const HEIGHT: u32 = 30;
/// Where the box is that pictures differ in: x, y, width, height.
pub(crate) const BOX: [u32; 4] = [10, 5, 8, 6];
/// Its pixels.
pub(crate) const BOX_AREA: u64 = 48;

/// White with a line at the bottom and a box of this shade.
pub(crate) fn page(shade: u8) -> Picture {
    tall(shade, HEIGHT)
}

/// The same with another height.
pub(crate) fn tall(shade: u8, height: u32) -> Picture {
    let [left, top, width, rows] = BOX;
    let pixel = |index: u32| {
        let (x, y) = (index % WIDTH, index / WIDTH);
        let boxed = (left..left + width).contains(&x) && (top..top + rows).contains(&y);
        match (boxed, y == HEIGHT - 1) {
            (true, _) => [shade, 0, 0, 255],
            (false, true) => [0, 0, 0, 255],
            (false, false) => [255; 4],
        }
    };
    Picture::new(WIDTH, height, (0..WIDTH * height).flat_map(pixel).collect()).unwrap()
}

/// A good file of [`page`].
pub(crate) fn file(shade: u8) -> Vec<u8> {
    encode_png(&page(shade)).unwrap()
}

/// A picture of one colour.
pub(crate) fn blank() -> Vec<u8> {
    encode_png(&Picture::new(WIDTH, HEIGHT, [255; 4].repeat((WIDTH * HEIGHT) as usize)).unwrap()).unwrap()
}

/// Bytes of the PNG signature and the header chunk.
const START: usize = 8 + 25;

/// The same picture in another file: with a comment.
pub(crate) fn commented(mut file: Vec<u8>) -> Vec<u8> {
    let chunk = chunk(*b"tEXt", b"Comment\0same pixels");
    file.splice(START..START, chunk);
    file
}

/// A file whose header promises `width` by `height` pixels.
pub(crate) fn promising(mut file: Vec<u8>, width: u32, height: u32) -> Vec<u8> {
    let mut header = file[16..29].to_vec();
    header[..4].copy_from_slice(&width.to_be_bytes());
    header[4..8].copy_from_slice(&height.to_be_bytes());
    file.splice(8..START, chunk(*b"IHDR", &header));
    file
}

/// A chunk as the PNG specification lays it out (section 5.3): length, type, data, CRC over type and data.
fn chunk(kind: [u8; 4], data: &[u8]) -> Vec<u8> {
    let body = [&kind[..], data].concat();
    let length = u32::try_from(data.len()).unwrap();
    [&length.to_be_bytes()[..], &body, &crc(&body).to_be_bytes()].concat()
}

/// The CRC-32 of ISO 3309 that PNG uses, bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 })
    })
}
