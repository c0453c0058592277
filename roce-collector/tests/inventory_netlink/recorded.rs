//! What Linux 6.1 and 6.12 really said, against what `rdma res show qp` of iproute2 made of it.

use std::fs;
use std::io;
use std::time::Duration;

use roce_collector::inventory::netlink::{
    Answer, KernelView, QpRecord, ReadCounts, Reader, Request,
};
use roce_collector::inventory::{QpState, QpType};

use crate::recording::{Recording, Replay, path};

fn read(name: &str) -> KernelView {
    let recording = Recording::open(name);
    let mut reader = Reader::new(|| Ok(Replay::new(recording.clone())), 100_000);
    let view = reader.read(Duration::ZERO).unwrap();
    assert_eq!(reader.counts(), ReadCounts::default(), "{name}");
    view
}

fn rdma_text(name: &str) -> Vec<String> {
    let text = fs::read_to_string(path(&format!("{name}.txt"))).unwrap();
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// A queue pair as iproute2 writes it, without what is not read (the PD's number and the process's name).
fn line(view: &KernelView, qp: &QpRecord) -> String {
    let device = view.devices.iter().find(|device| device.index == qp.device).unwrap();
    let port = qp.port.map_or_else(|| "-".to_owned(), |port| port.to_string());
    let text = |value: Option<u32>| value.map(|value| value.to_string());
    let fields = [
        ("rqpn", text(qp.rqpn)),
        ("type", Some(qp.qp_type.to_string())),
        ("state", Some(qp.state.to_string())),
        ("rq-psn", text(qp.rq_psn)),
        ("sq-psn", text(qp.sq_psn)),
        ("path-mig-state", qp.path_migration.map(|state| state.to_string())),
        ("pid", text(qp.task)),
        ("comm", qp.kernel_name.as_ref().map(|name| format!("[{name}]"))),
    ];
    let known =
        fields.iter().filter_map(|(name, value)| Some(format!(" {name} {}", value.as_ref()?)));
    format!("link {}/{port} lqpn {}{}", device.name, qp.lqpn, known.collect::<String>())
}

/// Takes the fields `name value` out of a line.
fn without(line: &str, names: &[&str]) -> String {
    let words: Vec<_> = line.split(' ').collect();
    let mut kept = vec![words[0], words[1]];
    for pair in words[2..].chunks(2) {
        let is_process_name = pair[0] == "comm" && !pair[1].starts_with('[');
        if !names.contains(&pair[0]) && !is_process_name {
            kept.extend(pair);
        }
    }
    kept.join(" ")
}

#[test]
fn every_queue_pair_is_read_as_iproute2_reads_it() {
    for (name, moving) in [
        ("linux-6.12/err", &["pdn"][..]),
        ("linux-6.12/states", &["pdn"]),
        ("linux-6.1/err", &["pdn"]),
        ("linux-6.1/states", &["pdn"]),
        // Traffic went on between the recording and the text.
        ("linux-6.12/rts", &["pdn", "rq-psn", "sq-psn"]),
        // Each was started in a namespace of its own.
        ("linux-6.12/pidns", &["pdn"]),
    ] {
        let view = read(name);
        let mut ours: Vec<_> =
            view.qps.iter().map(|qp| without(&line(&view, qp), moving)).collect();
        let theirs = rdma_text(name);
        let theirs: Vec<_> = theirs.iter().filter(|line| line.contains(" lqpn ")).collect();
        let mut theirs: Vec<_> = theirs.iter().map(|line| without(line, moving)).collect();
        // iproute2 asks for each port by itself, and first for those without one.
        ours.sort();
        theirs.sort();
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn ports_know_their_interface_where_it_is_in_the_same_namespace() {
    let netdevs = |view: &KernelView| {
        let ports = view.devices.iter().flat_map(|device| &device.ports);
        ports.map(|port| (port.port, port.netdev.clone())).collect::<Vec<_>>()
    };
    let view = read("linux-6.12/err");
    let names: Vec<_> = view.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["rxa", "rxb"]);
    assert_eq!(netdevs(&view), [(1, Some("va".to_owned())), (1, Some("vb".to_owned()))]);
    // Asked from another network namespace: the same devices and queue pairs, no interfaces.
    let view = read("linux-6.12/netns");
    assert_eq!(netdevs(&view), [(1, None), (1, None)]);
    assert_eq!(view.qps.len(), 46);
    assert!(view.devices.iter().all(|device| device.is_whole));
}

#[test]
fn a_queue_pair_in_error_has_its_peer_and_its_process() {
    let view = read("linux-6.12/err");
    let failed: Vec<_> = view.qps.iter().filter(|qp| qp.state == QpState::ERR).collect();
    let [qp] = failed[..] else { panic!("{failed:?}") };
    assert_eq!((qp.lqpn, qp.rqpn, qp.qp_type), (17, Some(17), QpType::RC));
    assert_eq!((qp.port, qp.task), (Some(1), Some(276)));
    assert_eq!((qp.sq_psn, qp.rq_psn), (Some(13_901_917), Some(5_833_610)));
}

#[test]
fn a_thread_is_named_by_its_own_number_and_one_that_ended_by_none() {
    let view = read("linux-6.12/states");
    let task = |lqpn| view.qps.iter().find(|qp| qp.lqpn == lqpn).unwrap().task;
    assert_eq!((task(57), task(58), task(59)), (Some(322), Some(324), None));
    let view = read("linux-6.12/pidns");
    assert!(view.qps.iter().all(|qp| qp.task.is_none()), "none of them is in that PID namespace");
}

#[test]
fn a_dump_of_several_datagrams_is_one() {
    let view = read("linux-6.12/many");
    let first = view.devices[0].index;
    let of_first: Vec<_> = view.qps.iter().filter(|qp| qp.device == first).collect();
    assert_eq!((of_first.len(), view.qps.len()), (603, 605));
    let users: Vec<_> = of_first.iter().filter(|qp| !qp.qp_type.is_special()).collect();
    assert!(users.is_sorted_by(|a, b| a.lqpn < b.lqpn));
}

#[test]
fn a_core_without_devices_is_an_empty_view() {
    assert_eq!(read("linux-6.12/none"), KernelView::default());
}

#[test]
fn requests_are_those_that_the_kernel_answered() {
    let recording = Recording::open("linux-6.12/err");
    let requests =
        [Request::DEVICES, Request::ports(0), Request::queue_pairs(0), Request::ports(1)];
    for (sequence, request) in (1..).zip(requests) {
        assert_eq!(recording.0[sequence as usize - 1].0, request.to_bytes(sequence));
    }
}

#[test]
fn a_device_that_is_gone_is_an_error_in_the_end_mark() {
    let recording = Recording::open("linux-6.12/gone");
    let (request, answers) = &recording.0[2];
    assert_eq!(*request, Request::queue_pairs(77).to_bytes(3));
    let mut answer = Answer::<QpRecord>::new(3, 10);
    for datagram in answers {
        answer.take(datagram);
    }
    assert_eq!((answer.end(), answer.is_whole()), (Some(22), false), "EINVAL");
    // Something else's answer.
    let mut answer = Answer::<QpRecord>::new(4, 10);
    for datagram in answers {
        answer.take(datagram);
    }
    assert_eq!((answer.end(), answer.losses.foreign), (None, 1));
}

#[test]
fn ports_are_asked_for_twice_a_minute() {
    let recording = Recording::open("linux-6.12/err");
    let mut asked = 0;
    let mut reader = Reader::new(
        || {
            asked += 1;
            io::Result::Ok(Replay::new(recording.clone()))
        },
        100,
    );
    let port_requests = |reader: &Reader<_, Replay>| {
        let asked = &reader.socket().unwrap().asked;
        (asked[&0x1401], asked[&0x1405], asked[&0x140a])
    };
    for second in 0..30 {
        reader.read(Duration::from_secs(second)).unwrap();
    }
    assert_eq!(port_requests(&reader), (30, 2, 60));
    reader.read(Duration::from_secs(30)).unwrap();
    assert_eq!(port_requests(&reader), (31, 4, 62));
    drop(reader);
    assert_eq!(asked, 1, "one socket");
}
