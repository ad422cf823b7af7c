//! Cursors open the list that gave them, for whom it was given, and nothing else.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use pinhole_core::{Code, Result, Role, RunId};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::support::{Bench, GOOD, PROJECT};

const LIST: &str = "list_scenario_runs";

#[tokio::test]
async fn a_cursor_opens_its_own_list_alone() {
    let bench = Bench::on(Engine::Sqlite).await;
    let operator = bench.person("Otto", &[Role::Operator]).await;
    let other = bench.person("Vera", &[Role::Viewer]).await;
    let runs: Vec<_> = [bench.capture(&operator, "staging", GOOD).await, bench.capture(&operator, "live", GOOD).await]
        .map(|captured| captured.run.to_string())
        .into();

    let first = bench.call(&operator, LIST, json!({ "project": PROJECT, "limit": 1 })).await.unwrap();
    assert_eq!(ids(&first), runs[1..]);
    let cursor = first["next_cursor"].as_str().unwrap();
    // Another limit, and a member that is null, ask for the same list.
    let next = json!({ "project": PROJECT, "limit": 7, "cursor": cursor });
    let next = bench.call(&operator, LIST, next).await.unwrap();
    assert_eq!((ids(&next), &next["next_cursor"]), (runs[..1].to_vec(), &Value::Null));

    let elsewhere = [
        (&other, LIST, json!({ "project": PROJECT, "cursor": cursor })),
        (&operator, LIST, json!({ "project": "another", "cursor": cursor })),
        (&operator, "get_scenario_run_result", json!({ "run_id": runs[0], "cursor": cursor })),
    ];
    for (actor, operation, input) in elsewhere {
        assert_no_cursor(bench.call(actor, operation, input.clone()).await, &format!("{operation} {input}"));
    }
}

#[tokio::test]
async fn a_cursor_that_no_page_gave_is_refused() {
    let bench = Bench::on(Engine::Sqlite).await;
    let operator = bench.person("Otto", &[Role::Operator]).await;
    for _ in 0..2 {
        bench.start(&operator, "staging", json!({ "none": true })).await;
    }
    let first = bench.call(&operator, LIST, json!({ "project": PROJECT, "limit": 1 })).await.unwrap();
    let sealed = BASE64_URL_SAFE_NO_PAD.decode(first["next_cursor"].as_str().unwrap()).unwrap();
    let position: RunId = ids(&first)[0].parse().unwrap();
    assert!(sealed.ends_with(position.to_string().as_bytes()));

    let mut forged = vec![position.to_string(), String::new(), "AAAA".into(), "ä".into(), "A".repeat(100_000)];
    for index in 0..sealed.len() {
        let mut bytes = sealed.clone();
        bytes[index] ^= 1;
        forged.push(BASE64_URL_SAFE_NO_PAD.encode(bytes));
        forged.push(BASE64_URL_SAFE_NO_PAD.encode(&sealed[..index]));
    }
    for cursor in forged {
        let input = json!({ "project": PROJECT, "cursor": cursor });
        assert_no_cursor(bench.call(&operator, LIST, input).await, &cursor);
    }
}

#[track_caller]
fn assert_no_cursor(outcome: Result<Value>, what: &str) {
    let error = outcome.expect_err(what);
    assert_eq!((error.code(), error.details().field.as_deref()), (Code::InvalidArguments, Some("cursor")), "{what}");
}

fn ids(page: &Value) -> Vec<String> {
    page["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect()
}
