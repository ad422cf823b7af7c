//! The scenario, its profile, its matrix and its steps.

use pinhole_core::{ColorScheme, Profile, ProfileOverride, Viewport};

use super::{Members, Read, Reader, expected, expected_by, no_repeats, number, tagged, whole_in, word};
use crate::{
    diagnostics::{Path, Problems},
    model::{EvidenceKind, Fill, MatrixRow, Press, Scenario, SchemaTag, Step},
    tree::{Kind, Node},
};

const KEYS: [&str; 8] = ["schema", "title", "tags", "profile", "matrix", "ready", "evidence", "steps"];
const PROFILE_KEYS: [&str; 6] = ["viewport", "scale", "color_scheme", "locale", "timezone", "touch"];

impl Read for Scenario {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let members = Members::open(node, path, problems, &KEYS)?;
        let schema = members.required("schema", problems);
        let title = members.required("title", problems);
        let tags = members.list("tags", problems, Self::MAX_TAGS);
        let profile = members.optional("profile", problems);
        let matrix = members.list("matrix", problems, Self::MAX_ROWS);
        let ready = members.list("ready", problems, Self::MAX_READY);
        let evidence = members.list("evidence", problems, Self::MAX_EVIDENCE);
        let steps = members.required_with("steps", problems, |node, path, problems| {
            super::list(node, path, problems, Self::MAX_STEPS)
        });
        check_names(node, path, problems);
        let scenario = Self {
            schema: schema?,
            title: title?,
            tags: tags?,
            profile: profile?.unwrap_or_default(),
            matrix: matrix?,
            ready: ready?,
            evidence: evidence?,
            steps: steps?,
        };
        check_profiles(&scenario, node, path, problems);
        check_steps(&scenario.steps, members.get("steps")?, &Path::Key(path, "steps"), problems);
        Some(scenario)
    }
}

/// Notes names, tags and words that are there twice.
fn check_names(node: &Node, path: &Path<'_>, problems: &mut Problems) {
    let items = |key: &str| match node.member(key).map(|list| &list.kind) {
        Some(Kind::List(items)) => items.as_slice(),
        _ => &[],
    };
    for key in ["tags", "evidence"] {
        let list = Path::Key(path, key);
        no_repeats(items(key).iter().enumerate(), problems, |index, node, message, problems| {
            problems.add(node.at, &Path::Index(&list, index), message);
        });
    }
    let list = Path::Key(path, "matrix");
    let rows = items("matrix").iter().enumerate();
    no_repeats(
        rows.filter_map(|(index, row)| Some((index, row.member("name")?))),
        problems,
        |index, node, message, problems| {
            problems.add(node.at, &Path::Key(&Path::Index(&list, index), "name"), message);
        },
    );
    let list = Path::Key(path, "steps");
    let steps = items("steps").iter().enumerate();
    no_repeats(
        steps.filter_map(|(index, step)| Some((index, checkpoint(step)?.1.member("name")?))),
        problems,
        |index, node, message, problems| {
            let step = Path::Index(&list, index);
            let key = items("steps").get(index).and_then(checkpoint).map_or("capture", |(key, _)| key);
            problems.add(node.at, &Path::Key(&Path::Key(&step, key), "name"), message);
        },
    );
}

/// What a step says of the checkpoint that it makes, if it makes one.
fn checkpoint(step: &Node) -> Option<(&'static str, &Node)> {
    ["capture", "extract"].into_iter().find_map(|key| Some((key, step.member(key)?)))
}

/// Notes profiles that no device has. Rows are checked as they will be used, over the scenario's own profile.
fn check_profiles(scenario: &Scenario, node: &Node, path: &Path<'_>, problems: &mut Problems) {
    let base = Profile::default().with(&scenario.profile);
    check_profile(&base, node.member("profile"), &Path::Key(path, "profile"), problems);
    let Some(Kind::List(rows)) = node.member("matrix").map(|matrix| &matrix.kind) else { return };
    let list = Path::Key(path, "matrix");
    for (index, (row, node)) in scenario.matrix.iter().zip(rows).enumerate() {
        // A wrong member of the scenario's own profile is told once, above.
        if base.check().is_ok() {
            check_profile(&base.clone().with(&row.profile), Some(node), &Path::Index(&list, index), problems);
        }
    }
}

fn check_profile(profile: &Profile, node: Option<&Node>, path: &Path<'_>, problems: &mut Problems) {
    let (Some(mut node), Err(error)) = (node, profile.check()) else { return };
    let field = error.details().field.as_deref().unwrap_or_default();
    for key in field.split('.') {
        node = node.member(key).unwrap_or(node);
    }
    expected_by::<()>(&error, node, &Path::Key(path, field), problems);
}

/// Notes what only the steps together can break.
fn check_steps(steps: &[Step], node: &Node, path: &Path<'_>, problems: &mut Problems) {
    match steps.first() {
        Some(Step::Navigate(_)) => {}
        _ => problems.add(node.at, path, "expected `navigate` as the first step"),
    }
    if !steps.iter().any(|step| matches!(step, Step::Capture(_) | Step::Extract(_) | Step::Assert(_))) {
        problems.add(node.at, path, "expected at least one `capture`, `extract` or `assert`, or a run shows nothing");
    }
    let captures = steps.iter().filter(|step| matches!(step, Step::Capture(_))).count();
    if captures > Scenario::MAX_CAPTURES {
        problems.add(node.at, path, format!("expected at most {} captures, found {captures}", Scenario::MAX_CAPTURES));
    }
    let extracts = steps.iter().filter(|step| matches!(step, Step::Extract(_))).count();
    if extracts > Scenario::MAX_EXTRACTS {
        problems.add(node.at, path, format!("expected at most {} extracts, found {extracts}", Scenario::MAX_EXTRACTS));
    }
}

impl Read for SchemaTag {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        word(node, path, problems, "schema", &[(Self::TEXT, Self)])
    }
}

impl Read for EvidenceKind {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        word(node, path, problems, "evidence", &[("console", EvidenceKind::Console)])
    }
}

impl Read for Viewport {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let members = Members::open(node, path, problems, &["width", "height"])?;
        let mut side = |key| {
            members.required_with(key, problems, |node, path, problems| whole_in(node, path, problems, 1, 10_000))
        };
        let (width, height) = (side("width"), side("height"));
        Some(Self { width: width?, height: height? })
    }
}

impl Read for ProfileOverride {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        profile(&Members::open(node, path, problems, &PROFILE_KEYS)?, problems)
    }
}

impl Read for MatrixRow {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let known: Vec<_> = std::iter::once("name").chain(PROFILE_KEYS).collect();
        let members = Members::open(node, path, problems, &known)?;
        let name = members.required("name", problems);
        let profile = profile(&members, problems);
        Some(Self { name: name?, profile: profile? })
    }
}

fn profile(members: &Members<'_, '_>, problems: &mut Problems) -> Option<ProfileOverride> {
    let viewport = members.optional("viewport", problems);
    let scale = members.optional_with("scale", problems, |node, path, problems| number(node, path, problems, 0.5, 4.0));
    let color_scheme = members.optional_with("color_scheme", problems, |node, path, problems| {
        let known: Vec<_> = ColorScheme::ALL.iter().map(|scheme| (scheme.as_str(), *scheme)).collect();
        word(node, path, problems, "colour scheme", &known)
    });
    let mut plain = |key| {
        members.optional_with(key, problems, |node, path, problems| match node.text() {
            Some(text) => Some(text.to_owned()),
            None => expected("a text", node, path, problems),
        })
    };
    let (locale, timezone) = (plain("locale"), plain("timezone"));
    let touch = members.optional("touch", problems);
    Some(ProfileOverride {
        viewport: viewport?,
        scale: scale?,
        color_scheme: color_scheme?,
        locale: locale?,
        timezone: timezone?,
        touch: touch?,
    })
}

/// The actions of the language.
const ACTIONS: &[(&str, Reader<Step>)] = &[
    ("navigate", |node, path, problems| Read::read(node, path, problems).map(Step::Navigate)),
    ("click", |node, path, problems| Read::read(node, path, problems).map(Step::Click)),
    ("fill", |node, path, problems| Read::read(node, path, problems).map(Step::Fill)),
    ("press", |node, path, problems| Read::read(node, path, problems).map(Step::Press)),
    ("wait_for", |node, path, problems| Read::read(node, path, problems).map(Step::WaitFor)),
    ("assert", |node, path, problems| Read::read(node, path, problems).map(Step::Assert)),
    ("capture", |node, path, problems| Read::read(node, path, problems).map(Step::Capture)),
    ("extract", |node, path, problems| Read::read(node, path, problems).map(Step::Extract)),
];

impl Read for Step {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        tagged(node, path, problems, "action", ACTIONS)
    }
}

impl Read for Fill {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let members = Members::open(node, path, problems, &["into", "value"])?;
        let into = members.required("into", problems);
        let value = members.required("value", problems);
        Some(Self { into: into?, value: value? })
    }
}

impl Read for Press {
    fn read(node: &Node, path: &Path<'_>, problems: &mut Problems) -> Option<Self> {
        let members = Members::open(node, path, problems, &["key", "in"])?;
        let key = members.required("key", problems);
        let inside = members.optional("in", problems);
        Some(Self { key: key?, inside: inside? })
    }
}
