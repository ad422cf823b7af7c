//! What decoding takes of memory, measured: refusals take none to speak of, and pictures take what is documented.
//!
//! It stands alone because it counts every allocation of its process.
#![expect(unsafe_code, reason = "counting allocations needs an allocator of one's own, and that trait is unsafe")]

#[cfg(test)]
#[path = "compare/build.rs"]
mod build;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

use build::{Header, file};
use pinhole_compare::{DecodeError, DecodeLimits, Picture, decode_png, encode_png};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; the counters touch no memory of a caller.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), SeqCst) + layout.size();
        PEAK.fetch_max(now, SeqCst);
        // SAFETY: the caller's promises are handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), SeqCst);
        // SAFETY: the caller's promises are handed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most memory held at once while decoding, beyond what was held before.
fn peak_of(bytes: &[u8]) -> (usize, Result<Picture, DecodeError>) {
    let before = NOW.load(SeqCst);
    PEAK.store(before, SeqCst);
    let result = decode_png(bytes, &DecodeLimits::default());
    (PEAK.load(SeqCst) - before, result)
}

/// One test, so that nothing else allocates meanwhile.
#[test]
fn memory_follows_the_picture_and_not_the_promise() {
    let rgba = |width, height| Header { width, height, depth: 8, colour: 6, interlace: 0 };
    // Beyond the limits; within them, but more than the data can expand to.
    for (width, height) in [(0x7FFF_FFFF, 0x7FFF_FFFF), (100_000, 100_000), (11_000, 11_000)] {
        let (peak, result) = peak_of(&file(rgba(width, height), &[], &[0; 40]));
        assert!(result.is_err() && peak < 4096, "{width} by {height} took {peak} bytes: {result:?}");
    }

    let working = 4 * 1024 * 1024;
    let plain = encode_png(&Picture::new(3000, 2000, vec![9; 24_000_000]).unwrap()).unwrap();
    let (peak, result) = peak_of(&plain);
    assert!(result.is_ok() && peak < 24_000_000 + working, "{peak} bytes, {} in the file", plain.len());

    // Sixteen bits and interlaced: 8 bytes for each pixel in the file, 4 in memory. All passes together have 1875 rows.
    let rows = vec![0; 1000 * 1000 * 8 + 1875];
    let (peak, result) = peak_of(&file(Header { depth: 16, interlace: 1, ..rgba(1000, 1000) }, &[], &rows));
    assert!(result.is_ok() && peak < 4_000_000 + working, "{peak} bytes: {result:?}");
}
