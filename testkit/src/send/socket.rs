//! An `AF_PACKET` socket that only sends.

use std::ffi::CString;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use super::BATCH;

/// What lies between the socket and the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Path {
    /// Nothing.
    Bypass,
    /// TC egress programs and the queueing discipline.
    Queue,
}

#[derive(Debug)]
pub(super) struct PacketSocket {
    fd: OwnedFd,
}

impl PacketSocket {
    /// Opens a socket whose frames go straight to the driver, or through the queueing discipline.
    pub(super) fn open(interface: &str, path: Path) -> io::Result<Self> {
        let index = interface_index(interface)?;
        // Protocol 0: nothing is received.
        // SAFETY: socket takes plain integers and returns a new descriptor or -1.
        let raw = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        check(raw)?;
        // SAFETY: `raw` was just returned by socket and nothing else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };

        // SAFETY: sockaddr_ll is plain old data, for which all-zero bytes are a valid value.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = index;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: `address` is a sockaddr_ll of `length` bytes that outlives the call.
        check(unsafe { libc::bind(raw, (&raw const address).cast(), length) })?;

        let on = libc::c_int::from(path == Path::Bypass);
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: `on` is a c_int of `length` bytes that outlives the call.
        check(unsafe {
            libc::setsockopt(
                raw,
                libc::SOL_PACKET,
                libc::PACKET_QDISC_BYPASS,
                (&raw const on).cast(),
                length,
            )
        })?;
        Ok(Self { fd })
    }

    /// Sends the first frames of `frames`, at most [`BATCH`], and returns how many were taken.
    pub(super) fn send<F: AsRef<[u8]>>(&self, frames: &[F]) -> io::Result<usize> {
        let count = frames.len().min(BATCH);
        let mut parts = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; BATCH];
        // SAFETY: mmsghdr is plain old data, for which all-zero bytes are a valid value.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { mem::zeroed() };
        for ((frame, part), message) in frames.iter().zip(&mut parts).zip(&mut messages) {
            let frame = frame.as_ref();
            part.iov_base = frame.as_ptr().cast_mut().cast();
            part.iov_len = frame.len();
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: the first `count` headers each point to one iovec of `parts`, and that to a frame
        // borrowed from `frames`; all three outlive the call, and sending only reads the frames.
        let sent = unsafe {
            libc::sendmmsg(self.fd.as_raw_fd(), messages.as_mut_ptr(), count as libc::c_uint, 0)
        };
        check(sent)?;
        Ok(sent as usize)
    }
}

fn interface_index(interface: &str) -> io::Result<libc::c_int> {
    let name = CString::new(interface)?;
    // SAFETY: `name` ends with a NUL and outlives the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 { Err(io::Error::last_os_error()) } else { Ok(index.cast_signed()) }
}

fn check(outcome: libc::c_int) -> io::Result<()> {
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
