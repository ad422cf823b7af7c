//! Files that people name on the command line: read within a bound, written with an error that names them.

use std::{fs::File, io::Read as _, path::Path};

use pinhole_core::{Error, Result};

/// Reads a file of at most `max_bytes`.
///
/// # Errors
/// `invalid_arguments` when it cannot be read, `limit_exceeded` when it is larger.
pub(crate) fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>> {
    let name = path.display().to_string();
    let unreadable = |e: std::io::Error| Error::invalid(&name, format!("cannot be read: {e}"));
    // Counted while it is read: a device or a pipe says nothing of its size.
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(max_bytes + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if bytes.len() as u64 > max_bytes {
        return Err(Error::too_large(name, max_bytes));
    }
    Ok(bytes)
}

/// Writes a file, with the folders on the way to it.
///
/// # Errors
/// `provider_unavailable` when it cannot be written.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.and_then(|()| std::fs::write(path, bytes)).map_err(|error| {
        let message = format!("{} cannot be written: check its folder and the free space", path.display());
        Error::unavailable("file", message).with_source(error)
    })
}

#[cfg(test)]
mod tests {
    use pinhole_core::Code;

    use super::*;

    #[test]
    fn a_file_without_an_end_is_too_large() {
        let error = read(Path::new("/dev/zero"), 10).unwrap_err();
        assert_eq!((error.code(), error.details().limit), (Code::LimitExceeded, Some(10)));
        assert!(read(Path::new("/dev/null"), 10).unwrap().is_empty());
    }
}
