//! Servers that keep a publication waiting: each operation is cut off at its deadline, with all that it started.

use std::{
    net::{SocketAddr, TcpListener},
    time::{Duration, Instant},
};

use pinhole_core::RemoteAccess;
use pinhole_testkit::{Engine, wait_until};
use pinhole_worker_publication::PublicationSettings;
use serde_json::json;

use crate::{
    failures::group_exists,
    support::{Apache, Pace, Relay, Sshd},
    world::{DEADLINE, World},
};

/// What an operation may take here; libgit2 itself would wait ten times as long for each byte.
const SHORT: Duration = Duration::from_secs(3);

/// Tries a publication to a server at `url` that does not come to an end.
async fn is_cut_off(world: &World, url: &str, access: &RemoteAccess) {
    world.served_at(url, access).await;
    let id = world.ask(1, json!({ "commit": world.head() })).await;
    let pid = world.path("pid");
    let script = format!("printf %s \"$input\" | ( echo $$ > '{}'; exec \"$REAL\" git-helper )", pid.display());
    let reached = world.scripted(&script);
    let settings = PublicationSettings { deadline: SHORT, ..reached };
    let started = Instant::now();
    let view = world.try_with(&settings, id).await;
    assert!(started.elapsed() >= SHORT, "it was not the deadline: {view}");
    assert!(started.elapsed() < Duration::from_secs(25), "libgit2's own patience has ended it");
    assert!(view["detail"].as_str().unwrap().contains("did not end within 3 s"), "{view}");
    let group = std::fs::read_to_string(pid).unwrap();
    let gone = async || !group_exists(group.trim());
    wait_until(DEADLINE, "the end of the child and of what it started", gone).await;
}

async fn world() -> World {
    let world = World::new(Engine::Sqlite).await;
    world.revision(1).await;
    world
}

/// A server that takes connections and says nothing, until it is dropped.
fn silent() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_https_server_that_says_nothing() {
    let (_listener, address) = silent();
    is_cut_off(&world().await, &Apache::url_at(address), &RemoteAccess::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ssh_server_that_says_nothing() {
    let (_listener, address) = silent();
    let access = Sshd::start().access();
    is_cut_off(&world().await, &format!("ssh://git@{address}/remote.git"), &access).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_https_server_that_sends_one_byte_a_second() {
    let world = world().await;
    let server = Apache::start(world.folder.path()).await;
    // After the handshake of TLS: within the answer.
    let relay = Relay::start(server.address(), Pace::DripAfter(1_400)).await;
    is_cut_off(&world, &Apache::url_at(relay.address), &server.access()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ssh_server_that_sends_one_byte_a_second() {
    let world = world().await;
    let server = Sshd::start();
    let relay = Relay::start(server.address(), Pace::DripAfter(0)).await;
    let url = server.url_at(relay.address, &world.remote_path());
    is_cut_off(&world, &url, &server.access()).await;
}

/// Gives the branch a file that a pack cannot make smaller.
fn grow(world: &World) {
    let work = world.checkout();
    let bytes: Vec<u8> = (0..200_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    std::fs::write(work.join("large"), bytes).unwrap();
    world.git(&work, &["add", "large"]);
    world.git(&work, &["commit", "--quiet", "-m", "Write a large file"]);
    world.git(&work, &["push", "--quiet", "origin", "HEAD:refs/heads/catalog"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_https_server_that_stops_amid_a_pack() {
    let world = world().await;
    grow(&world);
    let server = Apache::start(world.folder.path()).await;
    let relay = Relay::start(server.address(), Pace::StopAfter(100_000)).await;
    is_cut_off(&world, &Apache::url_at(relay.address), &server.access()).await;
    assert!(relay.passed() > 50_000, "it stopped before the pack");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ssh_server_that_stops_amid_a_pack() {
    let world = world().await;
    grow(&world);
    let server = Sshd::start();
    let relay = Relay::start(server.address(), Pace::StopAfter(100_000)).await;
    let url = server.url_at(relay.address, &world.remote_path());
    is_cut_off(&world, &url, &server.access()).await;
    assert!(relay.passed() > 50_000, "it stopped before the pack");
}
