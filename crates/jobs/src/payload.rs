//! Payloads as apalis sees them: bytes that it must not decode, since it stops a whole worker when it cannot.

use std::convert::Infallible;

use apalis::prelude::Codec;

/// The bytes of a job's row, not yet read.
#[derive(Clone, Debug)]
pub(crate) struct Payload(pub(crate) Vec<u8>);

/// Passes the bytes on as they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verbatim;

impl Codec<Payload> for Verbatim {
    type Error = Infallible;
    type Compact = Vec<u8>;

    fn encode(&self, payload: &Payload) -> Result<Vec<u8>, Infallible> {
        Ok(payload.0.clone())
    }

    fn decode(&self, bytes: &Vec<u8>) -> Result<Payload, Infallible> {
        Ok(Payload(bytes.clone()))
    }
}
