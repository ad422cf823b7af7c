//! Working on a case: its queue moves with it, by the version that was read.

use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{opening::Office, rows::on_both_engines, support::refused};

on_both_engines! {
    a_case_is_claimed_and_ended
    a_stale_version_changes_nothing
    what_fails_changes_nothing
    findings_are_kept_for_ever
    a_duplicate_names_its_case
    cases_are_listed_by_state_and_queue
}

async fn a_case_is_claimed_and_ended(engine: Engine) {
    let office = Office::on(engine).await;
    let open = office.opened().await;
    let end = json!({ "disposition": "flaky", "reason": "now and then" });
    let early = office.at_version("dispose_investigation", &open, end.clone()).await;
    assert_eq!(refused(early), ("conflict", "not_claimed".into()));
    let claimed = office.at_version("claim_investigation", &open, json!({})).await.unwrap();
    assert_eq!((&claimed["state"], &claimed["claimed_by"]), (&json!("claimed"), &json!(office.agent.principal)));
    assert_eq!(claimed["queue"], json!({ "name": "triage", "waiting": 0, "claimed": 1, "version": 2 }));
    let twice = office.at_version("claim_investigation", &claimed, json!({})).await;
    assert_eq!(refused(twice), ("conflict", "claimed".into()));
    let ended = office.at_version("dispose_investigation", &claimed, end.clone()).await.unwrap();
    assert_eq!(
        (&ended["state"], &ended["disposition"], &ended["version"]),
        (&json!("disposed"), &json!("flaky"), &json!(3))
    );
    assert_eq!((&ended["reason"], &ended["disposed_by"]), (&json!("now and then"), &json!(office.agent.principal)));
    assert_eq!(ended["queue"], json!({ "name": "triage", "waiting": 0, "claimed": 0, "version": 3 }));
    for (operation, input) in
        [("claim_investigation", json!({})), ("add_finding", json!({ "text": "late" })), ("dispose_investigation", end)]
    {
        let late = office.at_version(operation, &ended, input).await;
        assert_eq!(refused(late), ("conflict", "disposed".into()), "{operation}");
    }
}

async fn a_stale_version_changes_nothing(engine: Engine) {
    let office = Office::on(engine).await;
    let case = office.opened().await;
    let mut stale = case.clone();
    stale["version"] = 9.into();
    let mut none = case.clone();
    none["version"] = Value::Null;
    for (operation, input) in [
        ("claim_investigation", json!({})),
        ("add_finding", json!({ "text": "x" })),
        ("dispose_investigation", json!({ "disposition": "defect", "reason": "x" })),
    ] {
        let outcome = office.at_version(operation, &stale, input.clone()).await;
        assert_eq!(refused(outcome), ("conflict", "stale_version".into()), "{operation}");
        let outcome = office.at_version(operation, &none, input).await;
        assert_eq!(refused(outcome), ("precondition_required", "expected_version".into()), "{operation}");
    }
    assert_eq!(office.look(&case).await["version"], 1);
}

async fn what_fails_changes_nothing(engine: Engine) {
    let office = Office::on(engine).await;
    let case = office.opened().await;
    let before = office.look(&case).await;
    // The queue is written after the case: when that fails, the case is as it was.
    office.bench.sql("ALTER TABLE investigation_queues RENAME TO gone");
    office.at_version("claim_investigation", &case, json!({})).await.unwrap_err();
    office.bench.sql("ALTER TABLE gone RENAME TO investigation_queues");
    assert_eq!(office.look(&case).await, before);
    office.bench.sql("ALTER TABLE episodes RENAME TO gone");
    let run = office.run("live", crate::support::Look { fails: true, ..crate::support::GOOD }).await;
    office.open(&run).await.unwrap_err();
    office.bench.sql("ALTER TABLE gone RENAME TO episodes");
    assert_eq!(office.bench.sql("SELECT count(*) FROM cases").trim(), "1");
    assert_eq!(office.bench.sql("SELECT count(*) FROM investigation_queues").trim(), "1");
    assert_eq!(office.open(&run).await.unwrap()["version"], 1);
}

async fn findings_are_kept_for_ever(engine: Engine) {
    let office = Office::on(engine).await;
    let mut case = office.opened().await;
    for text in ["first", "second\nline", &"x".repeat(8192)] {
        case = office.at_version("add_finding", &case, json!({ "text": text })).await.unwrap();
    }
    assert_eq!((&case["findings"], &case["version"]), (&json!(3), &json!(4)));
    for wrong in ["", " ", &"x".repeat(8193), &"\u{e9}".repeat(8193)] {
        let (code, _) = refused(office.at_version("add_finding", &case, json!({ "text": wrong })).await);
        assert_eq!(code, "invalid_arguments");
    }
    let page = async |cursor: Value| {
        let input = json!({ "case_id": case["id"], "limit": 2, "cursor": cursor });
        office.bench.call(&office.agent, "get_investigation", input).await.unwrap()
    };
    let first = page(Value::Null).await;
    let texts: Vec<_> = first["listed_findings"].as_array().unwrap().iter().map(|found| &found["text"]).collect();
    assert_eq!(texts, ["first", "second\nline"]);
    assert_eq!(first["listed_findings"][0]["author"], json!(office.agent.principal));
    let second = page(first["next_cursor"].clone()).await;
    assert_eq!(second["listed_findings"].as_array().unwrap().len(), 1);
    assert_eq!(second["next_cursor"], Value::Null);
}

async fn a_duplicate_names_its_case(engine: Engine) {
    let office = Office::on(engine).await;
    let other = office.opened().await;
    let run = office.run("live", crate::support::GOOD).await;
    let case = office.open(&run).await.unwrap();
    let case = office.at_version("claim_investigation", &case, json!({})).await.unwrap();
    let end = |of: &Value| json!({ "disposition": "duplicate", "duplicate_of": of, "reason": "the same" });
    for (input, expected) in [
        (json!({ "disposition": "duplicate", "reason": "x" }), ("invalid_arguments", "duplicate_of")),
        (
            json!({ "disposition": "defect", "duplicate_of": other["id"], "reason": "x" }),
            ("invalid_arguments", "duplicate_of"),
        ),
        (end(&case["id"]), ("invalid_arguments", "duplicate_of")),
        (end(&json!("cas_00000000000000000000000000000000")), ("not_found", "")),
    ] {
        let error = office.at_version("dispose_investigation", &case, input).await.unwrap_err();
        let field = error.details().field.as_deref().unwrap_or_default();
        assert_eq!((error.code().as_str(), field), expected);
    }
    let ended = office.at_version("dispose_investigation", &case, end(&other["id"])).await.unwrap();
    assert_eq!((&ended["disposition"], &ended["duplicate_of"]), (&json!("duplicate"), &other["id"]));
}

async fn cases_are_listed_by_state_and_queue(engine: Engine) {
    let office = Office::on(engine).await;
    let first = office.opened().await;
    let run = office.run("live", crate::support::GOOD).await;
    let input = json!({ "run_id": run, "queue": "night" });
    let second = office.bench.keyed(&office.agent, "open_investigation", input).await.unwrap();
    let ids = async |filter: Value| {
        let mut input = filter;
        input["project"] = "shop".into();
        let page = office.bench.call(&office.agent, "list_investigations", input).await.unwrap();
        let ids: Vec<Value> = page["cases"].as_array().unwrap().iter().map(|case| case["id"].clone()).collect();
        (ids, page["next_cursor"].clone())
    };
    assert_eq!(ids(json!({})).await.0, [first["id"].clone(), second["id"].clone()]);
    assert_eq!(ids(json!({ "queue": "night" })).await.0, [second["id"].clone()]);
    let (page, cursor) = ids(json!({ "limit": 1 })).await;
    assert_eq!(page, [first["id"].clone()]);
    assert_eq!(ids(json!({ "limit": 1, "cursor": cursor })).await, (vec![second["id"].clone()], json!(null)));
    office.at_version("claim_investigation", &first, json!({})).await.unwrap();
    assert_eq!(ids(json!({ "state": "open" })).await.0, [second["id"].clone()]);
    assert_eq!(ids(json!({ "state": "claimed" })).await.0, [first["id"].clone()]);
    assert!(ids(json!({ "state": "disposed" })).await.0.is_empty());
}
