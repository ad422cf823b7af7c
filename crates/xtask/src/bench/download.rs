//! Bytes of an artifact from Pinhole, authorised each time, beside the same file from nginx.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    admission::get,
    load::{Load, drive},
    nginx::Nginx,
    report::median,
    server::Server,
};
use crate::{Outcome, step};

/// Connections that download at the same time.
const CONNECTIONS: usize = 4;
/// The artifact's bytes: so many sevens.
const SIZE: usize = 4 << 20;
/// Their digests, which nothing here can compute.
const SHA256: &str = "sha256:c756100d738b97b9535069044e02c5a92cb0f62c4aecd7a92016feb1192d2f6f";
const BLAKE3: &str = "8e89a2862ca0ef64efd99664ab2abdee970f1435dbbf5130939367eded230c1a";
const ID: &str = "art_00000000000000000000000000000007";

/// An artifact that is in the database and in the storage.
pub(super) struct Picture {
    /// Where its bytes are on the disk.
    file: PathBuf,
}

/// One round of downloads.
pub(super) struct Round {
    pinhole: Load,
    nginx: Load,
}

/// Puts the artifact where the registrar would, beside the newest run of the stopped server on `work/data`.
pub(super) fn prepare(work: &Path) -> Outcome<Picture> {
    let (directory, name) = BLAKE3.split_at(2);
    let directory = work.join("data/objects/blobs").join(directory);
    let file = directory.join(name);
    let write = || {
        fs::create_dir_all(&directory)?;
        fs::write(&file, vec![7; SIZE])
    };
    write().map_err(|e| format!("{}: {e}", file.display()))?;
    let insert = format!(
        "INSERT INTO artifacts (id, project_id, run_id, cell_id, attempt, kind, checkpoint, size_bytes, sha256, blake3, \
         created_at) SELECT '{ID}', runs.project_id, runs.id, cells.id, 1, 'picture', 'page', {SIZE}, '{SHA256}', \
         'blake3:{BLAKE3}', runs.created_at FROM runs JOIN cells ON cells.run_id = runs.id LIMIT 1"
    );
    step::output(Command::new("sqlite3").arg(work.join("data/pinhole.db")).arg(insert))?;
    Ok(Picture { file })
}

/// Downloads the artifact `count` times from each.
pub(super) fn round(
    pinhole: &Path,
    nginx: &Path,
    work: &Path,
    token: &str,
    picture: &Picture,
    count: usize,
) -> Outcome<Round> {
    let server = Server::start(pinhole, work, 0)?;
    let (address, path) = (server.address()?, format!("/api/v1/artifacts/{ID}/content"));
    let pinhole = drive(address, CONNECTIONS, count, 200, &|_| get(address, &path, token))?;
    drop(server);
    let rival = Nginx::start(nginx, &work.join("nginx"), &picture.file)?;
    let address = rival.address();
    let nginx = drive(address, CONNECTIONS, count, 200, &|_| get(address, rival.path(), token))?;
    Ok(Round { pinhole, nginx })
}

/// The medians of the rounds as a table, ratios taken round by round.
pub(super) fn report(rounds: &[Round]) -> String {
    let of = |figure: fn(&Round) -> f64| median(&rounds.iter().map(figure).collect::<Vec<_>>()).unwrap_or_default();
    format!(
        "| artifact GET/s (4 MiB) | nginx | x nginx | p50 ms | nginx p50 ms |\n|--:|--:|--:|--:|--:|\n\
         | {:.0} | {:.0} | {:.2} | {:.1} | {:.1} |",
        of(|round| round.pinhole.rate),
        of(|round| round.nginx.rate),
        of(|round| round.pinhole.rate / round.nginx.rate),
        of(|round| round.pinhole.quantile(0.5)),
        of(|round| round.nginx.quantile(0.5)),
    )
}
