//! Keys and versions of every operation that has them: another intent with a key is refused and the first named, and
//! calls at once have one effect.

use std::collections::BTreeMap;

use futures::future::join_all;
use pinhole_testkit::Engine;
use serde_json::Value;

use crate::{
    callers::{Caller, Credential, Expect, Kind, callers},
    cases::{Case, cases},
    doors::{Answer, Door},
    ground::Ground,
    parity::is_keyed,
    rows::on_both_engines,
};

/// How many equal calls at once.
const AT_ONCE: usize = 50;
/// With `PINHOLE_FULL`, and then of every keyed operation: about five minutes for each engine on two busy cores.
const AT_ONCE_FULL: usize = 500;
/// The operations that are tried without `PINHOLE_FULL`: one with jobs, one with a version, one that is human.
const SHORT_FORM: [&str; 4] =
    ["create_project", "start_scenario_run", "consume_baseline_approval", "review_visual_baseline"];

#[tokio::test]
async fn a_key_stands_for_one_intent() {
    let ground = Ground::on(Engine::Sqlite).await;
    let callers = callers(&ground).await;
    let mut checked = 0;
    for case in cases().into_iter().filter(|case| is_keyed(case.spec().idempotency)) {
        let caller = able(&callers, &case);
        for door in caller.doors(case.spec()) {
            let what = format!("{} at {door:?}", case.operation);
            let first = case.input(&ground, caller).await;
            let done = ground.through(*door, case.operation, &caller.credential, &first).await;
            assert_eq!((done.said(), &done.view()["replayed"]), ("ok", &false.into()), "{what}: {}", done.body);
            let again = ground.through(*door, case.operation, &caller.credential, &first).await;
            assert_eq!(again.body, replay_of(&done), "{what}");

            let mut other = case.input(&ground, caller).await;
            other["idempotency_key"] = first["idempotency_key"].clone();
            let other = ground.through(*door, case.operation, &caller.credential, &other).await;
            let details = &other.body["details"];
            assert_eq!(
                (other.said(), details["reason"].as_str()),
                ("conflict", Some("changed_intent")),
                "{what}: {}",
                other.body
            );
            let named = details["first_id"].as_str().unwrap();
            assert!(done.body.to_string().contains(named), "{what}: {named} is not of {}", done.body);
            checked += 1;
        }
    }
    println!("{checked} keys used for another intent");
}

on_both_engines! {
    calls_at_once_have_one_effect
}

/// The rows that many calls at once leave are those that one call leaves.
async fn calls_at_once_have_one_effect(engine: Engine) {
    let ground = Ground::on(engine).await;
    let callers = callers(&ground).await;
    let full = std::env::var_os("PINHOLE_FULL").is_some();
    let at_once = if full { AT_ONCE_FULL } else { AT_ONCE };
    let mut tried = 0;
    for case in cases().into_iter().filter(|case| is_keyed(case.spec().idempotency)) {
        if !full && !SHORT_FORM.contains(&case.operation) {
            continue;
        }
        let caller = able(&callers, &case);
        let door = caller.doors(case.spec())[0];
        let alone = effect(&ground, &case, caller, door, 1).await;
        let together = effect(&ground, &case, caller, door, at_once).await;
        assert_eq!(alone, together, "{}: rows of one call and of {at_once}", case.operation);
        tried += 1;
    }
    eprintln!("{at_once} calls at once of each of {tried} operations on {engine:?}");
}

/// How many rows more each table has after so many equal calls at once.
async fn effect(ground: &Ground, case: &Case, caller: &Caller, door: Door, calls: usize) -> BTreeMap<String, i64> {
    let input = case.input(ground, caller).await;
    let before = ground.counts();
    let answers = (0..calls).map(|_| ground.through(door, case.operation, &caller.credential, &input));
    let answers = join_all(answers).await;
    let what = case.operation;
    let done: Vec<_> = answers.iter().filter(|answer| answer.said() == "ok").collect();
    // Whoever cannot be served while so many commit is told to try again, and has done nothing.
    let busy = |answer: &&Answer| !matches!(answer.said(), "ok" | "provider_unavailable");
    assert!(!answers.iter().any(|answer| busy(&answer)), "{what}: {:?}", answers.iter().find(busy));
    let first: Vec<_> = done.iter().filter(|answer| answer.view()["replayed"] == false).collect();
    assert_eq!(first.len(), 1, "{what}: of {calls} calls at once one is the first");
    assert!(done.iter().all(|answer| replay_of(answer) == replay_of(first[0])), "{what}");
    let after = ground.counts();
    after
        .into_iter()
        .map(|(table, count)| (table.clone(), count - before[&table]))
        .filter(|(_, more)| *more != 0)
        .collect()
}

/// What a repeat of an answered call answers.
fn replay_of(done: &Answer) -> Value {
    let mut body = done.body.clone();
    if done.is_pending() {
        body["approval"]["replayed"] = true.into();
    } else {
        body["replayed"] = true.into();
    }
    // A secret is shown once.
    if body.get("secret").is_some() {
        body["secret"] = Value::Null;
    }
    body
}

/// Somebody who may: by a token, or from a fresh session where only that will do.
fn able<'a>(callers: &'a [Caller], case: &Case) -> &'a Caller {
    let able = |caller: &&Caller| case.expects(caller) == Expect::Allowed;
    let by_token = callers.iter().filter(|caller| matches!(caller.credential, Credential::Bearer(_))).find(able);
    let in_session = || callers.iter().filter(|caller| caller.kind != Kind::Stale).find(able);
    by_token.or_else(in_session).unwrap()
}
