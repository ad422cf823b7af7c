//! Keys and certificates as the programs make them that people use: `ssh-keygen` and `openssl`.

use std::{fs, path::Path, process::Command};

use tempfile::TempDir;

/// A pair of SSH keys.
pub struct SshKey {
    /// The private key's file.
    pub private: String,
    /// The public key's line: kind, key and comment.
    pub public: String,
    /// As `ssh-keygen -l` shows it: `SHA256:…`.
    pub fingerprint: String,
}

impl SshKey {
    /// One that is nobody's and opens nothing, made with these arguments of `ssh-keygen`, such as `-t ed25519`, and
    /// without a passphrase unless they name one.
    pub fn made_with(arguments: &[&str]) -> Self {
        let folder = folder();
        let path = folder.path().join("key");
        let passphrase: &[&str] = if arguments.contains(&"-N") { &[] } else { &["-N", ""] };
        run(Command::new("ssh-keygen")
            .args(["-q", "-C", "a comment", "-f"])
            .arg(&path)
            .args(arguments)
            .args(passphrase));
        let public = read(&path.with_extension("pub"));
        let listed = run(Command::new("ssh-keygen").arg("-lf").arg(path.with_extension("pub")));
        let fingerprint = listed.split(' ').nth(1).unwrap_or_default().to_owned();
        Self { private: read(&path), public: public.trim_end().to_owned(), fingerprint }
    }
}

/// A certificate that certifies itself, in PEM, and its SHA-256 in small hexadecimal digits.
pub fn certificate() -> (String, String) {
    let folder = folder();
    let path = folder.path().join("certificate");
    let request =
        ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost"];
    let key = folder.path().join("key");
    run(Command::new("openssl").args(request).arg("-keyout").arg(key).arg("-out").arg(&path));
    let shown = run(Command::new("openssl").args(["x509", "-noout", "-fingerprint", "-sha256", "-in"]).arg(&path));
    let digits = shown.trim_end().rsplit('=').next().unwrap_or_default().replace(':', "").to_lowercase();
    (read(&path), digits)
}

fn folder() -> TempDir {
    TempDir::with_prefix("pinhole-keys-").unwrap_or_else(|error| panic!("no folder for keys: {error}"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
