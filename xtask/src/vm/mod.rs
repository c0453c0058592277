//! Virtual machines with Debian kernels: the host's own files under another kernel.
//!
//! ```text
//! Release --packages of a mirror, unpacked--> Kernel --initramfs, QEMU--> guest
//! ```
//!
//! The guest sees the host's root, read-only with a layer of memory above it, so what was built here
//! runs there under the same path. A folder is shared for writing. The first process in the guest is
//! this program (`vm_guest`), which runs one command and powers off.

mod accelerator;
mod initramfs;
mod kernel;
mod machine;
mod mirror;

pub(crate) use kernel::{Kernel, Release};
pub(crate) use machine::{Machine, ORDER, SHARED, SPOKEN, STATUS};

use crate::setup::peers::Tool;

/// Programs that booting takes, and their packages.
pub(crate) const TOOLS: [Tool; 6] = [
    Tool::new("qemu-system-x86_64", "qemu-system-x86"),
    Tool::new("busybox", "busybox-static"),
    Tool::new("cpio", "cpio"),
    Tool::new("modprobe", "kmod"),
    Tool::new("xz", "xz-utils"),
    Tool::new("dpkg-deb", "dpkg"),
];
