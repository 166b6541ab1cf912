//! What a Prometheus scrape says.

use crate::told;

pub(crate) fn text() -> String {
    told::scraped().render()
}

/// The sum of what is counted as `metric` of the lock called `name`, with these labels.
pub(crate) fn count(metric: &str, name: &str, labels: &[(&str, &str)]) -> f64 {
    let text = text();
    let ours = |line: &&str| {
        let Some((called, rest)) = line.split_once('{') else { return false };
        let has = |(label, value): &(&str, &str)| rest.contains(&format!("{label}=\"{value}\""));
        called == metric && has(&("name", name)) && labels.iter().all(has)
    };
    let value = |line: &str| line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok());
    text.lines().filter(ours).filter_map(value).sum()
}

pub(crate) fn acquires(name: &str, outcome: &str) -> f64 {
    count("tairlock_acquires_total", name, &[("outcome", outcome)])
}

/// How many series there are of the lock called `name`.
pub(crate) fn series(name: &str) -> usize {
    let label = format!("name=\"{name}\"");
    text().lines().filter(|line| line.contains(&label)).count()
}
