//! RoCE wire formats, PSN arithmetic and flow records.
#![no_std]
