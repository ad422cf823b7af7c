//! Reads the catalog's files from a checkout. Files that are not the catalog's are left alone; within its folders
//! everything is read, so that verification sees what does not belong there.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

use crate::VerifyError;

/// The names at the top of a tree that belong to the catalog.
const OWNED: [&str; 7] = ["baselines", "catalog.json", "log", "manifest.json", "publications", "receipts", "revisions"];
/// Greatest number of files.
const MAX_FILES: usize = 200_000;
/// Greatest size of one file in bytes; the manifest of so many files has some 30 MB.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// Greatest size of all files in bytes.
const MAX_TOTAL_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Greatest number of folders within each other; a baseline has four.
const MAX_DEPTH: usize = 8;

/// Reads the catalog's files below `dir`: at most 200,000 files, 64 MiB each, 2 GiB together. Symbolic links and other
/// special files are refused.
pub fn read_tree(dir: &Path) -> Result<BTreeMap<String, Vec<u8>>, VerifyError> {
    let mut reader = Reader { files: BTreeMap::new(), total_bytes: 0 };
    for name in OWNED {
        let path = dir.join(name);
        if !fs::symlink_metadata(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            reader.read(&path, name.to_owned(), 0)?;
        }
    }
    if reader.files.is_empty() {
        return Err(VerifyError::new(dir.display().to_string(), "there is no catalog here"));
    }
    Ok(reader.files)
}

struct Reader {
    files: BTreeMap<String, Vec<u8>>,
    total_bytes: u64,
}

impl Reader {
    fn read(&mut self, path: &Path, name: String, depth: usize) -> Result<(), VerifyError> {
        let facts = fs::symlink_metadata(path).map_err(|error| unreadable(&name, &error))?;
        if facts.is_dir() {
            return self.read_folder(path, &name, depth);
        }
        if !facts.is_file() {
            return Err(VerifyError::new(name, "this is a symbolic link or a special file"));
        }
        if self.files.len() >= MAX_FILES {
            return Err(VerifyError::new(name, format!("there are more than {MAX_FILES} files")));
        }
        let mut bytes = Vec::new();
        let opened = File::open(path).map_err(|error| unreadable(&name, &error))?;
        opened.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&name, &error))?;
        let size_bytes = bytes.len() as u64;
        self.total_bytes += size_bytes;
        if size_bytes > MAX_FILE_BYTES || self.total_bytes > MAX_TOTAL_BYTES {
            return Err(VerifyError::new(
                name,
                format!("the file has more than {MAX_FILE_BYTES} bytes, or all together more than {MAX_TOTAL_BYTES}"),
            ));
        }
        self.files.insert(name, bytes);
        Ok(())
    }

    fn read_folder(&mut self, path: &Path, name: &str, depth: usize) -> Result<(), VerifyError> {
        if depth >= MAX_DEPTH {
            return Err(VerifyError::new(name, format!("there are more than {MAX_DEPTH} folders within each other")));
        }
        for entry in fs::read_dir(path).map_err(|error| unreadable(name, &error))? {
            let entry = entry.map_err(|error| unreadable(name, &error))?;
            let child = entry.file_name();
            let child = child.to_str().ok_or_else(|| VerifyError::new(name, "a file's name in it is not UTF-8"))?;
            self.read(&entry.path(), format!("{name}/{child}"), depth + 1)?;
        }
        Ok(())
    }
}

fn unreadable(name: &str, error: &io::Error) -> VerifyError {
    VerifyError::new(name, format!("cannot be read: {error}"))
}
