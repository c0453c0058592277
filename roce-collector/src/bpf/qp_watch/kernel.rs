//! What the running kernel says of itself: its modules, their types, and whether it has probes.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use roce_common::qp_watch::{DEVICE_NAME_BYTES, KernelLayout};

use super::btf::{Btf, BtfError};
use super::point::{Absence, Function, Point};

/// The modules that are looked into.
const MODULES: [&str; 3] = ["ib_core", "ib_uverbs", "rdma_rxe"];

/// Where a probe is given the first three arguments of a function: in `pt_regs` of x86-64 (di, si, dx), in
/// `user_pt_regs` of the others (the first registers). Part of the interface of perf and BPF.
const ARGUMENTS: [u32; 3] = if cfg!(target_arch = "x86_64") { [112, 104, 96] } else { [0, 8, 16] };

/// Which of the modules are loaded, each with a number that another loading changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Modules([Option<u64>; MODULES.len()]);

impl Modules {
    pub(super) fn read(sysfs: &Path) -> Self {
        let inode = |name| Some(fs::metadata(sysfs.join("module").join(name)).ok()?.ino());
        Self(MODULES.map(inode))
    }

    pub(super) fn loading(&self, module: &str) -> Option<u64> {
        let place = MODULES.iter().position(|name| *name == module)?;
        self.0[place]
    }
}

/// The kernel's own description of its types, as files.
#[derive(Debug)]
pub(super) struct Types {
    kernel: Vec<u8>,
    modules: [Option<Vec<u8>>; MODULES.len()],
    loaded: Modules,
}

/// Where a point can be watched, and what its program must know for that.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) function: Function,
    /// Where `rxe_qp` has its `ib_qp`, if the program reads one.
    pub(super) rxe_qp: Option<u32>,
}

impl Types {
    pub(super) fn read(sysfs: &Path, loaded: Modules) -> Result<Self, Absence> {
        if !sysfs.join("bus/event_source/devices/kprobe").exists() {
            return Err(Absence::NoKprobes);
        }
        let file = |name| sysfs.join("kernel/btf").join(name);
        let kernel = read(&file("vmlinux"))?
            .ok_or_else(|| Absence::NoBtf("no /sys/kernel/btf/vmlinux".to_owned()))?;
        let mut modules = [const { None }; MODULES.len()];
        for (content, name) in modules.iter_mut().zip(MODULES) {
            *content = read(&file(name))?;
        }
        Ok(Self { kernel, modules, loaded })
    }

    /// Looks for all points. The first error is one of the whole kernel; the others are of one point each.
    pub(super) fn find_all(
        &self,
        points: &[Point],
    ) -> Result<(KernelLayout, Vec<Result<Found, Absence>>), Absence> {
        let kernel = Btf::parse(&self.kernel)?;
        let found = points.iter().map(|point| self.find(&kernel, *point)).collect();
        let core = self.module(&kernel, "ib_core", "ib_modify_qp_with_udata")?;
        let layout = layout(core.as_ref().unwrap_or(&kernel))?;
        Ok((layout, found))
    }

    fn find(&self, kernel: &Btf<'_>, point: Point) -> Result<Found, Absence> {
        self.check(kernel, point.function()).or_else(|absence| match point.fallback() {
            Some(function) => self.check(kernel, function),
            None => Err(absence),
        })
    }

    fn check(&self, kernel: &Btf<'_>, function: Function) -> Result<Found, Absence> {
        let module = self.module(kernel, function.module, function.name)?;
        let btf = module.as_ref().unwrap_or(kernel);
        let wanted = function.parameters;
        let parameters = btf.parameters(function.name)?;
        if !parameters.iter().map(String::as_str).take(wanted.len()).eq(wanted.iter().copied()) {
            let text = format!("{} takes ({})", function.name, parameters.join(", "));
            return Err(Absence::Changed(text));
        }
        let takes_rxe = wanted.contains(&"rxe_qp *");
        let rxe_qp = takes_rxe.then(|| btf.member("rxe_qp", &["ibqp"], None)).transpose();
        Ok(Found { function, rxe_qp: rxe_qp? })
    }

    /// The types of a module; `None` when it is a part of the kernel itself, which then has the function.
    fn module<'a>(
        &'a self,
        kernel: &'a Btf<'a>,
        name: &'static str,
        function: &str,
    ) -> Result<Option<Btf<'a>>, Absence> {
        let place = MODULES.iter().position(|module| *module == name);
        match place.and_then(|place| self.modules[place].as_deref()) {
            Some(bytes) => Ok(Some(Btf::parse_split(bytes, kernel)?)),
            None if kernel.has_function(function) => Ok(None),
            None if self.loaded.loading(name).is_some() => Err(Absence::NoModuleBtf(name)),
            None => Err(Absence::NotLoaded(name)),
        }
    }
}

/// Where things are in the structs that `ib_core` knows.
fn layout(core: &Btf<'_>) -> Result<KernelLayout, BtfError> {
    let pointer = Some(8);
    let name = Some(DEVICE_NAME_BYTES as u32);
    Ok(KernelLayout {
        arguments: ARGUMENTS,
        task_flags: core.member("task_struct", &["flags"], Some(4))?,
        device_name: core.member("ib_device", &["name"], name)?,
        qp_device: core.member("ib_qp", &["device"], pointer)?,
        qp_real: core.member("ib_qp", &["real_qp"], pointer)?,
        qp_num: core.member("ib_qp", &["qp_num"], Some(4))?,
        attr_state: core.member("ib_qp_attr", &["qp_state"], Some(4))?,
        attr_dest_qpn: core.member("ib_qp_attr", &["dest_qp_num"], Some(4))?,
        attr_timeout: core.member("ib_qp_attr", &["timeout"], Some(1))?,
        attr_retry_cnt: core.member("ib_qp_attr", &["retry_cnt"], Some(1))?,
        attr_rnr_retry: core.member("ib_qp_attr", &["rnr_retry"], Some(1))?,
        event_type: core.member("ib_event", &["event"], Some(4))?,
        event_qp: core.member("ib_event", &["element", "qp"], pointer)?,
        rxe_qp: 0,
    })
}

impl From<BtfError> for Absence {
    fn from(error: BtfError) -> Self {
        Self::Changed(error.to_string())
    }
}

/// The content of a file, unless it is not there.
fn read(path: &Path) -> Result<Option<Vec<u8>>, Absence> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Absence::NoBtf(format!("{}: {error}", path.display()))),
    }
}

#[cfg(test)]
mod tests;
