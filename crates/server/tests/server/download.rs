//! Downloads from the real program: what they cost it, and what readers who take their time cost it.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use pinhole_core::{ArtifactId, ArtifactKind};
use pinhole_testkit::{free_port, wait_until};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::world::World;

const MIB: usize = 1 << 20;
/// How much more memory a download may take, in bytes.
const COST: usize = 16 * MIB;
/// More readers than the database has connections.
const SLOW_READERS: usize = 24;

/// A running server on the data of a test's world, which must not use its own any more. Dropping it ends it.
struct Program {
    child: Child,
    port: u16,
}

impl Program {
    async fn start(world: &World) -> Self {
        let port = free_port();
        let configuration = world.data_dir().with_file_name("pinhole.toml");
        fs::write(&configuration, "[capture]\nprocesses = 0\n").unwrap();
        let child = Command::new(binary())
            .args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--config"])
            .arg(configuration)
            .arg("--data-dir")
            .arg(world.data_dir())
            .env_clear()
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let program = Self { child, port };
        let ready = async || program.get("/readyz", "").await.starts_with("HTTP/1.1 200");
        wait_until(Duration::from_secs(60), "the server is ready", ready).await;
        program
    }

    /// Asks for `path` and leaves the answer to the caller to read.
    async fn ask(&self, path: &str, token: &str) -> Option<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.ok()?;
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.ok()?;
        Some(stream)
    }

    /// A small answer, head and body.
    async fn get(&self, path: &str, token: &str) -> String {
        let mut answer = Vec::new();
        if let Some(mut stream) = self.ask(path, token).await {
            // Broken off, it is what had come by then.
            let _broken = stream.read_to_end(&mut answer).await;
        }
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// How many bytes an answer has, head included, of which nothing is kept.
    async fn size(&self, path: &str, token: &str) -> usize {
        let mut stream = self.ask(path, token).await.unwrap();
        let (mut size, mut piece) = (0, vec![0; 256 * 1024]);
        loop {
            match stream.read(&mut piece).await.unwrap() {
                0 => return size,
                read => size += read,
            }
        }
    }

    /// A line of the process's status that counts memory, in bytes.
    fn memory(&self, field: &str) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
    }

    /// Makes the greatest memory so far that of now (proc_pid_clear_refs(5)), and tells it.
    fn measure_from_here(&self) -> usize {
        fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5").unwrap();
        self.memory("VmHWM")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Gone already, when the test has failed for that.
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// The built program, beside the directory of this test program.
fn binary() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.ancestors().nth(2).unwrap().join("pinhole");
    assert!(path.is_file(), "{} is missing: run `cargo build -p pinhole` first", path.display());
    path
}

#[tokio::test]
async fn large_artifacts_pass_through_without_staying() {
    let size = if std::env::var_os("PINHOLE_FULL").is_some() { 200 * MIB } else { 64 * MIB };
    let world = World::new().await;
    world.prepare().await;
    let result = world.run(200).await;
    let picture = &result["checkpoints"][0]["picture"];
    let beside: ArtifactId = picture["id"].as_str().unwrap().parse().unwrap();
    let large = world.add_artifact(beside, ArtifactKind::Console, &vec![7; size]).await;
    world.app.store().close().await;

    let program = Program::start(&world).await;
    let token = world.token.as_str();
    assert!(program.size(picture["content"]["path"].as_str().unwrap(), token).await > 0);
    let before = program.measure_from_here();
    assert!(program.size(&large, token).await > size);
    let cost = program.memory("VmHWM").saturating_sub(before);
    assert!(cost < COST, "a download of {size} bytes took {cost} bytes of memory");

    let mut readers = Vec::new();
    for _ in 0..SLOW_READERS {
        let mut reader = program.ask(&large, token).await.unwrap();
        let mut begin = [0; 15];
        reader.read_exact(&mut begin).await.unwrap();
        assert_eq!(&begin, b"HTTP/1.1 200 OK");
        readers.push(reader);
    }
    let me = program.get("/api/v1/me", token).await;
    assert!(me.starts_with("HTTP/1.1 200"), "the database is free while they read: {me}");
    let cost = program.memory("VmHWM").saturating_sub(before);
    assert!(cost < COST, "{SLOW_READERS} readers who take nothing took {cost} bytes of memory");
}
