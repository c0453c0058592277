//! What marking the user expects.

use clap::Args;
use roce_common::marking::MarkingPolicy;

/// Expected marking. `any` accepts every value.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Expected marking")]
pub struct MarkingArgs {
    /// DSCP of data, 0 to 63 or "any"
    #[arg(long = "expect-dscp", env = "ROCE_EXPECT_DSCP", value_name = "DSCP", default_value = "26", value_parser = dscp)]
    data_dscp: u8,

    /// DSCP of ACK, NAK and RNR NAK packets [default: that of data]
    #[arg(long = "expect-ack-dscp", env = "ROCE_EXPECT_ACK_DSCP", value_name = "DSCP", value_parser = dscp)]
    ack_dscp: Option<u8>,

    /// DSCP of CNPs, 0 to 63 or "any"
    #[arg(long = "expect-cnp-dscp", env = "ROCE_EXPECT_CNP_DSCP", value_name = "DSCP", default_value = "48", value_parser = dscp)]
    cnp_dscp: u8,

    /// Whether data must be ECN-capable
    #[arg(
        long = "expect-ect",
        env = "ROCE_EXPECT_ECT",
        value_name = "BOOL",
        default_value = "true",
        action = clap::ArgAction::Set
    )]
    ect: bool,

    /// 802.1p priority of tagged data, 0 to 7 or "any"
    #[arg(long = "expect-pcp", env = "ROCE_EXPECT_PCP", value_name = "PRIORITY", default_value = "any", value_parser = pcp)]
    data_pcp: u8,
}

impl MarkingArgs {
    /// The policy.
    pub fn policy(&self) -> MarkingPolicy {
        MarkingPolicy {
            data_dscp: self.data_dscp,
            ack_dscp: self.ack_dscp.unwrap_or(self.data_dscp),
            cnp_dscp: self.cnp_dscp,
            data_pcp: self.data_pcp,
            ect_required: u8::from(self.ect),
            reserved: [0; 3],
        }
    }
}

fn dscp(text: &str) -> Result<u8, String> {
    up_to(63, text)
}

fn pcp(text: &str) -> Result<u8, String> {
    up_to(7, text)
}

fn up_to(max: u8, text: &str) -> Result<u8, String> {
    if text.eq_ignore_ascii_case("any") {
        return Ok(MarkingPolicy::ANY);
    }
    let value = text.parse().ok().filter(|value| *value <= max);
    value.ok_or_else(|| format!("expected a number from 0 to {max}, or \"any\""))
}
