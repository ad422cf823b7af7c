//! Everything in the database, for telling what an operation changed.

use std::collections::BTreeMap;

use pinhole_testkit::Engine;

use crate::support::Bench;

/// Rows by table, in an order of their own.
pub(crate) type Dump = BTreeMap<String, Vec<String>>;

impl Bench {
    /// Every row of every table, those of the job library among them; which migrations there are is left out.
    pub(crate) fn dump(&self) -> Dump {
        let tables = match self.database.engine() {
            Engine::Sqlite => "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
            Engine::Postgres => {
                "SELECT schemaname || '.' || tablename FROM pg_tables WHERE schemaname IN ('public', 'apalis')"
            }
        };
        let tables = self.sql(tables);
        let tables: Vec<_> = tables.lines().filter(|table| !table.ends_with("_migrations")).collect();
        assert!(tables.len() > 20, "{tables:?}");
        let dump = tables.iter().map(|table| (bare(table).to_owned(), Vec::new())).collect();
        self.rows_of(&tables, dump)
    }

    /// How many rows a table has.
    pub(crate) fn counts_of(&self, table: &str) -> usize {
        self.rows_of(&[table], Dump::new()).remove(table).map_or(0, |rows| rows.len())
    }

    /// Adds the rows of the tables: one statement for each table, and all of them at once.
    fn rows_of(&self, tables: &[&str], mut dump: Dump) -> Dump {
        let columns = match self.database.engine() {
            Engine::Sqlite => "*",
            Engine::Postgres => "t::text",
        };
        let statement = |table: &&str| format!("SELECT '{} ', {columns} FROM {table} AS t; ", bare(table));
        let rows = self.sql(&tables.iter().map(statement).collect::<String>());
        for row in rows.lines() {
            let (table, row) = row.split_once(" |").unwrap_or_else(|| panic!("a row over two lines: {row}"));
            dump.entry(table.to_owned()).or_default().push(row.to_owned());
        }
        for rows in dump.values_mut() {
            rows.sort();
        }
        dump
    }
}

/// The table's name without its schema.
fn bare(table: &str) -> &str {
    table.strip_prefix("public.").unwrap_or(table)
}

/// The tables that differ.
pub(crate) fn changed<'a>(before: &Dump, after: &'a Dump) -> Vec<&'a str> {
    assert!(before.keys().eq(after.keys()));
    after.iter().filter(|(table, rows)| before[*table] != **rows).map(|(table, _)| table.as_str()).collect()
}
