//! What is made of a collector's answers.

use super::super::testing::{at, flow};
use super::*;
use crate::http::{HookReport, OtherFlowsReport};

fn collector(interfaces: &[&str]) -> Collector {
    let question = Question { qp: Some(0x45), peer: Some("2001:db8::1".parse().unwrap()) };
    let interfaces = interfaces.iter().map(|name| (*name).to_owned()).collect();
    Collector::new("http://127.0.0.1:9977".parse().unwrap(), question, 50, interfaces)
}

fn answer() -> FlowsAnswer {
    let hook = |device: &str| HookReport {
        device: device.to_owned(),
        direction: "ingress".into(),
        hook: "xdp".into(),
        mode: "native".into(),
        seen: None,
    };
    let mut other = flow(7, 5);
    other.device = Some("eth1".to_owned());
    FlowsAnswer {
        schema_version: 1,
        time: Some(at(5)),
        hooks: vec![hook("eth0"), hook("eth1")],
        matching: 2,
        flows: vec![flow(0x45, 10), other],
        other_flows: OtherFlowsReport { packets: 3, wire_bytes: 300 },
        blind: vec!["eth1 is blind".to_owned()],
    }
}

#[test]
fn the_question_is_in_the_path() {
    assert_eq!(collector(&[]).path(), "/api/v1/flows?limit=50&qp=69&peer=2001:db8::1");
}

#[test]
fn one_interface_of_two() {
    let all = collector(&[]).sample_of(answer(), at(5)).unwrap();
    assert_eq!((all.taps.len(), all.flows.len(), all.matching), (2, 2, 2));
    assert_eq!(all.notes, ["3 packets found no room in the flow tables"]);
    let one = collector(&["eth0"]).sample_of(answer(), at(5)).unwrap();
    assert_eq!((one.taps.len(), one.flows.len(), one.matching), (1, 1, 1));
    assert_eq!(one.flows[0].dst_qp, 0x45);
}

#[test]
fn an_interface_that_the_collector_does_not_watch() {
    let refused = collector(&["eth0", "eth9"]).sample_of(answer(), at(5)).unwrap_err();
    let Miss::Never(error) = refused else { panic!("{refused:?}") };
    let message = error.to_string();
    assert!(message.contains("is not attached to eth9, but to: eth0, eth1;"), "{message}");
}
