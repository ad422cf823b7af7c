//! One real object of every kind in the project of each owner, made over REST: what the made-up calls are about.
//!
//! Nothing of it is put into the database by another way: what cannot be made by calling cannot be met by a caller.

use std::{
    collections::BTreeMap,
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::client::{Client, number, text};
use crate::Outcome;

/// The remote of the installation. Nobody answers there.
pub(super) const REMOTE: &str = "origin";
/// The secret of each environment.
pub(super) const SECRET: &str = "BUYER";
/// What each environment's pattern of further hosts is.
pub(super) const PATTERN: &str = "https://pr-*.new.example";
/// The scenario that everything but a case of its own is about.
pub(super) const SCENARIO: &str = "page";
/// Kinds of automations: their path, and the member that names one.
const AUTOMATIONS: [(&str, &str); 3] =
    [("schedules", "schedule_id"), ("webhooks", "webhook_id"), ("ci-dispatches", "ci_dispatch_id")];
const ROLES: [&str; 7] = ["viewer", "author", "operator", "reviewer", "approver", "publisher", "owner"];
const SOURCE: &str = "schema: pinhole.scenario.v1\ntitle: A page\nsteps:\n  - navigate: /\n  - capture: { name: start }\n  \
                      - capture: { name: again }\n  - extract: { name: total, values: { rows: { count: { css: h1 } } } }\n";
/// How long a run may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// Values that exist, by the names of the members that they fit.
pub(super) type Known = BTreeMap<String, Vec<Value>>;

/// A project and who owns it.
pub(super) struct Owner {
    pub(super) name: &'static str,
    pub(super) project: String,
    pub(super) token: Client,
    pub(super) session: Client,
    pub(super) known: Known,
    /// By scenario and checkpoint, with a slash in between.
    pub(super) receipts: BTreeMap<String, String>,
    /// The reviews of captures, in the same way: only the newest of a capture counts.
    reviews: BTreeMap<String, String>,
    /// Cases, each about another scenario.
    pub(super) cases: Vec<String>,
}

impl Owner {
    /// Makes everything of the project. The administrator is `root`; captures are of `site`, one for each of these
    /// scenarios.
    pub(super) fn settle(
        name: &'static str,
        [token, session, root]: [Client; 3],
        site: &str,
        scenarios: &[&str],
    ) -> Outcome<Self> {
        let project = format!("of-{name}");
        root.make("/projects", &json!({ "slug": project, "title": name }))?;
        let id = text(&token.get("/me")?, "/id")?;
        for role in ROLES {
            let grant = json!({ "project": project, "subject": id, "role": role });
            root.call("PUT", "/admin/grants", &[], &grant)?;
        }
        let mut owner = Self {
            name,
            project,
            token,
            session,
            known: Known::new(),
            receipts: BTreeMap::new(),
            reviews: BTreeMap::new(),
            cases: Vec::new(),
        };
        owner.knows("project", owner.project.clone());
        owner.environment("site", site)?;
        let mut runs = Vec::new();
        for slug in scenarios {
            owner.scenario(slug)?;
            runs.push((slug, text(&owner.token.make("/runs", &owner.selectors(slug))?, "/id")?));
        }
        for (slug, run) in runs {
            owner.captured(slug, &run)?;
        }
        owner.catalog()?;
        owner.automations()?;
        Ok(owner)
    }

    /// Notes a value that fits members of this name.
    pub(super) fn knows(&mut self, member: &str, value: impl Into<Value>) {
        self.known.entry(member.into()).or_default().push(value.into());
    }

    /// The first value that fits members of this name.
    pub(super) fn first(&self, member: &str) -> Outcome<String> {
        let value = self.known.get(member).and_then(|values| values.first()).and_then(Value::as_str);
        value.map(str::to_owned).ok_or_else(|| format!("{} has no {member}", self.name))
    }

    /// An environment with a secret; gives its id.
    pub(super) fn environment(&mut self, slug: &str, site: &str) -> Outcome<String> {
        let document = document(site);
        let environment = json!({ "project": self.project, "slug": slug, "document": document });
        let id = text(&self.token.make("/environments", &environment)?, "/id")?;
        self.token.change("PUT", &format!("/environments/{id}/secrets/{SECRET}"), 0, &json!({ "value": "a value" }))?;
        self.knows("environment", slug);
        self.knows("environment_id", id.clone());
        Ok(id)
    }

    /// A scenario; gives what it was answered with.
    pub(super) fn scenario(&mut self, slug: &str) -> Outcome<Value> {
        let scenario = json!({ "project": self.project, "slug": slug, "source": SOURCE });
        let scenario = self.token.make("/scenarios", &scenario)?;
        self.knows("scenario", slug);
        self.knows("scenario_id", text(&scenario, "/id")?);
        self.knows("digest", text(&scenario, "/digest")?);
        Ok(scenario)
    }

    /// What runs of a scenario are selected with.
    pub(super) fn selectors(&self, scenario: &str) -> Value {
        json!({
            "project": self.project, "scenario": scenario, "revision": { "head": true },
            "environment": "site", "environment_revision": { "latest": true }, "baseline": { "none": true },
        })
    }

    /// Waits until a run has ended, and notes what came of it.
    fn captured(&mut self, scenario: &str, run: &str) -> Outcome {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.token.get(&format!("/runs/{run}"))?;
        while state["finished_at"].is_null() {
            if Instant::now() > deadline {
                return Err(format!("the run did not end: {state}"));
            }
            sleep(LOOK);
            state = self.token.get(&format!("/runs/{run}"))?;
        }
        let result = self.token.get(&format!("/runs/{run}/result"))?;
        let checkpoints = result["checkpoints"].as_array().filter(|checkpoints| checkpoints.len() == 3);
        for checkpoint in checkpoints.ok_or_else(|| format!("the run has other results than expected: {result}"))? {
            let receipt = text(checkpoint, "/receipt_id")?;
            self.knows("receipt_id", receipt.clone());
            self.receipts.insert(format!("{scenario}/{}", text(checkpoint, "/checkpoint")?), receipt);
            if let Ok(picture) = text(checkpoint, "/picture/id") {
                self.knows("artifact_id", picture);
            }
        }
        self.knows("run_id", run);
        let case = self.token.make("/investigations", &json!({ "run_id": run, "queue": "triage" }))?;
        let case = text(&case, "/id")?;
        self.knows("case_id", case.clone());
        self.cases.push(case);
        Ok(())
    }

    /// From receipts to a publication that waits.
    fn catalog(&mut self) -> Outcome {
        let mut items = Vec::new();
        for checkpoint in ["page/start", "page/again"] {
            items.push(self.item(checkpoint)?);
        }
        let approval = self.request(items)?;
        let (id, intent) = (text(&approval, "/id")?, text(&approval, "/intent_digest")?);
        let decision = json!({ "outcome": "approve", "reason": "as agreed" });
        self.session.change("POST", &format!("/approvals/{id}/decision"), number(&approval, "/version")?, &decision)?;
        self.token.make_at(&format!("/approvals/{id}/consume"), 0, &json!({ "intent_digest": intent }))?;
        let entries = self.token.get(&format!("/baselines?project={}", self.project))?;
        for entry in entries["baselines"].as_array().into_iter().flatten() {
            self.knows("entry_id", text(entry, "/id")?);
        }
        let item = self.item("page/start")?;
        self.request(vec![item])?;
        let branch = format!("release/{}", self.name);
        let publication = self.token.make_at("/publications", 1, &self.publication(&branch))?;
        self.knows("publication_id", text(&publication, "/id")?);
        for (member, value) in [("remote", REMOTE), ("branch", branch.as_str()), ("line", "main")] {
            self.knows(member, value);
        }
        Ok(())
    }

    /// What the first catalog revision is published to a branch with.
    pub(super) fn publication(&self, branch: &str) -> Value {
        json!({ "project": self.project, "remote": REMOTE, "branch": branch, "expected_head": { "commit": null } })
    }

    /// A reviewed candidate, as approvals are requested of.
    pub(super) fn item(&mut self, checkpoint: &str) -> Outcome<Value> {
        let receipt = self.receipts.get(checkpoint).cloned().ok_or("no such checkpoint")?;
        if !self.reviews.contains_key(checkpoint) {
            let review = json!({ "receipts": [receipt], "disposition": "accept", "reason": "I looked" });
            let review = text(&self.session.make("/reviews", &review)?, "/reviews/0/id")?;
            self.reviews.insert(checkpoint.to_owned(), review);
        }
        let review = self.reviews.get(checkpoint).cloned().unwrap_or_default();
        let candidate = self.token.make("/baselines/capture-visual", &json!({ "receipt_id": receipt }))?;
        let candidate = text(&candidate, "/id")?;
        self.knows("candidate_id", candidate.clone());
        self.knows("review_id", review.clone());
        Ok(json!({ "candidate_id": candidate, "review_id": review }))
    }

    /// A pending approval.
    pub(super) fn request(&mut self, items: Vec<Value>) -> Outcome<Value> {
        let approval = self.token.make("/approvals", &json!({ "project": self.project, "items": items }))?;
        self.knows("approval_id", text(&approval, "/id")?);
        self.knows("intent_digest", text(&approval, "/intent_digest")?);
        Ok(approval)
    }

    fn automations(&mut self) -> Outcome {
        for (path, member) in AUTOMATIONS {
            let made = self.token.make(&format!("/automations/{path}"), &self.automation(path))?;
            self.knows(member, text(&made, "/id")?);
        }
        self.knows("queue", "triage");
        Ok(())
    }

    /// What an automation of a kind is made with.
    pub(super) fn automation(&self, path: &str) -> Value {
        let mut automation = json!({ "title": "By itself", "run": self.selectors(SCENARIO), "enabled": true });
        if path == "schedules" {
            automation["cron"] = "0 3 * * *".into();
            automation["time_zone"] = "UTC".into();
        }
        automation
    }
}

/// What an environment says.
pub(super) fn document(site: &str) -> Value {
    let origin = site.trim_end_matches('/');
    json!({
        "base_url": site, "secrets": [{ "name": SECRET, "origins": [origin] }], "host_patterns": [PATTERN],
    })
}

/// A text of a scenario.
pub(super) fn source() -> &'static str {
    SOURCE
}
