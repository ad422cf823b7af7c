//! A project with one environment and one scenario, and the people and programs that work on it.

use std::time::Duration;

use pinhole_testkit::{Site, wait_for};
use serde_json::{Value, json};

use super::{Client, Server};

/// How long a run may take. Browsers of other tests may be at work on the same processors.
const RUN: Duration = Duration::from_secs(120);

/// A prepared project: `shop`, its environment `local` and its scenario `buyer`.
#[derive(Debug)]
pub(crate) struct Project {
    /// `ada`: an administrator, and owner, author, operator and publisher of the project.
    pub(crate) author: Client,
    /// `rob`: a reviewer and approver of the project, and nothing else.
    pub(crate) reviewer: Client,
    /// `eve`: without any grant.
    pub(crate) stranger: Client,
}

impl Project {
    /// Makes everything over REST and by the real commands.
    pub(crate) async fn prepare(server: &Server, site: &Site, scenario: &str) -> Self {
        let client = |name: &str, options: &[&str]| server.client(Some(&server.token(name, options)));
        let (author, reviewer, stranger) = (client("ada", &["--admin"]), client("rob", &[]), client("eve", &[]));
        let project = json!({ "slug": "shop", "title": "The shop" });
        author.post_keyed("/api/v1/projects", "project", &project).await.expect(201);
        for role in ["author", "operator", "publisher"] {
            server.grant("ada", role, "shop");
        }
        for role in ["reviewer", "approver"] {
            server.grant("rob", role, "shop");
        }
        let environment = json!({ "project": "shop", "slug": "local", "document": { "base_url": site.url("/") } });
        author.post_keyed("/api/v1/environments", "environment", &environment).await.expect(201);
        let scenario = json!({ "project": "shop", "slug": "buyer", "source": scenario });
        author.post_keyed("/api/v1/scenarios", "scenario", &scenario).await.expect(201);
        Self { author, reviewer, stranger }
    }

    /// The command that starts a run of the scenario's head against `baseline`.
    pub(crate) fn start_command(baseline: &Value) -> Value {
        json!({
            "project": "shop", "scenario": "buyer", "revision": { "head": true },
            "environment": "local", "environment_revision": { "latest": true }, "baseline": baseline,
        })
    }

    /// Starts a run and gives its id.
    pub(crate) async fn start(&self, key: &str, baseline: &Value) -> String {
        let run = self.author.post_keyed("/api/v1/runs", key, &Self::start_command(baseline)).await.expect(201);
        run["id"].as_str().unwrap().to_owned()
    }

    /// The run as it is now.
    pub(crate) async fn look(&self, run: &str) -> Value {
        self.author.get(&format!("/api/v1/runs/{run}")).await.expect(200)
    }

    /// Waits until the run has ended, whichever way.
    pub(crate) async fn ended(&self, run: &str) -> Value {
        wait_for(RUN, "the run ends", async || {
            let run = self.look(run).await;
            run["finished_at"].is_string().then_some(run)
        })
        .await
    }

    /// Starts a run, waits for it and gives its result; the run must complete.
    pub(crate) async fn run(&self, key: &str, baseline: &Value) -> Value {
        let id = self.start(key, baseline).await;
        let run = self.ended(&id).await;
        assert_eq!(run["state"], "completed", "{run:#}");
        self.result(&id).await
    }

    /// The result of a run.
    pub(crate) async fn result(&self, run: &str) -> Value {
        self.author.get(&format!("/api/v1/runs/{run}/result")).await.expect(200)
    }
}
