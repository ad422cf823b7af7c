//! Rows to begin with. They are built here and put in through the store's own methods, in the order that foreign keys
//! ask for. Texts hold what a careless statement would break on: quotes, line ends, other scripts and `$1`.

use pinhole_core::{
    ApprovalId, ApprovalIntent, ApprovalItem, ApprovalKind, ApprovalState, ArtifactKind, ArtifactRef, BaselineKey,
    BaselineKind, BaselinePin, Blake3Digest, CandidateState, CellFailure, FailureReason, LineName, NoBaseline, Pins,
    PrincipalClass, PrincipalId, Profile, RunId, RunState, Sha256Digest, Slug,
};
use pinhole_store::{
    Approval, Artifact, Candidate, Cell, Environment, EnvironmentRevision, Principal, Project, Receipt, Run, Scenario,
    ScenarioRevision,
};

use crate::support::{Fixture, at, id};

/// A text that has to come back as it went in.
pub(crate) const AWKWARD: &str = "it's \"quoted\", $1 ? \\ %_ \u{1f980} \u{65e5}\u{672c}\nsecond line";

pub(crate) fn slug(text: &str) -> Slug {
    text.parse().unwrap()
}

pub(crate) fn line(text: &str) -> LineName {
    text.parse().unwrap()
}

pub(crate) fn sha256(text: &str) -> Sha256Digest {
    Sha256Digest::of(text.as_bytes())
}

pub(crate) fn failure() -> CellFailure {
    CellFailure { reason: FailureReason::StepDeadline, step: Some(3), message: AWKWARD.into() }
}

pub(crate) fn key(line: &str, checkpoint: &str) -> BaselineKey {
    BaselineKey {
        line: line.parse().unwrap(),
        scenario: slug("shop"),
        environment: slug("staging"),
        checkpoint: slug(checkpoint),
        profile: slug("default"),
        kind: BaselineKind::Visual,
    }
}

/// What everything else stands in. All of it is in the database.
pub(crate) struct Ground {
    pub(crate) principal: Principal,
    pub(crate) project: Project,
    pub(crate) environment: Environment,
    pub(crate) scenario: Scenario,
}

/// A run with one cell and one receipt. All of it is in the database.
pub(crate) struct Captured {
    pub(crate) run: Run,
    pub(crate) cell: Cell,
    pub(crate) artifact: Artifact,
    pub(crate) receipt: Receipt,
}

impl Fixture {
    pub(crate) fn principal(&self, class: PrincipalClass, name: &str) -> Principal {
        Principal {
            id: id!(self, PrincipalId),
            class,
            name: name.parse().unwrap(),
            admin_since: None,
            created_at: at(0),
            disabled_at: None,
            owner_id: None,
        }
    }

    pub(crate) fn project(&self, by: PrincipalId, name: &str) -> Project {
        Project {
            id: id!(self, ProjectId),
            slug: slug(name),
            title: "Zo\u{eb}'s \"shop\"".parse().unwrap(),
            created_by: by,
            created_at: at(1),
        }
    }

    pub(crate) fn environment(&self, project: &Project, name: &str) -> Environment {
        Environment {
            id: id!(self, EnvironmentId),
            project_id: project.id,
            slug: slug(name),
            head_revision: 1,
            created_at: at(2),
        }
    }

    pub(crate) fn scenario(&self, project: &Project, name: &str) -> Scenario {
        Scenario {
            id: id!(self, ScenarioId),
            project_id: project.id,
            slug: slug(name),
            head_digest: Blake3Digest::of(b"first"),
            version: 1,
            archived_at: None,
            created_at: at(3),
        }
    }

    /// A queued run without a baseline.
    pub(crate) fn run(&self, ground: &Ground) -> Run {
        let pins = Pins {
            project: ground.project.id,
            scenario: ground.scenario.id,
            scenario_slug: ground.scenario.slug.clone(),
            scenario_digest: ground.scenario.head_digest,
            scenario_sha256: sha256("scenario"),
            environment: ground.environment.id,
            environment_slug: ground.environment.slug.clone(),
            environment_revision: 1,
            environment_sha256: sha256("environment"),
            base_url: "http://127.0.0.1:8080/?q='".into(),
            baseline: BaselinePin::None { because: NoBaseline::EmptyLine },
        };
        Run {
            id: id!(self, RunId),
            pins,
            trigger: "user".into(),
            state: RunState::Queued,
            verdict: None,
            version: 1,
            created_by: ground.principal.id,
            created_at: at(4),
            finished_at: None,
        }
    }

    /// A queued cell that may be claimed at once and is not due for ever.
    pub(crate) fn cell(&self, run: RunId, ordinal: u32) -> Cell {
        Cell {
            id: id!(self, CellId),
            run_id: run,
            ordinal,
            name: slug("default"),
            profile: Profile { scale: 1.5, ..Profile::default() },
            state: RunState::Queued,
            attempt: 0,
            claim_token: None,
            due_at: pinhole_core::Timestamp::from_micros(i64::MAX),
            not_before: at(0),
            register_tries: 0,
            submission: None,
            failed_assertions: Vec::new(),
            failure: None,
            created_at: at(5),
            finished_at: None,
        }
    }

    pub(crate) fn artifact(&self, run: &Run, cell: &Cell, kind: ArtifactKind) -> Artifact {
        let reference = ArtifactRef {
            id: id!(self, ArtifactId),
            kind,
            // More than 32 bits.
            size_bytes: 5_000_000_000,
            sha256: sha256("bytes"),
            blake3: Blake3Digest::of(b"bytes"),
        };
        Artifact {
            reference,
            project_id: run.pins.project,
            run_id: run.id,
            cell_id: cell.id,
            attempt: 1,
            checkpoint: Some(slug("cart")),
            created_at: at(6),
        }
    }

    pub(crate) fn receipt(&self, artifact: &Artifact, checkpoint: &str) -> Receipt {
        Receipt {
            id: id!(self, ReceiptId),
            project_id: artifact.project_id,
            run_id: artifact.run_id,
            cell_id: artifact.cell_id,
            attempt: artifact.attempt,
            checkpoint: slug(checkpoint),
            profile: slug("default"),
            kind: BaselineKind::Visual,
            picture_id: artifact.reference.id,
            capture_sha256: artifact.reference.sha256,
            pixel_digest: sha256("pixels"),
            render_sha256: sha256("render"),
            rules_sha256: sha256("rules"),
            not_evidence: Vec::new(),
            envelope: format!("{{\"receipt\":\"{checkpoint}\"}}"),
            created_at: at(7),
        }
    }

    pub(crate) fn candidate(&self, ground: &Ground, receipt: &Receipt, key: BaselineKey) -> Candidate {
        Candidate {
            id: id!(self, CandidateId),
            project_id: ground.project.id,
            environment_id: ground.environment.id,
            key,
            run_id: receipt.run_id,
            receipt_id: Some(receipt.id),
            replaces: None,
            reason: None,
            state: CandidateState::Ready,
            author: ground.principal.id,
            created_at: at(8),
        }
    }

    /// A pending approval of candidates, in their order.
    pub(crate) fn approval(&self, ground: &Ground, line: &LineName, candidates: &[&Candidate]) -> Approval {
        let item = |candidate: &&Candidate| ApprovalItem {
            key: candidate.key.clone(),
            candidate: Some(candidate.id),
            capture_digest: sha256("bytes"),
            review: None,
            current_entry: None,
        };
        let intent = ApprovalIntent {
            kind: ApprovalKind::Baseline,
            items: candidates.iter().map(item).collect(),
            line: line.clone(),
            policy_revision: 0,
            release_label: Some("2026 \"spring\"".parse().unwrap()),
            publication: None,
            reason: None,
            promoted_from: None,
        };
        Approval {
            id: ApprovalId::from_uuid(pinhole_core::Ids::uuid(&self.ids)),
            project_id: ground.project.id,
            line: line.clone(),
            version: 1,
            state: ApprovalState::Pending,
            intent_sha256: sha256("intent"),
            intent,
            policy_revision: 0,
            requested_by: ground.principal.id,
            created_at: at(9),
            expires_at: at(1_000_000),
            consumed_revision: None,
        }
    }

    /// Puts in a person, a project, an environment and a scenario.
    pub(crate) async fn ground(&self) -> Ground {
        let principal = self.principal(PrincipalClass::User, "ada");
        let project = self.project(principal.id, "shop");
        let environment = self.environment(&project, "staging");
        let scenario = self.scenario(&project, "checkout");
        let mut tx = self.write().await;
        tx.insert_principal(&principal).await.unwrap();
        tx.insert_project(&project).await.unwrap();
        tx.insert_environment(&environment).await.unwrap();
        tx.insert_scenario(&scenario).await.unwrap();
        tx.commit().await.unwrap();
        Ground { principal, project, environment, scenario }
    }

    /// Puts in a run with one cell, one picture and its receipt.
    pub(crate) async fn captured(&self, ground: &Ground) -> Captured {
        let run = self.run(ground);
        let cell = self.cell(run.id, 0);
        let artifact = self.artifact(&run, &cell, ArtifactKind::Picture);
        let receipt = self.receipt(&artifact, "cart");
        let mut tx = self.write().await;
        tx.insert_run(&run).await.unwrap();
        tx.insert_cell(&cell).await.unwrap();
        tx.insert_artifact(&artifact).await.unwrap();
        tx.insert_receipt(&receipt).await.unwrap();
        tx.commit().await.unwrap();
        Captured { run, cell, artifact, receipt }
    }
}

/// The revisions that the heads of a ground point to.
pub(crate) fn first_revisions(ground: &Ground) -> (EnvironmentRevision, ScenarioRevision) {
    let environment = EnvironmentRevision {
        environment_id: ground.environment.id,
        revision: 1,
        document: format!("{{\"note\":{AWKWARD:?}}}"),
        sha256: sha256("environment"),
        created_by: ground.principal.id,
        created_at: at(10),
    };
    let scenario = ScenarioRevision {
        scenario_id: ground.scenario.id,
        digest: ground.scenario.head_digest,
        sha256: sha256("scenario"),
        title: "Zo\u{eb}'s \"checkout\"".parse().unwrap(),
        canonical: format!("{{\"title\":{AWKWARD:?}}}"),
        origin: "editor".into(),
        created_by: ground.principal.id,
        created_at: at(11),
    };
    (environment, scenario)
}
