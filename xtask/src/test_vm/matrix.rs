//! Every eBPF program under this kernel: loaded, verified, attached.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
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
    for hook in ["auto", "xdp", "xdp-generic", "tc"] {
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
    if !refused.is_empty() {
        bail!("not attached: {}", refused.join(", "));
    }
    Ok(())
}

/// Lets the collector attach and detach.
fn attach(hook: &str) -> Result<String> {
    let collector = Path::new(SHARED).join("bin/roce-collector");
    process::output(Command::new(collector).args(["--check", "--iface", "left", "--hook", hook]))
        .context("the collector could not attach")
}
