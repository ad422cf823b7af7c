//! Comparison of pictures that accounts for every pixel, and of named values. It reads and writes bytes in memory only: no files, no
//! network, no clock, and no knowledge of runs, baselines or receipts.
//!
#![doc = include_str!("../README.md")]

mod account;
mod chunks;
mod comparison;
mod cover;
mod decode;
mod difference;
mod encode;
mod picture;
mod regions;
mod rules;
mod samples;
mod scan;
mod tiles;
mod values;

pub use account::Account;
pub use comparison::{Comparison, METRIC, Verdict, compare};
pub use decode::{DecodeError, DecodeLimits, decode_png};
pub use difference::difference_picture;
pub use encode::{EncodeError, encode_png};
pub use picture::{Picture, PictureError};
pub use regions::{MAX_REGIONS, Region, RegionKind};
pub use rules::{Rect, Rules};
pub use values::{VALUES_METRIC, ValueChange, ValueComparison, ValueDifference, compare_values};
