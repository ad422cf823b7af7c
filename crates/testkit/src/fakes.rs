//! The clock and the source of ids that a test controls. They must not read the machine's clock or random source.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use pinhole_core::{Clock, Error, Ids, Result, Timestamp, Witness};
use uuid::{Builder, Uuid};

/// 2026-01-01T00:00:00Z in microseconds.
const START_MICROS: i64 = 1_767_225_600_000_000;

/// A clock that stands still until it is moved. Clones show the same time.
#[derive(Clone, Debug)]
pub struct FakeClock(Arc<AtomicI64>);

impl FakeClock {
    /// A clock that shows `now`.
    pub fn at(now: Timestamp) -> Self {
        Self(Arc::new(AtomicI64::new(now.as_micros())))
    }

    /// Shows `now` from here on, also when that is earlier.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.as_micros(), Ordering::SeqCst);
    }

    /// Moves the clock forward and returns the new time.
    pub fn advance(&self, by: Duration) -> Timestamp {
        let by = i64::try_from(by.as_micros()).expect("a test moves the clock by less than 292,000 years");
        Timestamp::from_micros(self.0.fetch_add(by, Ordering::SeqCst) + by)
    }
}

impl Default for FakeClock {
    /// 2026-01-01T00:00:00Z.
    fn default() -> Self {
        Self::at(Timestamp::from_micros(START_MICROS))
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// The same ids and "random" bytes for the same seed and order of calls. Nothing it makes is secret.
///
/// Ids are UUIDv7 a millisecond apart, so that they sort in the order they were made, as real ones do.
#[derive(Debug)]
pub struct SeededIds {
    seed: u64,
    made: AtomicU64,
    drawn: AtomicU64,
}

impl SeededIds {
    /// A source that depends on `seed` alone.
    pub const fn new(seed: u64) -> Self {
        Self { seed, made: AtomicU64::new(0), drawn: AtomicU64::new(0) }
    }

    fn draw(&self) -> u64 {
        let index = self.drawn.fetch_add(1, Ordering::SeqCst);
        split_mix(self.seed, index)
    }
}

impl Default for SeededIds {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Ids for SeededIds {
    fn uuid(&self) -> Uuid {
        let index = self.made.fetch_add(1, Ordering::SeqCst);
        let millis = START_MICROS.unsigned_abs() / 1000 + index;
        let mut random = [0; 10];
        random[..8].copy_from_slice(&split_mix(!self.seed, index).to_be_bytes());
        Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
    }

    fn fill(&self, bytes: &mut [u8]) -> Result<()> {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.draw().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

/// The `index`th output of the SplitMix64 generator (Steele, Lea and Flood 2014) that starts at `seed`.
fn split_mix(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What a sequencer remembers, in memory.
#[derive(Clone, Debug, Default)]
pub struct FakeWitness {
    newest: Arc<Mutex<Option<(u64, String)>>>,
    fails: Arc<AtomicBool>,
}

impl FakeWitness {
    /// Forgets, or remembers something else.
    pub fn set(&self, checkpoint: Option<(u64, String)>) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = checkpoint;
    }

    /// What it remembers, with the number of leaves.
    pub fn get(&self) -> Option<(u64, String)> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it can remember nothing, like a full disk.
    pub fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::SeqCst);
    }
}

impl Witness for FakeWitness {
    fn newest(&self) -> Result<Option<String>> {
        Ok(self.get().map(|(_, checkpoint)| checkpoint))
    }

    fn remember(&self, checkpoint: &str, size: u64) -> Result<()> {
        if self.fails.load(Ordering::SeqCst) {
            return Err(Error::unavailable("witness", "the witness was told to fail"));
        }
        // The first line is the log's name, and another log takes the place of the one that was given up.
        let is_older = |(known, note): (u64, String)| known < size || note.lines().next() != checkpoint.lines().next();
        if self.get().is_none_or(is_older) {
            self.set(Some((size, checkpoint.to_owned())));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_a_clock_move_together() {
        let clock = FakeClock::default();
        let other = clock.clone();
        assert_eq!(clock.now().to_string(), "2026-01-01T00:00:00.000000Z");
        clock.advance(Duration::from_millis(1500));
        assert_eq!(other.now().to_string(), "2026-01-01T00:00:01.500000Z");
    }

    #[test]
    fn ids_repeat_per_seed_and_sort_by_creation() {
        let (one, same, other) = (SeededIds::new(1), SeededIds::new(1), SeededIds::new(2));
        let ids: Vec<_> = (0..100).map(|_| one.uuid()).collect();
        assert!(ids.is_sorted());
        assert_eq!(ids[0].get_version_num(), 7);
        assert_eq!(ids[0], same.uuid());
        assert_ne!(ids[0], other.uuid());
    }

    #[test]
    fn bytes_follow_the_published_generator() {
        // The first output of SplitMix64 for seed 0, as its reference implementation prints it.
        assert_eq!(split_mix(0, 0), 0xe220_a839_7b1d_cdaf);
        let mut bytes = [0; 11];
        SeededIds::new(0).fill(&mut bytes).unwrap();
        assert_eq!(bytes[..8], 0xe220_a839_7b1d_cdaf_u64.to_le_bytes());
        assert_ne!(bytes[8..], [0; 3]);
    }
}
