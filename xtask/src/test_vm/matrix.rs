//! Every eBPF program under this kernel: loaded, verified, attached.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use roce_ebpf_object::Repository;

use crate::vm::{SHARED, SPOKEN};
use crate::{process, verify_ebpf};

/// Runs in the guest.
pub(crate) fn run(repository: &Repository) -> Result<()> {
    let version = process::output(Command::new("uname").arg("-r"))?;
    println!("{SPOKEN}kernel {}", version.trim());
    for module in ["veth", "rdma_rxe"] {
        process::output(Command::new("modprobe").arg(module))?;
    }
    let add = ["link", "add", "left", "up", "type", "veth", "peer", "name", "right"];
    process::output(Command::new("ip").args(add))?;
    process::output(Command::new("ip").args(["link", "set", "right", "up"]))?;
    verify_ebpf::run(repository, &verify_ebpf::Arguments::default())?;
    println!("{SPOKEN}every program loads");
    let mut refused = Vec::new();
    // Native XDP is what "auto" takes on such an interface.
    for hook in ["auto", "xdp-generic", "tc"] {
        match attach(hook) {
            Ok(text) => {
                println!("{SPOKEN}hook {hook}: attached");
                println!("{text}");
            }
            Err(error) => {
                println!("{SPOKEN}hook {hook}: {error:#}");
                refused.push(hook);
            }
        }
    }
    ensure!(refused.is_empty(), "not attached: {}", refused.join(", "));
    Ok(())
}

/// Lets the collector attach and detach.
fn attach(hook: &str) -> Result<String> {
    let collector = Path::new(SHARED).join("bin/roce-collector");
    let mut command = Command::new(collector);
    command.args(["--check", "--iface", "left", "--hook", hook]);
    let text = process::output(&mut command).context("the collector could not attach")?;
    // The probes on queue pairs are optional for the collector; these kernels have all functions.
    let probes: Vec<_> = text.lines().filter(|line| line.starts_with("qp-watch ")).collect();
    ensure!(!probes.is_empty(), "the collector says nothing of its probes on queue pairs");
    let missing: Vec<_> = probes.into_iter().filter(|line| line.contains(": none")).collect();
    ensure!(missing.is_empty(), "probes are missing: {}", missing.join(", "));
    Ok(text)
}
