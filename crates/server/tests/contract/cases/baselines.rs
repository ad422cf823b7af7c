//! Cases of the baseline path, the catalog and its publication.

use serde_json::json;

use crate::{cases::declare, support::PROJECT};

declare! {
    "capture_visual_baseline" in Environment => |ground, _| json!({ "receipt_id": ground.new_receipt().await }),
    "review_visual_baseline" in Environment => |ground, _| json!({
        "receipts": [ground.new_receipt().await],
        "disposition": "accept",
        "reason": "I looked",
    }),
    "request_baseline_approval" in Environment => |ground, caller| ground.request(caller.author()).await,
    "get_approval" in Environment => |ground, _| json!({ "approval_id": ground.approval["id"] }),
    "list_approvals" in Project => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "decide_approval" in Environment => |ground, _| {
        let approval = ground.pending(None).await;
        json!({
            "approval_id": approval["id"],
            "outcome": "approve",
            "reason": "as agreed",
            "expected_version": approval["version"],
        })
    },
    "consume_baseline_approval" in Environment => |ground, caller| ground.consumption(caller.author()).await,
    "rebaseline" in Environment => |ground, _| json!({
        "entry_id": ground.entry().await,
        "receipt_id": ground.new_receipt().await,
        "reason": "as it is now",
        "expected_version": ground.head().await,
    }),
    "retire_baseline" in Environment => |ground, _| ground.ending().await,
    "invalidate_baseline" in Environment => |ground, _| ground.ending().await,
    "capture_baseline" in Environment => |ground, _| json!({ "receipt_id": ground.new_values().await }),
    "list_baselines" in Project => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "get_baseline" in Environment => |ground, _| json!({ "entry_id": ground.entry().await }),
    "list_catalog_revisions" in Project => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "get_catalog_revision" in Project => |_, _| json!({ "project": PROJECT, "revision": 1, "limit": 1 }),
    "list_catalog_lines" in Project => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "get_catalog_line" in Project => |_, _| json!({ "project": PROJECT }),
    "fork_catalog_line" in Project => |ground, _| json!({
        "project": PROJECT,
        "line": ground.fresh("release/line"),
        "revision": 1,
    }),
    "promote_catalog_line" in Project => |ground, _| ground.promotion().await,
    "publish_baseline_catalog" in Project => |ground, _| ground.publication().await,
    "list_publications" in Project => |_, _| json!({ "project": PROJECT, "limit": 1 }),
    "get_publication" in Project => |ground, _| json!({ "publication_id": ground.publication["id"] }),
}
