//! `pinhole admin`: how people sign in first, and again after losing their password, on the server's own machine.
//!
//! A sign-in link is a secret: it goes to standard output of a command or into a file for its owner alone, never into a
//! log.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pinhole_app::{App, IdentityPolicy, NewLink, Settings};
use pinhole_core::{Code, Error, Name, PrincipalClass, Result};
use pinhole_runtime::{Config, DataDir, Installation, OidcConfig, write_private};
use pinhole_server::{OidcSettings, Provider, ProviderConfig};
use url::Url;

use crate::{
    Location,
    admin::parse,
    exit::{Exit, say},
};

/// The user whom a fresh installation gets.
const FIRST_ADMIN: &str = "admin";

/// The largest file of a client secret, in bytes.
const MAX_SECRET_BYTES: u64 = 16 * 1024;

/// Let people sign in, on the server's own machine.
#[derive(Subcommand)]
pub(crate) enum Admin {
    /// Make a one-time link with which a user chooses a new password. Older links of theirs end.
    Reset(Reset),
    /// Let an identity at the OpenID provider sign in as a user.
    LinkIdentity(LinkIdentity),
}

/// Make a one-time sign-in link.
#[derive(Args)]
pub(crate) struct Reset {
    #[command(flatten)]
    location: Location,
    /// The user's name.
    #[arg(value_parser = parse::<Name>)]
    name: Name,
    /// Write the link into this file, for its owner alone to read, instead of printing it.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Let an identity sign in as a user.
#[derive(Args)]
pub(crate) struct LinkIdentity {
    #[command(flatten)]
    location: Location,
    /// The user's name.
    #[arg(value_parser = parse::<Name>)]
    name: Name,
    /// The provider's issuer, exactly as in the configuration.
    #[arg(long)]
    issuer: String,
    /// The provider's own, unchanging name of the person (the claim `sub`).
    #[arg(long)]
    subject: String,
}

impl Admin {
    pub(crate) async fn run(self) -> Result<Exit> {
        match self {
            Self::Reset(reset) => reset.run().await,
            Self::LinkIdentity(link) => link.run().await,
        }
    }
}

impl Reset {
    async fn run(self) -> Result<Exit> {
        let config = self.location.load()?;
        config.check()?;
        let app = Installation::open(&config, Settings::default(), false).await?.app;
        let link = app.create_sign_in_link(&self.name).await?;
        let address = address(&config, &link.secret)?;
        match &self.output {
            None => say!("{address}"),
            Some(path) => {
                write_private(path, format!("{address}\n").as_bytes())?;
                eprintln!("written to {}", path.display());
            }
        }
        eprintln!("the link of {} works once, until {}", self.name, link.expires_at);
        Ok(Exit::Success)
    }
}

impl LinkIdentity {
    async fn run(self) -> Result<Exit> {
        let config = self.location.load()?;
        config.check()?;
        let app = Installation::open(&config, Settings::default(), false).await?.app;
        app.link_identity(&self.name, &self.issuer, &self.subject).await?;
        eprintln!("{} of {} signs in as {} now", self.subject, self.issuer, self.name);
        Ok(Exit::Success)
    }
}

/// Gives an installation that nobody can administer its first administrator: a user whose sign-in link is in a file of
/// the data directory. The log says where, and no more. A start that was cut short is made up for by the next.
pub(crate) async fn first_admin(app: &App, data: &DataDir, config: &Config) -> Result<()> {
    if app.has_administrator().await? {
        return Ok(());
    }
    let link = match first_link(app).await {
        Ok(link) => link,
        // Somebody who is no administrator has the name, or it is disabled; neither is for a start of the server to
        // change.
        Err(error) if error.reason() == Some("exists") || error.code() == Code::InvalidArguments => {
            tracing::warn!("nobody administers this installation: make an administrator with `pinhole token create`");
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let path = data.first_admin_sign_in();
    write_private(&path, format!("{}\n", address(config, &link.secret)?).as_bytes())?;
    tracing::info!(file = %path.display(), expires_at = %link.expires_at, "the first administrator's sign-in link");
    Ok(())
}

async fn first_link(app: &App) -> Result<NewLink> {
    let name = FIRST_ADMIN.parse()?;
    app.ensure_principal(PrincipalClass::User, &name, true).await?;
    app.create_sign_in_link(&name).await
}

/// The address of a sign-in link.
pub(crate) fn address(config: &Config, secret: &str) -> Result<Url> {
    config.base_url()?.join(&format!("/sign-in/link/{secret}")).map_err(Error::internal)
}

/// The provider of identities that the configuration names.
pub(crate) fn provider(config: &Config, oidc: &OidcConfig) -> Result<OidcSettings> {
    let secret = oidc.client_secret_file.as_deref().map(|path| {
        let bytes = crate::file::read(path, MAX_SECRET_BYTES)?;
        let text = String::from_utf8(bytes).map_err(|_| Error::invalid(path.display().to_string(), "is not text"))?;
        Ok::<_, Error>(text.trim().to_owned())
    });
    let provider = Provider::new(ProviderConfig {
        issuer: oidc.issuer.clone(),
        client_id: oidc.client_id.clone(),
        client_secret: secret.transpose()?,
        scopes: oidc.scopes.clone(),
        group_claim: oidc.group_claim.clone(),
        redirect_url: config.base_url()?.join("/api/v1/session/oidc/callback").map_err(Error::internal)?,
    })?;
    let policy = IdentityPolicy { create_users: oidc.create_users, groups: oidc.groups.clone() };
    Ok(OidcSettings { provider, policy })
}
