//! People and what they said, as markup.

use std::collections::BTreeMap;

use pinhole_contract::ReviewView;
use pinhole_core::{Name, PrincipalId};

use super::{
    html::esc,
    parts::{badge, time},
};

/// A principal by name, where it is known.
pub(super) fn person(id: PrincipalId, names: &BTreeMap<PrincipalId, Name>) -> String {
    match names.get(&id) {
        Some(name) => format!("<strong>{}</strong>", esc(name)),
        None => format!("<code>{}</code>", esc(id)),
    }
}

/// The newest review of a capture.
pub(super) fn said(review: &ReviewView, names: &BTreeMap<PrincipalId, Name>) -> String {
    format!(
        "<div class=\"said\">{} {} <span class=\"faint\">{}</span><blockquote>{}</blockquote></div>\n",
        person(review.reviewer, names),
        badge(review.disposition.as_str()),
        time(review.created_at),
        esc(&review.reason),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_and_reasons_stay_text() {
        let id: PrincipalId = "prn_00000000000000000000000000000007".parse().unwrap();
        let digest = format!("sha256:{}", "0".repeat(64));
        let review: ReviewView = serde_json::from_value(json!({
            "id": "rev_00000000000000000000000000000007", "receipt_id": "rcp_00000000000000000000000000000007",
            "disposition": "reject", "reason": "</blockquote><script>alert(1)</script>\u{202e}",
            "capture_digest": digest, "render_digest": digest, "rules_digest": digest, "reviewer": id,
            "created_at": "2026-01-01T00:00:00Z",
        }))
        .unwrap();
        let names = BTreeMap::from([(id, "<b onclick=x>".parse().unwrap())]);
        let html = said(&review, &names);
        assert!(html.contains("&lt;b onclick=x&gt;") && html.contains("&lt;/blockquote&gt;&lt;script&gt;"), "{html}");
        assert!(html.contains("\\u{202e}") && !html.contains("<script") && !html.contains("<b "), "{html}");
        assert!(person(id, &BTreeMap::new()).contains("prn_"));
    }
}
