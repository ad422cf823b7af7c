//! Principals, tokens, grants and decision tickets.

use pinhole_core::{Permission, PrincipalClass, Role, Scope, Subject, Via};
use pinhole_store::{Grant, Principal, Ticket, Token};
use pinhole_testkit::Engine;

use crate::{
    rows::{AWKWARD, sha256},
    support::{Fixture, assert_exists, assert_same, at, id, on_both_engines},
};

on_both_engines! {
    principals
    tokens
    grants
    users_with_a_role_are_counted_once
    tickets
}

async fn principals(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ada = Principal { admin_since: Some(at(5)), ..fixture.principal(PrincipalClass::User, "Ada 'the first'") };
    let robot = fixture.principal(PrincipalClass::Service, "robot");
    let mut tx = fixture.write().await;
    for principal in [&ada, &robot] {
        tx.insert_principal(principal).await.unwrap();
        assert_same(tx.principal(principal.id).await.unwrap(), Some(principal.clone()));
        assert_same(tx.principal_by_name(&principal.name).await.unwrap(), Some(principal.clone()));
    }
    assert!(tx.principal(id!(fixture, PrincipalId)).await.unwrap().is_none());
    // Names are told apart by case on both engines.
    assert!(tx.principal_by_name(&"Robot".parse().unwrap()).await.unwrap().is_none());
    assert_exists(tx.insert_principal(&fixture.principal(PrincipalClass::User, "robot")).await);
}

async fn tokens(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let token = |secret: &str, scope| Token {
        id: id!(fixture, TokenId),
        principal_id: ground.principal.id,
        secret_sha256: sha256(secret),
        scope,
        created_at: at(0),
        expires_at: at(10),
        revoked_at: None,
        label: None,
        last_used_at: None,
    };
    let wide = token("wide", Scope::All);
    let narrow = Token {
        revoked_at: Some(at(7)),
        ..token("narrow", Scope::Only(vec![Permission::RunStart, Permission::CatalogPublish]))
    };
    let mut tx = fixture.write().await;
    for token in [&wide, &narrow] {
        tx.insert_token(token).await.unwrap();
        assert_same(tx.token_by_secret(token.secret_sha256).await.unwrap(), Some(token.clone()));
    }
    assert!(tx.token_by_secret(sha256("unknown")).await.unwrap().is_none());

    assert!(tx.revoke_token(wide.id).await.unwrap());
    assert!(!tx.revoke_token(wide.id).await.unwrap());
    assert!(!tx.revoke_token(narrow.id).await.unwrap());
    assert!(!tx.revoke_token(id!(fixture, TokenId)).await.unwrap());
    let now = tx.now();
    assert_eq!(tx.token_by_secret(wide.secret_sha256).await.unwrap().unwrap().revoked_at, Some(now));
    assert_same(tx.token_by_secret(narrow.secret_sha256).await.unwrap(), Some(narrow));
    assert_exists(tx.insert_token(&token("wide", Scope::All)).await);
}

async fn grants(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let grant = |environment_id, role| Grant {
        subject: Subject::Principal(ground.principal.id),
        project_id: ground.project.id,
        environment_id,
        role,
    };
    let everywhere = grant(None, Role::Viewer);
    let here = grant(Some(ground.environment.id), Role::Viewer);
    let author = grant(None, Role::Author);
    let mut tx = fixture.write().await;
    for grant in [&everywhere, &here, &author, &here, &everywhere] {
        tx.insert_grant(grant).await.unwrap();
    }
    let sorted = |mut grants: Vec<Grant>| {
        grants.sort_by_key(|grant| (grant.role, grant.environment_id));
        grants
    };
    let (person, project) = (ground.principal.id, ground.project.id);
    let found = tx.grants_in(person, project).await.unwrap();
    assert_eq!(sorted(found), [everywhere.clone(), here.clone(), author.clone()]);
    assert!(tx.grants_in(id!(fixture, PrincipalId), project).await.unwrap().is_empty());
    assert!(tx.grants_in(person, id!(fixture, ProjectId)).await.unwrap().is_empty());

    assert!(tx.delete_grant(&everywhere).await.unwrap());
    assert!(!tx.delete_grant(&everywhere).await.unwrap());
    assert!(!tx.delete_grant(&grant(Some(ground.environment.id), Role::Author)).await.unwrap());
    assert_eq!(sorted(tx.grants_in(person, project).await.unwrap()), [here, author]);
}

async fn users_with_a_role_are_counted_once(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let bob = fixture.principal(PrincipalClass::User, "bob");
    let robot = fixture.principal(PrincipalClass::Service, "robot");
    let mut tx = fixture.write().await;
    assert_eq!(tx.count_users_with_role(ground.project.id, Role::Approver).await.unwrap(), 0);
    for principal in [&bob, &robot] {
        tx.insert_principal(principal).await.unwrap();
    }
    for (principal_id, environment_id, role) in [
        (ground.principal.id, None, Role::Approver),
        (ground.principal.id, Some(ground.environment.id), Role::Approver),
        (bob.id, Some(ground.environment.id), Role::Approver),
        (bob.id, None, Role::Reviewer),
        (robot.id, None, Role::Approver),
    ] {
        let subject = Subject::Principal(principal_id);
        let grant = Grant { subject, project_id: ground.project.id, environment_id, role };
        tx.insert_grant(&grant).await.unwrap();
    }
    assert_eq!(tx.count_users_with_role(ground.project.id, Role::Approver).await.unwrap(), 2);
    assert_eq!(tx.count_users_with_role(ground.project.id, Role::Reviewer).await.unwrap(), 1);
    assert_eq!(tx.count_users_with_role(id!(fixture, ProjectId), Role::Approver).await.unwrap(), 0);
}

async fn tickets(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let ticket = |secret: &str| Ticket {
        id: id!(fixture, TicketId),
        principal_id: ground.principal.id,
        secret_sha256: sha256(secret),
        object_id: "apr_1".into(),
        object_version: 4,
        intent_sha256: sha256("intent"),
        outcome: "approve".into(),
        reason: AWKWARD.parse().unwrap(),
        via: Via::LocalTicket,
        created_at: at(0),
        expires_at: at(10),
        used_at: None,
    };
    let first = ticket("first");
    let mut tx = fixture.write().await;
    tx.insert_ticket(&first).await.unwrap();
    assert_same(tx.ticket_by_secret(first.secret_sha256).await.unwrap(), Some(first.clone()));
    assert!(tx.ticket_by_secret(sha256("unknown")).await.unwrap().is_none());
    assert_same(tx.ticket(first.id).await.unwrap(), Some(first.clone()));
    assert!(tx.ticket(id!(fixture, TicketId)).await.unwrap().is_none());

    assert!(tx.use_ticket(first.id).await.unwrap());
    assert!(!tx.use_ticket(first.id).await.unwrap());
    assert!(!tx.use_ticket(id!(fixture, TicketId)).await.unwrap());
    let expected = Ticket { used_at: Some(tx.now()), ..first };
    assert_same(tx.ticket_by_secret(expected.secret_sha256).await.unwrap(), Some(expected));
    assert_exists(tx.insert_ticket(&ticket("first")).await);
}
