//! The forms by which a person reviews and decides, as markup. Each names what it was shown with: a version, or a key of
//! its own, so that it counts once however often it is sent.

use pinhole_contract::ApprovalView;
use pinhole_core::{Ids as _, RandomIds, RunId};

use super::{html::esc, session::token_field};

/// The id of the review form, for the boxes beside the pictures.
pub(super) const REVIEW: &str = "review";

/// The form below a run's pictures.
pub(super) fn review(run: RunId, token: Option<&str>) -> String {
    format!(
        "<section class=\"decision\">\n<h2 id=\"decide\">Review</h2>\n\
         <p>What you say is signed with your name and counts for the captures that you ticked above.</p>\n\
         <form id=\"{REVIEW}\" method=\"post\" action=\"/runs/{}/review\">\n{}\
         <input type=\"hidden\" name=\"idempotency_key\" value=\"page-{}\">\n{}\
         <div class=\"choices\">\
         <button name=\"disposition\" value=\"accept\">Accept</button>\
         <button name=\"disposition\" value=\"reject\" class=\"deny\">Reject</button>\
         </div>\n</form>\n</section>\n",
        esc(run),
        token_field(token),
        RandomIds.uuid().simple(),
        reason(),
    )
}

/// The form below an approval's items.
pub(super) fn decision(approval: &ApprovalView, token: Option<&str>) -> String {
    format!(
        "<section class=\"decision\">\n<h2 id=\"decide\">Decide</h2>\n\
         <p>Your decision is signed with your name and counts for exactly the intent \
         <code>{}</code>, all items together.</p>\n\
         <form method=\"post\" action=\"/approvals/{}/decision\">\n{}\
         <input type=\"hidden\" name=\"expected_version\" value=\"{}\">\n{}\
         <div class=\"choices\">\
         <button name=\"outcome\" value=\"approve\">Approve</button>\
         <button name=\"outcome\" value=\"deny\" class=\"deny\">Deny</button>\
         </div>\n</form>\n</section>\n",
        esc(approval.intent_digest),
        esc(approval.id),
        token_field(token),
        approval.version,
        reason(),
    )
}

fn reason() -> &'static str {
    "<label for=\"reason\">Reason</label>\n\
     <textarea id=\"reason\" name=\"reason\" rows=\"3\" maxlength=\"2000\" required></textarea>\n"
}

/// Browsers end lines with two characters, a reason with one.
pub(super) fn lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}
