//! The server on a real socket: it answers, and it ends when it is told to.

use std::{net::SocketAddr, time::Duration};

use pinhole_server::serve;
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
