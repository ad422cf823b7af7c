//! What a comparison with the pinned baseline comes to, for a checkpoint and for the run.

use pinhole_compare::{DecodeLimits, decode_png, encode_png};
use pinhole_core::{FailedAssertion, NotEvidence, Submission};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    path::Path,
    pictures::{BOX, BOX_AREA, HEIGHT, WIDTH, blank, commented, file, tall},
    rows::on_both_engines,
    worker::{ONE, TWO_CELLS, order_with},
};

on_both_engines! {
    equal_pixels_match
    another_picture_is_changed_and_shown
    another_size_is_changed
    another_renderer_is_incomparable
    other_rules_are_incomparable
    stated_tolerance_passes
    ignored_pixels_are_not_compared
    what_proves_nothing_is_not_compared
    a_checkpoint_without_a_baseline_is_new
    the_first_verdict_that_holds_is_the_runs
    a_receipt_is_the_reference_of_its_own_row
}

/// Area of a whole page.
const AREA: u64 = WIDTH as u64 * HEIGHT as u64;

impl Path {
    /// A run of the head against the run before it.
    async fn next(&self) -> Value {
        let order = order_with("probe", "baseline", json!({ "receipt": "previous" }));
        self.bench.keyed(&self.maker, "start_scenario_run", order).await.unwrap()
    }

    /// The result of a run with this file after one with `before`.
    async fn after(&self, source: &str, before: &[u8], file: &[u8], edit: impl Fn(usize, &mut Submission)) -> Value {
        let first = self.run_of(source).await;
        assert_eq!(self.bench.complete(&first, before).await["verdict"], "needs_baseline");
        let run = self.next().await;
        self.bench.complete_with(&run, file, edit).await
    }
}

/// The sum of an account, which names eight classes.
fn total(account: &Value) -> u64 {
    let account = account.as_object().unwrap();
    assert_eq!(account.len(), 8);
    account.values().map(|class| class.as_u64().unwrap()).sum()
}

/// Another renderer took every picture.
fn newer_browser(told: &mut Submission) {
    for checkpoint in &mut told.checkpoints {
        checkpoint.render.browser = "HeadlessChrome/1.2.4".into();
    }
}

async fn equal_pixels_match(engine: Engine) {
    let path = Path::on(engine).await;
    let result = path.after(ONE, &file(1), &file(1), |_, _| {}).await;
    let found = &result["checkpoints"][0];
    assert_eq!((&result["verdict"], &found["verdict"]), (&json!("needs_baseline"), &json!("matched")));
    let comparison = &found["comparison"];
    assert_eq!((&comparison["account"]["equal"], total(&comparison["account"])), (&json!(AREA), AREA));
    assert_eq!((&comparison["regions"], found.get("difference")), (&json!([]), None));
    assert_eq!(found["baseline"]["sha256"], found["capture_digest"]);
    assert_ne!(found["baseline_receipt_id"], found["receipt_id"]);

    let run = path.next().await;
    let result = path.bench.complete(&run, &commented(file(1))).await;
    let found = &result["checkpoints"][0];
    assert_eq!(found["verdict"], "matched");
    assert_ne!(found["baseline"]["sha256"], found["capture_digest"], "another file of the same pixels");
    assert_eq!(found["comparison"]["account"]["equal"], json!(AREA));
}

async fn another_picture_is_changed_and_shown(engine: Engine) {
    let path = Path::on(engine).await;
    let result = path.after(ONE, &file(1), &file(200), |_, _| {}).await;
    let found = &result["checkpoints"][0];
    assert_eq!((&result["verdict"], &found["verdict"]), (&json!("changed"), &json!("changed")));
    let comparison = &found["comparison"];
    let account = &comparison["account"];
    assert_eq!((&account["changed"], &account["equal"]), (&json!(BOX_AREA), &json!(AREA - BOX_AREA)));
    assert_eq!(total(account), AREA);
    let regions = comparison["regions"].as_array().unwrap();
    let [x, y, width, height] = BOX;
    assert_eq!(regions.len(), 1);
    assert_eq!(regions[0]["rect"], json!({ "x": x, "y": y, "width": width, "height": height }));
    assert_eq!(regions[0]["changed_pixels"], json!(BOX_AREA));
    assert_eq!((&comparison["size_baseline"], &comparison["regions_omitted"]), (&json!([WIDTH, HEIGHT]), &json!(0)));

    let difference = &found["difference"];
    assert_eq!((&difference["kind"], &difference["media_type"]), (&json!("difference"), &json!("image/png")));
    let id = difference["id"].as_str().unwrap().parse().unwrap();
    let bytes = path.bench.app.artifact_content(&path.bench.owner, id).await.unwrap().read().await.unwrap();
    let picture = decode_png(&bytes, &DecodeLimits::default()).unwrap();
    assert_eq!((picture.width(), picture.height()), (WIDTH, HEIGHT));
    assert_ne!(picture.pixel(x, y), picture.pixel(x - 1, y), "the change stands out");
}

async fn another_size_is_changed(engine: Engine) {
    let path = Path::on(engine).await;
    let taller = HEIGHT + 6;
    let bytes = encode_png(&tall(1, taller)).unwrap();
    let result = path.after(ONE, &file(1), &bytes, |_, told| told.checkpoints[0].layout = [WIDTH, taller]).await;
    let found = &result["checkpoints"][0];
    assert_eq!(found["verdict"], "changed");
    let account = &found["comparison"]["account"];
    assert_eq!(total(account), u64::from(WIDTH * taller), "the area of the union");
    assert_eq!(account["outside_common_area"], json!(WIDTH * 6));
    assert_eq!(found["comparison"]["size_candidate"], json!([WIDTH, taller]));
}

async fn another_renderer_is_incomparable(engine: Engine) {
    let path = Path::on(engine).await;
    let result = path.after(ONE, &file(1), &file(1), |_, told| newer_browser(told)).await;
    let found = &result["checkpoints"][0];
    assert_eq!((&result["verdict"], &found["verdict"]), (&json!("incomparable"), &json!("incomparable")));
    assert_eq!((found.get("comparison"), found.get("difference")), (None, None));
    assert!(found["baseline_receipt_id"].is_string() && found["baseline"].is_object(), "it is named all the same");
}

async fn other_rules_are_incomparable(engine: Engine) {
    let path = Path::on(engine).await;
    let first = path.run_of(ONE).await;
    path.bench.complete(&first, &file(1)).await;
    let scenario = json!({ "id": first["pins"]["scenario"], "version": 1 });
    path.bench.revise(&scenario, &ONE.replace("home }", "home, compare: { max_changed_pixels: 1 } }")).await;
    let result = path.bench.complete(&path.next().await, &file(1)).await;
    assert_eq!(
        (&result["verdict"], &result["checkpoints"][0]["verdict"]),
        (&json!("incomparable"), &json!("incomparable"))
    );
}

async fn stated_tolerance_passes(engine: Engine) {
    for (tolerated, verdict) in [(BOX_AREA, "matched"), (BOX_AREA - 1, "changed")] {
        let path = Path::on(engine).await;
        let rule = format!("home, compare: {{ max_changed_pixels: {tolerated} }} }}");
        let result = path.after(&ONE.replace("home }", &rule), &file(1), &file(2), |_, _| {}).await;
        let found = &result["checkpoints"][0];
        assert_eq!(found["verdict"], verdict);
        let comparison = &found["comparison"];
        assert_eq!(comparison["account"]["changed"], json!(BOX_AREA), "what is tolerated is counted");
        assert_eq!(comparison["regions"].as_array().unwrap().len(), 1, "and shown");
    }
}

async fn ignored_pixels_are_not_compared(engine: Engine) {
    let path = Path::on(engine).await;
    let source = ONE.replace("home }", "home, ignore: [ { css: .clock } ], mask: [ { css: .ad } ] }");
    let rectangles = |_: usize, told: &mut Submission| {
        told.checkpoints[0].ignored = vec![BOX];
        told.checkpoints[0].masked = vec![[0, 20, WIDTH, 2]];
    };
    let result = path.after(&source, &file(1), &file(2), rectangles).await;
    let found = &result["checkpoints"][0];
    assert_eq!(found["verdict"], "matched");
    let account = &found["comparison"]["account"];
    assert_eq!((&account["ignored"], &account["masked"]), (&json!(BOX_AREA), &json!(WIDTH * 2)));
    assert_eq!((&account["changed"], total(account)), (&json!(0), AREA));
}

async fn what_proves_nothing_is_not_compared(engine: Engine) {
    let path = Path::on(engine).await;
    let first = path.run_of(ONE).await;
    path.bench.complete(&first, &file(1)).await;
    let told = |reason: NotEvidence| {
        move |_: usize, told: &mut Submission| told.checkpoints[0].not_evidence.push(reason.clone())
    };
    let moving = NotEvidence::StillMoving { what: "clock".into() };
    let wrong_size = NotEvidence::SizeDisagrees { expected: [WIDTH, HEIGHT + 1], actual: [WIDTH, HEIGHT] };
    let outcomes = [
        (path.bench.complete(&path.next().await, &blank()).await, json!([{ "rule": "one_colour" }])),
        (
            path.bench
                .complete_with(&path.next().await, &file(1), |_, told| told.checkpoints[0].layout = [WIDTH, HEIGHT + 1])
                .await,
            json!([wrong_size]),
        ),
        (path.bench.complete_with(&path.next().await, &file(1), told(moving.clone())).await, json!([moving])),
    ];
    for (result, reasons) in outcomes {
        let found = &result["checkpoints"][0];
        assert_eq!((&result["state"], &result["verdict"]), (&json!("completed"), &json!("not_evidence")));
        assert_eq!((&found["verdict"], &found["not_evidence"]), (&json!("not_evidence"), &reasons));
        assert_eq!((found.get("comparison"), found.get("baseline_receipt_id")), (None, None));
    }
}

async fn a_checkpoint_without_a_baseline_is_new(engine: Engine) {
    let path = Path::on(engine).await;
    let first = path.run_of(ONE).await;
    assert_eq!(path.bench.complete(&first, &file(1)).await["checkpoints"][0]["verdict"], "new");
    let scenario = json!({ "id": first["pins"]["scenario"], "version": 1 });
    path.bench.revise(&scenario, &format!("{ONE}  - capture: {{ name: footer }}\n")).await;
    let result = path.bench.complete(&path.next().await, &file(1)).await;
    let verdicts: Vec<_> = result["checkpoints"].as_array().unwrap().iter().map(|found| &found["verdict"]).collect();
    assert_eq!(verdicts, ["matched", "new"]);
    assert_eq!((result["checkpoints"][1].get("comparison"), &result["verdict"]), (None, &json!("needs_baseline")));
}

/// What goes wrong in a cell.
type Wrong = fn(&mut Submission);

async fn the_first_verdict_that_holds_is_the_runs(engine: Engine) {
    let path = Path::on(engine).await;
    path.bench.scenario("probe", TWO_CELLS).await;
    let fine: Wrong = |_| {};
    let assertion: Wrong = |told| told.failed_assertions.push(FailedAssertion { step: 0, message: "no".into() });
    let blurred: Wrong = |told| told.checkpoints[0].not_evidence.push(NotEvidence::FontsNotReady);
    for (bytes, wrong, verdict) in [
        (file(1), [fine, fine], "needs_baseline"),
        (file(2), [fine, fine], "changed"),
        (file(2), [fine, newer_browser], "incomparable"),
        (file(2), [newer_browser, blurred], "not_evidence"),
        (file(2), [blurred, assertion], "failed_assertion"),
        (file(1), [assertion, fine], "failed_assertion"),
    ] {
        let none = order_with("probe", "baseline", json!({ "none": true }));
        let reference = path.bench.keyed(&path.maker, "start_scenario_run", none).await.unwrap();
        path.bench.complete(&reference, &file(1)).await;
        let run = path.next().await;
        let result = path.bench.complete_with(&run, &bytes, |cell, told| wrong[cell](told)).await;
        assert_eq!((&result["state"], &result["verdict"]), (&json!("completed"), &json!(verdict)));
    }
}

async fn a_receipt_is_the_reference_of_its_own_row(engine: Engine) {
    let path = Path::on(engine).await;
    let first = path.run_of(TWO_CELLS).await;
    let receipt = path.bench.complete(&first, &file(1)).await["checkpoints"][1]["receipt_id"].clone();
    let order = order_with("probe", "baseline", json!({ "receipt": receipt }));
    let run = path.bench.keyed(&path.maker, "start_scenario_run", order).await.unwrap();
    let result = path.bench.complete(&run, &file(2)).await;
    let verdicts: Vec<_> = result["checkpoints"].as_array().unwrap().iter().map(|found| &found["verdict"]).collect();
    assert_eq!(verdicts, ["new", "changed"]);
}
