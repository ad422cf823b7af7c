//! What an honest capture worker says, for tests that take its part without a browser. A test changes what it is about.

use pinhole_core::{
    Profile, RenderFacts, SandboxFacts, Sha256Digest, Slug, StagedArtifact, StagedCheckpoint, StagedExtract,
    Submission, Timestamp,
};

/// Where every page says that it is.
const URL: &str = "http://staging.example/";

/// A still picture of `layout` device pixels.
pub fn checkpoint(name: &Slug, picture: StagedArtifact, layout: [u32; 2], profile: &Profile) -> StagedCheckpoint {
    StagedCheckpoint {
        name: name.clone(),
        picture,
        layout,
        render: render(profile),
        masked: Vec::new(),
        ignored: Vec::new(),
        url: URL.into(),
        not_evidence: Vec::new(),
        settled: Default::default(),
        captured_at: Timestamp::from_micros(1),
    }
}

/// Values that were read without trouble.
pub fn extract(name: &Slug, values: StagedArtifact, profile: &Profile) -> StagedExtract {
    StagedExtract {
        name: name.clone(),
        values,
        render: render(profile),
        url: URL.into(),
        not_evidence: Vec::new(),
        captured_at: Timestamp::from_micros(1),
    }
}

/// A cell with these checkpoints that went well.
pub fn submission(checkpoints: Vec<StagedCheckpoint>) -> Submission {
    Submission {
        checkpoints,
        extracts: Vec::new(),
        evidence: Vec::new(),
        failed_assertions: Vec::new(),
        sandbox: SandboxFacts { uid: 1000, sandboxed: true },
        failure: None,
    }
}

fn render(profile: &Profile) -> RenderFacts {
    RenderFacts {
        browser: "HeadlessChrome/1.2.3".into(),
        browser_revision: "r1".into(),
        flags: Vec::new(),
        fonts: Sha256Digest::of(b"fonts"),
        profile: profile.clone(),
        stabiliser: 1,
        architecture: "x86_64".into(),
    }
}
