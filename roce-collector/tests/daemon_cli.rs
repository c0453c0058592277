//! `roce-collector` from the outside, as far as it comes without privileges.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::io::Write;
use std::net::TcpListener;
use std::process::{Command, Output};

use tempfile::NamedTempFile;

fn collector(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roce-collector"));
    let set: Vec<_> = std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok().filter(|name| name.starts_with("ROCE_")))
        .collect();
    set.iter().fold(&mut command, |command, name| command.env_remove(name));
    command.args(arguments).output().unwrap()
}

/// The only line on standard error of a run that ends with exit code 2.
fn complaint(arguments: &[&str]) -> String {
    let output = collector(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    let line = text.trim_end().strip_prefix("roce-collector: ");
    line.unwrap_or_else(|| panic!("who says this? {text}")).to_owned()
}

#[test]
fn an_unknown_option_is_one_line() {
    assert_eq!(
        complaint(&["--interfaces", "eth0"]),
        "unexpected argument '--interfaces' found; see roce-collector --help"
    );
    assert!(complaint(&["--hook=ebpf"]).contains("possible values: auto, xdp, xdp-generic, tc"));
}

#[test]
fn no_interface_and_a_missing_one_name_those_that_exist() {
    for check in [&["--check"][..], &["--listen=127.0.0.1:0"]] {
        let line = complaint(check);
        assert!(line.starts_with("no interface was named; use --iface with "), "{line}");
        let line = complaint(&[check, &["--iface=roce-none0"]].concat());
        assert!(line.starts_with("there is no interface roce-none0; there are: lo"), "{line}");
    }
}

#[test]
fn a_port_in_use_is_said_before_anything_is_loaded() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let line = complaint(&["--iface=lo", "--listen", &address]);
    let expected =
        format!("cannot listen on {address}: it is in use, perhaps by another collector");
    assert!(line.starts_with(&expected) && line.contains("--listen"), "{line}");
    let line = complaint(&["--iface=lo", "--listen=192.0.2.1:9977"]);
    assert!(line.starts_with("cannot listen on 192.0.2.1:9977: "), "{line}");
}

#[test]
fn every_error_of_a_configuration_file_is_a_line() {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(b"hook = \"none\"\nqp-serie = 7\n").unwrap();
    let output = collector(&["--check", "--config", file.path().to_str().unwrap()]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), text.lines().count()), (Some(2), 2), "{text}");
    assert!(text.lines().all(|line| line.starts_with("roce-collector: /")), "{text}");
}

#[test]
fn the_help_names_options_and_exit_codes() {
    let output = collector(&["--help"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["--iface <IF>", "--expect-dscp", "Exit code: 0", "[env: ROCE_MAX_FLOWS=]"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(!text.contains("sysfs-root"), "for tests only");
    assert!(collector(&["--version"]).status.success());
}
