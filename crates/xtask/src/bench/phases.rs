//! Where the time of a capture goes, told from the instants that the server itself keeps in runs and receipts.

use std::{fs::OpenOptions, io::Write as _, path::Path, time::SystemTime};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Plan,
    api::{Api, text},
};
use crate::Outcome;

/// A run that came to its end, as its client saw it.
pub(super) struct Taken {
    pub(super) page: String,
    pub(super) run: String,
    /// When the client asked for it.
    pub(super) asked: SystemTime,
    /// When the client saw that it had ended.
    pub(super) seen: SystemTime,
    /// The run as it was then.
    pub(super) view: Value,
}

/// The phases of a capture in their order. Their sum is the whole time.
pub(super) const PHASES: [(&str, &str); 6] = [
    ("admission", "client asks -> transaction of the admission begins"),
    ("queue", "-> a worker claims the cell (commit, wake-up, fetch)"),
    ("browser", "-> pictures are there (context, navigation, settling, pictures, disposal)"),
    ("staging", "-> the worker submits (hash, write, sync)"),
    ("registration", "-> it is recorded (commit, wake-up, fetch, read, hash, decode, compare, store)"),
    ("end", "-> the client sees the end (sign, record, commit, next look)"),
];

/// One capture.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Phased {
    pub(super) lanes: u32,
    pub(super) page: String,
    pub(super) verdict: String,
    /// Milliseconds of each of [`PHASES`].
    pub(super) ms: [f64; PHASES.len()],
}

/// Reads the receipts of all captures and adds their phases to the mode's file.
pub(super) fn append(api: &Api, plan: &Plan, lanes: u32, taken: &[Taken]) -> Outcome {
    let path = file(&plan.work, plan.mode.name());
    let mut lines = String::new();
    for capture in taken {
        let line = serde_json::to_string(&phased(api, lanes, capture)?).map_err(|e| e.to_string())?;
        lines.push_str(&line);
        lines.push('\n');
    }
    let opened = OpenOptions::new().create(true).append(true).open(&path);
    opened.and_then(|mut file| file.write_all(lines.as_bytes())).map_err(|e| format!("{}: {e}", path.display()))
}

/// The captures of a mode.
pub(super) fn read(work: &Path, mode: &str) -> Outcome<Vec<Phased>> {
    let path = file(work, mode);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    text.lines().map(|line| serde_json::from_str(line).map_err(|e| format!("{}: {e}", path.display()))).collect()
}

fn file(work: &Path, mode: &str) -> std::path::PathBuf {
    work.join(format!("phases-{mode}.jsonl"))
}

fn phased(api: &Api, lanes: u32, taken: &Taken) -> Outcome<Phased> {
    let result = api.get(&format!("/runs/{}/result", taken.run))?;
    let receipt = api.get(&format!("/receipts/{}", text(&result, "/checkpoints/0/receipt_id")?))?;
    let payload = STANDARD.decode(text(&receipt, "/envelope/payload")?).map_err(|e| format!("a receipt: {e}"))?;
    let statement: Value = serde_json::from_slice(&payload).map_err(|e| format!("a receipt: {e}"))?;
    let at = |value: &Value, pointer: &str| -> Outcome<Timestamp> {
        text(value, pointer)?.parse().map_err(|e| format!("{pointer}: {e}"))
    };
    let seconds = |time: SystemTime| Timestamp::try_from(time).map_err(|e| e.to_string());
    let instants = [
        seconds(taken.asked)?,
        at(&taken.view, "/created_at")?,
        at(&taken.view, "/cells/0/attempts/0/started_at")?,
        at(&statement, "/predicate/captured_at")?,
        at(&taken.view, "/cells/0/attempts/0/ended_at")?,
        at(&statement, "/predicate/registered_at")?,
        seconds(taken.seen)?,
    ];
    let mut ms = [0.0; PHASES.len()];
    for (phase, pair) in ms.iter_mut().zip(instants.windows(2)) {
        if let [from, to] = pair {
            *phase = to.duration_since(*from).as_secs_f64() * 1e3;
        }
    }
    let verdict = text(&result, "/checkpoints/0/verdict")?.to_owned();
    Ok(Phased { lanes, page: taken.page.clone(), verdict, ms })
}
