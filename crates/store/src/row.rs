//! One row of either database, read column by column. A column that does not hold what the schema promises is an
//! internal error that names it.

use std::str::FromStr;

use pinhole_core::{Error, Result, Timestamp};
use serde::de::DeserializeOwned;
use sqlx::{Row as _, postgres::PgRow, sqlite::SqliteRow};

/// A fetched row.
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl From<SqliteRow> for Row {
    fn from(row: SqliteRow) -> Self {
        Self::Sqlite(row)
    }
}

impl From<PgRow> for Row {
    fn from(row: PgRow) -> Self {
        Self::Postgres(row)
    }
}

macro_rules! get {
    ($row:expr, $column:expr) => {
        match $row {
            Row::Sqlite(row) => row.try_get($column),
            Row::Postgres(row) => row.try_get($column),
        }
        .map_err(Error::internal)
    };
}

impl Row {
    /// A text.
    pub(crate) fn text(&self, column: &str) -> Result<String> {
        get!(self, column)
    }

    /// A text or NULL.
    pub(crate) fn text_or_null(&self, column: &str) -> Result<Option<String>> {
        get!(self, column)
    }

    /// A text in the written form of `T`.
    pub(crate) fn parse<T: FromStr<Err = Error>>(&self, column: &str) -> Result<T> {
        self.text(column)?.parse().map_err(|e| inconsistent(column, e))
    }

    /// A text in the written form of `T`, or NULL.
    pub(crate) fn parse_or_null<T: FromStr<Err = Error>>(&self, column: &str) -> Result<Option<T>> {
        self.text_or_null(column)?.map(|text| text.parse().map_err(|e| inconsistent(column, e))).transpose()
    }

    /// A text that holds JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T> {
        serde_json::from_str(&self.text(column)?).map_err(|e| inconsistent(column, e))
    }

    /// A text that holds JSON, or NULL.
    pub(crate) fn json_or_null<T: DeserializeOwned>(&self, column: &str) -> Result<Option<T>> {
        self.text_or_null(column)?
            .map(|text| serde_json::from_str(&text).map_err(|e| inconsistent(column, e)))
            .transpose()
    }

    /// An integer within the range of `T`.
    pub(crate) fn int<T: TryFrom<i64>>(&self, column: &str) -> Result<T> {
        let int: i64 = get!(self, column)?;
        T::try_from(int).map_err(|_| inconsistent(column, "out of range"))
    }

    /// An integer within the range of `T`, or NULL.
    pub(crate) fn int_or_null<T: TryFrom<i64>>(&self, column: &str) -> Result<Option<T>> {
        let int: Option<i64> = get!(self, column)?;
        int.map(|int| T::try_from(int).map_err(|_| inconsistent(column, "out of range"))).transpose()
    }

    /// An instant.
    pub(crate) fn time(&self, column: &str) -> Result<Timestamp> {
        self.int(column).map(Timestamp::from_micros)
    }

    /// An instant or NULL.
    pub(crate) fn time_or_null(&self, column: &str) -> Result<Option<Timestamp>> {
        Ok(self.int_or_null(column)?.map(Timestamp::from_micros))
    }
}

fn inconsistent(column: &str, why: impl std::fmt::Display) -> Error {
    Error::internal(format!("column {column} holds what the schema does not allow: {why}"))
}
