//! Cases of principals, groups, roles, credentials and what administrators look at.

use pinhole_core::{Outcome, PrincipalClass, Role};
use serde_json::{Value, json};

use crate::{callers::Caller, cases::declare, ground::Ground, support::PROJECT};

declare! {
    "list_my_tokens" in Nowhere => |_, _| json!({ "limit": 1 }),
    "create_my_token" in Nowhere => |ground, _| json!({ "label": ground.fresh("label"), "scope": "all" }),
    "revoke_my_token" in Nowhere => |ground, caller| json!({ "token_id": ground.token_of(person(caller)).await }),
    "list_my_sessions" in Nowhere => |_, _| json!({ "limit": 1 }),
    "revoke_my_session" in Nowhere => |ground, caller| json!({ "session_id": ground.session_of(person(caller)).await }),
    "create_decision_ticket" in Environment => |ground, _| {
        let approval = ground.pending(None).await["id"].clone();
        let decision = json!({ "approval": { "approval_id": approval, "outcome": Outcome::Approve } });
        json!({ "decision": decision, "reason": "as agreed" })
    },
    "grant_role" in Project => |ground, _| role(ground.principal(PrincipalClass::User).await.1),
    "revoke_role" in Project => |ground, _| {
        let (name, id) = ground.principal(PrincipalClass::User).await;
        ground.enrol(PrincipalClass::User, &name, false, PROJECT, &[Role::Viewer]).await;
        role(id)
    },
    "list_grants" in Project => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "create_principal" in Nowhere => |ground, _| json!({ "class": "service", "name": ground.fresh("service") }),
    "list_principals" in Nowhere => |_, _| json!({ "limit": 1 }),
    "update_principal" in Nowhere => |ground, _| {
        json!({ "principal_id": ground.principal(PrincipalClass::User).await.1, "disabled": true })
    },
    "create_group" in Nowhere => |ground, _| json!({ "name": ground.fresh("group") }),
    "list_groups" in Nowhere => |_, _| json!({ "limit": 1 }),
    "get_group" in Nowhere => |ground, _| json!({ "group_id": group(ground).await }),
    "put_group_members" in Nowhere => |ground, _| json!({
        "group_id": group(ground).await,
        "members": [ground.principal(PrincipalClass::User).await.1],
        "expected_version": 1,
    }),
    "create_service_token" in Nowhere => |ground, _| json!({
        "principal_id": ground.principal(PrincipalClass::Service).await.1,
        "scope": { "only": ["run.start"] },
    }),
    "list_service_tokens" in Nowhere => |_, _| json!({ "limit": 1 }),
    "revoke_service_token" in Nowhere => |ground, _| {
        let (name, _) = ground.principal(PrincipalClass::Service).await;
        json!({ "token_id": ground.token_of(&name).await })
    },
    "list_audit" in Project => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "list_signing_keys" in Nowhere => |_, _| json!({}),
}

/// The caller, or somebody in the place of one that is nobody.
fn person(caller: &Caller) -> &str {
    if caller.name.is_empty() { "Rita" } else { &caller.name }
}

fn role(subject: String) -> Value {
    json!({ "project": PROJECT, "subject": subject, "role": Role::Viewer })
}

async fn group(ground: &Ground) -> Value {
    let input = json!({ "name": ground.fresh("group") });
    ground.path.bench.keyed(&ground.path.bench.owner, "create_group", input).await.unwrap()["id"].clone()
}
