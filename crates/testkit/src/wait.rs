//! Waiting for something another process or task will do, with a deadline. It must not be used to wait "long enough":
//! name the condition.

use std::{
    net::{Ipv4Addr, TcpListener},
    panic::Location,
    time::{Duration, Instant},
};

/// How often a condition is looked at.
const POLL: Duration = Duration::from_millis(20);

/// Waits until `condition` holds.
///
/// Panics, naming `what` and the caller's line, when it does not within `deadline`; one call of `condition` that
/// hangs counts as not.
#[track_caller]
pub fn wait_until<F: AsyncFnMut() -> bool>(
    deadline: Duration,
    what: &str,
    mut condition: F,
) -> impl Future<Output = ()> {
    let caller = Location::caller();
    async move { poll(caller, deadline, what, async || condition().await.then_some(())).await }
}

/// Waits until `look` finds something, and returns it; otherwise as [`wait_until`].
#[track_caller]
pub fn wait_for<T, F: AsyncFnMut() -> Option<T>>(deadline: Duration, what: &str, look: F) -> impl Future<Output = T> {
    poll(Location::caller(), deadline, what, look)
}

async fn poll<T>(
    caller: &'static Location<'static>,
    deadline: Duration,
    what: &str,
    mut look: impl AsyncFnMut() -> Option<T>,
) -> T {
    let started = Instant::now();
    let found = tokio::time::timeout(deadline, async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(POLL).await;
        }
    });
    match found.await {
        Ok(found) => found,
        Err(_) => panic!("{caller}: waited {:.1} s in vain for this: {what}", started.elapsed().as_secs_f64()),
    }
}

/// A loopback port that was free a moment ago. Prefer binding port 0 where the program under test can report what it
/// got: between this call and the bind another process may take the port.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    listener.local_addr().expect("a bound listener has an address").port()
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;

    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn returns_as_soon_as_the_condition_holds() {
        let mut calls = 0;
        let found = wait_for(Duration::from_secs(10), "the third call", async || {
            calls += 1;
            (calls == 3).then_some("found")
        });
        assert_eq!(found.await, "found");
        assert_eq!(calls, 3);
    }

    #[tokio::test]
    async fn says_what_it_waited_for_and_where() {
        let waiting = wait_until(Duration::from_millis(30), "pigs to fly", std::future::pending);
        let panic = AssertUnwindSafe(waiting).catch_unwind().await.unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.contains("pigs to fly") && message.contains("wait.rs"), "{message}");
    }
}
