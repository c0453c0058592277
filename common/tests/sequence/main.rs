//! The PSN engine: its rules one by one, and against a slow model over random traces.

mod model;
mod property;
mod rules;
mod trace;
mod word;
