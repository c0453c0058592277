//! Command lines and files, good and bad.

use std::io::Write;

use tempfile::NamedTempFile;

use super::*;

fn command_line(arguments: &[&str]) -> Result<Collector, Vec<String>> {
    let arguments: Vec<_> =
        std::iter::once(&PROGRAM).chain(arguments).map(OsString::from).collect();
    parse(&arguments).map_err(|refusal| match refusal {
        Refusal::Errors(errors) => errors,
        Refusal::Help(help) => panic!("{help}"),
    })
}

fn with_file(text: &str, arguments: &[&str]) -> Result<Collector, Vec<String>> {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let option = format!("--config={}", file.path().display());
    let arguments: Vec<_> = arguments.iter().copied().chain([option.as_str()]).collect();
    command_line(&arguments)
}

#[test]
fn the_command_line_is_sound() {
    Collector::command().debug_assert();
}

#[test]
fn every_option_has_its_variable() {
    for argument in Collector::command().get_arguments() {
        let (Some(name), Some(variable)) = (argument.get_long(), argument.get_env()) else {
            let name = argument.get_long();
            assert!(matches!(name, Some("check" | "help" | "version")), "{name:?}");
            continue;
        };
        let expected = format!("ROCE_{}", name.to_uppercase().replace('-', "_"));
        assert_eq!(variable.to_str(), Some(expected.as_str()));
    }
}

#[test]
fn log_sources() {
    let sources = |arguments: &[&str]| command_line(arguments).unwrap().log_sources;
    let path = LogSource::Path("/var/log/pods".into());
    let expected = [path.clone(), LogSource::Journal, LogSource::Kmsg];
    assert_eq!(sources(&["--log-source=/var/log/pods,journal", "--log-source=kmsg"]), expected);
    assert_eq!(sources(&["--log-source", "-"]), [LogSource::Stdin]);
    assert_eq!(sources(&["--log-source="]), []);
    let file = with_file("log-source = [\"/var/log/pods\", \"journal\"]\n", &[]).unwrap();
    assert_eq!(file.log_sources, [path, LogSource::Journal]);
}

#[test]
fn the_flight_recorder() {
    let recording = |arguments: &[&str]| command_line(arguments).map(|it| it.recording);
    let off = recording(&[]).unwrap();
    assert_eq!((off.record, off.record_limit, off.record_qps), (None, 64 << 20, 512));
    let on = recording(&["--record=/var/lib/r", "--record-limit=2GiB", "--record-qps=9"]).unwrap();
    assert_eq!(
        (on.record, on.record_limit, on.record_qps),
        (Some("/var/lib/r".into()), 2 << 30, 9)
    );
    for (text, bytes) in [("512KiB", 512 << 10), ("7", 7), ("32 M", 32 << 20), ("10B", 10)] {
        assert_eq!(recording(&["--record-limit", text]).unwrap().record_limit, bytes, "{text}");
    }
    for text in
        ["", "0", "-1", "1.5GiB", "64MB", "MiB", "99999999999999999999", "18446744073709551615K"]
    {
        let errors = recording(&[&format!("--record-limit={text}")]).unwrap_err();
        assert!(errors[0].contains("--record-limit"), "{errors:?}");
    }
    assert!(recording(&["--record-qps=0"]).is_err());
    let file = with_file("record = \"/r\"\nrecord-limit = \"1MiB\"\n", &[]).unwrap();
    assert_eq!(file.recording.record_limit, 1 << 20);
}

#[test]
fn the_defaults_are_those_of_the_contract() {
    let collector = command_line(&["--iface", "eth0,eth1"]).unwrap();
    assert_eq!(collector.interfaces, ["eth0", "eth1"]);
    assert_eq!(collector.listen.to_string(), "127.0.0.1:9977");
    assert_eq!((collector.max_flows, collector.qp_series), (131_072, 200));
    assert_eq!(collector.flow_idle, Duration::from_mins(5));
    assert!(!collector.running.bpf_stats && !collector.check);
    assert_eq!(collector.inventory.interval(), Some(Duration::from_secs(1)));
    let off = command_line(&["--qp-inventory-interval=0"]).unwrap();
    assert_eq!((off.inventory.interval(), off.inventory.max_qps), (None, 65_536));
    assert!(command_line(&["--iface="]).unwrap().interfaces.is_empty());
    assert!(command_line(&["--bpf-stats"]).unwrap().running.bpf_stats);
}

#[test]
fn a_file_sets_what_the_command_line_does_not() {
    let text = "iface = [\"eth2\", \"eth3\"]\nhook = \"tc\"\nmax-flows = 1000\nexpect-dscp = 24\n\
                flow-idle = 60\nbpf-stats = true\n";
    let collector = with_file(text, &["--max-flows=2000"]).unwrap();
    assert_eq!(collector.interfaces, ["eth2", "eth3"]);
    assert_eq!(collector.hook, HookChoice::Tc);
    assert_eq!(collector.max_flows, 2000);
    assert_eq!(collector.marking.policy().data_dscp, 24);
    assert_eq!(collector.flow_idle, Duration::from_mins(1));
    assert!(collector.running.bpf_stats);
}

#[test]
fn all_errors_of_a_file_are_said_at_once() {
    let text =
        "ifaces = \"eth0\"\nhook = \"ebpf\"\nmax-flows = 1.5\ncheck = true\nlisten = \"9977\"\n";
    let errors = with_file(text, &[]).unwrap_err();
    assert_eq!(errors.len(), 5, "{errors:#?}");
    for (key, hint) in [
        ("ifaces", "the options are: iface, hook, "),
        ("hook", "possible values: auto, xdp, xdp-generic, tc"),
        ("max-flows", "not a float"),
        ("check", "there is no option `check`"),
        ("listen", "invalid value '9977'"),
    ] {
        let error = errors.iter().find(|error| error.contains(&format!(": {key}: ")));
        assert!(error.is_some_and(|error| error.contains(hint)), "{key}: {errors:#?}");
    }
    assert!(errors.iter().all(|error| !error.contains('\n')), "{errors:#?}");
}

#[test]
fn a_file_that_is_no_toml_names_the_line() {
    let errors = with_file("hook = \"tc\"\nmax-flows 7\n", &[]).unwrap_err();
    assert!(errors.len() == 1 && errors[0].contains("line 2: "), "{errors:?}");
    let errors = command_line(&["--config=/nowhere/at/all.toml"]).unwrap_err();
    assert_eq!(errors, ["/nowhere/at/all.toml: No such file or directory (os error 2)"]);
}

#[test]
fn errors_of_the_command_line_take_one_line() {
    for (arguments, expected) in [
        (
            &["--iface-name=x"][..],
            "unexpected argument '--iface-name' found; see roce-collector --help",
        ),
        (&["--qp-series=many"], "invalid value 'many' for '--qp-series <N>'"),
        (&["--flow-idle=0"], "expected a time of at least one second"),
        (&["--qp-inventory-interval=50ms"], "expected 0, or a time from 100ms to 1h"),
        (&["eth0"], "unexpected argument 'eth0' found"),
    ] {
        let errors = command_line(arguments).unwrap_err();
        assert!(errors.len() == 1 && !errors[0].contains('\n'), "{errors:?}");
        assert!(errors[0].contains(expected), "{errors:?}");
    }
}
