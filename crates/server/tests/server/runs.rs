//! Runs to the end without a browser: the test takes the worker's part and hands in pictures of its own making.

use pinhole_app::Claim;
use pinhole_core::{ArtifactKind, CellId, Ids as _, RandomIds, Submission};
use pinhole_testkit::worker;
use serde_json::{Value, json};

use crate::world::World;

const SCENARIO: &str =
    "schema: pinhole.scenario.v1\ntitle: Front page\nsteps:\n  - navigate: /\n  - capture: { name: front }\n";

const VALUES: &str = "schema: pinhole.scenario.v1\ntitle: Totals\nsteps:\n  - navigate: /\n  - extract: \
    { name: totals, values: { note: { text: { css: p } }, rows: { count: { css: tr } } } }\n";

/// Size of the pictures.
const SIZE: [u32; 2] = [320, 200];

impl World {
    /// Makes the environment `web` and the scenarios `front` and `totals`.
    pub(crate) async fn prepare(&self) {
        let environment = json!({ "project": "shop", "slug": "web", "idempotency_key": "web",
            "document": { "base_url": "https://shop.example/" } });
        let scenario = |slug: &str, source: &str| json!({ "project": "shop", "slug": slug, "idempotency_key": slug, "source": source });
        let (front, totals) = (scenario("front", SCENARIO), scenario("totals", VALUES));
        let scenarios = "/api/v1/scenarios";
        for (path, body) in [("/api/v1/environments", environment), (scenarios, front), (scenarios, totals)] {
            let made = self.post(path, &self.token, &body).await;
            assert_eq!(made.status(), 201, "{}", made.text());
        }
    }

    /// Runs `front` against the previous run and answers its result. The page's heading is as wide as `heading`.
    pub(crate) async fn run(&self, heading: u32) -> Value {
        let (run, claim) = self.start("front").await;
        let picture = self.app.stage(&claim.lease, ArtifactKind::Picture, "front", picture(heading)).await.unwrap();
        let checkpoint = worker::checkpoint(&"front".parse().unwrap(), picture, SIZE, &claim.profile);
        self.hand_in(&run, &claim, &worker::submission(vec![checkpoint])).await
    }

    /// Runs `totals` against the previous run and answers its result. `values` is what the page says, as JSON.
    pub(crate) async fn extract(&self, values: &str) -> Value {
        let (run, claim) = self.start("totals").await;
        let values = self.app.stage(&claim.lease, ArtifactKind::Values, "values-0", values.into()).await.unwrap();
        let extract = worker::extract(&"totals".parse().unwrap(), values, &claim.profile);
        let submission = Submission { extracts: vec![extract], ..worker::submission(Vec::new()) };
        self.hand_in(&run, &claim, &submission).await
    }

    async fn start(&self, scenario: &str) -> (Value, Claim) {
        let start = json!({ "project": "shop", "scenario": scenario, "revision": { "head": true }, "environment": "web",
            "environment_revision": { "latest": true }, "baseline": { "receipt": "previous" },
            "idempotency_key": RandomIds.uuid().to_string() });
        let started = self.post("/api/v1/runs", &self.token, &start).await;
        assert_eq!(started.status(), 201, "{}", started.text());
        let run = started.json();
        let cell: CellId = run["cells"][0]["id"].as_str().unwrap().parse().unwrap();
        let claim = self.app.claim(cell, "test").await.unwrap().expect("the cell is queued");
        (run["id"].clone(), claim)
    }

    async fn hand_in(&self, run: &Value, claim: &Claim, submission: &Submission) -> Value {
        assert!(self.app.submit(&claim.lease, submission).await.unwrap());
        self.app.register(claim.lease.cell, claim.lease.attempt).await.unwrap();
        let result = self.get(&format!("/api/v1/runs/{}/result", run.as_str().unwrap()), &self.token).await;
        assert_eq!(result.status(), 200, "{}", result.text());
        assert_eq!(result.json()["state"], "completed", "{}", result.text());
        result.json()
    }
}

/// A page with a heading of the given width.
pub(crate) fn picture(heading: u32) -> Vec<u8> {
    let pixel = |x: u32, y: u32| match (x, y) {
        (20.., 20..50) if x < 20 + heading => [42, 91, 215],
        (20..300, 70..180) if y % 20 < 8 => [200, 205, 214],
        _ => [255, 255, 255],
    };
    let pixels: Vec<u8> = (0..SIZE[1]).flat_map(|y| (0..SIZE[0]).flat_map(move |x| pixel(x, y))).collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, SIZE[0], SIZE[1]);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&pixels).unwrap();
    writer.finish().unwrap();
    bytes
}
