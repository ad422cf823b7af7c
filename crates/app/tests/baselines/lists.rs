//! Lists and reads of what is around baselines: paged, and filtered by grant. What is hidden looks like what is missing.

use pinhole_core::{Actor, Outcome, PrincipalClass, Role};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    lifecycle::Owned,
    path::{Path, darker},
    support::{Bench, GOOD, PROJECT, SCENARIO, refused},
};

/// Every item of a list, by pages of one; each page but the last is full.
async fn all(bench: &Bench, actor: &Actor, operation: &str, member: &str, input: Value) -> Vec<Value> {
    let (mut items, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut input = input.clone();
        (input["limit"], input["cursor"]) = (json!(1), cursor);
        let page = bench.call(actor, operation, input).await.unwrap();
        let found = page[member].as_array().unwrap().clone();
        cursor = page["next_cursor"].clone();
        assert!(found.len() == 1 || (found.is_empty() && cursor.is_null() && items.is_empty()), "{page}");
        items.extend(found);
        if cursor.is_null() {
            return items;
        }
    }
}

/// An approval in `environment` that went as far as its state says.
async fn approval_in(path: &Path, environment: &str, consume: Option<u32>) -> Value {
    let captured = path.bench.capture(&path.maker, environment, darker(40)).await;
    let receipts: Vec<_> = captured.receipts.values().copied().collect();
    let reviews = path.review(&receipts, pinhole_core::Disposition::Accept).await;
    let mut items = Vec::new();
    for (receipt, review) in receipts.into_iter().zip(reviews["reviews"].as_array().unwrap()) {
        let candidate = path.candidate(receipt).await.unwrap();
        items.push(json!({ "candidate_id": candidate["id"], "review_id": review["id"] }));
    }
    let approval = path.request(items.into()).await.unwrap();
    if let Some(expected) = consume {
        let approval = path.decide(&approval, Outcome::Approve).await.unwrap();
        path.consume(&approval, expected).await.unwrap();
    }
    approval
}

fn ids(items: &[Value]) -> Vec<&Value> {
    items.iter().map(|item| &item["id"]).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn approvals_are_listed_newest_first_and_by_state() {
    for engine in Engine::ALL {
        let path = Path::on(engine).await;
        let consumed = approval_in(&path, "staging", Some(0)).await;
        let live = approval_in(&path, "live", None).await;
        let project = json!({ "project": PROJECT });
        let listed = all(&path.bench, &path.maker, "list_approvals", "approvals", project.clone()).await;
        assert_eq!(ids(&listed), [&live["id"], &consumed["id"]]);
        assert_eq!(
            (&listed[0]["state"], &listed[0]["items"], &listed[0]["kind"]),
            (&json!("pending"), &json!(2), &json!("baseline"))
        );
        assert_eq!((&listed[1]["state"], &listed[1]["consumed_revision"]), (&json!("consumed"), &json!(1)));
        assert_eq!(listed[0]["release_label"], "2026-01");
        let pending = json!({ "project": PROJECT, "state": "pending" });
        let listed = all(&path.bench, &path.maker, "list_approvals", "approvals", pending).await;
        assert_eq!(ids(&listed), [&live["id"]]);

        // A grant in one environment shows what is wholly in it.
        let narrow = path.bench.principal(PrincipalClass::User, "Liv", Some("live"), &[Role::Viewer]).await;
        let listed = all(&path.bench, &narrow, "list_approvals", "approvals", project).await;
        assert_eq!(ids(&listed), [&live["id"]]);
        path.bench.call(&narrow, "get_approval", json!({ "approval_id": live["id"] })).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn baselines_are_listed_by_line_environment_and_state() {
    for engine in Engine::ALL {
        let path = Path::on(engine).await;
        approval_in(&path, "staging", Some(0)).await;
        approval_in(&path, "live", Some(1)).await;
        path.materialised(GOOD, 2).await;
        let list = async |actor: &Actor, mut filter: Value| {
            filter["project"] = PROJECT.into();
            all(&path.bench, actor, "list_baselines", "baselines", filter).await
        };
        let everything = list(&path.maker, json!({})).await;
        assert_eq!(everything.len(), 6);
        for (filter, count) in [
            (json!({ "line": "main" }), 6),
            (json!({ "line": "other" }), 0),
            (json!({ "environment": "live" }), 2),
            (json!({ "state": "superseded" }), 2),
            (json!({ "environment": "staging", "state": "active" }), 2),
        ] {
            assert_eq!(list(&path.maker, filter.clone()).await.len(), count, "{filter}");
        }
        let narrow = path.bench.principal(PrincipalClass::User, "Liv", Some("live"), &[Role::Viewer]).await;
        let seen = list(&narrow, json!({})).await;
        assert_eq!(seen.len(), 2);
        assert!(seen.iter().all(|entry| entry["key"]["environment"] == "live"));
        // A filter by a hidden environment is one by none.
        for environment in ["staging", "nowhere"] {
            let input = json!({ "project": PROJECT, "environment": environment });
            let outcome = path.bench.call(&narrow, "list_baselines", input).await;
            assert_eq!(refused(outcome), ("not_found", String::new()));
        }
        for entry in &everything {
            let view = path.bench.call(&path.maker, "get_baseline", json!({ "entry_id": entry["id"] })).await;
            assert_eq!(view.unwrap(), *entry);
        }
        let ended = everything.iter().find(|entry| entry["state"] == "superseded").unwrap();
        assert_eq!((&ended["since_revision"], &ended["until_revision"]), (&json!(1), &json!(3)));

        // The pages of a revision are filtered before they are cut.
        let input = json!({ "project": PROJECT, "revision": "latest" });
        let entries = all(&path.bench, &narrow, "get_catalog_revision", "entries", input).await;
        assert_eq!(entries.len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn revisions_are_listed_with_their_causes() {
    let path = Path::on(Engine::Sqlite).await;
    let (approval, first) = path.materialised(GOOD, 0).await;
    let (_, second) = path.materialised(darker(70), 1).await;
    let list = async |line: &str| {
        let input = json!({ "project": PROJECT, "line": line });
        all(&path.bench, &path.maker, "list_catalog_revisions", "revisions", input).await
    };
    let revisions = list("main").await;
    let numbers: Vec<_> = revisions.iter().map(|revision| &revision["revision"]).collect();
    assert_eq!(numbers, [2, 1]);
    assert_eq!((&revisions[0]["digest"], &revisions[0]["previous_digest"]), (&second["digest"], &first["digest"]));
    assert_eq!(revisions[1]["cause"], json!({ "kind": "consumed", "approval": approval["id"] }));
    assert!(list("other").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn why_an_entry_ended_is_for_those_who_see_its_environment() {
    let owned = Owned::on(Engine::Sqlite).await;
    let bench = owned.bench();
    bench.person("Otto", &[Role::Owner]).await;
    let human = owned.session("Otto").await;
    let entry = owned.entry("cart").await;
    owned.end(&human, "retire_baseline", &entry, json!({})).await.unwrap();
    let total = owned.entry("total").await;
    let second = json!({ "expected_version": 2, "reason": "it showed a secret" });
    owned.end(&human, "invalidate_baseline", &total, second).await.unwrap();
    let viewer = async |name: &str, environment| {
        bench.principal(PrincipalClass::Service, name, environment, &[Role::Viewer]).await
    };
    for (actor, sees) in [
        (viewer("everywhere", None).await, true),
        (viewer("here", Some("staging")).await, true),
        (viewer("elsewhere", Some("live")).await, false),
    ] {
        let list = json!({ "project": PROJECT });
        let listed = all(bench, &actor, "list_catalog_revisions", "revisions", list).await;
        assert_eq!(listed.len(), 3, "every revision is there");
        for (index, kind, reason) in [(0, "invalidated", "it showed a secret"), (1, "retired", "no longer shown")] {
            let number = 3 - index;
            let input = json!({ "project": PROJECT, "revision": number });
            let read = bench.call(&actor, "get_catalog_revision", input).await.unwrap();
            assert_eq!(read["cause"], listed[index]["cause"]);
            if sees {
                assert_eq!((&read["cause"]["kind"], &read["cause"]["reason"]), (&json!(kind), &json!(reason)));
                assert!(read["envelope"].is_object());
            } else {
                assert_eq!((&read["cause"], &read["envelope"]), (&json!({ "kind": kind }), &Value::Null));
            }
            assert!(read["digest"].is_string());
        }
        assert_eq!(listed[2]["cause"]["kind"], "consumed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scenarios_are_listed_read_at_a_revision_and_archived() {
    for engine in Engine::ALL {
        let path = Path::on(engine).await;
        let bench = &path.bench;
        let source = |title: &str| {
            format!(
                "schema: pinhole.scenario.v1\ntitle: {title}\nsteps:\n  - navigate: /\n  - capture: {{ name: home }}\n"
            )
        };
        let made = json!({ "project": PROJECT, "slug": "basket", "source": source("First") });
        let first = bench.keyed(&path.maker, "create_scenario", made).await.unwrap();
        let id = first["id"].clone();
        let next = json!({ "scenario_id": id, "source": source("Second"), "expected_version": 1 });
        let second = bench.call(&path.maker, "submit_scenario_revision", next).await.unwrap();
        let listed = all(bench, &path.maker, "list_scenarios", "scenarios", json!({ "project": PROJECT })).await;
        let titles: Vec<_> = listed.iter().map(|item| (item["slug"].as_str(), item["title"].as_str())).collect();
        assert_eq!(titles, [(Some("basket"), Some("Second")), (Some(SCENARIO), Some("Checkout"))]);

        let read = async |digest: Value| {
            bench.call(&path.maker, "get_scenario", json!({ "scenario_id": id, "digest": digest })).await
        };
        let old = read(first["digest"].clone()).await.unwrap();
        assert_eq!((&old["title"], &old["digest"], &old["version"]), (&json!("First"), &first["digest"], &json!(2)));
        assert_eq!(old["head_digest"], second["digest"]);
        assert_eq!(read(Value::Null).await.unwrap(), second);
        let unknown = json!(format!("blake3:{}", "0".repeat(64)));
        assert_eq!(refused(read(unknown).await), ("not_found", String::new()));

        let archive = async |actor: &Actor, version: Value| {
            bench.call(actor, "archive_scenario", json!({ "scenario_id": id, "expected_version": version })).await
        };
        let operator = bench.service("runner", &[Role::Operator, Role::Owner]).await;
        assert_eq!(refused(archive(&operator, json!(2)).await), ("permission_denied", "scenario.write".into()));
        assert_eq!(
            refused(archive(&path.maker, Value::Null).await),
            ("precondition_required", "expected_version".into())
        );
        assert_eq!(refused(archive(&path.maker, json!(1)).await), ("conflict", "stale_version".into()));
        let archived = archive(&path.maker, json!(2)).await.unwrap();
        assert_eq!(archived["version"], 3);
        assert!(archived["archived_at"].is_string());
        assert_eq!(refused(archive(&path.maker, json!(3)).await), ("conflict", "archived".into()));
        let order = json!({
            "project": PROJECT, "scenario": "basket", "revision": { "head": true }, "environment": "staging",
            "environment_revision": { "latest": true }, "baseline": { "none": true },
        });
        let outcome = bench.keyed(&path.maker, "start_scenario_run", order).await;
        assert_eq!(refused(outcome), ("conflict", "archived".into()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn publications_are_listed_with_their_remotes() {
    let path = Path::on(Engine::Sqlite).await;
    path.materialised(GOOD, 0).await;
    let publisher = path.bench.service("publisher", &[Role::Publisher]).await;
    let remote = "origin".parse().unwrap();
    path.bench.app.put_remote(&remote, "file:///srv/catalog.git", &["*".to_owned()]).await.unwrap();
    let mut made = Vec::new();
    for branch in ["one", "two"] {
        let input = json!({
            "project": PROJECT, "remote": "origin", "branch": branch, "expected_head": { "commit": null },
            "expected_version": 1,
        });
        made.insert(0, path.bench.keyed(&publisher, "publish_baseline_catalog", input).await.unwrap());
    }
    assert_eq!((&made[0]["attempts"].as_array().unwrap().len(), &made[0]["attempts_omitted"]), (&1, &json!(0)));
    let listed =
        all(&path.bench, &path.maker, "list_publications", "publications", json!({ "project": PROJECT })).await;
    assert_eq!(ids(&listed), ids(&made));
    assert_eq!((&listed[0]["remote"], &listed[0]["branch"]), (&json!("origin"), &json!("two")));
    assert_eq!((&listed[0]["state"], &listed[0]["attempt"]), (&json!("queued"), &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_hidden_looks_like_what_is_missing() {
    let path = Path::on(Engine::Sqlite).await;
    let approval = approval_in(&path, "staging", Some(0)).await;
    let bench = &path.bench;
    let everything = json!({ "project": PROJECT });
    let entry = all(bench, &path.maker, "list_baselines", "baselines", everything.clone()).await.remove(0);
    let run = bench.call(&path.maker, "list_scenario_runs", everything.clone()).await.unwrap()["runs"][0].clone();
    let result = bench.call(&path.maker, "get_scenario_run_result", json!({ "run_id": run["id"] })).await.unwrap();
    let scenario = all(bench, &path.maker, "list_scenarios", "scenarios", everything).await.remove(0);
    let stranger = bench.service("stranger", &[]).await;
    let elsewhere = bench.principal(PrincipalClass::Service, "liver", Some("live"), &[Role::Viewer]).await;
    for (operation, member, id, hidden_elsewhere) in [
        ("get_baseline", "entry_id", &entry["id"], true),
        ("get_approval", "approval_id", &approval["id"], true),
        ("get_scenario_run", "run_id", &run["id"], true),
        ("get_scenario_run_result", "run_id", &run["id"], true),
        ("get_capture_receipt", "receipt_id", &entry["receipt_id"], true),
        ("get_scenario_artifact", "artifact_id", &result["checkpoints"][0]["picture"]["id"], true),
        // A scenario is the whole project's.
        ("get_scenario", "scenario_id", &scenario["id"], false),
    ] {
        bench.call(&path.maker, operation, json!({ member: id })).await.unwrap();
        let (prefix, _) = id.as_str().unwrap().split_once('_').unwrap();
        let missing = json!(format!("{prefix}_{}", "0".repeat(32)));
        for (actor, hidden) in [(&stranger, true), (&elsewhere, hidden_elsewhere)] {
            let outcome = bench.call(actor, operation, json!({ member: id })).await;
            if hidden {
                let missing = bench.call(actor, operation, json!({ member: missing })).await.unwrap_err();
                let hidden = outcome.unwrap_err();
                let essence = |error: &pinhole_core::Error| (error.code(), error.message().to_owned());
                assert_eq!(essence(&hidden), essence(&missing), "{operation}");
                assert_eq!(hidden.code().as_str(), "not_found", "{operation}");
            } else {
                outcome.unwrap();
            }
        }
    }
    for operation in
        ["list_approvals", "list_baselines", "list_scenarios", "list_publications", "list_catalog_revisions"]
    {
        for project in [PROJECT, "nothing"] {
            let outcome = bench.call(&stranger, operation, json!({ "project": project })).await;
            assert_eq!(refused(outcome), ("not_found", String::new()), "{operation} {project}");
        }
    }
}
