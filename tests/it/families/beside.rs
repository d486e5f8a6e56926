//! What a test does with a database beside its daemon, or while there is none: looks, and plants what fails.

use std::path::PathBuf;

use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, SqliteConnection, sqlite::SqliteConnectOptions,
};

use crate::process::Home;

/// The database of a home.
pub struct Beside {
    path: PathBuf,
}

impl Beside {
    pub fn of(home: &Home) -> Beside {
        Beside { path: home.state_dir().join("subagentd.db") }
    }

    /// A number that a query answers. Changes nothing, also not what a killed daemon left.
    pub async fn number(&self, query: &str) -> i64 {
        let mut connection = self.connect(true).await;
        let number: Option<i64> =
            sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        number.unwrap_or(0)
    }

    /// The last `seq`.
    pub async fn head(&self) -> i64 {
        self.number("select max(seq) from events").await
    }

    /// Carries out statements.
    pub async fn tamper(&self, statements: &str) {
        let mut connection = self.connect(false).await;
        sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    async fn connect(&self, is_reader: bool) -> SqliteConnection {
        SqliteConnectOptions::new().filename(&self.path).read_only(is_reader).connect().await.unwrap()
    }
}
