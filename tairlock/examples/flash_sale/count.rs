//! Which commands were carried out: how often each, from the beginning or since an earlier look.

use std::collections::BTreeMap;

/// How often each command was carried out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(BTreeMap<String, u64>);

impl Counts {
    /// What a server answers to `INFO commandstats`: a line `cmdstat_get:calls=7,…` per command.
    pub(crate) fn of_server(info: &str) -> Self {
        let line = |line: &str| {
            let (command, numbers) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            let calls = numbers.split(',').next()?.parse().ok()?;
            Some((command.replace('|', " "), calls))
        };
        Self(info.lines().filter_map(line).collect())
    }

    /// What has been carried out since `earlier`; our own look does not count.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let since = |(command, calls): (&String, &u64)| {
            let calls = calls.saturating_sub(*earlier.0.get(command).unwrap_or(&0));
            (calls > 0 && command != "info").then(|| (command.clone(), calls))
        };
        Self(self.0.iter().filter_map(since).collect())
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// `get 1.02, set 1.00`: per sale, the most frequent first, and nothing that would show as 0.00.
    pub(crate) fn per_sale(&self, sold: u64) -> String {
        let mut commands: Vec<_> = self.0.iter().collect();
        commands.retain(|(_, calls)| **calls * 200 >= sold);
        commands.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let each = |(command, calls): (&String, &u64)| {
            format!("{command} {:.2}", *calls as f64 / sold.max(1) as f64)
        };
        commands.into_iter().map(each).collect::<Vec<_>>().join(", ")
    }
}

impl<const N: usize> From<[(&str, u64); N]> for Counts {
    fn from(commands: [(&str, u64); N]) -> Self {
        Self(commands.into_iter().map(|(command, calls)| (command.to_owned(), calls)).collect())
    }
}
