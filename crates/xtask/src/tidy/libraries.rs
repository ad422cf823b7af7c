//! Which package may name which library, so that each outside thing has one door.

use crate::{tidy::Violation, workspace::Package};

/// A library with all whose names begin so, and who may depend on it.
struct Library {
    prefix: &'static str,
    users: &'static [&'static str],
}

const LIBRARIES: &[Library] = &[
    Library { prefix: "apalis", users: &["pinhole-jobs"] },
    Library { prefix: "axum", users: &["pinhole", "pinhole-server", "pinhole-testkit"] },
    Library { prefix: "chromiumoxide", users: &["e2e", "pinhole-browser"] },
    Library { prefix: "git2", users: &["pinhole-gitcat"] },
    Library { prefix: "object_store", users: &["pinhole-blobs"] },
    Library { prefix: "openidconnect", users: &["pinhole-oidc"] },
    Library { prefix: "rmcp", users: &["pinhole-server"] },
    Library { prefix: "sqlx", users: &["pinhole-jobs", "pinhole-store"] },
    Library { prefix: "tlog_tiles", users: &["pinhole-receipt"] },
];

/// Every library in a manifest that is not that package's to name, for whatever kind of dependency.
pub(super) fn check(packages: &[Package]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for package in packages {
        for dependency in &package.dependencies {
            let mut libraries = LIBRARIES.iter().filter(|library| dependency.name.starts_with(library.prefix));
            let forbidden = libraries.find(|library| !library.users.contains(&package.name.as_str()));
            if let Some(library) = forbidden {
                let users = library.users.join(", ");
                let problem = format!("may not name {}: its door is {users}", dependency.name);
                violations.push(Violation::new(&package.name, problem));
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    fn names(package: &str, library: &str, kind: Option<&str>) -> Vec<Violation> {
        let dependency = Dependency { name: library.into(), kind: kind.map(str::to_owned), path: None };
        check(&[Package { name: package.into(), dependencies: vec![dependency] }])
    }

    #[test]
    fn a_library_is_for_its_door_alone() {
        assert_eq!(names("pinhole-store", "sqlx", None), []);
        assert_eq!(names("pinhole-jobs", "apalis-postgres", None), []);
        assert_eq!(names("pinhole-app", "serde", None), []);
        for (package, library, kind) in [
            ("pinhole-app", "sqlx", None),
            ("pinhole-app", "sqlx-core", Some("dev")),
            ("pinhole-store", "apalis-sqlite", None),
            ("pinhole-worker-capture", "chromiumoxide", None),
            ("e2e", "object_store", Some("dev")),
        ] {
            assert_eq!(names(package, library, kind).len(), 1, "{package} names {library}");
        }
    }
}
