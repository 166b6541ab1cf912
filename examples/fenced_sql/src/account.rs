//! An account in a database, which knows the fence that it was written with last.

use rusqlite::{Connection, params};

/// The database, with one account.
#[derive(Debug)]
pub(crate) struct Bank(Connection);

impl Bank {
    pub(crate) fn open() -> anyhow::Result<Self> {
        let database = Connection::open_in_memory()?;
        database.execute_batch(
            "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, fence INTEGER);
             INSERT INTO account VALUES (7, 100, 0);",
        )?;
        Ok(Self(database))
    }

    pub(crate) fn balance(&self) -> anyhow::Result<i64> {
        let balance = "SELECT balance FROM account WHERE id = 7";
        Ok(self.0.query_row(balance, [], |row| row.get(0))?)
    }

    /// Whoever writes is believed.
    pub(crate) fn write(&self, balance: i64) -> anyhow::Result<bool> {
        let written = self.0.execute("UPDATE account SET balance = ?1 WHERE id = 7", [balance])?;
        Ok(written == 1)
    }

    /// Writes unless a later holder has written: says whether it did.
    ///
    /// Look and write are one statement, so that nobody comes between them. `<=` and not `<`, as a
    /// holder may write more than once under its one fence.
    pub(crate) fn write_fenced(&self, balance: i64, fence: i64) -> anyhow::Result<bool> {
        let update = "UPDATE account SET balance = ?1, fence = ?2 WHERE id = 7 AND fence <= ?2";
        Ok(self.0.execute(update, params![balance, fence])? == 1)
    }
}
