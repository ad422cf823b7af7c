//! Which package of ours may depend on which: the arrows of the architecture, in one table.

use crate::{tidy::Violation, workspace::Package};

/// What each package may depend on besides [`DOMAIN`]. A package that is not here is a violation, so that nobody adds
/// one without drawing its arrows.
const ARROWS: &[(&str, &[&str])] = &[
    ("pinhole-core", &[]),
    ("pinhole-scenario", &[]),
    ("pinhole-contract", &[]),
    ("pinhole-compare", &[]),
    ("pinhole-keyfile", &[]),
    ("pinhole-receipt", &["pinhole-keyfile"]),
    ("pinhole-blobs", &[]),
    ("pinhole-store", &[]),
    ("pinhole-gitcat", &[]),
    ("pinhole-oidc", &[]),
    ("pinhole-seal", &["pinhole-keyfile"]),
    ("pinhole-browser", &["pinhole-scenario"]),
    ("pinhole-jobs", &["pinhole-store"]),
    (
        "pinhole-app",
        &[
            "pinhole-blobs",
            "pinhole-compare",
            "pinhole-contract",
            "pinhole-jobs",
            "pinhole-receipt",
            "pinhole-scenario",
            "pinhole-store",
        ],
    ),
    ("pinhole-server", &["pinhole-app", "pinhole-contract", "pinhole-oidc"]),
    (
        "pinhole-runtime",
        &[
            "pinhole-app",
            "pinhole-blobs",
            "pinhole-jobs",
            "pinhole-keyfile",
            "pinhole-receipt",
            "pinhole-seal",
            "pinhole-store",
        ],
    ),
    // A worker has the one port that it drives; the steps of a scenario are what the browser's port speaks.
    (
        "pinhole-worker-capture",
        &["pinhole-app", "pinhole-browser", "pinhole-jobs", "pinhole-runtime", "pinhole-scenario"],
    ),
    ("pinhole-worker-publication", &["pinhole-app", "pinhole-gitcat", "pinhole-jobs"]),
    (
        "pinhole",
        &[
            "pinhole-app",
            "pinhole-contract",
            "pinhole-receipt",
            "pinhole-runtime",
            "pinhole-scenario",
            "pinhole-server",
            "pinhole-worker-capture",
            "pinhole-worker-publication",
        ],
    ),
    (TESTKIT, &[]),
    ("e2e", &[]),
    ("xtask", &[]),
];

/// What tests alone may depend on besides: a door is tried on an application, and assembling one is the runtime's; the
/// contract is held against an application with a clock and ids of the test's own, assembled from its parts as the
/// application's own tests do; what was published is verified as a stranger would.
const TEST_ARROWS: &[(&str, &str)] = &[
    ("pinhole-server", "pinhole-blobs"),
    ("pinhole-server", "pinhole-compare"),
    ("pinhole-server", "pinhole-jobs"),
    ("pinhole-server", "pinhole-receipt"),
    ("pinhole-app", "pinhole-seal"),
    ("pinhole-server", "pinhole-runtime"),
    ("pinhole-server", "pinhole-scenario"),
    ("pinhole-server", "pinhole-seal"),
    ("pinhole-server", "pinhole-store"),
    ("pinhole-worker-publication", "pinhole-receipt"),
    ("pinhole-worker-publication", "pinhole-runtime"),
];

/// The words that everybody shares; itself it depends on nobody.
const DOMAIN: &str = "pinhole-core";
/// For tests only, and for everybody's.
const TESTKIT: &str = "pinhole-testkit";
/// These stand alone: one has to work when the rest does not build.
const WITHOUT_DOMAIN: &[&str] = &["xtask"];

/// Every dependency of ours on ours that has no arrow, and every arrow that no package follows.
pub(super) fn check(packages: &[Package]) -> Vec<Violation> {
    packages.iter().flat_map(|package| [forbidden(package), unused(package)].concat()).collect()
}

/// An arrow that nobody needs says of the architecture what is not so.
fn unused(package: &Package) -> Vec<Violation> {
    let name = package.name.as_str();
    let drawn = ARROWS.iter().filter(|(from, _)| *from == name).flat_map(|(_, allowed)| allowed.iter().copied());
    let unused = drawn.filter(|to| !package.dependencies.iter().any(|dependency| dependency.name == *to));
    unused.map(|to| Violation::new(name, format!("does not depend on {to}: take the arrow out of the table"))).collect()
}

fn forbidden(package: &Package) -> Vec<Violation> {
    let name = package.name.as_str();
    let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
        return vec![Violation::new(name, "has no arrows; add it to the table in crates/xtask/src/tidy/arrows.rs")];
    };
    let ours = package.dependencies.iter().filter(|dependency| dependency.path.is_some());
    let forbidden = ours.filter(|dependency| {
        let to = dependency.name.as_str();
        let for_tests =
            dependency.kind.as_deref() == Some("dev") && (to == TESTKIT || TEST_ARROWS.contains(&(name, to)));
        let domain = to == DOMAIN && !WITHOUT_DOMAIN.contains(&name);
        !(for_tests || domain || allowed.contains(&to))
    });
    forbidden
        .map(|dependency| {
            let kind = dependency.kind.as_deref().map_or(String::new(), |kind| format!("{kind}-"));
            let to = &dependency.name;
            Violation::new(name, format!("may not have {to} as a {kind}dependency: the architecture has no such arrow"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
        let dependency = |&(name, kind): &(&str, Option<&str>)| Dependency {
            name: name.into(),
            kind: kind.map(str::to_owned),
            path: Some("crates/any".into()),
        };
        Package { name: name.into(), dependencies: dependencies.iter().map(dependency).collect() }
    }

    #[test]
    fn an_arrow_of_the_table_and_the_domain_pass() {
        let app = package("pinhole-app", &[("pinhole-store", None), ("pinhole-core", None), (TESTKIT, Some("dev"))]);
        assert_eq!(forbidden(&app), []);
    }

    #[test]
    fn any_other_arrow_is_refused() {
        for (from, to, kind) in [
            ("pinhole-server", "pinhole-store", None),
            ("pinhole-server", "pinhole-gitcat", Some("dev")),
            ("pinhole-server", TESTKIT, None),
            ("pinhole-core", "pinhole-scenario", None),
            ("pinhole-runtime", "pinhole-browser", None),
            ("xtask", "pinhole-core", None),
        ] {
            let violations = forbidden(&package(from, &[(to, kind)]));
            assert_eq!(violations.len(), 1, "{from} -> {to}");
            assert!(violations[0].to_string().contains(to), "{}", violations[0]);
        }
    }

    #[test]
    fn a_package_without_arrows_is_refused() {
        assert_eq!(check(&[package("pinhole-utils", &[])]).len(), 1);
    }

    #[test]
    fn an_arrow_that_nobody_follows_is_refused() {
        assert_eq!(unused(&package("pinhole-jobs", &[("pinhole-store", None)])), []);
        let violations = check(&[package("pinhole-jobs", &[])]);
        assert_eq!(violations.len(), 1);
        assert!(violations[0].to_string().contains("pinhole-store"), "{}", violations[0]);
    }

    #[test]
    fn the_table_has_no_circle() {
        // Everything that can be built one after another has none.
        let mut left: Vec<_> = ARROWS.iter().collect();
        loop {
            let names: Vec<_> = left.iter().map(|(name, _)| *name).collect();
            let before = left.len();
            left.retain(|(_, allowed)| allowed.iter().any(|to| names.contains(to)));
            if left.len() == before {
                break;
            }
        }
        assert!(left.is_empty(), "{left:?}");
    }
}
