//! What a principal may not see looks exactly like what does not exist: the same status, body, headers and SQL.

use std::fmt::Write as _;

use axum::http::HeaderMap;
use pinhole_testkit::Engine;
use serde_json::Value;

use crate::{
    callers::{Caller, Credential, Expect, Kind, callers},
    cases::cases,
    doors::Door,
    ground::{Ground, OTHER_PROJECT},
    statements::{heard, listen},
    support::{ENVIRONMENTS, PROJECT},
};

/// From whom things are hidden: from one the whole project, from the other an environment of it.
const WATCHERS: [Kind; 2] = [Kind::Stranger, Kind::Elsewhere];
/// Headers that differ from call to call whatever is called.
const OF_THE_CALL: [&str; 2] = ["date", "x-request-id"];

#[tokio::test]
async fn a_hidden_object_cannot_be_told_from_a_missing_one() {
    let ground = Ground::on(Engine::Sqlite).await;
    let callers = callers(&ground).await;
    let (mut compared, mut told) = (0, String::new());
    let _listening = listen();
    for (kind, case) in WATCHERS.iter().flat_map(|kind| cases().into_iter().map(move |case| (*kind, case))) {
        let watcher = callers.iter().find(|caller| caller.kind == kind).unwrap();
        if case.expects(watcher) != Expect::NotFound {
            continue;
        }
        let input = case.input(&ground, watcher).await;
        let pairs = pairs(watcher, &input);
        assert!(!pairs.is_empty(), "{}: names no object: {input}", case.operation);
        for (hidden, missing) in pairs {
            for door in Door::of(case.spec()) {
                let of_hidden = seen(&ground, *door, case.operation, &watcher.credential, &hidden).await;
                let of_missing = seen(&ground, *door, case.operation, &watcher.credential, &missing).await;
                compared += 1;
                if of_hidden != of_missing {
                    let difference = of_hidden.unlike(&of_missing);
                    let _ = writeln!(told, "{} by {kind:?} at {door:?}: {missing}\n{difference}", case.operation);
                }
            }
        }
    }
    println!("{compared} pairs compared");
    assert!(told.is_empty(), "{told}");
}

/// Everything that the caller, or somebody with a clock, could tell one answer from another by.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    status: u16,
    body: Value,
    headers: HeaderMap,
    statements: Vec<String>,
}

impl Seen {
    /// The first thing that differs.
    fn unlike(&self, missing: &Self) -> String {
        let at = self.statements.iter().zip(&missing.statements).take_while(|(a, b)| a == b).count();
        if self.statements != missing.statements {
            let (hidden, missing) = (self.statements.get(at), missing.statements.get(at));
            return format!("    statement {at} for the hidden one: {hidden:?}\n    for the missing one: {missing:?}");
        }
        let head = |seen: &Self| format!("    {} {:?} {}", seen.status, seen.headers, seen.body);
        format!("{}\n{}", head(self), head(missing))
    }
}

async fn seen(ground: &Ground, door: Door, operation: &str, credential: &Credential, input: &Value) -> Seen {
    heard();
    let answer = ground.through(door, operation, credential, input).await;
    let statements = heard();
    assert_eq!(answer.said(), "not_found", "{operation} at {door:?} with {input}: {}", answer.body);
    assert!(!statements.is_empty(), "{operation}: the store tells no statements");
    let mut headers = answer.headers;
    OF_THE_CALL.iter().for_each(|name| drop(headers.remove(*name)));
    Seen { status: answer.status, body: answer.body, headers, statements }
}

/// The input as it is and with one of the objects that it names replaced by a missing one, for each of them in turn: what
/// has an id, and the project or environment that is hidden; and where it names a project, the same within the
/// stranger's own project.
fn pairs(watcher: &Caller, input: &Value) -> Vec<(Value, Value)> {
    let mut pairs: Vec<_> = missing_ones(input).into_iter().map(|missing| (input.clone(), missing)).collect();
    let hides_project = watcher.kind == Kind::Stranger;
    let (member, hidden) = if hides_project { ("project", PROJECT) } else { ("environment", ENVIRONMENTS[0]) };
    // It is named by the command, or by the run that it is about.
    for place in [format!("/{member}"), format!("/run/{member}")] {
        if input.pointer(&place).is_none_or(|named| named != hidden) {
            continue;
        }
        let naming = |name: &str| {
            let mut other = input.clone();
            *other.pointer_mut(&place).unwrap() = name.into();
            other
        };
        pairs.push((input.clone(), naming("nothing")));
        if hides_project {
            let own = naming(OTHER_PROJECT);
            pairs.extend(missing_ones(&own).into_iter().map(|missing| (own.clone(), missing)));
        }
    }
    pairs
}

/// `value` with one id in it replaced by one that nothing has, for each id.
fn missing_ones(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => missing(text).into_iter().map(Value::String).collect(),
        Value::Array(items) => {
            let replaced = |index: usize, part: Value| {
                let mut items = items.clone();
                items[index] = part;
                Value::Array(items)
            };
            let parts = items
                .iter()
                .enumerate()
                .flat_map(|(index, part)| missing_ones(part).into_iter().map(move |part| (index, part)));
            parts.map(|(index, part)| replaced(index, part)).collect()
        }
        Value::Object(members) => {
            let replaced = |name: &String, part: Value| {
                let mut members = members.clone();
                members.insert(name.clone(), part);
                Value::Object(members)
            };
            let parts =
                members.iter().flat_map(|(name, part)| missing_ones(part).into_iter().map(move |part| (name, part)));
            parts.map(|(name, part)| replaced(name, part)).collect()
        }
        _ => Vec::new(),
    }
}

/// An id of the same kind that nothing has; principals and groups belong to no project that could hide them.
fn missing(text: &str) -> Option<String> {
    let (prefix, hex) = text.split_once('_')?;
    let is_id = prefix.len() == 3 && hex.len() == 32 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    let hides = is_id && !matches!(prefix, "prn" | "grp");
    hides.then(|| format!("{prefix}_{}", "7".repeat(32)))
}
