//! PEM and the outer shape of DER, as far as it takes to tell a key or a certificate from something else. Pure.

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// DER's tags.
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const SEQUENCE: u8 = 0x30;

/// One block between `BEGIN` and `END`.
pub(super) struct Block<'a> {
    pub(super) label: &'a str,
    /// Whether its headers say so.
    pub(super) is_encrypted: bool,
    pub(super) bytes: Vec<u8>,
}

/// The blocks of a text, in order. `None` when one of them is damaged.
pub(super) fn blocks(text: &str) -> Option<Vec<Block<'_>>> {
    let mut found = Vec::new();
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        let Some(label) = line.strip_prefix("-----BEGIN ").and_then(|rest| rest.strip_suffix("-----")) else {
            continue;
        };
        let (mut encoded, mut is_encrypted, mut is_closed) = (String::new(), false, false);
        for line in lines.by_ref() {
            if let Some(rest) = line.strip_prefix("-----END ") {
                is_closed = rest.strip_suffix("-----") == Some(label);
                break;
            }
            if line.contains(':') {
                is_encrypted |= line.contains("ENCRYPTED");
            } else {
                encoded.push_str(line);
            }
        }
        let bytes = STANDARD.decode(encoded).ok().filter(|bytes| is_closed && !bytes.is_empty())?;
        found.push(Block { label, is_encrypted, bytes });
    }
    Some(found)
}

/// The elements of the one `SEQUENCE` that `bytes` are: tags and contents.
pub(super) fn sequence(bytes: &[u8]) -> Option<Vec<(u8, &[u8])>> {
    let (SEQUENCE, mut rest, []) = element(bytes)? else { return None };
    let mut elements = Vec::new();
    while !rest.is_empty() {
        let (tag, content, after) = element(rest)?;
        elements.push((tag, content));
        rest = after;
    }
    Some(elements)
}

/// The first element: tag, content, and what follows.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, first], rest) = bytes.split_first_chunk()?;
    let (length, rest) = match first {
        ..=0x7f => (usize::from(first), rest),
        // Four bytes say more than anything here is long; what names no length at all is another encoding.
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0_usize, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}
