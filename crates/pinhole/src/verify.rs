//! `pinhole verify`: checks receipts, approvals, published catalogs and exported audits with nothing but files and a trust
//! file of keys. All of them answer in the same way: one line with `valid:` or `NOT valid:`, and another exit status.

mod approval;
mod catalog;

use std::{
    collections::BTreeMap,
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use pinhole_core::{Error, Result};
use pinhole_receipt::{
    Predicate as _, TrustedKeys, VerifyError,
    log::{AuditReport, CHECKPOINT_PATH, Checkpoint, verify_audit},
    verify_receipt,
};

pub(crate) use self::catalog::{Tip, catalog};
use crate::{
    exit::{Exit, say},
    file,
};

/// Greatest size of a file that is read whole.
const MAX_BYTES: u64 = 256 << 20;

/// Check receipts, approvals, published catalogs and exported audits offline.
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
    /// An approval, by the decisions on it: that it was given, by whom and for what.
    Approval {
        /// The files of its decisions (DSSE envelopes in JSON): all that its policy asks for, unless a catalog has them.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// The keys that are trusted (a JSON Web Key Set).
        #[arg(long, value_name = "FILE")]
        keys: PathBuf,
        /// A clone or checkout of a published catalog: it must have these decisions, and something that rests on them.
        #[arg(long, value_name = "DIR")]
        catalog: Option<PathBuf>,
    },
    /// A clone or a checkout of a published catalog. In a clone, bare or not, its commits are checked as well.
    Catalog {
        /// The directory of the clone or checkout.
        directory: PathBuf,
        /// The keys that are trusted (a JSON Web Key Set).
        #[arg(long, value_name = "FILE")]
        keys: PathBuf,
        /// An earlier checkout of the same branch, or the checkpoint of one (its log/checkpoint): nothing that it stood
        /// for may have been taken back.
        #[arg(long, value_name = "DIR|FILE")]
        earlier: Option<PathBuf>,
        #[command(flatten)]
        tip: Tip,
    },
    /// An exported audit: that it is whole, and that nothing in it was changed.
    Audit {
        /// The export.
        file: PathBuf,
        /// The keys that are trusted (a JSON Web Key Set).
        #[arg(long, value_name = "FILE")]
        keys: PathBuf,
        /// A checkpoint that is known from elsewhere, such as a checkout of a published catalog: all that it stands for
        /// must be in the export.
        #[arg(long, value_name = "DIR|FILE")]
        checkpoint: Option<PathBuf>,
    },
}

impl Verify {
    pub(crate) fn run(self) -> Result<Exit> {
        let outcome = match &self.what {
            What::Receipt { file, keys, picture } => receipt(file, keys, picture.as_deref())?,
            What::Approval { files, keys, catalog } => approval::approval(files, keys, catalog.as_deref())?,
            What::Catalog { directory, keys, earlier, tip } => catalog(directory, keys, earlier.as_deref(), tip)?,
            What::Audit { file, keys, checkpoint } => audit(file, keys, checkpoint.as_deref())?,
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

/// Checks an exported audit; the text says what it holds.
fn audit(file: &Path, keys: &Path, known: Option<&Path>) -> Result<Result<String, VerifyError>> {
    let keys = trusted(keys)?;
    let known = match known.map(checkpoint).transpose()? {
        None => None,
        Some(note) => match Checkpoint::verify(&note, &keys) {
            Ok(known) => Some(known),
            Err(wrong) => return Ok(Err(wrong.within("the checkpoint"))),
        },
    };
    let unreadable = |e: std::io::Error| Error::invalid(file.display().to_string(), format!("cannot be read: {e}"));
    let mut export = BufReader::new(File::open(file).map_err(unreadable)?);
    let checked = verify_audit(&mut export, &keys, known.as_ref());
    Ok(checked.map(|report| {
        let AuditReport { rows, checkpoint } = report;
        let continued = known.map_or_else(String::new, |known| format!(", the first {} as known before", known.size));
        format!("audit of {rows} rows, whole up to the {} entries of {}{continued}", checkpoint.size, checkpoint.origin)
    }))
}

/// The checkpoint in a file, or in the checkout that a folder is.
fn checkpoint(place: &Path) -> Result<Vec<u8>> {
    if place.is_dir() { read(&place.join(CHECKPOINT_PATH)) } else { read(place) }
}

fn trusted(path: &Path) -> Result<TrustedKeys> {
    TrustedKeys::from_json(&read(path)?).map_err(|e| Error::invalid(path.display().to_string(), e.to_string()))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    file::read(path, MAX_BYTES)
}
