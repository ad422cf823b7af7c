//! The transparency log for everybody: no credential, and nothing but hashes.

use std::num::NonZeroU32;

use axum::http::{Request, header};
use pinhole_server::{RateLimits, ServerSettings};

use crate::world::World;

async fn read(world: &World, path: &str) -> (u16, Vec<u8>) {
    let path = format!("/.well-known/pinhole/log/{path}");
    let answer = world.send(Request::get(path).body(axum::body::Body::empty()).unwrap()).await;
    (answer.status().as_u16(), answer.body)
}

#[tokio::test]
async fn everybody_reads_checkpoint_key_and_tiles() {
    let world = World::new().await;
    for path in ["checkpoint", "key", "tile/0/000.p/1"] {
        assert_eq!(read(&world, path).await.0, 404, "{path}: there is no log yet");
    }
    world.app.sequence_log().await.unwrap();
    let (status, note) = read(&world, "checkpoint").await;
    let note = String::from_utf8(note).unwrap();
    let size: usize = note.lines().nth(1).unwrap().parse().unwrap();
    assert_eq!(status, 200);
    let (status, key) = read(&world, "key").await;
    assert!(status == 200 && key.starts_with(note.lines().next().unwrap().as_bytes()));
    for (path, bytes) in
        [(format!("tile/0/000.p/{size}"), size * 32), (format!("tile/entries/000.p/{size}"), size * 34)]
    {
        let (status, tile) = read(&world, &path).await;
        assert_eq!((status, tile.len()), (200, bytes), "{path}");
    }
    for path in ["tile/0/001", "tile/0/000.p/0", "tile/64/000", "tile/0/..%2f..", "tile/"] {
        assert_eq!(read(&world, path).await.0, 404, "{path}");
    }
}

#[tokio::test]
async fn a_tile_may_be_kept_and_a_checkpoint_is_asked_for_again() {
    let world = World::new().await;
    world.app.sequence_log().await.unwrap();
    for (path, control) in [("tile/0/000.p/1", "public, max-age=600"), ("checkpoint", "no-cache")] {
        let path = format!("/.well-known/pinhole/log/{path}");
        let answer = world.send(Request::get(path).body(axum::body::Body::empty()).unwrap()).await;
        assert_eq!(answer.head.headers[header::CACHE_CONTROL], control);
    }
}

#[tokio::test]
async fn a_tile_is_there_once_a_checkpoint_covers_it() {
    let world = World::new().await;
    world.app.sequence_log().await.unwrap();
    let note = String::from_utf8(read(&world, "checkpoint").await.1).unwrap();
    let size: usize = note.lines().nth(1).unwrap().parse().unwrap();
    world.prepare().await;
    assert_eq!(read(&world, &format!("tile/0/000.p/{}", size + 1)).await.0, 404);
    world.app.sequence_log().await.unwrap();
    assert_eq!(read(&world, &format!("tile/0/000.p/{}", size + 1)).await.0, 200);
}

#[tokio::test]
async fn who_asks_too_often_has_to_wait() {
    let number = |number: u32| NonZeroU32::new(number).unwrap();
    // The bucket fills so slowly that nothing comes back while this runs.
    let limits = RateLimits { stranger_per_second: number(1), stranger_burst: number(3), ..RateLimits::default() };
    let world = World::with(ServerSettings { limits, ..ServerSettings::default() }).await;
    world.app.sequence_log().await.unwrap();
    let mut statuses = Vec::new();
    for _ in 0..20 {
        statuses.push(read(&world, "checkpoint").await.0);
    }
    assert_eq!(statuses[0], 200, "{statuses:?}");
    assert_eq!(statuses[19], 429, "{statuses:?}");
}
