//! A small catalog for tests: two revisions of one line, three entries, a quorum of two, two publications.

use std::{collections::BTreeMap, sync::OnceLock};

use pinhole_core::{
    ApprovalId, ApprovalIntent, ApprovalItem, ApprovalKind, ArtifactId, ArtifactKind, ArtifactRef, BaselineEntryId,
    BaselineKey, BaselineKind, BaselinePin, Blake3Digest, CandidateId, CellId, DecisionId, Disposition, EntryState,
    EnvironmentId, NoBaseline, Outcome, Pins, PrincipalId, Profile, ProjectId, PublicationId, ReceiptId, RenderFacts,
    ReviewId, RulesFacts, RunId, SandboxFacts, ScenarioId, Sha256Digest, Slug, Timestamp, Via, canonical_json_digest,
};
use serde::de::DeserializeOwned;

use crate::{
    ApprovalDecision, CaptureReceipt, CatalogEntry, CatalogInput, CatalogRevision, Jwk, Jwks, KeyStatus, KeyUse,
    Predicate, PublicationMarker, ReviewDisposition, RevisionCause, RevisionContent, SigningKey, TrustedKeys,
    catalog::{envelope_path, revision_path},
    entries_digest,
    log::{
        Checkpoint, Grown, LogHead, NeededTiles, PublishedLog, TileId, Tiles, append, kind_at, log_entry,
        prove_consistency, prove_inclusion,
    },
    manifest, render, sign,
};

pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// An id with a number in it that also decides its last two digits.
pub(crate) fn id<T: DeserializeOwned>(prefix: &str, number: u64) -> T {
    serde_json::from_value(serde_json::json!(format!("{prefix}_0198c1aa00007000{number:016x}"))).unwrap()
}

pub(crate) fn slug(text: &str) -> Slug {
    text.parse().unwrap()
}

fn time(second: i64) -> Timestamp {
    Timestamp::from_micros(1_764_504_000_000_000 + second * 1_000_000)
}

pub(crate) fn key(seed: u8) -> SigningKey {
    SigningKey::generate(|bytes| {
        bytes.fill(seed);
        Ok(())
    })
    .unwrap()
}

pub(crate) fn trust(key: &SigningKey, purpose: KeyUse, status: KeyStatus) -> TrustedKeys {
    TrustedKeys::from_jwks(&Jwks { keys: vec![Jwk::new(key.public_key(), purpose, status)] }).unwrap()
}

/// As [`trust`], and the log's key beside it.
pub(crate) fn trust_with_log(other: &SigningKey, purpose: KeyUse, status: KeyStatus) -> TrustedKeys {
    let log = Jwk::new(key(9).public_key(), KeyUse::Log, KeyStatus::Active);
    TrustedKeys::from_jwks(&Jwks { keys: vec![Jwk::new(other.public_key(), purpose, status), log] }).unwrap()
}

pub(crate) fn envelope(predicate: &impl Predicate, signer: &SigningKey) -> Vec<u8> {
    sign(&predicate.statement().unwrap(), signer).unwrap().to_bytes().unwrap()
}

/// One entry with what supports it, before anything is signed.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) receipt: CaptureReceipt,
    pub(crate) review: ReviewDisposition,
    pub(crate) decisions: Vec<ApprovalDecision>,
    pub(crate) entry: CatalogEntry,
}

/// The bytes of the picture behind entry `number`.
pub(crate) fn picture(number: u64) -> Vec<u8> {
    format!("picture {number}").into_bytes()
}

fn receipt(number: u64, checkpoint: &str) -> CaptureReceipt {
    let render = RenderFacts {
        browser: "HeadlessChrome/156.0.8078.73".into(),
        browser_revision: "r1".into(),
        flags: vec!["--hide-scrollbars".into()],
        fonts: Sha256Digest::of(b"fonts"),
        profile: Profile::default(),
        stabiliser: 1,
        architecture: "x86_64".into(),
    };
    let rules = RulesFacts { capture: serde_json::json!({ "area": "viewport", "tolerance": 0.5 }) };
    let bytes = picture(number);
    CaptureReceipt {
        receipt: id::<ReceiptId>("rcp", number),
        project: slug("shop"),
        run: id::<RunId>("run", 1),
        cell: id::<CellId>("cel", 1),
        attempt: 1,
        checkpoint: slug(checkpoint),
        profile: slug("default"),
        pins: pins(),
        artifacts: vec![ArtifactRef {
            id: id::<ArtifactId>("art", number),
            kind: ArtifactKind::Picture,
            size_bytes: bytes.len() as u64,
            sha256: Sha256Digest::of(&bytes),
            blake3: Blake3Digest::of(&bytes),
        }],
        render_digest: canonical_json_digest(&render).unwrap(),
        render,
        rules_digest: canonical_json_digest(&rules).unwrap(),
        rules,
        pixel_digest: Sha256Digest::of(format!("pixels {number}").as_bytes()),
        not_evidence: vec![],
        sandbox: SandboxFacts { uid: 999, sandboxed: true },
        worker: "capture-1".into(),
        captured_at: time(1),
        registered_at: time(2),
    }
}

fn pins() -> Pins {
    Pins {
        project: id::<ProjectId>("prj", 1),
        scenario: id::<ScenarioId>("scn", 1),
        scenario_slug: slug("checkout"),
        scenario_digest: Blake3Digest::of(b"scenario"),
        scenario_sha256: Sha256Digest::of(b"scenario"),
        environment: id::<EnvironmentId>("env", 1),
        environment_slug: slug("staging"),
        environment_revision: 3,
        environment_sha256: Sha256Digest::of(b"environment"),
        base_url: "https://staging.example/".into(),
        baseline: BaselinePin::None { because: NoBaseline::EmptyLine },
    }
}

/// Entry `number` at `checkpoint`, approved under approval `approval` by two persons.
pub(crate) fn parts(number: u64, checkpoint: &str, approval: u64) -> Parts {
    let receipt = receipt(number, checkpoint);
    let capture_digest = receipt.content().unwrap().1.sha256;
    let review = ReviewDisposition {
        review: id::<ReviewId>("rev", number),
        project: slug("shop"),
        receipt: receipt.receipt,
        capture_digest,
        render_digest: receipt.render_digest,
        rules_digest: receipt.rules_digest,
        disposition: Disposition::Accept,
        reason: "looks right".parse().unwrap(),
        principal: id::<PrincipalId>("prn", 1),
        publication_name: "Ada".parse().unwrap(),
        via: Via::Session,
        decided_at: time(3),
    };
    let entry = CatalogEntry {
        id: id::<BaselineEntryId>("bse", number),
        key: BaselineKey {
            line: "main".parse().unwrap(),
            scenario: slug("checkout"),
            environment: slug("staging"),
            checkpoint: slug(checkpoint),
            profile: slug("default"),
            kind: BaselineKind::Visual,
        },
        state: EntryState::Active,
        capture_digest,
        pixel_digest: receipt.pixel_digest,
        render_digest: receipt.render_digest,
        rules_digest: receipt.rules_digest,
        receipt: receipt.receipt,
        review: Some(review.review),
        approval: id::<ApprovalId>("apr", approval),
    };
    let decisions = (1..=2).map(|person| decision(&entry, number * 10 + person, person)).collect();
    Parts { receipt, review, decisions, entry }
}

fn decision(entry: &CatalogEntry, number: u64, person: u64) -> ApprovalDecision {
    let intent = ApprovalIntent {
        kind: ApprovalKind::Baseline,
        items: vec![ApprovalItem {
            key: entry.key.clone(),
            candidate: Some(id::<CandidateId>("cnd", 1)),
            capture_digest: entry.capture_digest,
            review: entry.review,
            current_entry: None,
        }],
        line: entry.key.line.clone(),
        policy_revision: 1,
        release_label: None,
        publication: None,
        reason: None,
        promoted_from: None,
    };
    ApprovalDecision {
        decision: id::<DecisionId>("dec", number),
        approval: entry.approval,
        version: u32::try_from(person).unwrap(),
        project: slug("shop"),
        intent_digest: canonical_json_digest(&intent).unwrap(),
        intent,
        outcome: Outcome::Approve,
        reason: "for the release".parse().unwrap(),
        principal: id::<PrincipalId>("prn", 10 + person),
        publication_name: "Grace".parse().unwrap(),
        via: Via::Ticket,
        two_persons: true,
        quorum: 2,
        decided_at: time(4),
    }
}

/// The input of a revision over `parts`, on top of `earlier`, without its own statement.
pub(crate) fn input(parts: &[Parts], earlier: &Files, cause: RevisionCause, signer: &SigningKey) -> CatalogInput {
    let mut envelopes = Files::new();
    for part in parts {
        envelopes.insert(part.receipt.receipt.to_string(), envelope(&part.receipt, signer));
        envelopes.insert(part.review.review.to_string(), envelope(&part.review, signer));
        for decision in &part.decisions {
            envelopes.insert(decision.decision.to_string(), envelope(decision, signer));
        }
    }
    let revisions: BTreeMap<u32, Vec<u8>> = (1..).zip(earlier.values().cloned()).collect();
    let entries: Vec<_> = parts.iter().map(|part| part.entry.clone()).collect();
    let previous_digest = match (&cause, revisions.values().last()) {
        (RevisionCause::Forked { digest, .. }, None) => Some(*digest),
        (_, last) => last.map(|bytes| {
            let statement = crate::Envelope::from_bytes(bytes).unwrap().statement_unverified().unwrap();
            CatalogRevision::from_statement(&statement).unwrap().digest
        }),
    };
    let revision = RevisionContent {
        project: slug("shop"),
        line: entries.first().unwrap().key.line.clone(),
        number: u32::try_from(revisions.len()).unwrap() + 1,
        previous_digest,
        entries_digest: entries_digest(&entries).unwrap(),
        cause,
        created_at: time(5),
    };
    CatalogInput { revision, entries, envelopes, revisions, publications: vec![], log: Files::new() }
}

/// Signs the statement of `input`'s own revision into it.
pub(crate) fn seal(input: &mut CatalogInput, signer: &SigningKey) {
    let signed = CatalogRevision::new(input.revision.clone(), manifest(input).unwrap()).unwrap();
    input.revisions.insert(input.revision.number, envelope(&signed, signer));
}

pub(crate) fn marker(input: &CatalogInput, number: u64) -> PublicationMarker {
    PublicationMarker {
        publication: id::<PublicationId>("pub", number),
        project: input.revision.project.clone(),
        line: input.revision.line.clone(),
        revision: input.revision.number,
        digest: input.revision.digest().unwrap(),
    }
}

/// The input of the second revision; `change` may alter its third entry before anything is signed.
pub(crate) fn second(change: impl FnOnce(&mut Parts), signer: &SigningKey) -> CatalogInput {
    let mut all = vec![parts(1, "cart", 1), parts(2, "pay", 2)];
    let consumed = |approval| RevisionCause::Consumed { approval: id("apr", approval) };
    let mut first = input(&all, &Files::new(), consumed(1), signer);
    seal(&mut first, signer);
    let earlier: Files = first.revisions.iter().map(|(number, bytes)| (number.to_string(), bytes.clone())).collect();
    let mut third = parts(3, "done", 3);
    change(&mut third);
    all.push(third);
    let mut second = input(&all, &earlier, consumed(3), signer);
    second.publications = vec![marker(&first, 1), marker(&second, 2)];
    seal(&mut second, signer);
    let mut log = Log::default();
    log.publish(&mut first, 1);
    second.log = first.log;
    log.publish(&mut second, 2);
    second
}

/// The whole, right tree, signed with key 7.
pub(crate) fn files() -> Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| render(&second(|_| {}, &key(7))).unwrap().files).clone()
}

/// A store of tiles that hands in only what it is asked for.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) tiles: BTreeMap<TileId, Vec<u8>>,
    head: Option<LogHead>,
    /// Leaves by the path of the statement that they are of.
    leaves: BTreeMap<String, u64>,
    /// Sizes at which publications were made.
    published: Vec<u64>,
}

impl Log {
    pub(crate) fn head(&self) -> LogHead {
        self.head.unwrap_or(LogHead::EMPTY)
    }

    pub(crate) fn append(&mut self, entries: &[Sha256Digest]) {
        let Grown { head, tiles } = self.ask(|tiles, head| append(tiles, head, entries));
        for (id, hashes) in tiles {
            self.tiles.insert(id, hashes);
        }
        self.head = Some(head);
    }

    /// Answers with the tiles that were asked for, and no others.
    pub(crate) fn ask<T>(&self, question: impl Fn(&Tiles, LogHead) -> pinhole_core::Result<NeededTiles<T>>) -> T {
        let mut at_hand = Tiles::default();
        let mut rounds = 0;
        loop {
            match question(&at_hand, self.head()).unwrap() {
                NeededTiles::None(answer) => return answer,
                NeededTiles::Some(needed) => {
                    for id in needed {
                        at_hand.insert(id, self.tiles[&id].clone());
                    }
                }
            }
            rounds += 1;
            assert!(rounds < 4, "a question is answered after a few rounds");
        }
    }

    /// Takes in every statement of `input`, and adds what publication `number` shows of the log to its files.
    pub(crate) fn publish(&mut self, input: &mut CatalogInput, number: u64) {
        let envelopes = input.envelopes.iter().map(|(id, bytes)| (envelope_path(id).unwrap(), bytes));
        let revisions = input.revisions.iter().map(|(number, bytes)| (revision_path(*number), bytes));
        let mut new = BTreeMap::new();
        let statements: Vec<_> =
            envelopes.chain(revisions).filter(|(path, _)| !self.leaves.contains_key(path)).collect();
        for (path, bytes) in statements {
            let entry = log_entry(kind_at(&path).unwrap(), Sha256Digest::of(bytes));
            new.insert(path, (self.head().size, entry));
            self.append(&[entry]);
        }
        let LogHead { size, root } = self.head();
        let checkpoint = Checkpoint { origin: "pinhole.dev/log/1".into(), size, root };
        let prove = |leaf| self.ask(|tiles, head| prove_inclusion(tiles, head, size, leaf));
        let shown = PublishedLog {
            publication: id("pub", number),
            checkpoint: checkpoint.sign(&key(9)).unwrap(),
            continues: self
                .published
                .last()
                .map(|first| self.ask(|tiles, head| prove_consistency(tiles, head, *first, size))),
            proofs: new.iter().map(|(path, (leaf, _))| (path.clone(), prove(*leaf))).collect(),
        };
        input.log.extend(shown.files().unwrap());
        self.published.push(size);
        self.leaves.extend(new.into_iter().map(|(path, (leaf, _))| (path, leaf)));
    }
}
