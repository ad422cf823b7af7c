//! Publications end to end: a real application on each database, real bare repositories, and the real child process.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where its preparation fails")]

/// Makes a test for each database engine out of each function.
macro_rules! on_both_engines {
    ($($name:ident)*) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(pinhole_testkit::Engine::Sqlite).await })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(pinhole_testkit::Engine::Postgres).await })*
        }
    };
}

mod baselines;
mod changes;
mod conflicts;
mod failures;
mod keys;
mod kills;
mod log;
mod published;
mod refusals;
mod remote;
mod tampering;
mod world;
