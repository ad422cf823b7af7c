//! How many connections one address has at a time.
//!
//! A connection costs its peer next to nothing, also one that never asks for anything. So nobody gets all of them: what
//! one address leaves is for the others.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::http::network;

/// The connections of every address that has any.
#[derive(Clone)]
pub(crate) struct Places {
    of_one: usize,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// One connection's place; dropping it gives it back.
pub(crate) struct Place {
    places: Places,
    address: IpAddr,
}

impl Places {
    /// At most `of_one` for each address.
    pub(crate) fn new(of_one: usize) -> Self {
        Self { of_one, taken: Arc::default() }
    }

    /// A place for a connection from `address`; none when it has all that it gets.
    pub(crate) fn take(&self, address: IpAddr) -> Option<Place> {
        let address = network(address);
        let mut taken = self.taken();
        let count = taken.entry(address).or_default();
        if *count >= self.of_one {
            return None;
        }
        *count += 1;
        Some(Place { places: self.clone(), address })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        let left = taken.get_mut(&self.address).map(|count| {
            *count -= 1;
            *count
        });
        if left == Some(0) {
            taken.remove(&self.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_address_leaves_is_for_the_others() {
        let places = Places::new(2);
        let (one, other): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let (first, second) = (places.take(one).unwrap(), places.take(one).unwrap());
        assert!(places.take(one).is_none());
        // A network of IPv6 is one address, and so is an IPv4 address in the form of IPv6.
        assert!(places.take("::ffff:192.0.2.1".parse().unwrap()).is_none());
        let third = places.take(other).unwrap();
        drop(first);
        let again = places.take(one).unwrap();
        assert!(places.take(one).is_none());
        drop((second, third, again));
        assert!(places.taken().is_empty(), "nobody is remembered who has gone");
    }
}
