//! Projects, environments, scenarios and Git remotes.

use pinhole_core::Blake3Digest;
use pinhole_store::{CredentialFacts, Remote, SealedCredential};
use pinhole_testkit::Engine;

use crate::{
    rows::{AWKWARD, first_revisions, sha256, slug},
    support::{Fixture, assert_exists, assert_same, at, id, on_both_engines},
};

on_both_engines! {
    projects
    environments
    environment_revisions_never_change
    scenarios
    scenario_revisions_never_change
    remotes
}

async fn projects(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let mut tx = fixture.write().await;
    let found = tx.project(ground.project.id).await.unwrap();
    assert_same(found, Some(ground.project.clone()));
    let found = tx.project_by_slug(&ground.project.slug).await.unwrap();
    assert_same(found, Some(ground.project.clone()));
    assert!(tx.project(id!(fixture, ProjectId)).await.unwrap().is_none());
    assert!(tx.project_by_slug(&slug("shops")).await.unwrap().is_none());
    assert_exists(tx.insert_project(&fixture.project(ground.principal.id, "shop")).await);
}

async fn environments(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let mut tx = fixture.write().await;
    // The slug is taken in this project only.
    let elsewhere = fixture.project(ground.principal.id, "other");
    tx.insert_project(&elsewhere).await.unwrap();
    let same_slug = fixture.environment(&elsewhere, "staging");
    tx.insert_environment(&same_slug).await.unwrap();

    let head = &ground.environment;
    assert_same(tx.environment(head.id).await.unwrap(), Some(head.clone()));
    let found = tx.environment_by_slug(ground.project.id, &head.slug).await.unwrap();
    assert_same(found, Some(head.clone()));
    let found = tx.environment_by_slug(elsewhere.id, &head.slug).await.unwrap();
    assert_same(found, Some(same_slug.clone()));
    assert!(tx.environment(id!(fixture, EnvironmentId)).await.unwrap().is_none());
    assert!(tx.environment_by_slug(elsewhere.id, &slug("live")).await.unwrap().is_none());

    assert!(!tx.advance_environment(head.id, 2).await.unwrap());
    assert!(tx.advance_environment(head.id, 1).await.unwrap());
    assert!(!tx.advance_environment(head.id, 1).await.unwrap());
    assert_eq!(tx.environment(head.id).await.unwrap().unwrap().head_revision, 2);
    assert_eq!(tx.environment(same_slug.id).await.unwrap().unwrap().head_revision, 1);
    assert_exists(tx.insert_environment(&fixture.environment(&ground.project, "staging")).await);
}

async fn environment_revisions_never_change(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let (first, _) = first_revisions(&ground);
    let mut second = first.clone();
    (second.revision, second.document, second.sha256) = (2, "{}".into(), sha256("second"));
    let mut tx = fixture.write().await;
    tx.insert_environment_revision(&first).await.unwrap();
    tx.insert_environment_revision(&second).await.unwrap();
    let environment = ground.environment.id;
    assert_same(tx.environment_revision(environment, 1).await.unwrap(), Some(first.clone()));
    assert_same(tx.environment_revision(environment, 2).await.unwrap(), Some(second.clone()));
    assert!(tx.environment_revision(environment, 3).await.unwrap().is_none());
    assert!(tx.environment_revision(id!(fixture, EnvironmentId), 1).await.unwrap().is_none());
    second.revision = 1;
    assert_exists(tx.insert_environment_revision(&second).await);
}

async fn scenarios(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let mut tx = fixture.write().await;
    let elsewhere = fixture.project(ground.principal.id, "other");
    tx.insert_project(&elsewhere).await.unwrap();
    let same_slug = fixture.scenario(&elsewhere, "checkout");
    tx.insert_scenario(&same_slug).await.unwrap();

    let head = &ground.scenario;
    assert_same(tx.scenario(head.id).await.unwrap(), Some(head.clone()));
    let found = tx.scenario_by_slug(ground.project.id, &head.slug).await.unwrap();
    assert_same(found, Some(head.clone()));
    let found = tx.scenario_by_slug(elsewhere.id, &head.slug).await.unwrap();
    assert_same(found, Some(same_slug.clone()));
    assert!(tx.scenario(id!(fixture, ScenarioId)).await.unwrap().is_none());
    assert!(tx.scenario_by_slug(elsewhere.id, &slug("cart")).await.unwrap().is_none());

    let next = Blake3Digest::of(b"second");
    assert!(!tx.advance_scenario(head.id, 2, next).await.unwrap());
    assert!(tx.advance_scenario(head.id, 1, next).await.unwrap());
    assert!(!tx.advance_scenario(head.id, 1, Blake3Digest::of(b"third")).await.unwrap());
    let found = tx.scenario(head.id).await.unwrap().unwrap();
    assert_eq!((found.version, found.head_digest), (2, next));
    assert_same(tx.scenario(same_slug.id).await.unwrap(), Some(same_slug));
    assert_exists(tx.insert_scenario(&fixture.scenario(&ground.project, "checkout")).await);
}

async fn scenario_revisions_never_change(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let (_, revision) = first_revisions(&ground);
    let mut tx = fixture.write().await;
    tx.insert_scenario_revision(&revision).await.unwrap();
    let mut again = revision.clone();
    (again.origin, again.created_at) = ("agent".into(), at(99));
    tx.insert_scenario_revision(&again).await.unwrap();
    let found = tx.scenario_revision(revision.scenario_id, revision.digest).await.unwrap();
    assert_same(found, Some(revision.clone()));
    let other = Blake3Digest::of(b"other");
    assert!(tx.scenario_revision(revision.scenario_id, other).await.unwrap().is_none());
    assert!(tx.scenario_revision(id!(fixture, ScenarioId), revision.digest).await.unwrap().is_none());
}

async fn remotes(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let remote = Remote {
        id: id!(fixture, RemoteId),
        slug: slug("origin"),
        url: "file:///srv/it's.git".into(),
        branches: vec!["main".into(), "release/*".into()],
        host_key: Some("SHA256:A".into()),
        certificate_authorities: Some(AWKWARD.into()),
        credential: Some(SealedCredential {
            facts: CredentialFacts::Password { user: AWKWARD.into() },
            sealed: "v1.key.x".into(),
            version: 1,
            set_at: at(3),
        }),
        version: 1,
        is_configured: true,
        created_at: at(0),
    };
    let mut tx = fixture.write().await;
    tx.put_remote(&remote).await.unwrap();
    assert_same(tx.remote(remote.id).await.unwrap(), Some(remote.clone()));
    assert_same(tx.remote_by_slug(&remote.slug).await.unwrap(), Some(remote.clone()));
    assert!(tx.remote(id!(fixture, RemoteId)).await.unwrap().is_none());
    assert!(tx.remote_by_slug(&slug("mirror")).await.unwrap().is_none());

    // A second time the id and the instant stay; publications name the id.
    let facts = CredentialFacts::SshKey { public_key: None };
    let changed = Remote {
        id: id!(fixture, RemoteId),
        url: "file:///b.git".into(),
        branches: vec![],
        host_key: None,
        certificate_authorities: None,
        credential: remote.credential.clone().map(|stored| SealedCredential { facts, version: 2, ..stored }),
        version: 2,
        ..remote.clone()
    };
    tx.put_remote(&Remote { created_at: at(9), ..changed.clone() }).await.unwrap();
    let expected = Remote { id: remote.id, ..changed.clone() };
    assert_same(tx.remote_by_slug(&remote.slug).await.unwrap(), Some(expected));
    assert!(tx.remote(changed.id).await.unwrap().is_none());
    tx.put_remote(&Remote { credential: None, ..changed }).await.unwrap();
    assert!(tx.remote(remote.id).await.unwrap().unwrap().credential.is_none());
}
