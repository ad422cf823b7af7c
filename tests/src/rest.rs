//! The doors of a running server: REST and MCP give the same answers and the same refusals, bodies are bounded, keys make
//! calls safe to repeat, bytes come with validators, and the run page shows what the run found.

use std::{fs, process::Command};

use pinhole_testkit::Site;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Answer, Client, Era, Project, Server, Setup};

const SCENARIO: &str = "\
schema: pinhole.scenario.v1
title: The cart
steps:
  - navigate: /cart.html
  - capture: { name: cart }
";
/// The server's limit on bodies, in bytes.
const MAX_BODY: usize = 1 << 20;

async fn prepared() -> (Site, Server, Project) {
    let site = Site::named("demo");
    let server = Server::start(Setup::default()).await;
    let project = Project::prepare(&server, &site, SCENARIO).await;
    (site, server, project)
}

/// What a tool gave, which must be a success.
fn content(result: &Value) -> &Value {
    assert_eq!(result["isError"], false, "{result:#}");
    &result["structuredContent"]
}

/// A refusal without what differs from call to call.
fn essence(body: &Value) -> Value {
    assert!(body["request_id"].as_str().is_some_and(|id| id.starts_with("req_")), "{body:#}");
    json!({ "code": body["code"], "message": body["message"], "details": body["details"] })
}

#[tokio::test]
async fn a_run_is_the_same_through_every_door() {
    let (_site, _server, project) = prepared().await;
    let author = &project.author;
    let command = Project::start_command(&json!({ "none": true }));
    let with_key = |key: &str| {
        let mut command = command.clone();
        command["idempotency_key"] = key.into();
        command
    };
    let rest = author.post_keyed("/api/v1/runs", "from-rest", &command).await.expect(201);
    let mcp = author.tool(Era::Stateless, "start_scenario_run", &with_key("from-mcp")).await;
    let mcp = content(&mcp).clone();
    assert_ne!(rest["id"], mcp["id"]);
    assert_eq!(members(&rest), members(&mcp));
    assert_eq!(rest["pins"], mcp["pins"]);

    for (started, key) in [(&rest, "from-rest"), (&mcp, "from-mcp")] {
        let id = started["id"].as_str().unwrap();
        let ended = project.ended(id).await;
        assert_eq!((&ended["state"], &ended["verdict"]), (&json!("completed"), &json!("needs_baseline")), "{ended:#}");
        // Through every door the key leads to the first run, which says that it was not made again.
        let mut expected = ended.clone();
        expected["replayed"] = true.into();
        let again = author.post_keyed("/api/v1/runs", key, &command).await.expect(200);
        assert_eq!(again, expected);
        let result = project.result(id).await;
        assert_eq!(result["checkpoints"][0]["verdict"], "new", "{result:#}");
        for era in Era::ALL {
            let again = author.tool(era, "start_scenario_run", &with_key(key)).await;
            assert_eq!(content(&again), &expected, "{era:?}");
            let read = author.tool(era, "get_scenario_run_result", &json!({ "run_id": id })).await;
            assert_eq!(content(&read), &result, "{era:?}");
        }
    }
    let listed = author.get("/api/v1/runs?project=shop").await.expect(200);
    assert_eq!(listed["runs"].as_array().unwrap().len(), 2, "no repeat made a run: {listed:#}");
}

fn members(object: &Value) -> Vec<&String> {
    object.as_object().unwrap().keys().collect()
}

#[tokio::test]
async fn validation_is_the_same_through_every_door() {
    let (_site, _server, project) = prepared().await;
    let broken = SCENARIO.replace("capture:", "captcha:");
    for (source, valid) in [(SCENARIO, true), (broken.as_str(), false)] {
        let command = json!({ "project": "shop", "source": source });
        let rest = project.author.post("/api/v1/scenarios/validate", &command).await.expect(200);
        assert_eq!(rest["valid"], valid, "{rest:#}");
        let mistakes = rest["diagnostics"].as_array().unwrap();
        assert_eq!(mistakes.first().map(|mistake| &mistake["line"]), (!valid).then_some(&json!(5)), "{rest:#}");
        for era in Era::ALL {
            let mcp = project.author.tool(era, "validate_scenario", &command).await;
            assert_eq!(content(&mcp), &rest, "{era:?}");
        }
    }
}

#[tokio::test]
async fn refusals_are_the_same_through_every_door() {
    let (_site, _server, project) = prepared().await;
    let run = project.start("first", &json!({ "none": true })).await;
    let start = |change: Value| {
        let mut command = Project::start_command(&json!({ "none": true }));
        command.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        command
    };
    let (author, stranger) = (&project.author, &project.stranger);
    let runs = "/api/v1/runs";
    let validate = "/api/v1/scenarios/validate";
    let text = |project: &str| json!({ "project": project, "source": SCENARIO });
    let with_colour = json!({ "project": "shop", "source": SCENARIO, "colour": "red" });
    for (who, tool, path, arguments, status) in [
        (author, "start_scenario_run", runs, start(json!({ "colour": "red", "idempotency_key": "k" })), 422),
        (author, "start_scenario_run", runs, start(json!({})), 428),
        (author, "start_scenario_run", runs, start(json!({ "idempotency_key": "k", "scenario": "other" })), 404),
        (
            author,
            "start_scenario_run",
            runs,
            start(json!({ "idempotency_key": "first", "baseline": { "line": "main", "latest": true } })),
            409,
        ),
        (stranger, "start_scenario_run", runs, start(json!({ "idempotency_key": "k" })), 404),
        (author, "validate_scenario", validate, with_colour, 422),
        (author, "validate_scenario", validate, json!({ "project": "shop" }), 422),
        (author, "validate_scenario", validate, text("none"), 404),
        (stranger, "validate_scenario", validate, text("shop"), 404),
        (&project.reviewer, "validate_scenario", validate, text("shop"), 403),
    ] {
        let rest = who.post(path, &arguments).await;
        refused(&rest, who, tool, &arguments, status).await;
    }
    for (who, query, arguments, status) in [
        (author, "?colour=red", json!({ "run_id": run, "colour": "red" }), 422),
        (author, "?limit=0", json!({ "run_id": run, "limit": 0 }), 422),
        (stranger, "", json!({ "run_id": run }), 404),
    ] {
        let rest = who.get(&format!("/api/v1/runs/{run}/result{query}")).await;
        refused(&rest, who, "get_scenario_run_result", &arguments, status).await;
    }
    // What is hidden looks like what does not exist.
    let hidden = stranger.post(validate, &text("shop")).await.expect(404);
    assert_eq!(essence(&hidden), essence(&stranger.post(validate, &text("none")).await.expect(404)));
    project.ended(&run).await;
}

/// Asserts that REST refused with `status` and that MCP refuses the same call in the same words.
async fn refused(rest: &Answer, who: &Client, tool: &str, arguments: &Value, status: u16) {
    let body = rest.expect(status);
    assert_eq!(rest.header("content-type"), "application/problem+json");
    assert_eq!(body["request_id"], rest.header("x-request-id"));
    for era in Era::ALL {
        let mcp = who.tool(era, tool, arguments).await;
        assert_eq!(mcp["isError"], true, "{tool} {arguments}");
        assert_eq!(essence(&mcp["structuredContent"]), essence(&body), "{tool} {arguments} {era:?}");
    }
}

#[tokio::test]
async fn nobody_without_a_valid_token_gets_in() {
    let (_site, _server, project) = prepared().await;
    let path = "/api/v1/projects/shop";
    project.author.get(path).await.expect(200);
    let made_up = format!("{}x", project.author.token());
    for token in [None, Some(made_up.as_str()), Some("phu_0123456789abcdef")] {
        let client = project.author.with_token(token);
        let rest = client.get(path).await;
        assert_eq!(rest.expect(401)["code"], "unauthenticated");
        assert!(rest.header("www-authenticate").starts_with("Bearer realm=\"pinhole\""));
        for era in Era::ALL {
            let arguments = json!({ "name": "get_project", "arguments": { "project": "shop" } });
            let mcp = client.mcp(era, "tools/call", Some("get_project"), arguments).await;
            assert_eq!(essence(&mcp.expect(401)), essence(&rest.expect(401)), "{era:?}");
        }
    }
}

#[tokio::test]
async fn a_narrowed_token_does_no_more_than_it_says() {
    let (_site, server, project) = prepared().await;
    let narrow = server.client(Some(&server.token("ada", &["--admin", "--scope", "scenario.write"])));
    narrow.get("/api/v1/projects/shop").await.expect(200);
    narrow.post("/api/v1/scenarios/validate", &json!({ "project": "shop", "source": SCENARIO })).await.expect(200);
    let command = Project::start_command(&json!({ "none": true }));
    let refused = narrow.post_keyed("/api/v1/runs", "k", &command).await.expect(403);
    assert_eq!(refused["code"], "permission_denied", "{refused:#}");
    assert_eq!(project.author.get("/api/v1/runs?project=shop").await.expect(200)["runs"], json!([]));
}

#[tokio::test]
async fn bodies_beyond_a_mebibyte_are_refused() {
    let (_site, _server, project) = prepared().await;
    let body = json!({ "project": "shop", "source": SCENARIO }).to_string();
    let padded = |length: usize| body.clone() + &" ".repeat(length - body.len());
    let send = async |path: &str, body: String| {
        let request = project.author.request(Method::POST, path).header("Content-Type", "application/json");
        Answer::of(request.header("Accept", "application/json, text/event-stream").body(body)).await
    };
    let validate = "/api/v1/scenarios/validate";
    assert_eq!(send(validate, padded(MAX_BODY)).await.expect(200)["valid"], true);
    for path in [validate, "/mcp"] {
        let refused = send(path, padded(MAX_BODY + 1)).await.expect(413);
        assert_eq!((&refused["code"], &refused["details"]["limit"]), (&json!("limit_exceeded"), &json!(MAX_BODY)));
    }
}

#[tokio::test]
async fn a_key_stands_for_one_intent() {
    let (_site, _server, project) = prepared().await;
    let first = project.start("nightly", &json!({ "none": true })).await;
    let changed = Project::start_command(&json!({ "receipt": "previous" }));
    let refused = project.author.post_keyed("/api/v1/runs", "nightly", &changed).await.expect(409);
    assert_eq!(refused["code"], "conflict");
    assert_eq!(refused["details"]["reason"], "changed_intent");
    assert_eq!(refused["details"]["first_id"], first.as_str());
    project.ended(&first).await;
}

#[tokio::test]
async fn bytes_come_with_validators_to_those_who_may_see_them() {
    let (_site, _server, project) = prepared().await;
    let result = project.run("first", &json!({ "none": true })).await;
    let picture = &result["checkpoints"][0]["picture"];
    let path = picture["content"]["path"].as_str().unwrap();
    let whole = project.author.get(path).await;
    assert_eq!(whole.status, 200, "{}", whole.text());
    let size = picture["size_bytes"].as_u64().unwrap();
    assert_eq!(whole.body.len() as u64, size);
    let sha256 = sha256(&whole.body);
    assert_eq!(picture["sha256"], format!("sha256:{sha256}"));
    assert_eq!(whole.header("etag"), format!("\"sha256-{sha256}\""));
    assert_eq!(whole.header("content-type"), "image/png");
    assert!(image::load_from_memory(&whole.body).unwrap().width() > 0);

    let head = Answer::of(project.author.request(Method::HEAD, path)).await;
    assert_eq!((head.status.as_u16(), head.body.len()), (200, 0));
    for name in ["etag", "content-length", "content-type", "cache-control"] {
        assert_eq!(head.header(name), whole.header(name), "{name}");
    }
    let known = project.author.request(Method::GET, path).header("If-None-Match", whole.header("etag"));
    let known = Answer::of(known).await;
    assert_eq!((known.status.as_u16(), known.body.len()), (304, 0));
    let part = Answer::of(project.author.request(Method::GET, path).header("Range", "bytes=1-3")).await;
    assert_eq!((part.status.as_u16(), part.body.as_slice()), (206, b"PNG".as_slice()));
    assert_eq!(part.header("content-range"), format!("bytes 1-3/{size}"));

    project.stranger.get(path).await.expect(404);
    project.author.with_token(None).get(path).await.expect(401);
}

/// By a program that has nothing to do with the one under test.
fn sha256(bytes: &[u8]) -> String {
    let directory = TempDir::with_prefix("pinhole-sha256-").unwrap();
    let file = directory.path().join("bytes");
    fs::write(&file, bytes).unwrap();
    let output = Command::new("sha256sum").arg(&file).output().unwrap();
    String::from_utf8(output.stdout).unwrap().split(' ').next().unwrap().to_owned()
}

#[tokio::test]
async fn the_run_page_shows_verdict_and_pictures() {
    let (site, server, project) = prepared().await;
    project.run("first", &json!({ "none": true })).await;
    site.set_switch("new-price", true);
    let result = project.run("second", &json!({ "receipt": "previous" })).await;
    assert_eq!(result["verdict"], "changed", "{result:#}");
    let page = format!("/runs/{}", result["run_id"].as_str().unwrap());

    let browser = project.author.with_token(None);
    let form = browser.get(&page).await;
    assert_eq!(form.status, 401);
    assert!(form.text().contains("action=\"/sign-in\"") && !form.text().contains("changed"));
    let cookie = server.sign_in("ada").await;
    let open = async |path: &str| Answer::of(browser.request(Method::GET, path).header("Cookie", &cookie)).await;

    let shown = open(&page).await;
    assert_eq!(shown.status, 200, "{}", shown.text());
    let html = shown.text();
    assert!(html.contains("<span class=\"badge changed\">changed</span>"), "{html}");
    let checkpoint = &result["checkpoints"][0];
    for which in ["baseline", "picture", "difference"] {
        let path =
            checkpoint[which]["content"]["path"].as_str().unwrap_or_else(|| panic!("no {which}: {checkpoint:#}"));
        assert!(html.contains(&format!("<img src=\"{path}\"")), "{which}: {html}");
        let picture = open(path).await;
        assert_eq!((picture.status.as_u16(), picture.header("content-type")), (200, "image/png"), "{which}");
        assert!(image::load_from_memory(&picture.body).unwrap().width() > 0, "{which}");
    }
    let rect = &checkpoint["comparison"]["regions"][0]["rect"];
    let told = format!("{} × {} px at {}, {};", rect["width"], rect["height"], rect["x"], rect["y"]);
    assert!(html.contains(&told), "{told}: {html}");
}
