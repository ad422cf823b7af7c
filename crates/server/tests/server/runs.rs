//! Runs to the end without a browser: the test takes the worker's part and hands in pictures of its own making.

use pinhole_core::{ArtifactKind, CellId, Ids as _, RandomIds};
use pinhole_testkit::worker;
use serde_json::{Value, json};

use crate::world::World;

const SCENARIO: &str =
    "schema: pinhole.scenario.v1\ntitle: Front page\nsteps:\n  - navigate: /\n  - capture: { name: front }\n";

/// Size of the pictures.
const SIZE: [u32; 2] = [320, 200];

impl World {
    /// Makes the environment `web` and the scenario `front`.
    pub(crate) async fn prepare(&self) {
        let environment = json!({ "project": "shop", "slug": "web", "idempotency_key": "web",
            "document": { "base_url": "https://shop.example/" } });
        let scenario = json!({ "project": "shop", "slug": "front", "idempotency_key": "front", "source": SCENARIO });
        for (path, body) in [("/api/v1/environments", environment), ("/api/v1/scenarios", scenario)] {
            let made = self.post(path, &self.token, &body).await;
            assert_eq!(made.status(), 201, "{}", made.text());
        }
    }

    /// Runs `front` against the previous run and answers its result. The page's heading is as wide as `heading`.
    pub(crate) async fn run(&self, heading: u32) -> Value {
        let start = json!({ "project": "shop", "scenario": "front", "revision": { "head": true }, "environment": "web",
            "environment_revision": { "latest": true }, "baseline": { "receipt": "previous" },
            "idempotency_key": RandomIds.uuid().to_string() });
        let started = self.post("/api/v1/runs", &self.token, &start).await;
        assert_eq!(started.status(), 201, "{}", started.text());
        let run = started.json();
        let cell: CellId = run["cells"][0]["id"].as_str().unwrap().parse().unwrap();
        self.work(cell, &picture(heading)).await;
        let result = self.get(&format!("/api/v1/runs/{}/result", run["id"].as_str().unwrap()), &self.token).await;
        assert_eq!(result.status(), 200, "{}", result.text());
        assert_eq!(result.json()["state"], "completed", "{}", result.text());
        result.json()
    }

    async fn work(&self, cell: CellId, picture: &[u8]) {
        let claim = self.app.claim(cell, "test").await.unwrap().expect("the cell is queued");
        let picture = self.app.stage(&claim.lease, ArtifactKind::Picture, "front", picture.to_vec()).await.unwrap();
        let checkpoint = worker::checkpoint(&"front".parse().unwrap(), picture, SIZE, &claim.profile);
        let submission = worker::submission(vec![checkpoint]);
        assert!(self.app.submit(&claim.lease, &submission).await.unwrap());
        self.app.register(cell, claim.lease.attempt).await.unwrap();
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
