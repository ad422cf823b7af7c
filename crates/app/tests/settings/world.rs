//! What several tests of settings do.

use pinhole_core::{Actor, Name, PrincipalClass, RequestId, Result};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{Bench, PROJECT, SCENARIO};

/// The environment that most tests change.
pub(crate) const STAGING: &str = "staging";

impl Bench {
    /// The environment `staging` as its owner reads it.
    pub(crate) async fn staging(&self) -> Value {
        let listed = self.call(&self.owner, "list_environments", json!({ "project": PROJECT })).await.unwrap();
        let mut environments = listed["environments"].as_array().unwrap().iter();
        let id = &environments.find(|found| found["slug"] == STAGING).unwrap()["id"];
        self.call(&self.owner, "get_environment", json!({ "environment_id": id })).await.unwrap()
    }

    /// Gives `staging` a revision that says this besides where the application is.
    pub(crate) async fn revise_staging(&self, members: Value) -> Result<Value> {
        let before = self.staging().await;
        let mut document = json!({ "base_url": "http://staging.example/" });
        for (name, value) in members.as_object().unwrap() {
            document[name] = value.clone();
        }
        let input = json!({
            "environment_id": before["id"], "document": document, "expected_version": before["latest_revision"],
        });
        self.call(&self.owner, "update_environment", input).await
    }

    /// What starts a run of the scenario in `staging`, with these members besides.
    pub(crate) fn order(members: Value) -> Value {
        let mut order = json!({
            "project": PROJECT,
            "scenario": SCENARIO,
            "revision": { "head": true },
            "environment": STAGING,
            "environment_revision": { "latest": true },
            "baseline": { "none": true },
        });
        for (name, value) in members.as_object().unwrap() {
            order[name] = value.clone();
        }
        order
    }

    /// A user in a session that has just begun.
    pub(crate) async fn session(&self, name: &str) -> Actor {
        let name: Name = name.parse().unwrap();
        let admin = self.app.store().begin_read().await.unwrap().principal_by_name(&name).await.unwrap();
        let admin = admin.is_some_and(|found| found.admin_since.is_some());
        let user = self.app.ensure_principal(PrincipalClass::User, &name, admin).await.unwrap();
        let session = self.app.begin_session(user, "password").await.unwrap();
        self.app.authenticate_session(&session.secret, RequestId::from_uuid(Uuid::nil())).await.unwrap()
    }
}
