//! The principals that every operation is tried with, and what the permission table says of each.

use std::time::Duration;

use pinhole_contract::{Spec, Who};
use pinhole_core::{Actor, Name, Permission, PrincipalClass, RequestId, Role, Scope};
use pinhole_testkit::Engine;

use crate::{
    cases::Place,
    doors::Door,
    ground::{Ground, OTHER_PROJECT},
    support::{ENVIRONMENTS, PROJECT},
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
    /// Its roles in the project `shop`, or in one environment of it.
    pub(crate) roles: Vec<Role>,
    reach: Reach,
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
    /// A person with one role in the environment that the cases are about, and in no other.
    Local(Role),
    /// A service with every role there.
    LocalService,
    /// A person with every role there, in a fresh session.
    LocalFresh,
    /// A person with every role in another environment of the project.
    Elsewhere,
    /// The same person in a fresh session.
    ElsewhereFresh,
}

/// Where in the project `shop` somebody has its roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// In all of it.
    Project,
    /// In the environment that the cases are about.
    Here,
    /// In another environment.
    Elsewhere,
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
        let reach = match kind {
            Kind::Local(_) | Kind::LocalService | Kind::LocalFresh => Reach::Here,
            Kind::Elsewhere | Kind::ElsewhereFresh => Reach::Elsewhere,
            _ => Reach::Project,
        };
        Self { kind, name: name.to_owned(), credential, actor, roles: roles.to_vec(), reach, admin, scope }
    }

    /// What the permission table says of an operation on something that lies there.
    pub(crate) fn expects(&self, spec: &Spec, place: Place) -> Expect {
        if self.actor.is_none() {
            return Expect::Unauthenticated;
        }
        let permitted = match spec.permission {
            None => true,
            Some(Permission::Admin) => self.admin && self.scope.allows(Permission::Admin),
            // What belongs to administering a project is an administrator's too, without any role in it.
            Some(Permission::GrantWrite | Permission::AuditRead) if self.admin => self.scope.allows(Permission::Admin),
            Some(_) if !self.sees(place) => return Expect::NotFound,
            Some(needed) => self.may(needed, place) && self.scope.allows(needed),
        };
        let suited = match spec.who {
            Who::Any => true,
            Who::Session => self.is_fresh() || self.kind == Kind::Stale,
            Who::Human => self.is_fresh(),
        };
        // CI is a service: people have another operation for the same.
        let suited = suited && (spec.name != "dispatch_ci" || self.is_service());
        if permitted && suited { Expect::Allowed } else { Expect::PermissionDenied }
    }

    /// Whether it is a program.
    pub(crate) fn is_service(&self) -> bool {
        matches!(self.kind, Kind::Service | Kind::LocalService)
    }

    fn is_fresh(&self) -> bool {
        matches!(self.kind, Kind::Fresh | Kind::AdminFresh | Kind::LocalFresh | Kind::ElsewhereFresh)
    }

    /// A role in one environment shows the project as well, but no other environment.
    fn sees(&self, place: Place) -> bool {
        !self.roles.is_empty() && (self.reach != Reach::Elsewhere || !place.is_in_environment())
    }

    /// What it sees it may read. A role in one environment allows nothing more on the project as a whole.
    fn may(&self, needed: Permission, place: Place) -> bool {
        let counts = self.reach == Reach::Project || place != Place::Project;
        needed == Permission::Read || (counts && self.roles.iter().any(|role| role.allows(needed)))
    }

    /// Gives who has roles in the cases' environment the same roles in another one that stands for it.
    pub(crate) async fn follow(&self, ground: &Ground, environment: &str) {
        if self.reach == Reach::Here {
            let class = if self.is_service() { PrincipalClass::Service } else { PrincipalClass::User };
            ground.path.bench.principal(class, &self.name, Some(environment), &self.roles).await;
        }
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
        let (needed, place) = (Permission::BaselineWrite, Place::Environment);
        let writes = self.sees(place) && self.may(needed, place) && self.scope.allows(needed);
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
    callers.extend(of_one_environment(ground).await);
    callers
}

/// Those who have their roles in one environment of the project only.
async fn of_one_environment(ground: &Ground) -> Vec<Caller> {
    let (all, [here, elsewhere], bench) = (Role::ALL, ENVIRONMENTS, &ground.path.bench);
    bench.principal(PrincipalClass::Service, "local robot", Some(here), all).await;
    bench.principal(PrincipalClass::User, "Lena", Some(here), all).await;
    bench.principal(PrincipalClass::User, "Emil", Some(elsewhere), all).await;
    let robot = token(ground, "local robot", Scope::All, LONG).await;
    let emil = token(ground, "Emil", Scope::All, LONG).await;
    let mut callers = vec![
        Caller::of(ground, Kind::LocalService, "local robot", robot, all).await,
        Caller::of(ground, Kind::LocalFresh, "Lena", session(ground, "Lena").await, all).await,
        Caller::of(ground, Kind::Elsewhere, "Emil", emil, all).await,
        Caller::of(ground, Kind::ElsewhereFresh, "Emil", session(ground, "Emil").await, all).await,
    ];
    for role in all {
        let who = format!("local {role}");
        bench.principal(PrincipalClass::User, &who, Some(here), &[*role]).await;
        let token = token(ground, &who, Scope::All, LONG).await;
        callers.push(Caller::of(ground, Kind::Local(*role), &who, token, &[*role]).await);
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
