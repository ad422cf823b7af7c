//! Pages and servers that could pass something half for something whole.

use std::time::Duration;

use pinhole_core::NotEvidence;
use pinhole_testkit::Behaviour;

use crate::support::{Page, Run, WHOLE_PAGE, browser, cut_short, only, pixels};

#[tokio::test]
async fn a_picture_that_never_comes_is_no_evidence() {
    let browser = browser().await;
    for (body, said) in [
        ("<p>Text<img src=/never.png width=90 height=90>", "/never.png was still loading"),
        ("<style>p{background:url(/never.png)}</style><p>Text", "/never.png was still loading"),
        ("<p>Text<iframe src=/never.png></iframe>", "still"),
        ("<p aria-busy=true>Text", "busy"),
    ] {
        let page = Page::new(body);
        page.site.set_behaviour("/never.png", Behaviour::Silent);
        let mut run = Run::new(&page.site, WHOLE_PAGE);
        run.step_deadline = Duration::from_secs(3);
        let found = only(run.on(&browser).await).not_evidence;
        assert!(matches!(&found[..], [NotEvidence::StillMoving { what }] if what.contains(said)), "{body}: {found:?}");
    }
    browser.close().await;
}

#[tokio::test]
async fn a_part_that_breaks_off_is_no_evidence() {
    let browser = browser().await;
    let (base, server) = cut_short();
    let page = Page::new("<p>Text");
    for (path, part) in [("/cut", "/cut"), ("/style", "/cut.css"), ("/picture", "/cut.png"), ("/whole", "")] {
        let rest = format!("steps: [{{ navigate: {path} }}, {{ capture: {{ name: page }} }}]");
        let mut run = Run::new(&page.site, &rest);
        run.base = base.clone();
        run.step_deadline = Duration::from_secs(4);
        let found = only(run.on(&browser).await).not_evidence;
        let missing = |why: &NotEvidence| matches!(why, NotEvidence::PartMissing { what } if what.contains(part));
        assert_eq!(found.iter().any(missing), !part.is_empty(), "{path}: {found:?}");
        assert_eq!(found.is_empty(), part.is_empty(), "{path}: {found:?}");
    }
    browser.close().await;
    server.stop();
}

#[tokio::test]
async fn names_of_elements_hide_nothing_of_the_document() {
    let names = ["scrollingElement", "fonts", "readyState", "scripts", "adoptedStyleSheets", "activeElement", "body"];
    let named = ["documentElement", "createTreeWalker", "createElement", "getAnimations", "title", "querySelectorAll"]
        .iter()
        .chain(&names)
        .map(|name| format!("<form name={name}><input name=localName><input name=shadowRoot></form>"));
    let body = format!(
        "<style>form{{display:none}}</style><p id=mask style='height:2500px'>Text{}",
        named.collect::<String>()
    );
    let page = Page::new(&body);
    let rest = "steps: [{ navigate: / }, { assert: { title: { equals: T } } }, { capture: { name: page, mask: [{ css: '#mask' }] } }]";
    let browser = browser().await;
    let checkpoint = only(Run::new(&page.site, rest).on(&browser).await);
    assert_eq!(checkpoint.not_evidence, []);
    let [masked] = checkpoint.masked[..] else { panic!("{:?}", checkpoint.masked) };
    assert!(checkpoint.layout[1] > 2500 && masked[3] == 2500, "{:?} {masked:?}", checkpoint.layout);
    browser.close().await;
}

#[tokio::test]
async fn half_a_character_loses_no_message() {
    let page = Page::new(
        "<p id=o>Text</p><script>o.textContent='Cut '+'\u{1F600}'.slice(0,1);console.error(o.textContent);setTimeout(()=>{alert(o.textContent);o.title='done'},50)</script>",
    );
    let rest = "steps: [{ navigate: / }, { wait_for: { visible: { title: done } } }, { assert: { text: { of: { css: '#o' }, contains: Cut } } }, { assert: { no_console_errors: true } }, { capture: { name: page } }]";
    let browser = browser().await;
    let outcome = Run::new(&page.site, rest).on(&browser).await;
    assert_eq!((outcome.failure, outcome.checkpoints.len()), (None, 1));
    let [failed] = &outcome.failed_assertions[..] else { panic!("{:?}", outcome.failed_assertions) };
    assert_eq!(failed.step, 3);
    assert!(failed.message.contains("Cut"), "{}", failed.message);
    browser.close().await;
}

#[tokio::test]
async fn a_page_that_leaves_while_it_is_pictured_is_followed() {
    let browser = browser().await;
    for after in (60..300).step_by(30) {
        let page =
            Page::new(&format!("<p>First<script>setTimeout(()=>location.replace('/next.html'),{after})</script>"));
        page.site.set_override("/next.html", "<!doctype html><body style='background:linear-gradient(red,blue)'>");
        let mut run = Run::new(&page.site, WHOLE_PAGE);
        // A picture that is waited for and never comes fails the step at its end, however slow the machine is.
        (run.deadline, run.step_deadline) = (Duration::from_secs(120), Duration::from_secs(60));
        let checkpoint = only(run.on(&browser).await);
        // A slow machine may come later than the redirect; what counts is that one document was pictured.
        let path = checkpoint.url.trim_start_matches(&page.site.origin()).to_owned();
        let expected =
            if path == "/" { vec![] } else { vec![NotEvidence::WrongLocation { url: checkpoint.url.clone() }] };
        assert_eq!(checkpoint.not_evidence, expected, "{after} ms");
    }
    browser.close().await;
}

#[tokio::test]
async fn what_lies_left_of_zero_is_covered_and_pictured() {
    // Written from right to left, a document that is wider than the window begins at a negative place.
    let page = Page::new(
        "<style>html{direction:rtl}body{margin:0}div{position:relative;width:3000px;height:900px;background:linear-gradient(red,blue)}\
         b{position:absolute;left:10px;top:0;width:50px;height:40px;background:#0f0}i{position:absolute;left:100px;top:0;width:30px;height:20px;background:#0f0}</style>\
         <div><b></b><i></i></div>",
    );
    let rest = "steps: [{ navigate: / }, { capture: { name: page, mask: [{ css: b }], ignore: [{ css: i }] } }, { capture: { name: element, area: { element: { css: i } } } }]";
    let browser = browser().await;
    let outcome = Run::new(&page.site, rest).on(&browser).await;
    assert_eq!(outcome.failure, None);
    let [whole, element] = &outcome.checkpoints[..] else { panic!("two checkpoints") };
    assert_eq!((&whole.not_evidence[..], whole.layout), (&[][..], [3000, 900]));
    assert_eq!((&whole.masked[..], &whole.ignored[..]), (&[[10, 0, 50, 40]][..], &[[100, 0, 30, 20]][..]));
    for (x, colour) in [(10, [255, 0, 255, 255]), (59, [255, 0, 255, 255]), (101, [0, 255, 0, 255])] {
        assert_eq!(pixels(&whole.png).get_pixel(x, 9).0, colour, "{x}");
    }
    assert_eq!(element.layout, [30, 20]);
    assert!(pixels(&element.png).pixels().all(|pixel| pixel.0 == [0, 255, 0, 255]));
    browser.close().await;
}
