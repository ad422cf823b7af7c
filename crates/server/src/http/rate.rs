//! How often one may call: a token bucket for each principal, and for each address of callers who are nobody yet.
//!
//! The buckets are of this process. What must hold over restarts and processes, such as wrong passwords under a name, is
//! counted in rows.

use std::{
    hash::Hash,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    num::NonZeroU32,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use axum::http::{Extensions, HeaderMap};
use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};
use pinhole_core::{Error, PrincipalId, Result};

use crate::{RateLimits, ServerSettings};

/// After so many calls, buckets that are full again are forgotten.
const SWEEP_EVERY: u32 = 1024;
/// Buckets at a time; beyond, everybody waits until some are full again and forgotten.
const MAX_BUCKETS: usize = 100_000;

/// The address that a connection comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// The buckets of everybody.
pub(crate) struct Rates {
    principals: Buckets<PrincipalId>,
    strangers: Buckets<IpAddr>,
    sign_ins: Buckets<IpAddr>,
}

impl Rates {
    pub(crate) fn new(limits: &RateLimits) -> Self {
        let second = Duration::from_secs(1);
        Self {
            principals: Buckets::new(limits.principal_per_second, second, limits.principal_burst),
            strangers: Buckets::new(limits.stranger_per_second, second, limits.stranger_burst),
            sign_ins: Buckets::new(limits.sign_ins_per_minute, Duration::from_secs(60), limits.sign_ins_per_minute),
        }
    }

    /// Counts a call of a principal.
    ///
    /// # Errors
    /// `limit_exceeded` with the seconds to wait; so for all three.
    pub(crate) fn principal(&self, principal: PrincipalId) -> Result<()> {
        self.principals.take(principal)
    }

    /// Counts a call of somebody without a valid credential.
    pub(crate) fn stranger(&self, address: IpAddr) -> Result<()> {
        self.strangers.take(network(address))
    }

    /// Counts an attempt to sign in, or to prove again who one is.
    pub(crate) fn sign_in(&self, address: IpAddr) -> Result<()> {
        self.sign_ins.take(network(address))
    }
}

struct Buckets<K: Clone + Eq + Hash> {
    limiter: DefaultKeyedRateLimiter<K>,
    calls: AtomicU32,
}

impl<K: Clone + Eq + Hash> Buckets<K> {
    fn new(tokens: NonZeroU32, each: Duration, burst: NonZeroU32) -> Self {
        let period = each / tokens.get();
        // Only a period of zero has no quota.
        let quota = Quota::with_period(period).unwrap_or(Quota::per_second(tokens)).allow_burst(burst);
        Self { limiter: RateLimiter::keyed(quota), calls: AtomicU32::new(0) }
    }

    fn take(&self, key: K) -> Result<()> {
        if self.calls.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY - 1 {
            self.limiter.retain_recent();
            self.limiter.shrink_to_fit();
        }
        if self.limiter.len() > MAX_BUCKETS {
            return Err(Error::rate_limited(1));
        }
        self.limiter.check_key(&key).map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            Error::rate_limited(u32::try_from(wait.as_secs() + 1).unwrap_or(u32::MAX))
        })
    }
}

/// Where a request comes from: the peer of its connection, or what the proxy before this server says where the settings
/// trust one. The proxy appends the address that it saw, so that the last one is its word.
pub(crate) fn address_of(settings: &ServerSettings, extensions: &Extensions, headers: &HeaderMap) -> IpAddr {
    let peer = extensions.get().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |Peer(address)| *address);
    if !settings.behind_proxy {
        return peer;
    }
    let last = headers.get_all("x-forwarded-for").iter().next_back().and_then(|value| value.to_str().ok());
    let last = last.and_then(|value| value.rsplit(',').next());
    last.and_then(|address| address.trim().parse().ok()).unwrap_or(peer)
}

/// What one household or rack has at its disposal counts as one: of IPv6 the first 64 bits.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64))),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};
    use pinhole_core::Code;
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn limits() -> RateLimits {
        let (one, three) = (NonZeroU32::MIN, NonZeroU32::new(3).unwrap());
        RateLimits {
            principal_per_second: one,
            principal_burst: three,
            stranger_per_second: one,
            stranger_burst: three,
            sign_ins_per_minute: three,
        }
    }

    #[test]
    fn each_has_a_bucket_of_their_own() {
        let rates = Rates::new(&limits());
        let (one, other): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        for _ in 0..3 {
            rates.sign_in(one).unwrap();
        }
        let error = rates.sign_in(one).unwrap_err();
        assert_eq!((error.code(), error.reason()), (Code::LimitExceeded, Some("rate")));
        assert!((19..=20).contains(&error.details().retry_after_s.unwrap()), "{:?}", error.details());
        rates.sign_in(other).unwrap();
        rates.stranger(one).unwrap();
    }

    #[test]
    fn an_ipv6_network_is_one_caller() {
        let rates = Rates::new(&limits());
        for host in 1..=3 {
            rates.sign_in(format!("2001:db8::{host}").parse().unwrap()).unwrap();
        }
        assert!(rates.sign_in("2001:db8::ffff:1".parse().unwrap()).is_err());
        rates.sign_in("2001:db8:0:1::1".parse().unwrap()).unwrap();
    }

    #[test]
    fn only_a_trusted_proxy_names_the_address() {
        let mut extensions = Extensions::new();
        extensions.insert(Peer("192.0.2.1".parse().unwrap()));
        let mut headers = HeaderMap::new();
        headers.append("x-forwarded-for", HeaderValue::from_static("203.0.113.9"));
        headers.append("x-forwarded-for", HeaderValue::from_static("203.0.113.8, 198.51.100.7"));
        let settings = |behind_proxy| ServerSettings { behind_proxy, ..ServerSettings::default() };
        let address = |behind| address_of(&settings(behind), &extensions, &headers).to_string();
        assert_eq!(address(false), "192.0.2.1");
        assert_eq!(address(true), "198.51.100.7");
        let none = address_of(&settings(true), &extensions, &HeaderMap::new());
        assert_eq!(none.to_string(), "192.0.2.1");
    }

    proptest! {
        #[test]
        fn the_proxy_is_believed_in_its_last_word(claimed in vec("[0-9a-f.:, ]{0,20}", 0..3), seen in any::<IpAddr>()) {
            let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
            let mut extensions = Extensions::new();
            extensions.insert(Peer(peer));
            let lines = claimed.iter().map(|line| HeaderValue::try_from(line).unwrap());
            let mut headers: HeaderMap = lines.map(|line| (HeaderName::from_static("x-forwarded-for"), line)).collect();
            let mut settings = ServerSettings::default();
            prop_assert_eq!(address_of(&settings, &extensions, &headers), peer, "there is no proxy");
            settings.behind_proxy = true;
            let _odd = address_of(&settings, &extensions, &headers);
            headers.append("x-forwarded-for", HeaderValue::try_from(format!("198.51.100.7, {seen}")).unwrap());
            prop_assert_eq!(address_of(&settings, &extensions, &headers), seen);
        }
    }
}
