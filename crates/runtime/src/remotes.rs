//! Git remotes of the configuration. What is secret of them stands in files of their own, for their owner alone.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use pinhole_core::{Error, RemoteAccess, RemoteCredential, Result, Slug};
use pinhole_keyfile as keyfile;
use serde::Deserialize;

/// Greatest size of a file of certificates in bytes.
const MAX_CERTIFICATES: u64 = 1 << 16;

/// A Git remote.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteConfig {
    /// Its name.
    pub slug: Slug,
    /// Where it is: an absolute path, or a `file:`, `https:` or `ssh:` URL.
    pub url: String,
    /// Branches that may be published to; a trailing `*` matches any rest.
    pub branches: Vec<String>,
    /// Whom an `https:` server knows us as; goes with `password_file`.
    pub user: Option<String>,
    /// A file with the password or access token, for its owner alone.
    pub password_file: Option<PathBuf>,
    /// A file with the private key for an `ssh:` server, for its owner alone.
    pub private_key_file: Option<PathBuf>,
    /// The host key of an `ssh:` server, as `ssh-keygen -l` shows it.
    pub host_key: Option<String>,
    /// A file of certificates in PEM by which an `https:` server is known, in place of those of the system.
    pub certificate_authorities_file: Option<PathBuf>,
}

impl RemoteConfig {
    /// One that needs nothing else: a repository on this machine.
    #[must_use]
    pub fn local(slug: Slug, path: &Path, branches: Vec<String>) -> Self {
        Self {
            slug,
            url: path.display().to_string(),
            branches,
            user: None,
            password_file: None,
            private_key_file: None,
            host_key: None,
            certificate_authorities_file: None,
        }
    }

    /// How it is reached, with what its files hold.
    ///
    /// # Errors
    /// `invalid_arguments` when a file is missing, others may use it, or it is too large; nothing of it is quoted.
    pub fn access(&self) -> Result<RemoteAccess> {
        let credential = match (&self.user, &self.password_file, &self.private_key_file) {
            (None, None, None) => None,
            (Some(user), Some(file), None) => {
                Some(RemoteCredential::Password { user: user.clone(), password: secret(file)? })
            }
            (None, None, Some(file)) => Some(RemoteCredential::SshKey { private_key: secret(file)? }),
            _ => {
                let reason = "expected user and password_file, or private_key_file, or none of them";
                return Err(Error::invalid("credential", reason));
            }
        };
        let certificate_authorities = self.certificate_authorities_file.as_deref().map(certificates).transpose()?;
        Ok(RemoteAccess { credential, host_key: self.host_key.clone(), certificate_authorities })
    }

    /// What is wrong with it, by its name.
    pub(crate) fn check(&self) -> Result<(), String> {
        let checked = self.access().and_then(|access| pinhole_app::check_remote(&self.url, &self.branches, &access));
        checked.map_err(|error| format!("remotes: {}: {}", self.slug, error.message()))?;
        if self.branches.is_empty() {
            return Err(format!("remotes: {} names no branch that may be published to", self.slug));
        }
        Ok(())
    }
}

/// The file's text without the end of its last line, which is no part of a password.
fn secret(path: &Path) -> Result<String> {
    // With the end of its line.
    let max_bytes = RemoteCredential::MAX_SECRET_BYTES as u64 + 2;
    let text = keyfile::read_up_to(path, max_bytes)?.ok_or_else(|| keyfile::refused(path, "is missing"))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

fn certificates(path: &Path) -> Result<String> {
    let wrong = |reason: String| Error::invalid("certificate_authorities_file", reason);
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MAX_CERTIFICATES + 1).read_to_string(&mut text))
        .map_err(|error| wrong(format!("{} cannot be read: {error}", path.display())))?;
    if text.len() as u64 > MAX_CERTIFICATES {
        return Err(wrong(format!("{} is larger than {MAX_CERTIFICATES} bytes", path.display())));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use pinhole_testkit::{SshKey, certificate};
    use tempfile::TempDir;

    use super::*;

    /// Of nobody.
    const HOST_KEY: &str = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    /// A file of the mode in the folder.
    fn file(folder: &TempDir, name: &str, mode: u32, text: &str) -> Option<PathBuf> {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        Some(path)
    }

    fn remote(url: &str) -> RemoteConfig {
        RemoteConfig::local("origin".parse().unwrap(), Path::new(url), vec!["main".into()])
    }

    #[test]
    fn a_remote_is_reached_with_what_its_files_hold() {
        let folder = TempDir::new().unwrap();
        let (certificate, key) = (certificate().0, SshKey::made_with(&["-t", "ed25519"]).private);
        let https = RemoteConfig {
            user: Some("ci".into()),
            password_file: file(&folder, "password", 0o600, " hunter2\n"),
            certificate_authorities_file: file(&folder, "authorities", 0o644, &certificate),
            ..remote("https://git.example/a")
        };
        let password = RemoteCredential::Password { user: "ci".into(), password: " hunter2".into() };
        let access = https.access().unwrap();
        assert_eq!((access.credential, access.certificate_authorities), (Some(password), Some(certificate)));
        let ssh = RemoteConfig {
            private_key_file: file(&folder, "key", 0o400, &key),
            host_key: Some(HOST_KEY.into()),
            ..remote("ssh://git@git.example/a")
        };
        for right in [&https, &ssh, &remote("/srv/a.git"), &remote("file:///srv/a.git")] {
            assert_eq!(right.check(), Ok(()), "{right:?}");
        }
    }

    #[test]
    fn a_file_may_hold_what_an_administrator_may_give() {
        let folder = TempDir::new().unwrap();
        let with = |name: &str, password: String| RemoteConfig {
            user: Some("ci".into()),
            password_file: file(&folder, name, 0o600, &password),
            ..remote("https://git.example/a")
        };
        assert_eq!(with("longest", "€".repeat(4096) + "\r\n").check(), Ok(()));
        assert!(with("longer", "€".repeat(4097)).check().unwrap_err().contains("1 to 4096 characters"));
        assert!(with("large", "a".repeat(16 * 1024 + 3)).check().unwrap_err().contains("too large"));
    }

    #[test]
    fn what_is_wrong_with_a_remote_is_told_by_its_name() {
        let folder = TempDir::new().unwrap();
        let (good, loose) = (file(&folder, "good", 0o600, "hunter2"), file(&folder, "loose", 0o640, "hunter2"));
        let (https, ssh) = (remote("https://git.example/a"), remote("ssh://git.example/a"));
        let user = Some("ci".to_owned());
        let host_key = Some(HOST_KEY.to_owned());
        let missing = Some(folder.path().join("missing"));
        for (wrong, reason) in [
            (RemoteConfig { user: user.clone(), ..https.clone() }, "user and password_file"),
            (RemoteConfig { user: user.clone(), password_file: loose, ..https.clone() }, "0640"),
            (RemoteConfig { user: user.clone(), password_file: missing.clone(), ..https.clone() }, "is missing"),
            (RemoteConfig { certificate_authorities_file: missing, ..https.clone() }, "cannot be read"),
            (RemoteConfig { certificate_authorities_file: good.clone(), ..https.clone() }, "certificates"),
            (RemoteConfig { private_key_file: good.clone(), ..https.clone() }, "takes a user with a password"),
            (RemoteConfig { host_key: host_key.clone(), ..https }, "only an ssh:// URL"),
            (ssh.clone(), "host_key"),
            (RemoteConfig { host_key: Some("MD5:00".into()), ..ssh.clone() }, "SHA256:"),
            (RemoteConfig { host_key, private_key_file: good, ..ssh }, "expected one private key"),
            (remote("https://ci:hunter2@git.example/a"), "no user and password"),
            (remote("http://git.example/a"), "https://"),
            (RemoteConfig { branches: Vec::new(), ..remote("/srv/a.git") }, "names no branch"),
            (RemoteConfig { branches: vec!["a b".into()], ..remote("/srv/a.git") }, "branches[0]"),
        ] {
            let told = wrong.check().unwrap_err();
            assert!(told.starts_with("remotes: origin") && told.contains(reason), "{told}");
            assert!(!told.contains("hunter2"), "{told}");
        }
    }
}
