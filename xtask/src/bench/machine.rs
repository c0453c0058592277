//! Where the figures are from.

use std::fs;
use std::num::NonZero;
use std::thread;

use anyhow::{Context, Result};
use serde_json::{Value, json};

#[derive(Debug)]
pub(super) struct Machine {
    pub(super) cpus: usize,
    processor: String,
    kernel: String,
    is_virtual: bool,
    /// One-minute load average before the first run.
    load: String,
}

pub(super) fn describe() -> Result<Machine> {
    let read = |path: &str| fs::read_to_string(path).with_context(|| format!("cannot read {path}"));
    let cpu_info = read("/proc/cpuinfo")?;
    let field = |name: &str| {
        let line = cpu_info.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    Ok(Machine {
        cpus: thread::available_parallelism().map_or(1, NonZero::get),
        processor: field("model name").unwrap_or_else(|| "unknown processor".to_owned()),
        kernel: read("/proc/sys/kernel/osrelease")?.trim().to_owned(),
        is_virtual: field("flags").is_some_and(|it| it.split(' ').any(|flag| flag == "hypervisor")),
        load: read("/proc/loadavg")?.split(' ').next().unwrap_or_default().to_owned(),
    })
}

impl Machine {
    pub(super) fn line(&self) -> String {
        let kind = if self.is_virtual { "virtual machine" } else { "bare metal" };
        format!(
            "{}, {} CPUs ({kind}), kernel {}, load {}",
            self.processor, self.cpus, self.kernel, self.load
        )
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "processor": self.processor,
            "cpus": self.cpus,
            "virtual": self.is_virtual,
            "kernel": self.kernel,
            "load": self.load,
        })
    }
}
