//! Steps of confidence. There are no others, so that figures of two incidents can be compared.

/// Two independent sources say it: a status and the wire, or taps on both sides.
pub(super) const CERTAIN: f64 = 0.99;
/// One source says it directly: a NAK, a status, a counter that means nothing else.
pub(super) const DIRECT: f64 = 0.95;
/// One place sees what leaves one explanation, or one that is far more likely than the others.
pub(super) const STRONG: f64 = 0.8;
/// The others fit less well.
pub(super) const LIKELY: f64 = 0.65;
/// Others fit as well; the next steps tell how to decide.
pub(super) const OPEN: f64 = 0.5;
