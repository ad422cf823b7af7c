//! PNG files made by hand from the specification, so that reading is not tested against the same library's writing.

/// What the header says, as its numbers are in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) depth: u8,
    pub(crate) colour: u8,
    pub(crate) interlace: u8,
}

/// A whole file: header, `extra` chunks, one chunk of image data around `rows` (each with its filter byte), end.
pub(crate) fn file(header: Header, extra: &[(&[u8; 4], &[u8])], rows: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut data = [header.width.to_be_bytes(), header.height.to_be_bytes()].concat();
    data.extend([header.depth, header.colour, 0, 0, header.interlace]);
    bytes.extend(chunk(b"IHDR", &data));
    for (kind, data) in extra {
        bytes.extend(chunk(kind, data));
    }
    bytes.extend(chunk(b"IDAT", &zlib_stored(rows)));
    bytes.extend(chunk(b"IEND", &[]));
    bytes
}

/// Length, type, data and checksum.
pub(crate) fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let body = [kind.as_slice(), data].concat();
    let mut bytes = u32::try_from(data.len()).unwrap().to_be_bytes().to_vec();
    bytes.extend(&body);
    bytes.extend(crc32(&body).to_be_bytes());
    bytes
}

/// A zlib stream of stored blocks (RFC 1950, RFC 1951 section 3.2.4).
fn zlib_stored(data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x78, 0x01];
    let blocks: Vec<&[u8]> = if data.is_empty() { vec![&[]] } else { data.chunks(0xFFFF).collect() };
    for (index, block) in blocks.iter().enumerate() {
        let len = u16::try_from(block.len()).unwrap();
        bytes.push(u8::from(index + 1 == blocks.len()));
        bytes.extend(len.to_le_bytes());
        bytes.extend((!len).to_le_bytes());
        bytes.extend(*block);
    }
    bytes.extend(adler32(data).to_be_bytes());
    bytes
}

fn adler32(data: &[u8]) -> u32 {
    let (a, b) = data.iter().fold((1_u32, 0_u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65521;
        (a, (a + b) % 65521)
    });
    b << 16 | a
}

fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 })
    })
}
