//! The demo shop, served on loopback, with a switch that changes the price.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{
    Router,
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use pinhole_core::{Error, Result};
use tokio::{net::TcpListener, task::JoinHandle};

const INDEX: &str = include_str!("../../../../fixtures/sites/demo/index.html");
const CART: &str = include_str!("../../../../fixtures/sites/demo/cart.html");
const CART_NEW_PRICE: &str = include_str!("../../../../fixtures/sites/demo/@switch/new-price/cart.html");
const STYLE: &str = include_str!("../../../../fixtures/sites/demo/style.css");

/// The running shop; it ends when dropped.
pub(super) struct DemoSite {
    address: SocketAddr,
    new_price: Arc<AtomicBool>,
    server: JoinHandle<()>,
}

impl DemoSite {
    pub(super) async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(Error::internal)?;
        let address = listener.local_addr().map_err(Error::internal)?;
        let new_price = Arc::new(AtomicBool::new(false));
        let router = Router::new().route("/{file}", get(file)).with_state(Arc::clone(&new_price));
        let server = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "the demo shop ended");
            }
        });
        Ok(Self { address, new_price, server })
    }

    /// Where it is.
    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The shop raises a price.
    pub(super) fn raise_price(&self) {
        self.new_price.store(true, Ordering::SeqCst);
    }
}

impl Drop for DemoSite {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn file(State(new_price): State<Arc<AtomicBool>>, Path(file): Path<String>) -> Response {
    let html = |text: &'static str| ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response();
    match file.as_str() {
        "index.html" => html(INDEX),
        "cart.html" if new_price.load(Ordering::SeqCst) => html(CART_NEW_PRICE),
        "cart.html" => html(CART),
        "style.css" => ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE).into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}
