//! A named network namespace that lives as long as its value.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::panic;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, ensure};

use super::ip_command::{ip, root_hint};
use super::quiet::silence_ipv6;

/// Where iproute2 keeps named namespaces.
const NETNS_DIR: &str = "/run/netns";
/// Begins every name made here; the process id and a counter end it.
const MARK: &str = "rocetk-";

/// A network namespace with loopback up and IPv6 silent. Dropping it removes it.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Creates a namespace whose name holds `prefix`, this process id and a counter.
    ///
    /// # Errors
    /// When `prefix` is not 1 to 32 letters, digits or underscores, iproute2 is missing, or the
    /// caller is not root.
    pub fn create(prefix: &str) -> Result<Self> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        ensure!(
            (1..=32).contains(&prefix.len())
                && prefix.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
            "namespace prefix {prefix:?}: use 1 to 32 letters, digits or underscores"
        );
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{MARK}{prefix}-{}-{number}", process::id());
        ip(&format!("netns add {name}"))?;
        let namespace = Self { name }; // from here on, an early return removes it
        namespace.run(silence_ipv6)??;
        ip(&format!("-n {} link set lo up", namespace.name))?;
        Ok(namespace)
    }

    /// Name as `ip netns` shows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file that stands for the namespace.
    pub fn path(&self) -> PathBuf {
        Path::new(NETNS_DIR).join(&self.name)
    }

    /// A command that will run in the namespace and sees its `/sys/class/net`.
    ///
    /// The child process is `program` itself (`ip netns exec` replaces itself), so its process id
    /// is the one to signal.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(program);
        command
    }

    /// Runs `work` on a new thread inside the namespace and returns what it returns.
    ///
    /// `/proc/net` through `/proc/thread-self` and sockets are those of the namespace; `/sys` is
    /// not, use [`Namespace::command`] for that. A panic in `work` is passed on.
    ///
    /// # Errors
    /// When the namespace cannot be entered.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        let path = self.path();
        let outcome = thread::scope(|scope| scope.spawn(|| enter(&path).map(|()| work())).join());
        outcome.unwrap_or_else(|payload| panic::resume_unwind(payload))
    }

    /// Starts `work` on a new thread inside the namespace.
    ///
    /// # Errors
    /// The thread's result is an error when the namespace cannot be entered.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<Result<T>> {
        let path = self.path();
        thread::spawn(move || enter(&path).map(|()| work()))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Err(error) = ip(&format!("netns del {}", self.name)) {
            eprintln!("network namespace {} stays behind: {error:#}", self.name);
        }
    }
}

/// Moves the calling thread into the namespace that `path` stands for.
fn enter(path: &Path) -> Result<()> {
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    // SAFETY: the descriptor is open for the whole call, and setns touches no memory of ours. Only
    // the calling thread moves, and it is one that this module started for nothing else.
    let outcome = unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) };
    if outcome == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
        .with_context(|| format!("entering namespace {}{}", path.display(), root_hint()))
}

/// Removes the namespaces that processes killed before their cleanup left behind, and returns
/// their names. Namespaces of live processes stay.
///
/// # Errors
/// When a namespace cannot be removed.
pub fn remove_stale() -> Result<Vec<String>> {
    let entries = match fs::read_dir(NETNS_DIR) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("reading {NETNS_DIR}")),
    };
    let mut removed = Vec::new();
    for entry in entries {
        let name = entry.with_context(|| format!("reading {NETNS_DIR}"))?.file_name();
        let Some(name) = name.to_str() else { continue };
        let Some(owner) = owner(name) else { continue };
        if Path::new("/proc").join(owner.to_string()).exists() {
            continue;
        }
        ip(&format!("netns del {name}"))?;
        removed.push(name.to_owned());
    }
    Ok(removed)
}

/// The process that made the namespace `name`, if this module did.
fn owner(name: &str) -> Option<u32> {
    let mut parts = name.strip_prefix(MARK)?.rsplit('-');
    parts.next()?.parse::<u32>().ok()?;
    parts.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owner_is_read_from_own_names_only() {
        assert_eq!(owner("rocetk-demo-4321-0"), Some(4321));
        assert_eq!(owner("rocetk-demo-4321"), None);
        assert_eq!(owner("demo-4321-0"), None);
        assert_eq!(owner("rocetk-a-b-c"), None);
    }

    #[test]
    fn a_bad_prefix_is_refused_before_anything_is_made() {
        for prefix in ["", "a b", "../x", "a-b"] {
            let message = Namespace::create(prefix).unwrap_err().to_string();
            assert!(message.contains("letters"), "{message}");
        }
    }
}
