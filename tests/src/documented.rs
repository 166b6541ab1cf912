//! What `docs/observability.md` says of spans and metrics, so that a test can hold the program to it.

use std::path::Path;

/// A row of the table of metrics, or of spans, which have no kind.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is called.
    pub name: String,
    /// `counter`, `gauge` or `histogram`.
    pub kind: String,
    /// Its labels, or fields.
    pub labels: Vec<String>,
}

fn text() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/observability.md");
    std::fs::read_to_string(path).expect("docs/observability.md")
}

/// What stands between backticks.
fn words(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The rows of the table under `heading`, in cells.
fn rows(heading: &str) -> Vec<Vec<String>> {
    let text = text();
    let section = text.split("\n## ").find(|section| section.starts_with(heading));
    let lines = section.expect("a section of that name").lines();
    let table = lines.skip_while(|line| !line.starts_with('|')).take_while(|line| !line.is_empty());
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect();
    // Behind the head and the line under it.
    table.skip(2).map(cells).collect()
}

fn name(cell: &str) -> String {
    words(cell).into_iter().next().expect("a name")
}

/// The metrics.
#[must_use]
pub fn metrics() -> Vec<Row> {
    let rows = rows("Metrics").into_iter();
    let row = |cells: Vec<String>| Row {
        name: name(&cells[1]),
        kind: cells[2].clone(),
        labels: words(&cells[4]),
    };
    rows.map(row).collect()
}

/// The spans.
#[must_use]
pub fn spans() -> Vec<Row> {
    let rows = rows("Spans").into_iter();
    let row = |cells: Vec<String>| Row {
        name: name(&cells[1]),
        kind: String::new(),
        labels: words(&cells[3]),
    };
    rows.map(row).collect()
}

/// The messages of the events, up to what differs.
#[must_use]
pub fn messages() -> Vec<String> {
    rows("Events").into_iter().map(|cells| cells[1].trim_end_matches('…').to_owned()).collect()
}

/// Whether it names `word`, as the value of a label does.
#[must_use]
pub fn names(word: &str) -> bool {
    text().contains(&format!("`{word}`"))
}

/// Holds a scrape to the table: nothing in it that is not documented, and no label or value of one.
///
/// # Panics
/// If something is.
pub fn check_scrape(scrape: &str) {
    let metrics = metrics();
    let mut seen = 0;
    for line in scrape.lines().filter(|line| line.starts_with("tairlock_")) {
        let (called, rest) = line.split_once('{').unwrap_or((line, ""));
        let of = |row: &&Row| {
            let part = called.strip_prefix(row.name.as_str());
            part.is_some_and(|part| ["", "_sum", "_count", "_bucket"].contains(&part))
        };
        let row = metrics.iter().find(of).unwrap_or_else(|| panic!("not documented: {line}"));
        let labels = rest.split_once('}').map_or("", |(labels, _)| labels);
        for label in labels.split(',').filter(|label| !label.is_empty()) {
            let (label, value) = label.split_once('=').expect("a label has a value");
            if ["le", "quantile"].contains(&label) {
                continue;
            }
            assert!(row.labels.iter().any(|known| known == label), "not documented: {line}");
            let value = value.trim_matches('"');
            assert!(label == "name" || names(value), "{value} is not documented: {line}");
        }
        seen += 1;
    }
    assert!(seen > 0, "nothing was scraped");
}
