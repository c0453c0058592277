//! The PSN engine: its rules one by one, and against a slow model over random traces.

mod anything;
mod holes;
mod model;
mod network;
mod property;
mod rules;
mod tap;
mod trace;
mod truth;
mod word;
