//! What the runs need before anything is measured: a principal, a project, an environment, a scenario for each page,
//! and for each page a receipt to compare with.

use std::{path::Path, process::Command};

use serde_json::json;

use super::{Mode, Plan, api::Api, driver::start_and_await, harness::PAGES, server::Server};
use crate::{Outcome, step};

/// The project that everything belongs to.
pub(super) const PROJECT: &str = "bench";
/// Its environment.
pub(super) const ENVIRONMENT: &str = "site";
const PRINCIPAL: &str = "bench";

/// Prepares the data directory in `work`, with the site at `port`, and gives the principal's token.
pub(super) fn prepare(pinhole: &Path, work: &Path, port: u16) -> Outcome<String> {
    let server = Server::start(pinhole, work, 1)?;
    let token = project(pinhole, work, &server, port)?;
    let api = Api::new(server.base(), &token);
    let plan = Plan { pinhole: pinhole.into(), work: work.into(), token: token.clone(), mode: Mode::First };
    for page in PAGES {
        self::page(&api, page)?;
        start_and_await(&api, &plan, page, &format!("baseline-{page}"))?;
    }
    Ok(token)
}

/// Makes the principal and its project, with an environment at `port`, and gives the principal's token.
pub(super) fn project(pinhole: &Path, work: &Path, server: &Server, port: u16) -> Outcome<String> {
    let token = step::output(token(pinhole, work).args(["create", "--name", PRINCIPAL, "--admin"]))?;
    let token = token.trim().to_owned();
    let api = Api::new(server.base(), &token);
    api.post("/projects", "project", &json!({ "slug": PROJECT, "title": "Measurements" }))?;
    for role in ["author", "operator"] {
        let arguments = ["grant", "--name", PRINCIPAL, "--project", PROJECT, "--role", role];
        step::output(self::token(pinhole, work).args(arguments))?;
    }
    let document = json!({ "base_url": format!("http://127.0.0.1:{port}/") });
    let environment = json!({ "project": PROJECT, "slug": ENVIRONMENT, "document": document });
    api.post("/environments", "environment", &environment)?;
    Ok(token)
}

/// Makes the scenario of a page.
pub(super) fn page(api: &Api, page: &str) -> Outcome {
    let scenario = json!({ "project": PROJECT, "slug": page, "source": scenario(page) });
    api.post("/scenarios", &format!("scenario-{page}"), &scenario).map(|_| ())
}

fn scenario(page: &str) -> String {
    format!(
        "schema: pinhole.scenario.v1\ntitle: The page {page}\nsteps:\n  - navigate: /{page}.html\n  \
         - capture: {{ name: page }}\n"
    )
}

fn token(pinhole: &Path, work: &Path) -> Command {
    let mut command = Command::new(pinhole);
    command.arg("token");
    command.env("PINHOLE_DATA_DIR", work.join("data"));
    command
}
