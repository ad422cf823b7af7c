//! `pinhole verify`: checks receipts and published catalogs with nothing but files and a trust file of keys.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use pinhole_core::{Error, LineOrigin, Result};
use pinhole_receipt::{Predicate as _, TrustedKeys, VerifyError, read_tree, verify_catalog, verify_receipt};

use crate::{
    exit::{Exit, say},
    file,
};

/// Greatest size of a file that is read whole.
const MAX_BYTES: u64 = 256 << 20;

/// Check receipts and published catalogs offline.
#[derive(Args)]
pub(crate) struct Verify {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// A capture receipt (a DSSE envelope in JSON), and the picture that it is about where one is named.
    Receipt {
        /// The receipt's file.
        file: PathBuf,
        /// The keys that are trusted (a JSON Web Key Set).
        #[arg(long, value_name = "FILE")]
        keys: PathBuf,
        /// The picture; its digest must be the receipt's.
        #[arg(long, value_name = "FILE")]
        picture: Option<PathBuf>,
    },
    /// A checkout of a published catalog.
    Catalog {
        /// The checkout's directory.
        directory: PathBuf,
        /// The keys that are trusted (a JSON Web Key Set).
        #[arg(long, value_name = "FILE")]
        keys: PathBuf,
    },
}

impl Verify {
    pub(crate) fn run(self) -> Result<Exit> {
        let outcome = match &self.what {
            What::Receipt { file, keys, picture } => receipt(file, keys, picture.as_deref())?,
            What::Catalog { directory, keys } => catalog(directory, keys)?,
        };
        Ok(match outcome {
            Ok(found) => {
                say!("valid: {found}");
                Exit::Success
            }
            Err(wrong) => {
                say!("NOT valid: {wrong}");
                Exit::Changed
            }
        })
    }
}

/// Checks a receipt; the text says what it proves.
pub(crate) fn receipt(file: &Path, keys: &Path, picture: Option<&Path>) -> Result<Result<String, VerifyError>> {
    let keys = trusted(keys)?;
    let envelope = read(file)?;
    let picture = picture.map(read).transpose()?;
    let verified = match verify_receipt(&envelope, &keys, None) {
        Ok(verified) => verified,
        Err(wrong) => return Ok(Err(wrong)),
    };
    let receipt = &verified.receipt;
    let name = receipt.receipt;
    let Some(picture) = picture else {
        return Ok(Ok(format!("receipt {name}; its picture was not looked at")));
    };
    // The picture is the receipt's first artifact, whatever the file is called here.
    let subject = receipt.subjects().into_iter().next();
    let artifacts: BTreeMap<String, Vec<u8>> = subject.map(|subject| (subject.name, picture)).into_iter().collect();
    Ok(verify_receipt(&envelope, &keys, Some(&artifacts)).map(|_| format!("receipt {name} and its picture")))
}

/// Checks a catalog's checkout; the text says what it holds.
pub(crate) fn catalog(directory: &Path, keys: &Path) -> Result<Result<String, VerifyError>> {
    let keys = trusted(keys)?;
    let checked = read_tree(directory).and_then(|files| verify_catalog(&files, &keys));
    Ok(checked.map(|report| {
        let origin = report.forked_from.as_ref().map_or_else(String::new, |origin| {
            let LineOrigin { line, revision, digest } = origin;
            format!("; it was forked from line {line} revision {revision}, {digest}, which is not in this tree")
        });
        format!(
            "catalog {} line {} revision {}: {} active entries, {} signed statements{origin}; \
             commit signature and trailers were not looked at",
            report.project, report.line, report.revision, report.active_entries, report.statements
        )
    }))
}

fn trusted(path: &Path) -> Result<TrustedKeys> {
    TrustedKeys::from_json(&read(path)?).map_err(|e| Error::invalid(path.display().to_string(), e.to_string()))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    file::read(path, MAX_BYTES)
}
