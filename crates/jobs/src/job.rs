//! What can be queued. A payload holds ids, never copies of state; once released, its form only grows.

use pinhole_core::{CellId, PublicationId};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The queues. Their names are in the database and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Queue {
    /// Cells to capture.
    Capture,
    /// Submissions to register.
    Register,
    /// Catalog revisions to publish.
    Publish,
}

impl Queue {
    /// The stable name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Register => "register",
            Self::Publish => "publish",
        }
    }
}

/// Something that a queue delivers. Each queue carries one type of job.
pub trait Job: Serialize + DeserializeOwned + Send + Sync + Unpin + 'static {
    /// The queue that carries it.
    const QUEUE: Queue;
}

/// Capture a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureJob {
    /// The cell.
    pub cell: CellId,
}

impl Job for CaptureJob {
    const QUEUE: Queue = Queue::Capture;
}

/// Register what an attempt of a cell submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterJob {
    /// The cell.
    pub cell: CellId,
    /// The attempt, from 1.
    pub attempt: u32,
}

impl Job for RegisterJob {
    const QUEUE: Queue = Queue::Register;
}

/// Publish a catalog revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishJob {
    /// The publication.
    pub publication: PublicationId,
}

impl Job for PublishJob {
    const QUEUE: Queue = Queue::Publish;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_and_names_in_the_database_stay_readable() {
        assert_eq!(
            [Queue::Capture, Queue::Register, Queue::Publish].map(Queue::name),
            ["capture", "register", "publish"]
        );
        let id = "00000000000000000000000000000007";
        let register: RegisterJob = serde_json::from_str(&format!(r#"{{"cell":"cel_{id}","attempt":2}}"#)).unwrap();
        assert_eq!(register.attempt, 2);
        let later = format!(r#"{{"cell":"cel_{id}","since":"a later version"}}"#);
        let capture: CaptureJob = serde_json::from_str(&later).unwrap();
        assert_eq!(capture.cell, register.cell);
        let publish: PublishJob = serde_json::from_str(&format!(r#"{{"publication":"pub_{id}"}}"#)).unwrap();
        assert_eq!(serde_json::to_string(&publish).unwrap(), format!(r#"{{"publication":"pub_{id}"}}"#));
    }
}
