//! All rules together: which verdict wins, and what must hold for any case.

mod order;
mod property;
