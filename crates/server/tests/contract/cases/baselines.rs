//! Cases of the baseline path, the catalog and its publication.

use serde_json::json;

use crate::{cases::declare, support::PROJECT};

declare! {
    "capture_visual_baseline" => |ground, _| json!({ "receipt_id": ground.new_receipt().await }),
    "review_visual_baseline" => |ground, _| json!({
        "receipts": [ground.new_receipt().await],
        "disposition": "accept",
        "reason": "I looked",
    }),
    "request_baseline_approval" => |ground, caller| ground.request(caller.author()).await,
    "get_approval" => |ground, _| json!({ "approval_id": ground.approval["id"] }),
    "list_approvals" => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "decide_approval" => |ground, _| {
        let approval = ground.pending(None).await;
        json!({
            "approval_id": approval["id"],
            "outcome": "approve",
            "reason": "as agreed",
            "expected_version": approval["version"],
        })
    },
    "consume_baseline_approval" => |ground, caller| ground.consumption(caller.author()).await,
    "rebaseline" => |ground, _| json!({
        "entry_id": ground.entry().await,
        "receipt_id": ground.new_receipt().await,
        "reason": "as it is now",
        "expected_version": ground.head().await,
    }),
    "retire_baseline" => |ground, _| ground.ending().await,
    "invalidate_baseline" => |ground, _| ground.ending().await,
    "capture_baseline" => |ground, _| json!({ "receipt_id": ground.new_values().await }),
    "list_baselines" => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "get_baseline" => |ground, _| json!({ "entry_id": ground.entry().await }),
    "list_catalog_revisions" => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "get_catalog_revision" => |_, _| json!({ "project": PROJECT, "revision": 1, "limit": 1 }),
    "publish_baseline_catalog" => |ground, _| ground.publication().await,
    "list_publications" => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "get_publication" => |ground, _| json!({ "publication_id": ground.publication["id"] }),
}
