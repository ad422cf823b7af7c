//! The data directory of an embedded installation, and an `App` over it.

use std::{
    fs::{DirBuilder, OpenOptions},
    io::{ErrorKind, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use pinhole_app::{App, Keyring, LogPorts, Parts, Settings};
use pinhole_blobs::Blobs;
use pinhole_core::{Clock, Error, Ids, RandomIds, Result, Sealer, SystemClock};
use pinhole_jobs::WakeSender;
use pinhole_receipt::SigningKey;
use pinhole_seal::MasterKeys;
use pinhole_store::{Store, Tx};

use crate::{CheckpointFile, Config, KeyRing, WorkerConfig};

/// Where an embedded installation keeps everything. Directories have mode 0700.
#[derive(Clone, Debug)]
pub struct DataDir(PathBuf);

impl DataDir {
    /// Opens the directory, or makes it.
    ///
    /// # Errors
    /// `invalid_arguments` when it cannot be made, or others than its owner can look into it.
    pub fn open(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path).map_err(|e| Error::invalid("data_dir", e.to_string()))?;
        let directory = Self(path);
        for path in [directory.0.clone(), directory.keys(), directory.objects(), directory.git()] {
            make_private(&path)?;
        }
        Ok(directory)
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The key that signs receipts, decisions and catalog revisions.
    pub fn statement_key(&self) -> PathBuf {
        self.keys().join("statement.pem")
    }

    /// The key that signs Git commits.
    pub fn commit_key(&self) -> PathBuf {
        self.keys().join("commit.pem")
    }

    /// The key that signs checkpoints of the transparency log.
    pub fn log_key(&self) -> PathBuf {
        self.keys().join("log.pem")
    }

    /// The public keys of all that were ever in the three files above, with their status.
    pub fn public_keys(&self) -> PathBuf {
        self.keys().join("public-keys.json")
    }

    /// The newest checkpoint that was signed.
    pub fn log_checkpoint(&self) -> PathBuf {
        self.keys().join("log-checkpoint")
    }

    /// Where the first administrator's sign-in link is written.
    pub fn first_admin_sign_in(&self) -> PathBuf {
        self.0.join("first-admin-sign-in")
    }

    /// The keys that seal secrets, unless the configuration names another file.
    pub fn master_key(&self) -> PathBuf {
        self.keys().join("master.key")
    }

    /// Where Git keeps what it needs between steps.
    pub fn git(&self) -> PathBuf {
        self.0.join("git")
    }

    fn keys(&self) -> PathBuf {
        self.0.join("keys")
    }

    fn objects(&self) -> PathBuf {
        self.0.join("objects")
    }

    /// The address of the directory's own database, whose file has mode 0600 from its beginning: a copy that keeps the
    /// mode is for its owner alone, too. What SQLite puts beside the file has the same mode.
    fn own_database(&self) -> Result<String> {
        let path = self.0.join("pinhole.db");
        let made = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        made.map_err(|e| Error::invalid("data_dir", format!("{}: {e}", path.display())))?;
        Ok(format!("sqlite:{}", path.display()))
    }
}

/// Writes a secret into a file for its owner alone, mode 0600; an older file of the name is replaced and not written
/// into, since others may have it open.
///
/// # Errors
/// `provider_unavailable` when it cannot be written.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = || {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    written().map_err(|error| {
        let message = format!("{} cannot be written: check its folder and the free space", path.display());
        Error::unavailable("file", message).with_source(error)
    })
}

fn make_private(path: &Path) -> Result<()> {
    let wrong = |what: String| Error::invalid("data_dir", format!("{}: {what}", path.display()));
    match DirBuilder::new().mode(0o700).recursive(false).create(path) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            let found = std::fs::metadata(path).map_err(|e| wrong(e.to_string()))?;
            if !found.is_dir() {
                return Err(wrong("is not a directory".into()));
            }
            if found.permissions().mode() & 0o077 == 0 {
                Ok(())
            } else {
                Err(wrong("others can look into it: run chmod 700 on it".into()))
            }
        }
        Err(e) if e.kind() == ErrorKind::NotFound => Err(wrong("its parent does not exist".into())),
        Err(e) => Err(wrong(e.to_string())),
    }
}

/// An application with its statement key: what `serve`, `try` and the local commands work on.
pub struct Installation {
    /// The use cases.
    pub app: App,
    /// The directory.
    pub data: DataDir,
    /// What a worker process is told.
    pub worker: WorkerConfig,
    /// The keys that seal secrets.
    pub master_keys: Arc<MasterKeys>,
}

impl Installation {
    /// Opens the data directory, makes missing keys, migrates the database when `migrate` says so, and assembles.
    ///
    /// # Errors
    /// `invalid_arguments` for the configuration, `provider_unavailable` when the database is away, `conflict` when its
    /// schema is not at this version or the key that signed its receipts is gone.
    pub async fn open(config: &Config, settings: Settings, migrate: bool) -> Result<Self> {
        let data = DataDir::open(&config.data_dir)?;
        let ids: Arc<dyn Ids> = Arc::new(RandomIds);
        let database_url = match &config.database_url {
            Some(url) => url.clone(),
            None => data.own_database()?,
        };
        if !data.statement_key().exists() {
            refuse_second_key(&database_url, &data.statement_key(), Protects::Statements).await?;
        }
        if !data.log_key().exists() {
            refuse_second_key(&database_url, &data.log_key(), Protects::Log).await?;
        }
        let keyring = Arc::new(KeyRing::new(data.clone(), Arc::clone(&ids)));
        keyring.prepare()?;
        let log = SigningKey::load_or_create(&data.log_key(), &*ids)?;
        let worker = WorkerConfig {
            database_url,
            objects: data.objects(),
            lanes: config.capture.lanes,
            lease_ms: u64::try_from(settings.lease.as_millis()).unwrap_or(u64::MAX),
            browser: config.browser.clone(),
            crash_at: std::env::var("PINHOLE_CRASH_AT").ok(),
        };
        let master_keys = Arc::new(master_keys(config, &data, &worker.database_url, Arc::clone(&ids)).await?);
        let sealer: Arc<dyn Sealer> = Arc::clone(&master_keys) as Arc<dyn Sealer>;
        let log = LogPorts { signer: Arc::new(log), witness: Arc::new(CheckpointFile::new(data.log_checkpoint())) };
        let keys = Keys { keyring, sealer, log };
        let app = assemble(&worker, Some(keys), ids, settings).await?;
        if migrate {
            app.store().migrate().await?;
            pinhole_jobs::migrate(app.store()).await?;
        } else {
            app.store().check_schema().await?;
        }
        for remote in &config.remotes {
            let access = remote.access()?;
            app.put_configured_remote(&remote.slug, &remote.url, &remote.branches, &access).await?;
        }
        Ok(Self { app, data, worker, master_keys })
    }
}

/// The master keys: those of the environment, else of the file that the configuration names, else of the data directory.
async fn master_keys(config: &Config, data: &DataDir, database_url: &str, ids: Arc<dyn Ids>) -> Result<MasterKeys> {
    if let Some(text) = std::env::var("PINHOLE_MASTER_KEY").ok().filter(|text| !text.is_empty()) {
        return MasterKeys::given(&text, ids).map_err(|error| Error::invalid("PINHOLE_MASTER_KEY", error.message()));
    }
    let path = config.master_key_file.clone().unwrap_or_else(|| data.master_key());
    if !path.exists() {
        refuse_second_key(database_url, &path, Protects::Secrets).await?;
    }
    MasterKeys::load_or_create(&path, ids)
}

/// What a key is needed for that the database holds.
#[derive(Clone, Copy)]
enum Protects {
    /// What it signed.
    Statements,
    /// What it sealed.
    Secrets,
    /// The checkpoints of the transparency log.
    Log,
}

impl Protects {
    async fn any(self, mut tx: Tx) -> Result<bool> {
        match self {
            Self::Statements => tx.has_receipts().await,
            Self::Secrets => tx.has_sealed_secrets().await,
            Self::Log => Ok(tx.log_state().await?.is_some_and(|log| log.checkpoint.is_some())),
        }
    }
}

/// A new key belongs to a new database: what the lost one signed would verify with none that is published, and what it
/// sealed would never open again.
async fn refuse_second_key(database_url: &str, key: &Path, protects: Protects) -> Result<()> {
    let store = Store::open(database_url, Arc::new(SystemClock)).await?;
    // A schema at another version is told on its own.
    let used = match store.check_schema().await {
        Ok(()) => protects.any(store.begin_read().await?).await?,
        Err(_) => false,
    };
    store.close().await;
    if !used {
        return Ok(());
    }
    let message = format!(
        "{} is missing, and the database holds what it signed or sealed: restore it from backup",
        key.display()
    );
    Err(Error::conflict("key_missing", message))
}

/// What only the server's process has.
pub(crate) struct Keys {
    keyring: Arc<dyn Keyring>,
    sealer: Arc<dyn Sealer>,
    log: LogPorts,
}

/// An application from its ports; without keys for a worker process.
pub(crate) async fn assemble(
    worker: &WorkerConfig,
    keys: Option<Keys>,
    ids: Arc<dyn Ids>,
    settings: Settings,
) -> Result<App> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = Store::open(&worker.database_url, clock).await?;
    let blobs = Blobs::local(&worker.objects)?;
    let (keyring, sealer, log) = match keys {
        Some(Keys { keyring, sealer, log }) => (Some(keyring), Some(sealer), Some(log)),
        None => (None, None, None),
    };
    Ok(App::new(Parts { store, blobs, ids, keyring, sealer, log, wake: WakeSender::new(), settings }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_no_data_directory() {
        let error = DataDir::open(Path::new("/dev/null")).unwrap_err();
        assert!(error.message().contains("is not a directory"), "{error}");
    }
}
