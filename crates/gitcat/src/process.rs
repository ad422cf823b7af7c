//! Settings of libgit2 that hold for the whole process: no configuration of the user or the machine, timeouts, and the
//! certificates by which HTTPS servers are known.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use git2::{ConfigLevel, opts};

use crate::failure::Failure;

/// How long to wait for a connection, in milliseconds.
const CONNECT_TIMEOUT_MS: i32 = 10_000;
/// How long to wait for the next bytes, in milliseconds. It bounds a stalled server; the parent's deadline bounds one
/// that drips.
const READ_TIMEOUT_MS: i32 = 30_000;

/// Where the certificates are within the scratch folder, and an empty folder there for OpenSSL to find no others in.
const CERTIFICATES: &str = "authorities.pem";
const NO_FOLDER: &str = "authorities.none";

/// What the process was begun with.
struct Begun {
    certificates: Option<String>,
    outcome: Result<(), String>,
}

/// Certificates to know HTTPS servers by, in place of those of the system.
pub(crate) struct Certificates<'a> {
    /// Them, in PEM.
    pub(crate) pem: &'a str,
    /// A folder for the file that OpenSSL reads them from; made when it is missing.
    pub(crate) folder: &'a Path,
}

/// Applies the settings once, before anything else is done with libgit2. A process can have one set of certificates.
pub(crate) fn isolate(certificates: Option<&Certificates<'_>>) -> Result<(), Failure> {
    static BEGUN: OnceLock<Begun> = OnceLock::new();
    let wanted = certificates.map(|certificates| certificates.pem);
    let begun = BEGUN.get_or_init(|| Begun { certificates: wanted.map(str::to_owned), outcome: begin(certificates) });
    if begun.certificates.as_deref() != wanted {
        return Err(Failure::configuration(
            "the process was begun with other certificates: it can have one set of them",
        ));
    }
    begun.outcome.as_ref().copied().map_err(Failure::configuration)
}

fn begin(certificates: Option<&Certificates<'_>>) -> Result<(), String> {
    if let Some(certificates) = certificates {
        let file = write(certificates).map_err(|error| format!("the certificates could not be written: {error}"))?;
        know_only(&file, &certificates.folder.join(NO_FOLDER))?;
    }
    apply().map_err(|error| error.message().to_owned())
}

fn write(certificates: &Certificates<'_>) -> io::Result<PathBuf> {
    // A folder that is not there would be replaced by the system's.
    fs::create_dir_all(certificates.folder.join(NO_FOLDER))?;
    let file = certificates.folder.join(CERTIFICATES);
    fs::write(&file, certificates.pem)?;
    Ok(file)
}

/// libgit2 can only add to the certificates of the system. OpenSSL takes others in their place from its variables, when
/// libgit2 starts it; whoever reads them later gets the same.
#[expect(unsafe_code, reason = "the environment and libgit2's options are the whole process's")]
fn know_only(file: &Path, no_folder: &Path) -> Result<(), String> {
    // SAFETY: the process is one operation's own, and its one other thread only waits to end it. Tests read the
    // environment through the standard library, which locks it.
    unsafe {
        env::set_var("SSL_CERT_FILE", file);
        env::set_var("SSL_CERT_DIR", no_folder);
    }
    // SAFETY: the `OnceLock` lets one thread in and makes all others wait until it is through.
    unsafe { opts::set_ssl_cert_file(file) }
        .map_err(|_| "certificate_authorities: expected certificates in PEM, and OpenSSL finds none".to_owned())
}

#[expect(unsafe_code, reason = "libgit2's global options have no safe form; `isolate` calls this once, before any use")]
fn apply() -> Result<(), git2::Error> {
    let levels = [ConfigLevel::System, ConfigLevel::Global, ConfigLevel::XDG, ConfigLevel::ProgramData];
    for level in levels {
        // SAFETY: the `OnceLock` lets one thread in and makes all others wait until it is through.
        unsafe { opts::set_search_path(level, "") }?;
    }
    // SAFETY: as above.
    unsafe {
        opts::set_server_connect_timeout_in_milliseconds(CONNECT_TIMEOUT_MS)?;
        opts::set_server_timeout_in_milliseconds(READ_TIMEOUT_MS)
    }
}
