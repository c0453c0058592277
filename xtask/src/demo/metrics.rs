//! Metrics as the collector serves them.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::{Context, Result};
use roce_testkit::http;

/// Values by series.
pub(super) type Metrics = BTreeMap<Series, f64>;

/// Name and labels, the labels in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Series {
    pub(super) name: String,
    labels: Vec<(String, String)>,
}

impl Series {
    pub(super) fn new<'a>(
        name: &str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let labels = labels.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut labels: Vec<_> = labels.collect();
        labels.sort();
        Self { name: name.to_owned(), labels }
    }
}

impl std::fmt::Display for Series {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let labels: Vec<_> =
            self.labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        write!(f, "{}{{{}}}", self.name, labels.join(","))
    }
}

/// Asks for the metrics at `address`.
pub(super) fn fetch(address: SocketAddr) -> Result<Metrics> {
    let text = http::get(address, "/metrics", &[("Accept", "text/plain")])?.ok()?;
    parse(&text)
}

fn parse(text: &str) -> Result<Metrics> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let parsed = lines.map(|line| {
        parse_line(line).with_context(|| format!("this line of the metrics cannot be read: {line}"))
    });
    parsed.collect()
}

/// `name{label="value",...} 1` without escapes, for no value of ours has any.
fn parse_line(line: &str) -> Option<(Series, f64)> {
    let (series, value) = line.rsplit_once(' ')?;
    let (name, labels) = match series.split_once('{') {
        Some((name, labels)) => (name, labels.strip_suffix('}')?),
        None => (series, ""),
    };
    let labels: Option<Vec<_>> = labels
        .split_terminator(',')
        .map(|label| {
            let (name, value) = label.split_once('=')?;
            Some((name, value.strip_prefix('"')?.strip_suffix('"')?))
        })
        .collect();
    Some((Series::new(name, labels?), value.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_and_without_labels_are_read() {
        let text = "# HELP a b\na_total{y=\"2001:db8::1\",x=\"1\"} 7\nb 0.5\n\n# EOF\n";
        let metrics = parse(text).unwrap();
        let series = Series::new("a_total", [("x", "1"), ("y", "2001:db8::1")]);
        assert_eq!(metrics[&series].to_string(), "7");
        assert_eq!(series.to_string(), "a_total{x=\"1\",y=\"2001:db8::1\"}");
        assert_eq!(metrics[&Series::new("b", [])].to_string(), "0.5");
        assert!(parse("what is this").unwrap_err().to_string().contains("what is this"));
    }
}
