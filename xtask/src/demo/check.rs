//! Every figure against what was sent.

use std::collections::BTreeSet;

use roce_testkit::scenario::{FlowKey, Truth};
use serde_json::Value;

use super::metrics::{Metrics, Series};
use super::{flows, truth};

/// Differences between the flows and what was sent, one line each.
pub(super) fn flows(found: &[Value], sent: &Truth) -> Vec<String> {
    let mut differences = Vec::new();
    let mut seen = BTreeSet::new();
    for flow in found {
        let Some((key, sent)) = flows::key(flow).and_then(|key| Some((key, sent.flows.get(&key)?)))
        else {
            differences.push(format!("a flow that was not sent: {flow}"));
            continue;
        };
        if !seen.insert(key) {
            differences.push(format!("{}: counted as two flows", name(&key)));
        }
        let expected = truth::flow(sent);
        for (field, expected) in expected.as_object().into_iter().flatten() {
            if &flow[field] != expected {
                let found = &flow[field];
                differences
                    .push(format!("{}: {field} should be {expected} and is {found}", name(&key)));
            }
        }
    }
    let missing = sent.flows.keys().filter(|key| !seen.contains(key));
    differences.extend(missing.map(|key| format!("{}: was not seen", name(key))));
    differences
}

fn name(key: &FlowKey) -> String {
    format!("flow {} > {} QP {:#x}", key.src, key.dst, key.dst_qp)
}

/// Differences between the metrics and what was sent, one line each.
pub(super) fn metrics(found: &Metrics, sent: &Truth) -> Vec<String> {
    let expected = truth::metrics(sent);
    let names: BTreeSet<_> = expected.keys().map(|series| series.name.as_str()).collect();
    let wrong = expected.iter().filter_map(|(series, expected)| {
        let is = |found: &f64| format!("{series} should be {expected} and is {found}");
        match found.get(series) {
            None => Some(format!("{series} should be {expected} and is missing")),
            Some(value) => value.total_cmp(&(*expected as f64)).is_ne().then(|| is(value)),
        }
    });
    // Nothing else was sent, so nothing else may be counted.
    let is_extra = |series: &Series, value: f64| {
        let is_checked = names.contains(series.name.as_str())
            || series.name == "roce_parse_errors_total"
            || series.name == "roce_collector_events_lost_total";
        is_checked && value != 0.0 && !expected.contains_key(series)
    };
    let extra = found.iter().filter(|(series, value)| is_extra(series, **value));
    let extra = extra.map(|(series, value)| format!("{series} should not be there and is {value}"));
    wrong.chain(extra).collect()
}

#[cfg(test)]
mod tests {
    use roce_testkit::scenario::{Scenario, demo};
    use serde_json::json;

    use super::*;

    fn truth() -> Truth {
        Scenario::together("demo", demo(1)).truth
    }

    /// What a collector that counts right says.
    fn right(sent: &Truth) -> (Vec<Value>, Metrics) {
        let flows = sent.flows.iter().map(|(key, flow)| {
            let mut value = truth::flow(flow);
            value["src"] = json!(key.src);
            value["dst"] = json!(key.dst);
            value["dst_qp"] = json!(key.dst_qp);
            value
        });
        let metrics = truth::metrics(sent).into_iter().map(|(series, n)| (series, n as f64));
        (flows.collect(), metrics.collect())
    }

    #[test]
    fn right_figures_have_no_difference() {
        let sent = truth();
        let (found, values) = right(&sent);
        assert_eq!(flows(&found, &sent), Vec::<String>::new());
        assert_eq!(metrics(&values, &sent), Vec::<String>::new());
    }

    #[test]
    fn one_packet_too_few_or_too_many_is_found() {
        let sent = truth();
        let (mut found, mut values) = right(&sent);
        found[0]["packets"] = json!(found[0]["packets"].as_u64().unwrap() - 1);
        let absent = found.pop().unwrap();
        found.push(found[1].clone());
        let differences = flows(&found, &sent);
        assert_eq!(differences.len(), 3, "{differences:?}");
        assert!(differences[0].contains("packets should be"), "{differences:?}");
        assert!(differences[1].contains("two flows"), "{differences:?}");
        let key = flows::key(&absent).unwrap();
        assert_eq!(differences[2], format!("{}: was not seen", name(&key)));

        *values.values_mut().next().unwrap() += 1.0;
        let error = Series::new("roce_parse_errors_total", [("reason", "truncated")]);
        values.insert(error, 2.0);
        let last = values.keys().rev().find(|it| it.name == "roce_qp_packets_total").cloned();
        values.remove(&last.unwrap());
        let differences = metrics(&values, &sent);
        assert_eq!(differences.len(), 3, "{differences:?}");
    }
}
