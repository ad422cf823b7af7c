//! Pictures: their size, their sameness, what is covered, and what keeps them from being evidence.

use std::sync::{Arc, Mutex};

use pinhole_core::{NotEvidence, Sha256Digest, Viewport};
use pinhole_testkit::Behaviour;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::support::{Page, Run, WHOLE_PAGE, browser, only, pixels};

const TALL: &str = "<style>body{margin:0;height:2345px;background:linear-gradient(red,blue)}h1{margin:0;padding:40px}</style><h1>Tall page</h1><input autofocus>";

#[tokio::test]
async fn a_whole_page_has_its_size_and_is_equal_in_two_contexts() {
    let (browser, page) = (browser().await, Page::new(TALL));
    let run = Run::new(&page.site, WHOLE_PAGE);
    let (first, second) = (only(run.on(&browser).await), only(run.on(&browser).await));
    assert_eq!(first.layout, [1280, 2345]);
    assert_eq!(pixels(&first.png).dimensions(), (1280, 2345));
    assert_eq!(pixels(&first.png), pixels(&second.png));
    assert_eq!(first.not_evidence, []);
    assert_eq!(first.url, format!("{}/", page.site.origin()));
    assert_eq!(first.settled["pictures"], 2);
    assert_eq!(first.settled["before"], first.settled["after"]);
    assert_eq!(pixels(&first.png).get_pixel(1279, 2344).0, [0, 0, 255, 255], "painted to the last pixel");
    browser.close().await;
}

#[tokio::test]
async fn a_picture_equal_to_the_baseline_needs_one_look_and_another_two() {
    let (browser, page) = (browser().await, Page::new(TALL));
    let mut run = Run::new(&page.site, WHOLE_PAGE);
    let baseline = only(run.on(&browser).await);
    run.known.insert("page".parse().unwrap(), Sha256Digest::of(&baseline.png));
    let same = only(run.on(&browser).await);
    assert_eq!((same.settled["pictures"].clone(), same.png), (1.into(), baseline.png));
    page.site.set_override("/", "<!doctype html><p>Changed");
    let changed = only(run.on(&browser).await);
    assert_eq!(changed.settled["pictures"], 3);
    assert_eq!(changed.layout, [1280, 800]);
    browser.close().await;
}

#[tokio::test]
async fn every_request_carries_the_headers_of_the_environment() {
    let seen = Seen::serve().await;
    let browser = browser().await;
    let page = Page::new("unused");
    let mut run = Run::new(&page.site, WHOLE_PAGE);
    run.base = seen.base.clone();
    run.headers = vec![("X-Preview".into(), "pr-7".into())];
    only(run.on(&browser).await);
    run.headers.clear();
    only(run.on(&browser).await);
    let carried = |path: &str| {
        let requests = seen.requests.lock().unwrap();
        let of_path = requests.iter().filter(|head| head.starts_with(&format!("GET {path} ")));
        of_path.map(|head| head.to_ascii_lowercase().contains("x-preview: pr-7\r\n")).collect::<Vec<_>>()
    };
    assert_eq!(carried("/"), [true, false]);
    assert_eq!(carried("/style.css"), [true, false], "what the page asks for carries it too");
    browser.close().await;
}

/// A server that answers everything with one page and keeps the heads of the requests.
struct Seen {
    base: url::Url,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Seen {
    async fn serve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let kept = Arc::clone(&kept);
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        match stream.read_u8().await {
                            Ok(byte) => head.push(byte),
                            Err(_) => return,
                        }
                    }
                    kept.lock().unwrap().push(String::from_utf8_lossy(&head).into_owned());
                    let body = "<!doctype html><link rel=stylesheet href=/style.css><h1>Page</h1>";
                    let kind = if head.starts_with(b"GET /style") { "text/css" } else { "text/html" };
                    let head = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                        body.len()
                    );
                    let _written = stream.write_all(head.as_bytes()).await;
                });
            }
        });
        Self { base, requests }
    }
}

#[tokio::test]
async fn the_profile_is_what_the_page_sees() {
    let page = Page::new(
        "<meta name=viewport content='width=device-width'><style>body{margin:0;height:900px;background:#fff}\
         @media (prefers-color-scheme:dark){body{background:#000}}pre{margin:0;font-size:8px}</style><pre id=o></pre><script>\
         const zone=()=>Intl.DateTimeFormat().resolvedOptions().timeZone;\
         const f=document.createElement('iframe');f.srcdoc='<script>parent.inner=Intl.DateTimeFormat().resolvedOptions().timeZone<\\/script>';\
         f.hidden=true;f.onload=()=>{o.textContent=[navigator.language,zone(),inner,new Intl.NumberFormat().format(1234.5),\
         matchMedia('(prefers-reduced-motion: reduce)').matches,navigator.maxTouchPoints,devicePixelRatio].join(' ')};\
         document.body.append(f)</script>",
    );
    let browser = browser().await;
    let text = "de-DE Europe/London Europe/London 1.234,5 true 5 2";
    let steps = format!(
        "steps: [{{ navigate: / }}, {{ assert: {{ text: {{ of: {{ css: '#o' }}, equals: '{text}' }} }} }}, {{ capture: {{ name: page }} }}]"
    );
    let mut run = Run::new(&page.site, &steps);
    run.profile.viewport = Viewport { width: 390, height: 844 };
    run.profile.scale = 2.0;
    run.profile.touch = true;
    run.profile.locale = "de-DE".into();
    run.profile.timezone = "Europe/London".into();
    run.profile.color_scheme = pinhole_core::ColorScheme::Dark;
    let checkpoint = only(run.on(&browser).await);
    assert_eq!(checkpoint.layout, [780, 1800]);
    assert_eq!(checkpoint.not_evidence, []);
    assert_eq!(pixels(&checkpoint.png).dimensions(), (780, 1800));
    assert_eq!(pixels(&checkpoint.png).get_pixel(700, 1700).0, [0, 0, 0, 255]);
    assert_eq!(checkpoint.render.profile, run.profile);
    browser.close().await;
}

#[tokio::test]
async fn odd_sizes_and_scales_agree_with_the_layout() {
    let (browser, page) = (browser().await, Page::new("<style>body{margin:0;height:1001.3px}</style><p>Odd"));
    for (width, scale) in [(333, 1.5), (391, 1.1), (641, 0.5), (390, 2.625), (320, 3.0)] {
        let mut run = Run::new(&page.site, WHOLE_PAGE);
        run.profile.viewport = Viewport { width, height: 301 };
        run.profile.scale = scale;
        let checkpoint = only(run.on(&browser).await);
        assert_eq!(checkpoint.not_evidence, [], "{width} at {scale}");
    }
    browser.close().await;
}

#[tokio::test]
async fn masks_are_painted_over_and_hidden_things_are_gone() {
    let page = Page::new(
        "<style>body{margin:0;background:#fff}div{position:absolute;overflow:hidden;width:100px;height:50px;background:#00f}</style>\
         <div id=secret style='left:10px;top:20px'></div><div id=gone style='left:300px;top:20px'></div>\
         <dialog id=d style='position:fixed;left:500px;top:20px;margin:0;border:0;padding:0;width:100px;height:50px'><div id=top></div></dialog>\
         <script>d.showModal(); setInterval(()=>{secret.textContent=Date.now()}, 20)</script>",
    );
    let rest = "steps: [{ navigate: / }, { capture: { name: page, mask: [{ css: '#secret' }, { css: '#top' }, { css: '.none' }], hide: [{ css: '#gone' }], ignore: [{ css: '#d' }] } }]";
    let browser = browser().await;
    let checkpoint = only(Run::new(&page.site, rest).on(&browser).await);
    let picture = pixels(&checkpoint.png);
    assert_eq!(checkpoint.masked[0], [10, 20, 100, 50]);
    assert_eq!(checkpoint.masked.len(), 2);
    assert_eq!(checkpoint.ignored.len(), 1);
    for (x, y) in [(10, 20), (109, 69), (510, 30)] {
        assert_eq!(picture.get_pixel(x, y).0, [255, 0, 255, 255], "{x},{y}");
    }
    assert_ne!(picture.get_pixel(310, 30).0[2] as i32 - picture.get_pixel(310, 30).0[0] as i32, 255, "hidden");
    let [NotEvidence::UnmatchedMask { locator }] = &checkpoint.not_evidence[..] else {
        panic!("{:?}", checkpoint.not_evidence)
    };
    assert!(locator.contains(".none"), "{locator}");
    browser.close().await;
}

#[tokio::test]
async fn an_element_or_the_window_can_be_pictured() {
    let page = Page::new(
        "<style>body{margin:0;height:3000px}#box{position:absolute;left:50.5px;top:1500px;width:200px;height:100px;background:#0f0}</style><div id=box></div>",
    );
    let rest = "steps: [{ navigate: / }, { capture: { name: box, area: { element: { css: '#box' } } } }, { capture: { name: window, area: viewport } }]";
    let browser = browser().await;
    let outcome = Run::new(&page.site, rest).on(&browser).await;
    assert_eq!(outcome.failure, None);
    let [element, window] = &outcome.checkpoints[..] else { panic!("two checkpoints") };
    assert_eq!((element.layout, window.layout), ([201, 100], [1280, 800]));
    assert_eq!(pixels(&element.png).get_pixel(100, 50).0, [0, 255, 0, 255]);
    assert_eq!((element.not_evidence.len(), window.not_evidence.len()), (0, 0));
    browser.close().await;
}

#[tokio::test]
async fn animations_stand_still_and_what_cannot_is_named() {
    let browser = browser().await;
    let css = "<style>@keyframes s{to{transform:rotate(1turn)}}@keyframes f{from{opacity:0}}\
        #a{width:90px;height:90px;background:red;animation:s 1s linear infinite}#b{animation:f 30s}</style><div id=a></div><p id=b>Fades in</p>";
    let run_css = Page::new(css);
    let run = Run::new(&run_css.site, WHOLE_PAGE);
    let (first, second) = (only(run.on(&browser).await), only(run.on(&browser).await));
    assert_eq!(first.not_evidence, []);
    assert_eq!(pixels(&first.png), pixels(&second.png));
    let canvas = Page::new(
        "<canvas id=c></canvas><script>const x=c.getContext('2d');let n=0;(function f(){x.fillStyle=`rgb(${n++%256},0,0)`;x.fillRect(0,0,99,99);requestAnimationFrame(f)})()</script>",
    );
    let mut run = Run::new(&canvas.site, WHOLE_PAGE);
    run.step_deadline = std::time::Duration::from_secs(4);
    let moving = only(run.on(&browser).await);
    assert!(
        matches!(&moving.not_evidence[..], [NotEvidence::StillMoving { what }] if what.contains("canvas")),
        "{:?}",
        moving.not_evidence
    );
    browser.close().await;
}

/// Two frames of one pixel, red then blue, 50 ms each, without end (GIF89a).
const BLINKING: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\xff\0\0\0\0\xff\
    \x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0\
    \x21\xf9\x04\0\x05\0\0\0\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0\
    \x21\xf9\x04\0\x05\0\0\0\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x4c\x01\0\x3b";

#[tokio::test]
async fn an_animated_picture_stays_on_its_first_frame() {
    let page = Page::new("<style>body{margin:0}</style><img src=/b.gif width=100 height=100>");
    page.site.set_override("/b.gif", BLINKING);
    let browser = browser().await;
    for _ in 0..3 {
        let checkpoint = only(Run::new(&page.site, WHOLE_PAGE).on(&browser).await);
        assert_eq!(checkpoint.not_evidence, []);
        assert_eq!(pixels(&checkpoint.png).get_pixel(50, 50).0, [255, 0, 0, 255]);
    }
    browser.close().await;
}

/// Tiles that were repainted in part gave such a page one of two looks, some dozen pixels apart.
#[tokio::test]
async fn what_moved_before_it_was_frozen_leaves_no_trace() {
    let moving = "<style>@keyframes turn{to{transform:rotate(360deg)}}@keyframes glow{to{box-shadow:0 0 40px red;background:gold}}\
        body{font:15px sans-serif}.c{border:1px solid #bcd;border-radius:12px;padding:9px;margin:7px;display:inline-block}\
        .t{width:47px;height:47px;border:6px solid #68c;border-top-color:#fff;border-radius:50%;animation:turn .9s linear infinite}\
        .g{width:90px;height:33px;border-radius:16px;animation:glow .7s infinite alternate}</style><h2>Signals</h2>";
    let cards: String = (0..24)
        .map(|n| {
            format!("<div class=c><div class={}></div>Card {n}, {}</div>", if n % 2 == 0 { "t" } else { "g" }, n * 37)
        })
        .collect();
    let inner = format!("{moving}{cards}").replace('"', "&quot;");
    let frame = format!("<iframe srcdoc=\"{inner}\"></iframe>");
    let page = Page::new(&format!(
        "<style>iframe{{border:1px solid #dde;border-radius:8px;width:48%;height:420px}}</style><h1>Embeds</h1>{}",
        frame.repeat(4)
    ));
    let (browser, run) = (browser().await, Run::new(&page.site, WHOLE_PAGE));
    let first = only(run.on(&browser).await);
    assert_eq!(first.not_evidence, []);
    for _ in 0..9 {
        assert!(only(run.on(&browser).await).png == first.png, "the page looks as it did");
    }
    browser.close().await;
}

#[tokio::test]
async fn a_frame_of_another_site_and_a_worker_have_the_profile_too() {
    let page = Page::new(
        "<p id=o>-</p><p id=w>-</p><script>\
        onmessage=e=>{o.textContent=e.data};new Worker('/w.js').onmessage=e=>{w.textContent=e.data};\
        const f=document.createElement('iframe');f.src='http://localhost:'+location.port+'/f.html';document.body.append(f)</script>",
    );
    let zone = "Intl.DateTimeFormat().resolvedOptions().timeZone";
    let seen = format!("[{zone},new Date(0).getHours(),navigator.language].join(' ')");
    let frame = format!(
        "<script>parent.postMessage({seen}+' '+matchMedia('(prefers-color-scheme: dark)').matches,'*')</script>"
    );
    page.site.set_override("/f.html", frame);
    page.site.set_override("/w.js", format!("postMessage({seen})"));
    let rest = "steps: [{ navigate: / }, { assert: { text: { of: { css: '#o' }, equals: 'Asia/Tokyo 9 de-DE true' } } }, { assert: { text: { of: { css: '#w' }, equals: 'Asia/Tokyo 9 de-DE' } } }, { capture: { name: page } }]";
    let mut run = Run::new(&page.site, rest);
    run.profile.timezone = "Asia/Tokyo".into();
    run.profile.locale = "de-DE".into();
    run.profile.color_scheme = pinhole_core::ColorScheme::Dark;
    let browser = browser().await;
    only(run.on(&browser).await);
    browser.close().await;
}

#[tokio::test]
async fn late_content_is_waited_for() {
    let page = Page::new(
        "<div id=o>Loading</div><img loading=lazy style='margin-top:3000px' width=10 height=10 src=/dot.svg><script>\
         fetch('/data').then(r=>r.text()).then(t=>setTimeout(()=>{o.textContent=t},80))</script>",
    );
    page.site.set_override("/data", "Arrived");
    page.site.set_behaviour("/data", Behaviour::Slow(std::time::Duration::from_millis(400)));
    page.site.set_override("/dot.svg", "<svg xmlns='http://www.w3.org/2000/svg' width='10' height='10'><rect width='10' height='10' fill='red'/></svg>");
    let rest = "ready: [{ visible: { text: Arrived } }]\nsteps: [{ navigate: / }, { capture: { name: page } }]";
    let browser = browser().await;
    let with_rule = only(Run::new(&page.site, rest).on(&browser).await);
    let without = only(Run::new(&page.site, WHOLE_PAGE).on(&browser).await);
    assert_eq!(pixels(&with_rule.png), pixels(&without.png));
    assert_eq!(page.site.hits("/dot.svg"), 2, "lazy pictures are loaded");
    browser.close().await;
}

#[tokio::test]
async fn a_rule_that_never_holds_is_named() {
    let page = Page::new("<p>Skeleton");
    let rest = "ready: [{ visible: { css: p } }, { visible: { css: .chart } }]\nsteps: [{ navigate: / }, { capture: { name: page } }]";
    let browser = browser().await;
    let mut run = Run::new(&page.site, rest);
    run.step_deadline = std::time::Duration::from_secs(2);
    let checkpoint = only(run.on(&browser).await);
    assert_eq!(checkpoint.not_evidence, [NotEvidence::ReadyNeverHeld { index: 1 }]);
    browser.close().await;
}

#[tokio::test]
async fn an_error_page_or_another_place_is_no_evidence() {
    let page = Page::new("<p>Home");
    page.site.set_behaviour("/gone", Behaviour::Status(404));
    page.site.set_behaviour("/private", Behaviour::Redirect("/".into()));
    let browser = browser().await;
    let steps = |path: &str| format!("steps: [{{ navigate: {path} }}, {{ capture: {{ name: page }} }}]");
    let gone = only(Run::new(&page.site, &steps("/gone")).on(&browser).await);
    assert_eq!(gone.not_evidence, [NotEvidence::ErrorStatus { status: 404 }]);
    let expected = "steps: [{ navigate: /gone }, { assert: { status: 404 } }, { capture: { name: page } }]";
    assert_eq!(only(Run::new(&page.site, expected).on(&browser).await).not_evidence, []);
    let moved = only(Run::new(&page.site, &steps("/private")).on(&browser).await);
    let url = format!("{}/", page.site.origin());
    assert_eq!(moved.not_evidence, [NotEvidence::WrongLocation { url }]);
    browser.close().await;
}

#[tokio::test]
async fn a_font_that_does_not_come_is_no_evidence() {
    let page = Page::new("<style>@font-face{font-family:F;src:url(/f.woff2)}p{font-family:F}</style><p>Text");
    let browser = browser().await;
    let checkpoint = only(Run::new(&page.site, WHOLE_PAGE).on(&browser).await);
    assert_eq!(checkpoint.not_evidence, [NotEvidence::FontsNotReady]);
    browser.close().await;
}

#[tokio::test]
async fn contexts_share_nothing() {
    let page = Page::new(
        "<p id=o></p><script>o.textContent=[document.cookie,localStorage.x].join('|');document.cookie='a=1';localStorage.x=1</script>",
    );
    let browser = browser().await;
    let run = Run::new(&page.site, WHOLE_PAGE);
    let (first, second) = (only(run.on(&browser).await), only(run.on(&browser).await));
    assert_eq!(pixels(&first.png), pixels(&second.png));
    browser.close().await;
}

#[tokio::test]
async fn frames_of_the_same_site_stand_still_too_and_a_late_redirect_is_followed() {
    let page = Page::new("<meta http-equiv=refresh content='0;url=/next.html'><p>Moved");
    page.site.set_override(
        "/next.html",
        "<!doctype html><iframe srcdoc=\"<style>@keyframes s{to{transform:rotate(1turn)}}p{width:90px;animation:s 1s linear infinite}</style><p>Spins\"></iframe>",
    );
    let browser = browser().await;
    let run = Run::new(
        &page.site,
        "steps: [{ navigate: / }, { assert: { url: { equals: /next.html } } }, { capture: { name: page } }]",
    );
    let (first, second) = (only(run.on(&browser).await), only(run.on(&browser).await));
    assert_eq!(first.not_evidence, []);
    assert_eq!(pixels(&first.png), pixels(&second.png));
    browser.close().await;
}

#[tokio::test]
async fn a_page_that_never_stays_is_not_evidence_or_fails() {
    let browser = browser().await;
    let grows = Page::new(
        "<div id=d style='height:10px'></div><script>let n=900;(function f(){d.style.height=n+++'px';requestAnimationFrame(f)})()</script>",
    );
    let mut run = Run::new(&grows.site, WHOLE_PAGE);
    run.step_deadline = std::time::Duration::from_secs(3);
    let checkpoint = only(run.on(&browser).await);
    assert!(
        checkpoint
            .not_evidence
            .iter()
            .any(|why| matches!(why, NotEvidence::StillMoving { what } if what.contains("size"))),
        "{:?}",
        checkpoint.not_evidence
    );
    let reloads = Page::new("<p>Again<script>setTimeout(()=>location.reload(),30)</script>");
    let mut run = Run::new(&reloads.site, WHOLE_PAGE);
    run.step_deadline = std::time::Duration::from_secs(3);
    let outcome = run.on(&browser).await;
    let proven = outcome.checkpoints.first().is_some_and(|checkpoint| checkpoint.not_evidence.is_empty());
    assert!(!proven, "{:?}", outcome.checkpoints.first().map(|checkpoint| &checkpoint.settled));
    browser.close().await;
}

#[tokio::test]
async fn cells_that_run_at_once_do_not_see_each_other() {
    let browser = browser().await;
    let (red, blue) = (Page::new("<body style='background:red'>"), Page::new("<body style='background:blue'>"));
    let (red, blue) = (Run::new(&red.site, WHOLE_PAGE), Run::new(&blue.site, WHOLE_PAGE));
    let (a, b, c, d) = tokio::join!(red.on(&browser), blue.on(&browser), red.on(&browser), blue.on(&browser));
    let colours = [a, b, c, d].map(|outcome| pixels(&only(outcome).png).get_pixel(9, 9).0);
    assert_eq!(colours, [[255, 0, 0, 255], [0, 0, 255, 255], [255, 0, 0, 255], [0, 0, 255, 255]]);
    browser.close().await;
}

#[tokio::test]
async fn a_page_is_as_before_after_its_picture() {
    let page =
        Page::new("<p id=a>A</p><p id=b>B</p><button onclick=\"document.title='clicked'\">Under the mask</button>");
    let rest = r##"steps:
      - navigate: /
      - capture: { name: one, mask: [{ css: button }], hide: [{ css: "#b" }] }
      - assert: { visible: { css: "#b" } }
      - assert: { count: { of: { css: div }, equals: 0 } }
      - click: { css: button }
      - assert: { title: { equals: clicked } }
      - capture: { name: two }
"##;
    let browser = browser().await;
    let outcome = Run::new(&page.site, rest).on(&browser).await;
    assert_eq!((outcome.failure, outcome.failed_assertions), (None, Vec::new()));
    let [one, two] = &outcome.checkpoints[..] else { panic!("two checkpoints") };
    assert_ne!(one.png, two.png);
    assert!(two.masked.is_empty());
    browser.close().await;
}
