//! Both databases have the same migrations, by name.

use std::collections::BTreeSet;

use crate::tidy::Violation;

const ENGINES: [&str; 2] = ["sqlite", "postgres"];

/// Every migration that one engine has and the other has not.
pub(super) fn check(files: &[String]) -> Vec<Violation> {
    let [one, other] = ENGINES.map(|engine| names(files, engine));
    let only_one = one.difference(&other).map(|name| (ENGINES[0], ENGINES[1], name));
    let only_other = other.difference(&one).map(|name| (ENGINES[1], ENGINES[0], name));
    only_one
        .chain(only_other)
        .map(|(has, lacks, name)| {
            let place = format!("migrations/{has}/{name}");
            Violation::new(place, format!("has no counterpart; add migrations/{lacks}/{name}"))
        })
        .collect()
}

fn names<'a>(files: &'a [String], engine: &str) -> BTreeSet<&'a str> {
    let folder = format!("migrations/{engine}/");
    files.iter().filter_map(|file| file.strip_prefix(&folder)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_migration_of_one_engine_alone_is_refused() {
        let files =
            ["migrations/sqlite/0001_a.sql", "migrations/postgres/0001_a.sql", "migrations/postgres/0002_b.sql"];
        let violations = check(&files.map(str::to_owned));
        assert_eq!(violations.len(), 1);
        assert!(violations[0].to_string().contains("add migrations/sqlite/0002_b.sql"), "{}", violations[0]);
    }
}
