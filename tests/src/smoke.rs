//! That the harness itself works.

use pinhole_testkit::{Engine, Site};
use serde_json::json;

use crate::harness::{Project, Server, Setup};

#[tokio::test]
async fn a_run_on_postgres() {
    let site = Site::named("demo");
    let server = Server::start(Setup { engine: Engine::Postgres, ..Setup::default() }).await;
    let scenario = "schema: pinhole.scenario.v1\ntitle: T\nsteps:\n  - navigate: /\n  - capture: { name: front }\n";
    let project = Project::prepare(&server, &site, scenario).await;
    let result = project.run("first", &json!({ "none": true })).await;
    assert_eq!(result["checkpoints"][0]["verdict"], "new", "{result:#}");
}
