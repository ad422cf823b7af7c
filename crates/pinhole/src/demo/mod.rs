//! `pinhole demo`: the main job on embedded defaults, played over REST as a user would, with every step printed.

mod api;
mod site;
mod story;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use clap::Args;
use pinhole_core::{Error, PrincipalClass, Result, Scope};
use pinhole_runtime::{Config, RemoteConfig, stop_on_signal};
use tokio_util::sync::CancellationToken;

use crate::{
    exit::{Exit, say},
    node::Node,
    serve,
};
use api::Api;
use site::DemoSite;
use story::Story;

/// How long the demo's tokens last.
const LIFETIME: std::time::Duration = std::time::Duration::from_secs(7 * 86_400);

/// Play the whole story on a demo shop and leave the server running.
#[derive(Args)]
pub(crate) struct Demo {
    /// A directory for database, objects, keys and repository; it must not exist. A temporary one when left out.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Another database than the data directory's own; also PINHOLE_DATABASE_URL.
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Where to listen; a free port when left out.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// End after the story.
    #[arg(long)]
    check: bool,
}

impl Demo {
    pub(crate) async fn run(self) -> Result<Exit> {
        let (directory, temporary) = self.directory()?;
        let played = self.play(&directory).await;
        // A failed story leaves its traces for whoever looks into it.
        if let Some(temporary) = temporary
            && played.is_err()
        {
            say!("what is left of it: {}", temporary.keep().display());
        }
        played.map(|()| Exit::Success)
    }

    fn directory(&self) -> Result<(PathBuf, Option<tempfile::TempDir>)> {
        match &self.data_dir {
            Some(path) if path.exists() => {
                Err(Error::invalid("--data-dir", format!("{} exists: the story starts from nothing", path.display())))
            }
            // The repository below it becomes a remote, and those have absolute paths.
            Some(path) => Ok((std::path::absolute(path).map_err(Error::internal)?, None)),
            None => {
                let made = tempfile::Builder::new().prefix("pinhole-demo-").tempdir().map_err(Error::internal)?;
                Ok((made.path().join("data"), Some(made)))
            }
        }
    }

    async fn play(&self, directory: &Path) -> Result<()> {
        let repository = directory.join("catalog.git");
        let mut config = Config::load(None)?;
        config.data_dir = directory.to_path_buf();
        config.listen = self.listen;
        if let Some(url) = &self.database_url {
            config.database_url = Some(url.clone());
        }
        config.remotes = vec![RemoteConfig::local("local".parse()?, &repository, vec!["main".into()])];
        let listener = serve::listen(&config).await?;
        let address = listener.local_addr().map_err(Error::internal)?;
        let site = DemoSite::start().await?;
        let node = Node::start(&config, true).await?;
        pinhole_worker_publication::create_local_repository(&repository)?;
        let stop = CancellationToken::new();
        stop_on_signal(stop.clone()).map_err(Error::internal)?;
        let router = pinhole_server::router(node.installation.app.clone(), serve::settings(&config)?);
        let server = tokio::spawn(pinhole_server::serve(listener, router, stop.clone()));
        let told = self.tell(&node, &site, address, directory, &repository, &stop).await;
        stop.cancel();
        server.await.map_err(Error::internal)?;
        node.stop().await;
        told
    }

    async fn tell(
        &self,
        node: &Node,
        site: &DemoSite,
        address: SocketAddr,
        directory: &Path,
        repository: &Path,
        stop: &CancellationToken,
    ) -> Result<()> {
        let app = &node.installation.app;
        let mut tokens = Vec::new();
        for (name, admin) in [("demo-author", true), ("demo-reviewer", false)] {
            let name = name.parse()?;
            app.ensure_principal(PrincipalClass::User, &name, admin).await?;
            tokens.push(app.create_token(&name, &Scope::All, LIFETIME).await?.secret);
        }
        let base = format!("http://{address}");
        let mut story = Story {
            app,
            site,
            author: Api::new(&base, &tokens[0])?,
            reviewer: Api::new(&base, &tokens[1])?,
            directory,
            repository,
            public_keys: node.installation.app.public_keys()?.to_bytes()?,
        };
        let ending = stop.run_until_cancelled(story.play()).await;
        let run = ending.ok_or_else(|| Error::unavailable("stopped", "the story was interrupted"))??;
        say!("\nThe story ended as it should.");
        if self.check {
            if self.data_dir.is_none() {
                say!("The files named above are removed now; name a --data-dir to keep them.");
            }
            return Ok(());
        }
        say!("\nThe server goes on at {base}; press Ctrl-C to end it.");
        let link = app.create_sign_in_link(&"demo-reviewer".parse()?).await?;
        say!("  sign in    {base}/sign-in/link/{}  (once, as demo-reviewer)", link.secret);
        say!("  run page   {base}/runs/{run}  (for who is signed in)");
        say!("  token      {}", tokens[0]);
        let curl = |path: &str| format!("curl -H 'Authorization: Bearer {}' {base}/api/v1{path}", tokens[0]);
        say!("  run        {}", curl(&format!("/runs/{run}")));
        say!("  pictures   {}", curl(&format!("/runs/{run}/result")));
        say!("  catalog    {}", curl("/catalog/shop/latest"));
        stop.cancelled().await;
        Ok(())
    }
}
