use pinhole_browser::*;
use pinhole_core::*;
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};
#[tokio::main]
async fn main() {
    let site = pinhole_testkit::Site::from_dir(std::env::args().nth(1).unwrap());
    let paths: Vec<String> = std::env::args().skip(3).collect();
    let n: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    let t = Instant::now();
    let browser = Browser::launch(&BrowserConfig::default()).await.unwrap();
    eprintln!("launch {:?} {:?}", t.elapsed(), browser.facts());
    let base = url::Url::parse(&site.origin()).unwrap();
    let profile = Profile::default();
    for path in &paths {
        let text = format!(
            "schema: pinhole.scenario.v1\ntitle: T\nsteps: [{{ navigate: {path} }}, {{ capture: {{ name: page }} }}]"
        );
        let scenario = pinhole_scenario::parse(&text, pinhole_scenario::Format::Yaml).unwrap();
        let mut known = BTreeMap::new();
        let mut times = vec![];
        let mut digests = std::collections::BTreeSet::new();
        for i in 0..n {
            let t = Instant::now();
            let out = run_cell(
                &browser,
                &CellPlan {
                    scenario: &scenario,
                    profile: &profile,
                    base_url: &base,
                    allowed_hosts: &[],
                    deadline: Duration::from_secs(60),
                    step_deadline: STEP_DEADLINE,
                    known_pictures: &known,
                    proxy: None,
                },
            )
            .await;
            times.push(t.elapsed().as_millis());
            if let Some(f) = &out.failure {
                eprintln!("{path} {f:?}");
                continue;
            }
            let c = &out.checkpoints[0];
            digests.insert(Sha256Digest::of(&c.png));
            if i == 0 {
                eprintln!("{path} {:?} {:?} {}", c.layout, c.not_evidence, c.settled);
                std::fs::write(format!("/tmp/shot{}.png", path.replace('/', "_")), &c.png).unwrap();
                eprintln!("{}", String::from_utf8_lossy(&out.console));
            }
            if i == n / 2 {
                known.insert("page".parse().unwrap(), Sha256Digest::of(&c.png));
            }
        }
        let h = n / 2;
        let med = |s: &[u128]| {
            let mut v = s.to_vec();
            v.sort();
            v[v.len() / 2]
        };
        eprintln!(
            "{path}: distinct {} new median {} ms, known median {} ms",
            digests.len(),
            med(&times[1..h]),
            med(&times[h + 1..])
        );
    }
    let t = Instant::now();
    browser.close().await;
    eprintln!("close {:?}", t.elapsed());
}
