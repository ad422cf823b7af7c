//! Tests of the library through its public surface: files of every kind, hostile files, and properties of comparison.

#[cfg(test)]
mod build;
#[cfg(test)]
mod files;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod properties;
