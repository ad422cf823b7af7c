//! Objects on a local disk: what comes back, what does not, and what is refused.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has to fail")]

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use futures::TryStreamExt as _;
use pinhole_blobs::{Blobs, ByteStream, StagingFolder};
use pinhole_core::{Blake3Digest, CellId, ClaimToken, Code};
use tempfile::TempDir;

const CELL: &str = "cel_00000000000000000000000000000001";

fn storage() -> (TempDir, Blobs) {
    let directory = TempDir::new().unwrap();
    let blobs = Blobs::local(&directory.path().join("objects")).unwrap();
    (directory, blobs)
}

fn folder(token: u8) -> StagingFolder {
    let token: ClaimToken = format!("clm_{token:032x}").parse().unwrap();
    StagingFolder::new(CELL.parse::<CellId>().unwrap(), token)
}

fn stored_at(directory: &TempDir, digest: Blake3Digest) -> PathBuf {
    let hex = digest.hex();
    directory.path().join("objects/blobs").join(&hex[..2]).join(&hex[2..])
}

async fn all(stream: ByteStream) -> pinhole_core::Result<Vec<u8>> {
    stream
        .try_fold(Vec::new(), |mut all, piece| async move {
            all.extend_from_slice(&piece);
            Ok(all)
        })
        .await
}

fn files_below(directory: &Path) -> usize {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| if path.is_dir() { files_below(&path) } else { 1 })
        .sum()
}

#[tokio::test]
async fn bytes_come_back_under_their_digest() {
    let (_directory, blobs) = storage();
    for bytes in [Vec::new(), b"picture".to_vec(), vec![7; 3_000_000]] {
        let digest = blobs.put(bytes.clone()).await.unwrap();
        assert_eq!(digest, Blake3Digest::of(&bytes));
        assert_eq!(blobs.get(digest).await.unwrap(), bytes);
        let (size, stream) = blobs.open(digest, None).await.unwrap();
        assert_eq!(size, bytes.len() as u64);
        assert_eq!(all(stream).await.unwrap(), bytes);
    }
}

#[tokio::test]
async fn the_directory_is_made_for_this_user_alone_and_kept_when_there() {
    let (directory, blobs) = storage();
    let path = directory.path().join("objects");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    let digest = blobs.put("kept").await.unwrap();
    assert_eq!(Blobs::local(&path).unwrap().get(digest).await.unwrap(), b"kept");
    fs::write(directory.path().join("file"), "").unwrap();
    let error = Blobs::local(&directory.path().join("file")).unwrap_err();
    assert_eq!((error.code(), error.reason()), (Code::ProviderUnavailable, Some("storage")));
}

#[tokio::test]
async fn the_same_bytes_are_one_object_and_repair_it() {
    let (directory, blobs) = storage();
    let writes = (0..20).map(|_| blobs.put("same"));
    let digests = futures::future::try_join_all(writes).await.unwrap();
    assert!(digests.iter().all(|digest| *digest == digests[0]));
    assert_eq!(files_below(directory.path()), 1);
    fs::write(stored_at(&directory, digests[0]), "damaged").unwrap();
    blobs.put("same").await.unwrap();
    assert_eq!(blobs.get(digests[0]).await.unwrap(), b"same");
}

#[tokio::test]
async fn damage_and_absence_are_told_apart() {
    let (directory, blobs) = storage();
    let digest = blobs.put(vec![1; 100_000]).await.unwrap();
    let mut bytes = vec![1; 100_000];
    bytes[50_000] = 2;
    fs::write(stored_at(&directory, digest), bytes).unwrap();
    assert_eq!(blobs.get(digest).await.unwrap_err().code(), Code::Internal);
    let (_, stream) = blobs.open(digest, None).await.unwrap();
    assert_eq!(all(stream).await.unwrap_err().code(), Code::Internal);
    fs::write(stored_at(&directory, digest), "short").unwrap();
    let (_, stream) = blobs.open(digest, None).await.unwrap();
    assert_eq!(all(stream).await.unwrap_err().code(), Code::Internal);

    fs::remove_file(stored_at(&directory, digest)).unwrap();
    assert_eq!(blobs.get(digest).await.unwrap_err().code(), Code::Gone);
    for range in [None, Some(0..1)] {
        assert_eq!(blobs.open(digest, range).await.err().map(|e| e.code()), Some(Code::Gone));
    }
}

#[tokio::test]
async fn parts_are_cut_at_the_end_and_refused_outside() {
    let (_directory, blobs) = storage();
    let digest = blobs.put("0123456789").await.unwrap();
    for (range, expected) in [(0..4, "0123"), (3..4, "3"), (8..1000, "89"), (0..u64::MAX, "0123456789")] {
        let (size, stream) = blobs.open(digest, Some(range)).await.unwrap();
        assert_eq!(size, 10);
        assert_eq!(all(stream).await.unwrap(), expected.as_bytes());
    }
    for range in [10..11, 5..5, 11..12, u64::MAX..u64::MAX] {
        let refused = blobs.open(digest, Some(range)).await.err().map(|e| e.code());
        assert_eq!(refused, Some(Code::RangeNotSatisfiable));
    }
}

#[tokio::test]
async fn an_unwritable_directory_is_unavailable_storage() {
    let (directory, blobs) = storage();
    fs::create_dir_all(directory.path().join("objects")).unwrap();
    // A file where a directory has to be: refused to every user, root included.
    fs::write(directory.path().join("objects/blobs"), "").unwrap();
    let error = blobs.put("bytes").await.unwrap_err();
    assert_eq!((error.code(), error.reason()), (Code::ProviderUnavailable, Some("storage")));
}

#[tokio::test]
async fn free_space_is_what_the_file_system_says() {
    let (directory, blobs) = storage();
    let percent = blobs.free_space_percent().unwrap().unwrap();
    assert!((0.0..=100.0).contains(&percent), "{percent}");
    fs::remove_dir_all(directory.path()).unwrap();
    assert_eq!(blobs.free_space_percent().unwrap_err().code(), Code::ProviderUnavailable);
}

#[tokio::test]
async fn staged_bytes_are_read_within_their_bound() {
    let (_directory, blobs) = storage();
    blobs.stage(&folder(1), "shot-1", "12345").await.unwrap();
    assert_eq!(blobs.read_staged(&folder(1), "shot-1", 5).await.unwrap(), b"12345");
    let error = blobs.read_staged(&folder(1), "shot-1", 4).await.unwrap_err();
    assert_eq!((error.code(), error.details().limit), (Code::LimitExceeded, Some(4)));
    blobs.stage(&folder(1), "shot-1", "new").await.unwrap();
    assert_eq!(blobs.read_staged(&folder(1), "shot-1", 5).await.unwrap(), b"new");
    assert_eq!(blobs.read_staged(&folder(1), "shot-2", 5).await.unwrap_err().code(), Code::Gone);
}

#[tokio::test]
async fn a_lease_sees_and_drops_its_own_folder_only() {
    let (directory, blobs) = storage();
    let kept = blobs.put("evidence").await.unwrap();
    for name in ["a", "b", "c"] {
        blobs.stage(&folder(1), name, "one").await.unwrap();
    }
    blobs.stage(&folder(2), "a", "two").await.unwrap();
    blobs.drop_staging(&folder(1)).await.unwrap();
    blobs.drop_staging(&folder(1)).await.unwrap();
    assert_eq!(blobs.read_staged(&folder(1), "a", 10).await.unwrap_err().code(), Code::Gone);
    assert_eq!(blobs.read_staged(&folder(2), "a", 10).await.unwrap(), b"two");
    assert_eq!(blobs.get(kept).await.unwrap(), b"evidence");
    assert_eq!(fs::read_dir(directory.path().join("objects/staging").join(CELL)).unwrap().count(), 1);
}

#[tokio::test]
async fn folders_may_be_dropped_while_others_are_written() {
    let (directory, blobs) = storage();
    let work = (0..40_u8).map(|token| {
        let blobs = blobs.clone();
        async move {
            blobs.stage(&folder(token), "shot", vec![token; 1000]).await?;
            let read = blobs.read_staged(&folder(token), "shot", 1000).await?;
            blobs.drop_staging(&folder(token)).await?;
            Ok::<_, pinhole_core::Error>(read)
        }
    });
    let read = futures::future::try_join_all(work).await.unwrap();
    assert!(read.iter().zip(0..).all(|(bytes, token)| *bytes == vec![token; 1000]));
    assert_eq!(files_below(directory.path()), 0);
}

#[tokio::test]
async fn names_that_could_leave_the_folder_are_refused() {
    let (directory, blobs) = storage();
    let long = "a".repeat(101);
    for name in ["", ".", "..", "a/b", "../a", "a.png", "a b", "a_b", "ä", "a\0", "%2e", long.as_str()] {
        let staged = blobs.stage(&folder(1), name, "x").await.unwrap_err();
        let read = blobs.read_staged(&folder(1), name, 10).await.unwrap_err();
        assert_eq!((staged.code(), read.code()), (Code::InvalidArguments, Code::InvalidArguments), "{name}");
    }
    assert_eq!(files_below(directory.path()), 0);
    let longest = "Z9-".repeat(33) + "a";
    blobs.stage(&folder(1), &longest, "x").await.unwrap();
    assert_eq!(blobs.read_staged(&folder(1), &longest, 1).await.unwrap(), b"x");
}

#[tokio::test]
async fn a_write_replaces_the_file_and_never_changes_one_that_is_open() {
    let (directory, blobs) = storage();
    let digest = blobs.put("same").await.unwrap();
    let before = fs::metadata(stored_at(&directory, digest)).unwrap().ino();
    let (_, stream) = blobs.open(digest, None).await.unwrap();
    blobs.put("same").await.unwrap();
    assert_ne!(fs::metadata(stored_at(&directory, digest)).unwrap().ino(), before);
    assert_eq!(all(stream).await.unwrap(), b"same");
}
