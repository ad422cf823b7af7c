//! What was last tried out to know whether the installation works.

use pinhole_core::{ProbeKind, Result, Timestamp};

use crate::{
    Tx,
    row::Row,
    value::{text, text_or_null, time},
};

/// The last probe of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What was tried.
    pub kind: ProbeKind,
    /// When it ended.
    pub at: Timestamp,
    /// How it went, as a stable word: `ok`, `failed`, or the state of a publication.
    pub outcome: String,
    /// What everybody may know about it.
    pub detail: Option<String>,
}

fn read(row: &Row) -> Result<Probe> {
    Ok(Probe {
        kind: row.parse("kind")?,
        at: row.time("at")?,
        outcome: row.text("outcome")?,
        detail: row.text_or_null("detail")?,
    })
}

impl Tx {
    /// Replaces the last probe of this kind.
    pub async fn put_probe(&mut self, probe: &Probe) -> Result<()> {
        let Probe { kind, at, outcome, detail } = probe;
        self.execute(
            "INSERT INTO probes (kind, at, outcome, detail) VALUES ($1, $2, $3, $4) ON CONFLICT (kind) DO UPDATE SET \
             at = excluded.at, outcome = excluded.outcome, detail = excluded.detail",
            &[text(kind), time(*at), text(outcome), text_or_null(detail.as_deref())],
        )
        .await?;
        Ok(())
    }

    /// The last probe of each kind that there was one of.
    pub async fn probes(&mut self) -> Result<Vec<Probe>> {
        self.fetch_all("SELECT * FROM probes ORDER BY kind", &[], read).await
    }
}
