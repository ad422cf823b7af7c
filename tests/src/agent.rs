//! A client that knows nothing but what `tools/list` tells: it writes a scenario, is told its mistakes, corrects it, runs
//! it and reads the result. What both sides said is `docs/mcp-transcript.md`; `PINHOLE_BLESS=1` writes that file anew.

use std::{collections::BTreeMap, fs, path::PathBuf, time::Duration};

use pinhole_testkit::{Site, wait_for};
use serde_json::{Value, json};

use crate::harness::{Client, Era, Server, Setup};

/// How long the run may take. Browsers of other tests may be at work on the same processors.
const RUN: Duration = Duration::from_secs(120);
const MISTAKEN: &str = "\
schema: pinhole.scenario.v1
title: The cart
steps:
  - navigate: /cart.html
  - picture: { name: cart }
";
const INTRODUCTION: &str = "\
# A conversation over MCP

What a client that knows only the answer to `tools/list` says to a server of Pinhole, and what it is told. A test plays
it and keeps this page as it was; ids, times, digests and addresses stand for those of one run, and long values are cut.

";

#[tokio::test]
async fn a_client_that_knows_only_the_tools_runs_its_scenario() {
    let site = Site::named("demo");
    let server = Server::start(Setup::default()).await;
    let token = server.token("agent", &["--admin"]);
    let mut agent = Agent::meet(server.client(Some(&token))).await;

    let project = json!({ "slug": "shop", "title": "The shop", "idempotency_key": "shop-1" });
    agent.told("The project is made first; the key makes the call safe to repeat.");
    agent.call("create_project", project, false).await;
    for role in ["author", "operator"] {
        server.grant("agent", role, "shop");
    }
    agent.told("Somebody with the right to do so has made the agent an author and operator of the project.");
    let document = json!({ "base_url": site.url("/") });
    let environment = json!({ "project": "shop", "slug": "local", "document": document, "idempotency_key": "local-1" });
    agent.call("create_environment", environment, false).await;

    agent.told("A first attempt has a mistake, and the answer says where.");
    let found = agent.call("validate_scenario", json!({ "project": "shop", "source": MISTAKEN }), false).await;
    assert_eq!((&found["valid"], &found["diagnostics"][0]["line"]), (&json!(false), &json!(5)), "{found:#}");
    let source = MISTAKEN.replace("picture:", "capture:");
    agent.told("Corrected, it is fine.");
    let found = agent.call("validate_scenario", json!({ "project": "shop", "source": source }), false).await;
    assert_eq!(found["valid"], true, "{found:#}");

    agent.told("Without a key nothing is made.");
    let mut scenario = json!({ "project": "shop", "slug": "cart", "source": source });
    let refused = agent.call("create_scenario", scenario.clone(), true).await;
    assert_eq!(refused["code"], "precondition_required", "{refused:#}");
    scenario["idempotency_key"] = "cart-1".into();
    agent.call("create_scenario", scenario, false).await;

    agent.told("The run is started and asked after until it has ended.");
    let start = json!({ "project": "shop", "scenario": "cart", "revision": { "head": true }, "environment": "local",
        "environment_revision": { "latest": true }, "baseline": { "none": true }, "idempotency_key": "run-1" });
    let run = agent.call("start_scenario_run", start, false).await["id"].clone();
    agent.finished(&run).await;
    let result = agent.call("get_scenario_run_result", json!({ "run_id": run }), false).await;
    assert_eq!((&result["verdict"], &result["checkpoints"][0]["verdict"]), (&json!("needs_baseline"), &json!("new")));
    agent.compare(&site.url("/"));
}

/// The client with what it was told, and the page that is written as it goes.
struct Agent {
    client: Client,
    tools: BTreeMap<String, Value>,
    page: String,
}

impl Agent {
    async fn meet(client: Client) -> Self {
        let listed = client.mcp(Era::Stateless, "tools/list", None, json!({})).await.expect(200);
        let tools = listed["result"]["tools"].as_array().unwrap().iter();
        let tools: BTreeMap<_, _> =
            tools.map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool.clone())).collect();
        // It has to write a scenario: what one looks like is told.
        let source = tools["validate_scenario"]["inputSchema"]["properties"]["source"]["description"].as_str().unwrap();
        for word in ["pinhole.scenario.v1", "steps", "navigate", "capture"] {
            assert!(source.contains(word), "{word} is not in: {source}");
        }
        Self { client, tools, page: INTRODUCTION.to_owned() }
    }

    fn told(&mut self, text: &str) {
        self.page += &format!("{text}\n\n");
    }

    /// Calls a tool with arguments that fit its description, and reads an answer that does too.
    async fn call(&mut self, name: &str, arguments: Value, refused: bool) -> Value {
        let answer = self.ask(name, &arguments, refused).await;
        self.write(name, &arguments, &answer, refused);
        answer
    }

    async fn ask(&self, name: &str, arguments: &Value, refused: bool) -> Value {
        let tool = &self.tools[name];
        jsonschema::validate(&tool["inputSchema"], arguments).unwrap_or_else(|error| panic!("{name}: {error}"));
        let result = self.client.tool(Era::Stateless, name, arguments).await;
        assert_eq!(result["isError"], refused, "{name}: {result:#}");
        let answer = &result["structuredContent"];
        jsonschema::validate(&tool["outputSchema"], answer).unwrap_or_else(|error| panic!("{name}: {error}"));
        answer.clone()
    }

    async fn finished(&mut self, run: &Value) {
        let arguments = json!({ "run_id": run });
        let ended = wait_for(RUN, "the run ends", async || {
            let run = self.ask("get_scenario_run", &arguments, false).await;
            run["finished_at"].is_string().then_some(run)
        })
        .await;
        assert_eq!(ended["state"], "completed", "{ended:#}");
        self.write("get_scenario_run", &arguments, &ended, false);
    }

    fn write(&mut self, name: &str, arguments: &Value, answer: &Value, refused: bool) {
        let (asked, answered) = (short(arguments.clone()), short(answer.clone()));
        let word = if refused { "refuses" } else { "answers" };
        self.page += &format!("**`{name}`**\n\n```json\n{asked:#}\n```\n\n{word}\n\n```json\n{answered:#}\n```\n\n");
    }

    /// The page is the committed one.
    fn compare(&self, address: &str) {
        let page = Normal::default().page(&self.page.replace(address, "https://shop.example/"));
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/mcp-transcript.md");
        if std::env::var_os("PINHOLE_BLESS").is_some() {
            fs::write(&path, &page).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == page, "docs/mcp-transcript.md is stale: run this test with PINHOLE_BLESS=1\n{page}");
    }
}

/// The value without what nobody reads to the end or what no two runs have in common.
fn short(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let member = |(name, value): (String, Value)| match name.as_str() {
                "statement" | "evidence" | "not_evidence" | "picture" => (name, elided(&value)),
                "worker" => (name, "…".into()),
                "version" | "size_bytes" => (name, 1.into()),
                _ => (name, short(value)),
            };
            let mut members: Vec<_> = members.into_iter().map(member).collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Object(members.into_iter().collect())
        }
        Value::Array(items) => items.into_iter().map(short).collect(),
        other => other,
    }
}

/// Only what kind of value it is.
fn elided(value: &Value) -> Value {
    match value {
        Value::Array(_) => json!(["…"]),
        _ => json!({ "…": "…" }),
    }
}

/// Gives what differs from run to run names in the order of first appearance.
#[derive(Default)]
struct Normal {
    known: BTreeMap<String, String>,
    counts: BTreeMap<&'static str, usize>,
}

impl Normal {
    fn page(mut self, text: &str) -> String {
        text.split_inclusive('"').map(|part| self.part(part)).collect()
    }

    fn part(&mut self, part: &str) -> String {
        let Some(word) = part.strip_suffix('"') else { return part.to_owned() };
        format!("{}\"", self.word(word))
    }

    /// A text in quotes: an id, a digest or a time of day, or what it was.
    fn word(&mut self, word: &str) -> String {
        let hex = |text: &str| text.len() >= 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if word.starts_with("20") && word.ends_with('Z') && word.contains('T') {
            return "2026-01-01T12:00:00Z".into();
        }
        let Some((kind, rest)) = word.split_once(['_', ':']).filter(|(_, rest)| hex(rest)) else {
            return word.to_owned();
        };
        let separator = &word[kind.len()..=kind.len()];
        if let Some(known) = self.known.get(word) {
            return known.clone();
        }
        let count = self.counts.entry(if separator == "_" { "id" } else { "digest" }).or_default();
        *count += 1;
        let name = format!("{kind}{separator}{count:0>width$}", width = rest.len());
        self.known.insert(word.to_owned(), name.clone());
        name
    }
}
