//! The socket that requests and answers go over.

use std::io;
use std::path::Path;
use std::time::Duration;

use netlink_sys::{Socket, SocketAddr};
use socket2::SockRef;

use super::ids::NETLINK_RDMA;

/// Longest time for a datagram. The kernel asks the NIC about each queue pair when it makes one, some
/// hundreds for a datagram.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Something that answers like the kernel.
pub trait RdmaSocket {
    /// Sends a request.
    ///
    /// # Errors
    /// When the system refuses.
    fn send(&mut self, request: &[u8]) -> io::Result<()>;

    /// Receives the next datagram of the answer into `buffer`. Its length, which may be larger than the
    /// buffer: then the rest of it is lost.
    ///
    /// # Errors
    /// When the system refuses, or when there is none in time.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
}

/// The kernel.
#[derive(Debug)]
pub struct KernelSocket(Socket);

impl KernelSocket {
    /// Opens a socket, which needs no privilege. `sysfs` is `/sys` unless in a test.
    ///
    /// # Errors
    /// `NotFound` when the RDMA core is not loaded: opening the socket would load it, and looking should
    /// change nothing. Else what the system says; see [`is_absent`].
    pub fn open(sysfs: &Path) -> io::Result<Self> {
        if !sysfs.join("class/infiniband").is_dir() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut socket = Socket::new(NETLINK_RDMA)?;
        socket.bind_auto()?;
        // From then on nobody else's messages are received.
        socket.connect(&SocketAddr::new(0, 0))?;
        SockRef::from(&socket).set_read_timeout(Some(TIMEOUT))?;
        Ok(Self(socket))
    }
}

impl RdmaSocket for KernelSocket {
    fn send(&mut self, request: &[u8]) -> io::Result<()> {
        self.0.send(request, 0).map(drop)
    }

    fn receive(&mut self, mut buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.recv(&mut buffer, libc::MSG_TRUNC) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

/// Whether an error of [`KernelSocket::open`] says that this host has no RDMA, which is nothing wrong.
pub fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || matches!(
            error.raw_os_error(),
            Some(libc::EPROTONOSUPPORT | libc::EAFNOSUPPORT | libc::EPFNOSUPPORT)
        )
}
