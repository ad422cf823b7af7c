//! One call of each operation that succeeds: what the made-up calls vary, and the proof that they could have.
//!
//! A call that ends something has an object to itself, so that the order of the calls is no matter.

use serde_json::{Map, Value, json};

use super::{
    client::{Client, PASSWORD, number, text},
    ground::{Owner, PATTERN, SCENARIO, SECRET, document, source},
};
use crate::Outcome;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// Operations that end the session that they are called in, and who has one for each alone.
pub(super) const ENDING: [(&str, &str); 3] =
    [("reauthenticate", "carol"), ("change_password", "dora"), ("end_session", "emil")];

/// What the calls need of others.
pub(super) struct People {
    /// The administrator.
    pub(super) root: Client,
    /// The id of a session of the owner that may end.
    pub(super) session: String,
}

/// The calls, by operation.
pub(super) struct Calls(pub(super) Map<String, Value>);

impl Calls {
    /// Makes what they are about, and names them.
    pub(super) fn of(owner: &mut Owner, other: &mut Owner, people: &People, site: &str) -> Outcome<Self> {
        let mut calls = Self(Map::new());
        calls.of_everybody(owner)?;
        calls.of_settings(owner, site)?;
        calls.of_runs(owner)?;
        calls.of_catalog(owner)?;
        calls.of_consumption(other)?;
        calls.of_automations(owner)?;
        calls.of_administrators(owner, people)?;
        calls.of_sessions(owner, people)?;
        Ok(calls)
    }

    /// Notes one. `parts` are `path`, `query`, `body`, and `key` and `version` for the two headers.
    fn add(&mut self, operation: &str, caller: &str, mut parts: Value) {
        parts["as"] = caller.into();
        self.0.insert(operation.into(), parts);
    }

    /// Those that take nothing but a project, or nothing at all.
    fn of_everybody(&mut self, owner: &Owner) -> Outcome {
        for operation in ["whoami", "list_operations", "get_readiness", "list_projects"] {
            self.add(operation, "alice", json!({}));
        }
        for operation in ["get_protected_resource", "get_protected_resource_of_mcp", "get_receipt_keys", "get_openapi"]
        {
            self.add(operation, "alice", json!({}));
        }
        for operation in ["livez", "readyz"] {
            self.add(operation, "alice", json!({}));
        }
        for list in [
            "environments",
            "scenarios",
            "scenario_runs",
            "approvals",
            "baselines",
            "publications",
            "schedules",
            "webhooks",
            "ci_dispatches",
            "investigations",
            "grants",
        ] {
            self.add(&format!("list_{list}"), "alice", json!({ "query": { "project": owner.project } }));
        }
        for (operation, member) in [
            ("get_project", "project"),
            ("get_baseline_policy", "project"),
            ("list_catalog_revisions", "project"),
            ("list_catalog_lines", "project"),
            ("get_catalog_line", "project"),
            ("get_environment", "environment_id"),
            ("list_environment_secrets", "environment_id"),
            ("get_scenario", "scenario_id"),
            ("get_scenario_run", "run_id"),
            ("get_scenario_run_result", "run_id"),
            ("get_scenario_artifact", "artifact_id"),
            ("get_artifact_content", "artifact_id"),
            ("head_artifact_content", "artifact_id"),
            ("get_capture_receipt", "receipt_id"),
            ("get_approval", "approval_id"),
            ("get_baseline", "entry_id"),
            ("get_publication", "publication_id"),
            ("get_schedule", "schedule_id"),
            ("get_webhook", "webhook_id"),
            ("get_ci_dispatch", "ci_dispatch_id"),
            ("get_investigation", "case_id"),
        ] {
            self.add(operation, "alice", json!({ "path": { member: owner.first(member)? } }));
        }
        let revision = json!({ "path": { "project": owner.project, "revision": "1" } });
        self.add("get_catalog_revision", "alice", revision);
        let record = json!({ "path": { "record_id": owner.first("receipt_id")? } });
        self.add("get_log_proof", "alice", record);
        self.add("get_log_consistency", "alice", json!({ "query": { "first": 1, "second": 1 } }));
        Ok(())
    }

    fn of_settings(&mut self, owner: &mut Owner, site: &str) -> Outcome {
        let policy =
            json!({ "path": { "project": owner.project }, "version": 0, "body": { "approval_lifetime_s": 7200 } });
        self.add("update_baseline_policy", "alice-session", policy);
        let environment = json!({ "project": owner.project, "slug": "another", "document": document(site) });
        self.add("create_environment", "alice", json!({ "key": true, "body": environment }));
        let own = json!({ "environment_id": owner.environment("revised", site)? });
        let revised = json!({ "base_url": "http://new.example/" });
        self.add("update_environment", "alice", json!({ "path": own, "version": 1, "body": { "document": revised } }));
        let own = json!({ "environment_id": owner.environment("patterns", site)? });
        let patterns = json!({ "patterns": [PATTERN] });
        self.add("approve_host_patterns", "root", json!({ "path": own, "version": 1, "body": patterns }));
        let own = json!({ "environment_id": owner.environment("secret", site)?, "name": SECRET });
        self.add("delete_environment_secret", "alice", json!({ "path": own, "version": 1 }));
        let own = json!({ "environment_id": owner.environment("sealed", site)?, "name": SECRET });
        self.add("put_environment_secret", "alice", json!({ "path": own, "version": 1, "body": { "value": "other" } }));
        let remote = json!({ "url": "https://git.example/catalog.git", "branches": ["main"] });
        self.add("put_remote", "root", json!({ "path": { "slug": "second" }, "version": 0, "body": remote }));
        Ok(())
    }

    fn of_runs(&mut self, owner: &mut Owner) -> Outcome {
        let text = json!({ "project": owner.project, "source": source() });
        self.add("validate_scenario", "alice", json!({ "body": text }));
        let scenario = json!({ "project": owner.project, "slug": "another", "source": source() });
        self.add("create_scenario", "alice", json!({ "key": true, "body": scenario }));
        for (operation, slug, body) in [
            ("archive_scenario", "archived", Value::Null),
            ("submit_scenario_revision", "revised", json!({ "source": source().replace("A page", "The page") })),
        ] {
            let scenario = owner.scenario(slug)?;
            let path = json!({ "scenario_id": scenario["id"] });
            self.add(operation, "alice", json!({ "path": path, "version": scenario["version"], "body": body }));
        }
        self.add("start_scenario_run", "alice", json!({ "key": true, "body": owner.selectors(SCENARIO) }));
        let run = owner.token.make("/runs", &owner.selectors(SCENARIO))?;
        owner.knows("run_id", run["id"].clone());
        let cancelled = json!({ "path": { "run_id": run["id"] }, "version": run["version"] });
        self.add("cancel_scenario_run", "alice", cancelled);
        Ok(())
    }

    fn of_catalog(&mut self, owner: &mut Owner) -> Outcome {
        let receipt = |owner: &Owner, checkpoint: &str| owner.receipts.get(checkpoint).cloned().unwrap_or_default();
        for (operation, checkpoint) in [("capture_baseline", "page/total"), ("capture_visual_baseline", "page/start")] {
            let body = json!({ "receipt_id": receipt(owner, checkpoint) });
            self.add(operation, "alice", json!({ "key": true, "body": body }));
        }
        let review =
            json!({ "receipts": [receipt(owner, "page/start")], "disposition": "accept", "reason": "I looked" });
        self.add("review_visual_baseline", "alice-session", json!({ "key": true, "body": review }));
        let item = owner.item("disposed/again")?;
        let request = json!({ "project": owner.project, "items": [item] });
        self.add("request_baseline_approval", "alice", json!({ "key": true, "body": request }));
        let approval = pending(owner, "claimed/again")?;
        let body = json!({ "outcome": "approve", "reason": "as agreed" });
        let parts = json!({ "path": { "approval_id": approval["id"] }, "version": approval["version"], "body": body });
        self.add("decide_approval", "alice-session", parts);
        // Asked of a token, these end in a request for an approval, so that the entry and the line stay as they are.
        let entry = json!({ "entry_id": owner.first("entry_id")? });
        for operation in ["retire_baseline", "invalidate_baseline"] {
            let body = json!({ "reason": "it is old" });
            self.add(operation, "alice", json!({ "path": entry, "key": true, "version": 1, "body": body }));
        }
        let body = json!({ "receipt_id": receipt(owner, "page/start"), "reason": "as it is now" });
        self.add("rebaseline", "alice", json!({ "path": entry, "key": true, "version": 1, "body": body }));
        let body = json!({ "line": "release/two", "revision": 1 });
        let parts = json!({ "path": { "project": owner.project }, "key": true, "body": body });
        self.add("fork_catalog_line", "alice", parts);
        let body = owner.publication("release/one");
        self.add("publish_baseline_catalog", "alice", json!({ "key": true, "version": 1, "body": body }));
        let decision =
            json!({ "approval": { "approval_id": pending(owner, "disposed/start")?["id"], "outcome": "approve" } });
        let body = json!({ "decision": decision, "reason": "as agreed" });
        self.add("create_decision_ticket", "alice-session", json!({ "key": true, "body": body }));
        Ok(())
    }

    /// It makes a revision, after which no other call knows the version of the line: so it is on the other owner's.
    fn of_consumption(&mut self, other: &mut Owner) -> Outcome {
        let approval = pending(other, "page/again")?;
        let (path, body) = (
            format!("/approvals/{}/decision", text(&approval, "/id")?),
            json!({ "outcome": "approve", "reason": "as agreed" }),
        );
        other.session.change("POST", &path, number(&approval, "/version")?, &body)?;
        let body = json!({ "intent_digest": approval["intent_digest"] });
        let parts = json!({ "path": { "approval_id": approval["id"] }, "key": true, "version": 1, "body": body });
        self.add("consume_baseline_approval", other.name, parts);
        Ok(())
    }

    fn of_automations(&mut self, owner: &mut Owner) -> Outcome {
        for (path, noun) in [("schedules", "schedule"), ("webhooks", "webhook"), ("ci-dispatches", "ci_dispatch")] {
            let member = format!("{noun}_id");
            let body = owner.automation(path);
            self.add(&format!("create_{noun}"), "alice", json!({ "key": true, "body": body }));
            for verb in ["update", "delete"] {
                let made = owner.token.make(&format!("/automations/{path}"), &body)?;
                let mut parts = json!({ "path": { &member: made["id"] }, "version": made["version"] });
                if verb == "update" {
                    parts["body"] = body.clone();
                }
                self.add(&format!("{verb}_{noun}"), "alice", parts);
            }
        }
        let body =
            json!({ "ci_dispatch_id": owner.first("ci_dispatch_id")?, "commit": COMMIT, "ref": "refs/heads/main" });
        self.add("dispatch_ci", "robot", json!({ "key": true, "body": body }));
        let webhook = owner.token.make("/automations/webhooks", &owner.automation("webhooks"))?;
        let delivery = json!({ "path": { "webhook_id": webhook["id"] }, "sign": webhook["secret"], "body": {} });
        self.add("deliver_webhook", "nobody", delivery);
        let case = json!({ "run_id": owner.first("run_id")?, "queue": "triage" });
        self.add("open_investigation", "alice", json!({ "key": true, "body": case }));
        let [found, claimed, disposed] = owner.cases.as_slice() else { return Err("three cases are needed".into()) };
        let finding = json!({ "text": "The button is gone." });
        self.add("add_finding", "alice", json!({ "path": { "case_id": found }, "version": 1, "body": finding }));
        self.add("claim_investigation", "alice", json!({ "path": { "case_id": claimed }, "version": 1 }));
        let claim = format!("/investigations/{disposed}/claim");
        let version = number(&owner.token.change("POST", &claim, 1, &Value::Null)?, "/version")?;
        let disposition = json!({ "disposition": "defect", "reason": "it is gone" });
        let parts = json!({ "path": { "case_id": disposed }, "version": version, "body": disposition });
        self.add("dispose_investigation", "alice", parts);
        Ok(())
    }

    fn of_administrators(&mut self, owner: &mut Owner, people: &People) -> Outcome {
        let root = &people.root;
        for list in ["list_audit", "list_remotes", "list_groups", "list_principals", "list_signing_keys"] {
            self.add(list, "root", json!({}));
        }
        let person = json!({ "class": "user", "name": "somebody" });
        let id = root.make("/admin/principals", &person)?["id"].clone();
        owner.knows("principal_id", id.clone());
        owner.knows("subject", id.clone());
        let parts = json!({ "path": { "principal_id": id }, "body": { "disabled": true } });
        self.add("update_principal", "root", parts);
        let person = json!({ "class": "user", "name": "somebody else" });
        self.add("create_principal", "root", json!({ "key": true, "body": person }));
        let grant = json!({ "project": owner.project, "subject": id, "role": "viewer" });
        self.add("grant_role", "alice", json!({ "body": grant }));
        let grant = json!({ "project": owner.project, "subject": id, "role": "author" });
        owner.token.call("PUT", "/admin/grants", &[], &grant)?;
        self.add("revoke_role", "alice", json!({ "query": grant }));
        let group = root.make("/admin/groups", &json!({ "name": "a group" }))?["id"].clone();
        owner.knows("group_id", group.clone());
        self.add("create_group", "root", json!({ "key": true, "body": { "name": "another group" } }));
        self.add("get_group", "root", json!({ "path": { "group_id": group } }));
        let service = json!({ "class": "service", "name": "another robot" });
        let service = root.make("/admin/principals", &service)?["id"].clone();
        owner.knows("principal_id", service.clone());
        let members = json!({ "members": [service] });
        self.add("put_group_members", "root", json!({ "path": { "group_id": group }, "version": 1, "body": members }));
        let token = json!({ "principal_id": service, "scope": "all" });
        self.add("create_service_token", "root", json!({ "key": true, "body": token }));
        self.add("list_service_tokens", "root", json!({ "query": { "principal_id": service } }));
        let token = root.make("/admin/service-tokens", &token)?["token"]["id"].clone();
        owner.knows("token_id", token.clone());
        self.add("revoke_service_token", "root", json!({ "path": { "token_id": token } }));
        let project = json!({ "slug": "another", "title": "Another" });
        self.add("create_project", "root", json!({ "key": true, "body": project }));
        Ok(())
    }

    fn of_sessions(&mut self, owner: &mut Owner, people: &People) -> Outcome {
        for operation in ["list_my_tokens", "list_my_sessions", "get_session"] {
            self.add(operation, "alice-session", json!({}));
        }
        let token = json!({ "scope": "all", "label": "for a program" });
        self.add("create_my_token", "alice-session", json!({ "key": true, "body": token }));
        let token = owner.session.make("/me/tokens", &token)?["token"]["id"].clone();
        self.add("revoke_my_token", "alice-session", json!({ "path": { "token_id": token } }));
        self.add("revoke_my_session", "alice-session", json!({ "path": { "session_id": people.session } }));
        let body = json!({ "name": ENDING[0].1, "password": PASSWORD });
        self.add("begin_session", "nobody", json!({ "body": body }));
        let bodies = [
            json!({ "password": PASSWORD }),
            json!({ "current_password": PASSWORD, "new_password": "eighteen-sparrows" }),
            Value::Null,
        ];
        for ((operation, person), body) in ENDING.into_iter().zip(bodies) {
            self.add(operation, person, json!({ "body": body }));
        }
        Ok(())
    }
}

/// An approval for one call alone, of a checkpoint that no other is about.
fn pending(owner: &mut Owner, checkpoint: &str) -> Outcome<Value> {
    let item = owner.item(checkpoint)?;
    owner.request(vec![item])
}
