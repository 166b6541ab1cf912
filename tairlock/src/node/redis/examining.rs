//! A server is asked what the doctor wants to know.

use std::time::Duration;

use super::RedisNode;
use crate::{
    Confirm, Fault, FaultKind,
    dialect::{diagnose, symptoms},
    doctor::Report,
    node::{Node, Role},
    redis::unused_key,
    runtime::Runtime,
    time,
};

impl RedisNode {
    pub(super) async fn examined(
        &self,
        within: Duration,
        confirm: Option<Confirm>,
    ) -> Result<Report, Fault> {
        let runtime = Runtime::here()?;
        let line = self.line_of(Role::Commands, runtime).await?;
        let key = unused_key(&self.settings.prefix).ok_or_else(|| {
            Fault::new(FaultKind::Config, "the prefix leaves no room for a key to ask about")
        })?;
        let (asked, began) = (time::unix_micros(), time::now());
        let replies = runtime.limit(within, line.send(&symptoms(&key))).await;
        let late = || Fault::new(FaultKind::NoReply, format!("no reply within {within:?}"));
        let replies = replies.unwrap_or_else(|| Err(late()))?;
        let facts = diagnose(&replies, &line.speech, asked, time::now().since(began));
        Ok(Report::of(self.place(), &facts.confirmed_by(confirm)))
    }
}
