//! Sessions, groups, and the lists of principals, tokens, grants and audit rows.

use pinhole_core::{GroupId, PrincipalClass, PrincipalId, Role, Scope, SessionId, Subject};
use pinhole_store::{AuditFilter, AuditRow, Grant, Group, Principal, Session, Token};
use pinhole_testkit::Engine;
use serde_json::json;

use crate::{
    rows::{AWKWARD, sha256},
    support::{Fixture, assert_exists, assert_same, at, id, on_both_engines},
};

on_both_engines! {
    sessions
    sessions_are_listed_while_they_go_on
    groups
    members_of_groups
    grants_through_groups
    grants_are_listed_in_pages
    principals_are_listed_and_disabled
    tokens_are_listed_touched_and_revoked
    tokens_of_services_are_listed
    roles_and_owners
    audit_rows_are_filtered_newest_first
}

/// One line of text that no statement may break on.
fn awkward_line() -> String {
    AWKWARD.lines().next().unwrap().to_owned()
}

impl Fixture {
    fn session(&self, principal: PrincipalId, secret: &str) -> Session {
        Session {
            id: id!(self, SessionId),
            principal_id: principal,
            secret_sha256: sha256(secret),
            method: "password".into(),
            created_at: at(0),
            reauthenticated_at: at(1),
            last_used_at: at(2),
            // Later than any clock of a test shows.
            expires_at: at(i64::MAX / 4),
            ended_at: None,
        }
    }

    fn group(&self, name: &str) -> Group {
        Group { id: id!(self, GroupId), name: name.parse().unwrap(), version: 1, created_at: at(3) }
    }

    pub(crate) fn token(&self, principal: PrincipalId, secret: &str) -> Token {
        Token {
            id: id!(self, TokenId),
            principal_id: principal,
            secret_sha256: sha256(secret),
            scope: Scope::All,
            created_at: at(0),
            expires_at: at(10),
            revoked_at: None,
            label: Some(awkward_line().parse().unwrap()),
            last_used_at: None,
        }
    }
}

async fn sessions(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let person = fixture.ground().await.principal.id;
    let first = fixture.session(person, "first");
    let mut tx = fixture.write().await;
    tx.insert_session(&first).await.unwrap();
    assert_same(tx.session_by_secret(first.secret_sha256).await.unwrap(), Some(first.clone()));
    assert_same(tx.session(first.id).await.unwrap(), Some(first.clone()));
    assert!(tx.session_by_secret(sha256("unknown")).await.unwrap().is_none());
    assert!(tx.session(id!(fixture, SessionId)).await.unwrap().is_none());
    assert_exists(tx.insert_session(&fixture.session(person, "first")).await);
    drop(tx);

    let mut tx = fixture.write().await;
    tx.insert_session(&first).await.unwrap();
    tx.touch_session(first.id).await.unwrap();
    let now = tx.now();
    assert_same(tx.session(first.id).await.unwrap(), Some(Session { last_used_at: now, ..first.clone() }));

    // A new secret takes the place of the old one.
    assert!(tx.renew_session(first.id, sha256("second")).await.unwrap());
    assert!(tx.session_by_secret(first.secret_sha256).await.unwrap().is_none());
    let renewed =
        Session { secret_sha256: sha256("second"), reauthenticated_at: now, last_used_at: now, ..first.clone() };
    assert_same(tx.session(first.id).await.unwrap(), Some(renewed.clone()));

    assert!(tx.end_session(first.id).await.unwrap());
    assert!(!tx.end_session(first.id).await.unwrap());
    assert!(!tx.end_session(id!(fixture, SessionId)).await.unwrap());
    assert!(!tx.renew_session(first.id, sha256("third")).await.unwrap());
    assert_same(tx.session(first.id).await.unwrap(), Some(Session { ended_at: Some(now), ..renewed }));
    let over = Session { expires_at: at(3), ..fixture.session(person, "over") };
    tx.insert_session(&over).await.unwrap();
    assert!(!tx.renew_session(over.id, sha256("fourth")).await.unwrap());
}

async fn sessions_are_listed_while_they_go_on(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let person = fixture.ground().await.principal.id;
    let bob = fixture.principal(PrincipalClass::User, "bob");
    let mut tx = fixture.write().await;
    tx.insert_principal(&bob).await.unwrap();
    let made: Vec<_> = (0..4).map(|index| fixture.session(person, &format!("secret {index}"))).collect();
    let over = Session { expires_at: at(3), ..fixture.session(person, "over") };
    let other = fixture.session(bob.id, "other");
    for session in made.iter().chain([&over, &other]) {
        tx.insert_session(session).await.unwrap();
    }
    assert!(tx.end_session(made[1].id).await.unwrap());
    let ids = |sessions: Vec<Session>| sessions.into_iter().map(|session| session.id).collect::<Vec<SessionId>>();
    assert_eq!(ids(tx.sessions_of(person, at(2), None, 10).await.unwrap()), [made[3].id, made[2].id, made[0].id]);
    assert_eq!(ids(tx.sessions_of(person, at(2), None, 1).await.unwrap()), [made[3].id]);
    assert_eq!(ids(tx.sessions_of(person, at(2), Some(made[3].id), 1).await.unwrap()), [made[2].id]);
    assert_eq!(ids(tx.sessions_of(person, at(2), Some(made[0].id), 10).await.unwrap()), []);

    assert!(tx.sessions_of(person, at(3), None, 10).await.unwrap().is_empty());

    assert_eq!(tx.end_sessions_of(person).await.unwrap(), 4);
    assert!(tx.sessions_of(person, at(2), None, 10).await.unwrap().is_empty());
    assert_eq!(ids(tx.sessions_of(bob.id, at(2), None, 10).await.unwrap()), [other.id]);
}

async fn groups(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (zoo, ant, bee) = (fixture.group("zoo"), fixture.group(&awkward_line()), fixture.group("bee"));
    let mut tx = fixture.write().await;
    for group in [&zoo, &ant, &bee] {
        tx.insert_group(group).await.unwrap();
        assert_same(tx.group(group.id).await.unwrap(), Some(group.clone()));
        assert_same(tx.group_by_name(&group.name).await.unwrap(), Some(group.clone()));
    }
    assert!(tx.group(id!(fixture, GroupId)).await.unwrap().is_none());
    assert!(tx.group_by_name(&"Zoo".parse().unwrap()).await.unwrap().is_none());
    let names = |groups: Vec<Group>| groups.into_iter().map(|group| group.id).collect::<Vec<GroupId>>();
    let all = names(tx.list_groups(None, 10).await.unwrap());
    assert_eq!(all.iter().copied().collect::<std::collections::BTreeSet<_>>().len(), 3);
    let first = tx.list_groups(None, 1).await.unwrap();
    assert_eq!(names(first.clone()), all[..1]);
    assert_eq!(names(tx.list_groups(Some(&first[0].name), 10).await.unwrap()), all[1..]);
    assert!(tx.list_groups(Some(&zoo.name), 10).await.unwrap().is_empty());
    assert_exists(tx.insert_group(&fixture.group("zoo")).await);
}

async fn members_of_groups(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ada = fixture.ground().await.principal.id;
    let bob = fixture.principal(PrincipalClass::User, "bob");
    let (group, other) = (fixture.group("one"), fixture.group("two"));
    let mut tx = fixture.write().await;
    tx.insert_principal(&bob).await.unwrap();
    for group in [&group, &other] {
        tx.insert_group(group).await.unwrap();
    }
    assert!(tx.add_group_member(group.id, ada).await.unwrap());
    assert!(!tx.add_group_member(group.id, ada).await.unwrap());
    assert!(tx.add_group_member(other.id, ada).await.unwrap());
    assert_eq!(tx.group_members(group.id).await.unwrap(), [ada]);
    let version = |group: &Group, version| Group { version, ..group.clone() };
    assert_same(tx.groups_of(ada).await.unwrap(), vec![version(&group, 2), version(&other, 2)]);
    assert!(tx.groups_of(bob.id).await.unwrap().is_empty());

    tx.put_group_members(group.id, &[bob.id, ada]).await.unwrap();
    assert_eq!(tx.group_members(group.id).await.unwrap(), [ada, bob.id]);
    tx.put_group_members(group.id, &[bob.id]).await.unwrap();
    assert_eq!(tx.group_members(group.id).await.unwrap(), [bob.id]);
    assert_same(tx.group(group.id).await.unwrap(), Some(version(&group, 4)));
    assert_eq!(tx.group_members(other.id).await.unwrap(), [ada]);

    assert!(tx.remove_group_member(group.id, bob.id).await.unwrap());
    assert!(!tx.remove_group_member(group.id, bob.id).await.unwrap());
    assert!(tx.group_members(group.id).await.unwrap().is_empty());
    assert_same(tx.group(group.id).await.unwrap(), Some(version(&group, 5)));
}

async fn grants_through_groups(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let (ada, project) = (ground.principal.id, ground.project.id);
    let group = fixture.group("approvers");
    let mut tx = fixture.write().await;
    tx.insert_group(&group).await.unwrap();
    let grant = Grant {
        subject: Subject::Group(group.id),
        project_id: project,
        environment_id: Some(ground.environment.id),
        role: Role::Approver,
    };
    tx.insert_grant(&grant).await.unwrap();
    assert!(tx.grants_in(ada, project).await.unwrap().is_empty());
    assert_eq!(tx.count_users_with_role(project, Role::Approver).await.unwrap(), 0);
    tx.add_group_member(group.id, ada).await.unwrap();
    assert_eq!(tx.grants_in(ada, project).await.unwrap(), std::slice::from_ref(&grant));
    assert_eq!(tx.count_users_with_role(project, Role::Approver).await.unwrap(), 1);
    // By themselves and in the group they are still one.
    tx.insert_grant(&Grant { subject: Subject::Principal(ada), ..grant.clone() }).await.unwrap();
    assert_eq!(tx.count_users_with_role(project, Role::Approver).await.unwrap(), 1);
    tx.set_principal_disabled(ada, Some(at(9))).await.unwrap();
    assert_eq!(tx.count_users_with_role(project, Role::Approver).await.unwrap(), 0);
    assert!(tx.remove_group_member(group.id, ada).await.unwrap());
    assert!(tx.delete_grant(&grant).await.unwrap());
    assert_eq!(tx.grants_in(ada, project).await.unwrap(), [Grant { subject: Subject::Principal(ada), ..grant }]);
}

async fn grants_are_listed_in_pages(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let other = fixture.project(ground.principal.id, "other");
    let group = Subject::Group(id!(fixture, GroupId));
    let mut tx = fixture.write().await;
    tx.insert_project(&other).await.unwrap();
    let grant = |subject, environment_id, role| Grant { subject, project_id: ground.project.id, environment_id, role };
    let person = Subject::Principal(ground.principal.id);
    let made = [
        grant(person, None, Role::Viewer),
        grant(person, Some(ground.environment.id), Role::Author),
        grant(person, None, Role::Author),
        grant(group, None, Role::Owner),
    ];
    for grant in &made {
        tx.insert_grant(grant).await.unwrap();
    }
    tx.insert_grant(&Grant { project_id: other.id, ..made[0].clone() }).await.unwrap();
    let all = tx.list_grants(ground.project.id, None, 10).await.unwrap();
    assert_eq!(all.len(), made.len());
    assert!(made.iter().all(|grant| all.contains(grant)));
    let mut paged: Vec<Grant> = Vec::new();
    loop {
        let page = tx.list_grants(ground.project.id, paged.last(), 1).await.unwrap();
        if page.is_empty() {
            break;
        }
        paged.extend(page);
    }
    assert_eq!(paged, all);
}

async fn principals_are_listed_and_disabled(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (bob, ada) =
        (fixture.principal(PrincipalClass::User, "bob"), fixture.principal(PrincipalClass::Service, "ada"));
    let mut tx = fixture.write().await;
    for principal in [&bob, &ada] {
        tx.insert_principal(principal).await.unwrap();
    }
    assert_same(tx.list_principals(None, 10).await.unwrap(), vec![ada.clone(), bob.clone()]);
    assert_same(tx.list_principals(None, 1).await.unwrap(), vec![ada.clone()]);
    assert_same(tx.list_principals(Some(&ada.name), 10).await.unwrap(), vec![bob.clone()]);

    tx.set_principal_disabled(bob.id, Some(at(7))).await.unwrap();
    let disabled = Principal { disabled_at: Some(at(7)), ..bob.clone() };
    assert_same(tx.list_principals(None, 10).await.unwrap(), vec![ada.clone(), disabled]);
    tx.set_principal_owner(ada.id, bob.id).await.unwrap();
    let owned = Principal { owner_id: Some(bob.id), ..ada.clone() };
    assert_same(tx.principal(ada.id).await.unwrap(), Some(owned.clone()));
    let other = Principal { owner_id: Some(bob.id), ..fixture.principal(PrincipalClass::Service, "eve") };
    tx.insert_principal(&other).await.unwrap();
    assert_same(tx.principal(other.id).await.unwrap(), Some(other));
    tx.set_principal_disabled(bob.id, None).await.unwrap();
    assert_same(tx.principal(bob.id).await.unwrap(), Some(bob.clone()));

    assert!(!tx.has_administrator().await.unwrap());
    tx.set_principal_admin(bob.id, Some(at(8))).await.unwrap();
    assert!(!tx.has_administrator().await.unwrap(), "bob has no way in");
    tx.insert_token(&fixture.token(bob.id, "bob")).await.unwrap();
    assert!(tx.has_administrator().await.unwrap());
    assert_same(tx.principal(bob.id).await.unwrap(), Some(Principal { admin_since: Some(at(8)), ..bob.clone() }));
    tx.set_principal_disabled(bob.id, Some(at(9))).await.unwrap();
    assert!(!tx.has_administrator().await.unwrap());
    tx.set_principal_admin(bob.id, None).await.unwrap();
    assert_same(tx.principal(bob.id).await.unwrap(), Some(Principal { disabled_at: Some(at(9)), ..bob }));
}

async fn tokens_of_services_are_listed(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let person = fixture.ground().await.principal.id;
    let (one, two) =
        (fixture.principal(PrincipalClass::Service, "one"), fixture.principal(PrincipalClass::Service, "two"));
    let mut tx = fixture.write().await;
    let mut made = Vec::new();
    for principal in [&one, &two] {
        tx.insert_principal(principal).await.unwrap();
    }
    for (index, principal) in [one.id, two.id, one.id, one.id, person].into_iter().enumerate() {
        made.push(fixture.token(principal, &format!("secret {index}")));
        tx.insert_token(&made[index]).await.unwrap();
    }
    assert!(tx.revoke_token(made[3].id).await.unwrap());
    let ids = |tokens: Vec<Token>| tokens.into_iter().map(|token| token.id).collect::<Vec<_>>();
    let (first, second, third) = (made[0].id, made[1].id, made[2].id);
    assert_eq!(ids(tx.list_service_tokens(None, None, 10).await.unwrap()), [third, second, first]);
    assert_eq!(ids(tx.list_service_tokens(None, Some(third), 1).await.unwrap()), [second]);
    assert_eq!(ids(tx.list_service_tokens(Some(one.id), None, 10).await.unwrap()), [third, first]);
    assert!(tx.list_service_tokens(Some(person), None, 10).await.unwrap().is_empty());
}

async fn roles_and_owners(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let (ada, project) = (ground.principal.id, ground.project.id);
    let group = fixture.group("owners");
    let mut tx = fixture.write().await;
    tx.insert_group(&group).await.unwrap();
    tx.add_group_member(group.id, ada).await.unwrap();
    let grant = |subject, environment_id, role| Grant { subject, project_id: project, environment_id, role };
    let here = Some(ground.environment.id);
    assert!(tx.roles_of(ada).await.unwrap().is_empty());
    // The owner of one environment does not own the project.
    for role in [Role::Viewer, Role::Owner] {
        tx.insert_grant(&grant(Subject::Principal(ada), here, role)).await.unwrap();
    }
    assert!(!tx.has_owner(project).await.unwrap());
    let through_group = grant(Subject::Group(group.id), None, Role::Owner);
    tx.insert_grant(&through_group).await.unwrap();
    assert!(tx.has_owner(project).await.unwrap());
    assert!(!tx.has_owner(id!(fixture, ProjectId)).await.unwrap());
    tx.insert_grant(&grant(Subject::Group(group.id), None, Role::Author)).await.unwrap();
    let mut roles = tx.roles_of(ada).await.unwrap();
    roles.sort();
    assert_eq!(roles, [Role::Viewer, Role::Author, Role::Owner]);

    tx.set_principal_disabled(ada, Some(at(9))).await.unwrap();
    assert!(!tx.has_owner(project).await.unwrap());
    tx.set_principal_disabled(ada, None).await.unwrap();
    assert!(tx.delete_grant(&through_group).await.unwrap());
    assert!(!tx.has_owner(project).await.unwrap());
    tx.insert_grant(&grant(Subject::Principal(ada), None, Role::Owner)).await.unwrap();
    assert!(tx.has_owner(project).await.unwrap());
}

async fn audit_rows_are_filtered_newest_first(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let (ada, bob) = (id!(fixture, PrincipalId), id!(fixture, PrincipalId));
    let (shop, bank) = (id!(fixture, ProjectId), id!(fixture, ProjectId));
    let row = |micros, principal_id, operation: &str, project_id, object: &str| AuditRow {
        id: id!(fixture, AuditId),
        at: at(micros),
        principal_id,
        operation: operation.into(),
        project_id,
        object_id: Some(object.into()),
        request_id: id!(fixture, RequestId),
        detail: json!({ "note": AWKWARD }),
    };
    let rows = [
        row(0, ada, "start", Some(shop), "run_1"),
        row(1, bob, "start", Some(bank), "run_2"),
        row(2, ada, "cancel", Some(shop), "run_1"),
        row(3, bob, "sign_in", None, "ses_1"),
        row(4, bob, "cancel", Some(shop), "run_3"),
    ];
    let mut tx = fixture.write().await;
    for row in &rows {
        tx.insert_audit(row).await.unwrap();
    }
    let all = AuditFilter::default();
    assert_same(tx.list_audit(&all, None, 10).await.unwrap(), rows.iter().rev().cloned().collect());
    let page = tx.list_audit(&all, Some(rows[3].id), 2).await.unwrap();
    assert_same(page, vec![rows[2].clone(), rows[1].clone()]);
    let of = |project_id| AuditFilter { project_id: Some(project_id), ..AuditFilter::default() };
    let cases = [
        (of(shop), vec![4, 2, 0]),
        (AuditFilter { principal_id: Some(bob), ..all.clone() }, vec![4, 3, 1]),
        (AuditFilter { principal_id: Some(bob), ..of(shop) }, vec![4]),
        (AuditFilter { operation: Some("cancel".into()), ..all.clone() }, vec![4, 2]),
        (AuditFilter { object_id: Some("run_1".into()), ..all.clone() }, vec![2, 0]),
        (AuditFilter { object_id: Some("run_1".into()), operation: Some("start".into()), ..of(shop) }, vec![0]),
        (AuditFilter { object_id: Some("run_1".into()), ..of(bank) }, vec![]),
        (AuditFilter { from: Some(at(1)), to: Some(at(3)), ..all }, vec![2, 1]),
        (AuditFilter { from: Some(at(3)), ..of(shop) }, vec![4]),
    ];
    for (filter, expected) in cases {
        let expected = expected.into_iter().map(|index: usize| rows[index].clone()).collect();
        assert_same(tx.list_audit(&filter, None, 10).await.unwrap(), expected);
    }
}

async fn tokens_are_listed_touched_and_revoked(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let person = fixture.ground().await.principal.id;
    let bob = fixture.principal(PrincipalClass::User, "bob");
    let mut tx = fixture.write().await;
    tx.insert_principal(&bob).await.unwrap();
    let made: Vec<_> = (0..4).map(|index| fixture.token(person, &format!("secret {index}"))).collect();
    let other = fixture.token(bob.id, "other");
    for token in made.iter().chain([&other]) {
        tx.insert_token(token).await.unwrap();
    }
    assert_same(tx.token(other.id).await.unwrap(), Some(other.clone()));
    assert!(tx.token(id!(fixture, TokenId)).await.unwrap().is_none());
    assert!(tx.revoke_token(made[2].id).await.unwrap());
    let ids = |tokens: Vec<Token>| tokens.into_iter().map(|token| token.id).collect::<Vec<_>>();
    assert_eq!(ids(tx.tokens_of(person, None, 10).await.unwrap()), [made[3].id, made[1].id, made[0].id]);
    assert_eq!(ids(tx.tokens_of(person, Some(made[3].id), 1).await.unwrap()), [made[1].id]);

    tx.touch_token(made[0].id).await.unwrap();
    let touched = Token { last_used_at: Some(tx.now()), ..made[0].clone() };
    assert_same(tx.token(made[0].id).await.unwrap(), Some(touched));
    assert_same(tx.token(other.id).await.unwrap(), Some(other.clone()));

    assert_eq!(tx.revoke_tokens_of(person).await.unwrap(), 3);
    assert!(tx.tokens_of(person, None, 10).await.unwrap().is_empty());
    assert_same(tx.token(other.id).await.unwrap(), Some(other));
}
