//! Values that are read from a page.

use pinhole_core::{FailureReason, NotEvidence};
use serde_json::json;

use crate::support::{Page, Run, browser, failure};

const SHOP: &str = "<p data-testid=total>  £ 42.00 </p><table><tr><td>a<tr><td>b<tr><td>c</table>\
    <label>Coupon <input value=SUMMER></label><a href=/pay data-step=2>Pay</a>";

#[tokio::test]
async fn texts_form_values_attributes_and_counts_are_read() {
    let page = Page::new(SHOP);
    let rest = r#"steps:
      - navigate: /
      - extract:
          name: totals
          values:
            total: { text: { test_id: total } }
            rows: { count: { css: "tr" } }
            none: { count: { css: ".nothing" } }
            coupon: { value: { label: Coupon } }
            step: { attribute: { of: { role: link, name: Pay }, name: data-step } }
"#;
    let browser = browser().await;
    let outcome = Run::new(&page.site, rest).on(&browser).await;
    assert_eq!((outcome.failure, outcome.checkpoints.len()), (None, 0));
    let [read] = outcome.extracts.try_into().expect("one extract");
    assert_eq!(read.not_evidence, []);
    assert_eq!(
        json!(read.values),
        json!({ "total": "£ 42.00", "rows": 3, "none": 0, "coupon": "SUMMER", "step": "2" })
    );
    browser.close().await;
}

#[tokio::test]
async fn a_value_that_keeps_moving_is_no_evidence() {
    let page = Page::new(
        "<p data-testid=clock>0</p><script>setInterval(()=>{document.querySelector('p').textContent=performance.now()},5)</script>",
    );
    let rest = "steps: [{ navigate: / }, { extract: { name: clock, values: { now: { text: { test_id: clock } } } } }]";
    let browser = browser().await;
    let outcome = Run::new(&page.site, rest).on(&browser).await;
    assert_eq!(outcome.failure, None);
    let moving = NotEvidence::StillMoving { what: "the values now".into() };
    assert_eq!(outcome.extracts[0].not_evidence, [moving]);
    browser.close().await;
}

#[tokio::test]
async fn a_target_that_is_missing_or_ambiguous_fails_the_step() {
    let page = Page::new(SHOP);
    let browser = browser().await;
    for (what, reason) in
        [("{ css: \".gone\" }", FailureReason::TargetMissing), ("{ css: tr }", FailureReason::TargetAmbiguous)]
    {
        let rest =
            format!("steps: [{{ navigate: / }}, {{ extract: {{ name: x, values: {{ a: {{ text: {what} }} }} }} }}]");
        let mut run = Run::new(&page.site, &rest);
        run.step_deadline = std::time::Duration::from_secs(3);
        assert_eq!(failure(run.on(&browser).await).reason, reason, "{what}");
    }
    browser.close().await;
}
