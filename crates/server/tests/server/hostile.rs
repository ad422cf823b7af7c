//! Whatever comes: the doors refuse it in their own words, and never fail over it.

use std::num::NonZeroU32;

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, Method, Request, Uri},
};
use pinhole_contract::specs;
use pinhole_server::{RateLimits, ServerSettings};
use proptest::{collection::vec, option, prelude::*, sample::select, test_runner::TestCaseResult};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::world::World;

/// Headers that some part of the server reads.
const HEADERS: &[&str] = &[
    "accept",
    "authorization",
    "content-length",
    "content-type",
    "cookie",
    "host",
    "idempotency-key",
    "if-match",
    "if-none-match",
    "if-range",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "origin",
    "range",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-site",
    "traceparent",
    "webhook-id",
    "webhook-signature",
    "webhook-timestamp",
    "x-csrf-token",
    "x-forwarded-for",
    "x-request-id",
];
/// Values that some header means something with.
const WORDS: &[&str] = &[
    "",
    "*",
    "\"1\"",
    "1",
    "-1",
    "bytes=0-",
    "application/json",
    "application/json, text/event-stream",
    "application/x-www-form-urlencoded",
    "text/event-stream",
    "2025-11-25",
    "2026-07-28",
    "1999-01-01",
    "tools/call",
    "tools/list",
    "server/discover",
    "whoami",
    "get_scenario_run",
    "localhost",
    "http://localhost",
    "same-origin",
    "cross-site",
    "document",
    "__Host-pinhole=a; __Host-pinhole-flow=b",
    "Bearer",
    "v1,AAAA",
];

/// A request in its parts.
#[derive(Clone, Debug)]
struct Sent {
    method: Method,
    path: String,
    headers: Vec<(&'static str, Vec<u8>)>,
    body: Vec<u8>,
    /// Whether a good token comes along.
    is_known: bool,
}

fn visible() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![32_u8..127, 128_u8..=255], 0..24)
}

fn header() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    let word = select(WORDS).prop_map(|word| word.as_bytes().to_vec());
    (select(HEADERS), prop_oneof![3 => word, 1 => visible()])
}

/// A segment in place of an id.
fn segment() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{3}_[0-9a-f]{32}", "[a-z0-9-]{1,8}", "(%[0-9a-f]{2}|[!-.0-~]){1,8}"]
}

/// A path of an operation, or another.
fn path() -> impl Strategy<Value = String> {
    let operations: Vec<_> = specs().iter().map(|operation| format!("/api/v1{}", operation.spec.path)).collect();
    let others =
        ["/mcp", "/", "/sign-in", "/sign-in/oidc/callback", "/runs/{id}", "/api/v1/hooks/{id}", "/api/v1/session"];
    let paths: Vec<_> = operations.into_iter().chain(others.map(str::to_owned)).collect();
    let query = "(project|limit|cursor|revision|ticket|[a-z]{1,3}|%00)=[!-\"$-~]{0,8}";
    (select(paths), vec(segment(), 3), option::of(vec(query, 1..4))).prop_map(|(path, segments, query)| {
        let path = path.split('/').zip(segments.iter().cycle());
        let path: Vec<_> = path.map(|(part, odd)| if part.starts_with('{') { odd } else { part }).collect();
        let query = query.map(|pairs| format!("?{}", pairs.join("&"))).unwrap_or_default();
        format!("{}{query}", path.join("/"))
    })
}

/// JSON of the names that commands have, text of the signs of JSON, or anything.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        "[a-z_0-9]{0,40}|.{0,8}".prop_map(Value::from)
    ];
    let json = leaf.prop_recursive(3, 20, 5, |inner| {
        let names = select(&[
            "project",
            "slug",
            "source",
            "id",
            "method",
            "params",
            "name",
            "arguments",
            "jsonrpc",
            "items",
            "a",
        ]);
        let object = vec((names, inner.clone()), 0..6);
        prop_oneof![
            vec(inner, 0..4).prop_map(Value::from),
            object.prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    });
    prop_oneof![
        json.prop_map(|value| value.to_string().into_bytes()),
        "[{}\\[\\]\",:0-9a\\\\u.-]{0,40}".prop_map(String::into_bytes),
        "(name|password|csrf_token|state|code)=[!-~]{0,9}(&[a-z]=%[0-9a-f]{0,2})?".prop_map(String::into_bytes),
        vec(any::<u8>(), 0..60),
    ]
}

fn sent() -> impl Strategy<Value = Sent> {
    let methods =
        ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"].map(|name| name.parse().unwrap());
    let parts = (select(methods.to_vec()), path(), vec(header(), 0..5), body(), any::<bool>());
    parts.prop_map(|(method, path, headers, body, is_known)| Sent { method, path, headers, body, is_known })
}

async fn assert_answered(world: &World, sent: Sent) -> TestCaseResult {
    // What is no address never gets here.
    let Ok(address) = sent.path.parse::<Uri>() else { return Err(TestCaseError::reject("no address")) };
    let mut request = Request::builder().method(sent.method.clone()).uri(address);
    for (name, value) in &sent.headers {
        request = request.header(HeaderName::from_static(name), HeaderValue::from_bytes(value).unwrap());
    }
    if sent.is_known {
        request = request.header("authorization", format!("Bearer {}", world.token));
    }
    let answer = world.send(request.body(Body::from(sent.body.clone())).unwrap()).await;
    prop_assert!(answer.status().as_u16() < 500, "{:?}: {} {}", sent, answer.status(), answer.text());
    let is_json = answer.header("content-type").ends_with("json");
    if is_json && sent.method != Method::HEAD {
        prop_assert!(serde_json::from_slice::<Value>(&answer.body).is_ok(), "{:?}: {}", sent, answer.text());
    }
    if sent.path.starts_with("/api/v1") && answer.status().is_client_error() {
        prop_assert_eq!(answer.header("content-type"), "application/problem+json", "{:?}: {}", sent, answer.text());
    }
    Ok(())
}

fn unlimited() -> RateLimits {
    let many = NonZeroU32::MAX;
    RateLimits {
        principal_per_second: many,
        principal_burst: many,
        stranger_per_second: many,
        stranger_burst: many,
        sign_ins_per_minute: NonZeroU32::MIN,
    }
}

#[test]
fn nothing_that_comes_makes_a_door_fail() {
    let runtime = Runtime::new().unwrap();
    let world = runtime.block_on(World::with(ServerSettings { limits: unlimited(), ..ServerSettings::default() }));
    proptest!(ProptestConfig::with_cases(512), |(sent in sent())| {
        runtime.block_on(assert_answered(&world, sent))?;
    });
}
