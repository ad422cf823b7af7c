//! The schema: the same on both engines, as the databases themselves tell it, and refused when it is newer than this
//! program.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use pinhole_core::Code;
use pinhole_store::Store;
use pinhole_testkit::{Engine, FakeClock};

use crate::support::{Fixture, on_both_engines};

on_both_engines! {
    migrating_twice_changes_nothing
    several_may_migrate_at_once
    a_newer_schema_is_refused
    another_schema_than_that_of_the_program_is_told
}

/// Tables with their columns: type, whether NULL is allowed, place in the primary key.
const COLUMNS: [&str; 2] = [
    "SELECT m.name || '.' || c.name || ' ' || c.type || CASE WHEN c.\"notnull\" OR c.pk > 0 THEN ' not null' ELSE '' END \
     || CASE WHEN c.pk > 0 THEN ' key ' || c.pk ELSE '' END \
     FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS c WHERE m.type = 'table'",
    "SELECT c.table_name || '.' || c.column_name || ' ' || CASE c.data_type WHEN 'bigint' THEN 'INTEGER' \
     WHEN 'text' THEN 'TEXT' ELSE c.data_type END || CASE c.is_nullable WHEN 'NO' THEN ' not null' ELSE '' END \
     || coalesce(' key ' || array_position(i.indkey::int2[], a.attnum) + 1, '') \
     FROM information_schema.columns AS c \
     JOIN pg_attribute AS a ON a.attrelid = c.table_name::regclass AND a.attname = c.column_name \
     LEFT JOIN pg_index AS i ON i.indrelid = a.attrelid AND i.indisprimary AND a.attnum = ANY (i.indkey) \
     WHERE c.table_schema = 'public'",
];

/// Indices that have a name, with their columns in order and whether they are unique or partial; and the columns of
/// each other unique constraint.
const INDICES: [&str; 2] = [
    "SELECT m.name || CASE l.origin WHEN 'c' THEN ' ' || l.name ELSE '' END || CASE l.\"unique\" WHEN 1 THEN ' unique' ELSE '' END \
     || CASE l.partial WHEN 1 THEN ' partial' ELSE '' END \
     || (SELECT group_concat(' ' || name, '') FROM (SELECT name FROM pragma_index_info(l.name) ORDER BY seqno)) \
     FROM sqlite_schema AS m JOIN pragma_index_list(m.name) AS l WHERE m.type = 'table' AND l.origin <> 'pk'",
    "SELECT t.relname || CASE WHEN k.oid IS NULL THEN ' ' || n.relname ELSE '' END || CASE WHEN i.indisunique THEN ' unique' ELSE '' END \
     || CASE WHEN i.indpred IS NOT NULL THEN ' partial' ELSE '' END \
     || (SELECT string_agg(' ' || a.attname, '' ORDER BY o.place) \
     FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS o (number, place) \
     JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = o.number) \
     FROM pg_index AS i JOIN pg_class AS t ON t.oid = i.indrelid JOIN pg_class AS n ON n.oid = i.indexrelid \
     LEFT JOIN pg_constraint AS k ON k.conindid = i.indexrelid AND k.contype = 'u' \
     WHERE t.relnamespace = 'public'::regnamespace AND NOT i.indisprimary",
];

/// Which column names a row of which table.
const REFERENCES: [&str; 2] = [
    "SELECT m.name || '.' || f.\"from\" || ' -> ' || f.\"table\" || '.' || f.\"to\" \
     FROM sqlite_schema AS m JOIN pragma_foreign_key_list(m.name) AS f WHERE m.type = 'table'",
    "SELECT k.conrelid::regclass || '.' || a.attname || ' -> ' || k.confrelid::regclass || '.' || b.attname \
     FROM pg_constraint AS k JOIN pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1] \
     JOIN pg_attribute AS b ON b.attrelid = k.confrelid AND b.attnum = k.confkey[1] WHERE k.contype = 'f'",
];

/// What the migrator itself keeps differs between the engines.
fn ours(rows: Vec<String>) -> BTreeSet<String> {
    rows.into_iter().filter(|row| !row.starts_with("_sqlx_migrations")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn both_engines_have_the_same_schema() {
    let (sqlite, postgres) = (Fixture::new(Engine::Sqlite).await, Fixture::new(Engine::Postgres).await);
    for ([on_sqlite, on_postgres], known) in [
        (COLUMNS, "cells.claim_token TEXT"),
        (COLUMNS, "cell_attempts.attempt INTEGER not null key 2"),
        (INDICES, "cells_by_state state due_at"),
        (INDICES, "baseline_entries baseline_entries_active unique partial project_id line key_path"),
        (INDICES, "environments unique project_id slug"),
        (REFERENCES, "cells.run_id -> runs.id"),
    ] {
        let (sqlite, postgres) = (ours(sqlite.texts(on_sqlite).await), ours(postgres.texts(on_postgres).await));
        assert!(sqlite.iter().any(|row| row.ends_with(known)), "the query does not see {known}: {sqlite:#?}");
        let differences: Vec<_> = sqlite.symmetric_difference(&postgres).collect();
        assert!(differences.is_empty(), "on one engine only: {differences:#?}");
    }
}

#[test]
fn both_engines_have_the_same_files() {
    let names = |engine: &str| -> BTreeSet<_> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations").join(engine);
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    assert!(!names("sqlite").is_empty());
    assert_eq!(names("sqlite"), names("postgres"));
}

/// What a later version of the program leaves behind.
const FROM_THE_FUTURE: &str = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
    SELECT 9999, 'from the future', success, checksum, execution_time FROM _sqlx_migrations WHERE version = 1";

const APPLIED: &str = "SELECT CAST(version AS TEXT) FROM _sqlx_migrations ORDER BY version";

async fn migrating_twice_changes_nothing(engine: Engine) {
    let fixture = Fixture::unmigrated(engine).await;
    let store = &fixture.store;
    store.migrate().await.unwrap();
    let applied = fixture.texts(APPLIED).await;
    assert!(!applied.is_empty());
    let ground = fixture.ground().await;
    store.migrate().await.unwrap();
    assert_eq!(fixture.texts(APPLIED).await, applied);
    let mut tx = fixture.read().await;
    assert!(tx.project(ground.project.id).await.unwrap().is_some());
}

async fn several_may_migrate_at_once(engine: Engine) {
    let fixture = Fixture::unmigrated(engine).await;
    let other = Store::open(fixture.url(), Arc::new(FakeClock::default())).await.unwrap();
    let (one, two) = tokio::join!(fixture.store.migrate(), other.migrate());
    assert!(one.is_ok() && two.is_ok(), "{one:?} {two:?}");
    other.check_schema().await.unwrap();
    other.close().await;
}

async fn a_newer_schema_is_refused(engine: Engine) {
    let fixture = Fixture::unmigrated(engine).await;
    fixture.store.migrate().await.unwrap();
    fixture.execute(FROM_THE_FUTURE).await;
    let error = fixture.store.migrate().await.expect_err("the schema is newer");
    assert_eq!((error.code(), error.reason()), (Code::Conflict, Some("newer_schema")), "{error:?}");
    assert!(fixture.texts(APPLIED).await.contains(&"9999".to_owned()));
}

async fn another_schema_than_that_of_the_program_is_told(engine: Engine) {
    let fixture = Fixture::unmigrated(engine).await;
    let store = &fixture.store;
    let refused = async |when: &str, reason: &str| {
        let error = store.check_schema().await.expect_err(when);
        assert_eq!((error.code(), error.reason()), (Code::Conflict, Some(reason)), "{when}: {error:?}");
    };
    refused("there is none", "schema_version").await;
    store.migrate().await.unwrap();
    store.check_schema().await.unwrap();
    fixture.execute(FROM_THE_FUTURE).await;
    refused("it is newer", "newer_schema").await;
    fixture.execute("DELETE FROM _sqlx_migrations").await;
    refused("it is older", "schema_version").await;
}
