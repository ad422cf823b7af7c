//! Steps that act and steps that look.

use std::time::Duration;

use pinhole_core::FailureReason;

use crate::support::{Page, Run, browser, failure, only};

const FORM: &str = "<form action=/done.html><label>E-mail <input type=email name=mail value=old></label>\
    <input placeholder=Search name=q><input name=title hidden><input name=children hidden><textarea aria-label=Notes></textarea><input type=date aria-label=Day>\
    <div contenteditable aria-label=Rich role=textbox>rich</div>\
    <button>Sign in</button></form><div id=host></div><p data-testid=out></p><script>\
    const root=host.attachShadow({mode:'open'});root.innerHTML='<button>Deep</button>';\
    root.querySelector('button').onclick=e=>{document.querySelector('p').textContent='deep '+e.isTrusted};</script>";

#[tokio::test]
async fn a_form_is_filled_and_sent_as_a_visitor_does() {
    let page = Page::new(FORM);
    page.site.set_override("/done.html", "<!doctype html><title>Done</title><h1>Thanks</h1>");
    let rest = r##"steps:
      - navigate: /
      - click: { role: button, name: Deep }
      - assert: { text: { of: { test_id: out }, equals: "deep true" } }
      - fill: { into: { label: E-mail }, value: "buyer@example.com" }
      - assert: { value: { of: { label: E-mail }, equals: "buyer@example.com" } }
      - fill: { into: { label: Notes }, value: "two\nlines" }
      - fill: { into: { label: Day }, value: "2024-02-29" }
      - assert: { value: { of: { label: Day }, equals: "2024-02-29" } }
      - fill: { into: { role: textbox, name: Rich }, value: "" }
      - assert: { text: { of: { label: Rich }, equals: "" } }
      - fill: { into: { placeholder: Search }, value: abc }
      - press: { key: Backspace, in: { placeholder: Search } }
      - assert: { value: { of: { css: "[name=q]" }, equals: ab } }
      - press: { key: Control+a }
      - press: { key: Shift+x }
      - assert: { value: { of: { css: "[name=q]" }, equals: X } }
      - assert: { attribute: { of: { css: form }, name: action, contains: done } }
      - press: { key: Enter, in: { label: E-mail } }
      - wait_for: { url: { contains: "/done.html?mail=buyer" } }
      - assert: { title: { equals: Done } }
      - assert: { status: 200 }
      - assert: { count: { of: { role: heading }, equals: 1 } }
      - assert: { absent: { css: form } }
      - assert: { no_console_errors: true }
      - capture: { name: done }
"##;
    let browser = browser().await;
    let checkpoint = only(Run::new(&page.site, rest).on(&browser).await);
    assert_eq!(checkpoint.not_evidence, []);
    assert_eq!(checkpoint.url, page.site.url("/done.html"));
    browser.close().await;
}

#[tokio::test]
async fn a_link_is_followed_before_the_next_step() {
    let page = Page::new("<a href=/two.html>Next</a>");
    page.site.set_override("/two.html", "<!doctype html><p>Second");
    let rest = "steps: [{ navigate: / }, { click: { role: link, name: Next } }, { capture: { name: page } }]";
    let browser = browser().await;
    assert_eq!(only(Run::new(&page.site, rest).on(&browser).await).url, page.site.url("/two.html"));
    browser.close().await;
}

#[tokio::test]
async fn assertions_that_do_not_hold_are_listed_and_the_cell_goes_on() {
    let page = Page::new("<p>One</p><p>Two</p><script>console.error('bad thing')</script>");
    let rest = "steps: [{ navigate: / }, { assert: { count: { of: { css: p }, equals: 3 } } }, { assert: { text: { of: { css: p }, equals: One } } }, { assert: { no_console_errors: true } }, { capture: { name: page } }]";
    let browser = browser().await;
    let mut run = Run::new(&page.site, rest);
    run.step_deadline = Duration::from_secs(1);
    let outcome = run.on(&browser).await;
    assert_eq!(outcome.failure, None);
    assert_eq!(outcome.checkpoints.len(), 1);
    let said: Vec<_> = outcome.failed_assertions.iter().map(|f| (f.step, f.message.as_str())).collect();
    assert_eq!(said.iter().map(|(step, _)| *step).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(said[0].1.contains("found 2 elements"), "{said:?}");
    assert!(said[1].1.contains("2 elements match"), "{said:?}");
    assert!(said[2].1.contains("bad thing"), "{said:?}");
    let console: serde_json::Value = serde_json::from_slice(&outcome.console).unwrap();
    assert_eq!(console["messages"][0]["text"], "bad thing");
    browser.close().await;
}

#[tokio::test]
async fn a_target_must_be_one_element_that_takes_the_click() {
    let page = Page::new(
        "<button>Save draft</button><button>Copy</button><button>Copy</button><button id=off disabled>Off</button>\
         <button id=under>Under</button><div id=veil style='position:fixed;inset:0 0 0 600px'></div>\
         <button id=covered style='position:absolute;left:700px;top:9px'>Covered</button>\
         <style>#covered{z-index:-1}</style>",
    );
    let browser = browser().await;
    let cases = [
        ("{ role: button, name: Save }", FailureReason::TargetMissing, "Save draft"),
        ("{ role: button, name: Copy }", FailureReason::TargetAmbiguous, "2 elements match"),
        ("{ css: '#off' }", FailureReason::TargetNotActionable, "disabled"),
        ("{ css: '#covered' }", FailureReason::TargetNotActionable, "veil"),
        ("{ css: 'p[' }", FailureReason::TargetMissing, "valid selector"),
    ];
    for (locator, reason, said) in cases {
        let mut run = Run::new(
            &page.site,
            &format!("steps: [{{ navigate: / }}, {{ click: {locator} }}, {{ capture: {{ name: page }} }}]"),
        );
        run.step_deadline = Duration::from_millis(1200);
        let outcome = run.on(&browser).await;
        assert!(outcome.failure_picture.is_some());
        let failure = failure(outcome);
        assert_eq!((failure.reason, failure.step), (reason, Some(1)), "{locator}: {}", failure.message);
        assert!(failure.message.contains(said), "{}", failure.message);
    }
    let rest = "steps: [{ navigate: / }, { click: { role: button, name: Copy, nth: 1 } }, { capture: { name: page } }]";
    only(Run::new(&page.site, rest).on(&browser).await);
    browser.close().await;
}

#[tokio::test]
async fn locators_are_refined_by_place_and_text() {
    let page = Page::new(
        "<ul><li id=a>Apples <button>Buy</button></li><li>Pears <button onclick=\"document.title='pears'\">Buy</button></li></ul><img alt=Logo title=Home width=9 height=9>",
    );
    let rest = "steps: [{ navigate: / }, { click: { role: button, name: Buy, within: { css: li, has_text: Pears } } }, { assert: { title: { equals: pears } } }, { assert: { visible: { alt: Logo } } }, { assert: { visible: { title: Home } } }, { assert: { visible: { text: 'Apples Buy' } } }]";
    let browser = browser().await;
    let outcome = Run::new(&page.site, rest).on(&browser).await;
    assert_eq!((outcome.failure, outcome.failed_assertions), (None, Vec::new()));
    browser.close().await;
}
