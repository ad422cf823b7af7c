//! `pinhole token`: principals, grants, tokens and decision tickets, on the server's own machine.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use pinhole_app::{Holder, Settings};
use pinhole_core::{
    ApprovalId, Disposition, Error, Name, Outcome, Permission, PrincipalClass, Reason, ReceiptId, Result, Role, Scope,
    Slug, TokenId,
};
use pinhole_runtime::Installation;

use crate::{
    Location,
    exit::{Exit, say},
};

/// Make principals, grants, tokens and decision tickets, on the server's own machine.
#[derive(Subcommand)]
pub(crate) enum Token {
    /// Make a bearer token, and its principal when there is none; the secret is printed once. With `--ticket`, make a
    /// decision ticket instead.
    Create(Create),
    /// List the tokens of a principal that were not revoked, newest first, at most 200.
    List(List),
    /// End a token now.
    Revoke(Revoke),
    /// Give a principal or a group a role in a project, or in one environment of it. With `--revoke`, take it away.
    Grant(Grant),
}

/// Make a bearer token or a decision ticket.
#[derive(Args)]
pub(crate) struct Create {
    #[command(flatten)]
    location: Location,
    /// The principal's name.
    #[arg(long, value_parser = parse::<Name>)]
    name: Name,
    /// A person or a program; decides the token's prefix.
    #[arg(long, value_enum, default_value_t = Class::User)]
    class: Class,
    /// Make the principal an administrator of the installation.
    #[arg(long)]
    admin: bool,
    /// Narrow the token to these permissions; may be given several times. Reading is always included.
    #[arg(long, value_name = "PERMISSION", value_parser = parse::<Permission>)]
    scope: Vec<Permission>,
    /// Days until the token ends, 1 to 365.
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u64).range(1..=365))]
    days: u64,
    /// Make a decision ticket for this approval or these receipts (comma separated) instead of a token.
    #[arg(long, value_name = "APPROVAL|RECEIPTS", requires_all = ["outcome", "reason"])]
    ticket: Option<String>,
    /// The ticket's outcome: accept or reject for receipts, approve or deny for an approval.
    #[arg(long)]
    outcome: Option<String>,
    /// The reason that goes with the outcome.
    #[arg(long, value_parser = parse::<Reason>)]
    reason: Option<Reason>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Class {
    User,
    Service,
}

/// List the tokens of a principal.
#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    location: Location,
    /// The principal's name.
    #[arg(long, value_parser = parse::<Name>)]
    name: Name,
}

/// End a token.
#[derive(Args)]
pub(crate) struct Revoke {
    #[command(flatten)]
    location: Location,
    /// The token's id, as `create` and `list` tell it; never its secret.
    #[arg(long, value_parser = parse::<TokenId>)]
    id: TokenId,
}

/// Give or take a role.
#[derive(Args)]
pub(crate) struct Grant {
    #[command(flatten)]
    location: Location,
    /// The principal's name.
    #[arg(long, value_parser = parse::<Name>, required_unless_present = "group", conflicts_with = "group")]
    name: Option<Name>,
    /// A group's name, instead of a principal's.
    #[arg(long, value_parser = parse::<Name>)]
    group: Option<Name>,
    /// Take the role away instead.
    #[arg(long)]
    revoke: bool,
    /// The role: viewer, author, operator, reviewer, approver, publisher or owner.
    #[arg(long, value_parser = parse::<Role>)]
    role: Role,
    /// The project.
    #[arg(long, value_parser = parse::<Slug>)]
    project: Slug,
    /// Only in this environment of it.
    #[arg(long, value_parser = parse::<Slug>)]
    environment: Option<Slug>,
}

impl Token {
    pub(crate) async fn run(self) -> Result<Exit> {
        match self {
            Self::Create(create) => create.run().await,
            Self::List(list) => list.run().await,
            Self::Revoke(revoke) => revoke.run().await,
            Self::Grant(grant) => grant.run().await,
        }
    }
}

impl Create {
    async fn run(self) -> Result<Exit> {
        let installation = open(&self.location).await?;
        if let Some(object) = &self.ticket {
            return self.ticket(&installation, object).await;
        }
        let class = match self.class {
            Class::User => PrincipalClass::User,
            Class::Service => PrincipalClass::Service,
        };
        installation.app.ensure_principal(class, &self.name, self.admin).await?;
        let scope = if self.scope.is_empty() { Scope::All } else { Scope::Only(self.scope) };
        let lifetime = Duration::from_secs(self.days * 86_400);
        let token = installation.app.create_token(&self.name, &scope, lifetime).await?;
        say!("{}", token.secret);
        eprintln!("token {} of {} ends at {}; it is not shown again", token.id, self.name, token.expires_at);
        Ok(Exit::Success)
    }

    async fn ticket(&self, installation: &Installation, object: &str) -> Result<Exit> {
        let missing = || Error::invalid("--ticket", "needs --outcome and --reason");
        let (outcome, reason) =
            (self.outcome.as_deref().ok_or_else(missing)?, self.reason.as_ref().ok_or_else(missing)?);
        let app = &installation.app;
        let ticket = if let Ok(approval) = object.parse::<ApprovalId>() {
            let outcome: Outcome = outcome.parse().map_err(|e: Error| e.within("--outcome"))?;
            app.create_decision_ticket(&self.name, approval, outcome, reason).await?
        } else {
            let receipts: Result<Vec<ReceiptId>> = object.split(',').map(str::parse).collect();
            let receipts = receipts.map_err(|_| Error::invalid("--ticket", "expected an approval or receipts"))?;
            let disposition: Disposition = outcome.parse().map_err(|e: Error| e.within("--outcome"))?;
            app.create_review_ticket(&self.name, &receipts, disposition, reason).await?
        };
        say!("{}", ticket.secret);
        eprintln!("ticket of {} ends at {}; it works once, with that user's own token", self.name, ticket.expires_at);
        Ok(Exit::Success)
    }
}

impl List {
    async fn run(self) -> Result<Exit> {
        let installation = open(&self.location).await?;
        for token in installation.app.tokens_of(&self.name).await? {
            let scope = match &token.scope {
                Scope::All => "all".to_owned(),
                Scope::Only(permissions) => permissions.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
            };
            let used = token.last_used_at.map_or_else(|| "never".to_owned(), |at| at.to_string());
            let label = token.label.map(|label| format!(" label {label}")).unwrap_or_default();
            say!("{} scope {scope} ends {} used {used}{label}", token.id, token.expires_at);
        }
        Ok(Exit::Success)
    }
}

impl Revoke {
    async fn run(self) -> Result<Exit> {
        let installation = open(&self.location).await?;
        installation.app.revoke_token(self.id).await?;
        eprintln!("{} has ended", self.id);
        Ok(Exit::Success)
    }
}

impl Grant {
    async fn run(self) -> Result<Exit> {
        let missing = || Error::invalid("--name", "needs a principal's name, or --group");
        let (holder, name) = match (&self.group, &self.name) {
            (Some(group), _) => (Holder::Group(group), group),
            (None, name) => name.as_ref().map(|name| (Holder::Principal(name), name)).ok_or_else(missing)?,
        };
        let installation = open(&self.location).await?;
        let (app, environment) = (&installation.app, self.environment.as_ref());
        if self.revoke {
            app.revoke_grant(holder, &self.project, environment, self.role).await?;
            eprintln!("{name} is no longer {}", self.role);
        } else {
            app.grant(holder, &self.project, environment, self.role).await?;
            eprintln!("{name} is {} now", self.role);
        }
        Ok(Exit::Success)
    }
}

pub(crate) async fn open(location: &Location) -> Result<Installation> {
    let config = location.load()?;
    config.check()?;
    Installation::open(&config, Settings::default(), false).await
}

pub(crate) fn parse<T: std::str::FromStr<Err = Error>>(text: &str) -> std::result::Result<T, String> {
    text.parse().map_err(|error: Error| error.details().reason.clone().unwrap_or_else(|| error.message().to_owned()))
}
