//! Secrets, baseline policies, host patterns, probes, and the lists of projects, environments and remotes.

use pinhole_core::{Gate, HostPattern, ProbeKind, Role, SecretName, Subject, TwoPersons};
use pinhole_store::{
    BaselinePolicy, CredentialFacts, EnvironmentSecret, Grant, Group, Probe, Remote, SealedCredential,
};
use pinhole_testkit::Engine;

use crate::{
    rows::{AWKWARD, slug},
    support::{Fixture, assert_exists, assert_same, at, id, on_both_engines},
};

on_both_engines! {
    a_secret_keeps_its_row_when_it_is_deleted
    secrets_that_are_sealed_otherwise_are_found_and_sealed_anew
    policies_never_change
    patterns_are_approved_for_one_revision
    the_last_probe_of_a_kind_is_kept
    projects_are_listed_by_grant
    environments_are_listed_in_pages
    remotes_are_listed_in_pages
    credentials_that_are_sealed_otherwise_are_found_and_sealed_anew
}

fn secret(name: &str) -> SecretName {
    name.parse().unwrap()
}

async fn a_secret_keeps_its_row_when_it_is_deleted(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let environment = ground.environment.id;
    let mut tx = fixture.write().await;
    assert!(!tx.has_sealed_secrets().await.unwrap());
    let first = EnvironmentSecret {
        environment_id: environment,
        name: secret("BUYER"),
        version: 1,
        sealed: Some(AWKWARD.into()),
        changed_by: ground.principal.id,
        changed_at: at(1),
    };
    tx.put_environment_secret(&first).await.unwrap();
    let other = EnvironmentSecret { name: secret("ADMIN"), ..first.clone() };
    tx.put_environment_secret(&other).await.unwrap();
    assert_same(tx.environment_secret(environment, &first.name).await.unwrap(), Some(first.clone()));
    assert!(tx.environment_secret(environment, &secret("NONE")).await.unwrap().is_none());
    assert_same(tx.list_environment_secrets(environment).await.unwrap(), vec![other.clone(), first.clone()]);
    assert!(tx.has_sealed_secrets().await.unwrap());

    let deleted = EnvironmentSecret { version: 2, sealed: None, changed_at: at(2), ..first };
    tx.put_environment_secret(&deleted).await.unwrap();
    assert_same(tx.environment_secret(environment, &deleted.name).await.unwrap(), Some(deleted));
    assert_same(tx.list_environment_secrets(environment).await.unwrap(), vec![other]);
    assert_eq!(tx.count_environment_secrets(environment).await.unwrap(), 2);
    assert_eq!(tx.count_environment_secrets(id!(fixture, EnvironmentId)).await.unwrap(), 0);
}

async fn secrets_that_are_sealed_otherwise_are_found_and_sealed_anew(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let environment = ground.environment.id;
    let mut tx = fixture.write().await;
    for (name, sealed) in [("A", Some("v1.old.x")), ("B", Some("v1.new.x")), ("C", None), ("D", Some("v1.older.x"))] {
        let row = EnvironmentSecret {
            environment_id: environment,
            name: secret(name),
            version: 3,
            sealed: sealed.map(str::to_owned),
            changed_by: ground.principal.id,
            changed_at: at(1),
        };
        tx.put_environment_secret(&row).await.unwrap();
    }
    let names = |found: Vec<EnvironmentSecret>| found.iter().map(|row| row.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(tx.secrets_sealed_otherwise("v1.new.", 10).await.unwrap()), ["A", "D"]);
    assert_eq!(names(tx.secrets_sealed_otherwise("v1.new.", 1).await.unwrap()), ["A"]);
    tx.reseal_environment_secret(environment, &secret("A"), "v1.new.y").await.unwrap();
    assert_eq!(names(tx.secrets_sealed_otherwise("v1.new.", 10).await.unwrap()), ["D"]);
    let found = tx.environment_secret(environment, &secret("A")).await.unwrap().unwrap();
    assert_eq!((found.version, found.sealed.as_deref()), (3, Some("v1.new.y")));
}

async fn policies_never_change(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let project = ground.project.id;
    let mut tx = fixture.write().await;
    assert!(tx.baseline_policy(project, None).await.unwrap().is_none());
    let first = BaselinePolicy {
        project_id: project,
        revision: 1,
        quorum: 2,
        two_persons: TwoPersons::On,
        gate: Gate::Off,
        lifetime_s: 3600,
        changed_by: ground.principal.id,
        changed_at: at(1),
    };
    let second = BaselinePolicy { revision: 2, quorum: 3, ..first.clone() };
    tx.insert_baseline_policy(&first).await.unwrap();
    tx.insert_baseline_policy(&second).await.unwrap();
    assert_same(tx.baseline_policy(project, Some(1)).await.unwrap(), Some(first.clone()));
    assert_same(tx.baseline_policy(project, None).await.unwrap(), Some(second));
    assert!(tx.baseline_policy(project, Some(3)).await.unwrap().is_none());
    assert!(tx.baseline_policy(id!(fixture, ProjectId), None).await.unwrap().is_none());
    assert_exists(tx.insert_baseline_policy(&first).await);
}

async fn patterns_are_approved_for_one_revision(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let environment = ground.environment.id;
    let pattern: HostPattern = "https://*.preview.example".parse().unwrap();
    let mut tx = fixture.write().await;
    for _ in 0..2 {
        tx.approve_host_pattern(environment, 1, &pattern, ground.principal.id).await.unwrap();
    }
    assert_eq!(tx.approved_host_patterns(environment, 1).await.unwrap(), [pattern]);
    assert!(tx.approved_host_patterns(environment, 2).await.unwrap().is_empty());
}

async fn the_last_probe_of_a_kind_is_kept(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let mut tx = fixture.write().await;
    assert!(tx.probes().await.unwrap().is_empty());
    let probe = |kind, outcome: &str| Probe { kind, at: at(1), outcome: outcome.into(), detail: None };
    tx.put_probe(&probe(ProbeKind::Storage, "ok")).await.unwrap();
    tx.put_probe(&probe(ProbeKind::Capture, "ok")).await.unwrap();
    let failed = Probe { detail: Some(AWKWARD.into()), ..probe(ProbeKind::Storage, "failed") };
    tx.put_probe(&failed).await.unwrap();
    assert_same(tx.probes().await.unwrap(), vec![probe(ProbeKind::Capture, "ok"), failed]);
}

async fn projects_are_listed_by_grant(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let owner = ground.principal.id;
    let mut tx = fixture.write().await;
    let (second, hidden) = (fixture.project(owner, "second"), fixture.project(owner, "hidden"));
    let group = Group { id: id!(fixture, GroupId), name: "team".parse().unwrap(), version: 1, created_at: at(0) };
    tx.insert_project(&second).await.unwrap();
    tx.insert_project(&hidden).await.unwrap();
    tx.insert_group(&group).await.unwrap();
    tx.add_group_member(group.id, owner).await.unwrap();
    let grant = |subject, project_id| Grant { subject, project_id, environment_id: None, role: Role::Viewer };
    tx.insert_grant(&grant(Subject::Principal(owner), ground.project.id)).await.unwrap();
    tx.insert_grant(&grant(Subject::Group(group.id), second.id)).await.unwrap();
    let all = tx.list_projects(owner, None, 10).await.unwrap();
    assert_same(all, vec![ground.project.clone(), second.clone()]);
    assert_same(tx.list_projects(owner, None, 1).await.unwrap(), vec![ground.project.clone()]);
    assert_same(tx.list_projects(owner, Some(ground.project.id), 10).await.unwrap(), vec![second]);
    assert!(tx.list_projects(id!(fixture, PrincipalId), None, 10).await.unwrap().is_empty());
}

async fn environments_are_listed_in_pages(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let first = ground.environment.clone();
    let second = fixture.environment(&ground.project, "live");
    let mut tx = fixture.write().await;
    tx.insert_environment(&second).await.unwrap();
    let project = ground.project.id;
    let all = tx.list_environments(project, None, None, 10).await.unwrap();
    assert_same(all, vec![first.clone(), second.clone()]);
    assert_same(tx.list_environments(project, None, None, 1).await.unwrap(), vec![first.clone()]);
    assert_same(tx.list_environments(project, None, Some(first.id), 10).await.unwrap(), vec![second.clone()]);
    let only = tx.list_environments(project, Some(&[second.id]), None, 10).await.unwrap();
    assert_same(only, vec![second]);
    assert!(tx.list_environments(project, Some(&[]), None, 10).await.unwrap().is_empty());
    assert!(tx.list_environments(id!(fixture, ProjectId), None, None, 10).await.unwrap().is_empty());
}

async fn remotes_are_listed_in_pages(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let remote = |name: &str| Remote {
        id: id!(fixture, RemoteId),
        slug: slug(name),
        url: "https://git.example/a.git".into(),
        branches: vec!["main".into()],
        host_key: None,
        certificate_authorities: None,
        credential: None,
        version: 7,
        is_configured: false,
        created_at: at(0),
    };
    let (first, second) = (remote("b"), remote("a"));
    let mut tx = fixture.write().await;
    tx.put_remote(&first).await.unwrap();
    tx.put_remote(&second).await.unwrap();
    assert_same(tx.list_remotes(None, 10).await.unwrap(), vec![first.clone(), second.clone()]);
    assert_same(tx.list_remotes(None, 1).await.unwrap(), vec![first.clone()]);
    assert_same(tx.list_remotes(Some(first.id), 10).await.unwrap(), vec![second]);
}

async fn credentials_that_are_sealed_otherwise_are_found_and_sealed_anew(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let mut tx = fixture.write().await;
    for (name, sealed) in [("a", Some("v1.old.x")), ("b", Some("v1.new.x")), ("c", None), ("d", Some("v1.older.x"))] {
        let credential = |sealed: &str| SealedCredential {
            facts: CredentialFacts::SshKey { public_key: Some("ssh-ed25519 AAAA".into()) },
            sealed: sealed.into(),
            version: 3,
            set_at: at(4),
        };
        assert_eq!(tx.has_sealed_secrets().await.unwrap(), name != "a");
        let remote = Remote {
            id: id!(fixture, RemoteId),
            slug: slug(name),
            url: "ssh://git.example/a.git".into(),
            branches: vec!["main".into()],
            host_key: Some("SHA256:A".into()),
            certificate_authorities: None,
            credential: sealed.map(credential),
            version: 7,
            is_configured: false,
            created_at: at(0),
        };
        tx.put_remote(&remote).await.unwrap();
    }
    let names = |found: Vec<Remote>| found.iter().map(|row| row.slug.to_string()).collect::<Vec<_>>();
    assert_eq!(names(tx.remotes_sealed_otherwise("v1.new.", 10).await.unwrap()), ["a", "d"]);
    assert_eq!(names(tx.remotes_sealed_otherwise("v1.new.", 1).await.unwrap()), ["a"]);
    let before = tx.remote_by_slug(&slug("a")).await.unwrap().unwrap();
    tx.reseal_remote(before.id, "v1.new.y").await.unwrap();
    assert_eq!(names(tx.remotes_sealed_otherwise("v1.new.", 10).await.unwrap()), ["d"]);
    let anew = before.credential.clone().map(|stored| SealedCredential { sealed: "v1.new.y".into(), ..stored });
    let after = tx.remote_by_slug(&slug("a")).await.unwrap();
    assert_same(after, Some(Remote { credential: anew, ..before }));
}
