//! The command line.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// One RC connection that can be made to fail
#[derive(Debug, Parser)]
#[command(name = "roce-verbs")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) role: Role,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Role {
    /// Wait for a requester and take what it sends
    Respond(Respond),
    /// Connect to a responder and send; exit code 1 when a work request failed
    Request(Request),
    /// Use up QP numbers, so that the two sides of a connection do not have the same
    Skip(Skip),
}

#[derive(Debug, Args)]
pub(crate) struct Skip {
    #[command(flatten)]
    pub(crate) common: Common,
    /// How many
    #[arg(long, default_value_t = 50)]
    pub(crate) count: u32,
}

/// What both sides set on their QP.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// RDMA device
    #[arg(long)]
    pub(crate) device: String,
    /// Address on the RDMA network; the GID is chosen by it
    #[arg(long)]
    pub(crate) address: IpAddr,
    /// Traffic class of the packets: DSCP in the upper six bits, ECN in the lower two
    #[arg(long, default_value_t = 106)]
    pub(crate) traffic_class: u8,
    /// Path MTU in bytes
    #[arg(long, default_value_t = 1024)]
    pub(crate) path_mtu: u32,
    /// Local ACK timeout: 4.096 µs times two to this power
    #[arg(long, default_value_t = 17)]
    pub(crate) timeout: u8,
    /// Retries after silence; soft-RoCE takes 7 as "for ever"
    #[arg(long, default_value_t = 6)]
    pub(crate) retry_count: u8,
    /// Retries after RNR NAKs; 7 is "for ever"
    #[arg(long, default_value_t = 3)]
    pub(crate) rnr_retry: u8,
    /// Code of the wait that RNR NAKs ask for (IBTA table 45); 24 is 41 ms
    #[arg(long, default_value_t = 24)]
    pub(crate) rnr_timer: u8,
}

#[derive(Debug, Args)]
pub(crate) struct Respond {
    #[command(flatten)]
    pub(crate) common: Common,
    /// TCP address to wait at
    #[arg(long)]
    pub(crate) listen: SocketAddr,
    /// Post only so many receives in all [default: as many as are used]
    #[arg(long)]
    pub(crate) receives: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Operation {
    Write,
    Send,
}

/// Whose words the log is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogStyle {
    /// `NET/IB: Got completion from peer ...`, as NCCL 2.22 to 2.28 prints it
    Nccl,
    /// `Completion with error at client`, as perftest prints it
    Perftest,
}

#[derive(Debug, Args)]
pub(crate) struct Request {
    #[command(flatten)]
    pub(crate) common: Common,
    /// TCP address of the responder
    #[arg(long)]
    pub(crate) connect: SocketAddr,
    /// RDMA operation
    #[arg(long, value_enum, default_value_t = Operation::Write)]
    pub(crate) operation: Operation,
    /// Bytes of a message
    #[arg(long, default_value_t = 4096)]
    pub(crate) size: u32,
    /// Messages with that size; later ones have --later-size
    #[arg(long, requires = "later_size")]
    pub(crate) later_after: Option<u64>,
    /// Bytes of a message once --later-after are through
    #[arg(long, requires = "later_after")]
    pub(crate) later_size: Option<u32>,
    /// Messages a second
    #[arg(long, default_value_t = 150)]
    pub(crate) rate: u32,
    /// Messages on their way at a time, at most 64
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub(crate) window: u64,
    /// Stop after so many messages [default: never]
    #[arg(long)]
    pub(crate) messages: Option<u64>,
    /// Stop after so many seconds
    #[arg(long, default_value_t = 60.0)]
    pub(crate) seconds: f64,
    /// Use a wrong key from this message on
    #[arg(long)]
    pub(crate) bad_rkey_after: Option<u64>,
    /// Seconds to keep the QP after an error
    #[arg(long, default_value_t = 10.0)]
    pub(crate) keep: f64,
    /// Say so on standard output when so many messages are through
    #[arg(long, default_value_t = 100)]
    pub(crate) announce: u64,
    /// Log of the application, appended to
    #[arg(long)]
    pub(crate) log: Option<PathBuf>,
    /// Words of the log
    #[arg(long, value_enum, default_value_t = LogStyle::Nccl)]
    pub(crate) log_style: LogStyle,
}
