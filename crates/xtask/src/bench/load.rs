//! A bounded load over HTTP: a number of connections that each send one request after the other and look at the status
//! alone. It spends as little as it can, since it shares the machine with what it measures.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::Outcome;

/// Longest time for one answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longest time for a whole load; what was answered by then is what counts.
const WHOLE: Duration = Duration::from_secs(120);
/// Greatest head of an answer, in bytes.
const MAX_HEAD: usize = 16 * 1024;

/// How a load went.
pub(super) struct Load {
    /// Answers per second.
    pub(super) rate: f64,
    /// Milliseconds of each answer, in order of size.
    pub(super) ms: Vec<f64>,
}

impl Load {
    /// The time within which this share of the answers came, in milliseconds.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let index = (self.ms.len() as f64 * share) as usize;
        self.ms.get(index.min(self.ms.len().saturating_sub(1))).copied().unwrap_or_default()
    }
}

/// Sends `count` requests over `connections`; `request` makes the text of each from its number, and every answer must
/// have `status`.
pub(super) fn drive(
    address: SocketAddr,
    connections: usize,
    count: usize,
    status: u16,
    request: &(impl Fn(usize) -> String + Sync),
) -> Outcome<Load> {
    let (taken, all) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(count)));
    let begun = Instant::now();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..connections)
            .map(|_| {
                scope.spawn(|| {
                    let mut connection = Connection::open(address)?;
                    let mut ms = Vec::new();
                    while begun.elapsed() < WHOLE {
                        let number = taken.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            break;
                        }
                        let text = request(number);
                        let asked = Instant::now();
                        connection.ask(&text, status)?;
                        ms.push(asked.elapsed().as_secs_f64() * 1e3);
                    }
                    all.lock().map_err(|_| "a connection panicked")?.extend(ms);
                    Ok::<_, String>(())
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a connection panicked")?)
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    let mut ms = all.into_inner().map_err(|_| "a connection panicked")?;
    ms.sort_by(f64::total_cmp);
    Ok(Load { rate: ms.len() as f64 / seconds, ms })
}

struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    fn open(address: SocketAddr) -> Outcome<Self> {
        let open = || {
            let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            Ok(stream)
        };
        let stream = open().map_err(|e: std::io::Error| format!("no connection to {address}: {e}"))?;
        Ok(Self { stream, buffer: vec![0; 256 * 1024] })
    }

    /// One request and its whole answer, of which nothing is kept.
    fn ask(&mut self, request: &str, status: u16) -> Outcome {
        let failed = |error: std::io::Error| format!("the connection broke: {error}");
        self.stream.write_all(request.as_bytes()).map_err(failed)?;
        let (mut filled, end) = (0, b"\r\n\r\n");
        let head = loop {
            let room = self.buffer.get_mut(filled..).unwrap_or_default();
            let read = self.stream.read(room).map_err(failed)?;
            if read == 0 || filled > MAX_HEAD {
                return Err("an answer without an end of its head".into());
            }
            filled += read;
            let so_far = self.buffer.get(..filled).unwrap_or_default();
            if let Some(at) = so_far.windows(end.len()).position(|window| window == end) {
                break at + end.len();
            }
        };
        let text = String::from_utf8_lossy(self.buffer.get(..head).unwrap_or_default()).to_lowercase();
        if !text.starts_with(&format!("http/1.1 {status}")) {
            let body = String::from_utf8_lossy(self.buffer.get(head..filled).unwrap_or_default());
            return Err(format!("not the wanted answer: {text}{body}"));
        }
        let length = text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
        let mut left = length.ok_or("an answer without a length")?.saturating_sub(filled - head);
        while left > 0 {
            let read = self.stream.read(&mut self.buffer).map_err(failed)?;
            if read == 0 {
                return Err("an answer that ended early".into());
            }
            left = left.saturating_sub(read);
        }
        Ok(())
    }
}
