//! An `AF_PACKET` socket that receives what an interface hands to the network stack.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

const ETH_P_ALL: u16 = 0x0003;
/// `PACKET_OUTGOING`: sent by this host, and shown to sniffers on the way.
const OUTGOING: u8 = 4;

pub(crate) struct Sniffer(OwnedFd);

impl Sniffer {
    /// Listens on the interface with `index` in the namespace of the calling thread.
    pub(crate) fn open(index: u32) -> io::Result<Self> {
        // SAFETY: socket takes plain integers and returns a new descriptor or -1.
        let raw = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        check(raw)?;
        // SAFETY: `raw` was just returned by socket and nothing else owns it.
        let socket = unsafe { OwnedFd::from_raw_fd(raw) };
        let size: libc::c_int = 64 << 20;
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: `size` is a c_int of `length` bytes that outlives the call.
        check(unsafe {
            let option = libc::SO_RCVBUFFORCE;
            libc::setsockopt(raw, libc::SOL_SOCKET, option, (&raw const size).cast(), length)
        })?;
        // SAFETY: sockaddr_ll is plain old data, for which all-zero bytes are a valid value.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ETH_P_ALL.to_be();
        address.sll_ifindex = index.cast_signed();
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: `address` is a sockaddr_ll of `length` bytes that outlives the call.
        check(unsafe { libc::bind(raw, (&raw const address).cast(), length) })?;
        Ok(Self(socket))
    }

    /// The next `count` frames that the interface received.
    pub(crate) fn receive(&self, count: usize) -> Vec<Vec<u8>> {
        let deadline = Instant::now() + Duration::from_secs(5);
        let mut frames = Vec::new();
        while frames.len() < count {
            assert!(Instant::now() < deadline, "{} of {count} frames came", frames.len());
            match self.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => panic!("receiving: {error}"),
            }
        }
        frames
    }

    /// One frame, or `None` for one that this host sent.
    fn next_frame(&self) -> io::Result<Option<Vec<u8>>> {
        let mut buffer = vec![0_u8; 65_536];
        // SAFETY: sockaddr_ll is plain old data, for which all-zero bytes are a valid value.
        let mut from: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: `buffer` and `from` are as long as said and outlive the call.
        let received = unsafe {
            libc::recvfrom(
                self.0.as_raw_fd(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                libc::MSG_DONTWAIT,
                (&raw mut from).cast(),
                &raw mut length,
            )
        };
        if received < 0 {
            return Err(io::Error::last_os_error());
        }
        buffer.truncate(received.cast_unsigned());
        Ok((from.sll_pkttype != OUTGOING).then_some(buffer))
    }
}

fn check(outcome: libc::c_int) -> io::Result<()> {
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
