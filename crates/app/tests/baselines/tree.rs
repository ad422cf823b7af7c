//! The tree that would be published for a revision, made from rows alone.

use std::collections::BTreeMap;

use pinhole_core::LineName;
use pinhole_receipt::{CatalogEntry, CatalogInput, CatalogRevision, Envelope, Predicate as _, render};

use crate::support::{Bench, PROJECT};

impl Bench {
    /// The files of revision `number` of a line.
    pub(crate) async fn tree(&self, line: &str, number: u32) -> BTreeMap<String, Vec<u8>> {
        let mut tx = self.app.store().begin_read().await.unwrap();
        let project = tx.project_by_slug(&PROJECT.parse().unwrap()).await.unwrap().unwrap().id;
        let line: LineName = line.parse().unwrap();
        let stored = tx.catalog_revisions_to(project, &line, number).await.unwrap();
        let last = Envelope::from_bytes(stored.last().unwrap().envelope.as_bytes()).unwrap();
        let statement = CatalogRevision::from_statement(&last.statement_unverified().unwrap()).unwrap();
        let mut newest = BTreeMap::new();
        for entry in tx.entries_to(project, &line, number).await.unwrap() {
            let mut document: CatalogEntry = serde_json::from_str(&entry.document).unwrap();
            if entry.until_revision.is_some_and(|until| until <= number) {
                document.state = entry.state;
            }
            let before = newest.insert(entry.key.clone(), (entry.since_revision, document));
            assert!(before.is_none_or(|(since, _)| since < entry.since_revision));
        }
        let envelopes = tx.envelopes_to(project, &line, number).await.unwrap();
        let input = CatalogInput {
            revision: statement.revision,
            entries: newest.into_values().map(|(_, document)| document).collect(),
            envelopes: envelopes.into_iter().map(|(id, envelope)| (id, envelope.into_bytes())).collect(),
            revisions: stored.iter().map(|found| (found.revision, found.envelope.clone().into_bytes())).collect(),
            publications: Vec::new(),
            log: BTreeMap::new(),
        };
        render(&input).unwrap().files
    }
}
