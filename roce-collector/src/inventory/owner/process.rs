//! A process, from `/proc`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::Container;

/// Bytes of a file of `/proc` that are read. A control group of version 1 has a dozen long lines.
const MAX_FILE: u64 = 64 * 1024;

/// Who made a queue pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The task that made it.
    pub task: u32,
    /// Its process: the same number for the first thread of one. `None` when `/proc` does not show it.
    pub pid: Option<u32>,
    /// Name of the process, at most 15 bytes.
    pub comm: Option<String>,
    /// Name of the thread, where it is not the first one of its process.
    pub thread: Option<String>,
    /// The container that it runs in.
    pub container: Option<Container>,
}

impl Owner {
    /// Reads what `proc`, which is `/proc` unless in a test, shows of a task.
    pub fn read(proc: &Path, task: u32) -> Self {
        let of_task = proc.join(task.to_string());
        let pid = read(&of_task.join("status")).and_then(|status| process_of(&status));
        let Some(pid) = pid else {
            return Self { task, pid: None, comm: None, thread: None, container: None };
        };
        let of_process = proc.join(pid.to_string());
        let name =
            |folder: &Path| read(&folder.join("comm")).map(|name| name.trim_end().to_owned());
        let cgroup = read(&of_process.join("cgroup"));
        Self {
            task,
            pid: Some(pid),
            comm: name(&of_process),
            thread: if task == pid { None } else { name(&of_task) },
            container: cgroup.as_deref().and_then(Container::of_cgroup),
        }
    }
}

/// The thread group of a `/proc/TASK/status`.
fn process_of(status: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

fn read(file: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(MAX_FILE).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
