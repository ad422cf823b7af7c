//! The bare limit of admission: the rows of the newest run of a database, written again and again by the driver alone,
//! each time in one transaction of the same durability. No HTTP, no authority, no reading.
//!
//! `admission_rows DATABASE COUNT` prints how many it wrote per second. It belongs to `cargo xtask bench admission` and
//! must not be pointed at a database that anybody needs.

use std::{env, error::Error, io::Write as _, time::Instant};

use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions as _, Connection as _, Row as _, SqliteConnection, TypeInfo as _,
    ValueRef as _,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteRow, SqliteSynchronous},
};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What an admission writes, in its order: the table, its columns, and the one of them that names the row.
const TABLES: [(&str, &str, &str); 7] = [
    ("runs", "*", "id"),
    ("cells", "*", "id"),
    ("Jobs", "*", "id"),
    ("idempotency_keys", "*", "key"),
    ("audit", "*", "id"),
    ("log_entries", "kind, record_id, sha256", "record_id"),
    ("events", "*", "id"),
];
/// So many of a name's last letters are counted on.
const COUNTED: usize = 12;

/// A value of a row, and whether it holds the name of a row.
enum Cell {
    Text(String, bool),
    Bytes(Vec<u8>, bool),
    Int(Option<i64>),
    Real(f64),
}

/// A row to write, with its statement.
struct Template {
    sql: String,
    cells: Vec<Cell>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let mut arguments = env::args().skip(1);
    let (Some(database), Some(count)) = (arguments.next(), arguments.next()) else {
        return Err("usage: admission_rows DATABASE COUNT".into());
    };
    let count: u32 = count.parse()?;
    let options = SqliteConnectOptions::new()
        .filename(database)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .disable_statement_logging();
    let mut connection = SqliteConnection::connect_with(&options).await?;
    let (templates, names) = templates(&mut connection).await?;
    let begun = Instant::now();
    for number in 0..count {
        write(&mut connection, &templates, &names, number).await?;
    }
    let rate = f64::from(count) / begun.elapsed().as_secs_f64();
    connection.close().await?;
    writeln!(std::io::stdout(), "{rate}")?;
    Ok(())
}

/// The newest row of each table, and the names of those rows.
async fn templates(connection: &mut SqliteConnection) -> Outcome<(Vec<Template>, Vec<String>)> {
    let (mut rows, mut names) = (Vec::new(), Vec::new());
    for (table, columns, name) in TABLES {
        let select = AssertSqlSafe(format!("SELECT {columns} FROM {table} ORDER BY rowid DESC LIMIT 1"));
        let row = sqlx::query(select).fetch_one(&mut *connection).await?;
        names.push(row.try_get::<String, _>(name)?);
        rows.push((table, row));
    }
    let templates = rows.iter().map(|(table, row)| template(table, row, &names)).collect::<Outcome<_>>()?;
    Ok((templates, names))
}

fn template(table: &str, row: &SqliteRow, names: &[String]) -> Outcome<Template> {
    let columns: Vec<_> = row.columns().iter().map(|column| format!("\"{}\"", column.name())).collect();
    let places: Vec<_> = (1..=columns.len()).map(|place| format!("${place}")).collect();
    let sql = format!("INSERT INTO {table} ({}) VALUES ({})", columns.join(", "), places.join(", "));
    let named = |text: &str| names.iter().any(|name| text.contains(name.as_str()));
    let mut cells = Vec::new();
    for index in 0..columns.len() {
        let value = row.try_get_raw(index)?;
        let kind = if value.is_null() { "NULL".to_owned() } else { value.type_info().name().to_owned() };
        cells.push(match kind.as_str() {
            "NULL" => Cell::Int(None),
            "INTEGER" | "BOOLEAN" => Cell::Int(Some(row.try_get(index)?)),
            "REAL" => Cell::Real(row.try_get(index)?),
            "BLOB" => {
                let bytes: Vec<u8> = row.try_get(index)?;
                let named = named(&String::from_utf8_lossy(&bytes));
                Cell::Bytes(bytes, named)
            }
            _ => {
                let text: String = row.try_get(index)?;
                let named = named(&text);
                Cell::Text(text, named)
            }
        });
    }
    Ok(Template { sql, cells })
}

/// One admission's rows under names of their own.
async fn write(
    connection: &mut SqliteConnection,
    templates: &[Template],
    names: &[String],
    number: u32,
) -> Outcome<()> {
    let renamed = |text: &str| names.iter().fold(text.to_owned(), |text, name| text.replace(name, &next(name, number)));
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    for Template { sql, cells } in templates {
        let query = cells.iter().fold(sqlx::query(AssertSqlSafe(sql.as_str())), |query, cell| match cell {
            Cell::Text(text, false) => query.bind(text.as_str()),
            Cell::Text(text, true) => query.bind(renamed(text)),
            Cell::Bytes(bytes, false) => query.bind(bytes.as_slice()),
            Cell::Bytes(bytes, true) => query.bind(renamed(&String::from_utf8_lossy(bytes)).into_bytes()),
            Cell::Int(int) => query.bind(*int),
            Cell::Real(real) => query.bind(*real),
        });
        query.execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(())
}

/// A name as long as `name` that comes after the one before, as names with a time in them do. The letter keeps it apart
/// from names that count already.
fn next(name: &str, number: u32) -> String {
    let kept: String = name.chars().take(name.chars().count().saturating_sub(COUNTED)).collect();
    format!("{kept}z{number:0width$}", width = COUNTED - 1)
}
