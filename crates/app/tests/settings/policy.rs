//! Baseline policies: who sets them, and that an approval stays under the one that it was requested under.

use std::time::Duration;

use pinhole_core::{Outcome, Role};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    path::{Path, darker},
    rows::on_both_engines,
    support::{Bench, GOOD, PROJECT, refused},
};

on_both_engines! {
    a_policy_has_numbered_revisions_and_defaults
    a_policy_is_set_by_an_owner_in_person
    a_quorum_of_two_needs_two_persons
    two_persons_are_asked_for_as_the_policy_says
    an_approval_lasts_as_long_as_the_policy_says
}

/// Sets a policy as an owner who has just signed in.
async fn set(bench: &Bench, version: u32, members: Value) -> Value {
    let mut input = members;
    input["project"] = PROJECT.into();
    input["expected_version"] = version.into();
    let owner = bench.session("Olga").await;
    bench.call(&owner, "update_baseline_policy", input).await.unwrap()
}

async fn a_policy_has_numbered_revisions_and_defaults(engine: Engine) {
    let bench = Bench::on(engine).await;
    let read = async |revision: Value| {
        bench.call(&bench.owner, "get_baseline_policy", json!({ "project": PROJECT, "revision": revision })).await
    };
    let defaults = json!({
        "project": PROJECT, "revision": 0, "quorum": 1, "two_persons": "auto", "gate": "on",
        "approval_lifetime_s": 604_800,
    });
    assert_eq!(read(json!(null)).await.unwrap(), defaults);
    set(&bench, 0, json!({ "quorum": 2 })).await;
    let second = set(&bench, 1, json!({ "two_persons": "on", "gate": "off", "approval_lifetime_s": 3600 })).await;
    assert_eq!((&second["revision"], &second["quorum"]), (&json!(2), &json!(2)), "what is left out stays");
    assert_eq!(read(json!(null)).await.unwrap(), second);
    assert_eq!(read(json!(1)).await.unwrap()["gate"], "on");
    assert_eq!(read(json!(0)).await.unwrap(), defaults);
    assert_eq!(refused(read(json!(3)).await), ("not_found", String::new()));
}

async fn a_policy_is_set_by_an_owner_in_person(engine: Engine) {
    let bench = Bench::on(engine).await;
    let change = json!({ "project": PROJECT, "quorum": 2, "expected_version": 0 });
    let token = bench.call(&bench.owner, "update_baseline_policy", change.clone()).await;
    assert_eq!(refused(token), ("permission_denied", "human_authority".into()));
    bench.person("Anna", &[Role::Approver, Role::Author]).await;
    let anna = bench.session("Anna").await;
    let outcome = bench.call(&anna, "update_baseline_policy", change.clone()).await;
    assert_eq!(refused(outcome), ("permission_denied", "policy.write".into()));
    let owner = bench.session("Olga").await;
    for (member, value) in [
        ("quorum", json!(0)),
        ("quorum", json!(11)),
        ("approval_lifetime_s", json!(3599)),
        ("approval_lifetime_s", json!(7_776_001)),
        ("two_persons", json!("maybe")),
    ] {
        let mut wrong = change.clone();
        wrong[member] = value;
        let (code, _) = refused(bench.call(&owner, "update_baseline_policy", wrong).await);
        assert_eq!(code, "invalid_arguments", "{member}");
    }
    let mut missing = change.clone();
    missing["expected_version"] = Value::Null;
    let outcome = bench.call(&owner, "update_baseline_policy", missing).await;
    assert_eq!(refused(outcome), ("precondition_required", "expected_version".into()));
    bench.call(&owner, "update_baseline_policy", change.clone()).await.unwrap();
    let outcome = bench.call(&owner, "update_baseline_policy", change).await;
    assert_eq!(refused(outcome), ("conflict", "stale_version".into()));
}

async fn a_quorum_of_two_needs_two_persons(engine: Engine) {
    let path = Path::on(engine).await;
    let bert = path.bench.person("Bert", &[Role::Approver]).await;
    let before = path.requested(GOOD).await;
    set(&path.bench, 0, json!({ "quorum": 2 })).await;
    // One that was requested before keeps the policy of that time.
    assert_eq!(path.decide(&before, Outcome::Approve).await.unwrap()["state"], "approved");

    let approval = path.requested(darker(3)).await;
    let once = path.decide(&approval, Outcome::Approve).await.unwrap();
    assert_eq!(once["state"], "pending");
    assert_eq!(refused(path.decide(&once, Outcome::Approve).await), ("conflict", "already_decided".into()));
    assert_eq!(refused(path.consume(&once, 0).await), ("conflict", "not_approved".into()));
    let twice = path.decide_as(&bert, "Bert", &once, Outcome::Approve).await.unwrap();
    assert_eq!((&twice["state"], twice["decisions"].as_array().unwrap().len()), (&json!("approved"), 2));
    path.consume(&twice, 0).await.unwrap();
    // One denial denies, whatever the quorum.
    let other = path.requested(darker(4)).await;
    let once = path.decide(&other, Outcome::Approve).await.unwrap();
    assert_eq!(path.decide_as(&bert, "Bert", &once, Outcome::Deny).await.unwrap()["state"], "denied");
}

async fn two_persons_are_asked_for_as_the_policy_says(engine: Engine) {
    let path = Path::on(engine).await;
    let rights = [Role::Operator, Role::Author, Role::Approver];
    let own = Path { maker: path.bench.person("Anna", &rights).await, ..path };
    // Alone, she decides on what she requested herself, unless the policy asks for another.
    set(&own.bench, 0, json!({ "two_persons": "on" })).await;
    let approval = own.requested(GOOD).await;
    assert_eq!(refused(own.decide(&approval, Outcome::Approve).await), ("permission_denied", "two_persons".into()));
    // With a second approver `auto` would refuse her too.
    own.bench.person("Bert", &[Role::Approver]).await;
    set(&own.bench, 1, json!({ "two_persons": "off" })).await;
    let approval = own.requested(darker(3)).await;
    assert_eq!(own.decide(&approval, Outcome::Approve).await.unwrap()["state"], "approved");
}

async fn an_approval_lasts_as_long_as_the_policy_says(engine: Engine) {
    let path = Path::on(engine).await;
    set(&path.bench, 0, json!({ "approval_lifetime_s": 3600 })).await;
    let approval = path.requested(GOOD).await;
    let lasts = "SELECT expires_at - created_at FROM approvals";
    assert_eq!(path.bench.sql(lasts).trim(), Duration::from_secs(3600).as_micros().to_string());
    assert_eq!(approval["state"], "pending");
}
