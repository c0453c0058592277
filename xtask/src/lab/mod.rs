//! Two hosts with soft-RoCE and a switch between them, inside a guest.
//!
//! ```text
//! host A: va, rxe0, 10.0.0.1 -- pa [namespace of the switch, bridge] pb -- 10.0.0.2, rxe1, vb: host B
//! ```
//!
//! Both hosts live in the first namespace, because soft-RoCE works in others only from Linux 7.0 on;
//! routing rules make their packets take the wire. So one collector can look at both ends.

mod application;
mod capture;
mod collector;
mod faults;
mod perftest;
mod topology;

pub(crate) use application::{Application, Failure};
pub(crate) use capture::Capture;
pub(crate) use collector::Collector;
pub(crate) use faults::{Faults, Way};
pub(crate) use perftest::Perftest;
pub(crate) use topology::{Host, Lab};
