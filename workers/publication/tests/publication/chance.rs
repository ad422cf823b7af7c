//! Numbers for tests that choose at random: printed with the seed that decides them, which `PINHOLE_SEED` gives again.

use pinhole_core::{Ids as _, RandomIds};
use pinhole_testkit::SeededIds;

/// A source of numbers that its seed decides.
pub(crate) struct Random(SeededIds);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(SeededIds::new(seed))
    }

    pub(crate) fn number(&self) -> u64 {
        let mut drawn = [0; 8];
        self.0.fill(&mut drawn).unwrap();
        u64::from_be_bytes(drawn)
    }

    /// A number from 0 to below `bound`.
    pub(crate) fn below(&self, bound: usize) -> usize {
        usize::try_from(self.number() % bound as u64).unwrap()
    }

    pub(crate) fn one_in(&self, count: usize) -> bool {
        self.below(count) == 0
    }
}

/// The seed of this run.
pub(crate) fn seed() -> u64 {
    let seed = match std::env::var("PINHOLE_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => RandomIds.uuid().as_u64_pair().0,
    };
    eprintln!("PINHOLE_SEED={seed}");
    seed
}
