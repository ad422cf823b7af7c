//! `pinhole serve`: the server with everything it needs on one machine.

use std::net::SocketAddr;

use clap::Args;
use pinhole_core::{Error, Result};
use pinhole_runtime::{Config, stop_on_signal};
use pinhole_server::{RateLimits, ServerSettings};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{Location, exit::Exit, node::Node, sign_in};

/// Run the server with everything it needs on one machine.
#[derive(Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    location: Location,
    /// Where to listen; loopback only as long as neither TLS nor a proxy is configured.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Bring the database to this version first. A fresh data directory needs it.
    #[arg(long)]
    migrate: bool,
}

impl Serve {
    pub(crate) async fn run(self) -> Result<Exit> {
        let mut config = self.location.load()?;
        if let Some(listen) = self.listen {
            config.listen = listen;
        }
        let stop = CancellationToken::new();
        stop_on_signal(stop.clone()).map_err(Error::internal)?;
        config.check()?;
        // First, so that an address that another server has costs neither a migration nor workers.
        let listener = listen(&config).await?;
        let node = Node::start(&config, self.migrate).await?;
        let served = serve(&node, &config, listener, stop).await;
        node.stop().await;
        served.map(|()| Exit::Success)
    }
}

/// Listens and answers until `stop`.
async fn serve(node: &Node, config: &Config, listener: TcpListener, stop: CancellationToken) -> Result<()> {
    sign_in::first_admin(&node.installation.app, &node.installation.data, config).await?;
    let settings = settings(config)?;
    let router = pinhole_server::router(node.installation.app.clone(), settings);
    tracing::info!(address = %config.listen, "listening");
    pinhole_server::serve(listener, router, stop).await;
    Ok(())
}

pub(crate) async fn listen(config: &Config) -> Result<TcpListener> {
    TcpListener::bind(config.listen).await.map_err(|error| {
        Error::unavailable("listen", format!("cannot listen on {}: choose another address", config.listen))
            .with_source(error)
    })
}

pub(crate) fn settings(config: &Config) -> Result<ServerSettings> {
    Ok(ServerSettings {
        public_url: config.public_url.clone(),
        behind_proxy: config.behind_proxy,
        oidc: config.oidc.as_ref().map(|oidc| sign_in::provider(config, oidc)).transpose()?,
        limits: RateLimits {
            principal_per_second: config.limits.calls_per_second,
            principal_burst: config.limits.calls_at_once,
            stranger_per_second: config.limits.stranger_calls_per_second,
            stranger_burst: config.limits.stranger_calls_at_once,
            sign_ins_per_minute: config.limits.sign_ins_per_minute,
        },
        ..ServerSettings::default()
    })
}
