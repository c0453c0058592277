//! What a refusal of the kernel means, in words.

use std::io;

/// Lines kept of a verifier log.
const LOG_LINES: usize = 20;

/// Capabilities needed, by number (linux/capability.h).
const NEEDED: [(u32, &str); 3] = [(12, "CAP_NET_ADMIN"), (38, "CAP_PERFMON"), (39, "CAP_BPF")];
/// Stands for `CAP_BPF` and `CAP_PERFMON`.
const SYS_ADMIN: u32 = 21;

/// Why the kernel did not load or attach a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The process may not do this; trying another way is of no use.
    Permission(String),
    /// The kernel has no BPF; trying another way is of no use.
    NoBpf,
    /// The verifier rejected the program; the end of its log.
    Verifier(String),
    /// Anything else, in words, with the system's error number where there is one.
    Other {
        /// Error number.
        errno: Option<i32>,
        /// What it means.
        reason: String,
    },
}

impl Refusal {
    /// Of a `BPF_PROG_LOAD` that failed with `error` and left `log`.
    pub fn of_load(error: &io::Error, log: &str) -> Self {
        match error.raw_os_error() {
            // With a log, the verifier ran: it rejects some programs by EPERM or EACCES.
            Some(_) if !log.trim().is_empty() => Self::Verifier(last_lines(log, LOG_LINES)),
            Some(libc::EPERM) => Self::Permission(permission_advice(effective_capabilities())),
            Some(libc::ENOSYS) => Self::NoBpf,
            errno => Self::Other { errno, reason: format!("the kernel does not load it: {error}") },
        }
    }

    /// Of an attach that failed with `errno`; `said` is the error's own text.
    pub fn of_attach(errno: Option<i32>, said: &str) -> Self {
        let reason = match errno {
            Some(libc::EPERM) => {
                return Self::Permission(permission_advice(effective_capabilities()));
            }
            Some(libc::ENOSYS) => return Self::NoBpf,
            Some(libc::EOPNOTSUPP) => "the driver does not support it".to_owned(),
            Some(libc::EBUSY | libc::EEXIST) => "another program holds the hook".to_owned(),
            Some(libc::ERANGE) => "the MTU is larger than the driver allows with XDP".to_owned(),
            Some(libc::ENOSPC) => "the driver has too few queues for XDP: a veth needs as many \
                                   receive queues as its peer has transmit queues (ethtool -L)"
                .to_owned(),
            Some(libc::ENODEV) => "the interface is gone".to_owned(),
            _ => said.to_owned(),
        };
        Self::Other { errno, reason }
    }
}

/// One line.
impl std::fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Permission(advice) => formatter.write_str(advice),
            Self::NoBpf => formatter
                .write_str("this kernel has no BPF (CONFIG_BPF_SYSCALL); Linux 5.15 or newer with it is needed"),
            Self::Verifier(log) => {
                let last = log.lines().rev().find(|line| !line.starts_with("processed "));
                write!(formatter, "the verifier rejected it: {}", last.unwrap_or(log))
            }
            Self::Other { reason, .. } => formatter.write_str(reason),
        }
    }
}

/// The last `count` lines of `text` that say something.
fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> =
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// What to do about EPERM, with the effective capabilities of the process where they are known.
fn permission_advice(effective: Option<u64>) -> String {
    let needed = "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON are needed";
    let Some(effective) = effective else { return format!("not permitted: {needed}") };
    let has = |number: u32| effective >> number & 1 == 1;
    let missing: Vec<&str> = NEEDED
        .iter()
        .filter(|(number, name)| !has(*number) && (*name == "CAP_NET_ADMIN" || !has(SYS_ADMIN)))
        .map(|(_, name)| *name)
        .collect();
    if missing.is_empty() {
        return "not permitted, though CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON are there: a user \
                namespace, seccomp, kernel lockdown or a security module forbids it"
            .to_owned();
    }
    let lacks = missing.join(" and ");
    format!("not permitted: this process lacks {lacks} ({needed}; or run it as root)")
}

fn effective_capabilities() -> Option<u64> {
    parse_effective(&std::fs::read_to_string("/proc/thread-self/status").ok()?)
}

fn parse_effective(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(errno: i32) -> io::Error {
        io::Error::from_raw_os_error(errno)
    }

    #[test]
    fn a_rejection_keeps_the_end_of_the_log() {
        let lines: Vec<_> = (0..50).map(|line| format!("{line}: (bf) r0 = r1\n\n")).collect();
        let log =
            lines.concat() + "R2 unbounded memory access\nprocessed 51 insns (limit 1000000)\n";
        let refusal = Refusal::of_load(&error(libc::EACCES), &log);
        let Refusal::Verifier(kept) = &refusal else { panic!("{refusal:?}") };
        assert_eq!(kept.lines().count(), 20);
        assert!(kept.starts_with("32: "), "{kept}");
        assert_eq!(refusal.to_string(), "the verifier rejected it: R2 unbounded memory access");
    }

    #[test]
    fn missing_capabilities_are_named() {
        let all = 1 << 12 | 1 << 38 | 1 << 39;
        assert!(
            permission_advice(Some(0))
                .contains("lacks CAP_NET_ADMIN and CAP_PERFMON and CAP_BPF (")
        );
        assert!(permission_advice(Some(1 << 12 | 1 << 39)).contains("lacks CAP_PERFMON ("));
        assert!(permission_advice(Some(1 << 21)).contains("lacks CAP_NET_ADMIN ("));
        for enough in [all, 1 << 12 | 1 << 21] {
            assert!(permission_advice(Some(enough)).contains("lockdown"));
        }
        assert!(permission_advice(None).contains("CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON"));
    }

    #[test]
    fn capabilities_are_read_from_the_status_file() {
        let status = "Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t000000c000001000\n";
        assert_eq!(parse_effective(status), Some(1 << 12 | 1 << 38 | 1 << 39));
        assert_eq!(parse_effective("Name:\tx\n"), None);
        assert_eq!(parse_effective("CapEff:\tzz\n"), None);
        assert!(effective_capabilities().is_some());
    }

    #[test]
    fn a_kernel_without_bpf_is_said() {
        assert_eq!(Refusal::of_load(&error(libc::ENOSYS), ""), Refusal::NoBpf);
        assert!(Refusal::NoBpf.to_string().contains("CONFIG_BPF_SYSCALL"));
    }

    #[test]
    fn other_refusals_are_words() {
        for (errno, word) in
            [(libc::EOPNOTSUPP, "driver"), (libc::EBUSY, "another program"), (libc::ERANGE, "MTU")]
        {
            let refusal = Refusal::of_attach(Some(errno), "");
            assert!(refusal.to_string().contains(word), "{refusal}");
        }
        assert_eq!(Refusal::of_attach(None, "odd").to_string(), "odd");
        assert!(matches!(Refusal::of_attach(Some(libc::EPERM), ""), Refusal::Permission(_)));
    }
}
