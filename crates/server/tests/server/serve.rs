//! The server on a real socket: it answers, and it ends when it is told to.

use std::{net::SocketAddr, time::Duration};

use pinhole_core::CellId;
use pinhole_server::serve;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::world::World;

async fn started(world: &World) -> (SocketAddr, CancellationToken, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
    let running = tokio::spawn(serve(listener, world.router.clone(), stop.clone()));
    (address, stop, running)
}

#[tokio::test]
async fn an_idle_connection_does_not_hold_up_the_end() {
    let world = World::new().await;
    let (address, stop, running) = started(&world).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut answer = [0; 12];
    client.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    stop.cancel();
    tokio::time::timeout(Duration::from_secs(5), running).await.expect("it ends at once").unwrap();
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let world = World::new().await;
    let (address, stop, running) = started(&world).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\nx-long: ").await.unwrap();
    // The server may answer and close before everything is sent.
    let _ = client.write_all(&vec![b'x'; 200 * 1024]).await;
    let mut answer = Vec::new();
    let _ = client.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    stop.cancel();
    running.await.unwrap();
}

/// Clients that go away in the middle of whatever they asked for hold nothing up: not the server, and no run.
#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_clients_that_hang_up_leave_nothing_behind() {
    let world = World::new().await;
    world.prepare().await;
    let shown = world.run(100).await["checkpoints"][0]["picture"]["id"].as_str().unwrap().to_owned();
    let (address, stop, running) = started(&world).await;
    let start = |key: usize| {
        let body = json!({ "project": "shop", "scenario": "front", "revision": { "head": true }, "environment": "web",
            "environment_revision": { "latest": true }, "baseline": { "none": true },
            "idempotency_key": format!("gone-{key}") });
        request(&world, "POST", "/api/v1/runs", &body.to_string())
    };
    let bytes = request(&world, "GET", &format!("/api/v1/artifacts/{shown}/content"), "");
    for number in 0..100_usize {
        let mut client = TcpStream::connect(address).await.unwrap();
        let whole = if number % 4 == 3 { bytes.clone() } else { start(number) };
        // Half of a request, a whole one without waiting for its answer, or one whose answer has begun.
        let sent = if number % 4 == 0 { whole.len() / 2 } else { whole.len() };
        client.write_all(&whole.as_bytes()[..sent]).await.unwrap();
        if number % 4 >= 2 {
            client.read_exact(&mut [0]).await.unwrap();
        }
        client.set_zero_linger().unwrap();
        drop(client);
    }
    // Whatever was admitted is there whole, once, and can be worked on; asking again for the rest admits it.
    for number in (0..100_usize).filter(|number| number % 4 != 3) {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(start(number).as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let run: serde_json::Value = serde_json::from_str(body).unwrap();
        let is_there = run["replayed"] == true;
        assert!(head.starts_with(if is_there { "HTTP/1.1 200" } else { "HTTP/1.1 201" }), "{answer}");
        // Half a request admits nothing; one whose answer has begun is admitted.
        assert!(number % 4 == 1 || is_there == (number % 4 == 2), "{number}: {run}");
        let cell: CellId = run["cells"][0]["id"].as_str().unwrap().parse().unwrap();
        assert!(world.app.claim(cell, "test").await.unwrap().is_some(), "{run}");
    }
    stop.cancel();
    tokio::time::timeout(Duration::from_secs(5), running).await.expect("nobody holds it up").unwrap();
}

/// A request that ends its connection.
fn request(world: &World, method: &str, path: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        world.token,
        body.len()
    )
}
