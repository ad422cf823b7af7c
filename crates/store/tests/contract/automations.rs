//! Automations, their versions and times, and the ledger of their deliveries.

use std::collections::BTreeMap;

use pinhole_core::{
    AutomationId, AutomationKind, BaselineSelector, Code, DeliveryOutcome, Details, EnvironmentSelector, RunSelectors,
    ScenarioSelector, Timestamp, True, ZoneName,
};
use pinhole_store::{Automation, Delivery, Refusal, SealedSecret, Timing, WebhookSecrets};
use pinhole_testkit::Engine;

use crate::{
    rows::{AWKWARD, Ground},
    support::{Fixture, assert_exists, assert_same, at, id, on_both_engines},
};

on_both_engines! {
    an_automation_changes_by_version
    webhooks_that_are_sealed_otherwise_are_found_and_sealed_anew
    automations_are_listed_by_kind_and_place
    a_schedule_is_due_until_it_is_moved_on
    a_delivery_happens_once
}

fn schedule(fixture: &Fixture, ground: &Ground, next_at: Option<Timestamp>) -> Automation {
    Automation {
        id: AutomationId::Schedule(id!(fixture, ScheduleId)),
        project_id: ground.project.id,
        environment_id: ground.environment.id,
        title: "Zo\u{eb}'s \"nights\"".parse().unwrap(),
        selectors: RunSelectors {
            project: ground.project.slug.clone(),
            scenario: ground.scenario.slug.clone(),
            revision: ScenarioSelector::Head(True),
            environment: ground.environment.slug.clone(),
            environment_revision: EnvironmentSelector::Latest(True),
            baseline: BaselineSelector::None,
        },
        enabled: true,
        timing: Some(Timing { cron: "0 3 * * *".parse().unwrap(), time_zone: ZoneName::utc() }),
        next_at,
        secrets: None,
        version: 1,
        runs_as: ground.principal.id,
        created_by: ground.principal.id,
        created_at: at(1),
        updated_at: at(2),
        deleted_at: None,
    }
}

fn webhook(fixture: &Fixture, ground: &Ground) -> Automation {
    let secret = |number, until| SealedSecret { number, sealed: AWKWARD.into(), until };
    Automation {
        id: AutomationId::Webhook(id!(fixture, WebhookId)),
        timing: None,
        secrets: Some(WebhookSecrets { current: secret(2, None), previous: Some(secret(1, Some(at(9)))) }),
        ..schedule(fixture, ground, None)
    }
}

async fn an_automation_changes_by_version(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let made = schedule(&fixture, &ground, Some(at(5)));
    let hook = webhook(&fixture, &ground);
    let mut tx = fixture.write().await;
    // A webhook's secret needs the key that sealed it as much as one of an environment.
    for (automation, sealed) in [(&made, false), (&hook, true)] {
        tx.insert_automation(automation).await.unwrap();
        assert_eq!(tx.has_sealed_secrets().await.unwrap(), sealed);
        assert_same(tx.automation(automation.id).await.unwrap(), Some(automation.clone()));
    }
    let changed = Automation {
        enabled: false,
        next_at: None,
        version: 2,
        updated_at: at(7),
        deleted_at: Some(at(7)),
        ..made.clone()
    };
    assert!(!tx.save_automation(2, &changed).await.unwrap());
    assert_same(tx.automation(made.id).await.unwrap(), Some(made.clone()));
    assert!(tx.save_automation(1, &changed).await.unwrap());
    assert!(!tx.save_automation(1, &changed).await.unwrap());
    assert_same(tx.automation(made.id).await.unwrap(), Some(changed));
    assert_same(tx.automation(hook.id).await.unwrap(), Some(hook));
    assert!(tx.automation(AutomationId::CiDispatch(id!(fixture, CiDispatchId))).await.unwrap().is_none());
}

async fn webhooks_that_are_sealed_otherwise_are_found_and_sealed_anew(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let secret = |number, sealed: &str, until| SealedSecret { number, sealed: sealed.to_owned(), until };
    let secrets = |current: &str, previous: Option<&str>| WebhookSecrets {
        current: secret(2, current, None),
        previous: previous.map(|sealed| secret(1, sealed, Some(at(9)))),
    };
    let mut hooks = Vec::new();
    let mut tx = fixture.write().await;
    for secrets in [
        Some(secrets("v1.old.x", None)),
        Some(secrets("v1.new.x", None)),
        Some(secrets("v1.new.x", Some("v1.old.x"))),
        Some(secrets("v1.older.x", Some("v1.new.x"))),
        Some(secrets("v1.new.x", Some("v1.new.y"))),
        None,
    ] {
        let hook = Automation { secrets, ..webhook(&fixture, &ground) };
        tx.insert_automation(&hook).await.unwrap();
        hooks.push(hook);
    }
    let ids = |found: Vec<Automation>| found.iter().map(|found| found.id).collect::<Vec<_>>();
    let otherwise = [hooks[0].id, hooks[2].id, hooks[3].id];
    assert_eq!(ids(tx.webhooks_sealed_otherwise("v1.new.", 10).await.unwrap()), otherwise);
    assert_eq!(ids(tx.webhooks_sealed_otherwise("v1.new.", 1).await.unwrap()), otherwise[..1]);
    let anew = secrets("v1.new.z", Some("v1.new.z"));
    tx.reseal_webhook(hooks[2].id, &anew).await.unwrap();
    assert_eq!(ids(tx.webhooks_sealed_otherwise("v1.new.", 10).await.unwrap()), [hooks[0].id, hooks[3].id]);
    let expected = Automation { secrets: Some(anew), ..hooks[2].clone() };
    assert_same(tx.automation(hooks[2].id).await.unwrap(), Some(expected));
}

async fn automations_are_listed_by_kind_and_place(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let live = fixture.environment(&ground.project, "live");
    let mut tx = fixture.write().await;
    tx.insert_environment(&live).await.unwrap();
    let first = schedule(&fixture, &ground, None);
    let second = Automation { environment_id: live.id, ..schedule(&fixture, &ground, None) };
    let deleted = Automation { deleted_at: Some(at(3)), ..schedule(&fixture, &ground, None) };
    let hook = webhook(&fixture, &ground);
    for automation in [&first, &second, &deleted, &hook] {
        tx.insert_automation(automation).await.unwrap();
    }
    let (project, schedules) = (ground.project.id, AutomationKind::Schedule);
    let mut ids = async |kind, environments: Option<&[_]>, before, limit| {
        let found = tx.list_automations(project, kind, environments, before, limit).await.unwrap();
        found.into_iter().map(|automation| automation.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(schedules, None, None, 10).await, [second.id, first.id]);
    assert_eq!(ids(schedules, None, None, 1).await, [second.id]);
    assert_eq!(ids(schedules, None, Some(second.id), 10).await, [first.id]);
    assert_eq!(ids(schedules, Some(&[live.id]), None, 10).await, [second.id]);
    assert!(ids(schedules, Some(&[]), None, 10).await.is_empty());
    assert_eq!(ids(AutomationKind::Webhook, None, None, 10).await, [hook.id]);
    assert!(ids(AutomationKind::CiDispatch, None, None, 10).await.is_empty());
}

async fn a_schedule_is_due_until_it_is_moved_on(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let far = Timestamp::from_micros(i64::MAX / 2);
    let (late, early, never, later) = (
        schedule(&fixture, &ground, Some(at(2))),
        schedule(&fixture, &ground, Some(at(1))),
        schedule(&fixture, &ground, None),
        schedule(&fixture, &ground, Some(far)),
    );
    let mut tx = fixture.write().await;
    for automation in [&late, &early, &never, &later] {
        tx.insert_automation(automation).await.unwrap();
    }
    assert_same(tx.due_schedules().await.unwrap(), vec![early.clone(), late.clone()]);
    let changed = Automation { version: 2, ..early.clone() };
    assert!(!tx.advance_schedule(&changed, at(1), Some(far)).await.unwrap(), "another version");
    assert!(!tx.advance_schedule(&early, at(2), Some(far)).await.unwrap(), "another time");
    assert!(tx.advance_schedule(&early, at(1), Some(far)).await.unwrap());
    assert!(!tx.advance_schedule(&early, at(1), Some(far)).await.unwrap(), "moved on before");
    assert!(tx.advance_schedule(&late, at(2), None).await.unwrap());
    assert!(tx.due_schedules().await.unwrap().is_empty());
    let moved = Automation { next_at: Some(far), ..early };
    assert_same(tx.automation(moved.id).await.unwrap(), Some(moved));
}

async fn a_delivery_happens_once(engine: Engine) {
    let fixture = Fixture::new(engine).await;
    let ground = fixture.ground().await;
    let run = fixture.captured(&ground).await.run;
    let hook = webhook(&fixture, &ground);
    let mut tx = fixture.write().await;
    tx.insert_automation(&hook).await.unwrap();
    let started = Delivery {
        automation_id: hook.id,
        key: "msg_1".parse().unwrap(),
        at: at(1),
        outcome: DeliveryOutcome::Started,
        run_id: Some(run.id),
        refusal: None,
        missed: 3,
        labels: BTreeMap::from([("ref".to_owned(), AWKWARD.to_owned())]),
    };
    let refusal = Refusal { code: Code::PermissionDenied, message: AWKWARD.into(), details: Details::default() };
    let refused = Delivery {
        key: "msg_2".parse().unwrap(),
        at: at(2),
        outcome: DeliveryOutcome::Refused,
        run_id: None,
        refusal: Some(refusal),
        ..started.clone()
    };
    for delivery in [&started, &refused] {
        assert!(tx.delivery(hook.id, &delivery.key).await.unwrap().is_none());
        tx.insert_delivery(delivery).await.unwrap();
        assert_same(tx.delivery(hook.id, &delivery.key).await.unwrap(), Some(delivery.clone()));
    }
    assert_same(tx.deliveries_of(hook.id, 10).await.unwrap(), vec![refused.clone(), started.clone()]);
    assert_same(tx.deliveries_of(hook.id, 1).await.unwrap(), vec![refused]);
    assert!(tx.deliveries_of(schedule(&fixture, &ground, None).id, 10).await.unwrap().is_empty());
    assert_exists(tx.insert_delivery(&started).await);
}
