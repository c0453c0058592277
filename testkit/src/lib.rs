//! Test building blocks: RoCE packets, scenarios, captures and network namespaces.
//!
//! Nothing here uses the product's parser, so what it builds can judge the parser.

pub mod capture;
pub mod daemon;
pub mod http;
pub mod netns;
pub mod packet;
pub mod replay;
pub mod scenario;
pub mod send;
