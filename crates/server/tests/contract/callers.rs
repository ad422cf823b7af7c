//! The principals that every operation is tried with, and what the permission table says of each.

use std::time::Duration;

use pinhole_contract::{Spec, Who};
use pinhole_core::{Actor, Name, Permission, PrincipalClass, RequestId, Role, Scope};
use pinhole_testkit::Engine;

use crate::{
    doors::Door,
    ground::{Ground, OTHER_PROJECT},
    support::PROJECT,
};

/// How long ago the stale session was re-authenticated: too long for human authority, not long enough to be over.
const STALE: Duration = Duration::from_secs(16 * 60);
/// How long the token lasts that has ended by then.
const SHORT: Duration = Duration::from_secs(60);
const LONG: Duration = Duration::from_secs(30 * 24 * 3600);

/// Who calls, with which credential.
pub(crate) struct Caller {
    pub(crate) kind: Kind,
    /// The principal's name.
    pub(crate) name: String,
    pub(crate) credential: Credential,
    /// The actor behind a valid credential.
    pub(crate) actor: Option<Actor>,
    /// Its roles in the project `shop`.
    pub(crate) roles: Vec<Role>,
    admin: bool,
    scope: Scope,
}

/// The kinds of principals and credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No credential at all.
    Anonymous,
    /// The owner of another project.
    Stranger,
    /// A person with one role in the project.
    Role(Role),
    /// An administrator without any grant.
    Admin,
    /// A service with every role.
    Service,
    /// Somebody with every role, by a token whose scope names no permission.
    Unscoped,
    /// The same person by a token that has expired.
    Expired,
    /// The same person by a token that was revoked.
    Revoked,
    /// The same person in a session that was re-authenticated a moment ago.
    Fresh,
    /// The same person in a session that was re-authenticated too long ago.
    Stale,
    /// An administrator without any grant in a fresh session.
    AdminFresh,
}

/// What a call is sent with.
#[derive(Clone)]
pub(crate) enum Credential {
    None,
    Bearer(String),
    Session(String),
}

/// What a caller may expect of an operation on something in the project `shop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    Unauthenticated,
    NotFound,
    PermissionDenied,
    /// It may; what else stands against it is another matter.
    Allowed,
}

impl Caller {
    /// A caller of this kind, whose roles in the project are these.
    pub(crate) async fn of(ground: &Ground, kind: Kind, name: &str, credential: Credential, roles: &[Role]) -> Self {
        let actor = match &credential {
            Credential::None => None,
            Credential::Bearer(token) => ground.app().authenticate(token, request()).await.ok(),
            Credential::Session(secret) => ground.app().authenticate_session(secret, request()).await.ok(),
        };
        let scope = if kind == Kind::Unscoped { Scope::Only(vec![]) } else { Scope::All };
        let admin = matches!(kind, Kind::Admin | Kind::AdminFresh);
        let valid = !matches!(kind, Kind::Anonymous | Kind::Expired | Kind::Revoked);
        assert_eq!(actor.is_some(), valid, "{kind:?}");
        Self { kind, name: name.to_owned(), credential, actor, roles: roles.to_vec(), admin, scope }
    }

    /// What the permission table says.
    pub(crate) fn expects(&self, spec: &Spec) -> Expect {
        if self.actor.is_none() {
            return Expect::Unauthenticated;
        }
        let permitted = match spec.permission {
            None => true,
            Some(Permission::Admin) => self.admin && self.scope.allows(Permission::Admin),
            // What belongs to administering a project is an administrator's too, without any role in it.
            Some(Permission::GrantWrite | Permission::AuditRead) if self.admin => self.scope.allows(Permission::Admin),
            Some(_) if self.roles.is_empty() => return Expect::NotFound,
            Some(needed) => self.roles.iter().any(|role| role.allows(needed)) && self.scope.allows(needed),
        };
        let suited = match spec.who {
            Who::Any => true,
            Who::Session => matches!(self.kind, Kind::Fresh | Kind::Stale | Kind::AdminFresh),
            Who::Human => matches!(self.kind, Kind::Fresh | Kind::AdminFresh),
        };
        // CI is a service: people have another operation for the same.
        let suited = suited && (spec.name != "dispatch_ci" || self.kind == Kind::Service);
        if permitted && suited { Expect::Allowed } else { Expect::PermissionDenied }
    }

    /// The doors at which it may call an operation: a session has those of a browser.
    pub(crate) fn doors(&self, spec: &Spec) -> &'static [Door] {
        match self.credential {
            Credential::Session(_) => &[Door::Rest],
            Credential::None | Credential::Bearer(_) => Door::of(spec),
        }
    }

    /// The actor, when it can make candidates of its own.
    pub(crate) fn author(&self) -> Option<&Actor> {
        let writes = self.roles.contains(&Role::Author) && self.scope.allows(Permission::BaselineWrite);
        self.actor.as_ref().filter(|_| writes)
    }
}

/// Every caller. Time passes for it, so this comes before anything that must not grow old. PostgreSQL's clock cannot be
/// moved: there nobody comes with what is too old.
pub(crate) async fn callers(ground: &Ground) -> Vec<Caller> {
    let all = Role::ALL;
    ground.enrol(PrincipalClass::User, "Fay", false, PROJECT, all).await;
    ground.enrol(PrincipalClass::User, "Ada", true, PROJECT, &[]).await;
    ground.enrol(PrincipalClass::User, "Oscar", false, OTHER_PROJECT, all).await;
    ground.enrol(PrincipalClass::Service, "robot", false, PROJECT, all).await;

    let expired = token(ground, "Fay", Scope::All, SHORT).await;
    let stale = session(ground, "Fay").await;
    ground.path.bench.clock.advance(STALE);
    let revoked = ground.app().create_token(&name("Fay"), &Scope::All, LONG).await.unwrap();
    ground.app().revoke_token(revoked.id).await.unwrap();

    let mut callers = vec![
        Caller::of(ground, Kind::Anonymous, "", Credential::None, &[]).await,
        Caller::of(ground, Kind::Stranger, "Oscar", token(ground, "Oscar", Scope::All, LONG).await, &[]).await,
        Caller::of(ground, Kind::Admin, "Ada", token(ground, "Ada", Scope::All, LONG).await, &[]).await,
        Caller::of(ground, Kind::Service, "robot", token(ground, "robot", Scope::All, LONG).await, all).await,
        Caller::of(ground, Kind::Unscoped, "Fay", token(ground, "Fay", Scope::Only(vec![]), LONG).await, all).await,
        Caller::of(ground, Kind::Revoked, "Fay", Credential::Bearer(revoked.secret), all).await,
        Caller::of(ground, Kind::Fresh, "Fay", session(ground, "Fay").await, all).await,
        Caller::of(ground, Kind::AdminFresh, "Ada", session(ground, "Ada").await, &[]).await,
    ];
    if ground.path.bench.database.engine() == Engine::Sqlite {
        callers.push(Caller::of(ground, Kind::Expired, "Fay", expired, all).await);
        callers.push(Caller::of(ground, Kind::Stale, "Fay", stale, all).await);
    }
    for role in Role::ALL {
        let who = format!("one {role}");
        ground.enrol(PrincipalClass::User, &who, false, PROJECT, &[*role]).await;
        let token = token(ground, &who, Scope::All, LONG).await;
        callers.push(Caller::of(ground, Kind::Role(*role), &who, token, &[*role]).await);
    }
    callers
}

/// A token of somebody.
pub(crate) async fn token(ground: &Ground, who: &str, scope: Scope, lifetime: Duration) -> Credential {
    Credential::Bearer(ground.app().create_token(&name(who), &scope, lifetime).await.unwrap().secret)
}

/// A session that somebody began a moment ago.
pub(crate) async fn session(ground: &Ground, who: &str) -> Credential {
    let user = ground.app().ensure_principal(PrincipalClass::User, &name(who), who == "Ada").await.unwrap();
    Credential::Session(ground.app().begin_session(user, "password").await.unwrap().secret)
}

/// The id of a call that no boundary gave one.
fn request() -> RequestId {
    "req_00000000000000000000000000000000".parse().unwrap()
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}
