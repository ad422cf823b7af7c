//! An empty database for one test, as a URL. It must not create tables: that is the store's business.

use tempfile::TempDir;

use crate::postgres::Cluster;

/// The two database engines that the product runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A file.
    Sqlite,
    /// A server; the installed binaries are enough, no running service is needed.
    Postgres,
}

impl Engine {
    /// Both, for tests that must hold on each.
    pub const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];
}

/// An empty database of its own; dropping it removes it.
#[derive(Debug)]
pub struct Database {
    url: String,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Directory { _removed_on_drop: TempDir },
    Cluster { name: String },
}

impl Database {
    /// An empty database on `engine`.
    pub fn on(engine: Engine) -> Self {
        match engine {
            Engine::Sqlite => Self::sqlite(),
            Engine::Postgres => Self::postgres(),
        }
    }

    /// A file in a temporary directory. A file and not memory, since a pool of connections to memory is as many
    /// databases.
    pub fn sqlite() -> Self {
        let directory = TempDir::with_prefix("pinhole-sqlite-").expect("the temporary directory is writable");
        let url = format!("sqlite://{}?mode=rwc", directory.path().join("test.sqlite").display());
        Self { url, place: Place::Directory { _removed_on_drop: directory } }
    }

    /// A fresh database in this process's private PostgreSQL cluster, which the first call starts. The user of the
    /// URL is a superuser there. Blocks for about a second at the first call and a tenth of one after.
    pub fn postgres() -> Self {
        let cluster = Cluster::of_this_process();
        let name = cluster.create_database();
        Self { url: cluster.url(&name), place: Place::Cluster { name } }
    }

    /// The address in the form that sqlx and `psql` read.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Which engine it is on.
    pub fn engine(&self) -> Engine {
        match self.place {
            Place::Directory { .. } => Engine::Sqlite,
            Place::Cluster { .. } => Engine::Postgres,
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Place::Cluster { name } = &self.place {
            Cluster::of_this_process().drop_database(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sqlite_database_goes_with_its_directory() {
        let database = Database::sqlite();
        let path = database.url().strip_prefix("sqlite://").and_then(|rest| rest.strip_suffix("?mode=rwc")).unwrap();
        let path = std::path::PathBuf::from(path);
        std::fs::write(&path, "rows").unwrap();
        drop(database);
        assert!(!path.parent().unwrap().exists());
    }
}
