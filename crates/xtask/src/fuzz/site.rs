//! The one page that is captured.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    thread,
};

use crate::Outcome;

const PAGE: &str = "<!doctype html><html lang=\"en\"><title>A page</title><h1>A page</h1><p>Of two colours.</p></html>";

/// Serves it on loopback until the program ends; gives its address.
pub(super) fn serve() -> Outcome<String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| format!("no port for the page: {e}"))?;
    let address = listener.local_addr().map_err(|e| format!("no port for the page: {e}"))?;
    let length = PAGE.len();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{PAGE}"
    );
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // A browser that goes away in between is no matter.
            let _asked = stream.read(&mut [0; 4096]);
            let _answered = stream.write_all(answer.as_bytes());
        }
    });
    Ok(format!("http://{address}/"))
}
